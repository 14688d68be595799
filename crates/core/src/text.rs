//! Cleaned text, the only form in which foreign text enters an entry.
//!
//! A [`Text`] contains no character that could control a terminal, a page or a log parser. Such
//! a character stays visible, replaced by a symbol, so nothing is lost or hidden:
//! `␛` for ESC, `<U+202E>` for a right-to-left override. Only well-formed colour sequences and
//! the carriage returns of line ends are removed, since they carry no text. Cleaning is idempotent.

use std::borrow::Cow;
use std::fmt;

use unicode_width::UnicodeWidthChar;

use serde::{Deserialize, Deserializer, Serialize};
use wide::u8x16;

use crate::find::length_before;
use crate::json::Str;

/// Text that is safe to write: cleaned once, on the way in.
#[derive(PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Text(Cow<'static, str>);

impl Clone for Text {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Reuses the allocation.
    fn clone_from(&mut self, source: &Self) {
        self.0.clone_from(&source.0);
    }
}

impl Text {
    /// An empty text.
    pub const EMPTY: Self = Self(Cow::Borrowed(""));

    /// Text of this program. Debug builds check that it is clean.
    pub fn own(text: &'static str) -> Self {
        debug_assert!(dirty_at(text).is_none(), "{text:?} is not clean");
        Self(Cow::Borrowed(text))
    }

    /// Cleans foreign text.
    pub fn clean(text: &str) -> Self {
        Self(Cow::Owned(clean(text).into_owned()))
    }

    /// Cleans foreign text, without a copy if it is clean already.
    pub fn clean_owned(text: String) -> Self {
        match dirty_at(&text) {
            None => Self(Cow::Owned(text)),
            Some(_) => Self::clean(&text),
        }
    }

    /// Decodes and cleans a string of a record.
    pub fn from_json(string: Str<'_>) -> Self {
        match string.decode() {
            Cow::Borrowed(plain) => Self::clean(plain),
            Cow::Owned(decoded) => Self::clean_owned(decoded),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The part from byte `start` to byte `end`. A joiner at its start, which is separated from the character
    /// that it joined, is replaced.
    ///
    /// # Panics
    /// If a bound isn't on a character boundary.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let part = &self.0[start..end];
        if part.chars().next().is_some_and(is_joiner) {
            Self::clean(part)
        } else {
            Self(Cow::Owned(part.to_owned()))
        }
    }

    /// The part from byte `start` on, in place; see [`Text::slice`].
    ///
    /// # Panics
    /// If `start` isn't on a character boundary.
    #[must_use]
    pub fn without_start(self, start: usize) -> Self {
        match self.0 {
            Cow::Owned(mut text) if !text[start..].starts_with(is_joiner) => {
                text.drain(..start);
                Self(Cow::Owned(text))
            }
            _ => self.slice(start, self.len()),
        }
    }

    /// Truncates the text to `end` bytes, in place. It stays clean if `end` is at the end of a grapheme.
    ///
    /// # Panics
    /// If `end` isn't on a character boundary.
    pub fn truncate(&mut self, end: usize) {
        match &mut self.0 {
            Cow::Borrowed(text) => *text = &text[..end.min(text.len())],
            Cow::Owned(text) => text.truncate(end),
        }
    }

    /// Removes line feeds and blanks at the end, in place.
    #[must_use]
    pub fn trimmed_end(mut self) -> Self {
        let end = self.trim_end().len();
        self.truncate(end);
        self
    }

    #[inline]
    pub(crate) fn into_cow(self) -> Cow<'static, str> {
        self.0
    }

    /// The text as a string, for building a longer one. Clean that again if joiners could meet in it.
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::clean(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::clean_owned(text)
    }
}

impl Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::clean_owned)
    }
}

/// Cleans foreign text, as described in the module's documentation.
pub fn clean(text: &str) -> Cow<'_, str> {
    let Some(first) = dirty_at(text) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + growth(text));
    let mut rest = text;
    let mut stop = first;
    loop {
        out.push_str(&rest[..stop]);
        rest = &rest[stop..];
        let used = replace_at(rest, &mut out);
        rest = &rest[used..];
        if let Some(at) = next_dirty(rest, last_joined(&out)) {
            stop = at;
        } else {
            out.push_str(rest);
            return Cow::Owned(out);
        }
    }
}

/// Appends foreign text, cleaned by itself.
pub(crate) fn clean_into(text: &str, out: &mut String) {
    match dirty_at(text) {
        None => out.push_str(text),
        Some(_) => out.push_str(&clean(text)),
    }
}

/// For texts of at least this many bytes the length of the cleaned text is computed first: reallocation would take twice the memory.
const LONG: usize = 1 << 20;

/// By how many bytes a text may grow when it is cleaned.
fn growth(text: &str) -> usize {
    if text.len() < LONG {
        return text.len() / 8 + 16;
    }
    // `<U+10FFFF>` is the longest replacement, and the symbol for a control character has three bytes.
    let more = |ch: char| match ch {
        '\n' | '\t' => 0,
        '\0'..='\u{1f}' | '\u{7f}' => 2,
        _ if is_dangerous(ch) || is_joiner(ch) => 10 - ch.len_utf8(),
        _ => 0,
    };
    text.chars().map(more).sum()
}

/// Writes the replacement for the dirty start of `text`. Returns how many bytes of `text` it replaces.
fn replace_at(text: &str, out: &mut String) -> usize {
    if text.starts_with("\r\n") {
        return 1;
    }
    if let Some(length) = colour_length(text.as_bytes()) {
        return length;
    }
    let Some(ch) = text.chars().next() else { return 0 };
    show(ch, out);
    ch.len_utf8()
}

/// Writes the visible replacement for a dangerous character.
pub(crate) fn show(ch: char, out: &mut String) {
    match ch {
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + ch as u32).unwrap_or(' ')),
        '\u{7f}' => out.push('\u{2421}'),
        _ => {
            use fmt::Write;
            let _ = write!(out, "<U+{:04X}>", ch as u32);
        }
    }
}

/// The length of the well-formed colour sequence (`ESC [ numbers m`) at the start of `bytes`.
fn colour_length(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\x1b[")?;
    let length = rest.iter().take(64).position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    (rest[length] == b'm').then_some(length + 3)
}

/// The end of a text, as it affects a joiner that follows it.
#[derive(Clone, Copy, PartialEq)]
enum Joined {
    /// An ordinary character.
    No,
    /// A variation selector after an ordinary character: one joiner may follow.
    Selector,
    /// A joiner, or an empty text: no joiner may follow.
    Yes,
}

fn last_joined(text: &str) -> Joined {
    let mut back = text.chars().rev();
    match back.next() {
        Some('\u{fe0f}') if back.next().is_some_and(|before| !is_joiner(before)) => Joined::Selector,
        Some(ch) if !is_joiner(ch) => Joined::No,
        _ => Joined::Yes,
    }
}

/// Joiners and variation selectors: legitimate one at a time between characters.
pub(crate) fn is_joiner(ch: char) -> bool {
    matches!(ch, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// The offset of the first character that must be replaced or removed.
fn dirty_at(text: &str) -> Option<usize> {
    next_dirty(text, Joined::Yes)
}

fn next_dirty(text: &str, before: Joined) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    // `before` applies only at the start of the text; further on, the text itself contains what is before a joiner.
    loop {
        at += plain_length(&bytes[at..]);
        let &lead = bytes.get(at)?;
        match lead {
            b'\t' | b'\n' => at += 1,
            0..=0x1f | 0x7f => return Some(at),
            // No dangerous character begins with these bytes: most of Latin, Greek, Cyrillic, CJK.
            0xc3..=0xcc | 0xce..=0xd7 | 0xd9..=0xe0 | 0xe4..=0xee | 0xf1..=0xf2 | 0xf4 => {
                at += lead_length(lead);
            }
            _ => {
                let ch = text[at..].chars().next()?;
                let joined = || if at == 0 { before } else { last_joined(&text[..at]) };
                let is_dirty = match ch {
                    GRAPHEME_JOINER => !orders_marks(text, at),
                    _ if is_joiner(ch) => !may_join(ch, joined()),
                    _ => is_dangerous(ch),
                };
                if is_dirty {
                    return Some(at);
                }
                let flag = if ch == BLACK_FLAG { flag_length(&text[at..]) } else { None };
                at += flag.unwrap_or(ch.len_utf8());
            }
        }
    }
}

/// The combining grapheme joiner, which keeps combining marks in the order written: legitimate between two of them, invisible elsewhere.
const GRAPHEME_JOINER: char = '\u{34f}';

/// Whether the grapheme joiner at `at` is between two combining marks.
fn orders_marks(text: &str, at: usize) -> bool {
    let is_mark = |ch: char| ch.width() == Some(0) && !is_joiner(ch) && !is_dangerous(ch);
    let before = text[..at].chars().next_back();
    let after = text[at..].chars().nth(1);
    before.is_some_and(is_mark) && after.is_some_and(is_mark)
}

fn lead_length(lead: u8) -> usize {
    match lead {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    }
}

/// Whether a joiner may follow the text before it.
fn may_join(joiner: char, before: Joined) -> bool {
    before == Joined::No || before == Joined::Selector && joiner == '\u{200d}'
}

/// The flag after which tag characters may name a region.
const BLACK_FLAG: char = '\u{1f3f4}';

/// The length of a flag written with tags: a black flag, one to eight tags, the closing tag.
fn flag_length(text: &str) -> Option<usize> {
    let mut length = 0;
    for (index, ch) in text.chars().enumerate().take(10) {
        length += ch.len_utf8();
        match ch {
            BLACK_FLAG if index == 0 => {}
            '\u{e0020}'..='\u{e007e}' if index > 0 && index < 9 => {}
            '\u{e007f}' if index > 1 => return Some(length),
            _ => return None,
        }
    }
    None
}

/// Whether a character must never be written: a control or bidi control character, a separator, or one that
/// Unicode calls default-ignorable (it would hide text, or hide in text).
/// LF, TAB and the joiners have separate rules.
pub fn is_dangerous(ch: char) -> bool {
    matches!(ch,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// How many bytes from the start are printable ASCII, line feeds or tabs.
fn plain_length(bytes: &[u8]) -> usize {
    length_before(bytes, is_odd, odd_ones)
}

fn is_odd(byte: u8) -> bool {
    !matches!(byte, b'\n' | b'\t' | 0x20..=0x7e)
}

/// A bit mask of the bytes that are [odd](is_odd).
fn odd_ones(bytes: u8x16) -> u32 {
    let [line_feed, tab, last_control, delete] = [b'\n', b'\t', 0x1f, 0x7f].map(u8x16::splat);
    let is_odd = bytes.min(last_control).simd_eq(bytes) | bytes.max(delete).simd_eq(bytes);
    let is_blank = bytes.simd_eq(line_feed) | bytes.simd_eq(tab);
    is_odd.to_bitmask() & !is_blank.to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex_syntax::hir::{Class, ClassUnicode, HirKind};
    use std::sync::LazyLock;

    #[test]
    fn controls_become_visible_and_nothing_after_them_is_lost() {
        for (dirty, clean) in [
            ("a\u{1b}[2Jb", "a␛[2Jb"),
            ("a\u{1b}[31mred\u{1b}[0m", "ared"),
            ("a\u{1b}[31", "a␛[31"),
            ("a\r\nb\rc\td", "a\nb␍c\td"),
            ("\u{9b}31m", "<U+009B>31m"),
            ("x\u{202e}y\u{2028}z\u{7f}", "x<U+202E>y<U+2028>z␡"),
            ("\u{feff}a\u{200b}b\u{ad}", "<U+FEFF>a<U+200B>b<U+00AD>"),
            ("\0", "␀"),
        ] {
            assert_eq!(Text::clean(dirty).as_str(), clean);
        }
    }

    /// A text that had to grow would be in memory twice.
    #[test]
    fn a_long_text_gets_the_room_that_it_needs_at_once_and_little_more() {
        for part in ["\0", "\u{202e}", "\u{e0001}", "a\u{1b}é\n"] {
            let text = part.repeat(LONG / part.len() + 1);
            let (room, needed) = (text.len() + growth(&text), clean(&text).len());
            assert!((needed..=needed + needed / 3).contains(&room), "{part:?}: {room}, {needed} needed");
        }
        // The growth of a short text is estimated.
        assert!(growth(&"\0".repeat(1_000)) < 1_000);
    }

    #[test]
    fn joiners_stay_where_scripts_and_emoji_need_them() {
        for text in [
            "👨\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "می\u{200c}خواهم",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "日本語 ünïcödé",
        ] {
            assert_eq!(Text::clean(text).as_str(), text);
        }
        assert_eq!(Text::clean("a\u{200d}\u{200d}b").as_str(), "a\u{200d}<U+200D>b");
        assert_eq!(Text::clean("\u{200d}b").as_str(), "<U+200D>b");
        assert_eq!(
            Text::clean("a\u{301}\u{34f}\u{302} \u{34f}a").as_str(),
            "a\u{301}\u{34f}\u{302} <U+034F>a"
        );
        assert_eq!(Text::clean("🏴\u{e0067}x").as_str(), "🏴<U+E0067>x");
        assert_eq!(Text::clean("a\u{fe0f}\u{200d}\u{fe0f}").as_str(), "a\u{fe0f}\u{200d}<U+FE0F>");
    }

    /// The characters that control or hide text, by their properties in Unicode 16.0 (the tables of `regex-syntax`), without format
    /// characters (`Cf`) that are drawn: signs over the numbers and letters after them, and the joiners of hieroglyphs in quadrats
    /// (U+13430–1343F).
    static HARMFUL: LazyLock<ClassUnicode> = LazyLock::new(|| {
        let properties = r"\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}";
        let drawn = r"\p{Prepended_Concatenation_Mark}\x{13430}-\x{1343F}";
        match regex_syntax::parse(&format!("[[{properties}]--[{drawn}]]")).unwrap().into_kind() {
            HirKind::Class(Class::Unicode(ranges)) => ranges,
            other => panic!("{other:?}"),
        }
    });

    /// Harmful characters that stay where a text needs them.
    const NEEDED: &str = "\n\t\u{200c}\u{200d}\u{34f}\u{fe00}\u{fe01}\u{fe02}\u{fe03}\u{fe04}\u{fe05}\u{fe06}\u{fe07}\
                          \u{fe08}\u{fe09}\u{fe0a}\u{fe0b}\u{fe0c}\u{fe0d}\u{fe0e}\u{fe0f}";

    fn is_harmful(ch: char) -> bool {
        HARMFUL.iter().any(|range| (range.start()..=range.end()).contains(&ch))
    }

    /// Whether a character is harmful everywhere; tags are needed in flags.
    fn is_never_needed(ch: char) -> bool {
        is_harmful(ch) && !NEEDED.contains(ch) && !('\u{e0020}'..='\u{e007f}').contains(&ch)
    }

    #[test]
    fn of_all_characters_the_harmful_ones_are_named_and_all_others_stay() {
        // Each character follows a blank. There a single joiner or selector stays, but not the grapheme joiner, which isn't between marks.
        let stays = |ch: char| !is_harmful(ch) || NEEDED.contains(ch) && ch != '\u{34f}';
        let named = |ch: char| match u32::from(ch) {
            code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap().to_string(),
            0x7f => "␡".to_owned(),
            code => format!("<U+{code:04X}>"),
        };
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for block in all.chunks(0x100) {
            let (mut dirty, mut expected) = (String::new(), String::new());
            for ch in block {
                dirty.extend([' ', *ch, ' ']);
                assert_eq!(is_dangerous(*ch), !stays(*ch), "{ch:?}");
                expected.push(' ');
                if stays(*ch) {
                    expected.push(*ch);
                } else {
                    expected.push_str(&named(*ch));
                }
                expected.push(' ');
            }
            assert_eq!(clean(&dirty), expected);
        }
    }

    proptest! {
        #[test]
        fn cleaning_is_final(text in any::<String>()) {
            let once = clean(&text).into_owned();
            prop_assert!(!once.chars().any(is_never_needed), "{once:?}");
            let twice = clean(&once).into_owned();
            prop_assert_eq!(&once, &twice);
        }

        #[test]
        fn dangerous_mixtures_are_final_too(text in "[a\r\n\u{1b}\\[0-9;m\u{200c}\u{200d}\u{fe0f}\u{202e}\u{1f3f4}\u{e0067}\u{e007f}\u{9b}❤]{0,40}") {
            let once = clean(&text).into_owned();
            prop_assert_eq!(clean(&once).into_owned(), once);
        }
    }
}
