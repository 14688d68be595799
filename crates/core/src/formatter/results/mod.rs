//! What is said of results: what came of a call, or why nothing did.
//!
//! The structured facts say it best. The text is what the model was told: it stands in where facts are
//! missing, and in full it is never left out.

mod files;
mod others;

pub(super) use files::{cell, change, list, read, search};
pub(super) use others::{ask, delegate, fetch, plan_mode, points, skill, tasks, todos, tool_search};

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::entry::{Block, Line, Span, View};
use crate::find::find;
use crate::formatter::changes::Changes;
use crate::formatter::standard::{Context, images};
use crate::formatter::{figures, generic, tools};
use crate::item::FactRef;
use crate::item::Item;
use crate::json::{Kind, Record, Value};
use crate::text::Text;

/// Longest first line of an error that becomes a title, in bytes.
const TITLE: usize = 160;

/// Longest error of a single line that is a title.
const LONG_TITLE: usize = 500;

/// How the agent tells the model that a person stopped a call: a paragraph for the model, not for people.
const REJECTED: &str = "The user doesn't want to proceed with this tool use.";

/// What stands before the person's own words in it.
const REASON: &str = "the user said:\n";

/// A result while it is being said.
pub(super) struct Answer<'a> {
    context: Context<'a>,
    call: Option<&'a Item>,
    /// Its text tells of a failure that no fact does.
    has_failed: bool,
    title: Line,
    body: Vec<Block>,
}

/// Says a result; `None` hides it.
pub(super) fn view(context: Context<'_>) -> Option<View> {
    let item = context.item;
    let call = item.call.as_ref().and_then(|id| context.session.call(id));
    let mut answer = Answer { context, call, has_failed: false, title: Line::default(), body: Vec::new() };
    if item.error {
        answer.failure();
        return Some(answer.finish());
    }
    if is_without_success(item) {
        answer.no_success();
        return Some(answer.finish());
    }
    let tool = item.tool.as_deref().or_else(|| call?.tool.as_deref());
    let action = item.action.or_else(|| call?.action);
    let form = tools::form(tool, action);
    match (form.result)(&mut answer) {
        None if context.full => Some(answer.finish()),
        said => said,
    }
}

/// The mark of what is said of a result.
pub(super) fn mark(item: &Item) -> Option<&'static str> {
    let is_stray = || item.call.is_none() && item.fact("orphan").and_then(FactRef::bool) == Some(true);
    if item.error || has_failed(item) {
        Some("error")
    } else if is_without_success(item) {
        Some("warning")
    } else {
        is_stray().then_some("result")
    }
}

/// Whether what was asked for was cut short or failed, though the call went well: a command that was stopped, a job in
/// the background that is looked at.
fn has_failed(item: &Item) -> bool {
    let state = || item.fact("state").and_then(FactRef::str);
    item.fact("interrupted").and_then(FactRef::bool) == Some(true)
        || item.fact("exit").and_then(FactRef::int).is_some_and(|code| code != 0)
        || state().is_some_and(|state| state == FAILED)
}

/// The state of a job that failed.
const FAILED: &str = "failed";

/// Whether it says that it came to nothing, though without an error.
fn is_without_success(item: &Item) -> bool {
    item.fact("success").and_then(FactRef::bool) == Some(false)
}

impl Answer<'_> {
    /// The text as it is worth reading: in full all of it, else without notes to the model.
    fn text(&self) -> Text {
        let text = self.context.item.clean_text();
        if self.context.full {
            return text.trimmed_end();
        }
        let text = without_reminders(text).trimmed_end();
        let has_image = self.context.fact("images").is_some();
        match text.rsplit_once('\n').map_or(&*text, |(_, last)| last) {
            // Where the agent keeps a copy of a picture that is told below.
            last if has_image && last.starts_with("[Image: source: ") => {
                text.slice(0, text.len() - last.len()).trimmed_end()
            }
            _ => text,
        }
    }

    fn note(&mut self, text: impl Into<Text>) {
        self.remark("result.note", text);
    }

    /// A note on what went wrong.
    fn trouble(&mut self, text: impl Into<Text>) {
        self.has_failed = true;
        self.remark("result.error", text);
    }

    fn remark(&mut self, role: &'static str, text: impl Into<Text>) {
        if !self.title.is_empty() {
            self.title.spans.push(Span::new("result.note", Text::own(" · ")));
        }
        self.title.spans.push(Span::new(role, text));
    }

    /// A note that ends the call's own phrase: `lines 14–17` … `of 22`.
    fn goes_on(&mut self, text: Text) {
        if self.title.is_empty() {
            self.title.spans.push(Span::new("result.note.of", text));
        } else {
            self.note(text);
        }
    }

    /// Notes that a person changed what the agent had proposed, before it was done.
    fn by_the_user(&mut self) {
        if self.context.is("user_modified") {
            self.note(Text::own("changed by the user"));
        }
    }

    fn code(&mut self, role: &'static str, text: Text) {
        if !text.trim().is_empty() {
            self.body.push(Block::text(role, text));
        }
    }

    fn code_if_new(&mut self, role: &'static str, text: Text) {
        if !self.has(&text) {
            self.code(role, text);
        }
    }

    /// What went to standard error, said to be that.
    fn errors(&mut self, text: &Text) {
        let start = text.len() - text.trim_start_matches('\n').len();
        let text = text.slice(start, text.len()).trimmed_end();
        // The agent's own remark on the folder that the next command will run in.
        if text.starts_with("Shell cwd was reset to ") && !text.contains('\n') {
            self.body.push(Block::line(Line::of("result.note", text)));
        } else if !text.trim().is_empty() {
            self.body.push(Block::line(Line::of("result.note", "stderr:")));
            self.body.push(Block::text("result.error.text", text));
        }
    }

    /// Paths, one a line.
    fn files(&mut self, paths: impl Iterator<Item = Text>) {
        let mut list = String::new();
        for path in paths {
            if !list.is_empty() {
                list.push('\n');
            }
            list.push_str(&self.context.path(path));
        }
        self.code("result.file", Text::clean_owned(list));
    }

    /// Why a call failed. Nothing of it is ever hidden.
    fn failure(&mut self) {
        let context = self.context;
        let mut text = self.text();
        let exit = context.fact("exit").and_then(FactRef::int);
        if !context.full {
            text = unwrapped(text);
            if let Some(rest) = exit.and_then(|code| text.strip_prefix(&format!("Exit code {code}"))) {
                let start = text.len() - rest.trim_start_matches('\n').len();
                text = text.slice(start, text.len());
            }
        }
        if let Some(code) = exit {
            self.title.push("result.error", format!("exit {code}"));
        } else if let Some(ms) = context.count("timed_out_ms") {
            self.title.push("result.error", format!("timed out after {}", &*figures::duration(ms)));
        } else if let Some(by) = context.fact("denied") {
            let by = by.text().map(|by| format!("denied by {}", &*by));
            self.title.push("result.error", by.unwrap_or_else(|| "denied".to_owned()));
        } else if context.is("interrupted") {
            self.title.push("result.error", Text::own("interrupted"));
        } else {
            let end = find(b'\n', text.as_bytes()).unwrap_or(text.len());
            if !context.full && text.starts_with(REJECTED) {
                let was_running = text.contains("stopped while running");
                let said = if was_running { "interrupted by the user" } else { "rejected by the user" };
                self.title.push("result.error", Text::own(said));
                let reason = text.find(REASON).map_or(text.len(), |at| at + REASON.len());
                text = text.slice(reason, text.len());
            } else if !says_something(&text[..end]) || (end > TITLE && end < text.len()) || end > LONG_TITLE {
                self.title.push("result.error", Text::own("failed"));
            } else {
                self.title.push("result.error", text.slice(0, end));
                text = text.slice((end + 1).min(text.len()), text.len());
            }
        }
        self.code("result.error.text", text);
        if let Some(output) = context.text("stdout") {
            self.code_if_new("result.error.text", output.trimmed_end());
        }
        if let Some(errors) = context.text("stderr").filter(|errors| !self.has(errors)) {
            self.errors(&errors);
        }
    }

    /// Why a call that is no error came to nothing.
    fn no_success(&mut self) {
        let text = self.text();
        let text = if self.context.full { text } else { message_of(&text).unwrap_or(text) };
        if generic::is_short(&text) && !text.is_empty() {
            self.title.push("result.error", text);
        } else {
            self.title.push("result.error", Text::own("failed"));
            self.code("result.error.text", text);
        }
    }

    /// Values that no form knows what to do with: parts of the content, facts of a wrong type.
    fn odd(&self) -> Vec<Text> {
        let item = self.context.item;
        let cut = item.record.as_ref().is_some_and(|record| record.is_cut());
        let mut odd = Vec::new();
        for part in self.context.fact("more").map(FactRef::list).unwrap_or_default() {
            if let FactRef::Json(value) = part {
                odd.push(generic::laid_out(value, cut));
            }
        }
        for (name, _) in &item.data {
            match self.context.fact(name) {
                Some(FactRef::Json(value)) if !has_its_type(name, value.kind()) => {
                    let laid = generic::laid_out(value, cut);
                    let between = if laid.contains('\n') { "\n" } else { " " };
                    odd.push(Text::clean_owned(format!("{name}:{between}{}", &*laid)));
                }
                _ => {}
            }
        }
        odd
    }

    /// Whether there is nothing to be said of the result.
    fn says_nothing(&self) -> bool {
        self.title.is_empty()
            && self.body.is_empty()
            && self.context.fact("images").is_none()
            && self.odd().is_empty()
    }

    /// Whether a text already stands in the body or in the title.
    fn has(&self, text: &str) -> bool {
        let text = text.trim();
        let within = |shown: &Text| holds(shown, text);
        self.title.spans.iter().any(|span| within(&span.text))
            || self.body.iter().any(|block| match block {
                Block::Code { text: shown, .. } | Block::Prose { text: shown, .. } => within(shown),
                _ => false,
            })
    }

    fn finish(&mut self) -> View {
        if self.context.full && !self.context.item.error {
            let text = self.text();
            self.code_if_new("result.text", text);
        }
        self.finish_all_but_text()
    }

    /// Everything but `said`, a part of the text that stands elsewhere.
    fn finish_but_for(&mut self, said: &str) -> View {
        let rest = self.text().replacen(said, "", 1);
        self.code("result.text", Text::clean(rest.trim()));
        self.finish_all_but_text()
    }

    fn finish_all_but_text(&mut self) -> View {
        let context = self.context;
        images(context, &mut self.body);
        if context.full || (self.title.is_empty() && self.body.is_empty()) {
            for text in self.odd() {
                self.code("result.text", text);
            }
        }
        if context.full {
            self.structured();
        }
        if context.is("again") {
            self.note(Text::own("another result of the call"));
        } else if context.is("orphan") && context.item.call.is_some() {
            self.note(Text::own("of an unknown call"));
        } else if context.is("orphan") {
            // Under whatever call stands above it would be taken for that one's.
            let title = std::mem::replace(&mut self.title, Line::of("muted", "result of an unknown call"));
            if !title.is_empty() {
                self.title.spans.push(Span::new("result.note", Text::own(" · ")));
                self.title.spans.extend(title.spans);
            }
        }
        View {
            mark: if self.has_failed { Some("error") } else { mark(context.item) },
            title: std::mem::take(&mut self.title),
            body: std::mem::take(&mut self.body),
        }
    }

    /// The tool's own structured value, but for what already stands there.
    fn structured(&mut self) {
        let Some(FactRef::Json(value)) = self.context.fact("structured") else { return };
        let cut = self.context.item.record.as_ref().is_some_and(|record| record.is_cut());
        let is_said = |value: Value<'_>| value.str().is_some_and(|text| self.has(&Text::from_json(text)));
        let is_block =
            |value: Value<'_>| value.get("text").is_some_and(is_said) || value.get("source").is_some();
        let mut items = value.items();
        if is_said(value) || (value.kind() == Kind::Array && items.all(is_block)) {
            return;
        }
        let laid = generic::laid_out(value, cut);
        if !self.has(&laid) {
            self.body.push(Block::text("result.structured", laid));
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "what the rows of the table of tools return")]
    fn done(&mut self) -> Option<View> {
        Some(self.finish())
    }
}

pub(super) fn run(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let stdout = context.text("stdout").map(Text::trimmed_end);
    let stderr = context.text("stderr").unwrap_or_default();
    let is_background = context.fact("background").is_some();
    // What the model was told holds all that was written, and often notes after it.
    let told = if context.full || (stdout.is_none() && !is_background) { answer.text() } else { Text::EMPTY };
    let is_parted = stdout.as_ref().is_some_and(|stdout| is_joined(&told, stdout, &stderr));
    let is_apart = is_parted || !holds_lines(&told, stderr.trim());
    let output = match stdout {
        Some(stdout) if is_parted || !holds(&told, &stdout) => stdout,
        _ if !context.full && &*told == "(Bash completed with no output)" => Text::EMPTY,
        _ => told,
    };
    if let Some(code) = context.fact("exit").and_then(FactRef::int).filter(|code| *code != 0) {
        answer.trouble(Text::clean_owned(format!("exit {code}")));
    }
    if context.is("interrupted") {
        answer.trouble(Text::own("interrupted"));
    }
    if let Some(id) = context.text("background") {
        answer.note(Text::clean_owned(format!("in the background: {}", &*id)));
    }
    if let Some(ms) = context.count("timed_out_ms") {
        answer.note(Text::clean_owned(format!("after {}", &*figures::duration(ms))));
    }
    if let Some(note) = context.text("note") {
        answer.note(note);
    }
    let is_image = context.is("image");
    if is_image {
        answer.note(Text::own("a picture"));
    }
    if !is_image || context.full {
        answer.code("result.text", output);
    }
    if is_apart {
        answer.errors(&stderr);
    }
    if let Some(whole) = context.fact("persisted") {
        let mut line = Line::of("result.note", "whole output:");
        if let Some(bytes) = whole.count_at("bytes").or_else(|| context.count("bytes")) {
            line.push("result.note", figures::size(bytes));
        }
        if let Some(path) = whole.text().or_else(|| whole.text_at("path")) {
            line.push("result.file", context.path(path));
        }
        answer.body.push(Block::line(line));
    }
    for file in context.fact("files").map(FactRef::list).unwrap_or_default() {
        let either = |names: [&str; 2]| names.iter().find_map(|name| file.get(name));
        let path = either(["path", "filePath"]).and_then(FactRef::text).map(|path| context.path(path));
        if let Some(changes) = either(["patch", "hunks"]).and_then(Changes::of_patch) {
            let mut line = path.clone().map(|path| Line::of("result.file", path)).unwrap_or_default();
            changes.tell(&mut line);
            answer.body.push(Block::line(line));
            answer.body.extend(changes.block(path));
        }
    }
    if let Some(more) = context.count("more_files") {
        let more = figures::count_of(more, "more file", "more files");
        answer.body.push(Block::line(Line::of("result.note", format!("and {}", &*more))));
    }
    if answer.says_nothing() {
        answer.note(Text::own("no output"));
    }
    if is_parted { Some(answer.finish_all_but_text()) } else { answer.done() }
}

/// Whether a text is what a command wrote, and nothing else: first to standard output, then to standard error.
fn is_joined(text: &str, stdout: &str, stderr: &str) -> bool {
    let stderr = stderr.trim();
    !stderr.is_empty()
        && text.trim_end().strip_suffix(stderr).is_some_and(|before| before.trim_end() == stdout.trim_end())
}

/// How a job in the background goes, and what it has written so far. The versions tell it as facts of the command, as
/// facts of a task, or between tags in the text.
pub(super) fn job(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let text = answer.text();
    let task = |name: &str| context.fact("task")?.get(name)?.words();
    let told = |name: &str| task(name).or_else(|| tagged(&text, name));
    if let Some(state) = context.text("state").or_else(|| told("status")) {
        if &*state == FAILED { answer.trouble(state) } else { answer.note(state) }
    }
    if context.full || context.fact("stdout").is_some() || answer.title.is_empty() {
        return run(answer);
    }
    let code = task("exitCode").or_else(|| tagged(&text, "exit_code"));
    if let Some(code) = code.filter(|code| &**code != "0") {
        answer.trouble(Text::clean_owned(format!("exit {}", &*code)));
    }
    let output = tagged(&text, "stdout").or_else(|| told("output")).unwrap_or_default();
    answer.code("result.text", output.trimmed_end());
    answer.errors(&tagged(&text, "stderr").unwrap_or_default());
    answer.done()
}

/// What stands between `<name>` and `</name>`.
fn tagged(text: &Text, name: &str) -> Option<Text> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let length = text[start..].find(&format!("</{name}>"))?;
    Some(Text::clean(text[start..start + length].trim_matches('\n')))
}

/// What one sentence says.
pub(super) fn note(answer: &mut Answer<'_>) -> Option<View> {
    let text = answer.text();
    match message_of(&text) {
        Some(message) if !answer.context.full && generic::is_short(&message) => {
            answer.note(message);
            answer.done()
        }
        _ => other(answer),
    }
}

/// Some tools answer with a message inside of JSON.
fn message_of(text: &Text) -> Option<Text> {
    let record = Record::from_line(text.as_str().to_owned()).ok()?;
    record.root().get("message")?.str().map(Text::from_json)
}

/// Whether a fact called `name` may be of this type.
fn has_its_type(name: &str, kind: Kind) -> bool {
    match name {
        "stdout" | "stderr" | "note" | "path" | "content" | "mode" | "url" | "answer" | "query" | "plan"
        | "state" | "original" | "background" => kind == Kind::String,
        "count" | "lines" | "total" | "start" | "bytes" | "duration_ms" | "tokens" | "tool_uses" => {
            kind == Kind::Number
        }
        "interrupted" | "image" | "truncated" | "success" => matches!(kind, Kind::True | Kind::False),
        "files" | "patch" | "cells" => kind == Kind::Array,
        _ => true,
    }
}

/// Any tool.
pub(super) fn other(answer: &mut Answer<'_>) -> Option<View> {
    say_text(answer);
    if answer.says_nothing() {
        answer.note(Text::own("no output"));
    }
    answer.done()
}

/// The text: in the title if it is one short line; laid out if it is JSON.
fn say_text(answer: &mut Answer<'_>) {
    let text = answer.text();
    if text.trim().is_empty() {
        return;
    }
    match generic::json_text(&text) {
        Some(laid) => {
            answer.body.push(Block::text("result.text", laid));
        }
        None if generic::is_short(&text) => answer.note(text),
        None => answer.code("result.text", text),
    }
}

/// Whether `part` stands somewhere in `text`.
fn holds(text: &str, part: &str) -> bool {
    // Mostly it is the start or all of it, which is found much faster than any other place.
    text.starts_with(part)
        || (part.len() < text.len() && memmem::find(text.as_bytes(), part.as_bytes()).is_some())
}

/// Whether these lines stand somewhere in `text`, one below the other.
fn holds_lines(text: &str, lines: &str) -> bool {
    lines.is_empty()
        || memmem::find_iter(text.as_bytes(), lines.as_bytes()).any(|at| {
            let (before, behind) = (&text[..at], &text[at + lines.len()..]);
            (before.is_empty() || before.ends_with('\n')) && (behind.is_empty() || behind.starts_with('\n'))
        })
}

/// Whether a line is more than a bracket or a rule.
fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// What stands inside of the wrapper around errors of the agent itself.
fn unwrapped(text: Text) -> Text {
    const OPEN: &str = "<tool_use_error>";
    const CLOSE: &str = "</tool_use_error>";
    match text.strip_prefix(OPEN).and_then(|inside| inside.strip_suffix(CLOSE)) {
        Some(inside) => text.slice(OPEN.len(), OPEN.len() + inside.len()),
        None => text,
    }
}

/// Takes out the notes to the model that an agent puts into results.
fn without_reminders(text: Text) -> Text {
    const OPEN: &[u8] = b"<system-reminder>";
    const CLOSE: &[u8] = b"</system-reminder>";
    // Made once: for most texts making it would take longer than the search.
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(OPEN));
    let Some(mut open) = FINDER.find(text.as_bytes()) else { return text };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(close) = memmem::find(&text.as_bytes()[open..], CLOSE) {
        out.push_str(&text[at..open]);
        at = open + close + CLOSE.len();
        match memmem::find(&text.as_bytes()[at..], OPEN) {
            Some(next) => open = at + next,
            None => break,
        }
    }
    out.push_str(&text[at..]);
    Text::clean_owned(out)
}
