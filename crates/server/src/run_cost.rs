//! What a run costs while it is in progress, and the limits of that.
//!
//! Most agents state their cost only at the end of a turn. Until then it is estimated from the tokens of each message.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use streamfmt::core::event::{Usage, UsageDetails};
use streamfmt::core::item::Id;
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::Setup;
use streamfmt::core::recent::Recent;
use streamfmt::core::session::Session;

use crate::prices::{PriceTable, RequestUsage};

/// How many messages are remembered: the counts of a message may grow for as long.
const REMEMBERED: usize = 4096;

/// Limits of the cost of a run, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostLimits {
    /// Beyond this a line is printed.
    pub warn: Option<f64>,
    /// Beyond this the run is stopped.
    pub stop: Option<f64>,
}

impl CostLimits {
    /// Whether there is a limit.
    pub fn is_set(self) -> bool {
        self.warn.or(self.stop).is_some()
    }
}

/// What a run has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RunCost {
    /// US dollars.
    pub(crate) dollars: f64,
    /// Whether there are messages without a price, which aren't included.
    pub(crate) lacks_price: bool,
}

/// What a passed limit requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CostStep {
    /// Report that the cost is incomplete, as a price is missing.
    ReportMissingPrice,
    /// Report that the limit is passed.
    Report,
    /// End the run.
    Stop,
}

/// Compares the cost of a run with its limits. Each step is taken once.
#[derive(Debug, Default)]
pub(crate) struct CostWatch {
    limits: CostLimits,
    has_reported_missing_price: bool,
    has_reported: bool,
    has_stopped: bool,
}

impl CostWatch {
    pub(crate) fn new(limits: CostLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Whether there is a limit.
    pub(crate) fn is_needed(&self) -> bool {
        self.limits.is_set()
    }

    /// Returns the steps that are due. `is_done`: whether the agent has reported its result; then there is nothing to stop.
    pub(crate) fn take_due(&mut self, cost: RunCost, is_done: bool) -> Vec<CostStep> {
        let mut due = Vec::new();
        let CostLimits { warn, stop } = self.limits;
        let is_beyond = |limit: Option<f64>| limit.is_some_and(|limit| cost.dollars > limit);
        if cost.lacks_price && self.limits.is_set() && !self.has_reported_missing_price {
            self.has_reported_missing_price = true;
            due.push(CostStep::ReportMissingPrice);
        }
        if is_beyond(stop) && !is_done {
            if !self.has_stopped {
                (self.has_stopped, self.has_reported) = (true, true);
                due.push(CostStep::Stop);
            }
        } else if (is_beyond(warn) || is_beyond(stop)) && !self.has_reported {
            self.has_reported = true;
            due.push(CostStep::Report);
        }
        due
    }
}

/// Adds up the cost of a session while it is decoded.
#[derive(Clone)]
pub(crate) struct CostMeter(Arc<Mutex<MeteredCost>>);

struct MeteredCost {
    /// When the run started: the time of messages that have none.
    started: Timestamp,
    /// The messages that came last, by the hashes of their ids.
    messages: Recent<MeteredMessage, 1>,
    /// The cost that the agent stated.
    stated: Option<f64>,
    /// The estimated cost of the messages since then.
    estimated: f64,
    lacks_price: bool,
}

#[derive(Clone, Copy, Default)]
struct MeteredMessage {
    used: RequestUsage,
    estimated: f64,
}

impl CostMeter {
    pub(crate) fn new(started: Timestamp) -> Self {
        let metered = MeteredCost {
            started,
            messages: Recent::of(REMEMBERED),
            stated: None,
            estimated: 0.0,
            lacks_price: false,
        };
        Self(Arc::new(Mutex::new(metered)))
    }

    /// Watches the session of a pipeline.
    pub(crate) fn watch(&self, setup: &mut Setup) {
        setup.observers.push(Box::new(self.clone()));
    }

    /// Returns the cost so far.
    pub(crate) fn so_far(&self, session: &Session) -> RunCost {
        let mut metered = self.metered();
        metered.settle(session);
        let dollars = metered.stated.unwrap_or_default() + metered.estimated;
        RunCost { dollars, lacks_price: metered.lacks_price }
    }

    fn metered(&self) -> MutexGuard<'_, MeteredCost> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for CostMeter {
    fn needs_usage_details(&self) -> bool {
        true
    }

    fn usage(&mut self, message: &Id, usage: Usage, details: &UsageDetails, session: &Session) {
        if !details.is_repeated {
            self.metered().add(message, usage, details, session);
        }
    }
}

impl MeteredCost {
    /// Replaces the estimate with the cost that the agent has stated since the last call.
    fn settle(&mut self, session: &Session) {
        let stated = session.totals().cost_usd;
        if self.stated != stated {
            (self.stated, self.estimated, self.lacks_price) = (stated, 0.0, false);
        }
    }

    fn add(&mut self, message: &Id, usage: Usage, details: &UsageDetails, session: &Session) {
        self.settle(session);
        let key = message.hash();
        let before = self.messages.get(key).copied().unwrap_or_default();
        let used = RequestUsage {
            usage: usage.combined(before.used.usage, u64::max),
            cache_write_hour: details.cache_write_hour.max(before.used.cache_write_hour),
            searches: details.searches.max(before.used.searches),
        };
        if used == before.used {
            return;
        }
        let model = details.model.as_deref().or(session.facts().model.as_deref());
        let at = details.at.unwrap_or(self.started);
        let price = |used: &RequestUsage| PriceTable::built_in().cost(model.unwrap_or_default(), at, used);
        let estimated = match details.added {
            // What was added is what the last requests used; the sum isn't one large request.
            Some(usage) => {
                let added = RequestUsage { usage, ..RequestUsage::default() };
                price(&added).map(|cost| before.estimated + cost)
            }
            None => price(&used),
        };
        self.lacks_price |= estimated.is_none();
        let estimated = estimated.unwrap_or(before.estimated);
        self.estimated += estimated - before.estimated;
        let now = MeteredMessage { used, estimated };
        match self.messages.get_mut(key) {
            Some(known) => *known = now,
            None => drop(self.messages.add(key, || now).copied()),
        }
    }
}

#[cfg(test)]
mod tests {
    use streamfmt::Engine;
    use streamfmt::core::pipeline::Pipeline;

    use super::*;

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"claude-sonnet-4-5","cwd":"/","tools":[]}"#;

    /// A line of a message. The counts are of 100,000 tokens.
    fn message(id: &str, model: &str, input: u32, output: u32) -> String {
        let (input, output) = (input * 100_000, output * 100_000);
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"{model}","role":"assistant","content":[{{"type":"text","text":"Hi."}}],"usage":{{"input_tokens":{input},"output_tokens":{output}}}}},"session_id":"s-1"}}"#
        )
    }

    fn result(cost: f64) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"Hi.","num_turns":1,"total_cost_usd":{cost},"session_id":"s-1"}}"#
        )
    }

    /// The cost after each line.
    fn costs(lines: &[String]) -> Vec<(f64, bool)> {
        let mut setup = crate::keeper::setup(&Engine::builder().no_project(true).build().unwrap());
        let meter = CostMeter::new("2026-11-29T00:00:00Z".parse().unwrap());
        meter.watch(&mut setup);
        let mut pipeline = Pipeline::new(setup);
        let after = lines.iter().map(|line| {
            pipeline.push(format!("{line}\n").as_bytes(), &mut String::new()).unwrap();
            let cost = meter.so_far(pipeline.session());
            ((cost.dollars * 1e6).round() / 1e6, cost.lacks_price)
        });
        after.collect()
    }

    #[test]
    fn a_message_counts_once_with_its_largest_counts() {
        let sonnet = |id, input, output| message(id, "claude-sonnet-4-5-20250929", input, output);
        let lines =
            [INIT.to_owned(), sonnet("a", 1, 0), sonnet("a", 1, 1), sonnet("b", 0, 1), sonnet("a", 0, 1)];
        assert_eq!(costs(&lines), [(0.0, false), (0.3, false), (1.8, false), (3.3, false), (3.3, false)]);
    }

    #[test]
    fn the_stated_cost_replaces_the_estimate_of_what_came_before() {
        let sonnet = |id| message(id, "claude-sonnet-4-5", 1, 1);
        let lines = [INIT.to_owned(), sonnet("a"), result(0.25), sonnet("b"), sonnet("a"), result(0.75)];
        let expected = [0.0, 1.8, 0.25, 2.05, 2.05, 0.75];
        assert_eq!(costs(&lines), expected.map(|cost| (cost, false)));
    }

    #[test]
    fn tokens_without_a_price_are_noticed_until_the_cost_is_stated() {
        let lines = [INIT.to_owned(), message("a", "acme-unpriced-9", 1, 1), result(0.5)];
        assert_eq!(costs(&lines), [(0.0, false), (0.0, true), (0.5, false)]);
    }

    #[test]
    fn each_limit_is_noticed_once() {
        let limits = CostLimits { warn: Some(1.0), stop: Some(2.0) };
        let steps = |limits, costs: &[(f64, bool)]| {
            let mut watch = CostWatch::new(limits);
            let due = |&(dollars, is_done): &(f64, bool)| {
                watch.take_due(RunCost { dollars, lacks_price: dollars > 9.0 }, is_done)
            };
            costs.iter().map(due).collect::<Vec<_>>()
        };
        let costs = [(1.0, false), (1.1, false), (2.0, false), (2.1, false), (3.0, false), (10.0, false)];
        let all = steps(limits, &costs);
        let expected: [&[CostStep]; 6] =
            [&[], &[CostStep::Report], &[], &[CostStep::Stop], &[], &[CostStep::ReportMissingPrice]];
        assert_eq!(all, expected);
        // A large step needs one line only, and a run that has its result isn't stopped.
        assert_eq!(steps(limits, &[(3.0, false)]), [[CostStep::Stop]]);
        let stop = CostLimits { warn: None, stop: Some(2.0) };
        assert_eq!(steps(stop, &[(3.0, true), (3.1, false)]), [[CostStep::Report], [CostStep::Stop]]);
        assert_eq!(steps(CostLimits::default(), &[(10.0, false)]), [[]; 1]);
    }
}
