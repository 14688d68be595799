//! Messages and results while they grow. Each line repeats the message so far, of which only the new piece is read.

use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Kind, Status};
use streamfmt_core::json::Value;

use crate::item_builder::ItemBuilder;

use super::{Pi, messages, result, tools};

/// The most parts of a message that grow at the same time.
const MAX_PARTS: usize = 64;
/// The most results whose messages haven't come yet.
const MAX_ENDED: usize = 256;

/// A message that is being written.
pub(super) struct GrowingMessage {
    id: Id,
    /// The parts that have begun: the place of each in the message, and its item.
    parts: Vec<(i64, Id)>,
}

impl Pi {
    /// Decodes the line at the start of a message.
    pub(super) fn message_started(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        builder.bookkeeping("message_start");
        if messages::is_of_agent(message) {
            self.cut_off(builder.out);
            let id = messages::id_of(message, builder);
            self.growing = Some(GrowingMessage { id, parts: Vec::new() });
        }
    }

    /// Closes the parts that the complete message doesn't have.
    pub(super) fn cut_off(&mut self, out: &mut Vec<Event>) {
        let parts = self.growing.take().into_iter().flat_map(|message| message.parts);
        out.extend(parts.map(|(_, id)| Event::Close { id, status: Status::Cancelled }));
    }

    /// Decodes a piece of a message.
    pub(super) fn message_grows(&mut self, message: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        builder.bookkeeping("message_update");
        let Some(event) = builder.input.value.get("assistantMessageEvent") else { return };
        let [kind, place, delta, partial] = event.get_all(["type", "contentIndex", "delta", "partial"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        let (Some((part, step)), Some(place)) = (kind.split_once('_'), place.and_then(Value::int)) else {
            return;
        };
        let so_far = partial.or(message);
        if self.growing.is_none() {
            let Some(so_far) = so_far else { return };
            let id = messages::id_of(so_far, builder);
            self.growing = Some(GrowingMessage { id, parts: Vec::new() });
        }
        let Some(growing) = &mut self.growing else { return };
        let known = growing.parts.iter().find(|(known, _)| *known == place).map(|(_, id)| id.clone());
        if matches!(step, "start" | "delta") && known.is_none() && growing.parts.len() < MAX_PARTS {
            builder.at = so_far.and_then(|message| message.get("timestamp")).map(Value::node);
            let kind = match part {
                "text" => Kind::Reply,
                "thinking" => Kind::Thinking,
                "toolcall" => Kind::Call,
                _ => return,
            };
            let mut item = builder.item(Id::below(growing.id.as_str(), &place.to_string()), kind);
            if kind == Kind::Call {
                let blocks = so_far.and_then(|message| message.get("content")).map(Value::items);
                let block = usize::try_from(place).ok().and_then(|place| blocks?.nth(place));
                let [id, name] = block.map_or([None; 2], |block| block.get_all(["id", "name"]));
                // Without its id it can't become one item with the complete call.
                let Some(id) = id.and_then(Value::decode).filter(|id| !id.is_empty()) else { return };
                item.id = Id::from(&*id);
                tools::set(&mut item, &name.and_then(Value::decode).unwrap_or_default());
            }
            growing.parts.push((place, item.id.clone()));
            builder.emit(Event::Open(Box::new(item)));
        }
        let id = growing.parts.iter().find(|(known, _)| *known == place).map(|(_, id)| id.clone());
        if let ("delta", Some(id), Some(delta)) = (step, id, delta.and_then(Value::decode)) {
            builder.emit(Event::Append { id, text: delta.into_owned() });
        }
    }

    /// Decodes the complete message.
    pub(super) fn message_ended(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let first = builder.out.len();
        self.message(message, builder);
        if messages::is_of_agent(message) {
            let put: Vec<u64> = builder.out[first..]
                .iter()
                .filter_map(|event| match event {
                    Event::Put(item) | Event::Hidden(item) => Some(item.id.hash()),
                    _ => None,
                })
                .collect();
            if let Some(growing) = &mut self.growing {
                growing.parts.retain(|(_, id)| !put.contains(&id.hash()));
            }
            self.cut_off(builder.out);
        }
    }

    /// Decodes a line about the execution of a call. Its result becomes complete with its message.
    pub(super) fn execution(&mut self, kind: &str, builder: &mut ItemBuilder<'_>) {
        let [id, name, input, partial, whole, is_error] = builder.input.value.get_all([
            "toolCallId",
            "toolName",
            "args",
            "partialResult",
            "result",
            "isError",
        ]);
        let id = builder.id_of(id);
        builder.bookkeeping(kind.to_owned());
        if self.calls.get(&id).is_none() {
            let name = name.and_then(Value::decode).unwrap_or_default();
            self.call(id.clone(), &name, input, builder);
        }
        if !self.calls.awaits(&id) {
            return;
        }
        let Some(state) = whole.or(partial) else { return };
        let mut answer = result::of_call(&id, &self.calls, builder);
        let [content, details] = state.get_all(["content", "details"]);
        result::fill(content, details, is_error.and_then(Value::bool) == Some(true), &mut answer);
        if whole.is_none() && matches!(answer.text, Content::None) {
            return;
        }
        if whole.is_some() {
            let status = answer.status;
            if self.ended.len() >= MAX_ENDED {
                let (id, status) = self.ended.remove(0);
                builder.emit(Event::Close { id, status });
            }
            self.ended.push((answer.id.clone(), status));
        } else {
            answer.data.retain(|(name, _): &(&'static str, Fact)| *name != "exit");
        }
        builder.emit(Event::Amend(Box::new(answer)));
    }
}
