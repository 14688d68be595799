//! The tools of Cursor. A stream names a tool by a key that ends in `ToolCall`, a transcript by the name that the model knows.

use std::sync::LazyLock;

use crate::tool::{self, FILE, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Fact, FactRef, FactSpec, ToolKind};
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

const COMMAND: &[FactSpec] = &[
    key("command", "command"),
    key("description", "description"),
    FactSpec::found("workingDirectory", "cwd", filled),
    FactSpec::found("working_directory", "cwd", filled),
    FactSpec::found("isBackground", "background", is_true),
    FactSpec::found("is_background", "background", is_true),
    key("timeout", "timeout_ms"),
];

const FILE_CONTENT: &[FactSpec] = &[FILE[0], FILE[1], key("fileText", "content"), key("contents", "content")];

const CHANGE: &[FactSpec] = &[
    key("old_string", "old"),
    key("oldText", "old"),
    key("new_string", "new"),
    key("newText", "new"),
    key("streamContent", "new"),
    FactSpec::found("replace_all", "everywhere", is_true),
];

const EDIT: &[FactSpec] = &[
    FILE[0],
    FILE[1],
    FactSpec::found("strReplace", "changes", |_, change| Some(FactRef::Sole(change, CHANGE))),
    FactSpec::sole("changes", CHANGE),
];

const DELETED: &[FactSpec] = &[key("path", "path"), FactSpec::word("kind", "delete")];

const DELETE: &[FactSpec] = &[FILE[1], FactSpec::sole("changes", DELETED)];

const FIND: &[FactSpec] = &[
    FactSpec::word("by", "name"),
    key("globPattern", "pattern"),
    key("glob_pattern", "pattern"),
    key("pattern", "pattern"),
    key("targetDirectory", "path"),
    key("target_directory", "path"),
];

const LIST_FOLDER: &[FactSpec] = &[FILE[1], key("target_directory", "path")];

const SEARCH: &[FactSpec] = &[FactSpec::word("by", "content"), key("query", "pattern")];

const WEB_SEARCH: &[FactSpec] = &[key("searchTerm", "query"), key("search_term", "query")];

const PAGE: &[FactSpec] = &[key("url", "url")];

const POINT: &[FactSpec] =
    &[key("content", "content"), FactSpec::made("status", "status", status), key("id", "id")];

const TODOS: &[FactSpec] = &[FactSpec::within("todos", "todos", POINT)];

const WHOLE_PLAN: &[FactSpec] = &[key("plan", "plan")];

const TASK: &[FactSpec] = &[
    key("description", "description"),
    key("prompt", "prompt"),
    FactSpec::made("subagentType", "agent", agent),
    key("subagent_type", "agent"),
];

const QUESTION: &[FactSpec] =
    &[key("prompt", "question"), FactSpec::within("options", "options", &[key("label", "label")])];

const QUESTIONS: &[FactSpec] = &[FactSpec::within("questions", "questions", QUESTION)];

const JOB: &[FactSpec] = &[key("shellId", "job"), key("chars", "stdin")];

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
    row("ApplyPatch", ToolKind::Edit),
    row_of("AskQuestion", ToolKind::Ask, QUESTIONS),
    row_of("CreatePlan", ToolKind::PlanMode, WHOLE_PLAN),
    row_of("Delete", ToolKind::Edit, DELETE),
    row_of("Glob", ToolKind::Find, FIND),
    row("Grep", ToolKind::Grep),
    row_of("LS", ToolKind::List, LIST_FOLDER),
    row("Read", ToolKind::Read),
    row("ReadLints", ToolKind::Other),
    row_of("SemanticSearch", ToolKind::Grep, SEARCH),
    row_of("Shell", ToolKind::Run, COMMAND),
    row_of("StrReplace", ToolKind::Edit, EDIT),
    row_of("Task", ToolKind::Delegate, TASK),
    row_of("TodoWrite", ToolKind::Todos, TODOS),
    row_of("WebFetch", ToolKind::Fetch, PAGE),
    row_of("WebSearch", ToolKind::Fetch, WEB_SEARCH),
    row_of("Write", ToolKind::Write, FILE_CONTENT),
    row("applyAgentDiff", ToolKind::Other),
    row_of(ASK, ToolKind::Ask, QUESTIONS),
    row("await", ToolKind::Other),
    row("computerUse", ToolKind::Other),
    row_of(PLAN, ToolKind::PlanMode, WHOLE_PLAN),
    row_of("delete", ToolKind::Edit, DELETE),
    row_of("edit", ToolKind::Edit, EDIT),
    row_of("fetch", ToolKind::Fetch, PAGE),
    row("generateImage", ToolKind::Other),
    row("getMcpTools", ToolKind::FindTools),
    row_of("glob", ToolKind::Find, FIND),
    row("grep", ToolKind::Grep),
    row("listMcpResources", ToolKind::Resource),
    row_of(LIST, ToolKind::List, LIST_FOLDER),
    row(MCP, ToolKind::Mcp),
    row("read", ToolKind::Read),
    row("readLints", ToolKind::Other),
    row("readMcpResource", ToolKind::Resource),
    row("readTodos", ToolKind::Tasks),
    row_of("semSearch", ToolKind::Grep, SEARCH),
    row_of("shell", ToolKind::Run, COMMAND),
    row_of("task", ToolKind::Delegate, TASK),
    row_of("updateTodos", ToolKind::Todos, TODOS),
    row_of("webFetch", ToolKind::Fetch, PAGE),
    row_of("webSearch", ToolKind::Fetch, WEB_SEARCH),
    row_of("write", ToolKind::Write, FILE_CONTENT),
    row_of("writeShellStdin", ToolKind::Job, JOB),
];

/// Returns the tool of this name, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    find(name).unwrap_or_else(|| tool::unknown(name))
}
