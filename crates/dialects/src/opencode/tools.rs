//! The tools of opencode, by their exact names. Those of MCP servers have names like any other.

use std::sync::LazyLock;

use crate::patch;
use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, Does, Item, NamedPart};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

/// Stands for a call of a tool that doesn't exist, or whose input isn't valid.
pub(super) const INVALID: &str = "invalid";

/// Returns the tool of this name, if opencode has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

/// Sets the tool of a call, with what it does.
pub(super) fn set(call: &mut Item, name: &str, input: Option<Value<'_>>) {
    // The input of an invalid call names the tool that the model tried.
    let tried = input.filter(|_| name == INVALID).and_then(|input| input.get("tool")?.decode());
    let known = if tried.is_some() { None } else { find(name) };
    known.unwrap_or_else(|| tool::unknown(name)).apply_to(call);
    call.tool = Some(tried.as_deref().unwrap_or(name).into());
    let patch = input.filter(|_| call.deed == Some(Deed::Edit)).and_then(|input| input.get("patchText"));
    if let (Some(input), Some(patch)) = (input, patch)
        && let Some(changes) = patch.decode().and_then(|patch| patch::changes_of(&patch))
    {
        call.does = Some(Does::Facts { facts: [("changes", changes)].into(), of: input.node() });
    }
}

const FILE: NamedPart = key("filePath", "path");

const CHANGE: &[NamedPart] =
    &[key("oldString", "old"), key("newString", "new"), key("replaceAll", "everywhere")];

const RUN: &[NamedPart] = &[
    key("command", "command"),
    key("description", "description"),
    key("timeout", "timeout_ms"),
    key("workdir", "cwd"),
];

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 21] = [
    row("apply_patch", Deed::Edit),
    row_of("bash", Deed::Run, RUN),
    row_of("codesearch", Deed::Fetch, &[key("query", "query")]),
    row_of("edit", Deed::Edit, &[FILE, NamedPart::sole("changes", CHANGE)]),
    row_of(
        "glob",
        Deed::Find,
        &[NamedPart::word("by", "name"), key("pattern", "pattern"), key("path", "path")],
    ),
    row("grep", Deed::Grep),
    row(INVALID, Deed::Other),
    row_of("list", Deed::List, &[key("path", "path")]),
    row("lsp", Deed::Other),
    row_of("multiedit", Deed::Edit, &[FILE, NamedPart::within("edits", "changes", CHANGE)]),
    row("patch", Deed::Edit),
    row("plan_exit", Deed::PlanMode),
    row("question", Deed::Ask),
    row_of(
        "read",
        Deed::Read,
        &[FILE, NamedPart::here("range", &[key("offset", "start"), key("limit", "lines")])],
    ),
    row_of("skill", Deed::Skill, &[key("name", "skill")]),
    row("task", Deed::Delegate),
    row("todoread", Deed::Tasks),
    row("todowrite", Deed::Todos),
    row("webfetch", Deed::Fetch),
    row("websearch", Deed::Fetch),
    row_of("write", Deed::Write, &[FILE, key("content", "content")]),
];
