//! A session, as the database, its side file and its stream have it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use streamfmt::core::item::Waiting;

use super::figures::SessionFigures;
use crate::path_text::{self, path_text};
use crate::side_file::{AgentExit, LogGap, ProcessMark, RunSideFile, SessionStatus};

/// A session. In JSON, its parts are one object, and unknown fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionRecord {
    /// What ran, when and how it ended.
    #[serde(flatten)]
    pub run: SessionRun,
    /// What it cost.
    #[serde(flatten)]
    pub figures: SessionFigures,
    /// The file that it is read from: the log of a run, or a history.
    #[serde(flatten)]
    pub source: SourceRow,
}

/// What ran, when and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionRun {
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
    /// The agent's own id of the session that it resumes.
    #[serde(skip)]
    pub parent_session: Option<String>,
    /// The process that records it.
    #[serde(skip)]
    pub recorder: Option<ProcessMark>,
}

impl SessionRun {
    /// Returns a session of which nothing else is known.
    pub(super) fn unknown(id: String, status: SessionStatus, started: Timestamp) -> Self {
        Self { v: 1, id, status, started, ..Self::default() }
    }

    /// Returns a run by its side file, which is right about everything that it has. `known`: what its row or its stream has.
    pub(crate) fn of(side: &RunSideFile, status: SessionStatus, known: Self) -> Self {
        Self {
            v: 1,
            id: side.id.to_string(),
            status,
            // Nothing, if it isn't in progress.
            waiting: side.waiting.filter(|_| status.is_live()),
            // A command may be anything that writes an agent's stream.
            agent: side.agent.clone().or(known.agent),
            agent_session: side.agent_session.clone().or(known.agent_session),
            parent_session: side.resumes.clone().or(known.parent_session),
            folder: Some(path_text(&side.folder)),
            command: side.command.clone(),
            labels: side.labels.clone(),
            started: side.started,
            ended: side.ended,
            exit: side.exit,
            recorder: Some(side.recorder.clone()),
            ..known
        }
    }
}

/// A session with all its stored details.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionDetails {
    /// The session.
    #[serde(flatten)]
    pub record: SessionRecord,
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

/// The kind of a file that a session is read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceKind {
    /// The log of a run.
    Run,
    /// The agent's own history, or a stream that was imported.
    #[default]
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

/// A file that a session is read from. JSON has only its path, as `log`, and whether it is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceRow {
    /// Its path; empty if there is none.
    #[serde(rename = "log", skip_serializing_if = "is_empty", serialize_with = "path_text::serialize")]
    pub path: PathBuf,
    /// Its kind.
    #[serde(skip)]
    pub kind: SourceKind,
    /// The offset at which the session starts in it.
    #[serde(skip)]
    pub start: u64,
    /// The number of the session's bytes; `None` while the run is in progress.
    #[serde(skip)]
    pub size: Option<u64>,
    /// The file with standard error.
    #[serde(skip)]
    pub errors: Option<PathBuf>,
    /// Bytes that are missing in it.
    #[serde(skip)]
    pub gaps: Vec<LogGap>,
    /// When it was last changed before its figures were read, in nanoseconds since 1970; `None` if they weren't read.
    #[serde(skip)]
    pub mtime: Option<i64>,
    /// Whether it is gone.
    #[serde(rename = "source_gone", skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Whether it is a copy of one that is gone. Then its size is that of the copy.
    #[serde(skip)]
    pub is_copy: bool,
}

impl SourceRow {
    /// Returns the log of a run by its side file.
    pub(crate) fn of(side: &RunSideFile) -> Self {
        Self {
            path: side.log.clone(),
            kind: SourceKind::Run,
            start: side.log_start,
            size: side.log_bytes,
            errors: side.errors.clone(),
            gaps: side.gaps.clone(),
            mtime: None,
            gone: false,
            is_copy: false,
        }
    }
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}
