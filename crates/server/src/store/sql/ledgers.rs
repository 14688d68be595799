//! The table `ledgers`, and what statistics need of the others.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Row, params};
use streamfmt::core::event::Usage;

use super::super::StoreError;
use super::super::figures::Ledger;
use super::super::stats::{CountedFile, CountedSession};
use super::{Database, time};
use crate::path_text::path_text;

impl Database {
    /// Writes the entries of a file of a session. `changed`: when the file was last changed, in nanoseconds since 1970.
    pub(crate) fn write_ledger(
        &self,
        session: &str,
        file: &Path,
        changed: i64,
        ledger: &Ledger,
    ) -> Result<(), StoreError> {
        // Serialising into memory can't fail.
        let entries = postcard::to_stdvec(ledger).unwrap_or_default();
        let sql = "REPLACE INTO ledgers (session, path, changed, entries) VALUES (?1, ?2, ?3, ?4)";
        self.change(sql, params![session, path_text(file), changed, entries]).map(drop)
    }

    /// Returns when a file was last changed before its entries were written.
    pub(crate) fn ledger_changed(&self, file: &Path) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT changed FROM ledgers WHERE path = ?1";
        self.first(sql, [path_text(file)], |row| row.get("changed"))
    }

    /// Returns all sessions with their entries, the oldest first. Entries that can't be decoded are left out, and noted.
    pub(crate) fn counted_sessions(&self) -> Result<Vec<CountedSession>, StoreError> {
        let sql = "SELECT id, agent_session, parent_session, agent, model, folder, repo, host, started, ended, status, cost_usd, \
                   EXISTS (SELECT 1 FROM sources WHERE session = id AND kind = 'run') AS is_run FROM sessions ORDER BY started, id";
        let read = |row: &Row<'_>| {
            Ok(CountedSession {
                id: row.get("id")?,
                agent_session: row.get("agent_session")?,
                parent_session: row.get("parent_session")?,
                agent: row.get("agent")?,
                model: row.get("model")?,
                folder: row.get("folder")?,
                repo: row.get("repo")?,
                host: row.get("host")?,
                started: time(row.get("started")?),
                ended: row.get::<_, Option<i64>>("ended")?.map(time),
                is_live: row.get::<_, String>("status")? == "running",
                is_run: row.get("is_run")?,
                cost_usd: row.get("cost_usd")?,
                ..CountedSession::default()
            })
        };
        let found: Vec<Option<CountedSession>> = self.all(sql, [], |row| {
            let id: String = row.get("id")?;
            self.decodable(&id, read(row))
        })?;
        let mut sessions: Vec<CountedSession> = found.into_iter().flatten().collect();
        let places: BTreeMap<String, usize> =
            sessions.iter().enumerate().map(|(place, session)| (session.id.clone(), place)).collect();
        let sql = "SELECT session, model, kind, tokens FROM usage";
        let usage = |row: &Row<'_>| {
            Ok((row.get("session")?, row.get("model")?, row.get("kind")?, row.get("tokens")?))
        };
        self.each(sql, [], usage, |(session, model, kind, tokens): (String, String, String, u64)| {
            if let Some(place) = places.get(&session) {
                let usage: &mut Usage = sessions[*place].usage.entry(model).or_default();
                match &*kind {
                    "input" => usage.input = tokens,
                    "output" => usage.output = tokens,
                    "cache_read" => usage.cache_read = tokens,
                    "cache_write" => usage.cache_write = tokens,
                    _ => {}
                }
            }
            true
        })?;
        let sql = "SELECT l.session, l.entries, o.kind IS 'run' AS is_log FROM ledgers AS l \
                   LEFT JOIN sources AS o ON o.session = l.session AND o.path = l.path ORDER BY l.session, l.path";
        let ledger = |row: &Row<'_>| {
            let entries = row.get_ref("entries")?.as_bytes().unwrap_or_default();
            Ok((row.get("session")?, row.get("is_log")?, postcard::from_bytes(entries).ok()))
        };
        self.each(sql, [], ledger, |(session, is_log, ledger): (String, bool, Option<Ledger>)| {
            match (places.get(&session), ledger) {
                (Some(place), Some(ledger)) => sessions[*place].files.push(CountedFile { is_log, ledger }),
                (_, None) => drop(self.undecoded.borrow_mut().insert(session)),
                (None, _) => {}
            }
            true
        })?;
        Ok(sessions)
    }
}
