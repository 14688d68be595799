//! Which backslashes are escapes, and which belong to a path, a formula or a pattern.
//!
//! The test is what Markdown would do without the backslash: if the character behind it would be text anyway, there was nothing to escape.

use pulldown_cmark::{Event, Tag, TagEnd};

use super::{AsWritten, SourceNotes, mask};
use crate::commonmark::parse;
use std::collections::VecDeque;

/// The longest part of a word that is searched, on each side of a backslash.
const MAX_WORD: usize = 256;

/// Returns the positions of the backslashes that stay, in order.
pub(super) fn kept(source: &str, masked: &str) -> Vec<usize> {
    let bytes = source.as_bytes();
    let is_escape = |at: usize| bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation);
    if !memchr::memchr_iter(b'\\', bytes).any(is_escape) {
        return Vec::new();
    }
    let (mut kept, removable): (Vec<_>, Vec<_>) =
        all(source, masked).into_iter().partition(|at| bytes[at + 1] == b'\\' || is_in_path(bytes, *at));
    if !removable.is_empty() {
        kept.extend(needless(source, &removable));
        kept.sort_unstable();
    }
    kept
}

/// Returns the position of the backslash that escapes the text at `start`. `done`: the end of what the events before show.
pub(super) fn before(source: &str, done: usize, start: usize) -> Option<usize> {
    let at = start.checked_sub(1)?;
    (at >= done && source.as_bytes()[at] == b'\\').then_some(at)
}

/// Returns the positions of all backslashes that the parser takes for escapes, without those before the bars of a table, which are.
fn all(source: &str, masked: &str) -> Vec<usize> {
    let (mut found, mut done, mut is_table) = (Vec::new(), 0, false);
    let is_bar = |start: usize| source.as_bytes().get(start) == Some(&b'|');
    for (event, span) in parse(masked).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(_)) => is_table = true,
            Event::End(TagEnd::Table) => is_table = false,
            _ => {}
        }
        match event {
            Event::Text(_) if is_table && is_bar(span.start) => {}
            Event::Text(_) => found.extend(before(source, done, span.start)),
            Event::Start(_) | Event::HardBreak => {
                done = done.max(span.start);
                continue;
            }
            _ => {}
        }
        done = done.max(span.end);
    }
    found
}

/// Whether a word contains a backslash before a letter or digit, such as a path of Windows. All its backslashes belong to it.
fn is_in_path(bytes: &[u8], at: usize) -> bool {
    let is_word = |byte: &&u8| !byte.is_ascii_whitespace();
    let before = bytes[..at].iter().rev().take(MAX_WORD).take_while(is_word).count();
    let behind = bytes[at..].iter().take(MAX_WORD).take_while(is_word).count();
    let word = &bytes[at - before..at + behind];
    word.windows(2).any(|pair| pair[0] == b'\\' && pair[1].is_ascii_alphanumeric())
}

/// Returns those of the backslashes without which the characters behind them are text too.
fn needless(source: &str, escapes: &[usize]) -> Vec<usize> {
    let mut bare = String::with_capacity(source.len());
    let mut end = 0;
    for at in escapes {
        bare.push_str(&source[end..*at]);
        end = at + 1;
    }
    bare.push_str(&source[end..]);
    let mut escapes = escapes.iter().enumerate().map(|(count, at)| (*at, at - count)).peekable();
    let mut needless = Vec::new();
    let mut is_code = false;
    let masked = mask(&bare);
    let notes = SourceNotes { kept: Vec::new(), definitions: VecDeque::new() };
    for (event, span) in AsWritten::new(&bare, parse(&masked), notes) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(_) if !is_code => {
                while escapes.next_if(|(_, bare)| *bare < span.start).is_some() {}
                while let Some((at, _)) = escapes.next_if(|(_, bare)| *bare < span.end) {
                    needless.push(at);
                }
            }
            _ => {}
        }
    }
    needless
}
