//! The `result` line: the outcome of a run.
//!
//! API errors have `subtype: "success"` with `is_error: true`; limits and interrupts in versions up to 2.0 have
//! `is_error: false` with another subtype. So a failure is either of the two. Missing or malformed numbers stay unknown.

use std::borrow::Cow;

use crate::facts::{nodes, push_list, string};
use crate::tool::key;
use streamfmt_core::event::{Event, Usage};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, FactRef, FactSpec, Item, Status};
use streamfmt_core::json::{Value, ValueKind};

use super::line::EnvelopeKey;
use super::message::TokenCounts;
use super::spent::{Counters, TurnSpent};
use super::{Claude, ClaudeItemBuilder, marker};

impl Claude {
    /// Decodes a `result` line.
    pub(super) fn outcome(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        self.threads.settle(builder.out);
        let value = builder.line.value;
        let mut item = builder.outcome();
        let is_success = builder.line.str(EnvelopeKey::Subtype).is_none_or(|subtype| subtype.is("success"));
        let [
            is_error,
            text,
            turns,
            duration,
            api,
            cost,
            old_cost,
            usage,
            models,
            since,
            errors,
            denials,
            error,
        ] = value.get_all([
            "is_error",
            "result",
            "num_turns",
            "duration_ms",
            "duration_api_ms",
            "total_cost_usd",
            "total_cost",
            "usage",
            "modelUsage",
            "model_usage_since_last_result",
            "errors",
            "permission_denials",
            "error",
        ]);
        item.data.reserve(16);
        let words = text.filter(|text| !text.is_null());
        item.text = string(words.or_else(|| error?.get("message")));
        let is_blocked = text.and_then(Value::str).is_some_and(|text| text.begins_with(marker::BLOCKED));
        item.error = !is_success || is_blocked || is_error.and_then(Value::bool) == Some(true);
        item.status = if item.error { Status::Failed } else { Status::Done };
        item.data.read(value, CAUSE);
        let cause = if is_blocked { Some("blocked") } else { cause(&item).filter(|_| item.error) };
        item.data.extend(cause.map(|cause| ("cause", Fact::Text(cause.to_owned()))));
        for (number, ours) in [(turns, "turns"), (duration, "duration_ms"), (api, "api_ms")] {
            if let Some(number) = number.and_then(Value::int).filter(|number| *number >= 0) {
                item.data.push((ours, Fact::Int(number)));
            }
        }
        let cost = cost.or(old_cost).filter(|cost| cost.float().is_some_and(|cost| cost >= 0.0));
        item.data.extend(nodes([("cost_usd", cost)]));
        let used = usage.map(|usage| TokenCounts::used(usage, self.product.counts_cached));
        if let Some(used) = used.filter(|_| usage.is_some_and(|usage| usage.kind() == ValueKind::Object)) {
            item.data.push(("usage", Fact::Map(used.facts().collect())));
            builder.emit(Event::Totals { outcome: item.id.clone(), usage: used.usage() });
        }
        let models = ModelUse::all(models);
        let counters = Counters {
            cost: cost.and_then(Value::float),
            api_ms: item.fact("api_ms").and_then(FactRef::int),
            models: tokens_by_model(&models),
        };
        let since =
            since.filter(|since| since.kind() == ValueKind::Object).map(|since| ModelUse::all(Some(since)));
        let reported = since.as_deref().map(|since| Counters {
            api_ms: None,
            cost: since.iter().map(|model| model.cost.and_then(Value::float)).sum(),
            models: tokens_by_model(since),
        });
        let spent =
            self.spent.turn(item.session.as_ref(), counters, used.map(TokenCounts::usage), reported.as_ref());
        let mut turn = turn_facts(&item, &spent, !self.known.counts_messages);
        turn.extend(since.and_then(|since| models_fact(&since)));
        if !turn.is_empty() {
            item.data.push(("turn", Fact::Map(turn)));
        }
        item.data.extend(models_fact(&models));
        let errors = || errors.into_iter().flat_map(Value::items);
        push_list(&mut item, "errors", errors().map(|error| Fact::Node(error.node())).collect());
        if errors().any(is_diagnostic) {
            let others = errors().filter(|error| !is_diagnostic(*error));
            let others = others.map(|error| Fact::Node(error.node())).collect();
            item.data.push(("problems", Fact::List(others)));
        }
        let denials = denials.into_iter().flat_map(Value::items).map(|denial| {
            let [tool, call, input] = ["tool_name", "tool_use_id", "tool_input"].map(|name| denial.get(name));
            Fact::Map(nodes([("tool", tool), ("call", call), ("input", input)]).collect())
        });
        push_list(&mut item, "denials", denials.collect());
        item.data.read(value, STRUCTURED);
        if let (Content::None, Some(odd)) = (&item.text, text.filter(|text| !text.is_null())) {
            item.data.push(("more", Fact::List(vec![Fact::Node(odd.node())])));
        }
        builder.put(item);
    }
}

/// The facts that are fields of the line.
const CAUSE: &[FactSpec] = &[key("subtype", "subtype"), key("terminal_reason", "reason")];
const STRUCTURED: &[FactSpec] = &[key("structured_output", "structured")];

/// Returns the figures of an outcome for its turn alone. `has_turns`: whether `turns` counts the turns of this run, not of the whole
/// conversation.
fn turn_facts(outcome: &Item, spent: &TurnSpent, has_turns: bool) -> Vec<(&'static str, Fact)> {
    let of_turn = |name: &&str| *name != "turns" || has_turns;
    let own = ["turns", "duration_ms"].into_iter().filter(of_turn);
    let own = own.filter_map(|name| Some((name, Fact::Int(outcome.fact(name)?.int()?))));
    let usage = outcome.data.iter().find(|(name, _)| *name == "usage").cloned();
    own.chain(spent.api_ms.map(|ms| ("api_ms", Fact::Int(ms))))
        .chain(spent.cost.map(|cost| ("cost_usd", Fact::Float(cost))))
        .chain(usage)
        .collect()
}

/// The tokens and cost of one model.
struct ModelUse<'a> {
    name: Cow<'a, str>,
    tokens: TokenCounts,
    /// US dollars, as a number.
    cost: Option<Value<'a>>,
}

impl<'a> ModelUse<'a> {
    /// Reads a table of models.
    fn all(models: Option<Value<'a>>) -> Vec<Self> {
        let models = models.into_iter().flat_map(Value::entries);
        let models = models.map(|(name, usage)| {
            let [input, output, read, written, cost] = usage.get_all(MODEL_FIGURES);
            Self {
                name: name.decode(),
                tokens: TokenCounts::of([input, output, read, written]),
                cost: cost.filter(|cost| cost.float().is_some()),
            }
        });
        models.collect()
    }
}

/// Returns the fact `models` of a table of models.
pub(super) fn models(models: Value<'_>) -> Option<(&'static str, Fact)> {
    models_fact(&ModelUse::all(Some(models)))
}

/// Returns the fact `models`, or `None` if there are none.
fn models_fact(models: &[ModelUse<'_>]) -> Option<(&'static str, Fact)> {
    let facts = models.iter().map(|model| {
        let mut facts = Vec::with_capacity(6);
        facts.push(("model", Fact::Text((*model.name).to_owned())));
        facts.extend(model.tokens.facts());
        facts.extend(nodes([("cost_usd", model.cost)]));
        Fact::Map(facts)
    });
    (!models.is_empty()).then(|| ("models", Fact::List(facts.collect())))
}

/// The most models whose tokens are compared from turn to turn.
const MAX_MODELS: usize = 32;

/// Returns the tokens of each model, with the hash of its name.
fn tokens_by_model(models: &[ModelUse<'_>]) -> Vec<(u64, Usage)> {
    models.iter().take(MAX_MODELS).map(|model| (hash(&*model.name), model.tokens.usage())).collect()
}

/// Returns the cause of a failure, if its `reason` or `subtype` is known.
fn cause(item: &Item) -> Option<&'static str> {
    let word = |name| item.fact(name).and_then(FactRef::str);
    if word("reason").is_some_and(|reason| reason.starts_with("aborted")) {
        return Some("interrupted");
    }
    match &*word("subtype")? {
        "error_max_turns" => Some("turns"),
        "error_max_budget_usd" => Some("budget"),
        "error_max_structured_output_retries" => Some("structure"),
        "error_during_execution" => Some("running"),
        _ => None,
    }
}

/// The beginning of an error that is meant for the program's developers.
pub(super) const DIAGNOSTIC: &str = "[ede_diagnostic]";

fn is_diagnostic(error: Value<'_>) -> bool {
    error.str().is_some_and(|error| error.begins_with(DIAGNOSTIC))
}

/// The fields of a model in a table: its tokens and cost.
const MODEL_FIGURES: [&str; 5] =
    ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "costUSD"];
