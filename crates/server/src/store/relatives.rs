//! Sessions that are copies of each other: a fork begins with a copy of its origin, and what was copied is counted only once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;

use super::record::{SessionRecord, SessionRun, SourceKind};
use super::{Store, StoreError};
use crate::run_id::RunId;

/// The most generations before a session that are looked at.
const MOST_GENERATIONS: usize = 50;
/// The most sessions of a generation that are looked at.
const MOST_OF_A_GENERATION: usize = 100;

/// The place of a session among those that begin alike, unless one goes back to another: the first of those with a message counts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seniority {
    /// The figures of runs are reported, not counted from messages.
    is_history: bool,
    /// When its file begins. A copy begins as its origin does.
    begins: String,
    ended: Timestamp,
    id: String,
}

impl Seniority {
    fn of(SessionRecord { run, source, .. }: &SessionRecord) -> Self {
        Self {
            is_history: source.kind == SourceKind::History,
            begins: RunId::time_of(&run.id).to_owned(),
            ended: run.ended.unwrap_or(run.started),
            id: run.id.clone(),
        }
    }
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
        Ok(self.database.session(id)?.as_ref().map(Seniority::of))
    }

    /// Returns the messages of the sessions of which a session may be a copy.
    pub(super) fn messages_before(&self, id: &str) -> Result<KnownMessages, StoreError> {
        let mut known = KnownMessages(BTreeMap::new());
        let Some(own) = self.database.session(id)? else { return Ok(known) };
        let mut found = self.ancestors(&own.run)?;
        for other in self.database.alike(id)? {
            if Seniority::of(&other) < Seniority::of(&own) && !self.goes_back_to(&other.run, &own.run)? {
                found.push(other);
            }
        }
        for other in found {
            let messages = self.database.messages(&other.run.id)?.into_iter().collect();
            known.0.insert(Seniority::of(&other), (other.run.agent_session, messages));
        }
        Ok(known)
    }

    /// Returns the histories that may be copies of a session.
    pub(super) fn copies(&self, id: &str) -> Result<BTreeSet<(Seniority, String)>, StoreError> {
        let Some(own) = self.database.session(id)? else { return Ok(BTreeSet::new()) };
        let mut found = Vec::new();
        for other in self.database.alike(id)? {
            if Seniority::of(&other) > Seniority::of(&own) && !self.goes_back_to(&own.run, &other.run)? {
                found.push(other);
            }
        }
        if let Some(session) = &own.run.agent_session {
            found.extend(self.database.children_of(session)?);
        }
        let histories = found.iter().map(Seniority::of).filter(|other| other.is_history);
        Ok(histories.map(|other| (other.clone(), other.id)).collect())
    }

    /// Returns the sessions that a session goes back to, as far as they are known.
    fn ancestors(&self, of: &SessionRun) -> Result<Vec<SessionRecord>, StoreError> {
        let mut found = Vec::new();
        let mut seen: HashSet<String> = of.agent_session.iter().cloned().collect();
        let mut next = of.parent_session.clone();
        while let Some(session) =
            next.filter(|session| seen.len() <= MOST_GENERATIONS && !seen.contains(session))
        {
            let mut parents = self.database.sessions_of(&session)?;
            parents.truncate(MOST_OF_A_GENERATION);
            next = parents.iter().find_map(|parent| parent.run.parent_session.clone());
            seen.insert(session);
            found.extend(parents);
        }
        Ok(found)
    }

    fn goes_back_to(&self, one: &SessionRun, other: &SessionRun) -> Result<bool, StoreError> {
        let ancestors = self.ancestors(one)?;
        Ok(ancestors.iter().any(|ancestor| ancestor.run.agent_session == other.agent_session))
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
            let (first, parent) = match parent(number) {
                Some(parent) => ("NULL", format!("'{parent}'")),
                None => ("7", "NULL".to_owned()),
            };
            store.database.execute(&format!(
                "INSERT INTO sessions (id, agent_session, parent_session, first_message, status, started) \
                 VALUES ('{}', 's-{number}', {parent}, {first}, 'done', {number})",
                id(number)
            ));
            store.database.write_messages(&id(number), &[number as u64]).unwrap();
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
