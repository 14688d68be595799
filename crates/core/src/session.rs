//! All items so far, and the facts of the run.
//!
//! The session gives items their final ids and places, lets open ones grow, drops what never
//! happened and counts what is repeated. Memory is bounded: a finished item leaves nothing
//! behind but two hashes, a call is remembered until its result has come.

mod calls;
mod seen_items;
mod totals;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::IndexMap;

use crate::budget::Budget;
use crate::event::{Event, Usage};
use crate::hash::{Trimmed, TrimmedHasher, hash};
use crate::item::{Action, Content, Does, Fact, FactRef, GrowingInput, Id, Item, Kind, Status};
use crate::json::{PartialJson, Record, Value, ValueKind, left_out};
use crate::records::{FoundRecord, RecordFinder};
use crate::text::Text;

pub use crate::event::Facts;
pub use totals::RunTotals;

use calls::OpenCalls;
use seen_items::{Seen, SeenItems};
use totals::RunCounts;

/// Bytes, as they are written in JSON, of a field of an input that is being written: of a longer one formatters get the end.
pub const MAX_GROWING_FIELD: usize = 16 << 10;
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

/// The records that were found in a reply that still grows.
#[derive(Debug, Default)]
struct EarlyRecords {
    finder: RecordFinder,
    found: Vec<EarlyRecord>,
}

/// A record of a reply that still grows.
#[derive(Clone, Debug)]
struct EarlyRecord {
    id: Id,
    place: u32,
}

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
    open: Map<Id, Box<Item>>,
    /// Of open calls that grew: what of the JSON in their text can be read.
    inputs: Map<Id, PartialJson>,
    /// Of open replies with braces: the records so far, by the reply's own id.
    records: Map<Id, EarlyRecords>,
    /// Items that began again after they were whole: they are counted, and may still come whole again.
    again: Map<Id, ()>,
    /// Bytes that the open items grew to.
    open_bytes: usize,
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
        self.open.get(id).map(|item| &**item)
    }

    /// An item that may still grow, as formatters see it: a call whose input is being written has as its input what can be
    /// read of it, and is `partial`. Fields longer than [`MAX_GROWING_FIELD`] are cut, visibly.
    pub fn growing(&self, id: &Id) -> Option<Cow<'_, Item>> {
        let item = &**self.open.get(id)?;
        let index = self.inputs.get(id);
        let has_input = item.input.is_some() || matches!(item.does, Some(Does::Facts { .. }));
        if item.kind != Kind::Call || index.is_none() && has_input {
            return Some(Cow::Borrowed(item));
        }
        Some(Cow::Owned(with_input_so_far(item, index)))
    }

    /// The items that may still grow, as formatters see them, the oldest first.
    pub fn growing_items(&self) -> impl Iterator<Item = Cow<'_, Item>> {
        self.open.keys().filter_map(|id| self.growing(id))
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
                if let Some(item) = self.open.get_mut(&id) {
                    self.open_bytes -= grown(item);
                    grow(item, &text);
                    self.open_bytes += grown(item);
                    read_input(&id, item, &mut self.inputs);
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
                if let Some(item) = self.take_open(&id) {
                    self.close(item, status, &mut each);
                }
            }
            Event::Drop(id) => {
                if let Some(item) = self.take_open(&id) {
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
        while let Some((id, _)) = self.open.first() {
            let (id, status) = (id.clone(), Status::Cancelled);
            self.apply(Event::Close { id, status }, &mut each);
        }
        if self.open_calls() > 0 {
            let notice = self.calls.notice(line);
            self.put(Box::new(notice), &mut each);
        }
        if let Some(notice) = self.counts.notice(line, self.usage) {
            self.put(Box::new(notice), &mut each);
        }
    }

    fn put(&mut self, mut item: Box<Item>, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        let mut open = self.take_open(&item.id);
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

    fn begin(&mut self, mut item: Box<Item>, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        if self.open.contains_key(&item.id) {
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
            let oldest = self.open.first().map(|(id, _)| id.clone());
            if let Some(oldest) = oldest.and_then(|id| self.take_open(&id)) {
                self.close(oldest, Status::Cancelled, each);
            }
        }
        item.status = Status::Open;
        item.place = self.next_place(item.parent.as_ref());
        self.open_bytes += grown(&item);
        let id = item.id.clone();
        read_input(&id, &item, &mut self.inputs);
        self.open.insert(id.clone(), item);
        each(self, SessionChange::Grew(id));
        self.bound(each);
    }

    fn amend(&mut self, mut item: Box<Item>, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        let Some(open) = self.open.get_mut(&item.id) else { return self.begin(item, each) };
        self.open_bytes -= grown(open);
        let is_text_kept = matches!(item.text, Content::None);
        if is_text_kept && !matches!(open.text, Content::None) {
            // Parts of the record before are not parts of this one.
            grow(open, "");
            item.text = std::mem::take(&mut open.text);
        }
        item.parent.clone_from(&open.parent);
        (item.place, item.line) = (open.place, open.line);
        if item.status == Status::Done {
            item.status = Status::Open;
        }
        self.open_bytes += grown(&item);
        let id = std::mem::replace(&mut item.id, open.id.clone());
        if !is_text_kept {
            self.inputs.shift_remove(&id);
        }
        read_input(&id, &item, &mut self.inputs);
        *open = item;
        each(self, SessionChange::Grew(id));
        self.bound(each);
    }

    /// Parts the longest open items while they are too long together.
    fn bound(&mut self, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        while self.open_bytes > self.budget.open_bytes {
            self.part_longest(each);
        }
    }

    fn take_open(&mut self, id: &Id) -> Option<Box<Item>> {
        if self.open.is_empty() {
            return None;
        }
        let item = self.open.shift_remove(id)?;
        self.inputs.shift_remove(id);
        self.open_bytes -= grown(&item);
        Some(item)
    }

    /// Finishes an item that was open.
    fn close(
        &mut self,
        mut item: Box<Item>,
        status: Status,
        each: &mut impl FnMut(&Self, SessionChange<'_>),
    ) {
        item.status = status;
        settle_input(&mut item);
        match self.name(&mut item) {
            Some(said) => self.finish(item, said, each),
            None => each(self, SessionChange::Repeated(&item)),
        }
    }

    /// Tells what the longest open item has grown to, since it can't be kept any longer. The rest of it will be
    /// an item of its own.
    fn part_longest(&mut self, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        let longest = self.open.iter_mut().max_by_key(|(_, item)| grown(item));
        let Some((key, longest)) = longest.filter(|(_, item)| grown(item) > 0) else {
            self.open_bytes = 0;
            return;
        };
        let (key, text) = (key.clone(), std::mem::take(&mut longest.text));
        let part = Box::new(Item { text, ..(**longest).clone() });
        self.inputs.shift_remove(&key);
        let place = self.next_place(part.parent.as_ref());
        let id = self.next_id(&key, &part.id);
        if let Some(rest) = self.open.get_mut(&key) {
            // What was shown of the part stays shown: the rest is something else from here on.
            (rest.place, rest.id) = (place, id);
        }
        self.open_bytes -= grown(&part);
        self.close(part, Status::Cancelled, each);
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
        match self.seen.remember(item.id.hash(), content) {
            Seen::Never => return Some(said),
            Seen::Same => return None,
            Seen::Other => {}
        }
        // Hostile streams give one id to everything: after some tries the line number tells them apart.
        for count in 2..64 {
            let id = Id::from(format!("{}~{count}", item.id));
            match self.seen.remember(id.hash(), content) {
                Seen::Never => {
                    item.id = id;
                    return Some(said);
                }
                Seen::Same => return None,
                Seen::Other => {}
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

    fn finish(
        &mut self,
        mut item: Box<Item>,
        said: TextHash,
        each: &mut impl FnMut(&Self, SessionChange<'_>),
    ) {
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

    /// Finds the records in the lines of an open reply that have become whole.
    fn find_early_records(&mut self, key: &Id, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        let Some(reply) = self.open.get(key) else { return };
        let Content::Own(_) = &reply.text else { return };
        let mut early = self.records.swap_remove(&reply.id).unwrap_or_default();
        let mut items = Vec::new();
        if let Content::Own(text) = &reply.text {
            while let Some(found) = early.finder.next(text, false) {
                let line = found.line.clone();
                items.push((record_item(reply, early.found.len() + items.len(), found), line));
            }
        }
        let id = reply.id.clone();
        for (mut item, line) in items {
            if self.name(&mut item).is_some() {
                item.place = self.next_place(item.parent.as_ref());
                each(self, SessionChange::Record { item: &item, reply: &id, line, is_early: true });
            }
            early.found.push(EarlyRecord { id: item.id, place: item.place });
        }
        self.records.insert(id, early);
    }

    /// Gives out the records of a reply that is complete: agents are asked to answer programs so.
    fn find_records(&mut self, reply: &Item, each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        let early = self.records.swap_remove(&reply.id).map(|early| early.found).unwrap_or_default();
        if !reply.text_holds('{') {
            return self.retract_records(&early, each);
        }
        let text = reply.text();
        let mut finder = RecordFinder::default();
        let mut number = 0;
        while let Some(found) = finder.next(&text, true) {
            let line = found.line.clone();
            let mut item = record_item(reply, number, found);
            let known = early.get(number);
            number += 1;
            match known {
                // What the reply comes to is the record, whatever it was while it grew.
                Some(known) => {
                    item.id.clone_from(&known.id);
                    item.place = known.place;
                    self.seen.change(item.id.hash(), content_of(&item).0);
                }
                None if self.name(&mut item).is_none() => {
                    each(self, SessionChange::Repeated(&item));
                    continue;
                }
                None => item.place = self.next_place(item.parent.as_ref()),
            }
            each(self, SessionChange::Record { item: &item, reply: &reply.id, line, is_early: false });
        }
        self.retract_records(early.get(number..).unwrap_or_default(), each);
        each(self, SessionChange::RecordsEnd(&reply.id));
    }

    /// Takes back records that were found in a reply before it came to another end.
    fn retract_records(&mut self, records: &[EarlyRecord], each: &mut impl FnMut(&Self, SessionChange<'_>)) {
        for record in records {
            each(self, SessionChange::Retracted(record.id.clone()));
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
        let sum =
            |total: &mut u64, old: u64, new: u64| *total = total.saturating_sub(old).saturating_add(new);
        sum(&mut self.usage.input, before.input, usage.input);
        sum(&mut self.usage.output, before.output, usage.output);
        sum(&mut self.usage.cache_read, before.cache_read, usage.cache_read);
        sum(&mut self.usage.cache_write, before.cache_write, usage.cache_write);
    }

    /// Raises what was used to what an outcome tells. It may leave out sub-agents, so that nothing is lowered.
    fn settle_usage(&mut self, outcome: &Id, usage: Usage) {
        if self.usages.insert(outcome.hash(), Usage::default()).is_some() {
            return;
        }
        let raise = |total: &mut u64, settled: &mut u64, more: u64| {
            *total = settled.saturating_add(more).max(*total);
            *settled = *total;
        };
        raise(&mut self.usage.input, &mut self.settled.input, usage.input);
        raise(&mut self.usage.output, &mut self.settled.output, usage.output);
        raise(&mut self.usage.cache_read, &mut self.settled.cache_read, usage.cache_read);
        raise(&mut self.usage.cache_write, &mut self.settled.cache_write, usage.cache_write);
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

fn grow(item: &mut Item, piece: &str) {
    if !matches!(item.text, Content::Own(_)) {
        item.text = Content::Own(item.text().into_owned());
    }
    if let Content::Own(text) = &mut item.text {
        text.push_str(piece);
    }
}

/// Reads what is new of the JSON that the text of an open call is; `id`: what it is opened as.
fn read_input(id: &Id, item: &Item, inputs: &mut Map<Id, PartialJson>) {
    let (Kind::Call, Content::Own(text)) = (item.kind, &item.text) else { return };
    if let Some(input) = inputs.get_mut(id) {
        input.read(text);
        return;
    }
    let mut input = PartialJson::new(MAX_GROWING_FIELD);
    input.read(text);
    inputs.insert(id.clone(), input);
}

/// An open call with what of its input can be read. One that is no JSON has it as text, the end of it if it is long.
fn with_input_so_far(item: &Item, index: Option<&PartialJson>) -> Item {
    let text = if let Content::Own(text) = &item.text { text.as_str() } else { "" };
    let mut so_far = item.copy_without_text();
    so_far.data.retain(|(name, _)| *name != "partial");
    so_far.data.push(("partial", Fact::Bool(true)));
    if let Some(readable) = index.and_then(|index| index.readable(text)) {
        let first = so_far.take_input(readable.record);
        let is_whole = index.is_some_and(PartialJson::is_whole);
        so_far.growing = (!is_whole).then(|| {
            let open = readable.open.map(|node| node + first);
            let cuts = readable.cuts.into_iter().map(|(node, cut)| (node + first, cut)).collect();
            Box::new(GrowingInput { open, cuts })
        });
        return so_far;
    }
    so_far.growing = Some(Box::default());
    if let (true, Ok((nothing, _))) = (text.is_empty(), Record::read("{}")) {
        so_far.take_input(nothing);
        return so_far;
    }
    let start = text.len().saturating_sub(MAX_GROWING_FIELD);
    let start = (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(start);
    so_far.text = Content::Own(match start {
        0 => text.to_owned(),
        _ => [&left_out(start), "\n", &text[start..]].concat(),
    });
    so_far
}

/// A whole item without a text, or without an input, doesn't replace what was streamed of it.
fn keep_streamed(open: &mut Item, whole: &mut Item) {
    let Content::Own(streamed) = &open.text else { return };
    if open.kind != whole.kind || streamed.trim().is_empty() {
        return;
    }
    match whole.kind {
        Kind::Reply | Kind::Thinking if said_by(whole).hash.is_none() => {
            whole.text = std::mem::take(&mut open.text);
            whole.data.retain(|(name, _)| *name != "redacted");
        }
        // The input is that of the whole message, as it would be without the stream. What was streamed stays its text.
        Kind::Call if is_empty(whole.input()) && matches!(whole.text, Content::None) => {
            let mut kept = open.clone();
            settle_input(&mut kept);
            let is_cut = kept.input.is_none();
            if is_cut || !is_empty(kept.input()) {
                whole.text = std::mem::take(&mut open.text);
                whole.data.extend(is_cut.then_some(("partial", Fact::Bool(true))));
            }
        }
        _ => {}
    }
}

/// Whether there is nothing in an input.
fn is_empty(input: Option<Value<'_>>) -> bool {
    input.is_none_or(|input| {
        input.is_null() || input.kind() == ValueKind::Object && input.entries().next().is_none()
    })
}

/// The item that a record of a reply is; `number`: how many are before it.
fn record_item(reply: &Item, number: usize, found: FoundRecord) -> Item {
    let id = Id::below(reply.id.as_str(), &format!("record-{}", number + 1));
    let mut item = Item::new(id, Kind::Record, reply.line);
    item.parent.clone_from(&reply.parent);
    item.session.clone_from(&reply.session);
    item.data.push(("value", Fact::Node(found.record.root().node())));
    if found.is_fenced {
        item.data.push(("fenced", Fact::Bool(true)));
    }
    item.record = Some(Arc::new(found.record));
    item
}

/// How much an open item has grown to.
fn grown(item: &Item) -> usize {
    match &item.text {
        Content::Own(text) => text.len(),
        _ => 0,
    }
}

/// The JSON that a call's input grew to becomes its input, if it is whole.
fn settle_input(item: &mut Item) {
    if item.kind != Kind::Call {
        return;
    }
    let Content::Own(grown) = std::mem::take(&mut item.text) else { return };
    match Record::from_line(grown) {
        Ok(record) => {
            item.take_input(record);
        }
        Err((_, grown)) => {
            item.text = Content::Own(grown);
            item.data.push(("partial", Fact::Bool(true)));
        }
    }
}

/// What tells what an item says from what others say: the hash of its text without the blanks around it; `None` if
/// that is nothing.
type TextHash = Option<u64>;

/// What tells an item from another with its id: kind, input, text. And what it says, but for results.
fn content_of(item: &Item) -> (u64, TextHash) {
    let kind = item.kind as u8;
    match &item.text {
        // Streamed text and whole text are the same text; results never stream.
        Content::Node(node) if item.kind == Kind::Result => {
            let raw = item.record.as_deref().map(|record| record.value(*node).raw());
            (hash(&(kind, raw)), None)
        }
        Content::None if item.kind == Kind::Record => {
            (hash(&(kind, item.record.as_deref().map(Record::text))), None)
        }
        Content::None => (hash(&(kind, item.input().map(Value::raw), &item.tool)), None),
        _ => {
            let Trimmed { hash: said, length } = said_by(item);
            (hash(&(kind, said, length)), said)
        }
    }
}

/// What is in the text of an item.
fn said_by(item: &Item) -> Trimmed {
    let mut text = TrimmedHasher::new();
    // A hasher takes everything.
    let _ = item.write_text(&mut text);
    text.finish()
}

/// The same for a text.
fn trimmed(text: &str) -> Trimmed {
    let mut hasher = TrimmedHasher::new();
    let _ = hasher.write_str(text);
    hasher.finish()
}

/// The session that an item belongs to, shared by all its items.
pub type SessionId = Arc<str>;

#[cfg(test)]
mod tests;
