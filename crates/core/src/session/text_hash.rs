//! What tells an item from others that have its id.

use std::fmt::Write;

use crate::hash::{Trimmed, TrimmedHasher, hash};
use crate::item::{Content, Item, Kind};
use crate::json::{Record, Value};

/// What tells what an item says from what others say: the hash of its text without the blanks around it; `None` if
/// that is nothing.
pub(super) type TextHash = Option<u64>;

/// What tells an item from another with its id: kind, input, text. And what it says, but for results.
pub(super) fn content_of(item: &Item) -> (u64, TextHash) {
    let kind = item.kind as u8;
    match &item.text {
        // Streamed text and whole text are the same text; results never stream.
        Content::Node(node) if item.kind == Kind::Result => {
            let raw = item.record.as_deref().map(|record| record.value(*node).raw());
            (hash(&(kind, raw)), None)
        }
        Content::None if item.kind == Kind::Record => {
            (hash(&(kind, item.record.as_deref().map(Record::text))), None)
        }
        Content::None => (hash(&(kind, item.input().map(Value::raw), &item.tool)), None),
        _ => {
            let Trimmed { hash: said, length } = said_by(item);
            (hash(&(kind, said, length)), said)
        }
    }
}

/// What is in the text of an item.
pub(super) fn said_by(item: &Item) -> Trimmed {
    let mut text = TrimmedHasher::new();
    // A hasher takes everything.
    let _ = item.write_text(&mut text);
    text.finish()
}

/// The same for a text.
pub(super) fn trimmed(text: &str) -> Trimmed {
    let mut hasher = TrimmedHasher::new();
    let _ = hasher.write_str(text);
    hasher.finish()
}
