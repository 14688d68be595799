//! Finds the records in the lines of replies.

use super::text_hash::content_of;
use super::{Session, SessionChange, TakeChange};
use crate::item::{Content, Fact, Id, Item, Kind};
use crate::records::{FoundRecord, RecordFinder};

/// The records that were found in a reply that still grows.
#[derive(Debug, Default)]
pub(super) struct EarlyRecords {
    finder: RecordFinder,
    pub(super) found: Vec<EarlyRecord>,
}

/// A record of a reply that still grows.
#[derive(Clone, Debug)]
pub(super) struct EarlyRecord {
    id: Id,
    place: u32,
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
            early.found.push(EarlyRecord { id: item.id, place: item.place });
        }
        self.records.insert(id, early);
    }

    /// Reports the records of a complete reply.
    pub(super) fn find_records(&mut self, reply: &Item, each: TakeChange<'_>) {
        let early = self.records.swap_remove(&reply.id).map(|early| early.found).unwrap_or_default();
        if !reply.text_holds('{') {
            return self.retract_records(&early, each);
        }
        let text = reply.text();
        let mut finder = RecordFinder::default();
        let mut number = 0;
        while let Some(found) = finder.next(&text, true) {
            let line = found.line.clone();
            let mut item = record_item(reply, number, found);
            let known = early.get(number);
            number += 1;
            match known {
                // The complete reply decides, whatever the record was while it grew.
                Some(known) => {
                    item.id.clone_from(&known.id);
                    item.place = known.place;
                    self.seen.change(item.id.hash(), content_of(&item).0);
                }
                None if self.assign_id(&mut item).is_none() => {
                    each(self, SessionChange::Repeated(&item));
                    continue;
                }
                None => item.place = self.next_place(item.parent.as_ref()),
            }
            each(self, SessionChange::Record { item: &item, reply: &reply.id, line, is_early: false });
        }
        self.retract_records(early.get(number..).unwrap_or_default(), each);
        each(self, SessionChange::RecordsEnd(&reply.id));
    }

    /// Takes back records that were found while a reply grew, and that the complete reply doesn't have.
    pub(super) fn retract_records(&mut self, records: &[EarlyRecord], each: TakeChange<'_>) {
        for record in records {
            each(self, SessionChange::Retracted(record.id.clone()));
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
