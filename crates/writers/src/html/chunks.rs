//! The activity of a long page in chunks, each of which a browser skips as a whole while it is far from the window.
//!
//! Skipping entries one by one still costs time for each of them whenever the browser lays out the page, which it does many times while
//! it loads one. The first entries are in no chunk, so a short page has none.

use super::out::HtmlOut;

/// Parts of the activity in a chunk: entries, sub-agents, rows of notices.
pub(super) const CHUNK: usize = 50;

/// Counts the parts of the activity.
#[derive(Debug, Default)]
pub(super) struct RowChunks {
    /// Parts since the last chunk began.
    parts: usize,
    is_open: bool,
}

impl RowChunks {
    /// Begins a part of the activity, in a new chunk if there are enough in the last one.
    pub(super) fn begin_part(&mut self, out: &mut HtmlOut<'_>) {
        if self.parts == CHUNK {
            self.end(out);
            self.is_open = true;
            out.raw("<div class=\"chunk\">\n");
        }
        self.parts += 1;
    }

    /// Ends the last chunk.
    pub(super) fn end(&mut self, out: &mut HtmlOut<'_>) {
        if std::mem::take(&mut self.is_open) {
            out.raw("</div>\n");
        }
        self.parts = 0;
    }
}
