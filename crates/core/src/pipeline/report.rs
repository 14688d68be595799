//! What was counted, for `--report` and exit codes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clip::floor;
use crate::item::Kind;
use crate::text::Text;

/// Names of unknown types and fields that are counted one by one.
const MAX_NAMES: usize = 1_000;
/// Longest name that is counted, in bytes.
const MAX_NAME: usize = 200;

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines read, blank ones included.
    pub lines: u64,
    /// Records of a dialect that were decoded.
    pub events: u64,
    /// Lines that held nothing.
    pub blank_lines: u64,
    /// Lines that were no record and passed through.
    pub raw_lines: u64,
    /// Damaged records told or counted.
    pub damaged: u64,
    /// Lines over the cap.
    pub oversized: u64,
    /// Items shown, by kind.
    pub shown: BTreeMap<Kind, u64>,
    /// Items and records hidden, by the rule that hid them.
    pub hidden: BTreeMap<String, u64>,
    /// Items that the filters admit and of which nothing is said. They are among the hidden.
    pub unsaid: u64,
    /// Items that repeated one already shown.
    pub repeated: u64,
    /// Types, blocks and fields that the dialect doesn't know, by name.
    pub unknown: BTreeMap<String, u64>,
    /// What was masked, by what it was.
    pub redacted: BTreeMap<String, u64>,
    /// Failures of formatters, by message.
    pub failures: BTreeMap<String, u64>,
    /// Calls whose result never came.
    pub open_calls: u64,
    /// Whether the last run ended in an error.
    pub failed: bool,
    /// The dialect that was read, if any line was an event.
    pub dialect: Option<Arc<str>>,
    /// Without a dialect: the program whose stream it seems to be.
    pub foreign: Option<&'static str>,
}

/// Counts one more of a name; past the limits it is one of the `others`.
pub(super) fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = &name[..floor(name, MAX_NAME)];
    if let Some(number) = counts.get_mut(name) {
        *number += 1;
    } else {
        let name =
            if counts.len() < MAX_NAMES { Text::clean(name).into_string() } else { "others".to_owned() };
        *counts.entry(name).or_default() += 1;
    }
}
