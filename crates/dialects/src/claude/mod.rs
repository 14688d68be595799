//! Claude Code: one decoder for its live stream (with and without partial messages) and its
//! history files, in all versions since 1.0.24.
//!
//! The format is known from recordings of the real program. Its pitfalls are described where
//! they are handled: [`message`] for complete messages, [`partial`] for streamed ones,
//! [`system`] for reports of the program, [`said`] for what is said in the user's role, [`author`] and [`marker`] for who says it.

mod author;
mod block;
mod edit;
mod for_the_model;
mod histories;
mod hook_words;
mod items_by_line;
mod known_lines;
mod launch;
mod line;
mod marker;
mod message;
mod outcome;
mod partial;
mod result_facts;
mod said;
mod sidechain;
mod spent;
mod system;
mod tasks;
pub(super) mod tools;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::{echoed, leveled, minor, nodes, string};
use crate::item_builder::{ItemBuilder, not_an_event};
use crate::requests::{Request, Requests};
use crate::tool::key;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input, Tool};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Fact, FactRef, FactSpec, Id, Item, Kind, WaitsFor};
use streamfmt_core::json::{self, Value};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

pub(super) use histories::HISTORIES;
pub(super) use launch::LAUNCH;
pub(super) use line::Envelope;
pub(super) use sidechain::SIDE_FILES;

use hook_words::HookWords;
use items_by_line::ItemsByLine;
use known_lines::{COUNTED, IN_FULL};
use line::{ClaudeLine, EnvelopeKey};
use message::echo;
use partial::Threads;
use sidechain::Sidechains;
use spent::Spent;
use tasks::BackgroundTasks;

/// Whether a value is an event of Claude Code.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == json::ValueKind::Array {
        return value.items().next().is_some_and(claim);
    }
    let Some(kind) = value.get("type").and_then(Value::decode) else { return false };
    let has = |key: &str| value.get(key).is_some();
    let is_ours = has("session_id") || has("sessionId") || has("uuid");
    match &*kind {
        "assistant" | "user" => has("message"),
        "system" => has("subtype"),
        "stream_event" => has("event"),
        // Other agents have a `result` as well, but with a `sessionId`.
        "result" => has("subtype") || has("result") && has("session_id"),
        "rate_limit_event" => has("rate_limit_info"),
        "control_request" | "control_cancel_request" => has("request_id"),
        "control_response" => has("response"),
        "summary" => has("summary"),
        "attachment" => has("attachment"),
        "queue-operation" => has("operation"),
        "file-history-snapshot" | "file-history-delta" => has("snapshot") || has("messageId"),
        "tool_progress" | "tool_use_summary" | "prompt_suggestion" | "conversation_reset"
        | "command_lifecycle" | "auth_status" | "active_goal" | "autocompact_state" | "progress"
        | "last-prompt" | "custom-title" | "agent-name" | "ai-title" | "permission-mode" | "mode"
        | "cost-state" | "api-request" => is_ours,
        _ => false,
    }
}

/// Whether an event has marks of Claude Code. Other agents write messages, a first line and a result with the same fields, but with fewer.
pub(super) fn is_certain(value: Value<'_>) -> bool {
    if value.kind() == json::ValueKind::Array {
        return value.items().next().is_some_and(is_certain);
    }
    let has_any = |value: Value<'_>, keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
    let message = value.get("message").unwrap_or(value);
    has_any(value, &["uuid", "sessionId", "parent_tool_use_id"])
        || match value.get("type").and_then(Value::decode).as_deref() {
            Some("assistant") => has_any(message, &["id", "model", "usage"]),
            Some("user") => {
                let content = message.get("content");
                content.is_some_and(|content| content.items().any(|part| has_any(part, &["tool_use_id"])))
            }
            Some("system") => has_any(value, &["tools", "claude_code_version", "mcp_servers"]),
            Some("result") => {
                has_any(value, &["num_turns", "total_cost_usd", "cost_usd", "permission_denials"])
            }
            Some("progress" | "mode") | None => false,
            Some(_) => true,
        }
}

/// Whether a value is a line of a stream. Lines of histories spell the id of their session `sessionId`, some of them both ways.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    value.get("session_id").is_some() && value.get("sessionId").is_none()
}

/// A program that writes this format.
pub(super) struct Product {
    /// Its name.
    pub(super) name: &'static str,
    /// The field of the first line with its version.
    pub(super) version: &'static str,
    /// Returns its tool of this name, whether known or not.
    pub(super) tool: fn(&str) -> Tool,
    /// Whether the tokens read from the cache are counted as input, too.
    pub(super) counts_cached: bool,
    /// Adds facts of its own to a result.
    pub(super) add_facts: fn(&mut Item),
}

/// Claude Code itself.
pub(super) static CLAUDE: Product = Product {
    name: "claude",
    version: "claude_code_version",
    tool: tools::of,
    counts_cached: false,
    add_facts: |_| {},
};

/// The decoder: its state between lines.
pub(super) struct Claude {
    product: &'static Product,
    threads: Threads,
    calls: Calls,
    requests: Requests,
    sidechains: Sidechains,
    items_by_line: ItemsByLine,
    session: Option<SessionId>,
    tool: Option<Arc<str>>,
    /// Hashes of the last message whose tokens were emitted, and of the text of its `usage`.
    counted: Option<(u64, u64)>,
    /// The facts of the run that were last emitted.
    known: AnnouncedFacts,
    /// The last totals of a history file.
    totals: Option<Item>,
    /// The counters of the outcomes so far.
    spent: Spent,
    tasks: BackgroundTasks,
    /// The last command of the user, until it is known whether the agent gets it.
    command: Option<Box<Item>>,
    hook_words: HookWords,
    /// The hash of the last message's id if it was cut at the limit of the model's output, and nothing says so yet.
    cut: Option<u64>,
}

impl Claude {
    /// Creates a decoder for this program, whose state is limited by the budget.
    pub(super) fn new(product: &'static Product, budget: Budget) -> Self {
        Self {
            product,
            threads: Threads::new(budget),
            calls: Calls::new(budget),
            requests: Requests::new(),
            sidechains: Sidechains::new(budget),
            items_by_line: ItemsByLine::new(budget),
            session: None,
            tool: None,
            counted: None,
            known: AnnouncedFacts::default(),
            totals: None,
            spent: Spent::default(),
            tasks: BackgroundTasks::default(),
            command: None,
            hook_words: HookWords::default(),
            cut: None,
        }
    }
}

/// The facts of the run that were last emitted.
#[derive(Default)]
struct AnnouncedFacts {
    session: Option<SessionId>,
    cwd: Option<SessionId>,
    model: Option<SessionId>,
    /// Whether a person chose the title.
    has_chosen_title: bool,
    /// The URL of the last pull request.
    pull_request: Option<Box<str>>,
    /// Whether a notice of a session was emitted.
    announced: bool,
    /// Whether outcomes count the messages of the whole conversation as turns. Versions up to 1.0 do, which don't report their version.
    counts_messages: bool,
}

/// Builds the items of one line.
type ClaudeItemBuilder<'a> = ItemBuilder<'a, ClaudeLine<'a>>;

/// Returns the string under `key`, as an item's text.
fn content(value: Value<'_>, key: &str) -> Content {
    string(value.get(key))
}

impl Decoder for Claude {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let envelope = &Envelope::of(input.value);
        let Some(line) = ClaudeLine::of(input.value, envelope) else { return not_an_event(input, out) };
        let kind = line.kind.decode();
        let session = line.str(EnvelopeKey::Session).map(|id| self.session_of(&id.decode()));
        let parent = self.parent(&line, input);
        let mut builder = ItemBuilder::new(input, line, parent, session, out);
        builder.at = line.get(EnvelopeKey::Timestamp).map(Value::node);
        let first = builder.out.len();
        if self.command.is_some() {
            self.settle_command(&kind, &mut builder);
        }
        match &*kind {
            "assistant" => self.assistant(&mut builder),
            "user" => self.user(&mut builder),
            "stream_event" => self.partial(&mut builder),
            "result" => self.outcome(&mut builder),
            "system" => self.system(&mut builder),
            _ => self.other(&kind, &mut builder),
        }
        if matches!(&*kind, "user" | "attachment" | "system") {
            self.hook_words.mark_repeated(&mut builder.out[first..]);
        }
        if matches!(&*kind, "assistant" | "user" | "stream_event") {
            for key in envelope.unknown(input.value) {
                builder.emit(Event::Unknown(format!("{kind}.{}", key.decode())));
            }
        }
        let goes_on = kind == "stream_event" || kind == "assistant" && builder.parent.is_none();
        if !goes_on {
            self.threads.release(first, builder.out);
        }
        self.session = builder.session.or_else(|| self.session.take());
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.put_command(false, out);
        self.threads.end(out);
        out.extend(self.totals.take().map(|totals| Event::Put(Box::new(totals))));
    }
}

impl Claude {
    /// Returns the id of a line's session, reusing that of the line before if it is the same. `self.session` is empty until the line is
    /// decoded.
    fn session_of(&mut self, id: &str) -> SessionId {
        self.session.take_if(|known| **known == *id).unwrap_or_else(|| id.into())
    }

    /// Returns the call that a line is inside.
    fn parent(&mut self, line: &ClaudeLine<'_>, input: Input<'_>) -> Option<Id> {
        if let Some(parent) = line.str(EnvelopeKey::Parent).filter(|id| !id.raw().is_empty()) {
            return Some(Id::from(&*parent.decode()));
        }
        if let Some(parent) = input.parent {
            return Some(parent.clone());
        }
        if line.envelope.flags.is_sidechain {
            return self.sidechains.parent(line);
        }
        if line.get(EnvelopeKey::Message).is_some() {
            self.sidechains.note_main_thread();
        }
        None
    }

    /// Emits the facts of the run that are new in a message line of a history file. The first such line takes the place of an `init`,
    /// which histories don't have.
    fn history_facts(&mut self, builder: &mut ClaudeItemBuilder<'_>, model: Option<&str>) {
        let line = builder.line;
        if !line.envelope.flags.is_history || builder.parent.is_some() {
            return;
        }
        let mut news = Facts::default();
        let mut changed = false;
        let mut note = |known: &mut Option<SessionId>, new: Option<&str>, fact: &mut Option<Text>| {
            if let Some(new) = new.filter(|new| known.as_deref() != Some(*new)) {
                *known = Some(new.into());
                *fact = Some(Text::clean(new));
                changed = true;
            }
        };
        let id = line.str(EnvelopeKey::Session).map(json::Str::decode);
        let cwd = line.str(EnvelopeKey::Cwd).map(json::Str::decode);
        let is_other = |known: &mut SessionId| id.as_deref().is_some_and(|id| **known != *id);
        let before = self.known.session.take_if(is_other);
        note(&mut self.known.session, id.as_deref(), &mut news.session);
        note(&mut self.known.cwd, cwd.as_deref(), &mut news.cwd);
        note(&mut self.known.model, model, &mut news.model);
        if !changed {
            return;
        }
        news.agent = Some(Text::own(self.product.name));
        news.version = line.str(EnvelopeKey::Version).map(Text::from_json);
        let is_new_session = news.session.is_some();
        if is_new_session {
            // A fork begins with the lines of its origin. Some versions leave the origin's id in them, others name it beside their own.
            let origin = line.value.get("forkedFrom").and_then(|origin| origin.get("sessionId")?.str());
            news.resumes = origin.map(Text::from_json).or_else(|| before.as_deref().map(Text::clean));
        }
        builder.facts(news);
        if is_new_session || !self.known.announced {
            self.known.announced = true;
            let id = format!("line-{}/session", builder.input.line);
            let mut notice = builder.item(id, Kind::Notice);
            notice.data.push(("event", Fact::Text("session".into())));
            notice.data.extend(nodes(["cwd", "version"].map(|name| (name, line.value.get(name)))));
            builder.put(notice);
        }
    }

    /// Decodes a line of a type that isn't a message of the conversation.
    fn other(&mut self, kind: &str, builder: &mut ClaudeItemBuilder<'_>) {
        let value = builder.line.value;
        let notice = match kind {
            "rate_limit_event" => return self.rate_limit(builder),
            "control_request" => {
                let request = value.get("request").unwrap_or(value);
                if self.waits(request, builder) {
                    return;
                }
                let text = content(request, "subtype");
                return builder.put_minor("control", text, |notice| notice.data.read(request, CONTROL));
            }
            "control_response" | "control_cancel_request" if self.ends_wait(value, builder) => {
                return builder.bookkeeping(kind.to_owned());
            }
            "tool_progress" if self.ends_wait(value, builder) => return builder.bookkeeping("tool_progress"),
            "control_response" if error_of_response(value).is_some() => {
                let text =
                    error_of_response(value).map_or(Content::None, |error| Content::Node(error.node()));
                let mut notice = builder.notice("control", text);
                notice.data.push(("subtype", Fact::Text("error".into())));
                leveled(notice, "warning")
            }
            "summary" => builder.notice("title", content(value, "summary")),
            "custom-title" => return self.title(builder, "customTitle", TitleSource::Person),
            "ai-title" => return self.title(builder, "aiTitle", TitleSource::Agent),
            "pr-link" => return self.pull_request(builder, LINK),
            "prompt_suggestion" => {
                return builder.put_minor("suggestion", content(value, "suggestion"), |_| {});
            }
            "tool_use_summary" => return builder.put_minor("info", content(value, "summary"), |_| {}),
            "conversation_reset" => builder.notice("reset", Content::Own("conversation reset".into())),
            "auth_status" if value.get("error").is_some_and(|error| !error.is_null()) => {
                leveled(builder.notice("info", content(value, "error")), "error")
            }
            "attachment" => return self.attachment(builder),
            "cost-state" => {
                let mut notice = builder.item("totals", Kind::Notice);
                notice.data.push(("event", Fact::Text("totals".into())));
                notice.data.read(value, TOTALS);
                notice.data.extend(value.get("modelUsage").and_then(outcome::models));
                self.totals = Some(notice);
                return builder.bookkeeping("cost-state");
            }
            "tool_progress" if value.get("subagent_retry").is_some_and(|retry| !retry.is_null()) => {
                retry_inside(builder, value)
            }
            _ if IN_FULL.has(kind) => return builder.report(kind.to_owned(), value),
            _ => return builder.rest("", kind, &COUNTED, value),
        };
        builder.put(notice);
    }

    /// Emits the notice that a call waits for a person, if that is what the program requests. Returns whether it is.
    fn waits(&mut self, request: Value<'_>, builder: &mut ClaudeItemBuilder<'_>) -> bool {
        let [subtype, call, name] = request.get_all(["subtype", "tool_use_id", "tool_name"]);
        // Versions up to 1.0 don't name the call.
        let (true, Some(call)) = (
            subtype.and_then(Value::str).is_some_and(|subtype| subtype.is("can_use_tool")),
            call.and_then(Value::decode).filter(|call| !call.is_empty()),
        ) else {
            return false;
        };
        let name = name.and_then(Value::decode);
        let asked = self.request_of(Id::from(&*call), name.as_deref().unwrap_or_default());
        let id = builder.line.value.get("request_id").and_then(Value::decode);
        self.requests.add(id.as_deref(), &asked);
        let mut notice = asked.notice(builder);
        notice.data.read(request, ASKED);
        builder.put(notice);
        true
    }

    /// Returns the request of a call of this tool.
    fn request_of(&self, call: Id, tool: &str) -> Request {
        let asked = Request::of(call, Some(tool.into()), Some((self.product.tool)(tool).tool_kind));
        let waits_for =
            if tools::BEGINS_PLAN.contains(&tool) { WaitsFor::Permission } else { asked.waits_for };
        Request { waits_for, ..asked }
    }

    /// Emits the notice that a call no longer waits, if a line answers or withdraws its request, or reports that it runs. Returns whether
    /// the line does.
    fn ends_wait(&self, value: Value<'_>, builder: &mut ClaudeItemBuilder<'_>) -> bool {
        let [response, request, call] = value.get_all(["response", "request_id", "tool_use_id"]);
        let id = response.and_then(|response| response.get("request_id")).or(request).or(call);
        id.and_then(Value::decode).is_some_and(|id| self.requests.end(&id, builder))
    }

    /// Decodes a title of the session. One that a person chose is never replaced by one that the agent made.
    fn title(&mut self, builder: &mut ClaudeItemBuilder<'_>, key: &str, source: TitleSource) {
        let title = content(builder.line.value, key);
        let is_chosen = source == TitleSource::Person;
        if let Some(words) =
            builder.line.value.get(key).and_then(Value::str).filter(|words| !words.is_blank())
            && (is_chosen || !self.known.has_chosen_title)
        {
            self.known.has_chosen_title = is_chosen;
            builder.facts(Facts { title: Some(Text::from_json(words)), ..Facts::default() });
        }
        builder.put_minor("title", title, |_| {});
    }

    /// Decodes a pull request of the session. Histories repeat it.
    fn pull_request(&mut self, builder: &mut ClaudeItemBuilder<'_>, parts: &'static [FactSpec]) {
        let value = builder.line.value;
        let mut notice = builder.notice("pull-request", Content::None);
        notice.data.read(value, parts);
        let Some(url) = notice.fact("url").and_then(FactRef::text) else {
            return builder.unknown("pull request".into(), value);
        };
        let is_again = self.known.pull_request.as_deref() == Some(&*url) && notice.fact("action").is_none();
        self.known.pull_request = Some((&*url).into());
        builder.facts(Facts { pull_request: Some(url), ..Facts::default() });
        builder.put(if is_again { echoed(notice) } else { notice });
    }

    fn rate_limit(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let value = builder.line.value;
        let info = value.get("rate_limit_info").unwrap_or(value);
        let status = info.get("status").and_then(Value::decode).unwrap_or_default();
        let level = match &*status {
            "allowed_warning" => "warning",
            "rejected" => "error",
            _ => "info",
        };
        let mut notice = builder.notice("limit", Content::None);
        notice.data.read(info, LIMIT);
        let notice = leveled(notice, level);
        builder.put(if level == "info" { minor(notice) } else { notice });
    }

    /// Decodes an attachment: a message of the program to the model, or a queued prompt of the user.
    fn attachment(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let value = builder.line.value;
        let attachment = value.get("attachment").unwrap_or(value);
        let kind = attachment.get("type").and_then(Value::decode).unwrap_or_default();
        if kind == "queued_command" && self.queued(builder, attachment) {
            return;
        }
        if kind == "max_turns_reached" {
            let most = attachment.get("maxTurns").and_then(Value::int);
            let of = most.map(|most| format!(" ({most} allowed)")).unwrap_or_default();
            let mut notice =
                builder.notice("turn-limit", Content::Own(format!("stopped: too many turns{of}")));
            notice.data.read(attachment, TURNS);
            return builder.put(leveled(notice, "warning"));
        }
        let diagnostics = (kind == "diagnostics").then(|| Content::Own(diagnostics(attachment)));
        let texts = ["content", "stderr", "message", "stopReason"].map(|key| content(attachment, key));
        let blocking = attachment.get("blockingError").map(|error| content(error, "blockingError"));
        let text =
            texts.into_iter().chain(blocking).chain(diagnostics).find(|text| !matches!(text, Content::None));
        let text = text.unwrap_or(Content::None);
        let event = if kind.starts_with("hook_") { "hook" } else { "attachment" };
        let is_failure = matches!(
            &*kind,
            "hook_blocking_error"
                | "hook_non_blocking_error"
                | "hook_stopped_continuation"
                | "hook_error_during_execution"
        );
        if !is_failure && !builder.input.shows_minor {
            return builder.put_hidden(text);
        }
        let mut notice = builder.notice(event, text);
        notice.data.read(attachment, ATTACHMENT);
        if matches!(notice.text, Content::None) {
            notice.data.push(("value", Fact::Node(attachment.node())));
        }
        builder.put(echo(if is_failure { leveled(notice, "warning") } else { minor(notice) }));
    }
}

/// Who chose a title.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TitleSource {
    Person,
    Agent,
}

/// Returns the messages of the diagnostics in an attachment, a line for each with its place: `src/cart.ts:8: …`.
fn diagnostics(attachment: Value<'_>) -> String {
    let mut lines = Vec::new();
    for file in attachment.get("files").into_iter().flat_map(Value::items) {
        let uri = file.get("uri").and_then(Value::decode).unwrap_or_default();
        let path = uri.strip_prefix("file://").unwrap_or(&uri);
        for diagnostic in file.get("diagnostics").into_iter().flat_map(Value::items) {
            let Some(message) = diagnostic.get("message").and_then(Value::decode) else { continue };
            let line = diagnostic.get("range").and_then(|range| range.get("start")?.get("line")?.int());
            // Lines are counted from 0.
            let line = line.map(|line| format!(":{}", line.saturating_add(1))).unwrap_or_default();
            lines.push(format!("{path}{line}: {message}"));
        }
    }
    lines.join("\n")
}

/// Returns the notice that a sub-agent tries its request again.
fn retry_inside(builder: &mut ClaudeItemBuilder<'_>, value: Value<'_>) -> Item {
    let mut notice = builder.notice("retry", Content::None);
    notice.data.read(value, PROGRESS);
    if let Some(retry) = value.get("subagent_retry") {
        notice.data.read(retry, RETRY_INSIDE);
    }
    leveled(notice, "warning")
}

/// The facts of notices that are fields of their lines.
const LINK: &[FactSpec] = &[key("prUrl", "url"), key("prNumber", "number"), key("prRepository", "repo")];
const PROGRESS: &[FactSpec] = &[key("tool_use_id", "call")];
const RETRY_INSIDE: &[FactSpec] = &[
    key("attempt", "attempt"),
    key("max_retries", "of"),
    key("retry_delay_ms", "delay_ms"),
    key("error_status", "status"),
    key("error_category", "error"),
];
const CONTROL: &[FactSpec] =
    &[key("subtype", "subtype"), key("tool_name", "tool"), key("tool_use_id", "call"), key("input", "input")];
const ASKED: &[FactSpec] = &[key("input", "input")];
const TURNS: &[FactSpec] = &[key("turnCount", "turns")];
const TOTALS: &[FactSpec] = &[
    key("totalCostUSD", "cost_usd"),
    key("totalDuration", "duration_ms"),
    key("totalAPIDuration", "api_ms"),
];
const LIMIT: &[FactSpec] = &[
    key("status", "status"),
    key("rateLimitType", "type"),
    key("resetsAt", "resets_at"),
    key("utilization", "utilization"),
    key("limitScope", "scope"),
    key("errorCode", "error"),
    key("overageDisabledReason", "reason"),
];
const ATTACHMENT: &[FactSpec] =
    &[key("type", "type"), key("hookName", "name"), key("hookEvent", "hook_event"), key("exitCode", "exit")];

/// Returns the error of a control response, if it failed.
fn error_of_response(value: Value<'_>) -> Option<Value<'_>> {
    let response = value.get("response")?;
    response.get("subtype")?.str().filter(|subtype| subtype.is("error"))?;
    response.get("error")
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::FactRef;
    use streamfmt_core::json::Record;

    fn events(line: &str, shows_minor: bool) -> Vec<Event> {
        let record = &Record::from_line(line.to_owned()).expect("JSON");
        let input = Input {
            record,
            value: record.root(),
            line: 1,
            parent: None,
            origin: None,
            shows_minor,
            counts: false,
        };
        let mut events = Vec::new();
        Claude::new(&CLAUDE, Budget::default()).decode(input, &mut events);
        events
    }

    #[test]
    fn an_attachment_of_a_hook_that_stopped_a_call_is_a_minor_echo() {
        let line = r#"{"type":"attachment","attachment":{"type":"hook_cancelled","hookEvent":"PreToolUse","exitCode":2},"uuid":"u-1","sessionId":"s"}"#;
        let [Event::Put(notice)] = &events(line, true)[..] else { panic!("one notice") };
        let is = |name: &str| notice.fact(name).and_then(FactRef::bool) == Some(true);
        assert!(is("minor") && is("echo"));
        assert!(matches!(&events(line, false)[..], [Event::Hidden(notice)] if notice.data.is_empty()));
    }
}
