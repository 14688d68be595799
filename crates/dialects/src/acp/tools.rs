//! What calls do, by the kinds of the protocol. The names of tools, and of the fields of their inputs, are the agents' own, so each part
//! has several.

use crate::tool::key;
use streamfmt_core::item::{FactSpec, ToolKind};
use streamfmt_core::json::Value;

const PATH: [FactSpec; 6] = [
    key("file_path", "path"),
    key("filePath", "path"),
    key("path", "path"),
    key("absolute_path", "path"),
    key("abs_path", "path"),
    key("dir_path", "path"),
];

const RUN: &[FactSpec] = &[
    key("command", "command"),
    key("cmd", "command"),
    key("description", "description"),
    key("run_in_background", "background"),
    key("cwd", "cwd"),
    key("workdir", "cwd"),
    key("directory", "cwd"),
    key("dir_path", "cwd"),
];

const READ: &[FactSpec] = &[
    PATH[0],
    PATH[1],
    PATH[2],
    PATH[3],
    PATH[4],
    PATH[5],
    FactSpec::here(
        "range",
        &[
            key("offset", "start"),
            key("line", "start"),
            key("start_line", "start"),
            key("limit", "lines"),
            key("end_line", "end"),
        ],
    ),
];

const WRITE: &[FactSpec] =
    &[PATH[0], PATH[1], PATH[2], PATH[3], PATH[4], key("content", "content"), key("file_text", "content")];

const CHANGE: &[FactSpec] = &[
    key("old_string", "old"),
    key("oldString", "old"),
    key("old_str", "old"),
    key("old_text", "old"),
    key("new_string", "new"),
    key("newString", "new"),
    key("new_str", "new"),
    key("new_text", "new"),
    key("replace_all", "everywhere"),
    key("replaceAll", "everywhere"),
];

const EDIT: &[FactSpec] = &[
    PATH[0],
    PATH[1],
    PATH[2],
    PATH[3],
    PATH[4],
    FactSpec::within("edits", "changes", CHANGE),
    FactSpec::sole("changes", CHANGE),
];

const GREP: &[FactSpec] = &[
    FactSpec::word("by", "content"),
    key("pattern", "pattern"),
    key("query", "pattern"),
    key("regex", "pattern"),
    PATH[2],
    PATH[5],
    key("glob", "glob"),
    key("include", "glob"),
];

const FIND: &[FactSpec] = &[FactSpec::word("by", "name"), key("pattern", "pattern"), PATH[2], PATH[5]];

const FETCH: &[FactSpec] = &[key("url", "url"), key("query", "query"), key("prompt", "prompt")];

const DELEGATE: &[FactSpec] = &[
    key("subagent_type", "agent"),
    key("agent_name", "agent"),
    key("agent", "agent"),
    key("description", "description"),
    key("run_in_background", "background"),
    key("prompt", "prompt"),
    key("task", "prompt"),
];

const TODOS: &[FactSpec] = &[FactSpec::within(
    "todos",
    "todos",
    &[key("content", "content"), key("description", "content"), key("status", "status"), key("id", "id")],
)];

/// Returns what a call of this kind does, and the parts of its input, if the input has those that such a call needs.
pub(super) fn of(kind: &str, name: &str, input: Value<'_>) -> Option<(ToolKind, &'static [FactSpec])> {
    let has_any = |parts: &[FactSpec], name: &str| {
        let keys = parts.iter().filter(|part| part.name == name).filter_map(FactSpec::key_of);
        keys.into_iter().any(|key| input.get(key).and_then(Value::str).is_some())
    };
    let finds = ["glob", "find", "list"].iter().any(|word| name.to_lowercase().contains(word));
    let (tool_kind, parts, needed) = match kind {
        "execute" => (ToolKind::Run, RUN, "command"),
        "read" => (ToolKind::Read, READ, "path"),
        "edit" if has_any(WRITE, "content") => (ToolKind::Write, WRITE, "path"),
        "edit" if has_any(CHANGE, "new") || input.get("edits").is_some() => (ToolKind::Edit, EDIT, "path"),
        "search" if finds && input.get("pattern").is_none() => (ToolKind::List, READ, "path"),
        "search" if finds => (ToolKind::Find, FIND, "pattern"),
        "search" => (ToolKind::Grep, GREP, "pattern"),
        "fetch" if input.get("url").is_some() => (ToolKind::Fetch, FETCH, "url"),
        "fetch" => (ToolKind::Fetch, FETCH, "query"),
        _ if input.get("todos").is_some_and(|todos| todos.items().next().is_some()) => {
            return Some((ToolKind::Plan, TODOS));
        }
        "think" => (ToolKind::Delegate, DELEGATE, "prompt"),
        _ => return None,
    };
    has_any(parts, needed).then_some((tool_kind, parts))
}

/// Returns what a call does whose input isn't known, by its kind.
pub(super) fn deed_of(kind: &str) -> ToolKind {
    match kind {
        "execute" => ToolKind::Run,
        "read" => ToolKind::Read,
        "edit" | "delete" | "move" => ToolKind::Edit,
        "search" => ToolKind::Grep,
        "fetch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}
