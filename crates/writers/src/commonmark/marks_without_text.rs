//! Markdown marks without content: a line with only `4.`, `-`, `#` or `>` is shown as text, not as an empty list, heading or quote.

use std::collections::VecDeque;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::as_written::{self, AsWritten};

/// The events of Markdown. A list of empty items, an empty heading and an empty quote become a paragraph with their source.
pub(super) struct MarkdownEvents<'t> {
    source: &'t str,
    events: AsWritten<'t>,
    /// Events to return before the next ones are parsed.
    ready: VecDeque<Event<'t>>,
}

impl<'t> MarkdownEvents<'t> {
    /// Changes `events`, which are those of `source`.
    pub(super) fn new(source: &'t str, events: AsWritten<'t>) -> Self {
        Self { source, events, ready: VecDeque::new() }
    }

    /// Parses the events after the start of a block that may be empty, until it is known whether it is.
    fn look_into(&mut self, start: Event<'t>) {
        let mut opened = vec![start];
        for (event, span) in self.events.by_ref() {
            match event {
                Event::Start(Tag::Item) | Event::End(TagEnd::Item) => opened.push(event),
                Event::End(TagEnd::List(_) | TagEnd::Heading(_) | TagEnd::BlockQuote(_)) => {
                    self.ready.extend(paragraph(self.source.get(span).unwrap_or_default()));
                    return;
                }
                _ => {
                    self.ready.extend(opened);
                    if !may_be_empty(&event) {
                        self.ready.push_back(event);
                        return;
                    }
                    opened = vec![event];
                }
            }
        }
        self.ready.extend(opened);
    }
}

impl<'t> Iterator for MarkdownEvents<'t> {
    type Item = Event<'t>;

    fn next(&mut self) -> Option<Event<'t>> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        let (event, _) = self.events.next()?;
        if !may_be_empty(&event) {
            return Some(event);
        }
        self.look_into(event);
        self.ready.pop_front()
    }
}

/// Whether an event starts a block that would show nothing if it had only its mark.
fn may_be_empty(event: &Event<'_>) -> bool {
    matches!(event, Event::Start(Tag::List(_) | Tag::Heading { .. } | Tag::BlockQuote(_)))
}

/// Returns the events of a paragraph with the lines of a text.
fn paragraph(text: &str) -> impl Iterator<Item = Event<'_>> {
    [Event::Start(Tag::Paragraph)]
        .into_iter()
        .chain(as_written::lines(text))
        .chain([Event::End(TagEnd::Paragraph)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commonmark::read;

    /// Returns the texts and the names of blocks, in order.
    fn shape(source: &str) -> String {
        let mut shown = Vec::new();
        read(source, |event| {
            shown.extend(match event {
                Event::Start(Tag::List(_)) => Some("list".to_owned()),
                Event::Start(Tag::Item) => Some("point".to_owned()),
                Event::Start(Tag::Heading { .. }) => Some("heading".to_owned()),
                Event::Start(Tag::BlockQuote(_)) => Some("quote".to_owned()),
                Event::Text(text) => Some(format!("<{text}>")),
                Event::SoftBreak => Some("/".to_owned()),
                _ => None,
            });
        });
        shown.join(" ")
    }

    #[test]
    fn a_mark_without_text_is_text() {
        for (source, expected) in [
            ("4.", "<4.>"),
            ("2025.", "<2025.>"),
            ("7)", "<7)>"),
            ("-", "<->"),
            ("*", "<*>"),
            ("###", "<###>"),
            (">", "<>>"),
            ("1.\n2.\n", "<1.> / <2.>"),
            ("Four:\n\n4.\n", "<Four:> <4.>"),
            ("- 4.", "list point <4.>"),
            ("> 4.", "quote <4.>"),
            ("> -", "quote <->"),
            ("- a\n-\n", "list point <a> point"),
            ("-\n- a\n", "list point point <a>"),
            ("# a", "heading <a>"),
            ("1. a", "list point <a>"),
        ] {
            assert_eq!(shape(source), expected, "{source:?}");
        }
    }
}
