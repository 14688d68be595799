//! Imports what appears and grows in the folders that were imported before.
//!
//! ```text
//! watch the folders ─▶ import them ─▶ rest ─▶ wait for a change ─┐
//!        ▲                                                        │
//!        └────────────────────────────────────────────────────────┘
//! ```

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use streamfmt::follow::{FolderWatch, FollowWait, Woken};
use streamfmt::side_files::holds_side_files;

use super::import::{DEEPEST, ImportCounts};
use super::sql::{is_named_as_database, lock_imports};
use super::{Store, StoreError, StoreNotice};

/// The shortest time between two imports.
const REST: Duration = Duration::from_secs(1);
/// The share of the time that imports may take: one of so many parts.
const SHARE: u32 = 20;
/// How often folders are searched without a reported change.
const LONGEST: Duration = Duration::from_secs(30);
/// How often it is checked whether the wait is over.
const CHECK: Duration = Duration::from_millis(500);

/// Imports what appears and grows in the folders that were imported before, as the only process of a data folder.
pub struct ImportWatch {
    store: Store,
    /// The open file, which owns the lock.
    _lock: File,
    /// The last error, and the notices of the last import, which aren't reported again.
    error: Option<String>,
    notices: Vec<StoreNotice>,
}

/// What an [`ImportWatch`] reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportReport {
    /// Something was imported.
    Imported(ImportCounts),
    /// A notice about the store.
    Notice(StoreNotice),
    /// Something couldn't be imported. It is tried again; the same reason isn't reported again.
    Failed(String),
}

impl ImportWatch {
    /// Prepares the work on an open store. `None` if another process does it.
    pub fn begin(store: Store) -> Result<Option<Self>, StoreError> {
        let lock = lock_imports(store.database.path())?;
        Ok(lock.map(|lock| Self { store, _lock: lock, error: None, notices: Vec::new() }))
    }

    /// Imports until the wait is over.
    pub fn run(&mut self, wait: &mut dyn FollowWait, report: &mut dyn FnMut(ImportReport)) {
        let mut watch = FolderWatch::default();
        while !wait.is_over() {
            let begun = Instant::now();
            // Changes after this are noticed, whatever the import has already seen.
            let folders = self.folders(report);
            let searched = SearchedFolders::below(&folders);
            watch.watch(searched.folders, searched.names);
            self.import(&folders, report);
            let rest = (begun.elapsed() * SHARE).max(REST);
            pause(rest, wait);
            let end = Instant::now() + LONGEST.max(rest);
            let is_quiet = |woken| matches!(woken, Ok(Woken::Timeout | Woken::Signal));
            while !wait.is_over() && Instant::now() < end && is_quiet(watch.wait(wait, CHECK)) {}
        }
    }

    /// The imported folders that exist.
    fn folders(&mut self, report: &mut dyn FnMut(ImportReport)) -> Vec<PathBuf> {
        let read = self.store.mended(|store| store.database.folders());
        let mut folders = self.done(read, report).unwrap_or_default();
        folders.retain(|folder| folder.is_dir());
        folders
    }

    fn import(&mut self, folders: &[PathBuf], report: &mut dyn FnMut(ImportReport)) {
        let imported = self.store.mended(|store| store.import(folders, |_| ()));
        let notices = self.store.take_notices();
        for notice in notices.iter().filter(|notice| !self.notices.contains(notice)) {
            report(ImportReport::Notice(notice.clone()));
        }
        self.notices = notices;
        let counts = self.done(imported, report).filter(|counts| counts.new + counts.changed > 0);
        if let Some(counts) = counts {
            report(ImportReport::Imported(counts));
        }
    }

    /// Reports why work failed.
    fn done<T>(&mut self, done: Result<T, StoreError>, report: &mut dyn FnMut(ImportReport)) -> Option<T> {
        let error = done.as_ref().err().map(ToString::to_string);
        if let Some(error) = error.filter(|error| self.error.as_ref() != Some(error)) {
            report(ImportReport::Failed(error.clone()));
            self.error = Some(error);
        }
        done.ok()
    }
}

/// Lets time pass, unless the wait is over before.
fn pause(time: Duration, wait: &mut dyn FollowWait) {
    let end = Instant::now() + time;
    while !wait.is_over() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if wait.wait(None, left.min(CHECK)).is_err() {
            std::thread::sleep(left.min(CHECK));
        }
    }
}

/// The folders with the sessions of imported folders, the last modified first.
struct SearchedFolders {
    folders: Vec<PathBuf>,
    /// The names of databases and of their logs, whose growth matters as well.
    names: BTreeSet<OsString>,
}

impl SearchedFolders {
    fn below(roots: &[PathBuf]) -> Self {
        let (mut found, mut names) = (Vec::new(), BTreeSet::new());
        for root in roots {
            Self::search(root, DEEPEST, &mut found, &mut names);
        }
        found.sort_by(|(one, _), (other, _)| other.cmp(one));
        Self { folders: found.into_iter().map(|(_, folder)| folder).collect(), names }
    }

    fn search(
        folder: &Path,
        depth: usize,
        found: &mut Vec<(SystemTime, PathBuf)>,
        names: &mut BTreeSet<OsString>,
    ) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let changed = fs::metadata(folder).and_then(|about| about.modified());
        found.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), folder.to_owned()));
        for entry in entries.flatten() {
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth > 0 && !name.to_str().is_some_and(holds_side_files) {
                    Self::search(&entry.path(), depth - 1, found, names);
                }
            } else if is_named_as_database(name.as_ref()) {
                let mut log = name.clone();
                log.push("-wal");
                names.extend([name, log]);
            }
        }
    }
}
