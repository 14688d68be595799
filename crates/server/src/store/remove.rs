//! Removes sessions without leaving any of their data.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::record::SourceKind;
use super::runs::is_gone;
use super::{Store, StoreError, sql};
use crate::run_id::RunId;
use crate::side_file::SessionStatus;

/// How long to wait for readers before the last copies of removed data are overwritten.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of sessions that are removed in one transaction.
const BATCH: usize = 100;

/// The result of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Session by session.
    pub sessions: Vec<RemovedSession>,
    /// Whether copies may be left in the database's write-ahead log, because another process was reading.
    pub leaves_copies: bool,
    /// Damaged databases that were moved aside. They may still contain the removed data.
    pub aside: Vec<PathBuf>,
}

/// A session that was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedSession {
    /// Its id.
    pub id: String,
    /// Files that were removed with it.
    pub removed: Vec<PathBuf>,
    /// Files that it was read from and that are kept, because they are elsewhere or contain other sessions.
    pub kept: Vec<PathBuf>,
}

impl Store {
    /// Returns the files that [`Self::remove`] would remove with a session, and those that it would keep.
    pub fn removable(&self, id: &str) -> Result<RemovedSession, StoreError> {
        let mut found = RemovedSession { id: id.to_owned(), ..RemovedSession::default() };
        let folder = self.paths.folder.as_path();
        let is_ours =
            |path: &Path| path.parent() == Some(folder) && named_run(path).is_none_or(|run| run == id);
        for source in self.sources(id)? {
            let is_shared = self.database.is_shared(&source.path, id)?;
            let is_removed = source.kind == SourceKind::Run && is_ours(&source.path) && !is_shared;
            let files = if is_removed { &mut found.removed } else { &mut found.kept };
            files.extend(Some(source.path).filter(|path| !is_gone(path)));
            // Its name is another one if the first was taken.
            let errors =
                source.errors.filter(|path| path.parent() == Some(folder) && named_run(path) == Some(id));
            found.removed.extend(errors.filter(|path| !is_gone(path)));
        }
        if let Ok(id) = id.parse::<RunId>() {
            found.removed.extend(self.copies_folder(&id));
            let [end, draft] = self.paths.drafts(&id);
            let lock = self.paths.lock(&id);
            let side = self.paths.side_file(&id);
            let [packed, packed_draft] = self.paths.packed(&id);
            let log = self.paths.log(&id);
            for path in [log, packed, packed_draft, self.paths.errors(&id), end, draft, lock, side] {
                if !is_gone(&path) && !found.removed.contains(&path) {
                    found.removed.push(path);
                }
            }
        }
        Ok(found)
    }

    /// Returns the ids of the sessions that we recorded.
    pub fn recorded(&self) -> Result<HashSet<String>, StoreError> {
        self.database.recorded()
    }

    /// Removes sessions: their rows, and their files in the data folder. Those in progress are left alone. `is_forced`: those that are in
    /// progress elsewhere are removed as well. Calls `each` with the number of
    /// sessions done and of all sessions.
    pub fn remove(
        &mut self,
        ids: &[String],
        is_forced: bool,
        mut each: impl FnMut(usize, usize),
    ) -> Result<Removal, StoreError> {
        let mut removal = Removal::default();
        for (at, batch) in ids.chunks(BATCH).enumerate() {
            each(at * BATCH, ids.len());
            let (removed, done) = self.remove_files(batch, is_forced);
            self.remove_rows(&removed)?;
            removal.sessions.extend(removed);
            done?;
        }
        removal.leaves_copies = !self.overwrite()?;
        removal.aside = sql::moved_aside(self.database.path());
        Ok(removal)
    }

    /// Removes the files of sessions, up to the first that can't be removed. They are removed before the rows: as long as there is a row,
    /// the remaining ones are removed the next time.
    fn remove_files(&self, ids: &[String], is_forced: bool) -> (Vec<RemovedSession>, Result<(), StoreError>) {
        let mut removed = Vec::new();
        for id in ids {
            if let Ok(run) = id.parse::<RunId>()
                && let Ok(side) = crate::side_file::RunSideFile::read(&self.paths.side_file(&run))
                && match self.state_of(&side) {
                    SessionStatus::Running => true,
                    SessionStatus::RunningElsewhere => !is_forced,
                    _ => false,
                }
            {
                continue;
            }
            let files = match self.removable(id) {
                Ok(files) => files,
                Err(error) => return (removed, Err(error)),
            };
            let copies = id.parse().ok().and_then(|id| self.copies_folder(&id));
            for path in &files.removed {
                match if Some(path) == copies.as_ref() {
                    self.remove_folder(path)
                } else {
                    fs::remove_file(path)
                } {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return (removed, Err(StoreError::File(path.clone(), error)));
                    }
                    _ => {}
                }
            }
            removed.push(files);
        }
        (removed, Ok(()))
    }

    /// Removes a folder of copies, which another process may be adding to.
    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        let _lock = sql::lock(self.database.path()).ok();
        fs::remove_dir_all(folder)
    }

    /// Removes sessions for good: later imports leave them out, too, unless their files are named. See [`Self::remove`].
    pub fn remove_for_good(
        &mut self,
        ids: &[String],
        is_forced: bool,
        each: impl FnMut(usize, usize),
    ) -> Result<Removal, StoreError> {
        self.leave_out(ids)?;
        self.remove(ids, is_forced, each)
    }

    /// Returns the files that [`Self::remove_copies`] would remove with a session, and those that it would keep.
    pub fn removable_copies(&self, id: &str) -> Result<RemovedSession, StoreError> {
        if !self.recorded()?.contains(id) {
            return self.removable(id);
        }
        let folder = id.parse().ok().and_then(|id| self.copies_folder(&id));
        Ok(RemovedSession { id: id.to_owned(), removed: folder.into_iter().collect(), kept: Vec::new() })
    }

    /// Removes the copies of sessions, and the sessions as well, unless they are recorded runs.
    pub fn remove_copies(
        &mut self,
        ids: &[String],
        each: impl FnMut(usize, usize),
    ) -> Result<Removal, StoreError> {
        let recorded = self.recorded()?;
        let (runs, histories): (Vec<String>, Vec<String>) =
            ids.iter().cloned().partition(|id| recorded.contains(id));
        let mut removal = self.remove(&histories, false, each)?;
        for id in runs {
            let folder = id.parse().ok().and_then(|id| self.copies_folder(&id));
            if let Some(folder) = &folder {
                self.remove_folder(folder).map_err(|error| StoreError::File(folder.clone(), error))?;
            }
            removal.sessions.push(RemovedSession {
                id,
                removed: folder.into_iter().collect(),
                kept: Vec::new(),
            });
        }
        Ok(removal)
    }

    fn remove_rows(&self, sessions: &[RemovedSession]) -> Result<(), StoreError> {
        let remove = |session: &RemovedSession| self.database.remove_session(&session.id);
        self.database.transaction(|| sessions.iter().try_for_each(remove))
    }

    /// Empties the write-ahead log, which contains earlier versions of pages. Returns false if other processes kept reading.
    fn overwrite(&self) -> Result<bool, StoreError> {
        let begun = Instant::now();
        loop {
            if self.database.empty_log()? {
                return Ok(true);
            }
            if begun.elapsed() > PATIENCE {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Returns the id with which the name of a file begins.
fn named_run(path: &Path) -> Option<&str> {
    let id = path.file_name()?.to_str()?.get(..RunId::LENGTH)?;
    id.parse::<RunId>().is_ok().then_some(id)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::run_lock::RunLock;
    use crate::side_file::ProcessMark;

    const ID: &str = "20261123-224103-k3x9qa";
    const OTHER: &str = "20261123-224203-k3x9qb";

    /// Writes the side file of a run with this log.
    fn leave(data: &Path, id: &str, log: &Path, more: &str) {
        let side = format!(
            r#"{{"v":1,"id":"{id}","status":"done","command":["a"],"folder":"/","log":"{}",{more}
                "started":"2026-11-23T22:41:03Z","recorder":{{"pid":1,"start":1,"boot":"another"}}}}"#,
            log.display()
        );
        fs::write(data.join(format!("sessions/{id}.json")), side).unwrap();
    }

    /// A data folder with another run, and with a file and a folder beside it.
    fn data() -> tempfile::TempDir {
        let folder = tempfile::TempDir::with_prefix("streamfmt-remove-").unwrap();
        let data = folder.path().join("data");
        drop(Store::open(&data).unwrap());
        let sessions = data.join("sessions");
        fs::create_dir(sessions.join("sub")).unwrap();
        fs::create_dir(folder.path().join("agents")).unwrap();
        for path in ["agents/history", "data/file", "data/sessions/sub/log"] {
            fs::write(folder.path().join(path), path).unwrap();
        }
        for ending in ["ndjson", "stderr"] {
            fs::write(sessions.join(format!("{OTHER}.{ending}")), "other").unwrap();
        }
        leave(&data, OTHER, &sessions.join(format!("{OTHER}.ndjson")), "");
        folder
    }

    /// All files and links below a folder, without the database.
    fn files(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                found.extend(files(&entry.path()).into_iter().map(|below| format!("{name}/{below}")));
            } else if !name.starts_with("sessions.db") {
                found.push(name);
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_session_takes_only_its_own_files_with_it() {
        // The reason, the log and the standard error in its side file, below the test's folder, and whether each is removed.
        let rows = [
            (
                "its log",
                format!("data/sessions/{ID}.ndjson"),
                format!("data/sessions/{ID}.stderr"),
                true,
                true,
            ),
            (
                "names that were free",
                format!("data/sessions/{ID}-2.ndjson"),
                format!("data/sessions/{ID}-2.stderr"),
                true,
                true,
            ),
            (
                "a log of its own name in our folder",
                "data/sessions/mine".to_owned(),
                "data/errors".to_owned(),
                true,
                false,
            ),
            (
                "the log of another run",
                format!("data/sessions/{OTHER}.ndjson"),
                format!("data/sessions/{OTHER}.stderr"),
                false,
                false,
            ),
            (
                "the side file of another run",
                format!("data/sessions/{OTHER}.json"),
                format!("data/sessions/{OTHER}.json"),
                false,
                false,
            ),
            (
                "a file of another name as its errors",
                "data/sessions/mine".to_owned(),
                "data/sessions/notes".to_owned(),
                true,
                false,
            ),
            (
                "its name elsewhere",
                format!("agents/{ID}.ndjson"),
                format!("agents/{ID}.stderr"),
                false,
                false,
            ),
            ("elsewhere", "agents/history".to_owned(), "agents/history".to_owned(), false, false),
            ("beside our folder", "data/file".to_owned(), "data/file".to_owned(), false, false),
            (
                "below our folder",
                "data/sessions/sub/log".to_owned(),
                "data/sessions/sub/log".to_owned(),
                false,
                false,
            ),
            (
                "out of our folder",
                "data/sessions/../file".to_owned(),
                format!("data/sessions/sub/../{OTHER}.stderr"),
                false,
                false,
            ),
            ("our folder itself", "data/sessions".to_owned(), "data/sessions".to_owned(), false, false),
        ];
        for (why, log, errors, takes_log, takes_errors) in rows {
            let folder = data();
            let (data, before) = (folder.path().join("data"), files(folder.path()));
            let [log, errors] = [log, errors].map(|path| folder.path().join(path));
            for path in [&log, &errors] {
                if !path.exists() {
                    fs::write(path, "mine").unwrap();
                }
            }
            for ending in ["json.end", "json.tmp", "lock"] {
                fs::write(data.join(format!("sessions/{ID}.{ending}")), "").unwrap();
            }
            leave(&data, ID, &log, &format!(r#""errors":"{}","#, errors.display()));
            let mut store = Store::open(&data).unwrap();
            store.catch_up().unwrap();
            let planned = store.removable(ID).unwrap();
            assert!(planned.removed.iter().all(|path| path.exists()), "{why}: {planned:?}");
            let each: HashSet<&PathBuf> = planned.removed.iter().collect();
            assert_eq!(each.len(), planned.removed.len(), "{why}: {planned:?}");
            let removal = store.remove(&[ID.to_owned()], false, |_, _| ()).unwrap();
            assert_eq!(removal.sessions, [planned], "{why}");
            assert_eq!((log.exists(), errors.exists()), (!takes_log, !takes_errors), "{why}");
            let kept: &[PathBuf] = if takes_log { &[] } else { std::slice::from_ref(&log) };
            assert_eq!(removal.sessions[0].kept, kept, "{why}");
            let after = files(folder.path());
            assert!(before.iter().all(|path| after.contains(path)), "{why}: {after:?}");
            assert!(!after.iter().any(|path| path.ends_with(&format!("{ID}.json"))), "{why}: {after:?}");
            let own = after.iter().filter(|path| path.starts_with(&format!("data/sessions/{ID}"))).count();
            assert_eq!(own, 0, "{why}: {after:?}");
        }
    }

    #[test]
    fn a_log_of_several_runs_goes_with_the_last_of_them() {
        let folder = data();
        let data = folder.path().join("data");
        let log = data.join("sessions/shared");
        fs::remove_file(data.join(format!("sessions/{OTHER}.ndjson"))).unwrap();
        fs::write(&log, "one\ntwo\n").unwrap();
        leave(&data, ID, &log, r#""log_start":0,"log_bytes":4,"#);
        leave(&data, OTHER, &log, r#""log_start":4,"log_bytes":4,"#);
        let mut store = Store::open(&data).unwrap();
        store.catch_up().unwrap();
        assert_eq!(store.recorded().unwrap(), HashSet::from([ID, OTHER].map(str::to_owned)));
        let first = store.remove(&[ID.to_owned()], false, |_, _| ()).unwrap();
        assert_eq!((&first.sessions[0].kept[..], log.exists()), (&[log.clone()][..], true));
        let second = store.remove(&[OTHER.to_owned()], false, |_, _| ()).unwrap();
        assert!(second.sessions[0].kept.is_empty() && second.sessions[0].removed.contains(&log));
        assert!(!second.leaves_copies && second.aside.is_empty());
        assert!(!log.exists());
    }

    #[test]
    fn of_a_link_only_the_link_is_removed_whether_it_leads_anywhere_or_not() {
        for target in ["agents/history", "nowhere"] {
            let folder = data();
            let (data, before) = (folder.path().join("data"), files(folder.path()));
            let log = data.join(format!("sessions/{ID}.ndjson"));
            for ending in ["ndjson", "stderr", "lock", "json.end", "json.tmp"] {
                symlink(folder.path().join(target), data.join(format!("sessions/{ID}.{ending}"))).unwrap();
            }
            leave(&data, ID, &log, "");
            let mut store = Store::open(&data).unwrap();
            store.catch_up().unwrap();
            store.remove(&[ID.to_owned()], false, |_, _| ()).unwrap();
            assert_eq!(files(folder.path()), before, "{target}");
            assert_eq!(fs::read_to_string(folder.path().join("agents/history")).unwrap(), "agents/history");
        }
    }

    #[test]
    fn a_folder_in_the_place_of_a_file_is_not_removed_and_the_session_stays() {
        let folder = data();
        let data = folder.path().join("data");
        let log = data.join(format!("sessions/{ID}.ndjson"));
        leave(&data, ID, &log, "");
        let mut store = Store::open(&data).unwrap();
        store.catch_up().unwrap();
        fs::create_dir(&log).unwrap();
        fs::write(log.join("file"), "").unwrap();
        let ids = [OTHER.to_owned(), ID.to_owned()];
        assert!(
            matches!(store.remove(&ids, false, |_, _| ()), Err(StoreError::File(path, _)) if path == log)
        );
        assert!(log.join("file").exists());
        let rows = store.list(&crate::store::SessionFilter::default()).unwrap();
        assert_eq!(
            rows.iter().map(|row| row.run.id.as_str()).collect::<Vec<_>>(),
            [ID],
            "the one before it is gone"
        );
    }

    #[test]
    fn a_run_in_progress_is_not_removed_and_one_elsewhere_only_if_forced() {
        let mark = |mark: &ProcessMark| serde_json::to_string(mark).unwrap();
        let here = ProcessMark::of(std::process::id());
        let dead = mark(&ProcessMark { start: None, ..here.clone() });
        let other = mark(&ProcessMark { boot: Some("another".to_owned()), ..here.clone() });
        let here = mark(&here);
        // Whether its lock is held or left behind; its recorder; whether removal is forced; and whether the run is removed.
        for (lock, recorder, is_forced, is_removed) in [
            (Some(true), &here, false, false),
            (Some(true), &here, true, false),
            (Some(true), &other, true, false),
            // It was killed.
            (Some(false), &here, false, true),
            (Some(false), &other, false, true),
            (None, &dead, false, true),
            // On a file system without locks.
            (None, &here, false, false),
            (None, &here, true, false),
            (None, &other, false, false),
            (None, &other, true, true),
        ] {
            let folder = data();
            let data = folder.path().join("data");
            let log = data.join(format!("sessions/{ID}.ndjson"));
            fs::write(&log, "mine").unwrap();
            leave(&data, ID, &log, "");
            let side = data.join(format!("sessions/{ID}.json"));
            let text = fs::read_to_string(&side).unwrap().replace("done", "running");
            let text = text.replace(r#"{"pid":1,"start":1,"boot":"another"}"#, recorder);
            fs::write(&side, text).unwrap();
            let mut store = Store::open(&data).unwrap();
            let path = data.join(format!("sessions/{ID}.lock"));
            let held = match lock {
                Some(true) => Some(RunLock::hold(path).unwrap()),
                Some(false) => fs::write(path, "").map(|()| None).unwrap(),
                None => None,
            };
            store.catch_up().unwrap();
            let removal = store.remove(&[ID.to_owned()], is_forced, |_, _| ()).unwrap();
            assert_eq!(removal.sessions.len(), usize::from(is_removed), "{lock:?} {recorder} {is_forced}");
            assert_eq!([log.exists(), side.exists()], [!is_removed; 2], "{lock:?} {recorder} {is_forced}");
            drop(held);
        }
    }

    #[test]
    fn nothing_is_changed_in_a_folder_of_another_user() {
        let folder = data();
        let data = folder.path().join("data");
        for owned in [data.join("sessions"), data.clone()] {
            // Only root can do that.
            if std::os::unix::fs::chown(&owned, Some(54_329), None).is_err() {
                return;
            }
            let before = (files(folder.path()), fs::metadata(&owned).unwrap().mode());
            for opened in [Store::open(&data), Store::repair(&data)] {
                let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
                assert!(
                    matches!(opened, Err(StoreError::File(path, error)) if path == owned && is_refused(&error))
                );
            }
            assert_eq!((files(folder.path()), fs::metadata(&owned).unwrap().mode()), before);
            std::os::unix::fs::chown(&owned, Some(rustix::process::geteuid().as_raw()), None).unwrap();
        }
    }
}
