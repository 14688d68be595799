//! The parts of messages: texts, thoughts, calls with their results, and the steps of the model.

use streamfmt_core::event::{Event, Usage};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::names::Names;

use crate::calls::CallState;
use crate::facts::{filled, image, nodes, string};
use crate::item_builder::ItemBuilder;
use crate::step_totals::count;
use crate::tool::fact;

use super::{MessageAuthor, Opencode, cut_off, errors, result, tools, wrapped};

/// Whether lines of a run have this type.
pub(super) fn is_line(kind: &str) -> bool {
    matches!(kind, "step_start" | "step_finish" | "text" | "reasoning" | "tool_use" | "error" | "done")
}

/// Types of parts that repeat others, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of("agent patch snapshot");

impl Opencode {
    /// Decodes a part of a message. `line`: the line of a run that it is in.
    pub(super) fn part(&mut self, part: Value<'_>, line: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let [kind, message, text, time] = part.get_all(["type", "messageID", "text", "time"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        let author = message.and_then(Value::decode).and_then(|id| self.authors.get(hash(&*id)).copied());
        let at = builder.at;
        match &*kind {
            "text" | "reasoning" if text.is_some_and(|text| text.kind() == ValueKind::String) => match author
            {
                Some(MessageAuthor::Person) => self.prompt(part, text, builder),
                _ => self.text(&kind, part, author, builder),
            },
            "tool" => self.tool(part, builder),
            "step-start" => {
                self.works(builder);
                builder.bookkeeping("step-start");
            }
            "step-finish" => {
                self.step_finished(part.get_all(["id", "reason", "tokens", "cost"]), builder);
            }
            "file" if author == Some(MessageAuthor::Person) => {
                let mut item = Self::item_of(part, Kind::Prompt, builder);
                item.data.push(("images", Fact::List(vec![file(part)])));
                builder.put(item);
            }
            "compaction" => {
                let mut notice = Self::item_of(part, Kind::Notice, builder);
                notice.data.push(("event", Fact::Text("compaction".to_owned())));
                if part.get("auto").and_then(Value::bool) == Some(true) {
                    notice.data.push(("trigger", Fact::Text("auto".to_owned())));
                }
                builder.put(notice);
            }
            "retry" => {
                let [attempt, error] = part.get_all(["attempt", "error"]);
                builder.at = time.and_then(|time| time.get("created")).map(Value::node).or(at);
                errors::retry(attempt, error.and_then(errors::message), builder);
            }
            "subtask" => {
                let [prompt, description] = part.get_all(["prompt", "description"]).map(filled);
                let mut item = Self::item_of(part, Kind::Prompt, builder);
                item.text = string(prompt.or(description));
                builder.put(item);
            }
            _ => builder.rest("part/", &kind, &BOOKKEEPING, line.unwrap_or(part)),
        }
        builder.at = at;
    }

    /// Notes that the agent works: a failure before this wasn't the end of the turn.
    fn works(&mut self, builder: &ItemBuilder<'_>) {
        if builder.parent.is_none() {
            self.failure = None;
            self.is_at_work = true;
        }
    }

    /// Emits a text that a person wrote, or that the program added to it.
    fn prompt(&mut self, part: Value<'_>, text: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let is = |name: &str| part.get(name).and_then(Value::bool) == Some(true);
        if is("synthetic") || is("ignored") {
            return builder.put_minor("attachment", string(text), |notice| {
                notice.data.push(("type", Fact::Text("context".to_owned())));
            });
        }
        self.fail(builder.out);
        let mut item = Self::item_of(part, Kind::Prompt, builder);
        item.text = string(text);
        let words = text.and_then(Value::decode).and_then(|text| wrapped::unquoted(&text));
        item.data.extend(words.map(|words| ("words", Fact::Text(words))));
        builder.put(item);
    }

    /// Emits a reply or thought. It grows until its time has an end.
    fn text(
        &mut self,
        kind: &str,
        part: Value<'_>,
        author: Option<MessageAuthor>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [text, time] = part.get_all(["text", "time"]);
        let [start, end] = time.map_or([None; 2], |time| time.get_all(["start", "end"]));
        builder.at = end.or(start).map(Value::node).or(builder.at);
        let is_summary = author == Some(MessageAuthor::Summary);
        let kind = match kind {
            "reasoning" => Kind::Thinking,
            _ if is_summary => Kind::Notice,
            _ => Kind::Reply,
        };
        let mut item = Self::item_of(part, kind, builder);
        item.text = string(text);
        if kind == Kind::Notice {
            item.data.push(("event", Fact::Text("summary".to_owned())));
            item = crate::facts::minor(item);
        }
        let is_growing = start.is_some() && end.is_none();
        if is_growing && self.is_live {
            return builder.emit(Event::Amend(Box::new(item)));
        }
        if is_growing {
            cut_off(&mut item);
        }
        if item.is_blank() {
            return builder.bookkeeping("empty text");
        }
        self.works(builder);
        match kind {
            Kind::Thinking => builder.put_thought(item),
            _ => builder.put(item),
        }
    }

    /// Counts a step of the model. A turn ends with a step after which no other is needed.
    pub(super) fn step_finished(
        &mut self,
        [id, reason, tokens, cost]: [Option<Value<'_>>; 4],
        builder: &mut ItemBuilder<'_>,
    ) {
        let id = builder.id_of(id);
        builder.bookkeeping("step-finish");
        if self.steps.add(id.hash(), || ()).is_some() {
            return;
        }
        let usage = tokens.map(tokens_of).unwrap_or_default();
        builder.emit_usage(id, usage);
        let cost = cost.and_then(Value::float);
        builder.out.extend(cost.map(Event::Cost));
        if builder.parent.is_some() {
            return self.totals.add_inside(usage, cost);
        }
        self.works(builder);
        self.totals.add(usage, cost);
        let word = reason.and_then(Value::decode).unwrap_or_default();
        if word == "length" {
            builder.put_output_limit();
        }
        match &*word {
            "stop" => self.outcome(None, false, builder),
            "error" => self.outcome(reason, true, builder),
            "length" | "content-filter" | "other" => self.outcome(reason, false, builder),
            _ => {}
        }
    }

    /// Emits a call, and its result if it has ended.
    fn tool(&mut self, part: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, tool, state, own] = part.get_all(["id", "tool", "state", "callID"]);
        let (Some(tool), Some(state)) = (tool.and_then(Value::decode), state) else {
            return builder.unknown("part/tool".to_owned(), part);
        };
        let [status, input, metadata, time] = state.get_all(["status", "input", "metadata", "time"]);
        let status = status.and_then(Value::decode).unwrap_or_default();
        let [start, end] = time.map_or([None; 2], |time| time.get_all(["start", "end"]));
        let id = builder.id_of(id);
        self.works(builder);
        if matches!(self.calls.get(&id), Some(CallState::Answered)) {
            return builder.bookkeeping("tool");
        }
        let line_at = builder.at;
        builder.at = start.map(Value::node).or(line_at);
        let agent = filled(metadata.and_then(|data| data.get("sessionId")));
        if let Some(own) = own.filter(|_| self.is_live).and_then(Value::decode) {
            self.parts_of_calls.add(hash(&*own), || id.clone());
        }
        if self.calls.get(&id).is_none() {
            let mut call = call(&id, &tool, input, builder);
            if call.tool_kind == Some(ToolKind::Delegate) {
                call.data.extend(nodes([("agent", agent)]));
            }
            if &*status == "pending" && self.is_live {
                return builder.emit(Event::Amend(Box::new(call)));
            }
            self.put_call(call, builder);
        } else if matches!(&*status, "pending" | "running") {
            builder.bookkeeping("tool");
        }
        if let Some(agent) = agent.and_then(Value::decode) {
            self.agents.add(hash(&*agent), || id.clone());
        }
        builder.at = end.map(Value::node).or(line_at);
        let mut answer = result::of_call(&id, &self.calls, builder);
        match &*status {
            "completed" | "error" => {
                result::fill(&status, &tool, state, &mut answer);
                self.calls.mark_answered(&id);
                builder.put(answer);
            }
            "running" => {
                // The whole output so far.
                answer.text = string(filled(metadata.and_then(|data| data.get("output"))));
                if matches!(answer.text, Content::None) {
                    return;
                }
                let id = answer.id.clone();
                builder.emit(Event::Amend(Box::new(answer)));
                if !self.is_live {
                    builder.emit(Event::Close { id, status: Status::Cancelled });
                }
            }
            _ => {}
        }
    }

    /// Emits a call, and the to-do list that it writes.
    fn put_call(&mut self, call: Item, builder: &mut ItemBuilder<'_>) {
        self.calls.add(&call);
        let is_list = |list: &Value<'_>| list.kind() == ValueKind::Array;
        let list = call
            .input()
            .filter(|_| call.tool_kind == Some(ToolKind::Todos))
            .and_then(|input| input.get("todos"));
        let todos = list.filter(is_list).map(Value::node);
        let plan = todos.map(|todos| {
            let mut plan = builder.item(Id::below(call.id.as_str(), "plan"), Kind::Plan);
            plan.data.push(fact("todos", todos));
            plan
        });
        builder.put(call);
        if let Some(plan) = plan {
            builder.put(plan);
        }
    }
}

/// Returns a call of a tool.
fn call(id: &Id, tool: &str, input: Option<Value<'_>>, builder: &ItemBuilder<'_>) -> Item {
    let mut call = builder.item(id.clone(), Kind::Call);
    // That of an invalid call has the name of its tool, and the error, which its result has, too.
    let own = input.filter(|input| !input.is_null() && tool != tools::INVALID);
    call.input = own.map(Value::node);
    tools::set(&mut call, tool, input);
    call
}

/// Returns the tokens of a step.
fn tokens_of(tokens: Value<'_>) -> Usage {
    let [input, output, reasoning, cache] = tokens.get_all(["input", "output", "reasoning", "cache"]);
    let [read, write] = cache.map_or([None; 2], |cache| cache.get_all(["read", "write"]));
    Usage {
        input: count(input),
        // Tokens of thoughts aren't among those of the output.
        output: count(output).saturating_add(count(reasoning)),
        cache_read: count(read),
        cache_write: count(write),
    }
}

/// Returns the facts of an attached file.
pub(super) fn file(part: Value<'_>) -> Fact {
    let [mime, name, url] = part.get_all(["mime", "filename", "url"]);
    let mut facts: Vec<_> = nodes([("media", mime), ("name", filled(name))]).collect();
    if let Some(Fact::Map(more)) = url.map(image) {
        let is_new = |name: &str| mime.is_none() || name != "media";
        facts.extend(more.into_iter().filter(|(name, _)| is_new(name)));
    }
    Fact::Map(facts)
}
