//! The calls of a run, as far as decoding later lines needs them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::item::{Action, Id, Item};

/// Calls of one generation. The one before it is kept, too.
const MAX_CALLS: usize = 4_096;
/// Longest name of a tool that is remembered, in bytes.
const MAX_NAME: usize = 1_024;

/// How far a call has come.
#[derive(Clone)]
pub(super) enum Call {
    /// Its result has not come.
    Awaited(Option<Arc<str>>, Option<Action>),
    /// Its result has come.
    Answered,
}

/// Calls by the hashes of their ids.
type Generation = HashMap<u64, Call, FixedState>;

/// The calls that were made last.
#[derive(Default)]
pub(super) struct Calls {
    newest: Generation,
    older: Generation,
}

impl Calls {
    /// A call was made. One that is known already stays as it is.
    pub(super) fn made(&mut self, call: &Item) {
        let id = call.id.hash();
        if self.older.contains_key(&id) {
            return;
        }
        if self.newest.len() >= MAX_CALLS {
            std::mem::swap(&mut self.newest, &mut self.older);
            self.newest.clear();
        }
        let tool = call.tool.clone().filter(|tool| tool.len() <= MAX_NAME);
        self.newest.entry(id).or_insert(Call::Awaited(tool, call.action));
    }

    /// How far a call has come; `None` if there was none, or it is long ago.
    pub(super) fn get(&self, id: &Id) -> Option<&Call> {
        let id = id.hash();
        self.newest.get(&id).or_else(|| self.older.get(&id))
    }

    /// Whether the result of a call is still to come.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        matches!(self.get(id), Some(Call::Awaited(..)))
    }

    /// The result of a call has come.
    pub(super) fn answered(&mut self, id: &Id) {
        let id = id.hash();
        if let Some(call) = self.newest.get_mut(&id).or_else(|| self.older.get_mut(&id)) {
            *call = Call::Answered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Kind;

    fn call(id: usize) -> Item {
        Item::new(format!("call-{id}"), Kind::Call, 1)
    }

    #[test]
    fn a_call_is_awaited_until_its_result_comes_and_forgotten_after_many_others() {
        let mut calls = Calls::default();
        calls.made(&call(0));
        let id = call(0).id;
        assert!(calls.awaits(&id));
        calls.answered(&id);
        calls.made(&call(0));
        assert!(matches!(calls.get(&id), Some(Call::Answered)), "made again");
        for number in 1..=MAX_CALLS {
            calls.made(&call(number));
            assert!(calls.get(&id).is_some());
        }
        for number in MAX_CALLS + 1..=2 * MAX_CALLS {
            calls.made(&call(number));
        }
        assert!(calls.get(&id).is_none());
        assert!(calls.awaits(&call(2 * MAX_CALLS).id) && calls.awaits(&call(MAX_CALLS + 1).id));
        assert!(calls.newest.len() + calls.older.len() <= 2 * MAX_CALLS);
    }
}
