//! Qwen Code. Its stream is Claude Code's, with lines and tools of its own; its session files have messages in the form of Gemini CLI.
//!
//! ```text
//! {"type":"assistant","message":{"content":[…]},"session_id":…,"parent_tool_use_id":…}     [stream]
//! {"type":"assistant","message":{"parts":[…]},"sessionId":…,"parentUuid":…}                [session]
//! ```

mod histories;
mod launch;
mod session;
pub(super) mod tools;

pub(super) use histories::HISTORIES;
pub(super) use launch::LAUNCH;

use std::borrow::Cow;

use crate::calls::Calls;
use crate::claude::{self, Claude, Product};
use crate::facts::{leveled, minor, nodes, string};
use crate::gemini::wrapped;
use crate::item_builder::ItemBuilder;
use crate::shell_report;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Beginning, Decoder, Input, SideFiles};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

/// The program, for the decoder of Claude Code's format.
static QWEN: Product =
    Product { name: "qwen", version: "qwen_code_version", tool: tools::of, counts_cached: true, add_facts };

/// The beginning of the text about a background agent that has ended.
const AGENT_ENDED: &str = "Background agent \"";
/// The beginning of a result whose call wasn't allowed.
const DENIED: &str = "Qwen Code requires permission to use ";
/// The beginning of the result of a call that started a background agent.
const LAUNCHED: &str = "Background agent launched successfully.";
/// Precedes the sub-agent's id in that result.
const TASK: &str = "task_id: ";
/// The beginnings of the results of calls that wrote a new file, or one that existed before.
const WROTE: [&str; 2] = ["Successfully created and wrote to new file: ", "Successfully overwrote file: "];
/// What the program writes around texts.
pub(super) const SENTENCES: [&str; 7] =
    [AGENT_ENDED, DENIED, LAUNCHED, WROTE[0], WROTE[1], session::NOTIFICATION, shell_report::SENTENCES[2]];

/// Whether a value is an event of Qwen Code that has marks of its own. All others look like Claude Code's.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == ValueKind::Array {
        return value.items().next().is_some_and(claim);
    }
    let has = |key: &str| value.get(key).is_some();
    match value.get("type").and_then(Value::decode).as_deref() {
        Some("system") => has("qwen_code_version") || has("systemPayload"),
        Some("user" | "assistant" | "tool_result") => is_of_session(value),
        Some("stream_event") => is_goal(value),
        _ => false,
    }
}

/// Whether a value is a line of a session file.
fn is_of_session(value: Value<'_>) -> bool {
    let [message, id, payload] = value.get_all(["message", "sessionId", "systemPayload"]);
    id.is_some() && (payload.is_some() || message.is_some_and(|message| message.get("parts").is_some()))
}

/// Whether a value reports the agent's goal.
fn is_goal(value: Value<'_>) -> bool {
    let kind = value.get("event").and_then(|event| event.get("type")?.str());
    kind.is_some_and(|kind| kind.is("goal_state"))
}

/// How the files of sub-agents are found: beside the folder of the history, in a folder for each session.
pub(super) const SIDE_FILES: SideFiles = SideFiles {
    folders: &["../subagents/*"],
    is_in_session_folder: false,
    agent: |name| name.strip_prefix("agent-")?.strip_suffix(".jsonl"),
    is_named_alike: false,
    meta: "meta.json",
    call: |meta| meta.get("toolUseId")?.decode().map(Cow::into_owned),
    beginning: |line| {
        let session = line.get("sessionId").and_then(Value::decode).map(Cow::into_owned);
        let parts = line.get("message")?.get("parts")?;
        let prompt = parts.items().find_map(|part| part.get("text")?.decode()).map(Cow::into_owned);
        Some(Beginning { session, prompt })
    },
    session: |item| item.record.as_ref()?.root().get("sessionId")?.decode().map(Cow::into_owned),
};

/// The decoder: its state between lines.
pub(super) struct Qwen {
    claude: Claude,
    /// The calls of a session file.
    calls: Calls,
    session: Option<SessionId>,
    model: Option<Box<str>>,
}

impl Qwen {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self { claude: Claude::new(&QWEN, budget), calls: Calls::new(budget), session: None, model: None }
    }
}

impl Decoder for Qwen {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let value = input.value;
        if is_of_session(value) {
            return self.session_line(input, out);
        }
        let [kind, subtype, data] = value.get_all(["type", "subtype", "data"]);
        let [kind, subtype] = [kind, subtype].map(|name| name.and_then(Value::decode).unwrap_or_default());
        let session = value.get("session_id").and_then(Value::decode).map(|id| SessionId::from(&*id));
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), session, out);
        match (&*kind, data) {
            ("stream_event", _) if is_goal(value) => builder.bookkeeping("goal_state"),
            ("system", Some(data)) => report(&subtype, data, &mut builder),
            ("user", _) if ended_agent(value).is_some() => {
                let notice = builder.notice("task", string(ended_agent(value)));
                builder.put(notice);
            }
            _ => self.claude.decode(input, out),
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.claude.end(out);
    }
}

/// Returns the text about a background agent that has ended, if a line in the user's role is one.
fn ended_agent(line: Value<'_>) -> Option<Value<'_>> {
    let mut blocks = line.get("message")?.get("content")?.items();
    let text = blocks.next()?.get("text")?;
    text.str().filter(|text| text.begins_with(AGENT_ENDED) && blocks.next().is_none()).map(|_| text)
}

/// Emits the notice for a report of the program, whose fields are in `data`.
fn report(subtype: &str, data: Value<'_>, builder: &mut ItemBuilder<'_>) {
    let [task, call, status, reason] = data.get_all(["task_id", "tool_use_id", "status", "reason"]);
    let notice = match subtype {
        "task_started" => return builder.bookkeeping("task_started"),
        "task_notification" => {
            let mut notice = builder.notice("task", Content::None);
            notice.data.extend(nodes([("task", task), ("call", call), ("status", status)]));
            let is_done = status.and_then(Value::str).is_some_and(|status| status.is("completed"));
            // A text in the user's role says the same.
            if is_done { minor(notice) } else { leveled(notice, "warning") }
        }
        "retry" => {
            let mut notice = builder.notice("retry", Content::None);
            let reason = reason.filter(|reason| reason.str().is_some_and(|reason| !reason.is("retry")));
            notice.data.extend(nodes([("error", reason)]));
            leveled(notice, "warning")
        }
        _ => return builder.report(["system/", subtype].concat(), data),
    };
    builder.put(notice);
}

/// Adds facts to a result, whose call is of one of the program's own tools.
fn add_facts(result: &mut Item) {
    let begins = |with: &str| result.text().starts_with(with);
    match result.tool_kind {
        _ if result.error && begins(DENIED) => result.data.push(("denied", Fact::Bool(true))),
        Some(ToolKind::Run) => shell_report::add_facts(result),
        Some(ToolKind::Delegate) if begins(LAUNCHED) => {
            let id = result
                .text()
                .lines()
                .find_map(|line| Some(line.strip_prefix(TASK)?.split(' ').next()?.to_owned()));
            result.data.extend(id.map(|id| ("agent", Fact::Text(id))));
            result.data.push(("state", Fact::Text("async_launched".to_owned())));
            result.words = Some(|_, text| text.slice(0, 0));
        }
        // The call has the path and the content.
        Some(ToolKind::Write) if WROTE.iter().any(|start| begins(start)) => {
            if begins(WROTE[0]) && result.fact("created").is_none() {
                result.data.push(("created", Fact::Bool(true)));
            }
            result.words = Some(|_, text| if text.contains('\n') { text } else { Text::EMPTY });
        }
        Some(ToolKind::Read) if !result.error && !matches!(result.text, Content::None) => {
            let lines = i64::try_from(result.text().lines().count()).unwrap_or(i64::MAX);
            result.data.push(("lines", Fact::Int(lines)));
        }
        _ => {}
    }
    wrapped::add_facts(result);
}

/// Adds the facts of both formats to a result.
fn complete(result: &mut Item) {
    claude::wrapped::add_facts(result);
    add_facts(result);
}
