//! Removes sessions without leaving any of their data.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::params;

use super::row::{SessionStatus, SourceKind};
use super::{Store, StoreError, database};
use crate::path_text::path_text;
use crate::run_id::RunId;

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
        let fail = self.fail();
        let mut found = RemovedSession { id: id.to_owned(), ..RemovedSession::default() };
        let folder = self.paths.folder.as_path();
        let is_ours =
            |path: &Path| path.parent() == Some(folder) && named_run(path).is_none_or(|run| run == id);
        for source in self.sources(id)? {
            // Of many runs in one log, only one other has to be found.
            let sql = "SELECT EXISTS (SELECT 1 FROM sources WHERE path = ?1 AND session <> ?2)";
            let is_shared: bool = self
                .connection
                .query_row(sql, params![path_text(&source.path), id], |row| row.get(0))
                .map_err(&fail)?;
            let is_removed = source.kind == SourceKind::Run && is_ours(&source.path) && !is_shared;
            let files = if is_removed { &mut found.removed } else { &mut found.kept };
            files.extend(Some(source.path).filter(|path| path.exists()));
        }
        if let Ok(id) = id.parse::<RunId>() {
            let [end, draft] = self.paths.drafts(&id);
            let lock = self.paths.lock(&id);
            let side = self.paths.side_file(&id);
            for path in [self.paths.log(&id), self.paths.errors(&id), end, draft, lock, side] {
                if path.exists() && !found.removed.contains(&path) {
                    found.removed.push(path);
                }
            }
        }
        Ok(found)
    }

    /// Returns the ids of the sessions that we recorded.
    pub fn recorded(&self) -> Result<HashSet<String>, StoreError> {
        let fail = self.fail();
        let mut statement =
            self.connection.prepare("SELECT session FROM sources WHERE kind = 'run'").map_err(&fail)?;
        let ids = statement.query_map([], |row| row.get(0)).map_err(&fail)?;
        ids.collect::<Result<_, _>>().map_err(fail)
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
        removal.aside = database::moved_aside(&self.path);
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
            for path in &files.removed {
                match fs::remove_file(path) {
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

    fn remove_rows(&mut self, sessions: &[RemovedSession]) -> Result<(), StoreError> {
        let fail = self.fail();
        let transaction = self.connection.transaction().map_err(&fail)?;
        for session in sessions {
            transaction.execute("DELETE FROM sessions WHERE id = ?1", [&session.id]).map_err(&fail)?;
            transaction
                .execute("UPDATE sessions SET resumes = NULL WHERE resumes = ?1", [&session.id])
                .map_err(&fail)?;
        }
        transaction.commit().map_err(fail)
    }

    /// Empties the write-ahead log, which contains earlier versions of pages. Returns false if other processes kept reading.
    fn overwrite(&self) -> Result<bool, StoreError> {
        let begun = Instant::now();
        loop {
            let busy: i64 = self
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
                .map_err(self.fail())?;
            if busy == 0 {
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
