//! All items so far, and the facts of the run.
//!
//! The session gives items their final ids and places, lets open ones grow, drops what never
//! happened and counts what is repeated. Memory is bounded: a finished item leaves nothing
//! behind but two hashes, a call is remembered until its result has come.

mod calls;
mod open_items;
mod records;
mod seen_items;
mod text_hash;
mod totals;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::IndexMap;

use crate::budget::Budget;
use crate::event::{Event, Usage};
use crate::item::{Action, Fact, FactRef, Id, Item, Kind, Status};
use crate::text::Text;

pub use crate::event::Facts;
pub use open_items::MAX_GROWING_FIELD;
pub use totals::RunTotals;

use calls::OpenCalls;
use open_items::{OpenItems, keep_streamed, settle_input};
use records::EarlyRecords;
use seen_items::{Seen, SeenItems};
use text_hash::{TextHash, content_of, said_by, trimmed};
use totals::RunCounts;

/// Replies that an outcome may still repeat.
const MAX_REPLIES: usize = 64;
/// Messages whose usage may still be corrected.
const MAX_USAGES: usize = 64;

/// A map that keeps its order and hashes the same in every run.
pub type Map<K, V> = IndexMap<K, V, FixedState>;

/// What an event did to the session.
#[derive(Clone, Debug)]
pub enum SessionChange<'a> {
    /// An item is whole. It comes once.
    Complete(&'a Item),
    /// An item is open and has changed: see [`Session::growing`].
    Grew(Id),
    /// An item that was open is no more: it never became whole.
    Dropped(Id),
    /// What was said of an item, if it was, is taken back.
    Retracted(Id),
    /// An item came again as it was.
    Repeated(&'a Item),
    /// A line of a reply is a record, which is an item, too. It comes while the reply grows, as soon as its line is whole, and once more,
    /// not early, when the reply is complete.
    Record {
        /// The record.
        item: &'a Item,
        /// Its reply.
        reply: &'a Id,
        /// Where its line is in the reply's text, its line feed included.
        line: Range<usize>,
        /// Whether the reply still grows.
        is_early: bool,
    },
    /// All records of a reply have come that is complete and may have had some.
    RecordsEnd(&'a Id),
}

/// Takes what an event did to a session, with the session as it is then.
type TakeChange<'a> = &'a mut dyn FnMut(&Session, SessionChange<'_>);

/// What is remembered of the inside of a call.
#[derive(Clone, Copy, Debug, Default)]
struct CallScope {
    /// Items that were given a place.
    places: u32,
    /// How many sub-agents its items are inside of.
    depth: u16,
    /// What the last reply in it said, or an error told in its place.
    last_reply: TextHash,
}

/// All items so far, and the facts of the run.
#[derive(Debug, Default)]
pub struct Session {
    budget: Budget,
    facts: Facts,
    usage: Usage,
    /// What was used when the last outcome came.
    settled: Usage,
    counts: RunCounts,
    /// Hash of a message's id → what it used, oldest first.
    usages: Map<u64, Usage>,
    open: OpenItems,
    /// Of open replies with braces: the records so far, by the reply's own id.
    records: Map<Id, EarlyRecords>,
    /// Items that began again after they were whole: they are counted, and may still come whole again.
    again: Map<Id, ()>,
    calls: OpenCalls,
    seen: SeenItems,
    /// Outside of all calls.
    main: CallScope,
    inside: Map<Id, CallScope>,
    /// Where the places inside of a call begin that isn't remembered: it may have been, and given away those before.
    first_place: u32,
    /// What the main thread's replies said, each until an outcome has said it too. Outcomes of several turns may come
    /// together at the end, when jobs in the background have gone on.
    unrepeated: VecDeque<u64>,
    /// Shown at the last `session` notice: session, model, folder, mode.
    announced: Option<[Option<Text>; 4]>,
    /// The last that happened was that a person stopped the run.
    was_interrupted: bool,
}

impl Session {
    /// A session at its beginning, of which so much is kept at a time.
    pub fn new(budget: Budget) -> Self {
        let budget = budget.at_least();
        let (calls, seen) = (OpenCalls::new(budget), SeenItems::new(budget.ids));
        Self { budget, calls, seen, ..Self::default() }
    }

    /// What is known of the run.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Tokens used so far, each message counted once.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What the run has come to so far, over all of its turns.
    pub fn totals(&self) -> &RunTotals {
        self.counts.totals()
    }

    /// A call whose result is awaited (or just being formatted), or that has started a sub-agent, while it is remembered.
    pub fn call(&self, id: &Id) -> Option<&Item> {
        self.calls.get(id)
    }

    /// The calls without a result, oldest first once the input has ended. Of very many only the last are remembered.
    pub fn unanswered_calls(&self) -> impl Iterator<Item = &Item> {
        self.calls.unanswered()
    }

    /// An item that may still grow.
    pub fn open_item(&self, id: &Id) -> Option<&Item> {
        self.open.get(id)
    }

    /// An item that may still grow, as formatters see it: a call whose input is being written has as its input what can be
    /// read of it, and is `partial`. Fields longer than [`MAX_GROWING_FIELD`] are cut, visibly.
    pub fn growing(&self, id: &Id) -> Option<Cow<'_, Item>> {
        self.open.growing(id)
    }

    /// The items that may still grow, as formatters see them, the oldest first.
    pub fn growing_items(&self) -> impl Iterator<Item = Cow<'_, Item>> {
        self.open.ids().filter_map(|id| self.growing(id))
    }

    /// The calls of sub-agents that are still at work, in no order.
    pub fn running_agents(&self) -> impl Iterator<Item = &Item> {
        self.calls.running_agents()
    }

    /// How many sub-agents an item of `parent` is inside of.
    pub fn depth(&self, parent: Option<&Id>) -> u16 {
        match parent {
            None => 0,
            Some(id) => self.inside.get(id).map_or(1, |inside| inside.depth.max(1)),
        }
    }

    /// How many calls still await their result.
    pub fn open_calls(&self) -> u64 {
        self.calls.count()
    }

    /// Applies an event and hands on what changed.
    pub fn apply(&mut self, event: Event, mut each: impl FnMut(&Self, SessionChange<'_>)) {
        match event {
            Event::Facts(news) => self.facts.update(*news),
            Event::Put(item) => self.put(item, &mut each),
            Event::Open(item) => self.begin(item, &mut each),
            Event::Append { id, text } => {
                if let Some(item) = self.open.append(&id, &text) {
                    let may_have_records = item.kind == Kind::Reply
                        && (text.contains(['{', '}']) || self.records.contains_key(&item.id));
                    each(self, SessionChange::Grew(id.clone()));
                    if may_have_records {
                        self.find_early_records(&id, &mut each);
                    }
                }
                self.bound(&mut each);
            }
            Event::Amend(item) => self.amend(item, &mut each),
            Event::Close { id, status } => {
                if let Some(item) = self.open.take(&id) {
                    self.close(item, status, &mut each);
                }
            }
            Event::Drop(id) => {
                if let Some(item) = self.open.take(&id) {
                    let early = self.records.swap_remove(&item.id).unwrap_or_default();
                    self.retract_records(&early.found, &mut each);
                    each(self, SessionChange::Dropped(item.id));
                }
            }
            Event::Retract { ids, notice } => {
                for id in ids {
                    each(self, SessionChange::Retracted(id));
                }
                self.put(notice, &mut each);
            }
            Event::Usage { message, usage } => self.count(&message, usage),
            Event::Totals { outcome, usage } => self.settle_usage(&outcome, usage),
            Event::Bookkeeping(_) | Event::Unknown(_) => {}
        }
    }

    /// Ends the input: what is still open is complete now; calls without a result are named, and what a run of several turns
    /// came to.
    pub fn end(&mut self, line: u64, mut each: impl FnMut(&Self, SessionChange<'_>)) {
        while let Some(id) = self.open.oldest() {
            self.apply(Event::Close { id, status: Status::Cancelled }, &mut each);
        }
        if self.open_calls() > 0 {
            let notice = self.calls.notice(line);
            self.put(Box::new(notice), &mut each);
        }
        if let Some(notice) = self.counts.notice(line, self.usage) {
            self.put(Box::new(notice), &mut each);
        }
    }

    fn put(&mut self, mut item: Box<Item>, each: TakeChange<'_>) {
        let mut open = self.open.take(&item.id);
        if let Some(open) = &mut open {
            keep_streamed(open, &mut item);
        }
        let began_again = self.again.shift_remove(&item.id).is_some();
        let Some(said) = self.name(&mut item) else {
            if !began_again {
                each(self, SessionChange::Repeated(&item));
            }
            return;
        };
        item.line = open.as_ref().map_or(item.line, |open| open.line);
        item.place = match open.filter(|open| open.parent == item.parent) {
            Some(open) => open.place,
            None => self.next_place(item.parent.as_ref()),
        };
        self.finish(item, said, each);
    }

    fn begin(&mut self, mut item: Box<Item>, each: TakeChange<'_>) {
        if self.open.get(&item.id).is_some() {
            return;
        }
        if self.seen.knows(item.id.hash()) {
            // It was seen whole already: what streams now is the same again, and so is the whole that may follow.
            if self.again.len() >= self.budget.open_items {
                self.again.shift_remove_index(0);
            }
            if self.again.insert(item.id.clone(), ()).is_none() {
                each(self, SessionChange::Repeated(&item));
            }
            return;
        }
        if self.open.len() >= self.budget.open_items {
            let oldest = self.open.oldest();
            if let Some(oldest) = oldest.and_then(|id| self.open.take(&id)) {
                self.close(oldest, Status::Cancelled, each);
            }
        }
        item.status = Status::Open;
        item.place = self.next_place(item.parent.as_ref());
        let id = item.id.clone();
        self.open.open(item);
        each(self, SessionChange::Grew(id));
        self.bound(each);
    }

    fn amend(&mut self, item: Box<Item>, each: TakeChange<'_>) {
        match self.open.amend(item) {
            Ok(id) => {
                each(self, SessionChange::Grew(id));
                self.bound(each);
            }
            Err(item) => self.begin(item, each),
        }
    }

    /// Completes what the longest open items have grown to while they are too long together: it can't be kept any longer. The rest of
    /// each will be an item of its own.
    fn bound(&mut self, each: TakeChange<'_>) {
        while self.open.bytes() > self.budget.open_bytes {
            let Some((id, part)) = self.open.take_longest_text() else { return };
            let place = self.next_place(part.parent.as_ref());
            // What was shown of the part stays shown: the rest is something else from here on.
            let name = self.next_id(&id, &part.id);
            self.open.rename(&id, name, place);
            self.close(part, Status::Cancelled, each);
        }
    }

    /// Finishes an item that was open.
    fn close(&mut self, mut item: Box<Item>, status: Status, each: TakeChange<'_>) {
        item.status = status;
        settle_input(&mut item);
        match self.name(&mut item) {
            Some(said) => self.finish(item, said, each),
            None => each(self, SessionChange::Repeated(&item)),
        }
    }

    /// The id of what comes after a part of an item, which has the id `last`; `first` was that of the item.
    fn next_id(&self, first: &Id, last: &Id) -> Id {
        let number = last
            .as_str()
            .strip_prefix(first.as_str())
            .and_then(|count| count.strip_prefix('~')?.parse().ok());
        let is_taken = |id: &Id| self.seen.knows(id.hash());
        let ids = (number.unwrap_or(1_u64) + 1..).map(|count| Id::from(format!("{first}~{count}")));
        ids.take(64).find(|id| !is_taken(id)).unwrap_or_else(|| last.clone())
    }

    /// Gives the item an id that no other has, and tells what it says. `None`: it is the same as the one that has it.
    fn name(&mut self, item: &mut Item) -> Option<TextHash> {
        let (content, said) = content_of(item);
        let mut other = None;
        // Hostile streams give one id to everything: after some tries the line number tells them apart.
        for count in 2..65 {
            match self.seen.remember(other.as_ref().unwrap_or(&item.id).hash(), content) {
                Seen::Never => {
                    if let Some(other) = other {
                        item.id = other;
                    }
                    return Some(said);
                }
                Seen::Same => return None,
                Seen::Other => other = Some(Id::from(format!("{}~{count}", item.id))),
            }
        }
        item.id = format!("{}~line-{}-{}", item.id, item.line, self.next_place(None)).into();
        Some(said)
    }

    /// What is remembered of the inside of `parent`; room is made for it if there is too much.
    fn inside(&mut self, parent: Option<&Id>) -> &mut CallScope {
        let Some(parent) = parent else { return &mut self.main };
        if let Some(known) = self.inside.get_index_of(parent) {
            return &mut self.inside[known];
        }
        self.forget_insides();
        let new = CallScope { depth: 1, places: self.first_place, ..CallScope::default() };
        self.inside.entry(parent.clone()).or_insert(new)
    }

    /// Notes what was said last inside `parent`.
    fn replied(&mut self, parent: Option<&Id>, said: TextHash) {
        self.inside(parent).last_reply = said;
        if let (None, Some(said)) = (parent, said) {
            if self.unrepeated.len() == MAX_REPLIES {
                self.unrepeated.pop_front();
            }
            self.unrepeated.push_back(said);
        }
    }

    /// Whether the last reply inside `parent` said the same.
    fn was_last_reply(&self, parent: Option<&Id>, said: TextHash) -> bool {
        let inside = match parent {
            None => Some(&self.main),
            Some(id) => self.inside.get(id),
        };
        said.is_some() && inside.and_then(|inside| inside.last_reply) == said
    }

    fn next_place(&mut self, parent: Option<&Id>) -> u32 {
        let inside = self.inside(parent);
        let place = inside.places;
        inside.places = inside.places.saturating_add(1);
        place
    }

    fn finish(&mut self, mut item: Box<Item>, said: TextHash, each: TakeChange<'_>) {
        if item.kind == Kind::Result {
            self.time(&mut item);
        }
        self.counts.count(&item);
        match item.kind {
            Kind::Call => {
                self.was_interrupted = false;
                self.enter(&item);
            }
            Kind::Reply => {
                self.was_interrupted = false;
                self.replied(item.parent.as_ref(), said);
            }
            Kind::Notice if item.error => self.replied(item.parent.as_ref(), said),
            Kind::Notice if is_shown_output(&item) => {
                let words = item.fact("words").and_then(FactRef::str);
                let said = words.map_or(said, |words| trimmed(&words).hash);
                self.replied(item.parent.as_ref(), said);
            }
            // A job that ended: what its sub-agent answered stands above.
            Kind::Notice if item.fact("call").is_some() => {
                let call = item.fact("call").and_then(FactRef::str).map(|call| Id::from(&*call));
                let is_repeated = call.is_some_and(|call| self.was_last_reply(Some(&call), said));
                mark_repeated(&mut item, is_repeated);
            }
            Kind::Notice if item.is_event("interrupt") => self.was_interrupted = true,
            Kind::Outcome => {
                let is_interrupted = std::mem::take(&mut self.was_interrupted) && item.error;
                if is_interrupted {
                    item.data.push(("interrupted", Fact::Bool(true)));
                }
                let known = self.unrepeated.iter().position(|reply| Some(*reply) == said);
                let is_repeated = self.was_last_reply(None, said) || known.is_some();
                known.map(|known| self.unrepeated.remove(known));
                mark_repeated(&mut item, is_repeated);
                self.counts.settle(&mut item);
            }
            Kind::Result if item.action() == Some(Action::Delegate) => {
                let answer = item.fact("answer").and_then(FactRef::str);
                let said = answer.map_or_else(|| said_by(&item), |answer| trimmed(&answer)).hash;
                let is_repeated = self.was_last_reply(item.call.as_ref(), said);
                mark_repeated(&mut item, is_repeated);
            }
            Kind::Notice if item.is_event("session") => {
                let now = [&self.facts.session, &self.facts.model, &self.facts.cwd, &self.facts.mode]
                    .map(Clone::clone);
                if self.announced.as_ref() == Some(&now) {
                    item.data.push(("minor", Fact::Bool(true)));
                } else if self.announced.as_ref().is_some_and(|before| before[..3] == now[..3]) {
                    item.data.push(("changed", Fact::Text("mode".to_owned())));
                }
                self.announced = Some(now);
            }
            Kind::Notice if item.is_event("totals") => self.counts.complete(&mut item),
            _ => {}
        }
        each(self, SessionChange::Complete(&item));
        match (item.kind, &item.call) {
            (Kind::Reply, _) => self.find_records(&item, each),
            (Kind::Call, _) => self.calls.open(item),
            (Kind::Result, Some(call)) => self.calls.answer(call),
            _ => {}
        }
    }

    /// Notes how long a result took to come, if the stream tells its time and its call's.
    fn time(&self, result: &mut Item) {
        let call = result.call.as_ref().filter(|_| result.at.is_some()).and_then(|id| self.calls.get(id));
        let Some((at, record)) = call.and_then(|call| call.at.zip(call.record.as_ref())) else { return };
        if result.fact("took_ms").is_none() {
            result.data.push(("took_ms", Fact::Since(Arc::clone(record), at)));
        }
    }

    /// Notes how deep the items of a sub-agent will be.
    fn enter(&mut self, call: &Item) {
        if call.action() == Some(Action::Delegate) {
            let depth = self.depth(call.parent.as_ref()).saturating_add(1);
            self.inside(Some(&call.id)).depth = depth;
        }
    }

    /// Makes room for one more parent, if there are too many.
    fn forget_insides(&mut self) {
        let most = self.budget.parents;
        if self.inside.len() >= most {
            let forgotten = self.inside.drain(..most / 2).map(|(_, inside)| inside.places);
            self.first_place = forgotten.fold(self.first_place, u32::max);
        }
    }

    fn count(&mut self, message: &Id, usage: Usage) {
        let before = self.usages.insert(message.hash(), usage).unwrap_or_default();
        if self.usages.len() > MAX_USAGES * 2 {
            self.usages.drain(..MAX_USAGES);
        }
        self.usage = self.usage.combined(before, u64::saturating_sub).combined(usage, u64::saturating_add);
    }

    /// Raises what was used to what an outcome tells. It may leave out sub-agents, so that nothing is lowered.
    fn settle_usage(&mut self, outcome: &Id, usage: Usage) {
        if self.usages.insert(outcome.hash(), Usage::default()).is_some() {
            return;
        }
        self.usage = self.settled.combined(usage, u64::saturating_add).combined(self.usage, u64::max);
        self.settled = self.usage;
    }
}

/// Whether it shows what a command of the agent's program printed, which an outcome may repeat.
fn is_shown_output(notice: &Item) -> bool {
    let is_hidden = |name: &str| notice.fact(name).and_then(FactRef::bool) == Some(true);
    notice.is_event("command-output") && !is_hidden("echo") && !is_hidden("minor")
}

fn mark_repeated(item: &mut Item, is_repeated: bool) {
    if is_repeated {
        item.data.push(("repeated", Fact::Bool(true)));
    }
}

/// The session that an item belongs to, shared by all its items.
pub type SessionId = Arc<str>;

#[cfg(test)]
mod tests;
