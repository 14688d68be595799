//! The calls of a run, as far as decoding later lines needs them.

use std::sync::Arc;

use streamfmt_core::budget::Budget;
use streamfmt_core::item::{Deed, Id, Item};
use streamfmt_core::recent::Recent;

/// Calls that are known at most: as many as a table of 8,192 places takes.
const MAX_CALLS: usize = 7_168;
/// Longest name of a tool that is remembered, in bytes.
const MAX_NAME: usize = 1_024;

/// How far a call has come.
#[derive(Clone)]
pub(super) enum CallState {
    /// Its result has not come.
    Awaited(Option<Arc<str>>, Option<Deed>),
    /// Its result has come.
    Answered,
}

/// The calls that were made last, by the hashes of their ids.
pub(super) struct Calls(Recent<CallState, 1>);

impl Calls {
    /// Knows at least the last calls, as many as the budget says.
    pub(super) fn new(budget: Budget) -> Self {
        Self(Recent::of(budget.lines.min(MAX_CALLS)))
    }

    /// A call was made. One that is known already stays as it is.
    pub(super) fn made(&mut self, call: &Item) {
        self.0.add(call.id.hash(), || {
            let tool = call.tool.clone().filter(|tool| tool.len() <= MAX_NAME);
            CallState::Awaited(tool, call.deed)
        });
    }

    /// How far a call has come; `None` if there was none, or it is long ago.
    pub(super) fn get(&self, id: &Id) -> Option<&CallState> {
        self.0.get(id.hash())
    }

    /// Whether the result of a call is still to come.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        matches!(self.get(id), Some(CallState::Awaited(..)))
    }

    /// The result of a call has come.
    pub(super) fn answered(&mut self, id: &Id) {
        if let Some(call) = self.0.get_mut(id.hash()) {
            *call = CallState::Answered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::Kind;

    fn call(id: usize) -> Item {
        Item::new(format!("call-{id}"), Kind::Call, 1)
    }

    #[test]
    fn a_call_is_awaited_until_its_result_comes_and_forgotten_after_many_others() {
        let mut calls = Calls::new(Budget::default());
        calls.made(&call(0));
        let id = call(0).id;
        assert!(calls.awaits(&id));
        calls.answered(&id);
        calls.made(&call(0));
        assert!(matches!(calls.get(&id), Some(CallState::Answered)), "made again");
        for number in 1..=MAX_CALLS {
            calls.made(&call(number));
            assert!(calls.get(&id).is_some());
        }
        for number in MAX_CALLS + 1..=2 * MAX_CALLS {
            calls.made(&call(number));
        }
        assert!(calls.get(&id).is_none());
        assert!(calls.awaits(&call(2 * MAX_CALLS).id) && calls.awaits(&call(MAX_CALLS + 1).id));
    }
}
