//! What heads the document of a run, collected item by item.

use crate::entry::Entry;
use crate::formatter::notices::home;
use crate::item::{FactRef, Item, Kind};
use crate::outline::DocumentHead;
use crate::redact::Redactor;
use crate::session::{Session, SessionId};
use crate::text::Text;
use crate::writer::page;

/// Collects a [`DocumentHead`].
#[derive(Debug, Default)]
pub(super) struct HeadNotes {
    head: DocumentHead,
    /// The first heading of the last reply.
    heading: Option<String>,
    /// The session whose outcome came last, and what it has cost since its process began.
    last_cost: Option<(Option<SessionId>, f64)>,
    /// What a session without outcomes says that it took so far, in milliseconds.
    so_far_ms: Option<u64>,
}

impl HeadNotes {
    /// Takes note of what is shown of an item.
    pub(super) fn show(&mut self, entry: &Entry) {
        let head = &mut self.head;
        match entry.kind {
            Kind::Call => head.calls += 1,
            Kind::Result => head.failed += u64::from(entry.is_failed()),
            Kind::Prompt if entry.begins_turn() && head.title.is_none() => {
                head.title = page::headline(&entry.view);
            }
            Kind::Reply if entry.depth == 0 => self.heading = page::heading(&entry.view),
            _ => {}
        }
    }

    /// Takes note of an item that is complete.
    pub(super) fn note(&mut self, item: &Item) {
        let head = &mut self.head;
        if let Some(at) = item.at() {
            head.begun = Some(head.begun.map_or(at, |begun| begun.min(at)));
            head.ended = Some(head.ended.map_or(at, |ended| ended.max(at)));
        }
        match item.kind {
            Kind::Prompt if item.parent.is_none() => head.prompts += 1,
            Kind::Outcome if item.parent.is_none() => self.outcome(item),
            Kind::Notice if item.parent.is_none() && item.fact("cost_usd").is_some() => {
                self.so_far_ms = item.fact("duration_ms").and_then(FactRef::count).or(self.so_far_ms);
                self.cost(item);
            }
            _ => {}
        }
    }

    fn outcome(&mut self, item: &Item) {
        let head = &mut self.head;
        let count = |name: &str| item.fact(name).and_then(FactRef::count);
        head.turns = head.turns.saturating_add(count("turns").unwrap_or(0));
        if let Some(took) = count("duration_ms") {
            head.duration_ms = Some(head.duration_ms.unwrap_or(0).saturating_add(took));
        }
        self.cost(item);
    }

    /// Takes note of the price of a session so far.
    fn cost(&mut self, item: &Item) {
        let head = &mut self.head;
        let cost = item.fact("cost_usd").and_then(FactRef::float);
        if let Some(now) = cost.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            // The price of a session grows from outcome to outcome; a new process counts from nothing.
            let goes_on =
                self.last_cost.as_ref().filter(|(session, cost)| *session == item.session && *cost <= now);
            let before = goes_on.map_or(0.0, |(_, cost)| *cost);
            head.cost = Some(head.cost.unwrap_or(0.0) + now - before);
            self.last_cost = Some((item.session.clone(), now));
        }
    }

    /// What was collected, with what the session knows at its end.
    pub(super) fn complete(self, session: &Session, redactor: Option<&mut Redactor>) -> DocumentHead {
        let (facts, mut head) = (session.facts(), self.head);
        head.duration_ms = head.duration_ms.or(self.so_far_ms);
        head.model.clone_from(&facts.model);
        head.folder = facts.cwd.clone().map(home);
        if let Some(redactor) = redactor {
            // It was counted with the items.
            let noted = redactor.noted().clone();
            for text in head.model.iter_mut().chain(&mut head.folder) {
                *text = Text::clean_owned(redactor.text(text).into_owned());
            }
            redactor.restore(noted);
        }
        head.title = head.title.or(self.heading).or_else(|| head.folder.as_ref().map(Text::to_string));
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Fact;

    fn outcome(session: &str, cost: f64) -> Item {
        let mut item = Item::new("outcome", Kind::Outcome, 1);
        item.session = Some(session.into());
        item.data =
            vec![("turns", Fact::Int(2)), ("duration_ms", Fact::Int(500)), ("cost_usd", Fact::Float(cost))];
        item
    }

    #[test]
    fn turns_and_time_add_up_and_a_price_counts_once() {
        let mut notes = HeadNotes::default();
        // A session that goes on, one that is resumed by a new process, and another session.
        for (session, cost) in [("a", 0.25), ("a", 0.5), ("a", 0.125), ("b", 0.25)] {
            notes.note(&outcome(session, cost));
        }
        let DocumentHead { turns, duration_ms, cost, .. } = notes.head;
        assert_eq!((turns, duration_ms, cost), (8, Some(2000), Some(0.875)));
    }
}
