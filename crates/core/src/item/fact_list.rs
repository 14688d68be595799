//! The facts of an item, by name.

use std::ops::Deref;

use super::{Fact, FactSpec, FactTable};
use crate::json::Value;

/// Facts by name, in insertion order. Most lookups are for absent names, so a bit set of the names answers those without a
/// search. A [`Fact::Named`] or [`Fact::Parts`] without a name adds its parts as facts of the item, which are read when they are
/// looked up.
#[derive(Clone, Debug, Default)]
pub struct FactList {
    /// One bit for each name that may be present.
    names: u64,
    facts: Vec<(&'static str, Fact)>,
}

impl FactList {
    /// Whether no fact has this name.
    #[inline]
    pub(super) fn lacks(&self, name: &str) -> bool {
        self.names & bit(name) == 0
    }

    /// Appends parts of a value of the item's record as facts.
    pub fn read(&mut self, value: Value<'_>, parts: &'static [FactSpec]) {
        self.names |= parts.iter().fold(0, |names, part| names | bit(part.name));
        self.facts.push(("", Fact::Named(value.node(), parts)));
    }

    /// Like [`Self::read`], for a table of many parts: only those whose keys the value has are noted. Fields that the table doesn't know
    /// are passed to `others`.
    pub fn read_present<'a>(
        &mut self,
        value: Value<'a>,
        table: &'static FactTable,
        others: impl FnMut(&[u8], Value<'a>),
    ) {
        let parts = table.of(value, others);
        self.names |= parts.names().fold(0, |names, name| names | bit(name));
        self.facts.push(("", Fact::Parts(parts)));
    }

    /// Appends a fact.
    pub fn push(&mut self, (name, fact): (&'static str, Fact)) {
        self.names |= bit(name);
        self.facts.push((name, fact));
    }

    /// Reserves capacity for `count` facts if there are none yet: making a vector takes half as long as growing an empty one.
    pub fn reserve(&mut self, count: usize) {
        if self.facts.capacity() == 0 {
            self.facts = Vec::with_capacity(count);
        }
    }

    /// Keeps only the facts for which `keeps` returns true.
    pub fn retain(&mut self, keeps: impl FnMut(&(&'static str, Fact)) -> bool) {
        self.facts.retain(keeps);
    }
}

impl Deref for FactList {
    type Target = [(&'static str, Fact)];

    fn deref(&self) -> &Self::Target {
        &self.facts
    }
}

impl Extend<(&'static str, Fact)> for FactList {
    fn extend<T: IntoIterator<Item = (&'static str, Fact)>>(&mut self, facts: T) {
        facts.into_iter().for_each(|fact| self.push(fact));
    }
}

/// The bit of a name. Several names may share one.
#[inline]
fn bit(name: &str) -> u64 {
    match name.as_bytes() {
        [first, .., last] => {
            1 << ((usize::from(*first) * 3 + usize::from(*last) * 11 + name.len() * 13) % 64)
        }
        _ => 1,
    }
}
