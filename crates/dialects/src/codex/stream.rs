//! The stream of `codex exec --json`.
//!
//! Versions around 0.43 begin with `session.created` instead of `thread.started`, and have `item_type` instead of an item's `type`.
//!
//! Lines have no timestamp. Each line about an item has its complete state, so an item that was started is repeated when it is updated or
//! completed. An item may never complete although its turn does: quick commands in 0.120, and items that were running when the turn was
//! interrupted. Such an item never counts as successful.

use crate::fact;
use crate::facts::{leveled, string};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status};
use streamfmt_core::json::{self, Value};

use super::call::{self, CallSource};
use super::{Codex, ItemBuilder, errors, result, tokens};

/// The most to-do lists that are open at the same time.
const MAX_OPEN: usize = 64;

/// The state of a stream.
#[derive(Default)]
pub(super) struct Stream {
    /// The number of threads that were started. The ids of items start over with each.
    runs: u64,
    /// The to-do lists that are open.
    open: Vec<Id>,
}

/// The phase of an item, from the type of its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Started,
    Updated,
    Completed,
}

impl Codex {
    /// Decodes a line of the stream.
    pub(super) fn stream(&mut self, kind: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let phase = match kind {
            "thread.started" | "session.created" => return self.thread(builder),
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
                    // A later line repeats all of it.
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
        let [thread, older] = builder.input.value.get_all(["thread_id", "session_id"]);
        self.begin(thread.or(older), builder);
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
            outcome.data.extend(tokens::fact(self.count(usage, builder)));
        }
        self.settle(&mut outcome);
        builder.put(outcome);
    }

    /// Returns the id of an item. Web searches have two fields `id`: the first is the item's.
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
        let [kind, older] = value.get_all(["type", "item_type"]);
        let kind = kind.or(older).and_then(Value::decode).unwrap_or_default();
        let item = match &*kind {
            "agent_message" | "assistant_message" => text_item(Kind::Reply, value.get("text"), id, builder),
            "reasoning" => text_item(Kind::Thinking, value.get("text"), id, builder),
            "todo_list" => value.get("items").map(|items| plan(items, id, builder)),
            "error" => text_item(Kind::Notice, value.get("message"), id, builder).map(|mut warning| {
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
                // The end of the turn repeats the end of the list.
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
        // The query of a web search is known only at the end.
        let is_whole = phase == Phase::Completed || source != CallSource::Web;
        if !is_known || source == CallSource::Web {
            let call = call::of_item(source, value, id.clone(), builder);
            self.calls.add(&call);
            builder.emit(if is_whole { Event::Put(Box::new(call)) } else { Event::Open(Box::new(call)) });
        }
        let mut answer = result::of_call(id, &self.calls, builder);
        result::of_item(source, value, &mut answer);
        match phase {
            Phase::Completed => {
                self.calls.mark_answered(id);
                builder.put(answer);
            }
            Phase::Updated if result::has_text(&answer) => builder.emit(Event::Amend(Box::new(answer))),
            _ => {}
        }
    }

    /// Closes to-do lists that no line will close.
    fn close_open(&mut self, out: &mut Vec<Event>) {
        let open = self.stream.open.drain(..);
        out.extend(open.map(|id| Event::Close { id, status: Status::Cancelled }));
    }
}

/// Returns an item of this kind with this text, or `None` if the text is no string.
fn text_item(kind: Kind, text: Option<Value<'_>>, id: Id, builder: &ItemBuilder<'_>) -> Option<Item> {
    text?.str()?;
    let mut item = builder.item(id, kind);
    item.text = string(text);
    Some(item)
}

/// Returns the item for a to-do list.
pub(super) fn plan(points: Value<'_>, id: Id, builder: &ItemBuilder<'_>) -> Item {
    let mut item = builder.item(id, Kind::Plan);
    item.data.push(fact("todos", points.node()));
    item
}
