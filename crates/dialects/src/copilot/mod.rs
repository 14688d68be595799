//! GitHub Copilot CLI: one decoder for the stream of `--output-format json` and for the session file, which has the same lines without
//! those that are marked as ephemeral.
//!
//! ```text
//! {"type":"assistant.message","data":{…},"id":…,"timestamp":…,"parentId":…}
//! {"type":"result","sessionId":…,"exitCode":0,"usage":{…}}                     [the last line of a stream]
//! ```
//!
//! A stream repeats almost everything: text and thoughts as pieces and as a whole, calls as pieces of their input, in their message and
//! when they start, output as pieces and in the result. Each becomes one item.

mod histories;
mod launch;
mod lines;
mod message;
mod result;
pub(super) mod tools;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::filled;
use crate::item_builder::{ItemBuilder, not_an_event};
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Id, Item, Kind, Status};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::recent::Recent;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

pub(super) use histories::HISTORIES;
pub(super) use launch::LAUNCH;

use message::CompleteThought;
use result::AgentTotals;

/// The most items that are known to be open at the same time.
const MAX_OPEN: usize = 64;
/// The most sub-agents that are remembered.
const MAX_AGENTS: usize = 1_024;

/// Whether a value is an event of Copilot.
pub(super) fn claim(value: Value<'_>) -> bool {
    let [kind, data, parent, exit, session] =
        value.get_all(["type", "data", "parentId", "exitCode", "sessionId"]);
    let Some(kind) = kind.and_then(Value::str) else { return false };
    let is_event = parent.is_some() && is_object(data) && (kind.is("abort") || kind.raw().contains('.'));
    is_event || kind.is("result") && exit.is_some() && session.is_some()
}

/// Whether an event has marks of Copilot. The last line of a stream hasn't: other programs end with a `result`, too.
pub(super) fn is_certain(value: Value<'_>) -> bool {
    value.get("data").is_some()
}

/// Whether a value is a line that only streams have.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    let [kind, ephemeral] = value.get_all(["type", "ephemeral"]);
    ephemeral.and_then(Value::bool) == Some(true)
        || kind.and_then(Value::str).is_some_and(|kind| kind.is("result"))
}

fn is_object(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| value.kind() == ValueKind::Object)
}

/// The decoder: its state between lines.
pub(super) struct Copilot {
    session: Option<SessionId>,
    /// Whether a line has described the session.
    is_announced: bool,
    calls: Calls,
    /// The call that started each sub-agent, by the hash of the sub-agent's id.
    agents: Recent<Id, 1>,
    /// The totals of sub-agents that have ended, by the hash of the id of their call.
    totals_of_agents: Recent<AgentTotals, 1>,
    /// Items that are being written: their kind, the call that they are inside of, and their id.
    open: Vec<(Kind, Option<Id>, Id)>,
    /// The results that grow while their command writes output.
    growing: Vec<Id>,
    /// The last complete thought of each agent, by the hash of the id of its call.
    thoughts: Recent<CompleteThought, 1>,
    /// The notice for a failed request, until it is known whether the request is repeated.
    failure: Option<Box<Item>>,
    /// The totals of the session, from the last line that has them.
    totals: Option<Box<Item>>,
}

impl Copilot {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        let agents = budget.lines.min(MAX_AGENTS);
        Self {
            session: None,
            is_announced: false,
            calls: Calls::new(budget),
            agents: Recent::of(agents),
            totals_of_agents: Recent::of(agents),
            open: Vec::new(),
            growing: Vec::new(),
            thoughts: Recent::of(agents),
            failure: None,
            totals: None,
        }
    }
}

impl Decoder for Copilot {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let [kind, data, agent, at] = input.value.get_all(["type", "data", "agentId", "timestamp"]);
        let Some(kind) = kind.and_then(Value::decode) else { return not_an_event(input, out) };
        let parent = self.parent_of(agent, data).or_else(|| input.parent.cloned());
        let mut builder = ItemBuilder::new(input, (), parent, self.session.clone(), out);
        builder.at = at.map(Value::node);
        match data.filter(|data| data.kind() == ValueKind::Object) {
            Some(data) => self.line(&kind, data, &mut builder),
            None if &*kind == "result" => self.outcome(&mut builder),
            None => builder.unknown(kind.into_owned(), input.value),
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        out.extend(self.failure.take().map(Event::Put));
        out.extend(self.totals.take().map(Event::Put));
    }
}

impl Copilot {
    /// Returns the call that a line is inside of. A sub-agent whose start is missing gets an id of its own, so that its words never
    /// look like those of the main agent.
    fn parent_of(&self, agent: Option<Value<'_>>, data: Option<Value<'_>>) -> Option<Id> {
        let id = |value: Option<Value<'_>>| filled(value)?.decode().map(|id| Id::from(&*id));
        if let Some(call) = id(data.and_then(|data| data.get("parentToolCallId"))) {
            return Some(call);
        }
        let agent = id(agent)?;
        Some(self.agents.get(agent.hash()).cloned().unwrap_or(agent))
    }

    /// Sets the session that this line and the following ones belong to.
    fn begin(&mut self, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let id = id.and_then(Value::decode).filter(|id| !id.is_empty());
        self.session = id.map(|id| Arc::from(&*id)).or_else(|| self.session.take());
        builder.session.clone_from(&self.session);
    }

    /// Returns the facts of the run: the agent and its session.
    fn facts(&self) -> Facts {
        Facts {
            agent: Some(Text::own("copilot")),
            session: self.session.as_deref().map(Text::clean),
            ..Facts::default()
        }
    }

    /// Appends a piece to an item, which is opened if it isn't open yet.
    fn append(&mut self, item: Item, piece: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let id = item.id.clone();
        if self.open.iter().all(|(.., open)| *open != id) {
            if self.open.len() < MAX_OPEN {
                self.open.push((item.kind, item.parent.clone(), id.clone()));
            }
            builder.emit(Event::Open(Box::new(item)));
        }
        if let Some(piece) = piece.and_then(Value::decode) {
            builder.emit(Event::Append { id, text: piece.into_owned() });
        }
    }

    /// Forgets that an item is open: it is complete.
    fn complete(&mut self, id: &Id) {
        self.open.retain(|(.., open)| open != id);
    }

    /// Closes the items that an agent was writing: no line will complete them.
    fn close_open(&mut self, builder: &mut ItemBuilder<'_>) {
        let parent = builder.parent.clone();
        self.close(|of| *of == parent, builder.out);
    }

    /// Closes the open items of agents that are inside of these calls. Thoughts are often never repeated as a whole.
    fn close(&mut self, is_of: impl Fn(&Option<Id>) -> bool, out: &mut Vec<Event>) {
        for (kind, _, id) in self.open.extract_if(.., |(_, of, _)| is_of(of)) {
            let status = if kind == Kind::Thinking { Status::Done } else { Status::Cancelled };
            out.push(Event::Close { id, status });
        }
    }

    /// Drops the items that an agent was writing: the request is repeated, and they are written again.
    fn drop_open(&mut self, builder: &mut ItemBuilder<'_>) {
        let parent = builder.parent.clone();
        for (.., id) in self.open.extract_if(.., |(_, of, _)| *of == parent) {
            builder.emit(Event::Drop(id));
        }
    }
}
