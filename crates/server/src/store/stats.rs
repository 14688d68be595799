//! Figures of many sessions added up: tokens, costs, turns and calls by day, model, folder and others.
//!
//! ```text
//! sessions with the entries of their files ─▶ shares ─▶ rows
//! ```
//!
//! A share is what one session used at one time; whatever several files repeat is one share.

mod files;
mod rows;
mod shares;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use streamfmt::core::event::Usage;

use super::figures::Ledger;
use super::{Store, StoreError};
use crate::prices::PriceTable;

/// What the rows are by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatsKey {
    /// A day of the time zone: `2026-11-02`.
    #[default]
    Day,
    /// A week as in ISO 8601, from Monday on: `2026-W45`.
    Week,
    /// A month: `2026-11`.
    Month,
    /// An hour with its offset, so that the hour that a change of the clock repeats is two: `2026-11-02T10:00+01:00`.
    Hour,
    /// A session.
    Session,
    /// A model, as the agent names it.
    Model,
    /// A working directory, as the records name it.
    Folder,
    /// The main working tree of a repository.
    Repo,
    /// A product.
    Agent,
    /// A tool.
    Tool,
    /// The machine on which a session was recorded or imported.
    Host,
}

/// What is added up, and how.
#[derive(Clone, Debug)]
pub struct StatsQuery<'a> {
    /// What the rows are by.
    pub by: StatsKey,
    /// The first moment; `None` for all times before.
    pub since: Option<Timestamp>,
    /// The last moment; `None` for all times after.
    pub until: Option<Timestamp>,
    /// The zone of days and hours.
    pub zone: TimeZone,
    /// Only sessions of this product.
    pub agent: Option<String>,
    /// Only sessions of this working directory, or of one below it.
    pub folder: Option<PathBuf>,
    /// The prices for what no agent states.
    pub prices: &'a PriceTable,
}

/// A sum. In JSON, what is unknown is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatsRow {
    /// The version of this format: 1.
    pub v: u32,
    /// What it is the sum of; `None` for the sum of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether it is the sum of all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub total: bool,
    /// Sessions with a share in it.
    pub sessions: u64,
    /// Prompts of a person.
    pub turns: u64,
    /// Calls of tools.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Tokens by kind. Those read from a cache, and written to it, aren't part of the input.
    pub tokens: Usage,
    /// US dollars that agents stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// US dollars by prices, for what no agent stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_usd: Option<f64>,
    /// Tokens of models that have no price.
    pub unpriced_tokens: u64,
    /// Whether all tokens have a cost.
    pub complete: bool,
}

/// A session with what is needed to add it up.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedSession {
    /// Our id; without a store, the agent's.
    pub id: String,
    /// The agent's own id.
    pub agent_session: Option<String>,
    /// That of the session that it goes on from.
    pub parent_session: Option<String>,
    /// The product.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub folder: Option<String>,
    /// The main working tree of its repository.
    pub repo: Option<String>,
    /// The machine.
    pub host: Option<String>,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Whether it is in progress.
    pub is_live: bool,
    /// Whether we recorded it.
    pub is_run: bool,
    /// US dollars that the agent stated for it.
    pub cost_usd: Option<f64>,
    /// Its own tokens by model.
    pub usage: BTreeMap<String, Usage>,
    /// Its files.
    pub files: Vec<CountedFile>,
}

/// A file of a session.
#[derive(Clone, Debug)]
pub(super) struct CountedFile {
    /// Whether it is the log of a run.
    pub is_log: bool,
    /// Its entries.
    pub ledger: Ledger,
}

impl Store {
    /// Adds up the sessions. The sum of all is the last row.
    pub fn stats(&self, query: &StatsQuery<'_>) -> Result<Vec<StatsRow>, StoreError> {
        Ok(add_up(&self.database.counted_sessions()?, query))
    }
}

/// Adds up the sessions in files, and in folders, without a store. `data`: our own data folder, where the origins of forks are known. Returns also
/// why some couldn't be read. Fails at a path that can't be read.
pub fn stats_of_files(
    paths: &[PathBuf],
    data: &Path,
    query: &StatsQuery<'_>,
) -> Result<(Vec<StatsRow>, Vec<StoreError>), StoreError> {
    let (sessions, unread) = files::sessions(paths, data)?;
    Ok((add_up(&sessions, query), unread))
}

/// Adds up sessions. The sum of all is the last row.
fn add_up(sessions: &[CountedSession], query: &StatsQuery<'_>) -> Vec<StatsRow> {
    rows::rows(sessions, &shares::shares(sessions, query.prices), query)
}
