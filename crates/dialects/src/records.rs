//! Bare JSON Lines: objects with a `type`, one a line, without an agent's stream around them.

use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Kind};
use streamfmt_core::json::{Value, ValueKind};

use super::item_builder::ItemBuilder;
use streamfmt_core::dialect::{Decoder, Input};

/// Any program may write such lines, so that only the user can say that an input is of this form.
pub(super) fn claim(_: Value<'_>) -> bool {
    false
}

/// Records end with any of them.
pub(super) fn is_stream(_: Value<'_>) -> bool {
    false
}

/// The decoder. No line needs to know another.
pub(super) struct Records;

impl Decoder for Records {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let is_record = input.value.kind() == ValueKind::Object
            && input.value.get("type").is_some_and(|kind| kind.str().is_some());
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), None, out);
        let mut item = builder.unnamed_item(if is_record { Kind::Record } else { Kind::Unknown });
        // A record of a reply has its text there; this one has its own.
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
