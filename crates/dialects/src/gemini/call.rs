//! Calls.

use crate::tool::add_server;
use streamfmt_core::item::{Id, Item, Kind, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use super::{ItemBuilder, tools};

/// Returns a call of this tool.
pub(super) fn of(name: &str, id: Id, input: Option<Value<'_>>, builder: &ItemBuilder<'_>) -> Item {
    let mut call = builder.item(id, Kind::Call);
    tools::of(name).apply_to(&mut call);
    if call.tool_kind == Some(ToolKind::Mcp) {
        add_server(&mut call, name.strip_prefix(tools::MCP).and_then(|names| names.split_once('_')));
    }
    call.tool = Some(name.into());
    call.input = input.filter(|input| !input.is_null()).map(Value::node);
    call
}

/// Returns the to-do list in a call, as a separate item.
pub(super) fn plan_of(call: &Item, input: Option<Value<'_>>, builder: &ItemBuilder<'_>) -> Option<Item> {
    let list = input.filter(|_| call.tool_kind == Some(ToolKind::Todos))?.get("todos")?;
    (list.kind() == ValueKind::Array).then(|| {
        let mut plan = builder.item(Id::below(call.id.as_str(), "plan"), Kind::Plan);
        plan.data.push(tools::todos(list));
        plan
    })
}
