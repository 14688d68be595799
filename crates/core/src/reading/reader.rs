//! Reads the lines of one input: finds the records that other programs have wrapped, over several lines or behind a prefix.
//!
//! ```text
//! line ─▶ is it a record? ─▶ yes: read
//!              └─ no ─▶ JSON that goes on on the next line, or behind a prefix ─▶ held until it is known what it is
//!                          └─ neither ─▶ read by itself
//! ```
//!
//! A line that is a record costs nothing here. Lines are held only while they may belong together, within limits; if they don't,
//! each is read by itself, as if there were no other. The readings depend on the lines alone, not on how they arrive.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use crate::clip::floor;
use crate::frame::Frames;
use crate::json::{Damage, Record, RecordBatch, Value};

use super::document::{DocumentPlace, DocumentScanner};
use super::envelope::{RecordEnvelope, time_beside};
use super::long_line::LongLine;
use super::prefix::{LONGEST, Prefix, is_event_field, is_nothing, record_start, time_in, without_escapes};
use super::{ParsedLine, WrappedLines, recover, text_of};

/// The most lines that are held until it is known whether a prefix repeats.
const MOST_HELD: usize = 16;
/// The most bytes of lines after the first that are held for that.
const MOST_HELD_BYTES: usize = 1 << 20;
/// The most prefixes that are known.
const MOST_KNOWN: usize = 64;
/// How many times as many bytes as the input has may be read again, because lines that were held don't belong together.
const MOST_AGAIN: usize = 8;

/// Whether a value is an event of a dialect.
pub(super) type Claim<'a> = &'a dyn Fn(Value<'_>) -> bool;
/// Takes a reading with the number of its first line.
pub(super) type Each<'a> = &'a mut dyn FnMut(u64, ParsedLine);

/// Reads the lines of one input.
#[derive(Debug)]
pub struct LineReader {
    /// The most bytes of a record over several lines.
    max: usize,
    hold: Hold,
    /// The forms of prefixes that are known to be put in front of lines.
    known: Vec<Prefix>,
    /// The last line that was text, if it may begin with a prefix.
    last_text: String,
    /// Whether a prefix was named.
    is_named: bool,
    /// Whether each line is read by itself.
    is_apart: bool,
    envelope: RecordEnvelope,
    /// The line over the limit whose pieces come.
    long: Option<LongLine>,
}

/// The lines that are held.
#[derive(Debug)]
enum Hold {
    Nothing,
    /// JSON that goes on.
    Document(Box<OpenDocument>),
    /// Records from line `line` on, in each of which is a part of a record, and the parts so far.
    Parts {
        line: u64,
        held: WrappedLines,
        parts: String,
    },
    /// Lines from one on that has a record behind a prefix of this form, which hasn't repeated yet.
    Prefix {
        prefix: Prefix,
        lines: VecDeque<(u64, String)>,
        bytes: usize,
    },
}

/// JSON over several lines.
#[derive(Debug)]
struct OpenDocument {
    scanner: DocumentScanner,
    /// The prefix of each line, if there is one.
    prefix: Option<Prefix>,
    /// The lines that are held.
    held: WrappedLines,
    /// The first of them.
    line: u64,
    /// The size of a record over the limit so far: its lines aren't held.
    oversized: Option<u64>,
    /// Whether lines of it were passed on.
    is_begun: bool,
}

/// Lines to read: the next one first.
struct ReadQueue {
    lines: VecDeque<(u64, String)>,
    /// How many bytes may still be read again.
    budget: usize,
}

impl ReadQueue {
    /// An empty queue, for lines of so many bytes.
    fn new(bytes: usize) -> Self {
        Self { lines: VecDeque::new(), budget: bytes.saturating_mul(MOST_AGAIN) + 4096 }
    }
}

impl LineReader {
    /// A reader before the first line. `max`: the most bytes of a record over several lines.
    pub fn new(max: usize) -> Self {
        let hold = Hold::Nothing;
        Self {
            max,
            hold,
            known: Vec::new(),
            last_text: String::new(),
            is_named: false,
            is_apart: false,
            envelope: RecordEnvelope::Unknown(0),
            long: None,
        }
    }

    /// A reader that reads each line by itself: for a file that is known to have a record on each line.
    pub(crate) fn apart() -> Self {
        Self { is_apart: true, envelope: RecordEnvelope::Absent, ..Self::new(0) }
    }

    fn is_idle(&self) -> bool {
        matches!(self.hold, Hold::Nothing)
    }

    /// Whether a line that is a record needs no further look.
    fn is_plain(&self) -> bool {
        self.is_idle() && matches!(self.envelope, RecordEnvelope::Absent)
    }

    /// Reads frames, and passes each reading with the number of its first line to `each`. `claim` returns whether a value is an event
    /// of a dialect: in the middle of damage, only such a value is taken for a record.
    pub fn read(
        &mut self,
        frames: Frames<'_>,
        claim: impl Fn(Value<'_>) -> bool,
        mut each: impl FnMut(u64, ParsedLine),
    ) {
        let Frames { line, oversized, bytes, lines } = frames;
        if let Some(size) = oversized {
            return match self.long.take() {
                Some(long) => long.end(size, &claim, &mut each),
                None => self.text(line, Err(size), &claim, &mut each),
            };
        }
        if lines.is_empty() {
            return self.piece(line, &bytes, &claim, &mut each);
        }
        if let [only] = lines {
            let text = text_of(&bytes[only.clone()]);
            // Free the bytes of a long line that came in pieces, before it is parsed.
            drop(bytes);
            return self.text(line, text, &claim, &mut each);
        }
        let text = simdutf8::basic::from_utf8(&bytes);
        let Some(text) = text.ok().filter(|_| self.is_plain()) else {
            for (line, part) in (line..).zip(lines) {
                self.text(line, text_of(&bytes[part.clone()]), &claim, &mut each);
            }
            return;
        };
        let mut batch = RecordBatch::with_capacity(text.len());
        let read: Vec<_> = lines.iter().map(|part| batch.add(&text[part.clone()])).collect();
        let batch = Arc::new(batch);
        for (line, (part, read)) in (line..).zip(lines.iter().zip(read)) {
            match read {
                Ok(span) if self.is_plain() => {
                    each(line, ParsedLine::Record(Record::of_batch(&batch, span)));
                }
                read => self.line(line, text[part.clone()].to_owned(), read.err(), &claim, &mut each),
            }
        }
    }

    /// Ends the input: reads the lines that are held.
    pub fn finish(&mut self, claim: impl Fn(Value<'_>) -> bool, mut each: impl FnMut(u64, ParsedLine)) {
        let mut queue = ReadQueue::new(self.held_bytes());
        while !self.is_idle() {
            self.give_up(None, &mut queue, &claim, &mut each);
            self.run(&mut queue, &claim, &mut each);
        }
    }

    /// The size of the lines that are held, in bytes.
    fn held_bytes(&self) -> usize {
        match &self.hold {
            Hold::Nothing => 0,
            Hold::Document(document) => document.held.text.len(),
            Hold::Parts { held, .. } => held.text.len(),
            Hold::Prefix { bytes, .. } => *bytes,
        }
    }

    /// Reads a piece of a line over the limit.
    fn piece(&mut self, line: u64, bytes: &[u8], claim: Claim<'_>, each: Each<'_>) {
        if self.is_apart {
            return;
        }
        let long = self.long.take().unwrap_or_else(|| {
            self.finish(claim, &mut *each);
            let is_known =
                |prefix: &Prefix| prefix.is_empty() || prefix.is_certain() || self.known.contains(prefix);
            LongLine::begin(line, bytes, self.max, is_known)
        });
        self.long.insert(long).push(bytes, claim, each);
    }

    /// Reads the text of a line. `text`: the size of the line if its text is too long.
    fn text(&mut self, line: u64, text: Result<String, u64>, claim: Claim<'_>, each: Each<'_>) {
        match text {
            Err(bytes) => {
                self.finish(claim, &mut *each);
                each(line, ParsedLine::Oversized { bytes, lines: 1 });
            }
            Ok(text) if !self.is_plain() => self.line(line, text, None, claim, each),
            Ok(text) => match Record::from_line(text) {
                Ok(record) => each(line, ParsedLine::Record(record)),
                Err((damage, text)) => self.line(line, text, Some(damage), claim, each),
            },
        }
    }

    /// Reads a line that isn't a record, or while others are held. `damage`: why it isn't one, if that is known.
    #[cold]
    fn line(&mut self, line: u64, text: String, damage: Option<Damage>, claim: Claim<'_>, each: Each<'_>) {
        let mut queue = ReadQueue::new(self.held_bytes() + text.len());
        match damage.filter(|_| self.is_idle()) {
            Some(damage) => self.start(line, text, damage, &mut queue, claim, each),
            None => queue.lines.push_back((line, text)),
        }
        self.run(&mut queue, claim, each);
    }

    /// Reads the lines of a queue.
    fn run(&mut self, queue: &mut ReadQueue, claim: Claim<'_>, each: Each<'_>) {
        while let Some((line, text)) = queue.lines.pop_front() {
            match mem::replace(&mut self.hold, Hold::Nothing) {
                Hold::Nothing => match Record::from_line(text) {
                    Ok(record) => match self.envelope.open(&record, claim) {
                        Some(inside) => self.inside(line, &record, inside, each),
                        None => each(line, ParsedLine::Record(record)),
                    },
                    Err((damage, text)) => self.start(line, text, damage, queue, claim, each),
                },
                Hold::Parts { line: first, held, parts } => {
                    self.hold = Hold::Parts { line: first, held, parts };
                    if !self.add_part(&text, claim, each) {
                        self.give_up(Some((line, text)), queue, claim, each);
                    }
                }
                Hold::Document(document) => self.go_on(document, (line, text), queue, claim, each),
                Hold::Prefix { prefix, lines, bytes } => {
                    let is_over = self.look_for(&prefix, &lines, bytes, &text);
                    let bytes = bytes + text.len();
                    self.hold = Hold::Prefix { prefix, lines, bytes };
                    match (is_over, &mut self.hold) {
                        (false, Hold::Prefix { lines, .. }) => lines.push_back((line, text)),
                        _ => self.give_up(Some((line, text)), queue, claim, each),
                    }
                }
            }
        }
    }

    /// Reads what is inside of a record: a record, a part of one that goes on in the next line, or text.
    fn inside(&mut self, line: u64, record: &Record, inside: String, each: Each<'_>) {
        let text = record.text().to_owned();
        let held =
            WrappedLines { time: time_beside(record), is_certain: true, ..WrappedLines::of(text, None) };
        let is_whole = inside.ends_with('\n');
        match Record::from_line(inside) {
            Ok(inside) => each(line, ParsedLine::Wrapped(held.with_record(inside.text().to_owned()))),
            Err((_, parts)) if parts.starts_with('{') && !is_whole => {
                self.hold = Hold::Parts { line, held, parts };
            }
            Err(_) => each(line, ParsedLine::Text(held.text)),
        }
    }

    /// Adds a line to those in which parts of a record are. Returns whether it goes on there.
    fn add_part(&mut self, text: &str, claim: Claim<'_>, each: Each<'_>) -> bool {
        let Hold::Parts { line, held, parts } = &mut self.hold else { return false };
        let Ok((record, _)) = Record::read(text) else { return false };
        let Some(inside) = self.envelope.open(&record, claim) else { return false };
        if held.text.len() + text.len() > self.max || Record::from_line(inside.clone()).is_ok() {
            return false;
        }
        parts.push_str(&inside);
        if !inside.ends_with('\n') {
            held.text.push('\n');
            held.text.push_str(text);
            held.lines += 1;
            return true;
        }
        let Ok(whole) = Record::from_line(mem::take(parts)) else { return false };
        held.text.push('\n');
        held.text.push_str(text);
        held.lines += 1;
        let (line, held) = (*line, mem::take(held).with_record(whole.text().to_owned()));
        self.hold = Hold::Nothing;
        each(line, ParsedLine::Wrapped(held));
        true
    }

    /// Reads a line that isn't a record, while none is held: it may begin something.
    fn start(
        &mut self,
        line: u64,
        text: String,
        damage: Damage,
        queue: &mut ReadQueue,
        claim: Claim<'_>,
        each: Each<'_>,
    ) {
        if self.is_apart {
            return self.plain(line, text, damage.at, claim, each);
        }
        let bare = without_escapes(&text);
        let found = record_start(&bare).and_then(|start| Some((start, Prefix::of(&bare[..start])?)));
        let Some((start, prefix)) = found else { return self.plain(line, text, damage.at, claim, each) };
        let is_bare = prefix.is_empty();
        let is_known = is_bare || prefix.is_certain() || self.known.contains(&prefix);
        let (mut scanner, mut records) = (DocumentScanner::new(), Vec::new());
        if scanner.feed(bare[start..].as_bytes(), 0, &mut records).is_err() {
            return match record_behind(&text).filter(|_| is_known) {
                Some(record) => {
                    let held = WrappedLines { records: [record].into(), ..WrappedLines::of(text, None) };
                    self.wrapped(line, held, &prefix, each);
                }
                None => self.plain(line, text, damage.at, claim, each),
            };
        }
        // The text of the records, if it isn't the whole line.
        let body = (bare.len() - start < text.len()).then(|| bare[start..].to_owned());
        let held = WrappedLines { records: records.into(), ..WrappedLines::of(text, body) };
        match scanner.place() {
            _ if !held.is_sound() => return self.plain(line, held.text, damage.at, claim, each),
            DocumentPlace::Outside if is_known => return self.wrapped(line, held, &prefix, each),
            DocumentPlace::Outside => {
                let is_claimed = held.has(claim);
                let text = held.text;
                let is_seen = prefix.is_striking() && prefix.length_in(&self.last_text).is_some();
                match is_claimed && self.known.len() < MOST_KNOWN {
                    false => self.plain(line, text, damage.at, claim, each),
                    true if is_seen => {
                        self.known.push(prefix);
                        queue.lines.push_front((line, text));
                    }
                    true => {
                        let bytes = text.len();
                        self.hold = Hold::Prefix { prefix, lines: [(line, text)].into(), bytes };
                    }
                }
                return;
            }
            DocumentPlace::InString if is_bare || !is_known => {
                return self.plain(line, held.text, damage.at, claim, each);
            }
            _ => {}
        }
        let prefix = Some(prefix).filter(|_| !is_bare);
        let document = OpenDocument { scanner, prefix, held, line, oversized: None, is_begun: false };
        self.pass_on(Box::new(document), queue, claim, each);
    }

    /// Reads a line by itself. `scanned`: how many bytes were read to find out that it is no record.
    fn plain(&mut self, line: u64, text: String, scanned: usize, claim: Claim<'_>, each: Each<'_>) {
        let reading = recover(text, scanned, claim);
        let ParsedLine::Text(text) = reading else { return each(line, reading) };
        // Behind a prefix, a record may be damaged as well.
        let behind = self.known.iter().find_map(|prefix| text.get(prefix.length_in(&text)?..));
        if let Some(rest) = behind.filter(|rest| rest.starts_with(['{', '[']))
            && let parts @ ParsedLine::Parts(_) = recover(rest.to_owned(), 0, claim)
        {
            return each(line, parts);
        }
        if is_event_field(&text) && self.known.iter().any(Prefix::is_event_data) {
            let field = WrappedLines { is_rest: true, ..WrappedLines::of(text, None) };
            return each(line, ParsedLine::Wrapped(field));
        }
        self.last_text.clear();
        self.last_text.push_str(&text[..floor(&text, LONGEST)]);
        each(line, ParsedLine::Text(text));
    }

    /// Looks for a prefix at the start of a line, while lines from one on are held that has it. Remembers it if it is there. Returns whether
    /// nothing is waited for any more.
    fn look_for(
        &mut self,
        prefix: &Prefix,
        lines: &VecDeque<(u64, String)>,
        bytes: usize,
        text: &str,
    ) -> bool {
        let repeats = prefix.length_in(text).is_some_and(|length| {
            let is_text = prefix.is_striking() && !text[length..].starts_with(['{', '[']);
            is_text || record_behind(text).is_some_and(|record| record.start == length)
        });
        if repeats {
            self.known.push(prefix.clone());
        }
        let first = lines.front().map_or(0, |(_, first)| first.len());
        let is_full = lines.len() >= MOST_HELD || bytes - first > MOST_HELD_BYTES;
        // A program puts its prefix in front of each line.
        let is_record = || text.starts_with('{') && Record::read(text).is_ok();
        repeats || is_full || is_record()
    }

    /// Goes on with a document.
    fn go_on(
        &mut self,
        mut document: Box<OpenDocument>,
        (line, text): (u64, String),
        queue: &mut ReadQueue,
        claim: Claim<'_>,
        each: Each<'_>,
    ) {
        let is_between = document.held.lines == 0;
        if document.go_on(line, &text, self.max).is_some() {
            return self.pass_on(document, queue, claim, each);
        }
        if is_between {
            // Text between the records of an array, which goes on.
            self.plain(line, text, 0, claim, each);
            document.scanner = DocumentScanner::in_array();
            self.hold = Hold::Document(document);
            return;
        }
        self.hold = Hold::Document(document);
        self.give_up(Some((line, text)), queue, claim, each);
    }

    /// Passes on the lines of a document up to here, if no record is open, and holds what goes on.
    fn pass_on(
        &mut self,
        mut document: Box<OpenDocument>,
        queue: &mut ReadQueue,
        claim: Claim<'_>,
        each: Each<'_>,
    ) {
        let place = document.scanner.place();
        let is_single = document.held.lines == 1;
        let is_cut = match (place, &document.prefix) {
            // Only behind a prefix a string goes on: there, long lines were split.
            (DocumentPlace::InString, prefix) => prefix.is_none(),
            (DocumentPlace::Outside | DocumentPlace::Between, _) if !document.held.is_sound() => true,
            (DocumentPlace::Outside | DocumentPlace::Between, Some(prefix))
                if !prefix.is_certain() && !self.known.contains(prefix) =>
            {
                // It repeats on each line.
                let is_new = document.held.has(claim) && self.known.len() < MOST_KNOWN;
                if is_new && !is_single {
                    self.known.push(prefix.clone());
                }
                !is_new && !document.held.records.is_empty()
            }
            _ => false,
        };
        let is_known =
            document.prefix.as_ref().is_none_or(|prefix| prefix.is_certain() || self.known.contains(prefix));
        let is_complete = match place {
            DocumentPlace::Outside => true,
            DocumentPlace::Between => {
                is_known && (!document.held.records.is_empty() || document.oversized.is_some())
            }
            DocumentPlace::Inside | DocumentPlace::InString => false,
        };
        if is_complete && !is_cut {
            let held = mem::take(&mut document.held);
            let held = WrappedLines { is_rest: document.is_begun && held.records.is_empty(), ..held };
            document.is_begun = true;
            match (document.oversized.take(), &document.prefix) {
                (Some(bytes), _) => each(document.line, ParsedLine::Oversized { bytes, lines: held.lines }),
                (None, Some(prefix)) => self.wrapped(document.line, held, prefix, each),
                (None, None) => each(document.line, ParsedLine::Wrapped(held)),
            }
        }
        if place != DocumentPlace::Outside || is_cut {
            self.hold = Hold::Document(document);
        }
        if is_cut {
            self.give_up(None, queue, claim, each);
        }
    }

    /// Passes on lines in which the records have a known prefix, or none.
    fn wrapped(&mut self, line: u64, mut held: WrappedLines, prefix: &Prefix, each: Each<'_>) {
        held.is_certain = true;
        let start = record_start(&held.text).filter(|_| !prefix.is_empty());
        if let Some(text) = start.map(|start| &held.text[..start]) {
            let is_first = !mem::replace(&mut self.is_named, true);
            let name = is_first.then(|| without_escapes(text).trim().to_owned());
            (held.time, held.prefix) = (time_in(text).map(str::to_owned), name);
        }
        each(line, ParsedLine::Wrapped(held));
    }

    /// Gives up on what is held, unless a prefix has become known: reads the first line by itself. The others, and the one that follows them,
    /// are put back to be read again.
    fn give_up(
        &mut self,
        next: Option<(u64, String)>,
        queue: &mut ReadQueue,
        claim: Claim<'_>,
        each: Each<'_>,
    ) {
        let mut lines = VecDeque::new();
        let mut is_over = false;
        match mem::replace(&mut self.hold, Hold::Nothing) {
            Hold::Nothing => {}
            Hold::Parts { line, held, .. } => {
                is_over = true;
                for (line, text) in (line..).zip(held.text.split('\n')) {
                    each(line, ParsedLine::Text(text.to_owned()));
                }
            }
            Hold::Prefix { prefix, lines: held, .. } => {
                is_over = self.known.contains(&prefix);
                lines = held;
            }
            Hold::Document(document) => {
                let OpenDocument { held, line, oversized, .. } = *document;
                if let Some(bytes) = oversized {
                    is_over = true;
                    each(line, ParsedLine::Oversized { bytes, lines: held.lines });
                } else if held.lines > 0 {
                    lines = (line..).zip(held.text.split('\n').map(str::to_owned)).collect();
                }
            }
        }
        let first = if is_over { None } else { lines.pop_front() };
        if let Some((line, text)) = first {
            self.plain(line, text, 0, claim, each);
        }
        lines.extend(next);
        let bytes: usize = lines.iter().map(|(_, text)| text.len() + 1).sum();
        while let Some(line) = lines.pop_back() {
            queue.lines.push_front(line);
        }
        if bytes > queue.budget {
            // Each of the rest by itself.
            for (line, text) in mem::take(&mut queue.lines) {
                match Record::from_line(text) {
                    Ok(record) => each(line, ParsedLine::Record(record)),
                    Err((damage, text)) => self.plain(line, text, damage.at, claim, each),
                }
            }
        }
        queue.budget = queue.budget.saturating_sub(bytes);
    }
}

impl OpenDocument {
    /// Adds a line. `None` if it doesn't go on there: nothing was added then.
    fn go_on(&mut self, line: u64, text: &str, max: usize) -> Option<()> {
        let is_in_string = self.scanner.place() == DocumentPlace::InString;
        let behind = match &self.prefix {
            Some(prefix) => &text[prefix.length_in(text)?..],
            None => text,
        };
        let own = if is_in_string { Cow::Borrowed(behind) } else { without_escapes(behind) };
        let held = &mut self.held;
        // Without a line feed, a string or number goes on that was split.
        let is_split = is_in_string || self.prefix.is_some() && self.scanner.is_in_token();
        let joint = if held.lines == 0 || is_split { "" } else { "\n" };
        let start = held.body.as_ref().unwrap_or(&held.text).len();
        let mut records = Vec::new();
        self.scanner.feed(joint.as_bytes(), start, &mut records).ok()?;
        self.scanner.feed(own.as_bytes(), start + joint.len(), &mut records).ok()?;
        if held.lines == 0 {
            self.line = line;
        }
        let is_too_large = self.oversized.is_some() || held.text.len() + text.len() > max;
        if is_too_large {
            let size = self.oversized.unwrap_or(held.text.len() as u64);
            self.oversized = Some(size + 1 + text.len() as u64);
            *held = WrappedLines { lines: held.lines + 1, ..WrappedLines::default() };
            return Some(());
        }
        if held.body.is_none() && (is_split || own.len() != text.len()) {
            held.body = Some(held.text.clone());
        }
        if let Some(body) = &mut held.body {
            body.push_str(joint);
            body.push_str(&own);
        }
        if held.lines > 0 {
            held.text.push('\n');
        }
        held.text.push_str(text);
        held.lines += 1;
        held.records.extend(records);
        Some(())
    }
}

/// The range of the record that follows a prefix, if nothing but escapes follows it.
fn record_behind(text: &str) -> Option<Range<usize>> {
    let start = record_start(text)?;
    let (_, used) = Record::read(&text[start..]).ok()?;
    is_nothing(&text[start + used..]).then_some(start..start + used)
}
