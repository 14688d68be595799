//! Calls. In a stream, the name of the tool is a key.

use std::borrow::Cow;

use crate::tool::add_server;
use streamfmt_core::item::{Content, Id, Item, Kind, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use super::{CursorAgent, ItemBuilder, tools};

/// The end of the keys that name tools.
const KEY: &str = "ToolCall";

/// The tool of a line, its arguments and its result.
pub(super) struct CalledTool<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Option<Value<'a>>,
    pub(super) result: Option<Value<'a>>,
}

impl<'a> CalledTool<'a> {
    /// Finds the tool in a line: `{"readToolCall":{"args":…}}`, in a rare form `{"function":{"name":…,"arguments":…}}`.
    pub(super) fn of(line: Value<'a>) -> Option<Self> {
        line.get("tool_call")?.entries().find_map(|(key, inside)| {
            let key = key.decode();
            let [arguments, result] = match &*key {
                "function" => inside.get_all(["arguments", "result"]),
                _ => inside.get_all(["args", "result"]),
            };
            let name = match &*key {
                "function" => inside.get("name")?.decode()?,
                _ if inside.kind() != ValueKind::Object => return None,
                key => Cow::Owned(key.strip_suffix(KEY)?.to_owned()),
            };
            Some(Self { name, arguments: arguments.filter(|arguments| !arguments.is_null()), result })
        })
    }

    /// Returns the call.
    pub(super) fn call(&self, id: Id, builder: &ItemBuilder<'_>) -> Item {
        let mut call = builder.item(id, Kind::Call);
        call.input = self.arguments.map(Value::node);
        if self.name == tools::MCP
            && let Some(arguments) = self.arguments
        {
            let [name, input, tool, server, older] =
                arguments.get_all(["name", "args", "toolName", "serverIdentifier", "providerIdentifier"]);
            let [name, tool, server] =
                [name, tool, server.or(older)].map(|part| part.and_then(Value::decode).unwrap_or_default());
            name_tool(&mut call, tools::MCP);
            call.tool = Some((if name.is_empty() { &self.name } else { &name }).as_ref().into());
            add_server(&mut call, (!server.is_empty()).then_some((&server, &tool)));
            call.input = input.or(self.arguments).map(Value::node);
            return call;
        }
        name_tool(&mut call, &self.name);
        call
    }
}

/// Sets the tool of a call, and its kind.
pub(super) fn name_tool(call: &mut Item, name: &str) {
    tools::of(name).apply_to(call);
    call.tool = Some(name.into());
}

/// Returns the id of a call. Many contain a line feed, which would break the lines that name them.
pub(super) fn id_of(id: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) -> Id {
    match id.and_then(Value::decode) {
        Some(id) if id.contains('\n') => Id::from(id.replace('\n', "/")),
        _ => builder.id_of(id),
    }
}

impl CursorAgent {
    /// Decodes the beginning of a call.
    pub(super) fn started(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let Some(tool) = CalledTool::of(value) else {
            return builder.unknown("tool_call/started".to_owned(), value);
        };
        let id = id_of(value.get("call_id"), builder);
        if self.query.as_ref().is_some_and(|query| query.call == id) {
            return builder.bookkeeping("tool_call after its query");
        }
        self.put_call(&tool, id, builder);
        // The line for its end repeats all of it.
        builder.bookkeeping("tool_call.started");
    }

    /// Emits a call, and the to-do list in it.
    pub(super) fn put_call(&mut self, tool: &CalledTool<'_>, id: Id, builder: &mut ItemBuilder<'_>) {
        let call = tool.call(id, builder);
        self.calls.add(&call);
        // A list that is merged into the one before is only known with the result.
        let list = tool.arguments.filter(|arguments| !is_merged(*arguments)).and_then(|it| it.get("todos"));
        let plan = list.and_then(|list| plan_of(&call, list, builder));
        builder.put(call);
        if let Some(plan) = plan {
            builder.put(plan);
        }
    }
}

/// Whether the arguments of a call only change a to-do list.
pub(super) fn is_merged(arguments: Value<'_>) -> bool {
    arguments.get("merge").and_then(Value::bool) == Some(true)
}

/// Returns the to-do list of a call or its result, as a separate item.
pub(super) fn plan_of(of: &Item, list: Value<'_>, builder: &ItemBuilder<'_>) -> Option<Item> {
    let is_list = of.tool_kind == Some(ToolKind::Todos) && list.kind() == ValueKind::Array;
    is_list.then(|| {
        let call = of.call.as_ref().unwrap_or(&of.id);
        let mut plan = builder.item(Id::below(call.as_str(), "plan"), Kind::Plan);
        plan.text = Content::None;
        plan.data.push(tools::todos(list));
        plan
    })
}
