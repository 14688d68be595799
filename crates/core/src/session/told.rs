//! Which items were told already, as far back as there is memory for it.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// Items that are remembered at the least.
const MAX_ITEMS: usize = 65_536;

/// Hashes of ids, each with the hash of what was said under it.
type Hashes = HashMap<u64, u64, FixedState>;

/// Hashes of the items that were told last. When the newer half is full, the older one is forgotten whole: taking out
/// the oldest alone would move all others.
#[derive(Debug, Default)]
pub(super) struct Told {
    newer: Hashes,
    older: Hashes,
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
        self.content(id).is_some()
    }

    /// Remembers an item, unless its id is taken, and tells what was known of it before.
    pub(super) fn remember(&mut self, id: u64, content: u64) -> Seen {
        match self.content(id) {
            Some(known) if known == content => return Seen::Same,
            Some(_) => return Seen::Other,
            None => {}
        }
        if self.newer.len() >= MAX_ITEMS {
            std::mem::swap(&mut self.newer, &mut self.older);
            self.newer.clear();
        }
        self.newer.insert(id, content);
        Seen::Never
    }

    fn content(&self, id: u64) -> Option<u64> {
        self.newer.get(&id).or_else(|| self.older.get(&id)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_items_are_known_and_the_oldest_are_not() {
        let mut told = Told::default();
        let count = MAX_ITEMS as u64 * 3;
        for id in 0..count {
            assert!(matches!(told.remember(id, id), Seen::Never));
        }
        assert!((count - MAX_ITEMS as u64..count).all(|id| told.knows(id)));
        assert!(!told.knows(0));
        assert!(matches!(told.remember(count - 1, count - 1), Seen::Same));
        assert!(matches!(told.remember(count - 1, 0), Seen::Other));
        assert!(told.newer.len() + told.older.len() <= 2 * MAX_ITEMS);
    }
}
