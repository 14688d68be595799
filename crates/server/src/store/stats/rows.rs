//! Adds shares up by a key.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use streamfmt::core::event::Usage;

use super::shares::{Act, Cost, Share, Shares};
use super::{CountedSession, StatsKey, StatsQuery, StatsRow};

/// What is said where a session has no model, folder or the like.
const UNKNOWN: &str = "unknown";

/// A row while it is added up.
#[derive(Debug, Default)]
struct Sum {
    row: StatsRow,
    sessions: HashSet<usize>,
    /// The earliest time in it.
    first: Option<i64>,
}

/// Returns the rows by the key of the query, and the sum of all as the last one. Times come in their order, others by what they cost.
pub(super) fn rows(
    sessions: &[CountedSession],
    shares: &Shares<'_>,
    query: &StatsQuery<'_>,
) -> Vec<StatsRow> {
    let is_wanted: Vec<bool> = sessions.iter().map(|session| query.wants(session)).collect();
    let (first, last) =
        (query.since.map(Timestamp::as_millisecond), query.until.map(Timestamp::as_millisecond));
    let takes = |session: usize, at: i64| {
        is_wanted[session] && first.is_none_or(|first| at >= first) && last.is_none_or(|last| at <= last)
    };
    let mut keys = Keys { query, sessions, hour: None };
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let mut total = Sum::default();
    // No tool has tokens or turns.
    let is_by_tool = query.by == StatsKey::Tool;
    for share in shares.used.iter().filter(|share| !is_by_tool && takes(share.session, share.at)) {
        total.used(share);
        sums.entry(keys.of(share.session, share.at, Some(share.model), None)).or_default().used(share);
    }
    let acts = shares.acts.iter().filter(|act| !is_by_tool || act.tool.is_some());
    for act in acts.filter(|act| takes(act.session, act.at)) {
        total.acted(act);
        sums.entry(keys.of(act.session, act.at, act.model, act.tool)).or_default().acted(act);
    }
    let mut sums: Vec<(String, Sum)> = sums.into_iter().collect();
    if query.by.is_time() {
        // Of an hour that comes twice, the later one may have the smaller key.
        sums.sort_by_key(|(_, sum)| sum.first);
    } else {
        sums.sort_by(|(_, one), (_, other)| {
            let ((one, tokens, calls), (other, others, other_calls)) = (one.row.weight(), other.row.weight());
            other.total_cmp(&one).then(others.cmp(&tokens)).then(other_calls.cmp(&calls))
        });
    }
    let mut rows: Vec<StatsRow> =
        sums.into_iter().map(|(key, sum)| StatsRow { key: Some(key), ..sum.row() }).collect();
    rows.push(StatsRow { total: true, ..total.row() });
    rows
}

impl StatsRow {
    /// By what rows are compared: the cost, then tokens, then calls.
    fn weight(&self) -> (f64, u64, u64) {
        let cost = self.cost_usd.unwrap_or(0.0) + self.estimated_usd.unwrap_or(0.0);
        (cost, self.tokens.spent(), self.calls)
    }
}

impl StatsKey {
    /// Whether rows by it are in the order of time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month | Self::Hour)
    }
}

impl StatsQuery<'_> {
    fn wants(&self, session: &CountedSession) -> bool {
        let folder = session.folder.as_deref().map(Path::new);
        self.agent.as_deref().is_none_or(|agent| session.agent.as_deref() == Some(agent))
            && self
                .folder
                .as_ref()
                .is_none_or(|wanted| folder.is_some_and(|folder| folder.starts_with(wanted)))
    }
}

impl Sum {
    fn belongs(&mut self, session: usize, at: i64) {
        self.sessions.insert(session);
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }

    fn used(&mut self, share: &Share<'_>) {
        self.belongs(share.session, share.at);
        let row = &mut self.row;
        row.tokens = row.tokens.combined(share.usage, u64::saturating_add);
        match share.cost {
            Cost::Stated(cost) => *row.cost_usd.get_or_insert(0.0) += cost,
            Cost::Estimated(cost) => *row.estimated_usd.get_or_insert(0.0) += cost,
            Cost::Unknown => {
                let Usage { input, output, cache_read, cache_write } = share.usage;
                let all = [input, output, cache_read, cache_write].into_iter().fold(0, u64::saturating_add);
                row.unpriced_tokens = row.unpriced_tokens.saturating_add(all);
            }
        }
    }

    fn acted(&mut self, act: &Act<'_>) {
        self.belongs(act.session, act.at);
        let row = &mut self.row;
        let count = if act.tool.is_some() { &mut row.calls } else { &mut row.turns };
        *count = count.saturating_add(act.count);
        row.failed += u64::from(act.failed);
    }

    fn row(self) -> StatsRow {
        let some = |cost: Option<f64>| cost.filter(|cost| *cost > 0.0);
        StatsRow {
            v: 1,
            sessions: self.sessions.len() as u64,
            cost_usd: some(self.row.cost_usd),
            estimated_usd: some(self.row.estimated_usd),
            complete: self.row.unpriced_tokens == 0,
            ..self.row
        }
    }
}

/// Finds the keys of shares.
struct Keys<'a> {
    query: &'a StatsQuery<'a>,
    sessions: &'a [CountedSession],
    /// The hour that was last asked for, and its key: entries come about in the order of time.
    hour: Option<(i64, String)>,
}

impl Keys<'_> {
    fn of(&mut self, session: usize, at: i64, model: Option<&str>, tool: Option<&str>) -> String {
        let of = &self.sessions[session];
        let known = match self.query.by {
            StatsKey::Session => Some(&*of.id),
            StatsKey::Model => model.or(of.model.as_deref()),
            StatsKey::Folder => of.folder.as_deref(),
            StatsKey::Repo => of.repo.as_deref(),
            StatsKey::Agent => of.agent.as_deref(),
            StatsKey::Tool => tool,
            StatsKey::Host => of.host.as_deref(),
            StatsKey::Day | StatsKey::Week | StatsKey::Month | StatsKey::Hour => return self.time(at),
        };
        known.unwrap_or(UNKNOWN).to_owned()
    }

    fn time(&mut self, at: i64) -> String {
        // No zone changes its offset within a quarter of an hour that begins at a multiple of one.
        let quarter = at.div_euclid(900_000);
        if let Some((_, key)) = self.hour.as_ref().filter(|(known, _)| *known == quarter) {
            return key.clone();
        }
        let key = key_of_time(self.query, Timestamp::from_millisecond(at).unwrap_or_default());
        self.hour = Some((quarter, key.clone()));
        key
    }
}

fn key_of_time(query: &StatsQuery<'_>, at: Timestamp) -> String {
    let local = query.zone.to_datetime(at);
    match query.by {
        StatsKey::Hour => {
            let offset = query.zone.to_offset(at).seconds();
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
            format!("{}:00{sign}{:02}:{:02}", local.strftime("%Y-%m-%dT%H"), minutes / 60, minutes % 60)
        }
        StatsKey::Week => {
            let week = local.iso_week_date();
            format!("{}-W{:02}", week.year(), week.week())
        }
        StatsKey::Month => local.strftime("%Y-%m").to_string(),
        _ => local.strftime("%Y-%m-%d").to_string(),
    }
}
