//! What one turn took, of the figures that the program counts on over all turns of a session.
//!
//! `total_cost_usd`, `duration_api_ms` and `modelUsage` go on from turn to turn, and from one process to the next that resumes
//! the session. Versions up to 1.0 begin anew with each process, and each has sessions of its own.

use std::collections::VecDeque;

use crate::event::Usage;
use crate::session::SessionId;

/// Sessions whose counters are remembered.
const MAX_SESSIONS: usize = 16;

/// What the program has counted in a session by the end of a turn.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// US dollars.
    pub(super) cost: Option<f64>,
    /// Milliseconds spent waiting for the model.
    pub(super) api_ms: Option<i64>,
    /// The hash of each model's name, and its tokens.
    pub(super) models: Vec<(u64, Usage)>,
}

/// What one turn took.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TurnSpent {
    /// US dollars.
    pub(super) cost: Option<f64>,
    /// Milliseconds spent waiting for the model.
    pub(super) api_ms: Option<i64>,
}

/// The counters of each session when its last turn ended.
#[derive(Debug, Default)]
pub(super) struct Spent {
    sessions: VecDeque<(Option<SessionId>, Counters)>,
}

impl Spent {
    /// What a turn took after which the program has counted so much; `used`: its tokens.
    pub(super) fn turn(
        &mut self,
        session: Option<&SessionId>,
        counters: Counters,
        used: Option<Usage>,
    ) -> TurnSpent {
        let known = self.sessions.iter().position(|(known, _)| known.as_ref() == session);
        let before = known.and_then(|known| self.sessions.remove(known)).map(|(_, before)| before);
        let before = before.unwrap_or_default();
        // Of a turn that broke off the program counts nothing, not even those before it.
        let is_nothing = counters.cost.is_none_or(|cost| cost == 0.0) && counters.models.is_empty();
        let (spent, now) = if is_nothing {
            (TurnSpent { cost: counters.cost, api_ms: None }, before)
        } else if counters.begins_anew(&before, used) {
            (TurnSpent { cost: counters.cost, api_ms: counters.api_ms }, counters)
        } else {
            (counters.since(&before), counters)
        };
        if self.sessions.len() == MAX_SESSIONS {
            self.sessions.pop_front();
        }
        self.sessions.push_back((session.cloned(), now));
        spent
    }
}

impl Counters {
    /// Whether another process counts from 0: its figures are lower, or a model that was used before has the tokens of this turn
    /// alone.
    fn begins_anew(&self, before: &Self, used: Option<Usage>) -> bool {
        if self.cost < before.cost {
            return true;
        }
        self.models.iter().any(|(model, now)| {
            let before = before.models.iter().find(|(name, _)| name == model);
            before.is_some_and(|(_, before)| *before != Usage::default() && Some(*now) == used)
        })
    }

    fn since(&self, before: &Self) -> TurnSpent {
        // Sums of floats: no price has more than nine digits behind the point.
        let exact = |dollars: f64| (dollars * 1e9).round() / 1e9;
        TurnSpent {
            cost: self.cost.map(|now| before.cost.map_or(now, |before| exact(now - before))),
            api_ms: self.api_ms.map(|now| now.saturating_sub(before.api_ms.unwrap_or(0)).max(0)),
        }
    }
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

    /// What each turn cost: session, dollars so far, output of each model so far, output of the turn.
    fn costs(turns: &[Turn<'_>]) -> Vec<Option<f64>> {
        let mut spent = Spent::default();
        let mut cost = |&(session, cost, models, output): &Turn<'_>| {
            let used = Some(Usage { output, ..Usage::default() });
            spent.turn(Some(&session.into()), counters(cost, models), used).cost
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
        // Dearer than all before it, but a model has the tokens of this turn alone.
        let dearer: [(_, _, &[_], _); 2] = [("a", 0.5, &[(1, 90)], 90), ("a", 0.75, &[(2, 20), (1, 95)], 95)];
        assert_eq!(costs(&dearer), [Some(0.5), Some(0.75)]);
    }

    #[test]
    fn a_turn_that_broke_off_without_figures_resets_nothing() {
        let turns: [(_, _, &[_], _); 3] =
            [("a", 0.5, &[(1, 90)], 90), ("a", 0.0, &[], 0), ("a", 0.75, &[(1, 120)], 30)];
        assert_eq!(costs(&turns), [Some(0.5), Some(0.0), Some(0.25)]);
    }
}
