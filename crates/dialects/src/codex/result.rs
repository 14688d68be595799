//! Results: what came of calls, as items tell it, and as the model was told.

use std::borrow::Cow;

use crate::calls::{CallState, Calls};
use crate::facts::{filled, result_content, string, strings};
use streamfmt_core::item::{Content, Deed, Fact, Id, Item, Kind, Status};
use streamfmt_core::json::{self, Record, Value};
use streamfmt_core::text::Text;

use super::call::{CallSource, file_changes};
use super::{ItemBuilder, tools};

/// The result of a call, with nothing in it yet.
pub(super) fn of_call(call: &Id, calls: &Calls, builder: &ItemBuilder<'_>) -> Item {
    let mut item = builder.item(Id::below(call.as_str(), "result"), Kind::Result);
    match calls.get(call) {
        Some(CallState::Awaited(tool, deed)) => {
            (item.tool, item.deed) = (tool.clone(), *deed);
        }
        Some(CallState::Answered) => item.data.push(("again", Fact::Bool(true))),
        None => item.data.push(("orphan", Fact::Bool(true))),
    }
    item.call = Some(call.clone());
    item.words = Some(trimmed);
    item
}

/// What an item that is a call tells of how it ended.
pub(super) fn of_item(source: CallSource, value: Value<'_>, result: &mut Item) {
    let [status, exit, duration] = value.get_all(["status", "exit_code", "duration"]);
    let is_status = |word: &str| status.and_then(Value::str).is_some_and(|status| status.is(word));
    if is_status("failed") || is_status("declined") {
        fail(result);
    }
    if is_status("declined") {
        result.data.push(("denied", Fact::Bool(true)));
    } else if let Some(exit) = exit.filter(|exit| exit.int().is_some_and(|code| code != 0)) {
        fail(result);
        result.data.push(("exit", Fact::Node(exit.node())));
    }
    add_duration(result, duration);
    match source {
        CallSource::Command => result.text = text_of(value, ["aggregated_output", "stdout"]),
        CallSource::Patch => {
            result.text = text_of(value, ["stderr", "stdout"]);
            if let Some(changes) = value.get("changes").filter(|changes| has_diffs(*changes)) {
                result.data.push(("changes", file_changes(changes)));
            }
        }
        CallSource::Mcp => mcp(value, result),
        CallSource::Agents => agents(value, result),
        CallSource::Web => {
            if let Some(hits) = value.get("results") {
                let hits = hits.items().map(|hit| Fact::Node(hit.node())).collect();
                result.data.push(("hits", Fact::List(hits)));
            }
        }
        CallSource::Image => {}
    }
    silent(result);
}

/// Notes of a result that has nothing in it that it went well: that is all that is known.
pub(super) fn silent(result: &mut Item) {
    // Of a command it is known that it wrote nothing.
    if !result.error && !has_text(result) && !matches!(result.deed, Some(Deed::Run | Deed::Job)) {
        result.data.push(("success", Fact::Bool(true)));
    }
}

/// Whether a result has a text that isn't empty. It isn't decoded for that.
pub(super) fn has_text(result: &Item) -> bool {
    let is_filled =
        |node: &u32| result.record.as_ref().is_some_and(|record| record.value(*node).raw().len() > 2);
    match &result.text {
        Content::None => false,
        Content::Own(text) => !text.is_empty(),
        Content::Node(node) => is_filled(node),
        Content::Parts(nodes) => nodes.iter().any(is_filled),
    }
}

/// What an item tells, without the line feed that ends it.
fn trimmed(_: &Item, text: Text) -> Text {
    text.trimmed_end()
}

/// The call has failed.
pub(super) fn fail(result: &mut Item) {
    (result.error, result.status) = (true, Status::Failed);
}

/// How long a call took.
pub(super) fn add_duration(result: &mut Item, duration: Option<Value<'_>>) {
    if let Some(duration) = duration.filter(|duration| duration.kind() == json::ValueKind::Object) {
        result.data.push(("took_ms", Fact::Count(milliseconds, duration.node())));
    }
}

/// What the server of an MCP tool answered, or why it didn't.
fn mcp(value: Value<'_>, result: &mut Item) {
    let [answer, error] = value.get_all(["result", "error"]);
    if let Some(answer) = answer.filter(|answer| !answer.is_null()) {
        mcp_answer(answer, result);
    }
    if let Some(error) = error.filter(|error| !error.is_null()) {
        fail(result);
        let message = error.get("message").unwrap_or(error);
        if matches!(result.text, Content::None) {
            result.text = string(Some(message));
        }
    }
}

/// What the server of an MCP tool answered.
pub(super) fn mcp_answer(answer: Value<'_>, result: &mut Item) {
    let [blocks, structured, older, is_error] =
        answer.get_all(["content", "structuredContent", "structured_content", "isError"]);
    result_content(result, blocks);
    if let Some(structured) = structured.or(older).filter(|structured| !structured.is_null()) {
        result.data.push(("structured", Fact::Node(structured.node())));
    }
    if is_error.and_then(Value::bool) == Some(true) {
        fail(result);
    }
}

/// What became of the agents that a call is about.
fn agents(value: Value<'_>, result: &mut Item) {
    let states = value.get("agents_states").into_iter().flat_map(Value::entries);
    if result.deed == Some(Deed::Delegate) {
        for (id, state) in states {
            result.data.push(("agent", Fact::Text(id.decode().into_owned())));
            let state = state.get("status").unwrap_or(state).decode();
            result.data.extend(state.map(|state| ("state", Fact::Text(state_of(&state).to_owned()))));
        }
    } else if result.tool.as_deref() != Some(tools::CLOSE) {
        let answers = states.filter_map(|(_, state)| answer(state)).map(Value::node);
        result.text = strings(answers.collect());
    }
}

/// How far a sub-agent is that was started, in our words.
fn state_of(state: &str) -> &str {
    if matches!(state, "pending_init" | "running") { "async_launched" } else { state }
}

/// What of a text is for people that is a list of content parts: what versions before 0.120 tell the model of MCP tools.
pub(super) fn words_of_parts(result: &Item) -> Option<Text> {
    let text = result.text();
    if result.deed != Some(Deed::Mcp) || !text.starts_with("[{") {
        return None;
    }
    let parts = Record::from_line(text.into_owned()).ok()?;
    let words = |part: Value<'_>| {
        let [text, media] = part.get_all(["text", "mimeType"]).map(|part| part.and_then(Value::decode));
        text.map(Cow::into_owned).or_else(|| Some(format!("({})", media?)))
    };
    let words: Option<Vec<String>> = parts.root().items().map(words).collect();
    words.map(|words| Text::clean(&words.join("\n")))
}

/// What a sub-agent answered: `{"status":"completed","message":"…"}` or `{"completed":"…"}`.
fn answer(state: Value<'_>) -> Option<Value<'_>> {
    filled(state.get("message").or_else(|| state.entries().next().map(|(_, message)| message)))
}

/// What the model was told of the agents that a call is about: JSON in a text.
pub(super) fn add_agents(result: &mut Item) {
    if result.tool.as_deref() == Some(tools::CLOSE) && !result.error {
        // It repeats what the agent answered before.
        result.data.push(("success", Fact::Bool(true)));
    }
    if result.deed != Some(Deed::Delegate) {
        return;
    }
    let Ok(told) = Record::from_line(result.text().into_owned()) else { return };
    let [id, name] = told.root().get_all(["agent_id", "task_name"]).map(|id| id.and_then(Value::decode));
    if let Some(id) = id.or(name) {
        result.data.push(("agent", Fact::Text(id.into_owned())));
        result.data.push(("state", Fact::Text(state_of("running").to_owned())));
    }
}

/// What of that is for people: what the agents answered.
pub(super) fn words_of_agents(result: &Item) -> Option<Text> {
    if !result.tool.as_deref().is_some_and(|tool| tools::WAIT.contains(&tool)) {
        return None;
    }
    let told = Record::from_line(result.text().into_owned()).ok()?;
    let states = told.root().get("status")?.entries();
    let answers: Vec<_> = states.filter_map(|(_, state)| answer(state)?.decode()).collect();
    (!answers.is_empty()).then(|| Text::clean(&answers.join("\n")))
}

/// The first of these fields that holds a text.
fn text_of<const N: usize>(value: Value<'_>, names: [&str; N]) -> Content {
    string(value.get_all(names).into_iter().find_map(filled))
}

/// Whether it is known how files were changed, not only which.
fn has_diffs(changes: Value<'_>) -> bool {
    changes.kind() == json::ValueKind::Object
}

/// A duration, `{"secs":0,"nanos":1100954}`.
fn milliseconds(duration: Value<'_>) -> Option<i64> {
    let [seconds, nanos] = duration.get_all(["secs", "nanos"]);
    seconds?.int()?.checked_mul(1000)?.checked_add(nanos?.int()? / 1_000_000)
}
