//! Collects changes until a sink that takes updates takes them.
//!
//! Entries of complete items wait here. Of a growing item only its id does: it is formatted when updates are taken, once for
//! everything that it has grown by.

use std::collections::VecDeque;

use indexmap::{IndexMap, IndexSet};

use crate::budget::Budget;
use crate::entry::Entry;
use crate::item::{Id, Kind, Status};
use crate::outline::{EntryChange, Update};
use crate::session::{Map, Session};

use super::format::{EntryStage, FormatStage};

/// How many results are remembered whose calls weren't shown when they came.
const MAX_EARLY: usize = 256;

/// The changes since a sink took updates.
#[derive(Default)]
pub(super) struct PendingUpdates {
    /// Open items that have changed, by their ids in the session.
    grown: IndexSet<Id>,
    /// Open items that the sink shows.
    growing: IndexSet<Id>,
    /// The other changes.
    changes: IndexMap<Id, EntryChange>,
    calls: AwaitedCalls,
    /// Whether the input has ended.
    pub(super) is_ended: bool,
}

impl PendingUpdates {
    /// No changes. The budget limits how many calls are remembered until their results come.
    pub(super) fn new(budget: Budget) -> Self {
        Self { calls: AwaitedCalls { budget, ..AwaitedCalls::default() }, ..Self::default() }
    }

    /// Notes that an open item has changed. Returns whether this is its first change since updates were taken.
    pub(super) fn grow(&mut self, id: &Id) -> bool {
        !self.grown.contains(id) && self.grown.insert(id.clone())
    }

    /// Takes back what was shown of an item, if anything was.
    pub(super) fn take_back(&mut self, id: &Id) {
        self.grown.shift_remove(id);
        self.growing.swap_remove(id);
        self.calls.forget(id);
        self.changes.insert(id.clone(), EntryChange::Drop(id.clone()));
    }

    /// Hides an item: what was shown while it grew is taken back.
    pub(super) fn hide(&mut self, id: &Id) {
        if self.growing.swap_remove(id) {
            self.changes.insert(id.clone(), EntryChange::Drop(id.clone()));
        }
    }

    /// Shows the entry of a complete item, or, if its status is open, of an incomplete tree.
    pub(super) fn put(&mut self, entry: Box<Entry>) {
        self.grown.shift_remove(&entry.id);
        self.growing.swap_remove(&entry.id);
        let answered = (entry.kind == Kind::Call).then(|| self.calls.show(&entry));
        let partial = entry.status == Status::Open;
        self.changes.insert(entry.id.clone(), EntryChange::Put { entry, partial, answered });
    }

    /// Shows the entry of an item that still grows, or of a part of one, such as a record or a passage.
    pub(super) fn put_growing(&mut self, entry: Box<Entry>) {
        let answered = (entry.kind == Kind::Call).then(|| self.calls.is_answered(&entry.id));
        self.growing.insert(entry.id.clone());
        self.changes.insert(entry.id.clone(), EntryChange::Put { entry, partial: true, answered });
    }

    /// Shows a call as answered, if it is shown: its result has come.
    pub(super) fn answer(&mut self, call: &Id) {
        if let Some(entry) = self.calls.answer(call) {
            let change = EntryChange::Put { entry, partial: false, answered: Some(true) };
            self.changes.insert(call.clone(), change);
        }
    }
}

/// The complete calls that are shown, until their results come.
#[derive(Default)]
struct AwaitedCalls {
    /// Limits how many there are, and how many bytes their entries take. If there are more, the older half is forgotten, and never shown
    /// as answered.
    budget: Budget,
    /// The entry of each, oldest first.
    shown: Map<Id, Box<Entry>>,
    bytes: usize,
    /// The hashes of calls that weren't shown as complete when their results came.
    early: VecDeque<u64>,
}

impl AwaitedCalls {
    /// Notes that a call is shown. Returns whether its result has come already.
    fn show(&mut self, call: &Entry) -> bool {
        if self.is_answered(&call.id) {
            return true;
        }
        self.forget(&call.id);
        self.bytes += size(call);
        self.shown.insert(call.id.clone(), Box::new(call.clone()));
        let Budget { calls, call_bytes, .. } = self.budget;
        while self.shown.len() > calls || self.bytes > call_bytes && self.shown.len() > 1 {
            let half = self.shown.len().div_ceil(2);
            self.bytes -= self.shown.drain(..half).map(|(_, call)| size(&call)).sum::<usize>();
        }
        false
    }

    /// Whether the result of a call came before the call was complete.
    fn is_answered(&self, call: &Id) -> bool {
        self.early.contains(&call.hash())
    }

    /// Notes that the result of a call has come. Returns the entry of the call, if it is shown.
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

/// The approximate size of an entry, in bytes.
fn size(entry: &Entry) -> usize {
    size_of::<Entry>() + entry.view.size()
}

impl FormatStage {
    /// See [`super::Pipeline::take_updates`].
    pub(super) fn take_updates(&mut self, session: &Session) -> Vec<Update> {
        self.put_trees(session);
        for id in std::mem::take(&mut self.entries.updates.grown) {
            let Some(item) = session.growing(&id) else { continue };
            let item = self.growing_passage(&item);
            match self.entries.growing_entry(&item, session) {
                Ok(entry) => self.entries.updates.put_growing(entry),
                Err(_) => self.entries.updates.hide(&item.id),
            }
        }
        self.entries.take_finished()
    }

    /// Whether something has grown since updates were taken.
    pub(super) fn has_grown(&self) -> bool {
        !self.entries.updates.grown.is_empty() || self.has_changed_trees()
    }
}

impl EntryStage {
    /// See [`super::Pipeline::take_finished`].
    pub(super) fn take_finished(&mut self) -> Vec<Update> {
        let revision = self.revision();
        let mut changes = std::mem::take(&mut self.updates.changes);
        if let Some(redactor) = &mut self.chain.redactor {
            // Masked last: until here ids relate entries.
            for change in changes.values_mut() {
                match change {
                    EntryChange::Put { entry, .. } => redactor.ids_of(entry),
                    EntryChange::Drop(id) => redactor.id(id),
                }
            }
        }
        changes.into_values().map(|change| Update { revision, change }).collect()
    }

    /// See [`super::Pipeline::revision`].
    pub(super) fn revision(&self) -> u64 {
        self.report.lines + u64::from(self.updates.is_ended)
    }
}
