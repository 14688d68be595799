//! The path of a line, from its reading to what each output says of it: one line after the other, each the whole way.

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::budget::Budget;
use crate::dialect::{Input, TypedRecord};
use crate::event::Event;
use crate::frame::{Frame, Framer};
use crate::item::{Action, Content, Fact, Id, Item, Kind};
use crate::json::{self, Record};
use crate::reading::{LinePart, LineReader, LineReading};
use crate::report;
use crate::session::{Session, SessionChange};

use super::detect::{ChosenDialect, Detection};
use super::format::FormatStage;
use super::further_output::FurtherOutput;
use super::notice;
use super::start::{HeldStart, InputCount, Step};

/// Notices about damaged records that are shown; further ones are counted.
const SHOWN_DAMAGE: u64 = 20;
/// Files of sub-agents that may be read inside one another.
const MAX_NESTING: usize = 16;
/// Text of an output beside the main one that is passed on in the middle of some input, in bytes.
const PIECE: usize = 64 << 10;

/// The bytes of a file, in pieces.
pub type Pieces = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// Finds the file that a sub-agent of a history wrote: asked with each call that may have started one, and
/// with its result, it answers with the file's bytes.
pub type Subagents = Box<dyn FnMut(&Item) -> Option<Pieces> + Send>;

/// Reads the files of sub-agents where they belong.
pub(super) struct SubagentFiles {
    pub(super) find: Option<Subagents>,
    pub(super) max_line: usize,
    /// How many are being read inside one another.
    pub(super) nesting: usize,
}

impl SubagentFiles {
    /// The file of the sub-agent that a call started, or whose result it is, and that call.
    fn of(&mut self, event: &Event) -> Option<(Id, Pieces)> {
        let find = self.find.as_mut()?;
        let Event::Put(item) = event else { return None };
        if item.action() != Some(Action::Delegate) || self.nesting >= MAX_NESTING {
            return None;
        }
        let call = item.call.as_ref().unwrap_or(&item.id);
        Some((call.clone(), find(item)?))
    }
}

/// The path of a line, from its reading on.
pub struct LinePath {
    pub(super) reader: LineReader,
    detection: Detection,
    dialect: Option<ChosenDialect>,
    subagents: SubagentFiles,
    damaged: u64,
    /// Room for the events of one record, kept from one to the next.
    events: Vec<Event>,
    start: Option<Box<HeldStart>>,
    pub(super) session: Session,
    pub(super) main: FormatStage,
    pub(super) others: Vec<FurtherOutput>,
    line: u64,
    /// Whether a missing outcome is shown.
    pub(super) requires_outcome: bool,
}

impl LinePath {
    /// The path of the first line. `dialect`: its name, if it was decided on from outside.
    pub(super) fn new(
        mut detection: Detection,
        dialect: Option<&str>,
        subagents: SubagentFiles,
        start: Option<HeldStart>,
        budget: Budget,
        (main, others): (FormatStage, Vec<FurtherOutput>),
    ) -> Self {
        let reader = LineReader::new(detection.dialects);
        Self {
            dialect: dialect.and_then(|name| detection.named(name, &reader)),
            reader,
            detection,
            subagents,
            damaged: 0,
            events: Vec::new(),
            start: start.map(Box::new),
            session: Session::new(budget),
            main,
            others,
            line: 0,
            requires_outcome: false,
        }
    }

    /// Takes in a line of the file of a sub-agent that `call` started, where that file is read as it grows. Lines of such a file
    /// and of the input may come in any order.
    pub(super) fn take_inside(&mut self, call: &Id, frame: Frame<'_>, out: &mut dyn Write) {
        if !self.goes_on() {
            return;
        }
        let line = frame.line;
        let reading = self.reader.read(frame);
        self.subagents.nesting += 1;
        self.read(line, reading, Some(call), out);
        self.subagents.nesting -= 1;
    }

    /// Takes the reading of line number `line` of the input, and writes what is complete with it to `out`. [`Self::written`] returns
    /// whether writing failed; after a failure only the other outputs continue.
    pub fn take(&mut self, line: u64, reading: LineReading, out: &mut dyn Write) {
        if !self.goes_on() {
            return;
        }
        self.count(InputCount::Line(line), out);
        if self.dialect.is_some() {
            return self.read(line, reading, None, out);
        }
        self.dialect = self.detection.claiming(&reading, &self.reader);
        if self.dialect.is_none() && self.detection.holds(&reading) {
            let held = self.detection.hold(line, reading);
            return self.read_all(held, out);
        }
        if self.dialect.is_some() {
            let held = self.detection.release();
            self.read_all(held, out);
        }
        self.read(line, reading, None, out);
    }

    /// Passes on the text of the other outputs, and returns whether writing has failed since the last call.
    pub fn written(&mut self) -> fmt::Result {
        self.others.iter_mut().for_each(FurtherOutput::pass_on);
        self.main.writer.take_written()
    }

    /// Ends the input: says what is left.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        let held = self.detection.release();
        self.read_all(held, out);
        let mut events = Vec::new();
        if let Some(dialect) = &mut self.dialect {
            dialect.decoder.end(&mut events);
        }
        for event in events {
            self.event(event, out);
        }
        self.settle(true, out);
        self.end_session(out);
        let written = self.written();
        self.others.iter_mut().for_each(FurtherOutput::end);
        written?;
        self.main.writer.end(out)
    }

    fn end_session(&mut self, out: &mut dyn Write) {
        self.each(out, |stage, session, out| stage.end_record(session, out));
        let Self { session, main, others, line, .. } = self;
        session.end(*line, |session, change| tell(main, others, session, &change, out));
        let damaged = self.main.report.damaged;
        if damaged > SHOWN_DAMAGE {
            let mut notice = notice(self.line, "damaged");
            notice.id = "damaged".into();
            notice.data.push(("count", Fact::Int(damaged.cast_signed())));
            self.put(notice, out);
        }
        if self.requires_outcome && self.main.report.lacks_outcome() {
            let mut notice = notice(self.line, "no-outcome");
            notice.id = "no-outcome".into();
            notice.error = true;
            self.put(notice, out);
        }
        self.each(out, |stage, session, out| stage.end(session, out));
    }

    /// Whether anybody still wants what comes of lines.
    fn goes_on(&self) -> bool {
        !self.main.writer.has_failed() || !self.others.is_empty()
    }

    fn read_all(&mut self, lines: impl IntoIterator<Item = (u64, LineReading)>, out: &mut dyn Write) {
        lines.into_iter().for_each(|(line, reading)| self.read(line, reading, None, out));
    }

    /// Reads one line of a dialect, or of none. `parent`: the call whose sub-agent's file it is from.
    fn read(&mut self, line: u64, reading: LineReading, parent: Option<&Id>, out: &mut dyn Write) {
        match reading {
            LineReading::Blank => self.count(InputCount::Blank, out),
            LineReading::Record(ref record, ref typed) => {
                self.record(line, record, typed.as_ref(), parent, out);
            }
            LineReading::Text(text) => self.raw(line, text, parent, out),
            LineReading::Parts(parts) => parts.enumerate().for_each(|(index, part)| match part {
                LinePart::Record(record) => self.record(line, &record, None, parent, out),
                LinePart::Damage { text, incomplete } => {
                    let mut notice = self.damage(line, index, text, incomplete);
                    self.count(InputCount::Damaged, out);
                    move_inside(&mut notice, parent);
                    self.put(notice, out);
                }
            }),
            LineReading::Oversized(size) => {
                let mut notice = notice(line, "oversized");
                notice.data.push(("bytes", Fact::Int(size.cast_signed())));
                move_inside(&mut notice, parent);
                self.count(InputCount::Oversized, out);
                self.put(notice, out);
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

    /// A line that is no record, or one that no dialect knows.
    fn raw(&mut self, line: u64, text: String, parent: Option<&Id>, out: &mut dyn Write) {
        let mut item = Item::new(format!("line-{line}"), Kind::Unknown, line);
        item.data.push(("raw", Fact::Bool(true)));
        let is_blank = text.trim().is_empty();
        item.text = Content::Own(text);
        move_inside(&mut item, parent);
        self.count(if is_blank { InputCount::Blank } else { InputCount::Raw }, out);
        self.put(item, out);
    }

    fn record(
        &mut self,
        line: u64,
        record: &Arc<Record>,
        typed: Option<&TypedRecord>,
        parent: Option<&Id>,
        out: &mut dyn Write,
    ) {
        let root = record.root();
        let Some(ChosenDialect { name, claim, is_told, .. }) = &mut self.dialect else {
            if let Some(program) = (self.detection.dialects.recognise)(root) {
                self.count(InputCount::Foreign(program), out);
            }
            return self.raw(line, record.text().to_owned(), parent, out);
        };
        let is_stream = root.kind() == json::ValueKind::Array && claim.is_none_or(|claim| claim(root));
        if !std::mem::replace(is_told, true) {
            let name = Arc::clone(name);
            self.count(InputCount::Dialect(name), out);
        }
        if is_stream {
            for value in root.items() {
                self.decode(Input { record, value, typed: None, line, parent }, out);
            }
        } else {
            self.decode(Input { record, value: root, typed, line, parent }, out);
        }
        if record.is_cut() {
            let mut cut = notice(line, "cut");
            cut.id = format!("line-{line}/cut").into();
            move_inside(&mut cut, parent);
            self.put(cut, out);
        }
    }

    /// Takes in what one record of the dialect tells.
    fn decode(&mut self, input: Input<'_>, out: &mut dyn Write) {
        let Some(dialect) = &mut self.dialect else { return };
        // A record of a sub-agent's file may be decoded before this one is done.
        let mut events = std::mem::take(&mut self.events);
        dialect.decoder.decode(input, &mut events);
        let Input { record, value, line, .. } = input;
        if self.subagents.nesting == 0
            && dialect.ends_with_outcome.is_some_and(|ends_with_outcome| ends_with_outcome(value))
        {
            dialect.ends_with_outcome = None;
            self.count(InputCount::AwaitsOutcome, out);
        }
        self.begin_record(line, record, value.node(), out);
        for event in events.drain(..) {
            let subagent = self.subagents.of(&event);
            self.event(event, out);
            if let Some((call, pieces)) = subagent {
                self.nest(&call, pieces, out);
            }
        }
        self.events = events;
    }

    /// Reads the file of a sub-agent, right under its call.
    fn nest(&mut self, call: &Id, pieces: Pieces, out: &mut dyn Write) {
        self.subagents.nesting += 1;
        let mut framer = Framer::new(self.subagents.max_line);
        let mut read = |frame: Frame<'_>| {
            let line = frame.line;
            let reading = self.reader.read(frame);
            self.read(line, reading, Some(call), out);
        };
        for piece in pieces {
            framer.push(&piece, &mut read);
        }
        framer.finish(&mut read);
        self.subagents.nesting -= 1;
    }

    fn put(&mut self, item: Item, out: &mut dyn Write) {
        self.event(Event::Put(Box::new(item)), out);
    }

    /// A record of the dialect begins.
    fn begin_record(&mut self, line: u64, record: &Arc<Record>, node: u32, out: &mut dyn Write) {
        if self.start.is_some() {
            return self.hold(Step::Record(line, Arc::clone(record), node), out);
        }
        self.each(out, |stage, session, out| stage.begin_record(line, record, node, session, out));
    }

    /// Takes an event: each output says what it changes in the session.
    fn event(&mut self, event: Event, out: &mut dyn Write) {
        if self.start.is_some() {
            return self.hold(Step::Event(event), out);
        }
        match &event {
            Event::Bookkeeping(name) => {
                self.each(out, |stage, _, _| report::count(&mut stage.report.bookkeeping, name));
            }
            Event::Unknown(name) => {
                self.each(out, |stage, _, _| report::count(&mut stage.report.unknown, name));
            }
            _ => {}
        }
        let Self { session, main, others, .. } = self;
        session.apply(event, |session, change| tell(main, others, session, &change, out));
    }

    /// Counts something of the input for each output.
    fn count(&mut self, counted: InputCount, out: &mut dyn Write) {
        if self.start.is_some() {
            return self.hold(Step::Count(counted), out);
        }
        if let InputCount::Line(line) = counted {
            self.line = line;
        }
        self.each(out, |stage, session, out| {
            if counted.ends_record() {
                stage.end_record(session, out);
            }
            counted.add_to(&mut stage.report);
        });
    }

    /// Does something with each output.
    #[inline]
    fn each(&mut self, out: &mut dyn Write, work: impl Fn(&mut FormatStage, &Session, &mut dyn Write)) {
        let Self { session, main, others, .. } = self;
        work(main, session, out);
        for other in others {
            work(&mut other.stage, session, &mut other.text);
        }
    }

    /// Holds a step back, unless it is settled with it how the stream is shown.
    #[cold]
    fn hold(&mut self, step: Step, out: &mut dyn Write) {
        if let Some(start) = &mut self.start {
            start.hold(step);
        }
        self.settle(false, out);
    }

    /// Looks whether it can be settled now how the stream is shown, and if so, takes what was held back for that.
    fn settle(&mut self, is_end: bool, out: &mut dyn Write) {
        let Some(start) = &mut self.start else { return };
        for (output, choices) in start.settle(is_end) {
            let (profile, output_of) = *choices;
            let stage = if output == 0 { &mut self.main } else { &mut self.others[output - 1].stage };
            stage.settle(profile, output_of);
        }
        if let Some(start) = self.start.take_if(|start| start.is_settled()) {
            for step in start.held {
                match step {
                    Step::Count(counted) => self.count(counted, out),
                    Step::Record(line, record, node) => self.begin_record(line, &record, node, out),
                    Step::Event(event) => self.event(event, out),
                }
            }
        }
    }
}

/// Tells each output of a change in the session.
fn tell(
    main: &mut FormatStage,
    others: &mut [FurtherOutput],
    session: &Session,
    change: &SessionChange<'_>,
    out: &mut dyn Write,
) {
    main.take(session, change, out);
    for other in others {
        other.stage.take(session, change, &mut other.text);
        if other.text.len() > PIECE {
            other.pass_on();
        }
    }
}

/// Moves an item that was made of a line itself into the call whose sub-agent's file has that line, if it is one's: the input has
/// a line of that number, too.
fn move_inside(item: &mut Item, parent: Option<&Id>) {
    if let Some(parent) = parent {
        item.id = Id::below(parent.as_str(), item.id.as_str());
        item.parent = Some(parent.clone());
    }
}
