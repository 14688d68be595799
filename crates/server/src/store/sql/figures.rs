//! The figures in the table `sessions`, and the tables `usage` and `calls`.

use std::collections::BTreeMap;

use rusqlite::{Row, params};
use streamfmt::core::event::Usage;

use super::super::StoreError;
use super::super::figures::{CountedFrom, SessionFigures, SessionOutcome};
use super::super::write::{LinkedRun, LinkedTokens};
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
             api_ms = ?8, api_counted = ?9 WHERE id = ?1",
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
    pub(crate) fn sum_tokens(&self, session: &str) -> Result<(), StoreError> {
        let [input, output, cache_read, cache_write] = KINDS.map(|kind| {
            format!("tokens_{kind} = (SELECT sum(tokens) FROM usage WHERE session = ?1 AND kind = '{kind}')")
        });
        let sql = format!("UPDATE sessions SET {input}, {output}, {cache_read}, {cache_write} WHERE id = ?1");
        self.change(&sql, [session]).map(drop)
    }

    pub(crate) fn write_cost(&self, id: &str, dollars: f64) -> Result<(), StoreError> {
        self.change("UPDATE sessions SET cost_usd = ?2 WHERE id = ?1", params![id, dollars]).map(drop)
    }

    pub(crate) fn write_api_time(&self, id: &str, milliseconds: i64) -> Result<(), StoreError> {
        self.change("UPDATE sessions SET api_ms = ?2 WHERE id = ?1", params![id, milliseconds]).map(drop)
    }

    pub(crate) fn write_tokens(
        &self,
        id: &str,
        model: &str,
        kind: &str,
        tokens: i64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE usage SET tokens = ?4 WHERE session = ?1 AND model = ?2 AND kind = ?3";
        self.change(sql, params![id, model, kind, tokens]).map(drop)
    }

    /// Returns the runs of an agent's session by their start, without tokens.
    pub(crate) fn linked_runs(&self, agent_session: &str) -> Result<Vec<LinkedRun>, StoreError> {
        let sql = "SELECT id, started, pid_start, boot, parent_session, cost_counted, cost_usd, api_counted, api_ms, resumes, \
             (SELECT coalesce(sum(calls), 0) FROM calls WHERE session = id) AS calls \
             FROM sessions WHERE agent_session = ?1 ORDER BY started, id";
        self.all(sql, [agent_session], |row| {
            Ok(LinkedRun {
                id: row.get("id")?,
                started: row.get("started")?,
                pid_start: row.get("pid_start")?,
                boot: row.get("boot")?,
                parent: row.get("parent_session")?,
                resumes: row.get("resumes")?,
                cost_counted: row.get("cost_counted")?,
                cost: row.get("cost_usd")?,
                api_counted: row.get("api_counted")?,
                api_ms: row.get("api_ms")?,
                calls: row.get("calls")?,
                usage: BTreeMap::new(),
            })
        })
    }

    /// Returns the tokens of a run: by model and kind.
    pub(crate) fn linked_tokens(&self, id: &str) -> Result<Vec<(String, String, LinkedTokens)>, StoreError> {
        let sql = "SELECT model, kind, tokens, counted, base FROM usage WHERE session = ?1";
        self.all(sql, [id], |row| {
            let (own, counted, base) = (row.get("tokens")?, row.get("counted")?, row.get("base")?);
            Ok((row.get("model")?, row.get("kind")?, LinkedTokens { own, counted, base }))
        })
    }

    /// Returns the agent's sessions that resume an agent's session.
    pub(crate) fn resuming(&self, agent_session: &str) -> Result<Vec<String>, StoreError> {
        let sql =
            "SELECT DISTINCT agent_session FROM sessions WHERE parent_session = ?1 AND agent_session <> ?1";
        self.all(sql, [agent_session], |row| row.get("agent_session"))
    }
}
