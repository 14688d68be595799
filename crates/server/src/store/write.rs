//! Writes rows.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};
use streamfmt::core::event::Usage;

use super::figures::{SessionFigures, SessionOutcome};
use super::row::{SourceRow, nanoseconds};
use crate::side_file::{AgentExit, ProcessMark};

/// What a row of `sessions` is made of, but for its figures.
pub(super) struct SessionEntry<'a> {
    pub(super) id: &'a str,
    pub(super) agent_session: Option<&'a str>,
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
}

/// Writes a row, or what changed of it. Figures stay as they are.
pub(super) fn session(transaction: &Transaction<'_>, entry: &SessionEntry<'_>) -> rusqlite::Result<()> {
    let command = (!entry.command.is_empty()).then(|| json(&entry.command));
    let labels = (!entry.labels.is_empty()).then(|| json(&entry.labels));
    let before: Option<Option<String>> = transaction
        .query_row("SELECT agent_session FROM sessions WHERE id = ?1", [entry.id], |row| row.get(0))
        .optional()?;
    transaction.execute(
        "INSERT INTO sessions (id, agent_session, agent, model, title, folder, command, labels, status, started, ended, exit, pid, \
         pid_start, boot) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
         ON CONFLICT (id) DO UPDATE SET agent_session = ?2, agent = ?3, model = ?4, title = ?5, folder = ?6, command = ?7, \
         labels = ?8, status = ?9, started = ?10, ended = ?11, exit = ?12, pid = ?13, pid_start = ?14, boot = ?15",
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
    transaction.execute(
        "INSERT INTO sources (session, path, kind, start, size, errors, gaps, mtime, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (session, path) DO UPDATE SET kind = ?3, start = ?4, size = ?5, errors = ?6, gaps = ?7, mtime = ?8, gone = ?9",
        params![
            session,
            text(&source.path),
            source.kind.name(),
            source.start.cast_signed(),
            source.size.map(u64::cast_signed),
            source.errors.as_deref().map(text),
            gaps,
            source.mtime,
            source.gone,
        ],
    )?;
    Ok(())
}

/// A path as it is stored.
pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Writes the figures of a session, and what follows from them for runs that resumed it. `has_tokens`: whether tokens count that were not
/// reported by an outcome.
pub(super) fn figures(
    transaction: &Transaction<'_>,
    session: &str,
    figures: &SessionFigures,
    has_tokens: bool,
) -> rusqlite::Result<()> {
    let (response, error) = match &figures.outcome {
        Some(SessionOutcome::Response(text)) => (Some(text.as_str()), None),
        Some(SessionOutcome::Error(text)) => (None, Some(text.as_str())),
        None => (None, None),
    };
    let has_tokens = has_tokens || figures.outcome.is_some();
    let goes_on = |name| figures.cumulative.contains(&name);
    let signed = |count: Option<u64>| count.map(stored);
    transaction.execute(
        "UPDATE sessions SET response = ?2, error = ?3, num_turns = ?4, duration_ms = ?5, cost_usd = ?6, cost_counted = ?7, api_ms = ?8, \
         api_counted = ?9, fresh_model = ?10 WHERE id = ?1",
        params![
            session,
            response,
            error,
            signed(figures.num_turns),
            signed(figures.duration_ms),
            figures.cost_usd,
            figures.cost_usd.filter(|_| goes_on("cost_usd")),
            signed(figures.api_ms),
            signed(figures.api_ms.filter(|_| goes_on("api_ms"))),
            figures.fresh_model,
        ],
    )?;
    transaction.execute("DELETE FROM usage WHERE session = ?1", [session])?;
    transaction.execute("DELETE FROM calls WHERE session = ?1", [session])?;
    let counts_on = goes_on("models") || goes_on("usage");
    let usage = figures.usage.iter().filter(|_| has_tokens);
    for (model, usage) in usage {
        for (kind, tokens) in kinds(*usage) {
            let counted = counts_on.then_some(stored(tokens));
            transaction.execute(
                "INSERT INTO usage (session, model, kind, tokens, counted) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![session, model, kind, stored(tokens), counted],
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

/// A count as it is stored: absurd ones are cut, so that their sums fit as well.
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
    pid_start: Option<u64>,
    boot: Option<String>,
    cost: Option<f64>,
    api_ms: Option<i64>,
    fresh_model: Option<String>,
    usage: BTreeMap<(String, String), i64>,
}

/// Links the runs of an agent's session: each resumes the one before it, and what that had counted is not its own.
pub(super) fn link(transaction: &Transaction<'_>, agent_session: &str) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(
        "SELECT id, pid_start, boot, cost_counted, api_counted, fresh_model FROM sessions WHERE agent_session = ?1 ORDER BY started, id",
    )?;
    let rows = statement.query_map([agent_session], |row| {
        Ok(LinkedRun {
            id: row.get(0)?,
            pid_start: row.get(1)?,
            boot: row.get(2)?,
            cost: row.get(3)?,
            api_ms: row.get(4)?,
            fresh_model: row.get(5)?,
            usage: BTreeMap::new(),
        })
    })?;
    let mut runs: Vec<LinkedRun> = rows.collect::<Result<_, _>>()?;
    order_by_clock(&mut runs);
    let mut before: Option<LinkedRun> = None;
    let mut last: Option<String> = None;
    for mut run in runs {
        let mut statement = transaction
            .prepare("SELECT model, kind, counted FROM usage WHERE session = ?1 AND counted IS NOT NULL")?;
        let rows =
            statement.query_map([&run.id], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, i64>(2)?)))?;
        run.usage = rows.collect::<Result<_, _>>()?;
        let base = before.as_ref().filter(|before| !run.begins_anew(before));
        transaction
            .execute("UPDATE sessions SET resumes = ?2 WHERE id = ?1", params![run.id, last.as_deref()])?;
        if let Some(cost) = run.cost {
            // Sums of floats: no price has more than nine digits behind the point.
            let own =
                base.and_then(|base| base.cost).map_or(cost, |base| ((cost - base) * 1e9).round() / 1e9);
            transaction.execute("UPDATE sessions SET cost_usd = ?2 WHERE id = ?1", params![run.id, own])?;
        }
        if let Some(api_ms) = run.api_ms {
            let own = (api_ms - base.and_then(|base| base.api_ms).unwrap_or(0)).max(0);
            transaction.execute("UPDATE sessions SET api_ms = ?2 WHERE id = ?1", params![run.id, own])?;
        }
        for ((model, kind), counted) in &run.usage {
            let key = (model.clone(), kind.clone());
            let base = base.and_then(|base| base.usage.get(&key)).copied().unwrap_or(0);
            transaction.execute(
                "UPDATE usage SET tokens = ?4 WHERE session = ?1 AND model = ?2 AND kind = ?3",
                params![run.id, model, kind, (counted - base).max(0)],
            )?;
        }
        if !run.usage.is_empty() {
            sum(transaction, &run.id)?;
        }
        last = Some(run.id.clone());
        if run.cost.is_some() || !run.usage.is_empty() {
            before = Some(run);
        }
    }
    Ok(())
}

impl LinkedRun {
    /// Whether it counts from 0: its figures are lower than those before, or a model that was used before has the tokens of its first turn
    /// alone.
    fn begins_anew(&self, before: &Self) -> bool {
        if self.cost.zip(before.cost).is_some_and(|(now, before)| now < before) {
            return true;
        }
        let was_used =
            |model: &String| before.usage.iter().any(|((known, _), tokens)| known == model && *tokens > 0);
        self.fresh_model.as_ref().is_some_and(was_used)
            || self.usage.iter().any(|(key, now)| before.usage.get(key).is_some_and(|before| now < before))
    }
}

/// Orders runs of one boot by the time since that, which a change of the clock doesn't change.
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
        // The first one is taken first.
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

/// Takes rows over from a damaged database, as far as they can be read; gives how many sessions.
pub(super) fn save(old: &Connection, new: &mut Connection) -> usize {
    let mut saved = 0;
    for table in ["sessions", "sources", "usage", "calls"] {
        let copied = copy(old, new, table).unwrap_or(0);
        if table == "sessions" {
            saved = copied;
        }
    }
    saved
}

/// Copies the readable rows of a table whose name is one of ours.
fn copy(old: &Connection, new: &mut Connection, table: &str) -> rusqlite::Result<usize> {
    let transaction = new.transaction()?;
    let mut statement = old.prepare(&format!("SELECT * FROM {table}"))?;
    let known: Vec<String> = {
        let statement = transaction.prepare(&format!("SELECT * FROM {table}"))?;
        statement.column_names().into_iter().map(str::to_owned).collect()
    };
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let taken: Vec<usize> = (0..names.len()).filter(|at| known.contains(&names[*at])).collect();
    let columns: Vec<&str> = taken.iter().map(|at| names[*at].as_str()).collect();
    let marks: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let sql = format!("INSERT OR IGNORE INTO {table} ({}) VALUES ({})", columns.join(", "), marks.join(", "));
    let mut count = 0;
    let mut rows = statement.query([])?;
    // At a page that can't be read this ends.
    while let Ok(Some(row)) = rows.next() {
        let values: rusqlite::Result<Vec<rusqlite::types::Value>> =
            taken.iter().map(|at| row.get(*at)).collect();
        let Ok(values) = values else { continue };
        count += transaction.execute(&sql, params_from_iter(values)).unwrap_or(0);
    }
    transaction.commit()?;
    Ok(count)
}
