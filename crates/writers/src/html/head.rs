//! The head of a page, written last and put first: its title, the totals of the run, the answer, the timeline, the prompts.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::contents::Contents;
use super::out::HtmlOut;
use super::{Html, block};
use crate::page::{self, UtcTime};
use streamfmt_core::entry::Entry;
use streamfmt_core::outline::{Answer, DocumentHead};

/// The parts that are kept until the head is written.
#[derive(Debug, Default)]
pub(super) struct KeptPage {
    /// The heading of the first session.
    pub(super) session: Option<Box<Entry>>,
    pub(super) answer: Option<Answer>,
    pub(super) contents: Contents,
}

impl Html {
    /// Writes the page up to its activity.
    pub(super) fn write_kept(&mut self, kept: &KeptPage, head: &DocumentHead, out: &mut HtmlOut<'_>) {
        let title = page::title(head);
        super::head(title, out);
        out.within("<header class=\"top\"><h1>", title, "</h1>");
        write_facts(head, title, out);
        if let Some(entry) = &kept.session {
            self.session_fold(entry, out);
        }
        out.raw("</header>\n");
        Self::begin_main(out);
        if let Some(answer) = &kept.answer {
            self.write_answer(answer, title, out);
        }
        self.timeline.write(Some(head), out);
        kept.contents.write(out);
        Self::begin_activity(self.has_activity, out);
    }

    /// Writes the heading of the first session, folded.
    pub(super) fn session_fold(&self, entry: &Entry, out: &mut HtmlOut<'_>) {
        let anchor = page::anchor(entry.id.as_str());
        out.raw_parts(&["<details class=\"fold\" id=\"", &anchor, "\"><summary>Session</summary>"]);
        block::paragraph(out, &entry.view.title);
        self.body(&entry.view.body, out);
        out.raw("</details>");
    }
}

/// Writes a line with the date, the model, the folder, and the totals of the run.
fn write_facts(head: &DocumentHead, title: &str, out: &mut HtmlOut<'_>) {
    let when = page::when(head).zip(head.begun);
    let folder = head.folder.as_deref().filter(|folder| *folder != title);
    let figures = page::figures(head);
    let (model, figures) = (head.model.iter(), figures.iter());
    let mut separator = "<p class=\"facts\">";
    let mut separate = |out: &mut HtmlOut<'_>| out.raw(std::mem::replace(&mut separator, " · "));
    if let Some((when, begun)) = &when {
        separate(out);
        time(*begun, when, out);
    }
    for text in model {
        separate(out);
        out.text(text);
    }
    if let Some(folder) = folder {
        separate(out);
        out.within("<span class=\"path\">", folder, "</span>");
    }
    for text in figures {
        separate(out);
        out.text(text);
    }
    if separator == " · " {
        out.raw("</p>");
    }
}

/// Writes a time: `words` for people, and the exact time, to the second, for programs.
pub(super) fn time(at: Timestamp, words: &str, out: &mut HtmlOut<'_>) {
    let exact = UtcTime::new(TimeZone::UTC.to_datetime(at));
    let _ = out.formatted(format_args!("<time datetime=\"{exact}\">"));
    out.within("", words, "</time>");
}
