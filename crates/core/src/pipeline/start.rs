//! The beginning of a stream: holds it back until it can be decoded, and until it is settled how it is shown.

use std::fmt::Write;
use std::mem;
use std::sync::Arc;

use crate::event::Event;
use crate::frame::Frames;
use crate::json::Value;
use crate::reading::ParsedLine;
use crate::session::Facts;

use super::decode::{DecodeStage, count_lines};
use super::detect::Detection;
use super::session::SessionStage;
use super::step::Step;
use super::{DecideOutput, OutputDecision, StreamStart};

/// How many lines may be held back that no dialect has claimed.
const MAX_UNCLAIMED_LINES: usize = 64;
/// How many bytes may be held back that no dialect has claimed.
const MAX_UNCLAIMED_BYTES: usize = 64 << 10;
/// How many lines may be held back until it is settled how the stream is shown.
const MAX_UNSETTLED_LINES: u64 = 64;
/// How many bytes may be held back until it is settled how the stream is shown.
const MAX_UNSETTLED_BYTES: usize = 1 << 20;

/// The beginning of a stream, in front of the stages. Once it [is over](Self::is_over), everything goes directly to them.
#[derive(Default)]
pub(super) struct Start {
    /// The outputs that aren't settled yet: the number of each, and the function that decides.
    settles: Vec<(usize, DecideOutput)>,
    /// The name of the dialect, once it is known.
    dialect: Option<Arc<str>>,
    /// The facts of the run so far.
    facts: Facts,
    /// The steps that are held back until all outputs are settled, first to last.
    steps: Vec<Step>,
    /// The approximate size of their text, in bytes.
    step_bytes: usize,
    /// The lines that are held back until a dialect claims them. They come after the steps, which already count them.
    lines: Vec<(u64, ParsedLine)>,
    /// The approximate size of these lines, in bytes.
    line_bytes: usize,
    /// Whether lines that aren't records were passed on without a dialect.
    has_text: bool,
    /// The number of the last line.
    line: u64,
}

impl Start {
    /// The start of a stream whose dialect is this one, if it is configured, and for which these outputs must be settled.
    pub(super) fn new(dialect: Option<&str>, settles: Vec<(usize, DecideOutput)>) -> Self {
        Self { settles, dialect: dialect.map(Into::into), ..Self::default() }
    }

    /// Whether it is settled how the stream is shown.
    pub(super) fn is_settled(&self) -> bool {
        self.settles.is_empty()
    }

    /// Whether nothing is waited for any more.
    pub(super) fn is_over(&self, decode: &DecodeStage) -> bool {
        decode.dialect.is_some() && self.is_settled()
    }

    /// Takes the next frames of the input: decodes and applies them as far as enough is known.
    pub(super) fn take(
        &mut self,
        frames: Frames<'_>,
        decode: &mut DecodeStage,
        session: &mut SessionStage,
        out: &mut dyn Write,
    ) {
        if self.is_over(decode) {
            return decode.take(frames, &mut |step| session.take(step, out));
        }
        // How a line is read depends on the dialect, which the line before may have claimed.
        frames.each(|frames| {
            decode.with_reader(|decode, reader| {
                let dialects = decode.detection.dialects;
                let claim = |value: Value<'_>| dialects.is_event(value);
                let is_text = decode.reads_text();
                let mut each = |line, reading| self.line(line, reading, decode, session, out);
                if is_text {
                    reader.finish(claim, &mut each);
                    ParsedLine::each_text(&frames, each);
                } else {
                    reader.read(frames, claim, each);
                }
            });
        });
    }

    /// Takes what was read of one line, or of several.
    fn line(
        &mut self,
        line: u64,
        reading: ParsedLine,
        decode: &mut DecodeStage,
        session: &mut SessionStage,
        out: &mut dyn Write,
    ) {
        self.line = line;
        count_lines(&reading, |step| self.step(step, session, out));
        let is_raw =
            matches!(reading, ParsedLine::Blank | ParsedLine::Text(_) | ParsedLine::Oversized { .. });
        let is_known = decode.dialect.is_some();
        if !is_known {
            decode.dialect = decode.detection.claiming(&reading);
        }
        // Raw text is held back only if earlier lines are.
        if is_known || is_raw && self.lines.is_empty() {
            self.has_text |= !matches!(reading, ParsedLine::Blank);
            return decode.read(line, reading, None, &mut |step| self.step(step, session, out));
        }
        self.line_bytes += size(&reading);
        self.lines.push((line, reading));
        if decode.dialect.is_some()
            || self.lines.len() > MAX_UNCLAIMED_LINES
            || self.line_bytes > MAX_UNCLAIMED_BYTES
        {
            self.decode(decode, session, out);
        }
    }

    /// Decodes the lines that are held back. Without a dialect they pass through as text, and plugins can't claim the input any more.
    fn decode(&mut self, decode: &mut DecodeStage, session: &mut SessionStage, out: &mut dyn Write) {
        let fallback = |detection: &Detection| detection.fallback(&self.lines).filter(|_| !self.has_text);
        decode.dialect = decode.dialect.take().or_else(|| decode.detection.likely());
        decode.dialect = decode.dialect.take().or_else(|| fallback(&decode.detection));
        decode.detection.forget_plugins();
        self.line_bytes = 0;
        for (line, reading) in mem::take(&mut self.lines) {
            decode.read(line, reading, None, &mut |step| self.step(step, session, out));
        }
    }

    /// Applies a step, or holds it back until all outputs are settled.
    pub(super) fn step(&mut self, step: Step, session: &mut SessionStage, out: &mut dyn Write) {
        if self.is_settled() {
            return session.take(step, out);
        }
        match &step {
            Step::Dialect(name) => self.dialect = Some(Arc::clone(name)),
            Step::Event(Event::Facts(news)) => _ = self.facts.update((**news).clone()),
            _ => {}
        }
        self.step_bytes += step.size();
        self.steps.push(step);
        self.settle(false, session, out);
    }

    /// Asks for each output how it shows the stream. Once all are settled, applies the steps that were held back.
    fn settle(&mut self, is_end: bool, session: &mut SessionStage, out: &mut dyn Write) {
        let Self { settles, line, step_bytes, dialect, facts, .. } = self;
        let is_all = is_end || *line > MAX_UNSETTLED_LINES || *step_bytes > MAX_UNSETTLED_BYTES;
        let known = StreamStart { dialect: dialect.as_deref(), facts, is_all };
        settles.retain_mut(|(number, settle)| match settle(&known) {
            OutputDecision::Wait => !is_all,
            OutputDecision::Keep => false,
            OutputDecision::Use(choices) => {
                let (profile, output) = *choices;
                session.outputs[*number].settle(profile, output);
                false
            }
        });
        if self.is_settled() {
            for step in mem::take(&mut self.steps) {
                session.apply(step, out);
            }
        }
    }

    /// Ends the input: no more will be known.
    pub(super) fn end(&mut self, decode: &mut DecodeStage, session: &mut SessionStage, out: &mut dyn Write) {
        decode.with_reader(|decode, reader| {
            let dialects = decode.detection.dialects;
            let claim = |value: Value<'_>| dialects.is_event(value);
            reader.finish(claim, |line, reading| self.line(line, reading, decode, session, out));
        });
        self.decode(decode, session, out);
        decode.end(&mut |step| self.step(step, session, out));
        self.settle(true, session, out);
    }
}

/// The approximate size of a line that is held back, in bytes.
fn size(reading: &ParsedLine) -> usize {
    match reading {
        // Each part of a damaged line takes memory beside its text.
        ParsedLine::Parts(parts) => MAX_UNCLAIMED_BYTES / 4 + parts.text().len(),
        ParsedLine::Record(record) => record.text().len(),
        ParsedLine::Text(text) => text.len(),
        ParsedLine::Wrapped(lines) => MAX_UNCLAIMED_BYTES / 64 + lines.text().len(),
        ParsedLine::Blank | ParsedLine::Oversized { .. } => 0,
    }
}
