//! What has changed for a sink that can change what it shows, until the sink takes it.
//!
//! What is whole waits here as it is. Of what grows it is only known that it has grown: it is formatted when it is taken, once
//! for all that it grew.

use std::collections::VecDeque;

use indexmap::{IndexMap, IndexSet};

use crate::entry::Entry;
use crate::item::{Id, Item, Kind, Status};
use crate::outline::{EntryChange, Update};
use crate::session::{Map, Session};

use super::format::{EntryStage, FormatStage};

/// Results whose calls weren't whole when they came.
const MAX_EARLY: usize = 256;

/// What has changed since a sink took something.
#[derive(Default)]
pub(super) struct PendingUpdates {
    /// Open items that have changed, as the session calls them.
    grown: IndexSet<Id>,
    /// Open items that the sink shows.
    growing: IndexSet<Id>,
    /// What else has changed.
    changes: IndexMap<Id, EntryChange>,
    calls: AwaitedCalls,
    /// Whether the input has ended.
    is_ended: bool,
}

impl PendingUpdates {
    /// `calls`, `call_bytes`: how many calls are remembered until their results come, and how much is said of them together.
    pub(super) fn new(calls: usize, call_bytes: usize) -> Self {
        let calls = AwaitedCalls { most: calls, most_bytes: call_bytes, ..AwaitedCalls::default() };
        Self { calls, ..Self::default() }
    }

    /// An open item has changed. Tells whether that is new since the last time that something was taken.
    pub(super) fn grow(&mut self, id: &Id) -> bool {
        !self.grown.contains(id) && self.grown.insert(id.clone())
    }

    /// What was shown of an item, if it was, holds no longer.
    pub(super) fn take_back(&mut self, id: &Id) {
        self.grown.shift_remove(id);
        self.growing.swap_remove(id);
        self.calls.forget(id);
        self.changes.insert(id.clone(), EntryChange::Drop(id.clone()));
    }

    /// Nothing is said of an item any longer: what was shown while it grew is taken back.
    pub(super) fn hide(&mut self, id: &Id) {
        if self.growing.swap_remove(id) {
            self.changes.insert(id.clone(), EntryChange::Drop(id.clone()));
        }
    }

    /// This is said of something that is whole, or, if its status is open, of a tree that isn't complete.
    pub(super) fn put(&mut self, entry: Box<Entry>) {
        self.grown.shift_remove(&entry.id);
        self.growing.swap_remove(&entry.id);
        let answered = (entry.kind == Kind::Call).then(|| self.calls.show(&entry));
        let partial = entry.status == Status::Open;
        self.changes.insert(entry.id.clone(), EntryChange::Put { entry, partial, answered });
    }

    /// This is said of something that is whole, inside of something that still grows.
    pub(super) fn put_early(&mut self, entry: Box<Entry>) {
        self.growing.insert(entry.id.clone());
        self.changes.insert(entry.id.clone(), EntryChange::Put { entry, partial: true, answered: None });
    }

    /// The result of a call is there: the call is shown so, if it is shown.
    pub(super) fn answer(&mut self, call: &Id) {
        if let Some(entry) = self.calls.answer(call) {
            let change = EntryChange::Put { entry, partial: false, answered: Some(true) };
            self.changes.insert(call.clone(), change);
        }
    }

    /// The input has ended.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }
}

/// Calls that are shown whole, until their results come.
#[derive(Default)]
struct AwaitedCalls {
    /// How many there may be, and how many bytes they may say together. Of too many the older half is forgotten: that
    /// they are answered isn't told then.
    most: usize,
    most_bytes: usize,
    /// Each as it is shown, oldest first.
    shown: Map<Id, Box<Entry>>,
    bytes: usize,
    /// Hashes of calls whose results came before they were whole, or that aren't shown.
    early: VecDeque<u64>,
}

impl AwaitedCalls {
    /// A call is shown. Tells whether its result is there already.
    fn show(&mut self, call: &Entry) -> bool {
        if self.is_answered(&call.id) {
            return true;
        }
        self.forget(&call.id);
        self.bytes += size(call);
        self.shown.insert(call.id.clone(), Box::new(call.clone()));
        while self.shown.len() > self.most || self.bytes > self.most_bytes && self.shown.len() > 1 {
            let half = self.shown.len().div_ceil(2);
            self.bytes -= self.shown.drain(..half).map(|(_, call)| size(&call)).sum::<usize>();
        }
        false
    }

    /// Whether the result of a call came before the call was whole.
    fn is_answered(&self, call: &Id) -> bool {
        !self.early.is_empty() && self.early.contains(&call.hash())
    }

    /// The result of a call is there. Gives the call as it is shown.
    fn answer(&mut self, call: &Id) -> Option<Box<Entry>> {
        let shown = self.forget(call);
        if shown.is_none() {
            if self.early.len() == MAX_EARLY {
                self.early.pop_front();
            }
            self.early.push_back(call.hash());
        }
        shown
    }

    fn forget(&mut self, call: &Id) -> Option<Box<Entry>> {
        let shown = self.shown.shift_remove(call)?;
        self.bytes -= size(&shown);
        Some(shown)
    }
}

/// About how many bytes an entry takes.
fn size(entry: &Entry) -> usize {
    size_of::<Entry>() + entry.view.size()
}

impl FormatStage {
    /// See [`super::Pipeline::take_updates`].
    pub(super) fn take_updates(&mut self, session: &Session) -> Vec<Update> {
        self.put_trees(session);
        for id in std::mem::take(&mut self.entries.updates.grown) {
            if let Some(item) = session.growing(&id) {
                let item = self.growing_passage(&item);
                self.entries.put_growing(&item, session);
            }
        }
        self.entries.take_finished()
    }

    /// Whether something has grown that isn't taken yet.
    pub(super) fn has_grown(&self) -> bool {
        !self.entries.updates.grown.is_empty() || self.has_changed_trees()
    }
}

impl EntryStage {
    /// Shows an item that grows as it is now.
    fn put_growing(&mut self, item: &Item, session: &Session) {
        match self.growing_entry(item, session) {
            Ok(entry) => {
                let shown = entry.id.clone();
                let answered = (entry.kind == Kind::Call).then(|| self.updates.calls.is_answered(&entry.id));
                self.updates.growing.insert(shown.clone());
                self.updates.changes.insert(shown, EntryChange::Put { entry, partial: true, answered });
            }
            Err(_) => self.updates.hide(&item.id),
        }
    }

    /// See [`super::Pipeline::take_finished`].
    pub(super) fn take_finished(&mut self) -> Vec<Update> {
        let revision = self.revision();
        let changes = std::mem::take(&mut self.updates.changes).into_values();
        let updates = changes.map(|mut change| {
            self.mask_ids(&mut change);
            Update { revision, change }
        });
        updates.collect()
    }

    /// See [`super::Pipeline::revision`].
    pub(super) fn revision(&self) -> u64 {
        self.report.lines + u64::from(self.updates.is_ended)
    }

    /// Masks ids last: until here they tell what belongs together.
    fn mask_ids(&mut self, change: &mut EntryChange) {
        let Some(redactor) = &mut self.chain.redactor else { return };
        match change {
            EntryChange::Put { entry, .. } => {
                let Entry { id, parent, call, .. } = &mut **entry;
                Some(id).into_iter().chain(parent).chain(call).for_each(|id| redactor.id(id));
            }
            EntryChange::Drop(id) => redactor.id(id),
        }
    }
}
