//! The tools of Gemini CLI.

use std::sync::LazyLock;

use crate::tool::{self, FILE, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, Fact, FactRef, NamedPart};
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
    let unknown = || if name.starts_with(MCP) { tool::usual("", Deed::Mcp) } else { tool::unknown(name) };
    find(name).unwrap_or_else(unknown)
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const COMMAND: &[NamedPart] = &[
    key("command", "command"),
    key("description", "description"),
    key("dir_path", "cwd"),
    key("directory", "cwd"),
    NamedPart::found("is_background", "background", is_true),
];

const CHANGE: &[NamedPart] = &[
    key("old_string", "old"),
    key("new_string", "new"),
    NamedPart::found("allow_multiple", "everywhere", is_true),
];

const EDIT: &[NamedPart] = &[FILE[0], FILE[1], NamedPart::sole("changes", CHANGE)];

const FIND: &[NamedPart] =
    &[NamedPart::word("by", "name"), key("pattern", "pattern"), key("dir_path", "path"), key("path", "path")];

const GREP: &[NamedPart] = &[
    NamedPart::word("by", "content"),
    key("pattern", "pattern"),
    key("dir_path", "path"),
    key("path", "path"),
    key("include_pattern", "glob"),
    key("include", "glob"),
];

const FOLDER: &[NamedPart] = &[key("dir_path", "path"), key("path", "path")];

const POINT: &[NamedPart] = &[key("description", "content"), key("status", "status")];

const TODOS: &[NamedPart] = &[NamedPart::within("todos", "todos", POINT)];

const TASK: &[NamedPart] = &[key("agent_name", "agent"), key("prompt", "prompt")];

const SKILL: &[NamedPart] = &[key("name", "skill")];

const PLAN: &[NamedPart] = &[key("plan", "plan")];

const JOB: &[NamedPart] = &[NamedPart::made("pid", "job", number)];

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
    row_of("activate_skill", Deed::Skill, SKILL),
    row("ask_user", Deed::Ask),
    row("complete_task", Deed::Other),
    row_of("enter_plan_mode", Deed::PlanMode, PLAN),
    row_of("exit_plan_mode", Deed::PlanMode, PLAN),
    row("get_internal_docs", Deed::Other),
    row_of("glob", Deed::Find, FIND),
    row("google_web_search", Deed::Fetch),
    row_of("grep_search", Deed::Grep, GREP),
    row_of("invoke_agent", Deed::Delegate, TASK),
    row("list_background_processes", Deed::Tasks),
    row_of("list_directory", Deed::List, FOLDER),
    row_of("read_background_output", Deed::Job, JOB),
    row("read_file", Deed::Read),
    row("read_many_files", Deed::Read),
    row_of("replace", Deed::Edit, EDIT),
    row_of("run_shell_command", Deed::Run, COMMAND),
    row("save_memory", Deed::Other),
    row_of("search_file_content", Deed::Grep, GREP),
    row("update_topic", Deed::Other),
    row("web_fetch", Deed::Fetch),
    row("write_file", Deed::Write),
    row_of("write_todos", Deed::Todos, TODOS),
];
