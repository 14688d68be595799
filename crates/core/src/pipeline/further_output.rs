//! An output beside the main one, and where its text goes.

use std::ops::ControlFlow;

use super::TakeText;
use super::format::FormatStage;

/// Room for text that is kept, in bytes.
const ROOM: usize = 1 << 18;

/// An output beside the main one.
pub(super) struct FurtherOutput {
    pub(super) stage: FormatStage,
    /// Text that was written and not yet passed on.
    pub(super) text: String,
    /// Where the text goes, as long as that is wanted.
    take: Option<TakeText>,
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

    /// Writes what stands after the last entry, and the head.
    pub(super) fn end(&mut self) {
        // A string takes everything.
        let _ = self.stage.entries.writer.end(&mut self.text);
        self.pass_on();
        if let (Some(take_head), Some(_)) = (&mut self.take_head, &self.take) {
            let mut head = String::new();
            let _ = self.stage.entries.writer.head(&mut head);
            // Nothing comes after it.
            let _ = take_head(&head);
        }
    }
}
