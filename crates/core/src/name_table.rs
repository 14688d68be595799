//! A hash table with a fixed set of names, for tools, keys and facts.

use std::sync::LazyLock;

use crate::json::is_same;

/// A map from known names to values.
#[derive(Debug)]
pub struct NameTable<T> {
    /// Indexes into the table plus one, by the hash of the name; zero is an empty slot.
    slots: [u8; SLOTS],
    table: Box<[(&'static str, T)]>,
}

/// The number of slots: twice the names of the largest table, so that collisions are rare.
const SLOTS: usize = 256;

impl<T: Copy> NameTable<T> {
    /// A table that is built at its first use.
    pub const fn lazy(make: fn() -> Self) -> LazyLock<Self> {
        LazyLock::new(make)
    }

    /// Builds a table of up to 200 names.
    pub fn new(table: &[(&'static str, T)]) -> Self {
        debug_assert!(table.len() <= 200, "a table that would fill its slots");
        let mut slots = [0; SLOTS];
        for (index, (name, _)) in table.iter().enumerate() {
            let mut slot = hash(name.as_bytes());
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = index as u8 + 1;
        }
        Self { slots, table: table.into() }
    }

    /// The value of `name`, if it is known.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<T> {
        self.at(hash(name), name)
    }

    /// The value of `name`, if it is in this slot or a later one. Most names are in the first.
    #[expect(clippy::inline_always, reason = "it is called for every key of a line")]
    #[inline(always)]
    fn at(&self, slot: usize, name: &[u8]) -> Option<T> {
        let (known, meaning) = self.table[usize::from(self.slots[slot]).checked_sub(1)?];
        if is_same(known.as_bytes(), name) { Some(meaning) } else { self.behind(slot, name) }
    }

    #[cold]
    fn behind(&self, slot: usize, name: &[u8]) -> Option<T> {
        self.at((slot + 1) % SLOTS, name)
    }
}

/// The slot of a name, from its length and both ends, which distinguish the names of one product well enough.
#[inline]
fn hash(name: &[u8]) -> usize {
    let ends = match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (Some(first), Some(last)) => u32::from_le_bytes(*first) ^ u32::from_le_bytes(*last).rotate_left(13),
        _ => name.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
    };
    (ends ^ name.len() as u32).wrapping_mul(0x9e37_79b1) as usize >> 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_found_and_no_others() {
        static TABLE: [(&str, u8); 4] = [("a", 1), ("b", 2), ("session_id", 3), ("sessionId", 4)];
        let names = NameTable::new(&TABLE);
        for (name, meaning) in TABLE {
            assert_eq!(names.get(name.as_bytes()), Some(meaning));
        }
        assert_eq!((names.get(b""), names.get(b"c"), names.get(b"session_ib")), (None, None, None));
    }
}
