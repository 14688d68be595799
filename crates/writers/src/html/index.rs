//! The index of pages.

use super::head::time;
use super::out::{HtmlOut, written};
use super::{Html, head};
use crate::page;
use streamfmt_core::figures;
use streamfmt_core::item::Kind;
use streamfmt_core::outline::DocumentHead;
use streamfmt_core::report::Report;
use streamfmt_core::text;

/// A page in an index.
#[derive(Clone, Debug)]
pub struct IndexedPage {
    /// The name of its file, in the folder of the index: letters, digits, `-`, `_` and `.`.
    pub href: String,
    /// The name of its source, without the folders of the machine. Foreign text, not cleaned.
    pub name: String,
    /// The head of its run.
    pub head: DocumentHead,
    /// The counts of its run.
    pub report: Report,
}

impl Html {
    /// Returns an index of `pages`, in their order.
    pub fn index(pages: &[IndexedPage]) -> String {
        written(|out| {
            head("Agent sessions", out);
            let number = figures::count_of(pages.len() as u64, "session", "sessions");
            out.raw("<header class=\"top\"><h1>Agent sessions</h1>");
            out.within("<p class=\"facts\">", &number, "</p></header>\n<main id=\"answer\">");
            out.raw("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
            for name in ["Session", "Date", "Time", "Calls", "Failed", "Cost", "Ended"] {
                out.raw_parts(&["<th scope=\"col\">", name, "</th>"]);
            }
            out.raw("</tr></thead>\n<tbody>\n");
            for page in pages {
                row(page, out);
            }
            if pages.is_empty() {
                out.raw("<tr><td colspan=\"7\">None</td></tr>\n");
            }
            out.raw(
                "</tbody></table></div></main>\n<footer>Written by streamfmt</footer>\n</body>\n</html>\n",
            );
        })
    }
}

fn row(page: &IndexedPage, out: &mut HtmlOut<'_>) {
    let head = &page.head;
    out.within("<tr><td><a href=\"", &page.href, "\">");
    out.within("", page::title(head), "</a><br>");
    out.within("<span class=\"dim\">", &text::clean(&page.name).replace('\n', "␊"), "</span>");
    if let Some(folder) = head.folder.as_deref().filter(|folder| *folder != page::title(head)) {
        out.within(" <span class=\"dim\">", folder, "</span>");
    }
    out.raw("</td><td>");
    if let (Some(when), Some(begun)) = (page::when(head), head.begun) {
        time(begun, &when, out);
    }
    let number = |number: u64| if number == 0 { None } else { Some(figures::count(number)) };
    let figures = [
        head.duration_ms.map(figures::duration),
        Some(figures::count(head.calls)),
        number(head.failed),
        head.cost.and_then(figures::money),
    ];
    for (at, figure) in figures.iter().enumerate() {
        out.raw_parts(&["</td><td class=\"right", if at == 2 { " bad\">" } else { "\">" }]);
        out.text(figure.as_deref().unwrap_or(""));
    }
    out.raw("</td><td>");
    let report = &page.report;
    if report.failed {
        out.raw("<span class=\"bad\">✗ failed</span>");
    } else if report.lacks_outcome() {
        out.raw("<span class=\"bad\">✗ no result</span>");
    } else if report.shown.contains_key(&Kind::Outcome) {
        out.raw("<span class=\"good\">✓ done</span>");
    } else if let Some(last) = page::last(head) {
        // A history has no outcome, but the time of its last step.
        out.within("<span class=\"dim\">last step ", &last, "</span>");
    }
    out.raw("</td></tr>\n");
}
