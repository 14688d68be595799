//! Results of calls, permissions, and the output of terminals.

use super::call::{DiffPart, UnfinishedCall};
use super::{Acp, AgentRequest, ItemBuilder, number};
use crate::calls::CallState;
use crate::facts::{filled, image, push_list, string, strings};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::text::Text;

/// What is known of a terminal that the client runs for the agent.
#[derive(Clone, Default)]
pub(super) struct TerminalOutput {
    output: Option<String>,
    exit: Option<i64>,
}

impl Acp {
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
        item.words = Some(|_, text: Text| text.trimmed_end());
        item
    }

    /// Shows the output so far of a call that runs.
    pub(super) fn output_so_far(
        &mut self,
        call: &UnfinishedCall,
        update: Value<'_>,
        is_update: bool,
        builder: &mut ItemBuilder<'_>,
    ) {
        let content = update.get("content").filter(|content| is_update && content.items().next().is_some());
        if content.is_some() && self.calls.awaits(&call.id) {
            let mut item = self.result_of(&call.id, builder);
            self.content(content, &mut item);
            builder.emit(Event::Amend(Box::new(item)));
        }
    }

    /// Emits the result of a call that is over.
    pub(super) fn result(
        &mut self,
        call: &UnfinishedCall,
        update: Value<'_>,
        status: &str,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [content, output] = update.get_all(["content", "rawOutput"]);
        let mut item = self.result_of(&call.id, builder);
        self.calls.mark_answered(&call.id);
        self.content(content, &mut item);
        raw_output(output, &mut item);
        let changes = DiffPart::all(content);
        if matches!(item.tool_kind, Some(ToolKind::Edit | ToolKind::Write))
            && !call.has_changes()
            && !changes.is_empty()
        {
            item.data.push(("changes", Fact::List(changes.iter().map(DiffPart::fact).collect())));
        }
        match status {
            "failed" => fail(&mut item),
            "cancelled" => {
                fail(&mut item);
                item.data.push(("stopped", Fact::Text("stopped".into())));
            }
            _ => {}
        }
        if !item.error && output.is_none_or(Value::is_null) && matches!(item.text, Content::None) {
            // Some agents report no output at all, so nothing is known of it.
            item.data.push(("success", Fact::Bool(true)));
        }
        if let Some(stopped) = call.stopped.filter(|_| item.error) {
            item.data.push(("stopped", Fact::Text(stopped.to_owned())));
        }
        builder.put(item);
    }

    /// Adds the content of a call to its result: texts, pictures, and the output of terminals.
    fn content(&self, content: Option<Value<'_>>, item: &mut Item) {
        let (mut texts, mut images, mut more) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_terminal = None;
        for part in content.into_iter().flat_map(Value::items) {
            let [kind, inside, terminal] = part.get_all(["type", "content", "terminalId"]);
            match kind.and_then(Value::decode).as_deref() {
                Some("content") => match inside {
                    Some(block) => block_parts(block, &mut texts, &mut images, &mut more),
                    None => more.push(Fact::Node(part.node())),
                },
                Some("diff") => {}
                Some("terminal") => {
                    let id = terminal.and_then(Value::decode).map(|id| Id::from(&*id));
                    of_terminal = of_terminal.or_else(|| self.terminals.get(id?.hash()).cloned());
                }
                _ => more.push(Fact::Node(part.node())),
            }
        }
        item.text = strings(texts);
        push_list(item, "images", images);
        push_list(item, "more", more);
        let Some(terminal) = of_terminal else { return };
        if matches!(item.text, Content::None) {
            item.text = terminal.output.map_or(Content::None, Content::Own);
        }
        exit(terminal.exit, item);
    }

    /// Handles a request for permission, which may be the first line about its call.
    pub(super) fn permission(
        &mut self,
        id: Option<Value<'_>>,
        params: Value<'_>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [call, options] = params.get_all(["toolCall", "options"]);
        let Some(call) = call.filter(|call| call.kind() == ValueKind::Object) else {
            return builder.unknown("session/request_permission".into(), params);
        };
        self.tool_call(call, false, builder);
        let refuses = |option: Value<'_>| {
            let [id, kind] = option.get_all(["optionId", "kind"]);
            kind?.str().filter(|kind| kind.begins_with("reject"))?;
            Some(id?.decode()?.into_owned())
        };
        let refusals = options.into_iter().flat_map(Value::items).filter_map(refuses).collect();
        let about = call.get("toolCallId").and_then(Value::decode).map(|id| Id::from(&*id));
        // What the user is asked about is complete.
        if let Some(at) = self.open.iter().position(|open| Some(&open.id) == about.as_ref()) {
            let call = self.open.remove(at);
            let call = self.complete(call, builder);
            self.open.insert(at, call);
        }
        if let Some(asked) = about.clone().map(|call| self.calls.request_of(call)) {
            self.waits.add(id.map(Value::raw), &asked);
            let notice = asked.notice(builder);
            builder.put(notice);
        }
        self.note(id, AgentRequest { method: "session/request_permission".into(), about, refusals });
    }

    /// Emits the notice that a call no longer waits: the request with this number was answered.
    pub(super) fn end_wait(&self, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        self.waits.end(id.map_or("", Value::raw), builder);
    }

    /// Notes whether the user permitted a call. A call that was refused often gets no result of its own.
    pub(super) fn permitted(&mut self, id: Option<Value<'_>>, outcome: Value<'_>) {
        let Some(request) = self.requests.get(number(id)) else { return };
        let [kind, option] = outcome.get_all(["outcome", "optionId"]).map(|it| it.and_then(Value::decode));
        let stopped = match (kind.as_deref(), option) {
            (Some("cancelled"), _) => "interrupted",
            (_, Some(option)) if request.refusals.iter().any(|refusal| *refusal == option) => "rejected",
            _ => return,
        };
        if let Some(open) = self.open.iter_mut().find(|open| Some(&open.id) == request.about.as_ref()) {
            open.stopped = Some(stopped);
        }
    }

    /// Completes the calls of a turn that has ended. Those that the user refused have failed; of others nothing is known.
    pub(super) fn finish_calls(&mut self, builder: &mut ItemBuilder<'_>) {
        for call in std::mem::take(&mut self.open) {
            let call = self.complete(call, builder);
            if let Some(stopped) = call.stopped {
                let mut item = self.result_of(&call.id, builder);
                self.calls.mark_answered(&call.id);
                fail(&mut item);
                item.data.push(("stopped", Fact::Text(stopped.to_owned())));
                builder.put(item);
            }
        }
    }

    /// Notes the output or the exit code of a terminal.
    pub(super) fn terminal_answered(&mut self, id: Option<Value<'_>>, result: Value<'_>) {
        let Some(request) = self.requests.get(number(id)) else { return };
        let Some(terminal) = request.about.clone().filter(|_| request.method.starts_with("terminal/")) else {
            return;
        };
        let [output, status, code] = result.get_all(["output", "exitStatus", "exitCode"]);
        let code = status.and_then(|status| status.get("exitCode")).or(code).and_then(Value::int);
        let mut known = self.terminals.get(terminal.hash()).cloned().unwrap_or_default();
        known.output = output.and_then(Value::decode).map(Into::into).or(known.output);
        known.exit = code.or(known.exit);
        match self.terminals.get_mut(terminal.hash()) {
            Some(old) => *old = known,
            None => {
                self.terminals.add(terminal.hash(), || known);
            }
        }
    }
}

/// Sorts a content block: its text, its picture, or anything else.
pub(super) fn block_parts(
    block: Value<'_>,
    texts: &mut Vec<u32>,
    images: &mut Vec<Fact>,
    more: &mut Vec<Fact>,
) {
    let [kind, text, resource, uri] = block.get_all(["type", "text", "resource", "uri"]);
    match kind.and_then(Value::decode).as_deref() {
        Some("text") if text_in(text).is_some() => texts.extend(text.map(Value::node)),
        Some("image" | "audio") => images.push(image(block)),
        Some("resource") => match text_in(resource.and_then(|resource| resource.get("text"))) {
            Some(text) => texts.push(text.node()),
            None => more.push(Fact::Node(block.node())),
        },
        Some("resource_link") if text_in(uri).is_some() => texts.extend(uri.map(Value::node)),
        _ => more.push(Fact::Node(block.node())),
    }
}

fn text_in(value: Option<Value<'_>>) -> Option<Value<'_>> {
    value.filter(|value| value.kind() == ValueKind::String)
}

/// Adds what the agent's own output has beyond the content: its exit code, and its text if there is no content.
fn raw_output(output: Option<Value<'_>>, item: &mut Item) {
    let Some(output) = output.filter(|output| !output.is_null()) else { return };
    let [text, stdout, formatted, error, metadata, code, newer] = output.get_all([
        "output",
        "stdout",
        "formatted_output",
        "error",
        "metadata",
        "exit_code",
        "exitCode",
    ]);
    if matches!(item.text, Content::None) && item.fact("images").is_none() {
        let is_text = output.kind() == ValueKind::String;
        let text = if is_text {
            Some(output)
        } else {
            [text, formatted, stdout, error].into_iter().find_map(filled)
        };
        item.text = string(text);
    }
    exit(metadata.and_then(|it| it.get("exit")).or(code).or(newer).and_then(Value::int), item);
}

/// Adds an exit code that reports a failure.
fn exit(code: Option<i64>, item: &mut Item) {
    if let Some(code) = code.filter(|code| *code != 0) {
        fail(item);
        item.data.push(("exit", Fact::Int(code)));
    }
}

/// Marks a result as failed.
fn fail(result: &mut Item) {
    (result.error, result.status) = (true, Status::Failed);
}
