//! One JSON record, scanned once: its text and a flat table of where each value lies.
//!
//! Nothing is decoded while scanning. Strings, numbers and whole subtrees stay spans of the
//! text until somebody asks, so a structured result that nobody shows costs one pass. The
//! scanner takes what real logs hold and a derived `Deserialize` would refuse: lone
//! surrogates, `1e400`, a repeated key, any depth. It never recurses.

use std::borrow::Cow;

/// Containers deeper than this are checked but not recorded.
pub const MAX_DEPTH: usize = 128;
/// Elements or keys of one container past this are checked but not recorded.
pub const MAX_ELEMENTS: u32 = 10_000;
/// Nodes of one record past this are checked but not recorded.
const MAX_NODES: usize = 1 << 21;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
struct Node {
    start: u32,
    end: u32,
    next: u32,
    kind: Kind,
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
    nodes: Vec<Node>,
    cut: bool,
}

impl Record {
    /// Scans the value at the start of `text` and keeps a copy of its span.
    /// Returns it with the number of bytes it took, leading blanks included.
    pub fn read(text: &str) -> Result<(Self, usize), Damage> {
        let mut scan = Scan::new(text.as_bytes());
        scan.run()?;
        let end = scan.pos;
        let mut nodes = scan.nodes;
        // They were guessed from all that follows.
        nodes.shrink_to_fit();
        Ok((Self { text: text[..end].into(), nodes, cut: scan.cut }, end))
    }

    /// Scans a text that is one value and blanks, without copying it. Gives it back if it isn't.
    pub fn from_line(text: String) -> Result<Self, (Damage, String)> {
        let mut scan = Scan::new(text.as_bytes());
        let whole = scan.run().and_then(|()| scan.expect_end());
        match whole {
            Ok(()) => {
                let (nodes, cut) = (scan.nodes, scan.cut);
                Ok(Self { text: text.into_boxed_str(), nodes, cut })
            }
            Err(damage) => Err((damage, text)),
        }
    }

    /// The record as it was written.
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
    fn at(self) -> &'a Node {
        &self.record.nodes[self.node as usize]
    }

    /// Names this value within its record, for [`Record::value`].
    pub fn node(self) -> u32 {
        self.node
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.at().kind
    }

    /// Its text as written; a string with its quotes.
    pub fn raw(self) -> &'a str {
        let node = self.at();
        &self.record.text[node.start as usize..node.end as usize]
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The string it is, if it is one.
    pub fn str(self) -> Option<Str<'a>> {
        let node = self.at();
        (node.kind == Kind::String).then(|| Str {
            raw: &self.record.text[node.start as usize + 1..node.end as usize - 1],
            escaped: node.escaped,
        })
    }

    /// The decoded string it is, if it is one.
    pub fn decode(self) -> Option<Cow<'a, str>> {
        self.str().map(Str::decode)
    }

    /// Its truth value, if it is one.
    pub fn bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// Its whole number, if it is one that fits.
    pub fn int(self) -> Option<i64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw().parse().ok().or_else(|| {
            let float = self.float()?;
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        })
    }

    /// Its number, if it is a finite one.
    pub fn float(self) -> Option<f64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw().parse().ok().filter(|float: &f64| float.is_finite())
    }

    /// The value of `key`, if it is an object that has it. Of two equal keys the last counts.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let mut found = None;
        for (name, value) in self.entries() {
            if name.is(key) {
                found = Some(value);
            }
        }
        found
    }

    /// Keys and values of an object in the order written, repeats included; else nothing.
    pub fn entries(self) -> Entries<'a> {
        let node = self.at();
        let inside = if node.kind == Kind::Object { self.node + 1..node.next } else { 0..0 };
        Entries { record: self.record, at: inside.start, end: inside.end }
    }

    /// Elements of an array; else nothing.
    pub fn items(self) -> Items<'a> {
        let node = self.at();
        let inside = if node.kind == Kind::Array { self.node + 1..node.next } else { 0..0 };
        Items { record: self.record, at: inside.start, end: inside.end }
    }
}

/// Keys and values of an object. See [`Value::entries`].
pub struct Entries<'a> {
    record: &'a Record,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Str<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at + 1 >= self.end {
            return None;
        }
        let key = Value { record: self.record, node: self.at }.str()?;
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

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let value = Value { record: self.record, node: self.at };
        self.at = value.at().next;
        Some(value)
    }
}

/// A string of a record between its quotes, not yet unescaped.
#[derive(Clone, Copy, Debug)]
pub struct Str<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Str<'a> {
    /// The empty string.
    pub(crate) const EMPTY: Str<'static> = Str { raw: "", escaped: false };

    /// The string between the quotes of valid JSON.
    pub(crate) fn of_raw(raw: &'a str) -> Self {
        Self { raw, escaped: raw.contains('\\') }
    }

    /// The text between the quotes as written.
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// Whether [`Str::raw`] holds an escape.
    pub fn is_escaped(self) -> bool {
        self.escaped
    }

    /// Whether it says `text` once decoded.
    pub fn is(self, text: &str) -> bool {
        if self.escaped { self.decode() == text } else { self.raw == text }
    }

    /// The string it stands for. A lone surrogate becomes U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        unescape(self.raw, |piece| out.push_str(piece));
        Cow::Owned(out)
    }
}

/// Decodes the escapes of `raw`, handing on plain stretches and decoded characters alike.
fn unescape(raw: &str, mut push: impl FnMut(&str)) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        push(&rest[..at]);
        let (ch, used) = escape_at(&rest[at..]);
        push(ch.encode_utf8(&mut [0; 4]));
        rest = &rest[at + used..];
    }
    push(rest);
}

/// The character that the escape at the start of `text` stands for, and its length.
fn escape_at(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    let ch = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return surrogates_at(bytes),
        Some(&other) if other.is_ascii() => char::from(other),
        _ => return ('\\', 1),
    };
    (ch, 2)
}

fn surrogates_at(bytes: &[u8]) -> (char, usize) {
    let Some(first) = hex_at(bytes, 2) else {
        return (char::REPLACEMENT_CHARACTER, bytes.len().min(2));
    };
    if let Some(ch) = char::from_u32(first) {
        return (ch, 6);
    }
    let is_high = first < 0xDC00;
    if is_high
        && bytes.get(6..8) == Some(b"\\u")
        && let Some(second @ 0xDC00..=0xDFFF) = hex_at(bytes, 8)
    {
        let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        if let Some(ch) = char::from_u32(code) {
            return (ch, 12);
        }
    }
    (char::REPLACEMENT_CHARACTER, 6)
}

fn hex_at(bytes: &[u8], at: usize) -> Option<u32> {
    let mut code = 0;
    for &digit in bytes.get(at..at + 4)? {
        code = code * 16 + char::from(digit).to_digit(16)?;
    }
    Some(code)
}

/// The scanner: one pass, no recursion.
///
/// While a container is open, its node keeps two things where its end will be known later: in `next` the
/// container around it, in `end` the number of its elements so far.
struct Scan<'a> {
    bytes: &'a [u8],
    pos: usize,
    nodes: Vec<Node>,
    /// The innermost open container that is recorded.
    open: u32,
    depth: usize,
    /// Open containers that are checked but not recorded: whether each is an object.
    unrecorded: Bits,
    /// The rest of the innermost recorded container is not recorded.
    muted: bool,
    cut: bool,
}

/// No container is open.
const NONE: u32 = u32::MAX;

/// A stack of bits.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    length: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        let (word, place) = (self.length / 64, self.length % 64);
        if word == self.words.len() {
            self.words.push(0);
        }
        self.words[word] = self.words[word] & !(1 << place) | u64::from(bit) << place;
        self.length += 1;
    }

    fn last(&self) -> Option<bool> {
        let top = self.length.checked_sub(1)?;
        Some(self.words[top / 64] >> (top % 64) & 1 == 1)
    }
}

#[expect(clippy::inline_always, reason = "the loop over a record is one function: a third faster")]
impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        // One node for some ten bytes is usual; long texts have fewer.
        let nodes = Vec::with_capacity((bytes.len() / 10).min(4096) + 4);
        Self {
            bytes,
            pos: 0,
            nodes,
            open: NONE,
            depth: 0,
            unrecorded: Bits::default(),
            muted: false,
            cut: false,
        }
    }

    fn damage(&self) -> Damage {
        Damage { at: self.pos, incomplete: self.pos >= self.bytes.len() }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    fn expect_end(&mut self) -> Result<(), Damage> {
        self.skip_blanks();
        if self.pos == self.bytes.len() { Ok(()) } else { Err(self.damage()) }
    }

    fn run(&mut self) -> Result<(), Damage> {
        loop {
            self.skip_blanks();
            self.count_element();
            let opened = self.value()?;
            if opened {
                continue;
            }
            loop {
                if self.depth == 0 {
                    return Ok(());
                }
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => {
                        self.pos += 1;
                        if self.in_object() {
                            self.skip_blanks();
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if self.in_object() => self.close(),
                    Some(b']') if !self.in_object() => self.close(),
                    _ => return Err(self.damage()),
                }
            }
        }
    }

    /// Reads a scalar, or opens a container and reads up to its first element (true).
    #[inline(always)]
    fn value(&mut self) -> Result<bool, Damage> {
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'"') => {
                let escaped = self.string()?;
                self.record(Kind::String, start, escaped);
                return Ok(false);
            }
            Some(b'{') => {
                self.open(Kind::Object);
                self.skip_blanks();
                if self.peek() == Some(b'}') {
                    self.close();
                    return Ok(false);
                }
                self.key()?;
                return Ok(true);
            }
            Some(b'[') => {
                self.open(Kind::Array);
                self.skip_blanks();
                if self.peek() == Some(b']') {
                    self.close();
                    return Ok(false);
                }
                return Ok(true);
            }
            Some(b't') => self.word(b"true", Kind::True)?,
            Some(b'f') => self.word(b"false", Kind::False)?,
            Some(b'n') => self.word(b"null", Kind::Null)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return Err(self.damage()),
        };
        self.record(kind, start, false);
        Ok(false)
    }

    /// Counts an element of the innermost container and mutes the rest at the limits.
    #[inline(always)]
    fn count_element(&mut self) {
        if self.muted || self.depth == 0 {
            return;
        }
        // The outermost array may be a whole session on one line: its events are not cut.
        let is_stream = self.depth == 1 && !self.in_object();
        let count = &mut self.nodes[self.open as usize].end;
        *count += 1;
        if *count > MAX_ELEMENTS && !is_stream || self.nodes.len() > MAX_NODES {
            self.mute();
        }
    }

    /// Leaves the rest of the innermost container unrecorded, beginning with the value at hand.
    fn mute(&mut self) {
        self.muted = true;
        self.cut = true;
        if self.in_object() {
            // Its key was recorded before the limit was seen.
            self.nodes.pop();
        }
    }

    #[inline(always)]
    fn record(&mut self, kind: Kind, start: usize, escaped: bool) {
        if !self.muted {
            let next = self.nodes.len() as u32 + 1;
            self.nodes.push(Node { start: start as u32, end: self.pos as u32, next, kind, escaped });
        }
    }

    fn open(&mut self, kind: Kind) {
        if !self.muted && self.depth >= MAX_DEPTH {
            self.mute();
        }
        if self.muted {
            self.unrecorded.push(kind == Kind::Object);
        } else {
            let around = std::mem::replace(&mut self.open, self.nodes.len() as u32);
            self.nodes.push(Node { start: self.pos as u32, end: 0, next: around, kind, escaped: false });
        }
        self.pos += 1;
        self.depth += 1;
    }

    #[inline(always)]
    fn close(&mut self) {
        self.pos += 1;
        self.depth -= 1;
        if self.unrecorded.length > 0 {
            self.unrecorded.length -= 1;
            return;
        }
        self.muted = false;
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[self.open as usize];
        node.end = self.pos as u32;
        self.open = std::mem::replace(&mut node.next, next);
    }

    #[inline(always)]
    fn in_object(&self) -> bool {
        self.unrecorded.last().unwrap_or_else(|| self.nodes[self.open as usize].kind == Kind::Object)
    }

    #[inline(always)]
    fn key(&mut self) -> Result<(), Damage> {
        if self.peek() != Some(b'"') {
            return Err(self.damage());
        }
        let start = self.pos;
        let escaped = self.string()?;
        self.record(Kind::String, start, escaped);
        self.skip_blanks();
        if self.peek() != Some(b':') {
            return Err(self.damage());
        }
        self.pos += 1;
        Ok(())
    }

    /// Passes a string; says whether it has escapes.
    #[inline(always)]
    fn string(&mut self) -> Result<bool, Damage> {
        let mut escaped = false;
        self.pos += 1;
        loop {
            self.pos += plain_length(&self.bytes[self.pos..]);
            match self.peek() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.damage()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Damage> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => {
                for at in self.pos + 2..self.pos + 6 {
                    if !self.bytes.get(at).is_some_and(u8::is_ascii_hexdigit) {
                        self.pos = at.min(self.bytes.len());
                        return Err(self.damage());
                    }
                }
                self.pos += 6;
            }
            _ => {
                self.pos = (self.pos + 1).min(self.bytes.len());
                return Err(self.damage());
            }
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<Kind, Damage> {
        for &byte in word {
            if self.peek() != Some(byte) {
                return Err(self.damage());
            }
            self.pos += 1;
        }
        Ok(kind)
    }

    fn number(&mut self) -> Result<Kind, Damage> {
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        if self.peek() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(Kind::Number)
    }

    fn digits(&mut self) -> Result<(), Damage> {
        let start = self.pos;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
        if self.pos == start { Err(self.damage()) } else { Ok(()) }
    }
}

/// How many bytes from the start need no attention: no quote, backslash or control character.
#[inline(always)]
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let special = word.wrapping_sub(ONES * 0x20) & !word
            | quote.wrapping_sub(ONES) & !quote
            | backslash.wrapping_sub(ONES) & !backslash;
        // A borrow may mark bytes after the first that fits, never one before it.
        let special = special & HIGHS;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte < 0x20 || byte == b'"' || byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        Record::from_line(text.to_owned()).unwrap_or_else(|(damage, _)| panic!("{text}: {damage:?}"))
    }

    #[test]
    fn values_are_found_by_key_and_the_last_of_two_counts() {
        let record = record(r#" {"a":1,"b":{"c":[true,null,"x\ny"]},"a":2} "#);
        let root = record.root();
        assert_eq!(root.get("a").and_then(Value::int), Some(2));
        let list: Vec<_> =
            root.get("b").and_then(|b| b.get("c")).into_iter().flat_map(Value::items).collect();
        assert_eq!(list.len(), 3);
        assert_eq!(list[2].decode().as_deref(), Some("x\ny"));
        assert_eq!(root.entries().count(), 3);
    }

    #[test]
    fn it_agrees_with_serde_json_on_what_is_json() {
        let texts = [
            "",
            " ",
            "1",
            "-",
            "-1",
            "01",
            "1.",
            "1.5e3",
            "1e",
            "1e400",
            ".5",
            "+1",
            "NaN",
            "true",
            "tru",
            "nulll",
            r#""a""#,
            r#""a"#,
            r#""\u12""#,
            r#""\x""#,
            r#""\ud800""#,
            "\"\t\"",
            "\"\u{7f}\"",
            "[",
            "[]",
            "[1,]",
            "[1 2]",
            "[,1]",
            "{",
            "{}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r"{a:1}",
            r#"{"a":1}}"#,
            "[1]]",
            "[}",
            "{]",
            r#"{"a":[{"b":{}}]}"#,
            "1 2",
        ];
        for text in texts {
            let ours = Record::from_line(text.to_owned()).is_ok();
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(ours, theirs, "{text}");
        }
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let record = record(r#""\ud83d\ude00 \ud800x \udc00""#);
        assert_eq!(record.root().decode().as_deref(), Some("\u{1F600} \u{FFFD}x \u{FFFD}"));
    }

    #[test]
    fn a_million_levels_and_elements_are_checked_without_recursion() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let deep = record(&deep);
        assert!(deep.is_cut() && deep.nodes.len() == MAX_DEPTH);
        let long = record(&format!(r#"{{"v":[{}1],"after":{{"x":7}}}}"#, "1,".repeat(1_000_000)));
        assert_eq!(long.root().get("v").map(|v| v.items().count()), Some(MAX_ELEMENTS as usize));
        assert_eq!(long.root().get("after").and_then(|v| v.get("x")).and_then(Value::int), Some(7));
        let pairs: Vec<String> = (0..20_000).map(|n| format!(r#""k{n}":{{}}"#)).collect();
        let keys = record(&format!(r#"{{"o":{{{}}},"after":7}}"#, pairs.join(",")));
        assert_eq!(keys.root().get("o").map(|v| v.entries().count()), Some(MAX_ELEMENTS as usize));
        assert_eq!(keys.root().get("after").and_then(Value::int), Some(7));
    }

    #[test]
    fn damage_says_where_and_whether_more_could_help() {
        assert_eq!(Record::read(r#"{"a":1 x"#).map(|_| ()), Err(Damage { at: 7, incomplete: false }));
        assert_eq!(Record::read(r#"{"a":"b"#).map(|_| ()), Err(Damage { at: 7, incomplete: true }));
        assert_eq!(Record::read(r#"{"a":1}{"b"#).map(|(record, end)| (record.text().len(), end)), Ok((7, 7)));
    }
}
