//! The output for HTML. Text is written only by [`HtmlOut::text`], which escapes all markup.

use std::fmt;

use wide::u8x16;

use crate::byte_set::byte_set;
use crate::pieces::{OutputPieces, PIECE};
use streamfmt_core::find::length_before;

/// A buffered output for HTML.
pub(super) struct HtmlOut<'p>(OutputPieces<'p>);

/// Returns the output of `write`.
pub(super) fn written(write: impl FnOnce(&mut HtmlOut<'_>)) -> String {
    let (mut buffer, mut text) = (String::new(), String::new());
    let mut out = HtmlOut::new(&mut buffer, &mut text);
    write(&mut out);
    // A string takes everything.
    let _ = out.end();
    text
}

impl<'p> HtmlOut<'p> {
    pub(super) fn new(buffer: &'p mut String, out: &'p mut dyn fmt::Write) -> Self {
        Self(OutputPieces::new(buffer, out))
    }

    /// Forwards the rest of the output.
    pub(super) fn end(self) -> fmt::Result {
        self.0.end()
    }

    /// Writes our markup.
    pub(super) fn raw(&mut self, markup: &str) {
        self.0.text.push_str(markup);
        self.0.forward_if_full();
    }

    /// Writes clean text, in an element or between double quotes.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while rest.len() > PIECE {
            let end = (PIECE..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            escape(piece, self.0.text);
            self.0.forward();
            rest = behind;
        }
        escape(rest, self.0.text);
        self.0.forward_if_full();
    }

    /// Writes our markup, given in parts.
    #[inline]
    pub(super) fn raw_parts(&mut self, parts: &[&str]) {
        for part in parts {
            self.0.text.push_str(part);
        }
        self.0.forward_if_full();
    }

    /// Writes clean text between our markup.
    pub(super) fn within(&mut self, open: &str, text: &str, close: &str) {
        self.raw(open);
        self.text(text);
        self.raw(close);
    }

    /// Writes a number.
    pub(super) fn number(&mut self, number: impl fmt::Display) {
        use fmt::Write;
        let _ = write!(self.0.text, "{number}");
    }

    /// Writes our markup with formatted numbers and fixed names.
    pub(super) fn formatted(&mut self, markup: fmt::Arguments<'_>) -> fmt::Result {
        fmt::Write::write_fmt(self.0.text, markup)
    }
}

/// Writes `text` with all characters escaped that have a meaning in HTML.
fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let is_special = |byte| IS_SPECIAL[usize::from(byte)];
        let (plain, behind) = rest.split_at(length_before(rest.as_bytes(), is_special, special_ones));
        out.push_str(plain);
        let mut behind_it = behind.chars();
        match behind_it.next() {
            Some('&') => out.push_str("&amp;"),
            Some('<') => out.push_str("&lt;"),
            Some('>') => out.push_str("&gt;"),
            Some('"') => out.push_str("&quot;"),
            Some('\'') => out.push_str("&#39;"),
            Some(ch) => out.push(if is_noncharacter(ch) { '\u{fffd}' } else { ch }),
            None => return,
        }
        rest = behind_it.as_str();
    }
}

/// Whether a code point is a noncharacter, which no page may contain, not even as a reference.
fn is_noncharacter(ch: char) -> bool {
    matches!(ch, '\u{fdd0}'..='\u{fdef}') || ch as u32 & 0xfffe == 0xfffe
}

/// The lowest first byte of a noncharacter.
const NONCHARACTERS: u8 = 0xef;

/// Whether a character may need escaping, by its first byte.
static IS_SPECIAL: [bool; 256] = byte_set(b"&<>\"'", &[[NONCHARACTERS, u8::MAX]]);

/// Returns a mask of the bytes for which [`IS_SPECIAL`] is true.
fn special_ones(bytes: u8x16) -> u32 {
    let [bit, other_bit, apostrophe, greater, quote, last] =
        [1, 2, b'\'', b'>', b'"', NONCHARACTERS].map(u8x16::splat);
    // Two of the characters differ in one bit from another one.
    let is_special = (bytes | bit).simd_eq(apostrophe)
        | (bytes | other_bit).simd_eq(greater)
        | bytes.simd_eq(quote)
        | bytes.max(last).simd_eq(bytes);
    is_special.to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_character_is_spelled_by_itself(text in "[a-c&<>\"'é漢😀\u{fdd0}\u{ffff}\u{1fffe}=?#$%;]{0,60}") {
            let (mut written, mut expected) = (String::new(), String::new());
            escape(&text, &mut written);
            for ch in text.chars() {
                match ch {
                    '&' => expected.push_str("&amp;"),
                    '<' => expected.push_str("&lt;"),
                    '>' => expected.push_str("&gt;"),
                    '"' => expected.push_str("&quot;"),
                    '\'' => expected.push_str("&#39;"),
                    '\u{fdd0}' | '\u{ffff}' | '\u{1fffe}' => expected.push('\u{fffd}'),
                    _ => expected.push(ch),
                }
            }
            prop_assert_eq!(written, expected);
        }
    }
}
