//! The updates of a session: messages in pieces and as a whole, plans, and what is around them.

use super::result::block_parts;
use super::{Acp, ItemBuilder, option_called, wrapped};
use crate::fact;
use crate::facts::{filled, leveled, nodes, push_list, string, strings};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Kind, Status};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::names::Names;
use streamfmt_core::text::Text;

impl Acp {
    /// Decodes an update by its kind.
    pub(super) fn update(&mut self, update: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let kind = update.get("sessionUpdate").and_then(Value::decode).unwrap_or_default();
        match &*kind {
            "agent_message_chunk" => self.piece(Kind::Reply, update, builder),
            "agent_thought_chunk" => self.piece(Kind::Thinking, update, builder),
            "user_message_chunk" => self.piece(Kind::Prompt, update, builder),
            "agent_message" => self.whole(Kind::Reply, update.get("content"), builder),
            "agent_thought" => self.whole(Kind::Thinking, update.get("content"), builder),
            "user_message" => self.whole(Kind::Prompt, update.get("content"), builder),
            "tool_call" => self.tool_call(update, false, builder),
            "tool_call_update" => self.tool_call(update, true, builder),
            "plan" | "plan_update" => {
                let plan = update.get("plan").unwrap_or(update);
                self.plan(plan.get("entries"), update, builder);
            }
            "usage_update" => {
                let [amount, currency] =
                    update.get("cost").map_or([None; 2], |cost| cost.get_all(["amount", "currency"]));
                if currency.and_then(Value::str).is_some_and(|currency| currency.is("USD")) {
                    self.cost = amount.and_then(Value::float).or(self.cost);
                }
                builder.bookkeeping("usage_update");
            }
            "current_mode_update" => {
                self.mode(update.get("currentModeId"), builder);
            }
            "config_option_update" => {
                let model = update.get("configOptions").and_then(|options| option_called("model", options));
                let model = model.and_then(Value::str).map(Text::from_json);
                builder.facts(Facts { model, ..Facts::default() });
                builder.bookkeeping("config_option_update");
            }
            "session_info_update" => {
                let title = filled(update.get("title"));
                builder.facts(Facts {
                    title: title.and_then(Value::str).map(Text::from_json),
                    ..Facts::default()
                });
                builder.bookkeeping("session_info_update");
            }
            "notice" => {
                self.finish_message(builder.out);
                let [message, text, level] = update.get_all(["message", "text", "level"]);
                let notice = builder.notice("info", string(message.or(text)));
                let level = level.and_then(Value::decode);
                builder.put(match level.as_deref() {
                    Some(level @ ("warning" | "error")) => leveled(notice, level),
                    _ => notice,
                });
            }
            "compaction_update" => {
                let status = update.get("status").and_then(Value::decode);
                if status.is_some_and(|status| status == "completed") {
                    self.finish_message(builder.out);
                    let notice = builder.notice("compaction", Content::None);
                    return builder.put(notice);
                }
                builder.bookkeeping("compaction_update");
            }
            _ => builder.rest("update/", &kind, &BOOKKEEPING, update),
        }
    }

    /// Appends a piece to the message that is being written, or begins another.
    fn piece(&mut self, kind: Kind, update: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [content, message] = update.get_all(["content", "messageId"]);
        let text = content.and_then(|content| content.get("text")).and_then(Value::decode);
        let Some(text) = text else { return self.whole(kind, content, builder) };
        if let Some(mode) = wrapped::mode(&text) {
            self.finish_message(builder.out);
            let mode = Text::clean(mode);
            builder.facts(Facts { mode: Some(mode), ..Facts::default() });
            return builder.put_minor(
                "mode",
                string(content.and_then(|content| content.get("text"))),
                |_| {},
            );
        }
        if kind == Kind::Prompt && self.is_echo(&text) {
            return builder.bookkeeping("user_message_chunk");
        }
        let message = message.and_then(Value::decode);
        let is_same = self
            .writing
            .as_ref()
            .is_some_and(|(of, id, _)| *of == kind && id.as_deref() == message.as_deref());
        if !is_same {
            self.finish_message(builder.out);
            let item = builder.unnamed_item(kind);
            self.writing = Some((kind, message.map(Into::into), item.id.clone()));
            builder.emit(Event::Open(Box::new(item)));
        }
        if let Some((.., id)) = &self.writing {
            builder.out.push(Event::Append { id: id.clone(), text: text.into_owned() });
        }
        builder.bookkeeping("message_chunk");
    }

    /// Whether the agent repeats a part of the client's prompt.
    fn is_echo(&mut self, text: &str) -> bool {
        let rest = &self.echo[self.echoed..];
        let begun = rest.trim_start();
        let is_echo = !rest.is_empty() && begun.starts_with(text.trim());
        if is_echo {
            self.echoed += rest.len() - begun.len() + text.trim().len();
        }
        is_echo
    }

    /// Completes the message that was being written: something else begins.
    pub(super) fn finish_message(&mut self, out: &mut Vec<Event>) {
        let written = self.writing.take();
        out.extend(written.map(|(.., id)| Event::Close { id, status: Status::Done }));
    }

    /// Emits a message of one content block or of several.
    fn whole(&mut self, kind: Kind, content: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        self.finish_message(builder.out);
        let (mut texts, mut images, mut more) = (Vec::new(), Vec::new(), Vec::new());
        let is_list = content.is_some_and(|content| content.kind() == ValueKind::Array);
        let blocks = content
            .into_iter()
            .flat_map(|content| if is_list { content.items().collect() } else { vec![content] });
        for block in blocks {
            block_parts(block, &mut texts, &mut images, &mut more);
        }
        let mut item = builder.unnamed_item(kind);
        item.text = strings(texts);
        let is_prompt = kind == Kind::Prompt;
        if is_prompt {
            push_list(&mut item, "images", images);
        } else {
            more.extend(images);
        }
        if !more.is_empty() || matches!(item.text, Content::None) && item.fact("images").is_none() {
            return builder.unknown("message".into(), content.unwrap_or(builder.input.value));
        }
        if is_prompt && self.is_echo(&item.text()) {
            return builder.bookkeeping("user_message");
        }
        builder.put(item);
    }

    /// Emits the client's prompt.
    pub(super) fn prompt(&mut self, params: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let blocks = params.get("prompt");
        (self.echo, self.echoed) = Default::default();
        self.whole(Kind::Prompt, blocks, builder);
        let texts = blocks.into_iter().flat_map(Value::items).filter_map(|block| block.get("text")?.decode());
        self.echo = texts.collect::<Vec<_>>().join("\n");
    }

    /// Emits the plan, unless it is the same as before. An update has all of it.
    fn plan(&mut self, entries: Option<Value<'_>>, update: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let Some(entries) = entries.filter(|entries| entries.kind() == ValueKind::Array) else {
            return builder.unknown("plan".into(), update);
        };
        self.finish_message(builder.out);
        if self.plan.as_deref() == Some(entries.raw()) {
            return builder.bookkeeping("plan");
        }
        self.plan = Some(entries.raw().to_owned());
        let mut plan = builder.unnamed_item(Kind::Plan);
        plan.data.push(fact("todos", entries.node()));
        builder.put(plan);
    }

    /// Emits the notice of another mode.
    fn mode(&mut self, mode: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        builder.facts(Facts { mode: mode.and_then(Value::str).map(Text::from_json), ..Facts::default() });
        builder.put_minor("mode", Content::None, |notice| notice.data.extend(nodes([("mode", mode)])));
    }
}

/// Kinds that don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "available_commands_update compaction_summary_chunk state_update terminal_output_chunk terminal_update \
     tool_call_content_chunk",
);
