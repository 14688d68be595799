//! Puts results under their calls.
//!
//! The entries of each parent wait in a separate queue, in the order of completion. A queue emits its front until
//! that is a call whose result may still come. The entries of a sub-agent wait for the call that started it, never the other
//! way round: a delegated call doesn't wait for its result, which is emitted at the end of its nest. The same holds for any other
//! call that turns out to have entries inside of it.
//!
//! If the entries of sub-agents are gathered, such a call waits, too: all entries inside of a call wait with it until its result has
//! come, so that they are emitted in one piece, whatever happens elsewhere meanwhile. A sub-agent whose call was answered before any
//! entry was inside of it may run in the background; its call waits until the run ends. Entries inside of a call that was emitted
//! already wait for the next entry of the main thread, so that those of several sub-agents don't alternate. Once the limit of
//! entries or bytes is reached, entries are emitted as they come.

use std::collections::VecDeque;

use crate::entry::{Entry, text_size};
use crate::item::{Action, Id, Kind};
use crate::session::Map;

use super::Node;

/// How many entries of one parent may wait.
const MAX_ENTRIES: usize = 256;
/// How many entries of one parent may wait if the entries of sub-agents are gathered.
const MAX_GATHERED: usize = 2048;
/// How many bytes of text may wait in one queue.
const MAX_BYTES: usize = 1 << 20;
/// How many bytes of text may wait in all queues together.
const MAX_ALL_BYTES: usize = 4 << 20;
/// How many queues there may be, and how deeply emitting one entry may cause others to be emitted.
const MAX_QUEUES: usize = 64;

/// The entries that wait, by the call that they are inside of.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Whether the entries inside of a call wait with it for its result.
    gathers: bool,
    /// Whether all entries are being emitted.
    is_ending: bool,
    queues: Map<Option<Id>, Queue>,
    /// The last queue that became empty: the next one reuses its allocation.
    spare: Queue,
    /// The calls that wait, and the call that each is inside of.
    calls: Map<Id, Option<Id>>,
    /// How many entries are being emitted, each because of the one before.
    nested: usize,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<WaitingCall>,
    bytes: usize,
}

#[derive(Debug)]
struct WaitingCall {
    /// The entry, with the result that it has so far.
    node: Node,
    /// Whether entries are inside of it, which come before its result.
    is_entered: bool,
    /// Whether it must wait: for its result or, if it has that, for a sub-agent that may still run.
    waits: bool,
    bytes: usize,
}

impl WaitingCall {
    /// Whether it is this call, and waits for its result.
    fn is_of(&self, call: &Id) -> bool {
        self.node.entry.id == *call && self.node.result.is_none() && self.waits
    }
}

#[expect(clippy::ref_option, reason = "what an entry is inside of is the key of a map, and is cloned as one")]
impl Pairing {
    /// No entries yet. `gathers`: whether the entries inside of a call wait with it.
    pub(super) fn new(gathers: bool) -> Self {
        Self { gathers, ..Self::default() }
    }

    /// Whether an entry is a result that would have to wait apart from its call.
    pub(super) fn is_apart_from_call(&self, entry: &Entry) -> bool {
        let Some(call) = entry.call.as_ref().filter(|_| !self.queues.is_empty()) else { return false };
        self.calls.get(call) != Some(&entry.parent)
    }

    /// Whether an entry is a call that waits for its result.
    fn awaits_result(&self, entry: &Entry) -> bool {
        entry.kind == Kind::Call && (self.gathers || entry.action != Some(Action::Delegate))
    }

    /// Adds the next entry, in the order of completion.
    pub(super) fn push(&mut self, node: Node, out: &mut Vec<Node>) {
        let entry = &node.entry;
        let waits = self.awaits_result(entry);
        if self.queues.is_empty() && !waits {
            return out.push(node);
        }
        let parent = entry.parent.clone();
        if self.gathers && parent.is_none() {
            self.release(out);
        }
        // Once a run has ended, or another one begins, nothing waits any longer.
        if parent.is_none() && (entry.kind == Kind::Outcome || entry.view.is_heading()) {
            self.end(out);
        }
        let bytes = text_size(&entry.view.body);
        if let Some(node) = self.pair(node, bytes) {
            if self.queues.len() == MAX_QUEUES && !self.queues.contains_key(&parent) {
                self.emit_oldest(out);
            }
            if node.entry.kind == Kind::Call {
                self.calls.insert(node.entry.id.clone(), parent.clone());
            }
            let queue = self.queues.entry(parent.clone()).or_insert_with(|| std::mem::take(&mut self.spare));
            queue.bytes += bytes;
            queue.waiting.push_back(WaitingCall { node, is_entered: false, waits, bytes });
        }
        self.enter(parent.as_ref(), out);
        self.settle(&parent, false, out);
        while self.queues.values().map(|queue| queue.bytes).sum::<usize>() > MAX_ALL_BYTES {
            self.emit_oldest(out);
        }
    }

    /// The entries that wait, in the order in which they would be emitted if the input ended now.
    pub(super) fn waiting(&self) -> Vec<Node> {
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
                all.push(waiting.node.clone());
                // The entries inside of a call that waits come after it.
                let inside = left.shift_remove(&Some(waiting.node.entry.id.clone()));
                open.extend(inside.map(|queue| queue.waiting.iter()));
            }
        }
        // Hostile streams nest calls in circles.
        let circles = left.values().flat_map(|queue| &queue.waiting);
        all.extend(circles.map(|waiting| waiting.node.clone()));
        all
    }

    /// Emits all entries that wait.
    pub(super) fn end(&mut self, out: &mut Vec<Node>) {
        self.is_ending = true;
        while !self.queues.is_empty() {
            self.emit_oldest(out);
        }
        self.is_ending = false;
    }

    /// Emits the entries inside of calls that were emitted already.
    fn release(&mut self, out: &mut Vec<Node>) {
        let is_loose = |call: &&Option<Id>| call.is_some() && !self.blocks(call);
        let loose: Vec<_> = self.queues.keys().filter(is_loose).cloned().collect();
        for call in loose {
            self.settle(&call, true, out);
        }
    }

    /// Notes that entries are inside of a call. Unless they are gathered, the call doesn't wait for its result any longer.
    fn enter(&mut self, call: Option<&Id>, out: &mut Vec<Node>) {
        let Some((call, outer)) = call.and_then(|call| Some((call, self.calls.get(call)?.clone()))) else {
            return;
        };
        let waiting = self.queues.get_mut(&outer).map(|queue| &mut queue.waiting);
        let Some(waiting) = waiting.into_iter().flatten().find(|waiting| waiting.is_of(call)) else {
            return;
        };
        waiting.is_entered = true;
        waiting.waits = self.gathers;
        self.settle(&outer, false, out);
    }

    /// Puts a result under its call, if that waits in the same queue; otherwise returns it.
    fn pair(&mut self, node: Node, bytes: usize) -> Option<Node> {
        let entry = &node.entry;
        let Some(call) = entry.call.as_ref().filter(|call| self.calls.get(*call) == Some(&entry.parent))
        else {
            return Some(node);
        };
        let Some(queue) = self.queues.get_mut(&entry.parent) else { return Some(node) };
        // Most results come soon after their calls.
        let Some(waiting) = queue.waiting.iter_mut().rev().find(|waiting| waiting.is_of(call)) else {
            return Some(node);
        };
        waiting.bytes += bytes;
        queue.bytes += bytes;
        let may_run = self.gathers && waiting.node.entry.action == Some(Action::Delegate);
        waiting.waits = may_run && !waiting.is_entered && !entry.is_failed();
        waiting.node.result = Some(node.entry);
        None
    }

    /// Emits the entries inside of `parent` that need not wait any longer. `is_released`: whether those inside of a call that was emitted
    /// already need not wait for the next entry of the main thread.
    fn settle(&mut self, parent: &Option<Id>, is_released: bool, out: &mut Vec<Node>) {
        loop {
            let Some(queue) = self.queues.get(parent) else { return };
            let most = if self.gathers { MAX_GATHERED } else { MAX_ENTRIES };
            let is_full = queue.waiting.len() > most || queue.bytes > MAX_BYTES;
            let is_blocked = self.blocks(parent);
            let is_held = self.gathers && parent.is_some() && !is_released;
            let is_done = queue.waiting.front().is_some_and(|front| !front.waits);
            if is_full && is_blocked {
                self.emit_call(parent.as_ref(), out);
            } else if is_full || (is_done && !is_blocked && !is_held) {
                self.emit_front(parent, out);
            } else {
                return;
            }
        }
    }

    /// Whether the entries inside of `parent` must wait because it waits itself.
    fn blocks(&self, parent: &Option<Id>) -> bool {
        parent.as_ref().is_some_and(|call| self.calls.contains_key(call))
    }

    /// Emits the call `parent`, the calls that it is inside of, and all entries before them.
    fn emit_call(&mut self, parent: Option<&Id>, out: &mut Vec<Node>) {
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

    /// Emits the queue that began to wait first.
    fn emit_oldest(&mut self, out: &mut Vec<Node>) {
        let Some(parent) = self.queues.first().map(|(parent, _)| parent.clone()) else { return };
        self.emit_call(parent.as_ref(), out);
        while self.queues.contains_key(&parent) {
            self.emit_front(&parent, out);
        }
    }

    /// Emits the first entry that waits inside of `parent`, and the entries that waited for it.
    fn emit_front(&mut self, parent: &Option<Id>, out: &mut Vec<Node>) {
        let Some(queue) = self.queues.get_mut(parent) else { return };
        let Some(WaitingCall { node, waits, bytes, .. }) = queue.waiting.pop_front() else {
            self.queues.shift_remove(parent);
            return;
        };
        queue.bytes -= bytes;
        if queue.waiting.is_empty() {
            self.spare = self.queues.shift_remove(parent).unwrap_or_default();
        }
        let entry = &node.entry;
        let call = (entry.kind == Kind::Call).then(|| entry.id.clone());
        let is_over = self.gathers && (self.is_ending || (node.result.is_some() && !waits));
        if let Some(call) = &call {
            self.calls.shift_remove(call);
        }
        // Hostile streams nest calls in circles.
        self.nested += 1;
        let may_nest = self.nested < MAX_QUEUES;
        if let Some(inside) = entry.call.clone().map(Some).filter(|inside| may_nest && inside != parent) {
            // Entries inside of the call come before its result.
            while self.queues.contains_key(&inside) {
                self.emit_front(&inside, out);
            }
        }
        out.push(node);
        if let Some(inside) = call.map(Some).filter(|inside| may_nest && inside != parent) {
            while is_over && self.queues.contains_key(&inside) {
                self.emit_front(&inside, out);
            }
            self.settle(&inside, true, out);
        }
        self.nested -= 1;
    }
}
