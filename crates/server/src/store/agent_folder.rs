//! The folders in which agents keep their sessions: those that can be imported.

use std::path::PathBuf;

/// A folder in which an agent keeps its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolder {
    /// The name of the agent's dialect.
    pub agent: &'static str,
    /// The path of the folder, which may not exist.
    pub path: PathBuf,
}
