//! What holds for every input, whatever it says. Each case tries these for nothing.
//!
//! - However the bytes arrive, the same comes out; and the same in every run.
//! - Nothing that comes out could steer a terminal or a log.
//! - Every line is read, and every line matters: without it something else would come out or be counted.

use std::borrow::Cow;

use streamfmt_core::json::Record;
use streamfmt_core::pipeline::Report;
use streamfmt_core::text::clean;

use super::{Run, visible};
use crate::engine::Engine;

/// Inputs with more lines are not tried with each of them left out.
const MANY_LINES: usize = 200;

/// The laws that don't hold for `run`, which is what came out of the whole `input`.
pub(super) fn broken(engine: &Engine, input: &[u8], run: &Run) -> Vec<String> {
    let mut broken = Vec::new();
    broken.extend(depends_on_pieces(engine, input, run));
    broken.extend(harmful(engine, &run.text));
    broken.extend(uncounted(input, &run.report));
    // What is said doesn't depend on colours, and loading grammars for each line takes long.
    if engine.writer().name != "ansi" {
        broken.extend(unseen_line(engine, input, run));
    }
    broken
}

fn depends_on_pieces(engine: &Engine, input: &[u8], run: &Run) -> Option<String> {
    let ways: [(&str, Vec<&[u8]>); 4] = [
        ("again", vec![input]),
        ("line by line", input.split_inclusive(|&byte| byte == b'\n').collect()),
        ("byte by byte", input.chunks(1).collect()),
        ("in odd pieces", odd_pieces(input)),
    ];
    let (way, text) = ways
        .into_iter()
        .map(|(way, pieces)| (way, Run::of(engine, pieces).text))
        .find(|(_, text)| *text != run.text)?;
    let same = text.lines().zip(run.text.lines()).take_while(|(one, other)| one == other).count();
    let line = |text: &str| visible(text.lines().nth(same).unwrap_or("nothing"));
    Some(format!("read {way}, line {} is «{}», not «{}»", same + 1, line(&text), line(&run.text)))
}

/// Pieces of many lengths, the same in every run.
fn odd_pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    let mut state = bytes.len() as u64;
    while !rest.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = [1, 2, 3, 7, 61, 311][(state >> 33) as usize % 6];
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// What comes out is clean: cleaning it again changes nothing but the colours of the `ansi` writer.
fn harmful(engine: &Engine, text: &str) -> Option<String> {
    let text = if engine.writer().name == "ansi" { without_colours(text) } else { Cow::Borrowed(text) };
    let cleaned = clean(&text);
    if cleaned == text {
        return None;
    }
    let same = text.chars().zip(cleaned.chars()).take_while(|(one, other)| one == other).count();
    let around: String = cleaned.chars().skip(same.saturating_sub(20)).take(60).collect();
    Some(format!("something came out that could steer a terminal: {}", visible(&around)))
}

/// The text without the colour sequences that a writer may make: `ESC [ numbers m`.
fn without_colours(text: &str) -> Cow<'_, str> {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let numbers = part.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
        match part[numbers..].strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.extend(["\u{1b}[", part]),
        }
    }
    Cow::Owned(plain)
}

fn uncounted(input: &[u8], report: &Report) -> Option<String> {
    let lines = input.split_inclusive(|&byte| byte == b'\n').count() as u64;
    let Report { events, blank_lines, raw_lines, damaged, oversized, .. } = report;
    let counted = blank_lines + events + raw_lines + damaged + oversized;
    (report.lines != lines || counted < lines)
        .then(|| format!("of {lines} lines {} were read and {counted} accounted for", report.lines))
}

/// Finds a line that could as well not be there: then it was lost.
fn unseen_line(engine: &Engine, input: &[u8], run: &Run) -> Option<String> {
    let lines: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();
    if lines.len() > MANY_LINES {
        return None;
    }
    let kinds: Vec<Option<String>> = lines.iter().map(|line| kind(line)).collect();
    let streams = kinds.iter().any(|kind| kind.as_deref() == Some("stream_event"));
    let index = (0..lines.len()).find(|&index| {
        // What is streamed and then said whole may miss either.
        let may_miss = match kinds[index].as_deref() {
            Some("stream_event") => true,
            Some("assistant") => streams,
            _ => lines[index].iter().all(u8::is_ascii_whitespace),
        };
        let without = lines.iter().enumerate().map(|(at, line)| if at == index { &b"\n"[..] } else { line });
        !may_miss && {
            let other = Run::of(engine, without);
            other.text == run.text && counts(&other.report) == counts(&run.report)
        }
    })?;
    Some(format!("line {} is neither shown nor counted", index + 1))
}

fn kind(line: &[u8]) -> Option<String> {
    let record = Record::from_line(std::str::from_utf8(line).ok()?.trim().to_owned()).ok()?;
    Some(record.root().get("type")?.decode()?.into_owned())
}

/// The counts that tell what became of a line, not how many there were.
fn counts(report: &Report) -> Report {
    Report { lines: 0, events: 0, blank_lines: 0, ..report.clone() }
}
