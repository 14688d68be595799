//! Session files. They record most content twice: as the model wrote or received it (`response_item`), and as it was shown to the user
//! (`event_msg`). Only the first record of each is emitted: calls are matched by their ids, texts by their content.
//!
//! | | to 0.80 | 0.120 | 0.169 |
//! |---|---|---|---|
//! | prompts, replies, reasoning | both | both | both, shown as items |
//! | commands, patches, MCP | for the model | for the model | both, shown as items |
//! | end of a turn | – | shown | shown |
//!
//! Many messages with the role of the user were written by the program. The user's prompts are those that were shown as prompts.

mod shown;

use crate::facts::{filled, image, minor, nodes, push_list, result_content, string};
use streamfmt_core::budget::Budget;
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::{self, Value};
use streamfmt_core::names::Names;
use streamfmt_core::recent::Recent;
use streamfmt_core::text::Text;

use super::{Codex, ItemBuilder, call, result, tools, wrapped};

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
    /// Scripts that call other tools and haven't ended.
    scripts: Vec<Id>,
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
            scripts: Vec::new(),
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
        match kind {
            "session_meta" => self.meta(payload, builder),
            "turn_context" => self.context(payload, builder),
            "response_item" => self.response(payload, builder),
            "event_msg" => self.shown(payload, builder),
            "compacted" => self.compacted(payload.get("message"), builder),
            _ => builder.rest("", kind, &BOOKKEEPING, builder.input.value),
        }
    }

    /// Decodes the first line. The session's notice is emitted when the model is known.
    fn meta(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.flush_rollout(builder.out);
        let [id, cwd, version, parent] = payload.get_all(["id", "cwd", "cli_version", "forked_from_id"]);
        if builder.input.parent.is_some() {
            return builder.bookkeeping("session_meta");
        }
        self.begin(id, builder);
        let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
        let facts = Facts { cwd: text(cwd), version: text(version), resumes: text(parent), ..self.facts() };
        builder.facts(facts);
        self.rollout.known = [None, cwd.and_then(Value::decode).map(Into::into)];
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("cwd", cwd), ("version", version)]));
        self.rollout.head = Some(Box::new(notice));
    }

    /// Decodes the settings of a turn, or, before 0.120, of each call of the model.
    fn context(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let fields = payload.get_all(["model", "cwd", "approval_policy"]);
        let [model, cwd, mode] = fields.map(|field| field.and_then(Value::decode));
        let now = [model.as_deref(), cwd.as_deref()];
        let is_new =
            self.rollout.known.iter().zip(now).any(|(known, now)| now.is_some() && known.as_deref() != now);
        let clean = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(Text::clean);
        if is_new && builder.input.parent.is_none() {
            let facts =
                Facts { model: clean(&model), cwd: clean(&cwd), mode: clean(&mode), ..Facts::default() };
            builder.facts(facts);
        }
        if is_new && self.rollout.head.is_none() && builder.input.parent.is_none() {
            let notice = builder.notice("session", Content::None);
            builder.put(notice);
        } else {
            builder.bookkeeping("turn_context");
        }
        if let Some(head) = &mut self.rollout.head {
            let facts = [("model", &model), ("mode", &mode)];
            let facts = facts
                .into_iter()
                .filter_map(|(name, text)| Some((name, Fact::Text(text.as_deref()?.to_owned()))));
            head.data.extend(facts);
        }
        for (known, now) in self.rollout.known.iter_mut().zip(now) {
            *known = now.map(str::to_owned).or_else(|| known.take());
        }
        self.flush_head(builder.out);
    }

    /// Decodes a record of what the model wrote or received.
    fn response(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, name, namespace, call_id, id] =
            payload.get_all(["type", "name", "namespace", "call_id", "id"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        match &*kind {
            "message" => return self.message(payload, builder),
            "additional_tools" | "ghost_snapshot" => {
                return builder.bookkeeping(format!("response_item/{kind}"));
            }
            _ => self.flush_rollout(builder.out),
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
                let id = builder.id_of(id);
                let mut call = builder.item(id, Kind::Call);
                call::web(&mut call, payload.get("action"), None);
                self.emit_call_and_result(call, builder);
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

    /// Decodes a message to or from the model.
    fn message(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [role, blocks, id] = payload.get_all(["role", "content", "id"]);
        let role = role.and_then(Value::decode).unwrap_or_default();
        let id = builder.id_of(id);
        let mut item = builder.item(id, Kind::Reply);
        if !read_content(&mut item, blocks) {
            self.flush_rollout(builder.out);
            return builder.unknown(format!("message/{role}"), payload);
        }
        let key = hash(&(&*role, &*item.text()));
        if &*role == "assistant" {
            self.flush_rollout(builder.out);
            let is_new = self.rollout.texts.is_new(Recorder::Model, key);
            return if is_new { builder.put(item) } else { builder.bookkeeping("response_item/message") };
        }
        if &*role != "user" {
            return self.wait(as_notice(item), None, builder.out);
        }
        if !self.rollout.texts.is_new(Recorder::Model, key) {
            return builder.bookkeeping("response_item/message");
        }
        self.wait(item, Some(key), builder.out);
    }

    /// Handles a prompt that was shown as one. It replaces the model's record of the same text, if that waits.
    fn prompt(&mut self, mut prompt: Item, builder: &mut ItemBuilder<'_>) {
        prompt.kind = Kind::Prompt;
        (self.rollout.has_prompts, self.rollout.was_compacted) = (true, false);
        let key = hash(&("user", &*prompt.text()));
        if !self.rollout.texts.is_new(Recorder::Shown, key) {
            self.rollout.waiting.retain(|waiting| waiting.key != Some(key));
            builder.bookkeeping("response_item/message");
        }
        self.wait(prompt, None, builder.out);
        if self.rollout.head.is_none() {
            self.flush_rollout(builder.out);
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
        out.extend(self.rollout.head.take().map(Event::Put));
        for WaitingItem { item, key } in std::mem::take(&mut self.rollout.waiting) {
            let is_made = self.rollout.has_prompts || wrapped::is_made(&item.text());
            put(
                match key {
                    None => *item,
                    Some(_) if is_made => as_notice(*item),
                    Some(_) => Item { kind: Kind::Prompt, ..*item },
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
        out.extend(self.rollout.head.take().map(Event::Put));
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
        if call.tool.as_deref() == Some(tools::SCRIPT) {
            if self.rollout.scripts.len() >= MAX_WAITING {
                self.rollout.scripts.remove(0);
            }
            self.rollout.scripts.push(call.id.clone());
        }
        let plan = call::points(&call).map(|points| {
            let mut plan = builder.item(Id::below(call.id.as_str(), "plan"), Kind::Plan);
            plan.parent.clone_from(&call.parent);
            plan.data.push(("todos", points));
            let explanation =
                call.does().input().and_then(|input| input.get("explanation")?.decode().map(Into::into));
            plan.text = explanation.map_or(Content::None, Content::Own);
            plan
        });
        builder.put(call);
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
        if self.calls.get(&id).is_some() && !self.calls.awaits(&id) {
            return builder.bookkeeping("output");
        }
        let mut item = result::of_call(&id, &self.calls, builder);
        // Some versions wrap the content once more.
        let body = output.map(|output| output.get("content").unwrap_or(output));
        result_content(&mut item, body);
        wrapped::add_facts(&mut item);
        if output.and_then(|output| output.get("success")?.bool()) == Some(false) {
            result::fail(&mut item);
        }
        result::mark_success_if_silent(&mut item);
        self.rollout.was_stopped |= item.fact("stopped").is_some();
        self.calls.mark_answered(&id);
        builder.put(item);
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

/// Reads the texts and images of a message, whatever the types of its parts. `false` if it has content, but neither text nor image.
fn read_content(item: &mut Item, blocks: Option<Value<'_>>) -> bool {
    let Some(blocks) = blocks.filter(|blocks| !blocks.is_null()) else { return true };
    let (mut texts, mut images, mut is_known) =
        (Vec::new(), Vec::new(), blocks.kind() == json::ValueKind::Array);
    for part in blocks.items() {
        match part.get("text").unwrap_or(part) {
            text if text.str().is_some() => texts.push(text.node()),
            _ if part.get("image_url").is_some() || part.get("path").is_some() => images.push(image(part)),
            _ => is_known = false,
        }
    }
    item.text = if texts.is_empty() { string(Some(blocks)) } else { Content::Parts(texts) };
    push_list(item, "images", images);
    is_known || !matches!(item.text, Content::None)
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
