//! A further output, and the sink of its text.

use std::ops::ControlFlow;

use super::TakeText;
use super::format::FormatStage;

/// How much of the buffer's capacity is kept for reuse, in bytes.
const ROOM: usize = 1 << 18;

/// An output in addition to the main one.
pub(super) struct FurtherOutput {
    pub(super) stage: FormatStage,
    /// Text that was written and not yet passed on.
    pub(super) text: String,
    /// Receives the text; `None` once it wants no more.
    take: Option<TakeText>,
    /// Receives the head of the document, if the sink wants one.
    take_head: Option<TakeText>,
}

impl FurtherOutput {
    pub(super) fn new(stage: FormatStage, take: TakeText, take_head: Option<TakeText>) -> Self {
        Self { stage, text: String::new(), take: Some(take), take_head }
    }

    /// Passes the written text on.
    #[inline]
    pub(super) fn pass_on(&mut self) {
        if !self.text.is_empty() {
            self.pass_text();
        }
    }

    fn pass_text(&mut self) {
        let Self { take, text, .. } = self;
        if take.as_mut().is_some_and(|wanting| wanting(text) == ControlFlow::Break(())) {
            *take = None;
        }
        text.clear();
        text.shrink_to(ROOM);
    }

    /// Writes the end of the document, and its head.
    pub(super) fn end(&mut self) {
        // Writing to a string can't fail.
        let _ = self.stage.entries.writer.end(&mut self.text);
        self.pass_on();
        if let (Some(take_head), Some(_)) = (&mut self.take_head, &self.take) {
            let mut head = String::new();
            let _ = self.stage.entries.writer.head(&mut head);
            // The head is the last piece, so it doesn't matter whether more is wanted.
            let _ = take_head(&head);
        }
    }
}
