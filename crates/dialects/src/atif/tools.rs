//! Tools that only occur in trajectories: those of agents without a dialect, and those that converters name in their own way. All others
//! are the tools of the agent's dialect.

use std::sync::LazyLock;

use crate::tool::{FILE, key, row, row_of};
use streamfmt_core::dialect::{Dialect, Tool};
use streamfmt_core::item::{FactSpec, Item, ToolKind};
use streamfmt_core::name_table::NameTable;

/// Returns the tool of this name, if only trajectories have it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const CHANGE: &[FactSpec] = &[
    FILE[0],
    FILE[1],
    FactSpec::sole(
        "changes",
        &[
            key("old_str", "old"),
            key("oldText", "old"),
            key("new_str", "new"),
            key("newText", "new"),
            key("streamContent", "new"),
        ],
    ),
];

const KEYS: &[FactSpec] = &[key("command", "command"), key("keystrokes", "command")];

const FIND: &[FactSpec] =
    &[FactSpec::word("by", "name"), key("globPattern", "pattern"), key("targetDirectory", "path")];

/// The known tools. A trajectory may contain others.
pub(crate) static TOOLS: [(&str, Tool); 10] = [
    row_of("bash_command", ToolKind::Run, KEYS),
    row_of("editToolCall", ToolKind::Edit, CHANGE),
    row("execute_bash", ToolKind::Run),
    row_of("globToolCall", ToolKind::Find, FIND),
    row("grepToolCall", ToolKind::Grep),
    row_of("lsToolCall", ToolKind::List, FILE),
    row("readToolCall", ToolKind::Read),
    row("shellToolCall", ToolKind::Run),
    row_of("str_replace_editor", ToolKind::Edit, CHANGE),
    row_of("str_replace_based_edit_tool", ToolKind::Edit, CHANGE),
];

/// Sets the tool of a call, as one of this agent if possible.
pub(super) fn set(call: &mut Item, name: &str, agent: Option<&Dialect>) {
    let of_agent = agent.and_then(|agent| (agent.tool)(name));
    crate::set_tool(call, name);
    if let Some(tool) = of_agent.or_else(|| find(name).filter(|_| call.tool_kind == Some(ToolKind::Other))) {
        tool.apply_to(call);
    }
}
