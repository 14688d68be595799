//! Strings of a record, decoded on request.

use std::borrow::Cow;
use std::fmt;
use std::iter;

use memchr::memchr2;

use crate::find::find;

/// A string of a record, without its quotes and still escaped.
#[derive(Clone, Copy, Debug)]
pub struct Str<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Str<'a> {
    /// The string between two quotes of valid JSON. `escaped`: whether it contains an escape.
    #[inline]
    pub(super) fn between_quotes(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The string between the quotes of valid JSON.
    pub(crate) fn of_raw(raw: &'a str) -> Self {
        Self { raw, escaped: raw.contains('\\') }
    }

    /// The text between the quotes as written.
    #[inline]
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// Whether it equals `text` once decoded.
    #[inline]
    pub fn is(self, text: &str) -> bool {
        if self.escaped { self.decode() == text } else { is_same(self.raw.as_bytes(), text.as_bytes()) }
    }

    /// Whether it may contain `ch`: a quick check without decoding its escapes.
    pub(crate) fn may_hold(self, ch: char) -> bool {
        let has_short_escape = ch.is_ascii_control() || matches!(ch, '"' | '\\' | '/');
        self.raw.contains(ch) || self.escaped && (has_short_escape || self.raw.contains("\\u"))
    }

    /// Whether it consists of blanks only.
    pub fn is_blank(self) -> bool {
        self.write_to(&mut OnlyBlanks).is_ok()
    }

    /// Whether it begins with `text` once decoded. No more is decoded than necessary.
    pub fn begins_with(self, text: &str) -> bool {
        let mut awaited = Awaited(text.as_bytes());
        // It fails at whatever follows the beginning.
        let _ = self.write_to(&mut awaited);
        awaited.0.is_empty()
    }

    /// Writes the decoded string in pieces.
    pub fn write_to(self, out: &mut impl fmt::Write) -> fmt::Result {
        if self.escaped { unescape(self.raw, out) } else { out.write_str(self.raw) }
    }

    /// Decodes it. A lone surrogate becomes U+FFFD.
    #[inline]
    pub fn decode(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(unescaped(self.raw)) } else { Cow::Borrowed(self.raw) }
    }
}

/// The end of the string of valid JSON that `at` is inside of: the offset of its closing quote, or the end of the bytes.
pub(crate) fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(offset) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += offset;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// The length of the string at the start of valid JSON, including its quotes.
pub(crate) fn string_length(bytes: &[u8]) -> usize {
    (string_end(bytes, 1) + 1).min(bytes.len())
}

/// Whether two texts are equal. Optimised for short names, which are compared by overlapping chunks at their start and end.
#[inline]
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match one.len() {
        8..=16 => ends::<8>(one) == ends::<8>(other),
        17..=32 => ends::<16>(one) == ends::<16>(other),
        4..8 => ends::<4>(one) == ends::<4>(other),
        2..4 => ends::<2>(one) == ends::<2>(other),
        _ => is_same_long(one, other),
    }
}

/// A separate function, so that the inlined comparison of short texts makes no call.
#[cold]
fn is_same_long(one: &[u8], other: &[u8]) -> bool {
    one == other
}

/// The first and the last `N` bytes.
#[inline]
fn ends<const N: usize>(bytes: &[u8]) -> Option<([u8; N], [u8; N])> {
    Some((*bytes.first_chunk()?, *bytes.last_chunk()?))
}

/// A sink that accepts only this beginning of a text, and no more.
struct Awaited<'a>(&'a [u8]);

impl fmt::Write for Awaited<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = self.0.len().min(text.len());
        let (now, later) = self.0.split_at(length);
        if self.0.is_empty() || now != &text.as_bytes()[..length] {
            return Err(fmt::Error);
        }
        self.0 = later;
        Ok(())
    }
}

/// A sink that accepts only blanks.
struct OnlyBlanks;

impl fmt::Write for OnlyBlanks {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.trim_start().is_empty() { Ok(()) } else { Err(fmt::Error) }
    }
}

fn unescaped(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    // Writing to a string can't fail.
    let _ = unescape(raw, &mut out);
    out
}

/// Writes `raw`, decoded.
fn unescape(raw: &str, out: &mut impl fmt::Write) -> fmt::Result {
    let mut rest = raw;
    while let Some(at) = find(b'\\', rest.as_bytes()) {
        let (plain, escape) = rest.split_at(at);
        out.write_str(plain)?;
        let (ch, used) = escape_at(escape);
        out.write_char(ch)?;
        rest = &escape[used..];
    }
    out.write_str(rest)
}

/// Decodes the escape at the start of `text`: the character, and the length of the escape.
fn escape_at(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    let ch = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return coded_at(bytes),
        Some(&other) if other.is_ascii() => char::from(other),
        _ => return ('\\', 1),
    };
    (ch, 2)
}

/// Decodes the escape `\uXXXX` or the surrogate pair at the start of `bytes`, like [`escape_at`]. A lone surrogate becomes U+FFFD.
fn coded_at(bytes: &[u8]) -> (char, usize) {
    let Some(first) = hex_at(bytes, 2) else {
        return (char::REPLACEMENT_CHARACTER, bytes.len().min(2));
    };
    if let Some(ch) = char::from_u32(first.into()) {
        return (ch, 6);
    }
    let second = if bytes.get(6..8) == Some(b"\\u") { hex_at(bytes, 8) } else { None };
    match char::decode_utf16(iter::once(first).chain(second)).next() {
        Some(Ok(ch)) => (ch, 12),
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex_at(bytes: &[u8], at: usize) -> Option<u16> {
    let mut code = 0;
    for &digit in bytes.get(at..at + 4)? {
        code = code << 4 | char::from(digit).to_digit(16)? as u16;
    }
    Some(code)
}
