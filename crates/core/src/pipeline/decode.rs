//! Decodes lines into steps. Nothing here depends on the session or its outputs, so it can run ahead on another thread.

use std::mem;
use std::sync::Arc;

use crate::dialect::{ForeignProgram, Input, TextLine};
use crate::event::Event;
use crate::frame::{Framer, Frames};
use crate::item::{Action, Content, Fact, Id, Item, Kind};
use crate::json::{self, Record, Value};
use crate::reading::{LinePart, LineReader, ParsedLine, WrappedLines};

use super::Setup;
use super::detect::{ChosenDialect, Detection};
use super::other_dialects::OtherDialects;
use super::repeats::Repeats;
use super::step::Step;

/// Notices about damaged records that are shown; further ones are counted.
pub(super) const SHOWN_DAMAGE: u64 = 20;
/// Files of sub-agents that may be read inside one another.
const MAX_NESTING: usize = 16;

/// The bytes of a file, in pieces.
pub type Pieces = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// Finds the file that a sub-agent of a history wrote: called with each call that may have started one, and
/// with its result, it returns the file's bytes.
pub type Subagents = Box<dyn FnMut(&Item) -> Option<Pieces> + Send>;

/// Finds the file of a session, by its id, for a file that repeats its lines: returns the file's bytes.
pub type Origins = Box<dyn FnMut(&str) -> Option<Pieces> + Send>;

/// Reads the record beside a history that contains facts of its session: called before the first record of the history, and at its end,
/// when they may be others.
pub type SessionFacts = Box<dyn FnMut() -> Option<Record> + Send>;

/// Decodes the lines of one input.
///
/// It may be moved to another thread unless [`Self::has_plugin`].
pub struct DecodeStage {
    /// Reads the lines of the input.
    pub(super) reader: LineReader,
    /// Whether records over several lines came that a dialect claims: others are records as well then.
    has_documents: bool,
    /// Whether the last records that were wrapped are those of the dialect.
    took_wrapped: bool,
    /// The time of the records that are decoded, if they are behind a prefix with a time: a string.
    time: Option<Record>,
    pub(super) detection: Detection,
    /// The dialect of the input, once it is known.
    pub(super) dialect: Option<ChosenDialect>,
    pub(super) others: OtherDialects,
    /// Finds the files of sub-agents.
    subagents: Option<Subagents>,
    /// Recognises lines that repeat another session.
    repeats: Repeats,
    /// The facts of the session beside the history.
    facts: FactsBeside,
    max_line: usize,
    /// How many files of sub-agents are being read inside one another.
    nesting: usize,
    damaged: u64,
    pub(super) needs: DecodeNeeds,
    /// Room for the events of one record, kept from one to the next.
    events: Vec<Event>,
}

/// What is needed of a record.
pub(super) struct DecodeNeeds {
    /// Whether an output may show items of minor importance; see [`Input::shows_minor`].
    pub(super) shows_minor: bool,
    /// Whether an observer counts what each request used; see [`Input::counts`].
    counts: bool,
}

/// The facts of the session that are beside the history.
struct FactsBeside {
    read: Option<SessionFacts>,
    /// Whether they were added before the first record.
    are_added: bool,
}

impl DecodeStage {
    /// The stage before the first line. Takes the dialect plugins and the finder of sub-agents' files out of the setup.
    pub(super) fn new(setup: &mut Setup) -> Self {
        let plugins = mem::take(&mut setup.dialect_plugins);
        let mut detection = Detection::new(setup.dialects, plugins, setup.budget);
        let dialect = setup.dialect.as_deref().and_then(|name| detection.named(name));
        Self {
            reader: LineReader::new(setup.max_line),
            has_documents: false,
            took_wrapped: false,
            time: None,
            detection,
            dialect,
            others: OtherDialects::new(setup.dialect.is_none()),
            subagents: setup.subagents.take(),
            repeats: Repeats::new(setup.origins.take(), setup.dialects, setup.max_line),
            facts: FactsBeside { read: setup.facts.take(), are_added: false },
            max_line: setup.max_line,
            nesting: 0,
            damaged: 0,
            needs: DecodeNeeds {
                shows_minor: true,
                counts: setup.observers.iter().any(|it| it.needs_usage_details()),
            },
            events: Vec::new(),
        }
    }

    /// Whether a dialect plugin decodes the input. A Lua VM must stay on the thread that created it.
    pub fn has_plugin(&self) -> bool {
        self.others.left.iter().chain(&self.dialect).any(|dialect| dialect.row.is_none())
    }

    /// Decodes the next frames of the input, and passes each resulting step to `each`.
    pub fn take(&mut self, frames: Frames<'_>, each: &mut dyn FnMut(Step)) {
        self.with_reader(|decode, reader| {
            let dialects = decode.detection.dialects;
            let claim = |value: Value<'_>| dialects.is_event(value);
            if decode.reads_text() {
                reader.finish(claim, |line, reading| decode.line(line, reading, each));
                return ParsedLine::each_text(&frames, |line, reading| decode.line(line, reading, each));
            }
            reader.read(frames, claim, |line, reading| decode.line(line, reading, each));
        });
    }

    /// Calls `work` with the reader of the input's lines.
    pub(super) fn with_reader(&mut self, work: impl FnOnce(&mut Self, &mut LineReader)) {
        let mut reader = mem::replace(&mut self.reader, LineReader::apart());
        work(self, &mut reader);
        self.reader = reader;
    }

    /// Counts the lines of a reading, and emits its steps.
    fn line(&mut self, line: u64, reading: ParsedLine, each: &mut dyn FnMut(Step)) {
        count_lines(&reading, &mut *each);
        self.read(line, reading, None, each);
    }

    /// Whether the dialect of the input reads text lines instead of records: then every line is text, whatever it looks like.
    pub(super) fn reads_text(&self) -> bool {
        let row = self.dialect.as_ref().and_then(|dialect| dialect.row);
        row.is_some_and(|row| row.claim_text.is_some())
    }

    /// Decodes frames of the file of the sub-agent that `call` started, for files that are followed as they grow. Lines of such a
    /// file and of the input may be interleaved in any order.
    pub(super) fn take_inside(&mut self, call: &Id, frames: Frames<'_>, each: &mut dyn FnMut(Step)) {
        let dialects = self.detection.dialects;
        let claim = |value: Value<'_>| dialects.is_event(value);
        self.nesting += 1;
        LineReader::apart().read(frames, claim, |line, reading| self.read(line, reading, Some(call), each));
        self.nesting -= 1;
    }

    /// Ends the input: emits the remaining steps.
    pub(super) fn end(&mut self, each: &mut dyn FnMut(Step)) {
        if self.facts.are_added {
            self.add_facts(each);
        }
        let mut events = Vec::new();
        self.others.left.iter_mut().for_each(|dialect| dialect.decoder.end(&mut events));
        events.into_iter().map(Step::Event).for_each(&mut *each);
        self.end_dialect(each);
    }

    /// Emits the remaining steps of the dialect.
    pub(super) fn end_dialect(&mut self, each: &mut dyn FnMut(Step)) {
        let mut events = Vec::new();
        if let Some(dialect) = &mut self.dialect {
            dialect.decoder.end(&mut events);
        }
        events.into_iter().map(Step::Event).for_each(each);
    }

    /// Emits the steps of a line. `parent`: the call whose sub-agent's file the line is from, if any.
    pub(super) fn read(
        &mut self,
        line: u64,
        reading: ParsedLine,
        parent: Option<&Id>,
        each: &mut dyn FnMut(Step),
    ) {
        match reading {
            ParsedLine::Blank if self.reads_text() => self.text(line, "", each),
            ParsedLine::Text(text) if self.reads_text() => self.text(line, &text, each),
            // They were read before the dialect was known.
            ParsedLine::Wrapped(lines) if self.reads_text() => {
                (line..).zip(lines.text().split('\n')).for_each(|(line, text)| self.text(line, text, each));
            }
            ParsedLine::Blank => each(Step::Count(|report| report.blank_lines += 1)),
            ParsedLine::Record(record) => self.record(line, &record, parent, each),
            ParsedLine::Text(text) => {
                if let Some(other) = self.detection.dialects.claiming_text(&text) {
                    self.note_other(other, false, line, parent, each);
                }
                raw(line, text, parent, each);
            }
            ParsedLine::Parts(parts) => parts.enumerate().for_each(|(index, part)| match part {
                LinePart::Record(record) => self.record(line, &record, parent, each),
                LinePart::Damage { text, incomplete } => {
                    each(Step::Count(|report| report.damaged += 1));
                    each(Step::put(self.damage(line, index, text, incomplete), parent));
                }
            }),
            ParsedLine::Wrapped(lines) => self.wrapped(line, &lines, parent, each),
            ParsedLine::Oversized { bytes, lines } => {
                further_lines(lines.saturating_sub(1), each);
                let mut notice = Item::warning(format!("line-{line}"), "oversized", line);
                notice.data.push(("bytes", Fact::Int(bytes.cast_signed())));
                each(Step::Count(|report| report.oversized += 1));
                each(Step::put(notice, parent));
            }
        }
    }

    /// Decodes a line of a dialect of text lines.
    fn text(&mut self, line: u64, text: &str, each: &mut dyn FnMut(Step)) {
        let Some(dialect) = &mut self.dialect else { return };
        if mem::take(&mut dialect.is_new) {
            each(Step::Dialect(Arc::clone(&dialect.name)));
        }
        if text.starts_with('{')
            && let Ok((record, _)) = Record::read(text)
            && let Some(other) = self.detection.dialects.certain_other(record.root(), &dialect.name)
        {
            self.note_other(other, false, line, None, each);
        }
        let Some(dialect) = &mut self.dialect else { return };
        each(Step::Count(if text.trim().is_empty() {
            |report| report.blank_lines += 1
        } else {
            |report| report.events += 1
        }));
        dialect.decoder.text(TextLine { text, line }, &mut self.events);
        self.events.drain(..).map(Step::Event).for_each(each);
    }

    /// Emits the steps of lines in which records are wrapped. If they aren't those of a dialect, the lines are text.
    fn wrapped(&mut self, line: u64, lines: &WrappedLines, parent: Option<&Id>, each: &mut dyn FnMut(Step)) {
        let dialects = self.detection.dialects;
        let is_event = |value: Value<'_>| dialects.is_event(value);
        self.took_wrapped = match &self.dialect {
            None => false,
            Some(_) if lines.is_rest() => self.took_wrapped,
            Some(dialect) => {
                lines.is_certain() || self.has_documents || dialect.row.is_none() || lines.has(is_event)
            }
        };
        if !self.took_wrapped {
            for (_, record) in lines.records() {
                if let Some(program) = (dialects.recognise)(record.root()) {
                    each(Step::Foreign(program));
                }
            }
            return (line..)
                .zip(lines.text().split('\n'))
                .for_each(|(line, text)| raw(line, text.to_owned(), parent, each));
        }
        self.has_documents |= !lines.is_certain() && !lines.is_rest();
        further_lines(lines.line_count().saturating_sub(lines.record_count()), each);
        if let Some(prefix) = lines.prefix() {
            let mut notice = Item::new(format!("line-{line}/prefix"), Kind::Notice, line);
            notice.data.extend([("event", Fact::Text("wrapped".to_owned())), ("minor", Fact::Bool(true))]);
            notice.text = Content::Own(prefix.to_owned());
            each(Step::put(notice, parent));
        }
        self.time = lines.time().and_then(|time| Record::from_line(format!("\"{time}\"")).ok());
        for (before, record) in lines.records() {
            self.record(line + before, &record, parent, each);
        }
        self.time = None;
    }

    fn damage(&mut self, line: u64, index: usize, text: String, incomplete: bool) -> Item {
        self.damaged += 1;
        let id = if index > 0 { format!("line-{line}/damage-{index}") } else { format!("line-{line}") };
        let mut notice = Item::warning(id, "damaged", line);
        if self.damaged > SHOWN_DAMAGE {
            // It isn't shown, unless a plugin shows it.
            notice.data.push(("counted", Fact::Bool(true)));
        }
        notice.data.push(("bytes", Fact::Int((text.len() as u64).cast_signed())));
        notice.data.push(("incomplete", Fact::Bool(incomplete)));
        notice.text = Content::Own(text);
        notice
    }

    fn record(&mut self, line: u64, record: &Record, parent: Option<&Id>, each: &mut dyn FnMut(Step)) {
        let root = record.root();
        let Some(dialect) = &mut self.dialect else {
            if let Some(program) = (self.detection.dialects.recognise)(root) {
                each(Step::Foreign(program));
            }
            return raw(line, record.text().to_owned(), parent, each);
        };
        if mem::take(&mut dialect.is_new) {
            each(Step::Dialect(Arc::clone(&dialect.name)));
        }
        if !mem::replace(&mut self.facts.are_added, true) {
            self.add_facts(each);
        }
        let DecodeNeeds { shows_minor, counts } = self.needs;
        self.value(Input { record, value: root, line, parent, origin: None, shows_minor, counts }, each);
        if record.is_cut() {
            each(Step::put(Item::warning(format!("line-{line}/cut"), "cut", line), parent));
        }
    }

    /// Decodes a record, or each of those in an array.
    fn value(&mut self, input: Input<'_>, each: &mut dyn FnMut(Step)) {
        let row = self.dialect.as_ref().and_then(|dialect| dialect.row);
        // To a dialect plugin, every array is a list of its events.
        let is_claimed = || row.is_none_or(|row| (row.claim)(input.value));
        if input.value.kind() == json::ValueKind::Array && is_claimed() {
            input.value.items().for_each(|value| self.decode(Input { value, ..input }, each));
        } else {
            self.decode(input, each);
        }
    }

    /// Decodes the record with the facts of the session that is beside the history, if it is one of its dialect.
    fn add_facts(&mut self, each: &mut dyn FnMut(Step)) {
        let (Some(read), Some(dialect)) = (&mut self.facts.read, &mut self.dialect) else { return };
        let Some(record) = read() else { return };
        let value = record.root();
        if !dialect.row.is_some_and(|row| (row.claim)(value)) {
            return;
        }
        let input = Input {
            record: &record,
            value,
            line: 0,
            parent: None,
            origin: None,
            shows_minor: self.needs.shows_minor,
            counts: self.needs.counts,
        };
        let mut events = Vec::new();
        dialect.decoder.decode(input, &mut events);
        events.into_iter().map(Step::Event).for_each(each);
    }

    /// Decodes one record and emits its events.
    fn decode(&mut self, input: Input<'_>, each: &mut dyn FnMut(Step)) {
        let Some(dialect) = &mut self.dialect else { return };
        let origin = self.repeats.origin(&*dialect.decoder, input.value, input.parent);
        let input = Input { origin: origin.as_deref(), ..input };
        // Decoding a sub-agent's file in the middle of this record must not reuse the same buffer.
        let mut events = mem::take(&mut self.events);
        dialect.decoder.decode(input, &mut events);
        let is_unknown = matches!(events.first(), Some(Event::Unknown(_)));
        let row = dialect.row;
        let (dialects, name) = (self.detection.dialects, row.map(|row| row.name));
        let unknown = events.iter().position(|event| matches!(event, Event::Unknown(_)));
        // The first lines of some streams are alike.
        let may_be_other = unknown.is_some()
            || name == Some(dialects.fallback)
            || events.iter().any(|event| matches!(event, Event::Facts(_)));
        let other = if may_be_other { self.other(input) } else { None };
        if let Some(other) = other {
            if self.follows(other, input) {
                // Those before it may complete something.
                events.truncate(unknown.unwrap_or(0));
                events.drain(..).map(Step::Event).for_each(&mut *each);
                self.events = events;
                self.change(other, input, each);
                return self.value(input, each);
            }
            self.note_other(other, false, input.line, input.parent, each);
        }
        let Some(dialect) = &mut self.dialect else { return };
        if let Some(time) = &self.time {
            for event in &mut events {
                event.take_time(time);
            }
        }
        if self.nesting == 0
            && !dialect.awaits_outcome
            && row.map_or_else(
                || dialect.decoder.ends_with_outcome(),
                |row| (row.ends_with_outcome)(input.value),
            )
        {
            dialect.awaits_outcome = true;
            each(Step::Count(|report| report.awaits_outcome = true));
        }
        // Counting ends a record, so this comes before it begins.
        if is_unknown {
            each(Step::Count(|report| report.unknown_events += 1));
        }
        if is_unknown || name == Some(dialects.fallback) {
            let other = || {
                let other = dialects.claiming(input.value);
                other.filter(|other| is_unknown && name != Some(other.name))
            };
            let program = (dialects.recognise)(input.value)
                .or_else(|| other().map(|other| ForeignProgram { name: other.name, resembles: None }));
            if let Some(program) = program {
                each(Step::Foreign(program));
            }
        }
        if let Some(name) = self.others.name(row, other) {
            each(Step::OtherDialect(name));
        }
        each(Step::Record(input.line, input.record.clone(), input.value.node()));
        for event in events.drain(..) {
            // The sub-agents of another session are shown with it.
            let subagent = if origin.is_none() { self.subagent(&event) } else { None };
            each(Step::Event(event));
            if let Some((call, pieces)) = subagent {
                self.nest(&call, pieces, each);
            }
        }
        self.events = events;
    }

    /// If the event is a sub-agent's call or result: that call, and the sub-agent's file.
    fn subagent(&mut self, event: &Event) -> Option<(Id, Pieces)> {
        let find = self.subagents.as_mut()?;
        let Event::Put(item) = event else { return None };
        if item.action() != Some(Action::Delegate) || self.nesting >= MAX_NESTING {
            return None;
        }
        let call = item.call.as_ref().unwrap_or(&item.id);
        Some((call.clone(), find(item)?))
    }

    /// Decodes the file of a sub-agent, directly after its call.
    fn nest(&mut self, call: &Id, pieces: Pieces, each: &mut dyn FnMut(Step)) {
        let mut framer = Framer::new(self.max_line);
        for piece in pieces {
            framer.push(&piece, |frames| self.take_inside(call, frames, each));
        }
        framer.finish(|frames| self.take_inside(call, frames, each));
    }
}

/// Counts the lines of a reading.
pub(super) fn count_lines(reading: &ParsedLine, mut each: impl FnMut(Step)) {
    (0..reading.lines()).for_each(|_| each(Step::Count(|report| report.lines += 1)));
}

/// Counts lines that belong to the records of other lines.
fn further_lines(count: u64, each: &mut dyn FnMut(Step)) {
    (0..count).for_each(|_| each(Step::Count(|report| report.further_lines += 1)));
}

/// Emits a line as raw text: it is no record, or no dialect claimed it.
fn raw(line: u64, text: String, parent: Option<&Id>, each: &mut dyn FnMut(Step)) {
    let mut item = Item::new(format!("line-{line}"), Kind::Unknown, line);
    item.data.push(("raw", Fact::Bool(true)));
    each(Step::Count(if text.trim().is_empty() {
        |report| report.blank_lines += 1
    } else {
        |report| report.raw_lines += 1
    }));
    item.text = Content::Own(text);
    each(Step::put(item, parent));
}
