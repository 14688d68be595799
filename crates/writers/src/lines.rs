//! Writes the lines of Markdown and similar formats after a prefix: the `>` of a quote, the indentation of a list item.

use std::fmt;

use crate::pieces::OutputPieces;
use streamfmt_core::find::find;

/// Writes lines with a prefix.
pub(super) struct LineWriter<'p> {
    out: OutputPieces<'p>,
    /// The prefix of each line.
    prefix: &'p mut String,
    /// The prefix of the next line, if it is another.
    once: Option<String>,
    /// Whether an empty line is needed before the next one, and the length of the prefix in it.
    gap: Option<usize>,
    /// Whether the line above is empty, or there is none.
    is_fresh: bool,
}

/// The length of the prefix outside a quote or list item, to return to at its end.
#[derive(Clone, Copy)]
pub(super) struct LineLevel(usize);

impl<'p> LineWriter<'p> {
    /// Creates a writer that uses `buffer` and `prefix` as its buffers. `is_fresh`: whether there is no line above.
    pub(super) fn new(
        buffer: &'p mut String,
        prefix: &'p mut String,
        out: &'p mut dyn fmt::Write,
        is_fresh: bool,
    ) -> Self {
        prefix.clear();
        Self { out: OutputPieces::new(buffer, out), prefix, once: None, gap: None, is_fresh }
    }

    /// Forwards the rest of the output.
    pub(super) fn end(self) -> fmt::Result {
        self.out.end()
    }

    /// Extends the prefix: by `first` for the next line, and by `rest` for those after it.
    pub(super) fn open(&mut self, first: &str, rest: &str) -> LineLevel {
        let level = LineLevel(self.prefix.len());
        // Both are short.
        let is_same = first.len() == rest.len() && first.bytes().eq(rest.bytes());
        if !is_same || self.once.is_some() {
            let once = self.once.get_or_insert_with(|| self.prefix.clone());
            once.push_str(first);
        }
        self.prefix.push_str(rest);
        level
    }

    /// Resets the prefix to the one before `level` was opened.
    pub(super) fn close(&mut self, level: LineLevel) {
        if self.once.is_some() {
            // An empty list item or quote.
            self.line("");
        }
        self.prefix.truncate(level.0);
    }

    /// Requires an empty line before the next one.
    pub(super) fn gap(&mut self) {
        self.gap.get_or_insert(self.prefix.len());
    }

    /// Requires no empty line before the next one.
    pub(super) fn no_gap(&mut self) {
        self.gap = None;
    }

    /// Writes one or several lines.
    pub(super) fn line(&mut self, text: &str) {
        self.open_line(text);
        self.end_line();
    }

    /// Writes one or several lines without ending the last one.
    pub(super) fn open_line(&mut self, text: &str) {
        let mut rest = text;
        while let Some(end) = find(b'\n', rest.as_bytes()) {
            self.begin(end == 0);
            self.out.push(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.begin(rest.is_empty());
        self.out.push(rest);
    }

    /// Continues an open line.
    pub(super) fn continue_line(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    /// Ends an open line.
    pub(super) fn end_line(&mut self) {
        self.out.text.push('\n');
        self.out.forward_if_full();
    }

    /// Returns the prefix of each line.
    pub(super) fn prefix(&self) -> &str {
        self.prefix
    }

    fn begin(&mut self, is_empty: bool) {
        let is_fresh = std::mem::replace(&mut self.is_fresh, is_empty);
        if let Some(length) = self.gap.take().filter(|_| !is_fresh) {
            let before = &self.prefix[..length.min(self.prefix.len())];
            self.out.text.push_str(before.trim_end());
            self.out.text.push('\n');
        }
        let once = self.once.take();
        let prefix = once.as_ref().unwrap_or(self.prefix);
        self.out.text.push_str(if is_empty { prefix.trim_end() } else { prefix });
    }
}
