//! The definitions of links that no link uses.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::commonmark::parse;

/// Returns the parts of the source that only define links, but none that is used. `masked`: the same, masked.
pub(super) fn unused(source: &str, masked: &str) -> VecDeque<Range<usize>> {
    if memchr::memmem::find(source.as_bytes(), b"]:").is_none() {
        return VecDeque::new();
    }
    let parser = parse(masked);
    let definitions = parser.reference_definitions().iter();
    let definitions: Vec<_> =
        definitions.map(|(label, link)| (label.to_lowercase(), link.span.clone())).collect();
    let (mut used, mut gaps, mut done, mut inside) = (BTreeSet::new(), Vec::new(), 0, 0_usize);
    for (event, span) in parser.into_offset_iter() {
        let reached = if matches!(event, Event::End(_)) { span.end } else { span.start };
        // Between blocks, only definitions show nothing. Before them are at most the marks of quotes and list items.
        if inside == 0
            && let Some(gap) = source.get(done..reached)
            && let Some(start) = gap.find('[')
            && gap[..start].bytes().all(is_mark)
        {
            gaps.push(done + start..reached);
        }
        match &event {
            Event::Start(tag) => {
                if let Tag::Link { id, .. } | Tag::Image { id, .. } = tag {
                    used.insert(id.to_lowercase());
                }
                inside += usize::from(!is_container(tag.to_end()));
            }
            Event::End(tag) => inside -= usize::from(!is_container(*tag)),
            _ => {}
        }
        done = done.max(if matches!(event, Event::Start(_)) { span.start } else { span.end });
    }
    if let Some(start) = source[done..].find('[') {
        gaps.push(done + start..source.len());
    }
    let mut used: Vec<_> =
        definitions.into_iter().filter(|(label, _)| used.contains(label)).map(|(_, span)| span).collect();
    used.sort_by_key(|span| span.start);
    let mut used = used.into_iter().peekable();
    let mut shown = VecDeque::new();
    for gap in gaps {
        let mut start = gap.start;
        while let Some(span) = used.next_if(|span| span.start < gap.end) {
            shown.extend(trimmed(source, start..span.start));
            start = start.max(span.end);
        }
        shown.extend(trimmed(source, start..gap.end));
    }
    shown
}

/// Returns the part of a range that isn't blank or a mark of a quote.
fn trimmed(source: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = source.get(range.clone())?.trim_end();
    let text = part.trim_start_matches([' ', '\t', '\n', '>']);
    let end = range.start + part.len();
    (!text.is_empty()).then_some(end - text.len()..end)
}

/// Whether a block contains others.
fn is_container(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item)
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'>' | b'-' | b'*' | b'+' | b'.' | b')' | b'0'..=b'9')
}
