//! Requests to a person: which call each is about, and the notices that the call waits and no longer does.

use std::sync::Arc;

use crate::facts::minor;
use crate::item_builder::ItemBuilder;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Item, ToolKind, WAITED, WAITING, WaitsFor};
use streamfmt_core::recent::Recent;

/// The most requests that are remembered.
const MAX_REQUESTS: usize = 256;

/// A request to a person.
#[derive(Clone)]
pub(super) struct Request {
    /// The call that waits for the answer.
    pub(super) call: Id,
    /// The call's tool, if known.
    pub(super) tool: Option<Arc<str>>,
    /// What is needed.
    pub(super) waits_for: WaitsFor,
}

impl Request {
    /// Returns the request of a call of a tool of this kind.
    pub(super) fn of(call: Id, tool: Option<Arc<str>>, tool_kind: Option<ToolKind>) -> Self {
        let waits_for = match tool_kind {
            Some(ToolKind::Ask) => WaitsFor::Answer,
            Some(ToolKind::PlanMode) => WaitsFor::Approval,
            _ => WaitsFor::Permission,
        };
        Self { call, tool, waits_for }
    }

    /// Returns the notice that the call waits.
    pub(super) fn notice<L>(&self, builder: &mut ItemBuilder<'_, L>) -> Item {
        self.notice_of(WAITING, builder)
    }

    fn notice_of<L>(&self, event: &str, builder: &mut ItemBuilder<'_, L>) -> Item {
        let mut notice = builder.notice(event, Content::None);
        let text = |text: &str| Fact::Text(text.to_owned());
        notice.data.extend([("call", text(self.call.as_str())), ("for", text(self.waits_for.name()))]);
        notice.data.extend(self.tool.as_deref().map(|tool| ("tool", text(tool))));
        notice
    }
}

/// The last requests, by the hashes of their ids and of their calls.
pub(super) struct Requests(Recent<Request, 1>);

impl Requests {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        Self(Recent::of(2 * MAX_REQUESTS))
    }

    /// Remembers a request. `id`: its id, if the stream has one.
    pub(super) fn add(&mut self, id: Option<&str>, request: &Request) {
        for key in id.map(hash).into_iter().chain([request.call.hash()]) {
            match self.0.get_mut(key) {
                Some(known) => *known = request.clone(),
                None => {
                    self.0.add(key, || request.clone());
                }
            }
        }
    }

    /// Emits a notice that a call no longer waits, if this is the id of its request or its own. The session drops a notice that changes nothing.
    pub(super) fn end<L>(&self, id: &str, builder: &mut ItemBuilder<'_, L>) -> bool {
        let Some(request) = self.0.get(hash(id)) else { return false };
        let notice = request.notice_of(WAITED, builder);
        builder.put(minor(notice));
        true
    }
}
