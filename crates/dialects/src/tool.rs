//! The tools of products: what each is called, what it does, and how its input is read.

use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Action, Deed, Fact, InputPart, Item};
use streamfmt_core::json::Value;

/// A tool whose input is read as is usual for what it does.
pub(crate) const fn usual(name: &'static str, deed: Deed) -> Tool {
    Tool { name, deed, parts: parts_of(deed) }
}

/// A row of a table for [`NameTable`](streamfmt_core::name_table::NameTable).
pub(crate) const fn row(name: &'static str, deed: Deed) -> (&'static str, Tool) {
    (name, usual(name, deed))
}

/// The same with an input of its own.
pub(crate) const fn row_of(
    name: &'static str,
    deed: Deed,
    parts: &'static [InputPart],
) -> (&'static str, Tool) {
    (name, Tool { name, deed, parts })
}

/// A value of the record as a fact of this name: the points of a plan are read by our names, whatever theirs are.
pub fn fact(name: &'static str, node: u32) -> (&'static str, Fact) {
    match name {
        "todos" | "tasks" => (name, Fact::Named(node, POINT)),
        // What these were called before.
        "quiet" => ("minor", Fact::Node(node)),
        "say" => ("words", Fact::Node(node)),
        _ => (name, Fact::Node(node)),
    }
}

/// Sets what a call or result does, where only its action is known.
pub fn set_action(item: &mut Item, action: Action) {
    usual("", action.into()).apply_to(item);
}

/// Sets on a call what the tool of this name does, as far as a product is known to have one.
pub fn set_tool(item: &mut Item, name: &str) {
    tool(name).apply_to(item);
    add_server(item, mcp(name));
    item.tool = Some(name.into());
}

/// Sets on a call the server that it asks, and that server's own name of the tool.
pub(crate) fn add_server(call: &mut Item, names: Option<(&str, &str)>) {
    if let Some((server, own)) = names {
        call.data.push(("server", Fact::Text(server.to_owned())));
        call.data.push(("tool", Fact::Text(own.to_owned())));
    }
}

/// What a tool does, as far as its name tells: that of a known product or of an MCP server.
pub fn action_of(name: &str) -> Action {
    tool(name).deed.action()
}

/// The tool of this name.
fn tool(name: &str) -> Tool {
    let known = crate::DIALECTS.rows.iter().find_map(|dialect| (dialect.tool)(name));
    known.unwrap_or_else(|| unknown(name))
}

/// A tool of this name that no table has.
pub(crate) fn unknown(name: &str) -> Tool {
    usual("", if name.starts_with(MCP) { Deed::Mcp } else { Deed::Other })
}

/// How the names of tools of MCP servers begin.
const MCP: &str = "mcp__";

/// Server and tool of an MCP tool's name.
pub(crate) fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(MCP)?.split_once("__")
}

/// The parts of an input that usually asks for this. What one product alone has is in its own table.
const fn parts_of(deed: Deed) -> &'static [InputPart] {
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

pub(crate) const fn key(key: &'static str, name: &'static str) -> InputPart {
    InputPart::key(key, name)
}

const RUN: &[InputPart] = &[
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

pub(crate) const FILE: &[InputPart] = &[
    key("file_path", "path"),
    key("path", "path"),
    key("absolute_path", "path"),
    key("notebook_path", "path"),
];

const READ: &[InputPart] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    InputPart::here(
        "range",
        &[key("offset", "start"), key("limit", "lines"), key("start_line", "start"), key("end_line", "end")],
    ),
    key("pages", "pages"),
];

const RESOURCE: &[InputPart] = &[key("server", "server"), key("uri", "uri")];

const WRITE: &[InputPart] = &[FILE[0], FILE[1], FILE[2], FILE[3], key("content", "content")];

const CHANGE: &[InputPart] =
    &[key("old_string", "old"), key("new_string", "new"), key("replace_all", "everywhere")];

/// A change that names its file.
const FILE_CHANGE: &[InputPart] = &[
    FILE[0],
    FILE[1],
    key("kind", "kind"),
    key("to", "to"),
    key("diff", "diff"),
    key("content", "content"),
    CHANGE[0],
    CHANGE[1],
];

const EDIT: &[InputPart] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    InputPart::within("edits", "changes", CHANGE),
    InputPart::within("changes", "changes", FILE_CHANGE),
    InputPart::sole("changes", CHANGE),
];

const GREP: &[InputPart] = &[
    InputPart::word("by", "content"),
    key("pattern", "pattern"),
    key("query", "pattern"),
    key("path", "path"),
    key("dir_path", "path"),
    key("glob", "glob"),
    key("include", "glob"),
    key("type", "type"),
];

const QUERY: &[InputPart] = &[key("query", "query")];

const FETCH: &[InputPart] = &[key("url", "url"), key("query", "query"), key("prompt", "prompt")];

const DELEGATE: &[InputPart] = &[
    key("subagent_type", "agent"),
    key("agent", "agent"),
    key("agent_type", "agent"),
    key("description", "description"),
    key("run_in_background", "background"),
    key("prompt", "prompt"),
];

/// A point of a list of things to do.
pub(crate) const POINT: &[InputPart] = &[
    key("content", "content"),
    key("subject", "content"),
    key("text", "content"),
    key("step", "content"),
    key("status", "status"),
    InputPart::made("completed", "status", done),
    key("activeForm", "active"),
    key("active", "active"),
    key("id", "id"),
    key("owner", "owner"),
    key("blockedBy", "blocked_by"),
];

/// The status of a point that tells only whether it is done.
fn done(value: Value<'_>) -> Option<String> {
    Some(if value.bool()? { "completed" } else { "pending" }.to_owned())
}

const TODOS: &[InputPart] = &[InputPart::within("todos", "todos", POINT)];

const QUESTION: &[InputPart] = &[
    key("question", "question"),
    key("header", "head"),
    key("multiSelect", "several"),
    InputPart::within("options", "options", &[key("label", "label"), key("description", "description")]),
];

const ASK: &[InputPart] = &[InputPart::within("questions", "questions", QUESTION)];
