//! From lines to events: whose stream it is, and what each line tells.
//!
//! Nothing here depends on what was made of earlier events: this stage may be ahead of those after it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::budget::Budget;
use crate::dialect::{CLAIM, Decoder, Dialect, DialectPlugin, Dialects, ForeignProgram, Input, TypedRecord};
use crate::event::Event;
use crate::frame::{Frame, Framer};
use crate::item::{Action, Content, Fact, Id, Item, Kind};
use crate::json::{self, Record, Value};
use crate::reading::{LinePart, LineReader, LineReading};

use super::notice;

/// Lines held back while no dialect has claimed one.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while no dialect has claimed a line.
const MAX_HELD_BYTES: usize = 64 << 10;
/// Notices about damaged records that are shown; further ones are counted.
pub(super) const SHOWN_DAMAGE: u64 = 20;
/// Files of sub-agents that may be read inside one another.
const MAX_NESTING: usize = 16;

/// The bytes of a file, in pieces.
pub type Pieces = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// Finds the file that a sub-agent of a history wrote: asked with each call that may have started one, and
/// with its result, it answers with the file's bytes.
pub type Subagents = Box<dyn FnMut(&Item) -> Option<Pieces> + Send>;

/// What the input tells, step by step, in order: what goes from the decode stage to the session stage.
#[derive(Debug)]
pub struct DecodedStep(pub(super) DecodedStepKind);

/// What a step tells.
#[derive(Debug)]
pub(super) enum DecodedStepKind {
    /// A line of the input was read: its number, from 1.
    Line(u64),
    /// It was, or an item of a line was, one of these.
    Count(InputCount),
    /// A record of a dialect begins: the events up to the next line or record are what it tells.
    Record(DialectRecord),
    /// From here on records are of this dialect.
    Dialect(Arc<str>),
    /// The input is of a form that ends with an outcome.
    AwaitsOutcome,
    /// Something happened.
    Event(Event),
}

impl DecodedStep {
    /// About how much of the input it holds, in bytes.
    pub fn size(&self) -> usize {
        match &self.0 {
            DecodedStepKind::Event(Event::Put(item) | Event::Open(item) | Event::Amend(item)) => {
                if let Content::Own(text) = &item.text {
                    text.len()
                } else {
                    0
                }
            }
            DecodedStepKind::Record(dialect_record) => dialect_record.record.text().len(),
            DecodedStepKind::Event(Event::Append { text, .. }) => text.len(),
            _ => 0,
        }
    }
}

/// A record of a dialect, as it came.
#[derive(Debug)]
pub(super) struct DialectRecord {
    pub(super) line: u64,
    pub(super) record: Arc<Record>,
    /// The event in it, by node: its root, or an element of it.
    pub(super) node: u32,
}

/// What is counted of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputCount {
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
}

/// Takes steps as they come.
type TakeStep<'a> = &'a mut dyn FnMut(DecodedStep);

/// The dialect that was decided on.
#[derive(Clone)]
struct ChosenDialect {
    name: Arc<str>,
    /// Whether an array is a list of its events. A dialect plugin has no say: then every array is.
    claim: Option<fn(Value<'_>) -> bool>,
    /// See [`Dialect::ends_with_outcome`]; `None` once the input is known to be of such a form, and for a dialect plugin.
    ends_with_outcome: Option<fn(Value<'_>) -> bool>,
}

impl From<&Dialect> for ChosenDialect {
    fn from(dialect: &Dialect) -> Self {
        Self {
            name: dialect.name.into(),
            claim: Some(dialect.claim),
            ends_with_outcome: Some(dialect.ends_with_outcome),
        }
    }
}

impl ChosenDialect {
    fn plugin(name: Arc<str>) -> Self {
        Self { name, claim: None, ends_with_outcome: None }
    }
}

/// From lines to events: makes steps of the lines of one input.
pub struct DecodeStage {
    max_line: usize,
    budget: Budget,
    reader: LineReader,
    dialects: Dialects,
    /// The dialect, and its decoder.
    dialect: Option<(ChosenDialect, Box<dyn Decoder>)>,
    dialect_plugins: Vec<DialectPlugin>,
    /// The dialect that an unknown program's events resemble: it can't claim the input.
    resembled: Option<&'static str>,
    /// While no dialect is decided on and there are dialect plugins: the records so far.
    first: Vec<Arc<Record>>,
    held: VecDeque<(u64, LineReading)>,
    held_bytes: usize,
    has_told_dialect: bool,
    damaged: u64,
    /// Room for the events of one record, kept from one to the next.
    events: Vec<Event>,
    subagents: Option<Subagents>,
    nesting: usize,
}

impl DecodeStage {
    /// The stage at the start of an input. `dialects`, `dialect`, `dialect_plugins`, `max_line`, `subagents`, `budget`: see [`super::Setup`].
    pub(super) fn new(
        dialects: Dialects,
        dialect: Option<&str>,
        mut dialect_plugins: Vec<DialectPlugin>,
        max_line: usize,
        subagents: Option<Subagents>,
        budget: Budget,
    ) -> Self {
        let budget = budget.at_least();
        let plugin = dialect_plugins.iter().rposition(|plugin| Some(&*plugin.name) == dialect);
        let known = dialect.and_then(|name| dialects.find(name));
        let reader = LineReader::new(dialects);
        let dialect = match (plugin.map(|index| dialect_plugins.swap_remove(index)), known) {
            (Some(DialectPlugin { name, decoder }), _) => Some((ChosenDialect::plugin(name), decoder)),
            (None, Some(known)) => Some(speak(known, &reader, budget)),
            (None, None) => None,
        };
        Self {
            max_line,
            budget,
            reader,
            dialects,
            dialect,
            dialect_plugins,
            resembled: None,
            first: Vec::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            has_told_dialect: false,
            damaged: 0,
            events: Vec::new(),
            subagents,
            nesting: 0,
        }
    }

    /// What reads the lines that [`Self::take`] takes.
    pub(super) fn reader(&self) -> LineReader {
        self.reader.clone()
    }

    /// Takes the reading of line number `line` in. `each` takes the steps in their order.
    pub fn take(&mut self, line: u64, reading: LineReading, each: &mut dyn FnMut(DecodedStep)) {
        each(DecodedStep(DecodedStepKind::Line(line)));
        if self.dialect.is_some() {
            return self.read(line, reading, None, each);
        }
        let claimed = match &reading {
            LineReading::Record(record, _) => self.claiming(record),
            LineReading::Parts(parts) => parts.records().find_map(|record| self.claiming(&record)),
            // Raw text is not held back, but keeps its place.
            _ if self.held.is_empty() => return self.read(line, reading, None, each),
            _ => None,
        };
        if claimed.is_none() {
            return self.hold(line, reading, each);
        }
        self.dialect = claimed;
        self.release(each);
        self.read(line, reading, None, each);
    }

    /// Takes in a line of the file of a sub-agent that `call` started, where that file is read as it grows: it is number
    /// `line` there. Lines of such a file and of the input may come in any order.
    pub(super) fn take_inside(&mut self, call: &Id, line: u64, reading: LineReading, each: TakeStep<'_>) {
        self.nesting += 1;
        self.read(line, reading, Some(call), each);
        self.nesting -= 1;
    }

    /// Ends the input.
    pub(super) fn end(&mut self, each: TakeStep<'_>) {
        self.release(each);
        let Some((_, decoder)) = &mut self.dialect else { return };
        let mut events = Vec::new();
        decoder.end(&mut events);
        for event in events {
            each(DecodedStep(DecodedStepKind::Event(event)));
        }
    }

    /// Whether events are made, or may be, by a dialect plugin: its script may also have a say in what comes after them, so that it
    /// must not be ahead of that.
    pub(super) fn has_plugin(&self) -> bool {
        let is_plugin = |(chosen, _): &(ChosenDialect, _)| chosen.claim.is_none();
        !self.dialect_plugins.is_empty() || self.dialect.as_ref().is_some_and(is_plugin)
    }

    /// The dialect that is the surest that the input is its, with this record after those before.
    fn claiming(&mut self, record: &Record) -> Option<(ChosenDialect, Box<dyn Decoder>)> {
        if self.resembled.is_none() {
            self.resembled = (self.dialects.recognise)(record.root()).and_then(|program| program.resembles);
        }
        let known = self.dialects.claiming(record.root()).filter(|known| self.resembled != Some(known.name));
        if !self.dialect_plugins.is_empty() {
            self.first.push(Arc::new(record.clone()));
            let weights = self.dialect_plugins.iter_mut().map(|plugin| plugin.decoder.weigh(&self.first));
            // Of equals the later one: it stands over those before.
            let surest = weights.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
            let enough = if known.is_some() { CLAIM } else { 0.0 };
            if let Some((index, _)) = surest.filter(|(_, weight)| *weight > enough) {
                let DialectPlugin { name, decoder } = self.dialect_plugins.swap_remove(index);
                return Some((ChosenDialect::plugin(name), decoder));
            }
        }
        known.map(|known| speak(known, &self.reader, self.budget))
    }

    /// Keeps a line until a dialect claims one, within bounds.
    fn hold(&mut self, line: u64, reading: LineReading, each: TakeStep<'_>) {
        self.held_bytes += match &reading {
            LineReading::Parts(parts) => MAX_HELD_BYTES / 4 + parts.text().len(),
            LineReading::Record(record, _) => record.text().len(),
            LineReading::Text(text) => text.len(),
            LineReading::Blank | LineReading::Oversized(_) => 0,
        };
        self.held.push_back((line, reading));
        if self.held.len() > MAX_HELD_LINES || self.held_bytes > MAX_HELD_BYTES {
            self.release(each);
        }
    }

    /// Waits for a claim no longer: what was held back is of the dialect that claimed it, or passes through as text.
    fn release(&mut self, each: TakeStep<'_>) {
        (self.dialect_plugins, self.first) = (Vec::new(), Vec::new());
        self.held_bytes = 0;
        while let Some((line, reading)) = self.held.pop_front() {
            self.read(line, reading, None, each);
        }
    }

    /// Reads one line of a dialect, or of none. `parent`: the call whose sub-agent's file it is from.
    fn read(&mut self, line: u64, reading: LineReading, parent: Option<&Id>, each: TakeStep<'_>) {
        match reading {
            LineReading::Blank => each(DecodedStep(DecodedStepKind::Count(InputCount::Blank))),
            LineReading::Record(ref record, ref typed) => {
                self.record(line, record, typed.as_ref(), parent, each);
            }
            LineReading::Text(text) => raw(line, text, parent, each),
            LineReading::Parts(parts) => parts.enumerate().for_each(|(index, part)| match part {
                LinePart::Record(record) => self.record(line, &record, None, parent, each),
                LinePart::Damage { text, incomplete } => {
                    let mut notice = self.damage(line, index, text, incomplete);
                    each(DecodedStep(DecodedStepKind::Count(InputCount::Damaged)));
                    move_inside(&mut notice, parent);
                    put(notice, each);
                }
            }),
            LineReading::Oversized(size) => {
                let mut notice = notice(line, "oversized");
                notice.data.push(("bytes", Fact::Int(size.cast_signed())));
                move_inside(&mut notice, parent);
                each(DecodedStep(DecodedStepKind::Count(InputCount::Oversized)));
                put(notice, each);
            }
        }
    }

    fn damage(&mut self, line: u64, index: usize, text: String, incomplete: bool) -> Item {
        self.damaged += 1;
        let mut notice = notice(line, "damaged");
        if self.damaged > SHOWN_DAMAGE {
            // Only a plugin may have something to say of it.
            notice.data.push(("counted", Fact::Bool(true)));
        }
        if index > 0 {
            notice.id = format!("line-{line}/damage-{index}").into();
        }
        notice.data.push(("bytes", Fact::Int((text.len() as u64).cast_signed())));
        notice.data.push(("incomplete", Fact::Bool(incomplete)));
        notice.text = Content::Own(text);
        notice
    }

    fn record(
        &mut self,
        line: u64,
        record: &Arc<Record>,
        typed: Option<&TypedRecord>,
        parent: Option<&Id>,
        each: TakeStep<'_>,
    ) {
        let root = record.root();
        let Some((ChosenDialect { name, claim, .. }, _)) = &self.dialect else {
            if let Some(program) = (self.dialects.recognise)(root) {
                each(DecodedStep(DecodedStepKind::Count(InputCount::Foreign(program))));
            }
            return raw(line, record.text().to_owned(), parent, each);
        };
        if !std::mem::replace(&mut self.has_told_dialect, true) {
            each(DecodedStep(DecodedStepKind::Dialect(Arc::clone(name))));
        }
        let is_stream = root.kind() == json::ValueKind::Array && claim.is_none_or(|claim| claim(root));
        if is_stream {
            for value in root.items() {
                self.decode(Input { record, value, typed: None, line, parent }, each);
            }
        } else {
            self.decode(Input { record, value: root, typed, line, parent }, each);
        }
        if record.is_cut() {
            let mut cut = notice(line, "cut");
            cut.id = format!("line-{line}/cut").into();
            move_inside(&mut cut, parent);
            put(cut, each);
        }
    }

    fn decode(&mut self, input: Input<'_>, each: TakeStep<'_>) {
        let Some((chosen, decoder)) = &mut self.dialect else { return };
        let mut events = std::mem::take(&mut self.events);
        decoder.decode(input, &mut events);
        let Input { record, value, line, .. } = input;
        if self.nesting == 0
            && chosen.ends_with_outcome.is_some_and(|ends_with_outcome| ends_with_outcome(value))
        {
            chosen.ends_with_outcome = None;
            each(DecodedStep(DecodedStepKind::AwaitsOutcome));
        }
        each(DecodedStep(DecodedStepKind::Record(DialectRecord {
            line,
            record: Arc::clone(record),
            node: value.node(),
        })));
        for event in events.drain(..) {
            let subagent = self.subagent(&event);
            each(DecodedStep(DecodedStepKind::Event(event)));
            if let Some((call, pieces)) = subagent {
                self.nest(&call, pieces, each);
            }
        }
        self.events = events;
    }

    /// The file of the sub-agent that a call started, or whose result it is, and that call.
    fn subagent(&mut self, event: &Event) -> Option<(Id, Pieces)> {
        let find = self.subagents.as_mut()?;
        let Event::Put(item) = event else { return None };
        if item.action() != Some(Action::Delegate) || self.nesting >= MAX_NESTING {
            return None;
        }
        let call = item.call.as_ref().unwrap_or(&item.id);
        Some((call.clone(), find(item)?))
    }

    /// Reads the file of a sub-agent, right under its call.
    fn nest(&mut self, call: &Id, pieces: Pieces, each: TakeStep<'_>) {
        self.nesting += 1;
        let mut framer = Framer::new(self.max_line);
        let reader = self.reader();
        let mut read = |frame: Frame<'_>| {
            let line = frame.line;
            self.read(line, reader.read(frame), Some(call), each);
        };
        for piece in pieces {
            framer.push(&piece, &mut read);
        }
        framer.finish(&mut read);
        self.nesting -= 1;
    }
}

/// A row of the table as the dialect of an input, whose lines `reader` reads.
fn speak(known: &'static Dialect, reader: &LineReader, budget: Budget) -> (ChosenDialect, Box<dyn Decoder>) {
    reader.set_dialect(known);
    (known.into(), (known.decoder)(budget))
}

/// A line that is no record, or one that no dialect knows.
fn raw(line: u64, text: String, parent: Option<&Id>, each: TakeStep<'_>) {
    let mut item = Item::new(format!("line-{line}"), Kind::Unknown, line);
    item.data.push(("raw", Fact::Bool(true)));
    let is_blank = text.trim().is_empty();
    item.text = Content::Own(text);
    move_inside(&mut item, parent);
    each(DecodedStep(DecodedStepKind::Count(if is_blank { InputCount::Blank } else { InputCount::Raw })));
    put(item, each);
}

/// Moves an item that was made of a line itself into the call whose sub-agent's file has that line, if it is one's: the input has
/// a line of that number, too.
fn move_inside(item: &mut Item, parent: Option<&Id>) {
    if let Some(parent) = parent {
        item.id = Id::below(parent.as_str(), item.id.as_str());
        item.parent = Some(parent.clone());
    }
}

fn put(item: Item, each: TakeStep<'_>) {
    each(DecodedStep(DecodedStepKind::Event(Event::Put(Box::new(item)))));
}
