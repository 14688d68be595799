//! Records of what was shown to the user (`event_msg`): since 0.169 mostly items like those of the stream.

use crate::facts::{image, leveled, nodes, push_list, string};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Kind};
use streamfmt_core::json::Value;
use streamfmt_core::names::Names;

use super::super::call::{self, CallSource};
use super::super::{Codex, ItemBuilder, errors, result};
use super::{Recorder, read_content};

impl Codex {
    /// Decodes a record of what was shown.
    pub(super) fn shown(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, message, text] = payload.get_all(["type", "message", "text"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        match &*kind {
            "user_message" => {
                let mut prompt = builder.unnamed_item(Kind::Prompt);
                if !read_content(&mut prompt, message) {
                    return builder.unknown("event_msg/user_message".into(), payload);
                }
                let images = payload.get("images").into_iter().flat_map(Value::items);
                push_list(&mut prompt, "images", images.map(image).collect());
                return self.prompt(prompt, builder);
            }
            "item_completed" => {
                let item = payload.get("item").unwrap_or(payload);
                return self.shown_item(item, builder);
            }
            "token_count" if builder.input.parent.is_none() => {
                return self.count_so_far(payload.get("info"), builder);
            }
            // A sub-agent's tokens aren't part of the session's count.
            "token_count" | "task_started" | "turn_started" | "thread_settings_applied" => {
                return builder.bookkeeping(kind.into_owned());
            }
            _ => self.flush_rollout(builder.out),
        }
        match &*kind {
            "agent_message" => match string(message) {
                Content::None => builder.unknown("event_msg/agent_message".into(), payload),
                message => self.reply(message, None, builder),
            },
            "agent_reasoning" => self.reasoning(Recorder::Shown, text, None, builder),
            "task_complete" | "turn_complete" => self.complete(payload, builder),
            "turn_aborted" => {
                self.rollout.scripts.clear();
                let mut notice = builder.notice("interrupt", Content::None);
                if std::mem::take(&mut self.rollout.was_stopped) {
                    notice.data.push(("echo", Fact::Bool(true)));
                }
                notice.data.extend(nodes([("reason", payload.get("reason"))]));
                builder.put(leveled(notice, "warning"));
            }
            "context_compacted" => self.compacted(None, builder),
            "error" | "stream_error" => errors::notice(message, builder),
            "warning" => {
                let notice = builder.notice("warning", string(message));
                builder.put(leveled(notice, "warning"));
            }
            _ => builder.rest("event_msg/", &kind, &BOOKKEEPING, payload),
        }
    }

    fn reply(&mut self, text: Content, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let id = builder.id_of(id);
        let mut reply = builder.item(id, Kind::Reply);
        reply.text = text;
        let key = hash(&("assistant", &*reply.text()));
        self.rollout.was_compacted = false;
        if self.rollout.texts.is_new(Recorder::Shown, key) {
            builder.put(reply);
        } else {
            builder.bookkeeping("agent_message");
        }
    }

    /// Decodes the end of a turn.
    fn complete(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        if builder.input.parent.is_some() {
            return builder.bookkeeping("task_complete");
        }
        self.rollout.scripts.clear();
        self.rollout.was_stopped = false;
        let [last, duration, error] = payload.get_all(["last_agent_message", "duration_ms", "error"]);
        let [last, error] = [last, error].map(|value| value.filter(|value| !value.is_null()));
        if last.is_none() && error.is_none() {
            // Only versions since 0.169 record API errors, so this turn may have failed: don't report success.
            let text = Content::Own("the turn ended without an answer".to_owned());
            let notice = builder.notice("turn-ended", text);
            return builder.put(leveled(notice, "warning"));
        }
        let mut outcome = builder.outcome();
        outcome.text = string(last);
        if let Some(error) = error {
            result::fail(&mut outcome);
            let message = error.get("message").unwrap_or(error);
            outcome.data.push(("errors", Fact::List(vec![Fact::Node(message.node())])));
        }
        let duration = duration.filter(|duration| duration.int().is_some_and(|ms| ms >= 0));
        outcome.data.extend(nodes([("duration_ms", duration)]));
        if let Some(totals) = self.used.take() {
            outcome.data.extend(totals.data.iter().filter(|(name, _)| *name != "event").cloned());
        }
        self.settle(&mut outcome);
        builder.put(outcome);
    }

    /// Decodes an item that was shown.
    fn shown_item(&mut self, value: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, id, blocks] = value.get_all(["type", "id", "content"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        if &*kind == "UserMessage" {
            let id = builder.id_of(id);
            let mut prompt = builder.item(id, Kind::Prompt);
            if !read_content(&mut prompt, blocks) {
                return builder.unknown("item_completed/UserMessage".into(), value);
            }
            return self.prompt(prompt, builder);
        }
        self.flush_rollout(builder.out);
        match &*kind {
            "AgentMessage" => {
                let mut reply = builder.item("", Kind::Reply);
                if !read_content(&mut reply, blocks) {
                    return builder.unknown("item_completed/AgentMessage".into(), value);
                }
                self.reply(reply.text, id, builder);
            }
            "Reasoning" => self.reasoning(Recorder::Shown, value.get("summary_text"), id, builder),
            "ContextCompaction" => self.compacted(None, builder),
            "EnteredReviewMode" => {
                let hint = string(value.get("user_facing_hint"));
                let mut notice = builder.notice("review", hint);
                let words = format!("review: {}", notice.text());
                notice.data.push(("words", Fact::Text(words)));
                builder.put(notice);
            }
            "ExitedReviewMode" => builder.put_minor("review", Content::None, |_| {}),
            "SubAgentActivity" => {
                let [what, path] = value.get_all(["kind", "agent_path"]);
                builder.put_minor("task", string(path), |notice| {
                    notice.data.extend(nodes([("status", what)]));
                });
            }
            _ => match CallSource::of_item(&kind) {
                Some(source) => self.shown_call(source, value, id, builder),
                None => builder.unknown(format!("item_completed/{kind}"), value),
            },
        }
    }

    /// Decodes a call that has ended: one of the model, or one of a script.
    fn shown_call(
        &mut self,
        source: CallSource,
        value: Value<'_>,
        id: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let id = builder.id_of(id);
        let mut parent = builder.input.parent.cloned();
        if self.calls.get(&id).is_none() {
            // The model didn't make this call: a script did, which is running.
            parent = self.rollout.scripts.last().cloned().or(parent);
            let mut call = call::of_item(source, value, id.clone(), builder);
            call.parent.clone_from(&parent);
            self.emit_call(call, builder);
        } else {
            builder.bookkeeping("item_completed");
            // The output for the model has more: the image itself, and details of the agents.
            if matches!(source, CallSource::Image | CallSource::Agents) || !self.calls.awaits(&id) {
                return;
            }
        }
        let mut item = result::of_call(&id, &self.calls, builder);
        item.parent = parent;
        result::of_item(source, value, &mut item);
        self.calls.mark_answered(&id);
        builder.put(item);
    }
}

/// Types that repeat other lines, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "agent_reasoning_raw_content agent_reasoning_section_break entered_review_mode exited_review_mode \
     item_started thread_goal_updated thread_name_updated thread_rolled_back turn_diff",
);
