//! The `result` line: how a run ended.
//!
//! `subtype: "success"` with `is_error: true` is how API errors end, and versions up to 2.0 say
//! `is_error: false` of limits and interrupts: a failure is either. Numbers that aren't there, or
//! aren't numbers, stay unknown.

use crate::facts::copy;
use streamfmt_core::event::{Event, Usage};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, FactRef, Id, Item, Kind, Status};
use streamfmt_core::json::{self, Value};

use super::message::usage_of;
use super::spent::{Counters, SinceLast, TurnSpent};
use super::{Claude, ClaudeItemBuilder, block, marker};

impl Claude {
    /// A `result` line.
    pub(super) fn outcome(&mut self, builder: &mut ClaudeItemBuilder<'_>, out: &mut Vec<Event>) {
        self.threads.settle(out);
        let value = builder.line.value;
        let id = Id::below(builder.unnamed().as_str(), "outcome");
        let mut item = builder.item(id, Kind::Outcome);
        let is_success = builder.line.subtype().is_none_or(|subtype| subtype.is("success"));
        let [is_error, said, turns, duration, api, cost, old_cost, usage, models, since, errors, denials] =
            value.get_all([
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
            ]);
        item.text = block::string(said);
        let is_blocked = said.and_then(Value::str).is_some_and(|said| said.begins_with(marker::BLOCKED));
        item.error = !is_success || is_blocked || is_error.and_then(Value::bool) == Some(true);
        item.status = if item.error { Status::Failed } else { Status::Done };
        copy(&mut item, value, &[("subtype", "subtype"), ("terminal_reason", "reason")]);
        if is_blocked {
            item.data.push(("cause", Fact::Text("blocked".to_owned())));
        } else if let Some(cause) = cause(&item).filter(|_| item.error) {
            item.data.push(("cause", Fact::Text(cause.to_owned())));
        }
        for (number, ours) in [(turns, "turns"), (duration, "duration_ms"), (api, "api_ms")] {
            if let Some(number) = number.and_then(Value::int).filter(|number| *number >= 0) {
                item.data.push((ours, Fact::Int(number)));
            }
        }
        let cost = cost.or(old_cost).filter(|cost| cost.float().is_some_and(|cost| cost >= 0.0));
        if let Some(cost) = cost {
            item.data.push(("cost_usd", Fact::Node(cost.node())));
        }
        if let Some(usage) = usage.filter(|usage| usage.kind() == json::ValueKind::Object) {
            item.data.push(("usage", Fact::Map(tokens(usage, &LIVE_TOKENS))));
            let usage = usage_of(usage);
            out.push(Event::Totals { outcome: item.id.clone(), usage });
        }
        let used = usage.map(usage_of);
        let counters = Counters {
            cost: cost.and_then(Value::float),
            api_ms: item.fact("api_ms").and_then(FactRef::int),
            models: models.map(tokens_by_model).unwrap_or_default(),
        };
        let since = since.filter(|since| since.kind() == json::ValueKind::Object);
        let reported = since.map(|since| SinceLast {
            cost: since.entries().map(|(_, usage)| usage.get("costUSD").and_then(Value::float)).sum(),
            models: tokens_by_model(since),
        });
        let spent = self.spent.turn(item.session.as_ref(), counters, used, reported.as_ref());
        let mut turn = turn_facts(&item, &spent, !self.known.counts_messages);
        push_models(&mut turn, since);
        if !turn.is_empty() {
            item.data.push(("turn", Fact::Map(turn)));
        }
        push_models(&mut item.data, models);
        list(&mut item.data, "errors", errors, |error| Fact::Node(error.node()));
        if errors.into_iter().flat_map(Value::items).any(is_diagnostic) {
            let others = errors.into_iter().flat_map(Value::items).filter(|error| !is_diagnostic(*error));
            let others = others.map(|error| Fact::Node(error.node())).collect();
            item.data.push(("problems", Fact::List(others)));
        }
        list(&mut item.data, "denials", denials, |denial| {
            let mut facts = Vec::new();
            for (theirs, ours) in [("tool_name", "tool"), ("tool_use_id", "call"), ("tool_input", "input")] {
                facts.extend(denial.get(theirs).map(|field| (ours, Fact::Node(field.node()))));
            }
            Fact::Map(facts)
        });
        copy(&mut item, value, &[("structured_output", "structured")]);
        if let (Content::None, Some(odd)) = (&item.text, said.filter(|said| !said.is_null())) {
            item.data.push(("more", Fact::List(vec![Fact::Node(odd.node())])));
        }
        out.push(Event::Put(Box::new(item)));
    }
}

/// The figures of an outcome that are of its turn alone. `has_turns`: whether its number of turns is one.
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

/// Adds the tokens and the cost of each model.
fn push_models(data: &mut Vec<(&'static str, Fact)>, models: Option<Value<'_>>) {
    let models = models.into_iter().flat_map(Value::entries).map(|(name, usage)| {
        let mut facts = vec![("model", Fact::Text(name.decode().into_owned()))];
        facts.extend(tokens(usage, &MODEL_TOKENS));
        if let Some(cost) = usage.get("costUSD").filter(|cost| cost.float().is_some()) {
            facts.push(("cost_usd", Fact::Node(cost.node())));
        }
        Fact::Map(facts)
    });
    let models: Vec<_> = models.collect();
    if !models.is_empty() {
        data.push(("models", Fact::List(models)));
    }
}

/// Models whose tokens are compared from turn to turn.
const MAX_MODELS: usize = 32;

/// The tokens of each model, by the hash of its name.
fn tokens_by_model(models: Value<'_>) -> Vec<(u64, Usage)> {
    let counted = |usage: Value<'_>| {
        let counts = usage.get_all(MODEL_TOKENS.map(|(theirs, _)| theirs));
        let count = |count: Option<Value<'_>>| {
            count.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
        };
        let [input, output, cache_read, cache_write] = counts.map(count);
        Usage { input, output, cache_read, cache_write }
    };
    models.entries().take(MAX_MODELS).map(|(name, usage)| (hash(&*name.decode()), counted(usage))).collect()
}

/// Why a run ended that failed, if its words for that are known.
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

/// How an error begins that says something to the program's makers alone.
pub(super) const DIAGNOSTIC: &str = "[ede_diagnostic]";

fn is_diagnostic(error: Value<'_>) -> bool {
    error.str().is_some_and(|error| error.begins_with(DIAGNOSTIC))
}

/// Names of token counts in a live result: theirs, ours.
const LIVE_TOKENS: [(&str, &str); 4] = [
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_read_input_tokens", "cache_read"),
    ("cache_creation_input_tokens", "cache_write"),
];

/// The same in its table of models.
const MODEL_TOKENS: [(&str, &str); 4] = [
    ("inputTokens", "input"),
    ("outputTokens", "output"),
    ("cacheReadInputTokens", "cache_read"),
    ("cacheCreationInputTokens", "cache_write"),
];

fn tokens(usage: Value<'_>, names: &[(&str, &'static str); 4]) -> Vec<(&'static str, Fact)> {
    let counts = usage.get_all(names.map(|(theirs, _)| theirs)).into_iter().zip(names);
    let known = |count: Option<Value<'_>>| count?.int().filter(|count| *count >= 0);
    counts.filter_map(|(count, (_, ours))| Some((*ours, Fact::Int(known(count)?)))).collect()
}

fn list(
    data: &mut Vec<(&'static str, Fact)>,
    name: &'static str,
    values: Option<Value<'_>>,
    fact: impl Fn(Value<'_>) -> Fact,
) {
    let facts: Vec<_> = values.into_iter().flat_map(Value::items).map(fact).collect();
    if !facts.is_empty() {
        data.push((name, Fact::List(facts)));
    }
}
