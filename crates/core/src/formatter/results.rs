//! What is said of results: what came of a call, or why nothing did.
//!
//! The structured facts say it best. The text is what the model was told: it stands in where facts are
//! missing, and in full it is never left out.

use std::borrow::Cow;

use memchr::memmem;

use crate::entry::{Block, Line, ListItem, Point, Span, View};
use crate::formatter::calls::extension;
use crate::formatter::changes::Changes;
use crate::formatter::datum::Datum;
use crate::formatter::standard::{Context, images};
use crate::formatter::{figures, generic, tools};
use crate::item::Item;
use crate::json::{Kind, Record, Value};
use crate::text::Text;

/// Longest first line of an error that becomes a title, in bytes.
const TITLE: usize = 160;

/// A result while it is being said.
pub(super) struct Answer<'a> {
    context: Context<'a>,
    call: Option<&'a Item>,
    title: Line,
    body: Vec<Block>,
}

/// Says a result; `None` hides it.
pub(super) fn view(context: Context<'_>) -> Option<View> {
    let item = context.item;
    let call = item.call.as_ref().and_then(|id| context.session.call(id));
    let mut answer = Answer { context, call, title: Line::default(), body: Vec::new() };
    if item.error {
        answer.failure();
        return Some(answer.finish("error"));
    }
    let tool = item.tool.as_deref().or_else(|| call?.tool.as_deref());
    let action = item.action.or_else(|| call?.action);
    let form = tools::form(tool, action);
    match (form.result)(&mut answer) {
        None if context.full => Some(answer.finish("")),
        said => said,
    }
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
        if !self.title.is_empty() {
            self.title.spans.push(Span::new("result.note", Text::own(" · ")));
        }
        self.title.spans.push(Span::new("result.note", text));
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
        let exit = context.fact("exit").and_then(Datum::int);
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
            let end = memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len());
            if end == 0 || end > TITLE {
                self.title.push("result.error", Text::own("failed"));
            } else {
                self.title.push("result.error", text.slice(0, end));
                text = text.slice((end + 1).min(text.len()), text.len());
            }
        }
        self.code("result.error", text);
        for name in ["stdout", "stderr"] {
            if let Some(output) = context.text(name) {
                self.code_if_new("result.error", output.trimmed_end());
            }
        }
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

    fn finish(&mut self, mark: &'static str) -> View {
        let context = self.context;
        images(context, &mut self.body);
        if context.full && !context.item.error {
            let text = self.text();
            self.code_if_new("result.text", text);
        }
        if context.full {
            self.structured();
        }
        if context.is("orphan") {
            self.note(Text::own("of an unknown call"));
        }
        View {
            mark: (!mark.is_empty()).then_some(mark),
            title: std::mem::take(&mut self.title),
            body: std::mem::take(&mut self.body),
        }
    }

    /// The tool's own structured value, but for what already stands there.
    fn structured(&mut self) {
        let Some(Datum::Json(value)) = self.context.fact("structured") else { return };
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
        Some(self.finish(""))
    }
}

pub(super) fn run(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let stdout = context.text("stdout").map(Text::trimmed_end);
    let is_background = context.fact("background").is_some();
    let mut output = match stdout {
        Some(stdout) => stdout,
        None if is_background && !context.full => Text::EMPTY,
        None => answer.text(),
    };
    if context.full {
        // What the model was told often holds the output and notes after it.
        let text = answer.text();
        if holds(&text, &output) {
            output = text;
        }
    } else if &*output == "(Bash completed with no output)" {
        output = Text::EMPTY;
    }
    if let Some(code) = context.fact("exit").and_then(Datum::int).filter(|code| *code != 0) {
        answer.note(Text::clean_owned(format!("exit {code}")));
    }
    if context.is("interrupted") {
        answer.note(Text::own("interrupted"));
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
    if let Some(errors) = context.text("stderr") {
        answer.code_if_new("result.error", errors.trimmed_end());
    }
    if let Some(whole) = context.fact("persisted") {
        let mut line = Line::of("result.note", "whole output:");
        if let Some(bytes) = whole.count_at("bytes") {
            line.push("result.note", figures::size(bytes));
        }
        if let Some(path) = whole.text().or_else(|| whole.text_at("path")) {
            line.push("result.file", context.path(path));
        }
        answer.body.push(Block::line(line));
    }
    for file in context.fact("files").map(Datum::list).unwrap_or_default() {
        let either = |names: [&str; 2]| names.iter().find_map(|name| file.get(name));
        let path = either(["path", "filePath"]).and_then(Datum::text).map(|path| context.path(path));
        if let Some(changes) = either(["patch", "hunks"]).and_then(Changes::of_patch) {
            let mut line = path.clone().map(|path| Line::of("result.file", path)).unwrap_or_default();
            changes.tell(&mut line);
            answer.body.push(Block::line(line));
            answer.body.extend(changes.block(path));
        }
    }
    if answer.title.is_empty() && answer.body.is_empty() && context.fact("images").is_none() {
        answer.note(Text::own("no output"));
    }
    answer.done()
}

/// What a job in the background has written so far.
pub(super) fn job(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let text = answer.text();
    let tags = ["stdout", "stderr", "output", "status", "exit_code"];
    let [stdout, stderr, output, status, exit] = tags.map(|name| tagged(&text, name));
    if context.full || context.fact("stdout").is_some() || status.is_none() {
        return run(answer);
    }
    for note in [status, exit.map(|code| Text::clean_owned(format!("exit {}", &*code)))] {
        if let Some(note) = note {
            answer.note(note);
        }
    }
    for (role, text) in [("result.text", stdout.or(output)), ("result.error", stderr)] {
        answer.code(role, text.unwrap_or_default());
    }
    answer.done()
}

/// What stands between `<name>` and `</name>`.
fn tagged(text: &Text, name: &str) -> Option<Text> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let length = text[start..].find(&format!("</{name}>"))?;
    Some(Text::clean(text[start..start + length].trim_matches('\n')))
}

pub(super) fn read(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    match context.fact("type").and_then(Datum::str).as_deref() {
        Some("image") => answer.note(Text::own("image")),
        Some("pdf") => answer.note(Text::own("PDF")),
        Some("parts") => answer.note(Text::own("in parts")),
        Some("unchanged") => answer.note(Text::own("unchanged")),
        Some("notebook") => {
            let number = context.fact("cells").map_or(0, |cells| cells.list().len() as u64);
            answer.note(figures::count_of(number, "cell", "cells"));
            if let (true, Some(Datum::Json(cells))) = (context.full, context.fact("cells")) {
                answer.body.push(Block::text("result.text", generic::laid_out(cells, false)));
            }
        }
        _ => return read_lines(answer),
    }
    if let Some(bytes) = context.count("bytes") {
        answer.note(figures::size(bytes));
    }
    answer.done()
}

/// The lines of a file: how many in short, all of them in full.
fn read_lines(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    if let (Some(lines), false) = (context.count("lines"), context.full) {
        answer.note(lines_read(context.count("start").unwrap_or(1), lines, context.count("total")));
        return answer.done();
    }
    let text = context.item.text();
    let numbered = Numbered::of(&text);
    let told = context.text("content").map(Text::trimmed_end);
    let (start, lines, total) = match &numbered {
        Some(numbered) if context.fact("lines").is_none() => (numbered.start, numbered.lines, None),
        _ => {
            (context.count("start").unwrap_or(1), context.count("lines").unwrap_or(0), context.count("total"))
        }
    };
    if lines > 0 || context.fact("lines").is_some() {
        answer.note(lines_read(start, lines, total));
    }
    if !context.full {
        if numbered.is_none() {
            let text = answer.text();
            if text.trim().is_empty() && answer.title.is_empty() {
                let offset = answer.call.and_then(|call| call.input()?.get("offset")?.int());
                answer.note(Text::own(if offset.unwrap_or(1) > 1 { "no lines" } else { "empty file" }));
            }
            answer.code("result.text", text);
        }
        return answer.done();
    }
    let path = answer.call.and_then(|call| call.input_text("file_path")).or_else(|| context.text("path"));
    let lang = path.as_deref().and_then(extension);
    let bare = numbered.as_ref().map(|numbered| Text::clean(numbered.bare.trim_end()));
    if let Some(text) = told.or(bare).filter(|text| !text.is_empty()) {
        answer.body.push(Block::Code { text, lang, start: Some(start), role: "result.text".into() });
    }
    match numbered {
        // The numbered lines stand there already; what follows them does not.
        Some(numbered) => {
            answer.code("result.text", Text::clean(numbered.rest.trim()));
            images(context, &mut answer.body);
            answer.structured();
            Some(View {
                mark: None,
                title: std::mem::take(&mut answer.title),
                body: std::mem::take(&mut answer.body),
            })
        }
        None => answer.done(),
    }
}

/// `lines 1–50 of 533`, `11 lines`, `empty file`
fn lines_read(start: u64, lines: u64, total: Option<u64>) -> Text {
    // A final line feed makes some agents count one more line than there is.
    let is_whole = start <= 1 && total.is_none_or(|total| total <= lines + 1);
    if lines == 0 {
        return Text::own(if is_whole { "empty file" } else { "no lines" });
    }
    if is_whole {
        return figures::count_of(lines, "line", "lines");
    }
    let last = start.saturating_add(lines - 1);
    let of = total.map(|total| format!(" of {}", &*figures::count(total))).unwrap_or_default();
    Text::clean_owned(format!("lines {}–{}{of}", &*figures::count(start), &*figures::count(last)))
}

/// A text whose lines begin with their numbers: `     1→` or `1` and a tab.
struct Numbered<'a> {
    start: u64,
    lines: u64,
    /// The lines without their numbers.
    bare: String,
    /// What follows them.
    rest: Cow<'a, str>,
}

impl<'a> Numbered<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (start, _) = number_of(text)?;
        let mut bare = String::with_capacity(text.len());
        let (mut lines, mut at) = (0, 0);
        while let Some((number, line)) = number_of(&text[at..]) {
            if number != start.saturating_add(lines) {
                break;
            }
            let line_start = text.len() - line.len();
            let end = memchr::memchr(b'\n', line.as_bytes()).map_or(text.len(), |end| line_start + end + 1);
            bare.push_str(&text[line_start..end]);
            lines += 1;
            at = end;
        }
        Some(Self { start, lines, bare, rest: Cow::Borrowed(&text[at..]) })
    }
}

/// The number at the start of a line, and what follows it.
fn number_of(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(' ');
    let end = text.bytes().take(12).position(|byte| !byte.is_ascii_digit())?;
    let number = text[..end].parse().ok()?;
    let rest = text[end..].strip_prefix('\t').or_else(|| text[end..].strip_prefix('→'))?;
    Some((number, rest))
}

pub(super) fn change(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let told = |name: &str| answer.call.and_then(|call| call.input_text(name));
    let path = context.text("path").or_else(|| told("file_path")).or_else(|| told("notebook_path"));
    let path = path.map(|path| context.path(path));
    let is_created = context.is("created");
    let mode = context.text("edit_mode").or_else(|| told("edit_mode"));
    if mode.as_deref() == Some("delete") {
        answer.note(Text::own("cell deleted"));
        return answer.done();
    }
    let changes = context.fact("patch").and_then(Changes::of_patch).or_else(|| {
        if is_created {
            let written = context.fact("content").and_then(Datum::str);
            return Some(Changes::created(&written.or_else(|| input(answer.call?, "content"))?));
        }
        asked(answer.call?)
    });
    let Some(changes) = changes else {
        if is_created {
            answer.note(Text::own("created, empty"));
            return answer.done();
        }
        // Without any facts the words for the model are all there is.
        let text = answer.text();
        let first = memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len());
        if !context.full && !text.is_empty() && first <= TITLE {
            answer.note(text.slice(0, first));
        } else {
            answer.code("result.text", text);
        }
        return answer.done();
    };
    if is_created {
        let lines = figures::count_of(changes.added(), "line", "lines");
        answer.note(Text::clean_owned(format!("created, {}", &*lines)));
    } else {
        answer.title = changes.title();
    }
    answer.body.extend(changes.block(path));
    answer.done()
}

fn input<'a>(call: &'a Item, key: &str) -> Option<Cow<'a, str>> {
    call.input()?.get(key)?.decode()
}

/// The changes that a call asked for.
fn asked(call: &Item) -> Option<Changes> {
    const CONTEXT: Option<usize> = Some(3);
    if let Some(edits) = call.input()?.get("edits") {
        let mut all = Changes::default();
        for edit in edits.items() {
            let [old, new] = ["old_string", "new_string"].map(|key| edit.get(key).and_then(Value::decode));
            all.extend(Changes::between(&old?, &new?, CONTEXT));
        }
        return Some(all);
    }
    if let (Some(old), Some(new)) = (input(call, "old_string"), input(call, "new_string")) {
        return Some(Changes::between(&old, &new, CONTEXT));
    }
    if let Some(source) = input(call, "new_source") {
        return Some(Changes::between("", &source, None));
    }
    None
}

pub(super) fn search(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let files = context.fact("files").map(Datum::list).unwrap_or_default();
    let number = context.count("count").unwrap_or(files.len() as u64);
    let mode = context.fact("mode").and_then(Datum::str);
    let hits = context.text("content").map(Text::trimmed_end).filter(|text| !text.is_empty());
    let text = answer.text();
    let is_told = context.fact("files").is_some() || hits.is_some() || context.fact("count").is_some();
    match mode.as_deref() {
        _ if !is_told => {
            // Older versions tell no facts: `Found 3 files`, then their paths.
            if let Some((found, paths)) =
                text.split_once('\n').filter(|(found, _)| found.starts_with("Found "))
            {
                answer.note(Text::clean(found));
                answer.files(paths.split('\n').map(Text::clean));
                return answer.done();
            }
            let is_one_line = !text.is_empty() && text.len() <= TITLE && !text.contains('\n');
            if is_one_line {
                answer.note(text.clone());
            } else {
                let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1;
                answer.note(if text.is_empty() {
                    Text::own("nothing")
                } else {
                    figures::count_of(lines, "line", "lines")
                });
                answer.code("result.text", text.clone());
            }
            return answer.done();
        }
        Some("content") => {
            let lines = context.count("lines").or_else(|| {
                hits.as_ref().map(|text| memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1)
            });
            match lines {
                Some(lines) if lines > 0 => answer.note(figures::count_of(lines, "line", "lines")),
                _ => answer.note(Text::own("no matches")),
            }
        }
        Some("count") => match context.count("matches") {
            Some(0) => answer.note(Text::own("no matches")),
            Some(matches) => {
                let places = figures::count_of(number, "file", "files");
                let matches = figures::count_of(matches, "match", "matches");
                answer.note(Text::clean_owned(format!("{} in {}", &*matches, &*places)));
            }
            None => answer.note(figures::count_of(number, "file", "files")),
        },
        _ if number == 0 => answer.note(Text::own("no files")),
        _ => answer.note(figures::count_of(number, "file", "files")),
    }
    if context.is("truncated") {
        answer.note(Text::own("not all"));
    }
    if context.full && !text.is_empty() {
        answer.code("result.text", text);
    }
    if let Some(hits) = hits {
        answer.code_if_new("result.text", hits);
    }
    if !context.full {
        answer.files(files.into_iter().filter_map(Datum::text));
    }
    answer.done()
}

pub(super) fn fetch(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    if let Some(code) = context.fact("code").and_then(Datum::words) {
        let words = context.text("code_text").unwrap_or_default();
        answer.note(Text::clean_owned(format!("{} {}", &*code, &*words)).trimmed_end());
    }
    if let Some(bytes) = context.count("bytes") {
        answer.note(figures::size(bytes));
    }
    let hits = context.fact("hits").map(Datum::list).unwrap_or_default();
    if !hits.is_empty() {
        answer.note(figures::count_of(hits.len() as u64, "hit", "hits"));
    }
    if let Some(ms) = context.count("duration_ms") {
        answer.note(figures::duration(ms));
    }
    let items: Vec<_> =
        hits.into_iter().map(|hit| ListItem { point: Point::Plain, line: link(hit) }).collect();
    if !items.is_empty() {
        answer.body.push(Block::List { items });
    }
    let said = context.text("answer").map(Text::trimmed_end);
    let has_list = !answer.body.is_empty();
    match said {
        Some(text) if !text.is_empty() => answer.body.push(Block::prose("result.answer", text)),
        _ if has_list => {}
        _ => {
            let text = answer.text();
            if !text.is_empty() {
                answer.body.push(Block::prose("result.answer", text));
            }
        }
    }
    answer.done()
}

/// `Title address`, both a link.
fn link(hit: Datum<'_>) -> Line {
    let url = hit.text_at("url").unwrap_or_default();
    let title = hit.text_at("title").filter(|title| !title.is_empty());
    let mut line = Line {
        spans: vec![Span::new("result.link", title.clone().unwrap_or(url.clone())).linked(url.clone())],
    };
    if title.is_some() {
        line.push("result.note", url);
    }
    line
}

pub(super) fn delegate(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let state = context.fact("state").and_then(Datum::str);
    let is_done = matches!(state.as_deref(), None | Some("completed"));
    match state.as_deref() {
        None | Some("completed") => {}
        Some("async_launched") => answer.note(Text::own("started in the background")),
        Some(state) => answer.note(Text::clean(&state.replace('_', " "))),
    }
    if let Some(number) = context.count("tool_uses") {
        answer.note(figures::count_of(number, "tool", "tools"));
    }
    if let Some(number) = context.count("tokens") {
        answer.note(Text::clean_owned(format!("{} tokens", &*figures::tokens(number))));
    }
    if let Some(ms) = context.count("duration_ms") {
        answer.note(figures::duration(ms));
    }
    let told = context.text("answer").map(Text::trimmed_end).filter(|text| !text.is_empty());
    let text = answer.text();
    match told {
        // The text often holds the answer and bookkeeping after it.
        Some(told) if context.full && holds(&text, &told) => {
            answer.body.push(Block::prose("result.answer", text));
        }
        Some(told) => answer.body.push(Block::prose("result.answer", told)),
        None if (is_done || context.full) && !text.is_empty() => {
            answer.body.push(Block::prose("result.answer", text));
        }
        None => {}
    }
    answer.done()
}

/// A list of things to do was written: the list itself was said.
pub(super) fn todos(answer: &mut Answer<'_>) -> Option<View> {
    let text = answer.text();
    let is_bookkeeping = text.is_empty() || text.starts_with("Todos have been modified");
    if is_bookkeeping && !answer.context.full {
        return None;
    }
    answer.code("result.text", text);
    answer.done()
}

/// What is known of tasks: one, all, or how it went.
pub(super) fn tasks(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    let all = context.fact("tasks").or_else(|| context.fact("todos"));
    if context.fact("success").is_some_and(Datum::is_false) {
        let text = answer.text();
        answer.title.push("result.error", Text::own("failed"));
        answer.code("result.error", text);
        return Some(answer.finish("warning"));
    }
    if let Some(task) = context.fact("task") {
        let mut line = Line::default();
        if let Some(id) = task.get("id").and_then(Datum::words) {
            line.push("result.note", format!("#{}", &*id));
        }
        let asked = answer.call.and_then(|call| call.input_text("subject"));
        let subject =
            task.text_at("subject").filter(|subject| context.full || Some(subject) != asked.as_ref());
        line.push("result.note", subject.unwrap_or_default());
        line.push("result.note", task.text_at("status").map(|status| spaced(&status)).unwrap_or_default());
        answer.title = line;
    } else if context.is("success") && !context.full {
        // The call said it.
        return None;
    }
    let written = answer.text();
    let listed = written.find("[{").and_then(|at| Some(Record::read(&written[at..]).ok()?.0));
    let all = all.or_else(|| Some(Datum::Json(listed.as_ref()?.root())));
    let items = all.map(|all| points(all, context.full)).unwrap_or_default();
    if !items.is_empty() {
        answer.note(figures::count_of(items.len() as u64, "task", "tasks"));
        // The list follows as a plan.
        if context.full {
            answer.body.push(Block::List { items });
        }
    }
    if answer.title.is_empty() {
        say_text(answer);
    }
    answer.done()
}

/// Points of a plan or list of tasks.
pub(super) fn points(todos: Datum<'_>, full: bool) -> Vec<ListItem> {
    let point = |todo: Datum<'_>| {
        let status = todo.get("status").and_then(Datum::str);
        let (point, known) = match status.as_deref() {
            Some("completed" | "done") => (Point::Done, true),
            Some("in_progress" | "active") => (Point::Active, true),
            Some("deleted" | "cancelled" | "failed") => (Point::Failed, true),
            Some("pending" | "open") => (Point::Open, true),
            _ => (Point::Open, false),
        };
        let mut line = Line::default();
        if let Some(id) = todo.get("id").and_then(Datum::words) {
            line.push("plan.note", format!("#{}", &*id));
        }
        let content = ["content", "subject", "text"].iter().find_map(|name| todo.text_at(name));
        line.push("plan.point", content.or_else(|| todo.words()).unwrap_or_default());
        if let (false, Some(status)) = (known, &status) {
            line.push("plan.note", format!("({status})"));
        }
        let active = todo.text_at("active").or_else(|| todo.text_at("activeForm"));
        if let (true, Some(active)) = (full, active) {
            line.push("plan.note", format!("({})", &*active));
        }
        ListItem { point, line }
    };
    todos.list().into_iter().map(point).collect()
}

pub(super) fn plan_mode(answer: &mut Answer<'_>) -> Option<View> {
    let context = answer.context;
    if context.fact("plan").is_none() {
        if context.full {
            return answer.done();
        }
        let text = answer.text();
        let approved = text.starts_with("User has approved");
        answer.note(Text::own(if approved { "plan approved" } else { "plan mode" }));
        return answer.done();
    }
    answer.note(Text::own("plan approved"));
    if let Some(path) = context.text("path") {
        answer.note(context.path(path));
    }
    answer.done()
}

pub(super) fn ask(answer: &mut Answer<'_>) -> Option<View> {
    let answers = answer.context.fact("answers").map(Datum::parts).unwrap_or_default();
    let mut items = Vec::new();
    for (question, chosen) in answers {
        let line = Line::of("ask.question", question)
            .with("result.note", Text::own("→"))
            .with("ask.answer", chosen.words().unwrap_or_default());
        items.push(ListItem { point: Point::Plain, line });
    }
    if items.is_empty() {
        say_text(answer);
    } else {
        answer.body.push(Block::List { items });
    }
    answer.done()
}

pub(super) fn skill(answer: &mut Answer<'_>) -> Option<View> {
    let text = answer.text();
    if !answer.context.full && (text.is_empty() || text.starts_with("Launching skill")) {
        return None;
    }
    say_text(answer);
    answer.done()
}

pub(super) fn tool_search(answer: &mut Answer<'_>) -> Option<View> {
    let names: Vec<_> = answer.context.fact("matches").map(Datum::list).unwrap_or_default();
    let number = names.len() as u64;
    if number == 0 {
        say_text(answer);
        return answer.done();
    }
    answer.note(figures::count_of(number, "tool", "tools"));
    let names: Vec<_> = names.into_iter().filter_map(Datum::text).map(Text::into_string).collect();
    answer.code("result.text", Text::clean_owned(names.join("\n")));
    answer.done()
}

/// What one sentence says.
pub(super) fn note(answer: &mut Answer<'_>) -> Option<View> {
    let text = answer.text();
    // Some tools answer with a message inside of JSON.
    let message = Record::from_line(text.as_str().to_owned()).ok();
    let message =
        message.as_ref().and_then(|record| record.root().get("message")?.str()).map(Text::from_json);
    match message {
        Some(message) if !answer.context.full && generic::is_short(&message) => {
            answer.note(message);
            answer.done()
        }
        _ => other(answer),
    }
}

/// Any tool.
pub(super) fn other(answer: &mut Answer<'_>) -> Option<View> {
    say_text(answer);
    if answer.title.is_empty() && answer.body.is_empty() && answer.context.fact("images").is_none() {
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

/// A status as words: `in progress`.
fn spaced(status: &str) -> Text {
    Text::clean_owned(status.replace('_', " "))
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
    let Some(mut open) = memmem::find(text.as_bytes(), OPEN) else { return text };
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
