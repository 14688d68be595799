//! `ToolKind`: what a call does, in the terms that all dialects share. It determines how the call and its result are formatted; users
//! choose by the coarser `Action`, which follows from it.

use super::Action;

/// What a call does, in the terms that all dialects share. Each belongs to an [`Action`], by which users choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Runs a command.
    Run,
    /// Runs a command and watches its output for a while.
    Watch,
    /// Inspects a background job.
    Job,
    /// Ends a background job.
    EndJob,
    /// Reads a file.
    Read,
    /// Reads something that isn't a file.
    Resource,
    /// Writes a whole file.
    Write,
    /// Changes parts of a file.
    Edit,
    /// Changes a cell of a notebook.
    EditCell,
    /// Lists a folder.
    List,
    /// Finds files by their names.
    Find,
    /// Finds text in files.
    Grep,
    /// Finds tools.
    FindTools,
    /// Fetches a page, or searches the web.
    Fetch,
    /// Delegates a task to a sub-agent.
    Delegate,
    /// Writes the to-do list, which becomes a separate item.
    Todos,
    /// Updates a plan in another way.
    Plan,
    /// Adds, changes or reads one task of a list.
    Task,
    /// Reads all tasks.
    Tasks,
    /// Enters or leaves the mode in which the agent only plans.
    PlanMode,
    /// Asks the user.
    Ask,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Loads a skill.
    Skill,
    /// Runs a command of the agent's own program.
    Command,
    /// Sends a message to another agent.
    Message,
    /// Gives the answer of the turn, in the structured form that was requested.
    Answer,
    /// Anything else.
    Other,
}

impl ToolKind {
    /// The action that it belongs to.
    pub fn action(self) -> Action {
        match self {
            Self::Run | Self::Watch | Self::Job | Self::EndJob => Action::Run,
            Self::Read | Self::Resource => Action::Read,
            Self::Write => Action::Write,
            Self::Edit | Self::EditCell => Action::Edit,
            Self::List | Self::Find | Self::Grep | Self::FindTools => Action::Search,
            Self::Fetch => Action::Fetch,
            Self::Delegate => Action::Delegate,
            Self::Todos | Self::Plan | Self::Task | Self::Tasks | Self::PlanMode => Action::Plan,
            Self::Ask => Action::Ask,
            Self::Mcp => Action::Mcp,
            Self::Skill | Self::Command | Self::Message | Self::Answer | Self::Other => Action::Other,
        }
    }
}

impl From<Action> for ToolKind {
    /// The most common kind of tool of an action.
    fn from(action: Action) -> Self {
        match action {
            Action::Run => Self::Run,
            Action::Read => Self::Read,
            Action::Write => Self::Write,
            Action::Edit => Self::Edit,
            Action::Search => Self::Grep,
            Action::Fetch => Self::Fetch,
            Action::Delegate => Self::Delegate,
            Action::Plan => Self::Plan,
            Action::Ask => Self::Ask,
            Action::Mcp => Self::Mcp,
            Action::Other => Self::Other,
        }
    }
}
