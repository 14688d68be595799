//! Codex: one decoder for the stream of `codex exec --json`, the stream of versions before 0.44, and session files. The form of each
//! line shows which of the three it belongs to.
//!
//! ```text
//! {"type":"item.completed","item":{…}}                          [stream]
//! {"id":"0","msg":{"type":"exec_command_end",…}}                [old]
//! {"timestamp":…,"type":"response_item","payload":{…}}          [rollout]
//! ```
//!
//! The pitfalls are described where they are handled: calls that never end in [`stream`], content recorded twice in [`rollout`].

mod agents;
mod call;
mod command;
mod errors;
mod histories;
mod launch;
mod old;
mod reports;
mod result;
mod rollout;
mod stream;
mod tokens;
pub(super) mod tools;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::string;
use crate::item_builder::{ItemBuilder, not_an_event};
use crate::requests::Requests;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input, LineKey, SessionStart};
use streamfmt_core::event::{Event, Facts, Usage, UsageDetails};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::{self, Value};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

pub(super) use agents::SIDE_FILES;
pub(super) use histories::HISTORIES;
pub(super) use launch::LAUNCH;

use old::OldStream;
use rollout::{Rollout, RolloutsInside};
use stream::Stream;

/// Whether a value is an event of Codex.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == json::ValueKind::Array {
        return value.items().next().is_some_and(claim);
    }
    let [kind, payload, message, item, thread, session] =
        value.get_all(["type", "payload", "msg", "item", "thread_id", "session_id"]);
    let is_object =
        |value: Option<Value<'_>>| value.is_some_and(|value| value.kind() == json::ValueKind::Object);
    match kind.and_then(Value::decode).as_deref() {
        Some("thread.started") => thread.is_some(),
        Some("session.created") => session.is_some(),
        Some("turn.started" | "turn.completed" | "turn.failed") => true,
        Some("item.started" | "item.updated" | "item.completed") => is_object(item),
        Some(kind) => is_object(payload) && rollout::is_known(kind),
        None => message.is_some_and(|message| message.get("type").is_some()) || old::is_settings(value),
    }
}

/// Whether an event has marks of Codex. The start of a turn may have only a type, which other programs use, too.
pub(super) fn is_certain(value: Value<'_>) -> bool {
    if value.kind() == json::ValueKind::Array {
        return value.items().next().is_some_and(is_certain);
    }
    !value.get("type").and_then(Value::str).is_some_and(|kind| kind.is("turn.started"))
}

/// Whether a value is a line of a stream that ends with an outcome. Lines of histories, which have a `payload`, aren't; nor are those of
/// old streams, which have a `msg` instead of a `type`: no line ends such a stream.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    value.get("type").is_some() && value.get("payload").is_none()
}

/// The decoder: its state between lines.
pub(super) struct Codex {
    session: Option<SessionId>,
    calls: Calls,
    requests: Requests,
    /// The tokens of all model calls, from the last line that reports them.
    used: Option<Item>,
    /// The same as numbers.
    counted: Usage,
    /// The value of `counted` when the last turn ended.
    settled: Usage,
    /// The value of `counted` at the end of the lines that repeat another session.
    repeated: Usage,
    /// How many times a process that resumed the session started counting from 0.
    restarts: u64,
    stream: Stream,
    old: OldStream,
    rollout: Rollout,
    /// The state of sub-agents' session files, whose lines may come between any others.
    inside: RolloutsInside,
}

impl Codex {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            calls: Calls::new(budget),
            requests: Requests::new(),
            used: None,
            counted: Usage::default(),
            settled: Usage::default(),
            repeated: Usage::default(),
            restarts: 0,
            stream: Stream::default(),
            old: OldStream::default(),
            rollout: Rollout::new(budget),
            inside: RolloutsInside::new(budget),
        }
    }
}

impl Decoder for Codex {
    fn session_start(&self, value: Value<'_>) -> Option<SessionStart> {
        rollout::session_start(value)
    }

    fn line_key(&self, value: Value<'_>) -> Option<LineKey> {
        rollout::line_key(value)
    }

    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let Some(call) = input.parent else { return self.line(input, out) };
        self.swap_rollout(call, out);
        self.line(input, out);
        self.swap_rollout(call, out);
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.end_repeated(out);
        self.flush_rollout(out);
        self.flush_rollouts_inside(out);
        out.extend(self.used.take().map(|totals| Event::Put(Box::new(totals))));
    }
}

impl Codex {
    fn line(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let [kind, payload, message, prompt] = input.value.get_all(["type", "payload", "msg", "prompt"]);
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        let kind = kind.and_then(Value::decode);
        match (kind.as_deref(), payload, message) {
            (Some(kind), Some(payload), _) => self.rollout(kind, payload, &mut builder),
            (Some(kind), None, _) => self.stream(kind, &mut builder),
            (None, _, Some(message)) => self.old(message, &mut builder),
            _ if old::is_settings(input.value) => self.settings(&mut builder),
            _ => match string(prompt) {
                Content::None => not_an_event(input, builder.out),
                prompt => builder.put_text(Kind::Prompt, prompt),
            },
        }
    }

    /// Sets the session that this line and the following ones belong to.
    fn begin(&mut self, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let id = id.and_then(Value::decode).filter(|id| !id.is_empty());
        if id.is_some() && id.as_deref() != self.session.as_deref() {
            (self.counted, self.settled, self.repeated) = Default::default();
        }
        self.session = id.map(|id| Arc::from(&*id)).or_else(|| self.session.take());
        builder.session.clone_from(&self.session);
    }

    /// Returns the facts of the run: the agent and its session.
    fn facts(&self) -> Facts {
        Facts {
            agent: Some(Text::own("codex")),
            session: self.session.as_deref().map(Text::clean),
            ..Facts::default()
        }
    }

    /// Emits the tokens of all model calls of the session so far. They replace those emitted before, unless another process resumed the
    /// session and started counting from 0.
    fn count(&mut self, total: Value<'_>, builder: &mut ItemBuilder<'_>) -> Usage {
        let tokens = tokens::of(total);
        let added = Some(tokens::since(tokens, self.counted));
        if tokens::fact(tokens).is_some() {
            self.restarts += u64::from(tokens::has_restarted(tokens, self.counted));
            self.counted = tokens;
        }
        let of_session = Id::below(self.session.as_deref().unwrap_or_default(), "tokens");
        let message = match self.restarts {
            0 => of_session,
            count => Id::below(of_session.as_str(), &format!("~{count}")),
        };
        let details = || Box::new(UsageDetails { added, ..builder.usage_details() });
        let details = builder.input.counts.then(details);
        builder.emit(Event::Usage { message, usage: tokens, details });
        tokens
    }

    /// Adds the duration and tokens of the turn to its outcome.
    fn settle(&mut self, outcome: &mut Item) {
        let usage = tokens::fact(tokens::since(self.counted, self.settled));
        self.settled = self.counted;
        let duration = outcome.data.iter().find(|(name, _)| *name == "duration_ms").cloned();
        let turn: Vec<_> = duration.into_iter().chain(usage).collect();
        if !turn.is_empty() {
            outcome.data.push(("turn", Fact::Map(turn)));
        }
    }

    /// Counts the tokens of a line within a turn. It may be the last line, so its totals are kept for the end of the input.
    fn count_so_far(&mut self, info: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        // A sub-agent counts only its own tokens.
        let total = info.and_then(|info| info.get("total_token_usage"));
        if let Some(total) = total.filter(|_| builder.input.parent.is_none()) {
            let mut totals = builder.item("totals", Kind::Notice);
            totals.data.push(("event", Fact::Text("totals".into())));
            let counted = self.count(total, builder);
            totals.data.extend(tokens::fact(tokens::since(counted, self.repeated)));
            self.used = Some(totals);
        }
        builder.bookkeeping("token_count");
    }
}
