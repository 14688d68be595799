//! The page that leads to others.

use jiff::tz::TimeZone;

use super::out::HtmlOut;
use super::{Html, head};
use crate::page::{self, UtcTime};
use streamfmt_core::figures;
use streamfmt_core::item::Kind;
use streamfmt_core::outline::DocumentHead;
use streamfmt_core::report::Report;
use streamfmt_core::text;

/// A page that an index leads to.
#[derive(Clone, Debug)]
pub struct IndexedPage {
    /// The name of its file, in the index's own folder: letters, digits, `-`, `_` and `.`.
    pub href: String,
    /// What it was made of, without the folders of the machine; foreign text, not cleaned.
    pub name: String,
    /// What is known of its run.
    pub head: DocumentHead,
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
        for name in ["Session", "Date", "Time", "Calls", "Failed", "Cost", "Ended"] {
            out.raw("<th scope=\"col\">");
            out.raw(name);
            out.raw("</th>");
        }
        out.raw("</tr></thead>\n<tbody>\n");
        for page in pages {
            row(page, &mut out);
        }
        if pages.is_empty() {
            out.raw("<tr><td colspan=\"7\">None</td></tr>\n");
        }
        out.raw("</tbody></table></div></main>\n<footer>Written by streamfmt</footer>\n</body>\n</html>\n");
        // A string takes everything.
        let _ = out.end();
        page
    }
}

fn row(page: &IndexedPage, out: &mut HtmlOut<'_>) {
    let head = &page.head;
    out.raw("<tr><td><a href=\"");
    out.text(&page.href);
    out.raw("\">");
    out.text(page::title(head));
    out.raw("</a><br><span class=\"dim\">");
    out.text(&text::clean(&page.name).replace('\n', "␊"));
    out.raw("</span>");
    if let Some(folder) = head.folder.as_deref().filter(|folder| *folder != page::title(head)) {
        out.raw(" <span class=\"dim\">");
        out.text(folder);
        out.raw("</span>");
    }
    out.raw("</td><td>");
    if let (Some(when), Some(begun)) = (page::when(head), head.begun) {
        let begun = UtcTime::new(TimeZone::UTC.to_datetime(begun));
        let _ = out.formatted(format_args!("<time datetime=\"{begun}\">"));
        out.text(&when);
        out.raw("</time>");
    }
    let number = |number: u64| if number == 0 { None } else { Some(figures::count(number)) };
    let figures = [
        head.duration_ms.map(figures::duration),
        Some(figures::count(head.calls)),
        number(head.failed),
        head.cost.and_then(figures::money),
    ];
    for (at, figure) in figures.iter().enumerate() {
        out.raw("</td><td class=\"right");
        out.raw(if at == 2 { " bad\">" } else { "\">" });
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
        // A history doesn't say how it ended, but when.
        out.raw("<span class=\"dim\">last step ");
        out.text(&last);
        out.raw("</span>");
    }
    out.raw("</td></tr>\n");
}
