//! The changes of a document, for a sink that takes them: what it hasn't taken yet, and the calls that may still change.

use indexmap::{IndexMap, IndexSet};

use crate::bounded::Bounded;
use crate::budget::Budget;
use crate::entry::Entry;
use crate::item::{Id, Kind, Status, Waiting};

use super::EntryChange;

/// How many results are remembered whose calls weren't shown when they came.
const MAX_EARLY: usize = 256;

/// The part of a document that may still change. Entries of complete items are held until they are taken, calls until their results come;
/// what is settled belongs to the sink. Of a growing item only the id is held: it is formatted when changes are taken, once for everything
/// that it has grown by.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The calls that were taken and have no result, oldest first, followed by all changes that weren't taken.
    held: IndexMap<Id, EntryChange>,
    /// How many of them were taken.
    taken: usize,
    /// The approximate size of these, in bytes.
    bytes: usize,
    /// Limits how many these are, and their size. If there are more, the older half is forgotten, and never put again.
    budget: Budget,
    /// Open items that have changed.
    grown: IndexSet<Id>,
    /// Open items that the sink shows.
    growing: IndexSet<Id>,
    /// The hashes of calls that weren't shown as complete when their results came.
    early: Bounded<u64, ()>,
}

impl Changes {
    /// No changes. The budget limits how many calls are held until their results come.
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Notes that an open item has changed. Returns whether this is its first change since changes were taken.
    pub(crate) fn grow(&mut self, id: &Id) -> bool {
        !self.grown.contains(id) && self.grown.insert(id.clone())
    }

    /// Whether an open item has changed.
    pub(crate) fn has_grown(&self) -> bool {
        !self.grown.is_empty()
    }

    /// Removes and returns the open items that have changed.
    pub(crate) fn take_grown(&mut self) -> IndexSet<Id> {
        std::mem::take(&mut self.grown)
    }

    /// Takes back what was shown of an item, if anything was.
    pub(crate) fn take_back(&mut self, id: &Id) {
        self.grown.shift_remove(id);
        self.growing.swap_remove(id);
        self.change(EntryChange::Drop(id.clone()));
    }

    /// Hides an item: what was shown while it grew is taken back.
    pub(crate) fn hide(&mut self, id: &Id) {
        if self.growing.swap_remove(id) {
            self.change(EntryChange::Drop(id.clone()));
        }
    }

    /// Shows the entry of a complete item, or, if its status is open, of an incomplete tree.
    pub(crate) fn put(&mut self, entry: Box<Entry>) {
        self.grown.shift_remove(&entry.id);
        self.growing.swap_remove(&entry.id);
        let partial = entry.status == Status::Open;
        self.show(entry, partial);
    }

    /// Shows the entry of an item that still grows, or of a part of one, such as a record or a passage.
    pub(crate) fn put_growing(&mut self, entry: Box<Entry>) {
        self.growing.insert(entry.id.clone());
        self.show(entry, true);
    }

    fn show(&mut self, entry: Box<Entry>, partial: bool) {
        let answered = (entry.kind == Kind::Call).then(|| self.early.contains_key(&entry.id.hash()));
        self.change(EntryChange::Put { entry, partial, answered });
    }

    /// Notes that the result of a call has come. Shows the call as answered, if it is shown.
    pub(crate) fn answer(&mut self, call: &Id) {
        let is_shown = self.amend(call, |_, answered| *answered = Some(true));
        if !is_shown {
            self.early.add(call.hash(), (), MAX_EARLY);
        }
    }

    /// Notes that a call waits for a person, or no longer does. Shows it so, if it is shown.
    pub(crate) fn wait(&mut self, call: &Id, waiting: Option<Waiting>) {
        let is_shown = self.amend(call, |entry, _| entry.wait(waiting));
        if !is_shown && self.growing.contains(call) {
            self.grow(call);
        }
    }

    /// Removes and returns the changes that weren't taken yet, in the order in which each entry first changed.
    pub(crate) fn take(&mut self) -> Vec<EntryChange> {
        let mut changes = Vec::with_capacity(self.held.len() - self.taken);
        for (id, change) in self.held.split_off(self.taken) {
            if self.awaits_result(&change) {
                self.bytes += size(&change);
                self.held.insert(id, change.clone());
            }
            changes.push(change);
        }
        self.taken = self.held.len();
        let Budget { calls, call_bytes, .. } = self.budget;
        while self.taken > calls || self.bytes > call_bytes && self.taken > 1 {
            let half = self.taken.div_ceil(2);
            self.bytes -= self.held.drain(..half).map(|(_, call)| size(&call)).sum::<usize>();
            self.taken -= half;
        }
        changes
    }

    /// Whether this is a complete call that is shown and has no result.
    fn awaits_result(&self, change: &EntryChange) -> bool {
        let EntryChange::Put { entry, answered: Some(false), .. } = change else { return false };
        !self.growing.contains(&entry.id)
    }

    /// Holds a change until it is taken, in place of the one with the same id if there is one.
    fn change(&mut self, change: EntryChange) {
        let id = change.id().clone();
        if let Some(index) = self.held.get_index_of(&id) {
            self.renew(index);
        }
        self.held.insert(id, change);
    }

    /// Changes a complete call that has no result. Returns whether it is held.
    fn amend(&mut self, call: &Id, amend: impl FnOnce(&mut Entry, &mut Option<bool>)) -> bool {
        let index = self.held.get_index_of(call).filter(|index| self.awaits_result(&self.held[*index]));
        let Some(index) = index else { return false };
        self.renew(index);
        if let Some(EntryChange::Put { entry, answered, .. }) = self.held.get_mut(call) {
            amend(entry, answered);
        }
        true
    }

    /// Moves an entry that was taken to those that weren't.
    fn renew(&mut self, index: usize) {
        if index < self.taken {
            self.bytes -= size(&self.held[index]);
            self.taken -= 1;
            self.held.move_index(index, self.held.len() - 1);
        }
    }
}

/// The approximate size of a change, in bytes.
fn size(change: &EntryChange) -> usize {
    let view = if let EntryChange::Put { entry, .. } = change { entry.view.size() } else { 0 };
    size_of::<Entry>() + view
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::View;

    fn call(id: &str) -> Box<Entry> {
        Box::new(Entry::new(id, Kind::Call, View::default()))
    }

    /// The ids of the changes, each with whether it is answered.
    fn taken(changes: &mut Changes) -> Vec<(String, Option<bool>)> {
        let state = |change: EntryChange| match change {
            EntryChange::Put { entry, answered, .. } => (entry.id.to_string(), answered),
            EntryChange::Drop(id) => (format!("drop {id}"), None),
        };
        changes.take().into_iter().map(state).collect()
    }

    #[test]
    fn a_call_that_comes_after_its_result_is_answered_unless_too_many_results_came_in_between() {
        for (others, is_answered) in [(0, true), (MAX_EARLY - 1, true), (MAX_EARLY, false)] {
            let mut changes = Changes::new(Budget::default());
            changes.answer(&"call".into());
            for number in 0..others {
                changes.answer(&format!("{number}").as_str().into());
            }
            assert!(changes.early.len() <= MAX_EARLY);
            changes.put(call("call"));
            assert_eq!(taken(&mut changes), [("call".to_owned(), Some(is_answered))], "{others}");
        }
    }

    #[test]
    fn a_call_is_held_until_its_result_and_comes_again_after_what_changed_before() {
        let mut changes = Changes::new(Budget::default());
        for id in ["a", "b"] {
            changes.put(call(id));
        }
        assert_eq!(taken(&mut changes).len(), 2);
        assert!(taken(&mut changes).is_empty(), "nothing is taken twice");
        changes.put(Box::new(Entry::new("reply", Kind::Reply, View::default())));
        changes.answer(&"a".into());
        assert_eq!(taken(&mut changes), [("reply".to_owned(), None), ("a".to_owned(), Some(true))]);
        changes.answer(&"a".into());
        changes.take_back(&"b".into());
        changes.answer(&"b".into());
        assert_eq!(taken(&mut changes), [("drop b".to_owned(), None)]);
        assert!(changes.held.is_empty() && changes.bytes == 0, "nothing may change any longer");
    }

    #[test]
    fn beyond_the_budget_the_older_half_is_forgotten() {
        let mut changes = Changes::new(Budget { calls: 4, ..Budget::default() });
        let ids = ["a", "b", "c", "d", "e"];
        for id in ids {
            changes.put(call(id));
        }
        assert_eq!(taken(&mut changes).len(), 5);
        for id in ids {
            changes.answer(&id.into());
        }
        assert_eq!(taken(&mut changes), ["d", "e"].map(|id| (id.to_owned(), Some(true))));
    }
}
