//! The documents of a stored session: its messages, and its facts.

use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Fact, Id, Kind};
use streamfmt_core::json::{Record, Value};
use streamfmt_core::text::Text;

use crate::calls::CallState;
use crate::facts::{fail, filled, image, leveled, nodes, string};
use crate::item_builder::ItemBuilder;

use super::stream::{figures, part_id};
use super::{Cline, result, tokens_of, wrapped};

impl Cline {
    /// Decodes the messages of a session.
    pub(super) fn messages(&mut self, messages: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, origin] = builder.input.value.get_all(["sessionId", "origin"]);
        self.begin(id, builder);
        let [version, parent] =
            origin.map_or([None; 2], |origin| origin.get_all(["version", "parentThreadId"]));
        builder.facts(Facts { version: text(version), ..Facts::default() });
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("version", version), ("parent", filled(parent))]));
        builder.put(notice);
        for message in messages.items() {
            self.message(message, builder);
        }
    }

    fn message(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, role, content, time, model, metrics, metadata] =
            message.get_all(["id", "role", "content", "ts", "modelInfo", "metrics", "metadata"]);
        let id = builder.id_of(id);
        builder.at = time.map(Value::node);
        let is_person = role.and_then(Value::str).is_some_and(|role| role.is("user"));
        let shown_as = metadata.and_then(|data| data.get("displayRole")).and_then(Value::decode);
        let name = model.and_then(|model| model.get("id"));
        if name.is_some() {
            builder.facts(Facts { model: text(name), ..Facts::default() });
        }
        if let Some(text) = filled(content) {
            self.text(&part_id(&id, 0), is_person, shown_as.as_deref(), text, builder);
        }
        for (place, block) in content.into_iter().flat_map(Value::items).enumerate() {
            let part = part_id(&id, place);
            self.stored_block(&part, is_person, shown_as.as_deref(), block, builder);
        }
        if let Some(metrics) = metrics {
            builder.emit(Event::Usage { message: id, usage: tokens_of(metrics) });
        }
    }

    fn stored_block(
        &mut self,
        part: &Id,
        is_person: bool,
        shown_as: Option<&str>,
        block: Value<'_>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [kind, text, thought, id, name, input, call] =
            block.get_all(["type", "text", "thinking", "id", "name", "input", "tool_use_id"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        match &*kind {
            "text" => match filled(text) {
                Some(text) => self.text(part, is_person, shown_as, text, builder),
                None => builder.bookkeeping("empty text"),
            },
            "thinking" => match filled(thought) {
                Some(thought) => {
                    let mut item = builder.item(part.clone(), Kind::Thinking);
                    item.text = string(Some(thought));
                    builder.put_thought(item);
                }
                None => builder.bookkeeping("empty thinking"),
            },
            "redacted_thinking" => {
                let mut item = builder.item(part.clone(), Kind::Thinking);
                item.data.push(("redacted", Fact::Bool(true)));
                builder.put_thought(item);
            }
            "tool_use" => {
                let id = id.and_then(Value::decode).filter(|id| !id.is_empty());
                let id = id.map_or_else(|| part.clone(), |id| Id::from(&*id));
                let name = name.and_then(Value::decode).unwrap_or_default();
                self.call(id, &name, input, builder);
            }
            "tool_result" => self.stored_result(call, block, builder),
            "image" | "document" => {
                let mut item = builder.item(part.clone(), Kind::Prompt);
                item.data.push(("images", Fact::List(vec![image(block)])));
                builder.put(item);
            }
            _ => builder.unknown(format!("block/{kind}"), block),
        }
    }

    /// Emits a text: a prompt, a reply, or what the program shows.
    fn text(
        &mut self,
        part: &Id,
        is_person: bool,
        shown_as: Option<&str>,
        text: Value<'_>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let content = string(Some(text));
        match shown_as {
            Some("error") => {
                let notice = leveled(builder.notice("error", content), "error");
                return builder.put(notice);
            }
            Some("system" | "status" | "info") => {
                let notice = builder.notice("info", content);
                return builder.put(notice);
            }
            _ => {}
        }
        let mut item = builder.item(part.clone(), if is_person { Kind::Prompt } else { Kind::Reply });
        item.text = content;
        if is_person {
            let words = text.decode().and_then(|text| wrapped::input(&text));
            item.data.extend(words.map(|words| ("words", Fact::Text(words))));
        }
        builder.put(item);
    }

    /// Emits a result. If it isn't a list, it is JSON in a string.
    fn stored_result(&mut self, call: Option<Value<'_>>, block: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [content, is_error] = block.get_all(["content", "is_error"]);
        let call = builder.id_of(call);
        if matches!(self.calls.get(&call), Some(CallState::Answered)) {
            return builder.bookkeeping("tool_result");
        }
        let mut answer = result::of_call(&call, &self.calls, builder);
        let packed = content.and_then(Value::decode).filter(|text| text.trim_start().starts_with('{'));
        let time = builder.at.map_or("null", |at| builder.input.record.value(at).raw());
        // The record of this item alone, with its time: a copy of the whole document for each result would take too long.
        let unpacked = packed.and_then(|inside| {
            Record::from_line(inside.clone().into_owned()).ok()?;
            Record::from_line(["[", &*inside, ",", time, "]"].concat()).ok()
        });
        match &unpacked {
            Some(record) => {
                let mut parts = record.root().items();
                let output = parts.next();
                answer.at = answer.at.and(parts.next().map(Value::node));
                answer.record = Some(record.clone());
                result::fill(output, None, &mut answer);
            }
            None => result::fill(content, None, &mut answer),
        }
        if is_error.and_then(Value::bool) == Some(true) {
            fail(&mut answer);
        }
        self.calls.mark_answered(&call);
        builder.put(answer);
    }

    /// Decodes the facts of a session.
    pub(super) fn stored_session(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let [id, started, ended, model, cwd, prompt, status, exit, metadata] = value.get_all([
            "session_id",
            "started_at",
            "ended_at",
            "model",
            "cwd",
            "prompt",
            "status",
            "exit_code",
            "metadata",
        ]);
        self.begin(id, builder);
        let [title, usage, all, origin] = metadata.map_or([None; 4], |data| {
            data.get_all(["title", "usage", "aggregateUsage", "sessionHistoryOrigin"])
        });
        let version = origin.and_then(|origin| origin.get("version"));
        builder.facts(Facts {
            model: text(model),
            cwd: text(cwd),
            title: text(title),
            version: text(version),
            ..Facts::default()
        });
        builder.at = started.map(Value::node);
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("model", model), ("cwd", cwd), ("version", version)]));
        builder.put(notice);
        if let Some(prompt) = filled(prompt) {
            builder.put_text(Kind::Prompt, string(Some(prompt)));
        }
        let word = status.and_then(Value::decode).unwrap_or_default();
        if matches!(&*word, "running" | "pending" | "idle" | "") {
            return;
        }
        builder.at = ended.or(started).map(Value::node);
        let mut outcome = builder.outcome();
        if matches!(&*word, "aborted" | "cancelled") {
            fail(&mut outcome);
            outcome.data.push(("cause", Fact::Text("interrupted".to_owned())));
        } else if &*word != "completed" || exit.and_then(Value::int).is_some_and(|exit| exit != 0) {
            fail(&mut outcome);
            outcome.text = string(status);
        }
        figures(&mut outcome, None, None, all.or(usage));
        builder.put(outcome);
    }
}

fn text(value: Option<Value<'_>>) -> Option<Text> {
    filled(value).and_then(Value::str).map(Text::from_json)
}
