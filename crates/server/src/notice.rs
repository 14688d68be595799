//! What the user should know about a run in progress.

use std::io;
use std::path::PathBuf;

use crate::helper::Helper;

/// Something that the user should know.
#[derive(Debug)]
pub enum RunNotice {
    /// Another run is writing to the requested log: this one is used instead.
    OtherLog(PathBuf),
    /// A log can't be written. The run continues, and writing is retried.
    Unwritten(PathBuf, io::Error),
    /// The number of bytes missing in a log at its end.
    Missing(PathBuf, u64),
    /// The side file can't be written.
    NoSideFile(PathBuf, io::Error),
    /// There is no watchdog: nothing ends the agent if this program is killed.
    NoWatchdog(io::Error),
    /// Another program changed the log: a part of it can't be shown.
    Unreadable,
    /// Processes that the agent left running.
    LeftRunning(Vec<Helper>),
}
