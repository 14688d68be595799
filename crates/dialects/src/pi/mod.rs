//! pi, and the agents that keep its store: one decoder for the stream of `pi --mode json` and for session files.
//!
//! ```text
//! {"type":"message_end","message":{…}}                                        [stream]
//! {"type":"message","id":…,"parentId":…,"timestamp":…,"message":{…}}          [session file]
//! ```
//!
//! Both have the same messages, whose times identify them. The stream repeats each message and each result several times: items become
//! complete with `message_end`, and grow with what comes before it. A session file is a tree of entries: see [`branches`].

mod branches;
mod entries;
mod histories;
mod launch;
mod live;
mod messages;
mod result;
pub(super) mod tools;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::{fail, nodes, string};
use crate::item_builder::{ItemBuilder, not_an_event};
use crate::step_totals::StepTotals;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Fact, Id, Item, Status};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::names::Names;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

pub(super) use histories::HISTORIES;
pub(super) use launch::LAUNCH;

use branches::Branches;
use live::GrowingMessage;

/// Lines of the stream that other programs may write, too.
static GENERAL: Names = Names::of("agent_end agent_start queue_update turn_end turn_start");

/// Whether a value is a line of pi.
pub(super) fn claim(value: Value<'_>) -> bool {
    let [kind, id, version, time, cwd, message, call, attempt, entry] = value.get_all([
        "type",
        "id",
        "version",
        "timestamp",
        "cwd",
        "message",
        "toolCallId",
        "attempt",
        "parentId",
    ]);
    let Some(kind) = kind.and_then(Value::decode) else { return false };
    let has_role = || message.is_some_and(|message| message.get("role").is_some());
    match &*kind {
        "session" => cwd.is_some() && (version.is_some() || id.is_some() && time.is_some()),
        "message_start" | "message_update" | "message_end" => has_role(),
        "message" => has_role() && message.is_some_and(|message| message.get("timestamp").is_some()),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => call.is_some(),
        "auto_retry_start" | "auto_retry_end" => attempt.is_some(),
        "model_change" | "thinking_level_change" | "compaction" | "branch_summary" | "custom_message" => {
            id.is_some() && entry.is_some()
        }
        kind => GENERAL.has(kind),
    }
}

/// Whether only pi writes such a line.
pub(super) fn is_certain(value: Value<'_>) -> bool {
    value.get("type").and_then(Value::decode).is_some_and(|kind| !GENERAL.has(&kind))
}

/// Whether a value is a line of a stream, which ends with an outcome. Lines of session files aren't, and both begin with the same line.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    let kind = value.get("type").and_then(Value::decode).unwrap_or_default();
    ["agent_", "turn_", "message_", "tool_execution_"].iter().any(|start| kind.starts_with(start))
}

/// The decoder: its state between lines.
pub(super) struct Pi {
    session: Option<SessionId>,
    calls: Calls,
    /// The model of the last reply, or that was chosen.
    model: Option<Text>,
    /// Whether a message has come.
    has_begun: bool,
    totals: StepTotals,
    /// The time of the last message, in milliseconds since 1970.
    last_time: Option<i64>,
    /// The message that is being written.
    growing: Option<GrowingMessage>,
    /// Results that are known, but whose messages haven't come yet.
    ended: Vec<(Id, Status)>,
    /// The error of the last reply. It may be tried again.
    failure: Option<TurnFailure>,
    /// Why the last reply ended, if it isn't done.
    last_stop: Option<String>,
    branches: Branches,
}

/// The failure of a turn, unless the agent tries again.
struct TurnFailure {
    /// The notice of the error.
    notice: Box<Item>,
    /// The outcome, once the turn has ended.
    outcome: Option<Box<Item>>,
}

impl Pi {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            calls: Calls::new(budget),
            model: None,
            has_begun: false,
            totals: StepTotals::default(),
            last_time: None,
            growing: None,
            ended: Vec::new(),
            failure: None,
            last_stop: None,
            branches: Branches::new(budget),
        }
    }
}

impl Decoder for Pi {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        let [kind, message] = input.value.get_all(["type", "message"]);
        let Some(kind) = kind.and_then(Value::decode) else { return not_an_event(input, builder.out) };
        let message = message.filter(|message| message.kind() == ValueKind::Object);
        match (&*kind, message) {
            ("session", _) => self.begin(&mut builder),
            ("message_start", Some(message)) => self.message_started(message, &mut builder),
            ("message_update", _) => self.message_grows(message, &mut builder),
            ("message_end", Some(message)) => self.message_ended(message, &mut builder),
            ("tool_execution_start" | "tool_execution_update" | "tool_execution_end", _) => {
                self.execution(&kind, &mut builder);
            }
            ("agent_start", _) => {
                self.fail(builder.out);
                builder.bookkeeping("agent_start");
            }
            ("agent_end", _) => {
                builder.bookkeeping("agent_end");
                self.turn_ended(&mut builder);
            }
            ("auto_retry_start", _) => self.retries(&mut builder),
            ("auto_retry_end", _) => self.retried(&mut builder),
            ("compaction_end" | "auto_compaction_end", _) => self.compaction_ended(&mut builder),
            _ => self.entry(&kind, message, &mut builder),
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        out.extend(self.ended.drain(..).map(|(id, status)| Event::Close { id, status }));
        self.fail(out);
    }
}

impl Pi {
    /// Decodes the first line: the session.
    fn begin(&mut self, builder: &mut ItemBuilder<'_>) {
        let [id, time, cwd, model, origin] =
            builder.input.value.get_all(["id", "timestamp", "cwd", "modelId", "parentSession"]);
        let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
        self.session = id.and_then(Value::decode).map(|id| Arc::from(&*id)).or(self.session.take());
        builder.session.clone_from(&self.session);
        builder.at = time.map(Value::node);
        self.model = text(model).or(self.model.take());
        builder.facts(Facts {
            agent: Some(Text::own("pi")),
            session: self.session.as_deref().map(Text::clean),
            cwd: text(cwd),
            model: self.model.clone(),
            ..Facts::default()
        });
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("cwd", cwd), ("model", model), ("forked_from", origin)]));
        builder.put(notice);
    }

    /// Notes the model. If it changes in the middle of a session, a notice is emitted.
    fn set_model(&mut self, model: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let Some(model) = model.filter(|model| model.str().is_some()) else { return };
        let name = model.str().map(Text::from_json);
        if name == self.model {
            return;
        }
        builder.facts(Facts { model: name.clone(), ..Facts::default() });
        if self.has_begun && self.model.is_some() {
            let mut notice = builder.notice("session", Content::None);
            notice.data.extend(nodes([("model", Some(model))]));
            builder.put(notice);
        }
        self.model = name;
    }

    /// Emits the outcome of a turn, or keeps it if the turn has failed and may be tried again.
    fn turn_ended(&mut self, builder: &mut ItemBuilder<'_>) {
        let mut outcome = builder.outcome();
        let stop = self.last_stop.take();
        if let Some(failure) = &mut self.failure {
            fail(&mut outcome);
            outcome.text = match &failure.notice.text {
                // The notice may be of another record.
                Content::None => Content::None,
                _ => Content::Own(failure.notice.text().into_owned()),
            };
            failure.outcome = Some(Box::new(outcome));
            return;
        }
        match stop {
            Some(stop) if stop == "aborted" => {
                fail(&mut outcome);
                outcome.data.push(("cause", Fact::Text("interrupted".to_owned())));
            }
            Some(stop) => outcome.data.push(("reason", Fact::Text(stop))),
            None => {}
        }
        self.totals.settle(&mut outcome, self.last_time);
        builder.put(outcome);
    }

    /// Emits the error of a turn that isn't tried again, and its outcome.
    fn fail(&mut self, out: &mut Vec<Event>) {
        let Some(TurnFailure { notice, outcome }) = self.failure.take() else { return };
        out.push(Event::Put(notice));
        if let Some(mut outcome) = outcome {
            self.totals.settle(&mut outcome, self.last_time);
            out.push(Event::Put(outcome));
        }
    }

    /// Decodes the line before an attempt is repeated.
    fn retries(&mut self, builder: &mut ItemBuilder<'_>) {
        self.failure = None;
        let [attempt, of, delay, error] =
            builder.input.value.get_all(["attempt", "maxAttempts", "delayMs", "errorMessage"]);
        let facts = nodes([("attempt", attempt), ("of", of), ("delay_ms", delay), ("error", error)]);
        let mut notice = builder.notice("retry", Content::None);
        notice.data.extend(facts);
        builder.put(crate::facts::leveled(notice, "warning"));
    }

    /// Decodes the line after the last of several attempts.
    fn retried(&mut self, builder: &mut ItemBuilder<'_>) {
        let [success, error] = builder.input.value.get_all(["success", "finalError"]);
        let has_failed = success.and_then(Value::bool) == Some(false);
        builder.bookkeeping("auto_retry_end");
        if self.failure.is_some() {
            self.fail(builder.out);
        } else if has_failed && error.is_some() {
            let notice = builder.notice("error", string(error));
            builder.put(crate::facts::leveled(notice, "error"));
        }
    }
}
