//! `atif`: a session as a trajectory of the Agent Trajectory Interchange Format, version 1.7: one JSON object, written at the end.
//!
//! It is made of the lines of items, in which secrets are masked already. Their strings are copied as they are, escapes included, so that
//! the document is as safe to print as they are.
//!
//! A step of the agent is one answer of the model: thoughts, texts, calls, and the results of these calls, whenever they came. Items don't
//! state where an answer begins, so a step ends where a thought or text follows a call, where anything follows a result, and where two
//! texts have ids of different messages.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use foldhash::fast::FixedState;
use indexmap::IndexMap;
use streamfmt_core::contract::write_string;
use streamfmt_core::json::{Record, Value, ValueKind};
use streamfmt_core::outline::Node;
use streamfmt_core::writer::{ItemWriter, Writer};

/// A map by ids, each in the form of JSON.
type ById<V> = IndexMap<String, V, FixedState>;

/// The facts of a result that are kept under `extra`, and their names there.
const KEPT: [(&str, &str); 7] = [
    ("exit", "exit_code"),
    ("denied", "denied"),
    ("stopped", "stopped"),
    ("interrupted", "interrupted"),
    ("patch", "patch"),
    ("stderr", "stderr"),
    ("took_ms", "took_ms"),
];

/// The version that is written: the first in which results may have `extra`.
const VERSION: &str = "ATIF-v1.7";

/// Writes a trajectory.
#[derive(Default)]
pub struct Atif {
    /// The beginning of a line.
    line: String,
    main: WrittenSteps,
    /// The trajectories of sub-agents, by the calls that started them.
    inside: ById<WrittenSteps>,
    /// The trajectory and step of each call; `None` for the main trajectory.
    calls: ById<(Option<String>, usize)>,
    /// The session, the agent's program, its version and the model, each as JSON.
    session: Option<String>,
    agent: Option<String>,
    version: Option<String>,
    model: Option<String>,
    /// The last figures of the session, and the sums of those of its turns.
    figures: SessionSums,
    /// The last outcome, as a JSON object.
    outcome: Option<String>,
    /// What has no place in a trajectory.
    left_out: BTreeMap<String, u64>,
}

/// The steps of one agent.
#[derive(Default)]
struct WrittenSteps {
    steps: Vec<WrittenStep>,
    /// Whether the last step is an answer of the model that may go on.
    is_open: bool,
}

/// One step. All parts are JSON.
#[derive(Default)]
struct WrittenStep {
    source: &'static str,
    at: String,
    /// The texts, and the pictures as parts of a message.
    texts: Vec<String>,
    pictures: Vec<String>,
    thoughts: Vec<String>,
    calls: Vec<String>,
    /// Results, each without its brace at the end, and the call that started a sub-agent, if it is one's.
    results: Vec<(String, Option<String>)>,
    extra: String,
    /// The message that its last text belongs to.
    message: String,
}

/// Tokens and cost.
#[derive(Default)]
struct SessionSums {
    input: u64,
    output: u64,
    cached: u64,
    written: u64,
    cost: Option<f64>,
    duration: Option<f64>,
}

impl Writer for Atif {
    fn node(&mut self, _: &Node, _: &mut dyn Write) -> fmt::Result {
        Ok(())
    }

    fn items(&mut self) -> Option<&mut dyn ItemWriter> {
        Some(self)
    }
}

impl ItemWriter for Atif {
    fn item(&mut self, piece: &str) {
        self.line.push_str(piece);
        if self.line.ends_with('\n') {
            let line = std::mem::take(&mut self.line);
            if let Ok(record) = Record::from_line(line) {
                self.take(record.root());
            }
        }
    }

    fn end(&mut self, agent: Option<&str>, out: &mut dyn Write) -> fmt::Result {
        // The format has no empty trajectories.
        if self.main.steps.is_empty() {
            if self.inside.is_empty() {
                return Ok(());
            }
            self.main.push(WrittenStep { source: "system", ..WrittenStep::default() });
        }
        if let Some(agent) = agent.filter(|_| self.agent.is_none()) {
            let mut name = String::new();
            write_string(&mut name, agent)?;
            self.agent = Some(name);
        }
        self.write(out)
    }

    fn left_out(&self) -> &BTreeMap<String, u64> {
        &self.left_out
    }
}

impl Atif {
    /// Takes an item.
    fn take(&mut self, item: Value<'_>) {
        let [kind, parent, data, session] = item.get_all(["kind", "parent", "data", "session"]);
        let parent = id(parent);
        if self.session.is_none() {
            self.session = id(session);
        }
        match kind.and_then(Value::decode).as_deref() {
            Some("prompt") => {
                let mut step = WrittenStep::of("user", item);
                step.texts.extend(raw_text(item));
                self.pictures(data, &mut step);
                self.trajectory(parent.as_deref()).push(step);
            }
            Some(kind @ ("reply" | "thinking")) => self.text(kind, item, parent.as_deref()),
            Some("call") => self.call(item, parent),
            Some("result") => self.result(item, parent.as_deref()),
            Some("notice") => self.notice(item, parent.as_deref()),
            Some("outcome") => self.end_turn(item),
            Some("plan")
                if item.get("id").and_then(Value::decode).is_some_and(|id| id.ends_with("/plan")) => {}
            Some(kind) => self.leave_out(kind),
            None => self.leave_out("item"),
        }
    }

    fn leave_out(&mut self, name: &str) {
        *self.left_out.entry(name.to_owned()).or_default() += 1;
    }

    fn trajectory(&mut self, parent: Option<&str>) -> &mut WrittenSteps {
        match parent {
            None => &mut self.main,
            Some(parent) => self.inside.entry(parent.to_owned()).or_default(),
        }
    }

    /// Adds the pictures that have a name as parts of a message; their data has no place.
    fn pictures(&mut self, data: Option<Value<'_>>, step: &mut WrittenStep) {
        let images = data.and_then(|data| data.get("images"));
        for image in images.into_iter().flat_map(Value::items) {
            match picture(image) {
                Some(part) => step.pictures.push(part),
                None => self.leave_out("picture"),
            }
        }
    }

    fn text(&mut self, kind: &str, item: Value<'_>, parent: Option<&str>) {
        let Some(text) = raw_text(item) else { return };
        let is_reply = kind == "reply";
        let own = item.get("id").and_then(Value::decode).unwrap_or_default();
        let message = own.rsplit_once('/').map_or(&*own, |(message, _)| message);
        let trajectory = self.trajectory(parent);
        let goes_on = trajectory
            .open()
            .is_some_and(|step| step.calls.is_empty() && (step.texts.is_empty() || step.message == message));
        if !goes_on {
            trajectory.push(WrittenStep::of("agent", item));
        }
        trajectory.is_open = true;
        if let Some(step) = trajectory.steps.last_mut() {
            if is_reply {
                message.clone_into(&mut step.message);
                step.texts.push(text);
            } else {
                step.thoughts.push(text);
            }
        }
    }

    fn call(&mut self, item: Value<'_>, parent: Option<String>) {
        let [own, tool, input] = item.get_all(["id", "tool", "input"]);
        let arguments = match input {
            Some(input) if input.kind() == ValueKind::Object => input.raw().to_owned(),
            Some(input) => format!("{{\"input\":{}}}", input.raw()),
            None => "{}".to_owned(),
        };
        let name = tool.map_or("\"call\"", Value::raw);
        let call = format!(
            "{{\"tool_call_id\":{},\"function_name\":{name},\"arguments\":{arguments}}}",
            own.map_or("\"\"", Value::raw),
        );
        let trajectory = self.trajectory(parent.as_deref());
        if trajectory.open().is_none() {
            trajectory.push(WrittenStep::of("agent", item));
            trajectory.is_open = true;
        }
        let at = trajectory.steps.len() - 1;
        trajectory.steps[at].calls.push(call);
        if let Some(own) = id(own) {
            self.calls.insert(own, (parent, at));
        }
    }

    fn result(&mut self, item: Value<'_>, parent: Option<&str>) {
        let [call, data, error] = item.get_all(["call", "data", "error"]);
        let of = id(call);
        let known = of.as_ref().and_then(|call| self.calls.get(call).cloned());
        let mut content =
            WrittenStep { texts: raw_text(item).into_iter().collect(), ..WrittenStep::default() };
        self.pictures(data, &mut content);
        let mut extra = Vec::new();
        if error.and_then(Value::bool) == Some(true) {
            extra.push("\"is_error\":true".to_owned());
        }
        for (name, theirs) in KEPT {
            let value = data.and_then(|data| data.get(name));
            extra.extend(value.map(|value| format!("\"{theirs}\":{}", value.raw())));
        }
        let source = if known.is_some() { call.map_or("null", Value::raw) } else { "null" };
        let mut result = format!("{{\"source_call_id\":{source},\"content\":{}", content.message());
        if !extra.is_empty() {
            result = format!("{result},\"extra\":{{{}}}", extra.join(","));
        }
        let (owner, at) = match known {
            Some((owner, at)) => (owner, Some(at)),
            None => (parent.map(str::to_owned), None),
        };
        let trajectory = self.trajectory(owner.as_deref());
        if trajectory.steps.is_empty() {
            trajectory.push(WrittenStep::of("system", item));
        }
        let at = at.unwrap_or(trajectory.steps.len() - 1);
        trajectory.steps[at].results.push((result, of));
        if at + 1 == trajectory.steps.len() {
            trajectory.is_open = false;
        }
    }

    /// Adds the notices that the context of the model depends on, and the errors. Others are for people who watch.
    fn notice(&mut self, item: Value<'_>, parent: Option<&str>) {
        let data = item.get("data");
        let fact = |name: &str| data.and_then(|data| data.get(name));
        let event = fact("event").and_then(Value::decode).unwrap_or_default();
        let is_minor = fact("minor").and_then(Value::bool) == Some(true);
        match &*event {
            "session" if parent.is_none() => {
                let known =
                    [(&mut self.agent, "agent"), (&mut self.version, "version"), (&mut self.model, "model")];
                for (known, name) in known {
                    *known = known.take().or_else(|| id(fact(name)));
                }
            }
            "session" => {}
            "totals" => self.figures.total(data),
            "configuration" => {
                let mut step = WrittenStep::of("system", item);
                step.texts.extend(raw_text(item));
                self.trajectory(parent).push(step);
            }
            "compaction" => {
                let mut step = WrittenStep::of("system", item);
                step.texts.push("Context compaction performed".to_owned());
                let numbers = ["before", "after"]
                    .into_iter()
                    .filter_map(|name| Some(format!(",\"{name}\":{}", fact(name)?.raw())));
                step.extra = format!(
                    "{{\"context_management\":{{\"type\":\"compaction\",\"boundary\":\"replace\"{}}}}}",
                    numbers.collect::<String>()
                );
                self.trajectory(parent).push(step);
            }
            "summary" => {
                let Some(text) = raw_text(item) else { return };
                let result = format!("{{\"source_call_id\":null,\"content\":\"{text}\"");
                match self.trajectory(parent).steps.last_mut().filter(|step| !step.extra.is_empty()) {
                    Some(step) => step.results.push((result, None)),
                    None => self.leave_out("summary"),
                }
            }
            "info" | "error" if !is_minor && raw_text(item).is_some() => {
                let mut step = WrittenStep::of("system", item);
                step.texts.extend(raw_text(item));
                self.trajectory(parent).push(step);
            }
            event => self.leave_out(if event.is_empty() { "notice" } else { event }),
        }
    }

    /// Notes an outcome: its figures, and whether the run failed.
    fn end_turn(&mut self, item: Value<'_>) {
        let [data, text, error] = item.get_all(["data", "text", "error"]);
        self.figures.turn(data);
        let is_error = error.and_then(Value::bool) == Some(true);
        let mut outcome = vec![format!("\"is_error\":{is_error}")];
        let is_repeated = data.and_then(|data| data.get("repeated")?.bool()) == Some(true);
        let text = text.filter(|_| !is_repeated);
        outcome.extend(text.map(|text| format!("\"text\":{}", text.raw())));
        for name in ["cause", "reason", "turns"] {
            let value = data.and_then(|data| data.get(name));
            outcome.extend(value.map(|value| format!("\"{name}\":{}", value.raw())));
        }
        self.outcome = Some(format!("{{{}}}", outcome.join(",")));
        self.main.is_open = false;
    }

    /// Writes the document.
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "\"unknown\"".to_owned());
        let model = self.model.as_ref().map(|model| format!(",\"model_name\":{model}")).unwrap_or_default();
        let agent = format!(
            "\"agent\":{{\"name\":{},\"version\":{}{model}}}",
            or_unknown(&self.agent),
            or_unknown(&self.version)
        );
        write!(out, "{{\"schema_version\":\"{VERSION}\",")?;
        if let Some(session) = &self.session {
            write!(out, "\"session_id\":{session},")?;
        }
        write!(out, "{agent},\"steps\":")?;
        self.write_steps(&self.main, out)?;
        write!(out, ",\"final_metrics\":{}", self.figures.metrics(self.main.steps.len()))?;
        let mut before = ",\"subagent_trajectories\":[";
        for (call, inside) in self.inside.iter().filter(|(_, inside)| !inside.steps.is_empty()) {
            out.write_str(std::mem::replace(&mut before, ","))?;
            write!(out, "{{\"schema_version\":\"{VERSION}\",\"trajectory_id\":{call},{agent},\"steps\":")?;
            self.write_steps(inside, out)?;
            out.write_char('}')?;
        }
        if before == "," {
            out.write_char(']')?;
        }
        if let Some(outcome) = &self.outcome {
            write!(out, ",\"extra\":{{\"outcome\":{outcome}}}")?;
        }
        out.write_str("}\n")
    }

    fn write_steps(&self, trajectory: &WrittenSteps, out: &mut dyn Write) -> fmt::Result {
        let has_steps = |call: &str| self.inside.get(call).is_some_and(|inside| !inside.steps.is_empty());
        for (at, step) in trajectory.steps.iter().enumerate() {
            out.write_char(if at == 0 { '[' } else { ',' })?;
            step.write(at + 1, &has_steps, out)?;
        }
        out.write_char(']')
    }
}

impl WrittenSteps {
    /// Appends a step; the one before it is over.
    fn push(&mut self, step: WrittenStep) {
        self.is_open = false;
        self.steps.push(step);
    }

    /// The last step, if it is an answer of the model that may go on.
    fn open(&self) -> Option<&WrittenStep> {
        self.steps.last().filter(|_| self.is_open)
    }
}

impl WrittenStep {
    fn of(source: &'static str, item: Value<'_>) -> Self {
        Self { source, at: item.get("at").map_or("", Value::raw).to_owned(), ..Self::default() }
    }

    /// Returns the message, as a text or as a list with pictures.
    fn message(&self) -> String {
        let text = self.texts.join("\\n\\n");
        if self.pictures.is_empty() {
            return format!("\"{text}\"");
        }
        let text = (!text.is_empty()).then(|| format!("{{\"type\":\"text\",\"text\":\"{text}\"}}"));
        let parts: Vec<&str> = text.iter().chain(&self.pictures).map(String::as_str).collect();
        format!("[{}]", parts.join(","))
    }

    fn write(&self, number: usize, has_steps: &impl Fn(&str) -> bool, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{{\"step_id\":{number},\"source\":\"{}\",\"message\":{}", self.source, self.message())?;
        if !self.at.is_empty() {
            write!(out, ",\"timestamp\":{}", self.at)?;
        }
        if !self.thoughts.is_empty() {
            write!(out, ",\"reasoning_content\":\"{}\"", self.thoughts.join("\\n\\n"))?;
        }
        if !self.calls.is_empty() {
            write!(out, ",\"tool_calls\":[{}]", self.calls.join(","))?;
        }
        for (at, (result, call)) in self.results.iter().enumerate() {
            out.write_str(if at == 0 { ",\"observation\":{\"results\":[" } else { "," })?;
            out.write_str(result)?;
            if let Some(call) = call.as_ref().filter(|call| has_steps(call)) {
                write!(out, ",\"subagent_trajectory_ref\":[{{\"trajectory_id\":{call}}}]")?;
            }
            out.write_char('}')?;
        }
        if !self.results.is_empty() {
            out.write_str("]}")?;
        }
        if !self.extra.is_empty() {
            write!(out, ",\"extra\":{}", self.extra)?;
        }
        out.write_char('}')
    }
}

impl SessionSums {
    /// Adds the figures of an outcome: those of its turn, or else those of the session so far.
    fn turn(&mut self, data: Option<Value<'_>>) {
        let Some(data) = data else { return };
        let turn =
            data.get("turn").filter(|turn| turn.get("usage").is_some() || turn.get("cost_usd").is_some());
        let before = std::mem::take(self);
        self.read(turn.unwrap_or(data));
        self.cost = self.cost.or_else(|| data.get("cost_usd")?.float());
        if turn.is_some() {
            self.input = self.input.saturating_add(before.input);
            self.output = self.output.saturating_add(before.output);
            self.cached = self.cached.saturating_add(before.cached);
            self.written = self.written.saturating_add(before.written);
            let has_cost = turn.is_some_and(|turn| turn.get("cost_usd").is_some());
            self.cost = match (self.cost, before.cost.filter(|_| has_cost)) {
                (Some(cost), Some(before)) => Some(cost + before),
                (cost, _) => cost.or(before.cost),
            };
        }
        self.duration =
            self.duration.map_or(before.duration, |own| Some(own + before.duration.unwrap_or(0.0)));
    }

    /// Replaces the figures by those of the whole session.
    fn total(&mut self, data: Option<Value<'_>>) {
        if let Some(data) = data.filter(|data| data.get("usage").is_some() || data.get("cost_usd").is_some())
        {
            let before = std::mem::take(self);
            self.read(data);
            self.cost = self.cost.or(before.cost);
            self.duration = self.duration.or(before.duration);
            if data.get("usage").is_none() {
                (self.input, self.output, self.cached, self.written) =
                    (before.input, before.output, before.cached, before.written);
            }
        }
    }

    fn read(&mut self, data: Value<'_>) {
        let [usage, cost, duration] = data.get_all(["usage", "cost_usd", "duration_ms"]);
        let count = |name: &str| {
            let count = usage.and_then(|usage| usage.get(name)?.int());
            count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
        };
        [self.input, self.output, self.cached, self.written] =
            ["input", "output", "cache_read", "cache_write"].map(count);
        (self.cost, self.duration) = (cost.and_then(Value::float), duration.and_then(Value::float));
    }

    /// Returns the metrics of the whole trajectory. The tokens of a prompt include those of the cache.
    fn metrics(&self, steps: usize) -> String {
        let mut metrics = vec![format!("\"total_steps\":{steps}")];
        let prompt = self.input.saturating_add(self.cached).saturating_add(self.written);
        if prompt > 0 || self.output > 0 {
            metrics.push(format!("\"total_prompt_tokens\":{prompt}"));
            metrics.push(format!("\"total_completion_tokens\":{}", self.output));
            metrics.push(format!("\"total_cached_tokens\":{}", self.cached));
        }
        let cost = self.cost.filter(|cost| cost.is_finite());
        metrics.extend(cost.map(|cost| format!("\"total_cost_usd\":{cost}")));
        let mut extra = Vec::new();
        let written = Some(self.written).filter(|written| *written > 0);
        extra.extend(written.map(|count| format!("\"total_cache_creation_input_tokens\":{count}")));
        let duration = self.duration.filter(|ms| ms.is_finite());
        extra.extend(duration.map(|ms| format!("\"duration_ms\":{ms}")));
        if !extra.is_empty() {
            metrics.push(format!("\"extra\":{{{}}}", extra.join(",")));
        }
        format!("{{{}}}", metrics.join(","))
    }
}

/// Returns a string in the form of JSON, unless it is empty.
fn id(value: Option<Value<'_>>) -> Option<String> {
    let value = value?;
    value.str().filter(|text| !text.raw().is_empty())?;
    Some(value.raw().to_owned())
}

/// Returns the text of an item between its quotes, with its escapes.
fn raw_text(item: Value<'_>) -> Option<String> {
    let text = item.get("text")?.str()?.raw();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns a picture as a part of a message, if it is of a known type and has a name.
fn picture(image: Value<'_>) -> Option<String> {
    let [media, name] = image.get_all(["media", "name"]);
    let name = name.filter(|name| name.str().is_some_and(|name| !name.raw().is_empty()))?;
    let by_name = |name: &str| {
        let ending = name.rsplit_once('.')?.1.to_lowercase();
        let known = [("png", "png"), ("jpg", "jpeg"), ("jpeg", "jpeg"), ("gif", "gif"), ("webp", "webp")];
        known.into_iter().find(|(known, _)| *known == ending).map(|(_, media)| format!("image/{media}"))
    };
    let media = media.and_then(Value::decode).map(Into::into).or_else(|| by_name(&name.decode()?))?;
    ["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&&*media).then(|| {
        format!("{{\"type\":\"image\",\"source\":{{\"media_type\":\"{media}\",\"path\":{}}}}}", name.raw())
    })
}
