//! The types of rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;
use streamfmt::core::event::Usage;
use streamfmt::core::item::Waiting;

use crate::path_text;
use crate::side_file::{AgentExit, LogGap, ProcessMark, RunStatus};

/// A session in a list. In JSON, unknown fields are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    /// The version of this format: 1.
    pub v: u32,
    /// Our id, which never changes.
    pub id: String,
    /// Its status now.
    pub status: SessionStatus,
    /// What a run in progress needs from a person, while a call waits for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// The agent's product, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's own id: foreign text, and no path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The title: foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The command of a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Labels given by the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The id of our session that it resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How the agent's process ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<AgentExit>,
    /// Turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Milliseconds spent waiting for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_ms: Option<u64>,
    /// Tokens by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Usage>,
    /// The file that it is read from: the log of a run, or a history.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "path_text::optional::serialize")]
    pub log: Option<PathBuf>,
    /// True if that file is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub source_gone: bool,
    /// Whether that file is the log of a run.
    #[serde(skip)]
    pub(super) has_run: bool,
    /// The process that records it.
    #[serde(skip)]
    pub(super) recorder: Option<ProcessMark>,
}

/// A session with all its stored details.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionDetails {
    /// The row.
    #[serde(flatten)]
    pub row: SessionRow,
    /// The final Markdown of an outcome without error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The error of an outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tokens by model and kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, BTreeMap<String, u64>>,
    /// Calls by tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, u64>,
}

/// The status of a session at the time of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// In progress.
    Running,
    /// In progress on another machine that uses the same folder.
    #[serde(rename = "running elsewhere")]
    RunningElsewhere,
    /// Ended successfully.
    Done,
    /// Ended in an error, or without a result.
    Failed,
    /// Ended by a signal, or its recorder was killed.
    Interrupted,
    /// An imported history in which nobody asked anything.
    Empty,
}

impl SessionStatus {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::RunningElsewhere => "running elsewhere",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Empty => "empty",
        }
    }

    /// Parses the name of a stored status.
    pub(super) fn stored(name: &str) -> Self {
        match name {
            "running" => Self::Running,
            "done" => Self::Done,
            "interrupted" => Self::Interrupted,
            "empty" => Self::Empty,
            _ => Self::Failed,
        }
    }
}

impl From<RunStatus> for SessionStatus {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Running => Self::Running,
            RunStatus::Done => Self::Done,
            RunStatus::Failed => Self::Failed,
            RunStatus::Interrupted => Self::Interrupted,
        }
    }
}

/// The kind of a file that a session is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The log of a run.
    Run,
    /// The agent's own history, or a stream that was imported.
    History,
}

impl SourceKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::History => "history",
        }
    }
}

/// A file that a session is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: SourceKind,
    /// The offset at which the session starts in it.
    pub start: u64,
    /// The number of the session's bytes; `None` while the run is in progress.
    pub size: Option<u64>,
    /// The file with standard error.
    pub errors: Option<PathBuf>,
    /// Bytes that are missing in it.
    pub gaps: Vec<LogGap>,
    /// When it was last changed before its figures were read, in nanoseconds since 1970; `None` if they weren't read.
    pub mtime: Option<i64>,
    /// Whether it is gone.
    pub gone: bool,
}

/// Returns a session of which nothing else is known.
pub(super) fn unknown(id: String, status: SessionStatus, started: Timestamp) -> SessionRow {
    SessionRow {
        v: 1,
        id,
        status,
        waiting: None,
        agent: None,
        agent_session: None,
        model: None,
        title: None,
        folder: None,
        command: Vec::new(),
        labels: BTreeMap::new(),
        resumes: None,
        started,
        ended: None,
        exit: None,
        num_turns: None,
        cost_usd: None,
        duration_ms: None,
        api_ms: None,
        tokens: None,
        log: None,
        source_gone: false,
        has_run: false,
        recorder: None,
    }
}
