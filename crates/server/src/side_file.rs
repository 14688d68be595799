//! The side file of a run: the facts that aren't in the agent's output.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use streamfmt::core::item::Waiting;

use crate::path_text;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_draft;
use crate::start_time::start_time;

/// The content of `ID.json`: the facts about a run that aren't in its log. Fields that a later version adds are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSideFile {
    /// The version of this format: 1.
    pub v: u32,
    /// The run's id.
    pub id: RunId,
    /// Its status. A run that is `running` here and not in progress ([`crate::SessionPaths::is_running`]) was interrupted.
    pub status: SessionStatus,
    /// The command as executed, including added arguments.
    pub command: Vec<String>,
    /// The added arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The agent's product, by the name of its dialect, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's own session id, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The task on the command line, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The agent's session that it resumes, if the command line names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// The beginning of the data that was passed on standard input, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Labels given by the user.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The working directory.
    #[serde(with = "path_text")]
    pub folder: PathBuf,
    /// The log.
    #[serde(with = "path_text")]
    pub log: PathBuf,
    /// The offset at which the run starts in the log: a log given by name may have earlier content.
    #[serde(default)]
    pub log_start: u64,
    /// The number of the run's bytes in the log, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Bytes of the agent that are missing in the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<LogGap>,
    /// The file with the agent's standard error, if it wrote any.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "path_text::optional")]
    pub errors: Option<PathBuf>,
    /// When it started.
    pub started: Timestamp,
    /// What it needs from a person, while a call waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How the agent ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<AgentExit>,
    /// Whether streamfmt ended the agent because it kept running after its result, as requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped_after_result: bool,
    /// Whether streamfmt stopped the run because it cost more than was allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped_for_cost: bool,
    /// The process that records it.
    pub recorder: ProcessMark,
    /// The agent's process, once started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessMark>,
}

/// The status of a session. A side file has one of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// In progress.
    Running,
    /// In progress on another machine that uses the same folder.
    #[serde(rename = "running elsewhere", skip_deserializing)]
    RunningElsewhere,
    /// The agent reported a result that is not an error, and exited with 0 or was ended for staying after it.
    Done,
    /// Ended in an error, or without a result.
    #[default]
    Failed,
    /// Ended by a signal, or its recorder was killed.
    Interrupted,
    /// An imported history in which nobody asked anything.
    #[serde(skip_deserializing)]
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

    /// Whether the session is in progress.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::RunningElsewhere)
    }

    /// Parses the name of a stored status.
    pub(crate) fn stored(name: &str) -> Self {
        match name {
            "running" => Self::Running,
            "done" => Self::Done,
            "interrupted" => Self::Interrupted,
            "empty" => Self::Empty,
            _ => Self::Failed,
        }
    }
}

/// How an agent's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentExit {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

/// Bytes that the agent wrote and that are missing in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogGap {
    /// The offset in the log at which they are missing.
    pub at: u64,
    /// Their number.
    pub bytes: u64,
}

/// Identifies a process, even after its id was reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Its process id.
    pub pid: u32,
    /// Its start time: on Linux in clock ticks since the boot, elsewhere in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The id of the boot (Linux).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

impl ProcessMark {
    /// Returns the mark of a running process.
    pub fn of(pid: u32) -> Self {
        let start = start_time(pid);
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Self { pid, start, boot: boot.map(|id| id.trim().to_owned()) }
    }

    /// Whether this process still exists on this machine. Unknown counts as no.
    pub fn is_alive(&self) -> bool {
        self.start.is_some() && Self::of(self.pid) == *self
    }
}

impl RunSideFile {
    /// Reads a side file. Log and standard error are those beside it, if they are there, otherwise those at the paths that it holds: the
    /// folder may have been moved since it was written.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut side: Self = serde_json::from_slice(&fs::read(path)?)?;
        if let Some(folder) = path.parent() {
            let paths = SessionPaths { folder: folder.to_owned() };
            side.log = paths.log_now(&side.id, &side.log);
            side.errors = side.errors.map(|errors| paths.errors_now(&side.id, &errors));
        }
        Ok(side)
    }

    /// Replaces the file as a whole; it is readable by its owner only.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        side_draft::write(&self.text()?, path, &path.with_extension("json.tmp"), false)
    }

    /// The content of the file.
    pub(crate) fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_file_has_the_status_of_a_run_only() {
        for (name, is_right) in [
            ("running", true),
            ("done", true),
            ("failed", true),
            ("interrupted", true),
            ("running elsewhere", false),
            ("empty", false),
        ] {
            let read: Result<SessionStatus, _> = serde_json::from_str(&format!("\"{name}\""));
            assert_eq!(read.ok().map(SessionStatus::name), is_right.then_some(name));
        }
    }
}
