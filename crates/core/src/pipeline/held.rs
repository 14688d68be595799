//! What is held back at the beginning of a stream, until enough is known about it to show it.

use std::collections::VecDeque;

/// How many lines or entries are held back at most.
const MAX_HELD: usize = 64;

/// Lines, steps or entries that are held back, in order. Only so much is held, so that nothing waits for ever, and memory is bounded.
pub(super) struct Held<T> {
    held: VecDeque<T>,
    /// How many lines or entries they are.
    count: usize,
    bytes: usize,
    max_bytes: usize,
}

impl<T> Held<T> {
    /// Holds back up to `max_bytes`.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { held: VecDeque::new(), count: 0, bytes: 0, max_bytes }
    }

    /// Holds one more back. `count`: how many lines or entries it is; `bytes`: the approximate size of its text.
    pub(super) fn push(&mut self, held: T, count: usize, bytes: usize) {
        self.held.push_back(held);
        self.count += count;
        self.bytes += bytes;
    }

    /// Whether no more may be held back.
    pub(super) fn is_full(&self) -> bool {
        self.count > MAX_HELD || self.bytes > self.max_bytes
    }

    /// Whether nothing is held back.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns everything that was held back.
    pub(super) fn release(&mut self) -> VecDeque<T> {
        (self.count, self.bytes) = (0, 0);
        std::mem::take(&mut self.held)
    }
}
