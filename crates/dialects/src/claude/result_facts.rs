//! Facts of results, from the structured value beside a tool's result, under the names that all dialects share.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::edit;
use crate::tool::{POINT, key};
use streamfmt_core::item::{Action, Fact, FactRef, FactSpec, FactTable, Item};
use streamfmt_core::json::{Record, Value, ValueKind};

/// The keys of structured results, which differ by tool, and the names of our facts.
/// They apply whatever the tool, so a result whose call is unknown is read as well.
const PARTS: [FactSpec; 61] = [
    key("stdout", "stdout"),
    key("stderr", "stderr"),
    key("interrupted", "interrupted"),
    key("isImage", "image"),
    key("backgroundTaskId", "background"),
    key("timedOutAfterMs", "timed_out_ms"),
    key("timedOut", "timed_out"),
    key("wasInterrupted", "interrupted"),
    key("persistedOutputSize", "bytes"),
    key("totalMatches", "total"),
    key("totalFiles", "total"),
    key("totalLines", "total"),
    key("sessionUrl", "url"),
    key("annotations", "annotations"),
    key("returnCodeInterpretation", "note"),
    key("filePath", "path"),
    key("notebook_path", "path"),
    key("structuredPatch", "patch"),
    key("originalFile", "original"),
    key("originalFileContents", "original"),
    key("original_file", "original"),
    key("updated_file", "modified"),
    key("mode", "mode"),
    key("filenames", "files"),
    key("numFiles", "count"),
    key("numMatches", "matches"),
    key("numLines", "lines"),
    key("truncated", "truncated"),
    FactSpec::found("appliedLimit", "truncated", limited),
    key("url", "url"),
    key("code", "code"),
    key("codeText", "code_text"),
    key("bytes", "bytes"),
    key("query", "query"),
    key("result", "answer"),
    key("durationMs", "duration_ms"),
    key("status", "state"),
    key("agentId", "agent"),
    key("agentType", "agent_type"),
    key("totalToolUseCount", "tool_uses"),
    key("totalTokens", "tokens"),
    key("totalDurationMs", "duration_ms"),
    key("outputFile", "output_file"),
    FactSpec::within("newTodos", "todos", POINT),
    key("task", "task"),
    FactSpec::within("tasks", "tasks", POINT),
    key("plan", "plan"),
    key("success", "success"),
    key("answers", "answers"),
    key("commandName", "skill"),
    key("exitCode", "exit"),
    key("new_source", "new_source"),
    key("old_source", "old_source"),
    key("edit_mode", "edit_mode"),
    key("cell_id", "cell"),
    key("persistedOutputPath", "persisted"),
    key("matches", "matches"),
    FactSpec::found("userModified", "user_modified", is_true),
    FactSpec::found("planWasEdited", "user_modified", is_true),
    FactSpec::found("type", "created", created),
    FactSpec::found("type", "type", kind_of_file),
];

static RESULT: LazyLock<FactTable> =
    LazyLock::new(|| FactTable::new(PARTS.into_iter().chain([key("content", "content")])));

/// The content of a sub-agent's result is its answer.
static DELEGATE: LazyLock<FactTable> = LazyLock::new(|| {
    let answer = FactSpec::found("content", "answer", |result, _| Some(FactRef::Of(answer, result)));
    FactTable::new(PARTS.into_iter().chain([answer]))
});

/// The `file` of the result of a tool that reads.
static FILE: LazyLock<FactTable> = LazyLock::new(|| {
    FactTable::new([
        key("filePath", "path"),
        key("content", "content"),
        key("startLine", "start"),
        key("numLines", "lines"),
        key("totalLines", "total"),
        key("originalSize", "bytes"),
        key("cells", "cells"),
        key("count", "count"),
        key("outputDir", "output_file"),
    ])
});

/// Adds the facts of a structured result to its item. Returns whether it has fields that make no fact.
pub(super) fn result_facts(item: &mut Item, structured: Value<'_>) -> bool {
    let (kind, action) = (structured.kind(), item.action());
    if action == Some(Action::Mcp) || kind == ValueKind::Array {
        // A server may put anything there, so keys don't have our meanings.
        if kind != ValueKind::String {
            item.data.push(("structured", Fact::Node(structured.node())));
        }
        return false;
    }
    if kind != ValueKind::Object {
        return false;
    }
    let table = if action == Some(Action::Delegate) { &DELEGATE } else { &RESULT };
    let [mut file, mut results, mut diff] = [None; 3];
    let (mut is_edit, mut has_more) = (false, false);
    item.data.read_present(structured, table, |key, field| match key {
        b"file" => file = Some(field),
        b"results" => results = Some(field),
        b"bashEditDiff" => diff = Some(field),
        key if edit::is_edit_field(key) => is_edit = true,
        _ => has_more = true,
    });
    if let Some(file) = file {
        item.data.read_present(file, &FILE, |_, _| {});
    }
    if let Some(results) = results {
        add_hits(item, results);
    }
    if let Some(diff) = diff {
        add_changes(item, diff);
    }
    if action == Some(Action::Plan) && structured.get("task").is_some_and(Value::is_null) {
        // The requested task doesn't exist. The call is no error.
        item.data.push(("success", Fact::Bool(false)));
    }
    add_change(item, structured, is_edit);
    has_more
}

/// Adds what is known of the change of a file. `is_edit`: whether a field says that there is one.
fn add_change(item: &mut Item, result: Value<'_>, is_edit: bool) {
    let is_change = item.fact("patch").is_some() || item.fact("created").is_some();
    if !(is_edit || is_change || item.fact("original").is_some()) {
        return;
    }
    if item.fact("modified").is_none() {
        let fact = match result.get("content").filter(|content| content.kind() == ValueKind::String) {
            Some(content) => Fact::Node(content.node()),
            None => Fact::Made(|result| edit::modified(result).map(Fact::Text), result.node()),
        };
        item.data.push(("modified", fact));
    }
    if is_change {
        item.data.push(("added", Fact::Made(|result| changed(result, b'+'), result.node())));
        item.data.push(("removed", Fact::Made(|result| changed(result, b'-'), result.node())));
    }
    if item.fact("edit_mode").is_some() && item.fact("old_source").is_none() {
        item.data.extend(old_source(result).map(|source| ("old_source", source)));
    }
}

/// Only present if there was more than the limit.
fn limited<'a>(_: Value<'a>, limit: Value<'a>) -> Option<FactRef<'a>> {
    (limit.kind() == ValueKind::Number).then_some(FactRef::Of(|_| Some(Fact::Bool(true)), limit))
}

fn is_true<'a>(_: Value<'a>, value: Value<'a>) -> Option<FactRef<'a>> {
    (value.bool() == Some(true)).then_some(FactRef::Json(value))
}

/// Whether a file was created, if the result says whether it was.
fn created<'a>(_: Value<'a>, kind: Value<'a>) -> Option<FactRef<'a>> {
    match &*kind.decode()? {
        "create" => Some(FactRef::Of(|_| Some(Fact::Bool(true)), kind)),
        "update" => Some(FactRef::Of(|_| Some(Fact::Bool(false)), kind)),
        _ => None,
    }
}

/// The kind of a file that was read.
fn kind_of_file<'a>(_: Value<'a>, kind: Value<'a>) -> Option<FactRef<'a>> {
    match &*kind.decode()? {
        "create" | "update" => None,
        "file_unchanged" => Some(FactRef::Word("unchanged")),
        _ => Some(FactRef::Json(kind)),
    }
}

/// A sub-agent's answer: the texts of its content without the leading notes of the program.
fn answer(result: Value<'_>) -> Option<Fact> {
    let notes = result.get("harnessNoteCount").and_then(Value::int).unwrap_or(0);
    let parts = result.get("content")?.items().skip(usize::try_from(notes).unwrap_or(0));
    let texts: Vec<_> = parts.filter_map(|part| part.get("text")?.decode()).collect();
    (!texts.is_empty()).then(|| Fact::Text(texts.join("\n")))
}

/// Adds the hits of a web search: `results` holds texts and lists of links.
fn add_hits(item: &mut Item, results: Value<'_>) {
    let (texts, links): (Vec<_>, Vec<_>) =
        results.items().partition(|result| result.kind() == ValueKind::String);
    let links = links.into_iter().filter_map(|links| links.get("content")).flat_map(Value::items);
    item.data.push(("hits", Fact::List(links.map(|link| Fact::Node(link.node())).collect())));
    if !texts.is_empty() {
        let texts: Vec<_> = texts.into_iter().filter_map(Value::decode).collect();
        item.data.push(("answer", Fact::Text(texts.join("\n"))));
    }
}

/// Adds the files that a command changed.
fn add_changes(item: &mut Item, diff: Value<'_>) {
    let [files, more] = diff.get_all(["files", "moreFiles"]);
    if let Some(files) = files {
        let paths = files.items().filter_map(|file| file.get("filePath"));
        let changes = paths.map(|path| Fact::Map(vec![("path", Fact::Node(path.node()))])).collect();
        item.data.extend([("files", Fact::Node(files.node())), ("changes", Fact::List(changes))]);
    }
    if let Some(more) = more.filter(|more| more.int().is_some_and(|more| more > 0)) {
        item.data.push(("more_files", Fact::Node(more.node())));
    }
}

/// Counts the lines with this mark in the hunks. A new file has no hunks: all its lines were added.
fn changed(result: Value<'_>, mark: u8) -> Option<Fact> {
    if result.get("type").and_then(Value::decode).as_deref() == Some("create") {
        let content = result.get("content")?.decode()?;
        return i64::try_from(if mark == b'+' { content.lines().count() } else { 0 }).ok().map(Fact::Int);
    }
    let patch = result.get("structuredPatch").filter(|patch| patch.kind() == ValueKind::Array)?;
    let lines = patch.items().filter_map(|hunk| hunk.get("lines")).flat_map(Value::items);
    let is_marked =
        |line: &Value<'_>| line.kind() == ValueKind::String && line.raw().as_bytes().get(1) == Some(&mark);
    i64::try_from(lines.filter(is_marked).count()).ok().map(Fact::Int)
}

/// Returns the source of a notebook's cell before it was replaced or deleted, from the original notebook: versions before
/// 2.1.330 have no field for it. In notebook formats before 4.5, cells have no ids: there `cell-N` is an index.
fn old_source(result: Value<'_>) -> Option<Fact> {
    let text = |name: &str| result.get(name)?.decode();
    if text("edit_mode")? == "insert" {
        return None;
    }
    let notebook = Record::from_line(text("original_file")?.into_owned()).ok()?;
    let cells = || notebook.root().get("cells").into_iter().flat_map(Value::items);
    let id = text("cell_id")?;
    let has_id = |cell: &Value<'_>| cell.get("id").and_then(Value::decode).is_some_and(|own| own == id);
    let place = || id.strip_prefix("cell-")?.parse().ok();
    let source = cells().find(has_id).or_else(|| cells().nth(place()?))?.get("source")?;
    let source = match source.kind() {
        ValueKind::Array => source.items().map(Value::decode).collect(),
        _ => source.decode().map(Cow::into_owned),
    };
    source.map(Fact::Text)
}

/// Returns a shared copy of a name: the last one if it is the same, otherwise a new one that becomes the last.
pub(super) fn shared(last: &mut Option<Arc<str>>, name: &str) -> Arc<str> {
    match last {
        Some(known) if **known == *name => known.clone(),
        _ => {
            let name: Arc<str> = name.into();
            *last = Some(name.clone());
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::{Kind, ToolKind};

    #[test]
    fn all_lines_of_a_new_file_are_added_also_a_last_one_without_its_end() {
        for (content, added) in [("", 0), ("a", 1), ("a\\n", 1), ("a\\nb", 2), ("a\\n\\n", 2)] {
            let line = format!(r#"{{"type":"create","content":"{content}"}}"#);
            let record = Record::from_line(line).unwrap();
            for (mark, expected) in [(b'+', added), (b'-', 0)] {
                let count = changed(record.root(), mark);
                assert!(matches!(count, Some(Fact::Int(count)) if count == expected), "{content}: {count:?}");
            }
        }
    }

    #[test]
    fn fields_have_a_meaning_only_for_the_tools_that_write_them() {
        for (tool_kind, field, has_failed, is_structured) in [
            (ToolKind::Todos, r#"{"task":null}"#, true, false),
            (ToolKind::Todos, r#"{"task":{}}"#, false, false),
            (ToolKind::Read, r#"{"task":null}"#, false, false),
            (ToolKind::Mcp, r#"{"task":null}"#, false, true),
            (ToolKind::Read, "[1]", false, true),
            (ToolKind::Mcp, r#""a""#, false, false),
        ] {
            let record = Record::from_line(field.to_owned()).unwrap();
            let mut item = Item::new("r", Kind::Result, 1);
            (item.tool_kind, item.record) = (Some(tool_kind), Some(record.clone()));
            result_facts(&mut item, record.root());
            let success = item.fact("success").and_then(FactRef::bool);
            assert_eq!(success, has_failed.then_some(false), "{tool_kind:?} {field}");
            assert_eq!(item.fact("structured").is_some(), is_structured, "{tool_kind:?} {field}");
        }
    }
}
