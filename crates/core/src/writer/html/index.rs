//! The page that leads to others.

use super::out::HtmlOut;
use super::{Html, head};
use crate::event::Facts;
use crate::event::Usage;
use crate::formatter::figures;
use crate::item::Kind;
use crate::report::Report;
use crate::text;

/// A page that an index leads to.
#[derive(Clone, Debug)]
pub struct IndexedPage {
    /// The name of its file, in the index's own folder: letters, digits, `-`, `_` and `.`.
    pub href: String,
    /// What it was made of; foreign text, not cleaned.
    pub name: String,
    /// What is known of its run.
    pub facts: Facts,
    /// Tokens that the run used.
    pub usage: Usage,
    /// What was counted in it.
    pub report: Report,
}

impl Html {
    /// The page that leads to `pages`, in their order.
    pub fn index(pages: &[IndexedPage]) -> String {
        let (mut buffer, mut page) = (String::new(), String::new());
        let mut out = HtmlOut::new(&mut buffer, &mut page);
        head("Agent sessions", &mut out);
        out.raw("<header class=\"top\"><h1>Agent sessions</h1><p class=\"facts\">");
        out.text(&figures::count_of(pages.len() as u64, "session", "sessions"));
        out.raw(
            "</p></header>\n<main id=\"answer\"><div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>",
        );
        for name in ["Session", "Folder", "Model", "Calls", "Tokens", "Ended"] {
            out.raw("<th scope=\"col\">");
            out.raw(name);
            out.raw("</th>");
        }
        out.raw("</tr></thead>\n<tbody>\n");
        for page in pages {
            row(page, &mut out);
        }
        if pages.is_empty() {
            out.raw("<tr><td colspan=\"6\">None</td></tr>\n");
        }
        out.raw("</tbody></table></div></main>\n<footer>Written by streamfmt</footer>\n</body>\n</html>\n");
        // A string takes everything.
        let _ = out.end();
        page
    }
}

fn row(page: &IndexedPage, out: &mut HtmlOut<'_>) {
    out.raw("<tr><td><a href=\"");
    out.text(&page.href);
    out.raw("\">");
    out.text(&text::clean(&page.name).replace('\n', "␊"));
    out.raw("</a></td><td class=\"path\">");
    out.text(page.facts.cwd.as_deref().unwrap_or(""));
    out.raw("</td><td>");
    out.text(page.facts.model.as_deref().unwrap_or(""));
    out.raw("</td><td class=\"right\">");
    out.number(page.report.shown.get(&Kind::Call).copied().unwrap_or(0));
    out.raw("</td><td class=\"right\">");
    let Usage { input, output, cache_read, cache_write } = page.usage;
    out.text(&figures::tokens(
        [input, output, cache_read, cache_write].into_iter().fold(0, u64::saturating_add),
    ));
    out.raw("</td><td>");
    out.raw(if page.report.failed {
        "<span class=\"bad\">✗ failed</span>"
    } else if page.report.shown.contains_key(&Kind::Outcome) {
        "<span class=\"good\">✓ done</span>"
    } else {
        "<span class=\"dim\">not told</span>"
    });
    out.raw("</td></tr>\n");
}
