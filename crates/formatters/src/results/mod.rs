//! Formats the results of calls.
//!
//! Structured facts come first. The text, which was written for the model, is used where facts are missing. In full,
//! it is never left out.

mod commands;
mod files;

pub(super) use commands::*;
pub(super) use files::*;

use memchr::memmem;

use crate::context::{ItemContext, images};
use crate::generic;
use crate::sentence::first_sentence;
use streamfmt_core::entry::{Block, CONTINUES_CALL, Line, OneLine, View};
use streamfmt_core::figures;
use streamfmt_core::find::find;
use streamfmt_core::item::FactRef;
use streamfmt_core::item::{Action, Item, Status};
use streamfmt_core::json::{Record, Value, ValueKind};
use streamfmt_core::text::Text;

/// The longest first line of several that becomes the title of an error, in bytes.
const TITLE: usize = 160;

/// The longest error of a single line that becomes a title, in bytes.
const LONG_TITLE: usize = 500;

/// A result that is being formatted.
pub(super) struct ResultContext<'a> {
    pub(super) context: ItemContext<'a>,
    pub(super) call: Option<&'a Item>,
    /// Whether a remark on a failure was added.
    has_failed: bool,
    pub(super) title: Line,
    /// Whether the title continues that of the call.
    continues_call: bool,
    pub(super) body: Vec<Block>,
}

/// Formats a successful result; `None` hides it.
pub(super) type FormatResult = fn(&mut ResultContext<'_>) -> Option<View>;

/// Returns the view of a result; `None` hides it. `form`: the function for its kind.
pub(super) fn view(context: ItemContext<'_>, form: FormatResult) -> Option<View> {
    let item = context.item;
    let call = item.call.as_ref().and_then(|id| context.session.call(id));
    let (title, body) = (Line::default(), Vec::new());
    let mut answer = ResultContext { context, call, has_failed: false, title, continues_call: false, body };
    if item.error {
        answer.failure();
        if context.whole && !context.full {
            files::proposed(&mut answer);
        }
        return Some(answer.finish());
    }
    if is_without_success(item) {
        answer.no_success();
        return Some(answer.finish());
    }
    let view = match form(&mut answer) {
        None if context.full => answer.finish(),
        view => view?,
    };
    Some(if view.is_blank() { View { title: Line::of("result.note", "no output"), ..view } } else { view })
}

/// Returns the mark of a result's view.
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

/// Whether the requested work failed or was cut short although the call is no error: an interrupted command, a failed background job, a
/// missing page.
fn has_failed(item: &Item) -> bool {
    let is = |name: &str| item.fact(name).and_then(FactRef::bool) == Some(true);
    is("interrupted")
        || is("timed_out")
        || item.fact("exit").and_then(FactRef::int).is_some_and(|code| code != 0)
        || item.fact("code").and_then(FactRef::count).is_some_and(is_refusal)
        || item.fact("state").and_then(FactRef::str).is_some_and(|state| state == FAILED)
}

/// Whether an HTTP status is an error.
pub(super) fn is_refusal(status: u64) -> bool {
    status >= 400
}

/// The state of a job that failed.
const FAILED: &str = "failed";

/// Whether a result reports that the call had no success, although it is no error.
fn is_without_success(item: &Item) -> bool {
    item.fact("success").and_then(FactRef::bool) == Some(false)
}

impl ResultContext<'_> {
    /// Returns the text without blank lines at its end: in full all of it, otherwise the part for people.
    pub(super) fn text(&self) -> Text {
        let item = self.context.item;
        if self.context.full { item.clean_text() } else { item.words() }.trimmed_end()
    }

    /// Whether a flag of its call is set, which the call's title shows.
    pub(super) fn was_asked_for(&self, name: &str) -> bool {
        self.call.is_some_and(|call| call.does().get(name).and_then(FactRef::bool) == Some(true))
    }

    /// Adds a note to the title.
    pub(super) fn note<'t>(&mut self, text: impl Into<OneLine<'t>>) {
        self.remark("result.note", text);
    }

    /// Adds a note to the title, if there is one.
    pub(super) fn note_known<'t>(&mut self, text: Option<impl Into<OneLine<'t>>>) {
        if let Some(text) = text {
            self.note(text);
        }
    }

    /// Adds a note on a failure to the title.
    pub(super) fn trouble<'t>(&mut self, text: impl Into<OneLine<'t>>) {
        self.has_failed = true;
        self.remark("result.error", text);
    }

    #[inline]
    fn remark<'t>(&mut self, role: &'static str, text: impl Into<OneLine<'t>>) {
        if !self.title.is_empty() {
            self.title.attach("result.note", Text::own(" · "));
        }
        self.title.attach(role, text);
    }

    /// Adds a note that continues the call's title: `lines 14–17` … `of 22`.
    fn continues_call(&mut self, text: Text) {
        if self.title.is_empty() {
            self.title.attach(CONTINUES_CALL, text);
            self.continues_call = true;
        } else {
            self.note(text);
        }
    }

    /// Adds a note if the user changed the agent's proposal before it was carried out.
    pub(super) fn note_user_change(&mut self) {
        if self.context.is("user_modified") {
            self.note(Text::own("changed by the user"));
        }
    }

    #[inline]
    pub(super) fn code(&mut self, role: &'static str, text: Text) {
        if !text.trim().is_empty() {
            self.body.push(Block::text(role, text));
        }
    }

    /// Adds an answer, as Markdown.
    pub(super) fn answer(&mut self, text: Text) {
        if !text.is_empty() {
            self.body.push(Block::prose("result.answer", text));
        }
    }

    fn code_if_new(&mut self, role: &'static str, text: Text) {
        if !self.has(&text) {
            self.code(role, text);
        }
    }

    /// Adds standard error, under a label.
    fn errors(&mut self, text: &Text) {
        let start = text.len() - text.trim_start_matches('\n').len();
        let text = text.slice(start, text.len()).trimmed_end();
        if self.context.fact("cwd").is_some() {
            // It has only the folder that the next command will run in.
            self.body.push(Block::line(Line::of("result.note", text)));
        } else if !text.trim().is_empty() {
            self.body.push(Block::line(Line::of("result.note", "stderr:")));
            self.body.push(Block::text("result.error.text", text));
        }
    }

    /// Adds paths, one per line.
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

    /// Formats the reason of a failure. No part of it is ever hidden.
    fn failure(&mut self) {
        let context = self.context;
        let mut text = self.text();
        let exit = context.fact("exit").and_then(FactRef::int);
        let stopped = context.fact("stopped").and_then(FactRef::str).filter(|_| !context.full);
        if let Some(code) = exit {
            self.title.push("result.error", format!("exit {code}"));
            if let Some(how) = stopped {
                self.trouble(by_the_user(&how));
            }
        } else if let Some(how) = stopped {
            self.refused(by_the_user(&how), &mut text);
        } else if let Some(ms) = context.count("timed_out_ms") {
            self.title.push("result.error", format!("timed out after {}", &*figures::duration(ms)));
        } else if let Some(by) = context.fact("denied") {
            let denied = by.text().map_or(Text::own("denied"), |by| format!("denied by {by}").into());
            // The title gets the first sentence of a longer reason.
            match first_sentence(&text).filter(|_| !context.full && !generic::is_short(&text)) {
                Some((sentence, rest)) => {
                    self.title.push("result.error", [&*denied, ": ", &sentence].concat());
                    self.code("result.note", rest);
                    text = Text::EMPTY;
                }
                None => self.refused(denied, &mut text),
            }
        } else if context.is("interrupted") {
            self.title.push("result.error", Text::own("interrupted"));
        } else {
            let reason = if context.full { None } else { first_sentence(&text) };
            let end = find(b'\n', text.as_bytes()).unwrap_or(text.len());
            if let Some((sentence, rest)) = reason {
                self.title.push("result.error", sentence);
                // The output of a command is no note.
                let is_output = context.item.action() == Some(Action::Run);
                self.code(if is_output { "result.error.text" } else { "result.note" }, rest);
                text = Text::EMPTY;
            } else if !has_words(&text[..end]) || (end > TITLE && end < text.len()) || end > LONG_TITLE {
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

    /// Adds to the title how a call was refused, and moves the reason there if it is short.
    fn refused(&mut self, how: Text, why: &mut Text) {
        if generic::is_short(why) && !why.trim().is_empty() {
            self.title.push("result.error", [&*how, ": ", why.trim()].concat());
            *why = Text::EMPTY;
        } else {
            self.title.push("result.error", how);
        }
    }

    /// Formats the reason why a call had no success although it is no error.
    fn no_success(&mut self) {
        let text = self.text();
        let text = if self.context.full { text } else { message_of(&text).unwrap_or(text) };
        if generic::is_short(&text) && !text.is_empty() {
            self.title.push("result.error", text);
        } else if let Some((sentence, rest)) = first_sentence(&text).filter(|_| !self.context.full) {
            self.title.push("result.error", sentence);
            self.code("result.error.text", rest);
        } else {
            self.title.push("result.error", Text::own("failed"));
            self.code("result.error.text", text);
        }
    }

    /// Returns the values that no function formats: unknown parts of the content, and facts of a wrong type.
    fn odd(&self) -> Vec<Text> {
        let cut = self.context.is_cut();
        let parts = self.context.list("more").into_iter().filter_map(FactRef::value);
        let mut odd: Vec<_> = parts.map(|value| generic::laid_out(value, cut)).collect();
        for (name, fact) in self.context.item.facts() {
            match fact {
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

    /// Whether there is nothing to show for the result.
    fn is_empty(&self) -> bool {
        self.title.is_empty()
            && self.body.is_empty()
            && self.context.fact("images").is_none()
            && self.odd().is_empty()
    }

    /// Whether the body or the title already contains a text.
    fn has(&self, text: &str) -> bool {
        let text = text.trim();
        let within = |shown: &str| holds(shown, text);
        self.title.spans().any(|span| within(span.text()))
            || self.body.iter().filter_map(Block::source).any(|(_, shown)| within(shown))
    }

    /// Returns the view. In full, adds the text if it isn't shown yet.
    fn finish(&mut self) -> View {
        if self.context.full && !self.context.item.error {
            let text = self.text();
            self.code_if_new("result.text", text);
        }
        self.finish_all_but_text()
    }

    /// Returns the view with the rest of the text, without the part `shown`, which is shown elsewhere.
    pub(super) fn finish_but_for(&mut self, shown: &str) -> View {
        let rest = self.text().replacen(shown, "", 1);
        self.code("result.text", Text::clean(rest.trim()));
        self.finish_all_but_text()
    }

    /// Returns the view without adding the text.
    fn finish_all_but_text(&mut self) -> View {
        let context = self.context;
        images(context, &mut self.body);
        if context.whole || (self.title.is_empty() && self.body.is_empty()) {
            for text in self.odd() {
                self.code("result.text", text);
            }
        }
        if context.whole {
            self.structured();
        }
        let is_blank = |block: &Block| block.source().is_some_and(|(_, text)| text.trim().is_empty());
        if self.title.is_empty() && self.body.iter().all(is_blank) {
            self.note(Text::own(if context.is("success") { "done" } else { "no output" }));
        }
        // Mark output that was cut off when the stream ended, so that it doesn't look complete.
        if context.item.status == Status::Cancelled {
            self.body.push(Block::line(Line::of("muted", "… cut off")));
        }
        if context.is("again") {
            self.note(Text::own("another result of the call"));
        } else if context.is("orphan") && context.item.call.is_some() {
            self.note(Text::own("of an unknown call"));
        } else if context.is("orphan") {
            // Without this title, it would look like a result of the call above it.
            let title = std::mem::replace(&mut self.title, Line::of("muted", "result of an unknown call"));
            if !title.is_empty() {
                self.title.attach("result.note", Text::own(" · "));
                self.title.append(&title);
            }
            self.continues_call = false;
        }
        View {
            mark: if self.has_failed { Some("error") } else { mark(context.item) },
            title: std::mem::take(&mut self.title),
            body: std::mem::take(&mut self.body),
            continues_call: self.continues_call,
        }
    }

    /// Adds the tool's structured value: in full all of it, unless it is shown already; otherwise only the parts that aren't shown, folded.
    fn structured(&mut self) {
        let Some(FactRef::Json(value)) = self.context.fact("structured") else { return };
        let cut = self.context.is_cut();
        let is_text = |value: Value<'_>| value.str().is_some_and(|text| self.has(&Text::from_json(text)));
        let is_block =
            |value: Value<'_>| value.get("text").is_some_and(is_text) || value.get("source").is_some();
        let is_list = value.kind() == ValueKind::Array;
        if is_text(value) || (is_list && value.items().all(is_block)) {
            return;
        }
        if self.context.full {
            let laid = generic::laid_out(value, cut);
            if !self.has(&laid) {
                self.body.push(Block::text("result.structured", laid));
            }
            return;
        }
        let is_json = |value: Value<'_>| {
            let text = value.str().and_then(|text| generic::json_text(&Text::from_json(text)));
            text.is_some_and(|laid| self.has(&laid))
        };
        let is_shown = |value: Value<'_>| {
            let is_blocks = || value.kind() == ValueKind::Array && value.items().all(is_block);
            is_text(value) || is_json(value) || is_blocks() || self.has(&generic::laid_out(value, cut))
        };
        let is_known =
            |value: Value<'_>| is_shown(value) || is_block(value) || value.get("text").is_some_and(is_json);
        let body: Vec<_> = if value.kind() == ValueKind::Object && !is_shown(value) {
            let known: Vec<_> = value
                .entries()
                .map(|(_, field)| field)
                .filter(|field| is_shown(*field))
                .map(Value::node)
                .collect();
            generic::fields(value, &known, cut)
        } else {
            let parts = value.items().filter(|part| is_list && !is_known(*part));
            let parts = parts.chain((!is_list && !is_shown(value)).then_some(value));
            parts.map(|part| Block::text("result.structured", generic::laid_out(part, cut))).collect()
        };
        if !body.is_empty() {
            self.body.push(Block::Details { summary: Line::of("muted", "record"), body });
        }
    }

    /// Returns the view; `None` if it would only confirm success.
    pub(super) fn done(&mut self) -> Option<View> {
        let is_odd = ["orphan", "again"].iter().any(|name| self.context.is(name));
        if !self.context.full && self.context.is("success") && !is_odd && self.is_empty() {
            return None;
        }
        Some(self.finish())
    }
}

/// Returns a phrase for a call that the user stopped: `interrupted by the user`.
fn by_the_user(how: &str) -> Text {
    Text::clean_owned(format!("{how} by the user"))
}

/// Formats a result that is usually one sentence.
pub(super) fn note(answer: &mut ResultContext<'_>) -> Option<View> {
    let text = answer.text();
    match message_of(&text) {
        Some(message) if !answer.context.full && generic::is_short(&message) => {
            answer.note(message);
            answer.done()
        }
        _ => other(answer),
    }
}

/// Returns the `message` of a text that is JSON, as some tools return it.
fn message_of(text: &Text) -> Option<Text> {
    let record = Record::from_line(text.as_str().to_owned()).ok()?;
    record.root().get("message")?.str().map(Text::from_json)
}

/// Whether this type is expected for a fact called `name`.
fn has_its_type(name: &str, kind: ValueKind) -> bool {
    match name {
        "stdout" | "stderr" | "note" | "path" | "content" | "mode" | "url" | "answer" | "query" | "plan"
        | "state" | "original" | "background" => kind == ValueKind::String,
        "count" | "lines" | "total" | "start" | "bytes" | "duration_ms" | "tokens" | "tool_uses" => {
            kind == ValueKind::Number
        }
        "interrupted" | "image" | "truncated" | "success" => {
            matches!(kind, ValueKind::True | ValueKind::False)
        }
        "files" | "patch" | "cells" => kind == ValueKind::Array,
        _ => true,
    }
}

/// Formats the result of an unknown tool.
pub(super) fn other(answer: &mut ResultContext<'_>) -> Option<View> {
    show_text(answer);
    answer.done()
}

/// Shows the text: in the title if it is one short line, laid out if it is JSON.
pub(super) fn show_text(answer: &mut ResultContext<'_>) {
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

/// Whether `text` contains `part`.
pub(super) fn holds(text: &str, part: &str) -> bool {
    // Usually `part` is the start or all of it, which is much faster to check.
    text.starts_with(part)
        || (part.len() < text.len() && memmem::find(text.as_bytes(), part.as_bytes()).is_some())
}

/// Whether a line has letters or digits, unlike a bracket or a rule.
fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::{Fact, Kind};

    #[test]
    fn each_fact_that_reports_a_failure_marks_the_result_by_itself() {
        let text = |text: &str| Fact::Text(text.to_owned());
        for (name, fact, expected) in [
            ("interrupted", Fact::Bool(true), Some("error")),
            ("interrupted", Fact::Bool(false), None),
            ("timed_out", Fact::Bool(true), Some("error")),
            ("timed_out", Fact::Bool(false), None),
            ("exit", Fact::Int(1), Some("error")),
            ("exit", Fact::Int(-1), Some("error")),
            ("exit", Fact::Int(0), None),
            ("code", Fact::Int(200), None),
            ("code", Fact::Int(399), None),
            ("code", Fact::Int(400), Some("error")),
            ("code", Fact::Int(500), Some("error")),
            ("state", text("failed"), Some("error")),
            ("state", text("running"), None),
            ("success", Fact::Bool(false), Some("warning")),
            ("success", Fact::Bool(true), None),
            ("orphan", Fact::Bool(true), Some("result")),
            ("orphan", Fact::Bool(false), None),
        ] {
            let shown = format!("{name}: {fact:?}");
            let mut result = Item::new("r", Kind::Result, 1);
            result.data.push((name, fact));
            assert_eq!(mark(&result), expected, "{shown}");
        }
        let mut stray = Item::new("r", Kind::Result, 1);
        stray.data.push(("orphan", Fact::Bool(true)));
        stray.call = Some("c".into());
        assert_eq!(mark(&stray), None, "a result with a call belongs to that");
        stray.error = true;
        assert_eq!(mark(&stray), Some("error"));
    }
}
