//! The tools of Claude Code, by their exact names.

use std::sync::LazyLock;

use crate::tool::{self, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, InputPart};
use streamfmt_core::name_table::NameTable;

/// The tool of this name, if it is one of its own.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

/// What a tool of this name does, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    let unknown = || tool::usual("", if tool::is_mcp(name) { Deed::Mcp } else { Deed::Other });
    find(name).unwrap_or_else(unknown)
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const QUERY: &[InputPart] = &[InputPart::key("query", "query")];
const PAGE: &[InputPart] = &[InputPart::key("url", "url"), InputPart::key("prompt", "prompt")];

/// Its tools. A stream may have others.
pub(crate) static TOOLS: [(&str, Tool); 49] = [
    row("Agent", Deed::Delegate),
    row("AskUserQuestion", Deed::Ask),
    row("Bash", Deed::Run),
    row("BashOutput", Deed::Job),
    row("CronCreate", Deed::Other),
    row("CronDelete", Deed::Other),
    row("CronList", Deed::Other),
    row("Edit", Deed::Edit),
    row("EnterPlanMode", Deed::PlanMode),
    row("EnterWorktree", Deed::Other),
    row("ExitPlanMode", Deed::PlanMode),
    row("ExitWorktree", Deed::Other),
    row("Glob", Deed::Find),
    row("Grep", Deed::Grep),
    row("KillBash", Deed::EndJob),
    row("KillShell", Deed::EndJob),
    row("LS", Deed::List),
    row("LSP", Deed::Other),
    row("ListAgents", Deed::Other),
    row("ListMcpResourcesTool", Deed::Resource),
    row("Monitor", Deed::Watch),
    row("MultiEdit", Deed::Edit),
    row("NotebookEdit", Deed::EditCell),
    row("NotebookRead", Deed::Read),
    row("Read", Deed::Read),
    row("ReadMcpResourceTool", Deed::Resource),
    row("ReportFindings", Deed::Other),
    row("ScheduleWakeup", Deed::Other),
    row("SendMessage", Deed::Message),
    row("Skill", Deed::Skill),
    row("SlashCommand", Deed::Command),
    row("StructuredOutput", Deed::Other),
    row("Task", Deed::Delegate),
    row("TaskCreate", Deed::Task),
    row("TaskGet", Deed::Task),
    row("TaskList", Deed::Tasks),
    row("TaskOutput", Deed::Job),
    row("TaskStop", Deed::EndJob),
    row("TaskUpdate", Deed::Task),
    row("TodoRead", Deed::Tasks),
    row("TodoWrite", Deed::Todos),
    row("ToolSearch", Deed::FindTools),
    row_of("WebFetch", Deed::Fetch, PAGE),
    row_of("WebSearch", Deed::Fetch, QUERY),
    row("Workflow", Deed::Delegate),
    row("Write", Deed::Write),
    row("exit_plan_mode", Deed::PlanMode),
    row_of("web_fetch", Deed::Fetch, PAGE),
    row_of("web_search", Deed::Fetch, QUERY),
];
