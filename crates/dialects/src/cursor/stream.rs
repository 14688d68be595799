//! The lines of a stream.
//!
//! Thoughts come only in pieces. A reply is one line or, with `--stream-partial-output`, some pieces and then a line with all of it; a
//! piece has a time and no `model_call_id`. Pieces may repeat each other on purpose, so none is dropped.

use crate::facts::{fail, filled, leveled, nodes, string};
use crate::tool::key;
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Content, Fact, FactSpec, Kind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::text::Text;

use super::{CursorAgent, ItemBuilder, JoinedText};

impl CursorAgent {
    /// Decodes a line that has a type.
    pub(super) fn stream(&mut self, kind: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let subtype = value.get("subtype").and_then(Value::decode).unwrap_or_default();
        match (kind, &*subtype) {
            ("thinking", "delta") => return self.think(builder),
            ("assistant", _) => return self.reply(builder),
            _ => self.close_open(builder.out),
        }
        match (kind, &*subtype) {
            ("system", "init") => self.begin(builder),
            ("user", _) => self.prompt(builder),
            ("thinking", "completed") => builder.bookkeeping("thinking.completed"),
            ("tool_call", "started") => self.started(builder),
            ("tool_call", "completed") => self.completed(builder),
            ("interaction_query", _) => self.query(&subtype, builder),
            ("retry" | "connection", _) => retry(kind, &subtype, builder),
            ("system", "task_notification" | "background_shell_timeout") => {
                builder.report(subtype.into_owned(), value);
            }
            ("result", _) => self.outcome(&subtype, builder),
            ("turn_ended", _) => turn_ended(builder),
            (_, "") => builder.unknown(kind.to_owned(), value),
            _ => builder.unknown(format!("{kind}/{subtype}"), value),
        }
    }

    fn begin(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let text = |name: &str| value.get(name).and_then(Value::str).map(Text::from_json);
        let mode = text("permissionMode");
        builder.facts(Facts { model: text("model"), cwd: text("cwd"), mode, ..self.facts() });
        let mut notice = builder.notice("session", Content::None);
        notice.data.read(value, SESSION);
        builder.put(notice);
    }

    fn prompt(&mut self, builder: &mut ItemBuilder<'_>) {
        let before = builder.out.len();
        for block in content(builder.input.value) {
            self.said(block, false, builder);
        }
        if builder.out.len() == before {
            builder.unknown("user".to_owned(), builder.input.value);
        }
    }

    /// Decodes a piece of a thought.
    fn think(&mut self, builder: &mut ItemBuilder<'_>) {
        let Some(piece) = builder.input.value.get("text").and_then(Value::decode) else {
            return builder.unknown("thinking/delta".to_owned(), builder.input.value);
        };
        if self.reply.is_some() {
            self.close_open(builder.out);
        }
        let id = self.thought.get_or_insert_with(|| {
            let thought = builder.unnamed_item(Kind::Thinking);
            let id = thought.id.clone();
            builder.emit(Event::Open(Box::new(thought)));
            id
        });
        builder.out.push(Event::Append { id: id.clone(), text: piece.into_owned() });
        builder.bookkeeping("thinking.delta");
    }

    /// Decodes a reply, or a piece of one.
    fn reply(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [at, model_call] = value.get_all(["timestamp_ms", "model_call_id"]);
        let blocks = content(value);
        if self.thought.is_some() {
            self.close_open(builder.out);
        }
        let texts = blocks.iter().filter_map(|block| block.get("text")?.decode());
        if at.is_some() && model_call.is_none() {
            for piece in texts {
                self.replies.push(&piece);
                let (id, whole) = self.reply.get_or_insert_with(|| {
                    let reply = builder.unnamed_item(Kind::Reply);
                    let id = reply.id.clone();
                    builder.emit(Event::Open(Box::new(reply)));
                    (id, JoinedText::default())
                });
                whole.push(&piece);
                builder.out.push(Event::Append { id: id.clone(), text: piece.into_owned() });
            }
        } else {
            let mut whole = JoinedText::default();
            texts.for_each(|text| whole.push(&text));
            let is_known = self.reply.as_ref().is_some_and(|(_, pieces)| *pieces == whole);
            self.close_open(builder.out);
            if is_known {
                return builder.bookkeeping("assistant after its pieces");
            }
            for block in &blocks {
                self.block(*block, builder);
            }
        }
        if blocks.is_empty() {
            builder.unknown("assistant".to_owned(), value);
        }
    }

    /// Decodes a block of a whole reply.
    pub(super) fn block(&mut self, block: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, text] = block.get_all(["type", "text"]);
        match (kind.and_then(Value::decode).as_deref(), text.and_then(Value::decode)) {
            (Some("text"), Some(text)) => {
                self.replies.push(&text);
                builder.put_text(Kind::Reply, string(block.get("text")));
            }
            (kind, _) => builder.unknown(format!("assistant/{}", kind.unwrap_or("?")), block),
        }
    }

    /// Decodes the end of a run. Its text is that of all replies joined, which were shown already.
    fn outcome(&mut self, subtype: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [text, is_error, duration, api, usage] =
            value.get_all(["result", "is_error", "duration_ms", "duration_api_ms", "usage"]);
        let mut outcome = builder.outcome();
        if is_error.and_then(Value::bool) == Some(true) || !matches!(subtype, "" | "success") {
            fail(&mut outcome);
        }
        let replies = std::mem::take(&mut self.replies);
        let is_repeated = text.and_then(Value::decode).is_some_and(|text| JoinedText::of(&text) == replies);
        if !is_repeated {
            outcome.text = string(text);
        }
        let numbers = [("duration_ms", duration), ("api_ms", api)];
        let mut figures: Vec<_> = nodes(numbers.map(|(name, number)| (name, count(number)))).collect();
        if let Some(usage) = usage.filter(|usage| usage.kind() == ValueKind::Object) {
            let [total, cost] = usage.get_all(["totalCost", "cost"]);
            let cost = total.or(cost).filter(|cost| cost.float().is_some_and(|cost| cost >= 0.0));
            figures.extend(nodes([("cost_usd", cost)]));
            let (tokens, facts) = tokens_of(usage);
            figures.push(("usage", Fact::Map(facts)));
            builder.emit(Event::Totals { outcome: outcome.id.clone(), usage: tokens });
        }
        outcome.data.extend(figures.iter().cloned());
        outcome.data.push(("turn", Fact::Map(figures)));
        builder.put(outcome);
    }
}

const SESSION: &[FactSpec] = &[key("cwd", "cwd"), key("model", "model"), key("permissionMode", "mode")];

/// Returns the blocks of a message. A string is its only block.
pub(super) fn content(value: Value<'_>) -> Vec<Value<'_>> {
    let content = value.get("message").and_then(|message| message.get("content"));
    match content {
        Some(text) if text.kind() == ValueKind::String => vec![text],
        Some(blocks) => blocks.items().collect(),
        None => Vec::new(),
    }
}

/// Returns a number that isn't negative.
fn count(number: Option<Value<'_>>) -> Option<Value<'_>> {
    number.filter(|number| number.float().is_some_and(|number| number >= 0.0))
}

/// Returns the tokens of a run.
fn tokens_of(usage: Value<'_>) -> (Usage, Vec<(&'static str, Fact)>) {
    let counts = usage
        .get_all(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"])
        .map(|count| count.and_then(integer).filter(|count| *count >= 0));
    let names = ["input", "output", "cache_read", "cache_write"];
    let facts = names.into_iter().zip(counts).filter_map(|(name, count)| Some((name, Fact::Int(count?))));
    let [input, output, cache_read, cache_write] = counts.map(|count| count.map_or(0, i64::cast_unsigned));
    (Usage { input, output, cache_read, cache_write }, facts.collect())
}

/// Returns a whole number, which some fields have as a string.
pub(super) fn integer(number: Value<'_>) -> Option<i64> {
    number.int().or_else(|| number.decode()?.parse().ok())
}

/// Emits the notice for a request that is repeated, or for a connection that was lost.
fn retry(kind: &str, subtype: &str, builder: &mut ItemBuilder<'_>) {
    let value = builder.input.value;
    let name = format!("{kind}/{subtype}");
    if matches!(subtype, "resuming" | "reconnected") {
        return builder.report(name, value);
    }
    let mut notice = builder.notice("retry", string(filled(value.get("message"))));
    let [attempt, of, delay, error] = value.get_all(["attempt", "max_attempts", "delay_ms", "error"]);
    notice.data.extend(nodes([("attempt", attempt), ("of", of), ("delay_ms", delay), ("error", error)]));
    notice.data.extend(nodes([("value", Some(value))]));
    builder.put(leveled(notice, "warning"));
}

/// Ends a turn of a transcript.
fn turn_ended(builder: &mut ItemBuilder<'_>) {
    let status = builder.input.value.get("status");
    let is =
        |names: &[&str]| status.and_then(Value::str).is_some_and(|it| names.iter().any(|name| it.is(name)));
    if is(&["success"]) {
        return builder.bookkeeping("turn_ended");
    }
    let event = if is(&["aborted", "cancelled", "interrupted"]) { "interrupt" } else { "error" };
    let notice = builder.notice(event, string(status));
    builder.put(leveled(notice, "warning"));
}
