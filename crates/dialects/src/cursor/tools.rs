//! The tools of Cursor. A stream names a tool by a key that ends in `ToolCall`, a transcript by the name that the model knows.

use std::sync::LazyLock;

use crate::tool::{self, FILE, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, Fact, FactRef, NamedPart};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

/// Calls a tool of an MCP server.
pub(super) const MCP: &str = "mcp";
/// Presents a plan.
pub(super) const PLAN: &str = "createPlan";
/// Asks the user.
pub(super) const ASK: &str = "askQuestion";
/// Lists a folder.
pub(super) const LIST: &str = "ls";

/// Returns the tool of this name, if Cursor has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const COMMAND: &[NamedPart] = &[
    key("command", "command"),
    key("description", "description"),
    NamedPart::found("workingDirectory", "cwd", filled),
    NamedPart::found("working_directory", "cwd", filled),
    NamedPart::found("isBackground", "background", is_true),
    NamedPart::found("is_background", "background", is_true),
    key("timeout", "timeout_ms"),
];

const FILE_CONTENT: &[NamedPart] =
    &[FILE[0], FILE[1], key("fileText", "content"), key("contents", "content")];

const CHANGE: &[NamedPart] = &[
    key("old_string", "old"),
    key("oldText", "old"),
    key("new_string", "new"),
    key("newText", "new"),
    key("streamContent", "new"),
    NamedPart::found("replace_all", "everywhere", is_true),
];

const EDIT: &[NamedPart] = &[
    FILE[0],
    FILE[1],
    NamedPart::found("strReplace", "changes", |_, change| Some(FactRef::Sole(change, CHANGE))),
    NamedPart::sole("changes", CHANGE),
];

const DELETED: &[NamedPart] = &[key("path", "path"), NamedPart::word("kind", "delete")];

const DELETE: &[NamedPart] = &[FILE[1], NamedPart::sole("changes", DELETED)];

const FIND: &[NamedPart] = &[
    NamedPart::word("by", "name"),
    key("globPattern", "pattern"),
    key("glob_pattern", "pattern"),
    key("pattern", "pattern"),
    key("targetDirectory", "path"),
    key("target_directory", "path"),
];

const LIST_FOLDER: &[NamedPart] = &[FILE[1], key("target_directory", "path")];

const SEARCH: &[NamedPart] = &[NamedPart::word("by", "content"), key("query", "pattern")];

const WEB_SEARCH: &[NamedPart] = &[key("searchTerm", "query"), key("search_term", "query")];

const PAGE: &[NamedPart] = &[key("url", "url")];

const POINT: &[NamedPart] =
    &[key("content", "content"), NamedPart::made("status", "status", status), key("id", "id")];

const TODOS: &[NamedPart] = &[NamedPart::within("todos", "todos", POINT)];

const WHOLE_PLAN: &[NamedPart] = &[key("plan", "plan")];

const TASK: &[NamedPart] = &[
    key("description", "description"),
    key("prompt", "prompt"),
    NamedPart::made("subagentType", "agent", agent),
    key("subagent_type", "agent"),
];

const QUESTION: &[NamedPart] =
    &[key("prompt", "question"), NamedPart::within("options", "options", &[key("label", "label")])];

const QUESTIONS: &[NamedPart] = &[NamedPart::within("questions", "questions", QUESTION)];

const JOB: &[NamedPart] = &[key("shellId", "job"), key("chars", "stdin")];

/// Returns the to-do items of a list, as a fact.
pub(super) fn todos(list: Value<'_>) -> (&'static str, Fact) {
    ("todos", Fact::Named(list.node(), POINT))
}

/// Only present if true.
fn is_true<'a>(_: Value<'a>, value: Value<'a>) -> Option<FactRef<'a>> {
    (value.bool() == Some(true)).then_some(FactRef::Json(value))
}

/// Only present if it isn't empty.
fn filled<'a>(_: Value<'a>, value: Value<'a>) -> Option<FactRef<'a>> {
    value.str().filter(|text| !text.is_blank()).map(|_| FactRef::Json(value))
}

/// Returns the status of a to-do item: `TODO_STATUS_IN_PROGRESS` in a stream, `in_progress` in a transcript.
fn status(status: Value<'_>) -> Option<Fact> {
    let status = status.decode()?;
    Some(Fact::Text(status.strip_prefix("TODO_STATUS_").unwrap_or(&status).to_lowercase()))
}

/// Returns the kind of a sub-agent: `{"explore":{}}` or `{"custom":{"name":"reviewer"}}`.
fn agent(kind: Value<'_>) -> Option<Fact> {
    let text = kind.decode().or_else(|| {
        let (kind, inside) = kind.entries().next()?;
        inside.get("name").and_then(Value::decode).or_else(|| Some(kind.decode()))
    });
    text.map(|text| Fact::Text(text.into_owned()))
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 44] = [
    row("ApplyPatch", Deed::Edit),
    row_of("AskQuestion", Deed::Ask, QUESTIONS),
    row_of("CreatePlan", Deed::PlanMode, WHOLE_PLAN),
    row_of("Delete", Deed::Edit, DELETE),
    row_of("Glob", Deed::Find, FIND),
    row("Grep", Deed::Grep),
    row_of("LS", Deed::List, LIST_FOLDER),
    row("Read", Deed::Read),
    row("ReadLints", Deed::Other),
    row_of("SemanticSearch", Deed::Grep, SEARCH),
    row_of("Shell", Deed::Run, COMMAND),
    row_of("StrReplace", Deed::Edit, EDIT),
    row_of("Task", Deed::Delegate, TASK),
    row_of("TodoWrite", Deed::Todos, TODOS),
    row_of("WebFetch", Deed::Fetch, PAGE),
    row_of("WebSearch", Deed::Fetch, WEB_SEARCH),
    row_of("Write", Deed::Write, FILE_CONTENT),
    row("applyAgentDiff", Deed::Other),
    row_of(ASK, Deed::Ask, QUESTIONS),
    row("await", Deed::Other),
    row("computerUse", Deed::Other),
    row_of(PLAN, Deed::PlanMode, WHOLE_PLAN),
    row_of("delete", Deed::Edit, DELETE),
    row_of("edit", Deed::Edit, EDIT),
    row_of("fetch", Deed::Fetch, PAGE),
    row("generateImage", Deed::Other),
    row("getMcpTools", Deed::FindTools),
    row_of("glob", Deed::Find, FIND),
    row("grep", Deed::Grep),
    row("listMcpResources", Deed::Resource),
    row_of(LIST, Deed::List, LIST_FOLDER),
    row(MCP, Deed::Mcp),
    row("read", Deed::Read),
    row("readLints", Deed::Other),
    row("readMcpResource", Deed::Resource),
    row("readTodos", Deed::Tasks),
    row_of("semSearch", Deed::Grep, SEARCH),
    row_of("shell", Deed::Run, COMMAND),
    row_of("task", Deed::Delegate, TASK),
    row_of("updateTodos", Deed::Todos, TODOS),
    row_of("webFetch", Deed::Fetch, PAGE),
    row_of("webSearch", Deed::Fetch, WEB_SEARCH),
    row_of("write", Deed::Write, FILE_CONTENT),
    row_of("writeShellStdin", Deed::Job, JOB),
];

/// Returns the tool of this name, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    find(name).unwrap_or_else(|| tool::unknown(name))
}
