//! The calls that have no result yet, and the last calls that started sub-agents, which may outlive the result.

use std::collections::VecDeque;

use crate::budget::Budget;
use crate::item::{Action, Content, Does, Fact, Id, Item};
use crate::json::Record;
use crate::session::Map;

/// How many times fewer answered calls are remembered than calls without a result.
const FEWER_STARTED: usize = 64;
/// How many times fewer bytes their records may take.
const FEWER_STARTED_BYTES: usize = 4;
/// The longest name of a tool or session that is remembered with a call, in bytes.
const MAX_NAME: usize = 1_024;
/// How many open calls are named at the end.
const LISTED_CALLS: usize = 20;

/// The calls without a result, each remembered until its result has come. If there are too many, the older ones are only counted.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    budget: Budget,
    calls: Map<Id, OpenCall>,
    /// Bytes of their records.
    bytes: usize,
    /// How many calls have come so far.
    seen: u64,
    /// How many calls without a result are no longer remembered.
    forgotten: u64,
    /// Answered calls that have started a sub-agent, oldest first. A sub-agent in the background may still run.
    started: VecDeque<OpenCall>,
    /// A record of the batch in which the last calls came. Their records share its memory.
    last: Option<Record>,
}

#[derive(Debug)]
struct OpenCall {
    item: Box<Item>,
    /// Bytes of its record.
    bytes: usize,
    /// Its number, in the order in which calls came.
    turn: u64,
}

impl OpenCall {
    /// Copies its record, so that it doesn't keep the rest of the batch in memory.
    fn detach(&mut self) {
        if let Some(record) = self.item.record.as_mut().filter(|record| !record.is_detached()) {
            *record = record.detached();
        }
    }
}

impl OpenCalls {
    /// No calls yet; the budget limits how many are remembered.
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// A call, while it is remembered.
    pub(super) fn get(&self, id: &Id) -> Option<&Item> {
        let started = || self.started.iter().rev().find(|call| call.item.id == *id);
        self.calls.get(id).or_else(started).map(|call| &*call.item)
    }

    /// The remembered calls without a result, oldest first once the input has ended.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Item> {
        self.calls.values().map(|call| &*call.item)
    }

    /// How many calls have no result, including forgotten ones.
    pub(super) fn count(&self) -> u64 {
        self.calls.len() as u64 + self.forgotten
    }

    /// Remembers a call.
    pub(super) fn open(&mut self, mut kept: Box<Item>) {
        let mut bytes = kept.record.as_ref().map_or(0, Record::size);
        let is_made = matches!(kept.does, Some(Does::Facts { .. }));
        if is_made {
            // Facts that a dialect made of the input take about as much again.
            bytes *= 2;
        }
        // A name too long to read isn't worth its memory.
        kept.tool = kept.tool.filter(|tool| tool.len() <= MAX_NAME);
        kept.session = kept.session.filter(|session| session.len() <= MAX_NAME);
        if bytes > self.budget.call_bytes / 4 {
            // Its result will be shown without the input.
            kept.input = None;
            kept.record = None;
            kept.does = kept.does.filter(|_| !is_made);
            kept.at = None;
            kept.text = Content::None;
            kept.data.retain(|(_, fact)| !matches!(fact, Fact::Node(_) | Fact::Named(..) | Fact::Made(..)));
            bytes = 0;
        }
        self.detach_earlier(&kept);
        self.bytes += bytes;
        self.seen += 1;
        let (id, call) = (kept.id.clone(), OpenCall { item: kept, bytes, turn: self.seen });
        if let Some(before) = self.calls.insert(id, call) {
            self.bytes -= before.bytes;
        }
        if self.calls.len() > self.budget.calls || self.bytes > self.budget.call_bytes {
            self.forget();
        }
    }

    /// If this call is of another batch than the last ones, copies the records of those that have no result yet. A call that is answered
    /// in its own batch needs no copy.
    fn detach_earlier(&mut self, call: &Item) {
        let Some(record) = call.record.as_ref().filter(|record| !record.is_detached()) else { return };
        if self.last.as_ref().is_some_and(|last| last.is_near(record)) {
            return;
        }
        self.last = Some(record.clone());
        self.calls.values_mut().for_each(OpenCall::detach);
    }

    /// Notes that the result of a call has come. The call is forgotten, unless it has started a sub-agent.
    pub(super) fn answer(&mut self, id: &Id) {
        let Some(mut call) = self.calls.swap_remove(id) else { return };
        self.bytes -= call.bytes;
        if call.item.action() != Some(Action::Delegate) {
            return;
        }
        call.detach();
        self.started.push_back(call);
        let Budget { calls, call_bytes, .. } = self.budget;
        let mut bytes: usize = self.started.iter().map(|call| call.bytes).sum();
        while self.started.len() > calls.div_ceil(FEWER_STARTED) || bytes > call_bytes / FEWER_STARTED_BYTES {
            bytes -= self.started.pop_front().map_or(0, |oldest| oldest.bytes);
        }
    }

    /// Forgets the older half of the calls without a result: half at a time, to keep this cheap.
    fn forget(&mut self) {
        self.calls.sort_by_key(|_, call| call.turn);
        let half = self.calls.len().div_ceil(2);
        for (_, call) in self.calls.drain(..half) {
            self.bytes -= call.bytes;
            self.forgotten += 1;
        }
    }

    /// The notice about the calls without a result: it names the first and counts the rest.
    pub(super) fn notice(&mut self, line: u64) -> Item {
        self.calls.sort_by_key(|_, call| call.turn);
        let mut notice = Item::warning("open-calls", "open-calls", line);
        let listed = || self.unanswered().take(LISTED_CALLS);
        let name = |call: &Item| format!("{} {}", call.tool.as_deref().unwrap_or("?"), call.id);
        let names: Vec<String> = listed().map(name).collect();
        let count = self.count();
        notice.text = Content::Own(match count - names.len() as u64 {
            0 => names.join(", "),
            rest => format!("{} and {rest} more", names.join(", ")),
        });
        let ids = listed().map(|call| Fact::Text(call.id.to_string())).collect();
        notice.data.extend([("calls", Fact::List(ids)), ("count", Fact::Int(count.cast_signed()))]);
        notice
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::item::Kind;
    use crate::json::RecordBatch;

    use super::*;

    #[test]
    fn a_call_without_a_result_keeps_only_its_own_record() {
        let mut calls = OpenCalls::new(Budget::default());
        let mut sources = Vec::new();
        for turn in 0..3 {
            let mut batch = RecordBatch::with_capacity(0);
            let span = batch.add(&format!("[{turn}]")).expect("JSON");
            batch.add(r#""a much longer record""#).expect("JSON");
            let batch = Arc::new(batch);
            sources.push(Arc::downgrade(&batch));
            for name in ["open", "answered"] {
                let mut call = Item::new(format!("{name}-{turn}"), Kind::Call, turn);
                call.record = Some(Record::of_batch(&batch, span));
                calls.open(Box::new(call));
            }
            calls.answer(&format!("answered-{turn}").as_str().into());
        }
        let texts: Vec<_> =
            calls.unanswered().filter_map(|call| Some(call.record.as_ref()?.text())).collect();
        assert_eq!(texts, ["[0]", "[1]", "[2]"]);
        let kept: Vec<bool> = sources.iter().map(|batch| batch.upgrade().is_some()).collect();
        assert_eq!(kept, [false, false, true]);
    }
}
