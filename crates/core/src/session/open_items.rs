//! Items that may still grow.

use std::borrow::Cow;

use super::Map;
use super::text_hash::trimmed_text;
use crate::item::{Content, Does, Fact, GrowingInput, Id, Item, Kind, Status};
use crate::json::{PartialJson, Record, Value, ValueKind, left_out};

/// The longest field of a growing input, in bytes of JSON. Of a longer field formatters get only the end.
pub const MAX_GROWING_FIELD: usize = 16 << 10;

/// Items that may still grow, the oldest first, by the ids with which they were opened.
#[derive(Debug, Default)]
pub(super) struct OpenItems(Map<Id, OpenItem>);

#[derive(Debug)]
struct OpenItem {
    item: Box<Item>,
    /// For a growing call, the index of the incomplete JSON in its text.
    input: Option<PartialJson>,
}

impl OpenItem {
    /// Parses the new part of the JSON in the text of a call.
    fn read_input(&mut self) {
        if let (Kind::Call, Content::Own(text)) = (self.item.kind, &self.item.text) {
            self.input.get_or_insert_with(|| PartialJson::new(MAX_GROWING_FIELD)).read(text);
        }
    }
}

impl OpenItems {
    pub(super) fn get(&self, id: &Id) -> Option<&Item> {
        self.0.get(id).map(|open| &*open.item)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        self.0.keys()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes of the text that was streamed, of all items.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(|open| grown(&open.item)).sum()
    }

    /// An item as formatters see it; see [`Session::growing`](super::Session::growing).
    pub(super) fn growing(&self, id: &Id) -> Option<Cow<'_, Item>> {
        let OpenItem { item, input } = self.0.get(id)?;
        let has_input = item.input.is_some() || matches!(item.does, Some(Does::Facts { .. }));
        if item.kind != Kind::Call || input.is_none() && has_input {
            return Some(Cow::Borrowed(item));
        }
        Some(Cow::Owned(with_input_so_far(item, input.as_ref())))
    }

    /// Adds an item.
    pub(super) fn open(&mut self, item: Box<Item>) {
        let id = item.id.clone();
        let mut open = OpenItem { item, input: None };
        open.read_input();
        self.0.insert(id, open);
    }

    /// Appends a piece to the text of an item. Returns the item, if it is open.
    pub(super) fn append(&mut self, id: &Id, piece: &str) -> Option<&Item> {
        let open = self.0.get_mut(id)?;
        grow(&mut open.item, piece);
        open.read_input();
        Some(&open.item)
    }

    /// Replaces the open item with the id of `item`. Its parent, place and line stay, and so does its text if `item` has none. Returns
    /// the item's current id, or `item` itself as an error if none is open with its id.
    pub(super) fn amend(&mut self, mut item: Box<Item>) -> Result<Id, Box<Item>> {
        let Some(open) = self.0.get_mut(&item.id) else { return Err(item) };
        let before = &mut open.item;
        if !matches!(item.text, Content::None) {
            open.input = None;
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
        open.item = item;
        open.read_input();
        Ok(id)
    }

    /// Removes and returns an item.
    pub(super) fn take(&mut self, id: &Id) -> Option<Box<Item>> {
        self.0.shift_remove(id).map(|open| open.item)
    }

    /// Removes and returns the item that was opened first.
    pub(super) fn take_oldest(&mut self) -> Option<Box<Item>> {
        self.0.shift_remove_index(0).map(|(_, open)| open.item)
    }

    /// Splits the streamed text off the longest item, as an item that has the same id so far. Returns it with the id with which the
    /// longest item was opened; `None` if no text was streamed.
    pub(super) fn take_longest_text(&mut self) -> Option<(Id, Box<Item>)> {
        let longest = self.0.iter_mut().max_by_key(|(_, open)| grown(&open.item));
        let (id, OpenItem { item, input }) = longest.filter(|(_, open)| grown(&open.item) > 0)?;
        *input = None;
        let text = std::mem::take(&mut item.text);
        Some((id.clone(), Box::new(Item { text, ..(**item).clone() })))
    }

    /// Changes the id and place of an open item: what it grows to from here on is a different item.
    pub(super) fn rename(&mut self, id: &Id, name: Id, place: u32) {
        if let Some(open) = self.0.get_mut(id) {
            (open.item.id, open.item.place) = (name, place);
        }
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

/// An open call with the part of its input that can be parsed. An input that isn't JSON becomes the text of the call; of a long one only
/// the end does.
fn with_input_so_far(item: &Item, index: Option<&PartialJson>) -> Item {
    let text = if let Content::Own(text) = &item.text { text.as_str() } else { "" };
    let mut so_far = item.copy_without_text();
    so_far.data.retain(|(name, _)| *name != "partial");
    so_far.data.push(("partial", Fact::Bool(true)));
    if let Some(readable) = index.and_then(|index| index.readable(text)) {
        let first = so_far.take_input(readable.record);
        let is_whole = index.is_some_and(PartialJson::is_whole);
        so_far.growing = (!is_whole).then(|| {
            let open = readable.open.map(|node| node + first);
            let cuts = readable.cuts.into_iter().map(|(node, cut)| (node + first, cut)).collect();
            Box::new(GrowingInput { open, cuts })
        });
        return so_far;
    }
    so_far.growing = Some(Box::default());
    if let (true, Ok((nothing, _))) = (text.is_empty(), Record::read("{}")) {
        so_far.take_input(nothing);
        return so_far;
    }
    let start = text.len().saturating_sub(MAX_GROWING_FIELD);
    let start = (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(start);
    so_far.text = Content::Own(match start {
        0 => text.to_owned(),
        _ => [&left_out(start), "\n", &text[start..]].concat(),
    });
    so_far
}

/// The size of the text that was streamed of an item, in bytes.
fn grown(item: &Item) -> usize {
    match &item.text {
        Content::Own(text) => text.len(),
        _ => 0,
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
