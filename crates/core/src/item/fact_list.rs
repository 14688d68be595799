//! The facts of an item, by name.

use std::ops::Deref;

use super::{Fact, NamedPart};
use crate::json::{Value, is_same};

/// Facts by name, in insertion order. Most lookups are for absent names, so a bit set of the names answers those without a
/// search. A [`Fact::Named`] without a name adds its parts as facts of the item, which are read when they are looked up.
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

    /// The first fact of this name, apart from parts.
    pub(super) fn find(&self, name: &str) -> Option<&Fact> {
        let is_it = |(known, _): &&(&'static str, Fact)| is_same(known.as_bytes(), name.as_bytes());
        self.facts.iter().find(is_it).map(|(_, fact)| fact)
    }

    /// The values whose parts are facts of the item.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|(name, _)| name.is_empty()).map(|(_, parts)| parts)
    }

    /// Appends parts of a value of the item's record as facts.
    pub fn read(&mut self, value: Value<'_>, parts: &'static [NamedPart]) {
        self.names |= parts.iter().fold(0, |names, part| names | bit(part.name));
        self.facts.push(("", Fact::Named(value.node(), parts)));
    }

    /// Appends a fact.
    pub fn push(&mut self, (name, fact): (&'static str, Fact)) {
        self.names |= bit(name);
        self.facts.push((name, fact));
    }

    /// Adds a fact, in place of the one with its name, if any.
    pub fn set(&mut self, name: &'static str, fact: Fact) {
        let known =
            if self.lacks(name) { None } else { self.facts.iter_mut().find(|(known, _)| *known == name) };
        match known {
            Some((_, known)) => *known = fact,
            None => self.push((name, fact)),
        }
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
