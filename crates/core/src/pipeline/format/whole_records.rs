//! Records that a formatter shows in place of their items.

use crate::entry::{Entry, View};
use crate::formatter::Verdict;
use crate::item::{Item, Kind};
use crate::json::Record;
use crate::session::Session;

use super::chain::{EntryResult, FormatterChain};

/// A record that a formatter shows in place of its items.
pub(super) struct ReplacedRecord {
    /// An item that has nothing but the record.
    frame: Item,
    /// The record, which its items share.
    record: Record,
    /// The view of the record, until it is shown in the entry of the first admitted item.
    view: Option<View>,
    /// Whether an item was made of the record.
    has_items: bool,
}

impl ReplacedRecord {
    /// Asks the formatters whether they show a record in place of its items. `node` is the event in it.
    pub(super) fn of(
        line: u64,
        record: &Record,
        node: u32,
        chain: &mut FormatterChain,
        session: &Session,
    ) -> Option<Box<Self>> {
        let mut frame = Item::new(format!("line-{line}/frame"), Kind::Unknown, line);
        // An element of an array becomes a separate record.
        frame.record = if node == record.root().node() {
            Some(record.clone())
        } else {
            Record::from_line(record.value(node).raw().to_owned()).ok()
        };
        frame.record.as_ref()?;
        let view =
            chain.formatters.iter().find_map(|formatter| match formatter.frames()?.frame(&frame, session) {
                Ok(Verdict::Show(view)) => Some(Some(view)),
                Ok(Verdict::Hide) => Some(None),
                Ok(Verdict::Pass) | Err(_) => None,
            });
        chain.note_failures();
        Some(Box::new(Self { frame, record: record.clone(), view: view?, has_items: false }))
    }

    /// The entry of an item that came again, if no other item has shown the record. It has the id of the record.
    pub(super) fn entry_again(
        &mut self,
        item: &Item,
        chain: &mut FormatterChain,
        session: &Session,
    ) -> EntryResult {
        let item = Item { id: self.frame.id.clone(), ..item.clone() };
        self.entry(&item, chain, session)
    }

    /// The entry of an item: the first admitted item of the record shows the record. The error is the rule that hides the item.
    pub(super) fn entry(
        &mut self,
        item: &Item,
        chain: &mut FormatterChain,
        session: &Session,
    ) -> EntryResult {
        let is_of_record = item.record.as_ref().is_some_and(|record| record.original().is_same(&self.record));
        self.has_items |= is_of_record;
        chain.admits(item)?;
        let view = self.view.take_if(|_| is_of_record).ok_or(item.kind.name())?;
        Ok(chain.entry_of(item, view, session))
    }

    /// The entry of the record at its end, if no item was made of it.
    pub(super) fn last_entry(self, chain: &mut FormatterChain, session: &Session) -> Option<Box<Entry>> {
        let frame = Item { kind: Kind::Notice, ..self.frame };
        let view = self.view.filter(|_| !self.has_items && chain.admits(&frame).is_ok())?;
        Some(chain.entry_of(&frame, view, session))
    }
}
