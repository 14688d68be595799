//! The calls that wait for a person.

use crate::bounded::Bounded;
use crate::item::{Fact, FactRef, Id, Item, Kind, WAITED, Waiting, WaitsFor};

/// The most calls that are known to wait. A person answers one after the other.
const MAX_WAITS: usize = 256;
/// The longest name of a tool that is remembered, in bytes.
const MAX_NAME: usize = 1_024;

/// The calls that wait for a person. If there are too many, the older ones are forgotten.
#[derive(Debug, Default)]
pub(super) struct Waits(Bounded<Id, CallWait>);

/// The wait of a call.
#[derive(Debug)]
struct CallWait {
    waiting: Waiting,
    /// The name of the tool, for the notice at the end.
    tool: Option<String>,
    /// The call that it is inside of.
    parent: Option<Id>,
}

impl Waits {
    /// Whether no call waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a call waits for, if it does.
    pub(super) fn get(&self, call: &Id) -> Option<Waiting> {
        self.0.get(call).map(|waits| waits.waiting)
    }

    /// The calls that wait, the longest first.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Id, Waiting)> {
        self.0.iter().map(|(call, waits)| (call, waits.waiting))
    }

    /// The calls that no longer wait once this item comes: the call of a result, or all calls beside an outcome or an interruption.
    pub(super) fn ended_by(&self, item: &Item) -> Vec<Id> {
        let is_ended = |call: &Id, waits: &CallWait| match item.kind {
            Kind::Result => item.call.as_ref() == Some(call),
            Kind::Outcome => item.parent == waits.parent,
            Kind::Notice => item.is_event("interrupt") && item.parent == waits.parent,
            _ => false,
        };
        let ended = self.0.iter().filter(|(call, waits)| is_ended(call, waits));
        ended.map(|(call, _)| call.clone()).collect()
    }

    /// Notes that a call begins to wait. `parent`: the call that it is inside of.
    pub(super) fn begin(&mut self, call: Id, notice: &Item, parent: Option<Id>) {
        let text = |name| notice.fact(name).and_then(FactRef::str);
        let waits_for: Option<WaitsFor> = text("for").and_then(|name| name.parse().ok());
        let waiting = Waiting { waits_for: waits_for.unwrap_or_default(), since: notice.at() };
        let tool = text("tool").filter(|tool| tool.len() <= MAX_NAME).map(Into::into);
        self.0.add(call, CallWait { waiting, tool, parent }, MAX_WAITS);
    }

    /// Notes that a call no longer waits. Returns whether it did.
    pub(super) fn end(&mut self, call: &Id) -> bool {
        self.0.shift_remove(call).is_some()
    }

    /// Removes and returns the calls that wait.
    pub(super) fn take(&mut self) -> Vec<Id> {
        self.0.drain(..).map(|(call, _)| call).collect()
    }

    /// The notice that a call no longer waits, since `item` ends that.
    pub(super) fn end_notice(&self, call: &Id, item: &Item) -> Item {
        let mut notice = Item::new(Id::below(call.as_str(), WAITED), Kind::Notice, item.line);
        (notice.session, notice.record, notice.at) = (item.session.clone(), item.record.clone(), item.at);
        let text = |text: &str| Fact::Text(text.to_owned());
        notice.data.extend([("event", text(WAITED)), ("minor", Fact::Bool(true))]);
        notice.data.push(("call", text(call.as_str())));
        if let Some(waits) = self.0.get(call) {
            notice.parent.clone_from(&waits.parent);
            notice.data.push(("for", text(waits.waiting.waits_for.name())));
            notice.data.extend(waits.tool.as_deref().map(|tool| ("tool", text(tool))));
        }
        notice
    }
}
