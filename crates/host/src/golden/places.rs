//! The places where the choices of a case were made, so that problems are reported there.

use std::collections::BTreeMap;

use super::case::CaseVariant;
use crate::problem::{Problem, RunChoice};
use crate::settings::document::{Leaf, SettingValue};

/// The values of the keys that `golden.toml` and `case.toml` set. A file in a subfolder overrides those above it.
#[derive(Clone, Debug, Default)]
pub struct ChoicePlaces(pub(super) BTreeMap<&'static str, Leaf>);

impl ChoicePlaces {
    /// Reports the problem of an option at the key of the case that sets this option.
    pub(super) fn locate(&self, problem: &Problem, cell: &CaseVariant) -> String {
        let pair = format!("{}.{}", cell.profile, cell.writer);
        // The origin of a choice ends with its value.
        let value = problem.origin.as_str();
        let (keys, value): (&[_], _) = match problem.choice {
            Some(RunChoice::Profile) => (&["matrix", "profiles"], &*cell.profile),
            Some(RunChoice::Writer) => (&["matrix", "writers"], &*cell.writer),
            Some(RunChoice::Plugin) => (&["plugins"], value),
            Some(RunChoice::Dialect) => (&["args.from"], value),
            Some(RunChoice::Theme) => (&["args.theme"], value),
            Some(RunChoice::Only) => (&["args.only"], value),
            Some(RunChoice::Hide) => (&["args.hide"], value),
            Some(RunChoice::Set) => (&["args.set"], value),
            Some(RunChoice::Config) | None => (&[], value),
        };
        let Some((key, leaf)) = keys.iter().find_map(|key| Some((*key, self.0.get(key)?))) else {
            // The value is the default of a case, which no key sets.
            return if problem.choice == Some(RunChoice::Profile) {
                problem.message.clone()
            } else {
                problem.to_string()
            };
        };
        let value = if key == "matrix" { &pair } else { value };
        let elements: &[Leaf] = if let SettingValue::List(list) = &leaf.value { list } else { &[] };
        // The value is a path relative to the file, so only its end matches.
        let is_meant = |element: &&Leaf| element.text().is_some_and(|text| value.ends_with(text));
        let place = elements.iter().find(is_meant).unwrap_or(leaf);
        place.spot.problem(problem.kind, &*problem.message).to_string()
    }
}
