//! Cline: one decoder for the stream of `cline --json`, and for the two documents of a stored session.
//!
//! ```text
//! {"ts":…,"type":"agent_event","event":{"type":"content_start",…}}            [stream]
//! {"sessionId":…,"messages":[{"role":…,"content":[…],"ts":…}]}                [messages]
//! {"session_id":…,"started_at":…,"prompt":…,"status":…}                       [session]
//! ```
//!
//! The documents of a session are beside each other: its facts come before its messages, and its outcome after them.
//!
//! In the stream a `content_start` is a piece of a text, and `content_end` repeats all of it. Events of sub-agents have no mark: the lines
//! of hooks around them tell whose they are.

mod agents;
mod documents;
mod histories;
mod launch;
mod result;
mod stream;
pub(super) mod tools;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::item_builder::{ItemBuilder, not_an_event};
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Id, Item, Kind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

pub(super) use histories::{HISTORIES, SIDE_FILES};
pub(super) use launch::LAUNCH;

use agents::Agents;
use documents::StoredFacts;

/// Whether a value is a line or a document of Cline.
pub(super) fn claim(value: Value<'_>) -> bool {
    ClineForm::of(value).is_some()
}

/// Whether a value is a line of a stream, which ends with an outcome.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    matches!(ClineForm::of(value), Some(ClineForm::Line))
}

/// The form of a value.
#[derive(Clone, Copy)]
enum ClineForm<'a> {
    /// A line of the stream.
    Line,
    /// The messages of a session.
    Messages(Value<'a>),
    /// The facts of a session.
    Session,
}

impl<'a> ClineForm<'a> {
    fn of(value: Value<'a>) -> Option<Self> {
        let [kind, time, hook, event, finish, message] =
            value.get_all(["type", "ts", "hookEventName", "event", "finishReason", "message"]);
        if let (Some(kind), Some(_)) = (kind.and_then(Value::decode), time) {
            let is_line = match &*kind {
                "hook_event" => hook.is_some(),
                "agent_event" => event.is_some(),
                "run_result" => finish.is_some(),
                "error" | "info" | "warning" | "status" => message.is_some(),
                _ => false,
            };
            return is_line.then_some(Self::Line);
        }
        if kind.is_some() {
            return None;
        }
        let [session, messages, origin, own, started, path] =
            value.get_all(["sessionId", "messages", "origin", "session_id", "started_at", "messages_path"]);
        let messages = messages.filter(|messages| messages.kind() == ValueKind::Array);
        match (session, origin, messages) {
            (Some(_), Some(_), Some(messages)) => Some(Self::Messages(messages)),
            _ if own.is_some() && started.is_some() && path.is_some() => Some(Self::Session),
            _ => None,
        }
    }
}

/// The decoder: its state between lines.
pub(super) struct Cline {
    session: Option<SessionId>,
    has_begun: bool,
    calls: Calls,
    agents: Agents,
    /// The facts of a stored session, until its messages and its end have come.
    stored: Option<StoredFacts>,
    /// The session that was announced.
    announced: Option<SessionId>,
}

impl Cline {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            has_begun: false,
            calls: Calls::new(budget),
            agents: Agents::default(),
            stored: None,
            announced: None,
        }
    }
}

impl Decoder for Cline {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        match ClineForm::of(input.value) {
            Some(ClineForm::Line) => self.line(&mut builder),
            Some(ClineForm::Messages(messages)) => self.messages(messages, &mut builder),
            Some(ClineForm::Session) => self.stored_session(&mut builder),
            None => match input.value.get("type").and_then(Value::decode) {
                Some(kind) => builder.unknown(kind.into_owned(), input.value),
                None => not_an_event(input, builder.out),
            },
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.agents.flush(out);
        self.end_stored(out);
    }
}

impl Cline {
    /// Sets the session of a document, and reports the agent.
    fn begin(&mut self, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        self.session = id.and_then(Value::decode).map(|id| Arc::from(&*id)).or(self.session.take());
        builder.session.clone_from(&self.session);
        let session = self.session.as_deref().map(Text::clean);
        builder.facts(Facts { agent: Some(Text::own("cline")), session, ..Facts::default() });
        self.has_begun = true;
    }

    /// Emits a call, and remembers it.
    fn call(&mut self, id: Id, name: &str, input: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) -> Item {
        let mut call = builder.item(id, Kind::Call);
        call.input = input.filter(|input| !input.is_null()).map(Value::node);
        tools::set(&mut call, name, input);
        self.calls.add(&call);
        builder.put(call.clone());
        call
    }
}

/// Returns the tokens of a count. Those of the input include cached ones.
fn tokens_of(usage: Value<'_>) -> Usage {
    let [input, output, read, write] =
        usage.get_all(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]);
    let [input, output, cache_read, cache_write] =
        [input, output, read, write].map(crate::step_totals::count);
    Usage { input: input.checked_sub(cache_read).unwrap_or(input), output, cache_read, cache_write }
}
