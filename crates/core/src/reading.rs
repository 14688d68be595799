//! Reads one line: finds its records. Nothing here depends on the lines before.
//!
//! A line is a record, blank, or text. Real logs also contain damage: a record that was cut off
//! and is followed at once by a complete one, two records without a line feed between them, runs of NUL.
//! Complete records are recovered, and the rest is kept as damage to be reported.

use std::collections::VecDeque;
use std::ops::Range;
use std::str::Utf8Chunk;
use std::sync::Arc;

use crate::frame::{Frames, MAX_LINE};
use crate::json::{Record, RecordBatch, Value};

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

/// The contents of a line.
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
    /// A line over the limit: its size in bytes.
    Oversized(u64),
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

impl LineReading {
    /// Reads frames, and passes each with the number of its line to `each`. `claim` returns whether a value is an event of a dialect:
    /// in the middle of damage, only such a value is taken for a record.
    pub fn each(frames: Frames<'_>, claim: impl Fn(Value<'_>) -> bool, mut each: impl FnMut(u64, Self)) {
        let Frames { line, oversized, bytes, lines } = frames;
        if let Some(size) = oversized {
            return each(line, Self::Oversized(size));
        }
        if let [only] = lines {
            let text = text_of(&bytes[only.clone()]);
            // Free the bytes of a long line that came in pieces, before it is parsed.
            drop(bytes);
            return each(line, Self::of(text, &claim));
        }
        let Ok(text) = simdutf8::basic::from_utf8(&bytes) else {
            for (line, part) in (line..).zip(lines) {
                each(line, Self::of(text_of(&bytes[part.clone()]), &claim));
            }
            return;
        };
        let mut batch = RecordBatch::with_capacity(text.len());
        let read: Vec<_> = lines.iter().map(|part| batch.add(&text[part.clone()])).collect();
        let batch = Arc::new(batch);
        for (line, (part, read)) in (line..).zip(lines.iter().zip(read)) {
            each(
                line,
                match read {
                    Ok(span) => Self::Record(Record::of_batch(&batch, span)),
                    Err(damage) => recover(text[part.clone()].to_owned(), damage.at, &claim),
                },
            );
        }
    }

    /// Reads frames whose lines are all text, and passes each with the number of its line to `each`.
    pub fn each_text(frames: &Frames<'_>, mut each: impl FnMut(u64, Self)) {
        if let Some(size) = frames.oversized {
            return each(frames.line, Self::Oversized(size));
        }
        for (line, bytes) in (frames.line..).zip(frames.lines()) {
            each(
                line,
                match text_of(bytes) {
                    Ok(text) if text.is_empty() => Self::Blank,
                    Ok(text) => Self::Text(text),
                    Err(size) => Self::Oversized(size),
                },
            );
        }
    }

    /// Reads the text of a line. `text`: the size of the line if its text is too long.
    fn of(text: Result<String, u64>, claim: impl Fn(Value<'_>) -> bool) -> Self {
        match text.map(Record::from_line) {
            Ok(Ok(record)) => Self::Record(record),
            Ok(Err((damage, text))) => recover(text, damage.at, claim),
            Err(size) => Self::Oversized(size),
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
fn recover(text: String, scanned: usize, claim: impl Fn(Value<'_>) -> bool) -> LineReading {
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

/// Returns the offset after an RFC 3339 timestamp and a tab or blank at the start of a log line, if there is one.
fn stamp(text: &str) -> Option<usize> {
    const FORM: &str = "0000-00-00T00:00:00";
    let (time, rest) = text.split_at_checked(FORM.len())?;
    let fits = |(byte, form): (u8, u8)| {
        if form == b'0' { byte.is_ascii_digit() } else { byte.eq_ignore_ascii_case(&form) }
    };
    if !time.bytes().zip(FORM.bytes()).all(fits) {
        return None;
    }
    let fraction = rest.strip_prefix('.');
    let rest = fraction.map_or(rest, |digits| digits.trim_start_matches(|ch: char| ch.is_ascii_digit()));
    let rest = if let Some(zone) = rest.strip_prefix(['+', '-']) {
        zone.get(5..).filter(|_| zone.as_bytes()[2] == b':')?
    } else {
        rest.strip_prefix(['Z', 'z'])?
    };
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
    use crate::frame::Framer;
    use proptest::prelude::*;

    fn claim(value: Value<'_>) -> bool {
        value.get("type").and_then(Value::str).is_some_and(|t| t.is("user"))
    }

    fn read(text: &str) -> Vec<String> {
        described(LineReading::of(text_of(text.as_bytes()), claim))
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
            LineReading::Oversized(size) => vec![format!("oversized {size}")],
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
                vec!["damage 2026-02-14T10:00:00.5Z\t".to_owned(), r#"record { "a": 1 }"#.to_owned()],
            ),
            (
                r#"2026-02-14T10:00:00+01:00 [{"a":1}]"#.to_owned(),
                vec!["damage 2026-02-14T10:00:00+01:00 ".to_owned(), r#"record [{"a":1}]"#.to_owned()],
            ),
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

    #[test]
    fn false_starts_cost_a_bounded_amount() {
        let line = r#"{"a":"#.repeat(200_000);
        assert_eq!(read(&line).len(), 1);
    }

    proptest! {
        #[test]
        fn lines_that_came_together_are_read_like_single_ones(picks in proptest::collection::vec(0..9usize, 0..300)) {
            let deep = [b"[".repeat(200), b"]".repeat(200)].concat();
            let kinds: [&[u8]; 9] = [
                br#"{"type":"user","a":[1,{"b":"\u0041"}]}"#,
                " {\"a\":\"\u{e9}\"} ".as_bytes(),
                br#"{"type":"us"#,
                br#"{"type":"user"}{"type":"user"} tail"#,
                b"plain text",
                b"",
                b"\r",
                b" \t",
                &deep,
            ];
            let stream: Vec<u8> = picks.iter().flat_map(|&pick| [kinds[pick], b"\n"].concat()).collect();
            let read = |stream: &[u8], piece: usize| {
                let (mut framer, mut all) = (Framer::new(MAX_LINE), Vec::new());
                for piece in stream.chunks(piece) {
                    let mut each = |line, reading| all.push((line, described(reading)));
                    framer.push(piece, |frames| LineReading::each(frames, claim, &mut each));
                }
                all
            };
            let together = read(&stream, usize::MAX);
            prop_assert_eq!(together.len(), picks.len());
            prop_assert_eq!(&together, &read(&stream, 1));
            // A byte that isn't UTF-8 changes only its own line.
            let damaged = [b"\xff\n", &stream[..]].concat();
            let read: Vec<_> = read(&damaged, usize::MAX).into_iter().skip(1).map(|(line, of)| (line - 1, of)).collect();
            prop_assert_eq!(&together, &read);
        }
    }
}
