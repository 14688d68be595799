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
use crate::item::{Action, Id, Kind, TurnStep};
use crate::session::Map;

use super::{Node, OutlineOptions};

/// How much may wait.
#[derive(Clone, Copy, Debug)]
struct PairingLimits {
    /// How many entries of one parent.
    entries: usize,
    /// How many entries of one parent if the entries of sub-agents are gathered.
    gathered: usize,
    /// How many bytes of text in one queue.
    bytes: usize,
    /// How many bytes of text in all queues together.
    all_bytes: usize,
    /// How many queues there may be, and how deeply emitting one entry may cause others to be emitted.
    queues: usize,
}

impl Default for PairingLimits {
    fn default() -> Self {
        Self { entries: 256, gathered: 2048, bytes: 1 << 20, all_bytes: 4 << 20, queues: 64 }
    }
}

/// The entries that wait, by the call that they are inside of.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Whether calls wait for their results.
    pairs: bool,
    /// Whether the entries inside of a call wait with it for its result.
    gathers: bool,
    /// Whether all entries are being emitted.
    is_ending: bool,
    limits: PairingLimits,
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

/// Receives each node that needn't wait any longer.
type Emit<'a> = &'a mut dyn FnMut(Node);

#[expect(clippy::ref_option, reason = "what an entry is inside of is the key of a map, and is cloned as one")]
impl Pairing {
    /// No entries yet.
    pub(super) fn new(options: OutlineOptions) -> Self {
        Self { pairs: options.pairs, gathers: options.gathers(), ..Self::default() }
    }

    /// Whether an entry is a result that would have to wait apart from its call.
    pub(super) fn is_apart_from_call(&self, entry: &Entry) -> bool {
        let Some(call) = entry.call.as_ref().filter(|_| !self.queues.is_empty()) else { return false };
        self.calls.get(call) != Some(&entry.parent)
    }

    /// Adds the next entry, in the order of completion.
    pub(super) fn push(&mut self, node: Node, emit: Emit<'_>) {
        let entry = &node.entry;
        let may_wait = self.pairs && (self.gathers || entry.action != Some(Action::Delegate));
        let waits = may_wait && entry.kind == Kind::Call;
        if self.queues.is_empty() && !waits {
            return emit(node);
        }
        let parent = entry.parent.clone();
        if self.gathers && parent.is_none() {
            self.release(emit);
        }
        // Once a run has ended, or another one begins, nothing waits any longer.
        let is_end = entry.kind == Kind::Outcome || entry.step == TurnStep::InputEnd;
        if parent.is_none() && (is_end || entry.view.is_heading()) {
            self.end(emit);
        }
        let bytes = text_size(&entry.view.body);
        if let Some(node) = self.pair(node, bytes) {
            if self.queues.len() == self.limits.queues && !self.queues.contains_key(&parent) {
                self.emit_oldest(emit);
            }
            if node.entry.kind == Kind::Call {
                self.calls.insert(node.entry.id.clone(), parent.clone());
            }
            let queue = self.queues.entry(parent.clone()).or_insert_with(|| std::mem::take(&mut self.spare));
            queue.bytes += bytes;
            queue.waiting.push_back(WaitingCall { node, is_entered: false, waits, bytes });
        }
        if let Some(call) = &parent {
            self.enter(call, emit);
        }
        self.settle(&parent, false, emit);
        while self.queues.values().map(|queue| queue.bytes).sum::<usize>() > self.limits.all_bytes {
            self.emit_oldest(emit);
        }
    }

    /// The entries that wait, in the order in which they would be emitted if the input ended now.
    pub(super) fn waiting(&self) -> Vec<&Node> {
        let mut all = Vec::new();
        let mut left: Map<_, _> = self.queues.iter().collect();
        for parent in self.queues.keys().filter(|parent| !self.blocks(parent)) {
            take_waiting(parent, &mut left, &mut all);
        }
        // Hostile streams nest calls in circles.
        let circles = left.values().flat_map(|queue| &queue.waiting);
        all.extend(circles.map(|waiting| &waiting.node));
        all
    }

    /// Emits all entries that wait.
    pub(super) fn end(&mut self, emit: Emit<'_>) {
        self.is_ending = true;
        while !self.queues.is_empty() {
            self.emit_oldest(emit);
        }
        self.is_ending = false;
    }

    /// Emits the entries inside of calls that were emitted already.
    fn release(&mut self, emit: Emit<'_>) {
        let is_loose = |call: &&Option<Id>| call.is_some() && !self.blocks(call);
        let loose: Vec<_> = self.queues.keys().filter(is_loose).cloned().collect();
        for call in loose {
            self.settle(&call, true, emit);
        }
    }

    /// Notes that entries are inside of a call. Unless they are gathered, the call doesn't wait for its result any longer.
    fn enter(&mut self, call: &Id, emit: Emit<'_>) {
        let Some(outer) = self.calls.get(call).cloned() else { return };
        let gathers = self.gathers;
        let Some((waiting, _)) = self.awaiting_result(call) else { return };
        waiting.is_entered = true;
        waiting.waits = gathers;
        self.settle(&outer, false, emit);
    }

    /// Puts a result under its call, if that waits in the same queue; otherwise returns it.
    fn pair(&mut self, node: Node, bytes: usize) -> Option<Node> {
        let (entry, gathers) = (&node.entry, self.gathers);
        let call = entry.call.as_ref().filter(|call| self.calls.get(*call) == Some(&entry.parent));
        let waiting = call.and_then(|call| self.awaiting_result(call));
        let Some((waiting, queue_bytes)) = waiting else { return Some(node) };
        waiting.bytes += bytes;
        *queue_bytes += bytes;
        let may_run = gathers && waiting.node.entry.action == Some(Action::Delegate);
        waiting.waits = may_run && !waiting.is_entered && !entry.is_failed();
        waiting.node.revision = node.revision;
        waiting.node.result = Some(node.entry);
        None
    }

    /// The call of this id and the size of its queue, if it waits for its result.
    fn awaiting_result(&mut self, call: &Id) -> Option<(&mut WaitingCall, &mut usize)> {
        let Queue { waiting, bytes } = self.queues.get_mut(self.calls.get(call)?)?;
        let is_it = |waiting: &&mut WaitingCall| {
            waiting.waits && waiting.node.result.is_none() && waiting.node.entry.id == *call
        };
        // Most results come soon after their calls.
        Some((waiting.iter_mut().rev().find(is_it)?, bytes))
    }

    /// Emits the entries inside of `parent` that need not wait any longer. `is_released`: whether those inside of a call that was emitted
    /// already need not wait for the next entry of the main thread.
    fn settle(&mut self, parent: &Option<Id>, is_released: bool, emit: Emit<'_>) {
        while let Some(queue) = self.queues.get(parent) {
            let most = if self.gathers { self.limits.gathered } else { self.limits.entries };
            let is_full = queue.waiting.len() > most || queue.bytes > self.limits.bytes;
            let is_blocked = self.blocks(parent);
            let is_held = self.gathers && parent.is_some() && !is_released;
            let is_done = queue.waiting.front().is_some_and(|front| !front.waits);
            if is_full && is_blocked {
                self.emit_call(parent.as_ref(), emit);
            } else if is_full || (is_done && !is_blocked && !is_held) {
                self.emit_front(parent, emit);
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
    fn emit_call(&mut self, parent: Option<&Id>, emit: Emit<'_>) {
        let mut chain: Vec<Id> = Vec::new();
        let mut next = parent.cloned();
        while let Some(call) = next.filter(|call| !chain.contains(call)) {
            next = self.calls.get(&call).cloned().flatten();
            chain.push(call);
        }
        for call in chain.iter().rev() {
            while let Some(outer) = self.calls.get(call).cloned()
                && self.emit_front(&outer, emit)
            {}
        }
    }

    /// Emits the queue that began to wait first.
    fn emit_oldest(&mut self, emit: Emit<'_>) {
        let Some(parent) = self.queues.keys().next().cloned() else { return };
        self.emit_call(parent.as_ref(), emit);
        while self.emit_front(&parent, emit) {}
    }

    /// Emits the first entry that waits inside of `parent`, and the entries that waited for it. Returns whether there was one.
    fn emit_front(&mut self, parent: &Option<Id>, emit: Emit<'_>) -> bool {
        let Some(queue) = self.queues.get_mut(parent) else { return false };
        let Some(WaitingCall { node, waits, bytes, .. }) = queue.waiting.pop_front() else { return false };
        queue.bytes -= bytes;
        if queue.waiting.is_empty() {
            self.spare = self.queues.shift_remove(parent).unwrap_or_default();
        }
        let call = (node.entry.kind == Kind::Call).then(|| node.entry.id.clone());
        if let Some(call) = &call {
            self.calls.shift_remove(call);
        }
        let is_over = self.gathers && (self.is_ending || (node.result.is_some() && !waits));
        self.nested += 1;
        // Hostile streams nest calls in circles.
        let may_nest = self.nested < self.limits.queues;
        let other_queue = |call: Option<Id>| call.map(Some).filter(|call| may_nest && call != parent);
        if let Some(call) = other_queue(node.entry.call.clone()) {
            // Entries inside of the call come before its result.
            while self.emit_front(&call, emit) {}
        }
        emit(node);
        if let Some(call) = other_queue(call) {
            while is_over && self.emit_front(&call, emit) {}
            self.settle(&call, true, emit);
        }
        self.nested -= 1;
        true
    }
}

/// Moves the entries inside of `parent` from `left` to `all`, each followed by those inside of it.
#[expect(clippy::ref_option, reason = "it is the key of a map")]
fn take_waiting<'a>(parent: &Option<Id>, left: &mut Map<&'a Option<Id>, &'a Queue>, all: &mut Vec<&'a Node>) {
    for waiting in left.shift_remove(parent).into_iter().flat_map(|queue| &queue.waiting) {
        all.push(&waiting.node);
        take_waiting(&Some(waiting.node.entry.id.clone()), left, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Block, Line, View};
    use crate::item::Status;

    /// The emitted entries, in order, with `|` where the input ends: `a+` is a call with its result.
    fn emitted(limits: PairingLimits, gathers: bool, entries: Vec<Entry>) -> String {
        let options = OutlineOptions { pairs: true, nests: gathers, ..OutlineOptions::default() };
        let mut pairing = Pairing { limits, ..Pairing::new(options) };
        let mut words = Vec::new();
        let mut emit = |node: Node| {
            words.push(format!("{}{}", node.entry.id.as_str(), if node.result.is_some() { "+" } else { "" }));
        };
        for entry in entries {
            pairing.push(Node::from(entry), &mut emit);
        }
        emit(Node::from(Entry::new("|", Kind::Notice, View::default())));
        pairing.end(&mut emit);
        words.join(" ")
    }

    fn entry(kind: Kind, id: &str, parent: Option<&str>) -> Entry {
        let text = vec![Block::text("text", "0123456789")];
        let view = View { title: Line::of("text", id.to_owned()), ..View::of(text) };
        Entry { parent: parent.map(Id::from), ..Entry::new(id, kind, view) }
    }

    /// The size of this many entries, in bytes.
    fn bytes(entries: usize) -> usize {
        entries * text_size(&reply("r").view.body)
    }

    fn call(id: &str, parent: Option<&str>) -> Entry {
        entry(Kind::Call, id, parent)
    }

    fn reply(id: &str) -> Entry {
        entry(Kind::Reply, id, None)
    }

    fn task(id: &str) -> Entry {
        Entry { action: Some(Action::Delegate), ..call(id, None) }
    }

    fn result(call: &str, status: Status) -> Entry {
        Entry { call: Some(call.into()), status, ..entry(Kind::Result, &format!("{call}/result"), None) }
    }

    #[test]
    fn at_each_limit_entries_are_emitted_as_they_come_and_none_is_lost() {
        let none = PairingLimits::default();
        let one_queue = || vec![call("a", None), reply("b"), reply("c")];
        let queues = || ["p", "q", "r"].map(|parent| call(&format!("in-{parent}"), Some(parent))).to_vec();
        for (limits, gathers, entries, expected) in [
            (none, false, one_queue(), "| a b c"),
            (PairingLimits { entries: 3, ..none }, false, one_queue(), "| a b c"),
            (PairingLimits { entries: 2, ..none }, false, one_queue(), "a b c |"),
            (PairingLimits { entries: 2, ..none }, true, one_queue(), "| a b c"),
            (PairingLimits { gathered: 2, ..none }, true, one_queue(), "a b c |"),
            (PairingLimits { gathered: 2, ..none }, false, one_queue(), "| a b c"),
            (PairingLimits { bytes: bytes(3), ..none }, false, one_queue(), "| a b c"),
            (PairingLimits { bytes: bytes(3) - 1, ..none }, false, one_queue(), "a b c |"),
            (none, false, queues(), "| in-p in-q in-r"),
            (PairingLimits { all_bytes: bytes(3), ..none }, false, queues(), "| in-p in-q in-r"),
            (PairingLimits { all_bytes: bytes(3) - 1, ..none }, false, queues(), "in-p | in-q in-r"),
            (PairingLimits { queues: 3, ..none }, false, queues(), "| in-p in-q in-r"),
            (PairingLimits { queues: 2, ..none }, false, queues(), "in-p | in-q in-r"),
        ] {
            assert_eq!(emitted(limits, gathers, entries), expected, "{limits:?}, gathered: {gathers}");
        }
    }

    #[test]
    fn a_result_counts_to_the_bytes_of_its_queue() {
        let limits = PairingLimits { bytes: bytes(4) - 1, ..PairingLimits::default() };
        let entries = || vec![call("a", None), call("b", None), result("b", Status::Done), reply("c")];
        assert_eq!(emitted(PairingLimits { bytes: bytes(4), ..limits }, false, entries()), "| a b+ c");
        assert_eq!(emitted(limits, false, entries()), "a b+ c |");
    }

    #[test]
    fn what_was_emitted_counts_no_longer() {
        let limits = PairingLimits { bytes: bytes(2), ..PairingLimits::default() };
        let pair = |id: &str| [call(id, None), result(id, Status::Done)];
        let entries = ["a", "b", "c", "d"].iter().flat_map(|id| pair(id)).collect();
        assert_eq!(emitted(limits, false, entries), "a+ b+ c+ d+ |");
    }

    #[test]
    fn a_call_inside_of_one_that_was_emitted_at_a_limit_waits_for_its_result() {
        let limits = PairingLimits { gathered: 2, ..PairingLimits::default() };
        let inner = || Entry { parent: Some("t".into()), ..result("x", Status::Done) };
        let entries = vec![task("t"), call("x", Some("t")), reply("r"), reply("s"), inner()];
        assert_eq!(emitted(limits, true, entries), "t r s | x+");
    }

    #[test]
    fn a_result_that_is_inside_of_its_own_call_changes_no_order() {
        let inner = || Entry { parent: Some("t".into()), ..result("t", Status::Done) };
        let entries = vec![task("t"), inner(), entry(Kind::Reply, "x", Some("t")), reply("r")];
        assert_eq!(emitted(PairingLimits::default(), true, entries), "| t t/result x r");
    }

    #[test]
    fn a_sub_agent_that_may_still_run_is_waited_for_and_one_that_failed_is_not() {
        let inside = || entry(Kind::Reply, "x", Some("t"));
        for (entries, expected) in [
            (vec![task("t"), result("t", Status::Done), reply("r")], "| t+ r"),
            (vec![task("t"), result("t", Status::Failed), reply("r")], "t+ r |"),
            (vec![task("t"), inside(), result("t", Status::Done), reply("r")], "t+ x r |"),
            (vec![task("t"), inside(), reply("r")], "| t x r"),
            (vec![call("t", None), result("t", Status::Done), reply("r")], "t+ r |"),
        ] {
            let shown = format!("{entries:?}");
            assert_eq!(emitted(PairingLimits::default(), true, entries), expected, "{shown}");
        }
    }
}
