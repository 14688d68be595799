//! The lines of a session file. A message's parts have the form of Gemini CLI.

use crate::fact;
use crate::facts::{fail, filled, leveled, nodes, string};
use crate::gemini::result as gemini;
use crate::item_builder::ItemBuilder;
use crate::tool::{add_server, mcp};
use streamfmt_core::dialect::Input;
use streamfmt_core::event::{Event, Facts, Usage};
use streamfmt_core::item::{Fact, Id, Kind, ToolKind};
use streamfmt_core::json::{Str, Value, ValueKind};
use streamfmt_core::names::Names;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use super::{Qwen, complete, tools};

/// The beginning of the text about a background task that has ended.
pub(super) const NOTIFICATION: &str = "<task-notification>";

/// The event of a request that failed.
const API_ERROR: &str = "qwen-code.api_error";

/// Reports that repeat what other lines have, or describe the program alone.
static COUNTED: Names = Names::of("attribution_snapshot ui_telemetry");

impl Qwen {
    /// Decodes a line.
    pub(super) fn session_line(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let value = input.value;
        let [kind, session, at, id] = value.get_all(["type", "sessionId", "timestamp", "uuid"]);
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), self.session.clone(), out);
        builder.at = at.map(Value::node);
        self.begin(session, &mut builder);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        if kind == "system" {
            let subtype = value.get("subtype").and_then(Value::decode).unwrap_or_default();
            return match COUNTED.find(&subtype) {
                Some(_) if request_failed(value, &mut builder).is_some() => {}
                Some(known) => builder.bookkeeping(known),
                None => builder.report(["system/", &subtype].concat(), value),
            };
        }
        if !matches!(&*kind, "user" | "assistant" | "tool_result") {
            return builder.unknown(kind.into_owned(), value);
        }
        let id = builder.id_of(id);
        self.count(&id, &mut builder);
        let parts = value.get("message").and_then(|message| message.get("parts"));
        let before = builder.out.len();
        for (place, part) in parts.into_iter().flat_map(Value::items).enumerate() {
            let [text, thought, call, answer] =
                part.get_all(["text", "thought", "functionCall", "functionResponse"]);
            let id = if place == 0 { id.clone() } else { Id::below(id.as_str(), &place.to_string()) };
            match (&*kind, text.filter(|text| text.str().is_some()), call, answer) {
                ("user", Some(text), ..) => said(text, id, &mut builder),
                (_, Some(text), ..) if text.str().is_some_and(Str::is_blank) => {}
                (_, Some(text), ..) => {
                    let is_thought = thought.and_then(Value::bool) == Some(true);
                    let mut item = builder.item(id, if is_thought { Kind::Thinking } else { Kind::Reply });
                    item.text = string(Some(text));
                    if is_thought { builder.put_thought(item) } else { builder.put(item) }
                }
                (_, _, Some(call), _) => self.call(call, &mut builder),
                (_, _, _, Some(answer)) => self.answer(answer, part, &mut builder),
                _ => builder.unknown(format!("{kind}/part"), part),
            }
        }
        if builder.out.len() == before {
            builder.bookkeeping("empty message");
        }
    }

    /// Emits the facts of the session with its first line.
    fn begin(&mut self, id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let id = id.and_then(Value::decode).unwrap_or_default();
        if self.session.as_deref() == Some(&*id) || builder.parent.is_some() {
            return;
        }
        self.session = Some(SessionId::from(&*id));
        builder.session.clone_from(&self.session);
        let value = builder.input.value;
        let text = |key: &str| value.get(key).and_then(Value::str).map(Text::from_json);
        builder.facts(Facts {
            agent: Some(Text::own("qwen")),
            session: Some(Text::clean(&id)),
            cwd: text("cwd"),
            version: text("version"),
            ..Facts::default()
        });
        let mut notice = builder.item(format!("line-{}/session", builder.input.line), Kind::Notice);
        notice.data.push(("event", Fact::Text("session".to_owned())));
        notice.data.extend(nodes(["cwd", "version"].map(|name| (name, value.get(name)))));
        builder.put(notice);
    }

    /// Emits the model and the tokens of an answer.
    fn count(&mut self, id: &Id, builder: &mut ItemBuilder<'_>) {
        let [model, usage] = builder.input.value.get_all(["model", "usageMetadata"]);
        if let Some(model) = model.and_then(Value::decode).filter(|it| self.model.as_deref() != Some(&**it)) {
            builder.facts(Facts { model: Some(Text::clean(&model)), ..Facts::default() });
            self.model = Some((&*model).into());
        }
        let Some(usage) = usage else { return };
        let [input, output, cached] = usage
            .get_all(["promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount"])
            .map(|it| it.and_then(Value::int).and_then(|it| u64::try_from(it).ok()).unwrap_or(0));
        let usage = Usage { input: input.saturating_sub(cached), output, cache_read: cached, cache_write: 0 };
        builder.emit_usage(id.clone(), usage);
    }

    /// Emits a call, and the to-do list in it.
    fn call(&mut self, call: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, name, input] = call.get_all(["id", "name", "args"]);
        let name = name.and_then(Value::decode).unwrap_or_default();
        let id = builder.id_of(id);
        let mut item = builder.item(id, Kind::Call);
        tools::of(&name).apply_to(&mut item);
        add_server(&mut item, mcp(&name));
        item.tool = Some((&*name).into());
        item.input = input.map(Value::node);
        self.calls.add(&item);
        let list =
            input.filter(|_| item.tool_kind == Some(ToolKind::Todos)).and_then(|input| input.get("todos"));
        let plan = Id::below(item.id.as_str(), "plan");
        builder.put(item);
        if let Some(list) = list.filter(|list| list.kind() == ValueKind::Array) {
            let mut plan = builder.item(plan, Kind::Plan);
            plan.data.push(fact("todos", list.node()));
            builder.put(plan);
        }
    }

    /// Emits a result. `part`: the part of the message with what the model got.
    fn answer(&mut self, answer: Value<'_>, part: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let call = builder.id_of(answer.get("id"));
        let mut result = self.calls.result_of(&call, builder);
        self.calls.mark_answered(&call);
        let report = builder.input.value.get("toolCallResult");
        let [status, display] = report.map_or([None; 2], |it| it.get_all(["status", "resultDisplay"]));
        if status.and_then(Value::str).is_some_and(|status| !status.is("success")) {
            fail(&mut result);
        }
        let tool_kind = result.tool_kind;
        gemini::add_parts(&mut result, [part].into_iter());
        let display = display.filter(|display| display.kind() == ValueKind::Object);
        // The screen shows the output of a command as the stream has it.
        let shown = display
            .filter(|_| tool_kind == Some(ToolKind::Run))
            .and_then(|display| filled(display.get("text")));
        if shown.is_some() {
            result.text = string(shown);
        }
        complete(&mut result);
        if let Some(display) = display {
            gemini::add_display(&mut result, display);
        }
        gemini::mark_success_if_silent(&mut result);
        builder.put(result);
    }
}

/// Emits what a report has of a request of the main agent that failed, and may have been repeated: no other line has it. `None` if it reports
/// something else.
fn request_failed(value: Value<'_>, builder: &mut ItemBuilder<'_>) -> Option<()> {
    let event = value.get("systemPayload")?.get("uiEvent")?;
    let [name, message, status, agent] =
        event.get_all(["event.name", "error_message", "status_code", "subagent_name"]);
    let is_failure = name?.str()?.is(API_ERROR) && agent.is_none();
    let message = filled(message).filter(|_| is_failure)?;
    let mut notice = builder.notice("error", string(Some(message)));
    notice.data.extend(nodes([("status", status)]));
    builder.put(leveled(notice, "warning"));
    Some(())
}

/// Emits a text in the user's role: a person's, or the program's.
fn said(text: Value<'_>, id: Id, builder: &mut ItemBuilder<'_>) {
    let value = builder.input.value;
    let author = value.get("provenance").and_then(Value::decode);
    if author.as_deref().is_none_or(|author| author == "real_user") {
        let mut prompt = builder.item(id, Kind::Prompt);
        prompt.text = string(Some(text));
        return builder.put(prompt);
    }
    let whole = text.decode().unwrap_or_default();
    if !whole.starts_with(NOTIFICATION) {
        return builder.put_minor("synthetic", string(Some(text)), |_| {});
    }
    let inside = |tag: &str| {
        let (_, rest) = whole.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.trim().to_owned())
    };
    let status = inside("status");
    let is_done = status.as_deref() == Some("completed");
    let words: Vec<_> = ["summary", "result"].into_iter().filter_map(inside).collect();
    let facts = [("task", inside("task-id")), ("call", inside("tool-use-id")), ("status", status)];
    let mut notice = builder.notice("task", string(Some(text)));
    notice.data.extend(facts.into_iter().filter_map(|(name, text)| Some((name, Fact::Text(text?)))));
    notice.data.push(("words", Fact::Text(words.join("\n"))));
    builder.put(if is_done { notice } else { leveled(notice, "warning") });
}
