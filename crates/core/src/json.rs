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

/// A JSON value with its text. It is cheap to clone: the clones share both.
#[derive(Clone, Debug)]
pub struct Record {
    scanned: Arc<ScannedText>,
}

/// The text of a record, and the positions of its values.
#[derive(Debug)]
struct ScannedText {
    text: Box<str>,
    nodes: Vec<ValueNode>,
    cut: bool,
    /// The record as it came, if this one was made from it.
    original: Option<Record>,
}

impl Record {
    fn new(text: Box<str>, nodes: Vec<ValueNode>, cut: bool, original: Option<Self>) -> Self {
        Self { scanned: Arc::new(ScannedText { text, nodes, cut, original }) }
    }

    /// Scans the value at the start of `text` and keeps a copy of its span.
    /// Returns it with the number of bytes read, including leading blanks.
    pub fn read(text: &str) -> Result<(Self, usize), Damage> {
        let mut scanned = scan::value_at_start(text)?;
        // The capacity was estimated from the whole text, which may continue after the value.
        scanned.nodes.shrink_to_fit();
        let end = scanned.end;
        Ok((Self::new(text[..end].into(), scanned.nodes, scanned.cut, None), end))
    }

    /// Scans a text that consists of one value and blanks, without copying it. Returns the text with the error if it doesn't.
    pub fn from_line(text: String) -> Result<Self, (Damage, String)> {
        match scan::whole_value(&text) {
            Ok(scan::Scanned { nodes, cut, .. }) => Ok(Self::new(text.into_boxed_str(), nodes, cut, None)),
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
        if !inside.trim_start().starts_with(['{', '[']) || scan::whole_value(&inside).is_err() {
            return None;
        }
        let ValueNode { start, end, .. } = *packed.at();
        let text = [&self.text()[..start as usize], &inside, &self.text()[end as usize..]].concat();
        let scan::Scanned { nodes, cut, .. } = scan::whole_value(&text).ok()?;
        Some(Self::new(text.into_boxed_str(), nodes, cut, Some(self.original().clone())))
    }

    /// This record with the value of another one appended, and the node of that value. The nodes of this record stay valid.
    pub(crate) fn followed_by(&self, other: &Self) -> (Self, u32) {
        let ScannedText { text, nodes, cut, .. } = &*self.scanned;
        let (length, number) = (text.len() as u32, nodes.len() as u32);
        let moved = other.scanned.nodes.iter().map(|node| ValueNode {
            start: node.start + length,
            end: node.end + length,
            next: node.next + number,
            ..*node
        });
        let text = [text, other.text()].concat().into_boxed_str();
        let nodes = nodes.iter().copied().chain(moved).collect();
        (Self::new(text, nodes, *cut || other.is_cut(), Some(self.original().clone())), number)
    }

    /// The record as it came: the one from which this was made by [`Self::unpacked`], or itself.
    pub fn original(&self) -> &Self {
        self.scanned.original.as_ref().unwrap_or(self)
    }

    /// Whether this is a clone of the other one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.scanned, &other.scanned)
    }

    /// The size of its text and of that of its original, in bytes.
    pub(crate) fn size(&self) -> usize {
        let original = self.scanned.original.as_ref();
        self.text().len() + original.map_or(0, |original| original.text().len())
    }

    /// The record's text.
    pub fn text(&self) -> &str {
        &self.scanned.text
    }

    /// Whether a container was cut at a limit ([`MAX_DEPTH`], [`MAX_ELEMENTS`]).
    pub fn is_cut(&self) -> bool {
        self.scanned.cut
    }

    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        Value { record: &self.scanned, node: 0 }
    }

    /// The value with this [`Value::node`].
    ///
    /// # Panics
    /// If `node` isn't a node of this record.
    pub fn value(&self, node: u32) -> Value<'_> {
        assert!((node as usize) < self.scanned.nodes.len(), "a node of another record");
        Value { record: &self.scanned, node }
    }

    /// The node of the value that begins at byte `start` of the text.
    fn node_at(&self, start: usize) -> Option<u32> {
        let node = self.scanned.nodes.binary_search_by_key(&start, |node| node.start as usize).ok()?;
        u32::try_from(node).ok()
    }
}

impl ScannedText {
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

/// A value inside a [`Record`]. It is cheap to copy, and decoded on request.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    record: &'a ScannedText,
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
        &self.record.nodes[self.node as usize]
    }

    /// The number of this value within its record, for [`Record::value`].
    #[inline]
    pub fn node(self) -> u32 {
        self.node
    }

    /// The value with this [`Value::node`], of the same record.
    ///
    /// # Panics
    /// When the value is used, if `node` isn't a node of this record.
    #[inline]
    #[must_use]
    pub fn same_record(self, node: u32) -> Self {
        Self { record: self.record, node }
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
        &self.record.text[node.start as usize..node.end as usize]
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
        (node.kind == ValueKind::String).then(|| self.record.string(node))
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
        let Entries { record, mut at, end } = self.entries();
        let nodes = &record.nodes[..end as usize];
        let mut found = [None; N];
        while let Some([name, value]) = nodes.get(at as usize..at as usize + 2) {
            let length = (name.end - name.start) as usize - 2;
            let is_it = |key: &str| {
                if name.escaped {
                    record.string(name).is(key)
                } else {
                    is_same(record.key(name), key.as_bytes())
                }
            };
            for (key, found) in keys.iter().zip(&mut found) {
                // Most keys differ in length, so their text needn't be compared.
                if (name.escaped || length == key.len()) && is_it(key) {
                    *found = Some(Value { record, node: at + 1 });
                }
            }
            at = value.next;
        }
        found
    }

    /// Passes the fields of an object to `each`, in the order of [`Self::entries`]. Their names are bytes, which compare faster.
    #[inline]
    pub fn fields(self, mut each: impl FnMut(&[u8], Self)) {
        let Entries { record, mut at, end } = self.entries();
        let nodes = &record.nodes[..end as usize];
        while let Some([name, value]) = nodes.get(at as usize..at as usize + 2) {
            // Called in one place only, so that `each` is inlined into this loop.
            let decoded;
            let text = if name.escaped {
                decoded = record.string(name).decode();
                decoded.as_bytes()
            } else {
                record.key(name)
            };
            each(text, Value { record, node: at + 1 });
            at = value.next;
        }
    }

    /// The keys and values of an object as written, including repeated keys; empty if it isn't an object.
    #[inline]
    pub fn entries(self) -> Entries<'a> {
        let node = self.at();
        let inside = if node.kind == ValueKind::Object { self.node + 1..node.next } else { 0..0 };
        Entries { record: self.record, at: inside.start, end: inside.end }
    }

    /// The elements of an array; empty if it isn't an array.
    #[inline]
    pub fn items(self) -> Items<'a> {
        let node = self.at();
        let inside = if node.kind == ValueKind::Array { self.node + 1..node.next } else { 0..0 };
        Items { record: self.record, at: inside.start, end: inside.end }
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
    record: &'a ScannedText,
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
        let key = self.record.string(&self.record.nodes[self.at as usize]);
        let value = Value { record: self.record, node: self.at + 1 };
        self.at = value.at().next;
        Some((key, value))
    }
}

/// An iterator over the elements of an array. See [`Value::items`].
pub struct Items<'a> {
    record: &'a ScannedText,
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
        let value = Value { record: self.record, node: self.at };
        self.at = value.at().next;
        Some(value)
    }
}

#[cfg(test)]
mod tests;
