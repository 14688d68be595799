//! `system` lines: reports of the program about itself.

use crate::calls::Calls;
use crate::facts::{echoed, filled, leveled, minor, nodes, push_list, reports_failure, string};
use crate::tool::key;
use streamfmt_core::event::Facts;
use streamfmt_core::item::{Content, Fact, FactSpec, Id, Item, Status};
use streamfmt_core::json::{self, Str, Value};
use streamfmt_core::text::Text;

use super::known_lines::{COUNTED_OF_SYSTEM, IN_FULL_OF_SYSTEM};
use super::line::EnvelopeKey;
use super::marker::{self, UserString};
use super::message::echo;
use super::said::marked_notice;
use super::{Claude, ClaudeItemBuilder, TitleSource, content};

/// The facts of notices that are fields of their lines.
const MODE: &[FactSpec] = &[key("permissionMode", "mode")];
const COMPACTION: &[FactSpec] = &[key("trigger", "trigger")];
const DENIED: &[FactSpec] =
    &[key("tool_name", "tool"), key("tool_use_id", "call"), key("decision_reason", "reason")];
const FALLBACK: &[FactSpec] =
    &[key("original_model", "from"), key("fallback_model", "to"), key("trigger", "trigger")];
const REFUSAL: &[FactSpec] = &[
    FALLBACK[0],
    FALLBACK[1],
    key("api_refusal_category", "category"),
    key("api_refusal_explanation", "explanation"),
];
const REFUSAL_OF_HISTORY: &[FactSpec] =
    &[key("apiRefusalCategory", "category"), key("apiRefusalExplanation", "explanation")];
const PUBLISHED: &[FactSpec] =
    &[key("url", "url"), key("identifier", "number"), key("repo", "repo"), key("action", "action")];
const HOOK: &[FactSpec] = &[
    key("hook_name", "name"),
    key("hook_event", "hook_event"),
    key("exit_code", "exit"),
    key("outcome", "outcome"),
    key("stdout", "stdout"),
    key("stderr", "stderr"),
];
const TURN: &[FactSpec] = &[key("durationMs", "duration_ms")];
const WRITES_LOST: &[FactSpec] = &[key("error_code", "reason"), key("lost", "lost")];
const TASK: &[FactSpec] = &[
    key("task_id", "task"),
    key("tool_use_id", "call"),
    key("status", "status"),
    key("task_type", "type"),
    key("output_file", "output_file"),
];

impl Claude {
    /// Decodes a `system` line.
    pub(super) fn system(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let value = builder.line.value;
        let subtype = builder.line.str(EnvelopeKey::Subtype).map(Str::decode).unwrap_or_default();
        self.tasks.note(&subtype, value, builder.out);
        let notice = match &*subtype {
            "init" => return self.init(builder),
            "status" => return status(builder),
            "compact_boundary" => compaction(builder, value),
            "api_retry" | "api_error" => retry(builder, value),
            "informational" | "notification" => {
                let key = if value.get("content").is_some() { "content" } else { "text" };
                let notice = builder.notice("info", content(value, key));
                let level = value.get("level").and_then(Value::decode);
                match level.as_deref() {
                    Some("warning" | "error") => leveled(notice, "warning"),
                    _ => notice,
                }
            }
            "hook_response" => return hook(builder, value),
            "permission_denied" => {
                let mut notice = builder.notice("denied", content(value, "message"));
                notice.data.read(value, DENIED);
                echo_of_result(leveled(notice, "warning"), value, &self.calls)
            }
            "task_notification" => task(builder, value, &self.calls),
            "model_fallback" => {
                let mut notice = builder.notice("fallback", content(value, "content"));
                notice.data.read(value, FALLBACK);
                leveled(notice, "warning")
            }
            "model_refusal_fallback" | "model_refusal_no_fallback" => {
                let mut notice = builder.notice("refusal", content(value, "content"));
                notice.data.read(value, REFUSAL);
                builder.put(leveled(notice, "warning"));
                if let Some(uuids) = value.get("retracted_message_uuids") {
                    self.retract(builder, uuids);
                }
                return;
            }
            "local_command_output" => echo(builder.notice("command-output", content(value, "content"))),
            "local_command" => return self.local_command(builder),
            "stop_hook_summary" => {
                let errors =
                    value.get("hookErrors").into_iter().flat_map(Value::items).filter_map(Value::decode);
                let is_stopped = value.get("preventedContinuation").and_then(Value::bool) == Some(true);
                let reason = value.get("stopReason").and_then(Value::decode);
                let texts: Vec<_> = errors.chain(reason).filter(|text| !text.trim().is_empty()).collect();
                let is_wrong = is_stopped
                    || value.get("hookErrors").is_some_and(|errors| errors.items().next().is_some());
                let notice = builder.notice("hook", Content::Own(texts.join("\n")));
                if is_wrong { leveled(notice, "warning") } else { minor(notice) }
            }
            "away_summary" | "scheduled_task_fire" | "agents_killed" | "permission_retry" => {
                builder.notice("info", content(value, "content"))
            }
            "api_refusal" => {
                let mut notice = builder.notice("refusal", Content::None);
                notice.data.read(value, REFUSAL_OF_HISTORY);
                leveled(notice, "warning")
            }
            "code_change_published" => return self.pull_request(builder, PUBLISHED),
            "session_title_changed" => return self.title(builder, "title", TitleSource::Person),
            "session_writes_lost" => writes_lost(builder, value),
            "task_updated" if value.get("patch").is_some_and(reports_failure) => task_failure(builder, value),
            "task_progress" if filled(value.get("summary")).is_some() => {
                let summary = content(value, "summary");
                return builder.put_minor("task", summary, |notice| notice.data.read(value, TASK));
            }
            "task_started" if filled(value.get("tool_use_id")).is_none() => {
                return builder.report("system/task_started".into(), value);
            }
            "turn_duration" => {
                return builder.put_minor("turn", Content::None, |notice| notice.data.read(value, TURN));
            }
            "error" => leveled(builder.report_item("system/error".into(), value), "error"),
            "plugin_install"
                if value.get("status").and_then(Value::str).is_some_and(|it| it.is("failed")) =>
            {
                leveled(builder.report_item("system/plugin_install".into(), value), "warning")
            }
            "" => return builder.unknown("system".into(), value),
            subtype if IN_FULL_OF_SYSTEM.has(subtype) => {
                return builder.report(["system/", subtype].concat(), value);
            }
            subtype => return builder.rest("system/", subtype, &COUNTED_OF_SYSTEM, value),
        };
        builder.put(notice);
    }

    /// Decodes an `init` line. There is one for each turn.
    fn init(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let value = builder.line.value;
        let mut fields = value.get_all([
            "model",
            "cwd",
            "permissionMode",
            self.product.version,
            "tools",
            "mcp_servers",
            "session_id",
        ]);
        fields[2] = fields[2].or(value.get("permission_mode"));
        let [model, cwd, mode, version, .., session] = fields;
        let text = |field: Option<Value<'_>>| field.and_then(Value::str).map(Text::from_json);
        self.known.announced = true;
        self.known.counts_messages = version.is_none() && value.get("apiKeySource").is_some();
        builder.facts(Facts {
            agent: Some(Text::own(self.product.name)),
            version: text(version),
            model: text(model),
            cwd: text(cwd),
            session: text(session),
            mode: text(mode),
            ..Facts::default()
        });
        let mut notice = builder.notice("session", Content::None);
        let names = ["model", "cwd", "mode", "version", "tools", "servers"];
        let present = names.into_iter().zip(fields.map(|field| field.filter(|field| !field.is_null())));
        notice.data.extend(nodes(present));
        push_list(&mut notice, "problems", problems(value));
        notice.data.push(("value", Fact::Node(value.node())));
        builder.put(notice);
    }

    /// Decodes the output of a local command in a history. Its string has the form of one in a user line.
    fn local_command(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let value = builder.line.value;
        let text = value.get("content").and_then(Value::decode).unwrap_or_default();
        let content = content(value, "content");
        let notice = match marker::read(&text) {
            UserString::Notice(marked) => marked_notice(builder, marked, content),
            UserString::Prompt(_) => echo(builder.notice("command-output", content)),
        };
        builder.put(notice);
    }
}

fn status(builder: &mut ClaudeItemBuilder<'_>) {
    let value = builder.line.value;
    let present = |key: &str| value.get(key).filter(|field| !field.is_null());
    if let Some(mode) = present("permissionMode").and_then(Value::str) {
        let mode = Text::from_json(mode);
        let mut notice = builder.notice("mode", Content::None);
        notice.data.read(value, MODE);
        builder.facts(Facts { mode: Some(mode), ..Facts::default() });
        builder.put(notice);
    }
    let has_failed = present("compact_result").and_then(Value::str).is_some_and(|result| result.is("failed"));
    if has_failed || present("compact_error").is_some() {
        let mut notice = builder.notice("compaction", content(value, "compact_error"));
        notice.status = Status::Failed;
        builder.put(leveled(notice, "error"));
    } else if present("permissionMode").is_none() {
        builder.rest("system/", "status", &COUNTED_OF_SYSTEM, value);
    }
}

/// Returns what the program reports about plugins and servers that it could not load.
fn problems(init: Value<'_>) -> Vec<Fact> {
    let [plugins, servers] = init.get_all(["plugin_errors", "mcp_server_errors"]);
    let all = [("plugin", plugins), ("MCP server", servers)];
    let problems = all.into_iter().flat_map(|(what, errors)| {
        errors.into_iter().flat_map(Value::items).filter_map(move |error| {
            let text = |keys: &[&str]| {
                keys.iter().find_map(|key| error.get(key)?.decode()).filter(|text| !text.trim().is_empty())
            };
            let name = text(&["plugin", "name", "server"]).unwrap_or_default();
            let words = text(&["message", "error", "type"]).or_else(|| error.decode())?;
            Some(Fact::Text(format!("{}: {words}", [what, &*name].join(" ").trim_end())))
        })
    });
    problems.collect()
}

/// Returns the failure of a program that could not save everything that it should keep.
fn writes_lost(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>) -> Item {
    let words = value.get("lost").into_iter().flat_map(Value::items).filter_map(Value::decode);
    let lost: Vec<_> = words
        .map(|what| match &*what {
            "transcript" => "lines of the session's transcript".to_owned(),
            "global_config" => "changes of its settings".to_owned(),
            what => what.replace('_', " "),
        })
        .collect();
    let lost = if lost.is_empty() { "all that it should keep".to_owned() } else { lost.join(" and ") };
    let why = value.get("error_code").and_then(Value::decode).unwrap_or_default();
    let why = match &*why {
        "" => String::new(),
        "ENOSPC" => ": the disk was full (ENOSPC)".to_owned(),
        "EDQUOT" => ": the disk quota was used up (EDQUOT)".to_owned(),
        code => format!(": {code}"),
    };
    let message = value.get("message").and_then(Value::decode).map(|message| format!(": {message}"));
    let text = format!("Claude Code could not save {lost}{}", message.unwrap_or(why));
    let mut notice = builder.notice("writes-lost", Content::Own(text));
    notice.data.read(value, WRITES_LOST);
    notice.status = Status::Failed;
    leveled(notice, "error")
}

/// Returns the notice for the failure of a task in the background.
fn task_failure(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>) -> Item {
    let patch = value.get("patch").unwrap_or(value);
    let mut notice = builder.notice("task", content(patch, "error"));
    notice.data.read(value, &TASK[..2]);
    notice.data.read(patch, &TASK[2..3]);
    leveled(notice, "warning")
}

fn compaction(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>) -> Item {
    let facts = value.get("compact_metadata").or_else(|| value.get("compactMetadata"));
    let tokens = |snake: &str, camel: &str| {
        facts.and_then(|facts| facts.get(snake).or_else(|| facts.get(camel))?.int())
    };
    let before = tokens("pre_tokens", "preTokens");
    let after = tokens("post_tokens", "postTokens");
    let mut notice = builder.notice("compaction", Content::None);
    if let Some(facts) = facts {
        notice.data.read(facts, COMPACTION);
    }
    notice.data.extend(before.map(|count| ("before", Fact::Int(count))));
    notice.data.extend(after.map(|count| ("after", Fact::Int(count))));
    notice
}

fn retry(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>) -> Item {
    let number =
        |live: &str, history: &str| value.get(live).or_else(|| value.get(history)).and_then(Value::int);
    let (attempt, most) = (number("attempt", "retryAttempt"), number("max_retries", "maxRetries"));
    let delay = value.get("retry_delay_ms").or_else(|| value.get("retryInMs")).and_then(Value::float);
    let error = value.get("error").filter(|error| error.kind() == json::ValueKind::Object);
    let status = number("error_status", "status").or_else(|| error?.get("status")?.int());
    let reason = value
        .get("error")
        .filter(|error| error.kind() == json::ValueKind::String)
        .or_else(|| filled(error?.get("formatted")))
        .or_else(|| innermost_message(error?));
    let mut notice = builder.notice("retry", Content::None);
    let facts = [("attempt", attempt), ("of", most), ("status", status)];
    notice.data.extend(facts.into_iter().filter_map(|(name, number)| Some((name, Fact::Int(number?)))));
    notice.data.extend(delay.map(|delay| ("delay_ms", Fact::Float(delay.round()))));
    notice.data.extend(nodes([("error", reason)]));
    leveled(notice, "warning")
}

/// Returns the message of an error. That of the API's response, inside of it, comes first: the outer one contains its JSON.
fn innermost_message(error: Value<'_>) -> Option<Value<'_>> {
    /// The levels of errors: the program's, the response's, and the API's own.
    const LEVELS: usize = 3;
    let mut message = None;
    let mut error = Some(error);
    for _ in 0..LEVELS {
        let Some(inner) = error else { break };
        message = filled(inner.get("message")).or(message);
        error = inner.get("error");
    }
    message
}

fn hook(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>) {
    let texts = ["output", "stderr", "stdout"].into_iter().find_map(|key| filled(value.get(key)));
    let [exit, outcome] = value.get_all(["exit_code", "outcome"]);
    let is_fine = exit.and_then(Value::int).unwrap_or(0) == 0
        && outcome.and_then(Value::str).is_none_or(|outcome| outcome.is("success"));
    if is_fine {
        return builder.put_minor("hook", string(texts), |notice| notice.data.read(value, HOOK));
    }
    let mut notice = builder.notice("hook", string(texts));
    notice.data.read(value, HOOK);
    builder.put(echo(leveled(notice, "warning")));
}

/// Returns the notice for the end of a task, in the foreground or in the background.
fn task(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>, calls: &Calls) -> Item {
    let mut notice = builder.notice("task", content(value, "summary"));
    notice.data.read(value, TASK);
    let has_failed = value.get("status").and_then(Value::str).is_some_and(|status| status.is("failed"));
    echo_of_result(if has_failed { leveled(notice, "warning") } else { notice }, value, calls)
}

/// Marks a notice as an echo if the result of its call is still to come, since that will report the same.
fn echo_of_result(notice: Item, value: Value<'_>, calls: &Calls) -> Item {
    let call = value.get("tool_use_id").and_then(Value::decode);
    let is_awaited = call.is_some_and(|call| calls.awaits(&Id::from(&*call)));
    if is_awaited { echoed(notice) } else { notice }
}
