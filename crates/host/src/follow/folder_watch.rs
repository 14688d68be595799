//! Waits until a session in some folders appears or grows, whichever it is.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::file_events::{FileEvents, FollowWait, Woken};

/// Watches folders with sessions. The system may not report every change, and reports none in folders beyond a limit, so the caller looks
/// at intervals as well.
pub struct FolderWatch {
    events: FileEvents,
}

impl Default for FolderWatch {
    fn default() -> Self {
        Self { events: FileEvents::new(|| ()) }
    }
}

impl FolderWatch {
    /// Watches these folders, without those below them, the first ones if there are too many. Growth is noticed of sessions and of files
    /// with these names.
    pub fn watch(&mut self, folders: Vec<PathBuf>, names: BTreeSet<OsString>) {
        self.events.watch(folders, names);
    }

    /// Waits until something changes in the folders, at most for `most`.
    pub fn wait(&mut self, wait: &mut dyn FollowWait, most: Duration) -> io::Result<Woken> {
        self.events.wait_for_report(wait, most)
    }
}
