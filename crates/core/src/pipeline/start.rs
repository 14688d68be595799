//! The beginning of a stream, while it isn't settled how the stream is shown.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::dialect::ForeignProgram;
use crate::event::Event;
use crate::item::Content;
use crate::json::Record;
use crate::profile::Profile;
use crate::report::Report;
use crate::session::Facts;

use super::{Output, Settle, Settled, StreamStart};

/// Lines held back while it isn't settled how the stream is shown.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_HELD_BYTES: usize = 1 << 20;

/// What a line tells, step by step, while it isn't settled how the stream is shown.
#[derive(Debug)]
pub(super) enum Step {
    /// Something is counted of the input.
    Count(InputCount),
    /// A record of a dialect begins, in this line: the event in it is this node, its root or an element of it.
    Record(u64, Arc<Record>, u32),
    /// Something happened.
    Event(Event),
}

/// What is counted of the input.
#[derive(Clone, Debug)]
pub(super) enum InputCount {
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

/// What is held back while it isn't settled how the stream is shown.
#[derive(Default)]
pub(super) struct HeldStart {
    /// What decides on each output for which that isn't settled yet, by its number.
    settles: Vec<(usize, Settle)>,
    pub(super) held: VecDeque<Step>,
    lines: usize,
    bytes: usize,
    /// What is known of the stream so far.
    dialect: Option<Arc<str>>,
    facts: Facts,
}

impl HeldStart {
    /// Waits until it is settled how each output shows the stream; `None` if nothing waits for that. `dialect`: its name, if it was
    /// decided on from outside.
    pub(super) fn of(settles: Vec<(usize, Option<Settle>)>, dialect: Option<&str>) -> Option<Self> {
        let settles: Vec<_> = settles
            .into_iter()
            .filter_map(|(output, settle)| settle.map(|settle| (output, settle)))
            .collect();
        let dialect = dialect.map(Into::into);
        (!settles.is_empty()).then(|| Self { settles, dialect, ..Self::default() })
    }

    /// Holds a step back.
    pub(super) fn hold(&mut self, step: Step) {
        self.bytes += size(&step);
        match &step {
            Step::Count(InputCount::Line(_)) => self.lines += 1,
            Step::Count(InputCount::Dialect(name)) => self.dialect = Some(Arc::clone(name)),
            Step::Event(Event::Facts(news)) => self.facts.update((**news).clone()),
            Step::Event(_) | Step::Count(_) | Step::Record(..) => {}
        }
        self.held.push_back(step);
    }

    /// Asks for each output how it shows the stream. Gives new choices and the number of their output.
    pub(super) fn settle(&mut self, is_end: bool) -> Vec<(usize, Box<(Profile, Output)>)> {
        let Self { settles, lines, bytes, dialect, facts, .. } = self;
        let is_all = is_end || *lines > MAX_HELD_LINES || *bytes > MAX_HELD_BYTES;
        let known = StreamStart { dialect: dialect.as_deref(), facts, is_all };
        let mut settled = Vec::new();
        settles.retain_mut(|(output, settle)| match settle(&known) {
            Settled::Wait => !is_all,
            Settled::Keep => false,
            Settled::Use(choices) => {
                settled.push((*output, choices));
                false
            }
        });
        settled
    }

    /// Whether it is settled for all outputs.
    pub(super) fn is_settled(&self) -> bool {
        self.settles.is_empty()
    }
}

/// About how much of the input a step holds, in bytes.
fn size(step: &Step) -> usize {
    match step {
        Step::Event(Event::Put(item) | Event::Open(item) | Event::Amend(item)) => match &item.text {
            Content::Own(text) => text.len(),
            _ => 0,
        },
        Step::Record(_, record, _) => record.text().len(),
        Step::Event(Event::Append { text, .. }) => text.len(),
        _ => 0,
    }
}
