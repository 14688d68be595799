//! The tables `sessions`, without figures, and `messages`.

use jiff::Timestamp;
use rusqlite::{Params, Row, params};

use super::super::StoreError;
use super::super::figures::SessionFigures;
use super::super::record::{SessionRecord, SessionRun, SourceKind, SourceRow};
use super::figures::tokens;
use super::{Database, is_undecodable, json, nanoseconds, parsed, time};
use crate::path_text::{path_text, text_path};
use crate::place::{host, repo_of};
use crate::side_file::{ProcessMark, SessionStatus};

/// The most relatives of a session that are looked at.
const MOST_RELATIVES: usize = 100;

/// The columns of a [`SessionRecord`], from `sessions AS s` and one of its sources. The source's columns are one text, so that it is searched
/// only once: whether it is gone and whether it is the log of a run (`0` or `1` each), followed by its path.
const COLUMNS: &str = "s.id, s.agent_session, s.resumes, s.agent, s.model, s.title, s.folder, s.command, s.labels, s.status, \
    s.started, s.ended, s.exit, s.pid, s.pid_start, s.boot, s.parent_session, s.num_turns, s.failed_calls, s.duration_ms, s.cost_usd, s.api_ms, s.tokens_input, \
    s.tokens_output, s.tokens_cache_read, s.tokens_cache_write, (SELECT gone || (kind = 'run') || path FROM sources \
    WHERE session = s.id ORDER BY kind = 'run' DESC, gone, size DESC, path LIMIT 1) AS source";

fn record(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let recorder = match row.get("pid")? {
        Some(pid) => Some(ProcessMark { pid, start: row.get("pid_start")?, boot: row.get("boot")? }),
        None => None,
    };
    let run = SessionRun {
        agent: row.get("agent")?,
        agent_session: row.get("agent_session")?,
        parent_session: row.get("parent_session")?,
        resumes: row.get("resumes")?,
        model: row.get("model")?,
        title: row.get("title")?,
        folder: row.get("folder")?,
        command: parsed(row, "command")?,
        labels: parsed(row, "labels")?,
        ended: row.get::<_, Option<i64>>("ended")?.map(time),
        exit: parsed(row, "exit")?,
        recorder,
        ..SessionRun::unknown(
            row.get("id")?,
            SessionStatus::stored(&row.get::<_, String>("status")?),
            time(row.get("started")?),
        )
    };
    let figures = SessionFigures {
        num_turns: row.get("num_turns")?,
        failed_calls: row.get("failed_calls")?,
        cost_usd: row.get("cost_usd")?,
        duration_ms: row.get("duration_ms")?,
        api_ms: row.get("api_ms")?,
        tokens: tokens(row)?,
        ..SessionFigures::default()
    };
    let source: String = row.get::<_, Option<String>>("source")?.unwrap_or_else(|| "10".to_owned());
    let source = SourceRow {
        gone: source.starts_with('1'),
        kind: if source.get(1..2) == Some("1") { SourceKind::Run } else { SourceKind::History },
        path: source.get(2..).map(text_path).unwrap_or_default(),
        ..SourceRow::default()
    };
    Ok(SessionRecord { run, figures, source })
}

/// Reads what is left of a row if something of it can't be decoded: its id, its status and its times.
fn remnant(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let id = String::from_utf8_lossy(row.get_ref("id")?.as_bytes().unwrap_or_default()).into_owned();
    let status = SessionStatus::stored(&row.get::<_, String>("status").unwrap_or_default());
    let run = SessionRun::unknown(id, status, time(row.get("started")?));
    let run = SessionRun { ended: row.get("ended").ok().map(time), ..run };
    Ok(SessionRecord { run, ..SessionRecord::default() })
}

impl Database {
    /// Reads a row. One that can't be decoded is cut to its id, and noted.
    fn record(&self, row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
        match record(row) {
            Err(error) if is_undecodable(&error) => {
                let row = remnant(row)?;
                self.undecoded.borrow_mut().insert(row.run.id.clone());
                Ok(row)
            }
            read => read,
        }
    }

    /// Passes on the sessions that started in a time, the newest first, until `take` returns false. A start that isn't a number comes
    /// after every number.
    pub(crate) fn sessions_between(
        &self,
        first: Timestamp,
        last: Option<Timestamp>,
        take: impl FnMut(SessionRecord) -> bool,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions AS s WHERE s.started >= ?1 AND (?2 IS NULL OR s.started <= ?2) ORDER BY s.started DESC, s.id DESC"
        );
        let times = params![nanoseconds(first), last.map(nanoseconds)];
        self.each(&sql, times, |row| self.record(row), take)
    }

    /// Returns the session that is `back` before the last one that isn't empty. Those that start after `latest` come after all others.
    pub(crate) fn session_before_last(
        &self,
        back: u32,
        latest: Timestamp,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let last = "s.id = (SELECT id FROM sessions WHERE status <> 'empty' \
                    ORDER BY started > ?2, started DESC, id DESC LIMIT 1 OFFSET ?1)";
        Ok(self.sessions(last, params![back, nanoseconds(latest)])?.pop())
    }

    /// Returns at most 20 sessions whose id begins with a name: first the one with this id, then the newest.
    pub(crate) fn sessions_named(&self, name: &str) -> Result<Vec<SessionRecord>, StoreError> {
        let named =
            "substr(s.id, 1, length(?1)) = ?1 ORDER BY s.id <> ?1, s.started DESC, s.id DESC LIMIT 20";
        self.sessions(named, [name])
    }

    /// Returns a session by its id.
    pub(crate) fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self.sessions("s.id = ?1", [id])?.pop())
    }

    /// Returns the rows of an agent's session, the oldest first.
    pub(crate) fn sessions_of(&self, agent_session: &str) -> Result<Vec<SessionRecord>, StoreError> {
        self.sessions("s.agent_session = ?1 ORDER BY s.started, s.id", [agent_session])
    }

    /// Returns sessions that resume an agent's session, the oldest first.
    pub(crate) fn children_of(&self, agent_session: &str) -> Result<Vec<SessionRecord>, StoreError> {
        let children = format!("s.parent_session = ?1 ORDER BY s.started, s.id LIMIT {MOST_RELATIVES}");
        self.sessions(&children, [agent_session])
    }

    /// Returns other sessions that begin with the same message, the oldest first.
    pub(crate) fn alike(&self, id: &str) -> Result<Vec<SessionRecord>, StoreError> {
        let alike = format!(
            "s.first_message = (SELECT first_message FROM sessions WHERE id = ?1) AND s.id <> ?1 \
             ORDER BY s.started, s.id LIMIT {MOST_RELATIVES}"
        );
        self.sessions(&alike, [id])
    }

    /// Returns sessions. `condition`: a fixed text, with the order.
    fn sessions(&self, condition: &str, values: impl Params) -> Result<Vec<SessionRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions AS s WHERE {condition}");
        self.all(&sql, values, |row| self.record(row))
    }

    /// Writes a row, or updates it. Figures are left unchanged. `first_message`: the first message that the session counted.
    pub(crate) fn write_session(
        &self,
        run: &SessionRun,
        first_message: Option<u64>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO sessions (id, agent_session, agent, model, title, folder, command, labels, status, started, ended, exit, \
             pid, pid_start, boot, parent_session, first_message, host, repo) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) \
             ON CONFLICT (id) DO UPDATE SET agent_session = ?2, agent = ?3, model = ?4, title = ?5, folder = ?6, command = ?7, \
             labels = ?8, status = ?9, started = ?10, ended = ?11, exit = ?12, pid = ?13, pid_start = ?14, boot = ?15, \
             parent_session = ?16, first_message = ?17, host = coalesce(host, ?18), repo = coalesce(?19, repo)";
        let recorder = run.recorder.as_ref();
        let values = params![
            run.id,
            run.agent_session,
            run.agent,
            run.model,
            run.title,
            run.folder,
            (!run.command.is_empty()).then(|| json(&run.command)),
            (!run.labels.is_empty()).then(|| json(&run.labels)),
            // Where a run is in progress depends on who asks.
            if run.status.is_live() { "running" } else { run.status.name() },
            nanoseconds(run.started),
            run.ended.map(nanoseconds),
            run.exit.map(|exit| json(&exit)),
            recorder.map(|mark| mark.pid),
            recorder.and_then(|mark| mark.start).map(u64::cast_signed),
            recorder.and_then(|mark| mark.boot.as_deref()),
            run.parent_session.as_ref().filter(|parent| Some(*parent) != run.agent_session.as_ref()),
            first_message.map(u64::cast_signed),
            host(),
            run.folder.as_deref().and_then(|folder| repo_of(&text_path(folder))).map(|repo| path_text(&repo)),
        ];
        self.change(sql, values).map(drop)
    }

    pub(crate) fn write_status(&self, id: &str, status: &str) -> Result<(), StoreError> {
        self.change("UPDATE sessions SET status = ?2 WHERE id = ?1", [id, status]).map(drop)
    }

    /// Writes which of our sessions a session resumes.
    pub(crate) fn write_resumes(&self, id: &str, resumes: Option<&str>) -> Result<(), StoreError> {
        self.change("UPDATE sessions SET resumes = ?2 WHERE id = ?1", params![id, resumes]).map(drop)
    }

    /// Removes a session with all its rows. Sessions that resume it stay.
    pub(crate) fn remove_session(&self, id: &str) -> Result<(), StoreError> {
        self.change("DELETE FROM sessions WHERE id = ?1", [id])?;
        self.change("UPDATE sessions SET resumes = NULL WHERE resumes = ?1", [id]).map(drop)
    }

    /// Returns the messages of a session, by their hashes.
    pub(crate) fn messages(&self, id: &str) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT hashes FROM messages WHERE session = ?1";
        let bytes: Vec<u8> = self.first(sql, [id], |row| row.get("hashes"))?.unwrap_or_default();
        Ok(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Writes the messages of a session.
    pub(crate) fn write_messages(&self, id: &str, hashes: &[u64]) -> Result<(), StoreError> {
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        self.change("REPLACE INTO messages (session, hashes) VALUES (?1, ?2)", (id, bytes)).map(drop)
    }
}
