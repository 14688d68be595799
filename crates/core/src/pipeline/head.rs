//! Collects the head of a document, item by item.

use crate::entry::Entry;
use crate::home::home;
use crate::item::{FactRef, Item, Kind};
use crate::outline::{DocumentHead, heading, headline};
use crate::redact::Redactor;
use crate::session::Session;
use crate::text::Text;

/// Collects a [`DocumentHead`].
#[derive(Debug, Default)]
pub(super) struct HeadNotes {
    head: DocumentHead,
    /// The first heading of the last reply.
    heading: Option<String>,
    /// The cost in US dollars and the duration in milliseconds from a notice at the end of a history, which has no outcomes.
    stated: (Option<f64>, Option<u64>),
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
        let head = &mut self.head;
        if let Some(at) = item.at() {
            head.begun = Some(head.begun.map_or(at, |begun| begun.min(at)));
            head.ended = Some(head.ended.map_or(at, |ended| ended.max(at)));
        }
        if item.kind == Kind::Notice && item.parent.is_none() && item.fact("cost_usd").is_some() {
            let (cost, took) = (item.fact("cost_usd"), item.fact("duration_ms"));
            let cost = cost.and_then(FactRef::float).filter(|cost| *cost >= 0.0);
            self.stated = (cost, took.and_then(FactRef::count));
        }
    }

    /// Completes the head with the facts and totals of the session at its end.
    pub(super) fn complete(self, session: &Session, redactor: Option<&mut Redactor>) -> DocumentHead {
        let (facts, totals, mut head) = (session.facts(), session.totals(), self.head);
        let (stated_cost, stated_ms) = self.stated;
        head.prompts = totals.prompts;
        head.turns = totals.turns.unwrap_or(0);
        head.duration_ms = totals.duration_ms.or(stated_ms);
        head.cost = totals.cost_usd.or(stated_cost);
        head.model.clone_from(&facts.model);
        head.folder = facts.cwd.clone().map(home);
        if let Some(redactor) = redactor {
            for text in head.model.iter_mut().chain(&mut head.folder) {
                *text = Text::clean_owned(redactor.text(text).into_owned());
            }
        }
        head.title = head.title.or(self.heading).or_else(|| head.folder.as_ref().map(Text::to_string));
        head
    }
}
