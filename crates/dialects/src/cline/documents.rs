//! The documents of a stored session: its messages, and its facts.

use std::sync::Arc;

use streamfmt_core::dialect::Input;
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Fact, Id, Kind};
use streamfmt_core::json::{Record, Value};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use crate::calls::CallState;
use crate::facts::{fail, filled, image, leveled, nodes, string};
use crate::item_builder::ItemBuilder;

use super::stream::{figures, part_id};
use super::{Cline, result, tokens_of, wrapped};

/// The status of a session whose last run failed.
const FAILED: &str = "failed";
/// The facts of a stored session.
pub(super) struct StoredFacts {
    session: Option<SessionId>,
    record: Record,
    /// The node of the facts in the record, and the number of its line.
    node: u32,
    line: u64,
    shows_minor: bool,
    /// Whether its messages came.
    has_messages: bool,
}

impl StoredFacts {
    /// A builder of items from the facts.
    fn builder<'a>(&'a self, out: &'a mut Vec<Event>) -> ItemBuilder<'a> {
        let Self { record, node, line, shows_minor, .. } = self;
        let value = record.value(*node);
        let input = Input {
            record,
            value,
            line: *line,
            parent: None,
            origin: None,
            shows_minor: *shows_minor,
            counts: false,
        };
        ItemBuilder::new(input, (), None, self.session.clone(), out)
    }

    /// Emits the notice of the session.
    fn announce(&self, out: &mut Vec<Event>) {
        let mut builder = self.builder(out);
        let [started, model, cwd, metadata] =
            builder.input.value.get_all(["started_at", "model", "cwd", "metadata"]);
        let version = metadata.and_then(|data| data.get("sessionHistoryOrigin")?.get("version"));
        builder.at = started.map(Value::node);
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("model", model), ("cwd", cwd), ("version", version)]));
        builder.put(notice);
    }
}

impl Cline {
    /// Decodes the messages of a session. They are written anew with each message, so known ones may come again.
    pub(super) fn messages(&mut self, messages: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, origin] = builder.input.value.get_all(["sessionId", "origin"]);
        if builder.parent.is_none() {
            self.begin_messages(id, origin, builder);
        }
        for message in messages.items() {
            self.message(message, builder);
        }
    }

    /// Emits the facts of the session whose messages follow.
    fn begin_messages(
        &mut self,
        id: Option<Value<'_>>,
        origin: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let session: Option<SessionId> = id.and_then(Value::decode).map(|id| Arc::from(&*id));
        if self.stored.as_ref().is_some_and(|stored| stored.session != session) {
            self.end_stored(builder.out);
        }
        self.begin(id, builder);
        let [version, parent] =
            origin.map_or([None; 2], |origin| origin.get_all(["version", "parentThreadId"]));
        builder.facts(Facts { version: text(version), ..Facts::default() });
        let is_announced = std::mem::replace(&mut self.announced, session.clone()) == session;
        match &mut self.stored {
            Some(stored) => {
                stored.has_messages = true;
                if !is_announced {
                    stored.announce(builder.out);
                }
            }
            None if is_announced => {}
            None => {
                let mut notice = builder.notice("session", Content::None);
                notice.data.extend(nodes([("version", version), ("parent", filled(parent))]));
                builder.put(notice);
            }
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
        if name.is_some() && builder.parent.is_none() {
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
            builder.emit_usage(id, tokens_of(metrics));
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

    /// Decodes the facts of a session. What they show comes with its messages, or at its end.
    pub(super) fn stored_session(&mut self, builder: &mut ItemBuilder<'_>) {
        let Input { record, value, line, shows_minor, .. } = builder.input;
        let [id, model, cwd, metadata] = value.get_all(["session_id", "model", "cwd", "metadata"]);
        let session: Option<SessionId> = id.and_then(Value::decode).map(|id| Arc::from(&*id));
        let known = self.stored.take_if(|stored| stored.session == session);
        self.end_stored(builder.out);
        self.begin(id, builder);
        let [title, origin] =
            metadata.map_or([None; 2], |data| data.get_all(["title", "sessionHistoryOrigin"]));
        builder.facts(Facts {
            model: text(model),
            cwd: text(cwd),
            title: text(title),
            version: text(origin.and_then(|origin| origin.get("version"))),
            ..Facts::default()
        });
        let has_messages = known.is_some_and(|known| known.has_messages)
            || self.announced.is_some() && self.announced == session;
        let record = record.clone();
        self.stored =
            Some(StoredFacts { session, record, node: value.node(), line, shows_minor, has_messages });
    }

    /// Emits the end of a stored session: its outcome, and its prompt if its messages are missing.
    pub(super) fn end_stored(&mut self, out: &mut Vec<Event>) {
        let Some(stored) = self.stored.take() else { return };
        if !stored.has_messages {
            stored.announce(out);
        }
        let mut builder = stored.builder(out);
        let [started, ended, prompt, status, exit, metadata] = builder.input.value.get_all([
            "started_at",
            "ended_at",
            "prompt",
            "status",
            "exit_code",
            "metadata",
        ]);
        builder.at = started.map(Value::node);
        if let Some(prompt) = filled(prompt).filter(|_| !stored.has_messages) {
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
            // The word alone is what every failed outcome shows.
            outcome.text = string(status.filter(|_| &*word != FAILED));
        }
        let [usage, all] = metadata.map_or([None; 2], |data| data.get_all(["usage", "aggregateUsage"]));
        let usage = all.or(usage);
        figures(&mut outcome, None, None, usage);
        if let Some(usage) = usage {
            builder.emit(Event::Totals { outcome: outcome.id.clone(), usage: tokens_of(usage) });
        }
        builder.put(outcome);
    }
}

fn text(value: Option<Value<'_>>) -> Option<Text> {
    filled(value).and_then(Value::str).map(Text::from_json)
}
