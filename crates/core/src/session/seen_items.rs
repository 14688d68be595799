//! Which items were seen already, as far back as there is memory for it.

use crate::recent::Recent;

/// Items of one generation: as many as a table of 32,768 places takes before it grows. Small tables stay in a
/// processor's cache.
const MAX_ITEMS: usize = 28_672;
/// Full generations that are kept: 86,016 items, of the 65,536 that must be known.
const OLDER: usize = 3;

/// Hashes of ids, each with the hash of the text that it came with.
#[derive(Debug, Default)]
pub(super) struct SeenItems(Recent<u64, MAX_ITEMS, OLDER>);

/// What is known of an item.
pub(super) enum Seen {
    /// Nothing has its id.
    Never,
    /// It was seen just so.
    Same,
    /// Its id is that of something else.
    Other,
}

impl SeenItems {
    /// Whether an item of this id was seen.
    pub(super) fn knows(&self, id: u64) -> bool {
        self.0.get(id).is_some()
    }

    /// Remembers an item, unless its id is taken, and tells what was known of it before.
    pub(super) fn remember(&mut self, id: u64, content: u64) -> Seen {
        match self.0.add(id, || content) {
            None => Seen::Never,
            Some(known) if *known == content => Seen::Same,
            Some(_) => Seen::Other,
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
