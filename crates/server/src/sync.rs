//! When the files of a run are flushed to disk.

use std::fs::File;
use std::path::Path;

/// When the log of a run, its side file and their names are flushed to disk (fsync). This protects against power failure; a killed process loses nothing in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After every read.
    Always,
    /// Every second in which something arrived, and at the end.
    #[default]
    Second,
    /// At the end.
    End,
    /// Never: the system decides.
    Never,
}

/// Flushes the name of a file to disk, which its folder contains. Not every system can do that, and not every folder may be read.
pub(crate) fn sync_name(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
