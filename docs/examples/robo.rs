//! The stream of `robo`, an invented agent: an object per line.

use streamfmt::dialect::{Decoder, Input};
use streamfmt::event::{Event, Facts, Usage};
use streamfmt::item::{Content, Does, Fact, FactSpec, Id, Item, Kind, Status, ToolKind};
use streamfmt::json::{Record, Value};
use streamfmt::text::Text;

/// What each tool does, and which parts of its input are called what for all agents.
const TOOLS: &[(&str, ToolKind, &[FactSpec])] = &[
    ("shell", ToolKind::Run, &[FactSpec::key("cmd", "command")]),
    (
        "patch",
        ToolKind::Edit,
        &[
            FactSpec::key("file", "path"),
            FactSpec::sole("changes", &[FactSpec::key("before", "old"), FactSpec::key("after", "new")]),
        ],
    ),
    (
        "open",
        ToolKind::Read,
        &[FactSpec::key("file", "path"), FactSpec::here("range", &[FactSpec::key("from", "start")])],
    ),
];

/// The decoder: its state between lines.
#[derive(Default)]
pub(crate) struct Robo {
    /// The reply that is being written.
    reply: Option<Id>,
    /// The last call: its id and its tool.
    call: Option<(Id, &'static str, ToolKind)>,
}

impl Decoder for Robo {
    fn weigh(&mut self, first: &[Record]) -> f64 {
        if first.first().is_some_and(|line| line.root().get("robo").is_some()) { 1.0 } else { 0.0 }
    }

    fn ends_with_outcome(&self) -> bool {
        true
    }

    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let value = input.value;
        let node = |name: &str| value.get(name).map(Value::node);
        let text = |name: &str| value.get(name).and_then(Value::str).map(Text::from_json);
        let id = |name: &str| value.get(name).and_then(Value::decode).map(|id| Id::from(&*id));
        // An item keeps its line: its texts and facts are places in it, decoded when they are shown.
        let item = |id: Id, kind: Kind| {
            let mut item = Item::new(id, kind, input.line);
            item.record = Some(input.record.clone());
            item.at = node("at");
            item
        };
        let line = || Id::from(format!("line-{}", input.line));
        if let Some(version) = text("robo") {
            let facts = Facts {
                agent: Some(Text::own("robo")),
                version: Some(version),
                session: text("session"),
                model: text("model"),
                cwd: text("cwd"),
                ..Facts::default()
            };
            let mut notice = item(line(), Kind::Notice);
            notice.session = facts.session.as_deref().map(Into::into);
            notice.data.push(("event", Fact::Text("session".to_owned())));
            let fields = [("model", "model"), ("cwd", "cwd"), ("version", "robo")];
            notice
                .data
                .extend(fields.into_iter().filter_map(|(name, key)| Some((name, Fact::Node(node(key)?)))));
            out.extend([Event::Facts(Box::new(facts)), Event::Put(Box::new(notice))]);
        } else if let Some(task) = node("task") {
            let mut prompt = item(line(), Kind::Prompt);
            prompt.text = Content::Node(task);
            out.push(Event::Put(Box::new(prompt)));
        } else if let Some(id) = id("say") {
            // A reply comes in pieces: the first one opens it.
            if self.reply.as_ref() != Some(&id) {
                self.reply = Some(id.clone());
                out.push(Event::Open(Box::new(item(id.clone(), Kind::Reply))));
            }
            let text = value.get("text").and_then(Value::decode).unwrap_or_default().into_owned();
            out.push(Event::Append { id, text });
        } else if let Some(id) = id("said") {
            out.push(Event::Close { id, status: Status::Done });
        } else if let Some(id) = id("do") {
            let name = value.get("op").and_then(Value::decode).unwrap_or_default();
            let mut call = item(id, Kind::Call);
            call.tool = Some((*name).into());
            call.input = node("args");
            let known = TOOLS.iter().find(|(tool, ..)| *tool == name);
            call.tool_kind = Some(known.map_or(ToolKind::Other, |(_, tool_kind, _)| *tool_kind));
            call.does = known.map(|(_, _, parts)| Does::Input(parts));
            self.call = known.map(|(tool, tool_kind, _)| (call.id.clone(), *tool, *tool_kind));
            out.push(Event::Put(Box::new(call)));
        } else if let Some(id) = id("did") {
            let mut result = item(Id::below(id.as_str(), "result"), Kind::Result);
            if let Some((_, tool, tool_kind)) = self.call.take().filter(|(call, ..)| *call == id) {
                (result.tool, result.tool_kind) = (Some(tool.into()), Some(tool_kind));
            }
            result.call = Some(id);
            result.text = node("out").map_or(Content::None, Content::Node);
            // Failure is what the stream says: a code other than 0.
            if value.get("code").and_then(Value::int).is_some_and(|code| code != 0) {
                (result.error, result.status) = (true, Status::Failed);
                result.data.extend(node("code").map(|code| ("exit", Fact::Node(code))));
            }
            out.push(Event::Put(Box::new(result)));
        } else if let Some(spent) = value.get("spent") {
            let count = |name: &str| spent.get(name).and_then(Value::int).unwrap_or(0).unsigned_abs();
            let usage = Usage { input: count("read"), output: count("written"), ..Usage::default() };
            out.push(Event::Usage { message: id("of").unwrap_or_else(line), usage, details: None });
        } else if let Some(end) = value.get("end").and_then(Value::str) {
            let mut outcome = item(line(), Kind::Outcome);
            if !end.is("ok") {
                (outcome.error, outcome.status) = (true, Status::Failed);
            }
            outcome.text = node("why").map_or(Content::None, Content::Node);
            let fields = [("duration_ms", "ms"), ("cost_usd", "usd")];
            outcome
                .data
                .extend(fields.into_iter().filter_map(|(name, key)| Some((name, Fact::Node(node(key)?)))));
            out.push(Event::Put(Box::new(outcome)));
        } else if value.get("heartbeat").is_some() {
            // Counted, not shown.
            out.push(Event::Bookkeeping("heartbeat".into()));
        } else {
            // Any other line is shown as it is, and counted as unknown.
            let mut unknown = item(line(), Kind::Unknown);
            unknown.text = Content::Own(value.raw().to_owned());
            unknown.data.push(("raw", Fact::Bool(true)));
            unknown.data.push(("type", Fact::Text("robo".to_owned())));
            out.extend([Event::Unknown("robo".to_owned()), Event::Put(Box::new(unknown))]);
        }
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}
