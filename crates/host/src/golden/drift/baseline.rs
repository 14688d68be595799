//! What is known not to be shown, so that only news is told.

use std::collections::BTreeSet;

use super::Found;

/// The number of the file's shape.
const SCHEMA: u64 = 1;

/// What is known not to be shown.
///
/// Its file is one JSON object with a line for each name, sorted, so that a change of it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeSet<String>);

impl Baseline {
    /// One that knows all of these.
    pub fn of(found: &[Found]) -> Self {
        Self(found.iter().map(name).collect())
    }

    /// Reads a file's text. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let page: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| format!("{}:{}: it is no baseline of drift", error.line(), error.column()))?;
        if page.get("schema").and_then(serde_json::Value::as_u64) != Some(SCHEMA) {
            return Err(format!("its schema is not {SCHEMA}; write it anew with --write-baseline"));
        }
        let known =
            page.get("known").and_then(serde_json::Value::as_array).ok_or("it has no list \"known\"")?;
        Ok(Self(known.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()))
    }

    /// Whether it knows this.
    pub fn knows(&self, found: &Found) -> bool {
        self.0.contains(&name(found))
    }

    /// The text of its file.
    pub fn to_text(&self) -> String {
        let page = serde_json::json!({ "schema": SCHEMA, "known": self.0 });
        serde_json::to_string_pretty(&page).unwrap_or_default() + "\n"
    }
}

fn name(found: &Found) -> String {
    format!("{} {}", found.what.name(), found.name)
}
