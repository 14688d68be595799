//! What is known of a run beside what its agent wrote.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::run_id::RunId;

/// What is known of a run beside its log: the content of `ID.json`. Fields that a later version adds are left out here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSideFile {
    /// The version of this form: 1.
    pub v: u32,
    /// The run's id.
    pub id: RunId,
    /// How it stands. One that says `running` and whose recorder is gone was interrupted.
    pub status: RunStatus,
    /// The command as it was run, added arguments included.
    pub command: Vec<String>,
    /// Which of them were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The agent's product, as its dialect is called, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's own id of the session, once it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// The log.
    pub log: PathBuf,
    /// Where the run begins in it: a log that was named may have held something before.
    #[serde(default)]
    pub log_start: u64,
    /// Bytes of the run in the log, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Where bytes of the agent are not in the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<LogGap>,
    /// What the agent wrote to standard error, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<PathBuf>,
    /// When it began.
    pub started: Timestamp,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How the agent ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<AgentExit>,
    /// The process that records it.
    pub recorder: ProcessMark,
    /// The agent's process, once it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessMark>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// The agent told its outcome, which is no error, and ended well.
    Done,
    /// It ended in an error, or without an outcome.
    Failed,
    /// A signal ended it.
    Interrupted,
}

/// How an agent's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentExit {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Bytes that the agent wrote and that are not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogGap {
    /// Where they are missing in the log.
    pub at: u64,
    /// How many.
    pub bytes: u64,
}

/// A process, known again even where its number was given to another since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Its number.
    pub pid: u32,
    /// When it began, in the system's own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The id of the system's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

impl ProcessMark {
    /// The mark of a process that runs.
    pub fn of(pid: u32) -> Self {
        let start = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| {
            // The name before may hold anything, brackets included. The time is the twentieth behind it.
            stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
        });
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Self { pid, start, boot: boot.map(|id| id.trim().to_owned()) }
    }
}

impl RunSideFile {
    /// Reads one.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    /// Puts it in place as a whole, for its owner alone.
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let draft = path.with_extension("json.tmp");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        let written = options.open(&draft).and_then(|mut file| file.write_all(&text));
        written.and_then(|()| fs::rename(&draft, path)).inspect_err(|_| drop(fs::remove_file(&draft)))
    }
}
