//! A JSON record, scanned once: its text and a flat table of the positions of its values.
//!
//! Nothing is decoded while scanning. Strings, numbers and whole subtrees stay spans of the
//! text until they are requested, so a structured result that isn't shown costs one pass. The
//! scanner accepts input that real logs contain and a derived `Deserialize` would reject: lone
//! surrogates, `1e400`, a repeated key, any depth. It never recurses.

mod cursor;
mod marks;
mod partial;
mod scan;
mod string;

use std::borrow::Cow;
use std::sync::Arc;

pub use partial::{Cut, PartialJson, ReadableJson, left_out};
pub(crate) use scan::BitStack;
pub use string::Str;
pub(crate) use string::{is_same, string_end, string_length};

/// Containers nested more deeply than this are checked but not recorded.
pub const MAX_DEPTH: usize = 128;
/// Further elements or keys of one container are checked but not recorded.
pub const MAX_ELEMENTS: u32 = 10_000;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, as written.
    Number,
    /// A string, still escaped.
    String,
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

/// The position of a value in the text. The nodes of a container's children follow its own; `next` is the first node after them.
#[derive(Clone, Copy, Debug)]
struct ValueNode {
    start: u32,
    end: u32,
    next: u32,
    kind: ValueKind,
    /// Of a string: whether it has escapes. Of the outermost container: whether any container was cut at a limit.
    escaped: bool,
}

/// Why a text is not a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The offset of the first byte that doesn't fit.
    pub at: usize,
    /// Whether the text ended before the value did.
    pub incomplete: bool,
}

/// A JSON value with its text. It is cheap to clone: clones share one memory, as do the records of lines that came together. To keep one
/// for long, see [`Self::detached`].
#[derive(Clone, Debug)]
pub struct Record {
    batch: Arc<RecordBatch>,
    span: RecordSpan,
}

/// The text of records that came together, and the positions of their values.
#[derive(Debug)]
pub(crate) struct RecordBatch {
    text: String,
    nodes: Vec<ValueNode>,
    /// The record as it came, if the only record was made from it.
    original: Option<Record>,
}

/// The part of a batch that is one record: its text, and its nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSpan {
    start: u32,
    end: u32,
    first: u32,
    after: u32,
}

impl RecordSpan {
    fn of(text: [usize; 2], nodes: [usize; 2]) -> Self {
        let ([start, end], [first, after]) = (text.map(|at| at as u32), nodes.map(|at| at as u32));
        Self { start, end, first, after }
    }
}

impl RecordBatch {
    /// A batch without records, with capacity for this many bytes of text.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let (text, nodes) = (String::with_capacity(bytes), Vec::with_capacity(bytes / scan::BYTES_OF_NODE));
        Self { text, nodes, original: None }
    }

    /// Adds a text, if it consists of one value and blanks.
    pub(crate) fn add(&mut self, text: &str) -> Result<RecordSpan, Damage> {
        let (start, first) = (self.text.len(), self.nodes.len());
        self.text.push_str(text);
        match scan::whole_value(&self.text, start, &mut self.nodes) {
            Ok(()) => Ok(RecordSpan::of([start, self.text.len()], [first, self.nodes.len()])),
            Err(damage) => {
                self.text.truncate(start);
                self.nodes.truncate(first);
                Err(Damage { at: damage.at - start, ..damage })
            }
        }
    }

    /// The bytes between the quotes of a key without escapes: bytes compare faster than text.
    #[inline]
    fn key(&self, node: &ValueNode) -> &[u8] {
        &self.text.as_bytes()[node.start as usize + 1..node.end as usize - 1]
    }

    /// The string at `node`, without its quotes.
    #[inline]
    fn string(&self, node: &ValueNode) -> Str<'_> {
        Str::between_quotes(&self.text[node.start as usize + 1..node.end as usize - 1], node.escaped)
    }
}

impl Record {
    /// A part of a batch, which was scanned.
    pub(crate) fn of_batch(batch: &Arc<RecordBatch>, span: RecordSpan) -> Self {
        Self { batch: Arc::clone(batch), span }
    }

    /// A record that shares no memory.
    fn alone(text: String, nodes: Vec<ValueNode>, original: Option<Self>) -> Self {
        let span = RecordSpan::of([0, text.len()], [0, nodes.len()]);
        Self { batch: Arc::new(RecordBatch { text, nodes, original }), span }
    }

    /// Scans the value at the start of `text` and keeps a copy of its span.
    /// Returns it with the number of bytes read, including leading blanks.
    pub fn read(text: &str) -> Result<(Self, usize), Damage> {
        let mut nodes = Vec::new();
        let end = scan::value_at_start(text, &mut nodes)?;
        // The capacity was estimated from the whole text, which may continue after the value.
        nodes.shrink_to_fit();
        Ok((Self::alone(text[..end].to_owned(), nodes, None), end))
    }

    /// Scans a text that consists of one value and blanks, without copying it. Returns the text with the error if it doesn't.
    pub fn from_line(text: String) -> Result<Self, (Damage, String)> {
        let mut nodes = Vec::new();
        match scan::whole_value(&text, 0, &mut nodes) {
            Ok(()) => Ok(Self::alone(text.into_boxed_str().into(), nodes, None)),
            Err(damage) => Err((damage, text)),
        }
    }

    /// The record with the string at `node` replaced by the JSON value that the string contains. Some streams contain the
    /// input of a call in such a form. `None` if `node` isn't a string that contains an object or array.
    ///
    /// The nodes of values change, so look them up again. This costs as much as reading the record.
    ///
    /// # Panics
    /// If `node` is not of this record.
    pub fn unpacked(&self, node: u32) -> Option<Self> {
        let packed = self.value(node);
        let inside = packed.decode()?;
        // Checked by itself: an invalid value might become valid between its neighbours.
        if !inside.trim_start().starts_with(['{', '['])
            || scan::whole_value(&inside, 0, &mut Vec::new()).is_err()
        {
            return None;
        }
        let [start, end] = [packed.at().start, packed.at().end].map(|at| (at - self.span.start) as usize);
        let text = [&self.text()[..start], &inside, &self.text()[end..]].concat();
        let mut nodes = Vec::new();
        scan::whole_value(&text, 0, &mut nodes).ok()?;
        Some(Self::alone(text, nodes, Some(self.original().clone())))
    }

    /// This record with the value of another one appended, and the node of that value. The nodes of this record stay valid.
    pub(crate) fn followed_by(&self, other: &Self) -> (Self, u32) {
        let (length, number) = (self.text().len() as u32, self.nodes().len() as u32);
        let text = [self.text(), other.text()].concat();
        let mut nodes: Vec<_> = self.nodes_from(0, 0).chain(other.nodes_from(length, number)).collect();
        nodes[0].escaped |= other.is_cut();
        (Self::alone(text, nodes, Some(self.original().clone())), number)
    }

    /// This record, to be kept longer than the others of its batch: a copy that shares no memory, unless the record is most of its
    /// batch. Nodes stay valid.
    #[must_use]
    pub fn detached(&self) -> Self {
        if self.is_detached() {
            return self.clone();
        }
        let original = self.batch.original.as_ref().map(Self::detached);
        Self::alone(self.text().to_owned(), self.nodes_from(0, 0).collect(), original)
    }

    /// Whether it is most of its batch, so that keeping it keeps little else in memory.
    pub(crate) fn is_detached(&self) -> bool {
        let RecordSpan { start, end, .. } = self.span;
        2 * (end - start) as usize >= self.batch.text.capacity()
            && self.batch.original.as_ref().is_none_or(Self::is_detached)
    }

    /// Whether both are of one batch.
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.original().batch, &other.original().batch)
    }

    /// The record as it came: the one from which this was made by [`Self::unpacked`], or itself.
    pub fn original(&self) -> &Self {
        self.batch.original.as_ref().unwrap_or(self)
    }

    /// Whether this is a clone of the other one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.batch, &other.batch) && self.span.first == other.span.first
    }

    /// The size of its text and of that of its original, in bytes.
    pub(crate) fn size(&self) -> usize {
        let original = self.batch.original.as_ref();
        self.text().len() + original.map_or(0, |original| original.text().len())
    }

    /// The record's text.
    pub fn text(&self) -> &str {
        &self.batch.text[self.span.start as usize..self.span.end as usize]
    }

    /// Whether a container was cut at a limit ([`MAX_DEPTH`], [`MAX_ELEMENTS`]).
    pub fn is_cut(&self) -> bool {
        self.root().at().escaped && self.root().kind() != ValueKind::String
    }

    /// The outermost value.
    #[inline]
    pub fn root(&self) -> Value<'_> {
        let RecordSpan { first, .. } = self.span;
        Value { batch: &self.batch, first, node: first }
    }

    /// The value with this [`Value::node`].
    ///
    /// # Panics
    /// If `node` isn't a node of this record.
    #[inline]
    pub fn value(&self, node: u32) -> Value<'_> {
        let RecordSpan { first, after, .. } = self.span;
        assert!(node < after - first, "a node of another record");
        Value { batch: &self.batch, first, node: first + node }
    }

    /// Its nodes, whose positions are those of the batch.
    fn nodes(&self) -> &[ValueNode] {
        &self.batch.nodes[self.span.first as usize..self.span.after as usize]
    }

    /// Its nodes, with their positions in a text where the record begins at byte `start`, after so many other nodes.
    fn nodes_from(&self, start: u32, first: u32) -> impl Iterator<Item = ValueNode> {
        let RecordSpan { start: old_start, first: old_first, .. } = self.span;
        self.nodes().iter().map(move |node| ValueNode {
            start: node.start - old_start + start,
            end: node.end - old_start + start,
            next: node.next - old_first + first,
            ..*node
        })
    }

    /// The node of the value that begins at byte `start` of the text.
    fn node_at(&self, start: usize) -> Option<u32> {
        let start = start + self.span.start as usize;
        let node = self.nodes().binary_search_by_key(&start, |node| node.start as usize).ok()?;
        u32::try_from(node).ok()
    }
}

/// A value inside a [`Record`]. It is cheap to copy, and decoded on request.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    batch: &'a RecordBatch,
    /// The first node of its record.
    first: u32,
    /// Its place among the nodes of the batch.
    node: u32,
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

impl<'a> Value<'a> {
    #[inline]
    fn at(self) -> &'a ValueNode {
        &self.batch.nodes[self.node as usize]
    }

    /// The number of this value within its record, for [`Record::value`].
    #[inline]
    pub fn node(self) -> u32 {
        self.node - self.first
    }

    /// The value with this [`Value::node`], of the same record.
    ///
    /// # Panics
    /// When the value is used, if `node` isn't a node of this record.
    #[inline]
    #[must_use]
    pub fn same_record(self, node: u32) -> Self {
        Self { node: self.first + node, ..self }
    }

    /// Its type.
    #[inline]
    pub fn kind(self) -> ValueKind {
        self.at().kind
    }

    /// Its text as written, including the quotes of a string.
    #[inline]
    pub fn raw(self) -> &'a str {
        let node = self.at();
        &self.batch.text[node.start as usize..node.end as usize]
    }

    /// Whether it is `null`.
    #[inline]
    pub fn is_null(self) -> bool {
        self.kind() == ValueKind::Null
    }

    /// Its string, if it is one.
    #[inline]
    pub fn str(self) -> Option<Str<'a>> {
        let node = self.at();
        (node.kind == ValueKind::String).then(|| self.batch.string(node))
    }

    /// Its decoded string, if it is one.
    #[inline]
    pub fn decode(self) -> Option<Cow<'a, str>> {
        self.str().map(Str::decode)
    }

    /// Its truth value, if it has one.
    pub fn bool(self) -> Option<bool> {
        match self.kind() {
            ValueKind::True => Some(true),
            ValueKind::False => Some(false),
            _ => None,
        }
    }

    /// Its whole number, if it is one and fits.
    pub fn int(self) -> Option<i64> {
        if self.kind() != ValueKind::Number {
            return None;
        }
        whole(self.raw()).or_else(|| {
            let float = self.float()?;
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        })
    }

    /// Its number, if it is one and finite.
    pub fn float(self) -> Option<f64> {
        if self.kind() != ValueKind::Number {
            return None;
        }
        self.raw().parse().ok().filter(|float: &f64| float.is_finite())
    }

    /// The value of `key`, if it is an object with that key. Of two equal keys the last counts.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let [value] = self.get_all([key]);
        value
    }

    /// The values of several different keys, found in one pass: like [`Self::get`] for each.
    #[inline]
    pub fn get_all<const N: usize>(self, keys: [&str; N]) -> [Option<Value<'a>>; N] {
        let Entries { batch, first, mut at, end } = self.entries();
        let nodes = &batch.nodes[..end as usize];
        let mut found = [None; N];
        while let Some([name, value]) = nodes.get(at as usize..at as usize + 2) {
            let length = (name.end - name.start) as usize - 2;
            let is_it = |key: &str| {
                if name.escaped {
                    batch.string(name).is(key)
                } else {
                    is_same(batch.key(name), key.as_bytes())
                }
            };
            for (key, found) in keys.iter().zip(&mut found) {
                // Most keys differ in length, so their text needn't be compared.
                if (name.escaped || length == key.len()) && is_it(key) {
                    *found = Some(Value { batch, first, node: at + 1 });
                }
            }
            at = value.next;
        }
        found
    }

    /// Passes the fields of an object to `each`, in the order of [`Self::entries`]. Their names are bytes, which compare faster.
    #[inline]
    pub fn fields(self, mut each: impl FnMut(&[u8], Self)) {
        let Entries { batch, first, mut at, end } = self.entries();
        let nodes = &batch.nodes[..end as usize];
        while let Some([name, value]) = nodes.get(at as usize..at as usize + 2) {
            // Called in one place only, so that `each` is inlined into this loop.
            let decoded;
            let text = if name.escaped {
                decoded = batch.string(name).decode();
                decoded.as_bytes()
            } else {
                batch.key(name)
            };
            each(text, Value { batch, first, node: at + 1 });
            at = value.next;
        }
    }

    /// The keys and values of an object as written, including repeated keys; empty if it isn't an object.
    #[inline]
    pub fn entries(self) -> Entries<'a> {
        let node = self.at();
        let inside = if node.kind == ValueKind::Object { self.node + 1..node.next } else { 0..0 };
        Entries { batch: self.batch, first: self.first, at: inside.start, end: inside.end }
    }

    /// The elements of an array; empty if it isn't an array.
    #[inline]
    pub fn items(self) -> Items<'a> {
        let node = self.at();
        let inside = if node.kind == ValueKind::Array { self.node + 1..node.next } else { 0..0 };
        Items { batch: self.batch, first: self.first, at: inside.start, end: inside.end }
    }
}

/// Parses a whole number, if it fits. Optimised for short numbers without a sign.
#[inline]
fn whole(text: &str) -> Option<i64> {
    if text.len() > 18 {
        return text.parse().ok();
    }
    let with = |sum: i64, digit: &u8| Some(sum * 10 + i64::from(char::from(*digit).to_digit(10)?));
    text.as_bytes().iter().try_fold(0, with).or_else(|| text.parse().ok())
}

/// An iterator over the keys and values of an object. See [`Value::entries`].
pub struct Entries<'a> {
    batch: &'a RecordBatch,
    first: u32,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Str<'a>, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at + 1 >= self.end {
            return None;
        }
        let key = self.batch.string(&self.batch.nodes[self.at as usize]);
        let value = Value { batch: self.batch, first: self.first, node: self.at + 1 };
        self.at = value.at().next;
        Some((key, value))
    }
}

/// An iterator over the elements of an array. See [`Value::items`].
pub struct Items<'a> {
    batch: &'a RecordBatch,
    first: u32,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let value = Value { batch: self.batch, first: self.first, node: self.at };
        self.at = value.at().next;
        Some(value)
    }
}

#[cfg(test)]
mod tests;
