//! One JSON record, scanned once: its text and a flat table of where each value lies.
//!
//! Nothing is decoded while scanning. Strings, numbers and whole subtrees stay spans of the
//! text until somebody asks, so a structured result that nobody shows costs one pass. The
//! scanner takes what real logs hold and a derived `Deserialize` would refuse: lone
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

/// Containers deeper than this are checked but not recorded.
pub const MAX_DEPTH: usize = 128;
/// Elements or keys of one container past this are checked but not recorded.
pub const MAX_ELEMENTS: u32 = 10_000;
/// What a value is.
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

/// Where a value lies in the text. A container's children follow it; `next` leads past them.
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
    /// Byte offset of the first byte that does not fit.
    pub at: usize,
    /// The text ended before the value did.
    pub incomplete: bool,
}

/// A JSON value with its own text.
#[derive(Clone, Debug)]
pub struct Record {
    text: Box<str>,
    nodes: Vec<ValueNode>,
    cut: bool,
    /// As it came, if this was made of it by [`Self::unpacked`].
    original: Option<Arc<Record>>,
}

impl Record {
    /// Scans the value at the start of `text` and keeps a copy of its span.
    /// Returns it with the number of bytes it took, leading blanks included.
    pub fn read(text: &str) -> Result<(Self, usize), Damage> {
        let mut scanned = scan::value_at_start(text)?;
        // They were guessed from all that follows.
        scanned.nodes.shrink_to_fit();
        let end = scanned.end;
        Ok((Self { text: text[..end].into(), nodes: scanned.nodes, cut: scanned.cut, original: None }, end))
    }

    /// Scans a text that is one value and blanks, without copying it. Gives it back if it isn't.
    pub fn from_line(text: String) -> Result<Self, (Damage, String)> {
        match scan::whole_value(&text) {
            Ok(scan::Scanned { nodes, cut, .. }) => {
                Ok(Self { text: text.into_boxed_str(), nodes, cut, original: None })
            }
            Err(damage) => Err((damage, text)),
        }
    }

    /// The same record, where the JSON text in the string at `node` stands as the value that it is. Some streams write the
    /// input of a call so. `None`: the string holds no object or array, or it is none.
    ///
    /// All else is as it was, but values have other nodes: look them up again. It costs as much as reading the record does.
    ///
    /// # Panics
    /// If `node` is not of this record.
    pub fn unpacked(self: &Arc<Self>, node: u32) -> Option<Arc<Self>> {
        let packed = self.value(node);
        let inside = packed.decode()?;
        // By itself: what isn't a value might become one between what stands around it.
        if !inside.trim_start().starts_with(['{', '[']) || scan::whole_value(&inside).is_err() {
            return None;
        }
        let ValueNode { start, end, .. } = *packed.at();
        let text = [&self.text[..start as usize], &inside, &self.text[end as usize..]].concat();
        let unpacked = Self::from_line(text).ok()?;
        let original = self.original.as_ref().unwrap_or(self);
        Some(Arc::new(Self { original: Some(Arc::clone(original)), ..unpacked }))
    }

    /// This record with another value behind its own, and the node of that: a value of this one has the same node there.
    pub(crate) fn followed_by(self: &Arc<Self>, other: &Self) -> (Self, u32) {
        let (length, number) = (self.text.len() as u32, self.nodes.len() as u32);
        let moved = other.nodes.iter().map(|node| ValueNode {
            start: node.start + length,
            end: node.end + length,
            next: node.next + number,
            ..*node
        });
        let both = Self {
            text: [self.text(), other.text()].concat().into_boxed_str(),
            nodes: self.nodes.iter().copied().chain(moved).collect(),
            cut: self.cut || other.cut,
            original: Some(self.original.clone().unwrap_or_else(|| Arc::clone(self))),
        };
        (both, number)
    }

    /// The record as it came: what this was made of by [`Self::unpacked`], or itself.
    pub fn original(&self) -> &Self {
        self.original.as_deref().unwrap_or(self)
    }

    /// The bytes of its text, and of the one as it came.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + self.original.as_ref().map_or(0, |original| original.text.len())
    }

    /// The record's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a container was cut at a limit ([`MAX_DEPTH`], [`MAX_ELEMENTS`]).
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        Value { record: self, node: 0 }
    }

    /// The value that [`Value::node`] named.
    ///
    /// # Panics
    /// If `node` is not of this record.
    pub fn value(&self, node: u32) -> Value<'_> {
        assert!((node as usize) < self.nodes.len(), "a node of another record");
        Value { record: self, node }
    }

    /// The value that begins at this byte of the text.
    fn node_at(&self, start: usize) -> Option<u32> {
        let node = self.nodes.binary_search_by_key(&start, |node| node.start as usize).ok()?;
        u32::try_from(node).ok()
    }

    /// What stands between the quotes of a key without escapes: bytes compare faster than text.
    #[inline]
    fn key(&self, node: &ValueNode) -> &[u8] {
        &self.text.as_bytes()[node.start as usize + 1..node.end as usize - 1]
    }

    /// What stands between the quotes of the string at `node`.
    #[inline]
    fn string(&self, node: &ValueNode) -> Str<'_> {
        Str::between_quotes(&self.text[node.start as usize + 1..node.end as usize - 1], node.escaped)
    }
}

/// A value inside a [`Record`]. Copy it freely; nothing is decoded before it is asked for.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    record: &'a Record,
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

    /// Names this value within its record, for [`Record::value`].
    #[inline]
    pub fn node(self) -> u32 {
        self.node
    }

    /// The value that [`Value::node`] named, of the same record.
    ///
    /// # Panics
    /// When it is looked at, if `node` is not of this record.
    #[inline]
    #[must_use]
    pub fn same_record(self, node: u32) -> Self {
        Self { record: self.record, node }
    }

    /// What it is.
    #[inline]
    pub fn kind(self) -> ValueKind {
        self.at().kind
    }

    /// Its text as written; a string with its quotes.
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

    /// The string it is, if it is one.
    #[inline]
    pub fn str(self) -> Option<Str<'a>> {
        let node = self.at();
        (node.kind == ValueKind::String).then(|| self.record.string(node))
    }

    /// The decoded string it is, if it is one.
    #[inline]
    pub fn decode(self) -> Option<Cow<'a, str>> {
        self.str().map(Str::decode)
    }

    /// Its truth value, if it is one.
    pub fn bool(self) -> Option<bool> {
        match self.kind() {
            ValueKind::True => Some(true),
            ValueKind::False => Some(false),
            _ => None,
        }
    }

    /// Its whole number, if it is one that fits.
    pub fn int(self) -> Option<i64> {
        if self.kind() != ValueKind::Number {
            return None;
        }
        whole(self.raw()).or_else(|| {
            let float = self.float()?;
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        })
    }

    /// Its number, if it is a finite one.
    pub fn float(self) -> Option<f64> {
        if self.kind() != ValueKind::Number {
            return None;
        }
        self.raw().parse().ok().filter(|float: &f64| float.is_finite())
    }

    /// The value of `key`, if it is an object that has it. Of two equal keys the last counts.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let [value] = self.get_all([key]);
        value
    }

    /// The values of several keys, found in one pass; as [`Self::get`] for each. No two of the keys are equal.
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
                // Most keys differ in length: no need to look at the text.
                if (name.escaped || length == key.len()) && is_it(key) {
                    *found = Some(Value { record, node: at + 1 });
                }
            }
            at = value.next;
        }
        found
    }

    /// Gives `each` the fields of an object, as [`Self::entries`] has them. Their names are bytes, which compare faster.
    #[inline]
    pub fn fields(self, mut each: impl FnMut(&[u8], Self)) {
        let Entries { record, mut at, end } = self.entries();
        let nodes = &record.nodes[..end as usize];
        while let Some([name, value]) = nodes.get(at as usize..at as usize + 2) {
            // In one place, so that `each` becomes a part of this loop.
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

    /// Keys and values of an object in the order written, repeats included; else nothing.
    #[inline]
    pub fn entries(self) -> Entries<'a> {
        let node = self.at();
        let inside = if node.kind == ValueKind::Object { self.node + 1..node.next } else { 0..0 };
        Entries { record: self.record, at: inside.start, end: inside.end }
    }

    /// Elements of an array; else nothing.
    #[inline]
    pub fn items(self) -> Items<'a> {
        let node = self.at();
        let inside = if node.kind == ValueKind::Array { self.node + 1..node.next } else { 0..0 };
        Items { record: self.record, at: inside.start, end: inside.end }
    }
}

/// The whole number that is written so, if it fits. Most are short and have no sign.
#[inline]
fn whole(text: &str) -> Option<i64> {
    if text.len() > 18 {
        return text.parse().ok();
    }
    let with = |sum: i64, digit: &u8| Some(sum * 10 + i64::from(char::from(*digit).to_digit(10)?));
    text.as_bytes().iter().try_fold(0, with).or_else(|| text.parse().ok())
}

/// Keys and values of an object. See [`Value::entries`].
pub struct Entries<'a> {
    record: &'a Record,
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

/// Elements of an array. See [`Value::items`].
pub struct Items<'a> {
    record: &'a Record,
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
