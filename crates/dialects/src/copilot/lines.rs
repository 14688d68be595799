//! The lines, by their types: those that are neither messages nor results are handled here.

use super::{Copilot, result::fail};
use crate::facts::{filled, leveled, nodes, string};
use crate::item_builder::ItemBuilder;
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Content, Fact, Id, Kind};
use streamfmt_core::json::{Record, Value, ValueKind};
use streamfmt_core::names::Names;
use streamfmt_core::text::Text;

impl Copilot {
    /// Decodes a line of this type.
    pub(super) fn line(&mut self, kind: &str, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let message = data.get("message");
        match kind {
            "user.message" => self.prompt(data, builder),
            "assistant.message_delta" => {
                self.text_piece(Kind::Reply, data, builder);
                builder.bookkeeping("assistant.message_delta");
            }
            "assistant.reasoning_delta" => {
                self.text_piece(Kind::Thinking, data, builder);
                builder.bookkeeping("assistant.reasoning_delta");
            }
            "assistant.tool_call_delta" => {
                self.input_piece(data, builder);
                builder.bookkeeping("assistant.tool_call_delta");
            }
            "assistant.message" => self.message(data, builder),
            "assistant.reasoning" => self.thought(data, builder),
            "tool.execution_start" => self.call_started(data, builder),
            "tool.shell_output" => self.output_piece(data, builder),
            "tool.execution_partial_result" => self.output_so_far(data, builder),
            "tool.execution_complete" => self.result(data, builder),
            "assistant.turn_end" | "assistant.idle" | "session.idle" => {
                self.close_open(builder);
                builder.bookkeeping("assistant.turn_end");
            }
            "subagent.started" => self.agent_started(data, builder),
            "subagent.completed" => {
                self.agent_ended(data);
                builder.bookkeeping("subagent.completed");
            }
            "session.start" | "session.resume" => self.session(data, builder),
            "session.tools_updated" if !self.is_announced && builder.parent.is_none() => {
                self.announce(data.get("model"), builder);
            }
            "session.model_change" if builder.parent.is_none() => {
                self.announce(data.get("newModel"), builder);
            }
            "session.mode_changed" => {
                let mode = data.get("newMode").and_then(Value::str).map(Text::from_json);
                builder.facts(Facts { mode, ..Facts::default() });
                builder.put_minor("mode", Content::None, |notice| {
                    notice.data.extend(nodes([("mode", data.get("newMode"))]));
                });
            }
            "session.title_changed" => {
                let title = data.get("title");
                builder.facts(Facts {
                    title: title.and_then(Value::str).map(Text::from_json),
                    ..Facts::default()
                });
                builder.put_minor("title", string(title), |_| {});
            }
            "session.usage_record" => self.usage(data.get("usage").unwrap_or(data), builder),
            "assistant.usage" => self.usage(data, builder),
            "session.shutdown" => self.shutdown(data, builder),
            "session.info" => builder.put_minor("info", string(message), |_| {}),
            "session.warning" => {
                let notice = builder.notice("info", string(message));
                builder.put(leveled(notice, "warning"));
            }
            "session.error" => {
                self.failure = None;
                self.close_open(builder);
                let notice = builder.notice("error", string(message));
                builder.put(leveled(notice, "error"));
            }
            "session.compaction_complete" | "session.truncation" => compaction(data, builder),
            "model.call_failure" => self.request_failed(data, builder),
            "assistant.turn_retry" => self.retry(data, builder),
            "abort" => {
                self.close_open(builder);
                let notice = builder.notice("interrupt", Content::None);
                builder.put(leveled(notice, "warning"));
            }
            "system.message" => builder.put_minor("configuration", string(data.get("content")), |_| {}),
            "system.notification" => notification(data, builder),
            _ => builder.rest("", kind, &BOOKKEEPING, data),
        }
    }

    /// Decodes the first line of a session file, or of another run of the session.
    fn session(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, version, model, context] =
            data.get_all(["sessionId", "copilotVersion", "selectedModel", "context"]);
        self.begin(id, builder);
        let cwd = context.and_then(|context| context.get("cwd"));
        let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
        builder.facts(Facts { model: text(model), cwd: text(cwd), version: text(version), ..self.facts() });
        self.is_announced = true;
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("model", filled(model)), ("cwd", cwd), ("version", version)]));
        builder.put(notice);
    }

    /// Emits the notice that names the model, from a stream or where the model changes.
    fn announce(&mut self, model: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        self.is_announced = true;
        let name = model.and_then(Value::str).map(Text::from_json);
        builder.facts(Facts { model: name, ..self.facts() });
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("model", filled(model))]));
        builder.put(notice);
    }

    /// Notes which call started a sub-agent.
    fn agent_started(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [agent, call] = [builder.input.value.get("agentId"), data.get("toolCallId")];
        if let [Some(agent), Some(call)] = [agent, call].map(|id| filled(id).and_then(Value::decode)) {
            self.agents.add(Id::from(&*agent).hash(), || Id::from(&*call));
        }
        builder.bookkeeping("subagent.started");
    }

    /// Counts the tokens of a model call.
    fn usage(&mut self, usage: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [accounting, call] = usage.get_all(["accounting", "apiCallId"]);
        let id = accounting.and_then(|it| it.get("usageId")).or(call);
        let message = builder.id_of(id);
        builder.emit_usage(Id::below(message.as_str(), "usage"), tokens(usage));
        builder.bookkeeping("session.usage_record");
    }

    /// Notes the totals of the session: a run that resumes it writes them again.
    fn shutdown(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.close(|_| true, builder.out);
        let [kind, reason, metrics, api] =
            data.get_all(["shutdownType", "errorReason", "modelMetrics", "totalApiDurationMs"]);
        if kind.and_then(Value::str).is_some_and(|kind| kind.is("error")) {
            let notice = builder.notice("error", string(reason));
            builder.put(leveled(notice, "error"));
        }
        let models = metrics.into_iter().flat_map(Value::entries);
        let usage = models.filter_map(|(_, model)| Some(tokens(model.get("usage")?)));
        let usage = usage.fold(Usage::default(), |sum, usage| sum.combined(usage, u64::saturating_add));
        let mut totals = builder.item("totals", Kind::Notice);
        totals.data.push(("event", Fact::Text("totals".into())));
        totals.data.extend(nodes([("api_ms", api)]));
        if usage != Usage::default() {
            totals.data.push(("usage", usage_fact(usage)));
        }
        self.totals = Some(Box::new(totals));
        builder.bookkeeping("session.shutdown");
    }

    /// Emits the outcome, from the last line of a stream.
    pub(super) fn outcome(&mut self, builder: &mut ItemBuilder<'_>) {
        self.close(|_| true, builder.out);
        let [id, exit, usage] = builder.input.value.get_all(["sessionId", "exitCode", "usage"]);
        let is_named = self.session.is_some();
        self.begin(id, builder);
        builder.facts(self.facts());
        builder.out.extend(self.failure.take().map(Event::Put));
        let mut outcome = builder.outcome();
        if !is_named && self.session.is_some() {
            // Only this line of a stream names the session.
            builder.put_minor("session", Content::None, |_| {});
        }
        if exit.and_then(Value::int) != Some(0) {
            fail(&mut outcome);
        }
        let [duration, api] =
            usage.map_or([None; 2], |usage| usage.get_all(["sessionDurationMs", "totalApiDurationMs"]));
        let facts = || nodes([("duration_ms", duration), ("api_ms", api)]);
        outcome.data.extend(facts());
        if let Some(changes) = usage.and_then(|usage| usage.get("codeChanges")) {
            let lines = ["linesAdded", "linesRemoved"].map(|name| changes.get(name));
            outcome.data.extend(nodes(["added", "removed"].into_iter().zip(lines)));
        }
        outcome.data.push(("turn", Fact::Map(facts().filter(|(name, _)| *name == "duration_ms").collect())));
        builder.put(outcome);
    }

    /// Keeps the notice for a failed request: the next lines show whether it is repeated.
    fn request_failed(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [status, attempt, message, kind] =
            data.get_all(["statusCode", "retryAttempt", "errorMessage", "failureKind"]);
        let mut notice = builder.notice("error", Content::None);
        // The message is often an object in a string.
        let text =
            message.and_then(Value::decode).map(|message| match Record::from_line(message.into_owned()) {
                Ok(body) => {
                    let error = body.root().get("error").unwrap_or(body.root());
                    error
                        .get("message")
                        .and_then(Value::decode)
                        .map_or_else(|| body.text().to_owned(), Into::into)
                }
                Err((_, message)) => message,
            });
        let text = text.or_else(|| Some(kind?.decode()?.into_owned()));
        notice.text = text.clone().map_or(Content::None, Content::Own);
        notice.data.extend(nodes([("status", status)]));
        notice.data.extend(
            attempt.and_then(Value::int).map(|count| ("attempt", Fact::Int(count.saturating_add(1)))),
        );
        notice.data.extend(text.map(|text| ("error", Fact::Text(text))));
        self.failure = Some(Box::new(leveled(notice, "error")));
        builder.bookkeeping("model.call_failure");
    }

    /// Emits the notice that a request is repeated.
    fn retry(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.drop_open(builder);
        let reason = data.get("reason").and_then(Value::decode);
        let mut notice = builder.notice("retry", Content::None);
        if let Some(failure) = self.failure.take() {
            // They are values of the record of the failure.
            notice.record.clone_from(&failure.record);
            notice.at = failure.at;
            let kept = failure.data.iter().filter(|(name, _)| ["status", "attempt", "error"].contains(name));
            notice.data.extend(kept.cloned());
        } else {
            notice.data.extend(reason.map(|reason| ("error", Fact::Text(reason.into_owned()))));
        }
        builder.put(leveled(notice, "warning"));
    }
}

/// Parses the tokens of a model call. Cached ones are included in the input.
fn tokens(usage: Value<'_>) -> Usage {
    let [input, output, cache_read, cache_write] = usage
        .get_all(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"])
        .map(|count| count.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0));
    let input = input.saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, output, cache_read, cache_write }
}

fn usage_fact(usage: Usage) -> Fact {
    let counts = [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
    ];
    Fact::Map(counts.map(|(name, count)| (name, Fact::Int(count.cast_signed()))).to_vec())
}

/// Emits the notice that earlier messages were summarized or left out.
fn compaction(data: Value<'_>, builder: &mut ItemBuilder<'_>) {
    let [success, error, summary, before, after, cut_before, cut_after] = data.get_all([
        "success",
        "error",
        "summaryContent",
        "preCompactionTokens",
        "postCompactionTokens",
        "preTruncationTokensInMessages",
        "postTruncationTokensInMessages",
    ]);
    if success.and_then(Value::bool) == Some(false) {
        let notice = builder.notice("compaction", string(error));
        return builder.put(leveled(notice, "error"));
    }
    let mut notice = builder.notice("compaction", Content::None);
    notice.data.extend(nodes([("before", before.or(cut_before)), ("after", after.or(cut_after))]));
    builder.put(notice);
    if filled(summary).is_some() {
        builder.put_minor("summary", string(summary), |_| {});
    }
}

/// Emits a notice of the program to the agent, such as that a sub-agent in the background has ended.
fn notification(data: Value<'_>, builder: &mut ItemBuilder<'_>) {
    let [content, kind] = data.get_all(["content", "kind"]);
    let kind = kind.filter(|kind| kind.kind() == ValueKind::Object);
    let [agent, status] = kind.map_or([None; 2], |kind| kind.get_all(["agentId", "status"]));
    let mut notice = builder.notice(if agent.is_some() { "task" } else { "info" }, string(content));
    notice.data.extend(nodes([("task", agent), ("status", status)]));
    builder.put(notice);
}

/// Types that don't belong to the conversation, or that other lines repeat.
static BOOKKEEPING: Names = Names::of(
    "assistant.intent assistant.message_start assistant.server_tool_progress assistant.streaming_delta \
     assistant.turn_start capabilities.changed command.completed command.execute command.queued \
     commands.changed elicitation.completed elicitation.requested exit_plan_mode.completed \
     exit_plan_mode.requested external_tool.completed external_tool.requested hook.end hook.progress \
     hook.start mcp.oauth_completed mcp.oauth_required model.call_final_result model.call_finished \
     model.call_start pending_messages.modified permission.completed permission.requested \
     sampling.completed sampling.requested session.auto_mode_resolved session.background_tasks_changed \
     session.binary_asset session.compaction_start session.context_changed \
     session.custom_agents_updated session.extensions_loaded session.handoff \
     session.mcp_server_status_changed session.mcp_server_tools_loaded session.mcp_servers_loaded \
     session.model_change session.plan_changed session.remote_steerable_changed session.skills_loaded \
     session.snapshot_rewind session.task_complete session.tools_updated session.usage_checkpoint \
     session.usage_info session.workspace_file_changed skill.invoked subagent.configured \
     subagent.deselected subagent.failed subagent.selected tool.execution_progress \
     tool.user_requested user_input.completed user_input.requested",
);
