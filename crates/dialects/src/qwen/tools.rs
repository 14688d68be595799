//! The tools of Qwen Code. Many have the names of Gemini CLI's tools, but not all of their parameters.

use std::sync::LazyLock;

use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, FactRef, NamedPart};
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

const COMMAND: &[NamedPart] = &[
    key("command", "command"),
    key("description", "description"),
    key("directory", "cwd"),
    key("timeout", "timeout_ms"),
    NamedPart::found("is_background", "background", is_true),
];

const FIND: &[NamedPart] = &[NamedPart::word("by", "name"), key("pattern", "pattern"), key("path", "path")];

const FOLDER: &[NamedPart] = &[key("path", "path")];

const CELL: &[NamedPart] = &[
    key("notebook_path", "path"),
    key("edit_mode", "mode"),
    key("cell_id", "cell"),
    key("new_source", "source"),
];

const SKILL: &[NamedPart] = &[key("skill", "skill"), key("name", "skill")];

const JOB: &[NamedPart] = &[key("task_id", "job")];

/// Only present if true.
fn is_true<'a>(_: Value<'a>, value: Value<'a>) -> Option<FactRef<'a>> {
    (value.bool() == Some(true)).then_some(FactRef::Json(value))
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 36] = [
    row("agent", Deed::Delegate),
    row("ask_user_question", Deed::Ask),
    row("cron_create", Deed::Other),
    row("cron_delete", Deed::Other),
    row("cron_list", Deed::Other),
    row("edit", Deed::Edit),
    row("enter_worktree", Deed::Other),
    row_of("exit_plan_mode", Deed::PlanMode, &[key("plan", "plan")]),
    row("exit_worktree", Deed::Other),
    row("get_goal", Deed::Other),
    row_of("glob", Deed::Find, FIND),
    row("grep_search", Deed::Grep),
    row("list_agents", Deed::Other),
    row_of("list_directory", Deed::List, FOLDER),
    row("loop_wakeup", Deed::Other),
    row("lsp", Deed::Other),
    row("monitor", Deed::Watch),
    row_of("notebook_edit", Deed::EditCell, CELL),
    row("read_file", Deed::Read),
    row("read_many_files", Deed::Read),
    row("read_mcp_resource", Deed::Resource),
    row("record_artifact", Deed::Other),
    row("report_findings", Deed::Other),
    row_of("run_shell_command", Deed::Run, COMMAND),
    row("save_memory", Deed::Other),
    row("send_message", Deed::Message),
    row_of("skill", Deed::Skill, SKILL),
    row("task", Deed::Delegate),
    row_of("task_stop", Deed::EndJob, JOB),
    row("todo_write", Deed::Todos),
    row("tool_call", Deed::Other),
    row("tool_search", Deed::FindTools),
    row("update_goal", Deed::Other),
    row("web_fetch", Deed::Fetch),
    row("web_search", Deed::Fetch),
    row("write_file", Deed::Write),
];
