//! The figures of turns, for agents that report them for each call of the model: the sums are added to the outcome of each turn.

use streamfmt_core::event::Usage;
use streamfmt_core::item::{Fact, Item};
use streamfmt_core::json::Value;

/// The sums over the model's calls, since the last outcome and so far.
#[derive(Default)]
pub(super) struct StepTotals {
    /// The calls since the last outcome.
    steps: i64,
    usage: Usage,
    /// Their cost in US dollars.
    cost: f64,
    /// The cost of all calls so far.
    cost_so_far: f64,
    /// The time when the turn began, in milliseconds since 1970.
    since: Option<i64>,
}

impl StepTotals {
    /// Notes the time of a line, if it is the first of its turn.
    pub(super) fn begin(&mut self, at: Option<i64>) {
        self.since = self.since.or(at);
    }

    /// Adds a call of the model.
    pub(super) fn add(&mut self, usage: Usage, cost: Option<f64>) {
        self.steps += 1;
        self.add_inside(usage, cost);
    }

    /// Adds a call of the model by a sub-agent, which is no step of the turn.
    pub(super) fn add_inside(&mut self, usage: Usage, cost: Option<f64>) {
        self.usage = self.usage.combined(usage, u64::saturating_add);
        let cost = cost.filter(|cost| cost.is_finite() && *cost > 0.0).unwrap_or(0.0);
        self.cost += cost;
        self.cost_so_far += cost;
    }

    /// Adds the figures of the turn to its outcome, and begins the next turn. Figures that aren't known are left out: a cost of 0 may mean
    /// that the price is unknown.
    pub(super) fn settle(&mut self, outcome: &mut Item, until: Option<i64>) {
        let Self { steps, usage, cost, cost_so_far, since } = *self;
        *self = Self { cost_so_far, ..Self::default() };
        let duration = until.zip(since).and_then(|(until, since)| until.checked_sub(since));
        let duration = duration.filter(|duration| *duration >= 0);
        let tokens = (usage != Usage::default()).then(|| Fact::Map(usage_facts(usage)));
        let figures = |cost: f64| {
            [
                ("turns", (steps > 0).then_some(Fact::Int(steps))),
                ("duration_ms", duration.map(Fact::Int)),
                ("cost_usd", (cost > 0.0).then_some(Fact::Float(cost))),
                ("usage", tokens.clone()),
            ]
            .into_iter()
            .filter_map(|(name, fact)| Some((name, fact?)))
        };
        outcome.data.extend(figures(cost_so_far));
        let turn: Vec<_> = figures(cost).collect();
        if !turn.is_empty() {
            outcome.data.push(("turn", Fact::Map(turn)));
        }
    }
}

/// Returns the counts of tokens as facts.
pub(super) fn usage_facts(usage: Usage) -> Vec<(&'static str, Fact)> {
    let Usage { input, output, cache_read, cache_write } = usage;
    let counts =
        [("input", input), ("output", output), ("cache_read", cache_read), ("cache_write", cache_write)];
    counts.map(|(name, count)| (name, Fact::Int(count.cast_signed()))).to_vec()
}

/// Returns a count of tokens; 0 if it is missing or negative.
pub(super) fn count(value: Option<Value<'_>>) -> u64 {
    value.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}
