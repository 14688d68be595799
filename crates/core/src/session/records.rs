//! Finds the records in the lines of replies.

use std::borrow::Cow;
use std::ops::Range;

use super::text_hash::content_of;
use super::{Session, SessionChange, TakeChange};
use crate::item::{Id, Item};
use crate::records::RecordFinder;

/// The records that were found in a reply that still grows.
#[derive(Debug, Default)]
pub(super) struct EarlyRecords {
    finder: RecordFinder,
    /// The id and the place of each.
    pub(super) found: Vec<(Id, u32)>,
}

impl Session {
    /// Finds the records in the newly completed lines of an open reply.
    pub(super) fn find_early_records(&mut self, key: &Id, each: TakeChange<'_>) {
        let Some(id) = self.open_item(key).map(|reply| reply.id.clone()) else { return };
        while let Some((mut item, line)) = self.next_early_record(key) {
            if self.assign_id(&mut item).is_some() {
                item.place = self.next_place(item.parent.as_ref());
                each(self, SessionChange::Record { item: &item, reply: &id, line, is_early: true });
            }
            self.records.entry(id.clone()).or_default().found.push((item.id, item.place));
        }
    }

    /// The next record in the completed lines of an open reply, and the range of its line.
    fn next_early_record(&mut self, key: &Id) -> Option<(Item, Range<usize>)> {
        let reply = &self.open.get(key)?.item;
        self.records
            .entry(reply.id.clone())
            .or_default()
            .finder
            .next(&reply.text(), false)
            .map(|found| found.item(reply))
    }

    /// Reports the records of a complete reply. Takes back those that were found while it grew and that it doesn't have.
    pub(super) fn find_records(&mut self, reply: &Item, each: TakeChange<'_>) {
        let mut early = self.records.swap_remove(&reply.id).unwrap_or_default().found.into_iter();
        let may_have_records = reply.text_holds('{');
        let text = if may_have_records { reply.text() } else { Cow::default() };
        let mut finder = RecordFinder::default();
        while let Some(found) = finder.next(&text, true) {
            let (mut item, line) = found.item(reply);
            match early.next() {
                // The complete reply decides, whatever the record was while it grew.
                Some((id, place)) => {
                    (item.id, item.place) = (id, place);
                    if let Some(content) = self.seen.get_mut(item.id.hash()) {
                        *content = content_of(&item).0;
                    }
                }
                None if self.assign_id(&mut item).is_none() => {
                    each(self, SessionChange::Repeated(&item));
                    continue;
                }
                None => item.place = self.next_place(item.parent.as_ref()),
            }
            each(self, SessionChange::Record { item: &item, reply: &reply.id, line, is_early: false });
        }
        for (id, _) in early {
            each(self, SessionChange::Retracted(id));
        }
        if may_have_records {
            each(self, SessionChange::RecordsEnd(&reply.id));
        }
    }
}
