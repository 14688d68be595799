//! The `result` line: how a run ended.
//!
//! `subtype: "success"` with `is_error: true` is how API errors end, and versions up to 2.0 say
//! `is_error: false` of limits and interrupts: a failure is either. Numbers that aren't there, or
//! aren't numbers, stay unknown.

use crate::event::Event;
use crate::item::{Content, Fact, Id, Kind, Status};
use crate::json::{self, Value};

use super::message::usage_of;
use super::{Claude, Maker, content, copy};

impl Claude {
    /// A `result` line.
    pub(super) fn outcome(&mut self, maker: &mut Maker<'_>, out: &mut Vec<Event>) {
        self.threads.settle(out);
        let value = maker.line.value;
        let id = Id::below(maker.unnamed().as_str(), "outcome");
        let mut item = maker.item(id, Kind::Outcome);
        let is_success = maker.line.subtype.is_none_or(|subtype| subtype.is("success"));
        item.error = !is_success || value.get("is_error").and_then(Value::bool) == Some(true);
        item.status = if item.error { Status::Failed } else { Status::Done };
        item.text = content(value, "result");
        copy(&mut item, value, &[("subtype", "subtype"), ("terminal_reason", "reason")]);
        for (theirs, ours) in
            [("num_turns", "turns"), ("duration_ms", "duration_ms"), ("duration_api_ms", "api_ms")]
        {
            if let Some(number) = value.get(theirs).and_then(Value::int).filter(|number| *number >= 0) {
                item.data.push((ours, Fact::Int(number)));
            }
        }
        let cost = value.get("total_cost_usd").or_else(|| value.get("total_cost"));
        if let Some(cost) = cost.filter(|cost| cost.float().is_some_and(|cost| cost >= 0.0)) {
            item.data.push(("cost_usd", Fact::Node(cost.node())));
        }
        if let Some(usage) = value.get("usage").filter(|usage| usage.kind() == json::Kind::Object) {
            item.data.push(("usage", Fact::Map(tokens(usage, &LIVE_TOKENS))));
            out.push(Event::Totals { outcome: item.id.clone(), usage: usage_of(usage) });
        }
        if let Some(models) = value.get("modelUsage") {
            let models = models.entries().map(|(name, usage)| {
                let mut facts = vec![("model", Fact::Text(name.decode().into_owned()))];
                facts.extend(tokens(usage, &MODEL_TOKENS));
                if let Some(cost) = usage.get("costUSD").filter(|cost| cost.float().is_some()) {
                    facts.push(("cost_usd", Fact::Node(cost.node())));
                }
                Fact::Map(facts)
            });
            let models: Vec<_> = models.collect();
            if !models.is_empty() {
                item.data.push(("models", Fact::List(models)));
            }
        }
        list(&mut item.data, "errors", value.get("errors"), |error| Fact::Node(error.node()));
        list(&mut item.data, "denials", value.get("permission_denials"), |denial| {
            let mut facts = Vec::new();
            for (theirs, ours) in [("tool_name", "tool"), ("tool_use_id", "call"), ("tool_input", "input")] {
                facts.extend(denial.get(theirs).map(|field| (ours, Fact::Node(field.node()))));
            }
            Fact::Map(facts)
        });
        copy(&mut item, value, &[("structured_output", "structured")]);
        if let (Content::None, Some(odd)) =
            (&item.text, value.get("result").filter(|result| !result.is_null()))
        {
            item.data.push(("more", Fact::List(vec![Fact::Node(odd.node())])));
        }
        out.push(Event::Put(Box::new(item)));
    }
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
    let count = |theirs: &str| usage.get(theirs).and_then(Value::int).filter(|count| *count >= 0);
    names.iter().filter_map(|(theirs, ours)| Some((*ours, Fact::Int(count(theirs)?)))).collect()
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
