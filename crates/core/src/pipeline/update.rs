//! Collects changes until a sink that takes updates takes them.
//!
//! Entries of complete items wait here. Of a growing item only its id does: it is formatted when updates are taken, once for
//! everything that it has grown by.

use std::collections::VecDeque;

use indexmap::{IndexMap, IndexSet};

use crate::budget::Budget;
use crate::entry::Entry;
use crate::item::{Id, Kind, Status, Waiting};
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
    /// The complete calls that are shown, each until its result comes, oldest first.
    calls: Map<Id, Box<Entry>>,
    /// The approximate size of these calls, in bytes.
    call_bytes: usize,
    /// Limits how many these are, and their size. If there are more, the older half is forgotten, and never shown as answered.
    budget: Budget,
    /// The hashes of calls that weren't shown as complete when their results came.
    early: VecDeque<u64>,
    /// Whether the input has ended.
    pub(super) is_ended: bool,
}

impl PendingUpdates {
    /// No changes. The budget limits how many calls are remembered until their results come.
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Notes that an open item has changed. Returns whether this is its first change since updates were taken.
    pub(super) fn grow(&mut self, id: &Id) -> bool {
        !self.grown.contains(id) && self.grown.insert(id.clone())
    }

    /// Takes back what was shown of an item, if anything was.
    pub(super) fn take_back(&mut self, id: &Id) {
        self.grown.shift_remove(id);
        self.growing.swap_remove(id);
        self.forget(id);
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
        if self.is_answered(&entry) == Some(false) {
            self.remember(entry.clone());
        }
        let partial = entry.status == Status::Open;
        self.show(entry, partial);
    }

    /// Shows the entry of an item that still grows, or of a part of one, such as a record or a passage.
    pub(super) fn put_growing(&mut self, entry: Box<Entry>) {
        self.growing.insert(entry.id.clone());
        self.show(entry, true);
    }

    fn show(&mut self, entry: Box<Entry>, partial: bool) {
        let answered = self.is_answered(&entry);
        self.changes.insert(entry.id.clone(), EntryChange::Put { entry, partial, answered });
    }

    /// On a call: whether its result came before the call was complete.
    fn is_answered(&self, entry: &Entry) -> Option<bool> {
        (entry.kind == Kind::Call).then(|| self.early.contains(&entry.id.hash()))
    }

    /// Notes that the result of a call has come. Shows the call as answered, if it is shown.
    pub(super) fn answer(&mut self, call: &Id) {
        if let Some(entry) = self.forget(call) {
            let change = EntryChange::Put { entry, partial: false, answered: Some(true) };
            self.changes.insert(call.clone(), change);
            return;
        }
        if self.early.len() == MAX_EARLY {
            self.early.pop_front();
        }
        self.early.push_back(call.hash());
    }

    /// Notes that a call waits for a person, or no longer does. Shows it so, if it is shown.
    pub(super) fn wait(&mut self, call: &Id, waiting: Option<Waiting>) {
        if let Some(entry) = self.calls.get_mut(call) {
            entry.wait(waiting);
            let change = EntryChange::Put { entry: entry.clone(), partial: false, answered: Some(false) };
            self.changes.insert(call.clone(), change);
        } else if self.growing.contains(call) {
            self.grow(call);
        }
    }

    /// Remembers a call until its result comes.
    fn remember(&mut self, call: Box<Entry>) {
        self.forget(&call.id);
        self.call_bytes += size(&call);
        self.calls.insert(call.id.clone(), call);
        let Budget { calls, call_bytes, .. } = self.budget;
        while self.calls.len() > calls || self.call_bytes > call_bytes && self.calls.len() > 1 {
            let half = self.calls.len().div_ceil(2);
            self.call_bytes -= self.calls.drain(..half).map(|(_, call)| size(&call)).sum::<usize>();
        }
    }

    fn forget(&mut self, call: &Id) -> Option<Box<Entry>> {
        let shown = self.calls.shift_remove(call)?;
        self.call_bytes -= size(&shown);
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
        !self.entries.updates.grown.is_empty() || self.entries.has_grown || self.has_changed_trees()
    }
}

impl EntryStage {
    /// See [`super::Pipeline::take_finished`].
    pub(super) fn take_finished(&mut self) -> Vec<Update> {
        let revision = self.revision();
        let changes = std::mem::take(&mut self.updates.changes).into_values();
        // Masked last: until here ids relate entries.
        let masked = changes.map(|mut change| {
            match (&mut self.chain.redactor, &mut change) {
                (Some(redactor), EntryChange::Put { entry, .. }) => redactor.ids_of(entry),
                (Some(redactor), EntryChange::Drop(id)) => redactor.id(id),
                (None, _) => {}
            }
            Update { revision, change }
        });
        masked.collect()
    }

    /// See [`super::Pipeline::revision`].
    pub(super) fn revision(&self) -> u64 {
        self.report.lines + u64::from(self.updates.is_ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::View;

    #[test]
    fn a_call_that_comes_after_its_result_is_answered_unless_too_many_results_came_in_between() {
        for (others, is_answered) in [(0, true), (MAX_EARLY - 1, true), (MAX_EARLY, false)] {
            let mut updates = PendingUpdates::new(Budget::default());
            updates.answer(&"call".into());
            for number in 0..others {
                updates.answer(&format!("{number}").as_str().into());
            }
            assert!(updates.early.len() <= MAX_EARLY);
            updates.put(Box::new(Entry::new("call", Kind::Call, View::default())));
            match &updates.changes[0] {
                EntryChange::Put { answered, .. } => assert_eq!(*answered, Some(is_answered), "{others}"),
                other @ EntryChange::Drop(_) => panic!("{other:?}"),
            }
        }
    }
}
