//! The tools of Copilot, by their exact names.

use std::sync::LazyLock;

use crate::patch;
use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Fact, FactRef, FactSpec, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::name_table::NameTable;

/// Changes files by a patch.
pub(super) const PATCH: &str = "apply_patch";

/// Returns the tool of this name, if Copilot has it.
pub(crate) fn find(name: &str) -> Option<Tool> {
    NAMES.get(name.as_bytes())
}

/// Returns the tool of this name, whether known or not.
pub(super) fn of(name: &str) -> Tool {
    find(name).unwrap_or_else(|| tool::unknown(name))
}

static NAMES: LazyLock<NameTable<Tool>> = NameTable::lazy(|| NameTable::new(&TOOLS));

const RUN: &[FactSpec] = &[
    key("command", "command"),
    key("description", "description"),
    FactSpec::found("mode", "background", in_background),
    key("cwd", "cwd"),
];

const JOB: &[FactSpec] = &[key("shellId", "job"), key("input", "stdin")];

const VIEW: &[FactSpec] = &[
    key("path", "path"),
    FactSpec::here(
        "range",
        &[
            FactSpec::made("view_range", "start", first),
            FactSpec::found("view_range", "end", |_, range| last(range).map(|_| FactRef::Of(last, range))),
        ],
    ),
];

const CREATE: &[FactSpec] = &[key("path", "path"), key("file_text", "content")];

const EDIT: &[FactSpec] = &[
    key("path", "path"),
    FactSpec::sole(
        "changes",
        &[key("old_str", "old"), key("new_str", "new"), key("replace_all", "everywhere")],
    ),
];

const FIND: &[FactSpec] = &[FactSpec::word("by", "name"), key("pattern", "pattern"), key("path", "path")];

const TASK: &[FactSpec] = &[
    key("agent_type", "agent"),
    key("description", "description"),
    key("name", "description"),
    FactSpec::found("mode", "background", in_background),
    key("prompt", "prompt"),
];

const SKILL: &[FactSpec] = &[key("skill", "skill"), key("args", "args")];

/// Returns that the agent goes on without waiting for the call, if its mode isn't `sync`.
fn in_background<'a>(_: Value<'a>, mode: Value<'a>) -> Option<FactRef<'a>> {
    is_background(mode).map(|_| FactRef::Of(is_background, mode))
}

fn is_background(mode: Value<'_>) -> Option<Fact> {
    mode.decode().filter(|mode| matches!(&**mode, "async" | "background")).map(|_| Fact::Bool(true))
}

/// Returns the first line that is read.
fn first(range: Value<'_>) -> Option<Fact> {
    range.items().next()?.int().map(Fact::Int)
}

/// Returns the last line that is read; -1 is the end of the file.
fn last(range: Value<'_>) -> Option<Fact> {
    range.items().nth(1)?.int().filter(|end| *end > 0).map(Fact::Int)
}

/// Returns the arguments of a call that aren't fields of its input: a to-do list in Markdown, a question with a list of answers, or a
/// patch.
pub(super) fn made(name: &str, input: Value<'_>) -> Option<Vec<(&'static str, Fact)>> {
    let text = |text: &str| Fact::Text(text.trim().to_owned());
    match name {
        PATCH => {
            let patch = input
                .decode()
                .or_else(|| input.get_all(["input", "patch"]).into_iter().flatten().next()?.decode())?;
            Some(vec![("changes", patch::changes_of(&patch)?)])
        }
        "update_todo" => {
            let list = input.get("todos")?.decode()?;
            let points = list.lines().filter_map(|line| {
                let rest = line.trim_start().strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
                let (mark, content) = rest.split_once(']')?;
                let status = match mark.trim() {
                    "" => "pending",
                    "x" | "X" => "completed",
                    _ => "in_progress",
                };
                Some(Fact::Map(vec![("content", text(content)), ("status", text(status))]))
            });
            Some(vec![("todos", Fact::List(points.collect()))])
        }
        "ask_user" => {
            let [question, choices] = input.get_all(["question", "choices"]);
            let choices = choices.into_iter().flat_map(Value::items);
            let options =
                choices.filter_map(|choice| Some(Fact::Map(vec![("label", text(&choice.decode()?))])));
            let options = Fact::List(options.collect());
            let question = Fact::Map(vec![("question", text(&question?.decode()?)), ("options", options)]);
            Some(vec![("questions", Fact::List(vec![question]))])
        }
        _ => None,
    }
}

/// The known tools. A stream may contain others.
pub(crate) static TOOLS: [(&str, Tool); 32] = [
    row(PATCH, ToolKind::Edit),
    row("ask_user", ToolKind::Ask),
    row_of("bash", ToolKind::Run, RUN),
    row_of("create", ToolKind::Write, CREATE),
    row_of("edit", ToolKind::Edit, EDIT),
    row("fetch_copilot_cli_documentation", ToolKind::Other),
    row_of("glob", ToolKind::Find, FIND),
    row("grep", ToolKind::Grep),
    row("list_agents", ToolKind::Other),
    row("list_bash", ToolKind::Other),
    row("list_powershell", ToolKind::Other),
    row_of("local_shell", ToolKind::Run, RUN),
    row_of("powershell", ToolKind::Run, RUN),
    row("read_agent", ToolKind::Other),
    row_of("read_bash", ToolKind::Job, JOB),
    row_of("read_powershell", ToolKind::Job, JOB),
    row("report_intent", ToolKind::Other),
    row("rg", ToolKind::Grep),
    row("session_store_sql", ToolKind::Other),
    row_of("skill", ToolKind::Skill, SKILL),
    row("sql", ToolKind::Other),
    row_of("stop_bash", ToolKind::EndJob, JOB),
    row_of("stop_powershell", ToolKind::EndJob, JOB),
    row("store_memory", ToolKind::Other),
    row_of("str_replace", ToolKind::Edit, EDIT),
    row_of("task", ToolKind::Delegate, TASK),
    row("task_complete", ToolKind::Other),
    row("update_todo", ToolKind::Todos),
    row_of("view", ToolKind::Read, VIEW),
    row("web_fetch", ToolKind::Fetch),
    row_of("write_bash", ToolKind::Job, JOB),
    row("write_agent", ToolKind::Message),
];
