//! Content blocks of messages. Their fields are found in one pass.

use streamfmt_core::item::Id;
use streamfmt_core::json::{Str, Value, ValueKind};

use super::line::FieldNode;

/// The positions of a content block's fields. Of two fields with one name, the last counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ContentBlockFields {
    kind: FieldNode,
    text: FieldNode,
    thinking: FieldNode,
    id: FieldNode,
    name: FieldNode,
    input: FieldNode,
    call: FieldNode,
    content: FieldNode,
    pub(super) is_error: bool,
    /// Whether it has a field that calls don't have.
    pub(super) is_odd_call: bool,
}

impl ContentBlockFields {
    /// Finds the fields of a block, which may be any value.
    pub(super) fn of(block: Value<'_>) -> Self {
        let is_text = matches!(block.kind(), ValueKind::String | ValueKind::Null);
        let mut found = Self {
            text: if is_text { FieldNode::of(block) } else { FieldNode::default() },
            ..Self::default()
        };
        block.fields(|name, value| {
            let field = FieldNode::of(value);
            match name {
                b"type" => found.kind = field,
                b"id" => found.id = field,
                b"name" => found.name = field,
                b"input" => found.input = field,
                b"caller" => {}
                name => {
                    found.is_odd_call = true;
                    match name {
                        b"text" => found.text = field,
                        b"thinking" => found.thinking = field,
                        b"tool_use_id" => found.call = field,
                        b"content" => found.content = field,
                        b"is_error" => found.is_error = value.bool() == Some(true),
                        _ => {}
                    }
                }
            }
        });
        found
    }
}

/// A content block. Missing fields are `None`.
#[derive(Clone, Copy)]
pub(super) struct ContentBlock<'a> {
    pub(super) value: Value<'a>,
    pub(super) fields: ContentBlockFields,
}

impl<'a> ContentBlock<'a> {
    /// Reads a block, which may be any value.
    pub(super) fn of(value: Value<'a>) -> Self {
        Self { value, fields: ContentBlockFields::of(value) }
    }

    /// Returns a block, whose fields are found unless they are passed.
    pub(super) fn known(value: Value<'a>, fields: Option<&ContentBlockFields>) -> Self {
        fields.map_or_else(|| Self::of(value), |fields| Self { value, fields: *fields })
    }

    /// Returns the `type`.
    pub(super) fn kind(&self) -> Option<Str<'a>> {
        self.fields.kind.str(self.value)
    }

    /// Returns `text`, or the block itself if it is a string or `null`.
    pub(super) fn text(&self) -> Option<Value<'a>> {
        self.fields.text.of_record(self.value)
    }

    pub(super) fn thinking(&self) -> Option<Value<'a>> {
        self.fields.thinking.of_record(self.value)
    }

    pub(super) fn id(&self) -> Option<Value<'a>> {
        self.fields.id.of_record(self.value)
    }

    pub(super) fn name(&self) -> Option<Value<'a>> {
        self.fields.name.of_record(self.value)
    }

    pub(super) fn input(&self) -> Option<Value<'a>> {
        self.fields.input.of_record(self.value)
    }

    /// Returns the `tool_use_id` of a result.
    pub(super) fn call(&self) -> Option<Str<'a>> {
        self.fields.call.str(self.value)
    }

    pub(super) fn content(&self) -> Option<Value<'a>> {
        self.fields.content.of_record(self.value)
    }

    /// Returns the id of the call of a result.
    pub(super) fn call_id(&self) -> Option<Id> {
        self.call().filter(|id| !id.raw().is_empty()).map(|id| Id::from(&*id.decode()))
    }
}

/// Whether a value is no string, or has only blanks.
pub(super) fn is_blank(value: Option<Value<'_>>) -> bool {
    value.and_then(Value::str).is_none_or(Str::is_blank)
}
