//! Where the choices of a case were made, so that what is wrong with one is reported there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

use super::case::Cell;
use crate::problem::Problem;

/// The places of the keys that `golden.toml` and `case.toml` set. A file further down replaces those of one above it.
#[derive(Clone, Debug, Default)]
pub struct ChoicePlaces(BTreeMap<&'static str, ChoicePlace>);

/// The place of one key's value.
#[derive(Clone, Debug)]
struct ChoicePlace {
    file: String,
    source: Arc<str>,
    span: Range<usize>,
    /// The strings of a list.
    elements: Vec<(String, Range<usize>)>,
}

impl ChoicePlaces {
    /// Notes where a key was set.
    pub(super) fn note(
        &mut self,
        key: &'static str,
        file: &str,
        source: &Arc<str>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let elements = match value.get_ref() {
            DeValue::Array(values) => values.iter().collect(),
            _ => Vec::new(),
        };
        let elements = elements
            .into_iter()
            .filter_map(|value| Some((value.get_ref().as_str()?.to_owned(), value.span())))
            .collect();
        let (file, source) = (file.to_owned(), Arc::clone(source));
        self.0.insert(key, ChoicePlace { file, source, span: value.span(), elements });
    }

    /// Forgets a key that no longer counts.
    pub(super) fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// The problem of an option, at the key of a case that means this option.
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
        let Some((key, place)) = keys.iter().find_map(|key| Some((*key, self.0.get(key)?))) else {
            // The default of a case, which no option sets either.
            return if option == "--profile" { problem.message.clone() } else { problem.to_string() };
        };
        let value = if key == "matrix" { &pair } else { value };
        // Paths are relative to the file that they are in.
        let element = place.elements.iter().find(|(element, _)| value.ends_with(element.as_str()));
        let span = element.map_or(&place.span, |(_, span)| span);
        Problem::at(&place.file, &place.source, span.clone(), &*problem.message).to_string()
    }
}
