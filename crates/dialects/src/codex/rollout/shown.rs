//! Records of what was shown to the user (`event_msg`): since 0.169 mostly items like those of the stream.

use crate::facts::{filled, image, leveled, minor, nodes, push_list, string, strings};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Kind};
use streamfmt_core::json::Value;
use streamfmt_core::names::Names;

use super::super::call::{self, CallSource};
use super::super::reports::CallReport;
use super::super::{Codex, ItemBuilder, errors, result, wrapped};
use super::{Recorder, read_content};

impl Codex {
    /// Decodes a record of what was shown.
    pub(super) fn shown(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, message, text] = payload.get_all(["type", "message", "text"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        match &*kind {
            "user_message" => {
                let mut prompt = builder.unnamed_item(Kind::Prompt);
                let Some(more) = read_content(&mut prompt, message) else {
                    return builder.unknown("event_msg/user_message".into(), payload);
                };
                let images = payload.get_all(["images", "local_images"]).into_iter().flatten();
                push_list(&mut prompt, "images", images.flat_map(Value::items).map(image).collect());
                return self.prompt(prompt, more, builder);
            }
            "item_completed" => {
                let item = payload.get("item").unwrap_or(payload);
                return self.shown_item(item, builder);
            }
            "token_count" if builder.input.parent.is_none() => {
                return self.count_so_far(payload.get("info"), builder);
            }
            // A sub-agent's tokens aren't part of the session's count.
            "token_count" | "thread_settings_applied" => return builder.bookkeeping(kind.into_owned()),
            "task_started" | "turn_started" => {
                self.rollout.answer = None;
                return builder.bookkeeping(kind.into_owned());
            }
            _ => match CallReport::of(&kind) {
                Some(report) => return self.reported(report, payload, builder),
                None => self.flush_rollout(builder.out),
            },
        }
        match &*kind {
            "agent_message" => match string(message) {
                Content::None => builder.unknown("event_msg/agent_message".into(), payload),
                message => {
                    let mut reply = builder.unnamed_item(Kind::Reply);
                    reply.text = message;
                    self.reply(reply, Recorder::Shown, payload.get("phase"), Vec::new(), builder);
                }
            },
            "agent_reasoning" => self.reasoning(Recorder::Shown, text, None, builder),
            "task_complete" | "turn_complete" => self.complete(payload, builder),
            "turn_aborted" => {
                self.rollout.scripts.clear();
                self.rollout.answer = None;
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
            "sub_agent_activity" => self.activity(Recorder::Model, payload, builder),
            _ => self.state(&kind, payload, builder),
        }
    }

    /// Decodes a change of the session's state.
    fn state(&mut self, kind: &str, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let text = |name: &str| filled(payload.get(name));
        match kind {
            "turn_diff" if text("unified_diff").is_some() => {
                // The results of the patches have the same changes.
                builder.put_minor("turn-diff", string(text("unified_diff")), |notice| {
                    notice.data.push(("echo", Fact::Bool(true)));
                });
            }
            "thread_goal_updated" => {
                let [objective, status] =
                    payload.get("goal").map_or([None; 2], |goal| goal.get_all(["objective", "status"]));
                let parts = [objective, status].into_iter().flatten().filter_map(Value::decode);
                let goal = parts.collect::<Vec<_>>().join(" · ");
                let words = Fact::Text(format!("goal: {goal}"));
                let mut notice = builder.notice("goal", Content::Own(goal));
                notice.data.push(("words", words));
                builder.put(notice);
            }
            "thread_name_updated" if text("thread_name").is_some() => {
                builder.put_minor("title", string(text("thread_name")), |_| {});
            }
            "thread_rolled_back" => {
                let count = payload.get("num_turns").and_then(Value::int).unwrap_or(1);
                let words = match count {
                    1 => "the last turn was taken back".to_owned(),
                    count => format!("the last {count} turns were taken back"),
                };
                let notice = builder.notice("rollback", Content::Own(words));
                builder.put(leveled(notice, "warning"));
            }
            "undo_completed" => {
                let has_failed = payload.get("success").and_then(Value::bool) == Some(false);
                let words =
                    if has_failed { "the changes could not be undone" } else { "the changes were undone" };
                let words =
                    text("message").map_or_else(|| Content::Own(words.to_owned()), |text| string(Some(text)));
                let notice = builder.notice("undo", words);
                builder.put(leveled(notice, if has_failed { "warning" } else { "info" }));
            }
            "model_reroute" => {
                let [from, to, reason] = ["from_model", "to_model", "reason"].map(|name| payload.get(name));
                let [now, why] = [to, reason].map(|part| part.and_then(Value::decode).unwrap_or_default());
                let words = format!("{now} answers instead: {}", why.replace('_', " "));
                let mut notice = builder.notice("fallback", Content::Own(words));
                notice.data.extend(nodes([("from", from), ("to", to), ("trigger", reason)]));
                builder.put(leveled(notice, "warning"));
            }
            "hook_completed" => hook_completed(payload.get("run").unwrap_or(payload), builder),
            "guardian_assessment" => assessment(payload, builder),
            _ => builder.rest("event_msg/", kind, &BOOKKEEPING, payload),
        }
    }

    /// Decodes what a sub-agent did. Versions record it as a line or as an item.
    fn activity(&mut self, recorder: Recorder, value: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [what, path, thread] = value.get_all(["kind", "agent_path", "agent_thread_id"]);
        let words = [what, path, thread].map(|part| part.and_then(Value::decode).unwrap_or_default());
        if !self.rollout.texts.is_new(recorder, hash(&("activity", words))) {
            return builder.bookkeeping("sub_agent_activity");
        }
        builder.put_minor("task", string(path), |notice| notice.data.extend(nodes([("status", what)])));
    }

    /// Decodes a line about the begin or the end of a call.
    fn reported(&mut self, report: CallReport, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.flush_waiting(builder.out);
        let id = CallReport::id(payload, builder);
        let is_search = report.source == CallSource::Web;
        if is_search && (!report.is_end || !self.is_new_search(Recorder::Shown, payload)) {
            return builder.bookkeeping("web_search");
        }
        let is_known = self.calls.get(&id).is_some();
        self.rollout.halves.has_reports |= is_known;
        if is_known {
            builder.bookkeeping("call");
        } else {
            self.flush_halves(builder.out);
            let mut call = report.call(payload, id.clone(), builder);
            // The model didn't make this call: a script did, which is running.
            call.parent = self.rollout.scripts.last().cloned().or(call.parent);
            self.emit_call(call, builder);
        }
        // The model receives the image itself.
        let has_result = report.is_end && (report.source != CallSource::Image || !is_known);
        if has_result && self.is_open(&id) {
            let mut item = result::of_call(&id, &self.calls, builder);
            report.finish(payload, &mut item);
            self.put_result(&id, item, Recorder::Shown, is_known, builder);
        }
    }

    /// Whether no line on this side has reported the result of a call, and none was emitted.
    fn is_open(&self, call: &Id) -> bool {
        let has_come = self.rollout.halves.position(call, Recorder::Shown).is_some();
        self.calls.awaits(call) && !has_come
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
        let answer = self.rollout.answer.take();
        if filled(last).is_none() && answer.is_none() && error.is_none() {
            // Only versions since 0.169 record API errors, so this turn may have failed: don't report success.
            let text = Content::Own("the turn ended without an answer".to_owned());
            let notice = builder.notice("turn-ended", text);
            return builder.put(leveled(notice, "warning"));
        }
        let mut outcome = builder.outcome();
        outcome.text = string(filled(last));
        if let Some((rest, plan)) = wrapped::parted_plan(&outcome.text()) {
            outcome.text = Content::Own(if plan.is_empty() { rest } else { plan.to_owned() });
        }
        if let (Content::None, None, Some((answer, _))) = (&outcome.text, error, answer) {
            outcome.text = Content::Own(answer.text().into_owned());
        }
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
            let Some(more) = read_content(&mut prompt, blocks) else {
                return builder.unknown("item_completed/UserMessage".into(), value);
            };
            return self.prompt(prompt, more, builder);
        }
        if let Some(source) = CallSource::of_item(&kind) {
            self.flush_waiting(builder.out);
            return self.shown_call(source, value, id, builder);
        }
        self.flush_rollout(builder.out);
        match &*kind {
            "AgentMessage" => {
                let id = builder.id_of(id);
                let mut reply = builder.item(id, Kind::Reply);
                let Some(more) = read_content(&mut reply, blocks) else {
                    return builder.unknown("item_completed/AgentMessage".into(), value);
                };
                self.reply(reply, Recorder::Shown, value.get("phase"), more, builder);
            }
            "Plan" if filled(value.get("text")).is_some() => {
                let id = builder.id_of(id);
                let text = value.get("text").and_then(Value::decode).unwrap_or_default();
                self.proposed_plan(Recorder::Shown, &text, id, builder);
            }
            "HookPrompt" => {
                let fragments = value.get("fragments").into_iter().flat_map(Value::items);
                let words: Vec<_> = fragments.filter_map(|fragment| fragment.get("text")?.decode()).collect();
                self.hook_prompt(Recorder::Shown, words.join("\n"), builder);
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
            "SubAgentActivity" => self.activity(Recorder::Shown, value, builder),
            _ => builder.unknown(format!("item_completed/{kind}"), value),
        }
    }

    /// Decodes a call that has ended: one of the model, or one of a script.
    pub(super) fn shown_call(
        &mut self,
        source: CallSource,
        value: Value<'_>,
        id: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let id = builder.id_of(id);
        if source == CallSource::Web && !self.is_new_search(Recorder::Shown, value) {
            return builder.bookkeeping("item_completed");
        }
        let mut parent = builder.input.parent.cloned();
        if self.calls.get(&id).is_none() {
            self.flush_halves(builder.out);
            // The model didn't make this call: a script did, which is running.
            parent = self.rollout.scripts.last().cloned().or(parent);
            let mut call = call::of_item(source, value, id.clone(), builder);
            call.parent.clone_from(&parent);
            self.emit_call(call, builder);
        } else {
            builder.bookkeeping("item_completed");
            // The output for the model has more: the image itself, and details of the agents.
            if matches!(source, CallSource::Image | CallSource::Agents) || !self.is_open(&id) {
                return;
            }
        }
        let mut item = result::of_call(&id, &self.calls, builder);
        item.parent = parent;
        result::of_item(source, value, &mut item);
        self.put_result(&id, item, Recorder::Shown, false, builder);
    }
}

/// Emits the outcome of a hook. One that had nothing to say is of minor importance.
fn hook_completed(run: Value<'_>, builder: &mut ItemBuilder<'_>) {
    let [event, newer, status, message, entries] =
        run.get_all(["event_name", "eventName", "status", "status_message", "entries"]);
    let has_failed = status.and_then(Value::str).is_some_and(|status| !status.is("completed"));
    let texts = entries.into_iter().flat_map(Value::items).filter_map(|entry| filled(entry.get("text")));
    let texts: Vec<_> = texts.chain(filled(message)).map(Value::node).collect();
    let is_minor = !has_failed && texts.is_empty();
    let mut notice = builder.notice("hook", strings(texts));
    notice.data.extend(nodes([("name", event.or(newer)), ("outcome", status)]));
    if has_failed {
        notice = leveled(notice, "warning");
    }
    builder.put(if is_minor { minor(notice) } else { notice });
}

/// Emits the judgement of the guardian, which decides about calls in place of the user.
fn assessment(payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
    let [status, risk, reason, call] =
        payload.get_all(["status", "risk_level", "rationale", "target_item_id"]);
    let is = |name: &str| status.and_then(Value::str).is_some_and(|status| status.is(name));
    if is("in_progress") {
        return builder.bookkeeping("guardian_assessment");
    }
    let mut notice = builder.notice("assessment", Content::None);
    notice.data.extend(nodes([("call", filled(call)), ("status", status)]));
    let is_approved = is("approved");
    if !is_approved {
        notice = leveled(notice, "warning");
    }
    let risk = filled(risk).and_then(Value::decode).map(|risk| format!("{risk} risk"));
    let parts =
        [status.and_then(Value::decode), risk.map(Into::into), filled(reason).and_then(Value::decode)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    notice.text = Content::Own(format!("guardian: {}", parts.join(" · ").replace('_', " ")));
    builder.put(if is_approved { minor(notice) } else { notice });
}

/// Types that repeat other lines, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "agent_reasoning_raw_content agent_reasoning_section_break entered_review_mode exec_command_output_delta \
     exited_review_mode hook_started item_started patch_apply_updated terminal_interaction undo_started",
);
