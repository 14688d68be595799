//! The figures in the table `sessions`, and the tables `usage` and `calls`.

use std::collections::BTreeMap;

use rusqlite::{Row, params};
use streamfmt::core::event::Usage;
use streamfmt::core::session::counted::{CountedFrom, CountedRun, RunSums};

use super::super::StoreError;
use super::super::figures::{SessionFigures, SessionOutcome};
use super::Database;

/// The kinds of tokens.
const KINDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

fn kinds(usage: Usage) -> [(&'static str, u64); 4] {
    let Usage { input, output, cache_read, cache_write } = usage;
    let [a, b, c, d] = KINDS;
    [(a, input), (b, output), (c, cache_read), (d, cache_write)]
}

/// Converts a count for the database. Absurdly large counts are cut, so that their sums fit as well.
fn stored(count: u64) -> i64 {
    count.min(1 << 52).cast_signed()
}

/// Reads the tokens of each kind. `None` if none are known.
pub(super) fn tokens(row: &Row<'_>) -> rusqlite::Result<Option<Usage>> {
    let mut tokens = [None; 4];
    for (tokens, kind) in tokens.iter_mut().zip(KINDS) {
        *tokens = row.get(&*format!("tokens_{kind}"))?;
    }
    let is_known = tokens.iter().any(Option::is_some);
    let [input, output, cache_read, cache_write] = tokens.map(Option::unwrap_or_default);
    Ok(is_known.then_some(Usage { input, output, cache_read, cache_write }))
}

/// Reads a count. One that is damaged counts as 0.
fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let count: Option<i64> = row.get(column)?;
    Ok(count.map(|count| count.try_into().unwrap_or(0)))
}

impl Database {
    /// Returns the response and the error of a session.
    pub(crate) fn texts(&self, id: &str) -> Result<(Option<String>, Option<String>), StoreError> {
        let text = |row: &Row<'_>, column| self.decodable(id, row.get(column)).map(Option::flatten);
        let sql = "SELECT response, error FROM sessions WHERE id = ?1";
        let texts = self.first(sql, [id], |row| Ok((text(row, "response")?, text(row, "error")?)));
        texts.map(Option::unwrap_or_default)
    }

    /// Returns the tokens of a session by model and kind.
    pub(crate) fn usage(&self, id: &str) -> Result<BTreeMap<String, BTreeMap<String, u64>>, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get("model")?, row.get("kind")?, row.get("tokens")?));
        let sql = "SELECT model, kind, tokens FROM usage WHERE session = ?1";
        let found: Vec<Option<(String, String, u64)>> =
            self.all(sql, [id], |row| self.decodable(id, read(row)))?;
        let mut usage: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for (model, kind, tokens) in found.into_iter().flatten() {
            usage.entry(model).or_default().insert(kind, tokens);
        }
        Ok(usage)
    }

    /// Returns the calls of a session by tool.
    pub(crate) fn calls(&self, id: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get("tool")?, row.get("calls")?));
        let sql = "SELECT tool, calls FROM calls WHERE session = ?1";
        let found: Vec<Option<(String, u64)>> = self.all(sql, [id], |row| self.decodable(id, read(row)))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Writes the figures of a session. `has_tokens`: whether tokens are written even if no outcome reported them.
    pub(crate) fn write_figures(
        &self,
        session: &str,
        figures: &SessionFigures,
        has_tokens: bool,
    ) -> Result<(), StoreError> {
        let error = match &figures.outcome {
            Some(SessionOutcome::Error(text)) => Some(text.as_str()),
            Some(SessionOutcome::Response(_)) | None => None,
        };
        let from = &figures.counted_from;
        let is_open = matches!(from, CountedFrom::Either(_));
        let signed = |count: Option<u64>| count.map(stored);
        self.change(
            "UPDATE sessions SET response = ?2, error = ?3, num_turns = ?4, duration_ms = ?5, cost_usd = ?6, cost_counted = ?7, \
             api_ms = ?8, api_counted = ?9, failed_calls = ?10 WHERE id = ?1",
            params![
                session,
                figures.response(),
                error,
                signed(figures.num_turns),
                signed(figures.duration_ms),
                figures.cost_usd,
                figures.cost_usd.filter(|_| is_open),
                signed(figures.api_ms),
                signed(figures.api_ms.filter(|_| *from != CountedFrom::Start)),
                signed(figures.failed_calls),
            ],
        )?;
        self.write_messages(session, &figures.messages.all)?;
        self.change("DELETE FROM usage WHERE session = ?1", [session])?;
        self.change("DELETE FROM calls WHERE session = ?1", [session])?;
        let base = match from {
            CountedFrom::Start => None,
            CountedFrom::Session(base) | CountedFrom::Either(base) => Some(base),
        };
        let has_tokens = has_tokens || figures.outcome.is_some();
        for (model, usage) in figures.usage.iter().filter(|_| has_tokens) {
            let base = base.and_then(|base| base.get(model)).map(|base| kinds(*base));
            for (at, (kind, tokens)) in kinds(*usage).into_iter().enumerate() {
                let tokens = stored(tokens);
                let base = base.map(|base| stored(base[at].1));
                self.change(
                    "INSERT INTO usage (session, model, kind, tokens, counted, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![session, model, kind, tokens, is_open.then_some(tokens), base],
                )?;
            }
        }
        for (tool, calls) in &figures.calls {
            let sql = "INSERT INTO calls (session, tool, calls) VALUES (?1, ?2, ?3)";
            self.change(sql, params![session, tool, stored(*calls)])?;
        }
        self.sum_tokens(session)
    }

    /// Sums the tokens of all models.
    fn sum_tokens(&self, session: &str) -> Result<(), StoreError> {
        let [input, output, cache_read, cache_write] = KINDS.map(|kind| {
            format!("tokens_{kind} = (SELECT sum(tokens) FROM usage WHERE session = ?1 AND kind = '{kind}')")
        });
        let sql = format!("UPDATE sessions SET {input}, {output}, {cache_read}, {cache_write} WHERE id = ?1");
        self.change(&sql, [session]).map(drop)
    }

    /// Writes what a run used itself.
    pub(crate) fn write_own(&self, id: &str, own: &RunSums) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET cost_usd = ?2, api_ms = ?3 WHERE id = ?1";
        self.change(sql, params![id, own.cost_usd, own.api_ms.map(stored)])?;
        for (model, usage) in &own.usage {
            for (kind, tokens) in kinds(*usage) {
                let sql = "UPDATE usage SET tokens = ?4 WHERE session = ?1 AND model = ?2 AND kind = ?3";
                self.change(sql, params![id, model, kind, stored(tokens)])?;
            }
        }
        self.sum_tokens(id)
    }

    /// Returns the sums of the runs of an agent's session, by their ids.
    pub(crate) fn sums(&self, agent_session: &str) -> Result<BTreeMap<String, CountedRun>, StoreError> {
        let sql = "SELECT id, cost_usd, cost_counted, api_ms, api_counted, \
                   (SELECT sum(calls) FROM calls WHERE session = id) AS calls, \
                   EXISTS (SELECT 1 FROM usage WHERE session = id AND counted IS NOT NULL) AS is_open \
                   FROM sessions WHERE agent_session = ?1";
        let mut runs: BTreeMap<String, CountedRun> = self.all(sql, [agent_session], |row| {
            let (cost_usd, api_ms) = (row.get("cost_usd")?, count(row, "api_ms")?);
            let cost_counted: Option<f64> = row.get("cost_counted")?;
            let api_counted = count(row, "api_counted")?;
            let own = RunSums { cost_usd, api_ms, ..RunSums::default() };
            let counted = RunSums {
                cost_usd: cost_counted.or(cost_usd),
                api_ms: api_counted.or(api_ms),
                ..RunSums::default()
            };
            let calls = count(row, "calls")?.unwrap_or(0);
            let is_open = row.get("is_open")?;
            let from = if is_open { CountedFrom::Either(BTreeMap::new()) } else { CountedFrom::Start };
            Ok((row.get("id")?, CountedRun { counted, own, calls, from }))
        })?;
        let mut own = self.by_model(agent_session, "tokens")?;
        let mut counted = self.by_model(agent_session, "coalesce(counted, tokens + coalesce(base, 0))")?;
        let mut base = self.by_model(agent_session, "base")?;
        for (id, run) in &mut runs {
            run.own.usage = own.remove(id).unwrap_or_default();
            run.counted.usage = counted.remove(id).unwrap_or_default();
            run.from = match (&run.from, base.remove(id)) {
                (_, None) => continue,
                (CountedFrom::Start, Some(base)) => CountedFrom::Session(base),
                (_, Some(base)) => CountedFrom::Either(base),
            };
        }
        Ok(runs)
    }

    /// Returns a figure of the table `usage` by run of an agent's session and by model. `figure`: a fixed text.
    fn by_model(
        &self,
        agent_session: &str,
        figure: &str,
    ) -> Result<BTreeMap<String, BTreeMap<String, Usage>>, StoreError> {
        let kinds = KINDS
            .map(|kind| format!("max(sum(iif(kind = '{kind}', {figure}, 0)), 0) AS tokens_{kind}"))
            .join(", ");
        let sql = format!(
            "SELECT session, model, {kinds} FROM usage WHERE session IN (SELECT id FROM sessions WHERE agent_session = ?1) \
             AND {figure} IS NOT NULL GROUP BY session, model"
        );
        let mut found: BTreeMap<String, BTreeMap<String, Usage>> = BTreeMap::new();
        let read =
            |row: &Row<'_>| Ok((row.get("session")?, row.get("model")?, tokens(row)?.unwrap_or_default()));
        self.each(&sql, [agent_session], read, |(run, model, usage): (String, String, Usage)| {
            found.entry(run).or_default().insert(model, usage);
            true
        })?;
        Ok(found)
    }

    /// Returns the agent's sessions that resume an agent's session.
    pub(crate) fn resuming(&self, agent_session: &str) -> Result<Vec<String>, StoreError> {
        let sql =
            "SELECT DISTINCT agent_session FROM sessions WHERE parent_session = ?1 AND agent_session <> ?1";
        self.all(sql, [agent_session], |row| row.get("agent_session"))
    }
}
