//! Buffers the output of a writer, and forwards it in pieces, to bound the memory.

use std::fmt;

/// The size above which the buffer is forwarded, in bytes.
pub(super) const PIECE: usize = 64 * 1024;

/// A buffered output.
pub(super) struct OutputPieces<'p> {
    sink: &'p mut dyn fmt::Write,
    /// The output that isn't forwarded yet.
    pub(super) text: &'p mut String,
    failed: bool,
}

impl<'p> OutputPieces<'p> {
    /// Creates an output to `sink` that uses `text` as its buffer.
    pub(super) fn new(text: &'p mut String, sink: &'p mut dyn fmt::Write) -> Self {
        text.clear();
        Self { sink, text, failed: false }
    }

    /// Forwards the rest of the buffer. Fails if this or an earlier write to the sink failed.
    pub(super) fn end(self) -> fmt::Result {
        if self.failed {
            return Err(fmt::Error);
        }
        self.sink.write_str(self.text)
    }

    /// Writes a text of any length. A long one isn't buffered.
    pub(super) fn push(&mut self, text: &str) {
        if text.len() > PIECE {
            self.forward();
            self.failed |= self.sink.write_str(text).is_err();
        } else {
            self.text.push_str(text);
        }
    }

    /// Forwards the buffer if it is longer than [`PIECE`].
    #[inline]
    pub(super) fn forward_if_full(&mut self) {
        if self.text.len() > PIECE {
            self.forward();
        }
    }

    /// Forwards the buffer.
    pub(super) fn forward(&mut self) {
        self.failed |= self.sink.write_str(self.text).is_err();
        self.text.clear();
    }
}
