//! The steps that decoding emits.

use std::sync::Arc;

use crate::dialect::ForeignProgram;
use crate::event::Event;
use crate::item::{Content, Id, Item};
use crate::json::Record;
use crate::report::Report;

/// One step of an input. A line results in several.
#[derive(Debug)]
pub enum Step {
    /// Something that the report of each output counts, such as a line.
    Count(fn(&mut Report)),
    /// A record that looks like one of this program, which no dialect supports.
    Foreign(ForeignProgram),
    /// The first record of the dialect of this name follows.
    Dialect(Arc<str>),
    /// A record of the dialect of this name, which isn't that of the input.
    OtherDialect(&'static str),
    /// A record begins: its line number, the record, and the node of the event in it (the root, or an element of an array).
    Record(u64, Record, u32),
    /// An event of the record.
    Event(Event),
}

impl Step {
    /// A complete item that is named after its line. If it is inside of `parent`, this makes its id unique: the input has a line of that
    /// number, too.
    pub(super) fn put(mut item: Item, parent: Option<&Id>) -> Self {
        if let Some(parent) = parent {
            item.id = Id::below(parent.as_str(), item.id.as_str());
            item.parent = Some(parent.clone());
        }
        Self::Event(Event::Put(Box::new(item)))
    }

    /// The approximate size of the text it holds, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Event(Event::Put(item) | Event::Hidden(item) | Event::Open(item) | Event::Amend(item)) => {
                match &item.text {
                    Content::Own(text) => text.len(),
                    _ => 0,
                }
            }
            Self::Record(_, record, _) => record.text().len(),
            Self::Event(Event::Append { text, .. }) => text.len(),
            _ => 0,
        }
    }
}
