//! Reads lines: finds their records.
//!
//! A line is a record, blank, or text. Other programs may have wrapped the records: behind a prefix on each line, inside a string of
//! another record, or laid out over several lines; [`LineReader`] recognises that. Real logs also contain damage: a record that was cut off
//! and is followed at once by a complete one, two records without a line feed between them, runs of NUL.
//! Complete records are recovered, and the rest is kept as damage to be reported.

mod document;
mod envelope;
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
pub enum LineReading {
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

impl LineReading {
    /// The number of lines.
    pub fn lines(&self) -> u64 {
        match self {
            Self::Wrapped(wrapped) => wrapped.line_count(),
            Self::Oversized { lines, .. } => *lines,
            Self::Blank | Self::Record(_) | Self::Text(_) | Self::Parts(_) => 1,
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
}

impl LineParts {
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
    let mut each = |_: u64, reading: LineReading| {
        seen += 1;
        match reading {
            _ if seen > most => {}
            LineReading::Record(record) => records.push(record),
            LineReading::Wrapped(lines) => {
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

impl LineReading {
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
fn recover(text: String, scanned: usize, claim: &dyn Fn(Value<'_>) -> bool) -> LineReading {
    if matches!(&*text, "" | "\r") {
        return LineReading::Blank;
    }
    if text.as_bytes().trim_ascii().is_empty() {
        return LineReading::Text(text);
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
        return LineReading::Text(text);
    }
    LineReading::Parts(LineParts { text, records, at: 0, incomplete })
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(value: Value<'_>) -> bool {
        value.get("type").and_then(Value::str).is_some_and(|t| t.is("user"))
    }

    /// The readings of a stream that arrives in such pieces, each with the number of its first line.
    fn readings(stream: &[u8], piece: usize) -> Vec<(u64, Vec<String>)> {
        let (mut framer, mut reader) = (Framer::new(MAX_LINE), LineReader::new(MAX_LINE));
        let mut all = Vec::new();
        let mut each = |line, reading| all.push((line, described(reading)));
        for piece in stream.chunks(piece) {
            framer.push(piece, |frames| reader.read(frames, claim, &mut each));
        }
        framer.finish(|frames| reader.read(frames, claim, &mut each));
        reader.finish(claim, &mut each);
        all
    }

    /// The readings of a stream, each with the number of its first line and of its lines.
    fn counted(stream: &[u8]) -> Vec<(u64, u64, Vec<String>)> {
        let (mut framer, mut reader, mut all) =
            (Framer::new(MAX_LINE), LineReader::new(MAX_LINE), Vec::new());
        let mut each = |line, reading: LineReading| all.push((line, reading.lines(), described(reading)));
        framer.push(stream, |frames| reader.read(frames, claim, &mut each));
        reader.finish(claim, &mut each);
        all
    }

    fn read(text: &str) -> Vec<String> {
        readings(text.as_bytes(), usize::MAX).into_iter().flat_map(|(_, reading)| reading).collect()
    }

    fn described(reading: LineReading) -> Vec<String> {
        let of =
            |record: Record| format!("record {}{}", record.text(), if record.is_cut() { " cut" } else { "" });
        match reading {
            LineReading::Blank => vec!["blank".into()],
            LineReading::Record(record) => vec![of(record)],
            LineReading::Text(text) => vec![format!("text {text}")],
            LineReading::Parts(parts) => parts
                .map(|part| match part {
                    LinePart::Record(record) => of(record),
                    LinePart::Damage { text, incomplete: true } => format!("incomplete {text}"),
                    LinePart::Damage { text, .. } => format!("damage {text}"),
                })
                .collect(),
            LineReading::Wrapped(lines) => lines.records().map(|(_, record)| of(record)).collect(),
            LineReading::Oversized { bytes, .. } => vec![format!("oversized {bytes}")],
        }
    }

    #[test]
    fn complete_records_are_recovered_from_a_damaged_line() {
        let user = r#"{"type":"user"}"#;
        for (line, want) in [
            (user.to_owned(), vec![format!("record {user}")]),
            (format!("{user}{user}"), vec![format!("record {user}"), format!("record {user}")]),
            (
                format!(r#"{{"type":"assistant","a":{{"type":"text"}},"b{user}"#),
                vec![
                    r#"damage {"type":"assistant","a":{"type":"text"},"b"#.to_owned(),
                    format!("record {user}"),
                ],
            ),
            (format!("\0\0{user}"), vec!["damage \0\0".to_owned(), format!("record {user}")]),
            (format!("{user} tail"), vec![format!("record {user}"), "damage tail".to_owned()]),
            (
                r#"2026-02-14T10:00:00.5Z	{ "a": 1 }"#.replace("\\t", "\t"),
                vec![r#"record { "a": 1 }"#.to_owned()],
            ),
            (r#"2026-02-14T10:00:00+01:00 [{"a":1}]"#.to_owned(), vec![r#"record {"a":1}"#.to_owned()]),
            ("2026-02-14T10:00:00Z plain".to_owned(), vec!["text 2026-02-14T10:00:00Z plain".to_owned()]),
            (r#"{"type":"us"#.to_owned(), vec![r#"incomplete {"type":"us"#.to_owned()]),
            ("warning: {x}".to_owned(), vec!["text warning: {x}".to_owned()]),
            (r#"ssage","id":"m"}"#.to_owned(), vec![r#"damage ssage","id":"m"}"#.to_owned()]),
            (r#"[16:29] handler {"a":1}"#.to_owned(), vec![r#"text [16:29] handler {"a":1}"#.to_owned()]),
            (
                r#"[16:29] GET {"a":{"b":"c"},"d":"e"}"#.to_owned(),
                vec![r#"text [16:29] GET {"a":{"b":"c"},"d":"e"}"#.to_owned()],
            ),
            ("\r".to_owned(), vec!["blank".to_owned()]),
            (" \t".to_owned(), vec!["text  \t".to_owned()]),
            ("\0\0".to_owned(), vec!["damage \0\0".to_owned()]),
        ] {
            assert_eq!(read(&line), want, "{line}");
        }
    }

    /// Events of a session, and JSON that isn't one.
    fn event(number: usize) -> String {
        format!(r#"{{"type":"user","n":{number},"text":"a {{\"b\":[]}}"}}"#)
    }

    /// Lines, each behind what `prefix` makes of its number.
    fn behind(prefix: impl Fn(usize) -> String, lines: &[String]) -> String {
        lines
            .iter()
            .enumerate()
            .flat_map(|(at, line)| [prefix(at), (*line).clone(), "\n".to_owned()])
            .collect()
    }

    #[test]
    fn records_behind_a_prefix_that_repeats_are_records() {
        let events: Vec<String> = (0..4).map(event).collect();
        let want: Vec<String> = events.iter().map(|event| format!("record {event}")).collect();
        let prefixes: [&dyn Fn(usize) -> String; 22] = [
            &|_| "agent-1  | ".to_owned(),
            &|at| format!("\x1b[3{at}magent-{at}  | \x1b[0m"),
            &|_| "[pod/agent-job-7d9fk/claude] ".to_owned(),
            &|_| "agent-job-7d9fk claude ".to_owned(),
            &|at| format!("2026-11-20T09:14:0{at}.1234567Z "),
            &|at| format!("fix\tRun agent\t2026-11-20T09:14:0{at}Z "),
            &|at| format!("Nov {at} 09:14:02 tidebox agent[43{at}]: "),
            &|at| format!("2026-11-20T09:14:02.{at}Z stdout F "),
            &|at| format!("2026-11-20T09:14:02.{at}Z std{} F ", if at % 2 == 0 { "out" } else { "err" }),
            &|at| format!("{} 09:14:0{at} ", ["Nov 30", "Nov 30", "Dec 1", "Dec 1"][at]),
            &|at| format!("[09:14:0{at}] "),
            &|at| format!("{}[000{at}] ", ["INFO", "WARN", "ERROR", "INFO"][at]),
            &|_| "[claude:stdout] ".to_owned(),
            &|at| format!("time=\"2026-11-20 09:14:0{at}\" level=info msg="),
            &|_| "data: ".to_owned(),
            &|_| "\x1e".to_owned(),
            &|_| "\x1b]0;ready\x07".to_owned(),
            &|at| ["\x1b[?2004h", "", "^D\x08\x08", "\x1b(B\x1b[m"][at].to_owned(),
            &|at| format!("[2026-11-20 09:14:02,{at}] [agent] "),
            &|_| "> ".to_owned(),
            &|at| format!("{at}\t"),
            &|at| format!("+{at}.5s stdout: "),
        ];
        for prefix in prefixes {
            let stream = behind(prefix, &events);
            assert_eq!(read(&stream), want, "{stream}");
        }
        let commas: String = events.iter().flat_map(|event| [event.clone(), ",\r\n".to_owned()]).collect();
        assert_eq!(read(&commas), want);
    }

    #[test]
    fn records_inside_a_string_of_others_are_records() {
        let (one, two) = (event(1), event(2));
        let quoted = |text: &str| {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
        };
        let log = |text: &str| {
            format!(
                "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2026-11-20T09:14:02.5Z\"}}\n",
                quoted(text)
            )
        };
        let want = [format!("record {one}"), format!("record {two}")];
        let line = |text: &str| log(&format!("{text}\n"));
        assert_eq!(read(&[line(&one), line(&two)].concat()), want);
        let message = |text: &str| format!("{{\"severity\":\"INFO\",\"message\":{}}}\n", quoted(text));
        assert_eq!(read(&[message(&one), message(&two)].concat()), want);
        // Text inside is text; what was before the first record stays as it is.
        let all = read(&[line("up"), line(&one), line("down"), message(&two)].concat());
        let expected = [
            format!("record {}", line("up").trim_end()),
            want[0].clone(),
            format!("text {}", line("down").trim_end()),
            format!("record {}", message(&two).trim_end()),
        ];
        assert_eq!(all, expected);
        // A long line was split.
        let (start, end) = two.split_at(20);
        assert_eq!(
            read(&[line(&one), log(start), log(&end[..5]), log(&format!("{}\n", &end[5..]))].concat()),
            want
        );
        let cut = read(&[line(&one), log(start), line(&two)].concat());
        assert_eq!(cut, [want[0].clone(), format!("text {}", log(start).trim_end()), want[1].clone()]);
        // An agent's own records are left alone.
        let own = format!("{one}\n{}", line(&two));
        assert_eq!(read(&own)[1], format!("record {}", line(&two).trim_end()));
    }

    #[test]
    fn text_that_comes_before_a_record_by_chance_is_damage() {
        let (one, two) = (event(1), event(2));
        let stream = format!("Warning: slow{one}\n{two}\nNote: late{one}\n");
        let want = [
            "damage Warning: slow".to_owned(),
            format!("record {one}"),
            format!("record {two}"),
            "damage Note: late".to_owned(),
            format!("record {one}"),
        ];
        assert_eq!(read(&stream), want);
        // Part of a record isn't a prefix, however often it comes, nor is JSON.
        for remains in [r#"ge","id":"m"}"#, r#"{"type":"us"#, r#"{"level":1} "#, "\0\0"] {
            let all = read(&format!("{remains}{one}\n").repeat(3));
            assert_eq!(all.len(), 6, "{all:?}");
        }
    }

    #[test]
    fn behind_a_prefix_text_stays_and_damage_is_found() {
        let (one, two) = (event(1), event(2));
        let stream = format!(
            "a | {one}\na | {two}\na | text\na | {{\"type\":\"us\na | {{\"x\":1}}\nb | {{\"x\":1}}\n"
        );
        let want = [
            format!("record {one}"),
            format!("record {two}"),
            "text a | text".to_owned(),
            r#"incomplete {"type":"us"#.to_owned(),
            r#"record {"x":1}"#.to_owned(),
            r#"record {"x":1}"#.to_owned(),
        ];
        assert_eq!(read(&stream), want);
        // A line of text shows what the prefix is, even if only one record follows.
        assert_eq!(
            read(&format!("web-1 | up\nweb-1 | {one}\n")),
            ["text web-1 | up".to_owned(), want[0].clone()]
        );
    }

    #[test]
    fn a_long_line_that_was_split_behind_its_prefix_is_joined() {
        let event = event(1);
        let [mut stream, end] = ["", "F"].map(str::to_owned);
        for (at, part) in event.as_bytes().chunks(9).enumerate() {
            let is_last = (at + 1) * 9 >= event.len();
            let flag = if is_last { &*end } else { "P" };
            let part = str::from_utf8(part).unwrap();
            stream.extend(["2026-11-20T09:14:02.", &at.to_string(), "Z stdout ", flag, " ", part, "\n"]);
        }
        let read: Vec<_> = read(&stream).iter().map(|text| text.replace('\n', "")).collect();
        assert_eq!(read, [format!("record {event}")]);
    }

    #[test]
    fn json_over_several_lines_is_read_as_its_records() {
        let pretty = "{\n  \"type\": \"user\",\n  \"list\": [\n    {\n      \"a\": -1.5e3\n    },\n    []\n  ],\n  \"e\": {}\n}";
        let record = format!("record {pretty}");
        let numbered = |stream: &str| readings(stream.as_bytes(), usize::MAX);
        assert_eq!(read(&format!("{pretty}\n{pretty}")), [record.clone(), record.clone()]);
        assert_eq!(read(&format!("{pretty}{pretty}\n")), [record.clone(), record.clone()]);
        // Elements come one by one, each with its line.
        let array = format!("[\n{pretty},\n{pretty},\n]\ntext\n");
        let want = [
            (1, vec![record.clone()]),
            (12, vec![record.clone()]),
            (22, vec![]),
            (23, vec!["text text".to_owned()]),
        ];
        assert_eq!(numbered(&array), want);
        assert_eq!(numbered(&format!("banner\n{array}"))[1].1, want[0].1);
        // Text between the elements.
        let mixed = format!("[\n{pretty},\nnpm notice\n{pretty}\n]\n{pretty}\n");
        let kinds: Vec<usize> = numbered(&mixed).into_iter().map(|(_, all)| all.len()).collect();
        assert_eq!(kinds, [1, 1, 1, 0, 1]);
        // Behind a prefix, where a number might go on in the next line, and with colours.
        for prefix in ["a-1 | ", "2026-11-20T09:14:02Z "] {
            let lines: Vec<String> = array.lines().map(str::to_owned).collect();
            let read = read(&behind(|_| prefix.to_owned(), &lines));
            let bare = |text: &str| text.replace([' ', '\n'], "");
            assert_eq!([bare(&read[0]), bare(&read[1])], [bare(&record), bare(&record)]);
        }
        let coloured = pretty.replace('"', "\x1b[34m\"\x1b[0m");
        assert_eq!(read(&coloured), [record]);
    }

    #[test]
    fn lines_that_only_begin_like_json_are_read_one_by_one() {
        let one = event(1);
        let stream = format!(
            "{{\n  method: 'post',\n}}\n[\nfoo() {{\n  \"a\": 1\n}}\n{{\"type\":\"user\",\"a\":\n{one}\n{{\n"
        );
        let want = [
            "text {",
            "text   method: 'post',",
            "text }",
            "text [",
            "text foo() {",
            "text   \"a\": 1",
            "text }",
            "incomplete {\"type\":\"user\",\"a\":",
            &format!("record {one}"),
            "text {",
        ];
        assert_eq!(read(&stream), want);
        // Only the structure is right.
        let wrong = [
            "{\"type\":\"user\",\"a\":01},",
            "{\n\"type\":\"user\",\n\"a\":tru\n}",
            "[\n{\"type\":\"user\",\"a\":\"\\x\"}\n]",
        ];
        for wrong in wrong {
            assert!(read(wrong).iter().all(|reading| !reading.starts_with("record")), "{wrong}");
            assert_eq!(read(wrong).len(), wrong.lines().count());
        }
    }

    #[test]
    fn a_record_over_the_limit_is_skipped_and_its_neighbours_are_read() {
        let big = format!("{{\n\"type\":\"user\",\n\"a\": [\n{}\n]}}", "\"bbbbbbbbbb\",\n".repeat(20) + "1");
        let one = event(1);
        let (mut reader, mut framer, mut all) = (LineReader::new(150), Framer::new(150), Vec::new());
        let mut each = |line, reading: LineReading| all.push((line, reading.lines(), described(reading)));
        framer.push(format!("[\n{one},\n{big},\n{one}\n]\n").as_bytes(), |frames| {
            reader.read(frames, claim, &mut each);
        });
        reader.finish(claim, &mut each);
        let lines = big.lines().count() as u64;
        let record = vec![format!("record {one}")];
        let size = big.len() as u64 + 1;
        let want = [
            (1, 2, record.clone()),
            (3, lines, vec![format!("oversized {size}")]),
            (3 + lines, 1, record),
            (4 + lines, 1, vec![]),
        ];
        assert_eq!(all, want);
    }

    #[test]
    fn lines_that_are_held_in_vain_cost_a_bounded_amount() {
        let (open, prefixed) = ("{\"a\":\n".repeat(100_000), event(1));
        assert_eq!(readings(open.as_bytes(), usize::MAX).len(), 100_000);
        let other: String = (0..20_000_u32)
            .flat_map(|at| {
                let word: String =
                    at.to_string().chars().map(|digit| (b'a' + digit as u8 - b'0') as char).collect();
                ["xx".to_owned(), word, format!(" | {prefixed}\n")]
            })
            .collect();
        assert!(readings(other.as_bytes(), usize::MAX).len() >= 20_000);
    }

    #[test]
    fn false_starts_cost_a_bounded_amount() {
        let line = r#"{"a":"#.repeat(200_000);
        assert_eq!(read(&line).len(), 1);
    }

    proptest! {
        #[test]
        fn lines_that_came_together_are_read_like_single_ones(picks in proptest::collection::vec(0..22usize, 0..300)) {
            let deep = [b"[".repeat(200), b"]".repeat(200)].concat();
            let kinds: [&[u8]; 22] = [
                br#"{"type":"user","a":[1,{"b":"\u0041"}]}"#,
                " {\"a\":\"\u{e9}\"} ".as_bytes(),
                br#"{"type":"us"#,
                br#"{"type":"user"}{"type":"user"} tail"#,
                b"plain text",
                b"",
                b"\r",
                b" \t",
                &deep,
                b"{",
                b"  \"type\": \"user\",",
                b"  \"b\": 1 }",
                b"}",
                b"[",
                b"]",
                b",",
                br#"a-1 | {"type":"user"}"#,
                br#"a-1 | {"type":"us"#,
                br#"a-1 | er"}"#,
                b"a-1 | {",
                br#"2026-11-20T09:14:02Z stdout P {"type":"us"#,
                br#"2026-11-20T09:14:02Z stdout F er"}"#,
            ];
            let stream: Vec<u8> = picks.iter().flat_map(|&pick| [kinds[pick], b"\n"].concat()).collect();
            let together = readings(&stream, usize::MAX);
            let mut next = 1;
            for (line, lines, _) in &counted(&stream) {
                prop_assert_eq!(*line, next, "each line is in one reading");
                next += lines;
            }
            prop_assert_eq!(next, picks.len() as u64 + 1);
            prop_assert_eq!(&together, &readings(&stream, 1));
            // A byte that isn't UTF-8 changes only its own line.
            let damaged = [b"\xff\n", &stream[..]].concat();
            let read: Vec<_> = readings(&damaged, usize::MAX).into_iter().skip(1).map(|(line, of)| (line - 1, of)).collect();
            prop_assert_eq!(&together, &read);
        }
    }
}
