//! All items so far, and the facts of the run.

use indexmap::IndexMap;

use crate::item::{Id, Item};
use crate::text::Text;

/// What is known of the run as a whole. Cleaned, ready to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The agent's product, as a dialect names it: `claude`.
    pub agent: Option<Text>,
    /// The agent's version.
    pub version: Option<Text>,
    /// The model that answers.
    pub model: Option<Text>,
    /// The folder that the session works in.
    pub cwd: Option<Text>,
    /// The session's id.
    pub session: Option<Text>,
    /// The permission mode.
    pub mode: Option<Text>,
}

/// All items so far, and the facts of the run.
#[derive(Debug, Default)]
pub struct Session {
    facts: Facts,
    calls: IndexMap<Id, Item>,
}

impl Session {
    /// What is known of the run.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// A call whose result is awaited (or just being formatted), while it is remembered.
    pub fn call(&self, id: &Id) -> Option<&Item> {
        self.calls.get(id)
    }
}

#[cfg(test)]
impl Session {
    /// A session in which these calls await their results.
    pub(crate) fn awaiting(facts: Facts, calls: impl IntoIterator<Item = Item>) -> Self {
        Self { facts, calls: calls.into_iter().map(|call| (call.id.clone(), call)).collect() }
    }
}
