//! The lines of a stream, and the document of a whole run.
//!
//! Each piece of a reply is a line. A line of another type ends the reply.

use std::borrow::Cow;

use crate::facts::{fail, filled, leveled, nodes, push_list, string};
use streamfmt_core::event::{Event, Usage};
use streamfmt_core::item::{Content, Fact, Item, Kind, Status};
use streamfmt_core::json::{Value, ValueKind};

use super::{Gemini, ItemBuilder, call, result, wrapped};

impl Gemini {
    /// Decodes a line of a stream.
    pub(super) fn stream(&mut self, kind: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let is_reply = kind == "message"
            && value.get("role").and_then(Value::str).is_some_and(|role| role.is("assistant"));
        if is_reply {
            return self.reply(builder);
        }
        if let Some(id) = self.reply.take() {
            builder.emit(Event::Close { id, status: Status::Done });
        }
        match kind {
            "init" => {
                let model = value.get("model");
                self.begin(value.get("session_id"), model, builder);
                let mut notice = builder.notice("session", Content::None);
                notice.data.extend(nodes([("model", model)]));
                builder.put(notice);
            }
            "message" => match string(value.get("content")) {
                Content::None => builder.unknown("message".to_owned(), value),
                text => builder.put_text(Kind::Prompt, text),
            },
            "tool_use" => {
                let [name, id, input] = value.get_all(["tool_name", "tool_id", "parameters"]);
                self.call(name, id, input, builder);
            }
            "tool_result" => self.answer(builder),
            "error" => {
                let severity = value.get("severity").and_then(Value::str);
                let level =
                    if severity.is_some_and(|severity| severity.is("error")) { "error" } else { "warning" };
                let notice = builder.notice(level, string(value.get("message")));
                builder.put(leveled(notice, level));
            }
            "result" => self.outcome(builder),
            _ => builder.unknown(kind.to_owned(), value),
        }
    }

    /// Decodes a piece of a reply.
    fn reply(&mut self, builder: &mut ItemBuilder<'_>) {
        let Some(piece) = builder.input.value.get("content").and_then(Value::decode) else {
            return builder.unknown("message".to_owned(), builder.input.value);
        };
        if piece.is_empty() {
            return builder.bookkeeping("empty message");
        }
        let id = self.reply.get_or_insert_with(|| {
            let reply = builder.unnamed_item(Kind::Reply);
            let id = reply.id.clone();
            builder.emit(Event::Open(Box::new(reply)));
            id
        });
        builder.out.push(Event::Append { id: id.clone(), text: piece.into_owned() });
    }

    /// Emits a call, and the to-do list in it.
    pub(super) fn call(
        &mut self,
        name: Option<Value<'_>>,
        id: Option<Value<'_>>,
        input: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let id = builder.id_of(id);
        let call = call::of(&name.and_then(Value::decode).unwrap_or_default(), id, input, builder);
        self.calls.add(&call);
        let plan = call::plan_of(&call, input, builder);
        builder.put(call);
        if let Some(plan) = plan {
            builder.put(plan);
        }
    }

    /// Emits the result of a call. A success of many tools has no text.
    fn answer(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [id, status, output, error] = value.get_all(["tool_id", "status", "output", "error"]);
        let call = builder.id_of(id);
        let mut result = self.calls.result_of(&call, builder);
        self.calls.mark_answered(&call);
        if status.and_then(Value::str).is_none_or(|status| !status.is("success")) {
            fail(&mut result);
        }
        let message = error.and_then(|error| filled(error.get("message")));
        result.text = string(message.or(filled(output)));
        wrapped::add_facts(&mut result);
        result::mark_success_if_silent(&mut result);
        builder.put(result);
    }

    /// Emits the outcome of a run.
    fn outcome(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [how, error, stats] = value.get_all(["status", "error", "stats"]);
        let mut outcome = builder.outcome();
        if how.and_then(Value::str).is_none_or(|status| !status.is("success")) {
            fail(&mut outcome);
        }
        add_error(&mut outcome, error);
        if let Some(stats) = stats.filter(|stats| stats.kind() == ValueKind::Object) {
            let duration = stats.get("duration_ms").filter(|it| it.int().is_some_and(|it| it > 0));
            let figures: Vec<_> = nodes([("duration_ms", duration)]).collect();
            let models = stats.get("models").into_iter().flat_map(Value::entries);
            let models = models.map(|(name, counts)| (name.decode(), tokens_of_stream(counts)));
            add_figures(outcome, figures, tokens_of_stream(stats), models, builder);
        } else {
            builder.put(outcome);
        }
    }

    /// Decodes the document of a whole run: the last answer and the figures.
    pub(super) fn document(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [session, response, error, stats, warnings] =
            value.get_all(["session_id", "response", "error", "stats", "warnings"]);
        let models = || stats.and_then(|stats| stats.get("models")).into_iter().flat_map(Value::entries);
        self.begin(session, None, builder);
        let notice = builder.notice("session", Content::None);
        builder.put(notice);
        for warning in warnings.into_iter().flat_map(Value::items) {
            let notice = builder.notice("warning", string(Some(warning)));
            builder.put(leveled(notice, "warning"));
        }
        if filled(response).is_some() {
            builder.put_text(Kind::Reply, string(response));
        }
        let mut outcome = builder.outcome();
        if error.is_some_and(|error| !error.is_null()) {
            fail(&mut outcome);
        }
        add_error(&mut outcome, error);
        let all = models().map(|(_, model)| tokens_of_document(model));
        let sum = all.fold(Usage::default(), |sum, usage| sum.combined(usage, u64::saturating_add));
        let models = models().map(|(name, model)| (name.decode(), tokens_of_document(model)));
        add_figures(outcome, Vec::new(), sum, models, builder);
    }
}

/// Adds an error to an outcome.
fn add_error(outcome: &mut Item, error: Option<Value<'_>>) {
    let Some(error) = error.filter(|error| !error.is_null()) else { return };
    outcome.text = string(Some(error.get("message").unwrap_or(error)));
    if matches!(outcome.text, Content::None) {
        push_list(outcome, "more", vec![Fact::Node(error.node())]);
    }
}

/// Adds the figures to an outcome, and emits it.
fn add_figures<'a>(
    mut outcome: Item,
    mut figures: Vec<(&'static str, Fact)>,
    usage: Usage,
    models: impl Iterator<Item = (Cow<'a, str>, Usage)>,
    builder: &mut ItemBuilder<'_>,
) {
    figures.push(("usage", Fact::Map(facts_of(usage))));
    builder.emit(Event::Totals { outcome: outcome.id.clone(), usage });
    let models: Vec<_> = models
        .filter(|(_, usage)| *usage != Usage::default())
        .map(|(name, usage)| {
            let name = ("model", Fact::Text(name.into_owned()));
            Fact::Map([name].into_iter().chain(facts_of(usage)).collect())
        })
        .collect();
    if !models.is_empty() {
        figures.push(("models", Fact::List(models)));
    }
    outcome.data.extend(figures.iter().cloned());
    outcome.data.push(("turn", Fact::Map(figures)));
    builder.put(outcome);
}

fn facts_of(usage: Usage) -> Vec<(&'static str, Fact)> {
    let fact = |count: u64| Fact::Int(count.cast_signed());
    vec![("input", fact(usage.input)), ("output", fact(usage.output)), ("cache_read", fact(usage.cache_read))]
}

/// Returns the tokens of a stream. Those of thoughts are only in the total.
fn tokens_of_stream(stats: Value<'_>) -> Usage {
    let [total, input, output, cached] =
        numbers(stats, ["total_tokens", "input_tokens", "output_tokens", "cached"]);
    Usage {
        input: input.saturating_sub(cached),
        output: output.max(total.saturating_sub(input)),
        cache_read: cached,
        cache_write: 0,
    }
}

/// Returns the tokens of a model in the document.
fn tokens_of_document(model: Value<'_>) -> Usage {
    let Some(tokens) = model.get("tokens") else { return Usage::default() };
    let [prompt, output, thoughts, cached] = numbers(tokens, ["prompt", "candidates", "thoughts", "cached"]);
    let output = output.saturating_add(thoughts);
    Usage { input: prompt.saturating_sub(cached), output, cache_read: cached, cache_write: 0 }
}

/// Returns the numbers under these keys, 0 for those that are missing.
pub(super) fn numbers<const N: usize>(value: Value<'_>, keys: [&str; N]) -> [u64; N] {
    value.get_all(keys).map(|it| it.and_then(Value::int).and_then(|it| u64::try_from(it).ok()).unwrap_or(0))
}
