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

use std::mem;
use std::sync::Arc;

use streamfmt_core::dialect::{Decoder, Input, TextLine};
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use crate::facts::{leveled, minor};

pub(super) use histories::HISTORIES;

use edits::{AwaitedEdit, EditBlock, EditFence};
use program::ProgramLine;

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

    /// Returns the text of a line of the program. One without two blanks at its end is a quote if it is inside of a reply.
    fn program_line<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = text.strip_prefix("> ").or_else(|| (text == ">").then_some(""));
        // With both figures of the cache, the cost is on a line of its own without a mark.
        let is_cost = || {
            text.starts_with("Cost: $")
                && matches!(&self.collected, Some(CollectedLines::Program(..)))
                && !self.is_after_blank
        };
        let rest = rest.or_else(|| is_cost().then_some(text))?;
        let is_in_program = self.announced.is_some()
            || matches!(self.collected, Some(CollectedLines::Program(..) | CollectedLines::Report(_)));
        (text.ends_with("  ") || is_cost() || (self.open.is_none() && is_in_program)).then_some(rest)
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

    fn reply_line(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        self.flush(out);
        if let Some(fence) = EditFence::opening(text) {
            return self.fence = Some((line, fence));
        }
        if let Some(kind) = self.heading(text) {
            self.close(out);
            self.open_item(line, kind, out);
            return;
        }
        if edits::path_of(text).is_some() || is_rule(text) {
            return self.hold(line, text, out);
        }
        self.append(line, text, out);
    }

    /// If the line is a heading between a thought and its answer, returns the kind of what follows, and drops the rule above it.
    fn heading(&mut self, text: &str) -> Option<Kind> {
        let kind = match text.trim() {
            "► **THINKING**" => Kind::Thinking,
            "► **ANSWER**" => Kind::Reply,
            _ => return None,
        };
        self.held.pop_if(|(_, above)| is_rule(above)).map(|_| kind)
    }

    /// Handles a line in a fence. Nothing is a mark there. But if the person interrupts a reply, its fence stays open: then a line of the
    /// program ends it that no file would contain like this.
    fn in_fence(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        let Some((start, fence)) = &mut self.fence else { return };
        let start = *start;
        let is_cut =
            text.strip_prefix("> ").filter(|_| text.ends_with("  ")).is_some_and(program::is_certain);
        if is_cut {
            self.abandon_fence(out);
            return self.of_program(line, text[2..].trim_end(), false, out);
        }
        if !fence.is_closed_by(text) {
            if fence.size() > MOST_TEXT {
                self.abandon_fence(out);
                return self.append(line, text, out);
            }
            return fence.push(text);
        }
        let Some((_, fence)) = self.fence.take() else { return };
        let above = self.held.last().and_then(|(_, line)| edits::path_of(line)).map(str::to_owned);
        match fence.edits(above.as_deref(), &self.edit_format) {
            None => {
                self.fence = Some((start, fence));
                self.abandon_fence(out);
                self.append(line, text, out);
            }
            Some((blocks, takes_path)) => {
                if takes_path {
                    self.held.pop();
                }
                self.close(out);
                for (index, block) in blocks.into_iter().enumerate() {
                    self.edit(start, index, block, out);
                }
            }
        }
    }

    /// Makes the lines of the open fence part of the reply.
    fn abandon_fence(&mut self, out: &mut Vec<Event>) {
        let Some((mut line, fence)) = self.fence.take() else { return };
        let mut lines: Vec<&str> = fence.lines().collect();
        // Blank lines of the program before the one that ends a reply that was cut.
        while let Some(last) = lines.pop_if(|line| line.trim().is_empty() || **line == *">   ") {
            if !last.trim().is_empty() {
                out.push(Event::Bookkeeping(PROGRAM_LINE.into()));
            }
        }
        for text in lines {
            self.append(line, text, out);
            line += 1;
        }
    }

    /// Emits the call of an edit.
    fn edit(&mut self, line: u64, index: usize, block: EditBlock, out: &mut Vec<Event>) {
        let id = if index > 0 { format!("line-{line}/{index}") } else { format!("line-{line}") };
        let mut call = self.item(Id::from(id), Kind::Call, line);
        let edit = block.apply_to(&mut call);
        if self.edits.len() >= MOST_EDITS {
            self.edits.remove(0);
        }
        self.edits.push(edit);
        out.push(Event::Put(Box::new(call)));
    }

    /// Handles a line of the program. `goes_on`: whether it goes on in lines without a mark.
    fn of_program(&mut self, line: u64, text: &str, goes_on: bool, out: &mut Vec<Event>) {
        if let Some(announced) = &mut self.announced {
            if announced.text.len() < MOST_TEXT {
                announced.push(text);
            }
            return out.push(Event::Bookkeeping("announcement".into()));
        }
        self.close(out);
        let kind = ProgramLine::of(text);
        if let Some(CollectedLines::Report(lines)) = &mut self.collected
            && !kind.ends_report()
        {
            if lines.text.len() < MOST_TEXT {
                lines.push(text);
            }
            return out.push(Event::Bookkeeping("report".into()));
        }
        // Consecutive lines that aren't read any further are one notice.
        if let (Some(CollectedLines::Program(lines, last)), ProgramLine::Other) = (&mut self.collected, &kind)
            && !text.is_empty()
            && lines.text.len() < MOST_TEXT
        {
            *last = goes_on;
            lines.push(text);
            return out.push(Event::Bookkeeping(PROGRAM_LINE.into()));
        }
        self.flush(out);
        match kind {
            ProgramLine::Blank => out.push(Event::Bookkeeping(PROGRAM_LINE.into())),
            ProgramLine::Other => {
                let lines = Lines { line, text: text.to_owned() };
                self.collected = Some(CollectedLines::Program(lines, goes_on));
            }
            ProgramLine::FailedEdits => {
                self.collected = Some(CollectedLines::Report(Lines { line, text: text.to_owned() }));
            }
            ProgramLine::Applied(path) => self.settle(path, line, None, out),
            ProgramLine::NotApplied(path) => self.settle(path, line, Some(text), out),
            ProgramLine::Tokens(usage) => {
                self.used[0] = usage;
                let message = Id::from(format!("line-{}/message", self.prompt.line));
                out.push(Event::Usage { message, usage });
                self.cost(text);
                // The cost may be on the next line, without a mark.
                self.collected = Some(CollectedLines::Program(Lines { line, text: text.to_owned() }, false));
            }
            ProgramLine::Cost => {
                self.cost(text);
                self.put_minor("info", line, text, out);
            }
            ProgramLine::Command(command) => self.command(line, command, out),
            ProgramLine::Commit => self.put_notice("info", line, text, out),
            ProgramLine::Interrupt => self.put_notice("interrupt", line, text, out),
            ProgramLine::Retry(delay_ms) => {
                let mut notice = self.notice("retry", line);
                notice.text = Content::Own(text.to_owned());
                notice.data.extend(delay_ms.map(|delay| ("delay_ms", Fact::Float(delay))));
                out.push(Event::Put(Box::new(notice)));
            }
            ProgramLine::Failure => {
                let mut notice = self.notice("info", line);
                notice.text = Content::Own(text.to_owned());
                out.push(Event::Put(Box::new(leveled(notice, "warning"))));
            }
        }
    }

    /// Reads the session's cost.
    fn cost(&mut self, text: &str) {
        self.cost[0] = program::session_cost(text).unwrap_or(self.cost[0]);
    }

    /// Emits a command that was run. Its output isn't in the history.
    fn command(&mut self, line: u64, command: &str, out: &mut Vec<Event>) {
        let mut call = self.item(line_id(line), Kind::Call, line);
        edits::set_command(&mut call, command);
        let mut result = self.result_of(&call.id, "run", line);
        result.deed = call.deed;
        result.data.push(("note", Fact::Text("the history doesn't contain its output".to_owned())));
        out.extend([call, result].map(|item| Event::Put(Box::new(item))));
    }

    /// Emits the results of a file's edits. `refused`: the line that reports that they weren't applied.
    fn settle(&mut self, path: &str, line: u64, refused: Option<&str>, out: &mut Vec<Event>) {
        let (settled, left) = mem::take(&mut self.edits).into_iter().partition(|edit| edit.is_of(path));
        self.edits = left;
        for edit in settled {
            let mut result = self.result_of_edit(&edit, line);
            result.text = refused.map_or(Content::None, |text| Content::Own(text.to_owned()));
            result.data.push(("success", Fact::Bool(refused.is_none())));
            out.push(Event::Put(Box::new(result)));
        }
    }

    /// Emits the results of the edits that a report names.
    fn settle_failed(&mut self, report: Lines, out: &mut Vec<Event>) {
        let is_one = |edit: &AwaitedEdit| edit.is_in(&report.text);
        let (failed, left): (Vec<_>, _) = mem::take(&mut self.edits).into_iter().partition(is_one);
        self.edits = left;
        if failed.is_empty() {
            let mut notice = self.notice("info", report.line);
            notice.text = Content::Own(report.text);
            out.push(Event::Put(Box::new(leveled(notice, "warning"))));
            return;
        }
        for (index, edit) in failed.into_iter().enumerate() {
            let mut result = self.result_of_edit(&edit, report.line);
            (result.status, result.error) = (Status::Failed, true);
            // The report is one for all of them.
            let text = if index == 0 { report.text.clone() } else { first_line(&report.text).to_owned() };
            result.text = Content::Own(text);
            out.push(Event::Put(Box::new(result)));
        }
    }

    fn result_of_edit(&self, edit: &AwaitedEdit, line: u64) -> Item {
        Item { deed: Some(edit.deed), ..self.result_of(&edit.call, edit.tool(), line) }
    }

    fn result_of(&self, call: &Id, tool: &str, line: u64) -> Item {
        let mut result = self.item(Id::below(call.as_str(), "result"), Kind::Result, line);
        result.call = Some(call.clone());
        result.tool = Some(tool.into());
        result
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

    /// Keeps a line until it is known whether it belongs to the reply.
    fn hold(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        if !text.trim().is_empty() && self.held.iter().any(|(_, held)| !held.trim().is_empty())
            || self.held.len() > 64
        {
            self.release(out);
        }
        self.held.push((line, text.to_owned()));
    }

    /// Makes the lines that are held part of the reply.
    fn release(&mut self, out: &mut Vec<Event>) {
        for (line, text) in mem::take(&mut self.held) {
            self.append_now(line, &text, out);
        }
    }

    /// Adds a line to the open reply.
    fn append(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        self.release(out);
        self.append_now(line, text, out);
    }

    fn append_now(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        let is_new = self.open.is_none();
        if is_new {
            if text.trim().is_empty() {
                return;
            }
            self.announce(out);
            let kind = if self.prompt.is_command { Kind::Notice } else { Kind::Reply };
            self.open_item(line, kind, out);
        }
        let Some((id, _)) = &self.open else { return };
        let text = if is_new { text.to_owned() } else { ["\n", text].concat() };
        out.push(Event::Append { id: id.clone(), text });
    }

    fn open_item(&mut self, line: u64, kind: Kind, out: &mut Vec<Event>) {
        let mut item = self.item(line_id(line), kind, line);
        if kind == Kind::Notice {
            item.data.push(("event", Fact::Text("command-output".into())));
        }
        item.text = Content::Own(String::new());
        self.open = Some((item.id.clone(), kind));
        out.push(Event::Open(Box::new(item)));
    }

    /// Ends the open reply. Blank lines at its end are dropped.
    fn close(&mut self, out: &mut Vec<Event>) {
        while self.held.last().is_some_and(|(_, text)| text.trim().is_empty()) {
            self.held.pop();
        }
        self.release(out);
        if let Some((id, _)) = self.open.take() {
            out.push(Event::Close { id, status: Status::Done });
        }
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
