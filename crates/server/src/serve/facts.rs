//! The card of facts: what is known of a run beside what it did.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use streamfmt::core::event::Usage;
use streamfmt::core::formatter::figures;
use streamfmt::core::redact::Redactor;
use streamfmt::core::session::Session;

use super::html::{escaped, shown};
use super::sessions::ServedSession;
use crate::side_file::RunStatus;

/// What the outcomes of a run told, all taken together.
#[derive(Clone, Debug, Default)]
pub(super) struct RunOutcome {
    /// The text of the last one, if it was no error.
    pub(super) answer: Option<String>,
    cost_usd: Option<f64>,
    turns: Option<u64>,
    duration_ms: Option<u64>,
    api_ms: Option<u64>,
}

/// An item, as `--to items` writes it.
#[derive(Deserialize)]
struct OutcomeLine {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    error: bool,
    #[serde(default)]
    text: String,
    #[serde(default)]
    data: OutcomeData,
}

#[derive(Default, Deserialize)]
struct OutcomeData {
    cost_usd: Option<f64>,
    turns: Option<u64>,
    duration_ms: Option<u64>,
    api_ms: Option<u64>,
}

impl RunOutcome {
    /// Takes the lines of outcomes.
    pub(super) fn take(&mut self, lines: &str) {
        for line in lines.lines() {
            let Ok(outcome) = serde_json::from_str::<OutcomeLine>(line) else { continue };
            if outcome.kind != "outcome" {
                continue;
            }
            self.answer = Some(outcome.text).filter(|_| !outcome.error);
            let OutcomeData { cost_usd, turns, duration_ms, api_ms } = outcome.data;
            let sum = |all: Option<u64>, one: Option<u64>| match (all, one) {
                (Some(all), Some(one)) => Some(all.saturating_add(one)),
                (all, one) => all.or(one),
            };
            // Turns and times are those of each outcome, cost that of all so far.
            self.turns = sum(self.turns, turns);
            self.duration_ms = sum(self.duration_ms, duration_ms);
            self.cost_usd = cost_usd.or(self.cost_usd);
            self.api_ms = api_ms.or(self.api_ms);
        }
    }
}

/// The card, as HTML. What isn't known isn't named.
pub(super) fn card(
    row: &ServedSession,
    session: &Session,
    outcome: &RunOutcome,
    redactor: Option<&mut Redactor>,
    now: Timestamp,
) -> String {
    let mut redactor = redactor;
    let mut said = |text: &str| shown(text, redactor.as_deref_mut());
    let facts = session.facts();
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.extend(row.agent.as_deref().map(|agent| ("Agent", said(agent))));
    rows.extend(facts.model.as_ref().map(|model| ("Model", said(model))));
    let folder = facts.cwd.as_ref().map_or(row.folder.as_str(), |cwd| cwd.as_str());
    rows.push(("Folder", said(folder)));
    rows.push(("Started", time(row.started)));
    rows.push(("Duration", duration(row, outcome, now)));
    let totals = session.totals();
    let cost = outcome.cost_usd.or(totals.cost_usd).and_then(figures::money);
    rows.extend(cost.map(|cost| ("Cost", escaped(&cost))));
    let turns = outcome.turns.or(totals.turns);
    rows.extend(turns.map(|turns| ("Turns", escaped(&figures::count(turns)))));
    rows.extend(outcome.api_ms.map(|ms| ("API time", escaped(&figures::duration(ms)))));
    rows.extend(tokens(session.usage()).map(|tokens| ("Tokens", tokens)));
    for (name, value) in &row.labels {
        let (name, value) = (said(name), said(value));
        rows.push(("Label", format!("{name}={value}")));
    }
    let mut html = String::from("<dl class=\"card\">");
    for (name, value) in rows {
        html.extend(["<div><dt>", name, "</dt><dd>", &value, "</dd></div>"]);
    }
    html.push_str("</dl>");
    html
}

fn duration(row: &ServedSession, outcome: &RunOutcome, now: Timestamp) -> String {
    if row.status == RunStatus::Running {
        // The page counts on by itself.
        return format!(
            "<time class=\"since\" datetime=\"{}\">{}</time>",
            second(row.started),
            escaped("running")
        );
    }
    let ms = match (row.ended, outcome.duration_ms) {
        (Some(_), _) => row.seconds(now).saturating_mul(1000),
        (None, Some(ms)) => ms,
        (None, None) => return "not known".to_owned(),
    };
    escaped(&figures::duration(outcome.duration_ms.unwrap_or(ms).max(ms)))
}

fn tokens(usage: Usage) -> Option<String> {
    let Usage { input, output, cache_read, cache_write } = usage;
    let kinds = [(input, "in"), (output, "out"), (cache_read, "from cache"), (cache_write, "to cache")];
    let told: Vec<String> = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{} {kind}", &*figures::tokens(count)))
        .collect();
    (!told.is_empty()).then(|| escaped(&told.join(", ")))
}

/// A moment, in UTC; the page shows it in the zone of its reader.
pub(super) fn time(at: Timestamp) -> String {
    let shown = at.to_zoned(TimeZone::UTC).strftime("%-d %b %Y %H:%M UTC");
    format!("<time class=\"when\" datetime=\"{}\">{shown}</time>", second(at))
}

/// A moment to the second, as in `2026-11-23T22:41:03Z`.
pub(super) fn second(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
