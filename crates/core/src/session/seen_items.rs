//! Remembers which items were seen, within a limit.

use crate::budget::Budget;
use crate::recent::Recent;

/// How many full generations are kept. Several small tables, by default of 32,768 slots, stay in a processor's cache.
const OLDER: usize = 3;

/// The hashes of ids, each with the hash of the item's content.
#[derive(Debug)]
pub(super) struct SeenItems(Recent<u64, OLDER>);

impl Default for SeenItems {
    fn default() -> Self {
        Self::new(Budget::default().ids)
    }
}

/// Whether an item was seen before.
pub(super) enum Seen {
    /// No item with this id was seen.
    Never,
    /// The same item was seen.
    Same,
    /// A different item with this id was seen.
    Other,
}

impl SeenItems {
    /// Remembers at least the last `ids` items.
    pub(super) fn new(ids: usize) -> Self {
        Self(Recent::of(ids))
    }

    /// Whether an item of this id was seen.
    pub(super) fn knows(&self, id: u64) -> bool {
        self.0.get(id).is_some()
    }

    /// Remembers an item, unless its id is taken. Returns whether it was seen before.
    pub(super) fn remember(&mut self, id: u64, content: u64) -> Seen {
        match self.0.add(id, || content) {
            None => Seen::Never,
            Some(known) if *known == content => Seen::Same,
            Some(_) => Seen::Other,
        }
    }

    /// Replaces the content hash of an item, if the item is remembered.
    pub(super) fn change(&mut self, id: u64, content: u64) {
        if let Some(known) = self.0.get_mut(id) {
            *known = content;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_items_are_known_and_the_oldest_are_not() {
        let mut seen = SeenItems::default();
        let count = 200_000;
        for id in 0..count {
            assert!(matches!(seen.remember(id, id), Seen::Never));
        }
        assert!((count - 65_536..count).all(|id| seen.knows(id)));
        assert!(!seen.knows(0));
        assert!(matches!(seen.remember(count - 1, count - 1), Seen::Same));
        assert!(matches!(seen.remember(count - 1, 0), Seen::Other));
    }
}
