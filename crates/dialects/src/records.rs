//! Bare JSON Lines: one object with a `type` per line, outside any agent's stream.

use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Kind};
use streamfmt_core::json::{Value, ValueKind};

use super::item_builder::ItemBuilder;
use streamfmt_core::dialect::{Decoder, Input};

/// Never claims a line: any program may write such lines, so only the user can select this dialect.
pub(super) fn claim(_: Value<'_>) -> bool {
    false
}

/// No line is one of a stream that ends with an outcome: records may end at any line.
pub(super) fn is_stream(_: Value<'_>) -> bool {
    false
}

/// The decoder. It has no state: each line is decoded by itself.
pub(super) struct Records;

impl Decoder for Records {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let is_record = input.value.kind() == ValueKind::Object
            && input.value.get("type").is_some_and(|kind| kind.str().is_some());
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), None, out);
        let mut item = builder.unnamed_item(if is_record { Kind::Record } else { Kind::Unknown });
        // A record found in a reply takes its text from there; this one is its own text.
        item.text = Content::Own(input.record.text().to_owned());
        item.data.push(if is_record {
            ("value", Fact::Node(input.value.node()))
        } else {
            ("raw", Fact::Bool(true))
        });
        builder.put(item);
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}
