//! A fixed table of names and their meanings, as of tools, keys and facts: one is found by its hash, without comparing them all.

use std::sync::LazyLock;

use crate::json::is_same;

/// Known names, each with what it means.
pub struct NameTable<T: 'static> {
    /// Positions in the table plus one, by hash of the name; zero is empty.
    slots: [u8; SLOTS],
    table: &'static [(&'static str, T)],
}

/// Room for twice the names of the largest table, so that a look-up ends soon.
const SLOTS: usize = 256;

impl<T: Copy> NameTable<T> {
    /// Names that are sorted into their slots at first use.
    pub const fn lazy(make: fn() -> Self) -> LazyLock<Self> {
        LazyLock::new(make)
    }

    /// Sorts a table of up to 200 names.
    pub fn new(table: &'static [(&'static str, T)]) -> Self {
        debug_assert!(table.len() <= 200, "a table that would fill its slots");
        let mut slots = [0; SLOTS];
        for (index, (name, _)) in table.iter().enumerate() {
            let mut slot = hash(name.as_bytes());
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = index as u8 + 1;
        }
        Self { slots, table }
    }

    /// What `name` means, if it is known.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<T> {
        self.at(hash(name), name)
    }

    /// What `name` means, if it is known in this slot or a later one. Most names are in their own.
    #[expect(clippy::inline_always, reason = "it is asked of every key of a line")]
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

/// Length and both ends tell the names of one product apart well enough.
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
