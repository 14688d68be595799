//! Messages of session files: prompts, replies, and texts that the program wrote for the model.

use std::borrow::Cow;

use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::{Record, Value, ValueKind};

use super::super::{Codex, ItemBuilder, result, wrapped};
use super::{Recorder, as_notice};
use crate::facts::{filled, image, push_list, string};

/// A part of a message that isn't known: its type and its node.
pub(super) type MessagePart = (String, u32);

impl Codex {
    /// Decodes a message to or from the model.
    pub(super) fn message(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [role, blocks, id, phase] = payload.get_all(["role", "content", "id", "phase"]);
        let role = role.and_then(Value::decode).unwrap_or_default();
        let id = builder.id_of(id);
        let mut item = builder.item(id, Kind::Reply);
        let Some(more) = read_content(&mut item, blocks) else {
            self.flush_rollout(builder.out);
            return builder.unknown(format!("message/{role}"), payload);
        };
        if &*role == "assistant" {
            self.flush_rollout(builder.out);
            return self.reply(item, Recorder::Model, phase, more, builder);
        }
        if &*role != "user" {
            self.wait(as_notice(item), None, builder.out);
            return self.put_parts(more, builder);
        }
        let text = item.text();
        if let Some(answers) = wrapped::late_answers(&text) {
            let answers = answers.to_owned();
            return self.late_answers(Recorder::Model, &answers, builder);
        }
        if let Some(words) = wrapped::hook_prompt(&text) {
            return self.hook_prompt(Recorder::Model, words, builder);
        }
        let key = prompt_key(&text);
        if !self.rollout.texts.is_new(Recorder::Model, key) {
            return builder.bookkeeping("response_item/message");
        }
        self.wait(item, Some(key), builder.out);
        self.put_parts(more, builder);
    }

    /// Handles a prompt that was shown as one. It replaces the model's record of the same text, if that waits.
    pub(super) fn prompt(&mut self, mut prompt: Item, more: Vec<MessagePart>, builder: &mut ItemBuilder<'_>) {
        prompt.kind = Kind::Prompt;
        (self.rollout.has_prompts, self.rollout.was_compacted) = (true, false);
        self.rollout.answer = None;
        let text = prompt.text();
        if let Some(answers) = wrapped::late_answers(&text) {
            let answers = answers.to_owned();
            return self.late_answers(Recorder::Shown, &answers, builder);
        }
        let key = prompt_key(&text);
        if !self.rollout.texts.is_new(Recorder::Shown, key) {
            let place = self.rollout.waiting.iter().position(|waiting| waiting.key == Some(key));
            builder.bookkeeping("response_item/message");
            if let Some(place) = place {
                let received = *self.rollout.waiting.remove(place).item;
                if has_pictures(&received) && !has_pictures(&prompt) {
                    // Only the model's record has the pictures themselves.
                    let text = Content::Own(text.into_owned());
                    prompt = Item { kind: Kind::Prompt, id: prompt.id.clone(), text, ..received };
                }
            }
        }
        self.wait(prompt, None, builder.out);
        self.put_parts(more, builder);
        if self.rollout.head.is_none() {
            self.flush_rollout(builder.out);
        }
    }

    /// Emits the parts of a message that aren't known, as they are when they are alone.
    fn put_parts(&mut self, parts: Vec<MessagePart>, builder: &mut ItemBuilder<'_>) {
        for (kind, node) in parts {
            let part = builder.input.value.same_record(node);
            let id = builder.unnamed();
            let item = builder.unknown_item(id, format!("message/{kind}"), part);
            self.wait(item, None, builder.out);
        }
    }

    /// Emits a reply, and the plan in it, unless the other side has recorded them.
    pub(super) fn reply(
        &mut self,
        mut reply: Item,
        recorder: Recorder,
        phase: Option<Value<'_>>,
        more: Vec<MessagePart>,
        builder: &mut ItemBuilder<'_>,
    ) {
        self.rollout.was_compacted = false;
        let plan = wrapped::parted_plan(&reply.text()).map(|(rest, plan)| (rest, plan.to_owned()));
        let mut is_blank = false;
        if let Some((rest, _)) = &plan {
            is_blank = rest.is_empty();
            reply.text = Content::Own(rest.clone());
        }
        let id = reply.id.clone();
        if !is_blank {
            let key = hash(&("assistant", reply.text().trim()));
            let is_phase = |name: &str| phase.and_then(Value::str).is_some_and(|phase| phase.is(name));
            if self.rollout.texts.is_new(recorder, key) {
                self.note_answer(&mut reply, is_phase("final_answer"), is_phase("commentary"));
                builder.put(reply);
                self.put_parts(more, builder);
            } else {
                builder.bookkeeping(match recorder {
                    Recorder::Model => "response_item/message",
                    Recorder::Shown => "agent_message",
                });
            }
        }
        if let Some((_, plan)) = plan {
            let id = if is_blank { id } else { Id::below(id.as_str(), "plan") };
            self.proposed_plan(recorder, &plan, id, builder);
        }
    }

    /// Emits the plan of plan mode, which is the answer of its turn, unless the other side has recorded it.
    pub(super) fn proposed_plan(
        &mut self,
        recorder: Recorder,
        plan: &str,
        id: Id,
        builder: &mut ItemBuilder<'_>,
    ) {
        if !self.rollout.texts.is_new(recorder, hash(&("plan", plan.trim()))) {
            return builder.bookkeeping("plan");
        }
        let mut item = builder.item(id, Kind::Reply);
        item.text = Content::Own(plan.trim().to_owned());
        self.note_answer(&mut item, true, false);
        builder.put(item);
    }

    /// Remembers a reply that may be the answer of its turn, and marks it if the agent declares it the answer.
    fn note_answer(&mut self, reply: &mut Item, is_final: bool, is_comment: bool) {
        if is_final {
            reply.data.push(("final", Fact::Bool(true)));
        }
        let is_marked = self.rollout.answer.as_ref().is_some_and(|(_, is_final)| *is_final);
        if (is_final || (!is_marked && !is_comment)) && !reply.is_blank() {
            self.rollout.answer = Some((Box::new(reply.clone()), is_final));
        }
    }

    /// Emits the words of a hook to the model, unless the other side has recorded them.
    pub(super) fn hook_prompt(&mut self, recorder: Recorder, words: String, builder: &mut ItemBuilder<'_>) {
        if !self.rollout.texts.is_new(recorder, hash(&("hook", words.trim()))) {
            return builder.bookkeeping("hook_prompt");
        }
        self.flush_rollout(builder.out);
        let notice = builder.notice("hook", Content::Own(words));
        builder.put(notice);
    }

    /// Emits what a person answered to a question that the agent didn't wait for: as the result of the call, or, if that has one, as a prompt.
    fn late_answers(&mut self, recorder: Recorder, answers: &str, builder: &mut ItemBuilder<'_>) {
        if !self.rollout.texts.is_new(recorder, hash(&("answers", answers))) {
            return builder.bookkeeping("answers");
        }
        self.flush_rollout(builder.out);
        let record = Record::from_line(answers.to_owned()).ok();
        let pairs = record.as_ref().map(|record| answered(record.root())).unwrap_or_default();
        let call = self.rollout.questions.first().cloned().filter(|_| !pairs.is_empty());
        let mut item = match call.filter(|call| self.calls.awaits(call)) {
            Some(call) => {
                self.rollout.questions.remove(0);
                let item = result::of_call(&call, &self.calls, builder);
                self.calls.mark_answered(&call);
                item
            }
            None => builder.unnamed_item(Kind::Prompt),
        };
        item.text = Content::Own(if pairs.is_empty() {
            answers.to_owned()
        } else {
            let line = |(question, answer): &(String, String)| {
                if question.is_empty() { answer.clone() } else { format!("{question} → {answer}") }
            };
            pairs.iter().map(line).collect::<Vec<_>>().join("\n")
        });
        if item.kind == Kind::Prompt {
            (self.rollout.has_prompts, self.rollout.answer) = (true, None);
        }
        builder.put(item);
    }
}

/// The questions that a person answered, each with its answer.
fn answered(reply: Value<'_>) -> Vec<(String, String)> {
    let pair = |reply: Value<'_>| {
        let [question, answer] = reply.get_all(["question", "answer"]);
        let text = |value: Value<'_>| match value.kind() {
            ValueKind::Array => {
                value.items().filter_map(Value::decode).map(Cow::into_owned).collect::<Vec<_>>().join(", ")
            }
            _ => value.decode().map_or_else(|| value.raw().to_owned(), Cow::into_owned),
        };
        Some((question.map(text).unwrap_or_default(), text(answer?)))
    };
    if reply.kind() == ValueKind::Array {
        reply.items().filter_map(pair).collect()
    } else {
        pair(reply).into_iter().collect()
    }
}

/// Returns the key by which the two records of a prompt are matched: the places of its pictures differ.
pub(super) fn prompt_key(text: &str) -> u64 {
    let mut words = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[Image #") {
        words.push_str(before);
        rest = after.split_once(']').map_or(after, |(_, after)| after);
    }
    words.push_str(rest);
    hash(&("user", words.trim()))
}

/// Whether an item has pictures, not only their names.
fn has_pictures(item: &Item) -> bool {
    item.fact("images").is_some_and(|images| images.list().iter().any(|image| image.get("bytes").is_some()))
}

/// Reads the texts and images of a message, and returns the parts that are neither. `None` if the message has only such parts.
pub(super) fn read_content(item: &mut Item, blocks: Option<Value<'_>>) -> Option<Vec<MessagePart>> {
    let Some(blocks) = blocks.filter(|blocks| !blocks.is_null()) else { return Some(Vec::new()) };
    let (mut texts, mut images, mut more) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_known = blocks.kind() == ValueKind::Array;
    for part in blocks.items() {
        let [kind, text, refusal] = part.get_all(["type", "text", "refusal"]);
        match text.or(refusal).unwrap_or(part) {
            text if text.str().is_some() => texts.push(text),
            _ if is_attachment(part) => images.push(image(part)),
            _ if part.get("encrypted_content").is_some() => {}
            _ => {
                is_known = false;
                let kind = kind.and_then(Value::decode).unwrap_or_default();
                more.push((kind.into_owned(), part.node()));
            }
        }
    }
    if !images.is_empty() {
        texts.retain(|text| !text.decode().is_some_and(|text| wrapped::is_image_tag(&text)));
    }
    let texts: Vec<_> = texts.into_iter().map(Value::node).collect();
    item.text = if texts.is_empty() { string(Some(blocks)) } else { Content::Parts(texts) };
    let has_images = !images.is_empty();
    push_list(item, "images", images);
    (is_known || has_images || !matches!(item.text, Content::None)).then_some(more)
}

/// Whether a part of a message is a picture, a recording or a file.
fn is_attachment(part: Value<'_>) -> bool {
    let names = ["image_url", "path", "file_id", "audio_url"];
    names.iter().any(|name| part.get(name).is_some()) || filled(part.get("url")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::budget::Budget;

    #[test]
    fn the_answer_is_the_last_reply_unless_one_is_declared() {
        // Each reply: its text, and whether the agent marks it as the answer, or as a comment.
        for (replies, answer) in [
            (&[("a", false, false), ("b", false, false)][..], Some("b")),
            (&[("a", true, false), ("b", false, false)], Some("a")),
            (&[("a", true, false), ("b", true, false)], Some("b")),
            (&[("a", false, false), ("b", false, true)], Some("a")),
            (&[("a", false, false), (" ", false, false)], Some("a")),
            (&[("a", false, true)], None),
            (&[(" ", true, false)], None),
        ] {
            let mut codex = Codex::new(Budget::default());
            for (text, is_final, is_comment) in replies {
                let mut reply = Item::new("r", Kind::Reply, 1);
                reply.text = Content::Own((*text).to_owned());
                codex.note_answer(&mut reply, *is_final, *is_comment);
            }
            let found = codex.rollout.answer.map(|(reply, _)| reply.text().into_owned());
            assert_eq!(found.as_deref(), answer, "{replies:?}");
        }
    }
}
