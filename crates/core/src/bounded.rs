//! A map with a limit: what came first is forgotten first.

use std::ops::{Deref, DerefMut};

use crate::hash::Map;

/// A map whose callers limit how much it remembers. It keeps the order in which its keys came.
///
/// ```
/// use streamfmt_core::bounded::Bounded;
///
/// let mut calls = Bounded::default();
/// for number in 0..5 {
///     calls.add(number, "call", 4);
/// }
/// assert_eq!(calls.keys().collect::<Vec<_>>(), [&2, &3, &4]);
/// ```
#[derive(Clone, Debug)]
pub struct Bounded<K, V>(Map<K, V>);

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<K: std::hash::Hash + Eq, V> Bounded<K, V> {
    /// Adds a value, or replaces that of the key. If there are `most` already, the older half is forgotten before: half at a time, since
    /// removing the first of many moves all others. Returns what was forgotten.
    pub fn add(&mut self, key: K, value: V, most: usize) -> Vec<(K, V)> {
        let is_full = self.0.len() >= most && !self.0.contains_key(&key);
        let forgotten = if is_full { self.0.drain(..most.div_ceil(2)).collect() } else { Vec::new() };
        self.0.insert(key, value);
        forgotten
    }
}

impl<K, V> Deref for Bounded<K, V> {
    type Target = Map<K, V>;

    fn deref(&self) -> &Map<K, V> {
        &self.0
    }
}

impl<K, V> DerefMut for Bounded<K, V> {
    fn deref_mut(&mut self) -> &mut Map<K, V> {
        &mut self.0
    }
}
