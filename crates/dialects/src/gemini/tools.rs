//! The tools of Gemini CLI.

use std::sync::LazyLock;

use crate::tool::{self, FILE, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Fact, FactRef, FactSpec, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

/// The prefix of the tools of MCP servers: `mcp_server_tool`.
pub(super) const MCP: &str = "mcp_";

/// Returns the tool of this name, if Gemini CLI has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

/// Returns the tool of this name, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    let unknown = || if name.starts_with(MCP) { tool::usual("", ToolKind::Mcp) } else { tool::unknown(name) };
    find(name).unwrap_or_else(unknown)
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const COMMAND: &[FactSpec] = &[
    key("command", "command"),
    key("description", "description"),
    key("dir_path", "cwd"),
    key("directory", "cwd"),
    FactSpec::found("is_background", "background", is_true),
];

const CHANGE: &[FactSpec] = &[
    key("old_string", "old"),
    key("new_string", "new"),
    FactSpec::found("allow_multiple", "everywhere", is_true),
];

const EDIT: &[FactSpec] = &[FILE[0], FILE[1], FactSpec::sole("changes", CHANGE)];

const FIND: &[FactSpec] =
    &[FactSpec::word("by", "name"), key("pattern", "pattern"), key("dir_path", "path"), key("path", "path")];

const GREP: &[FactSpec] = &[
    FactSpec::word("by", "content"),
    key("pattern", "pattern"),
    key("dir_path", "path"),
    key("path", "path"),
    key("include_pattern", "glob"),
    key("include", "glob"),
];

const FOLDER: &[FactSpec] = &[key("dir_path", "path"), key("path", "path")];

const POINT: &[FactSpec] = &[key("description", "content"), key("status", "status")];

const TODOS: &[FactSpec] = &[FactSpec::within("todos", "todos", POINT)];

const TASK: &[FactSpec] = &[key("agent_name", "agent"), key("prompt", "prompt")];

const SKILL: &[FactSpec] = &[key("name", "skill")];

const PLAN: &[FactSpec] = &[key("plan", "plan")];

const JOB: &[FactSpec] = &[FactSpec::made("pid", "job", number)];

/// Returns the to-do items of a list, as a fact.
pub(super) fn todos(list: Value<'_>) -> (&'static str, Fact) {
    ("todos", Fact::Named(list.node(), POINT))
}

/// Only present if true.
fn is_true<'a>(_: Value<'a>, value: Value<'a>) -> Option<FactRef<'a>> {
    (value.bool() == Some(true)).then_some(FactRef::Json(value))
}

/// Returns a number as text.
fn number(value: Value<'_>) -> Option<Fact> {
    Some(Fact::Text(value.int()?.to_string()))
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 23] = [
    row_of("activate_skill", ToolKind::Skill, SKILL),
    row("ask_user", ToolKind::Ask),
    row("complete_task", ToolKind::Other),
    row_of("enter_plan_mode", ToolKind::PlanMode, PLAN),
    row_of("exit_plan_mode", ToolKind::PlanMode, PLAN),
    row("get_internal_docs", ToolKind::Other),
    row_of("glob", ToolKind::Find, FIND),
    row("google_web_search", ToolKind::Fetch),
    row_of("grep_search", ToolKind::Grep, GREP),
    row_of("invoke_agent", ToolKind::Delegate, TASK),
    row("list_background_processes", ToolKind::Tasks),
    row_of("list_directory", ToolKind::List, FOLDER),
    row_of("read_background_output", ToolKind::Job, JOB),
    row("read_file", ToolKind::Read),
    row("read_many_files", ToolKind::Read),
    row_of("replace", ToolKind::Edit, EDIT),
    row_of("run_shell_command", ToolKind::Run, COMMAND),
    row("save_memory", ToolKind::Other),
    row_of("search_file_content", ToolKind::Grep, GREP),
    row("update_topic", ToolKind::Other),
    row("web_fetch", ToolKind::Fetch),
    row("write_file", ToolKind::Write),
    row_of("write_todos", ToolKind::Todos, TODOS),
];
