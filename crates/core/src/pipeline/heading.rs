//! The heading of a session that doesn't name its model waits for that, where the whole input is there.
//!
//! A history names the model with the first reply only, a few entries below the heading. Where the input is still being
//! written nothing waits.

use crate::entry::{Entry, text_size};
use crate::item::Item;

/// Entries below a heading that wait with it.
const MAX_ENTRIES: usize = 64;
/// Bytes of their text.
const MAX_BYTES: usize = 1 << 20;

/// A heading that waits, and what is below it.
pub(super) struct WaitingHeading {
    /// What the heading is said of.
    pub(super) item: Item,
    /// The entries, and whether each is of no item.
    pub(super) entries: Vec<(Box<Entry>, bool)>,
    bytes: usize,
}

impl WaitingHeading {
    pub(super) fn new(item: &Item) -> Self {
        Self { item: item.clone(), entries: Vec::new(), bytes: 0 }
    }

    /// Takes the next entry.
    pub(super) fn push(&mut self, entry: Box<Entry>, is_aside: bool) {
        self.bytes += text_size(&entry.view.body);
        self.entries.push((entry, is_aside));
    }

    /// Whether it has waited long enough.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= MAX_ENTRIES || self.bytes > MAX_BYTES
    }
}
