//! Computes the cost and time of one turn from cumulative figures.
//!
//! `total_cost_usd`, `duration_api_ms` and `modelUsage` are sums over all turns of a session. In a process that resumes a session, newer
//! versions continue with the sums of the previous process, and older ones start at 0. Newer ones also report the usage since the last
//! outcome, which is exact even for the first outcome of a process that resumes a session.

use std::collections::VecDeque;

use streamfmt_core::event::Usage;
use streamfmt_core::session::SessionId;

/// The most sessions whose counters are remembered.
const MAX_SESSIONS: usize = 16;

/// The figures that the program reports: for a session up to the end of a turn, or since the previous outcome.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// US dollars.
    pub(super) cost: Option<f64>,
    /// Milliseconds spent waiting for the model.
    pub(super) api_ms: Option<i64>,
    /// The hash of each model's name, with its tokens.
    pub(super) models: Vec<(u64, Usage)>,
}

/// The cost and time of one turn.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TurnSpent {
    /// US dollars.
    pub(super) cost: Option<f64>,
    /// Milliseconds spent waiting for the model.
    pub(super) api_ms: Option<i64>,
}

/// The counters of each session at the end of its last turn.
#[derive(Debug, Default)]
pub(super) struct Spent {
    sessions: VecDeque<(Option<SessionId>, Counters)>,
}

impl Spent {
    /// Returns the cost and time of a turn. `counters`: the program's counters at its end. `used`: the tokens of the turn. `since`: the
    /// usage since the previous outcome, if the program reports it.
    pub(super) fn turn(
        &mut self,
        session: Option<&SessionId>,
        counters: Counters,
        used: Option<Usage>,
        since: Option<&Counters>,
    ) -> TurnSpent {
        let known = self.sessions.iter().position(|(known, _)| known.as_ref() == session);
        let before = known.and_then(|known| self.sessions.remove(known)).map(|(_, before)| before);
        let before = before.unwrap_or_default();
        // After a turn that broke off, the program reports no figures at all, not even those of earlier turns.
        let is_nothing = counters.cost.is_none_or(|cost| cost == 0.0) && counters.models.is_empty();
        let (spent, now) = if is_nothing {
            (TurnSpent { cost: counters.cost, api_ms: None }, before)
        } else {
            let goes_on = match since {
                Some(since) => counters.models.iter().any(|counted| !since.models.contains(counted)),
                None => !counters.has_restarted(&before, used),
            };
            // The counters include those of an earlier process, whose time is unknown.
            let is_unknown = since.is_some() && goes_on && before.models.is_empty();
            let mut spent = if goes_on {
                counters.since(&before)
            } else {
                TurnSpent { cost: counters.cost, api_ms: counters.api_ms }
            };
            spent.cost = since.and_then(|since| since.cost).map(exact).or(spent.cost);
            spent.api_ms = spent.api_ms.filter(|_| !is_unknown);
            // After a compaction, the time is reported as 0; in the next turn it continues from its earlier value.
            let api_ms = counters.api_ms.filter(|ms| *ms > 0 || !goes_on).or(before.api_ms);
            (spent, Counters { api_ms, ..counters })
        };
        if self.sessions.len() == MAX_SESSIONS {
            self.sessions.pop_front();
        }
        self.sessions.push_back((session.cloned(), now));
        spent
    }
}

impl Counters {
    /// Whether another process started counting from 0: the cost is lower, or a model that was used before has only the tokens of this
    /// turn.
    fn has_restarted(&self, before: &Self, used: Option<Usage>) -> bool {
        if self.cost < before.cost {
            return true;
        }
        self.models.iter().any(|(model, now)| {
            let before = before.models.iter().find(|(name, _)| name == model);
            before.is_some_and(|(_, before)| *before != Usage::default() && Some(*now) == used)
        })
    }

    fn since(&self, before: &Self) -> TurnSpent {
        TurnSpent {
            cost: self.cost.map(|now| before.cost.map_or(now, |before| exact(now - before))),
            api_ms: self.api_ms.map(|now| now.saturating_sub(before.api_ms.unwrap_or(0)).max(0)),
        }
    }
}

/// Rounds a difference or sum of dollars to nine decimal places; no price has more.
fn exact(dollars: f64) -> f64 {
    (dollars * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(cost: f64, models: &[(u64, u64)]) -> Counters {
        let models =
            models.iter().map(|&(name, output)| (name, Usage { output, ..Usage::default() })).collect();
        Counters { cost: Some(cost), api_ms: None, models }
    }

    type Turn<'a> = (&'a str, f64, &'a [(u64, u64)], u64);

    /// Returns the cost of each turn: its session, dollars so far, output of each model so far, output of the turn.
    fn costs(turns: &[Turn<'_>]) -> Vec<Option<f64>> {
        let mut spent = Spent::default();
        let mut cost = |&(session, cost, models, output): &Turn<'_>| {
            let used = Some(Usage { output, ..Usage::default() });
            spent.turn(Some(&session.into()), counters(cost, models), used, None).cost
        };
        turns.iter().map(&mut cost).collect()
    }

    #[test]
    fn a_turn_costs_what_was_counted_since_the_one_before_in_its_session() {
        let turns: [(_, _, &[_], _); 4] = [
            ("a", 0.0158, &[(1, 10)], 10),
            ("b", 0.5, &[(1, 90)], 90),
            ("a", 0.0492, &[(1, 30)], 20),
            ("b", 0.5, &[(1, 90)], 0),
        ];
        assert_eq!(costs(&turns), [Some(0.0158), Some(0.5), Some(0.0334), Some(0.0)]);
    }

    #[test]
    fn a_process_that_counts_from_0_is_noticed() {
        let lower: [(_, _, &[_], _); 2] = [("a", 0.5, &[(1, 90)], 90), ("a", 0.2, &[(1, 30)], 30)];
        assert_eq!(costs(&lower), [Some(0.5), Some(0.2)]);
        // More expensive than all before it, but one model has only this turn's tokens.
        let dearer: [(_, _, &[_], _); 2] = [("a", 0.5, &[(1, 90)], 90), ("a", 0.75, &[(2, 20), (1, 95)], 95)];
        assert_eq!(costs(&dearer), [Some(0.5), Some(0.75)]);
    }

    #[test]
    fn a_turn_that_broke_off_without_figures_resets_nothing() {
        let turns: [(_, _, &[_], _); 3] =
            [("a", 0.5, &[(1, 90)], 90), ("a", 0.0, &[], 0), ("a", 0.75, &[(1, 120)], 30)];
        assert_eq!(costs(&turns), [Some(0.5), Some(0.0), Some(0.25)]);
    }

    #[test]
    fn the_reported_usage_since_the_previous_outcome_is_used() {
        let mut spent = Spent::default();
        let mut turn = |cost, api_ms, output, (since_cost, since_output)| {
            let counters = Counters { api_ms: Some(api_ms), ..counters(cost, &[(1, output)]) };
            let models = vec![(1, Usage { output: since_output, ..Usage::default() })];
            let since = Counters { cost: Some(since_cost), models, api_ms: None };
            let spent = spent.turn(Some(&"a".into()), counters, None, Some(&since));
            (spent.cost, spent.api_ms)
        };
        // A process that continues counting, and one that counts from 0, although its figures are higher.
        assert_eq!(turn(0.75, 500, 120, (0.25, 30)), (Some(0.25), None));
        assert_eq!(turn(1.0, 600, 150, (0.25, 30)), (Some(0.25), Some(100)));
        assert_eq!(turn(2.0, 700, 300, (2.0, 300)), (Some(2.0), Some(700)));
        // A compaction.
        assert_eq!(turn(2.5, 0, 320, (0.5, 20)), (Some(0.5), Some(0)));
        assert_eq!(turn(2.75, 750, 330, (0.25, 10)), (Some(0.25), Some(50)));
        // A process that counts from 0, and has no time yet.
        assert_eq!(turn(0.5, 0, 20, (0.5, 20)), (Some(0.5), Some(0)));
        assert_eq!(turn(0.75, 50, 30, (0.25, 10)), (Some(0.25), Some(50)));
    }
}
