//! What connects sessions of the table `sessions` with others, and the table `messages`.

use rusqlite::{Params, Row};

use super::super::StoreError;
use super::Database;
use crate::run_id::RunId;

/// The most relatives of a session that are looked at.
const MOST_RELATIVES: usize = 100;

/// The place of a session among those that begin alike, unless one goes back to another: the first of those with a message counts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seniority {
    /// The figures of runs are reported, not counted from messages.
    pub(crate) is_history: bool,
    /// When its file begins. A copy begins as its origin does.
    begins: String,
    ended: i64,
    pub(crate) id: String,
}

/// A session, and what connects it with others.
pub(crate) struct Relative {
    pub(crate) seniority: Seniority,
    pub(crate) agent_session: Option<String>,
    pub(crate) parent_session: Option<String>,
}

fn relative(row: &Row<'_>) -> rusqlite::Result<Relative> {
    let id: String = row.get("id")?;
    let begins = RunId::time_of(&id).to_owned();
    let seniority = Seniority { is_history: row.get("is_history")?, begins, ended: row.get("ended")?, id };
    Ok(Relative {
        seniority,
        agent_session: row.get("agent_session")?,
        parent_session: row.get("parent_session")?,
    })
}

impl Database {
    /// Returns a session by its id.
    pub(crate) fn relative(&self, id: &str) -> Result<Option<Relative>, StoreError> {
        Ok(self.relatives("s.id = ?1", [id])?.into_iter().next())
    }

    /// Returns the sessions that begin with the same message.
    pub(crate) fn alike(&self, id: &str) -> Result<Vec<Relative>, StoreError> {
        let condition = "s.first_message = (SELECT first_message FROM sessions WHERE id = ?1) AND s.id <> ?1";
        self.relatives(condition, [id])
    }

    /// Returns the rows of an agent's session.
    pub(crate) fn relatives_of(&self, agent_session: &str) -> Result<Vec<Relative>, StoreError> {
        self.relatives("s.agent_session = ?1", [agent_session])
    }

    /// Returns the sessions that resume an agent's session.
    pub(crate) fn children_of(&self, agent_session: &str) -> Result<Vec<Relative>, StoreError> {
        self.relatives("s.parent_session = ?1", [agent_session])
    }

    /// Returns sessions, the oldest first. `condition`: a fixed text.
    fn relatives(&self, condition: &str, values: impl Params) -> Result<Vec<Relative>, StoreError> {
        let sql = format!(
            "SELECT s.id, s.agent_session, s.parent_session, coalesce(s.ended, s.started) AS ended, \
             NOT EXISTS (SELECT 1 FROM sources WHERE session = s.id AND kind = 'run') AS is_history \
             FROM sessions AS s WHERE {condition} ORDER BY s.started, s.id LIMIT {MOST_RELATIVES}"
        );
        self.all(&sql, values, relative)
    }

    /// Returns the messages of a session.
    pub(crate) fn messages(&self, id: &str) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT hashes FROM messages WHERE session = ?1";
        let bytes: Vec<u8> = self.first(sql, [id], |row| row.get("hashes"))?.unwrap_or_default();
        Ok(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Writes the messages of a session, by their hashes.
    pub(crate) fn write_messages(&self, id: &str, hashes: &[u64]) -> Result<(), StoreError> {
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        self.change("REPLACE INTO messages (session, hashes) VALUES (?1, ?2)", (id, bytes)).map(drop)
    }
}
