//! The whole path of a line: bytes in, text out.
//!
//! ```text
//! bytes ─▶ frame ─▶ reading ─▶ Intake ─▶ steps ─▶ Outlet ─▶ text
//!                              decoder   events   session, formatters, writer
//! ```
//!
//! Readings are pure: a host may make them on other threads and hand them to [`Pipeline::apply`]. The intake knows nothing
//! of the outlet, so it may be some lines ahead. In the outlet each item is said at the step that completes it, with the
//! session as it stands there, and is never written again.

mod intake;
mod outlet;
mod report;
mod stage;

use std::fmt::{self, Write};

use crate::dialect::{self, Guest};
use crate::entry::Entry;
use crate::formatter::Formatter;
use crate::frame::{Frame, Framer};
use crate::item::{Fact, Id, Item, Kind};
use crate::profile::Profile;
use crate::reading::Reading;
use crate::session::{Facts, Session};
use crate::writer::Writer;

pub use intake::{Pieces, Subagents};
pub use report::Report;

use intake::{Intake, SHOWN_DAMAGE, Step};
use outlet::Outlet;

/// What comes out of a pipeline.
pub enum Output {
    /// What is said: entries of a formatter chain, spelled by a writer.
    Entries {
        /// Formatters, asked in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
        /// Spells the entries.
        writer: Box<dyn Writer>,
    },
    /// What is said, for a sink that can change what it shows: taken with [`Pipeline::take_updates`].
    Updates {
        /// Formatters, asked in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
    },
    /// What is: the items, one JSON object a line.
    Items,
}

/// A change of what a sink shows, keyed by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Show this entry, in place of the one with its id if there is one.
    Put(Box<Entry>),
    /// Show it no more.
    Drop(Id),
}

/// What is known of a stream before anything is said of it.
pub struct Known<'a> {
    /// The dialect's name, once a line was claimed.
    pub dialect: Option<&'a str>,
    /// The facts of the run so far.
    pub facts: &'a Facts,
    /// Whether no more will be known: too much was held back already, or the input has ended.
    pub is_all: bool,
}

/// A decision about a stream.
pub enum Settled {
    /// More must be known. If that is all, what was set up stays.
    Wait,
    /// What was set up stays.
    Keep,
    /// These choices and this output are used instead.
    Use(Box<(Profile, Output)>),
}

/// Decides by the beginning of a stream how it is shown. It is asked after each line until it has decided;
/// until then, and within bounds, nothing is said.
pub type Settle = Box<dyn FnMut(&Known<'_>) -> Settled>;

/// How a pipeline is set up.
pub struct Setup {
    /// The dialect's name, or `None` to find out (`auto`).
    pub dialect: Option<String>,
    /// Dialects beside the known ones.
    pub guests: Vec<Guest>,
    /// Lines longer than this are told, not read. In bytes; see [`crate::frame::MAX_LINE`].
    pub max_line: usize,
    /// The user's choices.
    pub profile: Profile,
    /// What comes out.
    pub output: Output,
    /// Where the files of a history's sub-agents are found.
    pub subagents: Option<Subagents>,
    /// Decides anew what is shown and how, once it is known whose stream it is.
    pub settle: Option<Settle>,
}

/// Lines that are worked on at a time, where that many come at once. One stage after the other goes over them: what it
/// needs stays in the processor's caches, which saves some 5 % of the time.
const LINES: usize = 32;
/// Steps that are worked on at a time.
const STEPS: usize = 64;
/// Bytes of them at most: lines may be long.
const BYTES: usize = 256 << 10;

/// Bytes of one input in, text out. One pipeline reads one input.
pub struct Pipeline {
    framer: Framer,
    way: Way,
}

/// The way of a line, from its reading on.
struct Way {
    intake: Intake,
    outlet: Outlet,
    /// Lines that are worked on, with their numbers.
    readings: Vec<(u64, Reading)>,
    /// Their bytes.
    bytes: usize,
    steps: Vec<Step>,
}

impl Way {
    /// Takes a line.
    fn frame(&mut self, frame: Frame<'_>, out: &mut dyn Write) -> fmt::Result {
        self.bytes += frame.bytes.len();
        self.readings.push((frame.line, Reading::of(frame, dialect::is_event)));
        if self.readings.len() < LINES && self.bytes < BYTES { Ok(()) } else { self.work(out) }
    }

    /// Writes what the lines complete that were taken.
    fn work(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.bytes = 0;
        let mut readings = std::mem::take(&mut self.readings);
        let written = self.apply(&mut readings, out);
        self.readings = readings;
        written
    }

    /// Writes what these lines complete.
    fn apply(&mut self, readings: &mut Vec<(u64, Reading)>, out: &mut dyn Write) -> fmt::Result {
        let Self { intake, outlet, steps, .. } = self;
        let most = if intake.has_guest() { 1 } else { STEPS };
        let mut size = 0;
        for (line, reading) in readings.drain(..) {
            intake.take(line, reading, &mut |step| {
                size += step.size();
                steps.push(step);
                if steps.len() < most && size < BYTES {
                    return Ok(());
                }
                size = 0;
                steps.drain(..).try_for_each(|step| outlet.take(step, out))
            })?;
        }
        steps.drain(..).try_for_each(|step| outlet.take(step, out))
    }
}

impl Pipeline {
    /// Sets a pipeline up.
    pub fn new(setup: Setup) -> Self {
        let Setup { dialect, guests, max_line, profile, output, subagents, settle } = setup;
        let outlet = Outlet::new(profile, output, settle, dialect.as_deref());
        let intake = Intake::new(dialect.as_deref(), guests, max_line, subagents);
        let way = Way { intake, outlet, readings: Vec::new(), bytes: 0, steps: Vec::new() };
        Self { framer: Framer::new(max_line), way }
    }

    /// Reads more of the input and writes what it completes.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        let Self { framer, way } = self;
        let mut written = Ok(());
        framer.push(bytes, |frame| written = written.and_then(|()| way.frame(frame, out)));
        written.and_then(|()| way.work(out))
    }

    /// Takes the readings of the lines that come next, with their numbers: a host may make them elsewhere, with
    /// [`Reading::of`] and [`dialect::is_event`].
    pub fn apply(&mut self, readings: &mut Vec<(u64, Reading)>, out: &mut dyn Write) -> fmt::Result {
        self.way.apply(readings, out)
    }

    /// Ends the input: writes what is left.
    pub fn finish(&mut self, out: &mut dyn Write) -> fmt::Result {
        let Self { framer, way } = self;
        let mut written = Ok(());
        framer.finish(|frame| written = written.and_then(|()| way.frame(frame, out)));
        written.and_then(|()| way.work(out))?;
        let Way { intake, outlet, .. } = way;
        intake.end(&mut |step| outlet.take(step, out))?;
        outlet.end(out)
    }

    /// What changed since the last time, in the order in which it first changed. Growing items are
    /// formatted here, once for all that they grew: the caller's pace is the pace of formatting.
    pub fn take_updates(&mut self) -> Vec<Update> {
        let Outlet { session, stage, .. } = &mut self.way.outlet;
        stage.take_updates(session)
    }

    /// Goes on with other choices from the next event on. What was said stays said; the session, the counts and what
    /// formatters want to keep go over to the new ones. `writer`: whether the writer is replaced, too; one that
    /// writes a document as a whole can't be. Nothing but the profile is replaced if the kind of output is another.
    pub fn replace(
        &mut self,
        profile: Profile,
        output: Output,
        writer: bool,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let Outlet { session, stage, .. } = &mut self.way.outlet;
        stage.replace(profile, output, writer, session, out)
    }

    /// What was counted so far.
    pub fn report(&self) -> &Report {
        &self.way.outlet.stage.report
    }

    /// All items so far, and the facts of the run.
    pub fn session(&self) -> &Session {
        &self.way.outlet.session
    }
}

fn notice(line: u64, event: &str) -> Item {
    let mut item = Item::new(format!("line-{line}"), Kind::Notice, line);
    item.data = vec![("event", Fact::Text(event.to_owned())), ("level", Fact::Text("warning".to_owned()))];
    item
}
