//! The tools of Copilot, by their exact names.

use std::sync::LazyLock;

use crate::patch;
use crate::tool::{self, key, row, row_of};
use streamfmt_core::dialect::Tool;
use streamfmt_core::item::{Deed, Fact, FactRef, NamedPart};
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

const RUN: &[NamedPart] = &[
    key("command", "command"),
    key("description", "description"),
    NamedPart::found("mode", "background", in_background),
    key("cwd", "cwd"),
];

const JOB: &[NamedPart] = &[key("shellId", "job"), key("input", "stdin")];

const VIEW: &[NamedPart] = &[
    key("path", "path"),
    NamedPart::here(
        "range",
        &[
            NamedPart::made("view_range", "start", first),
            NamedPart::found("view_range", "end", |_, range| last(range).map(|_| FactRef::Of(last, range))),
        ],
    ),
];

const CREATE: &[NamedPart] = &[key("path", "path"), key("file_text", "content")];

const EDIT: &[NamedPart] = &[
    key("path", "path"),
    NamedPart::sole(
        "changes",
        &[key("old_str", "old"), key("new_str", "new"), key("replace_all", "everywhere")],
    ),
];

const FIND: &[NamedPart] = &[NamedPart::word("by", "name"), key("pattern", "pattern"), key("path", "path")];

const TASK: &[NamedPart] = &[
    key("agent_type", "agent"),
    key("description", "description"),
    key("name", "description"),
    NamedPart::found("mode", "background", in_background),
    key("prompt", "prompt"),
];

const SKILL: &[NamedPart] = &[key("skill", "skill"), key("args", "args")];

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
    row(PATCH, Deed::Edit),
    row("ask_user", Deed::Ask),
    row_of("bash", Deed::Run, RUN),
    row_of("create", Deed::Write, CREATE),
    row_of("edit", Deed::Edit, EDIT),
    row("fetch_copilot_cli_documentation", Deed::Other),
    row_of("glob", Deed::Find, FIND),
    row("grep", Deed::Grep),
    row("list_agents", Deed::Other),
    row("list_bash", Deed::Other),
    row("list_powershell", Deed::Other),
    row_of("local_shell", Deed::Run, RUN),
    row_of("powershell", Deed::Run, RUN),
    row("read_agent", Deed::Other),
    row_of("read_bash", Deed::Job, JOB),
    row_of("read_powershell", Deed::Job, JOB),
    row("report_intent", Deed::Other),
    row("rg", Deed::Grep),
    row("session_store_sql", Deed::Other),
    row_of("skill", Deed::Skill, SKILL),
    row("sql", Deed::Other),
    row_of("stop_bash", Deed::EndJob, JOB),
    row_of("stop_powershell", Deed::EndJob, JOB),
    row("store_memory", Deed::Other),
    row_of("str_replace", Deed::Edit, EDIT),
    row_of("task", Deed::Delegate, TASK),
    row("task_complete", Deed::Other),
    row("update_todo", Deed::Todos),
    row_of("view", Deed::Read, VIEW),
    row("web_fetch", Deed::Fetch),
    row_of("write_bash", Deed::Job, JOB),
    row("write_agent", Deed::Message),
];
