//! Steps: what the user, the program or the model wrote, the calls of the model, and their results.

use super::{AtifDecoder, AtifDocument, AtifTrajectory, tools};
use crate::calls::{CallState, points};
use crate::facts::{filled, image, minor, nodes, push_list, result_content, string, strings};
use crate::item_builder::ItemBuilder;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::session::Map;
use streamfmt_core::text::Text;

/// The calls of a step: the ids of their items, by their ids in the step.
type StepCalls = Map<Id, Id>;

impl AtifDecoder {
    /// Decodes a step; `at` is its number.
    pub(super) fn step<'a>(
        &mut self,
        step: Value<'a>,
        at: i64,
        trajectory: &AtifTrajectory,
        document: &mut AtifDocument<'a>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [source, message, time, copied, metrics, results, extra] = step.get_all([
            "source",
            "message",
            "timestamp",
            "is_copied_context",
            "metrics",
            "observation",
            "extra",
        ]);
        builder.at = time.map(Value::node);
        let id = trajectory.id(&format!("step-{at}"));
        if copied.and_then(Value::bool) == Some(true) {
            // It belongs to the trajectory before, with its calls and tokens.
            return builder.put_minor("info", text_of(message), |_| {});
        }
        let has_form = |message: Value<'_>| {
            matches!(message.kind(), ValueKind::String | ValueKind::Array | ValueKind::Null)
        };
        if !message.is_none_or(has_form) {
            return builder.unknown("step".into(), step);
        }
        let mut calls = StepCalls::default();
        match source.and_then(Value::decode).as_deref() {
            Some("user") => {
                let mut prompt = builder.item(id, Kind::Prompt);
                with_images(message, &mut prompt);
                builder.put(prompt);
            }
            Some("system") => {
                let context = extra.and_then(|extra| extra.get("context_management"));
                if let Some(context) = context.filter(|context| context.kind() == ValueKind::Object) {
                    return managed(message, context, results, builder);
                }
                // The first one is the system prompt.
                if at == 1 {
                    builder.put_minor("configuration", text_of(message), |_| {});
                } else {
                    let mut notice = builder.notice("info", Content::None);
                    with_images(message, &mut notice);
                    builder.put(notice);
                }
            }
            Some("agent") => {
                let [thought, list] = step.get_all(["reasoning_content", "tool_calls"]);
                if filled(thought).is_some() {
                    let mut item = builder.item(Id::below(id.as_str(), "thinking"), Kind::Thinking);
                    item.text = string(thought);
                    builder.put_thought(item);
                }
                let mut reply = builder.item(id.clone(), Kind::Reply);
                let others = content(message, &mut reply);
                if !reply.text().is_empty() {
                    builder.put(reply);
                }
                for other in others {
                    builder.unknown("message/part".into(), other);
                }
                if let Some(metrics) = metrics.filter(|metrics| metrics.kind() == ValueKind::Object) {
                    document.spent.step(&id, metrics, builder.out);
                }
                for call in list.into_iter().flat_map(Value::items) {
                    self.call(call, &id, trajectory, &mut calls, builder);
                }
            }
            _ => return builder.unknown("step".into(), step),
        }
        let list = results.and_then(|results| results.get("results"));
        // Some writers put the result itself there.
        let is_bare = |results: &Value<'_>| results.kind() == ValueKind::String;
        let results = list.map_or_else(
            || results.filter(is_bare).into_iter().collect(),
            |list| list.items().collect::<Vec<_>>(),
        );
        let is_named = results.iter().any(|result| filled(result.get("source_call_id")).is_some());
        for result in results {
            // A result without the id of a call is that of the only call, unless others have ids.
            let only = calls.first().filter(|_| calls.len() == 1 && !is_named).map(|(_, id)| id);
            self.result(result, &calls, only, trajectory, document, builder);
        }
    }

    /// Emits a call, with its to-do list.
    fn call(
        &mut self,
        value: Value<'_>,
        step: &Id,
        trajectory: &AtifTrajectory,
        calls: &mut StepCalls,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [id, name, arguments] = value.get_all(["tool_call_id", "function_name", "arguments"]);
        let name = name.and_then(Value::decode).unwrap_or_default();
        let own = filled(id).and_then(Value::decode).unwrap_or_default();
        let candidates = [Id::from(&*own), Id::below(step.as_str(), &own)];
        let free = candidates.into_iter().find(|id| !own.is_empty() && self.calls.get(id).is_none());
        let id = free.unwrap_or_else(|| builder.unnamed());
        calls.insert(Id::from(&*own), id.clone());
        let mut call = builder.item(id, Kind::Call);
        tools::set(&mut call, &name, trajectory.agent);
        if let Some(arguments) = arguments.filter(|arguments| !arguments.is_null()) {
            // Some writers put them there as JSON in a string.
            call.input = Some(arguments.node());
        }
        self.calls.add(&call);
        let plan = points(&call).map(|points| {
            let mut plan = builder.item(Id::below(call.id.as_str(), "plan"), Kind::Plan);
            plan.data.push(("todos", points));
            plan
        });
        builder.put(call);
        if let Some(plan) = plan {
            builder.put(plan);
        }
    }

    /// Emits a result, after the steps of the sub-agents that it refers to.
    fn result<'a>(
        &mut self,
        value: Value<'a>,
        calls: &StepCalls,
        only: Option<&Id>,
        trajectory: &AtifTrajectory,
        document: &mut AtifDocument<'a>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [source, body, references, extra, failed] =
            value.get_all(["source_call_id", "content", "subagent_trajectory_ref", "extra", "is_error"]);
        let call = match filled(source).and_then(Value::decode) {
            Some(source) => {
                let source = Id::from(&*source);
                Some(calls.get(&source).cloned().unwrap_or(source))
            }
            None => only.cloned(),
        };
        let id = call.as_ref().map_or_else(|| builder.unnamed(), |call| Id::below(call.as_str(), "result"));
        let mut item = builder.item(id, Kind::Result);
        item.words = Some(|_, text: Text| text.trimmed_end());
        match call.as_ref().and_then(|call| self.calls.get(call)) {
            Some(CallState::Awaited(tool, tool_kind)) => {
                (item.tool, item.tool_kind) = (tool.clone(), *tool_kind);
            }
            Some(CallState::Answered) => item.data.push(("again", Fact::Bool(true))),
            None => item.data.push(("orphan", Fact::Bool(true))),
        }
        result_content(&mut item, body.or(Some(value).filter(|value| value.kind() == ValueKind::String)));
        if failed.and_then(Value::bool) == Some(true) {
            fail(&mut item);
        }
        if let Some(extra) = extra.filter(|extra| extra.kind() == ValueKind::Object) {
            outcome_of(extra, &mut item);
        }
        for reference in references.into_iter().flat_map(Value::items) {
            let [id, session, path] = reference.get_all(["trajectory_id", "session_id", "trajectory_path"]);
            let id = filled(id).or(filled(session)).and_then(Value::decode).map(|id| Id::from(&*id));
            let embedded = id.and_then(|id| document.embedded.swap_remove(&id));
            match (embedded, &call) {
                (Some(embedded), Some(call)) => {
                    self.inside(embedded, call, trajectory.depth, document, builder);
                }
                _ if item.tool_kind == Some(ToolKind::Delegate) => {
                    item.data.extend(nodes([("output_file", filled(path))]));
                }
                _ => {}
            }
        }
        if let Some(call) = call {
            self.calls.mark_answered(&call);
            item.call = Some(call);
        }
        let is_silent = matches!(item.text, Content::None) && item.data.iter().next().is_none();
        if is_silent {
            item.data.push(("success", Fact::Bool(true)));
        }
        builder.put(item);
    }
}

/// Adds the failure that a result states, and what our own writer adds.
fn outcome_of(extra: Value<'_>, item: &mut Item) {
    let [failed, exit, status, older] = extra.get_all(["is_error", "exit_code", "status", "exit"]);
    let is_failure = |status: Value<'_>| {
        status.str().is_some_and(|status| ["error", "failed", "failure"].iter().any(|word| status.is(word)))
    };
    if failed.and_then(Value::bool) == Some(true) || status.is_some_and(is_failure) {
        fail(item);
    }
    if let Some(exit) = exit.or(older).filter(|exit| exit.int().is_some_and(|code| code != 0)) {
        fail(item);
        item.data.push(("exit", Fact::Node(exit.node())));
    }
}

/// Marks a result as failed.
fn fail(item: &mut Item) {
    (item.error, item.status) = (true, Status::Failed);
}

/// Adds the texts of a message. Returns its other parts.
fn content<'a>(message: Option<Value<'a>>, item: &mut Item) -> Vec<Value<'a>> {
    let Some(list) = message.filter(|message| message.kind() == ValueKind::Array) else {
        item.text = string(message);
        return Vec::new();
    };
    let is_text = |part: &Value<'_>| part.kind() == ValueKind::String;
    let text_in = |part: Value<'a>| Some(part).filter(is_text).or_else(|| part.get("text").filter(is_text));
    let texts = list.items().filter_map(text_in).map(Value::node);
    item.text = strings(texts.collect());
    list.items().filter(|part| text_in(*part).is_none()).collect()
}

/// Adds the texts and the pictures of a message.
fn with_images(message: Option<Value<'_>>, item: &mut Item) {
    let images = content(message, item).into_iter().map(image).collect();
    push_list(item, "images", images);
}

/// Returns the texts of a message.
fn text_of(message: Option<Value<'_>>) -> Content {
    let mut item = Item::new("", Kind::Notice, 0);
    content(message, &mut item);
    item.text
}

/// Emits the notice of a change to the context: a compaction with its summary, or a text that was added.
fn managed(
    message: Option<Value<'_>>,
    context: Value<'_>,
    results: Option<Value<'_>>,
    builder: &mut ItemBuilder<'_>,
) {
    let kind = context.get("type").and_then(Value::decode).unwrap_or_default();
    if kind == "injection" {
        return builder.put_minor("reminder", text_of(message), |_| {});
    }
    let mut notice = builder.notice("compaction", Content::None);
    let [before, after] = context.get_all(["before", "after"]);
    notice.data.extend(nodes([("before", before), ("after", after)]));
    builder.put(notice);
    if filled(message).is_some() {
        builder.put_minor("info", string(message), |_| {});
    }
    let results = results.and_then(|results| results.get("results"));
    for result in results.into_iter().flat_map(Value::items) {
        let mut summary = minor(builder.notice("summary", Content::None));
        with_images(result.get("content"), &mut summary);
        builder.put(summary);
    }
}
