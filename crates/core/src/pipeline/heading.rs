//! Holds back the heading of a session until its model is known, if the whole input is available.
//!
//! A history names the model only with the first reply, a few entries below the heading. While the input is still being
//! written, nothing waits.

use crate::entry::{Entry, text_size};
use crate::item::Item;

/// How many entries may wait with a heading.
const MAX_ENTRIES: usize = 63;
/// How many bytes of their text may wait.
const MAX_BYTES: usize = 1 << 20;

/// A heading that waits, and the entries below it.
pub(super) struct WaitingHeading {
    /// The item of the heading, which is formatted once the model is known.
    pub(super) item: Item,
    /// Its entry without the model.
    pub(super) entry: Box<Entry>,
    /// The entries below it, each with whether it belongs to no item.
    pub(super) entries: Vec<(Box<Entry>, bool)>,
    /// The approximate size of their text.
    bytes: usize,
}

impl WaitingHeading {
    pub(super) fn new(item: &Item, entry: Box<Entry>) -> Self {
        Self { item: item.clone(), entry, entries: Vec::new(), bytes: 0 }
    }

    /// Holds the next entry back. Returns whether the limit is exceeded.
    pub(super) fn push(&mut self, entry: Box<Entry>, is_aside: bool) -> bool {
        self.bytes += text_size(&entry.view.body);
        self.entries.push((entry, is_aside));
        self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Block, View};
    use crate::item::Kind;

    #[test]
    fn a_heading_waits_for_a_limited_number_of_entries_and_bytes() {
        for (bytes, most) in [(1, MAX_ENTRIES), (MAX_BYTES / 4 - 1_024, 4), (MAX_BYTES / 4 + 1, 3)] {
            let of_bytes = |bytes: usize| {
                let text = Block::prose("reply", "x".repeat(bytes).as_str());
                Box::new(Entry::new("e", Kind::Reply, View::of(vec![text])))
            };
            let mut waiting = WaitingHeading::new(&Item::new("h", Kind::Notice, 1), of_bytes(1));
            for number in 1..=most {
                assert!(!waiting.push(of_bytes(bytes), false), "{number} of {bytes} bytes may wait");
            }
            assert!(waiting.push(of_bytes(bytes), false), "{bytes} bytes");
            assert_eq!(waiting.entries.len(), most + 1, "the last one is kept, too");
        }
    }
}
