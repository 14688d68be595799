//! The names of masked ids.

use std::collections::HashMap;

use crate::item::Id;

/// How many masked ids are remembered.
const MAX_IDS: usize = 4_096;

/// Distinguishes ids that become equal when they are masked: all but the first get a number.
#[derive(Default)]
pub(super) struct MaskedIds {
    /// Hash of an id → its number among those with the same masked form, from 1.
    numbers: HashMap<u64, u32>,
    /// Hash of a masked form → how many ids have it.
    alike: HashMap<u64, u32>,
}

impl MaskedIds {
    /// The name of `id`, whose masked form is `masked`. Past the limit, further ids get no number.
    pub(super) fn name(&mut self, id: &Id, masked: String) -> Id {
        let number = match self.numbers.get(&id.hash()) {
            Some(number) => *number,
            None if self.numbers.len() >= MAX_IDS => 1,
            None => {
                let alike = self.alike.entry(Id::from(&*masked).hash()).or_default();
                *alike += 1;
                self.numbers.insert(id.hash(), *alike);
                *alike
            }
        };
        if number == 1 { masked.into() } else { format!("{masked}~{number}").into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ids_stay_equal_and_different_ones_different() {
        let mut ids = MaskedIds::default();
        let mut name = |id: &str| ids.name(&id.into(), "[redacted]".to_owned()).to_string();
        assert_eq!(
            [name("a"), name("b"), name("a"), name("b")],
            ["[redacted]", "[redacted]~2", "[redacted]", "[redacted]~2"]
        );
    }

    #[test]
    fn beyond_the_limit_ids_that_are_known_stay_different_and_new_ones_have_no_number() {
        let mut ids = MaskedIds::default();
        let mut name = |id: &str| ids.name(&id.into(), "[redacted]".to_owned()).to_string();
        for number in 0..MAX_IDS {
            name(&number.to_string());
        }
        assert_eq!(name("another"), "[redacted]");
        assert_eq!(name("1"), "[redacted]~2");
        assert_eq!(name(&(MAX_IDS - 1).to_string()), format!("[redacted]~{MAX_IDS}"));
        assert_eq!(ids.numbers.len(), MAX_IDS);
    }
}
