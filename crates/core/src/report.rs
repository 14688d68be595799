//! What was counted, for `--report` and exit codes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clip::floor;
use crate::dialect::ForeignProgram;
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
    /// Items that became whole: each is shown or hidden.
    pub items: u64,
    /// Items shown, by kind, those included that were taken back later.
    pub shown: BTreeMap<Kind, u64>,
    /// Items hidden, by the rule that hid them: `filter`; `empty`, where what a formatter showed held nothing; else
    /// their kind, as a formatter decided.
    pub hidden: BTreeMap<String, u64>,
    /// Items shown of which a limit left out a part, by kind.
    pub elided: BTreeMap<Kind, u64>,
    /// Items that came again as they were: they are no further items.
    pub repeated: u64,
    /// Items that began and never became whole, since the stream gave them up.
    pub dropped: u64,
    /// Records that no item is made of, by what they are.
    pub bookkeeping: BTreeMap<String, u64>,
    /// Types, blocks and fields that the dialect doesn't know, by name.
    pub unknown: BTreeMap<String, u64>,
    /// Items in which something was masked, by what it was.
    pub redacted: BTreeMap<String, u64>,
    /// Items that formatters failed at, by message.
    pub failures: BTreeMap<String, u64>,
    /// Calls whose result never came.
    pub open_calls: u64,
    /// Whether the last run ended in an error.
    pub failed: bool,
    /// Whether the last run has ended: its outcome came, and nothing that the agent did since.
    pub ended: bool,
    /// Whether the input is of a form that ends with an outcome: a stream, not a history.
    pub awaits_outcome: bool,
    /// The dialect that was read, if any line was an event.
    pub dialect: Option<Arc<str>>,
    /// Without a dialect: the program whose stream it seems to be.
    pub foreign: Option<ForeignProgram>,
}

impl Report {
    /// Whether the input should have ended with an outcome and didn't.
    pub fn lacks_outcome(&self) -> bool {
        self.awaits_outcome && !self.ended
    }
}

/// Counts one more of a name; past the limits it is one of the `others`.
pub(crate) fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = &name[..floor(name, MAX_NAME)];
    if let Some(number) = counts.get_mut(name) {
        *number += 1;
    } else {
        let name =
            if counts.len() < MAX_NAMES { Text::clean(name).into_string() } else { "others".to_owned() };
        *counts.entry(name).or_default() += 1;
    }
}
