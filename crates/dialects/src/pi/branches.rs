//! The branches of a session file. Each entry names the one before it; a person may go back to any of them and continue from there. The
//! conversation is the path to the last entry: what was written between is retracted.

use streamfmt_core::budget::Budget;
use streamfmt_core::event::Event;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Id};
use streamfmt_core::json::Value;

use crate::item_builder::ItemBuilder;

/// The most entries to which a conversation can go back.
const MAX_ENTRIES: usize = 4_096;

/// The entries of the current path.
pub(super) struct Branches {
    most: usize,
    /// The hash of each entry's id, and its items.
    path: Vec<(u64, Vec<Id>)>,
}

impl Branches {
    pub(super) fn new(budget: Budget) -> Self {
        Self { most: budget.lines.min(MAX_ENTRIES), path: Vec::new() }
    }

    /// Retracts the items between an entry and the one that it names.
    pub(super) fn go_back(&mut self, parent: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let Some(parent) = parent.and_then(Value::decode).map(|id| hash(&*id)) else { return };
        if self.path.last().is_none_or(|(last, _)| *last == parent) {
            return;
        }
        let Some(at) = self.path.iter().rposition(|(id, _)| *id == parent) else { return };
        let ids: Vec<Id> = self.path.drain(at + 1..).flat_map(|(_, ids)| ids).collect();
        if !ids.is_empty() {
            let notice = builder.notice("rollback", Content::Own("back to an earlier message".to_owned()));
            builder.emit(Event::Retract { ids, notice: Box::new(notice) });
        }
    }

    /// Adds an entry, with the items that the events since `first` made of it.
    pub(super) fn add(&mut self, id: Option<Value<'_>>, events: &[Event]) {
        let Some(id) = id.and_then(Value::decode) else { return };
        let item = |event: &Event| match event {
            Event::Put(item) | Event::Hidden(item) => Some(item.id.clone()),
            _ => None,
        };
        if self.path.len() >= self.most {
            self.path.drain(..self.most / 2);
        }
        self.path.push((hash(&*id), events.iter().filter_map(item).collect()));
    }
}
