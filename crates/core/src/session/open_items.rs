//! Items that may still grow.

use std::borrow::Cow;

use super::text_hash::trimmed_text;
use crate::item::{Content, Does, Fact, GrowingInput, Id, Item, Kind, Status};
use crate::json::{PartialJson, Record, Value, ValueKind, left_out};

/// The longest field of a growing input, in bytes of JSON. Of a longer field formatters get only the end.
pub const MAX_GROWING_FIELD: usize = 16 << 10;

/// An item that may still grow.
#[derive(Debug)]
pub(super) struct OpenItem {
    /// The item as far as it has come.
    pub(super) item: Box<Item>,
    /// For a growing call, the index of the incomplete JSON in its text.
    input: Option<PartialJson>,
}

impl OpenItem {
    pub(super) fn new(item: Box<Item>) -> Self {
        let mut open = Self { item, input: None };
        open.read_input();
        open
    }

    /// Parses the new part of the JSON in the text of a call.
    fn read_input(&mut self) {
        if let (Kind::Call, Content::Own(text)) = (self.item.kind, &self.item.text) {
            self.input.get_or_insert_with(|| PartialJson::new(MAX_GROWING_FIELD)).read(text);
        }
    }

    /// The size of the text that was streamed, in bytes.
    pub(super) fn size(&self) -> usize {
        match &self.item.text {
            Content::Own(text) => text.len(),
            _ => 0,
        }
    }

    /// The item as formatters see it; see [`Session::growing`](super::Session::growing). Of an input that isn't JSON, the end becomes the
    /// text of the call.
    pub(super) fn growing(&self) -> Cow<'_, Item> {
        let Self { item, input } = self;
        let has_input = item.input.is_some() || matches!(item.does, Some(Does::Facts { .. }));
        if item.kind != Kind::Call || input.is_none() && has_input {
            return Cow::Borrowed(item);
        }
        let text = if let Content::Own(text) = &item.text { text.as_str() } else { "" };
        let mut so_far = item.copy_without_text();
        so_far.data.retain(|(name, _)| *name != "partial");
        so_far.data.push(("partial", Fact::Bool(true)));
        let mut growing = Some(GrowingInput::default());
        if let Some(input) = input
            && let Some(readable) = input.readable(text)
        {
            let first = so_far.take_input(readable.record);
            let open = readable.open.map(|node| node + first);
            let cuts = readable.cuts.into_iter().map(|(node, cut)| (node + first, cut)).collect();
            growing = (!input.is_whole()).then_some(GrowingInput { open, cuts });
        } else if let (true, Ok((nothing, _))) = (text.is_empty(), Record::read("{}")) {
            so_far.take_input(nothing);
        } else {
            let start = text.len().saturating_sub(MAX_GROWING_FIELD);
            let start = (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(start);
            so_far.text = Content::Own(match start {
                0 => text.to_owned(),
                _ => [&left_out(start), "\n", &text[start..]].concat(),
            });
        }
        so_far.growing = growing.map(Box::new);
        Cow::Owned(so_far)
    }

    /// Appends a piece to the text.
    pub(super) fn append(&mut self, piece: &str) {
        grow(&mut self.item, piece);
        self.read_input();
    }

    /// Replaces the item by one with the same id. Its parent, place and line stay, and so does its text if `item` has none. Returns the
    /// item's current id.
    pub(super) fn amend(&mut self, mut item: Box<Item>) -> Id {
        let before = &mut self.item;
        if !matches!(item.text, Content::None) {
            self.input = None;
        } else if !matches!(before.text, Content::None) {
            // The text may be a span of the old record: make it an owned string.
            grow(before, "");
            item.text = std::mem::take(&mut before.text);
        }
        item.parent.clone_from(&before.parent);
        (item.place, item.line) = (before.place, before.line);
        if item.status == Status::Done {
            item.status = Status::Open;
        }
        let id = std::mem::replace(&mut item.id, before.id.clone());
        self.item = item;
        self.read_input();
        id
    }

    /// Splits off the text that was streamed, as an item that has the same id so far.
    pub(super) fn take_text(&mut self) -> Box<Item> {
        self.input = None;
        let text = std::mem::take(&mut self.item.text);
        Box::new(Item { text, ..(*self.item).clone() })
    }
}

fn grow(item: &mut Item, piece: &str) {
    if !matches!(item.text, Content::Own(_)) {
        item.text = Content::Own(item.text().into_owned());
    }
    if let Content::Own(text) = &mut item.text {
        text.push_str(piece);
    }
}

/// Keeps the streamed text or input of an item if the complete item has none.
pub(super) fn keep_streamed(open: &mut Item, whole: &mut Item) {
    let Content::Own(streamed) = &open.text else { return };
    if open.kind != whole.kind || streamed.trim().is_empty() {
        return;
    }
    match whole.kind {
        Kind::Reply | Kind::Thinking if trimmed_text(whole).hash.is_none() => {
            whole.text = std::mem::take(&mut open.text);
            whole.data.retain(|(name, _)| *name != "redacted");
        }
        // The input stays that of the complete message, as if nothing had been streamed. The streamed JSON becomes the text.
        Kind::Call if is_empty(whole.input()) && matches!(whole.text, Content::None) => {
            let mut kept = open.clone();
            settle_input(&mut kept);
            let is_cut = kept.input.is_none();
            if is_cut || !is_empty(kept.input()) {
                whole.text = std::mem::take(&mut open.text);
                whole.data.extend(is_cut.then_some(("partial", Fact::Bool(true))));
            }
        }
        _ => {}
    }
}

/// Whether an input is missing, null or an empty object.
fn is_empty(input: Option<Value<'_>>) -> bool {
    input.is_none_or(|input| {
        input.is_null() || input.kind() == ValueKind::Object && input.entries().next().is_none()
    })
}

/// Makes the streamed JSON of a call its input, if it is complete; otherwise the call is `partial`.
pub(super) fn settle_input(item: &mut Item) {
    if item.kind != Kind::Call {
        return;
    }
    let Content::Own(grown) = std::mem::take(&mut item.text) else { return };
    match Record::from_line(grown) {
        Ok(record) => {
            item.take_input(record);
        }
        Err((_, grown)) => {
            item.text = Content::Own(grown);
            item.data.push(("partial", Fact::Bool(true)));
        }
    }
}
