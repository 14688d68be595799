//! What ids are called that were masked.

use std::collections::HashMap;

use crate::item::Id;

/// Ids that were masked and are remembered.
const MAX_IDS: usize = 4_096;

/// Tells ids apart that are the same once they are masked: behind the first of them they are numbered.
#[derive(Default)]
pub(super) struct MaskedIds {
    /// Hash of an id → its number among those that are masked alike, from 1.
    numbers: HashMap<u64, u32>,
    /// Hash of a masked id → how many are masked so.
    alike: HashMap<u64, u32>,
}

impl MaskedIds {
    /// What `id` is called, of which masking has left `masked`. Of too many, further ones aren't told apart.
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
    fn the_same_id_is_called_the_same_and_no_other_so() {
        let mut ids = MaskedIds::default();
        let mut name = |id: &str| ids.name(&id.into(), "[redacted]".to_owned()).to_string();
        assert_eq!(
            [name("a"), name("b"), name("a"), name("b")],
            ["[redacted]", "[redacted]~2", "[redacted]", "[redacted]~2"]
        );
    }
}
