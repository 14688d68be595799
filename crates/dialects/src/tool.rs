//! The tools of products: the name of each, its kind, and the parts of its input.

use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Action, Fact, FactSpec, Item, ToolKind};
use streamfmt_core::json::Value;

/// Returns a tool whose input has the usual parts of its kind.
pub(crate) const fn usual(name: &'static str, tool_kind: ToolKind) -> Tool {
    Tool { name, tool_kind, parts: parts_of(tool_kind) }
}

/// Returns a row for a [`NameTable`](streamfmt_core::name_table::NameTable): a tool with the usual parts of its kind.
pub(crate) const fn row(name: &'static str, tool_kind: ToolKind) -> (&'static str, Tool) {
    (name, usual(name, tool_kind))
}

/// Returns a row for a tool with these parts instead of the usual ones.
pub(crate) const fn row_of(
    name: &'static str,
    tool_kind: ToolKind,
    parts: &'static [FactSpec],
) -> (&'static str, Tool) {
    (name, Tool { name, tool_kind, parts })
}

/// Returns a value of the record as a fact of this name. The keys of to-do items are mapped to our names.
pub fn fact(name: &'static str, node: u32) -> (&'static str, Fact) {
    match name {
        "todos" | "tasks" => (name, Fact::Named(node, POINT)),
        _ => (name, Fact::Node(node)),
    }
}

/// Sets the kind of a call or result of which only the action is known.
pub fn set_action(item: &mut Item, action: Action) {
    usual("", action.into()).apply_to(item);
}

/// Sets the tool of a call, and its kind, if a product has a tool of this name.
pub fn set_tool(item: &mut Item, name: &str) {
    tool(name).apply_to(item);
    add_server(item, mcp(name));
    item.tool = Some(name.into());
}

/// Sets the MCP server of a call, and the server's name for the tool.
pub(crate) fn add_server(call: &mut Item, names: Option<(&str, &str)>) {
    if let Some((server, own)) = names {
        call.data.push(("server", Fact::Text(server.to_owned())));
        call.data.push(("tool", Fact::Text(own.to_owned())));
    }
}

/// Returns the action of a tool, as far as its name determines it: as one of a known product or of an MCP server.
pub fn action_of(name: &str) -> Action {
    tool(name).tool_kind.action()
}

/// Returns the tool of this name of any product.
fn tool(name: &str) -> Tool {
    let known = crate::DIALECTS.rows.iter().find_map(|dialect| (dialect.tool)(name));
    known.unwrap_or_else(|| unknown(name))
}

/// Returns the tool for a name that is in no table.
pub(crate) fn unknown(name: &str) -> Tool {
    usual("", if name.starts_with(MCP) { ToolKind::Mcp } else { ToolKind::Other })
}

/// The prefix of the names of MCP tools.
const MCP: &str = "mcp__";

/// Splits the name of an MCP tool into server and tool.
pub(crate) fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(MCP)?.split_once("__")
}

/// Returns the usual parts of the input for a kind of tool. Parts that only one product has are in its table.
const fn parts_of(tool_kind: ToolKind) -> &'static [FactSpec] {
    match tool_kind {
        ToolKind::Run | ToolKind::Watch | ToolKind::Command => RUN,
        ToolKind::Read => READ,
        ToolKind::Resource => RESOURCE,
        ToolKind::Write => WRITE,
        ToolKind::Edit => EDIT,
        ToolKind::Grep => GREP,
        ToolKind::FindTools => QUERY,
        ToolKind::Fetch => FETCH,
        ToolKind::Delegate => DELEGATE,
        ToolKind::Todos | ToolKind::Plan => TODOS,
        ToolKind::Ask => ASK,
        _ => &[],
    }
}

pub(crate) const fn key(key: &'static str, name: &'static str) -> FactSpec {
    FactSpec::key(key, name)
}

const RUN: &[FactSpec] = &[
    key("command", "command"),
    key("cmd", "command"),
    key("script", "command"),
    key("description", "description"),
    key("run_in_background", "background"),
    key("dangerouslyDisableSandbox", "unsandboxed"),
    key("timeout", "timeout_ms"),
    key("cwd", "cwd"),
    key("workdir", "cwd"),
];

pub(crate) const FILE: &[FactSpec] = &[
    key("file_path", "path"),
    key("path", "path"),
    key("absolute_path", "path"),
    key("notebook_path", "path"),
];

const READ: &[FactSpec] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    FactSpec::here(
        "range",
        &[key("offset", "start"), key("limit", "lines"), key("start_line", "start"), key("end_line", "end")],
    ),
    key("pages", "pages"),
];

const RESOURCE: &[FactSpec] = &[key("server", "server"), key("uri", "uri")];

const WRITE: &[FactSpec] = &[FILE[0], FILE[1], FILE[2], FILE[3], key("content", "content")];

const CHANGE: &[FactSpec] =
    &[key("old_string", "old"), key("new_string", "new"), key("replace_all", "everywhere")];

/// A change that names its file.
const FILE_CHANGE: &[FactSpec] = &[
    FILE[0],
    FILE[1],
    key("kind", "kind"),
    key("to", "to"),
    key("diff", "diff"),
    key("content", "content"),
    CHANGE[0],
    CHANGE[1],
];

const EDIT: &[FactSpec] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    FactSpec::within("edits", "changes", CHANGE),
    FactSpec::within("changes", "changes", FILE_CHANGE),
    FactSpec::sole("changes", CHANGE),
];

const GREP: &[FactSpec] = &[
    FactSpec::word("by", "content"),
    key("pattern", "pattern"),
    key("query", "pattern"),
    key("path", "path"),
    key("dir_path", "path"),
    key("glob", "glob"),
    key("include", "glob"),
    key("type", "type"),
];

const QUERY: &[FactSpec] = &[key("query", "query")];

const FETCH: &[FactSpec] = &[key("url", "url"), key("query", "query"), key("prompt", "prompt")];

const DELEGATE: &[FactSpec] = &[
    key("subagent_type", "agent"),
    key("agent", "agent"),
    key("agent_type", "agent"),
    key("description", "description"),
    key("run_in_background", "background"),
    key("prompt", "prompt"),
];

/// The keys of an item of a to-do list.
pub(crate) const POINT: &[FactSpec] = &[
    key("content", "content"),
    key("subject", "content"),
    key("text", "content"),
    key("step", "content"),
    key("status", "status"),
    FactSpec::made("completed", "status", done),
    key("activeForm", "active"),
    key("active", "active"),
    key("id", "id"),
    key("owner", "owner"),
    key("blockedBy", "blocked_by"),
];

/// Returns the status of a to-do item that has only a Boolean for it.
fn done(value: Value<'_>) -> Option<Fact> {
    Some(Fact::Text(if value.bool()? { "completed" } else { "pending" }.to_owned()))
}

const TODOS: &[FactSpec] = &[FactSpec::within("todos", "todos", POINT)];

const QUESTION: &[FactSpec] = &[
    key("question", "question"),
    key("header", "head"),
    key("multiSelect", "several"),
    FactSpec::within("options", "options", &[key("label", "label"), key("description", "description")]),
];

const ASK: &[FactSpec] = &[FactSpec::within("questions", "questions", QUESTION)];
