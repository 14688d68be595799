//! Passes on in pieces what a writer writes, so that little of it is kept.

use std::fmt;

/// What is written is passed on when it is longer than this, in bytes.
pub(super) const PIECE: usize = 64 * 1024;

/// Takes what is written.
pub(super) struct OutputPieces<'p> {
    sink: &'p mut dyn fmt::Write,
    /// What is written, and not yet passed on.
    pub(super) text: &'p mut String,
    failed: bool,
}

impl<'p> OutputPieces<'p> {
    /// Passes on to `sink`; uses the room of `text`.
    pub(super) fn new(text: &'p mut String, sink: &'p mut dyn fmt::Write) -> Self {
        text.clear();
        Self { sink, text, failed: false }
    }

    /// Passes on what is left.
    pub(super) fn end(self) -> fmt::Result {
        if self.failed {
            return Err(fmt::Error);
        }
        self.sink.write_str(self.text)
    }

    /// Writes a text of any length; a long one isn't kept.
    pub(super) fn push(&mut self, text: &str) {
        if text.len() > PIECE {
            self.pass_on();
            self.failed |= self.sink.write_str(text).is_err();
        } else {
            self.text.push_str(text);
        }
    }

    /// Passes on what is written, if that is enough.
    #[inline]
    pub(super) fn pass_on_enough(&mut self) {
        if self.text.len() > PIECE {
            self.pass_on();
        }
    }

    /// Passes on what is written.
    pub(super) fn pass_on(&mut self) {
        self.failed |= self.sink.write_str(self.text).is_err();
        self.text.clear();
    }
}
