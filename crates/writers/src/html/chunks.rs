//! Splits the activity of a long page into chunks. A browser skips the rendering of a chunk that is far outside the window.
//!
//! Skipping single entries would still cost time for each of them at every layout of the page, of which there are many while
//! it loads. The first entries are in no chunk, so a short page has none.

use super::out::HtmlOut;

/// The number of parts of the activity in a chunk: entries, sub-agents, rows of notices.
pub(super) const CHUNK: usize = 50;

/// Counts the parts of the activity.
#[derive(Debug, Default)]
pub(super) struct RowChunks {
    /// The number of parts since the last chunk began.
    parts: usize,
    is_open: bool,
}

impl RowChunks {
    /// Begins a part of the activity, in a new chunk if the last one is full.
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
