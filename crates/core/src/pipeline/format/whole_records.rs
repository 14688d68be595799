//! Records of which a formatter shows something in place of their items.

use std::fmt::Write;
use std::sync::Arc;

use crate::entry::{Entry, View};
use crate::formatter::Verdict;
use crate::item::{Item, Kind};
use crate::json::Record;
use crate::session::Session;

use super::FormatStage;
use super::chain::note_failures;

/// A record of which something is shown in place of its items.
pub(super) struct ReplacedRecord {
    /// Stands for the record.
    pub(super) frame: Item,
    /// What its items share with it.
    record: Arc<Record>,
    /// What is said, until it is: as the entry of the first item of the record that may be shown.
    view: Option<View>,
    /// Whether an item was made of the record.
    has_items: bool,
}

impl FormatStage {
    /// A record begins, in this line: the event in it is this node. Asks the formatters whether they say something of it in place
    /// of its items.
    #[inline]
    pub(in super::super) fn begin_record(
        &mut self,
        line: u64,
        record: &Arc<Record>,
        node: u32,
        session: &Session,
        out: &mut dyn Write,
    ) {
        self.report.events += 1;
        self.end_record(session, out);
        if self.chain.reads_frames {
            self.ask_of_record(line, record, node, session, out);
        }
    }

    fn ask_of_record(
        &mut self,
        line: u64,
        record: &Arc<Record>,
        node: u32,
        session: &Session,
        out: &mut dyn Write,
    ) {
        self.meet(session, out);
        let Some(frame) = frame_of(line, record, node) else { return };
        let answers = self.chain.formatters.iter().find_map(|formatter| {
            let verdict = formatter.frames()?.frame(&frame, session);
            note_failures(&mut self.chain.failures, &**formatter);
            match verdict {
                Ok(Verdict::Show(view)) => Some(Some(view)),
                Ok(Verdict::Hide) => Some(None),
                Ok(Verdict::Pass) | Err(_) => None,
            }
        });
        let record = Arc::clone(record);
        self.frame = answers.map(|view| Box::new(ReplacedRecord { frame, record, view, has_items: false }));
    }

    /// A record has ended: says of it what none of its items could stand for.
    #[inline]
    pub(in super::super) fn end_record(&mut self, session: &Session, out: &mut dyn Write) {
        if self.frame.is_some() {
            self.say_record(session, out);
        }
    }

    fn say_record(&mut self, session: &Session, out: &mut dyn Write) {
        let Some(replaced) = self.frame.take().filter(|replaced| !replaced.has_items) else { return };
        let ReplacedRecord { mut frame, view, .. } = *replaced;
        frame.kind = Kind::Notice;
        if let Some(view) = view.filter(|_| self.chain.admits(&frame).is_ok()) {
            let entry = self.chain.entry_of(&frame, view, session);
            self.show(entry, session, out);
            self.count_once();
        }
    }

    /// What is said of a record, as the entry of its first item that may be shown. The error is the rule that hides the item.
    pub(super) fn replaced(
        &mut self,
        replaced: &mut ReplacedRecord,
        item: &Item,
        session: &Session,
    ) -> Result<Box<Entry>, &'static str> {
        let is_of = |record: &Arc<Record>| std::ptr::eq(record.original(), &raw const *replaced.record);
        let is_of_record = item.record.as_ref().is_some_and(is_of);
        replaced.has_items |= is_of_record;
        self.chain.admits(item)?;
        let view = replaced.view.take_if(|_| is_of_record).ok_or(item.kind.name())?;
        Ok(self.chain.entry_of(item, view, session))
    }
}

/// An item that has nothing but a record. An element of a record is one of its own.
fn frame_of(line: u64, record: &Arc<Record>, node: u32) -> Option<Item> {
    let is_whole = node == record.root().node();
    let mut frame = Item::new(format!("line-{line}/frame"), Kind::Unknown, line);
    frame.record = Some(if is_whole {
        Arc::clone(record)
    } else {
        Arc::new(Record::from_line(record.value(node).raw().to_owned()).ok()?)
    });
    Some(frame)
}
