//! Tokens and costs: of steps, and of the whole trajectory.

use crate::facts::nodes;
use crate::item_builder::ItemBuilder;
use streamfmt_core::event::{Event, Usage};
use streamfmt_core::item::{Content, Fact, Id, Status};
use streamfmt_core::json::{Value, ValueKind};

/// The tokens and the cost of the steps so far.
#[derive(Default)]
pub(super) struct StepSums {
    usage: Usage,
    cost: Option<f64>,
}

impl StepSums {
    /// Counts the metrics of a step.
    pub(super) fn step(&mut self, id: &Id, metrics: Value<'_>, out: &mut Vec<Event>) {
        let names = ["prompt_tokens", "completion_tokens", "cached_tokens"];
        let [prompt, output, cached, cost, extra] =
            metrics.get_all([names[0], names[1], names[2], "cost_usd", "extra"]);
        let written = extra.and_then(|extra| extra.get("cache_creation_input_tokens"));
        let usage = usage_of(prompt, output, cached, written);
        self.usage = self.usage.combined(usage, u64::saturating_add);
        self.cost = match (self.cost, cost.and_then(Value::float)) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            (sum, cost) => sum.or(cost),
        };
        out.push(Event::Usage { message: Id::below(id.as_str(), "usage"), usage, details: None });
    }

    /// Emits the totals of a trajectory: those that it states, or else the sums of its steps. The format has no outcome; our own writer
    /// adds it.
    pub(super) fn finish(
        self,
        metrics: Option<Value<'_>>,
        extra: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [prompt, output, cached, cost, of_metrics] = metrics.map_or([None; 5], |metrics| {
            metrics.get_all([
                "total_prompt_tokens",
                "total_completion_tokens",
                "total_cached_tokens",
                "total_cost_usd",
                "extra",
            ])
        });
        let written = of_metrics.and_then(|extra| extra.get("total_cache_creation_input_tokens"));
        let stated =
            (prompt.is_some() || output.is_some()).then(|| usage_of(prompt, output, cached, written));
        let usage = stated.unwrap_or(self.usage);
        let cost = cost.and_then(Value::float).or(self.cost);
        let outcome = extra.and_then(|extra| extra.get("outcome"));
        let outcome = outcome.filter(|outcome| outcome.kind() == ValueKind::Object);
        let mut item = match outcome {
            Some(outcome) => {
                let mut item = builder.outcome();
                let [failed, text, turns, cause, reason] =
                    outcome.get_all(["is_error", "text", "turns", "cause", "reason"]);
                if failed.and_then(Value::bool) == Some(true) {
                    (item.error, item.status) = (true, Status::Failed);
                }
                item.text = crate::facts::string(text);
                item.data.extend(nodes([("turns", turns), ("cause", cause), ("reason", reason)]));
                item
            }
            None if usage == Usage::default() && cost.is_none() => return,
            None => builder.notice("totals", Content::None),
        };
        if usage != Usage::default() {
            let counts = [
                ("input", usage.input),
                ("output", usage.output),
                ("cache_read", usage.cache_read),
                ("cache_write", usage.cache_write),
            ];
            let counts = counts.map(|(name, count)| (name, Fact::Int(count.cast_signed())));
            item.data.push(("usage", Fact::Map(counts.to_vec())));
        }
        let duration = of_metrics.and_then(|extra| extra.get("duration_ms"));
        item.data.extend(nodes([("duration_ms", duration)]));
        item.data.extend(cost.map(|cost| ("cost_usd", Fact::Float(cost))));
        builder.put(item);
    }
}

/// Returns the tokens of a step or of all. Those of the cache are included in those of the prompt.
fn usage_of(
    prompt: Option<Value<'_>>,
    output: Option<Value<'_>>,
    cached: Option<Value<'_>>,
    written: Option<Value<'_>>,
) -> Usage {
    let [prompt, output, cache_read, cache_write] = [prompt, output, cached, written]
        .map(|count| count.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0));
    let input = prompt.saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, output, cache_read, cache_write }
}
