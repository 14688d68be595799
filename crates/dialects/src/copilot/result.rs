//! Results of calls: their output while it is written, and as a whole.

use super::{Copilot, MAX_OPEN, wrapped};
use crate::calls::CallState;
use crate::facts::{filled, image, nodes, push_list, string};
use crate::item_builder::ItemBuilder;
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

/// The figures of a sub-agent that has ended: its calls, tokens and milliseconds.
pub(super) type AgentTotals = [Option<i64>; 3];

impl Copilot {
    /// Returns the result of a call, without content.
    fn result_of(&self, call: &Id, builder: &ItemBuilder<'_>) -> Item {
        let mut item = builder.item(Id::below(call.as_str(), "result"), Kind::Result);
        match self.calls.get(call) {
            Some(CallState::Awaited(tool, tool_kind)) => {
                (item.tool, item.tool_kind) = (tool.clone(), *tool_kind);
            }
            Some(CallState::Answered) => item.data.push(("again", Fact::Bool(true))),
            None => item.data.push(("orphan", Fact::Bool(true))),
        }
        item.call = Some(call.clone());
        item.words = Some(wrapped::words);
        item
    }

    /// Returns the call that output belongs to, if its result hasn't come yet.
    fn awaited(&self, data: Value<'_>) -> Option<Id> {
        let call = data.get("toolCallId").and_then(Value::decode)?;
        Some(Id::from(&*call)).filter(|call| self.calls.awaits(call))
    }

    /// Appends output of a command to its result, which will repeat all of it.
    pub(super) fn output_piece(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        builder.bookkeeping("tool.shell_output");
        let piece = data.get("text").and_then(Value::decode);
        let (Some(call), Some(piece)) = (self.awaited(data), piece) else { return };
        let item = self.result_of(&call, builder);
        let id = item.id.clone();
        if !self.growing.contains(&id) {
            if self.growing.len() >= MAX_OPEN {
                self.growing.remove(0);
            }
            self.growing.push(id.clone());
            builder.emit(Event::Open(Box::new(item)));
        }
        builder.emit(Event::Append { id, text: piece.into_owned() });
    }

    /// Shows all output so far, unless its pieces came.
    pub(super) fn output_so_far(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        builder.bookkeeping("tool.execution_partial_result");
        let Some(call) = self.awaited(data) else { return };
        let mut item = self.result_of(&call, builder);
        item.text = string(data.get("partialOutput"));
        if !self.growing.contains(&item.id) {
            builder.emit(Event::Amend(Box::new(item)));
        }
    }

    /// Emits the result of a call.
    pub(super) fn result(&mut self, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, success, result, error, shell, edits, telemetry] = data.get_all([
            "toolCallId",
            "success",
            "result",
            "error",
            "shellExecution",
            "fileEdits",
            "toolTelemetry",
        ]);
        let call = builder.id_of(id);
        let mut item = self.result_of(&call, builder);
        self.growing.retain(|growing| *growing != item.id);
        self.calls.mark_answered(&call);
        if let Some(result) = result {
            content(result, &mut item);
        }
        let error = error.filter(|error| !error.is_null());
        if success.and_then(Value::bool) == Some(false) || error.is_some() {
            fail(&mut item);
            let message = error.map(|error| error.get("message").unwrap_or(error));
            if filled(message).is_some() {
                item.text = string(message);
            }
            match error.and_then(|error| error.get("code")?.decode()).as_deref() {
                Some("denied") => item.data.push(("denied", Fact::Bool(true))),
                Some("rejected") => item.data.push(("stopped", Fact::Text("rejected".into()))),
                _ => {}
            }
        }
        let exit = shell.and_then(|shell| shell.get("exitCode"));
        if let Some(exit) = exit.filter(|exit| exit.int().is_some_and(|code| code != 0)) {
            fail(&mut item);
            item.data.push(("exit", Fact::Node(exit.node())));
        }
        // A folder may be viewed as well.
        let viewed = telemetry.and_then(|telemetry| telemetry.get("properties")?.get("viewType")?.str());
        if !item.error && item.tool_kind == Some(ToolKind::Read) && viewed.is_some_and(|kind| kind.is("file"))
        {
            let lines = i64::try_from(item.text().lines().count()).unwrap_or(i64::MAX);
            item.data.push(("lines", Fact::Int(lines)));
        }
        let kinds = edits.into_iter().flat_map(Value::items).filter_map(|edit| edit.get("kind")?.str());
        if matches!(item.tool_kind, Some(ToolKind::Write)) && kinds.into_iter().any(|kind| kind.is("create"))
        {
            item.data.push(("created", Fact::Bool(true)));
        }
        if let Some(totals) = self.totals_of_agents.get(call.hash()) {
            let names = ["tool_uses", "tokens", "duration_ms"];
            let known =
                names.into_iter().zip(totals).filter_map(|(name, count)| Some((name, Fact::Int((*count)?))));
            item.data.extend(known);
        }
        if !item.error
            && matches!(item.text, Content::None)
            && !matches!(item.tool_kind, Some(ToolKind::Run | ToolKind::Job))
        {
            item.data.push(("success", Fact::Bool(true)));
        }
        builder.put(item);
    }

    /// Notes the figures of a sub-agent, for the result of its call.
    pub(super) fn agent_ended(&mut self, data: Value<'_>) {
        let [call, calls, tokens, duration] =
            data.get_all(["toolCallId", "totalToolCalls", "totalTokens", "durationMs"]);
        if let Some(call) = call.and_then(Value::decode) {
            let totals = [calls, tokens, duration].map(|count| count.and_then(Value::int));
            self.totals_of_agents.add(Id::from(&*call).hash(), || totals);
        }
    }
}

/// Adds the content of a result. The text for people differs from that for the model only where it is a diff.
fn content(value: Value<'_>, item: &mut Item) {
    let [text, detailed, blocks, structured, binary] =
        value.get_all(["content", "detailedContent", "contents", "structuredContent", "binaryResultsForLlm"]);
    item.text = string(filled(text).or_else(|| filled(detailed)));
    let is_text = |block: &Value<'_>| {
        block.get("type").and_then(Value::str).is_some_and(|kind| kind.is("text") || kind.is("terminal"))
    };
    let of_blocks: Vec<_> =
        blocks.into_iter().flat_map(Value::items).filter(|block| !is_text(block)).collect();
    let pictures =
        if of_blocks.is_empty() { binary.into_iter().flat_map(Value::items).collect() } else { of_blocks };
    let (mut images, mut more) = (Vec::new(), Vec::new());
    for block in pictures {
        match block.get("type").and_then(Value::decode).as_deref() {
            Some("image") => images.push(image(block)),
            _ => more.push(Fact::Node(block.node())),
        }
    }
    push_list(item, "images", images);
    push_list(item, "more", more);
    let structured = structured.filter(|structured| structured.kind() != ValueKind::Null);
    item.data.extend(nodes([("structured", structured)]));
}

/// Marks a result or outcome as failed.
pub(super) fn fail(item: &mut Item) {
    (item.error, item.status) = (true, Status::Failed);
}
