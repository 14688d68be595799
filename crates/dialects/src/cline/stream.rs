//! The stream of `cline --json`.

use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::names::Names;
use streamfmt_core::text::Text;

use crate::calls::CallState;
use crate::facts::{echoed, fail, filled, leveled, string};
use crate::item_builder::ItemBuilder;
use crate::step_totals::usage_facts;

use super::{Cline, result, tokens_of};

/// Events that repeat others, or have nothing to show.
static BOOKKEEPING: Names = Names::of("iteration_end iteration_start");

impl Cline {
    /// Decodes a line.
    pub(super) fn line(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [kind, time, event, hook, agent, parent, message] =
            value.get_all(["type", "ts", "event", "hookEventName", "agentId", "parentAgentId", "message"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        builder.at = time.map(Value::node);
        if !self.has_begun {
            self.begin(None, builder);
            let notice = builder.notice("session", Content::None);
            builder.put(notice);
        }
        match (&*kind, event) {
            ("hook_event", _) => {
                let name = hook.and_then(Value::decode).unwrap_or_default();
                self.agents.hook(&name, agent, parent);
                builder.bookkeeping("hook_event");
            }
            ("agent_event", Some(event)) => {
                builder.parent = self.agents.current().call.clone().or(builder.parent.take());
                self.event(event, builder);
            }
            ("run_result", _) => self.run_result(value, builder),
            ("error", _) => {
                let notice = leveled(builder.notice("error", string(message)), "error");
                builder.put(notice);
            }
            _ => {
                let notice = builder.notice("info", string(message));
                builder.put(if &*kind == "warning" { leveled(notice, "warning") } else { notice });
            }
        }
    }

    fn event(&mut self, event: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, part, message] = event.get_all(["type", "contentType", "message"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        let part = part.and_then(Value::decode).unwrap_or_default();
        if &*kind != "usage" && (&*kind, &*part) != ("content_end", "reasoning") {
            self.agents.current().flush(builder.out);
        }
        match (&*kind, &*part) {
            ("content_start", "text" | "reasoning") => self.piece(&part, event, builder),
            ("content_end", "text" | "reasoning") => self.whole(&part, event, builder),
            ("content_start" | "content_update" | "content_end", "tool") => self.tool(&kind, event, builder),
            ("usage", _) => {
                let message = builder.unnamed();
                builder.bookkeeping("usage");
                builder.emit_usage(message, tokens_of(event));
            }
            ("error", _) => self.error(event, builder),
            ("notice", _) if message.is_some() => {
                let notice = builder.notice("info", string(message));
                builder.put(notice);
            }
            ("done", _) => {
                builder.bookkeeping("done");
                self.agents.done(builder.out);
            }
            _ => builder.rest("event/", &kind, &BOOKKEEPING, event),
        }
    }

    /// Appends a piece of a text or thought.
    fn piece(&mut self, part: &str, event: Value<'_>, builder: &mut ItemBuilder<'_>) {
        builder.bookkeeping("content_start");
        let is_text = part == "text";
        let agent = self.agents.current();
        let growing = if is_text { &mut agent.text } else { &mut agent.thought };
        let id = if let Some(id) = growing {
            id.clone()
        } else {
            let kind = if is_text { Kind::Reply } else { Kind::Thinking };
            let mut item = builder.unnamed_item(kind);
            if event.get("redacted").and_then(Value::bool) == Some(true) {
                item.data.push(("redacted", Fact::Bool(true)));
            }
            let id = growing.insert(item.id.clone()).clone();
            builder.emit(Event::Open(Box::new(item)));
            id
        };
        if let Some(piece) = event.get(part).and_then(Value::decode) {
            builder.emit(Event::Append { id, text: piece.into_owned() });
        }
    }

    /// Emits a complete text or thought.
    fn whole(&mut self, part: &str, event: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let is_text = part == "text";
        let agent = self.agents.current();
        let known = if is_text { agent.text.take() } else { agent.thought.take() };
        let has_grown = known.is_some();
        let id = known.unwrap_or_else(|| builder.unnamed());
        let mut item = builder.item(id, if is_text { Kind::Reply } else { Kind::Thinking });
        item.text = string(event.get(part));
        if item.is_blank() && !has_grown {
            return builder.bookkeeping("empty text");
        }
        if is_text {
            return agent.put_text(item, builder.out);
        }
        if event.get("redacted").and_then(Value::bool) == Some(true) {
            item.data.push(("redacted", Fact::Bool(true)));
        }
        builder.put_thought(item);
        agent.flush(builder.out);
    }

    /// Decodes an event of a call.
    fn tool(&mut self, kind: &str, event: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, name, input, update, output, error, duration] =
            event.get_all(["toolCallId", "toolName", "input", "update", "output", "error", "durationMs"]);
        let id = builder.id_of(id);
        builder.bookkeeping(kind.to_owned());
        if self.calls.get(&id).is_none() && (kind != "content_update" || name.is_some()) {
            let name = name.and_then(Value::decode).unwrap_or_default();
            let call = self.call(id.clone(), &name, input, builder);
            if call.tool_kind == Some(ToolKind::Delegate) {
                self.agents.spawn(id.clone());
            }
        }
        if kind == "content_start" || matches!(self.calls.get(&id), Some(CallState::Answered)) {
            return;
        }
        let mut answer = result::of_call(&id, &self.calls, builder);
        if kind == "content_update" {
            let piece = update.and_then(|update| filled(update.get("chunk"))).and_then(Value::decode);
            if let Some(piece) = piece {
                let id = answer.id.clone();
                builder.emit(Event::Open(Box::new(answer)));
                builder.emit(Event::Append { id, text: piece.into_owned() });
            }
            return;
        }
        result::fill(output, error, &mut answer);
        if let Some(duration) = duration.filter(|duration| duration.int().is_some()) {
            answer.data.push(("took_ms", Fact::Node(duration.node())));
        }
        self.calls.mark_answered(&id);
        builder.put(answer);
    }

    /// Emits the notice of an error, or of an attempt that is repeated.
    fn error(&mut self, event: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [error, message, recoverable, class] =
            event.get_all(["error", "message", "recoverable", "errorClass"]);
        let inside = error.and_then(|error| error.get("message")).or(error);
        let text = filled(inside).or(filled(message));
        let Some(text) = text else { return builder.unknown("event/error".to_owned(), event) };
        if recoverable.and_then(Value::bool) == Some(true) {
            if filled(class).is_none() {
                // Calls have failed, as their results show.
                let notice = builder.notice("info", string(Some(text)));
                return builder.put(echoed(notice));
            }
            let mut notice = builder.notice("retry", Content::None);
            notice.data.push(("error", Fact::Node(text.node())));
            return builder.put(leveled(notice, "warning"));
        }
        let notice = leveled(builder.notice("error", string(Some(text))), "error");
        builder.put(notice);
    }

    /// Decodes the last line of a run.
    fn run_result(&mut self, value: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.agents.flush(builder.out);
        let [finish, turns, usage, all, duration, text, model] = value.get_all([
            "finishReason",
            "iterations",
            "usage",
            "aggregateUsage",
            "durationMs",
            "text",
            "model",
        ]);
        let name = model.and_then(|model| model.get("id")).and_then(Value::str).map(Text::from_json);
        builder.facts(Facts { model: name, ..Facts::default() });
        let mut outcome = builder.outcome();
        outcome.text = string(filled(text));
        let finish = finish.and_then(Value::decode).unwrap_or_default();
        match &*finish {
            "completed" => {}
            "aborted" => {
                fail(&mut outcome);
                outcome.data.push(("cause", Fact::Text("interrupted".to_owned())));
            }
            "max_iterations" => {
                fail(&mut outcome);
                outcome.data.push(("cause", Fact::Text("turns".to_owned())));
            }
            _ => {
                fail(&mut outcome);
                outcome.data.push(("reason", Fact::Text(finish.into_owned())));
            }
        }
        // With sub-agents, if there are any.
        let usage = all.or(usage).filter(|usage| usage.kind() == ValueKind::Object);
        figures(&mut outcome, turns, duration, usage);
        if let Some(usage) = usage {
            builder.emit(Event::Totals { outcome: outcome.id.clone(), usage: tokens_of(usage) });
        }
        builder.put(outcome);
    }
}

/// Adds the figures of a run to its outcome.
pub(super) fn figures(
    outcome: &mut Item,
    turns: Option<Value<'_>>,
    duration: Option<Value<'_>>,
    usage: Option<Value<'_>>,
) {
    let count =
        |value: Option<Value<'_>>| value.and_then(Value::int).filter(|count| *count >= 0).map(Fact::Int);
    let cost = usage.and_then(|usage| usage.get("totalCost")?.float()).filter(|cost| *cost > 0.0);
    let tokens = usage.map(|usage| Fact::Map(usage_facts(tokens_of(usage))));
    let figures = [
        ("turns", count(turns)),
        ("duration_ms", count(duration)),
        ("cost_usd", cost.map(Fact::Float)),
        ("usage", tokens),
    ];
    let figures: Vec<_> = figures.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect();
    if !figures.is_empty() {
        outcome.data.extend(figures.clone());
        outcome.data.push(("turn", Fact::Map(figures)));
    }
}

/// Returns the id of a part of a message.
pub(super) fn part_id(message: &Id, place: usize) -> Id {
    Id::below(message.as_str(), &place.to_string())
}
