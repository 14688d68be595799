//! The tools of products: the name of each, its deed, and the parts of its input.

use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Action, Deed, Fact, Item, NamedPart};
use streamfmt_core::json::Value;

/// Returns a tool whose input has the usual parts of its deed.
pub(crate) const fn usual(name: &'static str, deed: Deed) -> Tool {
    Tool { name, deed, parts: parts_of(deed) }
}

/// Returns a row for a [`NameTable`](streamfmt_core::name_table::NameTable): a tool with the usual parts of its deed.
pub(crate) const fn row(name: &'static str, deed: Deed) -> (&'static str, Tool) {
    (name, usual(name, deed))
}

/// Returns a row for a tool with these parts instead of the usual ones.
pub(crate) const fn row_of(
    name: &'static str,
    deed: Deed,
    parts: &'static [NamedPart],
) -> (&'static str, Tool) {
    (name, Tool { name, deed, parts })
}

/// Returns a value of the record as a fact of this name. The keys of to-do items are mapped to our names.
pub fn fact(name: &'static str, node: u32) -> (&'static str, Fact) {
    match name {
        "todos" | "tasks" => (name, Fact::Named(node, POINT)),
        _ => (name, Fact::Node(node)),
    }
}

/// Sets the deed of a call or result of which only the action is known.
pub fn set_action(item: &mut Item, action: Action) {
    usual("", action.into()).apply_to(item);
}

/// Sets the tool of a call, and its deed, if a product has a tool of this name.
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
    tool(name).deed.action()
}

/// Returns the tool of this name of any product.
fn tool(name: &str) -> Tool {
    let known = crate::DIALECTS.rows.iter().find_map(|dialect| (dialect.tool)(name));
    known.unwrap_or_else(|| unknown(name))
}

/// Returns the tool for a name that is in no table.
pub(crate) fn unknown(name: &str) -> Tool {
    usual("", if name.starts_with(MCP) { Deed::Mcp } else { Deed::Other })
}

/// The prefix of the names of MCP tools.
const MCP: &str = "mcp__";

/// Splits the name of an MCP tool into server and tool.
pub(crate) fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(MCP)?.split_once("__")
}

/// Returns the usual parts of the input for a deed. Parts that only one product has are in its table.
const fn parts_of(deed: Deed) -> &'static [NamedPart] {
    match deed {
        Deed::Run | Deed::Watch | Deed::Command => RUN,
        Deed::Read => READ,
        Deed::Resource => RESOURCE,
        Deed::Write => WRITE,
        Deed::Edit => EDIT,
        Deed::Grep => GREP,
        Deed::FindTools => QUERY,
        Deed::Fetch => FETCH,
        Deed::Delegate => DELEGATE,
        Deed::Todos | Deed::Plan => TODOS,
        Deed::Ask => ASK,
        _ => &[],
    }
}

pub(crate) const fn key(key: &'static str, name: &'static str) -> NamedPart {
    NamedPart::key(key, name)
}

const RUN: &[NamedPart] = &[
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

pub(crate) const FILE: &[NamedPart] = &[
    key("file_path", "path"),
    key("path", "path"),
    key("absolute_path", "path"),
    key("notebook_path", "path"),
];

const READ: &[NamedPart] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    NamedPart::here(
        "range",
        &[key("offset", "start"), key("limit", "lines"), key("start_line", "start"), key("end_line", "end")],
    ),
    key("pages", "pages"),
];

const RESOURCE: &[NamedPart] = &[key("server", "server"), key("uri", "uri")];

const WRITE: &[NamedPart] = &[FILE[0], FILE[1], FILE[2], FILE[3], key("content", "content")];

const CHANGE: &[NamedPart] =
    &[key("old_string", "old"), key("new_string", "new"), key("replace_all", "everywhere")];

/// A change that names its file.
const FILE_CHANGE: &[NamedPart] = &[
    FILE[0],
    FILE[1],
    key("kind", "kind"),
    key("to", "to"),
    key("diff", "diff"),
    key("content", "content"),
    CHANGE[0],
    CHANGE[1],
];

const EDIT: &[NamedPart] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    NamedPart::within("edits", "changes", CHANGE),
    NamedPart::within("changes", "changes", FILE_CHANGE),
    NamedPart::sole("changes", CHANGE),
];

const GREP: &[NamedPart] = &[
    NamedPart::word("by", "content"),
    key("pattern", "pattern"),
    key("query", "pattern"),
    key("path", "path"),
    key("dir_path", "path"),
    key("glob", "glob"),
    key("include", "glob"),
    key("type", "type"),
];

const QUERY: &[NamedPart] = &[key("query", "query")];

const FETCH: &[NamedPart] = &[key("url", "url"), key("query", "query"), key("prompt", "prompt")];

const DELEGATE: &[NamedPart] = &[
    key("subagent_type", "agent"),
    key("agent", "agent"),
    key("agent_type", "agent"),
    key("description", "description"),
    key("run_in_background", "background"),
    key("prompt", "prompt"),
];

/// The keys of an item of a to-do list.
pub(crate) const POINT: &[NamedPart] = &[
    key("content", "content"),
    key("subject", "content"),
    key("text", "content"),
    key("step", "content"),
    key("status", "status"),
    NamedPart::made("completed", "status", done),
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

const TODOS: &[NamedPart] = &[NamedPart::within("todos", "todos", POINT)];

const QUESTION: &[NamedPart] = &[
    key("question", "question"),
    key("header", "head"),
    key("multiSelect", "several"),
    NamedPart::within("options", "options", &[key("label", "label"), key("description", "description")]),
];

const ASK: &[NamedPart] = &[NamedPart::within("questions", "questions", QUESTION)];
