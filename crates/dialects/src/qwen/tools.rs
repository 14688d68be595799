//! The tools of Qwen Code. Many have the names of Gemini CLI's tools, but not all of their parameters.

use std::sync::LazyLock;

use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{FactRef, FactSpec, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

/// Returns the tool of this name, if Qwen Code has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

/// Returns the tool of this name, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    find(name).unwrap_or_else(|| tool::unknown(name))
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const COMMAND: &[FactSpec] = &[
    key("command", "command"),
    key("description", "description"),
    key("directory", "cwd"),
    key("timeout", "timeout_ms"),
    FactSpec::found("is_background", "background", is_true),
];

const FIND: &[FactSpec] = &[FactSpec::word("by", "name"), key("pattern", "pattern"), key("path", "path")];

const FOLDER: &[FactSpec] = &[key("path", "path")];

const CELL: &[FactSpec] = &[
    key("notebook_path", "path"),
    key("edit_mode", "mode"),
    key("cell_id", "cell"),
    key("new_source", "source"),
];

const SKILL: &[FactSpec] = &[key("skill", "skill"), key("name", "skill")];

const JOB: &[FactSpec] = &[key("task_id", "job")];

/// Only present if true.
fn is_true<'a>(_: Value<'a>, value: Value<'a>) -> Option<FactRef<'a>> {
    (value.bool() == Some(true)).then_some(FactRef::Json(value))
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 36] = [
    row("agent", ToolKind::Delegate),
    row("ask_user_question", ToolKind::Ask),
    row("cron_create", ToolKind::Other),
    row("cron_delete", ToolKind::Other),
    row("cron_list", ToolKind::Other),
    row("edit", ToolKind::Edit),
    row("enter_worktree", ToolKind::Other),
    row_of("exit_plan_mode", ToolKind::PlanMode, &[key("plan", "plan")]),
    row("exit_worktree", ToolKind::Other),
    row("get_goal", ToolKind::Other),
    row_of("glob", ToolKind::Find, FIND),
    row("grep_search", ToolKind::Grep),
    row("list_agents", ToolKind::Other),
    row_of("list_directory", ToolKind::List, FOLDER),
    row("loop_wakeup", ToolKind::Other),
    row("lsp", ToolKind::Other),
    row("monitor", ToolKind::Watch),
    row_of("notebook_edit", ToolKind::EditCell, CELL),
    row("read_file", ToolKind::Read),
    row("read_many_files", ToolKind::Read),
    row("read_mcp_resource", ToolKind::Resource),
    row("record_artifact", ToolKind::Other),
    row("report_findings", ToolKind::Other),
    row_of("run_shell_command", ToolKind::Run, COMMAND),
    row("save_memory", ToolKind::Other),
    row("send_message", ToolKind::Message),
    row_of("skill", ToolKind::Skill, SKILL),
    row("task", ToolKind::Delegate),
    row_of("task_stop", ToolKind::EndJob, JOB),
    row("todo_write", ToolKind::Todos),
    row("tool_call", ToolKind::Other),
    row("tool_search", ToolKind::FindTools),
    row("update_goal", ToolKind::Other),
    row("web_fetch", ToolKind::Fetch),
    row("web_search", ToolKind::Fetch),
    row("write_file", ToolKind::Write),
];
