//! All items so far, and the facts of the run.
//!
//! The session gives items their final ids and places, lets open ones grow, drops what never
//! happened and counts what is repeated. Memory is bounded: a finished item leaves nothing
//! behind but two hashes, a call is remembered until its result has come.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::IndexMap;

use crate::event::{Event, Usage};
use crate::item::{Action, Content, Fact, Id, Item, Kind, Status};
use crate::json::{Record, Value};
use crate::text::Text;

/// Finished ids that are remembered, to tell a repeat from something new.
const MAX_IDS: usize = 65_536;
/// Calls that are remembered while their results are awaited.
const MAX_CALLS: usize = 4_096;
/// Bytes of records that the remembered calls may hold together.
const MAX_CALL_BYTES: usize = 4 << 20;
/// Bytes that an open item may grow to.
const MAX_OPEN_BYTES: usize = 64 << 20;
/// Items that may grow at the same time.
const MAX_OPEN: usize = 1_024;
/// Calls inside which items were seen: their places and depths are remembered.
const MAX_PARENTS: usize = 4_096;
/// Messages whose usage may still be corrected.
const MAX_USAGES: usize = 64;
/// Open calls that are listed at the end.
const LISTED_CALLS: usize = 20;

/// What is known of the run as a whole. Cleaned, ready to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The agent's product, as a dialect names it: `claude`.
    pub agent: Option<Text>,
    /// The agent's version.
    pub version: Option<Text>,
    /// The model that answers.
    pub model: Option<Text>,
    /// The folder that the session works in.
    pub cwd: Option<Text>,
    /// The session's id.
    pub session: Option<Text>,
    /// The permission mode.
    pub mode: Option<Text>,
    /// The last plan file that was written.
    pub plan_file: Option<Text>,
    /// The last skill that was loaded: its folder.
    pub skill: Option<Text>,
}

impl Facts {
    /// A path, relative if it lies in the session's folder.
    pub fn relative(&self, path: Text) -> Text {
        let Some(cwd) = &self.cwd else { return path };
        let Some(rest) = path.strip_prefix(cwd.trim_end_matches('/')) else { return path };
        match rest.strip_prefix('/').unwrap_or(rest) {
            "" => Text::own("."),
            inside if inside.len() < rest.len() => path.slice(path.len() - inside.len(), path.len()),
            _ => path,
        }
    }

    fn update(&mut self, news: Facts) {
        let pairs = [
            (&mut self.agent, news.agent),
            (&mut self.version, news.version),
            (&mut self.model, news.model),
            (&mut self.cwd, news.cwd),
            (&mut self.session, news.session),
            (&mut self.mode, news.mode),
            (&mut self.plan_file, news.plan_file),
            (&mut self.skill, news.skill),
        ];
        for (known, new) in pairs {
            if new.is_some() {
                *known = new;
            }
        }
    }
}

/// What an event did to the session.
#[derive(Clone, Debug)]
pub enum Change {
    /// An item is whole. It comes once.
    Complete(Box<Item>),
    /// An item is open and has changed: see [`Session::open_item`].
    Grew(Id),
    /// An item is no more.
    Dropped(Id),
    /// An item came again as it was.
    Repeated,
}

/// A call that is remembered until its result has come.
#[derive(Debug)]
struct OpenCall {
    item: Item,
    bytes: usize,
}

/// What is remembered of the inside of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    /// Items that were given a place.
    places: u32,
    /// How many sub-agents its items are inside of.
    depth: u16,
}

/// All items so far, and the facts of the run.
#[derive(Debug, Default)]
pub struct Session {
    facts: Facts,
    usage: Usage,
    usages: VecDeque<(u64, Usage)>,
    open: IndexMap<Id, Item>,
    calls: IndexMap<Id, OpenCall>,
    call_bytes: usize,
    calls_forgotten: u64,
    /// Id hash → content hash of finished items, oldest first.
    ids: IndexMap<u64, u64, FixedState>,
    inside: IndexMap<Option<Id>, Inside>,
    last_reply: Option<u64>,
    /// Shown at the last `session` notice: session, model, folder, mode.
    announced: Option<[Option<Text>; 4]>,
}

impl Session {
    /// What is known of the run.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Tokens used so far, each message counted once.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// A call whose result is awaited (or just being formatted), while it is remembered.
    pub fn call(&self, id: &Id) -> Option<&Item> {
        self.calls.get(id).map(|call| &call.item)
    }

    /// An item that may still grow.
    pub fn open_item(&self, id: &Id) -> Option<&Item> {
        self.open.get(id)
    }

    /// How many sub-agents an item of `parent` is inside of.
    pub fn depth(&self, parent: Option<&Id>) -> u16 {
        match parent {
            None => 0,
            Some(id) => self.inside.get(&Some(id.clone())).map_or(1, |inside| inside.depth.max(1)),
        }
    }

    /// How many calls still await their result.
    pub fn open_calls(&self) -> u64 {
        self.calls.len() as u64 + self.calls_forgotten
    }

    /// Applies an event and hands on what changed.
    pub fn apply(&mut self, event: Event, mut each: impl FnMut(&mut Self, Change)) {
        match event {
            Event::Facts(news) => self.facts.update(*news),
            Event::Put(item) => self.put(item, &mut each),
            Event::Open(item) => self.begin(*item, &mut each),
            Event::Append { id, text } => {
                if let Some(item) = self.open.get_mut(&id) {
                    grow(item, &text);
                    each(self, Change::Grew(id));
                }
            }
            Event::Close { id, status } => {
                if let Some(mut item) = self.open.shift_remove(&id) {
                    item.status = status;
                    settle_input(&mut item);
                    self.remember(hash(item.id.as_str()), content_hash(&item));
                    self.finish(Box::new(item), &mut each);
                }
            }
            Event::Drop(id) => {
                if self.open.shift_remove(&id).is_some() {
                    each(self, Change::Dropped(id));
                }
            }
            Event::Retract { ids, notice } => {
                for id in ids {
                    each(self, Change::Dropped(id));
                }
                self.put(notice, &mut each);
            }
            Event::Usage { message, usage } => self.count(&message, usage),
            Event::Bookkeeping(_) | Event::Unknown(_) => {}
        }
    }

    /// Ends the input: what is still open is whole now, and calls without a result are told.
    pub fn end(&mut self, line: u64, mut each: impl FnMut(&mut Self, Change)) {
        while let Some((id, _)) = self.open.first() {
            let (id, status) = (id.clone(), Status::Cancelled);
            self.apply(Event::Close { id, status }, &mut each);
        }
        if self.open_calls() > 0 {
            let notice = self.open_calls_notice(line);
            each(self, Change::Complete(Box::new(notice)));
        }
    }

    fn put(&mut self, mut item: Box<Item>, each: &mut impl FnMut(&mut Self, Change)) {
        if let Some(open) = self.open.shift_remove(&item.id) {
            item.place = open.place;
            item.line = open.line;
            self.remember(hash(item.id.as_str()), content_hash(&item));
            return self.finish(item, each);
        }
        if !self.name(&mut item) {
            return each(self, Change::Repeated);
        }
        item.place = self.next_place(item.parent.as_ref());
        self.finish(item, each);
    }

    fn begin(&mut self, mut item: Item, each: &mut impl FnMut(&mut Self, Change)) {
        if self.open.contains_key(&item.id) {
            return;
        }
        if self.ids.contains_key(&hash(item.id.as_str())) {
            // It was seen whole already: what streams now is the same again.
            return each(self, Change::Repeated);
        }
        if self.open.len() >= MAX_OPEN {
            if let Some((_, mut oldest)) = self.open.shift_remove_index(0) {
                oldest.status = Status::Cancelled;
                settle_input(&mut oldest);
                self.finish(Box::new(oldest), each);
            }
        }
        item.status = Status::Open;
        item.place = self.next_place(item.parent.as_ref());
        let id = item.id.clone();
        self.open.insert(id.clone(), item);
        each(self, Change::Grew(id));
    }

    /// Gives the item an id that no other has. False: it is the same as the one that has it.
    fn name(&mut self, item: &mut Item) -> bool {
        let content = content_hash(item);
        let first = hash(item.id.as_str());
        match self.ids.get(&first) {
            None => {
                self.remember(first, content);
                return true;
            }
            Some(known) if *known == content => return false,
            Some(_) => {}
        }
        // Hostile streams give one id to everything: after some tries the line number tells them apart.
        for count in 2..64 {
            let id = format!("{}~{count}", item.id);
            match self.ids.get(&hash(id.as_str())) {
                None => {
                    self.remember(hash(id.as_str()), content);
                    item.id = id.into();
                    return true;
                }
                Some(known) if *known == content => return false,
                Some(_) => {}
            }
        }
        item.id = format!("{}~line-{}-{}", item.id, item.line, self.next_place(None)).into();
        true
    }

    fn remember(&mut self, id: u64, content: u64) {
        if self.ids.len() >= MAX_IDS * 2 {
            // Half at a time, since taking out the oldest alone moves all others.
            self.ids.drain(..MAX_IDS);
        }
        self.ids.insert(id, content);
    }

    fn next_place(&mut self, parent: Option<&Id>) -> u32 {
        let inside = self.inside.entry(parent.cloned()).or_insert(Inside { places: 0, depth: 1 });
        let place = inside.places;
        inside.places = inside.places.saturating_add(1);
        place
    }

    fn finish(&mut self, mut item: Box<Item>, each: &mut impl FnMut(&mut Self, Change)) {
        match item.kind {
            Kind::Call => self.open_call(&item),
            Kind::Reply if item.parent.is_none() => self.last_reply = Some(hash(item.text().trim())),
            Kind::Outcome => {
                let text = item.text();
                let repeated = !text.is_empty() && self.last_reply == Some(hash(text.trim()));
                drop(text);
                if repeated {
                    item.data.push(("repeated", Fact::Bool(true)));
                }
            }
            Kind::Notice
                if item.fact("event").and_then(|event| event.str()).as_deref() == Some("session") =>
            {
                let now = [&self.facts.session, &self.facts.model, &self.facts.cwd, &self.facts.mode]
                    .map(Clone::clone);
                if self.announced.as_ref() == Some(&now) {
                    item.data.push(("quiet", Fact::Bool(true)));
                }
                self.announced = Some(now);
            }
            _ => {}
        }
        let answered = item.call.clone().filter(|_| item.kind == Kind::Result);
        each(self, Change::Complete(item));
        if let Some(call) = answered {
            if let Some(call) = self.calls.shift_remove(&call) {
                self.call_bytes -= call.bytes;
            }
        }
    }

    fn open_call(&mut self, item: &Item) {
        if item.action == Some(Action::Delegate) {
            let depth = self.depth(item.parent.as_ref()).saturating_add(1);
            if self.inside.len() >= MAX_PARENTS {
                // The main thread stays: it is the first.
                self.inside.drain(1..MAX_PARENTS / 2);
            }
            self.inside.entry(Some(item.id.clone())).or_default().depth = depth;
        }
        let bytes = item.record.as_ref().map_or(0, |record| record.text().len());
        let mut kept = item.clone();
        let bytes = if bytes > MAX_CALL_BYTES / 4 {
            // Its result will be told without its input.
            kept.input = None;
            kept.record = None;
            kept.at = None;
            kept.text = Content::None;
            kept.data.retain(|(_, fact)| !matches!(fact, Fact::Node(_)));
            0
        } else {
            bytes
        };
        self.call_bytes += bytes;
        if let Some(before) = self.calls.insert(item.id.clone(), OpenCall { item: kept, bytes }) {
            self.call_bytes -= before.bytes;
        }
        if self.calls.len() > MAX_CALLS || self.call_bytes > MAX_CALL_BYTES {
            self.forget_calls();
        }
    }

    /// Forgets the older half of the calls that await a result, so that forgetting stays cheap.
    fn forget_calls(&mut self) {
        let half = self.calls.len().div_ceil(2);
        for (_, call) in self.calls.drain(..half) {
            self.call_bytes -= call.bytes;
            self.calls_forgotten += 1;
        }
    }

    fn open_calls_notice(&self, line: u64) -> Item {
        let mut notice = Item::new("open-calls", Kind::Notice, line);
        let named: Vec<String> = self
            .calls
            .values()
            .take(LISTED_CALLS)
            .map(|call| format!("{} {}", call.item.tool.as_deref().unwrap_or("?"), call.item.id))
            .collect();
        let count = self.open_calls();
        let rest = count - named.len() as u64;
        let mut text = named.join(", ");
        if rest > 0 {
            text.push_str(&format!(" and {rest} more"));
        }
        notice.text = Content::Own(text);
        notice.data = vec![
            ("event", Fact::Text("open-calls".into())),
            ("level", Fact::Text("warning".into())),
            (
                "calls",
                Fact::List(
                    self.calls.keys().take(LISTED_CALLS).map(|id| Fact::Text(id.to_string())).collect(),
                ),
            ),
            ("count", Fact::Int(count.cast_signed())),
        ];
        notice
    }

    fn count(&mut self, message: &str, usage: Usage) {
        let message = hash(message);
        let before = match self.usages.iter_mut().find(|(id, _)| *id == message) {
            Some((_, known)) => std::mem::replace(known, usage),
            None => {
                if self.usages.len() >= MAX_USAGES {
                    self.usages.pop_front();
                }
                self.usages.push_back((message, usage));
                Usage::default()
            }
        };
        let sum =
            |total: &mut u64, old: u64, new: u64| *total = total.saturating_sub(old).saturating_add(new);
        sum(&mut self.usage.input, before.input, usage.input);
        sum(&mut self.usage.output, before.output, usage.output);
        sum(&mut self.usage.cache_read, before.cache_read, usage.cache_read);
        sum(&mut self.usage.cache_write, before.cache_write, usage.cache_write);
    }
}

#[cfg(test)]
impl Session {
    /// A session in which these calls await their results.
    pub(crate) fn awaiting(facts: Facts, calls: impl IntoIterator<Item = Item>) -> Self {
        let mut session = Self { facts, ..Self::default() };
        for call in calls {
            session.open_call(&call);
        }
        session
    }
}

fn grow(item: &mut Item, piece: &str) {
    if let Content::None = item.text {
        item.text = Content::Own(String::new());
    }
    if let Content::Own(text) = &mut item.text {
        if text.len() + piece.len() <= MAX_OPEN_BYTES {
            text.push_str(piece);
        }
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
            item.record = Some(Arc::new(record));
            item.input = Some(0);
        }
        Err((_, grown)) => {
            item.text = Content::Own(grown);
            item.data.push(("partial", Fact::Bool(true)));
        }
    }
}

/// A hash that is the same in every run and on every machine of one kind.
pub(crate) fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    FixedState::with_seed(0x5f37_59df).hash_one(value)
}

/// What tells an item from another with its id: kind, input, text.
fn content_hash(item: &Item) -> u64 {
    let kind = item.kind as u8;
    match &item.text {
        // Streamed text and whole text are the same text; results never stream.
        Content::Node(node) if item.kind == Kind::Result => {
            let raw = item.record.as_deref().map(|record| record.value(*node).raw());
            hash(&(kind, raw))
        }
        Content::None => hash(&(kind, item.input().map(Value::raw), &item.tool)),
        _ => hash(&(kind, item.text())),
    }
}

/// The session that an item belongs to, shared by all its items.
pub(crate) type SessionId = Arc<str>;
