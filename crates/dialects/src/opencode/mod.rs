//! opencode: one decoder for the stream of `opencode run --format json`, the events of its server, and exported sessions. The form of each
//! value shows which of the three it belongs to, and all have the same parts of messages.
//!
//! ```text
//! {"type":"tool_use","timestamp":…,"sessionID":…,"part":{…}}                  [run]
//! {"type":"message.part.updated","properties":{"part":{…}}}                   [server]
//! {"info":{…},"messages":[{"info":{…},"parts":[{…}]}]}                        [export]
//! ```
//!
//! A run has no first and no last line: a turn ends with the step of the model after which no other is needed. The parts of a run are written
//! as they end, so a quick call may come before the text that announces it.

mod database;
mod errors;
mod launch;
mod messages;
mod parts;
mod result;
mod server;
pub(super) mod tools;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::{fail, nodes, string};
use crate::item_builder::{ItemBuilder, not_an_event};
use crate::requests::Requests;
use crate::step_totals::StepTotals;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Id, Item, Kind, Status};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::recent::Recent;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

pub(super) use database::DATABASE;
pub(super) use launch::LAUNCH;

/// The most messages of which the author is remembered.
const MAX_MESSAGES: usize = 1_024;
/// The most sessions of sub-agents whose calls are remembered.
const MAX_AGENTS: usize = 256;

/// Whether a value is an event of opencode.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == ValueKind::Array {
        return value.items().next().is_some_and(claim);
    }
    OpencodeForm::of(value).is_some()
}

/// Whether a value is a line of a run. Events of a server may end at any time, and an exported session too.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    matches!(OpencodeForm::of(value), Some(OpencodeForm::Run))
}

/// The form of a value.
#[derive(Clone, Copy)]
enum OpencodeForm<'a> {
    /// A line of a run.
    Run,
    /// An event of the server, from an object with its type and properties.
    Server(Value<'a>),
    /// An exported session: its facts and messages.
    Export(Value<'a>, Value<'a>),
    /// A message: its facts and parts.
    Message(Value<'a>, Value<'a>),
    /// A part of a message by itself.
    Part,
}

impl<'a> OpencodeForm<'a> {
    fn of(value: Value<'a>) -> Option<Self> {
        let [kind, session, message, properties, payload, info, messages, parts] = value.get_all([
            "type",
            "sessionID",
            "messageID",
            "properties",
            "payload",
            "info",
            "messages",
            "parts",
        ]);
        let is = |value: Option<Value<'_>>, kind| value.is_some_and(|value| value.kind() == kind);
        if let Some(kind) = kind.and_then(Value::str) {
            let kind = kind.decode();
            return if is(session, ValueKind::String) && parts::is_line(&kind) {
                Some(Self::Run)
            } else if is(properties, ValueKind::Object) && server::is_event(&kind) {
                Some(Self::Server(value))
            } else if is(session, ValueKind::String) && is(message, ValueKind::String) {
                Some(Self::Part)
            } else {
                None
            };
        }
        if let Some(event) = payload.filter(|event| event.get("properties").is_some()) {
            let kind = event.get("type").and_then(Value::decode)?;
            return server::is_event(&kind).then_some(Self::Server(event));
        }
        let info = info.filter(|info| info.get("id").is_some())?;
        match (messages, parts) {
            (Some(messages), _) if messages.kind() == ValueKind::Array => Some(Self::Export(info, messages)),
            (_, Some(parts)) if parts.kind() == ValueKind::Array => Some(Self::Message(info, parts)),
            _ => None,
        }
    }
}

/// The author of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageAuthor {
    Person,
    Agent,
    /// The agent, which summarises the conversation.
    Summary,
}

/// The decoder: its state between lines.
pub(super) struct Opencode {
    session: Option<SessionId>,
    calls: Calls,
    /// The parts of calls, by the hashes of the ids that the model gave the calls. Requests name these.
    parts_of_calls: Recent<Id, 1>,
    requests: Requests,
    /// The authors of messages, by the hashes of their ids.
    authors: Recent<MessageAuthor, 1>,
    /// The sessions of sub-agents, by the hashes of their ids, each with its call.
    agents: Recent<Id, 1>,
    /// The steps that were counted, by the hashes of their ids.
    steps: Recent<(), 1>,
    totals: StepTotals,
    /// Whether parts may grow: those of a server's events may.
    is_live: bool,
    /// Whether a part has come since the last outcome.
    is_at_work: bool,
    /// The outcome of a turn that has failed, unless the agent continues after all.
    failure: Option<Box<Item>>,
}

impl Opencode {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            calls: Calls::new(budget),
            parts_of_calls: Recent::of(budget.lines.min(MAX_MESSAGES)),
            requests: Requests::new(),
            authors: Recent::of(budget.lines.min(MAX_MESSAGES)),
            agents: Recent::of(budget.lines.min(MAX_AGENTS)),
            steps: Recent::of(budget.lines.min(MAX_MESSAGES)),
            totals: StepTotals::default(),
            is_live: false,
            is_at_work: false,
            failure: None,
        }
    }
}

impl Decoder for Opencode {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        let form = OpencodeForm::of(input.value);
        self.is_live = matches!(form, Some(OpencodeForm::Server(_)));
        match form {
            Some(OpencodeForm::Run) => self.run(&mut builder),
            Some(OpencodeForm::Server(event)) => self.server(event, &mut builder),
            Some(OpencodeForm::Export(info, messages)) => self.export(info, messages, &mut builder),
            Some(OpencodeForm::Message(info, parts)) => self.message(info, parts, &mut builder),
            Some(OpencodeForm::Part) => {
                self.enter(input.value.get("sessionID"), &mut builder);
                self.part(input.value, None, &mut builder);
            }
            None => match input.value.get("type").and_then(Value::decode) {
                Some(kind) => builder.unknown(kind.into_owned(), input.value),
                None => not_an_event(input, builder.out),
            },
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.fail(out);
    }
}

impl Opencode {
    /// Decodes a line of a run.
    fn run(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [kind, session, at, part, error, reason] =
            value.get_all(["type", "sessionID", "timestamp", "part", "error", "reason"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        builder.at = at.map(Value::node);
        self.enter(session, builder);
        self.totals.begin(at.and_then(Value::int));
        match (&*kind, part.filter(|part| part.kind() == ValueKind::Object)) {
            ("error", _) => self.error(error, builder),
            ("done", _) => self.done(reason, builder),
            (_, Some(part)) => self.part(part, Some(value), builder),
            _ => builder.unknown(kind.into_owned(), value),
        }
    }

    /// Makes this session that of the following items. If it is one that hasn't come yet, a notice begins it.
    fn enter(&mut self, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let Some(id) = id.and_then(Value::decode).filter(|id| !id.is_empty()) else { return };
        // What is inside of a call is that of its sub-agent.
        if self.session.as_deref() == Some(&*id) || builder.parent.is_some() {
            return;
        }
        if let Some(call) = self.agents.get(hash(&*id)) {
            builder.parent = Some(call.clone());
            return;
        }
        self.begin(&id, builder);
        let notice = builder.notice("session", Content::None);
        builder.put(notice);
    }

    /// Sets the session, and reports the facts of the run.
    fn begin(&mut self, id: &str, builder: &mut ItemBuilder<'_>) {
        self.session = Some(Arc::from(id));
        builder.session.clone_from(&self.session);
        builder.facts(Facts {
            agent: Some(Text::own("opencode")),
            session: Some(Text::clean(id)),
            ..Facts::default()
        });
    }

    /// Emits the outcome of a turn. `reason`: why it ended, unless the agent was done.
    fn outcome(&mut self, reason: Option<Value<'_>>, has_failed: bool, builder: &mut ItemBuilder<'_>) {
        let mut outcome = builder.outcome();
        if has_failed {
            fail(&mut outcome);
            outcome.text = string(reason);
        }
        outcome.data.extend(nodes([("reason", reason)]));
        self.settle(&mut outcome, builder);
        builder.put(outcome);
    }

    /// Adds the figures of the turn to its outcome, which ends it.
    fn settle(&mut self, outcome: &mut Item, builder: &ItemBuilder<'_>) {
        let until = builder.at.and_then(|at| builder.input.record.value(at).int());
        self.totals.settle(outcome, until);
        self.is_at_work = false;
    }

    /// Decodes the last line of a run.
    fn done(&mut self, reason: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let is_rejected = reason.and_then(Value::str).is_some_and(|reason| reason.is("rejected"));
        if self.failure.is_some() {
            builder.bookkeeping("done");
            self.fail(builder.out);
        } else if self.is_at_work {
            self.outcome(reason.filter(|_| is_rejected), is_rejected, builder);
        } else {
            builder.bookkeeping("done");
        }
    }

    /// Emits the outcome of a turn that has failed.
    fn fail(&mut self, out: &mut Vec<Event>) {
        out.extend(self.failure.take().map(Event::Put));
    }

    /// Returns an item of a part: its id is the part's.
    fn item_of(part: Value<'_>, kind: Kind, builder: &mut ItemBuilder<'_>) -> Item {
        let id = builder.id_of(part.get("id"));
        builder.item(id, kind)
    }
}

/// Marks an item that was cut off.
fn cut_off(item: &mut Item) {
    item.status = Status::Cancelled;
}
