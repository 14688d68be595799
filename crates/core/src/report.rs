//! The counts of a run, for `--report` and exit codes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::clip::floor;
use crate::dialect::ForeignProgram;
use crate::item::Kind;
use crate::redact::FindList;
use crate::text::Text;

/// How many different names are counted in one map.
const MAX_NAMES: usize = 1_000;
/// The longest name that is counted, in bytes.
const MAX_NAME: usize = 200;

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines read, including blank ones.
    pub lines: u64,
    /// Records or text lines of a dialect that were decoded.
    pub events: u64,
    /// Those of them whose type the dialect doesn't know.
    pub unknown_events: u64,
    /// Records of other dialects than that of the input, read as such or unknown, by the dialect's name.
    pub other_dialects: BTreeMap<String, u64>,
    /// Blank lines.
    pub blank_lines: u64,
    /// Lines that belong to records of other lines: of JSON over several lines, or parts of a line that a log has split.
    pub further_lines: u64,
    /// Lines that were passed through because they aren't records, or no dialect claimed them.
    pub raw_lines: u64,
    /// Damaged parts of lines, whether shown or only counted.
    pub damaged: u64,
    /// Lines over the size limit.
    pub oversized: u64,
    /// Complete items: each is shown or hidden.
    pub items: u64,
    /// Items shown, by kind, including those that were taken back later.
    pub shown: BTreeMap<Kind, u64>,
    /// Items hidden, by the rule that hid them: `filter`; `empty`, if the view of a formatter was empty; else
    /// their kind, if a formatter hid them.
    pub hidden: BTreeMap<String, u64>,
    /// Items shown that were clipped by a limit, by kind.
    pub elided: BTreeMap<Kind, u64>,
    /// Items that came again unchanged. They aren't counted as items.
    pub repeated: u64,
    /// Items that were opened and never completed, because the stream dropped them.
    pub dropped: u64,
    /// Records of which no item is made, by name.
    pub bookkeeping: BTreeMap<String, u64>,
    /// Types, blocks and fields that the dialect doesn't know, by name.
    pub unknown: BTreeMap<String, u64>,
    /// Items in which something was masked, by the name of the pattern.
    pub redacted: BTreeMap<String, u64>,
    /// What was masked, and what looks like a secret and wasn't, with places: if [`Setup::lists_finds`](crate::pipeline::Setup::lists_finds)
    /// is set, once the input has ended.
    pub finds: FindList,
    /// Custom patterns for masking that took too much work on a text, whose rest was masked as a whole.
    pub exceeded: BTreeSet<String>,
    /// Items on which formatters failed, by message.
    pub failures: BTreeMap<String, u64>,
    /// Items that had no place in the output's format, by name.
    pub left_out: BTreeMap<String, u64>,
    /// Calls whose result never came.
    pub open_calls: u64,
    /// Reports of the agent that it could not save all that it should keep of the session.
    pub unsaved: u64,
    /// Whether the last run ended with an error.
    pub failed: bool,
    /// Whether the last run has ended: its outcome has come, and no activity of the agent after it.
    pub ended: bool,
    /// Whether the input has a form that ends with an outcome: a stream, not a history.
    pub awaits_outcome: bool,
    /// The dialect, if a record was decoded.
    pub dialect: Option<Arc<str>>,
    /// The program without a dialect that seems to have written the stream.
    pub foreign: Option<ForeignProgram>,
}

impl Report {
    /// Whether most events are of types that the dialect doesn't know.
    pub fn is_mostly_unknown(&self) -> bool {
        self.unknown_events > self.events / 2
    }

    /// Whether the input should have ended with an outcome and didn't.
    pub fn lacks_outcome(&self) -> bool {
        self.awaits_outcome && !self.ended
    }
}

/// Counts one more of a name. Names past the limit are counted together as `others`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_counted_together() {
        let mut counts = BTreeMap::new();
        for number in 0..MAX_NAMES + 3 {
            count(&mut counts, &format!("name {number}"));
        }
        count(&mut counts, "name 0");
        assert_eq!((counts.len(), counts["others"]), (MAX_NAMES + 1, 3));
        assert_eq!((counts["name 0"], counts[&format!("name {}", MAX_NAMES - 1)]), (2, 1));
    }

    #[test]
    fn a_long_name_is_counted_by_its_beginning() {
        let mut counts = BTreeMap::new();
        let most = "x".repeat(MAX_NAME);
        for name in [&most[1..], &most, &format!("{most}y"), &format!("{most}z"), &format!("{}é", &most[1..])]
        {
            count(&mut counts, name);
        }
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(most[1..].to_owned(), 2), (most, 3)]);
    }
}
