//! The recent calls of a run: results, which come on later lines, are matched with them.

use std::sync::Arc;

use streamfmt_core::budget::Budget;
use streamfmt_core::item::{Fact, FactRef, Id, Item, Kind, ToolKind};
use streamfmt_core::recent::Recent;

use crate::item_builder::ItemBuilder;
use crate::requests::Request;

/// The most calls that are remembered: as many as fit a table of 8,192 slots.
const MAX_CALLS: usize = 7_168;
/// The longest tool name that is remembered, in bytes.
const MAX_NAME: usize = 1_024;

/// The state of a call.
#[derive(Clone)]
pub(super) enum CallState {
    /// Its result hasn't come yet. Holds its tool and its kind, if known.
    Awaited(Option<Arc<str>>, Option<ToolKind>),
    /// Its result has come.
    Answered,
}

/// The most recent calls, by the hashes of their ids.
pub(super) struct Calls(Recent<CallState, 1>);

impl Calls {
    /// Remembers at least as many recent calls as the budget has lines, up to [`MAX_CALLS`].
    pub(super) fn new(budget: Budget) -> Self {
        Self(Recent::of(budget.lines.min(MAX_CALLS)))
    }

    /// Records that a call was made. Does nothing if the call is already known.
    pub(super) fn add(&mut self, call: &Item) {
        self.0.add(call.id.hash(), || {
            let tool = call.tool.clone().filter(|tool| tool.len() <= MAX_NAME);
            CallState::Awaited(tool, call.tool_kind)
        });
    }

    /// Returns the state of a call; `None` if it never occurred or was forgotten.
    pub(super) fn get(&self, id: &Id) -> Option<&CallState> {
        self.0.get(id.hash())
    }

    /// Returns the request of a call for permission, for an answer or for approval, depending on its tool.
    pub(super) fn request_of(&self, call: Id) -> Request {
        match self.get(&call) {
            Some(CallState::Awaited(tool, tool_kind)) => Request::of(call, tool.clone(), *tool_kind),
            _ => Request::of(call, None, None),
        }
    }

    /// Whether the call is known and its result hasn't come yet.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        matches!(self.get(id), Some(CallState::Awaited(..)))
    }

    /// Returns a result of a call, without content.
    pub(super) fn result_of<L>(&self, call: &Id, builder: &ItemBuilder<'_, L>) -> Item {
        let mut item = builder.item(Id::below(call.as_str(), "result"), Kind::Result);
        match self.get(call) {
            Some(CallState::Awaited(tool, tool_kind)) => {
                (item.tool, item.tool_kind) = (tool.clone(), *tool_kind);
            }
            Some(CallState::Answered) => item.data.push(("again", Fact::Bool(true))),
            None => item.data.push(("orphan", Fact::Bool(true))),
        }
        item.call = Some(call.clone());
        item
    }

    /// Records that the result of a call has come.
    pub(super) fn mark_answered(&mut self, id: &Id) {
        if let Some(call) = self.0.get_mut(id.hash()) {
            *call = CallState::Answered;
        }
    }
}

/// Returns the to-do list that a call writes, if any.
pub(super) fn points(call: &Item) -> Option<Fact> {
    let does = call.does();
    let points = does.get("todos").filter(|_| call.tool_kind == Some(ToolKind::Todos))?;
    let point = |point: FactRef<'_>| {
        let part = |name: &'static str| Some((name, Fact::Text(point.get(name)?.str()?.into_owned())));
        Fact::Map(["content", "status"].into_iter().filter_map(part).collect())
    };
    let points: Vec<_> = points.list().into_iter().map(point).collect();
    (!points.is_empty()).then_some(Fact::List(points))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: usize) -> Item {
        Item::new(format!("call-{id}"), Kind::Call, 1)
    }

    #[test]
    fn a_call_is_awaited_until_its_result_comes_and_forgotten_after_many_others() {
        let mut calls = Calls::new(Budget::default());
        calls.add(&call(0));
        let id = call(0).id;
        assert!(calls.awaits(&id));
        calls.mark_answered(&id);
        calls.add(&call(0));
        assert!(matches!(calls.get(&id), Some(CallState::Answered)), "made again");
        for number in 1..=MAX_CALLS {
            calls.add(&call(number));
            assert!(calls.get(&id).is_some());
        }
        for number in MAX_CALLS + 1..=2 * MAX_CALLS {
            calls.add(&call(number));
        }
        assert!(calls.get(&id).is_none());
        assert!(calls.awaits(&call(2 * MAX_CALLS).id) && calls.awaits(&call(MAX_CALLS + 1).id));
    }
}
