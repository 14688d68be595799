//! What a run used itself, from the sums that its agent counts.
//!
//! Cost, API time and tokens are sums over the turns of a process. One that resumes a session begins at 0 or goes on from the sums of the
//! process before it, depending on the agent and its version. A dialect's [`Counting`] tells which sums there are; where they begin is taken
//! from figures of the turn, if the agent reports them, and otherwise inferred from the run before.

use std::collections::BTreeMap;

use crate::event::Usage;
use crate::item::{FactRef, Item};
use crate::session::Session;

/// The longest name of a tool or a model that is kept, in bytes.
pub const MAX_NAME: usize = 1024;
/// The most tools and models that are counted separately.
const MOST_NAMES: usize = 1_000;

/// The sums in the outcomes of an agent that may include those of the run that a run resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// None: each run counts its own.
    Own,
    /// Cost, API time and `models`. A run goes on from the one before if its sums without its first turn equal those at the end of that one.
    Models,
    /// `usage`. A resumed run sends the whole conversation again: it goes on if the sums grew by at least about the tokens of one call of the
    /// model.
    Usage,
}

/// The point from which the cost, the API time and the tokens of a stream are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CountedFrom {
    /// The start of the stream.
    #[default]
    Start,
    /// Cost and tokens are counted from the start of the stream, and the API time from that of the session. Holds the tokens that the agent
    /// had counted before the stream.
    Session(BTreeMap<String, Usage>),
    /// The start of the stream or that of the session: only other runs show which. Holds the tokens that the agent had counted before the
    /// stream in the latter case; empty if unknown.
    Either(BTreeMap<String, Usage>),
}

/// Cost, API time and tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSums {
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Milliseconds spent waiting for the model.
    pub api_ms: Option<u64>,
    /// Tokens by model.
    pub usage: BTreeMap<String, Usage>,
}

/// The sums of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedRun {
    /// Those at its end, with those before it if they are included or known.
    pub counted: RunSums,
    /// Its own.
    pub own: RunSums,
    /// The point from which they are counted.
    pub from: CountedFrom,
    /// Its calls of tools.
    pub calls: u64,
}

impl CountedRun {
    /// Takes off what had been counted at the end of the run that it resumes, if it goes on from that.
    pub fn take_off(&mut self, before: Option<&Self>) {
        if self.from == CountedFrom::Start {
            return;
        }
        let before = before.filter(|before| self.goes_on(before)).map(|before| &before.counted);
        let api_ms = before.and_then(|before| before.api_ms).unwrap_or(0);
        self.own.api_ms = self.counted.api_ms.map(|ms| ms.saturating_sub(api_ms));
        if let CountedFrom::Either(_) = self.from {
            // Round differences of floats: no price has more than nine decimal places.
            let rest = |all: f64, part: f64| ((all - part) * 1e9).round().max(0.0) / 1e9;
            let cost = before.and_then(|before| before.cost_usd);
            self.own.cost_usd = self.counted.cost_usd.map(|all| cost.map_or(all, |part| rest(all, part)));
            self.own.usage.clone_from(&self.counted.usage);
            for (model, part) in before.iter().flat_map(|before| &before.usage) {
                self.own.usage.entry(model.clone()).and_modify(|all| *all = less(*all, *part));
            }
        }
    }

    fn goes_on(&self, before: &Self) -> bool {
        match &self.from {
            CountedFrom::Start => false,
            CountedFrom::Session(base) => base.values().any(|base| *base != Usage::default()),
            CountedFrom::Either(base) if base.is_empty() => self.sends_on(before),
            CountedFrom::Either(base) => before
                .counted
                .usage
                .iter()
                .any(|(model, before)| *before != Usage::default() && base.get(model) == Some(before)),
        }
    }

    /// Whether it sends what was sent before it once more. Output isn't sent again.
    fn sends_on(&self, before: &Self) -> bool {
        let sent = |sums: &RunSums| -> u64 {
            let sent = |usage: &Usage| [usage.input, usage.cache_read, usage.cache_write];
            sums.usage.values().flat_map(sent).fold(0, u64::saturating_add)
        };
        let more = sent(&self.counted).saturating_sub(sent(&before.counted));
        let of_a_call = sent(&before.own) / before.calls.saturating_add(1);
        more > 0 && more >= of_a_call / 2
    }
}

/// The figures of a session up to some point.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpentSoFar {
    /// Tokens.
    pub usage: Usage,
    /// Turns.
    pub turns: u64,
    /// The duration of the turns in milliseconds.
    pub duration_ms: u64,
    /// US dollars.
    pub cost_usd: f64,
}

impl SpentSoFar {
    /// Returns the figures so far.
    pub fn of(session: &Session) -> Self {
        let totals = session.totals();
        Self {
            usage: session.usage(),
            turns: totals.turns.unwrap_or(0),
            duration_ms: totals.duration_ms.unwrap_or(0),
            cost_usd: totals.cost_usd.unwrap_or(0.0),
        }
    }

    /// Adds figures.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            usage: self.usage.combined(more.usage, u64::saturating_add),
            turns: self.turns.saturating_add(more.turns),
            duration_ms: self.duration_ms.saturating_add(more.duration_ms),
            cost_usd: self.cost_usd + more.cost_usd,
        }
    }

    /// Takes off the figures of a part, such as one that another session counts.
    #[must_use]
    pub fn less(self, part: Self) -> Self {
        Self {
            usage: self.usage.combined(part.usage, u64::saturating_sub),
            turns: self.turns.saturating_sub(part.turns),
            duration_ms: self.duration_ms.saturating_sub(part.duration_ms),
            cost_usd: self.cost_usd - part.cost_usd,
        }
    }
}

/// Adds up the sums of the processes of a stream, outcome by outcome.
#[derive(Clone, Debug, Default)]
pub struct SumCounter {
    /// The last sums of the current process by model, and those of the ones before it.
    usage: BTreeMap<String, Usage>,
    earlier: BTreeMap<String, Usage>,
    /// The tokens that the agent had counted before the turn of the first outcome with models: of the session, if the agent reports the
    /// figures of the turn.
    base: Option<CountedFrom>,
    /// The milliseconds that the last outcome reported, and those of the processes before.
    api_ms: Option<u64>,
    earlier_api_ms: u64,
}

impl SumCounter {
    /// Adds an outcome.
    pub fn settle(&mut self, outcome: &Item) {
        let counted = outcome.fact("models").map(tokens_by_model).unwrap_or_default();
        let reported = outcome.fact("turn").and_then(|turn| turn.get("models")).map(tokens_by_model);
        let used = outcome.fact("usage").map(usage_of);
        if self.counts_anew(&counted, reported.as_ref(), used) {
            for (model, usage) in std::mem::take(&mut self.usage) {
                add(self.earlier.entry(model).or_default(), usage);
            }
            self.earlier_api_ms = self.earlier_api_ms.saturating_add(self.api_ms.take().unwrap_or(0));
        }
        self.settle_api_time(outcome);
        if counted.is_empty() {
            return;
        }
        if self.base.is_none() {
            let turn = |model: &String| match &reported {
                Some(reported) => reported.get(model).copied(),
                None => used,
            };
            let before = |(model, usage): (&String, &Usage)| {
                (model.clone(), less(*usage, turn(model).unwrap_or_default()))
            };
            let base = counted.iter().map(before).collect();
            let is_reported = reported.is_some();
            self.base =
                Some(if is_reported { CountedFrom::Session(base) } else { CountedFrom::Either(base) });
        }
        self.usage = counted;
    }

    /// Whether another process resumed the session and counts from 0. `counted`: tokens so far, by model. `reported`: those since the
    /// previous outcome, if the agent reports them. `used`: those of the turn, without sub-agents.
    fn counts_anew(
        &self,
        counted: &BTreeMap<String, Usage>,
        reported: Option<&BTreeMap<String, Usage>>,
        used: Option<Usage>,
    ) -> bool {
        if counted.is_empty() || self.usage.values().all(|usage| *usage == Usage::default()) {
            return false;
        }
        if let Some(reported) = reported {
            return counted.iter().all(|(model, usage)| reported.get(model) == Some(usage));
        }
        self.usage.iter().any(|(model, before)| {
            counted.get(model).is_none_or(|now| {
                // A model that was used before has only the tokens of this turn.
                let is_fresh = *before != Usage::default() && Some(*now) == used;
                is_fresh || now.input < before.input || now.output < before.output
            })
        })
    }

    fn settle_api_time(&mut self, outcome: &Item) {
        let Some(api_ms) = outcome.fact("api_ms").and_then(FactRef::count) else { return };
        let last = self.api_ms.unwrap_or(0);
        // An outcome without a request reports 0, and so does one of a compaction. A lower figure comes from a process that counts
        // from 0.
        if api_ms > 0 && api_ms < last {
            self.earlier_api_ms = self.earlier_api_ms.saturating_add(last);
        }
        self.api_ms = Some(if api_ms == 0 { last } else { api_ms });
    }

    /// Returns the API time so far, in milliseconds.
    pub fn api_ms(&self) -> Option<u64> {
        Some(self.earlier_api_ms.saturating_add(self.api_ms?))
    }

    /// Returns the tokens by model of an agent's outcomes, and the point from which they are counted. `None` if they have no models.
    pub fn by_model(&self, counting: Counting) -> Option<(BTreeMap<String, Usage>, CountedFrom)> {
        let mut usage = self.usage.clone();
        for (model, earlier) in &self.earlier {
            add(usage.entry(model.clone()).or_default(), *earlier);
        }
        let mut from = self.base.clone()?;
        let is_kept = match &from {
            CountedFrom::Session(base) => {
                for (model, usage) in &mut usage {
                    *usage = less(*usage, base.get(model).copied().unwrap_or_default());
                }
                base.values().any(|base| *base != Usage::default())
            }
            _ => counting == Counting::Models,
        };
        if !is_kept {
            from = CountedFrom::Start;
        }
        Some((usage, from))
    }
}

/// Returns the tokens by model.
fn tokens_by_model(models: FactRef<'_>) -> BTreeMap<String, Usage> {
    let mut tokens = BTreeMap::new();
    for model in models.list() {
        if let Some(name) = model.get("model").and_then(FactRef::str) {
            add(count_of(&mut tokens, &name), usage_of(model));
        }
    }
    tokens
}

fn usage_of(fact: FactRef<'_>) -> Usage {
    let count = |name| fact.count_at(name).unwrap_or(0);
    Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cache_read"),
        cache_write: count("cache_write"),
    }
}

fn add(sum: &mut Usage, more: Usage) {
    *sum = sum.combined(more, u64::saturating_add);
}

/// Subtracts tokens of each kind, down to 0.
fn less(all: Usage, part: Usage) -> Usage {
    all.combined(part, u64::saturating_sub)
}

/// Returns what is counted for a tool or a model. If there are too many names, further ones count as `others`.
pub fn count_of<'a, T: Default>(counts: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let end = (0..=MAX_NAME.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    let name = &name[..end.unwrap_or(0)];
    let has_room = counts.len() < MOST_NAMES || counts.contains_key(name);
    counts.entry(if has_room { name } else { "others" }.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of input and output of the models that have any.
    type Tokens = &'static [(&'static str, u64, u64)];

    fn usage(tokens: Tokens) -> BTreeMap<String, Usage> {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        tokens.iter().map(|(model, input, output)| ((*model).to_owned(), usage(*input, *output))).collect()
    }

    #[test]
    fn another_process_counts_anew_if_any_sum_is_less_than_before_or_is_only_that_of_the_turn() {
        // The sums so far and the next ones, the tokens since the outcome before if they are reported, those of the turn, and whether
        // the agent counts anew.
        let rows: [(Tokens, Tokens, Option<Tokens>, Tokens, bool); 17] = [
            (&[("a", 40, 40)], &[("a", 60, 50)], None, &[("", 20, 10)], false),
            (&[("a", 40, 40)], &[("a", 40, 40)], None, &[("", 0, 0)], false),
            (&[("a", 40, 40)], &[("a", 39, 90)], None, &[("", 30, 10)], true),
            // It sent more, and answered less.
            (&[("a", 40, 40)], &[("a", 90, 39)], None, &[("", 30, 10)], true),
            (&[("a", 40, 40)], &[("a", 90, 90)], None, &[("", 90, 90)], true),
            (&[("a", 40, 40)], &[("a", 90, 90)], None, &[("", 90, 89)], false),
            // One of several.
            (&[("a", 40, 40), ("b", 5, 5)], &[("a", 60, 60), ("b", 5, 4)], None, &[("", 20, 20)], true),
            (&[("a", 40, 40), ("b", 5, 5)], &[("a", 60, 60)], None, &[("", 20, 20)], true),
            (&[("a", 40, 40)], &[("a", 60, 60), ("b", 5, 5)], None, &[("", 20, 20)], false),
            // A model that wasn't used before has only the tokens of the turn in any case.
            (&[("a", 40, 40), ("b", 0, 0)], &[("a", 60, 60), ("b", 5, 5)], None, &[("", 5, 5)], false),
            (&[("a", 40, 40)], &[("a", 90, 90)], None, &[], false),
            // Nothing was counted before, or nothing is reported.
            (&[], &[("a", 9, 9)], None, &[("", 9, 9)], false),
            (&[("a", 0, 0)], &[("a", 9, 9)], None, &[("", 9, 9)], false),
            (&[("a", 40, 40)], &[], None, &[("", 9, 9)], false),
            // The agent reports it.
            (&[("a", 40, 40)], &[("a", 90, 90)], Some(&[("a", 90, 90)]), &[("", 50, 50)], true),
            (&[("a", 40, 40)], &[("a", 90, 90)], Some(&[("a", 50, 50)]), &[("", 90, 90)], false),
            (&[("a", 40, 40)], &[("a", 90, 90), ("b", 5, 5)], Some(&[("b", 5, 5)]), &[("", 5, 5)], false),
        ];
        for row in rows {
            let (before, counted, reported, used, expected) = row;
            let sums = SumCounter { usage: usage(before), ..SumCounter::default() };
            let used = usage(used).into_values().next();
            let reported = reported.map(usage);
            assert_eq!(sums.counts_anew(&usage(counted), reported.as_ref(), used), expected, "{row:?}");
        }
    }

    fn of_model(input: u64, output: u64) -> BTreeMap<String, Usage> {
        BTreeMap::from([("m".to_owned(), Usage { input, output, ..Usage::default() })])
    }

    fn sums(cost: f64, api_ms: u64, input: u64, output: u64) -> RunSums {
        RunSums { cost_usd: Some(cost), api_ms: Some(api_ms), usage: of_model(input, output) }
    }

    /// A run with sums that include those before it only if it goes on.
    fn run(counted: RunSums, from: CountedFrom) -> CountedRun {
        CountedRun { own: counted.clone(), counted, from, calls: 0 }
    }

    /// A run that reports its own tokens, and those of the session before it.
    fn part(own: RunSums, before: (u64, u64)) -> CountedRun {
        let base = of_model(before.0, before.1);
        let mut counted = own.clone();
        counted.usage.iter_mut().for_each(|(model, usage)| add(usage, base[model]));
        CountedRun { own, counted, from: CountedFrom::Session(base), calls: 0 }
    }

    #[test]
    fn sums_of_a_run_are_its_own_without_those_of_the_run_that_it_goes_on_from() {
        let either = |input, output| CountedFrom::Either(of_model(input, output));
        let first = || run(sums(0.3, 300, 100, 50), CountedFrom::Start);
        let rows: Vec<(&str, Vec<CountedRun>, RunSums)> = vec![
            // It counts what it did.
            (
                "from the start",
                vec![first(), run(sums(0.5, 500, 40, 20), CountedFrom::Start)],
                sums(0.5, 500, 40, 20),
            ),
            // What it had counted before equals the end of the run before it.
            (
                "it goes on",
                vec![first(), run(sums(0.5, 500, 140, 70), either(100, 50))],
                sums(0.2, 200, 40, 20),
            ),
            (
                "other input before",
                vec![first(), run(sums(0.5, 500, 140, 70), either(99, 50))],
                sums(0.5, 500, 140, 70),
            ),
            (
                "other output before",
                vec![first(), run(sums(0.5, 500, 140, 70), either(100, 51))],
                sums(0.5, 500, 140, 70),
            ),
            // Sums of a session that counts down are 0, not negative.
            (
                "it counted less",
                vec![first(), run(sums(0.1, 100, 40, 20), either(100, 50))],
                sums(0.0, 0, 0, 0),
            ),
            ("no run before", vec![run(sums(0.5, 500, 140, 70), either(100, 50))], sums(0.5, 500, 140, 70)),
            // Nothing before, which every first run has.
            (
                "nothing was used before",
                vec![
                    run(sums(0.3, 300, 0, 0), CountedFrom::Start),
                    run(sums(0.5, 500, 140, 70), either(0, 0)),
                ],
                sums(0.5, 500, 140, 70),
            ),
            // Tokens are its own, and the API time goes on.
            (
                "it reports its part",
                vec![first(), part(sums(0.2, 500, 40, 20), (100, 50))],
                sums(0.2, 200, 40, 20),
            ),
            // A run that isn't known was between them.
            (
                "it goes on from elsewhere",
                vec![first(), part(sums(0.2, 500, 40, 20), (120, 60))],
                sums(0.2, 200, 40, 20),
            ),
            ("its part is all", vec![first(), part(sums(0.2, 500, 40, 20), (0, 0))], sums(0.2, 500, 40, 20)),
            // Sums of sums.
            (
                "the third",
                vec![
                    first(),
                    run(sums(0.5, 500, 140, 70), either(100, 50)),
                    run(sums(0.6, 650, 150, 80), either(140, 70)),
                ],
                sums(0.1, 150, 10, 10),
            ),
            (
                "after a part",
                vec![
                    first(),
                    part(sums(0.2, 500, 40, 20), (100, 50)),
                    run(sums(0.3, 650, 150, 80), either(140, 70)),
                ],
                sums(0.1, 150, 10, 10),
            ),
        ];
        for (why, mut runs, expected) in rows {
            for at in 0..runs.len() {
                let (before, rest) = runs.split_at_mut(at);
                rest[0].take_off(before.last());
                // Nothing is taken off twice.
                rest[0].take_off(before.last());
            }
            assert_eq!(runs.last().unwrap().own, expected, "{why}");
        }
    }

    #[test]
    fn an_agent_that_reports_only_sums_goes_on_if_they_grew_by_about_a_call() {
        // The tokens and calls of the run before, those reported after it, and the run's own.
        for (before, calls, after, expected) in [
            ((8_000, 20), 0, (16_500, 60), (8_500, 40)),
            // It sent the same and a little more, from 0.
            ((8_000, 20), 0, (8_400, 60), (8_400, 60)),
            ((8_000, 20), 0, (12_000, 60), (4_000, 40)),
            ((8_000, 20), 0, (11_999, 60), (11_999, 60)),
            // Three calls of the model for two calls of tools.
            ((9_000, 20), 2, (10_500, 60), (1_500, 40)),
            ((9_000, 20), 2, (10_499, 60), (10_499, 60)),
            ((8_000, 20), 0, (8_000, 60), (8_000, 60)),
            ((8_000, 20), 0, (7_000, 60), (7_000, 60)),
            // Output isn't sent again.
            ((0, 9_000), 0, (1, 9_001), (1, 1)),
            ((0, 9_000), 0, (0, 18_000), (0, 18_000)),
        ] {
            let of = |(input, output)| {
                let counted = RunSums { usage: of_model(input, output), ..RunSums::default() };
                run(counted, CountedFrom::Either(BTreeMap::new()))
            };
            let (before, mut after) = (CountedRun { calls, ..of(before) }, of(after));
            after.take_off(Some(&before));
            assert_eq!(after.own.usage, of_model(expected.0, expected.1), "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_is_sent_again_comes_from_caches_too() {
        let of = |cache_read, cache_write| {
            let usage = Usage { cache_read, cache_write, ..Usage::default() };
            let counted = RunSums { usage: BTreeMap::from([("m".to_owned(), usage)]), ..RunSums::default() };
            run(counted, CountedFrom::Either(BTreeMap::new()))
        };
        for (after, is_rest) in [((12, 2), true), ((8, 6), true), ((6, 2), false)] {
            let mut after = of(after.0, after.1);
            after.take_off(Some(&of(6, 2)));
            assert_eq!(after.own != after.counted, is_rest, "{after:?}");
        }
    }
}
