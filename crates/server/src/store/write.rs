//! Writes rows.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Transaction, params};
use streamfmt::core::event::Usage;

use super::figures::{CountedFrom, SessionFigures, SessionOutcome};
use super::row::{SourceKind, SourceRow, nanoseconds};
use crate::path_text::path_text;
use crate::side_file::{AgentExit, ProcessMark};

/// The columns of a row of `sessions`, without its figures.
pub(super) struct SessionEntry<'a> {
    pub(super) id: &'a str,
    pub(super) agent_session: Option<&'a str>,
    /// The agent's own id of the session that it resumes.
    pub(super) parent_session: Option<&'a str>,
    pub(super) agent: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) title: Option<&'a str>,
    pub(super) folder: Option<&'a str>,
    pub(super) command: &'a [String],
    pub(super) labels: &'a BTreeMap<String, String>,
    pub(super) status: &'a str,
    pub(super) started: jiff::Timestamp,
    pub(super) ended: Option<jiff::Timestamp>,
    pub(super) exit: Option<AgentExit>,
    pub(super) recorder: Option<&'a ProcessMark>,
    /// The first message that it counted.
    pub(super) first_message: Option<u64>,
}

/// Writes a row, or updates it. Figures are left unchanged.
pub(super) fn session(transaction: &Transaction<'_>, entry: &SessionEntry<'_>) -> rusqlite::Result<()> {
    let command = (!entry.command.is_empty()).then(|| json(&entry.command));
    let labels = (!entry.labels.is_empty()).then(|| json(&entry.labels));
    let before: Option<Option<String>> = transaction
        .query_row("SELECT agent_session FROM sessions WHERE id = ?1", [entry.id], |row| row.get(0))
        .optional()?;
    transaction.execute(
        "INSERT INTO sessions (id, agent_session, agent, model, title, folder, command, labels, status, started, ended, exit, pid, \
         pid_start, boot, parent_session, first_message) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) \
         ON CONFLICT (id) DO UPDATE SET agent_session = ?2, agent = ?3, model = ?4, title = ?5, folder = ?6, command = ?7, \
         labels = ?8, status = ?9, started = ?10, ended = ?11, exit = ?12, pid = ?13, pid_start = ?14, boot = ?15, parent_session = ?16, \
         first_message = ?17",
        params![
            entry.id,
            entry.agent_session,
            entry.agent,
            entry.model,
            entry.title,
            entry.folder,
            command,
            labels,
            entry.status,
            nanoseconds(entry.started),
            entry.ended.map(nanoseconds),
            entry.exit.map(|exit| json(&exit)),
            entry.recorder.map(|mark| mark.pid),
            entry.recorder.and_then(|mark| mark.start).map(u64::cast_signed),
            entry.recorder.and_then(|mark| mark.boot.as_deref()),
            entry.parent_session.filter(|parent| Some(*parent) != entry.agent_session),
            entry.first_message.map(u64::cast_signed),
        ],
    )?;
    if let Some(before) = before.flatten().filter(|before| Some(before.as_str()) != entry.agent_session) {
        link(transaction, &before)?;
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Writes the row of a source.
pub(super) fn source(
    transaction: &Transaction<'_>,
    session: &str,
    source: &SourceRow,
) -> rusqlite::Result<()> {
    let gaps = (!source.gaps.is_empty()).then(|| json(&source.gaps));
    if source.kind == SourceKind::Run {
        // A run has one log, which may have been moved.
        let sql = "DELETE FROM sources WHERE session = ?1 AND kind = 'run' AND path <> ?2";
        transaction.execute(sql, params![session, path_text(&source.path)])?;
    }
    transaction.execute(
        "INSERT INTO sources (session, path, kind, start, size, errors, gaps, mtime, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (session, path) DO UPDATE SET kind = ?3, start = ?4, size = ?5, errors = ?6, gaps = ?7, mtime = ?8, gone = ?9",
        params![
            session,
            path_text(&source.path),
            source.kind.name(),
            source.start.cast_signed(),
            source.size.map(u64::cast_signed),
            source.errors.as_deref().map(path_text),
            gaps,
            source.mtime,
            source.gone,
        ],
    )?;
    Ok(())
}

/// Writes the figures of a session. `has_tokens`: whether tokens are written even if no outcome reported them.
pub(super) fn figures(
    transaction: &Transaction<'_>,
    session: &str,
    figures: &SessionFigures,
    has_tokens: bool,
) -> rusqlite::Result<()> {
    let response = figures.response();
    let error = match &figures.outcome {
        Some(SessionOutcome::Error(text)) => Some(text.as_str()),
        Some(SessionOutcome::Response(_)) | None => None,
    };
    let has_tokens = has_tokens || figures.outcome.is_some();
    let from = &figures.counted_from;
    let is_open = matches!(from, CountedFrom::Either(_));
    let signed = |count: Option<u64>| count.map(stored);
    transaction.execute(
        "UPDATE sessions SET response = ?2, error = ?3, num_turns = ?4, duration_ms = ?5, cost_usd = ?6, cost_counted = ?7, api_ms = ?8, \
         api_counted = ?9 WHERE id = ?1",
        params![
            session,
            response,
            error,
            signed(figures.num_turns),
            signed(figures.duration_ms),
            figures.cost_usd,
            figures.cost_usd.filter(|_| is_open),
            signed(figures.api_ms),
            signed(figures.api_ms.filter(|_| *from != CountedFrom::Start)),
        ],
    )?;
    transaction.execute("DELETE FROM usage WHERE session = ?1", [session])?;
    transaction.execute("DELETE FROM calls WHERE session = ?1", [session])?;
    let hashes: Vec<u8> = figures.messages.all.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    transaction
        .execute("REPLACE INTO messages (session, hashes) VALUES (?1, ?2)", params![session, hashes])?;
    let base = match from {
        CountedFrom::Start => None,
        CountedFrom::Session(base) | CountedFrom::Either(base) => Some(base),
    };
    let usage = figures.usage.iter().filter(|_| has_tokens);
    for (model, usage) in usage {
        let base = base.and_then(|base| base.get(model)).map(|base| kinds(*base));
        for (at, (kind, tokens)) in kinds(*usage).into_iter().enumerate() {
            let tokens = stored(tokens);
            let base = base.map(|base| stored(base[at].1));
            transaction.execute(
                "INSERT INTO usage (session, model, kind, tokens, counted, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![session, model, kind, tokens, is_open.then_some(tokens), base],
            )?;
        }
    }
    for (tool, calls) in &figures.calls {
        transaction.execute(
            "INSERT INTO calls (session, tool, calls) VALUES (?1, ?2, ?3)",
            params![session, tool, stored(*calls)],
        )?;
    }
    sum(transaction, session)
}

/// Converts a count for the database. Absurdly large counts are cut, so that their sums fit as well.
fn stored(count: u64) -> i64 {
    count.min(1 << 52).cast_signed()
}

/// The kinds of tokens.
const KINDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

fn kinds(usage: Usage) -> [(&'static str, u64); 4] {
    let Usage { input, output, cache_read, cache_write } = usage;
    let [a, b, c, d] = KINDS;
    [(a, input), (b, output), (c, cache_read), (d, cache_write)]
}

/// Sums the tokens of all models.
fn sum(transaction: &Transaction<'_>, session: &str) -> rusqlite::Result<()> {
    let sql = "SELECT sum(tokens) FROM usage WHERE session = ?1 AND kind = ?2";
    let mut sums: Vec<Option<i64>> = Vec::new();
    for kind in KINDS {
        sums.push(transaction.query_row(sql, [session, kind], |row| row.get(0))?);
    }
    transaction.execute(
        "UPDATE sessions SET tokens_input = ?2, tokens_output = ?3, tokens_cache_read = ?4, tokens_cache_write = ?5 WHERE id = ?1",
        params![session, sums[0], sums[1], sums[2], sums[3]],
    )?;
    Ok(())
}

/// One of the runs of an agent's session.
struct LinkedRun {
    id: String,
    started: i64,
    pid_start: Option<u64>,
    boot: Option<String>,
    parent: Option<String>,
    resumes: Option<String>,
    cost_counted: Option<f64>,
    cost: Option<f64>,
    api_counted: Option<i64>,
    api_ms: Option<i64>,
    /// The number of tool calls.
    calls: i64,
    /// Tokens by model and kind.
    usage: BTreeMap<String, BTreeMap<String, LinkedTokens>>,
}

/// Tokens of a kind.
#[derive(Clone, Copy)]
struct LinkedTokens {
    /// The tokens of the run.
    own: i64,
    /// The tokens that the agent reported, if they may include those of earlier runs.
    counted: Option<i64>,
    /// The tokens that the agent had counted before the run, if known: see [`CountedFrom`].
    base: Option<i64>,
}

/// Links the runs of an agent's session: each resumes the one before it, whose figures are subtracted from its own. The first one resumes a
/// run of another session, if the agent reports that. Sessions that resumed this one are linked, too.
pub(super) fn link(transaction: &Transaction<'_>, agent_session: &str) -> rusqlite::Result<()> {
    link_runs(transaction, agent_session)?;
    let sql = "SELECT DISTINCT agent_session FROM sessions WHERE parent_session = ?1 AND agent_session <> ?1";
    let mut statement = transaction.prepare(sql)?;
    let children = statement.query_map([agent_session], |row| row.get(0))?;
    let children: Vec<String> = children.collect::<Result<_, _>>()?;
    children.iter().try_for_each(|child| link_runs(transaction, child))
}

fn link_runs(transaction: &Transaction<'_>, agent_session: &str) -> rusqlite::Result<()> {
    let runs = runs_of(transaction, agent_session)?;
    let mut earlier = Vec::new();
    if let Some(first) = runs.first()
        && let Some(parent) = &first.parent
    {
        earlier = runs_of(transaction, parent)?;
        earlier.retain(|run| run.is_before(first));
    }
    let mut last = earlier.last().map(|run| run.id.clone());
    let mut before = earlier.into_iter().rfind(LinkedRun::has_figures);
    for run in runs {
        // In a session with many runs, most don't change.
        if run.resumes != last {
            transaction.execute(
                "UPDATE sessions SET resumes = ?2 WHERE id = ?1",
                params![run.id, last.as_deref()],
            )?;
        }
        let mut is_changed = false;
        let base = before.as_ref().filter(|before| run.goes_on(before));
        if let Some(cost) = run.cost_counted {
            // Round sums of floats: no price has more than nine decimal places.
            let less = |base: f64| ((cost - base) * 1e9).round().max(0.0) / 1e9;
            let own = base.and_then(LinkedRun::whole_cost).map_or(cost, less);
            if run.cost != Some(own) {
                transaction
                    .execute("UPDATE sessions SET cost_usd = ?2 WHERE id = ?1", params![run.id, own])?;
            }
        }
        if let Some(api_ms) = run.api_counted {
            let own = (api_ms - base.and_then(LinkedRun::whole_api_ms).unwrap_or(0)).max(0);
            if run.api_ms != Some(own) {
                transaction.execute("UPDATE sessions SET api_ms = ?2 WHERE id = ?1", params![run.id, own])?;
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
                    transaction.execute(
                        "UPDATE usage SET tokens = ?4 WHERE session = ?1 AND model = ?2 AND kind = ?3",
                        params![run.id, model, kind, own],
                    )?;
                }
            }
        }
        if is_changed {
            sum(transaction, &run.id)?;
        }
        last = Some(run.id.clone());
        if run.has_figures() {
            before = Some(run);
        }
    }
    Ok(())
}

/// Returns the runs of an agent's session, in order.
fn runs_of(transaction: &Transaction<'_>, agent_session: &str) -> rusqlite::Result<Vec<LinkedRun>> {
    let mut statement = transaction.prepare(
        "SELECT id, started, pid_start, boot, parent_session, cost_counted, cost_usd, api_counted, api_ms, \
         (SELECT coalesce(sum(calls), 0) FROM calls WHERE session = id), resumes FROM sessions WHERE agent_session = ?1 ORDER BY started, id",
    )?;
    let rows = statement.query_map([agent_session], |row| {
        Ok(LinkedRun {
            id: row.get(0)?,
            started: row.get(1)?,
            pid_start: row.get(2)?,
            boot: row.get(3)?,
            parent: row.get(4)?,
            cost_counted: row.get(5)?,
            cost: row.get(6)?,
            api_counted: row.get(7)?,
            api_ms: row.get(8)?,
            calls: row.get(9)?,
            resumes: row.get(10)?,
            usage: BTreeMap::new(),
        })
    })?;
    let mut runs: Vec<LinkedRun> = rows.collect::<Result<_, _>>()?;
    let mut statement =
        transaction.prepare("SELECT model, kind, tokens, counted, base FROM usage WHERE session = ?1")?;
    for run in &mut runs {
        let mut rows = statement.query([&run.id])?;
        while let Some(row) = rows.next()? {
            let tokens = LinkedTokens { own: row.get(2)?, counted: row.get(3)?, base: row.get(4)? };
            run.usage.entry(row.get(0)?).or_default().insert(row.get(1)?, tokens);
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
            run.tokens().filter(|(kind, _)| *kind != KINDS[1]).map(|(_, tokens)| of(tokens)).sum()
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
