//! Formats calls: the tool, its main arguments and, in full, all of its input.

#![expect(clippy::unnecessary_wraps, reason = "the rows of the table of tools have one type")]

pub(super) mod changed_files;

use std::borrow::Cow;

use crate::context::ItemContext;
use crate::file_diff::FileDiff;
use crate::generic::{self, InputLayout, is_short};
use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::figures;
use streamfmt_core::item::{DoesRef, FactRef, GrowingInput, Status};
use streamfmt_core::json::{Cut, Value, ValueKind, left_out};
use streamfmt_core::text::Text;

use changed_files::ChangedFiles;

/// The longest path in a title, in bytes.
const LONG_PATH: usize = 300;

/// A call that is being formatted. It remembers which fields were shown, so that the rest can follow where nothing is left out.
pub(super) struct CallContext<'a> {
    pub(super) context: ItemContext<'a>,
    pub(super) does: &'a DoesRef<'a>,
    input: Value<'a>,
    /// The state of an input that is still being written.
    pub(super) growing: Option<&'a GrowingInput>,
    /// With `whole`: the nodes of the fields that were shown.
    known: Vec<u32>,
    /// Whether a known field has an unexpected type, so that the whole input is laid out like that of an unknown tool.
    odd: bool,
    /// Whether to hide the call, unless nothing is left out.
    pub(super) hidden: bool,
    pub(super) title: Line,
    pub(super) body: Vec<Block>,
}

/// Formats a call of one kind of tool; `None` if its input doesn't have the form that such a call has.
pub(super) type FormatCall = fn(&mut CallContext<'_>) -> Option<()>;

/// Returns the view of a call; `None` hides it. `form`: the function for its kind.
pub(super) fn view(context: ItemContext<'_>, form: FormatCall) -> Option<View> {
    let does = context.item.does();
    let growing = context.item.growing.as_deref();
    let Some(input) = does.input() else {
        let mut view = View::titled("call", name(context));
        let text = context.item.clean_text();
        if !text.is_empty() {
            view.body.push(Block::text("call.input", text));
        }
        return Some(view);
    };
    let mut call = CallContext {
        context,
        does: &does,
        input,
        known: Vec::new(),
        growing,
        odd: input.kind() != ValueKind::Object && !does.is_made(),
        hidden: false,
        title: name(context),
        body: Vec::new(),
    };
    let is_shown = !call.odd && form(&mut call).is_some();
    if !is_shown || call.odd {
        call.title = name(context);
        call.body.clear();
        call.known.clear();
        call.hidden = false;
        generic(&mut call);
    }
    call.finish()
}

/// Returns the tool's name: `Bash`, `github · list_issues`.
pub(super) fn name(context: ItemContext<'_>) -> Line {
    let mut line = Line::default();
    match (context.text("server"), context.text("tool")) {
        (Some(server), Some(own)) if !context.full => {
            line.attach("tool.server", server);
            line.push("tool.note", Text::own("·"));
            line.push("tool.name", own);
        }
        _ => {
            // A call without a tool name is still shown as a call.
            let tool = context.item.tool.as_deref().filter(|tool| !tool.trim().is_empty());
            line.attach("tool.name", tool.unwrap_or("call"));
        }
    }
    line
}

impl CallContext<'_> {
    /// Whether to show content that the result will show, too: in full, while the call is being written, and if there is no result.
    pub(super) fn shows_content(&self) -> bool {
        self.context.full || self.growing.is_some() || self.context.is("no_result")
    }

    /// Marks the part called `name` as shown, since the result will show it.
    fn leave(&mut self, name: &str) {
        if let Some(part) = self.does.get(name).filter(|part| part.is_text()) {
            self.know(part);
        }
    }

    /// Returns the text of the part called `name`, and marks it as shown.
    pub(super) fn text(&mut self, name: &str) -> Option<Text> {
        let part = self.does.get(name)?;
        let text = part.text();
        self.accept(part, text)
    }

    /// Returns the text of the part called `name`, for the body. If only its end was kept, first adds a block for what is left out.
    pub(super) fn content(&mut self, name: &str) -> Option<Text> {
        let part = self.does.get(name)?;
        let text = self.accept(part, part.text())?;
        let Some(cut) = self.cut(part) else { return Some(text) };
        self.body.push(elided(cut));
        let start = text.len() - after_cut(&text, cut).len();
        Some(text.without_start(start))
    }

    /// Returns the text of a part as far as it was kept, and the size of the part that is left out before it.
    fn end_of<'v>(&self, part: Option<FactRef<'v>>) -> (Cow<'v, str>, Option<Cut>) {
        let text = part.and_then(FactRef::str).unwrap_or_default();
        match part.and_then(|part| self.cut(part)) {
            Some(cut) => (after_cut(&text, cut).to_owned().into(), Some(cut)),
            None => (text, None),
        }
    }

    /// Returns the size of what is left out at the start of a part that is being written.
    fn cut(&self, part: FactRef<'_>) -> Option<Cut> {
        self.growing?.cut(part.value()?.node())
    }

    /// Shows the text of the part called `name`; `None` if it has none.
    pub(super) fn show_part(&mut self, role: &'static str, name: &str) -> Option<()> {
        let text = self.text(name)?;
        self.show(role, text);
        Some(())
    }

    /// Shows a phrase made from the text of the part called `name`, if it has one.
    pub(super) fn show_phrase(&mut self, name: &str, words: impl FnOnce(Text) -> String) {
        if let Some(text) = self.text(name) {
            self.show("call.detail", words(text).into());
        }
    }

    /// Whether the part called `name` is true. Marks it as shown.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let Some(part) = self.does.get(name) else { return false };
        self.accept(part, part.bool()).unwrap_or(false)
    }

    /// Marks a part as shown if it has a `value` of the expected type; otherwise marks the input as odd. Returns the value.
    pub(super) fn accept<T>(&mut self, part: FactRef<'_>, value: Option<T>) -> Option<T> {
        self.odd |= value.is_none();
        if value.is_some() {
            self.know(part);
        }
        value
    }

    /// Marks a part as shown.
    pub(super) fn know(&mut self, part: FactRef<'_>) {
        if self.context.whole {
            self.known.extend(self.does.source(part));
        }
    }

    fn path(&mut self) -> Option<Text> {
        let path = self.text("path")?;
        Some(self.context.path(path))
    }

    /// Shows a text in the title, or in the body if it is long.
    #[inline]
    pub(super) fn show(&mut self, role: &'static str, text: Text) {
        if is_short(&text) {
            self.title.push(role, text);
        } else {
            self.body.push(Block::text("call.input", text.trimmed_end()));
        }
    }

    /// Shows the path of the call's file, and returns it.
    fn file(&mut self) -> Option<Text> {
        let path = self.path()?;
        if path.len() <= LONG_PATH {
            self.title.push("call.arg", &path);
        } else {
            self.show("call.arg", path.clone());
        }
        Some(path)
    }

    fn finish(mut self) -> Option<View> {
        if self.context.whole && !self.known.contains(&self.input.node()) {
            self.body.extend(generic::fields(self.input, &self.known, self.context.is_cut()));
        }
        // With `whole`, a hidden call is shown if a part of its input is left.
        if self.hidden && !self.context.full && (!self.context.whole || self.body.is_empty()) {
            return None;
        }
        let is_over = self.context.item.status != Status::Open;
        if is_over && self.context.is("partial") {
            self.title.push("call.detail", Text::own("(input incomplete)"));
        }
        // The streamed part of an input that its complete message lacks.
        let streamed = if is_over { self.context.item.clean_text() } else { Text::EMPTY };
        if !streamed.is_empty() {
            self.body.push(Block::text("call.input", streamed));
        }
        Some(View { body: self.body, ..View::titled("call", self.title) })
    }
}

/// Formats a call of an unknown tool.
pub(super) fn generic(call: &mut CallContext<'_>) -> Option<()> {
    match generic::input(call.input, call.context.is_cut()) {
        InputLayout::Title(arg) => call.title.push("call.arg", arg),
        InputLayout::Body(blocks) => call.body.extend(blocks),
    }
    let values = call.input.entries().map(|(_, value)| value.node());
    call.known.extend(values);
    Some(())
}

/// Formats a call that has no arguments to show.
pub(super) fn bare(_: &mut CallContext<'_>) -> Option<()> {
    Some(())
}

pub(super) fn run(call: &mut CallContext<'_>) -> Option<()> {
    let command = call.text("command")?.trimmed_end();
    match call.text("description").filter(|text| !text.trim().is_empty()) {
        None if is_short(&command) => call.title.push("call.command", command),
        description => {
            if let Some(text) = description {
                call.show("call.arg", text);
            }
            let lang = Some(Text::own("sh"));
            call.body.push(Block::Code { text: command, lang, start: None, role: "call.command".into() });
        }
    }
    folder(call);
    in_background(call);
    if call.flag("unsandboxed") {
        call.title.push("call.detail", Text::own("outside of the sandbox"));
    }
    if call.context.whole
        && let Some(timeout) = call.does.get("timeout_ms")
        && let Some(ms) = timeout.count()
    {
        call.know(timeout);
        call.title.push("call.detail", format!("timeout {}", &*figures::duration(ms)));
    }
    Some(())
}

/// Shows the folder that a command runs in, unless that is the session's.
fn folder(call: &mut CallContext<'_>) {
    let Some(part) = call.does.get("cwd") else { return };
    let folder = part.text().map(|folder| call.context.path(folder));
    if let Some(folder) = folder.filter(|folder| !matches!(&**folder, "" | ".")) {
        call.know(part);
        call.show("call.detail", Text::clean_owned(["in ", &folder].concat()));
    }
}

pub(super) fn in_background(call: &mut CallContext<'_>) {
    if !call.flag("background") {
        return;
    }
    // The description may already end in these words.
    let says_it = |text: &str| text.trim_end_matches('.').to_lowercase().ends_with("in the background");
    if !call.title.last().is_some_and(says_it) {
        call.title.push("call.detail", Text::own("in the background"));
    }
}

pub(super) fn read(call: &mut CallContext<'_>) -> Option<()> {
    call.file()?;
    let range = call.does.get("range");
    let mut number = |name: &str| {
        let part = range?.get(name)?;
        call.accept(part, part.is_number().then_some(part.int()))?
    };
    let [start, lines, end] = ["start", "lines", "end"].map(&mut number);
    let end = end.or_else(|| Some(start?.saturating_add(lines?).saturating_sub(1)));
    let range = match (start, end, lines) {
        (Some(from), Some(to), _) => format!("lines {from}–{to}"),
        (Some(from), None, _) => format!("from line {from}"),
        (None, Some(1), _) | (None, None, Some(1)) => "first line".to_owned(),
        (None, Some(number), _) | (None, None, Some(number)) => format!("first {number} lines"),
        (None, None, None) => String::new(),
    };
    call.title.push("call.detail", range);
    call.show_phrase("pages", |pages| format!("pages {pages}"));
    Some(())
}

pub(super) fn list(call: &mut CallContext<'_>) -> Option<()> {
    call.file().map(|_| ())
}

pub(super) fn write(call: &mut CallContext<'_>) -> Option<()> {
    let path = call.file()?;
    if call.shows_content() {
        let Some(text) = call.content("content") else { return call.growing.map(|_| ()) };
        let text = text.trimmed_end();
        call.body.push(Block::Code { text, lang: extension(&path), start: None, role: "call.input".into() });
    } else {
        call.leave("content");
    }
    Some(())
}

pub(super) fn edit(call: &mut CallContext<'_>) -> Option<()> {
    let changes = call.does.get("changes");
    if let Some(files) = changes.and_then(|changes| ChangedFiles::of(changes, call.context)) {
        files.call(call)?;
        if files.is_all_known() {
            call.know(changes?);
        }
        return Some(());
    }
    let path = call.file()?;
    let Some(changes) = changes else { return (!call.context.full).then_some(()) };
    let list = changes.list();
    let sole = if let FactRef::Sole(..) = changes { list.first().copied() } else { None };
    let is_list = sole.is_none() && changes.value().is_some();
    if is_list && !is_array(&changes) {
        return None;
    }
    let number = list.len();
    // A single change looks the same whether the stream has a list for it or not.
    if number > 1 || is_list && number == 0 {
        call.title.push("call.detail", figures::count_of(number as u64, "edit", "edits"));
    }
    if let Some(all) = sole.and_then(|change| change.get("everywhere")) {
        call.accept(all, all.bool())?;
    }
    let everywhere = |change: &FactRef<'_>| change.get("everywhere").and_then(FactRef::bool) == Some(true);
    let places: Vec<_> = (1..).zip(&list).filter(|(_, change)| everywhere(change)).collect();
    match places.len() {
        0 => {}
        all if all == number => call.title.push("call.detail", Text::own("everywhere")),
        _ => {
            let places: Vec<_> = places.iter().map(|(place, _): &(usize, _)| format!("#{place}")).collect();
            call.title.push("call.detail", format!("({} everywhere)", places.join(", ")));
        }
    }
    if let Some(growing) = call.growing {
        for change in &list {
            growing_change(call, *change, growing, &path);
        }
        know_changes(call, sole, changes);
    } else if call.shows_content() {
        let mut all = FileDiff::default();
        for change in &list {
            // An edit with any other field is laid out like an unknown input.
            if sole.is_none() && !change.has_only(&["old", "new", "everywhere"]) {
                return None;
            }
            all.extend(FileDiff::asked(*change, None)?);
        }
        know_changes(call, sole, changes);
        call.body.extend(all.block(Some(path)));
    } else if list.iter().all(|change| sole.is_some() || change.has_only(&["old", "new", "everywhere"])) {
        know_changes(call, sole, changes);
    }
    Some(())
}

/// Marks the changes as shown. The parts of a sole change are among the call's fields.
fn know_changes(call: &mut CallContext<'_>, sole: Option<FactRef<'_>>, changes: FactRef<'_>) {
    match sole {
        Some(change) => {
            ["old", "new"].iter().filter_map(|name| change.get(name)).for_each(|part| call.know(part));
        }
        None => call.know(changes),
    }
}

/// The number of unchanged lines that are shown after the end of a change that is being written.
const CONTEXT: usize = 3;

/// Shows a change that is being written. Until its end, it is unknown which lines it keeps, so the rest of the old text is shown as
/// unchanged.
fn growing_change(call: &mut CallContext<'_>, change: FactRef<'_>, growing: &GrowingInput, path: &Text) {
    let [old_part, new_part] = ["old", "new"].map(|name| change.get(name).filter(|part| part.is_text()));
    let ((old, old_cut), (new, new_cut)) = (call.end_of(old_part), call.end_of(new_part));
    let is_open = new_part.is_none_or(|new| new.value().map(Value::node) == growing.open);
    let changes = if let Some(cut) = new_cut.or(old_cut) {
        // The start of one of the texts is missing, so they can't be compared.
        call.body.push(elided(cut));
        if new_part.is_some() {
            FileDiff::between("", &new, None)
        } else {
            FileDiff::growing(&old, "", usize::MAX)
        }
    } else if is_open {
        let rest = if call.context.full || new_part.is_none() { usize::MAX } else { CONTEXT };
        FileDiff::growing(&old, &new, rest)
    } else {
        FileDiff::between(&old, &new, None)
    };
    call.body.extend(changes.block(Some(path.clone())));
}

/// Returns a text without its first line, which reports how much is left out.
fn after_cut(text: &str, cut: Cut) -> &str {
    let end = text.strip_prefix(&*left_out(cut.bytes));
    end.map_or(text, |end| end.strip_prefix('\n').unwrap_or(end))
}

/// Returns the block for the part that is left out.
fn elided(cut: Cut) -> Block {
    Block::Elided { lines: cut.lines as u64, bytes: cut.bytes as u64 }
}

pub(super) fn edit_cell(call: &mut CallContext<'_>) -> Option<()> {
    call.file()?;
    call.show_part("call.detail", "mode");
    call.show_phrase("cell", |cell| format!("cell {cell}"));
    if call.shows_content() {
        let source = call.content("source").filter(|text| !text.is_empty());
        call.body.extend(source.map(|text| Block::text("call.input", text.trimmed_end())));
    } else {
        call.leave("source");
    }
    Some(())
}

pub(super) fn find(call: &mut CallContext<'_>) -> Option<()> {
    call.show_part("call.arg", "pattern")?;
    place(call);
    Some(())
}

pub(super) fn grep(call: &mut CallContext<'_>) -> Option<()> {
    let pattern = call.text("pattern")?;
    call.show("call.arg", Text::clean_owned(["\"", &pattern, "\""].concat()));
    place(call);
    for name in ["glob", "type"] {
        call.show_phrase(name, |files| format!("({files})"));
    }
    Some(())
}

/// Shows the folder that is searched.
fn place(call: &mut CallContext<'_>) {
    if let Some(path) = call.path() {
        call.show("call.detail", Text::clean_owned(["in ", &path].concat()));
    }
}

/// Whether a part is a list: a JSON array, or facts that a dialect made.
pub(super) fn is_array(part: &FactRef<'_>) -> bool {
    part.value().is_none_or(|value| value.kind() == ValueKind::Array)
}

/// Returns the extension of a file's name, for highlighting.
pub(super) fn extension(path: &str) -> Option<Text> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_word = !extension.is_empty()
        && extension.len() <= 12
        && extension.bytes().all(|b| b.is_ascii_alphanumeric());
    (!stem.is_empty() && is_word).then(|| Text::clean(extension))
}
