//! The types of rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::Row;
use serde::Serialize;
use streamfmt::core::event::Usage;
use streamfmt::core::item::Waiting;

use crate::path_text::{self, text_path};
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

/// Converts a time for the database.
pub(super) fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(if time.as_second() < 0 { i64::MIN } else { i64::MAX })
}

fn time(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds.into()).unwrap_or_default()
}

/// The columns of a [`SessionRow`], from `sessions AS s` and one of its sources. The source's columns are one text, so that it is searched
/// only once: whether it is gone and whether it is the log of a run (`0` or `1` each), followed by its path.
pub(super) const COLUMNS: &str = "s.id, s.agent_session, s.resumes, s.agent, s.model, s.title, s.folder, s.command, s.labels, s.status, \
    s.started, s.ended, s.exit, s.pid, s.pid_start, s.boot, s.num_turns, s.duration_ms, s.cost_usd, s.api_ms, s.tokens_input, \
    s.tokens_output, s.tokens_cache_read, s.tokens_cache_write, \
    (SELECT gone || (kind = 'run') || path FROM sources WHERE session = s.id ORDER BY kind = 'run' DESC, gone, size DESC, path LIMIT 1)";

/// Reads the columns.
pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let json = |at| -> rusqlite::Result<Option<String>> { row.get(at) };
    let pid: Option<u32> = row.get(13)?;
    let source: Option<String> = row.get(24)?;
    let tokens: [Option<u64>; 4] = [row.get(20)?, row.get(21)?, row.get(22)?, row.get(23)?];
    Ok(SessionRow {
        v: 1,
        id: row.get(0)?,
        agent_session: row.get(1)?,
        resumes: row.get(2)?,
        agent: row.get(3)?,
        model: row.get(4)?,
        title: row.get(5)?,
        folder: row.get(6)?,
        command: parsed(json(7)?),
        labels: parsed(json(8)?),
        status: SessionStatus::stored(&row.get::<_, String>(9)?),
        waiting: None,
        started: time(row.get(10)?),
        ended: row.get::<_, Option<i64>>(11)?.map(time),
        exit: json(12)?.and_then(|text| serde_json::from_str(&text).ok()),
        recorder: match pid {
            Some(pid) => Some(ProcessMark { pid, start: row.get(14)?, boot: row.get(15)? }),
            None => None,
        },
        num_turns: row.get(16)?,
        duration_ms: row.get(17)?,
        cost_usd: row.get(18)?,
        api_ms: row.get(19)?,
        tokens: tokens.iter().any(Option::is_some).then(|| Usage {
            input: tokens[0].unwrap_or(0),
            output: tokens[1].unwrap_or(0),
            cache_read: tokens[2].unwrap_or(0),
            cache_write: tokens[3].unwrap_or(0),
        }),
        source_gone: source.as_deref().is_none_or(|source| source.starts_with('1')),
        has_run: source.as_deref().and_then(|source| source.get(1..2)) == Some("1"),
        log: source.as_deref().and_then(|source| source.get(2..)).map(text_path),
    })
}

/// Reads what is left of a row if something of it can't be decoded: its id, its status and its times.
pub(super) fn remnant(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let id = String::from_utf8_lossy(row.get_ref(0)?.as_bytes().unwrap_or_default()).into_owned();
    let status = SessionStatus::stored(&row.get::<_, String>(9).unwrap_or_default());
    Ok(SessionRow { ended: row.get(11).ok().map(time), ..unknown(id, status, time(row.get(10)?)) })
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

/// The columns of a [`SourceRow`].
pub(super) const SOURCE_COLUMNS: &str = "path, kind, start, size, errors, gaps, mtime, gone";

pub(super) fn source(row: &Row<'_>) -> rusqlite::Result<SourceRow> {
    let kind: String = row.get(1)?;
    Ok(SourceRow {
        path: text_path(&row.get::<_, String>(0)?),
        kind: if kind == "run" { SourceKind::Run } else { SourceKind::History },
        start: row.get(2)?,
        size: row.get(3)?,
        errors: row.get::<_, Option<String>>(4)?.as_deref().map(text_path),
        gaps: parsed(row.get(5)?),
        mtime: row.get(6)?,
        gone: row.get(7)?,
    })
}

fn parsed<T: Default + serde::de::DeserializeOwned>(text: Option<String>) -> T {
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
