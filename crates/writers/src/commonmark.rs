//! Parses the Markdown of models, and checks the addresses of links.
//!
//! A model's text is as hostile as any other, and the parser decodes it: `&#27;` becomes a real escape character. So every
//! writer cleans the parser's output again before it writes it.

mod as_written;
mod marks_without_text;

use std::borrow::Cow;
use std::fmt::Write;
use std::net::Ipv6Addr;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, TextMergeStream};

use self::as_written::{AsWritten, SourceNotes};
use self::marks_without_text::MarkdownEvents;
use super::page;
use crate::byte_set::byte_set;

/// The longest Markdown that is parsed, in bytes. Longer texts are written verbatim.
const MAX_TEXT: usize = 256 * 1024;

/// The most marks at the start of a line. Nobody writes more.
const MAX_MARKS: usize = 64;

/// Whether `text` can be parsed in linear time. Some constructions, which nobody writes, take
/// longer.
pub(super) fn is_sane(text: &str) -> bool {
    text.len() <= MAX_TEXT && page::split(text).all(|line| marks(line) <= MAX_MARKS)
}

/// Counts the marks of quotes and list items at the start of a line.
fn marks(line: &str) -> usize {
    let bytes = line.as_bytes();
    let mark = |byte: &u8| matches!(byte, b'>' | b'-' | b'*' | b'+' | b'.' | b')');
    let start =
        bytes.iter().take_while(|byte| mark(byte) || matches!(byte, b' ' | b'\t' | b'0'..=b'9')).count();
    // A mark is followed by a blank; without blanks it is a rule.
    let is_mark = |at: &usize| {
        mark(&bytes[*at]) && (bytes[*at] == b'>' || matches!(bytes.get(at + 1), Some(b' ' | b'\t')))
    };
    (0..start).filter(is_mark).count()
}

/// Whether `text`, without blanks at its end, is a line without any marks. Such a line is a paragraph and needs no parser. Many texts of
/// agents are.
pub(super) fn is_words(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && !text.bytes().any(|byte| MAY_BE_MARK[usize::from(byte)])
}

/// Whether a byte may be a mark of Markdown after the start of a line, or end the line.
static MAY_BE_MARK: [bool; 256] = byte_set(b"\\`*_~[<&", &[[0, 0x1f]]);

/// Returns a parser of Markdown with tables, task lists and strikethrough.
pub(super) fn parse(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// Parses Markdown and passes its events to `each`.
pub(super) fn read(source: &str, each: impl FnMut(Event<'_>)) {
    let masked = as_written::mask(source);
    let notes = SourceNotes::of(source, &masked);
    let events = MarkdownEvents::new(source, AsWritten::new(source, parse(&masked), notes));
    // The texts before and behind an escape are separate: a mark may be special only in view of both.
    TextMergeStream::new(events).for_each(each);
}

/// Whether `word` may follow a fence: the name of a language or a file extension.
pub(super) fn is_language(word: &str) -> bool {
    (1..=20).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+#-._".contains(&byte))
}

/// A code block that hasn't ended.
pub(super) struct OpenCode {
    pub(super) language: String,
    pub(super) text: String,
}

impl OpenCode {
    /// Creates a block in this language, which is unknown if empty.
    pub(super) fn of(language: &str) -> Self {
        Self { language: language.to_owned(), text: String::new() }
    }

    /// Creates a block for its start event.
    pub(super) fn begin(kind: &CodeBlockKind<'_>) -> Self {
        Self::of(match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or(""),
            CodeBlockKind::Indented => "",
        })
    }
}

/// Returns the address of a link if its scheme is harmless, with characters encoded that have a meaning in HTML or Markdown. `None`
/// if it must be shown instead of linked.
pub(super) fn address(link: &str) -> Option<Cow<'_, str>> {
    if !has_scheme(link, &SCHEMES) {
        return None;
    }
    if link.bytes().all(|byte| IS_SAFE[usize::from(byte)]) {
        return Some(Cow::Borrowed(link));
    }
    let host = numeric_host(link);
    let is_bracket = |at: usize| host.start == at || host.end == at + 1;
    Some(Cow::Owned(encoded(link, |at, byte| is_bracket(at) || IS_SAFE[usize::from(byte)])))
}

/// The schemes of addresses that are safe to follow anywhere.
pub(super) const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];
/// The longest address that is linked, in bytes.
pub(super) const LONGEST_ADDRESS: usize = 2048;

/// Whether an address has one of these schemes, and isn't too long.
pub(super) fn has_scheme(link: &str, schemes: &[&str]) -> bool {
    let has = |scheme: &&str| link.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
    link.len() <= LONGEST_ADDRESS && schemes.iter().any(has)
}

/// Percent-encodes the bytes of an address for which `stays` is false.
pub(super) fn encoded(link: &str, stays: impl Fn(usize, u8) -> bool) -> String {
    let mut safe = String::with_capacity(link.len() * 2);
    for (at, byte) in link.bytes().enumerate() {
        if stays(at, byte) {
            safe.push(byte as char);
        } else {
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    safe
}

/// Whether a byte of an address needs no encoding.
static IS_SAFE: [bool; 256] = byte_set(b"-._~:/?#@!$&+,;=%", &[*b"AZ", *b"az", *b"09"]);

/// Returns the range of a host that is an IPv6 address, with its brackets: `[::1]`. Empty, and after the end, if there is none.
fn numeric_host(link: &str) -> Range<usize> {
    let none = link.len() + 1..link.len() + 1;
    let Some(start) = link.find("://").map(|at| at + 3) else { return none };
    let rest = &link[start..];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let user = authority.rfind('@').map_or(0, |at| at + 1);
    let Some((address, port)) = authority[user..].strip_prefix('[').and_then(|it| it.split_once(']')) else {
        return none;
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit()));
    if !is_port || address.parse::<Ipv6Addr>().is_err() {
        return none;
    }
    start + user..start + user + address.len() + 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Tag, TagEnd};

    use super::*;

    proptest! {
        #[test]
        fn a_line_of_words_is_a_paragraph_to_the_parser_too(text in "[A-Za-zé漢ª][A-Za-z0-9 !\"#$%'()+,./:;=>?@^{|}\\]é漢…\u{a0}\\-]{0,60}") {
            let text = text.trim_end();
            prop_assert!(is_words(text));
            let events: Vec<_> = TextMergeStream::new(parse(text)).collect();
            let expected = [Event::Start(Tag::Paragraph), Event::Text(text.into()), Event::End(TagEnd::Paragraph)];
            prop_assert_eq!(events, expected);
        }
    }

    #[test]
    fn an_address_is_linked_up_to_a_length() {
        for (length, is_linked) in [(LONGEST_ADDRESS, true), (LONGEST_ADDRESS + 1, false)] {
            let start = "https://example.com/";
            let link = format!("{start}{}", "a".repeat(length - start.len()));
            assert_eq!(address(&link).is_some(), is_linked, "{length}");
        }
    }

    #[test]
    fn brackets_stay_around_a_numeric_host_alone() {
        for (link, safe) in [
            ("http://[::1]:22/", Some("http://[::1]:22/")),
            ("https://me@[2001:db8::7]/a[0]", Some("https://me@[2001:db8::7]/a%5B0%5D")),
            ("http://[x](y)", Some("http://%5Bx%5D%28y%29")),
            ("http://[::1]](", Some("http://%5B::1%5D%5D%28")),
            ("http://a/?[::1]", Some("http://a/?%5B::1%5D")),
            ("javascript:[::1]", None),
        ] {
            assert_eq!(address(link).as_deref(), safe, "{link}");
        }
    }
}
