//! Sessions that are copies of each other: a fork begins with a copy of its origin, and what was copied is counted only once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{OptionalExtension, Params, Row};

use super::{Store, StoreError};
use crate::run_id::RunId;

/// The most relatives of a session, and the most generations before it, that are looked at.
const MOST_RELATIVES: usize = 100;
const MOST_GENERATIONS: usize = 50;

/// The place of a session among those that begin alike, unless one goes back to another: the first of those with a message counts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seniority {
    /// The figures of runs are reported, not counted from messages.
    is_history: bool,
    /// When its file begins. A copy begins as its origin does.
    begins: String,
    ended: i64,
    id: String,
}

/// A session, and what connects it with others.
struct Relative {
    seniority: Seniority,
    agent_session: Option<String>,
    parent_session: Option<String>,
}

/// The columns of a [`Relative`].
const COLUMNS: &str = "s.id, s.agent_session, s.parent_session, coalesce(s.ended, s.started), \
    NOT EXISTS (SELECT 1 FROM sources WHERE session = s.id AND kind = 'run')";

fn relative(row: &Row<'_>) -> rusqlite::Result<Relative> {
    let id: String = row.get(0)?;
    let begins = RunId::time_of(&id).to_owned();
    let seniority = Seniority { is_history: row.get(4)?, begins, ended: row.get(3)?, id };
    Ok(Relative { seniority, agent_session: row.get(1)?, parent_session: row.get(2)? })
}

/// The messages of sessions of which another one may be a copy, by these sessions.
pub(super) struct KnownMessages(BTreeMap<Seniority, (Option<String>, HashSet<u64>)>);

impl KnownMessages {
    /// Returns all of them.
    pub(super) fn all(&self) -> HashSet<u64> {
        self.0.values().flat_map(|(_, messages)| messages).copied().collect()
    }

    /// Returns the agent's own id of the session of which a message is a copy.
    pub(super) fn origin(&self, message: u64) -> Option<String> {
        let mut known = self.0.values();
        known.find(|(_, messages)| messages.contains(&message)).and_then(|(session, _)| session.clone())
    }
}

impl Store {
    /// Returns the place of a session among its relatives.
    pub(super) fn seniority(&self, id: &str) -> Result<Option<Seniority>, StoreError> {
        Ok(self.relative(id)?.map(|found| found.seniority))
    }

    /// Returns the messages of the sessions of which a session may be a copy.
    pub(super) fn messages_before(&self, id: &str) -> Result<KnownMessages, StoreError> {
        let mut known = KnownMessages(BTreeMap::new());
        let Some(own) = self.relative(id)? else { return Ok(known) };
        let mut found = self.ancestors(&own)?;
        for other in self.alike(id)? {
            if other.seniority < own.seniority && !self.goes_back_to(&other, &own)? {
                found.push(other);
            }
        }
        for other in found {
            let messages = self.messages(&other.seniority.id)?;
            known.0.insert(other.seniority, (other.agent_session, messages.into_iter().collect()));
        }
        Ok(known)
    }

    /// Returns the histories that may be copies of a session.
    pub(super) fn copies(&self, id: &str) -> Result<BTreeSet<(Seniority, String)>, StoreError> {
        let Some(own) = self.relative(id)? else { return Ok(BTreeSet::new()) };
        let mut found = Vec::new();
        for other in self.alike(id)? {
            if other.seniority > own.seniority && !self.goes_back_to(&own, &other)? {
                found.push(other);
            }
        }
        if let Some(session) = &own.agent_session {
            found.extend(self.relatives("s.parent_session = ?1", [session])?);
        }
        let histories = found.into_iter().map(|other| other.seniority).filter(|other| other.is_history);
        Ok(histories.map(|other| (other.clone(), other.id)).collect())
    }

    /// Returns the messages of a session.
    pub(super) fn messages(&self, id: &str) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT hashes FROM messages WHERE session = ?1";
        let bytes = self.connection.query_row(sql, [id], |row| row.get::<_, Vec<u8>>(0));
        let bytes = bytes.optional().map_err(self.fail())?.unwrap_or_default();
        Ok(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Returns the sessions that begin with the same message.
    fn alike(&self, id: &str) -> Result<Vec<Relative>, StoreError> {
        self.relatives(
            "s.first_message = (SELECT first_message FROM sessions WHERE id = ?1) AND s.id <> ?1",
            [id],
        )
    }

    /// Returns the sessions that a session goes back to, as far as they are known.
    fn ancestors(&self, of: &Relative) -> Result<Vec<Relative>, StoreError> {
        let mut found = Vec::new();
        let mut seen: HashSet<String> = of.agent_session.iter().cloned().collect();
        let mut next = of.parent_session.clone();
        while let Some(session) =
            next.filter(|session| seen.len() <= MOST_GENERATIONS && !seen.contains(session))
        {
            let parents = self.relatives("s.agent_session = ?1", [&session])?;
            next = parents.iter().find_map(|parent| parent.parent_session.clone());
            seen.insert(session);
            found.extend(parents);
        }
        Ok(found)
    }

    fn goes_back_to(&self, one: &Relative, other: &Relative) -> Result<bool, StoreError> {
        let ancestors = self.ancestors(one)?;
        Ok(ancestors.iter().any(|ancestor| ancestor.agent_session == other.agent_session))
    }

    fn relative(&self, id: &str) -> Result<Option<Relative>, StoreError> {
        Ok(self.relatives("s.id = ?1", [id])?.into_iter().next())
    }

    /// Returns sessions, the oldest first. `condition`: a fixed text.
    fn relatives(&self, condition: &str, values: impl Params) -> Result<Vec<Relative>, StoreError> {
        let fail = self.fail();
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions AS s WHERE {condition} ORDER BY s.started, s.id LIMIT {MOST_RELATIVES}"
        );
        let mut statement = self.connection.prepare(&sql).map_err(&fail)?;
        let rows = statement.query_map(values, relative).map_err(&fail)?;
        rows.collect::<Result<_, _>>().map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id of a session; each is a second younger than the one before.
    fn id(number: usize) -> String {
        format!("20261123-22{:02}{:02}-k3x9qa", number / 60, number % 60)
    }

    /// A store of sessions with one message each. `parent`: the agent's own id of the session that a session resumes.
    fn store(folder: &std::path::Path, count: usize, parent: fn(usize) -> Option<String>) -> Store {
        let store = Store::open(folder).unwrap();
        for number in 0..count {
            let first = parent(number).is_none().then_some(7);
            let sql = "INSERT INTO sessions (id, agent_session, parent_session, first_message, status, started) \
                VALUES (?1, ?2, ?3, ?4, 'done', ?5)";
            let values = (id(number), format!("s-{number}"), parent(number), first, number);
            store.connection.execute(sql, values).unwrap();
            let hashes = (number as u64).to_le_bytes();
            store.connection.execute("INSERT INTO messages VALUES (?1, ?2)", (id(number), hashes)).unwrap();
        }
        store
    }

    /// The sorted messages of the sessions that this one may be a copy of.
    fn before(store: &Store, number: usize) -> Vec<u64> {
        let mut found: Vec<u64> = store.messages_before(&id(number)).unwrap().all().into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_session_is_compared_with_the_fifty_before_it_and_a_hundred_that_begin_alike() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-relatives-").unwrap();
        let chain = |number: usize| Some(format!("s-{}", number.checked_sub(1)?));
        let chained = store(&folder.path().join("chain"), 60, chain);
        assert_eq!(before(&chained, 50), (0..50).collect::<Vec<_>>());
        assert_eq!(before(&chained, 55), (5..55).collect::<Vec<_>>(), "the nearest ones");
        let alike = store(&folder.path().join("alike"), 110, |_| None);
        assert_eq!(before(&alike, 100), (0..100).collect::<Vec<_>>());
        assert_eq!(
            before(&alike, 105),
            (0..100).collect::<Vec<_>>(),
            "the oldest ones: a copy has an origin"
        );
    }
}
