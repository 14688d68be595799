//! The ids of the items of each line, in case a later line retracts them.
//!
//! Most are never looked up, so they are stored compactly: all ids in one string, each after its length.

use std::ops::Range;

use indexmap::map::Entry;

use streamfmt_core::budget::Budget;
use streamfmt_core::event::Event;
use streamfmt_core::hash::hash;
use streamfmt_core::item::Id;
use streamfmt_core::json::{Str, Value};
use streamfmt_core::session::Map;

/// The number of lines at which the memory for all further lines is reserved, instead of growing in steps.
const FEW_LINES: usize = 896;
/// The usual number of bytes of a line's ids.
const USUAL_IDS: usize = 40;

/// The ids of the items of recent lines, by the lines' uuids.
pub(super) struct ItemsByLine {
    /// The most lines that are remembered.
    most: usize,
    /// The most bytes of ids that are remembered.
    most_bytes: usize,
    /// Hash of a line's uuid → the line.
    lines: Map<u64, LineItems>,
    ids: String,
    /// The number of bytes of ids that were forgotten.
    forgotten: usize,
}

struct LineItems {
    /// Distinguishes its message from others.
    message: u64,
    /// The range of its ids in the string, counting forgotten bytes.
    ids: Range<usize>,
}

impl ItemsByLine {
    /// Remembers as many lines and bytes as the budget allows.
    pub(super) fn new(budget: Budget) -> Self {
        let (lines, ids) = (Map::default(), String::new());
        Self { most: budget.lines, most_bytes: budget.line_bytes, lines, ids, forgotten: 0 }
    }

    /// Whether a line with this uuid is remembered, whatever its message.
    pub(super) fn knows(&self, uuid: Str<'_>) -> bool {
        self.lines.contains_key(&hash(uuid.raw()))
    }

    /// Remembers the items of a line, which are those in `events`. `message` distinguishes its message from others.
    ///
    /// Returns true, and remembers nothing, if the line with the same message was seen before.
    pub(super) fn remember(&mut self, uuid: Str<'_>, message: u64, events: &[Event]) -> bool {
        if self.lines.len() == FEW_LINES && self.most > FEW_LINES {
            self.lines.reserve(self.most + 1 - FEW_LINES);
            self.ids.reserve((self.most * USUAL_IDS).min(self.most_bytes));
        }
        let place = self.lines.entry(hash(uuid.raw()));
        if let Entry::Occupied(known) = &place
            && known.get().message == message
        {
            return true;
        }
        let start = self.forgotten + self.ids.len();
        for event in events {
            if let Event::Put(item) | Event::Hidden(item) = event {
                push(item.id.as_str(), &mut self.ids);
            }
        }
        let ids = start..self.forgotten + self.ids.len();
        place.insert_entry(LineItems { message, ids });
        if self.lines.len() > self.most || self.ids.len() > self.most_bytes {
            self.forget_older_half();
        }
        false
    }

    fn forget_older_half(&mut self) {
        self.lines.drain(..self.lines.len() / 2);
        let kept = self.lines.values().filter(|line| !line.ids.is_empty()).map(|line| line.ids.start);
        let kept = kept.min().unwrap_or(self.forgotten + self.ids.len());
        self.ids.drain(..kept - self.forgotten);
        self.forgotten = kept;
    }

    /// Removes and returns the ids of the items of the lines with these uuids.
    pub(super) fn take(&mut self, uuids: Value<'_>) -> Vec<Id> {
        let mut taken = Vec::new();
        for uuid in uuids.items().filter_map(Value::str) {
            let Some(line) = self.lines.get_mut(&hash(uuid.raw())) else { continue };
            let ids = std::mem::take(&mut line.ids);
            if !ids.is_empty() {
                pop_all(&self.ids[ids.start - self.forgotten..ids.end - self.forgotten], &mut taken);
            }
        }
        taken
    }
}

/// Appends an id, after the character whose code point is the id's length. Ids are never longer than the largest code point.
fn push(id: &str, out: &mut String) {
    if let Some(length) = char::from_u32(id.len() as u32) {
        out.push(length);
        out.push_str(id);
    }
}

/// Parses ids written by [`push`].
fn pop_all(mut ids: &str, out: &mut Vec<Id>) {
    while let Some(length) = ids.chars().next() {
        let (id, rest) = ids[length.len_utf8()..].split_at(length as usize);
        out.push(Id::from(id));
        ids = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::{Item, Kind};
    use streamfmt_core::json::Record;

    fn put(id: &str) -> Event {
        Event::Put(Box::new(Item::new(id, Kind::Reply, 1)))
    }

    #[test]
    fn what_a_line_made_can_be_taken_back_once_while_it_is_remembered() {
        let record = Record::from_line(r#"["one","two","none"]"#.to_owned()).unwrap();
        let uuids = record.root();
        let [one, two]: [Str<'_>; 2] =
            uuids.items().filter_map(Value::str).take(2).collect::<Vec<_>>().try_into().unwrap();
        let long = "é".repeat(250);
        let mut items = ItemsByLine::new(Budget::default());
        assert!(!items.remember(one, 0, &[put("a"), put("")]));
        assert!(items.remember(one, 0, &[put("a")]));
        assert!(!items.remember(two, 1, &[put(&long)]));
        assert_eq!(items.take(uuids), [Id::from("a"), Id::from(""), Id::from(&*long)]);
        assert!(items.take(uuids).is_empty());
        assert!(items.knows(one));
    }

    #[test]
    fn older_lines_are_forgotten_with_what_they_made() {
        let many = format!("[{}]", vec![r#""u""#; 3 * Budget::default().lines].join(","));
        let numbered: String = many
            .split("\"u\"")
            .enumerate()
            .map(|(n, rest)| match n {
                0 => rest.to_owned(),
                n => format!("\"{n}\"{rest}"),
            })
            .collect();
        let record = Record::from_line(numbered).unwrap();
        let mut items = ItemsByLine::new(Budget::default());
        let uuids = || record.root().items().filter_map(Value::str);
        for uuid in uuids() {
            items.remember(uuid, 0, &[put(uuid.raw())]);
        }
        let last = uuids().last().unwrap();
        assert!(
            items.lines.len() <= Budget::default().lines && items.ids.len() < Budget::default().lines * 8
        );
        assert!(items.knows(last) && uuids().next().is_some_and(|first| !items.knows(first)));
        let taken = items.take(record.root());
        assert_eq!(taken.len(), items.lines.len());
        assert_eq!(taken.last().map(Id::as_str), Some(last.raw()));
    }
}
