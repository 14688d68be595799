//! The document of a sink that takes updates.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::entry::Entry;
use crate::item::Id;

use super::{DocumentPart, Outline, OutlineOptions};

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

impl EntryChange {
    /// The id of the entry.
    pub fn id(&self) -> &Id {
        match self {
            Self::Put { entry, .. } => &entry.id,
            Self::Drop(id) => id,
        }
    }
}

impl Update {
    /// The id of the entry that changes.
    pub fn id(&self) -> &Id {
        self.change.id()
    }

    /// Whether the entry still grows, if it is shown.
    fn state(&self) -> Option<bool> {
        match self.change {
            EntryChange::Put { partial, .. } => Some(partial),
            EntryChange::Drop(_) => None,
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

/// The entries that are shown, in the order in which they were completed, followed by those that still grow.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The last update of each entry, shown or dropped.
    entries: IndexMap<Id, Placed>,
    revision: u64,
}

/// The last update of an entry, and the revision at which it got its place: it was first shown, completed, or dropped.
#[derive(Clone, Debug)]
struct Placed {
    update: Update,
    since: u64,
}

impl Document {
    /// Applies updates.
    pub fn apply(&mut self, updates: impl IntoIterator<Item = Update>) {
        for update in updates {
            self.revision = self.revision.max(update.revision);
            match self.entries.get_mut(update.id()) {
                Some(placed) if placed.update.state() == update.state() => placed.update = update,
                // What is shown again or complete now comes last: the document has the order of completion.
                _ => {
                    self.entries.shift_remove(update.id());
                    let placed = Placed { since: update.revision, update };
                    self.entries.insert(placed.update.id().clone(), placed);
                }
            }
        }
    }

    /// The revision of the last update.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An entry that is shown.
    pub fn get(&self, id: &Id) -> Option<&Entry> {
        self.entries.get(id)?.update.entry()
    }

    /// All entries that are shown: in the order in which they were completed, followed by those that still grow.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.shown().filter_map(Update::entry)
    }

    /// The updates that a sink at `revision` lacks, in the order of revisions; from 0 they are the whole document.
    ///
    /// An entry that has changed since it got its place has the revision of its place, if the sink lacks that, too: so the sink gets the
    /// same order. It may get the entry once more with the next updates, which changes nothing.
    pub fn since(&self, revision: u64) -> Vec<Update> {
        let new = self.entries.values().filter(|placed| placed.update.revision > revision).map(|placed| {
            let Placed { mut update, since } = placed.clone();
            update.revision = if since > revision { since } else { update.revision };
            update
        });
        let mut updates: Vec<_> = new.collect();
        // The sort is stable: within a revision, dropped entries are first, and others stay in the order of the document.
        updates.sort_by_key(|update| (update.revision, update.entry().is_some()));
        updates
    }

    /// The last update of each entry that is shown, in order: the nodes of a tree of records by place, each below its parent.
    fn shown(&self) -> impl Iterator<Item = &Update> {
        let mut below: BTreeMap<&Id, Vec<(u32, &Update)>> = BTreeMap::new();
        let (mut complete, mut growing) = (Vec::new(), Vec::new());
        for Placed { update, .. } in self.entries.values() {
            let EntryChange::Put { entry, partial, .. } = &update.change else { continue };
            let parent = entry.parent.as_ref().filter(|parent| entry.level > 0 && self.get(parent).is_some());
            match parent {
                Some(parent) => below.entry(parent).or_default().push((entry.place, update)),
                None if *partial => growing.push(update),
                None => complete.push(update),
            }
        }
        let mut shown = Vec::with_capacity(self.entries.len());
        let mut left: Vec<_> = growing.into_iter().rev().chain(complete.into_iter().rev()).collect();
        while let Some(update) = left.pop() {
            let mut nodes = below.remove(update.id()).unwrap_or_default();
            nodes.sort_by_key(|(place, _)| Reverse(*place));
            left.extend(nodes.into_iter().map(|(_, node)| node));
            shown.push(update);
        }
        shown.into_iter()
    }

    /// The parts of the document, by an outline with these options: as a sink that can't change what it has written gets them, followed by
    /// what still grows.
    pub fn parts(&self, options: OutlineOptions) -> Vec<DocumentPart> {
        let (mut outline, mut parts) = (Outline::new(options), Vec::new());
        let title_of = &mut |call: &Id| Some(self.get(call)?.view.title.clone());
        for update in self.shown() {
            outline.set_revision(update.revision);
            if let Some(entry) = update.entry() {
                outline.push(entry.clone(), title_of, &mut parts);
            }
        }
        outline.end(title_of, &mut parts);
        parts
    }
}
