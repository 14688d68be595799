//! The table `sources`: the files that sessions are read from.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Row, params};

use super::super::StoreError;
use super::super::record::{SourceKind, SourceRow};
use super::{Database, READ_BEFORE, json, parsed};
use crate::path_text::{path_text, text_path};

fn source(row: &Row<'_>) -> rusqlite::Result<SourceRow> {
    let errors: Option<String> = row.get("errors")?;
    Ok(SourceRow {
        path: path(row)?,
        kind: if is_run(row)? { SourceKind::Run } else { SourceKind::History },
        start: row.get("start")?,
        size: row.get("size")?,
        errors: errors.as_deref().map(text_path),
        gaps: parsed(row, "gaps")?,
        mtime: row.get("mtime")?,
        gone: row.get("gone")?,
        is_copy: false,
    })
}

fn path(row: &Row<'_>) -> rusqlite::Result<PathBuf> {
    Ok(text_path(&row.get::<_, String>("path")?))
}

fn is_run(row: &Row<'_>) -> rusqlite::Result<bool> {
    Ok(row.get::<_, String>("kind")? == "run")
}

impl Database {
    /// Returns the files of a session, with its own log first.
    pub(crate) fn sources(&self, id: &str) -> Result<Vec<SourceRow>, StoreError> {
        let sql =
            "SELECT * FROM sources WHERE session = ?1 ORDER BY kind = 'run' DESC, gone, size DESC, path";
        let found: Vec<Option<SourceRow>> = self.all(sql, [id], |row| self.decodable(id, source(row)))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns the sessions that a file belongs to.
    pub(crate) fn sources_at(&self, file: &Path) -> Result<Vec<(String, SourceRow)>, StoreError> {
        let sql = "SELECT * FROM sources WHERE path = ?1";
        self.all(sql, [path_text(file)], |row| Ok((row.get("session")?, source(row)?)))
    }

    /// Returns all files: the session, the path as text, whether it is the log of a run, and whether it is gone.
    pub(crate) fn all_sources(&self) -> Result<Vec<(String, String, bool, bool)>, StoreError> {
        let sql = "SELECT session, path, kind, gone FROM sources";
        self.all(sql, [], |row| Ok((row.get("session")?, row.get("path")?, is_run(row)?, row.get("gone")?)))
    }

    /// Returns the histories of an agent's session, by its own id, in the database at a path, each with our id, the largest first and then those
    /// that are gone. Nothing is created.
    pub(crate) fn histories_at(
        path_of: &Path,
        agent_session: &str,
    ) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path_of, flags);
        let database = Self::new(connection.map_err(|error| super::failure(path_of, &error))?, path_of);
        let sql = "SELECT o.session, o.path FROM sources AS o JOIN sessions AS s ON o.session = s.id \
                   WHERE s.agent_session = ?1 AND o.kind = 'history' ORDER BY o.gone, o.size DESC, o.path";
        database.all(sql, [agent_session], |row| Ok((row.get("session")?, path(row)?)))
    }

    /// Returns the histories that an older version has read.
    pub(crate) fn histories_read_before(&self) -> Result<Vec<PathBuf>, StoreError> {
        let sql = "SELECT DISTINCT path FROM sources WHERE kind = 'history' AND mtime = ?1 AND NOT gone";
        self.all(sql, [READ_BEFORE], path)
    }

    /// Returns the ids of our runs that have a row, and whether that is complete.
    pub(crate) fn settled(&self) -> Result<BTreeMap<String, bool>, StoreError> {
        let sql = "SELECT s.id, s.status <> 'running' AND (o.mtime IS NOT NULL OR o.gone) AS is_settled FROM sessions AS s \
                   JOIN sources AS o ON o.session = s.id WHERE o.kind = 'run'";
        self.all(sql, [], |row| Ok((row.get("id")?, row.get("is_settled")?)))
    }

    /// Returns the ids of the sessions that we recorded.
    pub(crate) fn recorded(&self) -> Result<HashSet<String>, StoreError> {
        self.all("SELECT session FROM sources WHERE kind = 'run'", [], |row| row.get("session"))
    }

    /// Returns the offset at which the next run starts in a log, after the run that starts at an offset.
    pub(crate) fn next_start(&self, log: &Path, start: u64, id: &str) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT min(start) AS next FROM sources \
                   WHERE path = ?1 AND (start > ?2 OR start = ?2 AND session > ?3) AND kind = 'run'";
        let values = params![path_text(log), start.cast_signed(), id];
        self.first(sql, values, |row| row.get("next")).map(Option::flatten)
    }

    /// Whether a file belongs to another session than this one, too.
    pub(crate) fn is_shared(&self, file: &Path, id: &str) -> Result<bool, StoreError> {
        // Of many runs in one log, only one other has to be found.
        let sql = "SELECT 1 FROM sources WHERE path = ?1 AND session <> ?2 LIMIT 1";
        self.first(sql, params![path_text(file), id], |_| Ok(())).map(|found| found.is_some())
    }

    /// Writes a file of a session, or updates it.
    pub(crate) fn write_source(&self, session: &str, source: &SourceRow) -> Result<(), StoreError> {
        if source.kind == SourceKind::Run {
            // A run has one log, which may have been moved.
            let sql = "DELETE FROM sources WHERE session = ?1 AND kind = 'run' AND path <> ?2";
            self.change(sql, params![session, path_text(&source.path)])?;
        }
        self.change(
            "INSERT INTO sources (session, path, kind, start, size, errors, gaps, mtime, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT (session, path) DO UPDATE SET kind = ?3, start = ?4, size = ?5, errors = ?6, gaps = ?7, mtime = ?8, gone = ?9",
            params![
                session,
                path_text(&source.path),
                source.kind.name(),
                source.start.cast_signed(),
                source.size.map(u64::cast_signed),
                source.errors.as_deref().map(path_text),
                (!source.gaps.is_empty()).then(|| json(&source.gaps)),
                source.mtime,
                source.gone,
            ],
        )?;
        Ok(())
    }

    /// Writes where the log of a run is now.
    pub(crate) fn move_log(&self, id: &str, log: &Path) -> Result<(), StoreError> {
        let sql = "UPDATE OR REPLACE ledgers SET path = ?2 WHERE session = ?1 \
                   AND path = (SELECT path FROM sources WHERE session = ?1 AND kind = 'run')";
        self.change(sql, params![id, path_text(log)])?;
        let sql = "UPDATE sources SET path = ?2 WHERE session = ?1 AND kind = 'run'";
        self.change(sql, params![id, path_text(log)]).map(drop)
    }

    /// Writes that the log of a run is gone.
    pub(crate) fn mark_log_gone(&self, id: &str) -> Result<(), StoreError> {
        self.change("UPDATE sources SET gone = 1 WHERE session = ?1 AND kind = 'run'", [id]).map(drop)
    }

    /// Writes whether a file of a session is gone. `path`: its text.
    pub(crate) fn mark_gone(&self, session: &str, path: &str, is_gone: bool) -> Result<(), StoreError> {
        let sql = "UPDATE sources SET gone = ?3 WHERE path = ?1 AND session = ?2";
        self.change(sql, params![path, session, is_gone]).map(drop)
    }

    /// Returns the folders that were imported.
    pub(crate) fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.all("SELECT path FROM folders ORDER BY path", [], path)
    }

    /// Writes that a folder was imported. If that is known, nothing is written, since writing waits for other processes.
    pub(crate) fn add_folder(&self, folder: &Path) -> Result<(), StoreError> {
        if !self.folders()?.iter().any(|known| folder.starts_with(known)) {
            self.change("INSERT OR IGNORE INTO folders (path) VALUES (?1)", [path_text(folder)])?;
        }
        Ok(())
    }

    /// Takes a file from a session, unless the beginning of the file names the session. Returns whether it did.
    pub(crate) fn take_source(
        &self,
        session: &str,
        file: &Path,
        beginning: &str,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM sources WHERE path = ?1 AND session = ?2 \
                   AND instr(?3, (SELECT agent_session FROM sessions WHERE id = ?2)) = 0";
        self.change(sql, params![path_text(file), session, beginning]).map(|taken| taken > 0)
    }
}
