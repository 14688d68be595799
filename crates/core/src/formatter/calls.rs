//! What is said of calls: the tool, what it is asked to do, and, in full, all of its input.

#![expect(clippy::unnecessary_wraps, reason = "the rows of the table of tools have one type")]

use crate::entry::{Block, Line, ListItem, Point, Span, View};
use crate::formatter::changes::Changes;
use crate::formatter::generic::{self, is_short};
use crate::formatter::standard::Context;
use crate::formatter::{figures, tools};
use crate::json::{Kind, Record, Value};
use crate::text::Text;

/// Longest path that stands in a title, in bytes.
const LONG_PATH: usize = 300;

/// A call while it is being said. Remembers which fields were said, so that in full the rest can follow.
pub(super) struct Call<'a> {
    context: Context<'a>,
    input: Value<'a>,
    /// In full: nodes of the fields that were said.
    known: Vec<u32>,
    /// A known field had a type that it shouldn't: the whole input is said as it is.
    odd: bool,
    hidden: bool,
    title: Line,
    body: Vec<Block>,
}

/// Says a call.
pub(super) fn view(context: Context<'_>) -> Option<View> {
    let Some(input) = context.item.input() else {
        let mut view = View::titled("call", name(context));
        let text = context.item.clean_text();
        if !text.is_empty() {
            view.body.push(Block::text("call.input", text));
        }
        return Some(view);
    };
    // Some calls that the API runs itself hold their input as JSON in a string.
    let parsed = input.decode().and_then(|text| Record::from_line(text.into_owned()).ok());
    let parsed = parsed.as_ref().map(|record| record.root()).filter(|value| value.kind() == Kind::Object);
    let input = parsed.unwrap_or(input);
    let form = tools::form(context.item.tool.as_deref(), context.item.action);
    let mut call = Call {
        context,
        input,
        known: Vec::new(),
        odd: input.kind() != Kind::Object,
        hidden: false,
        title: name(context),
        body: Vec::new(),
    };
    let is_said = !call.odd && (form.call)(&mut call).is_some();
    if !is_said || call.odd {
        call.title = name(context);
        call.body.clear();
        call.known.clear();
        call.hidden = false;
        generic(&mut call);
    }
    call.finish()
}

/// The tool's name: `Bash`, `github · list_issues`.
pub(super) fn name(context: Context<'_>) -> Line {
    // Room for what nearly always follows: an argument, a detail, and the blanks between.
    let mut line = Line { spans: Vec::with_capacity(5) };
    match (context.text("server"), context.text("tool")) {
        (Some(server), Some(own)) if !context.full => {
            line.spans.push(Span::new("tool.server", server));
            line.push("tool.note", Text::own("·"));
            line.push("tool.name", own);
        }
        _ => {
            let tool = context.item.tool.as_deref().map_or(Text::own("call"), tools::name);
            line.spans.push(Span::new("tool.name", tool));
        }
    }
    line
}

impl<'a> Call<'a> {
    /// The string under the first of `keys` that is there.
    fn text(&mut self, keys: &[&str]) -> Option<Text> {
        let value = keys.iter().find_map(|key| self.input.get(key).filter(|value| !value.is_null()))?;
        if let Some(text) = value.str() {
            self.know(value);
            return Some(Text::from_json(text));
        }
        self.odd = true;
        None
    }

    /// The number under `key`, as written.
    fn number(&mut self, key: &str) -> Option<Value<'a>> {
        let value = self.input.get(key).filter(|value| !value.is_null())?;
        if value.kind() == Kind::Number {
            self.know(value);
            return Some(value);
        }
        self.odd = true;
        None
    }

    fn flag(&mut self, key: &str) -> bool {
        let Some(value) = self.input.get(key).filter(|value| !value.is_null()) else { return false };
        if let Some(truth) = value.bool() {
            self.know(value);
            return truth;
        }
        self.odd = true;
        false
    }

    /// Notes that a field was said.
    fn know(&mut self, value: Value<'_>) {
        if self.context.full {
            self.known.push(value.node());
        }
    }

    fn path(&mut self, keys: &[&str]) -> Option<Text> {
        let path = self.text(keys)?;
        Some(self.context.path(path))
    }

    /// Says something in the title, or under it if it is long.
    fn say(&mut self, role: &'static str, text: Text) {
        if is_short(&text) {
            self.title.push(role, text);
        } else {
            self.body.push(Block::text("call.input", text.trimmed_end()));
        }
    }

    /// The file that the call is about.
    fn file(&mut self) -> Option<Text> {
        let path = self.path(&["file_path", "path", "absolute_path", "notebook_path"])?;
        if path.len() <= LONG_PATH {
            self.title.push("call.arg", path.clone());
        } else {
            self.say("call.arg", path.clone());
        }
        Some(path)
    }

    fn finish(mut self) -> Option<View> {
        if self.context.full {
            let cut = self.context.item.record.as_ref().is_some_and(|record| record.is_cut());
            self.body.extend(generic::fields(self.input, &self.known, cut));
        } else if self.hidden {
            return None;
        }
        if self.context.is("partial") {
            self.title.push("call.detail", Text::own("(input incomplete)"));
        }
        Some(View { mark: Some("call"), title: self.title, body: self.body })
    }
}

/// Any tool.
pub(super) fn generic(call: &mut Call<'_>) -> Option<()> {
    let cut = call.context.item.record.as_ref().is_some_and(|record| record.is_cut());
    let laid = generic::input(call.input, cut);
    if let Some(arg) = laid.arg {
        call.title.push("call.arg", arg);
    }
    call.body.extend(laid.blocks);
    call.input.entries().for_each(|(_, value)| call.know(value));
    Some(())
}

/// A tool whose name says it all.
pub(super) fn bare(_: &mut Call<'_>) -> Option<()> {
    Some(())
}

pub(super) fn run(call: &mut Call<'_>) -> Option<()> {
    let command = call.text(&["command", "cmd", "script"])?.trimmed_end();
    match call.text(&["description"]).filter(|text| !text.trim().is_empty()) {
        None if is_short(&command) => call.title.push("call.command", command),
        description => {
            if let Some(text) = description {
                call.say("call.arg", text);
            }
            let lang = Some(Text::own("sh"));
            call.body.push(Block::Code { text: command, lang, start: None, role: "call.command".into() });
        }
    }
    if call.flag("run_in_background") {
        call.title.push("call.detail", Text::own("in the background"));
    }
    if call.flag("dangerouslyDisableSandbox") {
        call.title.push("call.detail", Text::own("outside of the sandbox"));
    }
    let timeout = call.input.get("timeout").and_then(Value::int).and_then(|ms| u64::try_from(ms).ok());
    if let (true, Some(ms)) = (call.context.full, timeout) {
        call.number("timeout");
        call.title.push("call.detail", format!("timeout {}", &*figures::duration(ms)));
    }
    Some(())
}

/// A job in the background that is looked at or stopped.
pub(super) fn job(call: &mut Call<'_>) -> Option<()> {
    let id = call.text(&["bash_id", "shell_id", "task_id"])?;
    call.say("call.arg", id);
    if let Some(filter) = call.text(&["filter"]) {
        call.say("call.detail", filter);
    }
    Some(())
}

pub(super) fn read(call: &mut Call<'_>) -> Option<()> {
    call.file()?;
    let offset = call.number("offset").and_then(Value::int);
    let limit = call.number("limit").and_then(Value::int);
    let range = match (offset, limit) {
        (Some(from), Some(number)) => {
            format!("lines {from}–{}", from.saturating_add(number).saturating_sub(1))
        }
        (Some(from), None) => format!("from line {from}"),
        (None, Some(number)) => format!("first {number} lines"),
        (None, None) => String::new(),
    };
    call.title.push("call.detail", range);
    if let Some(pages) = call.text(&["pages"]) {
        call.say("call.detail", Text::clean_owned(format!("pages {}", &*pages)));
    }
    Some(())
}

pub(super) fn list(call: &mut Call<'_>) -> Option<()> {
    call.file().map(|_| ())
}

pub(super) fn write(call: &mut Call<'_>) -> Option<()> {
    let path = call.file()?;
    if call.context.full {
        let text = call.text(&["content"])?.trimmed_end();
        call.body.push(Block::Code { text, lang: extension(&path), start: None, role: "call.input".into() });
    }
    Some(())
}

pub(super) fn edit(call: &mut Call<'_>) -> Option<()> {
    let path = call.file()?;
    if call.flag("replace_all") {
        call.title.push("call.detail", Text::own("everywhere"));
    }
    if call.context.full {
        let input = call.input;
        let [old, new] = ["old_string", "new_string"].map(|key| {
            let value = input.get(key)?;
            Some((value.node(), value.decode()?))
        });
        let ((old_node, old), (new_node, new)) = (old?, new?);
        call.known.extend([old_node, new_node]);
        call.body.extend(Changes::between(&old, &new, None).block(Some(path)));
    }
    Some(())
}

pub(super) fn multi_edit(call: &mut Call<'_>) -> Option<()> {
    let path = call.file()?;
    let edits = call.input.get("edits").filter(|value| value.kind() == Kind::Array)?;
    let number = edits.items().count() as u64;
    call.title.push("call.detail", figures::count_of(number, "edit", "edits"));
    let everywhere = |edit: &Value<'_>| edit.get("replace_all").and_then(Value::bool) == Some(true);
    let places = || edits.items().zip(1..).filter(|(edit, _)| everywhere(edit)).map(|(_, place)| place);
    match (places().count() as u64, number) {
        (0, _) => {}
        (some, all) if some == all => call.title.push("call.detail", Text::own("everywhere")),
        _ => {
            let places: Vec<_> = places().map(|place: usize| format!("#{place}")).collect();
            call.title.push("call.detail", format!("({} everywhere)", places.join(", ")));
        }
    }
    if call.context.full {
        let mut all = Changes::default();
        for edit in edits.items() {
            let known = ["old_string", "new_string", "replace_all"];
            // An edit with anything else in it is shown as it is.
            if !edit.entries().all(|(key, _)| known.iter().any(|name| key.is(name))) {
                return None;
            }
            let [old, new] = ["old_string", "new_string"].map(|key| edit.get(key).and_then(Value::decode));
            all.extend(Changes::between(&old?, &new?, None));
        }
        call.known.push(edits.node());
        call.body.extend(all.block(Some(path)));
    }
    Some(())
}

pub(super) fn notebook_edit(call: &mut Call<'_>) -> Option<()> {
    call.file()?;
    if let Some(mode) = call.text(&["edit_mode"]) {
        call.say("call.detail", mode);
    }
    if let Some(cell) = call.text(&["cell_id"]) {
        call.say("call.detail", Text::clean_owned(format!("cell {}", &*cell)));
    }
    if call.context.full {
        let source = call.text(&["new_source"]).filter(|text| !text.is_empty());
        call.body.extend(source.map(|text| Block::text("call.input", text.trimmed_end())));
    }
    Some(())
}

pub(super) fn glob(call: &mut Call<'_>) -> Option<()> {
    let pattern = call.text(&["pattern"])?;
    call.say("call.arg", pattern);
    place(call);
    Some(())
}

pub(super) fn grep(call: &mut Call<'_>) -> Option<()> {
    let pattern = call.text(&["pattern", "query"])?;
    call.say("call.arg", Text::clean_owned(["\"", &pattern, "\""].concat()));
    place(call);
    for key in ["glob", "include", "type"] {
        if let Some(files) = call.text(&[key]) {
            call.say("call.detail", Text::clean_owned(format!("({})", &*files)));
        }
    }
    Some(())
}

/// Where a search looks.
fn place(call: &mut Call<'_>) {
    if let Some(path) = call.path(&["path", "dir_path"]) {
        call.say("call.detail", Text::clean_owned(["in ", &path].concat()));
    }
}

pub(super) fn fetch(call: &mut Call<'_>) -> Option<()> {
    let url = call.text(&["url"])?;
    if is_short(&url) {
        call.title.spans.push(Span::new("text", Text::own(" ")));
        call.title.spans.push(Span::new("call.arg", url.clone()).linked(url));
    } else {
        call.say("call.arg", url);
    }
    prompt(call)
}

pub(super) fn web_search(call: &mut Call<'_>) -> Option<()> {
    let query = call.text(&["query"])?;
    call.say("call.arg", query);
    Some(())
}

pub(super) fn delegate(call: &mut Call<'_>) -> Option<()> {
    let agent = call.text(&["subagent_type", "agent", "agent_type"]);
    let description = call.text(&["description"]);
    if agent.is_none() && description.is_none() {
        return None;
    }
    let both = agent.is_some() && description.is_some();
    if let Some(agent) = agent {
        call.say("tool.agent", agent);
    }
    if both {
        call.title.push("tool.note", Text::own("·"));
    }
    if let Some(description) = description {
        call.say("call.arg", description);
    }
    if call.flag("run_in_background") {
        call.title.push("call.detail", Text::own("in the background"));
    }
    prompt(call)
}

/// A prompt for another model: shown in full only.
fn prompt(call: &mut Call<'_>) -> Option<()> {
    if call.context.full {
        let prompt = call.text(&["prompt"]);
        call.body.extend(prompt.map(|prompt| Block::prose("prompt", prompt)));
    }
    Some(())
}

/// A list of things to do: hidden, since the list itself follows.
pub(super) fn todos(call: &mut Call<'_>) -> Option<()> {
    let todos = call.input.get("todos").filter(|value| value.kind() == Kind::Array)?;
    let mut whole = true;
    for todo in todos.items() {
        todo.get("content")?.str()?;
        todo.get("status")?.str()?;
        whole &= todo
            .entries()
            .all(|(key, _)| ["content", "status", "activeForm"].iter().any(|name| key.is(name)));
    }
    // The list says the fields that it knows, no others.
    if whole {
        call.know(todos);
    }
    call.hidden = true;
    Some(())
}

pub(super) fn task_create(call: &mut Call<'_>) -> Option<()> {
    let subject = call.text(&["subject"])?;
    call.say("call.arg", subject);
    Some(())
}

pub(super) fn task_update(call: &mut Call<'_>) -> Option<()> {
    task_get(call)?;
    if let Some(status) = call.text(&["status"]) {
        call.say("call.detail", Text::clean_owned(format!("→ {}", status.replace('_', " "))));
    }
    if let Some(subject) = call.text(&["subject"]) {
        call.say("call.arg", subject);
    }
    if let Some(owner) = call.text(&["owner"]) {
        call.say("call.detail", Text::clean_owned(format!("for {}", &*owner)));
    }
    tasks(call, "addBlocks", "blocks");
    tasks(call, "addBlockedBy", "blocked by");
    if !call.context.full && call.text(&["description"]).is_some() {
        call.say("call.detail", Text::own("with a new description"));
    }
    Some(())
}

/// Other tasks under `key`, by their numbers.
fn tasks(call: &mut Call<'_>, key: &str, words: &str) {
    let Some(value) = call.input.get(key).filter(|value| !value.is_null()) else { return };
    let ids: Vec<_> = value.items().filter_map(|id| id.str().map(Text::from_json)).collect();
    if value.kind() != Kind::Array || ids.len() != value.items().count() {
        call.odd = true;
    } else if !ids.is_empty() {
        call.know(value);
        let ids: Vec<_> = ids.iter().map(|id| format!("#{}", &**id)).collect();
        call.say("call.detail", Text::clean_owned(format!("{words} {}", ids.join(", "))));
    }
}

pub(super) fn task_get(call: &mut Call<'_>) -> Option<()> {
    let id = call.text(&["taskId", "task_id", "id"])?;
    call.say("call.arg", Text::clean_owned(format!("#{}", &*id)));
    Some(())
}

pub(super) fn plan(call: &mut Call<'_>) -> Option<()> {
    if let Some(plan) = call.text(&["plan"]) {
        call.body.push(Block::prose("plan", plan));
    }
    Some(())
}

pub(super) fn ask(call: &mut Call<'_>) -> Option<()> {
    let questions = call.input.get("questions").filter(|value| value.kind() == Kind::Array)?;
    for question in questions.items() {
        let asked = question.get("question")?.str().map(Text::from_json)?;
        let mut line = Line::of("ask.question", asked);
        if question.get("multiSelect").and_then(Value::bool) == Some(true) {
            line.push("call.detail", Text::own("(several)"));
        }
        call.body.push(Block::line(line));
        let mut items = Vec::new();
        for option in question.get("options").into_iter().flat_map(Value::items) {
            let mut line = Line::of("ask.option", option.get("label")?.str().map(Text::from_json)?);
            if let Some(text) = option.get("description").and_then(Value::str) {
                line.push("call.detail", Text::from_json(text));
            }
            items.push(ListItem { point: Point::Plain, line });
        }
        if !items.is_empty() {
            call.body.push(Block::List { items });
        }
    }
    // In full the fields that have no place above, such as heads and previews, follow with the rest.
    if call.context.full && !only_said(questions) {
        return Some(());
    }
    call.know(questions);
    Some(())
}

/// Whether questions hold nothing but what [`ask`] says.
fn only_said(questions: Value<'_>) -> bool {
    questions.items().all(|question| {
        question
            .entries()
            .all(|(key, _)| ["question", "multiSelect", "options"].iter().any(|name| key.is(name)))
            && question.get("options").into_iter().flat_map(Value::items).all(|option| {
                option.entries().all(|(key, _)| ["label", "description"].iter().any(|name| key.is(name)))
            })
    })
}

pub(super) fn skill(call: &mut Call<'_>) -> Option<()> {
    let skill = call.text(&["skill", "command"])?;
    call.say("call.arg", skill);
    if let Some(args) = call.text(&["args"]) {
        call.say("call.detail", args);
    }
    Some(())
}

pub(super) fn tool_search(call: &mut Call<'_>) -> Option<()> {
    let query = call.text(&["query"])?;
    call.say("call.arg", query);
    Some(())
}

/// The extension of a file's name, for highlighting.
pub(super) fn extension(path: &str) -> Option<Text> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_word = !extension.is_empty()
        && extension.len() <= 12
        && extension.bytes().all(|b| b.is_ascii_alphanumeric());
    (!stem.is_empty() && is_word).then(|| Text::clean(extension))
}
