//! The totals of a run: the sums of its outcomes' figures, and counts of its items.

use crate::event::Usage;
use crate::item::{Fact, FactRef, Id, Item, Kind};

/// The totals of a run so far, over all of its turns.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunTotals {
    /// The user's prompts. If the stream doesn't contain them, the number of outcomes that answered one.
    pub prompts: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Turns, as far as outcomes contain them.
    pub turns: Option<u64>,
    /// The duration of the turns in milliseconds, as far as outcomes contain it.
    pub duration_ms: Option<u64>,
    /// The cost in US dollars, as far as it is known.
    pub cost_usd: Option<f64>,
    /// Calls, including those of sub-agents.
    pub calls: u64,
    /// Calls whose result reports a failure.
    pub failed_calls: u64,
}

/// Computes the totals as items become complete.
#[derive(Debug, Default)]
pub(super) struct RunCounts {
    pub(super) totals: RunTotals,
    /// Prompts in the stream.
    prompts: u64,
    /// The number of failed calls at the last outcome.
    settled_failures: u64,
    /// Whether an item has come since the last outcome, and whether one that isn't a notice has.
    is_at_work: bool,
    has_acted: bool,
    /// The number of outcomes that answered a prompt.
    answered: u64,
    /// The cost by outcomes, and that of messages that no outcome has counted yet.
    settled_cost: Option<f64>,
    open_cost: f64,
    /// Whether a notice of totals has come.
    has_notice: bool,
}

impl RunCounts {
    /// Counts a complete item.
    pub(super) fn count(&mut self, item: &Item) {
        match item.kind {
            // Counted by `settle`.
            Kind::Outcome => return,
            Kind::Call => self.totals.calls += 1,
            Kind::Result if item.error && item.fact("again").is_none() => self.totals.failed_calls += 1,
            Kind::Prompt if item.parent.is_none() => {
                self.prompts += 1;
                self.totals.prompts = self.prompts;
            }
            _ => {}
        }
        self.is_at_work = true;
        self.has_acted |= item.kind != Kind::Notice;
    }

    /// Adds the cost of a message, until an outcome has it.
    pub(super) fn add_cost(&mut self, dollars: f64) {
        if dollars.is_finite() && dollars > 0.0 {
            self.open_cost += dollars;
            self.sum_cost();
        }
    }

    fn sum_cost(&mut self) {
        let open = Some(self.open_cost).filter(|open| *open > 0.0);
        self.totals.cost_usd = match (self.settled_cost, open) {
            (Some(settled), Some(open)) => Some(settled + open),
            (settled, open) => settled.or(open),
        };
    }

    /// Adds the figures of a complete outcome, and notes on it how many calls failed since the one before.
    pub(super) fn settle(&mut self, outcome: &mut Item) {
        let failed = self.totals.failed_calls - self.settled_failures;
        self.settled_failures = self.totals.failed_calls;
        if failed > 0 {
            outcome.data.push(("failed_calls", Fact::Int(failed.cast_signed())));
        }
        let totals = &mut self.totals;
        totals.outcomes += 1;
        // Background jobs may result in several outcomes at once, and in one that reports nothing.
        let is_silent = !outcome.error && outcome.text().trim().is_empty();
        let has_acted = std::mem::take(&mut self.has_acted);
        let is_answer = std::mem::take(&mut self.is_at_work) && (has_acted || !is_silent);
        self.answered += u64::from(is_answer);
        if self.prompts == 0 {
            totals.prompts = self.answered.max(1);
        }
        let turn = outcome.fact("turn");
        let add = |total: &mut Option<u64>, figure: Option<FactRef<'_>>| {
            if let Some(more) = figure.and_then(FactRef::count) {
                *total = Some(total.unwrap_or(0).saturating_add(more));
            }
        };
        // Without separate figures of the turn, the outcome's own are those of its turn, except for the cost.
        add(&mut totals.turns, turn.map_or_else(|| outcome.fact("turns"), |turn| turn.get("turns")));
        add(&mut totals.duration_ms, outcome.fact("duration_ms"));
        let dollars = |fact: Option<FactRef<'_>>| fact.and_then(FactRef::float).filter(|cost| *cost >= 0.0);
        let so_far = self.settled_cost.unwrap_or(0.0);
        let turn = dollars(turn.and_then(|turn| turn.get("cost_usd")));
        let settled = match (turn, dollars(outcome.fact("cost_usd"))) {
            (Some(turn), _) => Some(so_far + turn),
            (None, all) => all.map(|all| so_far.max(all)),
        };
        if settled.is_some() {
            // It has the cost of the messages before it.
            (self.settled_cost, self.open_cost) = (settled, 0.0);
            self.sum_cost();
        }
    }

    /// The notice of totals at the end: if there were several outcomes, each with a part of them, or none for several prompts.
    pub(super) fn notice(&mut self, line: u64, usage: Usage) -> Option<Item> {
        let RunTotals { prompts, outcomes, calls, .. } = self.totals;
        let has_figures = calls > 0 || usage != Usage::default();
        let is_wanted = outcomes > 1 || outcomes == 0 && prompts > 1 && has_figures;
        if self.has_notice || !is_wanted {
            return None;
        }
        let mut notice = Item::new(Id::from("totals"), Kind::Notice, line);
        notice.data.push(("event", Fact::Text("totals".to_owned())));
        if usage != Usage::default() {
            let counts = [
                ("input", usage.input),
                ("output", usage.output),
                ("cache_read", usage.cache_read),
                ("cache_write", usage.cache_write),
            ];
            let facts = counts.map(|(name, count)| (name, Fact::Int(count.cast_signed())));
            notice.data.push(("usage", Fact::Map(facts.to_vec())));
        }
        Some(notice)
    }

    /// Adds the known totals to a notice of totals. Figures that the notice has already take precedence.
    pub(super) fn complete(&mut self, notice: &mut Item) {
        self.has_notice = true;
        let all = notice.fact("cost_usd").and_then(FactRef::float).filter(|cost| *cost >= 0.0);
        if all > self.totals.cost_usd {
            (self.settled_cost, self.open_cost) = (all, 0.0);
            self.sum_cost();
        }
        let RunTotals { prompts, turns, duration_ms, cost_usd, calls, failed_calls, .. } = self.totals;
        let number = |count: u64| Fact::Int(count.cast_signed());
        let some = |count: u64| (count > 0).then(|| number(count));
        let facts = [
            ("prompts", some(prompts)),
            ("turns", turns.map(number)),
            ("call_count", some(calls)),
            ("failed_calls", some(failed_calls)),
            ("duration_ms", duration_ms.map(number)),
            ("cost_usd", cost_usd.map(Fact::Float)),
        ];
        for (name, fact) in facts {
            if let Some(fact) = fact.filter(|_| notice.fact(name).is_none()) {
                notice.data.push((name, fact));
            }
        }
    }
}
