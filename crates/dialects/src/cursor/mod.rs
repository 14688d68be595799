//! Cursor: one decoder for the stream of `cursor-agent --output-format stream-json` and for transcripts.
//!
//! ```text
//! {"type":"tool_call","subtype":"started","call_id":…,"tool_call":{"shellToolCall":{…}},"session_id":…}   [stream]
//! {"role":"assistant","message":{"content":[…]}}                                                       [transcript]
//! ```
//!
//! Lines of a stream have the session's id, but no ids of their own. A transcript has no ids at all, and no results of calls.

mod call;
mod histories;
mod joined_text;
mod launch;
mod query;
mod result;
mod stream;
pub(super) mod tools;
mod transcript;

pub(super) use histories::HISTORIES;
pub(super) use launch::LAUNCH;
pub(super) use transcript::SENTENCES;

use std::sync::Arc;

use crate::calls::Calls;
use crate::item_builder::{ItemBuilder, not_an_event};
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Id, Status};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use joined_text::JoinedText;
use query::OpenQuery;

/// Whether a value is an event of Cursor. Its prompts look like Claude Code's, so they aren't claimed.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == ValueKind::Array {
        return value.items().next().is_some_and(claim);
    }
    let [kind, subtype] = value.get_all(["type", "subtype"]).map(|name| name.and_then(Value::decode));
    let Some(kind) = kind else { return is_message(value) };
    let is_subtype = |names: &[&str]| subtype.as_deref().is_some_and(|subtype| names.contains(&subtype));
    let has = |key: &str| value.get(key).is_some();
    if &*kind == "turn_ended" {
        return has("status") && !has("session_id");
    }
    has("session_id")
        && !has("uuid")
        && match &*kind {
            "system" => {
                is_subtype(&["init"])
                    && has("apiKeySource")
                    && !["tools", "claude_code_version", "qwen_code_version"].into_iter().any(has)
            }
            "thinking" => is_subtype(&["delta", "completed"]),
            "tool_call" => is_object(value.get("tool_call")) || is_subtype(&["started", "completed"]),
            "interaction_query" => has("query_type"),
            "assistant" => has("timestamp_ms") || has("model_call_id"),
            "result" => has("request_id") && !has("num_turns"),
            _ => false,
        }
}

/// Whether a value is a line of a stream: transcripts have no outcome.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    value.get("session_id").is_some()
}

/// Whether a value is a message of a transcript.
fn is_message(value: Value<'_>) -> bool {
    let [role, message] = value.get_all(["role", "message"]);
    role.and_then(Value::str).is_some_and(|role| role.is("user") || role.is("assistant"))
        && message.is_some_and(|message| message.get("content").is_some())
}

fn is_object(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| value.kind() == ValueKind::Object)
}

/// The decoder: its state between lines.
pub(super) struct CursorAgent {
    session: Option<SessionId>,
    calls: Calls,
    /// The thought that is being written.
    thought: Option<Id>,
    /// The reply that is being written, and its text so far.
    reply: Option<(Id, JoinedText)>,
    /// The texts of all replies since the last outcome.
    replies: JoinedText,
    /// The question that was asked last, if nothing else reports its answer.
    query: Option<OpenQuery>,
    /// Whether the facts of a transcript were emitted.
    is_announced: bool,
}

impl CursorAgent {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            calls: Calls::new(budget),
            thought: None,
            reply: None,
            replies: JoinedText::default(),
            query: None,
            is_announced: false,
        }
    }

    /// Returns the facts of the run: the agent and its session.
    fn facts(&self) -> Facts {
        Facts {
            agent: Some(Text::own("cursor")),
            session: self.session.as_deref().map(Text::clean),
            ..Facts::default()
        }
    }

    /// Completes the thought and the reply that are being written.
    fn close_open(&mut self, out: &mut Vec<Event>) {
        let open = self.thought.take().into_iter().chain(self.reply.take().map(|(id, _)| id));
        out.extend(open.map(|id| Event::Close { id, status: Status::Done }));
    }
}

impl Decoder for CursorAgent {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let [kind, session, at] = input.value.get_all(["type", "session_id", "timestamp_ms"]);
        if let Some(session) = session.and_then(Value::str)
            && !self.session.as_deref().is_some_and(|known| session.is(known))
        {
            self.session = Some(Arc::from(&*session.decode()));
        }
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        builder.at = at.map(Value::node);
        match kind.and_then(Value::decode) {
            Some(kind) => self.stream(&kind, &mut builder),
            None if is_message(input.value) => self.message(&mut builder),
            None => not_an_event(input, out),
        }
    }

    /// A thought or reply that is still being written stays incomplete.
    fn end(&mut self, _: &mut Vec<Event>) {}
}
