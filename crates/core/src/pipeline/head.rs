//! Collects the head of a document, item by item.

use crate::entry::Entry;
use crate::home::home;
use crate::item::{FactRef, Item, Kind};
use crate::outline::{DocumentHead, heading, headline, one_line};
use crate::redact::Redactor;
use crate::session::Session;
use crate::text::Text;

/// Collects a [`DocumentHead`].
#[derive(Debug, Default)]
pub(super) struct HeadNotes {
    head: DocumentHead,
    /// The first heading of the last reply.
    heading: Option<String>,
}

impl HeadNotes {
    /// Notes an entry that is shown.
    pub(super) fn show(&mut self, entry: &Entry) {
        let head = &mut self.head;
        match entry.kind {
            Kind::Call => head.calls += 1,
            Kind::Result => head.failed += u64::from(entry.is_failed()),
            Kind::Prompt if entry.begins_turn() && head.title.is_none() => {
                head.title = headline(&entry.view);
            }
            Kind::Reply if entry.depth == 0 => self.heading = heading(&entry.view),
            _ => {}
        }
    }

    /// Notes a complete item.
    pub(super) fn note(&mut self, item: &Item) {
        if item.is_event("origin-end") {
            // All that has come was another session.
            *self = Self::default();
        }
        let head = &mut self.head;
        let at = item.at();
        head.begun = head.begun.into_iter().chain(at).min();
        head.ended = head.ended.max(at);
        // A history has no outcomes, but may state its figures at its end.
        if item.kind == Kind::Notice
            && item.parent.is_none()
            && let Some(cost) = item.fact("cost_usd")
        {
            head.cost = cost.float().filter(|cost| *cost >= 0.0);
            head.duration_ms = item.fact("duration_ms").and_then(FactRef::count);
        }
    }

    /// Completes the head with the facts and totals of the session at its end.
    pub(super) fn complete(self, session: &Session, redactor: Option<&mut Redactor>) -> DocumentHead {
        let (facts, totals, mut head) = (session.facts(), session.totals(), self.head);
        head.prompts = totals.prompts;
        head.turns = totals.turns.unwrap_or(0);
        head.duration_ms = totals.duration_ms.or(head.duration_ms);
        head.cost = totals.cost_usd.or(head.cost);
        head.model.clone_from(&facts.model);
        head.folder = facts.cwd.clone().map(home);
        let mut title = facts.title.clone();
        if let Some(redactor) = redactor {
            for text in head.model.iter_mut().chain(&mut head.folder).chain(&mut title) {
                *text = Text::clean_owned(redactor.text(text).into_owned());
            }
        }
        let title = title.and_then(|title| title.lines().map(one_line).find(|line| !line.is_empty()));
        head.title =
            title.or(head.title).or(self.heading).or_else(|| head.folder.as_ref().map(Text::to_string));
        head
    }
}
