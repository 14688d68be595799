//! The card of facts about a run.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use streamfmt::core::event::Usage;
use streamfmt::core::figures;
use streamfmt::core::item::Waiting;
use streamfmt::core::redact::Redactor;

use super::html::{escaped, shown};
use super::list::waits;
use super::sessions::milliseconds;
use crate::store::{ReadSession, SessionRecord, SessionRun};

/// The most milliseconds by which durations by the clocks of an agent and of its recorder differ while they count as equal.
const CLOCKS_DIFFER: u64 = 1_000;

/// Figures that the card and the timeline both show.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedFigures {
    /// The time that the agent reports, over all outcomes, in milliseconds.
    pub(super) duration_ms: Option<u64>,
    /// US dollars.
    pub(super) cost: Option<f64>,
}

impl ReportedFigures {
    /// Returns the figures of a session. `read`: the log, as far as it was read. Its figures include those of earlier runs if the agent
    /// continues counting when it resumes; only the database has the run's own.
    pub(super) fn of(row: &SessionRecord, read: &ReadSession) -> Self {
        Self {
            duration_ms: row.figures.duration_ms.or(read.figures.duration_ms),
            cost: row.figures.cost_usd.or(read.figures.cost_usd),
        }
    }
}

/// Returns the card as HTML, without unknown facts. `read`: the log, as far as it was read. `waiting`: what a call needs
/// from a person.
pub(super) fn card(
    SessionRecord { run, figures: stored, .. }: &SessionRecord,
    read: &ReadSession,
    reported: ReportedFigures,
    waiting: Option<Waiting>,
    mut redactor: Option<&mut Redactor>,
) -> String {
    let mut said = |text: &str| shown(text, redactor.as_deref_mut());
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.extend(waiting.filter(|_| run.status.is_live()).map(|waiting| ("Now", waits(waiting))));
    let agent = run.agent.as_deref().or(read.run.agent.as_deref());
    rows.extend(agent.map(|agent| ("Agent", said(agent))));
    let model = read.run.model.as_deref().or(run.model.as_deref());
    rows.extend(model.map(|model| ("Model", said(model))));
    let folder = read.run.folder.as_deref().or(run.folder.as_deref()).unwrap_or_default();
    rows.extend((!folder.is_empty()).then(|| ("Folder", said(folder))));
    rows.push(("Started", time(run.started)));
    rows.extend(
        durations(run, stored.duration_ms, reported.duration_ms).map(|duration| ("Duration", duration)),
    );
    let cost = reported.cost.and_then(figures::money);
    rows.extend(cost.map(|cost| ("Cost", escaped(&cost))));
    let turns = stored.num_turns.or(read.figures.num_turns);
    rows.extend(turns.map(|turns| ("Turns", escaped(&figures::count(turns)))));
    let api_ms = stored.api_ms.or(read.figures.api_ms);
    rows.extend(api_ms.map(|ms| ("API time", escaped(&figures::duration(ms)))));
    let usage = stored.tokens.or(read.figures.tokens);
    rows.extend(usage.and_then(tokens).map(|tokens| ("Tokens", tokens)));
    for (name, value) in &run.labels {
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

/// Returns the duration of a session, so far if it is running. `stored`: that by the database, in milliseconds.
pub(super) fn duration(run: &SessionRun, stored: Option<u64>) -> Option<String> {
    if run.status.is_live() {
        // The script of the page keeps counting.
        return Some(format!("<time class=\"since\" datetime=\"{}\">running</time>", second(run.started)));
    }
    // The replay of a recording is faster than the run was.
    milliseconds(run).max(stored).map(|ms| escaped(&figures::duration(ms)))
}

/// Returns the duration for the card, with the time that the agent reports if that is shorter.
fn durations(run: &SessionRun, stored: Option<u64>, reported: Option<u64>) -> Option<String> {
    let is_live = run.status.is_live();
    match (milliseconds(run), reported) {
        (Some(passed), Some(active)) if !is_live && passed > active.saturating_add(CLOCKS_DIFFER) => {
            let (active, passed) = (figures::duration(active), figures::duration(passed));
            Some(escaped(&format!("active {} of {}", &*active, &*passed)))
        }
        (_, Some(active)) if !is_live => Some(escaped(&figures::duration(active))),
        _ => duration(run, stored),
    }
}

fn tokens(usage: Usage) -> Option<String> {
    let Usage { input, output, cache_read, cache_write } = usage;
    let kinds = [(input, "in"), (output, "out"), (cache_read, "from cache"), (cache_write, "to cache")];
    let counted: Vec<String> = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{} {kind}", &*figures::tokens(count)))
        .collect();
    (!counted.is_empty()).then(|| escaped(&counted.join(", ")))
}

/// Returns the HTML of a time in UTC. The script shows it in the reader's zone.
pub(super) fn time(at: Timestamp) -> String {
    let shown = at.to_zoned_datetime(TimeZone::UTC).strftime("%-d %b %Y %H:%M UTC");
    format!("<time class=\"when\" datetime=\"{}\">{shown}</time>", second(at))
}

/// Formats a time to the second: `2026-11-23T22:41:03Z`.
pub(super) fn second(at: Timestamp) -> String {
    at.to_zoned_datetime(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
