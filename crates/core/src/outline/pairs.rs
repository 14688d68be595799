//! Puts results under their calls.
//!
//! The entries of each parent wait in a queue of their own, in the order of completion. A queue gives out its front until
//! that is a call whose result may still come. What a sub-agent does waits for the call that started it, never the other way
//! round: a delegated call isn't waited for, and its result closes its nest. Nor is any other call that turns out to have
//! something inside of it.
//!
//! Where agents are gathered it is: all that is inside of a call waits with it until its result is there, so that it comes in one
//! piece, whatever others do meanwhile. One that was answered before anything was inside of it may work on in the background, and
//! is waited for until the run ends. What is inside of a call that is given out already waits for what the main thread does
//! next, so that several don't take turns. When the window is full, the rest comes as it comes.

use std::collections::VecDeque;

use crate::entry::{Entry, Line, text_size};
use crate::item::{Action, Id, Kind};
use crate::session::Map;

/// Entries of one parent that may wait.
const MAX_ENTRIES: usize = 256;
/// Entries of one parent that may wait where agents are gathered.
const MAX_GATHERED: usize = 2048;
/// Bytes of their text.
const MAX_BYTES: usize = 1 << 20;
/// Bytes of text that may wait in all queues together.
const MAX_ALL_BYTES: usize = 4 << 20;
/// Queues, and how far one entry may give out the next.
const MAX_QUEUES: usize = 64;

/// An entry in the order of the document.
#[derive(Clone, Debug)]
pub(super) struct Paired {
    pub(super) entry: Box<Entry>,
    /// Its result, if that came in time.
    pub(super) result: Option<Box<Entry>>,
    /// On a result that waited apart from its call: the call's title. When it is given out the call may be forgotten.
    pub(super) title: Option<Line>,
}

/// Entries that wait, by the call that they are inside of.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Whether what is inside of a call waits with it for its result.
    gathers: bool,
    /// Whether all that waits is being given out.
    is_ending: bool,
    /// Whether what is inside of a call that is given out already waits no longer.
    is_releasing: bool,
    queues: Map<Option<Id>, Queue>,
    /// The queue that was empty last: the next one uses its room.
    spare: Queue,
    /// Calls that wait, and what they are inside of.
    calls: Map<Id, Option<Id>>,
    bytes: usize,
    /// How many entries are being given out, one because of the other.
    nested: usize,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<WaitingCall>,
    bytes: usize,
}

#[derive(Debug)]
struct WaitingCall {
    /// What would be given out of it now.
    paired: Paired,
    /// Whether something is inside of it, which comes before its result.
    is_entered: bool,
    /// Whether it may work on though it has its result.
    is_running: bool,
    bytes: usize,
}

impl WaitingCall {
    /// Whether it is this call, and its result may still come.
    fn is_of(&self, call: &Id, gathers: bool) -> bool {
        self.paired.entry.id == *call && self.awaits(gathers)
    }

    /// Whether it is a call whose result may still come.
    fn awaits(&self, gathers: bool) -> bool {
        let Paired { entry, result, .. } = &self.paired;
        result.is_none() && (gathers || !self.is_entered) && awaits(entry, gathers)
    }

    /// Whether something may still come that is to be given out with it.
    fn waits(&self, gathers: bool) -> bool {
        self.is_running || self.awaits(gathers)
    }
}

/// Whether it is a call that waits for its result.
fn awaits(entry: &Entry, gathers: bool) -> bool {
    entry.kind == Kind::Call && (gathers || entry.action != Some(Action::Delegate))
}

impl Queue {
    fn is_full(&self, gathers: bool) -> bool {
        self.waiting.len() > if gathers { MAX_GATHERED } else { MAX_ENTRIES } || self.bytes > MAX_BYTES
    }
}

#[expect(clippy::ref_option, reason = "what an entry is inside of is the key of a map, and is cloned as one")]
impl Pairing {
    /// Entries that wait for their results. `gathers`: what is inside of a call waits with it.
    pub(super) fn new(gathers: bool) -> Self {
        Self { gathers, ..Self::default() }
    }

    /// Whether an entry that comes now is a result that has to wait apart from its call.
    pub(super) fn parts_from_call(&self, entry: &Entry) -> bool {
        let Some(call) = entry.call.as_ref().filter(|_| !self.queues.is_empty()) else { return false };
        self.calls.get(call) != Some(&entry.parent)
    }

    /// Takes the next entry, in the order of completion. `title` is that of its call, if it [parts from it](Self::parts_from_call).
    pub(super) fn push(&mut self, entry: Box<Entry>, title: Option<Line>, out: &mut Vec<Paired>) {
        if self.queues.is_empty() && !awaits(&entry, self.gathers) {
            return out.push(Paired { entry, result: None, title });
        }
        let parent = entry.parent.clone();
        if self.gathers && parent.is_none() {
            self.release(out);
        }
        // A run that has ended, or another that begins, leaves nothing to wait for.
        if parent.is_none() && (entry.kind == Kind::Outcome || entry.view.is_heading()) {
            self.end(out);
        }
        let bytes = text_size(&entry.view.body);
        self.bytes += bytes;
        if let Some(entry) = self.pair(entry, bytes) {
            if self.queues.len() == MAX_QUEUES && !self.queues.contains_key(&parent) {
                self.emit_oldest(out);
            }
            if entry.kind == Kind::Call {
                self.calls.insert(entry.id.clone(), parent.clone());
            }
            let queue = self.queues.entry(parent.clone()).or_insert_with(|| std::mem::take(&mut self.spare));
            queue.bytes += bytes;
            let paired = Paired { entry, result: None, title };
            queue.waiting.push_back(WaitingCall { paired, is_entered: false, is_running: false, bytes });
        }
        self.enter(parent.as_ref(), out);
        self.settle(&parent, out);
        while self.bytes > MAX_ALL_BYTES {
            self.emit_oldest(out);
        }
    }

    /// What waits, as it would come in the order of the document if nothing more came.
    pub(super) fn waiting(&self) -> Vec<Paired> {
        let mut all = Vec::new();
        let mut left: Map<&Option<Id>, &Queue> = self.queues.iter().collect();
        let outermost: Vec<_> = self.queues.keys().filter(|parent| !self.blocks(parent)).collect();
        for parent in outermost {
            let mut open: Vec<_> =
                left.shift_remove(parent).map(|queue| queue.waiting.iter()).into_iter().collect();
            while let Some(waiting) = open.last_mut() {
                let Some(waiting) = waiting.next() else {
                    open.pop();
                    continue;
                };
                all.push(waiting.paired.clone());
                // What is inside of a call that waits stands behind it.
                let inside = left.shift_remove(&Some(waiting.paired.entry.id.clone()));
                open.extend(inside.map(|queue| queue.waiting.iter()));
            }
        }
        // Hostile streams nest calls in circles.
        let circles = left.values().flat_map(|queue| &queue.waiting);
        all.extend(circles.map(|waiting| waiting.paired.clone()));
        all
    }

    /// Gives out all that waits.
    pub(super) fn end(&mut self, out: &mut Vec<Paired>) {
        self.is_ending = true;
        while !self.queues.is_empty() {
            self.emit_oldest(out);
        }
        self.is_ending = false;
    }

    /// Gives out what is done inside of calls that are given out already.
    fn release(&mut self, out: &mut Vec<Paired>) {
        let is_loose = |call: &&Option<Id>| call.is_some() && !self.blocks(call);
        let loose: Vec<_> = self.queues.keys().filter(is_loose).cloned().collect();
        for call in loose {
            self.settle_released(&call, out);
        }
    }

    fn settle_released(&mut self, parent: &Option<Id>, out: &mut Vec<Paired>) {
        let before = std::mem::replace(&mut self.is_releasing, true);
        self.settle(parent, out);
        self.is_releasing = before;
    }

    /// Waits no longer for the result of a call that something is inside of.
    fn enter(&mut self, call: Option<&Id>, out: &mut Vec<Paired>) {
        let Some((call, outer)) = call.and_then(|call| Some((call, self.calls.get(call)?.clone()))) else {
            return;
        };
        let gathers = self.gathers;
        let waiting = self.queues.get_mut(&outer).map(|queue| &mut queue.waiting);
        let mut waiting = waiting.into_iter().flatten();
        let Some(waiting) = waiting.find(|waiting| waiting.is_of(call, gathers)) else {
            return;
        };
        waiting.is_entered = true;
        self.settle(&outer, out);
    }

    /// Puts a result under its call, if that waits beside it; else gives the entry back.
    fn pair(&mut self, entry: Box<Entry>, bytes: usize) -> Option<Box<Entry>> {
        let Some(call) = entry.call.as_ref().filter(|call| self.calls.get(*call) == Some(&entry.parent))
        else {
            return Some(entry);
        };
        let gathers = self.gathers;
        let Some(queue) = self.queues.get_mut(&entry.parent) else { return Some(entry) };
        let is_call = |waiting: &&mut WaitingCall| waiting.is_of(call, gathers);
        // Most results come soon after their calls.
        let Some(waiting) = queue.waiting.iter_mut().rev().find(is_call) else { return Some(entry) };
        waiting.bytes += bytes;
        queue.bytes += bytes;
        let may_run = gathers && waiting.paired.entry.action == Some(Action::Delegate);
        waiting.is_running = may_run && !waiting.is_entered && !entry.is_failed();
        waiting.paired.result = Some(entry);
        None
    }

    /// Gives out what waits for nothing any more inside of `parent`.
    fn settle(&mut self, parent: &Option<Id>, out: &mut Vec<Paired>) {
        loop {
            let Some(queue) = self.queues.get(parent) else { return };
            let is_full = queue.is_full(self.gathers);
            let is_blocked = self.blocks(parent);
            let is_held = self.gathers && parent.is_some() && !self.is_releasing && !self.is_ending;
            let is_done = queue.waiting.front().is_some_and(|front| !front.waits(self.gathers));
            if is_full && is_blocked {
                self.emit_call(parent.as_ref(), out);
            } else if is_full || (is_done && !is_blocked && !is_held) {
                self.emit_front(parent, out);
            } else {
                return;
            }
        }
    }

    /// Whether the call that a queue is inside of waits itself.
    fn blocks(&self, parent: &Option<Id>) -> bool {
        parent.as_ref().is_some_and(|call| self.calls.contains_key(call))
    }

    /// Gives out the call that a queue is inside of, and all before it.
    fn emit_call(&mut self, parent: Option<&Id>, out: &mut Vec<Paired>) {
        let mut chain: Vec<Id> = Vec::new();
        let mut next = parent.cloned();
        while let Some(call) = next.filter(|call| !chain.contains(call)) {
            next = self.calls.get(&call).cloned().flatten();
            chain.push(call);
        }
        for call in chain.iter().rev() {
            while let Some(outer) = self.calls.get(call).cloned() {
                if !self.queues.contains_key(&outer) {
                    self.calls.shift_remove(call);
                }
                self.emit_front(&outer, out);
            }
        }
    }

    /// Gives out the queue that began to wait first.
    fn emit_oldest(&mut self, out: &mut Vec<Paired>) {
        let Some(parent) = self.queues.first().map(|(parent, _)| parent.clone()) else { return };
        self.emit_call(parent.as_ref(), out);
        while self.queues.contains_key(&parent) {
            self.emit_front(&parent, out);
        }
    }

    /// Gives out the first that waits inside of `parent`, and what waited for it.
    fn emit_front(&mut self, parent: &Option<Id>, out: &mut Vec<Paired>) {
        let Some(queue) = self.queues.get_mut(parent) else { return };
        let Some(WaitingCall { paired, is_running, bytes, .. }) = queue.waiting.pop_front() else {
            self.queues.shift_remove(parent);
            return;
        };
        queue.bytes -= bytes;
        self.bytes -= bytes;
        if queue.waiting.is_empty() {
            self.spare = self.queues.shift_remove(parent).unwrap_or_default();
        }
        let entry = &paired.entry;
        let call = (entry.kind == Kind::Call).then(|| entry.id.clone());
        let is_over = self.gathers && (self.is_ending || (paired.result.is_some() && !is_running));
        if let Some(call) = &call {
            self.calls.shift_remove(call);
        }
        // Hostile streams nest calls in circles.
        self.nested += 1;
        let may_nest = self.nested < MAX_QUEUES;
        if let Some(inside) = entry.call.clone().map(Some).filter(|inside| may_nest && inside != parent) {
            // Nothing more comes from inside of a call that is answered.
            while self.queues.contains_key(&inside) {
                self.emit_front(&inside, out);
            }
        }
        out.push(paired);
        if let Some(inside) = call.map(Some).filter(|inside| may_nest && inside != parent) {
            while is_over && self.queues.contains_key(&inside) {
                self.emit_front(&inside, out);
            }
            self.settle_released(&inside, out);
        }
        self.nested -= 1;
    }
}
