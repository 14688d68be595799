//! Aider: its chat history, `.aider.chat.history.md`, which holds all sessions of a folder as Markdown.
//!
//! ```text
//! # aider chat started at 2026-01-05 10:00:00
//! > Aider v0.86.2
//! #### fix the total
//! The reply, with its edits in fences.
//! > Applied edit to src/cart.py
//! ```
//!
//! Three marks decide what a line is: `# aider chat started at` and a time, `> ` for lines of the program, and `#### ` for prompts.
//! Everything else is the reply. A reply may hold lines that look like these: in a fence nothing is a mark but the start of a session,
//! the program ends its lines with two blanks, and a prompt comes after a blank line. Facts are from the program's published package,
//! version 0.86, and from a public history of versions 0.47 to 0.51.

mod edits;
mod histories;
mod program;
mod reply;
mod reports;

use std::mem;
use std::sync::Arc;

use streamfmt_core::dialect::{Decoder, Input, TextLine};
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use crate::facts::minor;

pub(super) use histories::HISTORIES;

use edits::{AwaitedEdit, EditFence};

/// The beginning of the first line of a session.
const START: &str = "# aider chat started at ";
/// The form of the time after it.
const TIME: &str = "0000-00-00 00:00:00";
/// The most bytes of a text that is collected before it is emitted.
const MOST_TEXT: usize = 1 << 20;
/// The name under which further lines of one message of the program are counted.
const PROGRAM_LINE: &str = "program line";
/// The most edits of which it isn't known yet whether they were applied.
const MOST_EDITS: usize = 256;

/// Whether a line begins a session.
pub(super) fn claim(line: &str) -> bool {
    let time = line.strip_prefix(START).map(str::trim_end);
    time.is_some_and(|time| {
        time.len() == TIME.len()
            && time.bytes().zip(TIME.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte == form,
            })
    })
}

/// The decoder: its state between lines.
#[derive(Default)]
pub(super) struct Aider {
    session: Option<SessionId>,
    /// The announcements at the start of a session, until the first line of another kind.
    announced: Option<Lines>,
    /// The name of the format in which the model writes edits.
    edit_format: String,
    /// The last prompt.
    prompt: PromptState,
    /// The lines that are collected.
    collected: Option<CollectedLines>,
    /// The reply or thought that is open: its id and kind.
    open: Option<(Id, Kind)>,
    /// Lines after those of the open reply that may belong to what follows: blank ones, the path of a fence, the rule above a heading.
    held: Vec<(u64, String)>,
    /// The fence that is open.
    fence: Option<(u64, EditFence)>,
    /// Whether the last line was blank.
    is_after_blank: bool,
    /// The edits of which it isn't known yet whether they were applied.
    edits: Vec<AwaitedEdit>,
    /// Cost of the session so far, and of those before it.
    cost: [f64; 2],
    /// The tokens of the current message, and of all before it.
    used: [Usage; 2],
}

/// Lines that make one text.
#[derive(Default)]
struct Lines {
    /// The number of the first one.
    line: u64,
    text: String,
}

impl Lines {
    fn push(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

/// Lines that are collected until one of another kind comes.
enum CollectedLines {
    /// A prompt.
    Prompt(Lines),
    /// Lines of the program; whether the last one goes on in lines without a mark.
    Program(Lines, bool),
    /// The program's report on edits that failed.
    Report(Lines),
}

/// The last prompt.
#[derive(Clone, Copy, Default)]
struct PromptState {
    /// Its line, which identifies its message.
    line: u64,
    /// Whether it was a command of the program that the model doesn't answer.
    is_command: bool,
}

impl Decoder for Aider {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        // Only reached for records that a caller hands over as such.
        let text = TextLine { text: input.record.text(), line: input.line };
        self.text(text, out);
    }

    fn text(&mut self, line: TextLine<'_>, out: &mut Vec<Event>) {
        let TextLine { text, line } = line;
        self.line(line, text, out);
        self.is_after_blank = text.trim().is_empty();
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.finish_session(out);
        let cost = self.cost[1];
        let mut facts = Vec::new();
        if cost > 0.0 {
            facts.push(("cost_usd", Fact::Float(cost)));
        }
        let usage = self.used[1];
        if usage != Usage::default() {
            facts.push(usage_fact(usage));
        }
        if !facts.is_empty() {
            let mut totals = self.item(Id::from("totals"), Kind::Notice, 0);
            totals.data.push(("event", Fact::Text("totals".into())));
            totals.data.extend(facts);
            out.push(Event::Put(Box::new(totals)));
        }
    }
}

impl Aider {
    fn line(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        if claim(text) && (self.is_after_blank || line == 1 || self.session.is_none()) {
            self.finish_session(out);
            return self.start(line, text, out);
        }
        if self.fence.is_some() {
            return self.in_fence(line, text, out);
        }
        if let Some(prompt) = text.strip_prefix("#### ").or_else(|| (text == "####").then_some(""))
            && (self.is_after_blank || matches!(self.collected, Some(CollectedLines::Prompt(_))))
        {
            return self.prompt_line(line, prompt, out);
        }
        if let Some(tool) = self.program_line(text) {
            return self.of_program(line, tool.trim_end(), !text.ends_with("  "), out);
        }
        if text.trim().is_empty() {
            self.flush(out);
            if self.open.is_some() {
                self.hold(line, text, out);
            }
            return;
        }
        if let Some(CollectedLines::Program(lines, true)) = &mut self.collected
            && lines.text.len() < MOST_TEXT
        {
            lines.push(text.trim_end());
            return out.push(Event::Bookkeeping(PROGRAM_LINE.into()));
        }
        self.reply_line(line, text, out);
    }

    /// Begins a session.
    fn start(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        let started = text[START.len()..].trim_end();
        self.session = Some(Arc::from(started));
        self.edit_format.clear();
        self.prompt = PromptState { line, is_command: false };
        self.announced = Some(Lines { line, ..Lines::default() });
        out.push(Event::Facts(Box::new(Facts {
            agent: Some(Text::own("aider")),
            session: Some(Text::clean(started)),
            ..Facts::default()
        })));
    }

    /// Emits the notice of a session, once all of its announcements have come.
    fn announce(&mut self, out: &mut Vec<Event>) {
        let Some(lines) = self.announced.take() else { return };
        let mut notice = self.notice("session", lines.line);
        let mut facts = Facts::default();
        let mut rest = Lines { line: lines.line, ..Lines::default() };
        for line in lines.text.lines() {
            if let Some(version) = line.strip_prefix("Aider v") {
                facts.version = Some(Text::clean(version));
                notice.data.push(("version", Fact::Text(version.to_owned())));
            } else if let Some((model, format)) = program::model(line) {
                if facts.model.is_none() {
                    facts.model = Some(Text::clean(model));
                    notice.data.push(("model", Fact::Text(model.to_owned())));
                }
                if !format.is_empty() {
                    // The editor of the architect's mode is announced after the main model, and writes the edits.
                    format.clone_into(&mut self.edit_format);
                }
            } else if !line.is_empty() {
                rest.push(line);
            }
        }
        out.push(Event::Facts(Box::new(facts)));
        out.push(Event::Put(Box::new(notice)));
        if !rest.text.is_empty() {
            let mut info = self.notice("info", rest.line);
            info.id = Id::below(info.id.as_str(), "announced");
            info.text = Content::Own(rest.text);
            out.push(Event::Put(Box::new(minor(info))));
        }
    }

    fn prompt_line(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        let text = text.trim_end();
        if let Some(CollectedLines::Prompt(lines)) = &mut self.collected
            && lines.text.len() < MOST_TEXT
        {
            return lines.push(text);
        }
        self.finish_message(out);
        self.collected = Some(CollectedLines::Prompt(Lines { line, text: text.to_owned() }));
    }

    /// Emits the lines that are collected.
    fn flush(&mut self, out: &mut Vec<Event>) {
        match self.collected.take() {
            None => {}
            Some(CollectedLines::Prompt(lines)) => {
                self.announce(out);
                let is_command = program::is_command(&lines.text);
                self.prompt = PromptState { line: lines.line, is_command };
                if program::is_machine_written(&lines.text) {
                    return self.put_notice("nudge", lines.line, &lines.text, out);
                }
                let mut prompt = self.item(line_id(lines.line), Kind::Prompt, lines.line);
                prompt.text = Content::Own(lines.text);
                out.push(Event::Put(Box::new(prompt)));
            }
            Some(CollectedLines::Program(lines, _)) => {
                let event = if self.prompt.is_command { "command-output" } else { "info" };
                self.put_minor(event, lines.line, &lines.text, out);
            }
            Some(CollectedLines::Report(lines)) => self.settle_failed(lines, out),
        }
    }

    /// Emits what is left of a message, and begins the next one. It stays unknown whether its last edits were applied.
    fn finish_message(&mut self, out: &mut Vec<Event>) {
        self.flush(out);
        self.abandon_fence(out);
        self.close(out);
        self.announce(out);
        for edit in mem::take(&mut self.edits) {
            let result = self.result_of_edit(&edit, edit.line);
            out.push(Event::Put(Box::new(result)));
        }
        self.used[1] = self.used[1].combined(mem::take(&mut self.used[0]), u64::saturating_add);
    }

    fn finish_session(&mut self, out: &mut Vec<Event>) {
        self.finish_message(out);
        self.cost[1] += mem::take(&mut self.cost[0]);
    }

    fn item(&self, id: Id, kind: Kind, line: u64) -> Item {
        let mut item = Item::new(id, kind, line);
        item.session.clone_from(&self.session);
        item
    }

    fn notice(&self, event: &str, line: u64) -> Item {
        let mut notice = self.item(line_id(line), Kind::Notice, line);
        notice.data.push(("event", Fact::Text(event.to_owned())));
        notice
    }

    fn put_notice(&self, event: &str, line: u64, text: &str, out: &mut Vec<Event>) {
        let mut notice = self.notice(event, line);
        notice.text = Content::Own(text.to_owned());
        out.push(Event::Put(Box::new(notice)));
    }

    fn put_minor(&self, event: &str, line: u64, text: &str, out: &mut Vec<Event>) {
        let mut notice = self.notice(event, line);
        notice.text = Content::Own(text.to_owned());
        out.push(Event::Put(Box::new(minor(notice))));
    }
}

fn line_id(line: u64) -> Id {
    Id::from(format!("line-{line}"))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Whether a line is a rule, as it stands above the headings of thoughts and answers.
fn is_rule(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 10 && text.bytes().all(|byte| byte == b'-')
}

/// Returns tokens as a fact.
fn usage_fact(usage: Usage) -> (&'static str, Fact) {
    let count = |count: u64| Fact::Int(count.cast_signed());
    let counts = [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
    ];
    ("usage", Fact::Map(counts.map(|(name, number)| (name, count(number))).into()))
}
