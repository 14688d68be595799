//! The sink of a further output.

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use super::TakeText;

/// Text is passed on when it exceeds this size, in bytes.
const PIECE: usize = 64 << 10;
/// How much of the buffer's capacity is kept for reuse, in bytes.
const ROOM: usize = 1 << 18;

/// The sink of an output in addition to the main one.
pub(super) struct TextSink {
    /// Text that wasn't passed on yet.
    text: String,
    /// Receives the text; `None` once it wants no more.
    take: Option<TakeText>,
    /// Receives the head of the document, if the sink wants one.
    take_head: Option<TakeText>,
}

impl TextSink {
    pub(super) fn new(take: TakeText, take_head: Option<TakeText>) -> Self {
        Self { text: String::new(), take: Some(take), take_head }
    }

    /// Passes the written text on.
    pub(super) fn pass_on(&mut self) {
        let Self { take, text, .. } = self;
        if !text.is_empty() && take.as_mut().is_some_and(|take| take(text) == ControlFlow::Break(())) {
            *take = None;
        }
        text.clear();
        text.shrink_to(ROOM);
    }

    /// Passes the rest of the text on, and returns what receives the head, if it is wanted.
    pub(super) fn end(&mut self) -> Option<TakeText> {
        self.pass_on();
        self.take.as_ref().and(self.take_head.take())
    }
}

impl Write for TextSink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        if self.text.len() > PIECE {
            self.pass_on();
        }
        Ok(())
    }
}
