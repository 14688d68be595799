//! A text as its reader sees it, with the way back to its source.
//!
//! ```text
//! source ─▶ JSON escapes decoded ─▶ without colours, other terminal sequences, escapes, entities, emphasis ─▶ searched
//! ```
//!
//! Both steps are searched: what is removed in the second one may be a part of a secret. Where a step changes nothing, it borrows.

use std::borrow::Cow;
use std::ops::Range;

use wide::u8x16;

use crate::find::length_before;
use crate::json::string_end;

/// The most bytes of the parameters of a terminal sequence.
const PARAMETERS: usize = 64;
/// The most bytes of a terminal sequence that contains text, such as an address.
const COMMAND: usize = 2_048;
/// The most bytes of an entity.
const ENTITY: usize = 10;
/// The beginnings of terminal sequences: as a character, made visible, and escaped in source code.
const ESCAPES: &[&str] = &["\u{1b}", "␛", "\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"];
/// The names of entities for the characters in secrets and around them.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("lowbar", '_'),
    ("ast", '*'),
    ("colon", ':'),
    ("equals", '='),
    ("period", '.'),
    ("hyphen", '-'),
    ("sol", '/'),
    ("plus", '+'),
    ("commat", '@'),
    ("nbsp", ' '),
];

/// A place where a read text differs from what it was made of.
#[derive(Clone, Copy)]
struct ReadChange {
    /// What stands there in the read text.
    read: (u32, u32),
    /// What it was made of.
    under: (u32, u32),
}

/// A text as it is read.
pub(super) struct ReadText<'a> {
    pub(super) text: Cow<'a, str>,
    changes: Vec<ReadChange>,
    /// In JSON: the places of the quotes around strings, in order.
    quotes: Vec<u32>,
    pub(super) is_json: bool,
}

impl<'a> ReadText<'a> {
    /// A text that is read as it is.
    pub(super) fn plain(text: &'a str) -> Self {
        #[cfg(test)]
        note_examined(text.len());
        Self { text: Cow::Borrowed(text), changes: Vec::new(), quotes: Vec::new(), is_json: false }
    }

    /// A part of JSON with the escapes in its strings decoded. `is_inside`: whether it begins inside of a string.
    pub(super) fn of_json(text: &'a str, mut is_inside: bool) -> Self {
        #[cfg(test)]
        note_examined(text.len());
        let mut made = Making::new(text);
        let mut quotes = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(offset) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            at += offset;
            let rest = &text[at..];
            if bytes[at] == b'"' {
                quotes.push(short(made.read_at(at)));
                is_inside = !is_inside;
                at += 1;
            } else if let Some((ch, length)) = json_escape(rest).filter(|_| is_inside) {
                made.replace(at..at + length, Some(ch));
                at += length;
            } else {
                at = (at + 2).min(next_boundary(text, at + 1));
            }
        }
        Self { quotes, is_json: true, ..made.end() }
    }

    /// The text without what its reader doesn't see; `None` if that changes nothing.
    pub(super) fn unmarked(&self) -> Option<ReadText<'_>> {
        let text = &*self.text;
        if length_before(text.as_bytes(), is_mark, marks) == text.len() {
            return None;
        }
        let mut made = Making::new(text);
        let mut quotes = Vec::with_capacity(self.quotes.len());
        let mut old_quotes = self.quotes.iter().copied().peekable();
        let mut at = 0;
        loop {
            at += length_before(&text.as_bytes()[at..], is_mark, marks);
            while let Some(quote) = old_quotes.next_if(|quote| (*quote as usize) < at) {
                quotes.push(short(made.read_at(quote as usize)));
            }
            let rest = &text[at..];
            let Some(first) = rest.chars().next() else { break };
            // Nothing goes on past the end of a string.
            let most = old_quotes.peek().map_or(rest.len(), |quote| *quote as usize - at);
            let rest = &rest[..most];
            let (length, instead) = if let Some(length) = sequence_length(rest) {
                (length, None)
            } else if let Some((ch, length)) = character(rest) {
                (length, Some(ch))
            } else if first == '*' || rest.starts_with("~~") {
                (rest.bytes().take_while(|byte| *byte == rest.as_bytes()[0]).count(), None)
            } else if first == '\\' && rest.as_bytes().get(1).is_some_and(u8::is_ascii_punctuation) {
                made.replace(at..at + 1, None);
                at += 2;
                continue;
            } else {
                at += first.len_utf8();
                continue;
            };
            made.replace(at..at + length, instead);
            at += length;
        }
        for quote in old_quotes {
            quotes.push(short(made.read_at(quote as usize)));
        }
        Some(ReadText { quotes, is_json: self.is_json, ..made.end() })
    }

    /// Where a part of it is in what it was made of: what was removed before and after it doesn't belong to it.
    pub(super) fn under(&self, range: &Range<usize>) -> Range<usize> {
        let start = match self.changes.partition_point(|change| change.read.0 as usize <= range.start) {
            0 => range.start,
            next => {
                let ReadChange { read, under } = self.changes[next - 1];
                match range.start.checked_sub(read.1 as usize) {
                    Some(more) => under.1 as usize + more,
                    None => under.0 as usize,
                }
            }
        };
        let end = match self.changes.partition_point(|change| (change.read.0 as usize) < range.end) {
            0 => range.end,
            next => {
                let ReadChange { read, under } = self.changes[next - 1];
                under.1 as usize + range.end.saturating_sub(read.1 as usize)
            }
        };
        start..end.max(start)
    }

    /// Where the text made of what begins at `under` begins.
    pub(super) fn read_at(&self, under: usize) -> usize {
        match self.changes.partition_point(|change| change.under.0 as usize <= under) {
            0 => under,
            next => {
                let ReadChange { read, under: (_, end) } = self.changes[next - 1];
                read.1 as usize + under.saturating_sub(end as usize)
            }
        }
        .min(self.text.len())
    }

    /// Whether `at` is inside of a string. `is_inside`: whether the text begins inside of one.
    pub(super) fn inside(&self, at: usize, is_inside: bool) -> bool {
        let quotes = self.quotes.partition_point(|quote| (*quote as usize) < at);
        (quotes % 2 == 1) != is_inside
    }

    /// The start of the string that `at` is inside of, as far as it is in the text; outside of JSON, of the text.
    pub(super) fn string_start(&self, at: usize) -> usize {
        let next = self.quotes.partition_point(|quote| (*quote as usize) < at);
        next.checked_sub(1).map_or(0, |last| self.quotes[last] as usize + 1)
    }

    /// The end of the string that `at` is inside of; outside of JSON, of the text.
    pub(super) fn string_end(&self, at: usize) -> usize {
        let next = self.quotes.partition_point(|quote| (*quote as usize) < at);
        self.quotes.get(next).map_or(self.text.len(), |quote| *quote as usize)
    }
}

/// A read text that is being made.
struct Making<'a> {
    under: &'a str,
    text: String,
    /// The end of the part of `under` that is in `text`.
    done: usize,
    changes: Vec<ReadChange>,
}

impl<'a> Making<'a> {
    fn new(under: &'a str) -> Self {
        Self { under, text: String::new(), done: 0, changes: Vec::new() }
    }

    /// Where the text made of what begins at `under` will begin.
    fn read_at(&self, under: usize) -> usize {
        self.text.len() + under - self.done
    }

    fn replace(&mut self, range: Range<usize>, instead: Option<char>) {
        self.text.push_str(&self.under[self.done..range.start]);
        let start = self.text.len();
        self.text.extend(instead);
        self.changes.push(ReadChange {
            read: (short(start), short(self.text.len())),
            under: (short(range.start), short(range.end)),
        });
        self.done = range.end;
    }

    fn end(mut self) -> ReadText<'a> {
        let text = if self.changes.is_empty() {
            Cow::Borrowed(self.under)
        } else {
            self.text.push_str(&self.under[self.done..]);
            Cow::Owned(self.text)
        };
        ReadText { text, changes: self.changes, quotes: Vec::new(), is_json: false }
    }
}

/// Texts are read in parts far shorter than this.
fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn is_mark(byte: u8) -> bool {
    // The visible ESC begins with 0xe2.
    matches!(byte, 0x1b | b'\\' | b'&' | b'*' | b'~' | 0xe2)
}

/// A bit mask of the bytes with which something may begin that isn't read.
fn marks(bytes: u8x16) -> u32 {
    let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
    (is(0x1b) | is(b'\\') | is(b'&') | is(b'*') | is(b'~') | is(0xe2)).to_bitmask()
}

/// The end of the character that `at` is inside of, or `at` itself.
pub(super) fn next_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The character of the JSON escape at the start of `text`, and the length of the escape.
fn json_escape(text: &str) -> Option<(char, usize)> {
    let ch = match text.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        b'u' => {
            let unit = |text: &str| {
                let digits = text.strip_prefix("\\u")?.get(..4)?;
                u32::from_str_radix(digits, 16).ok()
            };
            let first = unit(text)?;
            if let Some(ch) = char::from_u32(first) {
                return Some((ch, 6));
            }
            let pair = text.get(6..).and_then(unit).filter(|low| (0xdc00..0xe000).contains(low));
            return match pair.filter(|_| first < 0xdc00) {
                Some(low) => {
                    let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                    Some((char::from_u32(code).unwrap_or('\u{fffd}'), 12))
                }
                None => Some(('\u{fffd}', 6)),
            };
        }
        _ => return None,
    };
    Some((ch, 2))
}

/// The length of the terminal sequence at the start of `text`.
fn sequence_length(text: &str) -> Option<usize> {
    let escape = ESCAPES.iter().find(|escape| text.starts_with(**escape))?;
    let rest = &text.as_bytes()[escape.len()..];
    let length = match rest.first()? {
        b'[' => {
            let parameters =
                rest[1..].iter().take(PARAMETERS).position(|byte| !(0x20..0x40).contains(byte))?;
            (0x40..0x7f).contains(&rest[1 + parameters]).then_some(parameters + 2)?
        }
        b']' => {
            let rest = &text[escape.len()..next_boundary(text, (escape.len() + COMMAND).min(text.len()))];
            let line = rest.find('\n').unwrap_or(rest.len());
            let end = ESCAPES.iter().map(|escape| format!("{escape}\\"));
            let end = end.chain(["\u{7}", "␇", "\\u0007", "\\a"].map(str::to_owned));
            end.filter_map(|end| rest[..line].find(&end).map(|at| at + end.len())).min()?
        }
        b'(' | b')' if rest.get(1).is_some_and(u8::is_ascii_alphanumeric) => 2,
        _ => return None,
    };
    Some(escape.len() + length)
}

/// The printable ASCII character that an entity or an escape at the start of `text` stands for, and the length of that.
fn character(text: &str) -> Option<(char, usize)> {
    let is_plain = |ch: &char| matches!(ch, ' '..='~');
    if let Some(digits) = text.strip_prefix("\\u") {
        let code = u32::from_str_radix(digits.get(..4)?, 16).ok()?;
        return Some((char::from_u32(code).filter(is_plain)?, 6));
    }
    let name = text.strip_prefix('&')?;
    let end = name.as_bytes().iter().take(ENTITY).position(|byte| *byte == b';')?;
    let name = &name[..end];
    let ch = match name.strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?;
            char::from_u32(code).filter(is_plain)?
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((ch, end + 2))
}

/// A place in a JSON text, and whether it is inside of a string.
#[derive(Clone, Copy, Default)]
pub(super) struct JsonPlace {
    pub(super) at: usize,
    pub(super) is_inside: bool,
}

impl JsonPlace {
    /// The first place from `until` on that isn't inside of an escape.
    pub(super) fn forward(mut self, text: &str, until: usize) -> Self {
        let bytes = text.as_bytes();
        while self.at < until {
            if self.is_inside {
                let end = string_end(bytes, self.at);
                if end >= until {
                    // An escape takes at most twelve bytes.
                    let mut at = self.at;
                    while at < until {
                        at += match bytes[at] {
                            b'\\' => json_escape(&text[at..]).map_or(2, |(_, length)| length),
                            _ => 1,
                        };
                    }
                    return Self { at: next_boundary(text, at.min(text.len())), is_inside: at <= end };
                }
                self.at = end + 1;
            } else {
                match memchr::memchr(b'"', &bytes[self.at..until]) {
                    Some(quote) => self.at += quote + 1,
                    None => return Self { at: next_boundary(text, until), is_inside: false },
                }
            }
            self.is_inside = !self.is_inside;
        }
        self
    }
}

#[cfg(test)]
thread_local! {
    /// How many bytes this thread has read, and examined without a limit.
    pub(super) static EXAMINED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(super) fn note_examined(bytes: usize) {
    EXAMINED.set(EXAMINED.get() + bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        let plain = ReadText::plain(text);
        plain.unmarked().map_or_else(|| text.to_owned(), |read| read.text.into_owned())
    }

    #[test]
    fn what_is_not_seen_is_removed() {
        for (text, seen) in [
            ("plain, with * none", "plain, with  none"),
            ("\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[Kab", "ghp_ab"),
            ("␛[Kab␛[0mc␛", "abc␛"),
            ("\\u001b[31mab\\x1b[0mc \\e[1md\\033[me", "abc de"),
            ("\u{1b}]8;;https://x.example/\u{1b}\\link\u{1b}]8;;\u{7}", "link"),
            ("\u{1b}(Bx", "x"),
            ("sk\\_live\\_1 \\\\ \\n C:\\Users", "sk_live_1 \\ \\n C:\\Users"),
            ("**Password:** `x` ~~y~~ ~z", "Password: `x` y ~z"),
            ("a&#95;b&#x5f;c&lowbar;d &amp; &unknown; & b", "a_b_c_d & &unknown; & b"),
            ("\\u0061bc \\u00e9", "abc \\u00e9"),
        ] {
            assert_eq!(read(text), seen, "{text:?}");
        }
        assert!(ReadText::plain("nothing").unmarked().is_none());
    }

    #[test]
    fn json_is_decoded_and_its_strings_end_where_they_did() {
        let json = r#"{"a\n":"x\"y","b":"\ud83d\ude00\ud83dz\\","c":1}"#;
        let read = ReadText::of_json(json, false);
        assert_eq!(read.text, "{\"a\n\":\"x\"y\",\"b\":\"😀\u{fffd}z\\\",\"c\":1}");
        let at = read.text.find('x').unwrap();
        assert_eq!(&read.text[at..read.string_end(at)], "x\"y");
        assert_eq!(&json[read.under(&(at..at + 3))], r#"x\"y"#);
        let unmarked = read.unmarked().unwrap();
        let at = unmarked.text.find('z').unwrap();
        assert_eq!(&unmarked.text[at..unmarked.string_end(at)], "z\\", "it escapes nothing in its string");
    }

    #[test]
    fn the_source_of_a_part_has_nothing_around_it() {
        let text = "a\u{1b}[31mb&#95;c\u{1b}[md";
        let plain = ReadText::plain(text);
        let read = plain.unmarked().unwrap();
        assert_eq!(read.text, "ab_cd");
        assert_eq!(&text[read.under(&(1..4))], "b&#95;c");
        assert_eq!(&text[read.under(&(0..2))], "a\u{1b}[31mb");
        assert_eq!(&text[read.under(&(2..3))], "&#95;");
        assert_eq!((read.read_at(0), read.read_at(6), read.read_at(8)), (0, 1, 2 + 1));
    }

    proptest! {
        #[test]
        fn the_way_back_holds_for_any_text(text in "[a-c_*~\\\\&;#95\u{1b}\\[m␛é\"]{0,40}") {
            let plain = ReadText::plain(&text);
            if let Some(read) = plain.unmarked() {
                let mut last = 0;
                for (at, ch) in read.text.char_indices() {
                    let under = read.under(&(at..at + ch.len_utf8()));
                    prop_assert!(under.start >= last && text.is_char_boundary(under.start) && text.is_char_boundary(under.end));
                    prop_assert!(under.len() > 1 || text[under.clone()].starts_with(ch), "{ch} in {text:?}");
                    last = under.end;
                }
            }
            let json = serde_json::to_string(&[&text]).unwrap();
            let read = ReadText::of_json(&json, false);
            prop_assert_eq!(&*read.text, format!("[\"{text}\"]"));
            prop_assert_eq!(read.string_end(2), read.text.len() - 2);
            for until in 0..=json.len() {
                let place = JsonPlace::default().forward(&json, until);
                let read = ReadText::of_json(&json[place.at..], place.is_inside);
                prop_assert!(format!("[\"{text}\"]").ends_with(&*read.text), "{} of {}", read.text, json);
            }
        }
    }
}
