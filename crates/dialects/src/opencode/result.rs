//! The results of calls, from the state of a part that is a call.

use streamfmt_core::item::{Content, Fact, FactRef, FactSpec, Id, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use crate::calls::Calls;
use crate::facts::{filled, nodes, push_list, string, strings};
use crate::item_builder::ItemBuilder;
use crate::tool::key;

pub(super) use crate::facts::fail;

use super::parts::file;
use super::{tools, wrapped};

/// Returns a result of a call, without content.
pub(super) fn of_call(call: &Id, calls: &Calls, builder: &ItemBuilder<'_>) -> Item {
    let mut result = calls.result_of(call, builder);
    result.words = Some(wrapped::words);
    result
}

/// Adds the content and the facts of a call that has ended to its result.
pub(super) fn fill(status: &str, tool: &str, state: Value<'_>, result: &mut Item) {
    let [output, error, metadata, attachments] =
        state.get_all(["output", "error", "metadata", "attachments"]);
    let data = metadata.filter(|data| data.kind() == ValueKind::Object);
    let files: Vec<Fact> = attachments.into_iter().flat_map(Value::items).map(file).collect();
    push_list(result, "images", files);
    if status == "error" {
        fail(result);
        result.text = string(filled(error).or(filled(output)));
        wrapped::add_refusal(result);
        let so_far = data.and_then(|data| filled(data.get("output")));
        return result.data.extend(nodes([("stdout", so_far)]));
    }
    if tool == tools::INVALID {
        fail(result);
    }
    result.text = string(filled(output));
    let Some(data) = data else { return };
    match result.tool_kind {
        Some(ToolKind::Run) => run(data, output, result),
        Some(ToolKind::Read) => {
            if let Some(display) = data.get("display").filter(|display| display.kind() == ValueKind::Object) {
                result.data.read(display, DISPLAY);
                // The output only adds numbers and tags.
                let [text, entries] = display.get_all(["text", "entries"]);
                let names = entries.into_iter().flat_map(Value::items).filter(|name| name.str().is_some());
                let content = match filled(text) {
                    Some(text) => string(Some(text)),
                    None => strings(names.map(Value::node).collect()),
                };
                if !matches!(content, Content::None) {
                    result.text = content;
                }
            }
        }
        Some(ToolKind::Write) => result.data.read(data, WRITTEN),
        Some(ToolKind::Edit) => edit(data, result),
        Some(ToolKind::Grep) => {
            result.data.read(data, MATCHES);
            let lines = output.map(|output| ("content", Fact::Made(wrapped::matching_lines, output.node())));
            result.data.extend(lines);
        }
        Some(ToolKind::Find | ToolKind::List) => result.data.read(data, FOUND),
        Some(ToolKind::Delegate) => {
            result.data.read(data, AGENT);
            if let Some(output) = output {
                result.data.push(("answer", Fact::Made(wrapped::answer, output.node())));
                result.data.push(("state", Fact::Made(wrapped::state, output.node())));
            }
        }
        _ => {}
    }
}

/// Adds the facts of a command: one that fails is completed, too.
fn run(data: Value<'_>, output: Option<Value<'_>>, result: &mut Item) {
    let [exit, path] = data.get_all(["exit", "outputPath"]);
    if let Some(exit) = exit.filter(|exit| exit.int().is_some_and(|code| code != 0)) {
        fail(result);
        result.data.push(("exit", Fact::Node(exit.node())));
    }
    result.data.extend(nodes([("persisted", filled(path))]));
    if let Some(output) = output {
        result.data.push(("note", Fact::Made(wrapped::note, output.node())));
    }
}

/// Adds the changes that were made, with their lines.
fn edit(data: Value<'_>, result: &mut Item) {
    let [one, many] = data.get_all(["filediff", "files"]);
    let many = many.filter(|files| files.items().next().is_some());
    let files = many.map(|files| Fact::Named(files.node(), PATCHED));
    let is_object = |file: &Value<'_>| file.kind() == ValueKind::Object;
    let changes = match one.filter(is_object) {
        Some(file) => {
            let [added, removed] = file.get_all(["additions", "deletions"]);
            result.data.extend(nodes([("added", added), ("removed", removed)]));
            let [name, patch] = file.get_all(["file", "patch"]);
            let diff =
                patch.or(data.get("diff")).map(|diff| ("diff", Fact::Made(wrapped::hunks, diff.node())));
            Some(Fact::List(vec![Fact::Map(nodes([("path", name)]).chain(diff).collect())]))
        }
        None => files,
    };
    result.data.extend(changes.map(|changes| ("changes", changes)));
}

/// The file that was read, as it is shown to a person.
const DISPLAY: &[FactSpec] = &[
    key("path", "path"),
    FactSpec::made("type", "type", |kind| kind.str()?.is("file").then(|| Fact::Text("text".to_owned()))),
    key("text", "content"),
    key("lineStart", "start"),
    FactSpec::found("lineEnd", "lines", |display, _| Some(FactRef::Of(lines, display))),
    key("totalLines", "total"),
];

/// Returns the number of lines that were read.
fn lines(display: Value<'_>) -> Option<Fact> {
    let [start, end] = display.get_all(["lineStart", "lineEnd"]);
    let count = end?.int()?.checked_sub(start?.int()?)?.checked_add(1)?;
    Some(Fact::Int(count.max(0)))
}

const WRITTEN: &[FactSpec] = &[
    key("filepath", "path"),
    FactSpec::made("exists", "created", |exists| Some(Fact::Bool(!exists.bool()?))),
];

/// The files of a patch.
const PATCHED: &[FactSpec] = &[
    key("filePath", "path"),
    key("relativePath", "path"),
    key("movePath", "to"),
    key("type", "kind"),
    FactSpec::made("patch", "diff", wrapped::hunks),
    FactSpec::made("diff", "diff", wrapped::hunks),
];

const MATCHES: &[FactSpec] = &[
    key("matches", "matches"),
    key("matches", "count"),
    key("matches", "lines"),
    key("truncated", "truncated"),
    FactSpec::word("mode", "content"),
];

const FOUND: &[FactSpec] = &[key("count", "count"), key("truncated", "truncated")];

const AGENT: &[FactSpec] = &[key("sessionId", "agent")];
