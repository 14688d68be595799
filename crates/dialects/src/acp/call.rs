//! Calls: what the updates of a call have said so far, and its item.

use super::{Acp, ItemBuilder, MAX_OPEN, tools, wrapped};
use crate::facts::filled;
use crate::tool::{self, add_server};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Does, Fact, Id, Item, Kind, ToolKind};
use streamfmt_core::json::{Record, Value, ValueKind};

/// A call without a result. Each update has only the fields that changed.
pub(super) struct UnfinishedCall {
    pub(super) id: Id,
    name: Option<String>,
    kind: String,
    /// The last title, with the record that it is in.
    title: Option<(Record, u32)>,
    /// The whole update, if there is neither a title nor an input.
    update: Option<(Record, u32)>,
    /// The last input that isn't empty.
    input: Option<(Record, u32)>,
    paths: Vec<String>,
    /// The changes of files that are known.
    changes: Vec<DiffPart>,
    /// The text that came before the call ran, such as a description.
    text: String,
    /// Whether the complete item was emitted.
    is_complete: bool,
    /// How the user stopped the call, if so.
    pub(super) stopped: Option<&'static str>,
}

/// A file before and after a change. The texts may be parts of the file.
#[derive(Clone, PartialEq)]
pub(super) struct DiffPart {
    path: String,
    old: Option<String>,
    new: String,
}

impl DiffPart {
    /// Returns the changes in the content of a call.
    pub(super) fn all(content: Option<Value<'_>>) -> Vec<Self> {
        let one = |part: Value<'_>| {
            let [kind, path, old, new] = part.get_all(["type", "path", "oldText", "newText"]);
            kind?.str().filter(|kind| kind.is("diff"))?;
            let text = |value: Option<Value<'_>>| Some(value?.decode()?.into_owned());
            Some(Self { path: text(path)?, old: text(old).filter(|old| !old.is_empty()), new: text(new)? })
        };
        content.into_iter().flat_map(Value::items).filter_map(one).collect()
    }

    /// Returns the change as a fact.
    pub(super) fn fact(&self) -> Fact {
        let text = |text: &str| Fact::Text(text.to_owned());
        let mut facts = vec![("path", text(&self.path))];
        match &self.old {
            Some(old) => {
                facts.extend([("kind", text("update")), ("old", text(old)), ("new", text(&self.new))]);
            }
            None => facts.extend([("kind", text("add")), ("content", text(&self.new))]),
        }
        Fact::Map(facts)
    }
}

impl UnfinishedCall {
    fn new(id: Id) -> Self {
        Self {
            id,
            name: None,
            kind: String::new(),
            title: None,
            update: None,
            input: None,
            paths: Vec::new(),
            changes: Vec::new(),
            text: String::new(),
            is_complete: false,
            stopped: None,
        }
    }

    /// Adds the fields that an update has.
    fn update(&mut self, update: Value<'_>, is_running: bool, builder: &ItemBuilder<'_>) {
        let [kind, title, input, locations, content, name, tool, meta] = update.get_all([
            "kind",
            "title",
            "rawInput",
            "locations",
            "content",
            "name",
            "toolName",
            "_meta",
        ]);
        let kept = |value: Value<'_>| (builder.input.record.detached(), value.node());
        let text = |value: Option<Value<'_>>| filled(value)?.decode().map(std::borrow::Cow::into_owned);
        let of_adapter = meta.and_then(|meta| meta.get("claudeCode")?.get("toolName"));
        let title_text = text(title);
        self.name = text(name)
            .or_else(|| text(tool))
            .or_else(|| text(of_adapter))
            .or_else(|| self.name.take())
            .or_else(|| name_in_id(self.id.as_str()).map(str::to_owned))
            .or_else(|| title_text.as_deref().filter(|title| is_name(title)).map(str::to_owned));
        self.kind = text(kind).unwrap_or_else(|| std::mem::take(&mut self.kind));
        // A title of the complete call may describe its result.
        if let Some(title) = filled(title).filter(|_| !self.is_complete) {
            self.title = Some(kept(title));
        }
        let is_filled = |input: &Value<'_>| match input.kind() {
            ValueKind::Null => false,
            ValueKind::Object => input.entries().next().is_some(),
            ValueKind::Array => input.items().next().is_some(),
            _ => true,
        };
        if let Some(input) = input.filter(is_filled) {
            self.input = Some(kept(input));
        }
        if self.title.is_none() && self.input.is_none() {
            self.update = Some(kept(update));
        }
        let paths = locations.into_iter().flat_map(Value::items).filter_map(|it| text(it.get("path")));
        let paths: Vec<String> = paths.collect();
        if !paths.is_empty() {
            self.paths = paths;
        }
        let changes = DiffPart::all(content);
        if !changes.is_empty() && !self.is_complete {
            self.changes = changes;
        }
        if !is_running {
            let texts = content
                .into_iter()
                .flat_map(Value::items)
                .filter_map(|part| part.get("content")?.get("text")?.decode());
            let texts: Vec<_> = texts.collect();
            self.text = if texts.is_empty() { std::mem::take(&mut self.text) } else { texts.join("\n") };
        }
    }

    /// What the arguments are made of, if there is no input.
    fn source(&self) -> Option<&(Record, u32)> {
        self.title.as_ref().or(self.update.as_ref())
    }

    /// Whether a result repeats the changes of the call.
    pub(super) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether the input is likely to be complete once the call runs.
    fn has_input(&self, update: Value<'_>) -> bool {
        self.input.is_some() || update.get("rawInput").is_none()
    }

    /// Returns the item of the call, as far as it is known.
    pub(super) fn item(&self, builder: &ItemBuilder<'_>) -> Item {
        let mut call = builder.item(self.id.clone(), Kind::Call);
        let title = self.title.as_ref().and_then(|(record, node)| record.value(*node).decode());
        let title = title.as_deref().map(bare).unwrap_or_default();
        let kind = if self.kind.is_empty() { "other" } else { &self.kind };
        let name = self.name.as_deref().unwrap_or(kind);
        call.tool = Some(name.into());
        let server = tool::mcp(name).or_else(|| wrapped::server_and_tool(title));
        add_server(&mut call, server);
        // The input may be a text of JSON.
        let described = Record::from_line(self.text.clone()).ok();
        let described = described.filter(|record| record.root().kind() == ValueKind::Object);
        let described = described.map(|record| {
            let node = record.root().node();
            (record, node)
        });
        let input = self.input.clone().or(described);
        if let Some((record, node)) = input.clone() {
            (call.record, call.input) = (Some(record), Some(node));
        }
        if server.is_some() {
            (call.tool_kind, call.does) = (Some(ToolKind::Mcp), Some(Does::Input(&[])));
        } else if let Some((tool_kind, parts)) =
            input.as_ref().and_then(|(record, node)| tools::of(kind, name, record.value(*node)))
        {
            (call.tool_kind, call.does) = (Some(tool_kind), Some(Does::Input(parts)));
        } else {
            self.describe(kind, title, &mut call);
        }
        if call.input.is_none() {
            let is_made = matches!(call.does, Some(Does::Facts { .. }));
            if let Some((record, node)) = self.source().filter(|_| is_made || self.title.is_some()) {
                (call.record, call.input) = (Some(record.clone()), Some(*node));
            } else if !self.text.is_empty() {
                call.text = Content::Own(self.text.clone());
            }
        }
        call
    }

    /// Sets the kind of a call, and its arguments as far as the title, the locations and the changes have them.
    fn describe(&self, kind: &str, title: &str, call: &mut Item) {
        let text = |text: &str| Fact::Text(text.to_owned());
        let mut facts = Vec::new();
        let mut tool_kind = tools::deed_of(kind);
        match tool_kind {
            ToolKind::Run => {
                facts.push(("command", text(title)));
                if let Some((cwd, purpose)) = wrapped::folder_and_purpose(&self.text) {
                    facts.extend([("cwd", text(cwd)), ("description", text(purpose))]);
                }
            }
            ToolKind::Grep => facts.extend([("by", text("content")), ("pattern", text(title))]),
            ToolKind::Fetch => {
                facts.push((if title.contains("://") { "url" } else { "query" }, text(title)));
            }
            ToolKind::Read => facts.extend(self.paths.first().map(|path| ("path", text(path)))),
            ToolKind::Edit => match &self.changes[..] {
                [DiffPart { path, old: None, new }] => {
                    tool_kind = ToolKind::Write;
                    facts.extend([("path", text(path)), ("content", text(new))]);
                }
                [] if kind == "edit" => facts.extend(self.paths.first().map(|path| ("path", text(path)))),
                [] => {
                    let paths =
                        self.paths.iter().map(|path| vec![("path", text(path)), ("kind", text(kind))]);
                    facts.push(("changes", Fact::List(paths.map(Fact::Map).collect())));
                }
                changes => {
                    facts.push(("changes", Fact::List(changes.iter().map(DiffPart::fact).collect())));
                }
            },
            _ => {}
        }
        call.tool_kind = Some(tool_kind);
        let of = call.input.or_else(|| Some(self.source()?.1));
        call.does = match of {
            Some(of) if !facts.is_empty() => Some(Does::Facts { facts: facts.into(), of }),
            _ => Some(Does::Input(&[])),
        };
    }
}

/// Returns a title without the backticks of Markdown around it.
fn bare(title: &str) -> &str {
    title.strip_prefix('`').and_then(|title| title.strip_suffix('`')).unwrap_or(title)
}

/// Whether a title looks like the name of a tool.
fn is_name(title: &str) -> bool {
    title.len() <= 64 && title.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Returns the name of the tool in an id of Gemini: `read_file__read_file_1795295959788_0`.
fn name_in_id(id: &str) -> Option<&str> {
    let (name, rest) = id.split_once("__")?;
    let is_numbers = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    rest.strip_prefix(name).is_some_and(is_numbers).then_some(name)
}

impl Acp {
    /// Handles a call or an update of one.
    pub(super) fn tool_call(&mut self, update: Value<'_>, is_update: bool, builder: &mut ItemBuilder<'_>) {
        self.finish_message(builder.out);
        let Some(id) = filled(update.get("toolCallId")).and_then(Value::decode).map(|id| Id::from(&*id))
        else {
            return builder.unknown("tool_call".into(), update);
        };
        let status = update.get("status").and_then(Value::decode).unwrap_or_default();
        let is_over = matches!(&*status, "completed" | "failed" | "cancelled");
        let at = match self.open.iter().position(|open| open.id == id) {
            Some(at) => at,
            None if self.calls.get(&id).is_some() && !is_over => {
                return builder.bookkeeping("tool_call_update");
            }
            None => {
                if self.open.len() >= MAX_OPEN {
                    let oldest = self.open.remove(0);
                    self.complete(oldest, builder);
                }
                let is_known = self.calls.get(&id).is_some();
                self.open.push(UnfinishedCall { is_complete: is_known, ..UnfinishedCall::new(id) });
                self.open.len() - 1
            }
        };
        let mut call = self.open.remove(at);
        call.update(update, is_update, builder);
        let runs = status == "in_progress" && call.has_input(update);
        if is_over {
            let call = self.complete(call, builder);
            return self.result(&call, update, &status, builder);
        }
        if call.is_complete || runs {
            call = self.complete(call, builder);
            self.output_so_far(&call, update, is_update, builder);
        } else {
            builder.emit(Event::Amend(Box::new(call.item(builder))));
        }
        builder.bookkeeping("tool_call_update");
        self.open.insert(at, call);
    }

    /// Emits the complete item of a call, once.
    pub(super) fn complete(
        &mut self,
        mut call: UnfinishedCall,
        builder: &mut ItemBuilder<'_>,
    ) -> UnfinishedCall {
        if !std::mem::replace(&mut call.is_complete, true) {
            let item = call.item(builder);
            self.calls.add(&item);
            builder.put(item);
        }
        call
    }
}
