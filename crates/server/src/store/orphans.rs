//! Files in the folder of sessions that belong to no run: their side file is missing.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::record::{SessionRecord, SessionRun, SourceRow};
use super::{Store, StoreError, sql};
use crate::run_id::RunId;
use crate::run_lock::is_locked;
use crate::side_file::SessionStatus;

/// The endings of the files of a run, except its side file.
const ENDINGS: [&str; 7] =
    [".ndjson", ".ndjson.zst", ".ndjson.zst.tmp", ".stderr", ".lock", ".json.tmp", ".json.end"];
/// How long a run may take from its first file to its first lock.
const STARTS: Duration = Duration::from_secs(10);
/// How long a run may be silent on a file system without locks.
const SILENT: Duration = Duration::from_secs(24 * 60 * 60);

impl Store {
    /// Returns the runs of which there are files but no side file, the newest first. Runs that are in progress or just starting are left out.
    pub fn orphans(&self) -> Result<Vec<SessionRecord>, StoreError> {
        // Whoever adds the files of a run under this lock writes its side file last.
        let _lock = sql::lock(self.database.path())?;
        let folder = &self.paths.folder;
        let entries = fs::read_dir(folder).map_err(|error| StoreError::File(folder.clone(), error))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let id_of = |name: &str| ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)?.parse().ok());
        let ids: BTreeSet<RunId> = names.filter_map(|name| id_of(&name)).collect();
        let mut rows = Vec::new();
        for id in ids.into_iter().rev().filter(|id| self.is_orphan(id)) {
            let path = Some(self.paths.log(&id)).filter(|log| log.exists()).unwrap_or_default();
            let run = SessionRun::unknown(id.to_string(), SessionStatus::Interrupted, id.started());
            let source = SourceRow { path, ..SourceRow::default() };
            rows.push(SessionRecord { run, source, ..SessionRecord::default() });
        }
        Ok(rows)
    }

    fn is_orphan(&self, id: &RunId) -> bool {
        let is_missing = |error: std::io::Error| error.kind() == ErrorKind::NotFound;
        if !fs::symlink_metadata(self.paths.side_file(id)).is_err_and(is_missing) {
            return false;
        }
        let files = ENDINGS.iter().map(|ending| self.paths.folder.join(format!("{id}{ending}")));
        let files: Vec<_> =
            files.filter_map(|path| Some((fs::symlink_metadata(&path).ok()?, path))).collect();
        let now = SystemTime::now();
        // A time in the future shows nothing.
        let ages =
            files.iter().map(|(about, _)| about.modified().ok().and_then(|at| now.duration_since(at).ok()));
        let age = ages.map(Option::unwrap_or_default).min().unwrap_or_default();
        // Its log is locked before anything is written to it.
        let is_log =
            |path: &Path| path.extension().is_some_and(|it| it == "ndjson" || it == "zst" || it == "stderr");
        let is_empty = files.iter().all(|(about, path)| about.len() == 0 || !is_log(path));
        if is_empty && age < STARTS {
            return false;
        }
        // Opening a pipe would wait.
        let locks = files.iter().filter(|(about, _)| about.is_file()).map(|(_, path)| is_locked(path));
        locks.into_iter().all(|lock| match lock {
            Ok(is_locked) => !is_locked,
            Err(error) => is_missing(error) || age > SILENT,
        })
    }
}
