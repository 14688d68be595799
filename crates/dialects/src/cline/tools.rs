//! The tools of Cline, by their exact names. Most take several inputs at once.

use std::sync::LazyLock;

use crate::patch;
use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Does, Fact, FactRef, FactSpec, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::name_table::NameTable;

/// Returns the tool of this name, if Cline has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

/// Writes a file, or changes it.
const EDITOR: &str = "editor";

/// Sets the tool of a call, with what it does.
pub(super) fn set(call: &mut Item, name: &str, input: Option<Value<'_>>) {
    let known = find(name);
    let server = name.split_once("__").filter(|_| known.is_none());
    let has_old = input.is_some_and(|input| {
        let [old, line] = input.get_all(["old_text", "insert_line"]);
        [old, line].into_iter().flatten().any(|value| !value.is_null())
    });
    let tool = match known {
        Some(_) if name == EDITOR && has_old => EDIT,
        Some(tool) => tool,
        None => tool::usual("", if server.is_some() { ToolKind::Mcp } else { ToolKind::Other }),
    };
    tool.apply_to(call);
    tool::add_server(call, server);
    call.tool = Some(name.into());
    let patch = input.filter(|_| name == "apply_patch").and_then(|input| {
        let [patch, own] = input.get_all(["patch", "input"]);
        patch.or(own).unwrap_or(input).decode()
    });
    if let (Some(input), Some(changes)) = (input, patch.and_then(|patch| patch::changes_of(&patch))) {
        call.does = Some(Does::Facts { facts: [("changes", changes)].into(), of: input.node() });
    }
}

/// The change of a file by the editor.
const EDIT: Tool = Tool {
    name: EDITOR,
    tool_kind: ToolKind::Edit,
    parts: &[
        key("path", "path"),
        FactSpec::sole("changes", &[key("old_text", "old"), key("new_text", "new")]),
    ],
};

const COMMANDS: &[FactSpec] = &[FactSpec::made("commands", "command", commands), key("command", "command")];

const FILES: &[FactSpec] = &[
    FactSpec::made("files", "path", |files| joined(files, "path", ", ")),
    key("path", "path"),
    FactSpec::found("files", "range", range),
];

const QUERIES: &[FactSpec] = &[
    FactSpec::word("by", "content"),
    FactSpec::made("queries", "pattern", |queries| joined(queries, "query", ", ")),
    key("query", "pattern"),
];

const PAGES: &[FactSpec] = &[
    FactSpec::made("requests", "url", |requests| joined(requests, "url", ", ")),
    FactSpec::made("requests", "prompt", |requests| joined(requests, "prompt", "\n")),
    key("url", "url"),
];

const TASK: &[FactSpec] = &[FactSpec::made("task", "description", first_line), key("task", "prompt")];

const RANGE: &[FactSpec] = &[key("start_line", "start"), key("end_line", "end")];

/// Returns the command lines, one below the other.
fn commands(commands: Value<'_>) -> Option<Fact> {
    joined(commands, "command", "\n")
}

/// Returns the first line of a task, which has no other title.
fn first_line(task: Value<'_>) -> Option<Fact> {
    let task = task.decode()?;
    task.lines().find(|line| !line.trim().is_empty()).map(|line| Fact::Text(line.trim().to_owned()))
}

/// Returns the texts in a list, whose elements are texts or objects with the text under `key`.
fn joined(list: Value<'_>, key: &str, between: &str) -> Option<Fact> {
    let sole = (list.kind() != ValueKind::Array).then_some(list);
    let values = list.items().chain(sole);
    let texts: Vec<_> =
        values.filter_map(|value| value.decode().or_else(|| value.get(key)?.decode())).collect();
    (!texts.is_empty()).then(|| Fact::Text(texts.join(between)))
}

/// Returns the lines of the only file.
fn range<'a>(_: Value<'a>, files: Value<'a>) -> Option<FactRef<'a>> {
    let mut files = files.items();
    let only = files.next().filter(|_| files.next().is_none())?;
    let is_number = |key: &str| only.get(key).is_some_and(|value| value.int().is_some());
    (is_number("start_line") || is_number("end_line")).then_some(FactRef::Named(only, RANGE))
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 9] = [
    row("apply_patch", ToolKind::Edit),
    row_of("ask_question", ToolKind::Ask, &[FactSpec::sole("questions", &[key("question", "question")])]),
    row_of(EDITOR, ToolKind::Write, &[key("path", "path"), key("new_text", "content")]),
    row_of("fetch_web_content", ToolKind::Fetch, PAGES),
    row_of("read_files", ToolKind::Read, FILES),
    row_of("run_commands", ToolKind::Run, COMMANDS),
    row_of("search_codebase", ToolKind::Grep, QUERIES),
    row_of("skills", ToolKind::Skill, &[key("skill", "skill"), key("name", "skill")]),
    row_of("spawn_agent", ToolKind::Delegate, TASK),
];
