//! Facts of results, from the structured value beside a tool's result, under the names that all dialects share.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::edit;
use crate::fact;
use streamfmt_core::item::{Action, Fact, Item};
use streamfmt_core::json::{Record, Value, ValueKind};
use streamfmt_core::name_table::NameTable;

/// The keys of structured results, which differ by tool, and the names of our facts.
/// They apply whatever the tool, so a result whose call is unknown is read as well.
static FACTS: [(&str, &str); 55] = [
    ("stdout", "stdout"),
    ("stderr", "stderr"),
    ("interrupted", "interrupted"),
    ("isImage", "image"),
    ("backgroundTaskId", "background"),
    ("timedOutAfterMs", "timed_out_ms"),
    ("timedOut", "timed_out"),
    ("wasInterrupted", "interrupted"),
    ("persistedOutputSize", "bytes"),
    ("totalMatches", "total"),
    ("totalFiles", "total"),
    ("totalLines", "total"),
    ("sessionUrl", "url"),
    ("annotations", "annotations"),
    ("returnCodeInterpretation", "note"),
    ("filePath", "path"),
    ("notebook_path", "path"),
    ("structuredPatch", "patch"),
    ("originalFile", "original"),
    ("originalFileContents", "original"),
    ("original_file", "original"),
    ("updated_file", "modified"),
    ("content", "content"),
    ("mode", "mode"),
    ("filenames", "files"),
    ("numFiles", "count"),
    ("numMatches", "matches"),
    ("numLines", "lines"),
    ("truncated", "truncated"),
    ("url", "url"),
    ("code", "code"),
    ("codeText", "code_text"),
    ("bytes", "bytes"),
    ("query", "query"),
    ("result", "answer"),
    ("durationMs", "duration_ms"),
    ("status", "state"),
    ("agentId", "agent"),
    ("agentType", "agent_type"),
    ("totalToolUseCount", "tool_uses"),
    ("totalTokens", "tokens"),
    ("totalDurationMs", "duration_ms"),
    ("outputFile", "output_file"),
    ("newTodos", "todos"),
    ("task", "task"),
    ("tasks", "tasks"),
    ("plan", "plan"),
    ("success", "success"),
    ("answers", "answers"),
    ("commandName", "skill"),
    ("exitCode", "exit"),
    ("new_source", "new_source"),
    ("old_source", "old_source"),
    ("edit_mode", "edit_mode"),
    ("cell_id", "cell"),
];

static FACT_NAMES: LazyLock<NameTable<&str>> = NameTable::lazy(|| NameTable::new(&FACTS));

/// The keys in the `file` of a Read result, and the names of our facts.
const FILE_FACTS: &[(&str, &str)] = &[
    ("filePath", "path"),
    ("content", "content"),
    ("startLine", "start"),
    ("numLines", "lines"),
    ("totalLines", "total"),
    ("originalSize", "bytes"),
    ("cells", "cells"),
    ("count", "count"),
    ("outputDir", "output_file"),
];

/// Adds the facts of a structured result to its item.
pub(super) fn result_facts(item: &mut Item, structured: Value<'_>) {
    if item.action() == Some(Action::Mcp) {
        // A server may put anything there, so keys don't have our meanings.
        if structured.kind() != ValueKind::String {
            item.data.push(("structured", Fact::Node(structured.node())));
        }
        return;
    }
    match structured.kind() {
        ValueKind::Object => {}
        ValueKind::Array => return item.data.push(("structured", Fact::Node(structured.node()))),
        _ => return,
    }
    item.data.reserve(10);
    let mut is_edit = false;
    structured.fields(|name, value| match name {
        _ if edit::is_edit_field(name) => is_edit = true,
        b"file" => file_facts(item, value),
        b"type" => type_fact(item, value),
        b"content" if item.action() == Some(Action::Delegate) => {
            item.data.set("answer", Fact::Made(answer, structured.node()));
        }
        b"results" => hits_fact(item, value),
        b"bashEditDiff" => {
            if let Some(files) = value.get("files") {
                item.data.set("files", Fact::Node(files.node()));
                let paths = files.items().filter_map(|file| file.get("filePath"));
                let changes = paths.map(|path| Fact::Map(vec![("path", Fact::Node(path.node()))]));
                item.data.set("changes", Fact::List(changes.collect()));
            }
            if let Some(more) = value.get("moreFiles").filter(|more| more.int().is_some_and(|more| more > 0))
            {
                item.data.set("more_files", Fact::Node(more.node()));
            }
        }
        // Only present if there was more than the limit.
        b"appliedLimit" if value.kind() == ValueKind::Number => item.data.set("truncated", Fact::Bool(true)),
        b"userModified" | b"planWasEdited" if value.bool() == Some(true) => {
            item.data.set("user_modified", Fact::Node(value.node()));
        }
        b"persistedOutputPath" => item.data.set("persisted", Fact::Node(value.node())),
        // The requested task doesn't exist. The call is no error.
        b"task" if value.is_null() && item.action() == Some(Action::Plan) => {
            item.data.set("success", Fact::Bool(false));
        }
        b"matches" => item.data.set("matches", Fact::Node(value.node())),
        _ => {
            if let Some(name) = FACT_NAMES.get(name)
                && !value.is_null()
            {
                let (name, fact) = fact(name, value.node());
                item.data.set(name, fact);
            }
        }
    });
    let is_file = is_edit
        || item.fact("original").is_some()
        || item.fact("patch").is_some()
        || item.fact("created").is_some();
    if is_file && item.fact("modified").is_none() {
        let fact = match structured.get("content").filter(|content| content.kind() == ValueKind::String) {
            Some(content) => Fact::Node(content.node()),
            None => Fact::Made(edit::modified, structured.node()),
        };
        item.data.set("modified", fact);
    }
    if item.fact("patch").is_some() || item.fact("created").is_some() {
        item.data.set("added", Fact::Count(added, structured.node()));
        item.data.set("removed", Fact::Count(removed, structured.node()));
    }
    let is_cell = is_file && item.fact("edit_mode").is_some();
    if is_cell
        && item.fact("old_source").is_none()
        && let Some(source) = old_source(structured)
    {
        item.data.set("old_source", Fact::Text(source));
    }
}

fn file_facts(item: &mut Item, file: Value<'_>) {
    for (key, value) in file.entries() {
        if let Some((_, name)) = FILE_FACTS.iter().find(|(theirs, _)| key.is(theirs)) {
            item.data.set(name, Fact::Node(value.node()));
        }
    }
}

fn type_fact(item: &mut Item, value: Value<'_>) {
    let Some(kind) = value.decode() else { return };
    match &*kind {
        "create" => item.data.set("created", Fact::Bool(true)),
        "update" => item.data.set("created", Fact::Bool(false)),
        "file_unchanged" => item.data.set("type", Fact::Text("unchanged".into())),
        _ => item.data.set("type", Fact::Node(value.node())),
    }
}

/// Returns a sub-agent's answer: the texts of its content without the leading notes of the program.
fn answer(structured: Value<'_>) -> Option<String> {
    let notes = structured.get("harnessNoteCount").and_then(Value::int).unwrap_or(0);
    let parts = structured.get("content")?.items().skip(usize::try_from(notes).unwrap_or(0));
    let texts: Vec<_> = parts.filter_map(|part| part.get("text")?.decode()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Adds the hits of a web search: `results` holds texts and lists of links.
fn hits_fact(item: &mut Item, results: Value<'_>) {
    let mut hits = Vec::new();
    let mut texts = Vec::new();
    for result in results.items() {
        if result.kind() == ValueKind::String {
            texts.extend(result.decode());
        } else {
            let links = result.get("content").into_iter().flat_map(Value::items);
            hits.extend(links.map(|link| Fact::Node(link.node())));
        }
    }
    item.data.set("hits", Fact::List(hits));
    if !texts.is_empty() {
        item.data.set("answer", Fact::Text(texts.join("\n")));
    }
}

/// Returns the number of lines that a change added to a file.
fn added(structured: Value<'_>) -> Option<i64> {
    changed(structured, b'+')
}

/// Returns the number of lines that a change removed from a file.
fn removed(structured: Value<'_>) -> Option<i64> {
    changed(structured, b'-')
}

/// Counts the lines with this mark in the hunks. A new file has no hunks: all its lines were added.
fn changed(structured: Value<'_>, mark: u8) -> Option<i64> {
    if structured.get("type").and_then(Value::decode).as_deref() == Some("create") {
        let content = structured.get("content")?.decode()?;
        return i64::try_from(if mark == b'+' { content.lines().count() } else { 0 }).ok();
    }
    let patch = structured.get("structuredPatch").filter(|patch| patch.kind() == ValueKind::Array)?;
    let lines = patch.items().filter_map(|hunk| hunk.get("lines")).flat_map(Value::items);
    let is_marked =
        |line: &Value<'_>| line.kind() == ValueKind::String && line.raw().as_bytes().get(1) == Some(&mark);
    i64::try_from(lines.filter(is_marked).count()).ok()
}

/// Returns the source of a notebook's cell before it was replaced or deleted, from the original notebook: versions before
/// 2.1.330 have no field for it. In notebook formats before 4.5, cells have no ids: there `cell-N` is an index.
fn old_source(structured: Value<'_>) -> Option<String> {
    let text = |name: &str| structured.get(name)?.decode();
    if text("edit_mode")? == "insert" {
        return None;
    }
    let notebook = Record::from_line(text("original_file")?.into_owned()).ok()?;
    let cells = || notebook.root().get("cells").into_iter().flat_map(Value::items);
    let id = text("cell_id")?;
    let has_id = |cell: &Value<'_>| cell.get("id").and_then(Value::decode).is_some_and(|own| own == id);
    let place = || id.strip_prefix("cell-")?.parse().ok();
    let source = cells().find(has_id).or_else(|| cells().nth(place()?))?.get("source")?;
    match source.kind() {
        ValueKind::Array => source.items().map(Value::decode).collect(),
        _ => source.decode().map(Cow::into_owned),
    }
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
