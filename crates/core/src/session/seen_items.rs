//! Which items were seen already, as far back as there is memory for it.

use crate::budget::Budget;
use crate::recent::Recent;

/// Full generations that are kept. Small tables stay in a processor's cache: by default they have 32,768 places.
const OLDER: usize = 3;

/// Hashes of ids, each with the hash of the text that it came with.
#[derive(Debug)]
pub(super) struct SeenItems(Recent<u64, OLDER>);

impl Default for SeenItems {
    fn default() -> Self {
        Self::new(Budget::default().ids)
    }
}

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
    /// Knows at least the last `ids` items.
    pub(super) fn new(ids: usize) -> Self {
        Self(Recent::of(ids))
    }

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

    /// What has this id, while that is remembered, is something else than was thought.
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
