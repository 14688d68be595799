//! The tools of Codex, by their exact names. The stream of `codex exec --json` has types of items instead of tool names: each gets
//! the name of the tool that it comes from in newer versions.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::tool::{self, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Fact, FactSpec, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

use super::command;

/// Runs a command.
pub(super) const COMMAND: &str = "exec_command";
/// Changes files.
pub(super) const PATCH: &str = "apply_patch";
/// Searches the web, or retrieves a page.
pub(super) const WEB: &str = "web_search";
/// Shows an image to the model.
pub(super) const IMAGE: &str = "view_image";
/// Draws a picture.
pub(super) const DRAW: &str = "image_generation";
/// Waits for some time.
pub(super) const SLEEP: &str = "sleep";
/// Starts a sub-agent.
pub(super) const SPAWN: &str = "spawn_agent";
/// Sends a message to a sub-agent.
pub(super) const SEND: &str = "send_input";
/// Continues a sub-agent.
pub(super) const RESUME: &str = "resume_agent";
/// Asks the user, and doesn't wait for the answer.
pub(super) const ASK_LATER: &str = "request_user_input_async";
/// Ends a sub-agent.
pub(super) const CLOSE: &str = "close_agent";
/// Waits for sub-agents, or, in code mode, for a script.
pub(super) const WAIT: [&str; 2] = ["wait", "wait_agent"];
/// Finds tools that aren't loaded yet.
pub(super) const TOOLS_SEARCH: &str = "tool_search";
/// Runs a script that calls other tools.
pub(super) const SCRIPT: &str = "exec";
/// Runs a command: in versions before 0.80, and as a built-in tool of the API.
pub(super) const SHELL: [&str; 2] = ["shell", "local_shell"];

/// Returns the tool of this name, if Codex has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const COMMANDS: &[FactSpec] = &[
    FactSpec::key("cmd", "command"),
    FactSpec::made("command", "command", command::meant),
    FactSpec::key("justification", "description"),
    FactSpec::key("workdir", "cwd"),
    FactSpec::key("working_directory", "cwd"),
    FactSpec::key("timeout_ms", "timeout_ms"),
];

const STDIN: &[FactSpec] = &[FactSpec::made("session_id", "job", written), FactSpec::key("chars", "stdin")];

const PLAN: &[FactSpec] = &[FactSpec::within("plan", "todos", tool::POINT)];

const TASK: &[FactSpec] = &[
    FactSpec::key("agent_type", "agent"),
    FactSpec::key("task_name", "description"),
    FactSpec::key("message", "prompt"),
];

/// Returns a string or number as text.
fn written(value: Value<'_>) -> Option<Fact> {
    let number = || value.int().map(|number| number.to_string());
    value.decode().map(Cow::into_owned).or_else(number).map(Fact::Text)
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 33] = [
    row(PATCH, ToolKind::Edit),
    row(CLOSE, ToolKind::Other),
    row("create_goal", ToolKind::Other),
    row(SCRIPT, ToolKind::Other),
    row_of(COMMAND, ToolKind::Run, COMMANDS),
    row("followup_task", ToolKind::Message),
    row("get_goal", ToolKind::Other),
    row(DRAW, ToolKind::Other),
    row("interrupt_agent", ToolKind::Other),
    row("list_agents", ToolKind::Other),
    row("list_mcp_resource_templates", ToolKind::Resource),
    row("list_mcp_resources", ToolKind::Resource),
    row_of(SHELL[1], ToolKind::Run, COMMANDS),
    row("read_mcp_resource", ToolKind::Resource),
    row("request_permissions", ToolKind::Other),
    row("request_user_input", ToolKind::Ask),
    row(ASK_LATER, ToolKind::Ask),
    row(RESUME, ToolKind::Other),
    row(SEND, ToolKind::Message),
    row("send_message", ToolKind::Message),
    row_of(SHELL[0], ToolKind::Run, COMMANDS),
    row_of("shell_command", ToolKind::Run, COMMANDS),
    row(SLEEP, ToolKind::Other),
    row_of(SPAWN, ToolKind::Delegate, TASK),
    row("spawn_agents_on_csv", ToolKind::Delegate),
    row(TOOLS_SEARCH, ToolKind::FindTools),
    row("update_goal", ToolKind::Other),
    row_of("update_plan", ToolKind::Todos, PLAN),
    row(IMAGE, ToolKind::Read),
    row(WAIT[0], ToolKind::Other),
    row(WAIT[1], ToolKind::Other),
    row(WEB, ToolKind::Fetch),
    row_of("write_stdin", ToolKind::Job, STDIN),
];
