//! The steps that decoding emits.

use std::sync::Arc;

use crate::dialect::ForeignProgram;
use crate::event::Event;
use crate::item::{Content, Item};
use crate::json::Record;
use crate::report::Report;

/// One step of an input. A line results in several.
#[derive(Debug)]
pub enum Step {
    /// Something to count.
    Count(InputCount),
    /// A record begins: its line number, the record, and the node of the event in it (the root, or an element of an array).
    Record(u64, Record, u32),
    /// An event of the record.
    Event(Event),
}

/// Something that is counted in the report.
#[derive(Clone, Debug)]
pub enum InputCount {
    /// A line: its number, from 1.
    Line(u64),
    /// An empty line.
    Blank,
    /// A line that is no record and is passed through.
    Raw,
    /// A damaged record.
    Damaged,
    /// A line over the limit.
    Oversized,
    /// A record that looks like one of this program, which no dialect supports.
    Foreign(ForeignProgram),
    /// The first record of the dialect of this name.
    Dialect(Arc<str>),
    /// The input should end with an outcome.
    AwaitsOutcome,
}

impl Step {
    pub(super) fn put(item: Item) -> Self {
        Self::Event(Event::Put(Box::new(item)))
    }

    /// The approximate size of the text it holds, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Event(Event::Put(item) | Event::Hidden(item) | Event::Open(item) | Event::Amend(item)) => {
                match &item.text {
                    Content::Own(text) => text.len(),
                    _ => 0,
                }
            }
            Self::Record(_, record, _) => record.text().len(),
            Self::Event(Event::Append { text, .. }) => text.len(),
            Self::Event(_) | Self::Count(_) => 0,
        }
    }
}

impl InputCount {
    /// Adds this to a report.
    pub(super) fn add_to(&self, report: &mut Report) {
        match self {
            Self::Line(_) => report.lines += 1,
            Self::Blank => report.blank_lines += 1,
            Self::Raw => report.raw_lines += 1,
            Self::Damaged => report.damaged += 1,
            Self::Oversized => report.oversized += 1,
            Self::Foreign(program) => report.foreign = report.foreign.or(Some(*program)),
            Self::Dialect(name) => report.dialect = Some(Arc::clone(name)),
            Self::AwaitsOutcome => report.awaits_outcome = true,
        }
    }

    /// Whether the current record ends before this.
    pub(super) fn ends_record(&self) -> bool {
        !matches!(self, Self::Dialect(_) | Self::AwaitsOutcome)
    }
}
