//! The table of known tools: how the calls and results of each are said.
//!
//! A tool is known by its exact name. One that isn't is said by what it does, if its dialect knows that.

use std::sync::LazyLock;

use crate::entry::View;
use crate::formatter::calls::{self, Call};
use crate::formatter::results::{self, Answer};
use crate::item::Action;
use crate::names::Names;
use crate::text::Text;

/// Says a call; `None` if its input isn't of the form that the tool is known for.
pub(super) type CallForm = fn(&mut Call<'_>) -> Option<()>;
/// Says a result that went well; `None` hides it.
pub(super) type ResultForm = fn(&mut Answer<'_>) -> Option<View>;

/// How the calls and results of a tool are said.
#[derive(Clone, Copy)]
pub(super) struct Tool {
    /// Its name, if it is a known one.
    name: Option<&'static str>,
    /// Says a call.
    pub(super) call: CallForm,
    /// Says a result that went well.
    pub(super) result: ResultForm,
}

const fn row(name: &'static str, call: CallForm, result: ResultForm) -> (&'static str, Tool) {
    (name, Tool { name: Some(name), call, result })
}

static NAMES: LazyLock<Names<Tool>> = Names::lazy(|| Names::new(&TOOLS));

static TOOLS: [(&str, Tool); 38] = [
    row("Bash", calls::run, results::run),
    row("BashOutput", calls::job, results::job),
    row("TaskOutput", calls::job, results::job),
    row("KillShell", calls::job, results::note),
    row("KillBash", calls::job, results::note),
    row("TaskStop", calls::job, results::note),
    row("Monitor", calls::run, results::note),
    row("Read", calls::read, results::read),
    row("NotebookRead", calls::read, results::read),
    row("ReadMcpResourceTool", calls::generic, results::other),
    row("ListMcpResourcesTool", calls::generic, results::other),
    row("LS", calls::list, results::list),
    row("Write", calls::write, results::change),
    row("Edit", calls::edit, results::change),
    row("MultiEdit", calls::multi_edit, results::change),
    row("NotebookEdit", calls::notebook_edit, results::cell),
    row("Glob", calls::glob, results::search),
    row("Grep", calls::grep, results::search),
    row("WebFetch", calls::fetch, results::fetch),
    row("WebSearch", calls::web_search, results::fetch),
    row("web_search", calls::web_search, results::fetch),
    row("web_fetch", calls::fetch, results::fetch),
    row("Task", calls::delegate, results::delegate),
    row("Agent", calls::delegate, results::delegate),
    row("TodoWrite", calls::todos, results::todos),
    row("TodoRead", calls::bare, results::tasks),
    row("TaskCreate", calls::task_create, results::tasks),
    row("TaskUpdate", calls::task_update, results::tasks),
    row("TaskGet", calls::task_get, results::tasks),
    row("TaskList", calls::bare, results::tasks),
    row("EnterPlanMode", calls::bare, results::plan_mode),
    row("ExitPlanMode", calls::plan, results::plan_mode),
    row("exit_plan_mode", calls::plan, results::plan_mode),
    row("AskUserQuestion", calls::ask, results::ask),
    row("Skill", calls::skill, results::skill),
    row("SlashCommand", calls::run, results::other),
    row("SendMessage", calls::generic, results::note),
    row("ToolSearch", calls::tool_search, results::tool_search),
];

/// The row of the tool called `name`, or else that of what it does.
pub(super) fn form(name: Option<&str>, action: Option<Action>) -> Tool {
    let by_action = |call: CallForm, result: ResultForm| Tool { name: None, call, result };
    name.and_then(|name| NAMES.get(name.as_bytes())).unwrap_or_else(|| match action {
        Some(Action::Run) => by_action(calls::run, results::run),
        Some(Action::Read) => by_action(calls::read, results::read),
        Some(Action::Write) => by_action(calls::write, results::change),
        Some(Action::Edit) => by_action(calls::edit, results::change),
        Some(Action::Search) => by_action(calls::grep, results::search),
        Some(Action::Fetch) => by_action(calls::fetch, results::fetch),
        Some(Action::Delegate) => by_action(calls::delegate, results::delegate),
        Some(Action::Plan) => by_action(calls::todos, results::tasks),
        Some(Action::Ask) => by_action(calls::ask, results::ask),
        Some(Action::Mcp | Action::Other) | None => by_action(calls::generic, results::other),
    })
}

/// The name of a tool, cleaned.
pub(crate) fn name(tool: &str) -> Text {
    match NAMES.get(tool.as_bytes()).and_then(|known| known.name) {
        Some(known) => Text::own(known),
        None => Text::clean(tool),
    }
}

/// The names of all known tools.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}
