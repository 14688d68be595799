//! Names that are looked for in every line, found without comparing them all.

use std::sync::LazyLock;

/// Known names, each with what it means.
pub(super) struct Names<T: 'static> {
    /// Positions in the table plus one, by hash of the name; zero is empty.
    slots: [u8; SLOTS],
    table: &'static [(&'static str, T)],
}

/// Room for twice the names of the largest table, so that a look-up ends soon.
const SLOTS: usize = 256;

impl<T: Copy> Names<T> {
    /// Names that are sorted into their slots at first use.
    pub(super) const fn lazy(make: fn() -> Self) -> LazyLock<Self> {
        LazyLock::new(make)
    }

    /// Sorts a table of up to 200 names.
    pub(super) fn new(table: &'static [(&'static str, T)]) -> Self {
        debug_assert!(table.len() <= 200, "a table that would fill its slots");
        let mut slots = [0; SLOTS];
        for (index, (name, _)) in table.iter().enumerate() {
            let mut slot = hash(name);
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = index as u8 + 1;
        }
        Self { slots, table }
    }

    /// What `name` means, if it is known.
    pub(super) fn get(&self, name: &str) -> Option<T> {
        let mut slot = hash(name);
        while let Some(index) = usize::from(self.slots[slot]).checked_sub(1) {
            let (known, meaning) = self.table[index];
            if known == name {
                return Some(meaning);
            }
            slot = (slot + 1) % SLOTS;
        }
        None
    }
}

/// Length, both ends and the middle tell the names of one product apart well enough.
fn hash(name: &str) -> usize {
    let bytes = name.as_bytes();
    let at = |place: usize| usize::from(bytes.get(place).copied().unwrap_or(0));
    let length = bytes.len();
    (length * 37 + at(0) * 11 + at(length / 2) * 5 + at(length.wrapping_sub(1)) * 3 + at(length / 3)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_found_and_no_others() {
        static TABLE: [(&str, u8); 4] = [("a", 1), ("b", 2), ("session_id", 3), ("sessionId", 4)];
        let names = Names::new(&TABLE);
        for (name, meaning) in TABLE {
            assert_eq!(names.get(name), Some(meaning));
        }
        assert_eq!((names.get(""), names.get("c"), names.get("session_ib")), (None, None, None));
    }
}
