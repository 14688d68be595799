//! All items so far, and the facts of the run.
//!
//! The session assigns final ids and places to items, lets open ones grow, drops those that never
//! became complete and counts repeated ones. Memory is bounded: of a complete item only two hashes
//! are kept, and a call is remembered until its result has come.

mod calls;
pub mod counted;
mod open_items;
mod records;
mod text_hash;
mod totals;
mod waits;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::bounded::Bounded;
use crate::budget::Budget;
use crate::event::{Event, Usage};
use crate::item::{Action, Fact, FactRef, Id, Item, Kind, Status, ToolKind, Waiting};
use crate::recent::Recent;
use crate::text::Text;

pub use crate::event::Facts;
pub use crate::hash::Map;
pub use open_items::MAX_GROWING_FIELD;
pub use totals::RunTotals;

use calls::OpenCalls;
use open_items::{OpenItem, keep_streamed, settle_input};
use records::EarlyRecords;
use text_hash::{TextHash, content_of, fact_hash, json_hash, trimmed_text};
use totals::RunCounts;
use waits::Waits;

/// How many replies are remembered that an outcome may repeat.
const MAX_REPLIES: usize = 64;
/// How many messages are remembered whose usage may still be corrected.
const MAX_USAGES: usize = 64;
/// How many full generations of ids are kept. Several small tables, by default of 32,768 slots, stay in a processor's cache.
const ID_GENERATIONS: usize = 3;

/// A change in the session, as the result of an event.
#[derive(Clone, Debug)]
pub enum SessionChange<'a> {
    /// An item is complete. Every complete item is reported once.
    Complete(&'a Item),
    /// An item is complete that no output shows.
    Hidden(&'a Item),
    /// An open item was opened or has changed: see [`Session::growing`].
    Grew(Id),
    /// An open item was dropped: it never became complete.
    Dropped(Id),
    /// An item is taken back, if it was shown.
    Retracted(Id),
    /// An item came again, unchanged.
    Repeated(&'a Item),
    /// A line of a reply is a record, which is an item, too. It is reported early, as soon as its line is complete while the reply grows,
    /// and again when the reply is complete.
    Record {
        /// The record.
        item: &'a Item,
        /// Its reply.
        reply: &'a Id,
        /// The range of its line in the reply's text, including its line feed.
        line: Range<usize>,
        /// Whether the reply still grows.
        is_early: bool,
    },
    /// A call begins or ends to wait for a person: see [`Session::waiting`].
    Waits(&'a Id),
    /// All records of a complete reply were reported. Comes for each reply that may contain any.
    RecordsEnd(&'a Id),
}

/// Receives each change, with the session as of that change.
type TakeChange<'a> = &'a mut dyn FnMut(&Session, SessionChange<'_>);

/// The state of the main thread, or of the inside of a call.
#[derive(Clone, Copy, Debug, Default)]
struct CallScope {
    /// How many places were assigned.
    places: u32,
    /// How many sub-agents its items are inside of.
    depth: u16,
    /// The hash of its last reply, or of an error or output that was shown in place of one.
    last_reply: TextHash,
}

/// All items so far, and the facts of the run.
#[derive(Debug, Default)]
pub struct Session {
    budget: Budget,
    facts: Facts,
    usage: Usage,
    /// The usage at the last outcome.
    settled: Usage,
    counts: RunCounts,
    /// The usage of each message, by the hash of its id, oldest first.
    usages: Map<u64, Usage>,
    /// The hash of the id of the message whose usage was counted last.
    last_counted: Option<u64>,
    /// Items that may still grow, the oldest first, by the ids with which they were opened.
    open: Map<Id, OpenItem>,
    /// The records so far in open replies that contain braces, by the reply's id.
    records: Map<Id, EarlyRecords>,
    /// Complete items that were opened again. They are counted as repeated; their complete repetition, which may follow, isn't.
    again: Bounded<Id, ()>,
    calls: OpenCalls,
    waits: Waits,
    /// The hashes of the ids of complete items, each with the hash of the item's content.
    seen: Recent<u64, ID_GENERATIONS>,
    /// The scope outside of all calls.
    main: CallScope,
    /// The scopes of calls.
    inside: Bounded<Id, CallScope>,
    /// The first place inside of a call that isn't remembered: if it was forgotten, the places below this may be taken.
    first_place: u32,
    /// The hashes of the main thread's replies that no outcome has repeated yet. Outcomes of several turns may come
    /// together at the end, if background jobs continued.
    unrepeated: VecDeque<u64>,
    /// The session, model, folder and mode at the last `session` notice.
    announced: Option<[Option<Text>; 4]>,
    /// Whether the user has interrupted the run, and no outcome, prompt, reply or call has come since.
    was_interrupted: bool,
}

impl Session {
    /// An empty session with these memory limits.
    pub fn new(budget: Budget) -> Self {
        let budget = budget.at_least();
        let (calls, seen) = (OpenCalls::new(budget), Recent::of(budget.ids));
        Self { budget, calls, seen, ..Self::default() }
    }

    /// The facts of the run so far.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Tokens used so far, each message counted once.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The hash of the id of the message whose tokens were counted last.
    pub fn last_counted(&self) -> Option<u64> {
        self.last_counted
    }

    /// Whether the user has interrupted the run, and no outcome, prompt, reply or call has come since.
    pub fn was_interrupted(&self) -> bool {
        self.was_interrupted
    }

    /// The totals of the run so far, over all of its turns.
    pub fn totals(&self) -> &RunTotals {
        &self.counts.totals
    }

    /// A call whose result hasn't come yet or is being formatted, or that has started a sub-agent, while it is remembered.
    pub fn call(&self, id: &Id) -> Option<&Item> {
        self.calls.get(id)
    }

    /// The calls without a result, oldest first once the input has ended. If there are very many, only the last are remembered.
    pub fn unanswered_calls(&self) -> impl Iterator<Item = &Item> {
        self.calls.unanswered()
    }

    /// An item that may still grow.
    pub fn open_item(&self, id: &Id) -> Option<&Item> {
        self.open.get(id).map(|open| &*open.item)
    }

    /// An item that may still grow, as formatters see it: a call whose input is being written has the part of the input that can be
    /// parsed, and the fact `partial`. Fields longer than [`MAX_GROWING_FIELD`] are visibly cut.
    pub fn growing(&self, id: &Id) -> Option<Cow<'_, Item>> {
        self.open.get(id).map(OpenItem::growing)
    }

    /// The items that may still grow, as formatters see them, the oldest first.
    pub fn growing_items(&self) -> impl Iterator<Item = Cow<'_, Item>> {
        self.open.values().map(OpenItem::growing)
    }

    /// The calls of running sub-agents, in no order.
    pub fn running_agents(&self) -> impl Iterator<Item = &Item> {
        self.unanswered_calls().filter(|call| call.action() == Some(Action::Delegate))
    }

    /// What a call needs from a person, while it waits.
    pub fn waiting(&self, call: &Id) -> Option<Waiting> {
        self.waits.get(call)
    }

    /// The calls that wait for a person, the longest first, each with what it needs.
    pub fn waiting_calls(&self) -> impl Iterator<Item = (&Id, Waiting)> {
        self.waits.all()
    }

    /// How many sub-agents an item of `parent` is inside of.
    pub fn depth(&self, parent: Option<&Id>) -> u16 {
        match parent {
            None => 0,
            Some(id) => self.inside.get(id).map_or(1, |inside| inside.depth),
        }
    }

    /// How many calls have no result yet.
    pub fn open_calls(&self) -> u64 {
        self.calls.count()
    }

    /// Forgets the calls that have no result yet, so that [`Self::end`] doesn't report them.
    pub fn forget_calls(&mut self) {
        self.calls = OpenCalls::default();
    }

    /// Applies an event, and passes each change to `each`.
    pub fn apply(&mut self, event: Event, mut each: impl FnMut(&Self, SessionChange<'_>)) {
        match event {
            Event::Facts(news) => {
                if self.facts.update(*news) {
                    // The outcomes of another agent's session don't include the tokens so far.
                    self.settled = self.usage;
                }
            }
            Event::Put(item) => self.put(item, false, &mut each),
            Event::Hidden(item) => self.put(item, true, &mut each),
            Event::Open(item) => self.begin(item, &mut each),
            Event::Append { id, text } => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.append(&text);
                    let may_have_records = open.item.kind == Kind::Reply
                        && (text.contains(['{', '}']) || self.records.contains_key(&open.item.id));
                    each(self, SessionChange::Grew(id.clone()));
                    if may_have_records {
                        self.find_early_records(&id, &mut each);
                    }
                }
                self.bound(&mut each);
            }
            Event::Amend(item) => self.amend(item, &mut each),
            Event::Close { id, status } => {
                if let Some(open) = self.open.shift_remove(&id) {
                    self.close(open.item, status, &mut each);
                }
            }
            Event::Drop(id) => {
                if let Some(open) = self.open.shift_remove(&id) {
                    let early = self.records.swap_remove(&open.item.id).unwrap_or_default();
                    for (id, _) in early.found {
                        each(self, SessionChange::Retracted(id));
                    }
                    each(self, SessionChange::Dropped(open.item.id));
                }
            }
            Event::Retract { ids, notice } => {
                for id in ids {
                    self.waits.end(&id);
                    each(self, SessionChange::Retracted(id));
                }
                self.put(notice, false, &mut each);
            }
            Event::Usage { message, usage, .. } => self.count_usage(&message, usage),
            Event::Cost(dollars) => self.counts.add_cost(dollars),
            Event::Totals { outcome, usage } => self.settle_usage(&outcome, usage),
            Event::Bookkeeping(_) | Event::Unknown(_) => {}
        }
    }

    /// Ends the input: completes the open items, and adds notices about calls without a result and about the totals of several turns.
    pub fn end(&mut self, line: u64, mut each: impl FnMut(&Self, SessionChange<'_>)) {
        for call in self.waits.take() {
            each(self, SessionChange::Waits(&call));
        }
        while let Some((_, open)) = self.open.shift_remove_index(0) {
            self.close(open.item, Status::Cancelled, &mut each);
        }
        if self.open_calls() > 0 {
            let notice = self.calls.notice(line);
            self.put(Box::new(notice), false, &mut each);
        }
        if let Some(notice) = self.counts.notice(line, self.usage) {
            self.put(Box::new(notice), false, &mut each);
        }
    }

    fn put(&mut self, mut item: Box<Item>, is_hidden: bool, each: TakeChange<'_>) {
        let is_known = |(call, begins): &(Id, bool)| self.waits.get(call).is_some() == *begins;
        if let Some((_, begins)) = item.wait().filter(is_known) {
            // A request may come again. The end of a wait is often reported several times: by an answer, and by what the call does.
            if begins {
                each(self, SessionChange::Repeated(&item));
            }
            return;
        }
        self.end_waits(&item, each);
        let mut open = self.open.shift_remove(&item.id);
        if let Some(open) = &mut open {
            keep_streamed(&mut open.item, &mut item);
        }
        let began_again = self.again.shift_remove(&item.id).is_some();
        let Some(text_hash) = self.assign_id(&mut item) else {
            if !began_again {
                each(self, SessionChange::Repeated(&item));
            }
            return;
        };
        item.line = open.as_ref().map_or(item.line, |open| open.item.line);
        item.place = match open.filter(|open| open.item.parent == item.parent) {
            Some(open) => open.item.place,
            None => self.next_place(item.parent.as_ref()),
        };
        if is_hidden {
            self.counts.count(&item);
            return each(self, SessionChange::Hidden(&item));
        }
        self.finish(item, text_hash, each);
    }

    /// Ends the waits that an item shows to be over, and adds a notice of each.
    fn end_waits(&mut self, item: &Item, each: TakeChange<'_>) {
        if self.waits.is_empty() {
            return;
        }
        for call in self.waits.ended_by(item) {
            let notice = self.waits.end_notice(&call, item);
            self.put(Box::new(notice), false, each);
        }
    }

    /// Notes that a call begins or ends to wait, and returns it, if a notice reports that.
    fn note_wait(&mut self, notice: &Item) -> Option<Id> {
        let (call, begins) = notice.wait()?;
        if begins {
            let parent = self.calls.get(&call).map_or(&notice.parent, |call| &call.parent);
            self.waits.begin(call.clone(), notice, parent.clone());
        } else {
            self.waits.end(&call);
        }
        Some(call)
    }

    fn begin(&mut self, mut item: Box<Item>, each: TakeChange<'_>) {
        if self.open.contains_key(&item.id) {
            return;
        }
        if self.seen.get(item.id.hash()).is_some() {
            // It is complete already: this is a repetition, and so is the complete item that may follow.
            if !self.again.contains_key(&item.id) {
                self.again.add(item.id.clone(), (), self.budget.open_items);
                each(self, SessionChange::Repeated(&item));
            }
            return;
        }
        if self.open.len() >= self.budget.open_items
            && let Some((_, oldest)) = self.open.shift_remove_index(0)
        {
            self.close(oldest.item, Status::Cancelled, each);
        }
        // The beginning of its result shows that a call runs.
        self.end_waits(&item, each);
        item.status = Status::Open;
        item.place = self.next_place(item.parent.as_ref());
        let id = item.id.clone();
        self.open.insert(id.clone(), OpenItem::new(item));
        each(self, SessionChange::Grew(id));
        self.bound(each);
    }

    fn amend(&mut self, item: Box<Item>, each: TakeChange<'_>) {
        let Some(open) = self.open.get_mut(&item.id) else { return self.begin(item, each) };
        let id = open.amend(item);
        each(self, SessionChange::Grew(id));
        self.bound(each);
    }

    /// Completes the parts that the longest open items have grown to, until all open items are within the budget. The rest of
    /// each becomes a separate item.
    fn bound(&mut self, each: TakeChange<'_>) {
        while self.open.values().map(OpenItem::size).sum::<usize>() > self.budget.open_bytes {
            let longest = self.open.iter_mut().max_by_key(|(_, open)| open.size());
            let Some((id, part)) = longest.map(|(id, open)| (id.clone(), open.take_text())) else { return };
            let place = self.next_place(part.parent.as_ref());
            // The part stays shown, so the rest needs another id.
            let name = self.next_id(&id, &part.id);
            if let Some(rest) = self.open.get_mut(&id) {
                (rest.item.id, rest.item.place) = (name, place);
            }
            self.close(part, Status::Cancelled, each);
        }
    }

    /// Completes an item that was open.
    fn close(&mut self, mut item: Box<Item>, status: Status, each: TakeChange<'_>) {
        item.status = status;
        settle_input(&mut item);
        match self.assign_id(&mut item) {
            Some(text_hash) => self.finish(item, text_hash, each),
            None => each(self, SessionChange::Repeated(&item)),
        }
    }

    /// The id of the rest of an item, after the part with the id `last`; `first` is the id of the first part.
    fn next_id(&self, first: &Id, last: &Id) -> Id {
        let number = last.as_str().strip_prefix(first.as_str()).and_then(|rest| rest.strip_prefix('~'));
        let number = number.and_then(|number| number.parse().ok());
        let is_free = |id: &Id| self.seen.get(id.hash()).is_none();
        let ids = (number.unwrap_or(1_u64) + 1..).map(|count| Id::from(format!("{first}~{count}")));
        ids.take(64).find(is_free).unwrap_or_else(|| last.clone())
    }

    /// Makes the item's id unique. Returns the hash of the item's text, or `None` if exactly this item was seen before.
    fn assign_id(&mut self, item: &mut Item) -> Option<TextHash> {
        let (content, text_hash) = content_of(item);
        let mut other = None;
        // Hostile streams give all items the same id: after some tries the line number makes it unique.
        for count in 2..65 {
            match self.seen.add(other.as_ref().unwrap_or(&item.id).hash(), || content) {
                None => {
                    if let Some(other) = other {
                        item.id = other;
                    }
                    return Some(text_hash);
                }
                Some(known) if *known == content => return None,
                Some(_) => other = Some(Id::from(format!("{}~{count}", item.id))),
            }
        }
        item.id = format!("{}~line-{}-{}", item.id, item.line, self.next_place(None)).into();
        Some(text_hash)
    }

    /// The scope of `parent`, added if missing. If there are too many scopes, the older half is forgotten.
    fn scope(&mut self, parent: Option<&Id>) -> &mut CallScope {
        let Some(parent) = parent else { return &mut self.main };
        if let Some(known) = self.inside.get_index_of(parent) {
            return &mut self.inside[known];
        }
        let new = CallScope { depth: 1, places: self.first_place, ..CallScope::default() };
        let forgotten = self.inside.add(parent.clone(), new, self.budget.parents);
        self.first_place =
            forgotten.iter().fold(self.first_place, |first, (_, scope)| first.max(scope.places));
        let scope = &mut self.inside[parent];
        scope.places = self.first_place;
        scope
    }

    /// Notes the last reply inside of `parent`.
    fn note_reply(&mut self, parent: Option<&Id>, text_hash: TextHash) {
        self.scope(parent).last_reply = text_hash;
        if let (None, Some(text_hash)) = (parent, text_hash) {
            if self.unrepeated.len() == MAX_REPLIES {
                self.unrepeated.pop_front();
            }
            self.unrepeated.push_back(text_hash);
        }
    }

    /// Whether a reply of the main thread had this text. It is forgotten, unless it was the last: it is repeated once.
    fn take_reply(&mut self, text_hash: TextHash) -> bool {
        let known = self.unrepeated.iter().position(|reply| Some(*reply) == text_hash);
        let known = known.and_then(|known| self.unrepeated.remove(known));
        known.is_some() || self.was_last_reply(None, text_hash)
    }

    /// Whether the last reply inside of `parent` had this text.
    fn was_last_reply(&self, parent: Option<&Id>, text_hash: TextHash) -> bool {
        let inside = match parent {
            None => Some(&self.main),
            Some(id) => self.inside.get(id),
        };
        text_hash.is_some() && inside.and_then(|inside| inside.last_reply) == text_hash
    }

    fn next_place(&mut self, parent: Option<&Id>) -> u32 {
        let scope = self.scope(parent);
        let place = scope.places;
        scope.places = scope.places.saturating_add(1);
        place
    }

    fn finish(&mut self, mut item: Box<Item>, text_hash: TextHash, each: TakeChange<'_>) {
        if item.kind == Kind::Result {
            self.note_duration(&mut item);
        }
        self.counts.count(&item);
        let waits = self.note_wait(&item);
        let parent = item.parent.as_ref();
        match item.kind {
            Kind::Notice if waits.is_some() => {}
            Kind::Call => {
                self.was_interrupted = false;
                if item.tool_kind == Some(ToolKind::Answer) {
                    // An outcome repeats it, as text or in a fact.
                    self.note_reply(parent, item.input().and_then(|input| json_hash(input.raw())));
                }
                if item.action() == Some(Action::Delegate) {
                    self.scope(Some(&item.id)).depth = self.depth(parent).saturating_add(1);
                }
            }
            Kind::Reply => {
                self.was_interrupted = false;
                self.note_reply(parent, text_hash);
            }
            Kind::Notice if item.is_event("origin-end") => {
                // All that has come was another session.
                (self.counts, self.was_interrupted) = (RunCounts::default(), false);
            }
            Kind::Notice if item.error => self.note_reply(parent, text_hash),
            Kind::Notice if is_shown_output(&item) => {
                self.note_reply(parent, fact_hash(&item, "words").unwrap_or(text_hash));
            }
            // A job has ended: the answer of its sub-agent may have been shown already.
            Kind::Notice if item.fact("call").is_some() => {
                let call = item.fact("call").and_then(FactRef::str).map(|call| Id::from(&*call));
                let is_repeated = call.is_some_and(|call| self.was_last_reply(Some(&call), text_hash));
                mark_repeated(&mut item, is_repeated);
            }
            Kind::Notice if item.is_event("interrupt") => self.was_interrupted = true,
            Kind::Outcome => {
                if std::mem::take(&mut self.was_interrupted) && item.error {
                    item.data.push(("interrupted", Fact::Bool(true)));
                }
                let structured = item.fact("structured").and_then(FactRef::value);
                let structured = structured.and_then(|value| json_hash(value.raw()));
                if self.take_reply(structured) {
                    item.data.push(("structured_repeated", Fact::Bool(true)));
                }
                let is_structured = structured.is_some() && json_hash(&item.text()) == structured;
                let is_repeated = self.take_reply(text_hash) || is_structured;
                mark_repeated(&mut item, is_repeated);
                self.counts.settle(&mut item);
            }
            Kind::Prompt if parent.is_none() => self.was_interrupted = false,
            Kind::Result if item.fact("stopped").and_then(FactRef::str).as_deref() == Some("interrupted") => {
                self.was_interrupted = true;
            }
            Kind::Result if item.action() == Some(Action::Delegate) => {
                let answer = fact_hash(&item, "answer").unwrap_or_else(|| trimmed_text(&item).hash);
                let is_repeated = self.was_last_reply(item.call.as_ref(), answer);
                mark_repeated(&mut item, is_repeated);
            }
            Kind::Notice if item.is_event("session") => {
                let Facts { session, model, cwd, mode, .. } = &self.facts;
                let now = [session, model, cwd, mode].map(Clone::clone);
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
        if let Some(call) = waits {
            each(self, SessionChange::Waits(&call));
        }
        match (item.kind, &item.call) {
            (Kind::Reply, _) => self.find_records(&item, each),
            (Kind::Call, _) if item.fact("no_result").is_none() => self.calls.open(item),
            (Kind::Result, Some(call)) => self.calls.answer(call),
            _ => {}
        }
    }

    /// Notes on a result how long after its call it came, if both have a time.
    fn note_duration(&self, result: &mut Item) {
        let call = result.call.as_ref().filter(|_| result.at.is_some()).and_then(|id| self.calls.get(id));
        let Some((at, record)) = call.and_then(|call| call.at.zip(call.record.as_ref())) else { return };
        if result.fact("took_ms").is_none() {
            result.data.push(("took_ms", Fact::Since(record.clone(), at)));
        }
    }

    /// Counts the usage of a message, or corrects it.
    fn count_usage(&mut self, message: &Id, usage: Usage) {
        self.last_counted = Some(message.hash());
        let before = self.usages.insert(message.hash(), usage).unwrap_or_default();
        if self.usages.len() > MAX_USAGES * 2 {
            self.usages.drain(..MAX_USAGES);
        }
        self.usage = self.usage.combined(before, u64::saturating_sub).combined(usage, u64::saturating_add);
    }

    /// Raises the usage to that of an outcome. An outcome may leave out sub-agents, so the usage is never lowered.
    fn settle_usage(&mut self, outcome: &Id, usage: Usage) {
        if self.usages.insert(outcome.hash(), Usage::default()).is_some() {
            return;
        }
        self.usage = self.settled.combined(usage, u64::saturating_add).combined(self.usage, u64::max);
        self.settled = self.usage;
    }
}

/// Whether the notice shows the output of a command of the agent's program, which an outcome may repeat.
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
