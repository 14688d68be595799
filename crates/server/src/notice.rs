//! What a user should know of a run while it goes on.

use std::io;
use std::path::PathBuf;

use crate::helper::Helper;

/// Something that the user should know.
#[derive(Debug)]
pub enum RunNotice {
    /// Another run writes to the log that was wanted: this one is written instead.
    OtherLog(PathBuf),
    /// A log can't be written. The run goes on, and it is tried again.
    Unwritten(PathBuf, io::Error),
    /// So many bytes are missing in a log that is over.
    Missing(PathBuf, u64),
    /// The side file can't be written.
    NoSideFile(PathBuf, io::Error),
    /// Nothing will end the agent if this program is killed.
    NoWatchdog(io::Error),
    /// A log was changed by somebody else: what was there can't be shown.
    Unreadable,
    /// What the agent left running.
    LeftRunning(Vec<Helper>),
}
