//! The whole path of a line: bytes in, text out.
//!
//! Bytes become frames, frames readings (pure: a host may make them on other threads and hand
//! them to [`Pipeline::apply`]), readings events, events items. Each item is said at the frame that
//! completes it, with the session as it stands there, and is never written again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::clip::{clip, floor, fold};
use crate::dialect::{self, CLAIM, Decoder, Dialect, Guest, Input, Typed};
use crate::entry::{Block, Entry, Figures, Line, View};
use crate::event::Event;
use crate::formatter::standard::Standard;
use crate::formatter::{Formatter, Moment, Verdict};
use crate::frame::{Frame, Framer};
use crate::item::{Action, Content, Fact, FactRef, Id, Item, Kind};
use crate::json::{self, Record, Value};
use crate::profile::{Detail, Profile, Selector};
use crate::reading::{Part, Reading};
use crate::redact::Redactor;
use crate::session::{Change, Facts, Session, SessionId};
use crate::text::Text;
use crate::writer::{Writer, json::write_item};

/// Lines held back while no dialect has claimed one.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while no dialect has claimed a line.
const MAX_HELD_BYTES: usize = 64 << 10;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_SCOUTED_BYTES: usize = 1 << 20;
/// Notices about damaged records that are shown; further ones are counted.
const SHOWN_DAMAGE: u64 = 20;
/// Names of unknown types and fields that are counted one by one.
const MAX_NAMES: usize = 1_000;
/// Longest name that is counted, in bytes.
const MAX_NAME: usize = 200;
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

/// Counts of a run, for `--report` and exit codes.
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
    pub shown: BTreeMap<&'static str, u64>,
    /// Items and records hidden, by the rule that hid them.
    pub hidden: BTreeMap<String, u64>,
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

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = &name[..floor(name, MAX_NAME)];
    if let Some(number) = counts.get_mut(name) {
        *number += 1;
    } else {
        let name =
            if counts.len() < MAX_NAMES { Text::clean(name).into_string() } else { "others".to_owned() };
        *counts.entry(name).or_default() += 1;
    }
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
        let standard = standard_of(&setup.profile);
        let redactor = Redactor::new(&setup.profile.redaction);
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
            stage: Stage {
                profile: setup.profile,
                output: setup.output,
                standard,
                redactor,
                last: None,
                last_parent: None,
                last_session: None,
                report: Report::default(),
                is_begun: false,
                has_met: false,
                grown: IndexSet::new(),
                growing: IndexSet::new(),
                updates: IndexMap::new(),
            },
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
                Event::Bookkeeping(rule) => count(&mut self.stage.report.hidden, rule),
                Event::Unknown(name) => count(&mut self.stage.report.unknown, name),
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
        let Self { session, stage, .. } = self;
        for id in std::mem::take(&mut stage.grown) {
            let Some(item) = session.open_item(&id) else { continue };
            if let Some(entry) = stage.entry(item, session) {
                stage.growing.insert(id.clone());
                stage.updates.insert(id, Update::Put(Box::new(entry)));
            } else {
                stage.hide(&id);
            }
        }
        std::mem::take(&mut stage.updates).into_values().collect()
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
        self.stage.choose(profile);
        let (Output::Entries { formatters: new, .. } | Output::Updates { formatters: new }) = &output else {
            return Ok(());
        };
        if let (true, Output::Entries { formatters, .. } | Output::Updates { formatters }) =
            (self.stage.has_met, &self.stage.output)
        {
            let mut memories = formatters.iter().map(|before| before.memory());
            for formatter in new {
                formatter.resume(memories.next().flatten(), &self.session);
            }
        }
        match (&mut self.stage.output, output) {
            (
                Output::Entries { formatters, writer: before },
                Output::Entries { formatters: new, writer: other },
            ) => {
                *formatters = new;
                if writer {
                    before.end(out)?;
                    *before = other;
                }
            }
            (Output::Updates { formatters }, Output::Updates { formatters: new }) => *formatters = new,
            _ => {}
        }
        Ok(())
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

/// Counts what a formatter contained.
fn note_failures(report: &mut Report, formatter: &dyn Formatter) {
    for failure in formatter.take_failures() {
        count(&mut report.failures, &format!("{}: {failure}", formatter.name()));
    }
}

/// The formatter that decides everything, for these choices.
fn standard_of(profile: &Profile) -> Standard {
    let wants_records = profile.filter.only.contains(&Selector::Kind(Kind::Record));
    Standard::new(profile.detail).with_records(wants_records).with_long(profile.layout.ci.has_groups())
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

/// From items on: the formatter chain, the clip, the writer.
struct Stage {
    profile: Profile,
    output: Output,
    standard: Standard,
    /// Masks what is to be masked, if anything is.
    redactor: Option<Redactor>,
    /// The item that was written last.
    last: Option<Id>,
    /// The call that it was inside of.
    last_parent: Option<Id>,
    /// The session of the last item that has one.
    last_session: Option<SessionId>,
    report: Report,
    is_begun: bool,
    /// Whether the formatters were told of the beginning.
    has_met: bool,
    /// For updates: open items that have changed.
    grown: IndexSet<Id>,
    /// For updates: open items that the sink shows.
    growing: IndexSet<Id>,
    /// For updates: what else has changed.
    updates: IndexMap<Id, Update>,
}

impl Stage {
    /// Takes other choices.
    fn choose(&mut self, profile: Profile) {
        self.standard = standard_of(&profile);
        self.redactor = Redactor::new(&profile.redaction);
        self.profile = profile;
    }

    fn take(&mut self, session: &Session, change: Change<'_>, out: &mut dyn Write) -> fmt::Result {
        match change {
            Change::Complete(item) => self.item(item, session, out),
            Change::Repeated => {
                self.report.repeated += 1;
                Ok(())
            }
            Change::Grew(id) => {
                if let Output::Updates { .. } = self.output {
                    self.grown.insert(id);
                }
                Ok(())
            }
            Change::Dropped(id) => {
                if let Output::Updates { .. } = self.output {
                    self.grown.shift_remove(&id);
                    self.growing.swap_remove(&id);
                    self.updates.insert(id.clone(), Update::Drop(id));
                }
                Ok(())
            }
        }
    }

    fn item(&mut self, item: &Item, session: &Session, out: &mut dyn Write) -> fmt::Result {
        if item.kind == Kind::Outcome {
            self.report.failed = item.error;
        }
        if let Output::Items = self.output {
            if item.fact("blank").is_none() && self.admits(item) {
                *self.report.shown.entry(item.kind.name()).or_default() += 1;
                match &mut self.redactor {
                    None => write_item(item, out)?,
                    Some(redactor) => {
                        let mut line = String::new();
                        write_item(item, &mut line)?;
                        redactor.json(&mut line);
                        out.write_str(&line)?;
                    }
                }
            }
            return Ok(());
        }
        let (before, mut after) = self.meet(item, session);
        self.aside("begin", None, before, session, out)?;
        let Some(mut entry) = self.entry(item, session) else {
            self.hide(&item.id);
            return self.aside("after", Some(item), after, session, out);
        };
        let change = self.session_change(item).and_then(|notice| self.entry(&notice, session));
        if let Some(change) = change {
            self.write(change, out)?;
        }
        if self.profile.detail != Detail::Lines {
            if let Some(redactor) = &mut self.redactor {
                redactor.blocks(&mut after);
            }
            entry.view.body.append(&mut after);
        }
        self.write(entry, out)?;
        self.aside("after", Some(item), after, session, out)
    }

    fn write(&mut self, entry: Entry, out: &mut dyn Write) -> fmt::Result {
        *self.report.shown.entry(entry.kind.name()).or_default() += 1;
        self.last = Some(entry.id.clone());
        self.last_parent.clone_from(&entry.parent);
        self.say(entry, out)
    }

    /// Hands an entry to the writer, or keeps it for the sink.
    fn say(&mut self, entry: Entry, out: &mut dyn Write) -> fmt::Result {
        match &mut self.output {
            Output::Entries { writer, .. } => {
                if !std::mem::replace(&mut self.is_begun, true) {
                    writer.begin(out)?;
                }
                writer.entry(&entry, out)?;
            }
            Output::Updates { .. } => {
                self.grown.shift_remove(&entry.id);
                self.growing.swap_remove(&entry.id);
                self.updates.insert(entry.id.clone(), Update::Put(Box::new(entry)));
            }
            Output::Items => {}
        }
        Ok(())
    }

    /// Nothing is said of an item any longer: what was said while it grew is taken back.
    fn hide(&mut self, id: &Id) {
        if self.growing.swap_remove(id) {
            self.updates.insert(id.clone(), Update::Drop(id.clone()));
        }
    }

    /// Tells the formatters of an item, and of the beginning if it is the first one. Gives what is to be said
    /// before and after the item.
    fn meet(&mut self, item: &Item, session: &Session) -> (Vec<Block>, Vec<Block>) {
        let is_first = !std::mem::replace(&mut self.has_met, true);
        let before = if is_first { self.observe(Moment::Begin, session) } else { Vec::new() };
        (before, self.observe(Moment::Complete(item), session))
    }

    fn observe(&mut self, moment: Moment<'_>, session: &Session) -> Vec<Block> {
        let (Output::Entries { formatters, .. } | Output::Updates { formatters }) = &self.output else {
            return Vec::new();
        };
        let mut said = Vec::new();
        for formatter in formatters {
            said.extend(formatter.observe(moment, session));
            note_failures(&mut self.report, &**formatter);
        }
        said
    }

    /// Says, in an entry of its own, what no shown item can carry: at the beginning or the end, or after an
    /// item that is hidden.
    fn aside(
        &mut self,
        name: &str,
        item: Option<&Item>,
        body: Vec<Block>,
        session: &Session,
        out: &mut dyn Write,
    ) -> fmt::Result {
        if body.is_empty() {
            return Ok(());
        }
        let id: Id = item.map_or_else(|| name.into(), |item| format!("{}/{name}", item.id).into());
        let mut view = View::of(body);
        if let Some(redactor) = &mut self.redactor {
            redactor.view(&mut view);
        }
        let view = self.folded(&Item::new(id.clone(), Kind::Notice, 0), session, view);
        let entry = Entry {
            parent: item.and_then(|item| item.parent.clone()),
            place: item.map_or(0, |item| item.place),
            ..Entry::new(id, Kind::Notice, view)
        };
        self.say(entry, out)
    }

    fn admits(&mut self, item: &Item) -> bool {
        let is_admitted = self.profile.filter.admits(item);
        if !is_admitted {
            count(&mut self.report.hidden, "filter");
        }
        is_admitted
    }

    /// What is said of an item, cut to the limits; `None`: nothing.
    fn entry(&mut self, item: &Item, session: &Session) -> Option<Entry> {
        if !self.admits(item) {
            return None;
        }
        let Some(mut view) = self.view(item, session) else {
            count(&mut self.report.hidden, item.kind.name());
            return None;
        };
        let mut of = match item.kind {
            Kind::Result => self.named_call(item, session),
            _ => self.named_parent(item, session),
        };
        let mut tool = item.tool.as_deref().map(Text::clean);
        if let Some(redactor) = &mut self.redactor {
            if item.fact("raw").is_some() {
                redactor.raw_line(&mut view);
            } else {
                redactor.view(&mut view);
            }
            if let Some(line) = &mut of {
                redactor.line(line);
            }
            tool = tool.map(|tool| Text::clean_owned(redactor.text(&tool).into_owned()));
        }
        let mut view = self.folded(item, session, view);
        if self.profile.filter.collapses(item) {
            fold(&mut view);
        }
        clip(&mut view, item.kind, item.error, &self.profile.limits_of(item));
        let (wants_time, wants_figures) = match &self.output {
            Output::Entries { writer, .. } => (writer.wants_time(), writer.wants_figures()),
            _ => (true, false),
        };
        Some(Entry {
            id: item.id.clone(),
            parent: item.parent.clone(),
            place: item.place,
            kind: item.kind,
            tool,
            action: item.action,
            status: item.status,
            at: if wants_time { item.at() } else { None },
            depth: session.depth(item.parent.as_ref()),
            of,
            figures: wants_figures.then(|| Figures {
                usage: session.usage(),
                cost: item.fact("cost_usd").filter(|_| item.kind == Kind::Outcome).and_then(FactRef::float),
            }),
            view,
        })
    }

    /// What the chain says of an item; `None`: nothing.
    fn view(&mut self, item: &Item, session: &Session) -> Option<View> {
        let (Output::Entries { formatters, .. } | Output::Updates { formatters }) = &self.output else {
            return None;
        };
        let chain = formatters.iter().map(|formatter| &**formatter).chain([&self.standard as &dyn Formatter]);
        for formatter in chain {
            let verdict = formatter.format(item, session);
            note_failures(&mut self.report, formatter);
            match verdict {
                Ok(Verdict::Show(view)) => return Some(view),
                Ok(Verdict::Hide) => return None,
                Ok(Verdict::Pass) => {}
                Err(error) => count(&mut self.report.failures, &format!("{}: {error}", formatter.name())),
            }
        }
        None
    }

    /// The view in one line, if the profile wants that. It is masked before, since a secret that is cut isn't known
    /// any more, and after, since the line names the call.
    fn folded(&mut self, item: &Item, session: &Session, view: View) -> View {
        if self.profile.detail != Detail::Lines {
            return view;
        }
        let mut view = self.standard.fold(item, session, view);
        if let Some(redactor) = &mut self.redactor {
            redactor.view(&mut view);
        }
        view
    }

    /// The title of the call that a result belongs to, unless that stands right above.
    fn named_call(&mut self, item: &Item, session: &Session) -> Option<Line> {
        if self.standard.names_calls() {
            return None;
        }
        let is_apart = |call: &&Id| item.kind == Kind::Result && self.last.as_ref() != Some(*call);
        let call = item.call.as_ref().filter(is_apart)?;
        Some(
            self.title_of(call, session)
                .unwrap_or_else(|| Line::of("muted", "result of").with("id", call.as_str())),
        )
    }

    /// The title of the call that an item is inside of, unless what stands right above is inside of it too, or is it.
    fn named_parent(&mut self, item: &Item, session: &Session) -> Option<Line> {
        let parent = item.parent.as_ref()?;
        if self.last.as_ref() == Some(parent) || self.last_parent.as_ref() == Some(parent) {
            return None;
        }
        Some(
            self.title_of(parent, session)
                .unwrap_or_else(|| Line::of("muted", "inside of").with("id", parent.as_str())),
        )
    }

    /// The title of a call, if it is remembered.
    fn title_of(&mut self, call: &Id, session: &Session) -> Option<Line> {
        let known = session.call(call)?;
        let view = self.view(known, session).map(|view| match self.profile.detail {
            Detail::Lines => self.standard.fold(known, session, view),
            _ => view,
        });
        let title = view.map(|view| view.title).filter(|title| !title.is_empty());
        Some(title.unwrap_or_else(|| Line::of("tool.name", known.tool.as_deref().unwrap_or("call"))))
    }

    /// A notice that tells of which session an item is, if that isn't the session of those above.
    fn session_change(&mut self, item: &Item) -> Option<Item> {
        let now = item.session.as_ref()?;
        if self.last_session.as_ref().is_some_and(|before| Arc::ptr_eq(before, now)) {
            return None;
        }
        let before = self.last_session.replace(now.clone())?;
        let says_it = item.fact("event").and_then(FactRef::str).as_deref() == Some("session");
        if before == *now || says_it {
            return None;
        }
        let mut notice = Item::new(format!("{}/session-change", item.id), Kind::Notice, item.line);
        notice.session = Some(now.clone());
        notice.data = vec![
            ("event", Fact::Text("session-change".to_owned())),
            ("session", Fact::Text((**now).to_owned())),
        ];
        Some(notice)
    }

    fn end(&mut self, session: &Session, line: u64, out: &mut dyn Write) -> fmt::Result {
        self.report.open_calls = session.open_calls();
        if let Some(redactor) = &self.redactor {
            self.report.redacted = redactor.counts().clone();
        }
        if self.report.damaged > SHOWN_DAMAGE {
            let count = self.report.damaged;
            let mut notice = notice(line, "damaged");
            notice.id = "damaged".into();
            notice.data.push(("count", Fact::Int(count.cast_signed())));
            self.item(&notice, session, out)?;
        }
        if self.has_met {
            let last = self.observe(Moment::End, session);
            self.aside("end", None, last, session, out)?;
        }
        let Output::Entries { writer, .. } = &mut self.output else { return Ok(()) };
        if !std::mem::replace(&mut self.is_begun, true) {
            writer.begin(out)?;
        }
        writer.end(out)
    }
}
