//! A bounded map of the most recent values, for recognising them later in an endless stream.

use std::array;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;

use crate::budget::Budget;

type Generation<V> = HashMap<u64, V, FixedState>;

/// A map from hashes to the values that were added last: at least `OLDER` generations of them. When a generation is full, the
/// oldest one is dropped as a whole, because removing single values would move all others.
#[derive(Debug)]
pub struct Recent<V, const OLDER: usize> {
    /// The most values of a generation: seven eighths of a power of two, the load at which a table grows.
    most: usize,
    newest: Generation<V>,
    /// From the newest to the oldest.
    older: [Generation<V>; OLDER],
}

impl<V, const OLDER: usize> Default for Recent<V, OLDER> {
    /// Remembers at least as many values as a session remembers ids by default.
    fn default() -> Self {
        Self::of(Budget::default().ids)
    }
}

impl<V, const OLDER: usize> Recent<V, OLDER> {
    /// Remembers at least the last `count` values.
    pub fn of(count: usize) -> Self {
        let most = 7 * count.div_ceil(OLDER).div_ceil(7).next_power_of_two();
        Self { most, newest: Generation::default(), older: array::from_fn(|_| Generation::default()) }
    }

    /// The value of `key`, while it is remembered.
    pub fn get(&self, key: u64) -> Option<&V> {
        self.newest.get(&key).or_else(|| self.older.iter().find_map(|generation| generation.get(&key)))
    }

    /// Like [`Self::get`], mutable.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        let mut generations = std::iter::once(&mut self.newest).chain(&mut self.older);
        generations.find_map(|generation| generation.get_mut(&key))
    }

    /// Adds a value for `key`, unless there is one already: then that stays unchanged, and is returned.
    pub fn add(&mut self, key: u64, value: impl FnOnce() -> V) -> Option<&V> {
        let known = self.older.iter().position(|generation| generation.contains_key(&key));
        if let Some(generation) = known {
            return self.older[generation].get(&key);
        }
        let count = self.newest.len();
        // With this many values, more will probably come, so the table is grown to its full size at once. Growing it in steps would
        // touch twice the memory.
        if count == self.most / 8 {
            self.newest.reserve(self.most - count);
        } else if count >= self.most && !self.newest.contains_key(&key) {
            self.older.rotate_right(1);
            std::mem::swap(&mut self.newest, &mut self.older[0]);
            self.newest.clear();
            self.newest.reserve(self.most);
        }
        match self.newest.entry(key) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                place.insert(value());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds far more values than it keeps.
    fn keeps_the_last<const OLDER: usize>(most: usize) {
        let mut recent = Recent::<u64, OLDER>::of(most * OLDER);
        assert_eq!(recent.most, most);
        let (table, most, older) = (most, most as u64, OLDER as u64);
        let count = 3 * (older + 1) * most + most / 2;
        for key in 0..count {
            assert!(recent.add(key, || 2 * key).is_none());
            assert_eq!(recent.add(key, || 0), Some(&(2 * key)), "added again");
        }
        assert!((count - older * most..count).all(|key| recent.get(key) == Some(&(2 * key))));
        assert!(recent.get(0).is_none() && recent.get_mut(0).is_none());
        for key in [count - 1, count - older * most] {
            *recent.get_mut(key).unwrap() = 7;
            assert_eq!(recent.get(key), Some(&7));
            assert_eq!(recent.add(key, || 0), Some(&7));
        }
        let kept: usize = recent.older.iter().map(Generation::len).sum();
        assert!(recent.newest.len() + kept <= (OLDER + 1) * table);
        let all = std::iter::once(&recent.newest).chain(&recent.older);
        assert!(all.map(Generation::capacity).all(|capacity| capacity <= table), "a table has grown");
    }

    #[test]
    fn the_last_values_are_remembered_and_the_oldest_are_not() {
        keeps_the_last::<3>(56);
        keeps_the_last::<1>(7_168);
        keeps_the_last::<3>(28_672);
    }

    #[test]
    fn by_default_the_last_65536_are_remembered() {
        let mut recent = Recent::<u64, 3>::default();
        let count = 200_000;
        for key in 0..count {
            assert!(recent.add(key, || key).is_none());
        }
        assert!((count - 65_536..count).all(|key| recent.get(key).is_some()));
        assert!(recent.get(0).is_none());
    }
}
