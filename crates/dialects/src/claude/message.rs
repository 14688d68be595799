//! Complete messages: `assistant` and `user` lines.
//!
//! Each content block becomes an item. An API message of several blocks comes as several lines with
//! one id and no block index (except in the newest history files), so blocks are counted in order.

use std::iter;
use std::sync::Arc;

use crate::calls::CallState;
use crate::fact;
use crate::facts::{leveled, minor, nodes, result_content, string};
use crate::tool::{add_server, mcp};
use streamfmt_core::event::{Event, Usage, UsageDetails};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Action, Content, Fact, FactRef, Id, Item, Kind, Status, ToolKind, WaitsFor};
use streamfmt_core::json::{self, Str, Value};

use super::author::Author;
use super::block::{ContentBlock, ContentBlockFields, is_blank};
use super::line::{ClaudeLine, EnvelopeKey, FieldNode};
use super::partial::WholeBlock;
use super::said::Said;
use super::{Claude, ClaudeItemBuilder, marker, result_facts, tools, wrapped};

/// The model in messages that the program writes itself.
const SYNTHETIC: &str = "<synthetic>";

/// The fields of an API message.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    id: FieldNode,
    model: FieldNode,
    content: FieldNode,
    usage: FieldNode,
    stop: FieldNode,
    /// The fields of the first block: most lines have only one block.
    first: ContentBlockFields,
}

impl Message {
    /// Finds the fields of a message. Of two with one name, the last counts.
    pub(super) fn of(message: Value<'_>) -> Self {
        let mut found = Self::default();
        message.fields(|name, value| match name {
            b"id" => found.id = FieldNode::of(value),
            b"model" => found.model = FieldNode::of(value),
            b"usage" => found.usage = FieldNode::of(value),
            b"stop_reason" => found.stop = FieldNode::of(value),
            b"content" => found.content = FieldNode::of(value),
            _ => {}
        });
        let first = found.content.of_record(message).and_then(|content| content.items().next());
        found.first = first.map(ContentBlockFields::of).unwrap_or_default();
        found
    }

    /// Returns the blocks of its content, each with its fields if they are known.
    fn blocks<'a>(
        &'a self,
        content: Value<'a>,
    ) -> impl Iterator<Item = (Value<'a>, Option<&'a ContentBlockFields>)> {
        content.items().zip(iter::once(Some(&self.first)).chain(iter::repeat(None)))
    }
}

impl Claude {
    /// Decodes an `assistant` line.
    pub(super) fn assistant(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let ClaudeLine { value, envelope, .. } = builder.line;
        let message = &envelope.inside;
        let id = message.id.str(value).map(Str::decode).filter(|id| !id.is_empty());
        let model = message.model.str(value).map(Str::decode);
        let is_synthetic = is_synthetic(&builder.line);
        if !is_synthetic {
            self.history_facts(builder, model.as_deref());
        }
        let id = id.map(|id| Id::from(&*id));
        if let (Some(usage), false) = (message.usage.of_record(value), is_synthetic) {
            // A message without an id is one of its own.
            let unnamed = || Id::from(format!("line-{}/usage", builder.input.line));
            let counted_as = id.clone().unwrap_or_else(unnamed);
            // A message comes as a line for each block, and each repeats its token counts.
            let counted = Some((counted_as.hash(), hash(usage.raw())));
            let is_new = std::mem::replace(&mut self.counted, counted) != counted;
            let counts = builder.input.counts;
            if is_new || counts {
                let used = TokenCounts::used(usage, self.product.counts_cached).usage();
                let details =
                    counts.then(|| Box::new(details(builder, id.as_ref(), model.as_deref(), usage)));
                builder.emit(Event::Usage { message: counted_as, usage: used, details });
            }
        }
        if builder.parent.is_none() {
            self.hook_words.clear();
            let hash = id.as_ref().map(Id::hash);
            if self.cut.is_some_and(|cut| Some(cut) != hash) && self.cut.take().is_some() && !is_synthetic {
                let notice = builder.notice("continuation", Content::Own(marker::LIMIT_REACHED.to_owned()));
                builder.put(notice);
            }
            if message.stop.str(value).is_some_and(|reason| reason.is("max_tokens")) {
                self.cut = hash;
            }
        }
        if let Some(id) = &id {
            self.threads.begin(builder.parent.as_ref(), id, builder.out);
        }
        let first = builder.out.len();
        match message.content.of_record(value) {
            Some(text) if text.kind() == json::ValueKind::String => {
                self.block(builder, id.as_ref(), ContentBlock::of(text), is_synthetic);
            }
            Some(blocks) if blocks.kind() == json::ValueKind::Array => {
                for (value, known) in message.blocks(blocks) {
                    self.block(builder, id.as_ref(), ContentBlock::known(value, known), is_synthetic);
                }
            }
            _ => return builder.unknown("assistant".into(), value),
        }
        count_if_empty(first, builder.out);
        if let Some(uuid) = builder.line.str(EnvelopeKey::Uuid) {
            // The length is enough to distinguish it from another with the same uuid: the result isn't used, so no line is skipped.
            let length = builder.line.get(EnvelopeKey::Message).map_or(0, |message| message.raw().len());
            self.items_by_line.remember(uuid, length as u64, &builder.out[first..]);
        }
        if let Some(uuids) = builder.line.get(EnvelopeKey::Supersedes) {
            self.retract(builder, uuids);
        }
        self.threads.hold(builder.parent.as_ref(), first, builder.out);
    }

    /// Retracts the items of the lines with these uuids.
    pub(super) fn retract(&mut self, builder: &mut ClaudeItemBuilder<'_>, uuids: Value<'_>) {
        let ids = self.items_by_line.take(uuids);
        if ids.is_empty() {
            return;
        }
        let names: Vec<&str> = ids.iter().map(Id::as_str).collect();
        let mut notice = builder.notice("retracted", Content::Own(names.join(", ")));
        notice
            .data
            .push(("items", Fact::List(names.iter().map(|id| Fact::Text((*id).to_owned())).collect())));
        builder.emit(Event::Retract { ids, notice: Box::new(leveled(notice, "warning")) });
    }

    /// Decodes a content block of an `assistant` line.
    fn block<'a>(
        &mut self,
        builder: &mut ClaudeItemBuilder<'a>,
        message: Option<&Id>,
        block: ContentBlock<'a>,
        is_synthetic: bool,
    ) {
        let kind = block.kind().map(Str::decode).unwrap_or_default();
        match &*kind {
            "" | "text" if block.text().is_some_and(|text| text.kind() == json::ValueKind::String) => {
                // Only an empty text is skipped: a text of blanks still becomes an item.
                if block.text().is_some_and(|text| text.raw().len() == 2) {
                    return builder.bookkeeping("empty text");
                }
                let text = string(block.text());
                let mut item = if is_synthetic {
                    synthetic(builder, text)
                } else {
                    let id = self.block_id(builder, message, Kind::Reply, block);
                    let mut item = builder.item(id, Kind::Reply);
                    item.text = text;
                    item.block = Some(block.value.node());
                    item
                };
                if builder.line.envelope.flags.is_aborted {
                    item.status = Status::Cancelled;
                }
                builder.put(item);
            }
            "thinking" | "redacted_thinking" => {
                let id = self.block_id(builder, message, Kind::Thinking, block);
                let mut item = builder.item(id, Kind::Thinking);
                item.block = Some(block.value.node());
                if is_blank(block.thinking()) {
                    item.data.push(("redacted", Fact::Bool(true)));
                } else {
                    item.text = string(block.thinking());
                }
                builder.put_thought(item);
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(builder, message, block),
            _ if kind.ends_with("_tool_result") || kind == "tool_result" => {
                // The API ran the tool itself.
                self.result(builder, block, block.call_id(), None, Ok((None, Some(ToolKind::Fetch))));
            }
            "fallback" => {
                let mut notice = builder.notice("fallback", Content::None);
                let models = ["from", "to"].map(|end| (end, block.value.get(end).and_then(model_of)));
                notice.data.extend(nodes(models));
                builder.put(leveled(notice, "warning"));
            }
            "text" => {
                // A text of a wrong type is shown as unknown, a missing one is ignored.
                if block.text().is_some_and(|text| !text.is_null()) {
                    builder.unknown("text".into(), block.value);
                }
            }
            _ => builder.unknown(format!("assistant/{}", type_name(&kind)), block.value),
        }
    }

    /// Returns the id of a block: the id of a call, that of the same block as it was streamed, or one made from its place in the message.
    fn block_id(
        &mut self,
        builder: &mut ClaudeItemBuilder<'_>,
        message: Option<&Id>,
        kind: Kind,
        block: ContentBlock<'_>,
    ) -> Id {
        let own = block.id().filter(|_| kind == Kind::Call).and_then(Value::decode);
        let own = own.filter(|id| !id.is_empty()).map(|id| Id::from(&*id));
        let Some(message) = message else { return own.unwrap_or_else(|| builder.unnamed()) };
        let line = &builder.line;
        // Version 1.0.24 repeats earlier turns under new uuids: such a chain starts without a parent, in the middle of a message.
        let begins_anew = line.envelope.flags.is_history
            && line.str(EnvelopeKey::Uuid).is_some()
            && line.str(EnvelopeKey::ParentUuid).is_none();
        let is_replay =
            || begins_anew || line.str(EnvelopeKey::Uuid).is_some_and(|uuid| self.items_by_line.knows(uuid));
        let index = line
            .get(EnvelopeKey::BlockIndex)
            .and_then(Value::int)
            .and_then(|index| usize::try_from(index).ok());
        // A call is identified by its id, any other block by its content.
        let hash = own.as_ref().map_or_else(|| hash(block.value.raw()), Id::hash);
        let whole = WholeBlock { kind, call: own.as_ref(), hash, index };
        let place = self.threads.whole(builder.parent.as_ref(), message, &whole, is_replay);
        own.unwrap_or_else(|| place.id(message))
    }

    /// Decodes a call, and the to-do list in it.
    fn call<'a>(
        &mut self,
        builder: &mut ClaudeItemBuilder<'a>,
        message: Option<&Id>,
        block: ContentBlock<'a>,
    ) {
        let id = self.block_id(builder, message, Kind::Call, block);
        let mut item = builder.item(id, Kind::Call);
        item.input = block.input().map(Value::node);
        item.block = Some(block.value.node());
        self.name_tool(&mut item, block.name());
        if block.kind().is_some_and(|kind| !kind.is("tool_use")) {
            item.data.push(("server_side", Fact::Bool(true)));
        }
        let id_is_odd = block.id().is_some_and(|id| id.kind() != json::ValueKind::String);
        if id_is_odd || block.fields.is_odd_call || block.name().and_then(Value::str).is_none() {
            item.data.push(("block", Fact::Node(block.value.node())));
        }
        if let Some(input) = block.input() {
            self.sidechains.add_call(&item.id, item.action().unwrap_or(Action::Other), input);
        }
        self.calls.add(&item);
        let plan = plan_of(builder, &item, block.input());
        // A stream has requests for these.
        let asks = matches!(item.tool_kind, Some(ToolKind::Ask | ToolKind::PlanMode))
            && builder.line.envelope.flags.is_history;
        let asked = asks.then(|| self.request_of(item.id.clone(), item.tool.as_deref().unwrap_or_default()));
        builder.put(item);
        if let Some(asked) = asked.filter(|asked| asked.waits_for != WaitsFor::Permission) {
            let notice = asked.notice(builder);
            builder.put(minor(notice));
        }
        builder.out.extend(plan.map(|plan| Event::Put(Box::new(plan))));
    }

    /// Sets the tool of an item, its kind and, for an MCP tool, its server.
    pub(super) fn name_tool(&mut self, item: &mut Item, name: Option<Value<'_>>) {
        let name = name.and_then(Value::decode);
        (self.product.tool)(name.as_deref().unwrap_or_default()).apply_to(item);
        let Some(name) = name else { return };
        item.tool = Some(result_facts::shared(&mut self.tool, &name));
        add_server(item, mcp(&name));
    }

    /// Decodes a `user` line: results, prompts and messages of the program.
    pub(super) fn user(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let message = &builder.line.envelope.inside;
        let Some(body) = message.content.of_record(builder.line.value) else {
            return builder.unknown("user".into(), builder.line.value);
        };
        self.history_facts(builder, None);
        self.threads.note_user_line(builder.parent.as_ref());
        let line = &builder.line;
        // The session detects repeated results itself.
        let is_result = message.blocks(body).any(|(value, known)| {
            ContentBlock::known(value, known).kind().is_some_and(|kind| kind.is("tool_result"))
        });
        let key =
            line.get(EnvelopeKey::Message).filter(|_| !is_result).map_or(0, |message| hash(message.raw()));
        if line.str(EnvelopeKey::Uuid).is_some_and(|uuid| self.items_by_line.remember(uuid, key, &[]))
            && !is_result
        {
            // A replay of the same line.
            return builder.bookkeeping("replay");
        }
        let first = builder.out.len();
        let has_command = self.command.is_some();
        let mut said = Said::by(Author::of_line(&builder.line), &builder.line);
        match body.kind() {
            json::ValueKind::String => self.say(builder, &mut said, body),
            json::ValueKind::Array => {
                for (value, known) in message.blocks(body) {
                    let block = ContentBlock::known(value, known);
                    let kind = block.kind().map(Str::decode).unwrap_or_default();
                    if kind.ends_with("tool_result") {
                        self.result_of(builder, block);
                    } else {
                        self.say_block(builder, &mut said, block, &kind);
                    }
                }
            }
            _ => return builder.unknown("user".into(), builder.line.value),
        }
        said.put(builder);
        if self.command.is_some() == has_command {
            count_if_empty(first, builder.out);
        }
        let is_result = |event: &Event| matches!(event, Event::Put(item) if item.kind == Kind::Result);
        let alone = builder.line.get(EnvelopeKey::Structured).filter(|value| !value.is_null());
        if let Some(alone) = alone.filter(|_| !builder.out[first..].iter().any(is_result)) {
            // The result's block is missing or malformed.
            builder.unknown("user/tool_use_result".into(), alone);
        }
    }

    /// Decodes a `tool_result` block, with the structured result beside the message.
    fn result_of(&mut self, builder: &mut ClaudeItemBuilder<'_>, block: ContentBlock<'_>) {
        let structured = builder.line.get(EnvelopeKey::Structured);
        let call = block.call_id();
        let known = match call.as_ref().and_then(|id| self.calls.get(id)) {
            Some(CallState::Awaited(tool, tool_kind)) => Ok((tool.clone(), *tool_kind)),
            Some(CallState::Answered) => Err("again"),
            None => Err("orphan"),
        };
        self.result(builder, block, call, structured, known);
    }

    /// Emits a result. `known`: tool and its kind of its call, or the name of the fact that says why they are unknown.
    fn result(
        &mut self,
        builder: &mut ClaudeItemBuilder<'_>,
        block: ContentBlock<'_>,
        call: Option<Id>,
        structured: Option<Value<'_>>,
        known: Result<(Option<Arc<str>>, Option<ToolKind>), &'static str>,
    ) {
        let id = match &call {
            Some(call) => Id::below(call.as_str(), "result"),
            None => Id::below(builder.unnamed().as_str(), "result"),
        };
        let mut item = builder.item(id, Kind::Result);
        item.block = Some(block.value.node());
        if let Some(call) = &call {
            self.calls.mark_answered(call);
        }
        item.call = call;
        item.error = block.fields.is_error;
        item.status = if item.error { Status::Failed } else { Status::Done };
        let stray = match known {
            Ok((tool, tool_kind)) if item.call.is_some() => {
                (item.tool, item.tool_kind) = (tool, tool_kind);
                None
            }
            Ok(_) => Some("orphan"),
            Err(stray) => Some(stray),
        };
        item.data.extend(stray.map(|stray| (stray, Fact::Bool(true))));
        result_content(&mut item, block.content());
        let error =
            block.content().and_then(|content| content.get("error_code")).filter(|code| code.str().is_some());
        if let Some(code) = error {
            // This is how tools that the API runs itself report a failure.
            (item.error, item.status) = (true, Status::Failed);
            item.text = Content::Node(code.node());
        }
        if let Some(structured) = structured {
            let has_more = result_facts::result_facts(&mut item, structured);
            let is_known = item.tool.as_deref().is_some_and(|tool| tools::find(tool).is_some());
            if has_more && !is_known {
                item.data.push(("structured", Fact::Node(structured.node())));
                let tool = item.tool.as_deref().unwrap_or("?");
                builder.emit(Event::Unknown(format!("tool_use_result of {tool}")));
            }
            let is_silent = matches!(item.text, Content::None) && item.fact("images").is_none();
            let is_strange = stray.is_some() || structured.kind() == json::ValueKind::String;
            if is_silent && is_strange && item.fact("structured").is_none() {
                // No other part of the item has its content.
                item.data.push(("structured", Fact::Node(structured.node())));
            }
        }
        wrapped::add_facts(&mut item);
        (self.product.add_facts)(&mut item);
        if item.error && item.fact("stopped").is_none() {
            let denied = wrapped::denial(builder.line.value, item.call.as_ref());
            item.data.extend(denied.map(|denied| ("denied", denied)));
        }
        let plan = task_list(builder, &item);
        builder.put(item);
        builder.out.extend(plan.map(|plan| Event::Put(Box::new(plan))));
    }
}

/// The beginning of a message that the conversation was compacted. Another notice reports the same with figures.
pub(super) const COMPACTED: &str = "Compacted";
/// The end of a message about an interruption that the call's result reports, too.
pub(super) const STOPPED_CALL: &str = "for tool use]";

/// Marks a notice as an echo if another item has the same content.
pub(super) fn echo(mut notice: Item) -> Item {
    let fact = |name: &str| notice.fact(name).and_then(FactRef::str);
    let text = || fact("words").unwrap_or_else(|| notice.text());
    let is_echo = match fact("event").as_deref() {
        // The hook stopped the call: the call's result reports it.
        Some("hook") => {
            fact("hook_event").as_deref() == Some("PreToolUse")
                && notice.fact("exit").and_then(FactRef::int) == Some(2)
        }
        Some("command-output") => text().starts_with(COMPACTED),
        Some("interrupt") => text().trim_end().ends_with(STOPPED_CALL),
        _ => false,
    };
    if is_echo {
        notice.data.push(("echo", Fact::Bool(true)));
    }
    notice
}

/// Whether the program wrote a message in the model's role.
pub(super) fn is_synthetic(line: &ClaudeLine<'_>) -> bool {
    let model = line.envelope.inside.model.str(line.value);
    line.envelope.flags.is_api_error || model.is_some_and(|model| model.is(SYNTHETIC))
}

/// Returns the notice for a message that the program wrote in the model's role.
fn synthetic(builder: &mut ClaudeItemBuilder<'_>, text: Content) -> Item {
    let is_error = builder.line.envelope.flags.is_api_error
        || builder.line.value.get("error").is_some_and(|error| !error.is_null());
    let mut notice = builder.notice("synthetic", text);
    let words = notice.text().into_owned();
    if matches!(words.trim(), "(no content)" | "No response requested.") {
        return minor(notice);
    }
    notice.status = if is_error { Status::Failed } else { Status::Done };
    let is_failure = is_error || marker::FAILURES.iter().any(|sentence| words.starts_with(sentence));
    leveled(notice, if is_failure { "error" } else { "info" })
}

/// Returns the name of a model: `{"model": "…"}`, or only the name.
fn model_of(end: Value<'_>) -> Option<Value<'_>> {
    Some(end.get("model").unwrap_or(end)).filter(|model| model.str().is_some())
}

/// Returns the type of a block, or `?` if it has none.
pub(super) fn type_name(kind: &str) -> &str {
    if kind.is_empty() { "?" } else { kind }
}

/// Counts a message as empty if no events were emitted since there were `first`.
fn count_if_empty(first: usize, out: &mut Vec<Event>) {
    if out.len() == first {
        out.push(Event::Bookkeeping("empty message".into()));
    }
}

/// Returns the to-do list in a call, as a separate item.
fn plan_of(builder: &ClaudeItemBuilder<'_>, call: &Item, input: Option<Value<'_>>) -> Option<Item> {
    if call.tool_kind != Some(ToolKind::Todos) {
        return None;
    }
    let todos = input?.get("todos")?;
    (todos.kind() == json::ValueKind::Array).then(|| plan(builder, call, todos))
}

/// Returns the list of tasks in a result, as a separate item.
fn task_list(builder: &ClaudeItemBuilder<'_>, result: &Item) -> Option<Item> {
    if result.error || result.tool.as_deref() != Some("TaskList") {
        return None;
    }
    let tasks = result.fact("tasks")?.value()?;
    (tasks.kind() == json::ValueKind::Array).then(|| plan(builder, result, tasks))
}

fn plan(builder: &ClaudeItemBuilder<'_>, of: &Item, todos: Value<'_>) -> Item {
    let mut item = builder.item(Id::below(of.call.as_ref().unwrap_or(&of.id).as_str(), "plan"), Kind::Plan);
    item.data.push(fact("todos", todos.node()));
    item
}

/// What the line of a message says about its tokens. A session that goes on from another, or branches off from it, copies lines of that: only
/// the ids of the message and of the request stay.
fn details(
    builder: &ClaudeItemBuilder<'_>,
    id: Option<&Id>,
    model: Option<&str>,
    usage: Value<'_>,
) -> UsageDetails {
    let [in_history, in_stream, cost] = builder.input.value.get_all(["requestId", "request_id", "costUSD"]);
    let request = in_history.or(in_stream).and_then(Value::decode).filter(|request| !request.is_empty());
    let [cached, tools] = usage.get_all(["cache_creation", "server_tool_use"]);
    let count = |of: Option<Value<'_>>, name| {
        of.and_then(|of| of.get(name)?.int()).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
    };
    UsageDetails {
        model: model.filter(|model| !model.is_empty()).map(str::to_owned),
        key: id.map(|id| hash(&(id.as_str(), request.as_deref()))),
        cache_write_hour: count(cached, "ephemeral_1h_input_tokens"),
        searches: count(tools, "web_search_requests"),
        // Before 1.0.9, each line had its own.
        cost_usd: cost.and_then(Value::float),
        ..builder.usage_details()
    }
}

/// Token counts, `None` if not reported: input, output, and tokens read from and written to the cache.
#[derive(Clone, Copy)]
pub(super) struct TokenCounts([Option<i64>; 4]);

impl TokenCounts {
    /// Reads the `usage` of an API message. `counts_cached`: whether the input includes tokens read from the cache.
    pub(super) fn used(usage: Value<'_>, counts_cached: bool) -> Self {
        let Self(mut counts) = Self::of(usage.get_all([
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ]));
        if counts_cached && let [Some(input), _, Some(cached), _] = &mut counts {
            *input = input.saturating_sub(*cached).max(0);
        }
        Self(counts)
    }

    pub(super) fn of(counts: [Option<Value<'_>>; 4]) -> Self {
        Self(counts.map(|count| count?.int().filter(|count| *count >= 0)))
    }

    pub(super) fn facts(self) -> impl Iterator<Item = (&'static str, Fact)> {
        let names = ["input", "output", "cache_read", "cache_write"];
        names.into_iter().zip(self.0).filter_map(|(name, count)| Some((name, Fact::Int(count?))))
    }

    pub(super) fn usage(self) -> Usage {
        let [input, output, cache_read, cache_write] =
            self.0.map(|count| count.map_or(0, i64::cast_unsigned));
        Usage { input, output, cache_read, cache_write }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::CLAUDE;
    use streamfmt_core::budget::Budget;
    use streamfmt_core::dialect::{Decoder, Input};
    use streamfmt_core::json::Record;

    #[test]
    fn a_notice_is_an_echo_only_if_the_result_of_a_call_reports_the_same() {
        for (event, hook, exit, words, is_echo) in [
            ("hook", "PreToolUse", 2, "no", true),
            ("hook", "PreToolUse", 1, "no", false),
            ("hook", "PostToolUse", 2, "no", false),
            ("command-output", "", 0, "Compacted", true),
            ("command-output", "", 0, "12 % used", false),
            ("interrupt", "", 0, "[Request interrupted by user for tool use]", true),
            ("interrupt", "", 0, "[Request interrupted by user]", false),
            ("attachment", "PreToolUse", 2, "Compacted", false),
        ] {
            let mut notice = Item::new("n", Kind::Notice, 1);
            notice.text = Content::Own(words.to_owned());
            let facts = [("event", event), ("hook_event", hook)];
            notice.data.extend(facts.map(|(name, text)| (name, Fact::Text(text.to_owned()))));
            notice.data.push(("exit", Fact::Int(exit)));
            let marked = echo(notice).fact("echo").and_then(FactRef::bool);
            assert_eq!(marked, is_echo.then_some(true), "{event} {hook} {exit} {words}");
        }
    }

    #[test]
    fn a_failed_call_was_denied_unless_the_user_stopped_it() {
        for (text, is_error, facts) in [
            ("not allowed here", true, (true, false)),
            ("The user doesn't want to proceed with this tool use.", true, (false, true)),
            ("not allowed here", false, (false, false)),
        ] {
            let line = format!(
                r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":"{text}"}}]}},"tool_result_meta":[{{"id":"t","permission_decision":{{"decision":"reject"}}}}]}}"#
            );
            let record = &Record::from_line(line).unwrap();
            let input = Input {
                record,
                value: record.root(),
                line: 1,
                parent: None,
                origin: None,
                shows_minor: false,
                counts: false,
            };
            let mut out = Vec::new();
            Claude::new(&CLAUDE, Budget::default()).decode(input, &mut out);
            let [Event::Put(result)] = &out[..] else { panic!("{out:?}") };
            let has = |name: &str| result.fact(name).is_some();
            assert_eq!((has("denied"), has("stopped")), facts, "{text}, error {is_error}");
        }
    }
}
