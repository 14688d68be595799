//! Session files. They record most content twice: as the model wrote or received it (`response_item`), and as it was shown to the user
//! (`event_msg`). Only the first record of each is emitted: calls are matched by their ids, texts by their content. Where each of two
//! lines knows something about a result that the other doesn't, the first waits for the second.
//!
//! | | to 0.80 | 0.120 | 0.169 |
//! |---|---|---|---|
//! | prompts, replies, reasoning | both | both | both, shown as items |
//! | commands, patches, MCP | for the model | for the model | both, shown as items |
//! | end of a turn | – | shown | shown |
//!
//! Many messages with the role of the user were written by the program. The user's prompts are those that were shown as prompts.

mod messages;
mod origin;
mod shown;

use crate::calls::points;
use crate::facts::{filled, minor, nodes, result_content, string};
use streamfmt_core::budget::Budget;
use streamfmt_core::event::Event;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, ToolKind};
use streamfmt_core::json::{self, Value};
use streamfmt_core::names::Names;
use streamfmt_core::recent::Recent;
use streamfmt_core::text::Text;

use super::call::CallSource;
use super::reports::CallReport;
use super::result::PatchSize;
use super::wrapped::ReportedOutput;
use super::{Codex, ItemBuilder, call, result, tools, wrapped};

use messages::read_content;
use origin::RolloutOrigin;
pub(super) use origin::{line_key, session_start};

/// The most texts that are remembered.
const MAX_TEXTS: usize = 3_584;
/// The most items that wait for the lines after them.
const MAX_WAITING: usize = 64;
/// The most bytes of their lines.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// The most sub-agents' files that are read at the same time.
const MAX_INSIDE: usize = 32;

/// The state of a session file.
pub(super) struct Rollout {
    texts: RecordedTexts,
    /// The model and folder that were last reported.
    known: [Option<String>; 2],
    /// The session's notice, until the model is known.
    head: Option<Box<Item>>,
    /// Messages that may turn out to be prompts, and items that must come after the head.
    waiting: Vec<WaitingItem>,
    /// Whether the file has shown prompts.
    has_prompts: bool,
    /// Results that wait for another line about the same call.
    halves: ResultHalves,
    /// How many lines the patches that await their results add and remove.
    patches: Vec<(Id, PatchSize)>,
    /// Questions to the user whose answers come later, as messages.
    questions: Vec<Id>,
    /// The reply of this turn that may be its answer, and whether it is marked as such.
    answer: Option<(Box<Item>, bool)>,
    /// The sessions that this one continues.
    origin: RolloutOrigin,
    /// Scripts that call other tools and haven't ended.
    scripts: Vec<Id>,
    /// The script whose last call has ended, and the hash of that call's output.
    script_output: Option<(Id, u64)>,
    /// Whether the result of a call of this turn reported that the call was interrupted.
    was_stopped: bool,
    /// Whether the conversation was just compacted. Two lines report this.
    was_compacted: bool,
}

/// The states of sub-agents' files, by the calls that started them; the most recently used come last.
pub(super) struct RolloutsInside {
    budget: Budget,
    files: Vec<(Id, Rollout)>,
}

impl RolloutsInside {
    /// `budget`: the limits of each file's state.
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, files: Vec::new() }
    }
}

impl Rollout {
    /// Creates a state that is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            texts: RecordedTexts(Recent::of(budget.lines.min(MAX_TEXTS))),
            known: [None, None],
            head: None,
            waiting: Vec::new(),
            has_prompts: false,
            halves: ResultHalves::default(),
            patches: Vec::new(),
            questions: Vec::new(),
            answer: None,
            origin: RolloutOrigin::default(),
            scripts: Vec::new(),
            script_output: None,
            was_stopped: false,
            was_compacted: false,
        }
    }
}

/// An item that waits for the lines after it.
struct WaitingItem {
    item: Box<Item>,
    /// The hash of its text, by which a shown prompt is matched. `None` if the item only waits for the head.
    key: Option<u64>,
}

/// The results that wait for another line about the same call.
#[derive(Default)]
struct ResultHalves {
    waiting: Vec<ResultHalf>,
    /// Whether the file has lines that report the ends of calls, beside those that the model received.
    has_reports: bool,
}

impl ResultHalves {
    /// The position of the result of this call that this side recorded.
    fn position(&self, call: &Id, recorder: Recorder) -> Option<usize> {
        let is_it = |half: &ResultHalf| half.recorder == recorder && half.item.call.as_ref() == Some(call);
        self.waiting.iter().position(is_it)
    }
}

/// A result of which another line may know more.
struct ResultHalf {
    item: Box<Item>,
    recorder: Recorder,
}

/// The side that recorded a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recorder {
    Model,
    Shown,
}

/// The balance of records for each text: below 0 if the model's side recorded it more often, above 0 if the shown side did.
struct RecordedTexts(Recent<i32, 1>);

impl RecordedTexts {
    /// Counts a record of a text. True if it is new: the other side hasn't recorded it more often than this one.
    fn is_new(&mut self, recorder: Recorder, text: u64) -> bool {
        let step = if recorder == Recorder::Model { -1 } else { 1 };
        self.0.add(text, || 0);
        let Some(ahead) = self.0.get_mut(text) else { return true };
        let is_new = *ahead * step >= 0;
        *ahead = ahead.saturating_add(step);
        is_new
    }
}

/// Whether session files have lines of this type.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(kind, "session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted")
        || BOOKKEEPING.has(kind)
}

/// Types of lines that repeat other lines, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "dynamic_tools_updated inter_agent_communication inter_agent_communication_metadata realtime_item \
     security_risk_score token_usage_record world_state",
);

impl Codex {
    /// Swaps the current state with that of the file of a call's sub-agent. A second call swaps them back.
    pub(super) fn swap_rollout(&mut self, call: &Id, out: &mut Vec<Event>) {
        let RolloutsInside { files: inside, budget } = &mut self.inside;
        let mut entry = match inside.iter().rposition(|(known, _)| known == call) {
            Some(place) => inside.remove(place),
            None => (call.clone(), Rollout::new(*budget)),
        };
        let forgotten = (inside.len() >= MAX_INSIDE).then(|| inside.remove(0));
        std::mem::swap(&mut self.rollout, &mut entry.1);
        inside.push(entry);
        if let Some((_, forgotten)) = forgotten {
            let now = std::mem::replace(&mut self.rollout, forgotten);
            self.flush_rollout(out);
            self.rollout = now;
        }
    }

    /// Emits all items that wait for lines of sub-agents' files.
    pub(super) fn flush_rollouts_inside(&mut self, out: &mut Vec<Event>) {
        for (_, rollout) in std::mem::take(&mut self.inside.files) {
            self.rollout = rollout;
            self.flush_rollout(out);
        }
    }

    /// Decodes a line of a session file.
    pub(super) fn rollout(&mut self, kind: &str, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let at = builder.input.value.get("timestamp");
        builder.at = at.filter(|at| at.str().is_some()).map(Value::node);
        if !self.rollout.halves.waiting.is_empty() && !is_about_result(payload) {
            self.flush_halves(builder.out);
        }
        if kind != "session_meta" {
            self.leave_start();
            self.note_repeated(kind, payload, builder);
            let is_of_this = builder.repeats.is_some() && builder.repeats == self.session;
            if builder.input.parent.is_some() && (is_of_this || builder.input.origin.is_some()) {
                // The session that started this sub-agent is shown itself.
                return builder.bookkeeping("repeated");
            }
        }
        match kind {
            "session_meta" => self.meta(payload, builder),
            "turn_context" => self.context(payload, builder),
            "response_item" => self.response(payload, builder),
            "event_msg" => self.shown(payload, builder),
            "compacted" => self.compacted(payload.get("message"), builder),
            _ => builder.rest("", kind, &BOOKKEEPING, builder.input.value),
        }
    }

    /// Decodes a record of what the model wrote or received.
    fn response(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, name, namespace, call_id, id] =
            payload.get_all(["type", "name", "namespace", "call_id", "id"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        match &*kind {
            "message" => return self.message(payload, builder),
            "additional_tools" | "ghost_snapshot" | "compaction_trigger" => {
                return builder.bookkeeping(format!("response_item/{kind}"));
            }
            _ => self.flush_waiting(builder.out),
        }
        match &*kind {
            "reasoning" => self.reasoning(Recorder::Model, payload.get("summary"), id, builder),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                let [arguments, input, action] = payload.get_all(["arguments", "input", "action"]);
                let name = name.and_then(Value::decode).unwrap_or_else(|| {
                    let unnamed =
                        if &*kind == "local_shell_call" { tools::SHELL[1] } else { tools::TOOLS_SEARCH };
                    unnamed.into()
                });
                let server = namespace.and_then(Value::decode).filter(|space| space.starts_with("mcp__"));
                let name = server.map_or(name.clone(), |server| [&*server, "__", &*name].concat().into());
                let id = builder.id_of(call_id.or(id));
                let call = call::of_tool(&name, arguments.or(input).or(action), id, builder);
                self.emit_call(call, builder);
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.output(call_id, payload.get("output"), builder);
            }
            "tool_search_output" => {
                let tools = payload.get("tools").into_iter().flat_map(Value::items);
                let names = tools.filter_map(|tool| Some(Fact::Node(tool.get("name")?.node()))).collect();
                let id = builder.id_of(call_id);
                let mut item = result::of_call(&id, &self.calls, builder);
                item.data.push(("matches", Fact::List(names)));
                self.calls.mark_answered(&id);
                builder.put(item);
            }
            "web_search_call" => {
                let is_new = self.is_new_search(Recorder::Model, payload);
                let id = builder.id_of(id);
                if !is_new {
                    return builder.bookkeeping("call");
                }
                let mut call = builder.item(id, Kind::Call);
                call::web(&mut call, payload.get("action"), None);
                self.emit_call_and_result(call, builder);
            }
            "image_generation_call" => self.shown_call(CallSource::Drawing, payload, id, builder),
            "configuration_update" => {
                let effort = payload.get("reasoning").and_then(|reasoning| reasoning.get("effort")?.decode());
                let words = effort.map(|effort| Content::Own(format!("reasoning effort: {effort}")));
                builder.put_minor("configuration", words.unwrap_or(Content::None), |_| {});
            }
            "agent_message" => {
                let [author, text] = payload.get_all(["author", "content"]);
                let mut notice = builder.notice("teammate", Content::None);
                result_content(&mut notice, text);
                notice.data.extend(nodes([("from", author)]));
                builder.put(notice);
            }
            "compaction" | "compaction_summary" | "context_compaction" => {
                builder.bookkeeping(format!("response_item/{kind}"));
            }
            _ => builder.unknown(format!("response_item/{kind}"), payload),
        }
    }

    /// Keeps an item until the lines after it determine its kind and place. An item without `key` is emitted at once if nothing waits.
    fn wait(&mut self, item: Item, key: Option<u64>, out: &mut Vec<Event>) {
        let is_first = self.rollout.head.is_none() && self.rollout.waiting.is_empty();
        if key.is_none() && is_first {
            return put(item, out);
        }
        let sizes = self.rollout.waiting.iter().filter_map(|waiting| waiting.item.record.as_ref());
        let bytes: usize = sizes.map(|record| record.text().len()).sum();
        if self.rollout.waiting.len() >= MAX_WAITING || bytes > MAX_WAITING_BYTES {
            self.flush_rollout(out);
        }
        self.rollout.waiting.push(WaitingItem { item: Box::new(item), key });
    }

    /// Emits all waiting items: the conversation has continued.
    pub(super) fn flush_rollout(&mut self, out: &mut Vec<Event>) {
        self.flush_halves(out);
        self.flush_waiting(out);
    }

    /// Emits the results that waited for another line.
    fn flush_halves(&mut self, out: &mut Vec<Event>) {
        for half in self.rollout.halves.waiting.drain(..) {
            if let Some(call) = &half.item.call {
                self.calls.mark_answered(call);
            }
            out.push(Event::Put(half.item));
        }
    }

    /// Emits the head, and the messages that waited.
    fn flush_waiting(&mut self, out: &mut Vec<Event>) {
        self.put_head(out);
        for WaitingItem { item, key } in std::mem::take(&mut self.rollout.waiting) {
            let is_made = self.rollout.has_prompts || wrapped::is_made(&item.text());
            put(
                match key {
                    None => *item,
                    Some(_) if is_made => as_notice(*item),
                    Some(_) => {
                        self.rollout.answer = None;
                        Item { kind: Kind::Prompt, ..*item }
                    }
                },
                out,
            );
        }
    }

    /// Emits the session's notice, and the items that waited for it if their kinds are known.
    fn flush_head(&mut self, out: &mut Vec<Event>) {
        if self.rollout.has_prompts {
            return self.flush_rollout(out);
        }
        self.put_head(out);
    }

    fn put_head(&mut self, out: &mut Vec<Event>) {
        if let Some(head) = self.rollout.head.take() {
            self.rollout.origin.has_shown_head = true;
            out.push(Event::Put(head));
        }
    }

    /// Emits the parts of the model's reasoning that weren't recorded before.
    fn reasoning(
        &mut self,
        recorder: Recorder,
        parts: Option<Value<'_>>,
        id: Option<Value<'_>>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let texts = parts.into_iter().flat_map(Value::items).map(|part| part.get("text").unwrap_or(part));
        let mut new = Vec::new();
        for text in texts.chain(parts).filter_map(|text| filled(Some(text))) {
            let key = hash(&("thinking", &*text.decode().unwrap_or_default()));
            if self.rollout.texts.is_new(recorder, key) {
                new.push(text.node());
            }
        }
        if new.is_empty() {
            return builder.bookkeeping("reasoning");
        }
        let id = builder.id_of(id);
        let mut item = builder.item(id, Kind::Thinking);
        item.text = Content::Parts(new);
        builder.put_thought(item);
    }

    /// Emits a call, with its plan, unless the call is already known. Returns whether it is new.
    fn emit_call(&mut self, call: Item, builder: &mut ItemBuilder<'_>) -> bool {
        if self.calls.get(&call.id).is_some() {
            builder.bookkeeping("call");
            return false;
        }
        self.calls.add(&call);
        self.rollout.was_compacted = false;
        if call.tool.as_deref() == Some(tools::ASK_LATER) {
            push_bounded(&mut self.rollout.questions, call.id.clone());
        }
        if let Some(size) = call.does().get("changes").and_then(PatchSize::of) {
            push_bounded(&mut self.rollout.patches, (call.id.clone(), size));
        }
        if call.tool.as_deref() == Some(tools::SCRIPT) {
            push_bounded(&mut self.rollout.scripts, call.id.clone());
        }
        let plan = points(&call).map(|points| {
            let mut plan = builder.item(Id::below(call.id.as_str(), "plan"), Kind::Plan);
            plan.parent.clone_from(&call.parent);
            plan.data.push(("todos", points));
            let explanation =
                call.does().input().and_then(|input| input.get("explanation")?.decode().map(Into::into));
            plan.text = explanation.map_or(Content::None, Content::Own);
            plan
        });
        // The model doesn't wait for the answer to a question of the other tool.
        let is_question =
            call.tool_kind == Some(ToolKind::Ask) && call.tool.as_deref() != Some(tools::ASK_LATER);
        let asked = is_question.then(|| self.calls.request_of(call.id.clone()));
        builder.put(call);
        if let Some(asked) = asked {
            let notice = asked.notice(builder);
            builder.put(minor(notice));
        }
        if let Some(plan) = plan {
            builder.put(plan);
        }
        true
    }

    /// Emits a call, and a result without content: the session file records only that the call ended.
    fn emit_call_and_result(&mut self, call: Item, builder: &mut ItemBuilder<'_>) {
        let id = call.id.clone();
        if self.emit_call(call, builder) {
            let mut item = result::of_call(&id, &self.calls, builder);
            result::mark_success_if_silent(&mut item);
            self.calls.mark_answered(&id);
            builder.put(item);
        }
    }

    /// Emits the output that the model received for a call, unless its result was already emitted.
    fn output(&mut self, call: Option<Value<'_>>, output: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let id = builder.id_of(call);
        self.rollout.scripts.retain(|script| *script != id);
        let has_come = self.rollout.halves.position(&id, Recorder::Model).is_some();
        if has_come || (self.calls.get(&id).is_some() && !self.calls.awaits(&id)) {
            return builder.bookkeeping("output");
        }
        let mut item = result::of_call(&id, &self.calls, builder);
        // Some versions wrap the content once more.
        let reported = output.filter(|output| output.kind() == json::ValueKind::Object);
        let reported_output = reported.and_then(ReportedOutput::of);
        let body = reported_output.as_ref().map(|reported| reported.text);
        result_content(&mut item, body.or_else(|| reported?.get("content")).or(output));
        let mut is_open = wrapped::add_facts(&mut item);
        self.rollout.script_output.take_if(|(script, output)| {
            let is_same = *script == id && *output == hash(item.words().trim());
            if is_same && !item.error {
                // The script printed the output of its last call.
                item.words = Some(|_, _| Text::EMPTY);
                item.data.push(("success", Fact::Bool(true)));
            }
            *script == id
        });
        if let Some(ReportedOutput { exit, success, .. }) = reported_output {
            is_open &= exit.is_none() && success.is_none();
            if let Some(code) = exit.filter(|code| *code != 0 && item.fact("exit").is_none()) {
                item.data.push(("exit", Fact::Int(code)));
            }
            if exit.map_or(success == Some(false), |code| code != 0) {
                result::fail(&mut item);
            }
            let errors = reported.and_then(|reported| filled(reported.get("stderr")));
            item.data.extend(nodes([("stderr", errors)]));
        }
        result::mark_success_if_silent(&mut item);
        self.rollout.was_stopped |= item.fact("stopped").is_some();
        if item.tool_kind == Some(ToolKind::Ask) {
            self.rollout.questions.retain(|question| *question != id);
        }
        self.put_result(&id, item, Recorder::Model, is_open || self.rollout.halves.has_reports, builder);
    }

    /// Emits a result, joined with that of another line about the call, if it waits. With `may_wait`, a result whose other line hasn't come
    /// waits for it.
    fn put_result(
        &mut self,
        call: &Id,
        mut item: Item,
        recorder: Recorder,
        may_wait: bool,
        builder: &mut ItemBuilder<'_>,
    ) {
        if let Some(script) = item.parent.as_ref().filter(|parent| self.rollout.scripts.contains(parent)) {
            self.rollout.script_output = Some((script.clone(), hash(item.words().trim())));
        }
        if let Some(place) = self.rollout.patches.iter().position(|(patch, _)| patch == call) {
            let (_, size) = self.rollout.patches.remove(place);
            size.add_to(&mut item);
        }
        let other = if recorder == Recorder::Model { Recorder::Shown } else { Recorder::Model };
        let place = self.rollout.halves.position(call, other);
        if let Some(place) = place {
            let half = *self.rollout.halves.waiting.remove(place).item;
            let (received, reported) = if other == Recorder::Model { (half, item) } else { (item, half) };
            builder.bookkeeping("result");
            self.calls.mark_answered(call);
            return builder.put(result::joined(received, reported));
        }
        if !may_wait || !self.calls.awaits(call) {
            // The results before it come first.
            self.flush_halves(builder.out);
            self.calls.mark_answered(call);
            return builder.put(item);
        }
        if self.rollout.halves.waiting.len() >= MAX_WAITING {
            self.flush_halves(builder.out);
        }
        self.rollout.halves.waiting.push(ResultHalf { item: Box::new(item), recorder });
    }

    /// Counts a record of a web search. `false` if the other side has recorded it.
    fn is_new_search(&mut self, recorder: Recorder, payload: Value<'_>) -> bool {
        let [action, query] = payload.get_all(["action", "query"]);
        let own = action.map(|action| action.get_all(["query", "url", "pattern"]).map(filled));
        // The query of a page is only a description of its action.
        let parts =
            own.filter(|parts| parts.iter().any(Option::is_some)).unwrap_or([filled(query), None, None]);
        let parts = parts.map(|part| part.and_then(Value::decode).unwrap_or_default());
        self.rollout.texts.is_new(recorder, hash(&("web", parts)))
    }

    /// Emits notices of a compaction and of its summary, if it has one.
    fn compacted(&mut self, summary: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        self.flush_rollout(builder.out);
        if !std::mem::replace(&mut self.rollout.was_compacted, true) {
            let notice = builder.notice("compaction", Content::None);
            builder.put(notice);
        }
        match filled(summary) {
            None => builder.bookkeeping("compacted"),
            summary => builder.put_minor("summary", string(summary), |_| {}),
        }
    }
}

/// Adds an element to a list of at most [`MAX_WAITING`], the oldest of which are removed.
fn push_bounded<T>(list: &mut Vec<T>, element: T) {
    if list.len() >= MAX_WAITING {
        list.remove(0);
    }
    list.push(element);
}

/// Whether a line reports the result of a call, or nothing: the results that wait may still be joined with it.
fn is_about_result(payload: Value<'_>) -> bool {
    let Some(kind) = payload.get("type").and_then(Value::decode) else { return false };
    match &*kind {
        "function_call_output" | "custom_tool_call_output" | "token_count" => true,
        "item_completed" => {
            let kind = payload.get("item").and_then(|item| item.get("type")?.decode());
            kind.is_some_and(|kind| CallSource::of_item(&kind).is_some())
        }
        kind => CallReport::of(kind).is_some_and(|report| report.is_end),
    }
}

/// Turns a message that the program wrote for the model into a notice.
fn as_notice(mut message: Item) -> Item {
    message.kind = Kind::Notice;
    message.data.push(("event", Fact::Text("attachment".into())));
    message.data.push(("type", Fact::Text("context".into())));
    minor(message)
}

fn put(item: Item, out: &mut Vec<Event>) {
    out.push(Event::Put(Box::new(item)));
}

#[cfg(test)]
mod tests;
