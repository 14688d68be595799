//! Reads lines: finds their records.
//!
//! A line is a record, blank, or text. Other programs may have wrapped the records: behind a prefix on each line, inside a string of
//! another record, or laid out over several lines; [`LineReader`] recognises that. Real logs also contain damage: a record that was cut off
//! and is followed at once by a complete one, two records without a line feed between them, runs of NUL.
//! Complete records are recovered, and the rest is kept as damage to be reported.

mod document;
mod envelope;
mod long_line;
mod prefix;
mod reader;

use std::collections::VecDeque;
use std::ops::Range;
use std::str::Utf8Chunk;

use crate::frame::{Framer, Frames, MAX_LINE};
use crate::json::{Record, Value};

use prefix::stamp_length;

pub use reader::LineReader;

/// One part of a damaged line.
#[derive(Clone, Debug)]
pub enum LinePart {
    /// A complete record.
    Record(Record),
    /// Text that isn't a complete record: part of one, or something beside one.
    Damage {
        /// The text.
        text: String,
        /// Whether it is the beginning of a record whose end is missing at the end of the line.
        incomplete: bool,
    },
}

/// The contents of a line, or of several that belong together.
#[derive(Clone, Debug)]
pub enum ParsedLine {
    /// An empty line.
    Blank,
    /// One record, shared by its items.
    Record(Record),
    /// Text that isn't JSON.
    Text(String),
    /// A damaged line, possibly with records.
    Parts(LineParts),
    /// Whole lines in which records are wrapped.
    Wrapped(WrappedLines),
    /// A line over the limit, or the lines of a record over it.
    Oversized {
        /// Its size in bytes.
        bytes: u64,
        /// The number of lines.
        lines: u64,
    },
}

impl ParsedLine {
    /// The number of lines.
    pub fn lines(&self) -> u64 {
        match self {
            Self::Wrapped(wrapped) => wrapped.line_count(),
            Self::Oversized { lines, .. } => *lines,
            Self::Parts(parts) => parts.lines,
            Self::Blank | Self::Record(_) | Self::Text(_) => 1,
        }
    }
}

/// Whole lines in which records are wrapped: behind a prefix on each line, or laid out over several lines. There may be very many records,
/// so each is parsed only when it is needed.
#[derive(Clone, Debug, Default)]
pub struct WrappedLines {
    /// The lines, with line feeds between them.
    text: String,
    /// The text that contains the records, if it isn't that of the lines: without prefixes and escapes.
    body: Option<String>,
    /// The ranges of the records.
    records: VecDeque<Range<usize>>,
    /// The number of lines.
    lines: u64,
    /// Whether the records are behind a known prefix, or on one line: they would be records without it, too.
    is_certain: bool,
    /// Whether it belongs to the records that came before: the end of an array, a field of an event.
    is_rest: bool,
    /// The time in the first prefix.
    time: Option<String>,
    /// The first prefix, if it is the first of the input.
    prefix: Option<String>,
}

impl WrappedLines {
    /// A line, and the text that contains the records if it isn't that of the line.
    fn of(text: String, body: Option<String>) -> Self {
        Self { text, body, lines: 1, ..Self::default() }
    }

    /// The same with a record, which is all of the text that contains records.
    fn with_record(self, record: String) -> Self {
        let records = std::iter::once(0..record.len()).collect();
        Self { records, body: Some(record), ..self }
    }

    /// The lines.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of lines.
    pub(crate) fn line_count(&self) -> u64 {
        self.lines
    }

    /// The number of records.
    pub(crate) fn record_count(&self) -> u64 {
        self.records.len() as u64
    }

    /// The records, each with the number of lines before it.
    pub fn records(&self) -> impl Iterator<Item = (u64, Record)> + '_ {
        let body = self.body.as_deref().unwrap_or(&self.text);
        let (mut at, mut lines) = (0, 0);
        self.records.iter().filter_map(move |span| {
            let before = &body.as_bytes()[std::mem::replace(&mut at, span.start)..span.start];
            lines += memchr::memchr_iter(b'\n', before).count() as u64;
            Some((lines, Record::read(&body[span.clone()]).ok()?.0))
        })
    }

    /// Whether all of the records can be read: where they are, only the structure was checked.
    fn is_sound(&self) -> bool {
        self.records().count() == self.records.len()
    }

    /// Whether one of the records is one that `claim` returns true for.
    pub fn has(&self, claim: impl Fn(Value<'_>) -> bool) -> bool {
        self.records().any(|(_, record)| claim(record.root()))
    }

    /// Whether the records would be records without what is around them, too. Otherwise they are laid out over several lines, which may
    /// also be lines of text.
    pub fn is_certain(&self) -> bool {
        self.is_certain && !self.records.is_empty()
    }

    /// Whether it has no records and belongs to those that came before: the end of an array, a field of an event.
    pub fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// The time that a prefix gives to the records, as it is written: with date and zone.
    pub fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The prefix of the first of these lines, if it is the first of the input.
    pub fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }
}

/// The parts of a damaged line, in order: records, and the damage between them. A line may contain very many records, so each is parsed
/// only when the iterator reaches it.
#[derive(Clone, Debug)]
pub struct LineParts {
    text: String,
    /// The ranges of the records that the iterator hasn't returned yet.
    records: VecDeque<Range<usize>>,
    /// The end of the last part that was returned, and of the blanks after it if it is a record.
    at: usize,
    /// Whether the damage after the last record is the beginning of a record.
    incomplete: bool,
    /// The number of lines: 0 for the rest of one that was counted.
    lines: u64,
}

impl LineParts {
    /// The rest of a line that was counted and ends within a record.
    fn rest(text: String) -> Self {
        Self { text, records: VecDeque::new(), at: 0, incomplete: true, lines: 0 }
    }

    /// The whole line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The records that the iterator hasn't returned yet.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.records.iter().filter_map(|span| Some(Record::read(&self.text[span.clone()]).ok()?.0))
    }
}

impl Iterator for LineParts {
    type Item = LinePart;

    fn next(&mut self) -> Option<LinePart> {
        let end = self.records.front().map_or(self.text.len(), |record| record.start);
        let damage = &self.text[std::mem::replace(&mut self.at, end)..end];
        if !damage.trim().is_empty() {
            // Often the whole line is damage: avoid a copy.
            let is_all = damage.len() == self.text.len();
            let text = if is_all { std::mem::take(&mut self.text) } else { damage.to_owned() };
            self.at = self.at.min(self.text.len());
            return Some(LinePart::Damage { text, incomplete: self.incomplete && self.records.is_empty() });
        }
        let span = self.records.pop_front()?;
        self.at = span.end + blanks(&self.text[span.end..]);
        Some(LinePart::Record(Record::read(&self.text[span]).ok()?.0))
    }
}

/// The records at the beginning of a stream, of at most so many lines, records and other readings.
pub fn first_records(beginning: &[u8], claim: impl Fn(Value<'_>) -> bool, most: usize) -> Vec<Record> {
    let (mut framer, mut reader) = (Framer::new(MAX_LINE), LineReader::new(MAX_LINE));
    let (mut records, mut seen) = (Vec::new(), 0);
    let mut each = |_: u64, reading: ParsedLine| {
        seen += 1;
        match reading {
            _ if seen > most => {}
            ParsedLine::Record(record) => records.push(record),
            ParsedLine::Wrapped(lines) => {
                records.extend(lines.records().map(|(_, record)| record).take(most));
            }
            _ => {}
        }
    };
    framer.push(beginning, |frames| reader.read(frames, &claim, &mut each));
    framer.finish(|frames| reader.read(frames, &claim, &mut each));
    reader.finish(&claim, &mut each);
    records
}

impl ParsedLine {
    /// Reads frames whose lines are all text, and passes each with the number of its line to `each`.
    pub(crate) fn each_text(frames: &Frames<'_>, mut each: impl FnMut(u64, Self)) {
        if let Some(bytes) = frames.oversized {
            return each(frames.line, Self::Oversized { bytes, lines: 1 });
        }
        for (line, bytes) in (frames.line..).zip(frames.lines()) {
            each(
                line,
                match text_of(bytes) {
                    Ok(text) if text.is_empty() => Self::Blank,
                    Ok(text) => Self::Text(text),
                    Err(bytes) => Self::Oversized { bytes, lines: 1 },
                },
            );
        }
    }
}

/// Decodes the text of a line, or returns its size if the text becomes too long, because each invalid sequence is replaced by the three
/// bytes of U+FFFD.
fn text_of(bytes: &[u8]) -> Result<String, u64> {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Ok(text.to_owned());
    }
    let unread = |chunk: &Utf8Chunk<'_>| if chunk.invalid().is_empty() { "" } else { "\u{fffd}" };
    let length = bytes.utf8_chunks().map(|chunk| chunk.valid().len() + unread(&chunk).len()).sum();
    if length > MAX_LINE.max(bytes.len()) {
        return Err(bytes.len() as u64);
    }
    let mut text = String::with_capacity(length);
    text.extend(bytes.utf8_chunks().flat_map(|chunk| [chunk.valid(), unread(&chunk)]));
    Ok(text)
}

/// Finds the complete records in a line that isn't a record itself. `scanned`: how many bytes were read to find that out.
fn recover(text: String, scanned: usize, claim: &dyn Fn(Value<'_>) -> bool) -> ParsedLine {
    if matches!(&*text, "" | "\r") {
        return ParsedLine::Blank;
    }
    if text.as_bytes().trim_ascii().is_empty() {
        return ParsedLine::Text(text);
    }
    let mut records = VecDeque::new();
    // In a log, a timestamp may precede the record.
    let start = stamp(&text).unwrap_or(0);
    let mut at = start;
    let mut damage_from = 0;
    // Each attempt at a false start may read far: their sum is limited, so that the time stays linear.
    let mut budget = text.len() * 8 + 4096 - scanned.min(text.len());
    let mut incomplete = false;
    while let Some(next) = next_start(&text, at, damage_from.max(start)).filter(|_| budget > 0) {
        at = next + 1;
        let is_boundary = next == damage_from || next == start;
        let read = match Record::read(&text[next..]) {
            Ok((record, used)) => {
                if is_boundary || claim(record.root()) {
                    let end = next + used;
                    records.push_back(next..end);
                    damage_from = end + blanks(&text[end..]);
                    at = damage_from;
                    incomplete = false;
                }
                used
            }
            Err(damage) => {
                incomplete |= damage.incomplete && is_boundary;
                damage.at + 1
            }
        };
        budget = budget.saturating_sub(read);
    }
    if records.is_empty() && !looks_like_json(&text) {
        return ParsedLine::Text(text);
    }
    ParsedLine::Parts(LineParts { text, records, at: 0, incomplete, lines: 1 })
}

/// Returns the offset after a time with its date and a tab or blank at the start of a log line, if there is one.
fn stamp(text: &str) -> Option<usize> {
    let rest = &text[stamp_length(text)?..];
    Some(text.len() - rest.strip_prefix(['\t', ' '])?.len())
}

/// Returns the offset at which the next record may begin: right at `boundary`, the end of the last record, else at a brace and a quote.
fn next_start(text: &str, at: usize, boundary: usize) -> Option<usize> {
    let is_boundary = at == boundary;
    let at = if is_boundary && at == 0 { blanks(text) } else { at };
    let rest = text.get(at..)?;
    if is_boundary && rest.starts_with(['{', '[']) {
        return Some(at);
    }
    memchr::memmem::find(rest.as_bytes(), b"{\"").map(|offset| at + offset)
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

/// Whether a text was meant to be a record: it begins or ends like one, or consists of NUL bytes that a crash left.
fn looks_like_json(text: &str) -> bool {
    let body = text.trim_start_matches(['\0', ' ', '\t', '\r']);
    let inside = |open| body.strip_prefix(open).map(str::trim_start);
    inside('{').is_some_and(|rest| rest.starts_with('"'))
        || inside('[').is_some_and(|rest| rest.starts_with('{'))
        || body.is_empty()
        || body.trim_end().ends_with('}') && is_end_of_record(body)
}

/// Whether a text that ends with a brace is the end of a record whose beginning is missing. A log line that merely contains JSON opens
/// as many braces as it closes.
fn is_end_of_record(text: &str) -> bool {
    let count = |brace: char| text.matches(brace).count();
    text.contains("\":") && text.matches('"').nth(3).is_some() && count('}') > count('{')
}

#[cfg(test)]
mod tests;
