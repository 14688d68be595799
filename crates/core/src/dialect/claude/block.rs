//! One block of a message's content, its fields read in one pass.

use crate::item::{Content, Id};
use crate::json::{Kind, Str, Value};

/// A content block. Fields that it may not have are `None`; of two with one name the last counts.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) value: Value<'a>,
    /// What `type` says.
    pub(super) kind: Option<Str<'a>>,
    /// `text`, or the block itself if it is a bare string or nothing.
    pub(super) text: Option<Value<'a>>,
    pub(super) thinking: Option<Value<'a>>,
    pub(super) id: Option<Value<'a>>,
    pub(super) name: Option<Value<'a>>,
    pub(super) input: Option<Value<'a>>,
    /// `tool_use_id`, on a result.
    pub(super) call: Option<Str<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) is_error: bool,
    /// It has a field that no call has.
    pub(super) is_odd_call: bool,
}

impl<'a> Block<'a> {
    /// Reads the fields of a block, whatever it is.
    pub(super) fn of(value: Value<'a>) -> Self {
        let mut block = Self {
            value,
            kind: None,
            text: matches!(value.kind(), Kind::String | Kind::Null).then_some(value),
            thinking: None,
            id: None,
            name: None,
            input: None,
            call: None,
            content: None,
            is_error: false,
            is_odd_call: false,
        };
        for (key, field) in value.entries() {
            match &*key.decode() {
                "type" => block.kind = field.str(),
                "id" => block.id = Some(field),
                "name" => block.name = Some(field),
                "input" => block.input = Some(field),
                "caller" => {}
                name => {
                    block.is_odd_call = true;
                    match name {
                        "text" => block.text = Some(field),
                        "thinking" => block.thinking = Some(field),
                        "tool_use_id" => block.call = field.str(),
                        "content" => block.content = Some(field),
                        "is_error" => block.is_error = field.bool() == Some(true),
                        _ => {}
                    }
                }
            }
        }
        block
    }

    /// On a result: the id of its call.
    pub(super) fn call_id(&self) -> Option<Id> {
        self.call.filter(|id| !id.raw().is_empty()).map(|id| Id::from(&*id.decode()))
    }
}

/// A string, as an item's text.
pub(super) fn string(value: Option<Value<'_>>) -> Content {
    match value {
        Some(text) if text.kind() == Kind::String => Content::Node(text.node()),
        _ => Content::None,
    }
}

/// Whether a value is no string, or one of blanks.
pub(super) fn is_blank(value: Option<Value<'_>>) -> bool {
    value.and_then(Value::str).is_none_or(Str::is_blank)
}
