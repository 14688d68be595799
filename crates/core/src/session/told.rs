//! Which items were told already, as far back as there is memory for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;

/// Items of one generation: as many as a table of 32,768 places takes before it grows. Small tables stay in a
/// processor's cache.
const MAX_ITEMS: usize = 28_672;
/// Full generations that are kept: 86,016 items, of the 65,536 that must be known.
const OLDER: usize = 3;

/// Hashes of ids, each with the hash of what was said under it.
type Hashes = HashMap<u64, u64, FixedState>;

/// Hashes of the items that were told last. When a generation is full, the oldest one is forgotten whole: taking out
/// the oldest items alone would move all others.
#[derive(Debug, Default)]
pub(super) struct Told {
    newest: Hashes,
    /// From the newest to the oldest.
    older: [Hashes; OLDER],
}

/// What is known of an item.
pub(super) enum Seen {
    /// Nothing has its id.
    Never,
    /// It was told just so.
    Same,
    /// Its id is that of something else.
    Other,
}

impl Told {
    /// Whether an item of this id was told.
    pub(super) fn knows(&self, id: u64) -> bool {
        self.newest.contains_key(&id) || self.older.iter().any(|generation| generation.contains_key(&id))
    }

    /// Remembers an item, unless its id is taken, and tells what was known of it before.
    pub(super) fn remember(&mut self, id: u64, content: u64) -> Seen {
        if self.newest.len() >= MAX_ITEMS {
            self.older.rotate_right(1);
            std::mem::swap(&mut self.newest, &mut self.older[0]);
            self.newest.clear();
        }
        let older = self.older.iter().find_map(|generation| generation.get(&id)).copied();
        let known = older.or_else(|| match self.newest.entry(id) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => {
                place.insert(content);
                None
            }
        });
        match known {
            None => Seen::Never,
            Some(known) if known == content => Seen::Same,
            Some(_) => Seen::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_items_are_known_and_the_oldest_are_not() {
        let mut told = Told::default();
        let count = 200_000;
        for id in 0..count {
            assert!(matches!(told.remember(id, id), Seen::Never));
        }
        assert!((count - 65_536..count).all(|id| told.knows(id)));
        assert!(!told.knows(0));
        assert!(matches!(told.remember(count - 1, count - 1), Seen::Same));
        assert!(matches!(told.remember(count - 1, 0), Seen::Other));
        let kept: usize = told.older.iter().map(Hashes::len).sum();
        assert!(told.newest.len() + kept <= (OLDER + 1) * MAX_ITEMS);
        assert!(told.newest.capacity() <= MAX_ITEMS, "a table has grown");
    }
}
