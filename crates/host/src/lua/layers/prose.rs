//! Splits Markdown into the parts that a writer in Lua may format itself, and the rest.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use streamfmt_core::text::Text;

/// A part of a Markdown text.
pub(crate) enum MarkdownPart {
    /// A heading at the top level, not in a list or a quotation.
    Heading { level: u8, text: Text, source: Text },
    /// A code block at the top level.
    Code { lang: Option<Text>, text: Text, source: Text },
    /// All else, as Markdown.
    Other(Text),
}

impl MarkdownPart {
    /// The Markdown of this part.
    pub(crate) fn source(&self) -> &Text {
        match self {
            Self::Heading { source, .. } | Self::Code { source, .. } | Self::Other(source) => source,
        }
    }
}

/// Splits a text into its parts, in order.
pub(crate) fn parts(text: &Text) -> Vec<MarkdownPart> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let (mut done, mut words, mut lang) = (0, String::new(), None);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth == 1 {
                    words.clear();
                    lang = match tag {
                        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                            info.split_whitespace().next().map(Text::clean)
                        }
                        _ => None,
                    };
                }
            }
            Event::End(end) => {
                depth -= 1;
                let part = match end {
                    _ if depth > 0 => continue,
                    TagEnd::Heading(level) => MarkdownPart::Heading {
                        level: level as u8,
                        text: Text::clean(&words),
                        source: text.slice(range.start, range.end),
                    },
                    TagEnd::CodeBlock => MarkdownPart::Code {
                        lang: lang.take(),
                        text: Text::clean(words.trim_end_matches('\n')),
                        source: text.slice(range.start, range.end),
                    },
                    _ => continue,
                };
                if range.start > done {
                    parts.push(MarkdownPart::Other(text.slice(done, range.start)));
                }
                parts.push(part);
                done = range.end;
            }
            Event::Text(piece) | Event::Code(piece) => words.push_str(&piece),
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            _ => {}
        }
    }
    if done < text.len() {
        parts.push(MarkdownPart::Other(text.slice(done, text.len())));
    }
    parts
}
