//! Shows that a run is in progress: a lock that the system frees when the recorder ends, however it ends.

#[cfg(unix)]
use std::fs::File;
use std::fs::{OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use crate::session_paths::SessionPaths;
use crate::side_file::{RunSideFile, SessionStatus};

#[cfg(unix)]
use std::path::PathBuf;

/// The lock that a recorder holds on `ID.lock` while its run is in progress. The file is removed when this is dropped.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    /// The open file, which owns the lock.
    _file: File,
}

#[cfg(unix)]
impl RunLock {
    /// Creates the file and locks it. Fails on a file system without locks, where only the recorder's process shows that the run is in
    /// progress.
    pub(crate) fn hold(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        if let Err(error) = file.try_lock() {
            let _ = std::fs::remove_file(&path);
            return Err(error.into());
        }
        Ok(Self { path, _file: file })
    }
}

#[cfg(unix)]
impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl SessionPaths {
    /// Whether a run is in progress. A run whose side file has the status `running` while this is false was interrupted: its recorder was
    /// killed, or the machine went down.
    pub fn is_running(&self, run: &RunSideFile) -> bool {
        run.status == SessionStatus::Running
            && is_locked(&self.lock(&run.id)).unwrap_or_else(|_| run.recorder.is_alive())
    }
}

/// Whether another open file holds the lock. Fails if there is no such file, or no locks on that file system.
pub(crate) fn is_locked(path: &Path) -> io::Result<bool> {
    // A shared lock: several readers may look at the same time.
    match OpenOptions::new().read(true).open(path)?.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use crate::side_file::ProcessMark;

    #[test]
    fn a_run_is_in_progress_while_its_lock_is_held_and_without_one_while_its_recorder_lives() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-lock-").unwrap().keep();
        let paths = SessionPaths { folder: folder.clone() };
        paths.create().unwrap();
        let text = r#"{"v":1,"id":"20261123-224103-k3x9qa","status":"running","command":["a"],"folder":"/","log":"/l",
            "started":"2026-11-23T22:41:03.1Z","recorder":{"pid":1,"start":1,"boot":"another"}}"#;
        let mut run: RunSideFile = serde_json::from_str(text).unwrap();
        assert!(!paths.is_running(&run), "its recorder belongs to another boot");
        let lock = RunLock::hold(paths.lock(&run.id)).unwrap();
        assert!(paths.is_running(&run) && paths.is_running(&run));
        assert!(RunLock::hold(paths.lock(&run.id)).is_err());
        // As after a kill: the file is left without a lock.
        let left = paths.lock(&run.id).with_extension("left");
        fs::hard_link(paths.lock(&run.id), &left).unwrap();
        drop(lock);
        assert!(!paths.lock(&run.id).exists());
        fs::rename(left, paths.lock(&run.id)).unwrap();
        run.recorder = ProcessMark::of(std::process::id());
        assert!(!paths.is_running(&run), "nobody holds the lock");
        fs::remove_file(paths.lock(&run.id)).unwrap();
        assert!(paths.is_running(&run), "there is no lock, but its recorder lives");
        run.status = SessionStatus::Done;
        assert!(!paths.is_running(&run));
        fs::remove_dir_all(folder).unwrap();
    }
}
