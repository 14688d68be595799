//! The places where the choices of a case were made, so that problems are reported there.

use std::collections::BTreeMap;

use super::case::Cell;
use crate::problem::Problem;
use crate::settings::document::{Leaf, SettingValue};

/// The values of the keys that `golden.toml` and `case.toml` set. A file in a subfolder overrides those above it.
#[derive(Clone, Debug, Default)]
pub struct ChoicePlaces(pub(super) BTreeMap<&'static str, Leaf>);

impl ChoicePlaces {
    /// Reports the problem of an option at the key of the case that sets this option.
    pub(super) fn locate(&self, problem: &Problem, cell: &Cell) -> String {
        let (option, value) = problem.origin.split_once(' ').unwrap_or((&problem.origin, ""));
        let pair = format!("{}.{}", cell.profile, cell.writer);
        let (keys, value): (&[_], _) = match option {
            "--profile" => (&["matrix", "profiles"], &*cell.profile),
            "--to" => (&["matrix", "writers"], &*cell.writer),
            "--plugin" => (&["plugins"], value),
            "--from" => (&["args.from"], value),
            "--theme" => (&["args.theme"], value),
            "--only" => (&["args.only"], value),
            "--hide" => (&["args.hide"], value),
            "--set" => (&["args.set"], value),
            _ => (&[], value),
        };
        let Some((key, leaf)) = keys.iter().find_map(|key| Some((*key, self.0.get(key)?))) else {
            // The value is the default of a case, which no key sets.
            return if option == "--profile" { problem.message.clone() } else { problem.to_string() };
        };
        let value = if key == "matrix" { &pair } else { value };
        let elements: &[Leaf] = if let SettingValue::List(list) = &leaf.value { list } else { &[] };
        // The value is a path relative to the file, so only its end matches.
        let is_meant = |element: &&Leaf| element.text().is_some_and(|text| value.ends_with(text));
        let place = elements.iter().find(is_meant).unwrap_or(leaf);
        place.spot.problem(&*problem.message).to_string()
    }
}
