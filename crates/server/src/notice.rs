//! Notices for the user about a run in progress.

use std::io;
use std::path::PathBuf;

use crate::helper::Helper;

/// A notice for the user.
#[derive(Debug)]
pub enum RunNotice {
    /// Another run is writing to the requested log: this one is used instead.
    OtherLog(PathBuf),
    /// A log can't be written. The run continues, and writing is retried.
    Unwritten(PathBuf, io::Error),
    /// A log that couldn't be written is written again.
    Resumed(PathBuf),
    /// A log was removed or renamed while it was written. Everything was copied to this new file.
    Anew(PathBuf),
    /// Another program cut a log.
    Cut(PathBuf),
    /// A log can't be flushed to disk, though all of it was written.
    Unsynced(PathBuf, io::Error),
    /// The number of bytes missing in a log at its end.
    Missing(PathBuf, u64),
    /// The side file can't be written.
    NoSideFile(PathBuf, io::Error),
    /// There is no watchdog: nothing ends the agent if this program is killed.
    NoWatchdog(io::Error),
    /// Another program changed the log: a part of it can't be shown.
    Unreadable,
    /// The agent keeps running after its result.
    Lingering {
        /// Whether the agent is ended because of that.
        is_ended: bool,
    },
    /// The run has cost more than this, in US dollars.
    CostPassed {
        /// The limit.
        limit: f64,
        /// Whether the run is stopped because of that.
        is_stopped: bool,
    },
    /// The cost is limited, and a model has no known price.
    NoPrice,
    /// The agent has exited, but other processes keep writing to its output, which isn't read any longer.
    StillWriting,
    /// Processes that the agent left running.
    LeftRunning(Vec<Helper>),
    /// A known agent ended without a result, and its output isn't the stream of a known agent.
    NoResult,
}
