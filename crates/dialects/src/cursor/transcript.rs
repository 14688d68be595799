//! The lines of a transcript: messages without ids, times and results. The user's texts are wrapped in tags.

use crate::fact;
use crate::facts::{fail, image, push_list, result_content, string};
use streamfmt_core::item::{Content, Fact, Id, Kind, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use super::stream::content;
use super::{CursorAgent, ItemBuilder, call};

/// The tag around what the user wrote.
const QUERY: [&str; 2] = ["<user_query>", "</user_query>"];

/// Takes the place of a thought, at the end of a text.
const REDACTED: &str = "[REDACTED]";

/// What the program writes around texts.
pub(crate) const SENTENCES: [&str; 3] = [QUERY[0], QUERY[1], REDACTED];

impl CursorAgent {
    /// Decodes a message.
    pub(super) fn message(&mut self, builder: &mut ItemBuilder<'_>) {
        if !std::mem::replace(&mut self.is_announced, true) {
            builder.facts(self.facts());
        }
        let value = builder.input.value;
        let is_user = value.get("role").and_then(Value::str).is_some_and(|role| role.is("user"));
        let blocks = content(value);
        for block in &blocks {
            if is_user {
                self.said(*block, true, builder);
            } else {
                self.written(*block, builder);
            }
        }
        if blocks.is_empty() {
            builder.bookkeeping("empty message");
        }
    }

    /// Decodes a block in the user's role. `is_wrapped`: whether the user's text is inside of a tag.
    pub(super) fn said(&mut self, block: Value<'_>, is_wrapped: bool, builder: &mut ItemBuilder<'_>) {
        let kind = block.get("type").and_then(Value::decode).unwrap_or_default();
        let text = if block.kind() == ValueKind::String { Some(block) } else { block.get("text") };
        match &*kind {
            "tool_result" => self.transcript_result(block, builder),
            "image" => {
                let mut prompt = builder.unnamed_item(Kind::Prompt);
                push_list(&mut prompt, "images", vec![image(block)]);
                builder.put(prompt);
            }
            "" | "text" if text.is_some_and(|text| text.str().is_some()) => {
                let whole = text.and_then(Value::decode).unwrap_or_default();
                match parts_of(&whole).filter(|_| is_wrapped) {
                    Some((query, rest)) => {
                        if !rest.is_empty() {
                            builder.put_minor("synthetic", Content::Own(rest), |_| {});
                        }
                        builder.put_text(Kind::Prompt, Content::Own(query.to_owned()));
                    }
                    None => builder.put_text(Kind::Prompt, string(text)),
                }
            }
            kind => builder.unknown(format!("user/{kind}"), block),
        }
    }

    /// Decodes a block of the agent.
    fn written(&mut self, block: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, text, thinking] = block.get_all(["type", "text", "thinking"]);
        match (kind.and_then(Value::decode).as_deref(), text.and_then(Value::decode)) {
            (Some("tool_use"), _) => self.transcript_call(block, builder),
            (Some("thinking"), _) if thinking.is_some_and(|text| text.str().is_some()) => {
                let mut thought = builder.unnamed_item(Kind::Thinking);
                thought.text = string(thinking);
                builder.put_thought(thought);
            }
            (Some("text"), Some(text)) if text.trim_end().ends_with(REDACTED) => {
                let reply = text.trim_end().trim_end_matches(REDACTED).trim_end();
                if !reply.is_empty() {
                    builder.put_text(Kind::Reply, Content::Own(reply.to_owned()));
                }
                let mut thought = builder.unnamed_item(Kind::Thinking);
                thought.data.push(("redacted", Fact::Bool(true)));
                builder.put_thought(thought);
            }
            _ if block.kind() == ValueKind::String => builder.put_text(Kind::Reply, string(Some(block))),
            _ => self.block(block, builder),
        }
    }

    /// Decodes a call, which has no id as a rule, and no result.
    fn transcript_call(&mut self, block: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, name, input] = block.get_all(["id", "name", "input"]);
        let id = builder.id_of(id);
        let mut item = builder.item(id, Kind::Call);
        call::name_tool(&mut item, &name.and_then(Value::decode).unwrap_or_default());
        item.input = input.map(Value::node);
        item.data.push(("no_result", Fact::Bool(true)));
        self.calls.add(&item);
        let todos =
            input.and_then(|input| input.get("todos")).filter(|_| item.tool_kind == Some(ToolKind::Todos));
        let plan = Id::below(item.id.as_str(), "plan");
        builder.put(item);
        if let Some(todos) = todos.filter(|todos| todos.kind() == ValueKind::Array) {
            let mut plan = builder.item(plan, Kind::Plan);
            plan.data.push(fact("todos", todos.node()));
            builder.put(plan);
        }
    }

    /// Decodes a result.
    fn transcript_result(&mut self, block: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, content, is_error] = block.get_all(["tool_use_id", "content", "is_error"]);
        let call = builder.id_of(id);
        let mut result = self.calls.result_of(&call, builder);
        result_content(&mut result, content);
        if is_error.and_then(Value::bool) == Some(true) {
            fail(&mut result);
        }
        self.calls.mark_answered(&call);
        builder.put(result);
    }
}

/// Splits a text into what the user wrote and the rest, which the program wrote. `None` if the text isn't wrapped.
fn parts_of(text: &str) -> Option<(&str, String)> {
    let (before, query) = text.split_once(QUERY[0])?;
    let (query, after) = query.rsplit_once(QUERY[1]).unwrap_or((query, ""));
    let rest: Vec<&str> =
        [before, after].into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    Some((query.trim_matches('\n'), rest.join("\n")))
}
