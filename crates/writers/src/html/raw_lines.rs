//! Raw lines in a row: they share one block, since an element for each would be many times as long as a short line.

use super::Html;
use super::out::HtmlOut;
use crate::page;
use streamfmt_core::entry::{Block, Entry};
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Node, Relation};

/// The longest line in a shared block, in bytes.
const LONGEST: usize = 200;
/// The most lines of a block.
const MOST_LINES: usize = 1_000;

/// The raw lines at the end of what was written.
#[derive(Debug, Default)]
pub(super) enum RawLines {
    #[default]
    None,
    /// One line, which is held back until it is known whether another one follows.
    Held(Box<Node>),
    /// A block that isn't closed.
    Open {
        /// The first of its lines, without the text.
        first: Box<Entry>,
        lines: usize,
    },
}

/// The text of a raw line, if it may share a block.
pub(super) fn short_line(node: &Node) -> Option<&str> {
    let Entry { kind: Kind::Unknown, at: None, level: 0, view, .. } = &*node.entry else { return None };
    let [Block::Code { text, lang: None, start: None, .. }] = &view.body[..] else { return None };
    let is_bare = view.mark.is_none() && view.title.is_empty() && matches!(node.relation, Relation::Own);
    (is_bare && text.len() <= LONGEST && !text.contains('\n')).then_some(text)
}

impl Html {
    /// Writes a raw line with those before it.
    pub(super) fn raw_line(&mut self, node: &Node, text: &str, out: &mut HtmlOut<'_>) {
        let (first, lines) = match std::mem::take(&mut self.raw) {
            RawLines::None => {
                self.raw = RawLines::Held(Box::new(node.clone()));
                return;
            }
            RawLines::Held(first) => {
                self.begin_part(out);
                super::begin_entry(&first.entry, &[super::class_of(&first.entry)], out);
                out.raw("<pre tabindex=\"0\"><code>");
                out.text(short_line(&first).unwrap_or_default());
                let mut entry = (*first.entry).clone();
                entry.view.body.clear();
                (Box::new(entry), 1)
            }
            RawLines::Open { first, lines } => (first, lines),
        };
        out.raw("\n");
        out.text(text);
        self.raw = RawLines::Open { first, lines: lines + 1 };
        if lines + 1 == MOST_LINES {
            self.end_raw_lines(out);
        }
    }

    /// Writes a raw line as a block of its own.
    pub(super) fn raw_line_alone(&self, entry: &Entry, text: &str, out: &mut HtmlOut<'_>) {
        let anchor = super::begin_entry(entry, &[super::class_of(entry)], out);
        out.within("<pre tabindex=\"0\"><code>", text, "</code></pre>");
        self.time(entry, &anchor, out);
        out.raw("</div>\n");
    }

    /// Ends the block, or writes the line that was held back.
    pub(super) fn end_raw_lines(&mut self, out: &mut HtmlOut<'_>) {
        match std::mem::take(&mut self.raw) {
            RawLines::None => {}
            RawLines::Held(node) => {
                self.begin_part(out);
                self.write(&node, out);
            }
            RawLines::Open { first, .. } => {
                out.raw("</code></pre>");
                self.time(&first, &page::anchor(first.id.as_str()), out);
                out.raw("</div>\n");
            }
        }
    }
}
