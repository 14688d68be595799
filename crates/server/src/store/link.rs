//! Links the runs of an agent's session.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use streamfmt::core::session::counted::CountedRun;

use super::StoreError;
use super::record::{SessionRecord, SessionRun};
use super::sql::Database;

/// Writes a row, or updates it. If that takes it from an agent's session, the others of that session are linked anew.
pub(super) fn write_session(
    database: &Database,
    run: &SessionRun,
    first_message: Option<u64>,
) -> Result<(), StoreError> {
    let before = database.session(&run.id)?.and_then(|known| known.run.agent_session);
    database.write_session(run, first_message)?;
    match before.filter(|before| Some(before) != run.agent_session.as_ref()) {
        Some(before) => link(database, &before),
        None => Ok(()),
    }
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
    if let Some((first, _)) = runs.first()
        && let Some(parent) = &first.parent_session
    {
        earlier = runs_of(database, parent)?;
        earlier.retain(|(run, _)| is_before(run, first));
    }
    let mut last = earlier.last().map(|(run, _)| run.id.clone());
    let mut before = earlier.into_iter().map(|(_, sums)| sums).rfind(has_figures);
    for (run, mut sums) in runs {
        // In a session with many runs, most don't change.
        if run.resumes != last {
            database.write_resumes(&run.id, last.as_deref())?;
        }
        let known = sums.own.clone();
        sums.take_off(before.as_ref());
        if sums.own != known {
            database.write_own(&run.id, &sums.own)?;
        }
        last = Some(run.id);
        if has_figures(&sums) {
            before = Some(sums);
        }
    }
    Ok(())
}

fn has_figures(run: &CountedRun) -> bool {
    run.own.cost_usd.is_some() || !run.own.usage.is_empty()
}

/// The boot in which a run was recorded, and the time since then.
fn boot(run: &SessionRun) -> Option<(&str, Option<u64>)> {
    let recorder = run.recorder.as_ref()?;
    Some((recorder.boot.as_deref()?, recorder.start))
}

fn is_before(run: &SessionRun, other: &SessionRun) -> bool {
    match (boot(run), boot(other)) {
        (Some((boot, Some(own))), Some((others_boot, Some(others)))) if boot == others_boot => own < others,
        _ => (run.started, &run.id) < (other.started, &other.id),
    }
}

/// Returns the runs of an agent's session, in order: those of one boot take the places among the others by the time since the boot, which
/// doesn't depend on changes of the clock.
fn runs_of(database: &Database, agent_session: &str) -> Result<Vec<(SessionRun, CountedRun)>, StoreError> {
    let mut boots = Vec::new();
    let mut of_boot: BTreeMap<Option<String>, VecDeque<SessionRun>> = BTreeMap::new();
    for SessionRecord { run, .. } in database.sessions_of(agent_session)? {
        let boot = boot(&run).map(|(boot, _)| boot.to_owned());
        boots.push(boot.clone());
        of_boot.entry(boot).or_default().push_back(run);
    }
    for (_, runs) in of_boot.iter_mut().filter(|(boot, _)| boot.is_some()) {
        runs.make_contiguous().sort_by_key(|run| boot(run).and_then(|(_, time)| time));
    }
    let runs = boots.iter().filter_map(|boot| of_boot.get_mut(boot)?.pop_front());
    let mut sums = database.sums(agent_session)?;
    let with_sums = |run: SessionRun| {
        let sums = sums.remove(&run.id).unwrap_or_default();
        (run, sums)
    };
    Ok(runs.map(with_sums).collect())
}
