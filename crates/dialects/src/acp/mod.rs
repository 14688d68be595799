//! The Agent Client Protocol: JSON-RPC between an editor and an agent. A file may contain the lines of one side or of both.
//!
//! ```text
//! {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{…}}              [client]
//! {"jsonrpc":"2.0","method":"session/update","params":{"update":{…}}}          [agent]
//! {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}                  [agent]
//! ```
//!
//! Both sides number their requests, so the number of a response doesn't show whose request it answers: its fields do. The protocol has
//! no end of a message: a message ends where something else begins.

mod call;
mod result;
mod tools;
mod updates;
pub(super) mod wrapped;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::{filled, leveled, nodes, string};
use crate::item_builder::{ItemBuilder, not_an_event};
use crate::requests::Requests;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Content, Fact, Id, Kind, Status};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::recent::Recent;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use call::UnfinishedCall;
use result::TerminalOutput;

/// The most requests, calls and terminals of which something is remembered.
const MAX_OPEN: usize = 256;

/// Whether a value is a message of the protocol: other protocols use JSON-RPC, too.
pub(super) fn claim(value: Value<'_>) -> bool {
    let [version, method, params, result] = value.get_all(["jsonrpc", "method", "params", "result"]);
    if !version.and_then(Value::str).is_some_and(|version| version.is("2.0")) {
        return false;
    }
    let has = |value: Option<Value<'_>>, key| value.and_then(|value| value.get(key)).is_some();
    match method.and_then(Value::decode).as_deref() {
        Some("initialize") => {
            params.and_then(|params| params.get("protocolVersion")?.int()).is_some()
                || has(params, "clientCapabilities")
        }
        Some(method) => {
            ["session/", "fs/", "terminal/"].iter().any(|group| method.starts_with(group)) && params.is_some()
        }
        None => {
            ["agentCapabilities", "stopReason", "modes", "configOptions"].iter().any(|key| has(result, key))
        }
    }
}

/// Whether a value is a line of the agent: its last one answers the prompt.
pub(super) fn is_stream(value: Value<'_>) -> bool {
    value.get("method").and_then(Value::str).is_some_and(|method| method.is("session/update"))
}

/// The decoder: its state between lines.
pub(super) struct Acp {
    session: Option<SessionId>,
    calls: Calls,
    /// The name of the agent.
    agent: Option<Text>,
    /// Its version.
    version: Option<Text>,
    /// The message that is being written.
    writing: Option<(Kind, Option<String>, Id)>,
    /// The client's prompt, which the agent may repeat.
    echo: String,
    /// How much of it the agent has repeated, in bytes.
    echoed: usize,
    /// The calls that have no result yet.
    open: Vec<UnfinishedCall>,
    /// What the agent's requests are about, by their numbers: a call that needs permission, or a terminal.
    requests: Recent<AgentRequest, 1>,
    /// The requests for permission.
    waits: Requests,
    /// The numbers of the client's requests other than prompts.
    other_requests: Recent<(), 1>,
    /// What is known of terminals, by the hashes of their ids.
    terminals: Recent<TerminalOutput, 1>,
    /// The last plan.
    plan: Option<String>,
    /// The cost of the session so far, in US dollars.
    cost: Option<f64>,
}

/// What a request of the agent is about.
struct AgentRequest {
    method: String,
    /// The id of the call or of the terminal.
    about: Option<Id>,
    /// The options that refuse permission.
    refusals: Vec<String>,
}

impl Acp {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            session: None,
            calls: Calls::new(budget),
            agent: None,
            version: None,
            writing: None,
            echo: String::new(),
            echoed: 0,
            open: Vec::new(),
            requests: Recent::of(MAX_OPEN),
            waits: Requests::new(),
            other_requests: Recent::of(MAX_OPEN),
            terminals: Recent::of(MAX_OPEN),
            plan: None,
            cost: None,
        }
    }
}

impl Decoder for Acp {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let [version, method, id, params, result, error] =
            input.value.get_all(["jsonrpc", "method", "id", "params", "result", "error"]);
        if version.is_none() && (method.is_none() || params.is_none()) {
            return not_an_event(input, out);
        }
        let session = params.and_then(|params| filled(params.get("sessionId"))?.decode());
        if let Some(session) = session.filter(|session| self.session.as_deref() != Some(&**session)) {
            self.session = Some(Arc::from(&*session));
        }
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        match (method.and_then(Value::decode), params.filter(|params| params.kind() == ValueKind::Object)) {
            (Some(method), Some(params)) => self.request(&method, id, params, &mut builder),
            (Some(method), None) => builder.bookkeeping(method.into_owned()),
            (None, _) => match (result, error.filter(|error| !error.is_null())) {
                (_, Some(error)) => self.failure(id, error, &mut builder),
                (Some(result), None) => self.response(id, result, &mut builder),
                (None, None) => builder.unknown("message".into(), input.value),
            },
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.finish_message(out);
    }
}

/// Returns the key of a request: the hash of its number or text.
fn number(id: Option<Value<'_>>) -> u64 {
    Id::from(id.map_or("", Value::raw)).hash()
}

impl Acp {
    /// Decodes a request or a notice of either side.
    fn request(
        &mut self,
        method: &str,
        id: Option<Value<'_>>,
        params: Value<'_>,
        builder: &mut ItemBuilder<'_>,
    ) {
        match method {
            "session/update" => {
                match params.get("update").filter(|update| update.kind() == ValueKind::Object) {
                    Some(update) => return self.update(update, builder),
                    None => return builder.unknown(method.into(), params),
                }
            }
            "session/prompt" => return self.prompt(params, builder),
            "session/request_permission" => return self.permission(id, params, builder),
            "terminal/output" | "terminal/wait_for_exit" => {
                let terminal = params.get("terminalId").and_then(Value::decode);
                let about = terminal.map(|terminal| Id::from(&*terminal));
                self.note(id, AgentRequest { method: method.to_owned(), about, refusals: Vec::new() });
            }
            "initialize" | "authenticate" => self.note_other(id),
            _ if method.starts_with("session/") => {
                let cwd = params.get("cwd").and_then(Value::str).map(Text::from_json);
                if cwd.is_some() {
                    builder.facts(Facts { cwd, ..Facts::default() });
                }
                self.note_other(id);
            }
            _ if method.starts_with("fs/") || method.starts_with("terminal/") => {}
            // Agents may add notices of their own, whose names begin with `_`.
            _ if method.starts_with('_') || method.starts_with('$') => {}
            _ => return builder.unknown(method.into(), params),
        }
        builder.bookkeeping(method.to_owned());
    }

    fn note(&mut self, id: Option<Value<'_>>, request: AgentRequest) {
        let number = number(id);
        match self.requests.get_mut(number) {
            Some(known) => *known = request,
            None => {
                self.requests.add(number, || request);
            }
        }
    }

    fn note_other(&mut self, id: Option<Value<'_>>) {
        self.other_requests.add(number(id), || ());
    }

    /// Decodes an answer.
    fn response(&mut self, id: Option<Value<'_>>, result: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [stop, outcome, agent, capabilities, session, output, exit, code] = result.get_all([
            "stopReason",
            "outcome",
            "agentInfo",
            "agentCapabilities",
            "sessionId",
            "output",
            "exitStatus",
            "exitCode",
        ]);
        if let Some(stop) = stop {
            return self.turn_ended(stop, result, builder);
        }
        if let Some(outcome) = outcome {
            self.permitted(id, outcome);
            self.end_wait(id, builder);
            return builder.bookkeeping("response");
        }
        if agent.is_some() || capabilities.is_some() {
            let text =
                |name| agent.and_then(|agent| agent.get(name)).and_then(Value::str).map(Text::from_json);
            self.agent = text("name").or_else(|| text("title"));
            self.version = text("version");
            builder.facts(Facts { agent: self.agent.clone(), version: text("version"), ..Facts::default() });
            return builder.bookkeeping("response");
        }
        let states = result.get_all(["modes", "models", "configOptions"]);
        if session.is_some() || states.iter().any(Option::is_some) {
            return self.session_began(session, states, builder);
        }
        if output.is_some() || exit.is_some() || code.is_some() {
            self.terminal_answered(id, result);
        }
        builder.bookkeeping("response");
    }

    /// Emits the notice of a session that begins or is loaded.
    fn session_began(
        &mut self,
        id: Option<Value<'_>>,
        [modes, known, options]: [Option<Value<'_>>; 3],
        builder: &mut ItemBuilder<'_>,
    ) {
        if let Some(id) = filled(id).and_then(Value::decode) {
            self.session = Some(Arc::from(&*id));
            builder.session.clone_from(&self.session);
        }
        let mode = modes.and_then(|modes| modes.get("currentModeId"));
        let named = known.and_then(|known| known.get("currentModelId"));
        let named = named.or_else(|| option_called("model", options?));
        let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
        builder.facts(Facts {
            model: text(named),
            mode: text(mode),
            agent: self.agent.clone(),
            session: self.session.as_deref().map(Text::clean),
            ..Facts::default()
        });
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("model", filled(named)), ("mode", filled(mode))]));
        notice
            .data
            .extend(self.version.clone().map(|version| ("version", Fact::Text(version.into_string()))));
        builder.put(notice);
    }

    /// Decodes an error in place of an answer. The one to a prompt ends the turn.
    fn failure(&mut self, id: Option<Value<'_>>, error: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.finish_message(builder.out);
        let [message, data] = error.get_all(["message", "data"]);
        let details =
            data.and_then(|data| data.get("details").or_else(|| data.get("message")).or(Some(data)));
        let details = filled(details).filter(|details| details.kind() == ValueKind::String);
        let message = filled(message).or(Some(error));
        let is_of_prompt =
            self.other_requests.get(number(id)).is_none() && self.requests.get(number(id)).is_none();
        let text = match (message.and_then(Value::decode), details.and_then(Value::decode)) {
            (Some(message), Some(details)) if !message.contains(&*details) => {
                Content::Own([&*message, ": ", &details].concat())
            }
            (None, _) => Content::Own(error.raw().to_owned()),
            _ => string(message),
        };
        if !is_of_prompt {
            self.end_wait(id, builder);
            let notice = builder.notice("error", text);
            return builder.put(leveled(notice, "error"));
        }
        self.finish_calls(builder);
        let mut outcome = builder.outcome();
        (outcome.error, outcome.status) = (true, Status::Failed);
        outcome.text = text;
        builder.put(outcome);
    }

    /// Emits the outcome of a turn, from the answer to a prompt.
    fn turn_ended(&mut self, stop: Value<'_>, result: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.finish_message(builder.out);
        self.finish_calls(builder);
        (self.echo, self.echoed) = Default::default();
        let mut outcome = builder.outcome();
        match stop.decode().as_deref() {
            Some("cancelled") => {
                (outcome.error, outcome.status) = (true, Status::Failed);
                outcome.data.push(("cause", Fact::Text("interrupted".into())));
            }
            Some(reason) if reason != "end_turn" => {
                (outcome.error, outcome.status) = (true, Status::Failed);
                outcome.data.push(("reason", Fact::Text(reason.replace('_', " "))));
                outcome
                    .data
                    .extend((reason == "max_turn_requests").then(|| ("cause", Fact::Text("turns".into()))));
            }
            _ => {}
        }
        if let Some(usage) = usage_of(result) {
            let counts = [
                ("input", usage.input),
                ("output", usage.output),
                ("cache_read", usage.cache_read),
                ("cache_write", usage.cache_write),
            ];
            let fact =
                || Fact::Map(counts.map(|(name, count)| (name, Fact::Int(count.cast_signed()))).to_vec());
            outcome.data.push(("usage", fact()));
            outcome.data.push(("turn", Fact::Map(vec![("usage", fact())])));
            builder.emit_usage(outcome.id.clone(), usage);
        }
        outcome.data.extend(self.cost.map(|cost| ("cost_usd", Fact::Float(cost))));
        builder.put(outcome);
    }
}

/// Returns the value of a session's option.
fn option_called<'a>(name: &str, options: Value<'a>) -> Option<Value<'a>> {
    let is_it = |option: &Value<'_>| option.get("id").and_then(Value::str).is_some_and(|id| id.is(name));
    options.items().find(is_it)?.get("currentValue")
}

/// Returns the tokens of a turn; Gemini counts them in an extension of its own.
fn usage_of(result: Value<'_>) -> Option<Usage> {
    let count = |value: Option<Value<'_>>| {
        value.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
    };
    if let Some(usage) = result.get("usage").filter(|usage| usage.kind() == ValueKind::Object) {
        let [input, output, cache_read, cache_write] = usage
            .get_all(["inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens"])
            .map(count);
        return Some(Usage { input, output, cache_read, cache_write });
    }
    let quota = result.get("_meta")?.get("quota")?.get("token_count")?;
    let [input, output] = quota.get_all(["input_tokens", "output_tokens"]).map(count);
    Some(Usage { input, output, ..Usage::default() })
}
