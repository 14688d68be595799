//! The stream of `codex exec --json`.
//!
//! No line has a time. Items are whole states: an item that was started, comes again when it is updated or completed. One
//! that was started need not complete, even if its turn does: quick commands of 0.120, and whatever ran when the turn was
//! interrupted. That is never taken for success.

use crate::fact;
use crate::facts::{leveled, string};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status};
use streamfmt_core::json::{self, Value};

use super::call::{self, CallSource};
use super::{Codex, ItemBuilder, errors, result, tokens};

/// Lists of things to do that may be open at the same time.
const MAX_OPEN: usize = 64;

/// What is remembered of a stream.
#[derive(Default)]
pub(super) struct Stream {
    /// Threads that were started. The ids of items begin anew in each run.
    runs: u64,
    /// Lists of things to do that are open.
    open: Vec<Id>,
}

/// Where an item is in its life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Started,
    Updated,
    Completed,
}

impl Codex {
    /// A line of the stream.
    pub(super) fn stream(&mut self, kind: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let phase = match kind {
            "thread.started" => return self.thread(builder),
            "turn.started" => return builder.bookkeeping("turn.started"),
            "turn.completed" | "turn.failed" => return self.turn_ended(kind == "turn.failed", builder),
            "error" => return errors::notice(value.get("message"), builder),
            "item.started" => Phase::Started,
            "item.updated" => Phase::Updated,
            "item.completed" => Phase::Completed,
            _ => return builder.unknown(kind.to_owned(), value),
        };
        match value.get("item").filter(|item| item.kind() == json::ValueKind::Object) {
            Some(item) => {
                if phase != Phase::Completed {
                    // What follows tells all of it again.
                    builder.bookkeeping(kind.to_owned());
                }
                self.item(phase, item, builder);
            }
            None => builder.unknown(kind.to_owned(), value),
        }
    }

    fn thread(&mut self, builder: &mut ItemBuilder<'_>) {
        self.close_open(builder.out);
        self.stream.runs += 1;
        self.begin(builder.input.value.get("thread_id"), builder);
        builder.facts(self.facts());
        let notice = builder.notice("session", Content::None);
        builder.put(notice);
    }

    fn turn_ended(&mut self, has_failed: bool, builder: &mut ItemBuilder<'_>) {
        self.close_open(builder.out);
        let [usage, error] = builder.input.value.get_all(["usage", "error"]);
        let mut outcome = builder.outcome();
        if has_failed {
            result::fail(&mut outcome);
            let message = error.map(|error| error.get("message").unwrap_or(error));
            outcome.text = string(message);
            if let (Content::None, Some(odd)) = (&outcome.text, error) {
                outcome.data.push(("more", Fact::List(vec![Fact::Node(odd.node())])));
            }
        }
        if let Some(usage) = usage.filter(|usage| usage.kind() == json::ValueKind::Object) {
            outcome.data.extend(tokens::fact(self.count(usage, builder.out)));
        }
        self.settle(&mut outcome);
        builder.put(outcome);
    }

    /// The id of an item. Web searches have two: the first is the item's own.
    fn id_of(&self, item: Value<'_>, builder: &mut ItemBuilder<'_>) -> Id {
        let first = item.entries().find(|(key, _)| key.is("id")).and_then(|(_, id)| id.decode());
        match first.filter(|id| !id.is_empty()) {
            None => builder.unnamed(),
            Some(id) if self.stream.runs > 1 => Id::below(&format!("run-{}", self.stream.runs), &id),
            Some(id) => Id::from(&*id),
        }
    }

    fn item(&mut self, phase: Phase, value: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let id = self.id_of(value, builder);
        let kind = value.get("type").and_then(Value::decode).unwrap_or_default();
        let item = match &*kind {
            "agent_message" => said(Kind::Reply, value.get("text"), id, builder),
            "reasoning" => said(Kind::Thinking, value.get("text"), id, builder),
            "todo_list" => value.get("items").map(|items| plan(items, id, builder)),
            "error" => said(Kind::Notice, value.get("message"), id, builder).map(|mut warning| {
                warning.data.push(("event", Fact::Text("warning".into())));
                leveled(warning, "warning")
            }),
            _ => {
                if let Some(source) = CallSource::of_item(&kind) {
                    return self.call(phase, source, value, &id, builder);
                }
                Some(builder.unknown_item(id, format!("item/{kind}"), value))
            }
        };
        let Some(item) = item.map(Box::new) else {
            return builder.unknown(format!("item/{kind}"), value);
        };
        if item.kind == Kind::Plan {
            if let Some(open) = self.stream.open.iter().position(|open| *open == item.id) {
                self.stream.open.remove(open);
                // Its end is told by that of the turn, too.
                builder.bookkeeping("todo_list");
            }
            if phase != Phase::Completed && self.stream.open.len() < MAX_OPEN {
                self.stream.open.push(item.id.clone());
            }
        }
        builder.emit(match phase {
            Phase::Started => Event::Open(item),
            Phase::Updated => Event::Amend(item),
            Phase::Completed => Event::Put(item),
        });
    }

    fn call(
        &mut self,
        phase: Phase,
        source: CallSource,
        value: Value<'_>,
        id: &Id,
        builder: &mut ItemBuilder<'_>,
    ) {
        let is_known = self.calls.get(id).is_some();
        // What is looked for on the web is known only at the end.
        let is_whole = phase == Phase::Completed || source != CallSource::Web;
        if !is_known || source == CallSource::Web {
            let call = call::of_item(source, value, id.clone(), builder);
            self.calls.made(&call);
            builder.emit(if is_whole { Event::Put(Box::new(call)) } else { Event::Open(Box::new(call)) });
        }
        let mut answer = result::of_call(id, &self.calls, builder);
        result::of_item(source, value, &mut answer);
        match phase {
            Phase::Completed => {
                self.calls.answered(id);
                builder.put(answer);
            }
            Phase::Updated if result::has_text(&answer) => builder.emit(Event::Amend(Box::new(answer))),
            _ => {}
        }
    }

    /// Ends lists that nothing will end any more.
    fn close_open(&mut self, out: &mut Vec<Event>) {
        let open = self.stream.open.drain(..);
        out.extend(open.map(|id| Event::Close { id, status: Status::Cancelled }));
    }
}

/// An item that is told by its text.
fn said(kind: Kind, text: Option<Value<'_>>, id: Id, builder: &ItemBuilder<'_>) -> Option<Item> {
    text?.str()?;
    let mut item = builder.item(id, kind);
    item.text = string(text);
    Some(item)
}

/// A list of things to do.
pub(super) fn plan(points: Value<'_>, id: Id, builder: &ItemBuilder<'_>) -> Item {
    let mut item = builder.item(id, Kind::Plan);
    item.data.push(fact("todos", points.node()));
    item
}
