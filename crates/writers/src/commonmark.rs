//! The Markdown of models: which of it is understood, and how far.
//!
//! A model's text is hostile like any other, and parsers decode: `&#27;` becomes a real escape character. So every
//! writer cleans what the parser hands out once more before it writes it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::net::Ipv6Addr;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::page;
use crate::byte_set::byte_set;
use crate::marks_alone::MarkdownEvents;

/// Longer Markdown is written as it is.
const MAX_TEXT: usize = 256 * 1024;

/// A line with more marks than this in front is no one's Markdown.
const MAX_MARKS: usize = 64;

/// Whether `text` is such that it can be laid out in time that grows with its length alone. Some
/// constructions cost a parser more than that; no one writes them.
pub(super) fn is_sane(text: &str) -> bool {
    text.len() <= MAX_TEXT && page::split(text).all(|line| marks(line) <= MAX_MARKS)
}

/// How many marks of quotes and points a line begins with.
fn marks(line: &str) -> usize {
    let bytes = line.as_bytes();
    let mark = |byte: &u8| matches!(byte, b'>' | b'-' | b'*' | b'+' | b'.' | b')');
    let start =
        bytes.iter().take_while(|byte| mark(byte) || matches!(byte, b' ' | b'\t' | b'0'..=b'9')).count();
    // A mark stands before a blank; without blanks it is a rule.
    let is_mark = |at: &usize| {
        mark(&bytes[*at]) && (bytes[*at] == b'>' || matches!(bytes.get(at + 1), Some(b' ' | b'\t')))
    };
    (0..start).filter(is_mark).count()
}

/// Whether `text`, without blanks at its end, is a line of words in which nothing can be a mark: it is a paragraph as it
/// stands, and needs no parser to say so. Much of what agents say is.
pub(super) fn is_words(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && !text.bytes().any(|byte| MAY_BE_MARK[usize::from(byte)])
}

/// Whether a byte may be a mark of Markdown behind the start of a line, or end the line.
static MAY_BE_MARK: [bool; 256] = byte_set(b"\\`*_~[<&", &[[0, 0x1f]]);

/// Begins to read Markdown: with tables, task lists and struck out text.
pub(super) fn parse(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// Reads Markdown and hands on its events, as `merged` joins them. Gives what links are defined as and no link has used, in the order
/// written: it is seen nowhere else, so writers show it.
pub(super) fn read<'t, E: Iterator<Item = Event<'t>>>(
    source: &'t str,
    merged: impl FnOnce(MarkdownEvents<'t>) -> E,
    mut each: impl FnMut(Event<'t>),
) -> Vec<&'t str> {
    let parser = parse(source);
    let definitions = parser.reference_definitions().iter();
    let mut unused: HashMap<_, _> =
        definitions.map(|(label, link)| (label.to_lowercase(), link.span.clone())).collect();
    for event in merged(MarkdownEvents::new(source, parser)) {
        if let Event::Start(Tag::Link { id, .. } | Tag::Image { id, .. }) = &event
            && !id.is_empty()
        {
            unused.remove(&id.to_lowercase());
        }
        each(event);
    }
    let mut spans: Vec<_> = unused.into_values().collect();
    spans.sort_by_key(|span| span.start);
    spans.into_iter().filter_map(|span| source.get(span)).collect()
}

/// A block of code that is open.
pub(super) struct OpenCode {
    pub(super) language: String,
    pub(super) text: String,
}

impl OpenCode {
    /// One in this language, none if it is empty.
    pub(super) fn of(language: &str) -> Self {
        Self { language: language.to_owned(), text: String::new() }
    }

    /// One that begins so.
    pub(super) fn begin(kind: &CodeBlockKind<'_>) -> Self {
        Self::of(match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or(""),
            CodeBlockKind::Indented => "",
        })
    }
}

/// The address of a link that may be followed: of a harmless scheme, and spelled in characters that mean nothing to
/// HTML or Markdown. `None`: it is shown, not linked.
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

/// The schemes of addresses that any reader may follow.
pub(super) const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];
/// Longest address that is followed, in bytes.
pub(super) const LONGEST_ADDRESS: usize = 2048;

/// Whether an address is of one of these schemes, and not too long.
pub(super) fn has_scheme(link: &str, schemes: &[&str]) -> bool {
    let has = |scheme: &&str| link.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
    link.len() <= LONGEST_ADDRESS && schemes.iter().any(has)
}

/// An address in which the bytes that may not stay are numbers.
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

/// Whether a byte of an address stays as it is.
static IS_SAFE: [bool; 256] = byte_set(b"-._~:/?#@!$&+,;=%", &[*b"AZ", *b"az", *b"09"]);

/// Where the host stands that is an address of IPv6, with its brackets: `[::1]`. Empty and at the end if there is none.
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
    use pulldown_cmark::{TagEnd, TextMergeStream};

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
