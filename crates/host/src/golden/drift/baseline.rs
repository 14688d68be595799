//! The parts that are known not to be shown, so that only new ones are reported.

use std::collections::BTreeSet;

use super::DriftFound;
use crate::json;
use crate::problem::{Problem, ProblemKind};

/// The version of the file format.
const SCHEMA: u64 = 1;

/// The parts that are known not to be shown.
///
/// The file is one JSON object with a line for each name, sorted, so that its changes are readable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeSet<String>);

impl Baseline {
    /// A baseline with all of these findings.
    pub fn of(found: &[DriftFound]) -> Self {
        Self(found.iter().map(name).collect())
    }

    /// Parses a file, named `file` in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problem> {
        let page: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            let place =
                text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
            let place = place + error.column().saturating_sub(1);
            Problem::at(
                ProblemKind::Syntax,
                file,
                text,
                place..place + 1,
                "not a drift baseline; recreate it with --write-baseline",
            )
        })?;
        let wrong = |what: String| {
            let message = format!("{what}; recreate it with --write-baseline");
            Problem::of(ProblemKind::Damaged, file, message)
        };
        if page.get("schema").and_then(serde_json::Value::as_u64) != Some(SCHEMA) {
            return Err(wrong(format!("the schema is not {SCHEMA}")));
        }
        let known = page.get("known").and_then(serde_json::Value::as_array);
        let known = known.ok_or_else(|| wrong("the list \"known\" is missing".to_owned()))?;
        Ok(Self(known.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()))
    }

    /// Whether it contains this finding.
    pub fn knows(&self, found: &DriftFound) -> bool {
        self.0.contains(&name(found))
    }

    /// The contents of its file.
    pub fn to_text(&self) -> String {
        let page = serde_json::json!({ "schema": SCHEMA, "known": self.0 });
        json::pretty(&page) + "\n"
    }
}

fn name(found: &DriftFound) -> String {
    format!("{} {}", found.what.name(), found.name)
}
