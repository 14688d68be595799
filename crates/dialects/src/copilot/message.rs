//! Messages: prompts, and what a model call wrote, in pieces and as a whole.

use super::{Copilot, tools};
use crate::calls::{CallState, points};
use crate::facts::{filled, image, minor, push_list, string};
use crate::item_builder::ItemBuilder;
use crate::tool::add_server;
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Does, Id, Kind, ToolKind};
use streamfmt_core::json::{Record, Value, ValueKind};

/// A complete thought, which another line repeats.
pub(super) struct CompleteThought {
    record: Record,
    node: u32,
    /// Whether it came with its message: then a line of its own repeats it. Otherwise the message does.
    is_of_message: bool,
}

impl CompleteThought {
    /// Whether the thought contains a text.
    fn has(&self, text: Value<'_>) -> bool {
        let own = self.record.value(self.node).decode().unwrap_or_default();
        text.decode().is_some_and(|text| own.contains(text.trim()))
    }
}

/// Returns the key of the agent whose line it is.
fn agent_of(builder: &ItemBuilder<'_>) -> u64 {
    builder.parent.as_ref().map_or(0, Id::hash)
}

impl Copilot {
    /// Emits a prompt. The program writes some itself, such as the text of a skill.
    pub(super) fn prompt(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [content, id, source, files] = data.get_all(["content", "messageId", "source", "attachments"]);
        if matches!(string(content), Content::None) {
            return builder.unknown("user.message".into(), data);
        }
        let source = source.and_then(Value::decode).unwrap_or_default();
        let is_written = source.is_empty() || source == "user" || builder.parent.is_some();
        let mut item = if is_written {
            let id = builder.id_of(id);
            builder.item(id, Kind::Prompt)
        } else {
            minor(builder.notice("reminder", string(content)))
        };
        item.text = string(content);
        push_list(&mut item, "images", files.into_iter().flat_map(Value::items).map(image).collect());
        builder.put(item);
    }

    /// Opens a reply or a thought, or appends to it.
    pub(super) fn text_piece(&mut self, kind: Kind, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [message, reasoning, piece] = data.get_all(["messageId", "reasoningId", "deltaContent"]);
        let Some(id) = filled(message.or(reasoning)).and_then(Value::decode) else {
            return builder.unknown("delta".into(), data);
        };
        let item = builder.item(&*id, kind);
        self.append(item, piece, builder);
    }

    /// Opens a call, or appends to its input.
    pub(super) fn input_piece(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, name, piece] = data.get_all(["toolCallId", "toolName", "inputDelta"]);
        let Some(id) = filled(id).and_then(Value::decode) else {
            return builder.unknown("delta".into(), data);
        };
        let mut call = builder.item(&*id, Kind::Call);
        let name = name.and_then(Value::decode).unwrap_or_default();
        tools::of(&name).apply_to(&mut call);
        call.tool = Some(name.into());
        self.append(call, piece, builder);
    }

    /// Emits the items of a complete message: its thought, its text, its calls.
    pub(super) fn message(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, thought, content, calls] =
            data.get_all(["messageId", "reasoningText", "content", "toolRequests"]);
        let is_odd = |value: Option<Value<'_>>, kind| {
            value.is_some_and(|value| value.kind() != kind && !value.is_null())
        };
        if is_odd(content, ValueKind::String) || is_odd(calls, ValueKind::Array) {
            return builder.unknown("assistant.message".into(), data);
        }
        let id = builder.id_of(id);
        if let Some(thought) = filled(thought) {
            self.thought_of_message(&id, thought, builder);
        }
        if let Some(content) = filled(content) {
            let mut reply = builder.item(id.clone(), Kind::Reply);
            reply.text = string(Some(content));
            builder.put(reply);
        } else if self.open.iter().any(|(.., open)| *open == id) {
            builder.emit(Event::Drop(id.clone()));
        }
        self.complete(&id);
        for call in calls.into_iter().flat_map(Value::items) {
            self.call(call, call.get("name"), builder);
        }
    }

    /// Emits the thought of a message, unless a line before the message had it. A streamed one has an id of its own.
    fn thought_of_message(&mut self, message: &Id, thought: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let known = self.thoughts.get(agent_of(builder));
        if known.is_some_and(|known| !known.is_of_message && known.has(thought)) {
            self.remember(thought, true, builder);
            return builder.bookkeeping("reasoningText");
        }
        let parent = builder.parent.clone();
        let is_streamed = |(kind, of, _): &(Kind, Option<Id>, Id)| *kind == Kind::Thinking && *of == parent;
        let mut streamed = self.open.extract_if(.., |open| is_streamed(open)).map(|(.., id)| id);
        let id = streamed.next().unwrap_or_else(|| Id::below(message.as_str(), "thinking"));
        // The message has all of its thoughts in one text.
        builder.out.extend(streamed.map(Event::Drop));
        let mut item = builder.item(id, Kind::Thinking);
        item.text = string(Some(thought));
        builder.put_thought(item);
        self.remember(thought, true, builder);
    }

    /// Emits a complete thought, unless its message had it.
    pub(super) fn thought(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, content] = data.get_all(["reasoningId", "content"]);
        let id = builder.id_of(id);
        let is_open = self.open.iter().any(|(.., open)| *open == id);
        self.complete(&id);
        let known = self.thoughts.get(agent_of(builder));
        let Some(content) = filled(content)
            .filter(|content| !known.is_some_and(|known| known.is_of_message && known.has(*content)))
        else {
            if is_open {
                builder.emit(Event::Drop(id));
            }
            return builder.bookkeeping("assistant.reasoning");
        };
        let mut item = builder.item(id, Kind::Thinking);
        item.text = string(Some(content));
        builder.put_thought(item);
        self.remember(content, false, builder);
    }

    fn remember(&mut self, thought: Value<'_>, is_of_message: bool, builder: &ItemBuilder<'_>) {
        let complete = || CompleteThought {
            record: builder.input.record.detached(),
            node: thought.node(),
            is_of_message,
        };
        let agent = agent_of(builder);
        match self.thoughts.get_mut(agent) {
            Some(known) => *known = complete(),
            None => {
                self.thoughts.add(agent, complete);
            }
        }
    }

    /// Emits a call, with its to-do list, unless it is already known.
    pub(super) fn call(&mut self, value: Value<'_>, name: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let [id, arguments, server, tool] =
            value.get_all(["toolCallId", "arguments", "mcpServerName", "mcpToolName"]);
        let id = builder.id_of(id);
        if self.calls.get(&id).is_some() {
            return;
        }
        let mut call = builder.item(id, Kind::Call);
        let name = name.and_then(Value::decode).unwrap_or_default();
        tools::of(&name).apply_to(&mut call);
        call.tool = Some((&*name).into());
        if let [Some(server), Some(tool)] = [server, tool].map(|name| name.and_then(Value::decode)) {
            call.tool_kind = Some(ToolKind::Mcp);
            call.does = Some(Does::Input(&[]));
            add_server(&mut call, Some((&server, &tool)));
        }
        if let Some(input) = arguments.filter(|input| !input.is_null()) {
            // Some versions write the input as JSON in a string.
            let record = builder.input.record.unpacked(input.node());
            let record = record.unwrap_or_else(|| builder.input.record.clone());
            let event = record.value(builder.input.value.node());
            call.at = call.at.and(event.get("timestamp")).map(Value::node);
            call.input = Some(input.node());
            let made = tools::made(&name, record.value(input.node()));
            if let Some(facts) = made.filter(|_| call.tool_kind != Some(ToolKind::Mcp)) {
                call.does = Some(Does::Facts { facts: facts.into(), of: input.node() });
            }
            call.record = Some(record.clone());
        }
        self.calls.add(&call);
        self.complete(&call.id);
        let plan = points(&call).map(|points| {
            let mut plan = builder.item(Id::below(call.id.as_str(), "plan"), Kind::Plan);
            plan.data.push(("todos", points));
            plan
        });
        builder.put(call);
        if let Some(plan) = plan {
            builder.put(plan);
        }
    }

    /// Handles the start of a call, which its message had already, unless the message is missing.
    pub(super) fn call_started(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let id = builder.id_of(data.get("toolCallId"));
        if matches!(self.calls.get(&id), Some(CallState::Awaited(..) | CallState::Answered)) {
            return builder.bookkeeping("tool.execution_start");
        }
        self.call(data, data.get("toolName"), builder);
    }
}
