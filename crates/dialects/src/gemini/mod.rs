//! Gemini CLI: one decoder for the stream of `-o stream-json`, the document of `-o json`, and session files.
//!
//! ```text
//! {"type":"tool_use","timestamp":…,"tool_name":…,"tool_id":…,"parameters":{…}}     [stream]
//! {"session_id":…,"response":…,"stats":{…}}                                       [stream]
//! {"id":…,"timestamp":…,"type":"gemini","content":…,"toolCalls":[…]}              [session]
//! ```
//!
//! Session files write messages several times; see [`session`].

mod call;
mod histories;
mod launch;
pub(super) mod result;
mod session;
mod stream;
pub(super) mod tools;
pub(super) mod wrapped;

pub(super) use histories::{HISTORIES, SIDE_FILES};
pub(super) use launch::LAUNCH;
pub(super) use session::SENTENCES;

use std::sync::Arc;

use crate::calls::Calls;
use crate::item_builder::{ItemBuilder, not_an_event};
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::Id;
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::recent::Recent;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

/// Whether a value is an event of Gemini CLI.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == ValueKind::Array {
        return value.items().next().is_some_and(claim);
    }
    let has = |keys: &[&str]| keys.iter().all(|key| value.get(key).is_some());
    match value.get("type").and_then(Value::decode).as_deref() {
        Some("init") => has(&["session_id", "model", "timestamp"]),
        Some("message") => has(&["role", "content", "timestamp"]) && !has(&["id"]),
        Some("tool_use") => has(&["tool_name", "tool_id"]),
        Some("tool_result") => has(&["tool_id", "status"]),
        Some("error") => has(&["severity", "message"]),
        Some("result") => has(&["status", "stats"]),
        Some("gemini") => has(&["id", "content"]),
        Some("user" | "info" | "warning") => has(&["id", "timestamp", "content"]) && !has(&["message"]),
        Some(_) => false,
        None => has(&["sessionId", "projectHash"]) || is_document(value) || is_update(value),
    }
}

/// Whether a value is a line of a stream, or a document, which has all of its outcome.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    is_document(value) || value.get("type").is_some() && value.get("id").is_none()
}

/// Whether a value is the document of a whole run.
fn is_document(value: Value<'_>) -> bool {
    let [session, response, stats, error] = value.get_all(["session_id", "response", "stats", "error"]);
    session.is_some() && (stats.is_some_and(|stats| stats.get("models").is_some()) && response.is_some())
        || session.is_some() && error.is_some_and(|error| error.get("message").is_some())
}

/// Whether a value changes what earlier lines of a session file hold.
fn is_update(value: Value<'_>) -> bool {
    value.get("$set").is_some_and(|set| set.kind() == ValueKind::Object)
        || value.get("$rewindTo").is_some_and(|id| id.str().is_some())
}

/// The decoder: its state between lines.
pub(super) struct Gemini {
    session: Option<SessionId>,
    model: Option<Box<str>>,
    calls: Calls,
    /// The reply that is being written.
    reply: Option<Id>,
    /// The messages of a session file: the hashes of their ids, each with that of its text.
    messages: Recent<u64, 1>,
}

impl Gemini {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            model: None,
            calls: Calls::new(budget),
            reply: None,
            messages: Recent::of(budget.lines),
        }
    }

    /// Sets the session that this line and the following ones belong to, and emits its facts.
    fn begin(&mut self, id: Option<Value<'_>>, model: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        if let Some(id) = id.and_then(Value::decode) {
            self.session = Some(Arc::from(&*id));
        }
        builder.session.clone_from(&self.session);
        builder.facts(Facts {
            agent: Some(Text::own("gemini")),
            session: self.session.as_deref().map(Text::clean),
            model: model.and_then(Value::str).map(Text::from_json),
            ..Facts::default()
        });
    }
}

impl Decoder for Gemini {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let [kind, id, at, began] = input.value.get_all(["type", "id", "timestamp", "startTime"]);
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        builder.at = at.or(began).map(Value::node);
        match kind.and_then(Value::decode) {
            Some(kind) if id.is_some() => self.message(&kind, input.value, true, &mut builder),
            Some(kind) => self.stream(&kind, &mut builder),
            None if is_update(input.value) => self.update(&mut builder),
            None if is_document(input.value) => self.document(&mut builder),
            None if input.value.get("sessionId").is_some() => self.header(&mut builder),
            None => not_an_event(input, out),
        }
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}
