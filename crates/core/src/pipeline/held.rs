//! Holds back the beginning of a stream until enough is known about the stream to show it.

use std::collections::VecDeque;

/// Lines, steps or entries that are held back, in order, within a limit: so memory stays bounded, and the wait ends.
pub(super) struct Held<T> {
    queue: VecDeque<T>,
    /// How many lines or entries they are.
    count: usize,
    max_count: usize,
    /// The approximate size of their text.
    bytes: usize,
    max_bytes: usize,
}

impl<T> Held<T> {
    /// Holds back up to `max_count` lines or entries, and `max_bytes` bytes of text.
    pub(super) fn new(max_count: usize, max_bytes: usize) -> Self {
        Self { queue: VecDeque::new(), count: 0, max_count, bytes: 0, max_bytes }
    }

    /// Holds one more back. `count`: how many lines or entries it is; `bytes`: the approximate size of its text.
    pub(super) fn push(&mut self, held: T, count: usize, bytes: usize) {
        self.queue.push_back(held);
        self.count += count;
        self.bytes += bytes;
    }

    /// Whether the limit is exceeded.
    pub(super) fn is_full(&self) -> bool {
        self.count > self.max_count || self.bytes > self.max_bytes
    }

    /// Whether nothing is held back.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns everything that was held back.
    pub(super) fn release(&mut self) -> VecDeque<T> {
        (self.count, self.bytes) = (0, 0);
        std::mem::take(&mut self.queue)
    }
}
