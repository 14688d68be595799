//! Reads a line over the limit, piece by piece: an array, whose elements are records, or records after one another.
//!
//! Only one record is kept at a time. What isn't read is reported with its size.

use std::mem;
use std::ops::Range;

use crate::json::Record;

use super::document::{DocumentPlace, DocumentScanner};
use super::prefix::{LONGEST, Prefix, record_start, time_in};
use super::reader::{Claim, Each};
use super::{LineParts, ParsedLine, WrappedLines, recover, text_of};

/// How many bytes are followed at once.
const PIECE: usize = 64 << 10;

/// A line over the limit.
#[derive(Debug)]
pub(super) struct LongLine {
    /// Its number.
    line: u64,
    /// The most bytes of a record.
    max: usize,
    /// `None` from where on the line isn't JSON.
    scanner: Option<DocumentScanner>,
    /// How many bytes of the line were followed, and how many come before its JSON.
    followed: usize,
    prefix: usize,
    /// The last of the bytes that were followed: those of the open record, if it isn't over the limit.
    kept: Vec<u8>,
    /// The end of the last record.
    end: usize,
    /// The time in the prefix.
    time: Option<String>,
    /// Whether a reading was passed on: the line is counted with the first.
    is_counted: bool,
}

impl LongLine {
    /// The line of this number, which begins so. `is_known`: whether a prefix is known to be put in front of lines.
    pub(super) fn begin(line: u64, bytes: &[u8], max: usize, is_known: impl FnOnce(&Prefix) -> bool) -> Self {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST).min(max)]);
        let text = head.trim_start_matches('\u{feff}');
        let start = record_start(text);
        let start = start.filter(|start| Prefix::of(&text[..*start]).is_some_and(|prefix| is_known(&prefix)));
        let time = start.and_then(|start| time_in(&text[..start])).map(str::to_owned);
        let prefix = head.len() - text.len() + start.unwrap_or_default();
        let scanner = start.map(|_| DocumentScanner::new());
        let kept = Vec::new();
        Self { line, max, scanner, followed: 0, prefix, kept, end: 0, time, is_counted: false }
    }

    /// Takes the next piece of the line, and passes on the records that end in it.
    pub(super) fn push(&mut self, bytes: &[u8], claim: Claim<'_>, each: Each<'_>) {
        let skipped = self.prefix.saturating_sub(self.followed).min(bytes.len());
        self.followed += skipped;
        for piece in bytes[skipped..].chunks(PIECE) {
            let Some(scanner) = &mut self.scanner else { return };
            let mut records = Vec::new();
            let is_json = scanner.feed(piece, self.followed, &mut records).is_ok();
            let open = scanner.open_record();
            self.kept.extend_from_slice(piece);
            self.followed += piece.len();
            for record in records {
                self.record(record, claim, each);
            }
            if !is_json {
                self.scanner = None;
            }
            let needed = open.filter(|_| is_json).map_or(0, |start| self.followed - start);
            if needed > self.max {
                self.kept = Vec::new();
            } else {
                self.kept.drain(..self.kept.len().saturating_sub(needed));
            }
        }
    }

    /// Passes on a record.
    fn record(&mut self, range: Range<usize>, claim: Claim<'_>, each: Each<'_>) {
        self.end = range.end;
        let before = self.followed - self.kept.len();
        let bytes = (range.len() <= self.max).then(|| &self.kept[range.start - before..range.end - before]);
        let text = bytes.map_or(Err(range.len() as u64), text_of);
        self.text(text, claim, each);
    }

    /// Passes on the text of a record, or its size.
    fn text(&mut self, text: Result<String, u64>, claim: Claim<'_>, each: Each<'_>) {
        let lines = u64::from(!mem::replace(&mut self.is_counted, true));
        let reading = match text {
            Err(bytes) => ParsedLine::Oversized { bytes, lines },
            Ok(text) => match Record::read(&text) {
                Ok((_, used)) if used == text.len() => {
                    let (records, time) = (std::iter::once(0..used).collect(), self.time.clone());
                    ParsedLine::Wrapped(WrappedLines {
                        records,
                        time,
                        lines,
                        is_certain: true,
                        ..WrappedLines::of(text, None)
                    })
                }
                damaged => {
                    match recover(text, damaged.map_or_else(|damage| damage.at, |(_, used)| used), claim) {
                        ParsedLine::Parts(parts) => ParsedLine::Parts(LineParts { lines, ..parts }),
                        ParsedLine::Text(text) if lines == 0 => ParsedLine::Parts(LineParts::rest(text)),
                        reading => reading,
                    }
                }
            },
        };
        each(self.line, reading);
    }

    /// Ends the line, which has so many bytes.
    pub(super) fn end(mut self, size: u64, claim: Claim<'_>, each: Each<'_>) {
        let place = self.scanner.as_ref().map(DocumentScanner::place);
        let is_rest = matches!(place, Some(DocumentPlace::Outside | DocumentPlace::Between));
        if is_rest && self.is_counted {
            return;
        }
        let rest = if self.kept.is_empty() || !self.is_counted {
            Err(size - self.end as u64)
        } else {
            text_of(&mem::take(&mut self.kept))
        };
        self.text(rest, claim, each);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::Framer;
    use crate::json::Value;
    use crate::reading::{LinePart, LineReader};

    const MAX: usize = 40;

    /// The readings of a stream with lines of up to 40 bytes that arrives in pieces of this size: the line, the number of lines, and the
    /// reading.
    fn readings(stream: &[u8], piece: usize) -> Vec<(u64, u64, String)> {
        let (mut framer, mut reader, mut all) = (Framer::new(MAX), LineReader::new(MAX), Vec::new());
        let claim = |value: Value<'_>| value.get("type").is_some();
        let mut each = |line, reading: ParsedLine| {
            let lines = reading.lines();
            let what = match reading {
                ParsedLine::Blank => "blank".to_owned(),
                ParsedLine::Record(record) => format!("line {}", record.text()),
                ParsedLine::Text(text) => format!("text {text}"),
                ParsedLine::Wrapped(lines) => lines
                    .records()
                    .flat_map(|(_, record)| {
                        [format!("record {}", record.text()), format!(" {:?}", lines.time())]
                    })
                    .collect(),
                ParsedLine::Parts(parts) => parts
                    .map(|part| match part {
                        LinePart::Record(record) => record.text().to_owned(),
                        LinePart::Damage { text, incomplete } => format!("damage {text} {incomplete}"),
                    })
                    .collect(),
                ParsedLine::Oversized { bytes, .. } => format!("oversized {bytes}"),
            };
            all.push((line, lines, what));
        };
        for piece in stream.chunks(piece.max(1)) {
            framer.push(piece, |frames| reader.read(frames, claim, &mut each));
        }
        framer.finish(|frames| reader.read(frames, claim, &mut each));
        reader.finish(claim, &mut each);
        all
    }

    /// A record of this length in bytes.
    fn record(length: usize) -> String {
        format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8))
    }

    #[test]
    fn the_records_of_an_array_over_the_limit_are_read_one_by_one() {
        let (a, b, c) = (record(20), record(40), record(9));
        let found = |record: &str| format!("record {record} None");
        let time = "2026-11-20T09:14:02Z";
        for (stream, want) in [
            (
                format!("[{a}, {b},{c}]\nend"),
                vec![(1, 1, found(&a)), (1, 0, found(&b)), (1, 0, found(&c)), (2, 1, "text end".into())],
            ),
            (format!("\u{feff}[ {a} , {b}]  \r\n"), vec![(1, 1, found(&a)), (1, 0, found(&b))]),
            (format!("{a}{b}{c}"), vec![(1, 1, found(&a)), (1, 0, found(&b)), (1, 0, found(&c))]),
            (
                format!("{time} [{a},{b}]"),
                vec![
                    (1, 1, format!("record {a} Some({time:?})")),
                    (1, 0, format!("record {b} Some({time:?})")),
                ],
            ),
            // A record over the limit, and a value that isn't an object.
            (
                format!("[{},{a}]\n{c}", record(41)),
                vec![(1, 1, "oversized 41".into()), (1, 0, found(&a)), (2, 1, format!("line {c}"))],
            ),
            (record(90), vec![(1, 1, "oversized 90".into())]),
            (format!("[{a},1,{b}]"), vec![(1, 1, found(&a)), (1, 0, "oversized 44".into())]),
            (format!("[1,{a},{b}]"), vec![(1, 1, "oversized 65".into())]),
            ("x".repeat(50), vec![(1, 1, "oversized 50".into())]),
            (format!("[{}]", " ".repeat(50)), vec![(1, 1, "oversized 52".into())]),
            // The end is missing.
            (format!("[{a},{b}"), vec![(1, 1, found(&a)), (1, 0, found(&b))]),
            (
                format!("[{a},{b},{}", &c[..6]),
                vec![(1, 1, found(&a)), (1, 0, found(&b)), (1, 0, format!("damage {} true", &c[..6]))],
            ),
            (format!("{a}{b}{{"), vec![(1, 1, found(&a)), (1, 0, found(&b)), (1, 0, "damage { true".into())]),
            // Damage inside a record.
            (
                format!("[{a},{{\"\x01\":1e}},{b}]"),
                vec![(1, 1, found(&a)), (1, 0, "damage {\"\x01\":1e} false".into()), (1, 0, found(&b))],
            ),
        ] {
            for piece in [1, 3, 50, 1000] {
                assert_eq!(readings(stream.as_bytes(), piece), want, "{stream} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_is_held_before_such_a_line_is_read_first() {
        let (a, b) = (record(20), record(21));
        let found = readings(format!("{{\n[{a},{b}]").as_bytes(), 9);
        let kinds: Vec<&str> = found.iter().map(|(_, _, what)| what.split(' ').next().unwrap()).collect();
        assert_eq!((kinds, found[1].0), (vec!["text", "record", "record"], 2));
    }

    proptest! {
        #[test]
        fn pieces_change_nothing_and_each_line_is_counted(parts in proptest::collection::vec(0..12usize, 0..30), piece in 1..200usize) {
            let texts = ["[", "]", "{\"type\":\"a\"}", ",", " ", "{\"b\":[{}]}", "{", "\"", "\n", "x | ", "2026-11-20T09:14:02Z ", "é"];
            let stream: String = parts.iter().map(|part| texts[*part]).collect();
            let all = readings(stream.as_bytes(), piece);
            prop_assert_eq!(&all, &readings(stream.as_bytes(), usize::MAX));
            let lines = all.iter().map(|(_, lines, _)| lines).sum::<u64>();
            prop_assert_eq!(lines, stream.lines().count() as u64);
        }
    }
}
