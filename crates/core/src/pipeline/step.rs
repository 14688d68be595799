//! What decoding tells of an input, step by step.

use std::sync::Arc;

use crate::dialect::ForeignProgram;
use crate::event::Event;
use crate::item::{Content, Item};
use crate::json::Record;
use crate::report::Report;

/// A part of what a line tells.
#[derive(Debug)]
pub enum Step {
    /// Something is counted of the input.
    Count(InputCount),
    /// A record of a dialect begins, in this line: the event in it is this node, its root or an element of it.
    Record(u64, Arc<Record>, u32),
    /// Something happened.
    Event(Event),
}

/// What is counted of the input.
#[derive(Clone, Debug)]
pub enum InputCount {
    /// A line: its number, from 1.
    Line(u64),
    /// A line that holds nothing.
    Blank,
    /// A line that is no record and passes through.
    Raw,
    /// A damaged record.
    Damaged,
    /// A line over the limit.
    Oversized,
    /// A record that seems to be of this program, whose dialect isn't known.
    Foreign(ForeignProgram),
    /// From here on records are of this dialect.
    Dialect(Arc<str>),
    /// The input is of a form that ends with an outcome.
    AwaitsOutcome,
}

impl Step {
    pub(super) fn put(item: Item) -> Self {
        Self::Event(Event::Put(Box::new(item)))
    }

    /// About how much of the input it holds, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Event(Event::Put(item) | Event::Open(item) | Event::Amend(item)) => match &item.text {
                Content::Own(text) => text.len(),
                _ => 0,
            },
            Self::Record(_, record, _) => record.text().len(),
            Self::Event(Event::Append { text, .. }) => text.len(),
            Self::Event(_) | Self::Count(_) => 0,
        }
    }
}

impl InputCount {
    /// Counts it.
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

    /// Whether a record ends before it.
    pub(super) fn ends_record(&self) -> bool {
        !matches!(self, Self::Dialect(_) | Self::AwaitsOutcome)
    }
}
