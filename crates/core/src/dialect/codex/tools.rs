//! The tools of Codex, by their exact names. The stream of `codex exec --json` has types of items in their place: those are
//! called by the tools of newer versions that they come from.

use std::sync::LazyLock;

use crate::dialect::tool::{self, Tool};
use crate::item::{Deed, InputPart};
use crate::json::Value;
use crate::name_table::NameTable;

use super::command;

/// Runs a command.
pub(super) const COMMAND: &str = "exec_command";
/// Changes files.
pub(super) const PATCH: &str = "apply_patch";
/// Searches the web, or gets a page.
pub(super) const WEB: &str = "web_search";
/// Looks at a picture.
pub(super) const IMAGE: &str = "view_image";
/// Ends a sub-agent.
pub(super) const CLOSE: &str = "close_agent";
/// Waits for sub-agents, or, in code mode, for a script.
pub(super) const WAIT: [&str; 2] = ["wait", "wait_agent"];
/// Finds tools that aren't loaded yet.
pub(super) const TOOLS_SEARCH: &str = "tool_search";
/// Runs a script that calls other tools.
pub(super) const SCRIPT: &str = "exec";
/// Runs a command, in versions before 0.80 and as a tool that the API knows.
pub(super) const SHELL: [&str; 2] = ["shell", "local_shell"];

/// The tool of this name, if it is one of its own.
pub(in crate::dialect) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const COMMANDS: &[InputPart] = &[
    InputPart::key("cmd", "command"),
    InputPart::made("command", "command", command::meant),
    InputPart::key("justification", "description"),
    InputPart::key("workdir", "cwd"),
    InputPart::key("working_directory", "cwd"),
    InputPart::key("timeout_ms", "timeout_ms"),
];

const STDIN: &[InputPart] =
    &[InputPart::made("session_id", "job", written), InputPart::key("chars", "stdin")];

const PLAN: &[InputPart] = &[InputPart::within("plan", "todos", tool::TODO)];

const TASK: &[InputPart] = &[
    InputPart::key("agent_type", "agent"),
    InputPart::key("task_name", "description"),
    InputPart::key("message", "prompt"),
];

/// A number or a word as it is written.
fn written(value: Value<'_>) -> Option<String> {
    value.decode().map(Into::into).or_else(|| value.int().map(|number| number.to_string()))
}

/// Its tools. A stream may have others.
pub(in crate::dialect) static TOOLS: [(&str, Tool); 32] = [
    Tool::row(PATCH, Deed::Edit),
    Tool::row(CLOSE, Deed::Other),
    Tool::row("create_goal", Deed::Other),
    Tool::row(SCRIPT, Deed::Other),
    Tool::row_of(COMMAND, Deed::Run, COMMANDS),
    Tool::row("followup_task", Deed::Message),
    Tool::row("get_goal", Deed::Other),
    Tool::row("interrupt_agent", Deed::Other),
    Tool::row("list_agents", Deed::Other),
    Tool::row("list_mcp_resource_templates", Deed::Resource),
    Tool::row("list_mcp_resources", Deed::Resource),
    Tool::row_of(SHELL[1], Deed::Run, COMMANDS),
    Tool::row("read_mcp_resource", Deed::Resource),
    Tool::row("request_permissions", Deed::Other),
    Tool::row("request_user_input", Deed::Ask),
    Tool::row("request_user_input_async", Deed::Ask),
    Tool::row("resume_agent", Deed::Other),
    Tool::row("send_input", Deed::Message),
    Tool::row("send_message", Deed::Message),
    Tool::row_of(SHELL[0], Deed::Run, COMMANDS),
    Tool::row_of("shell_command", Deed::Run, COMMANDS),
    Tool::row("sleep", Deed::Other),
    Tool::row_of("spawn_agent", Deed::Delegate, TASK),
    Tool::row("spawn_agents_on_csv", Deed::Delegate),
    Tool::row(TOOLS_SEARCH, Deed::FindTools),
    Tool::row("update_goal", Deed::Other),
    Tool::row_of("update_plan", Deed::Todos, PLAN),
    Tool::row(IMAGE, Deed::Read),
    Tool::row(WAIT[0], Deed::Other),
    Tool::row(WAIT[1], Deed::Other),
    Tool::row(WEB, Deed::Fetch),
    Tool::row_of("write_stdin", Deed::Job, STDIN),
];
