//! The tools of opencode, by their exact names. Those of MCP servers have names like any other.

use std::sync::LazyLock;

use crate::patch;
use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Does, FactSpec, Item, ToolKind};
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
    let patch =
        input.filter(|_| call.tool_kind == Some(ToolKind::Edit)).and_then(|input| input.get("patchText"));
    if let (Some(input), Some(patch)) = (input, patch)
        && let Some(changes) = patch.decode().and_then(|patch| patch::changes_of(&patch))
    {
        call.does = Some(Does::Facts { facts: [("changes", changes)].into(), of: input.node() });
    }
}

const FILE: FactSpec = key("filePath", "path");

const CHANGE: &[FactSpec] =
    &[key("oldString", "old"), key("newString", "new"), key("replaceAll", "everywhere")];

const RUN: &[FactSpec] = &[
    key("command", "command"),
    key("description", "description"),
    key("timeout", "timeout_ms"),
    key("workdir", "cwd"),
];

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 21] = [
    row("apply_patch", ToolKind::Edit),
    row_of("bash", ToolKind::Run, RUN),
    row_of("codesearch", ToolKind::Fetch, &[key("query", "query")]),
    row_of("edit", ToolKind::Edit, &[FILE, FactSpec::sole("changes", CHANGE)]),
    row_of(
        "glob",
        ToolKind::Find,
        &[FactSpec::word("by", "name"), key("pattern", "pattern"), key("path", "path")],
    ),
    row("grep", ToolKind::Grep),
    row(INVALID, ToolKind::Other),
    row_of("list", ToolKind::List, &[key("path", "path")]),
    row("lsp", ToolKind::Other),
    row_of("multiedit", ToolKind::Edit, &[FILE, FactSpec::within("edits", "changes", CHANGE)]),
    row("patch", ToolKind::Edit),
    row("plan_exit", ToolKind::PlanMode),
    row("question", ToolKind::Ask),
    row_of(
        "read",
        ToolKind::Read,
        &[FILE, FactSpec::here("range", &[key("offset", "start"), key("limit", "lines")])],
    ),
    row_of("skill", ToolKind::Skill, &[key("name", "skill")]),
    row("task", ToolKind::Delegate),
    row("todoread", ToolKind::Tasks),
    row("todowrite", ToolKind::Todos),
    row("webfetch", ToolKind::Fetch),
    row("websearch", ToolKind::Fetch),
    row_of("write", ToolKind::Write, &[FILE, key("content", "content")]),
];
