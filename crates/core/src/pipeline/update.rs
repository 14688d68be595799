//! The updates of a sink that can change what it shows.

use crate::outline::{EntryChange, Update};
use crate::session::Session;

use super::format::{EntryStage, FormatStage};

impl FormatStage {
    /// See [`super::Pipeline::take_updates`].
    pub(super) fn take_updates(&mut self, session: &Session) -> Vec<Update> {
        self.records.put_changed(&mut self.entries, session);
        for id in self.entries.updates.take_grown() {
            let Some(item) = session.growing(&id) else { continue };
            let item = self.records.growing_passage(&item);
            match self.entries.growing_entry(&item, session) {
                Ok(entry) => self.entries.updates.put_growing(entry),
                Err(_) => self.entries.updates.hide(&item.id),
            }
        }
        self.entries.take_finished()
    }

    /// Whether something has grown since updates were taken.
    pub(super) fn has_grown(&self) -> bool {
        self.entries.updates.has_grown()
            || self.entries.has_grown
            || self.entries.takes_updates() && self.records.has_changed()
    }
}

impl EntryStage {
    /// See [`super::Pipeline::take_finished`].
    pub(super) fn take_finished(&mut self) -> Vec<Update> {
        let revision = self.revision();
        // Masked last: until here ids relate entries.
        let masked = self.updates.take().into_iter().map(|mut change| {
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
        self.report.lines + self.end_lines
    }
}
