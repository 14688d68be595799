//! Hashes that distinguish an item from others with the same id.

use std::fmt::Write;

use crate::hash::{Trimmed, TrimmedHasher, hash};
use crate::item::{Content, FactRef, Item, Kind};
use crate::json::{Record, Value};

/// The hash of an item's text without the blanks around it; `None` if nothing is left.
pub(super) type TextHash = Option<u64>;

/// The hash that distinguishes an item from others with the same id, of its kind and its text or input; and the hash of its text.
/// A result whose text is in its record has no text hash.
pub(super) fn content_of(item: &Item) -> (u64, TextHash) {
    let kind = item.kind as u8;
    match &item.text {
        // The JSON of the text will do: results aren't streamed. For other items, the streamed and the complete text must be equal.
        Content::Node(node) if item.kind == Kind::Result => {
            let raw = item.record.as_ref().map(|record| record.value(*node).raw());
            (hash(&(kind, raw)), None)
        }
        Content::None if item.kind == Kind::Record => {
            (hash(&(kind, item.record.as_ref().map(Record::text))), None)
        }
        // Those of several records of one line have its id.
        Content::None if item.kind == Kind::Notice => {
            let size = item.fact("bytes").and_then(FactRef::int);
            (hash(&(kind, fact_hash(item, "event"), size)), None)
        }
        Content::None => (hash(&(kind, item.input().map(Value::raw), &item.tool)), None),
        _ => {
            let Trimmed { hash: text_hash, length } = trimmed_text(item);
            (hash(&(kind, text_hash, length)), text_hash)
        }
    }
}

/// The hash and length of an item's text, without the blanks around it.
pub(super) fn trimmed_text(item: &Item) -> Trimmed {
    let mut text = TrimmedHasher::new();
    // Writing to a hasher can't fail.
    let _ = item.write_text(&mut text);
    text.finish()
}

/// The hash of JSON, however it is laid out. It is that of the text itself if it has no blanks between its values.
pub(super) fn json_hash(json: &str) -> TextHash {
    let mut text = TrimmedHasher::new();
    // The parts outside and inside of strings take turns, each up to a quote.
    let (mut rest, mut is_string) = (json, false);
    while !rest.is_empty() {
        let mut is_escaped = false;
        let end = rest.bytes().position(|byte| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = is_string && byte == b'\\' && !is_escaped;
            is_end
        });
        let (part, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        if is_string {
            let _ = text.write_str(part);
        } else {
            part.split_ascii_whitespace().for_each(|word| _ = text.write_str(word));
        }
        (rest, is_string) = (behind, !is_string);
    }
    text.finish().hash
}

/// The hash of the text of a fact, without the blanks around it, if the item has that fact.
pub(super) fn fact_hash(item: &Item, name: &str) -> Option<TextHash> {
    let mut text = TrimmedHasher::new();
    let _ = text.write_str(&item.fact(name)?.str()?);
    Some(text.finish().hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_of_json_does_not_count() {
        let same =
            [r#"{"a b":[1,"\" x"],"c":"\\"}"#, "{\n  \"a b\": [ 1, \"\\\" x\" ],\n  \"c\": \"\\\\\"\n}\n"];
        assert_eq!(json_hash(same[0]), json_hash(same[1]));
        assert_ne!(json_hash(same[0]), json_hash(r#"{"ab":[1,"\" x"],"c":"\\"}"#), "blanks in strings do");
    }
}
