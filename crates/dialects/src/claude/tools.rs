//! The tools of Claude Code, by their exact names.

use std::sync::LazyLock;

use crate::tool::{self, FILE, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{FactSpec, ToolKind};
use streamfmt_core::name_table::NameTable;

/// Returns the tool of this name, if Claude Code has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

/// Returns the tool of this name, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    find(name).unwrap_or_else(|| tool::unknown(name))
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const QUERY: &[FactSpec] = &[key("query", "query")];

const PAGE: &[FactSpec] = &[key("url", "url"), key("prompt", "prompt")];

const JOB: &[FactSpec] = &[
    key("bash_id", "job"),
    key("shell_id", "job"),
    key("task_id", "job"),
    key("filter", "filter"),
    key("stdin", "stdin"),
];

const EDIT_CELL: &[FactSpec] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    key("edit_mode", "mode"),
    key("cell_id", "cell"),
    key("new_source", "source"),
];

const FIND: &[FactSpec] =
    &[FactSpec::word("by", "name"), key("pattern", "pattern"), key("path", "path"), key("dir_path", "path")];

const TASK: &[FactSpec] = &[
    key("taskId", "id"),
    key("task_id", "id"),
    key("id", "id"),
    key("subject", "subject"),
    key("status", "status"),
    key("owner", "owner"),
    key("addBlocks", "blocks"),
    key("addBlockedBy", "blocked_by"),
    key("description", "description"),
];

const PLAN_MODE: &[FactSpec] = &[key("plan", "plan")];

const SKILL: &[FactSpec] = &[key("skill", "skill"), key("command", "skill"), key("args", "args")];

/// Tools that ask to plan first: there is no plan yet.
pub(super) const BEGINS_PLAN: [&str; 1] = ["EnterPlanMode"];

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 49] = [
    row("Agent", ToolKind::Delegate),
    row("AskUserQuestion", ToolKind::Ask),
    row("Bash", ToolKind::Run),
    row_of("BashOutput", ToolKind::Job, JOB),
    row("CronCreate", ToolKind::Other),
    row("CronDelete", ToolKind::Other),
    row("CronList", ToolKind::Other),
    row("Edit", ToolKind::Edit),
    row_of("EnterPlanMode", ToolKind::PlanMode, PLAN_MODE),
    row("EnterWorktree", ToolKind::Other),
    row_of("ExitPlanMode", ToolKind::PlanMode, PLAN_MODE),
    row("ExitWorktree", ToolKind::Other),
    row_of("Glob", ToolKind::Find, FIND),
    row("Grep", ToolKind::Grep),
    row_of("KillBash", ToolKind::EndJob, JOB),
    row_of("KillShell", ToolKind::EndJob, JOB),
    row_of("LS", ToolKind::List, FILE),
    row("LSP", ToolKind::Other),
    row("ListAgents", ToolKind::Other),
    row("ListMcpResourcesTool", ToolKind::Resource),
    row("Monitor", ToolKind::Watch),
    row("MultiEdit", ToolKind::Edit),
    row_of("NotebookEdit", ToolKind::EditCell, EDIT_CELL),
    row("NotebookRead", ToolKind::Read),
    row("Read", ToolKind::Read),
    row("ReadMcpResourceTool", ToolKind::Resource),
    row("ReportFindings", ToolKind::Other),
    row("ScheduleWakeup", ToolKind::Other),
    row("SendMessage", ToolKind::Message),
    row_of("Skill", ToolKind::Skill, SKILL),
    row("SlashCommand", ToolKind::Command),
    row("StructuredOutput", ToolKind::Answer),
    row("Task", ToolKind::Delegate),
    row_of("TaskCreate", ToolKind::Task, TASK),
    row_of("TaskGet", ToolKind::Task, TASK),
    row("TaskList", ToolKind::Tasks),
    row_of("TaskOutput", ToolKind::Job, JOB),
    row_of("TaskStop", ToolKind::EndJob, JOB),
    row_of("TaskUpdate", ToolKind::Task, TASK),
    row("TodoRead", ToolKind::Tasks),
    row("TodoWrite", ToolKind::Todos),
    row("ToolSearch", ToolKind::FindTools),
    row_of("WebFetch", ToolKind::Fetch, PAGE),
    row_of("WebSearch", ToolKind::Fetch, QUERY),
    row("Workflow", ToolKind::Delegate),
    row("Write", ToolKind::Write),
    row_of("exit_plan_mode", ToolKind::PlanMode, PLAN_MODE),
    row_of("web_fetch", ToolKind::Fetch, PAGE),
    row_of("web_search", ToolKind::Fetch, QUERY),
];
