//! The document of a sink that takes updates.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::entry::Entry;
use crate::item::{Id, Kind};

use super::{Node, Relation};

/// A change of an entry, for a sink that can change what it shows. In JSON it is a line of `--to json --live always`: see
/// `docs/json.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The revision at which it was taken ([`crate::pipeline::Pipeline::revision`]).
    pub revision: u64,
    /// The change.
    pub change: EntryChange,
}

/// A change of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryChange {
    /// Show an entry, in place of the one with the same id if there is one.
    Put {
        /// The entry.
        entry: Box<Entry>,
        /// Whether it may still grow or change: its item is open.
        partial: bool,
        /// On a call: whether its result has come, shown or hidden.
        answered: Option<bool>,
    },
    /// Remove an entry, if it is shown.
    Drop(Id),
}

impl Update {
    /// The id of the entry that changes.
    pub fn id(&self) -> &Id {
        match &self.change {
            EntryChange::Put { entry, .. } => &entry.id,
            EntryChange::Drop(id) => id,
        }
    }

    /// The new state of the entry, if it is shown.
    pub fn entry(&self) -> Option<&Entry> {
        match &self.change {
            EntryChange::Put { entry, .. } => Some(entry),
            EntryChange::Drop(_) => None,
        }
    }
}

/// The entries that are shown, in the order in which they first were.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The last update of each entry, shown or dropped.
    updates: IndexMap<Id, Update>,
    revision: u64,
}

impl Document {
    /// Applies updates.
    pub fn apply(&mut self, updates: impl IntoIterator<Item = Update>) {
        for update in updates {
            self.revision = self.revision.max(update.revision);
            let id = update.id().clone();
            if self.get(&id).is_some() != update.entry().is_some() {
                // An entry that is shown again comes last.
                self.updates.shift_remove(&id);
            }
            self.updates.insert(id, update);
        }
    }

    /// The revision of the last update.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An entry that is shown.
    pub fn get(&self, id: &Id) -> Option<&Entry> {
        self.updates.get(id)?.entry()
    }

    /// All entries that are shown, in the order in which they first were.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.updates.values().filter_map(Update::entry)
    }

    /// The updates that a sink at `revision` lacks, in the order of revisions; from 0 they are the whole document.
    pub fn since(&self, revision: u64) -> Vec<Update> {
        let is_new = |update: &&Update| update.revision > revision;
        let mut updates: Vec<_> = self.updates.values().filter(is_new).cloned().collect();
        // The sort is stable: within a revision, dropped entries are first, and others stay in the order in which they were first shown.
        updates.sort_by_key(|update| (update.revision, update.entry().is_some()));
        updates
    }

    /// All nodes in document order: by place, the entries inside of a call after it, and its result last.
    pub fn nodes(&self) -> Vec<Node> {
        let mut inside: BTreeMap<Option<&Id>, Vec<&Entry>> = BTreeMap::new();
        for entry in self.entries() {
            let parent = entry.parent.as_ref().filter(|parent| self.get(parent).is_some());
            inside.entry(self.call_of(entry).or(parent)).or_default().push(entry);
        }
        for entries in inside.values_mut() {
            // The next entry is the last of its list. The sort is stable: entries with the same place stay in the order in which they came.
            entries.sort_by_key(|entry| (self.call_of(entry).is_some(), entry.place));
            entries.reverse();
        }
        let mut nodes: Vec<Node> = Vec::with_capacity(self.updates.len());
        let mut left = inside.remove(&None).unwrap_or_default();
        while let Some(entry) = left.pop() {
            left.extend(inside.remove(&Some(&entry.id)).unwrap_or_default());
            let call = self.call_of(entry);
            let mut node = Node::from(entry.clone());
            let is_it = |last: &&mut Node| call == Some(&last.entry.id) && last.result.is_none();
            if let Some(last) = nodes.last_mut().filter(is_it) {
                last.result = Some(node.entry);
            } else {
                node.relation = call.map_or(Relation::Own, |_| Relation::Below);
                nodes.push(node);
            }
        }
        nodes
    }

    /// The call that a result belongs to, if it is shown.
    fn call_of(&self, entry: &Entry) -> Option<&Id> {
        let call = entry.call.as_ref().filter(|_| entry.kind == Kind::Result)?;
        self.get(call).map(|call| &call.id)
    }
}
