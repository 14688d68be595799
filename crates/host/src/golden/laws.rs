//! The laws that hold for every input, whatever it contains. Each case verifies them.
//!
//! - The output is the same however the bytes arrive, and the same in every run.
//! - The output contains nothing that could control a terminal or a log.
//! - Marked roles are the only difference between `roles` and `text`.
//! - Every line is read, and every line matters: without it, the output or the counts differ.
//! - Every item is written, or counted under the rule that hides it.
//! - The final state of growing entries equals the output for the complete input, including the counts, no matter when updates
//!   are taken.
//! - What is masked in the complete text is never shown while the text grows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

use streamfmt_core::item::{Id, Kind};
use streamfmt_core::json::Record;
use streamfmt_core::pipeline::{Report, Setup};
use streamfmt_core::text::clean;

use super::case::CaseVariant;
use super::input::CaseInput;
use super::run::{CaseRun, visible};
use super::witness::{entries_of, witness};
use super::{live, marked, pieces};
use crate::engine::Engine;
use crate::writers::WriterRow;

/// Inputs with more lines aren't checked by leaving out each line.
const MANY_LINES: usize = 200;

/// The sizes of the pieces in which an input is read once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// In all of these ways.
    #[default]
    All,
    /// Line by line.
    Line,
    /// Byte by byte.
    Byte,
    /// In pieces of many lengths, derived from this seed.
    Random(u64),
}

impl FromStr for Chunks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seed = text.strip_prefix("random:").and_then(|seed| seed.parse().ok());
        match (text, seed) {
            ("all", _) => Ok(Self::All),
            ("line", _) => Ok(Self::Line),
            ("byte", _) => Ok(Self::Byte),
            (_, Some(seed)) => Ok(Self::Random(seed)),
            _ => Err("expected all, line, byte or random:SEED".to_owned()),
        }
    }
}

/// The laws that are violated by `run`, the output for the cell's input.
pub(super) fn broken(cell: &CaseVariant, engine: &Engine, run: &CaseRun, chunks: Chunks) -> Vec<String> {
    let bytes = cell.case.input.bytes();
    let mut broken = Vec::new();
    let whole = match &cell.case.input {
        CaseInput::Whole(_) => None,
        CaseInput::Live(_) => {
            broken.extend(depends_on_run(engine, &cell.case.input, run));
            Some(CaseRun::of(engine, [&*bytes]))
        }
    };
    let whole = whole.as_ref().unwrap_or(run);
    broken.extend(depends_on_pieces(engine, &bytes, whole, chunks));
    broken.extend(steers(&run.text, cell.row().is_some_and(WriterRow::has_escapes)));
    broken.extend(uncounted(&bytes, &whole.report));
    if cell.is_first || matches!(cell.case.input, CaseInput::Live(_)) {
        broken.extend(live::depends_on_pace(engine, &bytes));
        broken.extend(live::unmasked_while_growing(engine, &bytes));
    }
    if cell.is_first {
        let bare = engine.without_plugins();
        broken.extend(unseen_line(&bare, &bytes, &CaseRun::of(&bare, [&*bytes])));
        broken.extend(unwritten_item(engine.with_own_journal().setup(), &bytes));
    }
    broken
}

/// The laws that are violated by the output without marked roles. `plain` is the engine for it, and `run` is the output with
/// marks. Without the marks both must be equal, and the laws for every output apply to it, too.
pub(super) fn broken_unmarked(
    plain: &Engine,
    input: &CaseInput,
    run: &CaseRun,
    chunks: Chunks,
) -> Vec<String> {
    let bytes = input.bytes();
    let unmarked = CaseRun::of_input(plain, input);
    let text = &unmarked.text;
    let mismarked = marked::first_difference(&run.text, text).map(|line| {
        let shown = visible(text.lines().nth(line - 1).unwrap_or("nothing"));
        format!("without its marks it differs from line {line} of text: «{shown}»")
    });
    let steers = steers(text, false);
    let whole = if let CaseInput::Live(_) = input { CaseRun::of(plain, [&*bytes]) } else { unmarked };
    let depends = depends_on_pieces(plain, &bytes, &whole, chunks);
    [mismarked, depends, steers].into_iter().flatten().collect()
}

/// Returns a violation if the output contains a control sequence for terminals or logs.
fn steers(text: &str, is_coloured: bool) -> Option<String> {
    let around = harm(text, is_coloured)?;
    Some(format!("the output contains a terminal control: {}", visible(&around)))
}

fn depends_on_run(engine: &Engine, input: &CaseInput, run: &CaseRun) -> Option<String> {
    let again = CaseRun::of_input(engine, input);
    (again.text != run.text).then(|| first_difference("again", &again.text, &run.text))
}

pub(super) fn depends_on_pieces(
    engine: &Engine,
    input: &[u8],
    run: &CaseRun,
    chunks: Chunks,
) -> Option<String> {
    let mut ways: Vec<(String, Vec<&[u8]>)> = vec![("again".to_owned(), vec![input])];
    let is = |way| chunks == way || chunks == Chunks::All;
    if is(Chunks::Line) {
        ways.push(("line by line".to_owned(), pieces::lines(input)));
    }
    if is(Chunks::Byte) {
        ways.push(("byte by byte".to_owned(), pieces::single(input)));
    }
    let odd = match chunks {
        Chunks::All => Some(("in chunks of odd size".to_owned(), input.len() as u64)),
        Chunks::Random(seed) => Some((format!("in the chunks of random:{seed}"), seed)),
        Chunks::Line | Chunks::Byte => None,
    };
    ways.extend(odd.map(|(way, seed)| (way, pieces::odd(input, seed))));
    let (way, text) = ways
        .into_iter()
        .map(|(way, pieces)| (way, CaseRun::of(engine, pieces).text))
        .find(|(_, text)| *text != run.text)?;
    Some(first_difference(&way, &text, &run.text))
}

fn first_difference(way: &str, text: &str, usual: &str) -> String {
    let same = text.lines().zip(usual.lines()).take_while(|(one, other)| one == other).count();
    let line = |text: &str| visible(text.lines().nth(same).unwrap_or("nothing"));
    format!("read {way}, line {} is «{}» instead of «{}»", same + 1, line(text), line(usual))
}

/// The surroundings of the first character that could control a terminal or a log, or `None`. With `is_coloured`, the colours of
/// the `ansi` writer are allowed.
pub fn harm(text: &str, is_coloured: bool) -> Option<String> {
    let text = if is_coloured { without_colours(text) } else { Cow::Borrowed(text) };
    // Cleaning changes nothing in clean text.
    let cleaned = clean(&text);
    if cleaned == text {
        return None;
    }
    let same = text.chars().zip(cleaned.chars()).take_while(|(one, other)| one == other).count();
    Some(cleaned.chars().skip(same.saturating_sub(20)).take(60).collect())
}

/// Removes the colour sequences that a writer may emit: `ESC [ numbers m`.
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

/// Returns a violation if a line of the input was neither read nor accounted for.
pub fn uncounted(input: &[u8], report: &Report) -> Option<String> {
    let lines = line_count(input) as u64;
    let Report { events, blank_lines, further_lines, raw_lines, damaged, oversized, .. } = report;
    let counted = blank_lines + events + further_lines + raw_lines + damaged + oversized;
    (report.lines != lines || counted < lines)
        .then(|| format!("of {lines} lines, {} were read and {counted} accounted for", report.lines))
}

/// The number of lines of an input, which may be UTF-16.
fn line_count(input: &[u8]) -> usize {
    let decode: fn([u8; 2]) -> u16 = match input {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return pieces::lines(input).len(),
    };
    let units: Vec<u16> =
        input[2..].chunks(2).map(|pair| decode([pair[0], *pair.get(1).unwrap_or(&0)])).collect();
    pieces::lines(String::from_utf16_lossy(&units).as_bytes()).len()
}

/// Finds a line without which the output and the counts are the same: it was lost.
pub(super) fn unseen_line(engine: &Engine, input: &[u8], run: &CaseRun) -> Option<String> {
    let lines = pieces::lines(input);
    // The content doesn't depend on colours, and loading grammars for each line is slow.
    if lines.len() > MANY_LINES || engine.writer().has_escapes() {
        return None;
    }
    // A line of JSON over several lines is only a part of a record, and its output may not need that part.
    if run.report.further_lines > 0 {
        return None;
    }
    let kinds: Vec<Option<String>> = lines.iter().map(|line| kind(line)).collect();
    let streams = kinds.iter().any(|kind| kind.as_deref() == Some("stream_event"));
    let index = (0..lines.len()).find(|&index| {
        // If a message is streamed and also arrives complete, either can be missing.
        let may_miss = match kinds[index].as_deref() {
            Some("stream_event") => true,
            Some("assistant") => streams,
            _ => lines[index].iter().all(u8::is_ascii_whitespace),
        };
        let without = lines.iter().enumerate().map(|(at, line)| if at == index { &b"\n"[..] } else { line });
        !may_miss && {
            let other = CaseRun::of(engine, without);
            other.text == run.text && counts(&other.report) == counts(&run.report)
        }
    })?;
    Some(format!("line {} is neither shown nor counted", index + 1))
}

fn kind(line: &[u8]) -> Option<String> {
    let record = Record::from_line(std::str::from_utf8(line).ok()?.trim().to_owned()).ok()?;
    Some(record.root().get("type")?.decode()?.into_owned())
}

/// The counts that depend on the content of lines, not on their number.
fn counts(report: &Report) -> Report {
    Report { lines: 0, events: 0, blank_lines: 0, ..report.clone() }
}

/// Finds an item that is neither written nor counted as hidden.
pub(super) fn unwritten_item(mut setup: Setup, input: &[u8]) -> Option<String> {
    let (witness, met) = witness();
    setup.observers.push(witness);
    let filter = setup.profile.filter.clone();
    let (drawn, report) = entries_of(setup, input)?;
    let mut hidden: BTreeMap<&str, (u64, Id)> = BTreeMap::new();
    for item in met.try_iter() {
        // A blank entry doesn't count as written, unless its item is blank, too.
        if drawn.get(&item.id).is_none_or(|entry| entry.view.is_blank() && !item.is_blank()) {
            // The first and the last line of a code block of records are hidden with the records.
            let begins = |marks: &&str| item.text().trim_start().starts_with(*marks);
            let is_fence = item.kind == Kind::Unknown && ["```", "~~~"].iter().any(begins);
            let rule = match () {
                () if !filter.admits(&item) => "filter",
                () if is_fence && report.hidden.contains_key("record") => "record",
                () => item.kind.name(),
            };
            let (count, _) = hidden.entry(rule).or_insert((0, item.id));
            *count += 1;
        }
    }
    let (rule, (count, first)) = hidden
        .into_iter()
        .find(|(rule, (count, _))| report.hidden.get(*rule).copied().unwrap_or_default() < *count)?;
    Some(format!(
        "{count} items (the first is {first}) are neither written nor counted as hidden by \"{rule}\""
    ))
}
