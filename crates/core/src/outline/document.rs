//! What a sink shows that can change what it shows: updates, folded.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use crate::entry::Entry;
use crate::item::{Id, Kind};

use super::{Node, Relation};

/// A change of what a sink shows, keyed by id. As JSON: `{"put":{…}}` with an entry, or `{"drop":"id"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// Show this entry, in place of the one with its id if there is one.
    Put(Box<Entry>),
    /// Show it no more.
    Drop(Id),
}

/// The entries that are shown, by id, each with the revision that it changed at.
///
/// A revision is the number of the last line that was read when something changed ([`crate::pipeline::Pipeline::revision`]): it is
/// the same in every process, at any pace.
#[derive(Clone, Debug, Default)]
pub struct Document {
    shown: IndexMap<Id, (u64, Entry)>,
    dropped: IndexMap<Id, u64>,
    revision: u64,
}

impl Document {
    /// Takes over what changed up to a revision.
    pub fn apply(&mut self, updates: impl IntoIterator<Item = Update>, revision: u64) {
        self.revision = self.revision.max(revision);
        for update in updates {
            match update {
                Update::Put(entry) => {
                    self.dropped.shift_remove(&entry.id);
                    self.shown.insert(entry.id.clone(), (revision, *entry));
                }
                Update::Drop(id) => {
                    self.shown.shift_remove(&id);
                    self.dropped.insert(id, revision);
                }
            }
        }
    }

    /// The revision that it is at.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An entry that is shown.
    pub fn get(&self, id: &Id) -> Option<&Entry> {
        self.shown.get(id).map(|(_, entry)| entry)
    }

    /// All entries that are shown, in the order in which they first were.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.shown.values().map(|(_, entry)| entry)
    }

    /// What brings a sink that is at `revision` up to this one's.
    pub fn since(&self, revision: u64) -> Vec<Update> {
        let dropped = self.dropped.iter().filter(|(_, at)| **at > revision);
        let changed = self.shown.values().filter(|(at, _)| *at > revision);
        dropped
            .map(|(id, _)| Update::Drop(id.clone()))
            .chain(changed.map(|(_, entry)| Update::Put(Box::new(entry.clone()))))
            .collect()
    }

    /// The nodes of the whole document, in its order: by place, what is inside of a call below it, and its result last.
    pub fn nodes(&self) -> Vec<Node> {
        let mut inside: BTreeMap<Option<&Id>, Vec<&Entry>> = BTreeMap::new();
        for entry in self.entries() {
            let parent = entry.parent.as_ref().filter(|parent| self.shown.contains_key(*parent));
            inside.entry(self.call_of(entry).or(parent)).or_default().push(entry);
        }
        for entries in inside.values_mut() {
            // The next one is the last of its list. Sorting is stable: equals stay in the order they came in.
            entries.sort_by_key(|entry| (self.call_of(entry).is_some(), entry.place));
            entries.reverse();
        }
        let mut nodes: Vec<Node> = Vec::with_capacity(self.shown.len());
        let mut left = inside.remove(&None).unwrap_or_default();
        while let Some(entry) = left.pop() {
            left.extend(inside.remove(&Some(&entry.id)).unwrap_or_default());
            let is_under = self.call_of(entry).is_some();
            match nodes.last_mut() {
                Some(call)
                    if is_under && call.result.is_none() && Some(&call.entry.id) == entry.call.as_ref() =>
                {
                    call.result = Some(Box::new(entry.clone()));
                }
                _ => {
                    let relation = if is_under { Relation::Below } else { Relation::Own };
                    nodes.push(Node { relation, ..Node::from(entry.clone()) });
                }
            }
        }
        nodes
    }

    /// The call that a result belongs to, if it is shown.
    fn call_of(&self, entry: &Entry) -> Option<&Id> {
        let call = entry.call.as_ref().filter(|_| entry.kind == Kind::Result)?;
        self.shown.get_key_value(call).map(|(id, _)| id)
    }
}
