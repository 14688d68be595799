//! Writes the lines of Markdown and its like, each behind its prefix: the `>` of a quote, the blanks inside of a list's point.

use std::fmt;

use crate::pieces::OutputPieces;
use streamfmt_core::find::find;

/// Writes lines.
pub(super) struct LineWriter<'p> {
    out: OutputPieces<'p>,
    /// What stands before each line.
    prefix: &'p mut String,
    /// What stands before the next line instead.
    once: Option<String>,
    /// Whether an empty line must come before the next one, and how much of the prefix stands in it.
    gap: Option<usize>,
    /// Whether an empty line, or nothing at all, stands above.
    is_fresh: bool,
}

/// Where to return to when a quote or a point ends.
#[derive(Clone, Copy)]
pub(super) struct LineLevel(usize);

impl<'p> LineWriter<'p> {
    /// Uses the room of `buffer` and `prefix`. `is_fresh`: nothing stands above.
    pub(super) fn new(
        buffer: &'p mut String,
        prefix: &'p mut String,
        out: &'p mut dyn fmt::Write,
        is_fresh: bool,
    ) -> Self {
        prefix.clear();
        Self { out: OutputPieces::new(buffer, out), prefix, once: None, gap: None, is_fresh }
    }

    /// Passes on what is written.
    pub(super) fn end(self) -> fmt::Result {
        self.out.end()
    }

    /// From here on, `first` stands before the next line and `rest` before those after it.
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

    /// Returns to what stood before lines when `level` was made.
    pub(super) fn close(&mut self, level: LineLevel) {
        if self.once.is_some() {
            // A point or quote in which nothing was said.
            self.line("");
        }
        self.prefix.truncate(level.0);
    }

    /// An empty line comes before the next one.
    pub(super) fn gap(&mut self) {
        self.gap.get_or_insert(self.prefix.len());
    }

    /// No empty line is needed before the next one.
    pub(super) fn no_gap(&mut self) {
        self.gap = None;
    }

    /// Writes a line, or several.
    pub(super) fn line(&mut self, text: &str) {
        self.open_line(text);
        self.end_line();
    }

    /// Writes a line, or several, and leaves the last open.
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

    /// Goes on in a line that was left open.
    pub(super) fn go_on(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    /// Ends a line that was left open.
    pub(super) fn end_line(&mut self) {
        self.out.text.push('\n');
        self.out.pass_on_enough();
    }

    /// What stands before each line.
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
