//! The page of a session.

use jiff::Timestamp;
use streamfmt::core::figures;
use streamfmt::core::redact::Redactor;

use super::facts::second;
use super::html::{escaped, shown};
use super::list::badge;
use super::sessions::title_of;
use super::view::{PageNodes, SessionView};
use crate::path_text::path_text;
use crate::store::{SessionRecord, SourceKind, SourceRow, StoreError, history_exists};

/// The most nodes on a page.
pub(super) const NODES: usize = 500;

/// The requested form of a page.
#[derive(Debug, Default)]
pub(super) struct PageChoice<'a> {
    pub(super) profile: &'a str,
    pub(super) theme: Option<&'a str>,
    /// The node before which the page ends.
    pub(super) before: Option<u64>,
    pub(super) profiles: &'a [String],
    pub(super) themes: &'a [String],
    /// The key of `log.sse`.
    pub(super) key: &'a str,
    /// Attributes by which the page's script returns after a restart.
    pub(super) tab: &'a str,
    /// Whether the raw log may be downloaded.
    pub(super) has_log: bool,
    pub(super) base: &'a str,
    pub(super) hash: &'a str,
    /// Whether the session is read for this page alone, which therefore doesn't grow.
    pub(super) is_single: bool,
}

/// The beginning of a page.
pub(super) fn begin(title: &str, theme: &str, base: &str, body: &str) -> String {
    let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"dark light\">\n<title>");
    html.push_str(&escaped(title));
    html.extend([format!("</title>\n<link rel=\"icon\" href=\"{base}/static/icon.svg\">\n")]);
    for name in ["page.css", "serve.css"] {
        html.extend([format!("<link rel=\"stylesheet\" href=\"{base}/static/{name}\">\n")]);
    }
    if !theme.is_empty() {
        html.extend([format!("<link rel=\"stylesheet\" href=\"{base}/static/theme-{theme}.css\">\n")]);
    }
    html.extend([format!(
        "</head>\n<body{body}>\n<a class=\"skip\" href=\"#activity\">Skip to the activity</a>\n"
    )]);
    let scripts: &[&str] =
        if body.contains("data-session") { &["page.js", "serve.js"] } else { &["serve.js"] };
    for name in scripts {
        html.extend([format!("<script src=\"{base}/static/{name}\" defer></script>\n")]);
    }
    html
}

/// The end of a page.
pub(super) fn end(html: &mut String) {
    html.push_str("<footer>Written by streamfmt</footer>\n</body>\n</html>\n");
}

/// The page of a session. `None` if the node before which it should end doesn't exist.
pub(super) fn page(
    SessionRecord { run, source, .. }: &SessionRecord,
    sources: &[SourceRow],
    view: &SessionView,
    choice: &PageChoice<'_>,
    mut redactor: Option<&mut Redactor>,
) -> Result<Option<String>, StoreError> {
    let found = if view.is_caught_up { view.page(choice.before, NODES)? } else { Some(PageNodes::default()) };
    let Some(nodes) = found else { return Ok(None) };
    let base = choice.base;
    let status = view.status;
    let mut said = |text: &str| shown(text, redactor.as_deref_mut());
    let address = format!("{base}/sessions/{}", run.id);
    // The side file may be older than what was read of the log: a run that has ended waits for nobody.
    let waiting = run.waiting.filter(|_| status.is_live());
    let state = waiting.map_or_else(
        || status.name().to_owned(),
        |waiting| format!("▲ waits for {}", waiting.waits_for.words()),
    );
    let title = format!("{state} · {}", super::html::plain(&said(&title_of(run))));
    let grown = source.path.metadata().and_then(|about| about.modified()).ok();
    let grown = grown.and_then(|at| Timestamp::try_from(at).ok()).filter(|_| status.is_live());
    let body = format!(
        " data-session=\"{}\" data-address=\"{address}\" data-hash=\"{}\" data-revision=\"{}\" data-profile=\"{}\"{}{}{}{}",
        run.id,
        choice.hash,
        view.settled(),
        choice.profile,
        grown.map(|at| format!(" data-grown=\"{}\"", second(at))).unwrap_or_default(),
        if view.is_done || !view.is_caught_up || choice.is_single { " data-done=\"\"" } else { "" },
        if choice.before.is_some() { " data-older=\"\"" } else { "" },
        choice.tab,
    );
    let mut html = begin(&title, choice.theme.unwrap_or(""), base, &body);
    html.extend([format!("<a id=\"back\" href=\"{base}/\">← All sessions</a>\n")]);
    html.extend([format!(
        "<header id=\"session\"><div class=\"line\"><span id=\"status\" data-status=\"{}\">{}</span> <h1>",
        status.name(),
        badge(status)
    )]);
    html.push_str(&said(&title_of(run)));
    html.extend([format!(
        "</h1> <span id=\"now\"></span> <span id=\"connection\" role=\"status\" hidden></span> <code>{}</code></div>",
        run.id
    )]);
    html.extend(["<p id=\"failure\"", if view.failure.is_some() { ">" } else { " hidden>" }]);
    html.push_str(view.failure.as_deref().unwrap_or_default());
    html.push_str("</p><div id=\"tools\" role=\"search\" hidden></div></header>\n<section id=\"facts\" aria-label=\"Facts\">");
    html.push_str(&view.facts());
    html.push_str("</section>\n");
    if let Some(response) = &view.response {
        html.push_str(
            "<section id=\"response\" aria-labelledby=\"h-response\"><h2 id=\"h-response\">Answer</h2>\n",
        );
        html.push_str(response);
        html.push_str("</section>\n");
    }
    html.push_str(
        "<section id=\"activity\" aria-labelledby=\"h-activity\"><h2 id=\"h-activity\">Activity</h2>\n",
    );
    choices(choice, &address, &mut html);
    if choice.is_single && !view.is_done {
        html.push_str(
            "<p class=\"problem\" role=\"status\">Too many sessions are open, so this page doesn't follow its own: close a tab, and reload.</p>\n",
        );
    }
    if !view.is_caught_up {
        let whole = source.path.metadata().map_or(0, |about| about.len().saturating_sub(source.start));
        let whole = source.size.unwrap_or(whole);
        html.extend([format!(
            "<p id=\"reading\" role=\"status\">Reading the log: {} of {}. This page comes again by itself.</p>\n",
            &*figures::size(view.read),
            &*figures::size(whole)
        )]);
    }
    if let Some(older) = nodes.first {
        let query = query(choice);
        html.extend([format!(
            "<p id=\"older\"><a rel=\"prev\" href=\"{address}?before={older}{query}\">Older: {} in all</a></p>\n",
            view.len()
        )]);
    }
    html.push_str("<div id=\"nodes\">\n");
    html.extend(nodes.html);
    html.push_str("</div>\n<p id=\"none\" hidden>Nothing here matches.</p>\n");
    if choice.before.is_some() {
        html.extend([format!(
            "<p><a id=\"newest\" href=\"{address}?newest{}\">Newest</a></p>\n",
            query(choice)
        )]);
    }
    html.push_str("</section>\n");
    let name = if source.kind == SourceKind::History { "History" } else { "Raw log" };
    html.extend([
        "<section id=\"log-file\" aria-labelledby=\"h-log\"><h2 id=\"h-log\">",
        name,
        "</h2>\n<p><code>",
        &said(&path_text(&source.path)),
        "</code></p>\n",
    ]);
    for other in sources.iter().filter(|other| other.path != source.path) {
        let kind =
            if other.kind == SourceKind::History { "the agent's own history" } else { "the log of the run" };
        let gone = if history_exists(&other.path) { "" } else { ", which is gone" };
        html.extend(["<p>Also ", kind, ": <code>", &said(&path_text(&other.path))]);
        html.extend(["</code>", gone, "</p>\n"]);
    }
    html.extend([format!("<p><a href=\"{address}/log\" download=\"\">Download</a>")]);
    if !choice.has_log {
        html.push_str(" (refused beyond this machine without --show-secrets)");
    }
    html.extend([format!(
        " · <a href=\"{address}/log.sse?key={}\">Lines as events</a></p></section>\n",
        choice.key
    )]);
    end(&mut html);
    Ok(Some(html))
}

fn query(choice: &PageChoice<'_>) -> String {
    let mut query = format!("&amp;profile={}", choice.profile);
    if let Some(theme) = choice.theme {
        query.extend([format!("&amp;theme={theme}")]);
    }
    query
}

/// The links to other profiles and themes.
fn choices(choice: &PageChoice<'_>, address: &str, html: &mut String) {
    html.push_str("<details class=\"fold\" id=\"looks\"><summary>Profile and theme</summary><nav aria-label=\"Profile and theme\"><p>Profile:");
    for profile in choice.profiles {
        let current = if profile == choice.profile { " aria-current=\"true\"" } else { "" };
        let theme = choice.theme.map(|theme| format!("&amp;theme={theme}")).unwrap_or_default();
        html.extend([format!(" <a href=\"{address}?profile={profile}{theme}\"{current}>{profile}</a>")]);
    }
    html.push_str("</p><p>Theme:");
    let current = if choice.theme.is_none() { " aria-current=\"true\"" } else { "" };
    html.extend([format!(" <a href=\"{address}?profile={}\"{current}>usual</a>", choice.profile)]);
    for theme in choice.themes {
        let current = if choice.theme == Some(theme) { " aria-current=\"true\"" } else { "" };
        html.extend([format!(
            " <a href=\"{address}?profile={}&amp;theme={theme}\"{current}>{theme}</a>",
            choice.profile
        )]);
    }
    html.push_str("</p></nav></details>\n");
}
