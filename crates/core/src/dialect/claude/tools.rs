//! The tools of Claude Code, by their exact names.

use std::sync::LazyLock;

use crate::dialect::tool::{self, Tool};
use crate::item::{Deed, InputPart};
use crate::name_table::NameTable;

/// The tool of this name, if it is one of its own.
pub(in crate::dialect) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

/// What a tool of this name does, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    let unknown = || Tool::usual("", if tool::is_mcp(name) { Deed::Mcp } else { Deed::Other });
    find(name).unwrap_or_else(unknown)
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const QUERY: &[InputPart] = &[InputPart::key("query", "query")];
const PAGE: &[InputPart] = &[InputPart::key("url", "url"), InputPart::key("prompt", "prompt")];

/// Its tools. A stream may have others.
pub(in crate::dialect) static TOOLS: [(&str, Tool); 49] = [
    Tool::row("Agent", Deed::Delegate),
    Tool::row("AskUserQuestion", Deed::Ask),
    Tool::row("Bash", Deed::Run),
    Tool::row("BashOutput", Deed::Job),
    Tool::row("CronCreate", Deed::Other),
    Tool::row("CronDelete", Deed::Other),
    Tool::row("CronList", Deed::Other),
    Tool::row("Edit", Deed::Edit),
    Tool::row("EnterPlanMode", Deed::PlanMode),
    Tool::row("EnterWorktree", Deed::Other),
    Tool::row("ExitPlanMode", Deed::PlanMode),
    Tool::row("ExitWorktree", Deed::Other),
    Tool::row("Glob", Deed::Find),
    Tool::row("Grep", Deed::Grep),
    Tool::row("KillBash", Deed::EndJob),
    Tool::row("KillShell", Deed::EndJob),
    Tool::row("LS", Deed::List),
    Tool::row("LSP", Deed::Other),
    Tool::row("ListAgents", Deed::Other),
    Tool::row("ListMcpResourcesTool", Deed::Resource),
    Tool::row("Monitor", Deed::Watch),
    Tool::row("MultiEdit", Deed::Edit),
    Tool::row("NotebookEdit", Deed::EditCell),
    Tool::row("NotebookRead", Deed::Read),
    Tool::row("Read", Deed::Read),
    Tool::row("ReadMcpResourceTool", Deed::Resource),
    Tool::row("ReportFindings", Deed::Other),
    Tool::row("ScheduleWakeup", Deed::Other),
    Tool::row("SendMessage", Deed::Message),
    Tool::row("Skill", Deed::Skill),
    Tool::row("SlashCommand", Deed::Command),
    Tool::row("StructuredOutput", Deed::Other),
    Tool::row("Task", Deed::Delegate),
    Tool::row("TaskCreate", Deed::Task),
    Tool::row("TaskGet", Deed::Task),
    Tool::row("TaskList", Deed::Tasks),
    Tool::row("TaskOutput", Deed::Job),
    Tool::row("TaskStop", Deed::EndJob),
    Tool::row("TaskUpdate", Deed::Task),
    Tool::row("TodoRead", Deed::Tasks),
    Tool::row("TodoWrite", Deed::Todos),
    Tool::row("ToolSearch", Deed::FindTools),
    Tool::row_of("WebFetch", Deed::Fetch, PAGE),
    Tool::row_of("WebSearch", Deed::Fetch, QUERY),
    Tool::row("Workflow", Deed::Delegate),
    Tool::row("Write", Deed::Write),
    Tool::row("exit_plan_mode", Deed::PlanMode),
    Tool::row_of("web_fetch", Deed::Fetch, PAGE),
    Tool::row_of("web_search", Deed::Fetch, QUERY),
];
