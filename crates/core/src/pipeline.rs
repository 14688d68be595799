//! The whole path of a line: bytes in, text out.
//!
//! Bytes become frames, frames readings (pure: a host may make them on other threads and hand
//! them to [`Pipeline::apply`]), readings events, events items. Each item is said at the frame that
//! completes it, with the session as it stands there, and is never written again.

mod report;
mod stage;

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::Arc;

use crate::dialect::{self, CLAIM, Decoder, Dialect, Guest, Input, Typed};
use crate::entry::Entry;
use crate::event::Event;
use crate::formatter::Formatter;
use crate::frame::{Frame, Framer};
use crate::item::{Action, Content, Fact, Id, Item, Kind};
use crate::json::{self, Record, Value};
use crate::profile::Profile;
use crate::reading::{Part, Reading};
use crate::session::{Change, Facts, Session};
use crate::writer::Writer;

pub use report::Report;

use stage::Stage;

/// Lines held back while no dialect has claimed one.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while no dialect has claimed a line.
const MAX_HELD_BYTES: usize = 64 << 10;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_SCOUTED_BYTES: usize = 1 << 20;
/// Notices about damaged records that are shown; further ones are counted.
const SHOWN_DAMAGE: u64 = 20;
/// Files of sub-agents that may be read inside one another.
const MAX_NESTING: usize = 16;

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

/// The bytes of a file, in pieces.
pub type Pieces = Box<dyn Iterator<Item = Vec<u8>>>;

/// Finds the file that a sub-agent of a history wrote: asked with each call that may have started one, and
/// with its result, it answers with the file's bytes.
pub type Subagents = Box<dyn FnMut(&Item) -> Option<Pieces>>;

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

/// The dialect that was decided on.
#[derive(Clone)]
struct Spoken {
    name: Arc<str>,
    /// Whether an array is a list of its events. A guest has no say: then every array is.
    claim: Option<fn(Value<'_>) -> bool>,
}

impl From<&Dialect> for Spoken {
    fn from(dialect: &Dialect) -> Self {
        Self { name: dialect.name.into(), claim: Some(dialect.claim) }
    }
}

/// Bytes of one input in, text out. One pipeline reads one input.
pub struct Pipeline {
    framer: Framer,
    max_line: usize,
    dialect: Option<Spoken>,
    decoder: Option<Box<dyn Decoder>>,
    guests: Vec<Guest>,
    /// While no dialect is decided on and there are guests: the records so far.
    first: Vec<Arc<Record>>,
    held: VecDeque<(u64, Reading)>,
    held_bytes: usize,
    scout: Option<Scout>,
    /// Room for the events of one record, kept from one to the next.
    events: Vec<Event>,
    session: Session,
    subagents: Option<Subagents>,
    nesting: usize,
    line: u64,
    stage: Stage,
}

/// Reads the beginning of a stream ahead, to learn whose it is.
struct Scout {
    settle: Settle,
    /// Reads the same lines; what it writes is dropped.
    pipeline: Box<Pipeline>,
    held: VecDeque<(u64, Reading)>,
    bytes: usize,
}

impl Pipeline {
    /// Sets a pipeline up.
    pub fn new(setup: Setup) -> Self {
        let mut guests = setup.guests;
        let known = setup.dialect.as_deref().and_then(dialect::find);
        let guest = guests.iter().rposition(|guest| Some(&*guest.name) == setup.dialect.as_deref());
        let (dialect, decoder) = match (guest.map(|index| guests.swap_remove(index)), known) {
            (Some(Guest { name, decoder }), _) => (Some(Spoken { name, claim: None }), Some(decoder)),
            (None, Some(known)) => (Some(known.into()), Some((known.decoder)())),
            (None, None) => (None, None),
        };
        let (max_line, dialect_name) = (setup.max_line, known.map(|known| known.name.to_owned()));
        let scout = setup.settle.map(|settle| {
            let pipeline = Self::new(Setup {
                dialect: dialect_name,
                guests: Vec::new(),
                max_line,
                profile: Profile::default(),
                output: Output::Items,
                subagents: None,
                settle: None,
            });
            Scout { settle, pipeline: Box::new(pipeline), held: VecDeque::new(), bytes: 0 }
        });
        Self {
            framer: Framer::new(setup.max_line),
            max_line: setup.max_line,
            dialect,
            decoder,
            guests,
            first: Vec::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            scout,
            events: Vec::new(),
            session: Session::default(),
            subagents: setup.subagents,
            nesting: 0,
            line: 0,
            stage: Stage::new(setup.profile, setup.output),
        }
    }

    /// Reads more of the input and writes what it completes.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        let mut framer = std::mem::replace(&mut self.framer, Framer::new(0));
        let mut written = Ok(());
        framer.push(bytes, |frame| written = written.and_then(|()| self.frame(frame, out)));
        self.framer = framer;
        written
    }

    /// Ends the input: writes what is left.
    pub fn finish(&mut self, out: &mut dyn Write) -> fmt::Result {
        let mut framer = std::mem::replace(&mut self.framer, Framer::new(0));
        let mut written = Ok(());
        framer.finish(|frame| written = written.and_then(|()| self.frame(frame, out)));
        written?;
        self.settle(None, true, out)?;
        self.release(out)?;
        if let Some(mut decoder) = self.decoder.take() {
            let mut events = Vec::new();
            decoder.end(&self.session, &mut events);
            self.decoder = Some(decoder);
            self.happen(events, out)?;
        }
        let Self { session, stage, line, .. } = self;
        let mut written = Ok(());
        session
            .end(*line, |session, change| written = written.and_then(|()| stage.take(session, change, out)));
        written?;
        self.stage.end(&self.session, self.line, out)
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut dyn Write) -> fmt::Result {
        let line = frame.line;
        self.apply(line, Reading::of(frame, dialect::is_event), out)
    }

    /// Takes the reading of line number `line`, which [`Reading::of`] made with [`dialect::is_event`].
    pub fn apply(&mut self, line: u64, reading: Reading, out: &mut dyn Write) -> fmt::Result {
        if self.scout.is_some() {
            return self.settle(Some((line, reading)), false, out);
        }
        self.line = line;
        self.stage.report.lines += 1;
        if self.dialect.is_some() {
            return self.read(line, reading, None, out);
        }
        let claimed = match &reading {
            Reading::Record(record, _) => self.claiming(record),
            Reading::Parts(parts) => parts.records().find_map(|record| self.claiming(&record)),
            // Raw text is not held back, but keeps its place.
            _ if self.held.is_empty() => return self.read(line, reading, None, out),
            _ => None,
        };
        let Some((dialect, decoder)) = claimed else { return self.hold(line, reading, out) };
        self.dialect = Some(dialect);
        self.decoder = Some(decoder);
        (self.guests, self.first) = (Vec::new(), Vec::new());
        while let Some((line, held)) = self.held.pop_front() {
            self.read(line, held, None, out)?;
        }
        self.read(line, reading, None, out)
    }

    /// The dialect that is the surest that the input is its, with this record after those before.
    fn claiming(&mut self, record: &Record) -> Option<(Spoken, Box<dyn Decoder>)> {
        let known = dialect::claiming(record.root());
        if !self.guests.is_empty() {
            self.first.push(Arc::new(record.clone()));
            let weights = self.guests.iter_mut().map(|guest| guest.decoder.weigh(&self.first));
            // Of equals the later one: it stands over those before.
            let surest = weights.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
            let enough = if known.is_some() { CLAIM } else { 0.0 };
            if let Some((index, _)) = surest.filter(|(_, weight)| *weight > enough) {
                let Guest { name, decoder } = self.guests.swap_remove(index);
                return Some((Spoken { name, claim: None }, decoder));
            }
        }
        known.map(|known| (known.into(), (known.decoder)()))
    }

    /// Looks whether it can be settled now how the stream is shown, and if so, reads what was held back for that.
    fn settle(&mut self, news: Option<(u64, Reading)>, is_end: bool, out: &mut dyn Write) -> fmt::Result {
        let Some(mut scout) = self.scout.take() else { return Ok(()) };
        let mut is_all = is_end;
        if let Some((line, reading)) = news {
            scout.bytes += size(&reading);
            is_all |= scout.bytes > MAX_SCOUTED_BYTES || scout.held.len() >= MAX_HELD_LINES;
            if !is_all {
                scout.pipeline.apply(line, reading.clone(), &mut String::new())?;
            }
            scout.held.push_back((line, reading));
        }
        let Pipeline { dialect, session, .. } = &*scout.pipeline;
        let dialect = dialect.as_ref().or(self.dialect.as_ref()).map(|dialect| &*dialect.name);
        let known = Known { dialect, facts: session.facts(), is_all };
        match (scout.settle)(&known) {
            Settled::Wait if !is_all => {
                self.scout = Some(scout);
                return Ok(());
            }
            Settled::Use(choices) => {
                let (profile, output) = *choices;
                self.stage.choose(profile);
                self.stage.output = output;
            }
            Settled::Wait | Settled::Keep => {}
        }
        scout.held.into_iter().try_for_each(|(line, reading)| self.apply(line, reading, out))
    }

    /// Keeps a line until a dialect claims one, within bounds.
    fn hold(&mut self, line: u64, reading: Reading, out: &mut dyn Write) -> fmt::Result {
        self.held_bytes += match &reading {
            Reading::Parts(parts) => MAX_HELD_BYTES / 4 + parts.text().len(),
            reading => size(reading),
        };
        self.held.push_back((line, reading));
        if self.held.len() > MAX_HELD_LINES || self.held_bytes > MAX_HELD_BYTES {
            return self.release(out);
        }
        Ok(())
    }

    /// Gives up waiting for a claim: what was held back passes through as text.
    fn release(&mut self, out: &mut dyn Write) -> fmt::Result {
        (self.guests, self.first) = (Vec::new(), Vec::new());
        self.held_bytes = 0;
        while let Some((line, reading)) = self.held.pop_front() {
            self.read(line, reading, None, out)?;
        }
        Ok(())
    }

    /// Reads one line of a dialect, or of none. `parent`: the call whose sub-agent's file it is from.
    fn read(&mut self, line: u64, reading: Reading, parent: Option<&Id>, out: &mut dyn Write) -> fmt::Result {
        match reading {
            Reading::Blank => {
                self.stage.report.blank_lines += 1;
                Ok(())
            }
            Reading::Record(record, typed) => self.record(line, &record, Some(&typed), parent, out),
            Reading::Text(text) => self.raw(line, text, out),
            Reading::Parts(parts) => parts.enumerate().try_for_each(|(index, part)| match part {
                Part::Record(record) => self.record(line, &record, None, parent, out),
                Part::Damage { text, incomplete } => self.damage(line, index, text, incomplete, out),
            }),
            Reading::Oversized(size) => {
                self.stage.report.oversized += 1;
                let mut notice = notice(line, "oversized");
                notice.data.push(("bytes", Fact::Int(size.cast_signed())));
                self.put(notice, out)
            }
        }
    }

    /// A line that is no record, or one that no dialect knows.
    fn raw(&mut self, line: u64, text: String, out: &mut dyn Write) -> fmt::Result {
        let mut item = Item::new(format!("line-{line}"), Kind::Unknown, line);
        item.data.push(("raw", Fact::Bool(true)));
        if text.trim().is_empty() {
            // Only a plugin may have something to say of it.
            self.stage.report.blank_lines += 1;
            item.data.push(("blank", Fact::Bool(true)));
        } else {
            self.stage.report.raw_lines += 1;
        }
        item.text = Content::Own(text);
        self.put(item, out)
    }

    fn damage(
        &mut self,
        line: u64,
        index: usize,
        text: String,
        incomplete: bool,
        out: &mut dyn Write,
    ) -> fmt::Result {
        self.stage.report.damaged += 1;
        if self.stage.report.damaged > SHOWN_DAMAGE {
            return Ok(());
        }
        let mut notice = notice(line, "damaged");
        if index > 0 {
            notice.id = format!("line-{line}/damage-{index}").into();
        }
        notice.data.push(("bytes", Fact::Int((text.len() as u64).cast_signed())));
        notice.data.push(("incomplete", Fact::Bool(incomplete)));
        notice.text = Content::Own(text);
        self.put(notice, out)
    }

    fn put(&mut self, item: Item, out: &mut dyn Write) -> fmt::Result {
        self.happen([Event::Put(Box::new(item))], out)
    }

    fn record(
        &mut self,
        line: u64,
        record: &Arc<Record>,
        typed: Option<&Typed>,
        parent: Option<&Id>,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let Some(dialect) = &self.dialect else {
            let report = &mut self.stage.report;
            report.foreign = report.foreign.or_else(|| dialect::recognise_foreign(record.root()));
            return self.raw(line, record.text().to_owned(), out);
        };
        let claim = dialect.claim;
        if self.stage.report.dialect.is_none() {
            self.stage.report.dialect = Some(Arc::clone(&dialect.name));
        }
        let is_cut = record.is_cut();
        let root = record.root();
        let is_stream = root.kind() == json::Kind::Array && claim.is_none_or(|claim| claim(root));
        let elements = root.items().filter(|_| is_stream);
        let single = std::iter::once(root).filter(|_| !is_stream);
        for value in elements.chain(single) {
            let Some(mut decoder) = self.decoder.take() else { return Ok(()) };
            let mut events = std::mem::take(&mut self.events);
            decoder.decode(
                Input { record, value, typed: typed.filter(|_| !is_stream), line, parent },
                &self.session,
                &mut events,
            );
            self.decoder = Some(decoder);
            self.stage.report.events += 1;
            let written = self.happen(events.drain(..), out);
            self.events = events;
            written?;
        }
        if is_cut {
            let mut cut = notice(line, "cut");
            cut.id = format!("line-{line}/cut").into();
            return self.put(cut, out);
        }
        Ok(())
    }

    fn happen(&mut self, events: impl IntoIterator<Item = Event>, out: &mut dyn Write) -> fmt::Result {
        for event in events {
            match &event {
                Event::Bookkeeping(rule) => report::count(&mut self.stage.report.hidden, rule),
                Event::Unknown(name) => report::count(&mut self.stage.report.unknown, name),
                _ => {}
            }
            let mut delegated = Vec::new();
            let wants_subagents = self.subagents.is_some();
            let Self { session, stage, .. } = self;
            let mut written = Ok(());
            session.apply(event, |session, change| {
                if let (true, Change::Complete(item)) = (wants_subagents, &change)
                    && item.action == Some(Action::Delegate)
                {
                    delegated.push((*item).clone());
                }
                written = written.and_then(|()| stage.take(session, change, out));
            });
            written?;
            for item in delegated {
                self.subagent(&item, out)?;
            }
        }
        Ok(())
    }

    /// Reads the file of the sub-agent that a call started, or whose result it is, right under it.
    fn subagent(&mut self, item: &Item, out: &mut dyn Write) -> fmt::Result {
        let Some(pieces) = self.subagents.as_mut().and_then(|find| find(item)) else { return Ok(()) };
        let call = item.call.as_ref().unwrap_or(&item.id);
        if self.nesting >= MAX_NESTING {
            return Ok(());
        }
        self.nesting += 1;
        let mut framer = Framer::new(self.max_line);
        let mut written = Ok(());
        let mut each = |frame: Frame<'_>| {
            let line = frame.line;
            let reading = Reading::of(frame, dialect::is_event);
            written = written.and_then(|()| self.read(line, reading, Some(call), out));
        };
        for piece in pieces {
            framer.push(&piece, &mut each);
        }
        framer.finish(&mut each);
        self.nesting -= 1;
        written
    }

    /// What changed since the last time, in the order in which it first changed. Growing items are
    /// formatted here, once for all that they grew: the caller's pace is the pace of formatting.
    pub fn take_updates(&mut self) -> Vec<Update> {
        self.stage.take_updates(&self.session)
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
        self.stage.replace(profile, output, writer, &self.session, out)
    }

    /// What was counted so far.
    pub fn report(&self) -> &Report {
        &self.stage.report
    }

    /// All items so far, and the facts of the run.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

/// How much of the input a reading holds, in bytes.
fn size(reading: &Reading) -> usize {
    match reading {
        Reading::Record(record, _) => record.text().len(),
        Reading::Text(text) => text.len(),
        Reading::Parts(parts) => parts.text().len(),
        Reading::Blank | Reading::Oversized(_) => 0,
    }
}

fn notice(line: u64, event: &str) -> Item {
    let mut item = Item::new(format!("line-{line}"), Kind::Notice, line);
    item.data = vec![("event", Fact::Text(event.to_owned())), ("level", Fact::Text("warning".to_owned()))];
    item
}
