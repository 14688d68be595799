//! Messages: of people, of the agent, of tools, and those that the program writes for the model.

use streamfmt_core::event::{Event, Usage};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status};
use streamfmt_core::json::{Value, ValueKind};

use crate::calls::CallState;
use crate::facts::{echoed, fail, filled, leveled, nodes, result_content, string};
use crate::item_builder::ItemBuilder;
use crate::step_totals::count;

use super::{Pi, TurnFailure, result, tools};

/// Whether a message is of the agent.
pub(super) fn is_of_agent(message: Value<'_>) -> bool {
    message.get("role").and_then(Value::str).is_some_and(|role| role.is("assistant"))
}

/// Returns the id of a message: its time, which is the same in a stream and a session file, and from its start to its end.
pub(super) fn id_of(message: Value<'_>, builder: &mut ItemBuilder<'_>) -> Id {
    let [time, response] = message.get_all(["timestamp", "responseId"]);
    match time.map(|time| (time.int(), time.decode())) {
        Some((Some(time), _)) => Id::from(time.to_string()),
        Some((None, Some(time))) if !time.is_empty() => Id::from(&*time),
        _ => {
            let entry = builder.input.value.get("id");
            builder.id_of(response.or(entry))
        }
    }
}

impl Pi {
    /// Decodes a message of a session file. What its end means for the turn is known only from it: there are no other lines.
    pub(super) fn stored_message(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        if is_of_agent(message)
            && let Some(TurnFailure { notice, .. }) = self.failure.take()
        {
            let mut retry = builder.notice("retry", Content::None);
            retry.data.push(("error", Fact::Text(notice.text().into_owned())));
            builder.put(leveled(retry, "warning"));
        }
        self.message(message, builder);
        let stop = message.get("stopReason").and_then(Value::decode);
        let is_end = stop.as_deref().is_some_and(|stop| stop != "toolUse");
        if is_of_agent(message) && is_end {
            self.turn_ended(builder);
        }
    }

    /// Decodes a whole message.
    pub(super) fn message(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [role, time, content] = message.get_all(["role", "timestamp", "content"]);
        builder.at = time.map(Value::node).or(builder.at);
        let at = time.and_then(Value::int);
        let role = role.and_then(Value::decode).unwrap_or_default();
        if &*role != "user" {
            self.note_time(at);
        }
        match &*role {
            "user" => {
                self.fail(builder.out);
                self.note_time(at);
                self.has_begun = true;
                let id = format!("user-{}", id_of(message, builder));
                let mut prompt = builder.item(id, Kind::Prompt);
                result_content(&mut prompt, content);
                builder.put(prompt);
            }
            "assistant" => self.reply(message, content, builder),
            "toolResult" => self.tool_result(message, content, builder),
            "bashExecution" | "pythonExecution" => Self::shell(message, builder),
            "custom" | "hookMessage" => Self::custom(message, builder),
            "branchSummary" | "compactionSummary" => match filled(message.get("summary")) {
                None => builder.bookkeeping("summary"),
                summary => builder.put_minor("summary", string(summary), |_| {}),
            },
            "developer" | "fileMention" | "system" => {
                let mut notice = builder.notice("attachment", Content::None);
                result_content(&mut notice, content);
                notice.data.push(("type", Fact::Text(role.into_owned())));
                let value = content.is_none().then_some(("value", Fact::Node(message.node())));
                notice.data.extend(value);
                builder.put(crate::facts::minor(notice));
            }
            _ => builder.unknown(format!("message/{role}"), message),
        }
    }

    fn note_time(&mut self, at: Option<i64>) {
        self.totals.begin(at);
        self.last_time = at.or(self.last_time);
    }

    /// Emits the parts of a reply, and notes its tokens and its end.
    fn reply(&mut self, message: Value<'_>, content: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let [model, usage, stop, error] = message.get_all(["model", "usage", "stopReason", "errorMessage"]);
        self.set_model(model, builder);
        self.has_begun = true;
        let id = id_of(message, builder);
        let blocks = content.filter(|content| content.kind() == ValueKind::Array);
        for (place, block) in blocks.into_iter().flat_map(Value::items).enumerate() {
            self.block(&id, place, block, builder);
        }
        if blocks.is_none()
            && let Some(text) = filled(content)
        {
            let mut reply = builder.item(Id::below(id.as_str(), "0"), Kind::Reply);
            reply.text = string(Some(text));
            builder.put(reply);
        }
        if let Some(usage) = usage.filter(|usage| usage.kind() == ValueKind::Object) {
            let [input, output, read, write, cost] =
                usage.get_all(["input", "output", "cacheRead", "cacheWrite", "cost"]);
            let tokens = Usage {
                input: count(input),
                output: count(output),
                cache_read: count(read),
                cache_write: count(write),
            };
            builder.emit_usage(id, tokens);
            let cost = cost.and_then(|cost| cost.get("total").unwrap_or(cost).float());
            builder.out.extend(cost.map(Event::Cost));
            self.totals.add(tokens, cost);
        }
        self.last_stop = None;
        match stop.and_then(Value::decode).as_deref() {
            Some("error") => {
                let notice = builder.notice("error", string(filled(error)));
                let notice = Box::new(leveled(notice, "error"));
                self.failure = Some(TurnFailure { notice, outcome: None });
            }
            Some("aborted") => {
                let notice = leveled(builder.notice("interrupt", Content::None), "warning");
                builder.put(notice);
                self.last_stop = Some("aborted".to_owned());
            }
            Some("stop" | "toolUse") | None => {}
            Some(stop) => self.last_stop = Some(stop.to_owned()),
        }
    }

    fn block(&mut self, message: &Id, place: usize, block: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, text, thought, id, name, input, redacted] =
            block.get_all(["type", "text", "thinking", "id", "name", "arguments", "redacted"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        let part = Id::below(message.as_str(), &place.to_string());
        match &*kind {
            "text" if text.is_some() => {
                let mut reply = builder.item(part, Kind::Reply);
                reply.text = string(text);
                if reply.is_blank() {
                    return builder.bookkeeping("empty text");
                }
                builder.put(reply);
            }
            "thinking" if thought.is_some() => {
                let mut thinking = builder.item(part, Kind::Thinking);
                thinking.text = string(thought);
                if redacted.and_then(Value::bool) == Some(true) {
                    thinking.data.push(("redacted", Fact::Bool(true)));
                } else if thinking.is_blank() {
                    return builder.bookkeeping("empty thinking");
                }
                builder.put_thought(thinking);
            }
            "toolCall" => {
                let id = id.and_then(Value::decode).filter(|id| !id.is_empty()).map(|id| Id::from(&*id));
                let name = name.and_then(Value::decode).unwrap_or_default();
                self.call(id.unwrap_or(part), &name, input, builder);
            }
            "image" => {
                let mut reply = builder.item(part, Kind::Notice);
                reply.data.push(("event", Fact::Text("attachment".to_owned())));
                reply.data.push(("images", Fact::List(vec![crate::facts::image(block)])));
                builder.put(reply);
            }
            _ => builder.unknown(format!("block/{kind}"), block),
        }
    }

    /// Emits a call.
    pub(super) fn call(
        &mut self,
        id: Id,
        name: &str,
        input: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let mut call = builder.item(id, Kind::Call);
        call.input = input.filter(|input| !input.is_null()).map(Value::node);
        tools::set(&mut call, name);
        self.calls.add(&call);
        builder.put(call);
    }

    fn tool_result(&mut self, message: Value<'_>, content: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let [call, name, details, is_error] =
            message.get_all(["toolCallId", "toolName", "details", "isError"]);
        let call = builder.id_of(call);
        if matches!(self.calls.get(&call), Some(CallState::Answered)) {
            return builder.bookkeeping("toolResult");
        }
        let mut answer = result::of_call(&call, &self.calls, builder);
        if let (None, Some(name)) = (&answer.tool, name.and_then(Value::decode)) {
            tools::set(&mut answer, &name);
            answer.does = None;
        }
        result::fill(content, details, is_error.and_then(Value::bool) == Some(true), &mut answer);
        self.calls.mark_answered(&call);
        self.ended.retain(|(id, _)| *id != answer.id);
        builder.put(answer);
    }

    /// Emits a command that a person ran, and its output.
    fn shell(message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [command, code, output, exit, cancelled] =
            message.get_all(["command", "code", "output", "exitCode", "cancelled"]);
        let input = builder.notice("shell-input", string(filled(command.or(code))));
        builder.put(input);
        let mut notice = builder.notice("shell-output", string(filled(output)));
        if exit.and_then(Value::int).is_some_and(|exit| exit != 0) {
            fail(&mut notice);
        }
        if cancelled.and_then(Value::bool) == Some(true) {
            notice.status = Status::Cancelled;
        }
        if matches!(notice.text, Content::None) && !notice.error {
            return builder.put(echoed(notice));
        }
        notice.data.extend(nodes([("exit", exit.filter(|exit| exit.int() != Some(0)))]));
        builder.put(notice);
    }
}

/// Returns the text of an item's content, if it is a single string of the record.
pub(super) fn sole_text(item: &Item) -> Option<u32> {
    match &item.text {
        Content::Node(node) => Some(*node),
        Content::Parts(nodes) => nodes.first().copied().filter(|_| nodes.len() == 1),
        _ => None,
    }
}
