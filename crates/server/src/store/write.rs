//! Writes rows of sessions, and links those of one agent's session.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::StoreError;
use super::record::SessionRun;
use super::sql::Database;

/// Writes a row, or updates it. If that takes it from an agent's session, the others of that session are linked anew.
pub(super) fn session(
    database: &Database,
    run: &SessionRun,
    first_message: Option<u64>,
) -> Result<(), StoreError> {
    let before = database.agent_session(&run.id)?;
    database.write_session(run, first_message)?;
    match before.filter(|before| Some(before) != run.agent_session.as_ref()) {
        Some(before) => link(database, &before),
        None => Ok(()),
    }
}

/// One of the runs of an agent's session.
pub(super) struct LinkedRun {
    pub(super) id: String,
    pub(super) started: i64,
    pub(super) pid_start: Option<u64>,
    pub(super) boot: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) resumes: Option<String>,
    pub(super) cost_counted: Option<f64>,
    pub(super) cost: Option<f64>,
    pub(super) api_counted: Option<i64>,
    pub(super) api_ms: Option<i64>,
    /// The number of tool calls.
    pub(super) calls: i64,
    /// Tokens by model and kind.
    pub(super) usage: BTreeMap<String, BTreeMap<String, LinkedTokens>>,
}

/// Tokens of a kind.
#[derive(Clone, Copy)]
pub(super) struct LinkedTokens {
    /// The tokens of the run.
    pub(super) own: i64,
    /// The tokens that the agent reported, if they may include those of earlier runs.
    pub(super) counted: Option<i64>,
    /// The tokens that the agent had counted before the run, if known: see [`CountedFrom`].
    pub(super) base: Option<i64>,
}

/// Links the runs of an agent's session: each resumes the one before it, whose figures are subtracted from its own. The first one resumes a
/// run of another session, if the agent reports that. Sessions that resumed this one are linked, too.
pub(super) fn link(database: &Database, agent_session: &str) -> Result<(), StoreError> {
    link_runs(database, agent_session)?;
    database.resuming(agent_session)?.iter().try_for_each(|child| link_runs(database, child))
}

fn link_runs(database: &Database, agent_session: &str) -> Result<(), StoreError> {
    let runs = runs_of(database, agent_session)?;
    let mut earlier = Vec::new();
    if let Some(first) = runs.first()
        && let Some(parent) = &first.parent
    {
        earlier = runs_of(database, parent)?;
        earlier.retain(|run| run.is_before(first));
    }
    let mut last = earlier.last().map(|run| run.id.clone());
    let mut before = earlier.into_iter().rfind(LinkedRun::has_figures);
    for run in runs {
        // In a session with many runs, most don't change.
        if run.resumes != last {
            database.write_resumes(&run.id, last.as_deref())?;
        }
        let mut is_changed = false;
        let base = before.as_ref().filter(|before| run.goes_on(before));
        if let Some(cost) = run.cost_counted {
            // Round sums of floats: no price has more than nine decimal places.
            let less = |base: f64| ((cost - base) * 1e9).round().max(0.0) / 1e9;
            let own = base.and_then(LinkedRun::whole_cost).map_or(cost, less);
            if run.cost != Some(own) {
                database.write_cost(&run.id, own)?;
            }
        }
        if let Some(api_ms) = run.api_counted {
            let own = (api_ms - base.and_then(LinkedRun::whole_api_ms).unwrap_or(0)).max(0);
            if run.api_ms != Some(own) {
                database.write_api_time(&run.id, own)?;
            }
        }
        for (model, kinds) in &run.usage {
            for (kind, tokens) in kinds {
                let Some(counted) = tokens.counted else { continue };
                let base =
                    base.and_then(|base| base.usage.get(model)?.get(kind)).map_or(0, |base| base.whole());
                let own = (counted - base).max(0);
                if own != tokens.own {
                    is_changed = true;
                    database.write_tokens(&run.id, model, kind, own)?;
                }
            }
        }
        if is_changed {
            database.sum_tokens(&run.id)?;
        }
        last = Some(run.id.clone());
        if run.has_figures() {
            before = Some(run);
        }
    }
    Ok(())
}

/// Returns the runs of an agent's session, in order.
fn runs_of(database: &Database, agent_session: &str) -> Result<Vec<LinkedRun>, StoreError> {
    let mut runs = database.linked_runs(agent_session)?;
    for run in &mut runs {
        for (model, kind, tokens) in database.linked_tokens(&run.id)? {
            run.usage.entry(model).or_default().insert(kind, tokens);
        }
    }
    order_by_clock(&mut runs);
    Ok(runs)
}

impl LinkedTokens {
    /// Returns the tokens of the session at the end of the run.
    fn whole(self) -> i64 {
        self.counted.unwrap_or_else(|| self.own.saturating_add(self.base.unwrap_or(0)))
    }
}

impl LinkedRun {
    fn tokens(&self) -> impl Iterator<Item = (&str, LinkedTokens)> {
        self.usage.values().flatten().map(|(kind, tokens)| (kind.as_str(), *tokens))
    }

    fn has_figures(&self) -> bool {
        self.cost.is_some() || !self.usage.is_empty()
    }

    /// Whether only other runs show from where its figures are counted.
    fn is_open(&self) -> bool {
        self.tokens().any(|(_, tokens)| tokens.counted.is_some())
    }

    fn is_before(&self, other: &Self) -> bool {
        match (self.pid_start, other.pid_start) {
            (Some(own), Some(others)) if self.boot.is_some() && self.boot == other.boot => own < others,
            _ => (self.started, &self.id) < (other.started, &other.id),
        }
    }

    fn whole_cost(&self) -> Option<f64> {
        self.cost_counted.or(self.cost)
    }

    fn whole_api_ms(&self) -> Option<i64> {
        self.api_counted.or(self.api_ms)
    }

    /// Whether its figures continue those of the run before it. If the agent doesn't report that, it is inferred from the figures: many
    /// resumed runs count from 0.
    fn goes_on(&self, before: &Self) -> bool {
        if !self.is_open() {
            return self.tokens().any(|(_, tokens)| tokens.base > Some(0));
        }
        if self.tokens().all(|(_, tokens)| tokens.base.is_none()) {
            return self.sends_on(before);
        }
        // Its figures without its first turn equal those at the end of the run before it.
        self.usage.iter().any(|(model, kinds)| {
            let Some(before) = before.usage.get(model) else { return false };
            before.values().any(|tokens| tokens.whole() > 0)
                && kinds.iter().all(|(kind, now)| now.base == before.get(kind).map(|before| before.whole()))
        })
    }

    /// Infers the same for an agent that reports only sums: a resumed run sends the whole conversation again, so the sums have grown by at
    /// least about the tokens of one call of the model.
    fn sends_on(&self, before: &Self) -> bool {
        let sent = |run: &Self, of: fn(LinkedTokens) -> i64| -> i64 {
            run.tokens().filter(|(kind, _)| *kind != "output").map(|(_, tokens)| of(tokens)).sum()
        };
        let more = sent(self, LinkedTokens::whole) - sent(before, LinkedTokens::whole);
        let of_a_call = sent(before, |tokens| tokens.own) / (before.calls + 1);
        more > 0 && more >= of_a_call / 2
    }
}

/// Orders runs of one boot by the time since the boot, which doesn't depend on changes of the clock.
fn order_by_clock(runs: &mut Vec<LinkedRun>) {
    let boots: Vec<Option<String>> = runs.iter().map(|run| run.boot.clone()).collect();
    let mut of_boot: BTreeMap<String, Vec<LinkedRun>> = BTreeMap::new();
    let mut others = Vec::new();
    for run in runs.drain(..) {
        match run.boot.clone() {
            Some(boot) => of_boot.entry(boot).or_default().push(run),
            None => others.push(run),
        }
    }
    for runs in of_boot.values_mut() {
        // Reversed, so that `pop` returns the first one.
        runs.sort_by_key(|run| run.pid_start);
        runs.reverse();
    }
    others.reverse();
    for boot in boots {
        let next = match boot {
            Some(boot) => of_boot.get_mut(&boot).and_then(Vec::pop),
            None => others.pop(),
        };
        runs.extend(next);
    }
}
