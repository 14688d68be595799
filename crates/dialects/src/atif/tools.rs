//! Tools that only occur in trajectories: those of agents without a dialect, and those that converters name in their own way. All others
//! are the tools of the agent's dialect.

use std::sync::LazyLock;

use crate::tool::{FILE, key, row, row_of};
use streamfmt_core::dialect::{Dialect, Tool};
use streamfmt_core::item::{Deed, Item, NamedPart};
use streamfmt_core::name_table::NameTable;

/// Returns the tool of this name, if only trajectories have it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const CHANGE: &[NamedPart] = &[
    FILE[0],
    FILE[1],
    NamedPart::sole(
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

const KEYS: &[NamedPart] = &[key("command", "command"), key("keystrokes", "command")];

const FIND: &[NamedPart] =
    &[NamedPart::word("by", "name"), key("globPattern", "pattern"), key("targetDirectory", "path")];

/// The known tools. A trajectory may contain others.
pub(crate) static TOOLS: [(&str, Tool); 10] = [
    row_of("bash_command", Deed::Run, KEYS),
    row_of("editToolCall", Deed::Edit, CHANGE),
    row("execute_bash", Deed::Run),
    row_of("globToolCall", Deed::Find, FIND),
    row("grepToolCall", Deed::Grep),
    row_of("lsToolCall", Deed::List, FILE),
    row("readToolCall", Deed::Read),
    row("shellToolCall", Deed::Run),
    row_of("str_replace_editor", Deed::Edit, CHANGE),
    row_of("str_replace_based_edit_tool", Deed::Edit, CHANGE),
];

/// Sets the tool of a call, as one of this agent if possible.
pub(super) fn set(call: &mut Item, name: &str, agent: Option<&Dialect>) {
    let of_agent = agent.and_then(|agent| (agent.tool)(name));
    crate::set_tool(call, name);
    if let Some(tool) = of_agent.or_else(|| find(name).filter(|_| call.deed == Some(Deed::Other))) {
        tool.apply_to(call);
    }
}
