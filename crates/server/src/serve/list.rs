//! The list of sessions.

use serde::Deserialize;
use streamfmt::core::figures;
use streamfmt::core::item::Waiting;
use streamfmt::core::redact::Redactor;

use super::facts::{duration, second, time};
use super::html::{escaped, in_query, shown};
use super::page::{begin, end};
use super::sessions::{SessionList, title_of};
use crate::store::{AgentSessions, SessionRecord, SessionRun, SessionStatus};

/// The number of sessions on a page.
const PAGE: usize = 100;

/// The filters and the page of the list.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ListQuery {
    /// Words of the title.
    #[serde(default)]
    q: String,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    page: usize,
}

impl ListQuery {
    /// Whether a session passes the filters. They see masked texts, so that nobody can search for what is masked.
    fn fits(&self, run: &SessionRun, mut redactor: Option<&mut Redactor>) -> bool {
        let mut masked = |text: &str| match redactor.as_deref_mut() {
            Some(redactor) => redactor.text(text).into_owned(),
            None => text.to_owned(),
        };
        let title = if self.q.is_empty() { String::new() } else { masked(&title_of(run)).to_lowercase() };
        self.q.to_lowercase().split_whitespace().all(|word| title.contains(word))
            && (self.folder.is_empty()
                || masked(run.folder.as_deref().unwrap_or_default()).contains(&self.folder))
            && (self.agent.is_empty() || run.agent.as_deref() == Some(&*self.agent))
            && (self.status.is_empty() || run.status.name() == self.status)
    }

    /// The address of a page with these filters.
    fn link(&self, base: &str, page: usize) -> String {
        let mut link = format!("{base}/?page={page}");
        for (name, value) in
            [("q", &self.q), ("folder", &self.folder), ("agent", &self.agent), ("status", &self.status)]
        {
            if !value.is_empty() {
                link.extend(["&amp;", name, "=", &in_query(value)]);
            }
        }
        link
    }
}

/// The page of the list. `tab`: attributes by which its script returns after a restart.
pub(super) fn list(
    SessionList { rows, problems, importable }: &SessionList,
    query: &ListQuery,
    mut redactor: Option<&mut Redactor>,
    base: &str,
    tab: &str,
) -> String {
    let found: Vec<&SessionRecord> =
        rows.iter().filter(|row| query.fits(&row.run, redactor.as_deref_mut())).collect();
    let running = rows.iter().filter(|row| row.run.status.is_live()).count();
    let waiting = rows.iter().filter(|row| row.run.waiting.is_some()).count();
    let title = match (waiting, running) {
        (0, 0) => "Sessions".to_owned(),
        (0, running) => format!("{running} running · sessions"),
        (1, running) => format!("▲ 1 waits for you · {running} running · sessions"),
        (waiting, running) => format!("▲ {waiting} wait for you · {running} running · sessions"),
    };
    let mut html = begin(&title, "", base, tab);
    html.push_str("<header class=\"top\"><h1>Sessions</h1>");
    // The script of the page renews each part that has a name.
    html.extend([
        "<p class=\"facts\" data-part=\"count\">",
        &escaped(&figures::count_of(rows.len() as u64, "session", "sessions")),
    ]);
    if found.len() < rows.len() {
        html.extend([format!(", {} shown", found.len())]);
    }
    html.push_str("</p></header>\n<main id=\"list\" data-list=\"\">\n<div data-part=\"problems\">");
    for problem in problems {
        html.extend([
            "<p class=\"problem\" role=\"alert\">",
            &shown(problem, redactor.as_deref_mut()),
            "</p>\n",
        ]);
    }
    html.push_str("</div>\n");
    form(rows, query, redactor.as_deref_mut(), base, &mut html);
    html.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sessions\"><table><thead><tr>",
    );
    for name in ["Status", "Session", "Agent", "Folder", "Started", "Duration"] {
        html.extend(["<th scope=\"col\">", name, "</th>"]);
    }
    html.push_str("</tr></thead>\n<tbody data-part=\"rows\">\n");
    let page = query.page.min(found.len().saturating_sub(1) / PAGE);
    for row in found.iter().skip(page * PAGE).take(PAGE) {
        let mut said = |text: &str| shown(text, redactor.as_deref_mut());
        let SessionRun { id, status, waiting, agent, folder, labels, started, .. } = &row.run;
        html.extend([format!("<tr data-id=\"{id}\" data-status=\"{}\"><td>", status.name())]);
        html.push_str(&badge(*status));
        html.push_str(&waiting.map(|waiting| format!(" {}", waits(waiting))).unwrap_or_default());
        let title = said(&title_of(&row.run));
        html.extend([format!("</td><td><a href=\"{base}/sessions/{id}\">{title}</a>")]);
        html.extend([format!("<br><span class=\"dim\">{id}</span>")]);
        for (name, value) in labels {
            html.extend([format!(" <span class=\"tag\">{}={}</span>", said(name), said(value))]);
        }
        html.extend(["</td><td>", &said(agent.as_deref().unwrap_or("")), "</td><td class=\"path\">"]);
        // A long path may break after its slashes.
        html.extend([
            &*said(folder.as_deref().unwrap_or("")).replace('/', "/<wbr>"),
            "</td><td>",
            &time(*started),
            "</td><td>",
        ]);
        html.push_str(&duration(&row.run, row.figures.duration_ms).unwrap_or_default());
        html.push_str("</td></tr>\n");
    }
    if found.is_empty() {
        html.push_str("<tr><td colspan=\"6\">");
        if rows.is_empty() {
            html.push_str("No sessions yet: start one with <code>streamfmt run -- COMMAND</code>");
            importable_sessions(importable, redactor, &mut html);
        } else {
            html.push_str("No session fits.");
        }
        html.push_str("</td></tr>\n");
    }
    html.push_str("</tbody></table></div>\n<div data-part=\"pages\">");
    if found.len() > PAGE {
        html.push_str("<nav class=\"pages\" aria-label=\"Pages\">");
        if page > 0 {
            html.extend([format!("<a rel=\"prev\" href=\"{}\">Newer</a> ", query.link(base, page - 1))]);
        }
        html.extend([format!("<span>{} of {}</span> ", page + 1, found.len().div_ceil(PAGE))]);
        if (page + 1) * PAGE < found.len() {
            html.extend([format!("<a rel=\"next\" href=\"{}\">Older</a>", query.link(base, page + 1))]);
        }
        html.push_str("</nav>\n");
    }
    html.push_str("</div></main>\n");
    end(&mut html);
    html
}

/// The sessions that agents keep, and the command that adds them.
fn importable_sessions(importable: &[AgentSessions], mut redactor: Option<&mut Redactor>, html: &mut String) {
    if importable.is_empty() {
        return;
    }
    html.push_str(
        ", or add those of agents with <code>streamfmt sessions import</code>\n<ul class=\"importable\">",
    );
    for count in importable {
        let path = shown(&count.folder.path.to_string_lossy(), redactor.as_deref_mut());
        html.extend([
            "<li>",
            &escaped(&count.to_string()),
            " in <span class=\"path\">",
            &path,
            "</span></li>",
        ]);
    }
    html.push_str("</ul>");
}

/// Links and fields for the filters.
fn form(
    rows: &[SessionRecord],
    query: &ListQuery,
    mut redactor: Option<&mut Redactor>,
    base: &str,
    html: &mut String,
) {
    html.extend([format!(
        "<nav id=\"filters\" aria-label=\"Filters\" data-base=\"{base}/\"><span data-part=\"filters\">"
    )]);
    let mut said = |text: &str| shown(text, redactor.as_deref_mut());
    for status in ["", "running", "done", "failed", "interrupted"] {
        let is_here = query.status == status;
        let other = ListQuery { status: status.to_owned(), ..query.clone() };
        let current = if is_here { " aria-current=\"true\"" } else { "" };
        let name = if status.is_empty() { "all" } else { status };
        html.extend([format!("<a href=\"{}\"{current}>{name}</a> ", other.link(base, 0))]);
    }
    let mut agents: Vec<&str> = rows.iter().filter_map(|row| row.run.agent.as_deref()).collect();
    agents.sort_unstable();
    agents.dedup();
    for agent in agents.into_iter().take(16) {
        let is_here = query.agent == agent;
        let agent_or_all = if is_here { "" } else { agent };
        let other = ListQuery { agent: agent_or_all.to_owned(), ..query.clone() };
        let current = if is_here { " aria-current=\"true\"" } else { "" };
        html.extend([format!("<a href=\"{}\"{current}>{}</a> ", other.link(base, 0), said(agent))]);
    }
    html.push_str("</span>");
    for (name, label, value) in [("q", "Words of the title", &query.q), ("folder", "Folder", &query.folder)] {
        html.extend([format!(
            "<label>{label} <input type=\"search\" name=\"{name}\" value=\"{}\" autocomplete=\"off\"></label> ",
            said(value)
        )]);
    }
    html.push_str("</nav>\n");
}

/// What a session needs from a person, and for how long: the script of the page counts on.
pub(super) fn waits(waiting: Waiting) -> String {
    let Waiting { waits_for, since } = waiting;
    let since = since.map(|since| format!(" · <time class=\"since\" datetime=\"{}\"></time>", second(since)));
    format!(
        "<span class=\"waits\" data-waits=\"{}\"><span aria-hidden=\"true\">▲</span> waits for {}{}</span>",
        waits_for.name(),
        waits_for.words(),
        since.unwrap_or_default()
    )
}

/// A status as a badge.
pub(super) fn badge(status: SessionStatus) -> String {
    let name = status.name();
    let sign = match status {
        SessionStatus::Running | SessionStatus::RunningElsewhere => "●",
        SessionStatus::Done => "✓",
        SessionStatus::Failed => "✗",
        SessionStatus::Interrupted => "■",
        SessionStatus::Empty => "○",
    };
    format!("<span class=\"status {name}\"><span aria-hidden=\"true\">{sign}</span> {name}</span>")
}
