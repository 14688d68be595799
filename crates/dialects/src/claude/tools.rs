//! The tools of Claude Code, by their exact names.

use std::sync::LazyLock;

use crate::tool::{self, FILE, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, NamedPart};
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

const QUERY: &[NamedPart] = &[key("query", "query")];

const PAGE: &[NamedPart] = &[key("url", "url"), key("prompt", "prompt")];

const JOB: &[NamedPart] = &[
    key("bash_id", "job"),
    key("shell_id", "job"),
    key("task_id", "job"),
    key("filter", "filter"),
    key("stdin", "stdin"),
];

const EDIT_CELL: &[NamedPart] = &[
    FILE[0],
    FILE[1],
    FILE[2],
    FILE[3],
    key("edit_mode", "mode"),
    key("cell_id", "cell"),
    key("new_source", "source"),
];

const FIND: &[NamedPart] =
    &[NamedPart::word("by", "name"), key("pattern", "pattern"), key("path", "path"), key("dir_path", "path")];

const TASK: &[NamedPart] = &[
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

const PLAN_MODE: &[NamedPart] = &[key("plan", "plan")];

const SKILL: &[NamedPart] = &[key("skill", "skill"), key("command", "skill"), key("args", "args")];

/// Tools that ask to plan first: there is no plan yet.
pub(super) const BEGINS_PLAN: [&str; 1] = ["EnterPlanMode"];

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 49] = [
    row("Agent", Deed::Delegate),
    row("AskUserQuestion", Deed::Ask),
    row("Bash", Deed::Run),
    row_of("BashOutput", Deed::Job, JOB),
    row("CronCreate", Deed::Other),
    row("CronDelete", Deed::Other),
    row("CronList", Deed::Other),
    row("Edit", Deed::Edit),
    row_of("EnterPlanMode", Deed::PlanMode, PLAN_MODE),
    row("EnterWorktree", Deed::Other),
    row_of("ExitPlanMode", Deed::PlanMode, PLAN_MODE),
    row("ExitWorktree", Deed::Other),
    row_of("Glob", Deed::Find, FIND),
    row("Grep", Deed::Grep),
    row_of("KillBash", Deed::EndJob, JOB),
    row_of("KillShell", Deed::EndJob, JOB),
    row_of("LS", Deed::List, FILE),
    row("LSP", Deed::Other),
    row("ListAgents", Deed::Other),
    row("ListMcpResourcesTool", Deed::Resource),
    row("Monitor", Deed::Watch),
    row("MultiEdit", Deed::Edit),
    row_of("NotebookEdit", Deed::EditCell, EDIT_CELL),
    row("NotebookRead", Deed::Read),
    row("Read", Deed::Read),
    row("ReadMcpResourceTool", Deed::Resource),
    row("ReportFindings", Deed::Other),
    row("ScheduleWakeup", Deed::Other),
    row("SendMessage", Deed::Message),
    row_of("Skill", Deed::Skill, SKILL),
    row("SlashCommand", Deed::Command),
    row("StructuredOutput", Deed::Answer),
    row("Task", Deed::Delegate),
    row_of("TaskCreate", Deed::Task, TASK),
    row_of("TaskGet", Deed::Task, TASK),
    row("TaskList", Deed::Tasks),
    row_of("TaskOutput", Deed::Job, JOB),
    row_of("TaskStop", Deed::EndJob, JOB),
    row_of("TaskUpdate", Deed::Task, TASK),
    row("TodoRead", Deed::Tasks),
    row("TodoWrite", Deed::Todos),
    row("ToolSearch", Deed::FindTools),
    row_of("WebFetch", Deed::Fetch, PAGE),
    row_of("WebSearch", Deed::Fetch, QUERY),
    row("Workflow", Deed::Delegate),
    row("Write", Deed::Write),
    row_of("exit_plan_mode", Deed::PlanMode, PLAN_MODE),
    row_of("web_fetch", Deed::Fetch, PAGE),
    row_of("web_search", Deed::Fetch, QUERY),
];
