//! The tools of pi, and of the agents that keep its store, by their exact names.

use std::sync::LazyLock;

use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Fact, FactSpec, Item, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

/// Returns the tool of this name, if it is one of them.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

/// Sets the tool of a call.
pub(super) fn set(call: &mut Item, name: &str) {
    find(name).unwrap_or_else(|| tool::unknown(name)).apply_to(call);
    tool::add_server(call, tool::mcp(name));
    call.tool = Some(name.into());
}

const CHANGE: &[FactSpec] = &[
    key("oldText", "old"),
    key("newText", "new"),
    key("old_text", "old"),
    key("new_text", "new"),
    key("all", "everywhere"),
];

const EDIT: &[FactSpec] = &[
    key("path", "path"),
    key("file_path", "path"),
    FactSpec::within("edits", "changes", CHANGE),
    FactSpec::sole("changes", CHANGE),
];

const RUN: &[FactSpec] = &[
    key("command", "command"),
    key("cwd", "cwd"),
    key("workdir", "cwd"),
    key("background", "background"),
    FactSpec::made("timeout", "timeout_ms", milliseconds),
];

const FIND: &[FactSpec] = &[FactSpec::word("by", "name"), key("pattern", "pattern"), key("path", "path")];

const TASK: &[FactSpec] = &[
    key("agent", "agent"),
    key("agentId", "agent"),
    key("label", "description"),
    key("description", "description"),
    key("task", "prompt"),
    key("prompt", "prompt"),
];

/// Returns the milliseconds of a timeout in seconds.
fn milliseconds(seconds: Value<'_>) -> Option<Fact> {
    seconds.float().map(|seconds| Fact::Float(seconds * 1_000.0))
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 15] = [
    row("ask", ToolKind::Ask),
    row_of("bash", ToolKind::Run, RUN),
    row_of("edit", ToolKind::Edit, EDIT),
    row_of("exec", ToolKind::Run, RUN),
    row("fetch", ToolKind::Fetch),
    row_of("find", ToolKind::Find, FIND),
    row("grep", ToolKind::Grep),
    row_of("ls", ToolKind::List, &[key("path", "path")]),
    row("read", ToolKind::Read),
    row_of("sessions_spawn", ToolKind::Delegate, TASK),
    row_of("task", ToolKind::Delegate, TASK),
    row("todo_write", ToolKind::Todos),
    row("web_fetch", ToolKind::Fetch),
    row("web_search", ToolKind::Fetch),
    row("write", ToolKind::Write),
];
