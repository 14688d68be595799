//! Builds results: from the items of streams and session files, and from the output that the model received.

use std::borrow::Cow;

use crate::calls::Calls;
use crate::facts::{decoded_size, filled, nodes, result_content, string, strings};
use streamfmt_core::item::{Content, Fact, FactRef, Id, Item, ToolKind};
use streamfmt_core::json::{self, Record, Value};
use streamfmt_core::text::Text;

pub(super) use crate::facts::fail;

use super::call::{CallSource, file_changes};
use super::wrapped::{self, is_command};
use super::{ItemBuilder, tools};

/// Returns a result of a call, without content.
pub(super) fn of_call(call: &Id, calls: &Calls, builder: &ItemBuilder<'_>) -> Item {
    let mut item = calls.result_of(call, builder);
    item.words = Some(trimmed);
    item
}

/// Adds the outcome of a call to its result, from the call's item.
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
        CallSource::Command => {
            let [both, out, errors] = value.get_all(["aggregated_output", "stdout", "stderr"]).map(filled);
            result.text = string(both.or(out));
            if let Some(errors) = errors.filter(|_| both.is_none()) {
                result.data.push(("stderr", Fact::Node(errors.node())));
            }
        }
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
        CallSource::Image | CallSource::Sleep => {}
        CallSource::Dynamic => {
            let [content, older, success] = value.get_all(["content_items", "contentItems", "success"]);
            result_content(result, content.or(older));
            if success.and_then(Value::bool) == Some(false) {
                fail(result);
            }
        }
        CallSource::Drawing => drawing(value, result),
    }
    if matches!(result.text, Content::None)
        && let Some(error) = value.get("error").filter(|error| !error.is_null())
    {
        result.text = string(Some(error.get("message").unwrap_or(error)));
    }
    mark_success_if_silent(result);
}

/// Adds a picture that was drawn, or the reason why it wasn't.
fn drawing(value: Value<'_>, result: &mut Item) {
    let [data, path, newer, failure] = value.get_all(["result", "saved_path", "savedPath", "failure"]);
    let path = filled(path.or(newer));
    let mut facts: Vec<_> = nodes([("name", path)]).collect();
    if let Some(data) = filled(data) {
        facts.push(("media", Fact::Text("image/png".to_owned())));
        facts.push(("bytes", Fact::Int(decoded_size(data.str().map_or("", |data| data.raw())))));
        facts.push(("data", Fact::Bytes(data.node())));
    }
    if !facts.is_empty() {
        result.data.push(("images", Fact::List(vec![Fact::Map(facts)])));
    }
    if let Some(failure) = failure.filter(|failure| !failure.is_null()) {
        fail(result);
        result.text = string(failure.get("type").or(Some(failure)));
    }
}

/// Joins the result that the model received with that of a line about the same call. The line has facts of its own; of two outputs that begin
/// alike, the longer one counts: either may be shortened.
pub(super) fn joined(received: Item, reported: Item) -> Item {
    let is_received = matches!(reported.text, Content::None) && reported.fact("images").is_none();
    let is_agents =
        matches!(received.tool_kind, Some(ToolKind::Delegate | ToolKind::Message | ToolKind::Read))
            || received
                .tool
                .as_deref()
                .is_some_and(|tool| tool == tools::CLOSE || tools::WAIT.contains(&tool));
    let has_failed = received.error || reported.error;
    let (mut item, other) = if is_agents { (received, reported) } else { (reported, received) };
    if !is_agents && (is_received || is_command(&item)) {
        let output = wrapped::output_of(&other);
        let is_longer = |text: &str| {
            let first = text.trim().lines().next().unwrap_or_default();
            output.trim().starts_with(first) && output.trim().len() > text.trim().len()
        };
        if is_longer(&item.text()) {
            item.text = Content::Own(output);
        }
    }
    for name in ["exit", "background", "state", "denied", "stopped", "took_ms", "agent"] {
        let known = other.fact(name).filter(|_| item.fact(name).is_none());
        let owned = known.and_then(|fact| {
            let text = || fact.str().map(|text| Fact::Text(text.into_owned()));
            fact.int().map(Fact::Int).or_else(|| fact.bool().map(Fact::Bool)).or_else(text)
        });
        item.data.extend(owned.map(|fact| (name, fact)));
    }
    if item.tool_kind == Some(ToolKind::Edit) {
        // The model's patch has them.
        item.data.retain(|(name, _)| *name != "changes");
    }
    if has_failed {
        fail(&mut item);
    }
    if item.error || has_text(&item) {
        item.data.retain(|(name, _)| *name != "success");
    }
    item
}

/// Marks a result without content and error as successful: nothing else is known of it.
pub(super) fn mark_success_if_silent(result: &mut Item) {
    // For a command, an empty result already means that it wrote nothing.
    if !result.error && !has_text(result) && !matches!(result.tool_kind, Some(ToolKind::Run | ToolKind::Job))
    {
        result.data.push(("success", Fact::Bool(true)));
    }
}

/// Whether a result has a text that isn't empty, without decoding it.
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

/// Returns the text without blanks and line feeds at its end.
fn trimmed(_: &Item, text: Text) -> Text {
    text.trimmed_end()
}

/// Adds the duration of a call.
pub(super) fn add_duration(result: &mut Item, duration: Option<Value<'_>>) {
    if let Some(duration) = duration.filter(|duration| duration.kind() == json::ValueKind::Object) {
        result.data.push(("took_ms", Fact::Made(milliseconds, duration.node())));
    }
}

/// Adds the response of an MCP server, or its error.
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

/// Adds the response of an MCP server.
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

/// How many lines a patch adds and removes.
#[derive(Clone, Copy, Default)]
pub(super) struct PatchSize {
    added: i64,
    removed: i64,
}

impl PatchSize {
    /// Counts the lines of changes; `None` if they aren't known line by line.
    pub(super) fn of(changes: FactRef<'_>) -> Option<Self> {
        let mut size = Self::default();
        for change in changes.list() {
            let text = |name: &str| change.get(name).and_then(FactRef::str);
            if let Some(diff) = text("diff") {
                let lines = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).count();
                size.added += lines('+').try_into().unwrap_or(i64::MAX);
                size.removed += lines('-').try_into().unwrap_or(i64::MAX);
            } else {
                let lines = text("content").map(|content| content.lines().count());
                let count = if text("kind")? == "delete" { &mut size.removed } else { &mut size.added };
                *count += lines?.try_into().unwrap_or(i64::MAX);
            }
        }
        Some(size)
    }

    /// Adds the numbers to the result of the patch, if it was applied.
    pub(super) fn add_to(self, result: &mut Item) {
        if !result.error {
            result.data.push(("added", Fact::Int(self.added)));
            result.data.push(("removed", Fact::Int(self.removed)));
        }
    }
}

/// Adds the states or answers of the sub-agents of a call.
fn agents(value: Value<'_>, result: &mut Item) {
    let states = value.get("agents_states").into_iter().flat_map(Value::entries);
    if result.tool_kind == Some(ToolKind::Delegate) {
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

/// Returns our name for the state of a sub-agent that was started.
pub(super) fn state_of(state: &str) -> &str {
    if matches!(state, "pending_init" | "running") { "async_launched" } else { state }
}

/// Returns the readable text of an MCP result that is a JSON list of content parts, as versions before 0.120 pass it to the model.
pub(super) fn words_of_parts(result: &Item) -> Option<Text> {
    let text = result.text();
    if result.tool_kind != Some(ToolKind::Mcp) || !text.starts_with("[{") {
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

/// Returns a sub-agent's answer from its state: `{"status":"completed","message":"…"}` or `{"completed":"…"}`.
pub(super) fn answer(state: Value<'_>) -> Option<Value<'_>> {
    filled(state.get("message").or_else(|| state.entries().next().map(|(_, message)| message)))
}

/// Adds the id and state of a sub-agent from the JSON text that the model received, or the success of a call that closed one.
pub(super) fn add_agents(result: &mut Item) {
    if result.tool.as_deref() == Some(tools::CLOSE) && !result.error {
        // Its text only repeats the agent's answer.
        result.data.push(("success", Fact::Bool(true)));
    }
    if result.tool_kind != Some(ToolKind::Delegate) {
        return;
    }
    let Ok(output) = Record::from_line(result.text().into_owned()) else { return };
    let [id, name] = output.root().get_all(["agent_id", "task_name"]).map(|id| id.and_then(Value::decode));
    if let Some(id) = id.or(name) {
        result.data.push(("agent", Fact::Text(id.into_owned())));
        result.data.push(("state", Fact::Text(state_of("running").to_owned())));
    }
}

/// Returns the answers of the sub-agents that a call waited for, as its readable text.
pub(super) fn words_of_agents(result: &Item) -> Option<Text> {
    if !result.tool.as_deref().is_some_and(|tool| tools::WAIT.contains(&tool)) {
        return None;
    }
    let output = Record::from_line(result.text().into_owned()).ok()?;
    let states = output.root().get("status")?.entries();
    let answers: Vec<_> = states.filter_map(|(_, state)| answer(state)?.decode()).collect();
    (!answers.is_empty()).then(|| Text::clean(&answers.join("\n")))
}

/// Returns the first of these fields that holds a text.
fn text_of<const N: usize>(value: Value<'_>, names: [&str; N]) -> Content {
    string(value.get_all(names).into_iter().find_map(filled))
}

/// Whether the changes have diffs, not only the names of files.
fn has_diffs(changes: Value<'_>) -> bool {
    changes.kind() == json::ValueKind::Object
}

/// Returns the milliseconds of a duration: `{"secs":0,"nanos":1100954}`.
fn milliseconds(duration: Value<'_>) -> Option<Fact> {
    let [seconds, nanos] = duration.get_all(["secs", "nanos"]);
    seconds?.int()?.checked_mul(1000)?.checked_add(nanos?.int()? / 1_000_000).map(Fact::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::Kind;

    fn result(tool_kind: ToolKind, text: &str, error: bool) -> Item {
        let mut item = Item::new("r", Kind::Result, 1);
        if !text.is_empty() {
            item.text = Content::Own(text.to_owned());
        }
        (item.tool_kind, item.error) = (Some(tool_kind), error);
        item
    }

    fn is_successful(item: &Item) -> bool {
        item.fact("success").and_then(FactRef::bool) == Some(true)
    }

    #[test]
    fn a_joined_result_has_failed_if_either_side_reports_a_failure() {
        for (received, reported) in [(false, false), (true, false), (false, true), (true, true)] {
            for tool_kind in [ToolKind::Run, ToolKind::Read] {
                let mut reported_item = result(tool_kind, "", reported);
                reported_item.data.push(("success", Fact::Bool(true)));
                let mut received_item = result(tool_kind, "", received);
                received_item.data.push(("success", Fact::Bool(true)));
                let item = joined(received_item, reported_item);
                let has_failed = received || reported;
                assert_eq!(item.error, has_failed, "{tool_kind:?}: received {received}, reported {reported}");
                assert_eq!(is_successful(&item), !has_failed, "{tool_kind:?}: a failure is no success");
            }
        }
    }

    #[test]
    fn a_joined_result_has_the_text_that_is_whole() {
        for (tool_kind, received, reported, expected) in [
            (ToolKind::Mcp, "all of it", "", "all of it"),
            (ToolKind::Mcp, "all of it", "all", "all"),
            (ToolKind::Run, "all of it", "all", "all of it"),
            (ToolKind::Run, "all of it", "other", "other"),
            (ToolKind::Run, "all", "all of it", "all of it"),
        ] {
            let item = joined(result(tool_kind, received, false), result(tool_kind, reported, false));
            assert_eq!(item.text(), expected, "{tool_kind:?}: {received:?}, {reported:?}");
        }
    }

    #[test]
    fn only_a_silent_result_of_another_tool_than_a_command_counts_as_success() {
        for (tool_kind, text, error, expected) in [
            (ToolKind::Mcp, "", false, true),
            (ToolKind::Mcp, "x", false, false),
            (ToolKind::Mcp, "", true, false),
            (ToolKind::Run, "", false, false),
            (ToolKind::Job, "", false, false),
        ] {
            let mut item = result(tool_kind, text, error);
            mark_success_if_silent(&mut item);
            assert_eq!(is_successful(&item), expected, "{tool_kind:?} {text:?} {error}");
        }
    }
}
