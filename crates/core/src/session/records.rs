//! Finds the records in the lines of replies.

use std::borrow::Cow;

use super::text_hash::content_of;
use super::{Session, SessionChange, TakeChange};
use crate::item::{Content, Fact, Id, Item, Kind};
use crate::records::{FoundRecord, RecordFinder};

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
        let Some(reply) = self.open.get(key) else { return };
        let Content::Own(text) = &reply.text else { return };
        let mut early = self.records.swap_remove(&reply.id).unwrap_or_default();
        let mut items = Vec::new();
        while let Some(found) = early.finder.next(text, false) {
            let line = found.line.clone();
            items.push((record_item(reply, early.found.len() + items.len(), found), line));
        }
        let id = reply.id.clone();
        for (mut item, line) in items {
            if self.assign_id(&mut item).is_some() {
                item.place = self.next_place(item.parent.as_ref());
                each(self, SessionChange::Record { item: &item, reply: &id, line, is_early: true });
            }
            early.found.push((item.id, item.place));
        }
        self.records.insert(id, early);
    }

    /// Reports the records of a complete reply. Takes back those that were found while it grew and that it doesn't have.
    pub(super) fn find_records(&mut self, reply: &Item, each: TakeChange<'_>) {
        let mut early = self.records.swap_remove(&reply.id).unwrap_or_default().found.into_iter();
        let may_have_records = reply.text_holds('{');
        let text = if may_have_records { reply.text() } else { Cow::default() };
        let mut finder = RecordFinder::default();
        let mut number = 0;
        while let Some(found) = finder.next(&text, true) {
            let line = found.line.clone();
            let mut item = record_item(reply, number, found);
            number += 1;
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

/// Makes the item of a record in a reply; `number`: how many records are before it.
fn record_item(reply: &Item, number: usize, found: FoundRecord) -> Item {
    let id = Id::below(reply.id.as_str(), &format!("record-{}", number + 1));
    let mut item = Item::new(id, Kind::Record, reply.line);
    item.parent.clone_from(&reply.parent);
    item.session.clone_from(&reply.session);
    item.data.push(("value", Fact::Node(found.record.root().node())));
    if found.is_fenced {
        item.data.push(("fenced", Fact::Bool(true)));
    }
    item.record = Some(found.record);
    item
}
