//! Results of calls: `{"success":{…}}`, or another key that names what went wrong.

use std::borrow::Cow;

use crate::facts::{fail, filled, nodes, push_list, string, strings};
use crate::tool::key;
use streamfmt_core::item::{Content, Fact, FactSpec, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use super::call::{self, CalledTool};
use super::stream::integer;
use super::{CursorAgent, ItemBuilder, tools};

impl CursorAgent {
    /// Decodes the end of a call. Some logs have no line for its beginning.
    pub(super) fn completed(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let Some(tool) = CalledTool::of(value) else {
            return builder.unknown("tool_call/completed".to_owned(), value);
        };
        let id = call::id_of(value.get("call_id"), builder);
        if self.calls.get(&id).is_none() {
            self.put_call(&tool, id.clone(), builder);
        }
        let mut result = self.calls.result_of(&id, builder);
        self.calls.mark_answered(&id);
        if result.tool_kind.is_none() {
            result.tool_kind = Some(tools::of(&tool.name).tool_kind);
        }
        let list = tool.result.and_then(|outcome| fill(&mut result, &tool, outcome)?.get("todos"));
        let is_merged = tool.arguments.is_none_or(call::is_merged);
        let plan = list.filter(|_| is_merged).and_then(|list| call::plan_of(&result, list, builder));
        builder.put(result);
        if let Some(plan) = plan {
            builder.put(plan);
        }
    }
}

/// Adds what is known of how a call went. Returns the fields of its success.
fn fill<'a>(result: &mut Item, tool: &CalledTool<'_>, outcome: Value<'a>) -> Option<Value<'a>> {
    if outcome.kind() == ValueKind::String {
        result.text = string(Some(outcome));
        return None;
    }
    let (how, fields) = outcome.entries().find(|(key, _)| !key.is("isBackground"))?;
    let how = how.decode();
    match &*how {
        "success" => {
            succeed(result, &tool.name, fields);
            Some(fields)
        }
        // It goes on elsewhere.
        "approved" | "async" | "stillRunning" => {
            let state = if result.tool_kind == Some(ToolKind::Delegate) { "async_launched" } else { &how };
            result.data.push(("state", Fact::Text(state.to_owned())));
            let [shell, process] = fields.get_all(["shellId", "pid"]);
            match shell.or(process).filter(|_| result.tool_kind == Some(ToolKind::Run)) {
                Some(id) => {
                    let id = id.decode().map_or_else(|| id.raw().to_owned(), Cow::into_owned);
                    result.data.push(("background", Fact::Text(id)));
                }
                None => add_rest(result, fields),
            }
            None
        }
        _ => {
            fail(result);
            let is_denied = matches!(&*how, "rejected" | "permissionDenied");
            if is_denied {
                result.data.push(("denied", Fact::Bool(true)));
            }
            command(result, fields);
            let reasons = fields.get_all(["errorMessage", "error", "message", "reason"]).map(filled);
            let reason = reasons.into_iter().flatten().next();
            if matches!(result.text, Content::None) && result.fact("stdout").is_none() {
                result.text = match reason {
                    Some(reason) => string(Some(reason)),
                    None if is_denied => Content::None,
                    None => Content::Own(in_words(&how)),
                };
            }
            None
        }
    }
}

/// Adds the fields of a success.
fn succeed(result: &mut Item, tool: &str, fields: Value<'_>) {
    let before = result.data.len();
    match result.tool_kind {
        Some(ToolKind::Run | ToolKind::Job) => return command(result, fields),
        Some(ToolKind::Read) => read(result, fields),
        Some(ToolKind::Write | ToolKind::Edit) => change(result, fields),
        Some(ToolKind::Find | ToolKind::Grep) => found(result, fields),
        Some(ToolKind::List) if tool == tools::LIST => listed(result, fields),
        Some(ToolKind::Fetch) => {
            result.text = string(filled(fields.get("markdown")));
            result.data.extend(nodes([("url", filled(fields.get("url")))]));
            let hits = fields.get("references").into_iter().flat_map(Value::items);
            push_list(result, "hits", hits.map(|hit| Fact::Node(hit.node())).collect());
        }
        Some(ToolKind::Delegate) => answered(result, fields),
        Some(ToolKind::Mcp) => from_server(result, fields),
        // The list is an item of its own.
        Some(ToolKind::Todos) => {
            result.data.push(("success", Fact::Bool(true)));
            return;
        }
        _ => {}
    }
    if matches!(result.text, Content::None) && result.data.len() == before {
        add_rest(result, fields);
    }
}

/// Adds fields that no other fact holds.
fn add_rest(result: &mut Item, fields: Value<'_>) {
    if fields.kind() != ValueKind::Object || fields.entries().next().is_some() {
        result.text = Content::Own(fields.raw().to_owned());
    } else if result.fact("state").is_none() {
        result.data.push(("success", Fact::Bool(true)));
    }
}

/// Adds what a command wrote. `interleavedOutput` repeats both streams in their order.
fn command(result: &mut Item, fields: Value<'_>) {
    let [exit, signal, stdout, stderr, both, took, aborted] = fields.get_all([
        "exitCode",
        "signal",
        "stdout",
        "stderr",
        "interleavedOutput",
        "executionTime",
        "aborted",
    ]);
    if let Some(exit) = exit.filter(|exit| exit.int().is_some_and(|code| code != 0)) {
        fail(result);
        result.data.push(("exit", Fact::Node(exit.node())));
    }
    result.text = string(filled(both));
    let took = took.filter(|took| took.float().is_some());
    let names = ["stdout", "stderr", "note"].into_iter().zip([stdout, filled(stderr), filled(signal)]);
    result.data.extend(nodes(names.chain([("took_ms", took)])));
    if aborted.and_then(Value::bool) == Some(true) {
        result.data.push(("interrupted", Fact::Bool(true)));
    }
}

/// Adds the lines of a file.
fn read(result: &mut Item, fields: Value<'_>) {
    let [content, range] = fields.get_all(["content", "readRange"]);
    result.text = string(content);
    result.data.read(fields, FILE);
    let [start, end] =
        range.map_or([None; 2], |range| range.get_all(["startLine", "endLine"])).map(|it| it?.int());
    if let (Some(start), Some(end)) = (start, end) {
        let lines = end.saturating_sub(start).saturating_add(1).max(0);
        result.data.extend([("start", Fact::Int(start)), ("lines", Fact::Int(lines))]);
    }
}

/// Adds the change of a file.
fn change(result: &mut Item, fields: Value<'_>) {
    let [path, diff, before, message] =
        fields.get_all(["path", "diffString", "beforeFullFileContent", "message"]);
    result.text = string(filled(message));
    result.data.read(fields, CHANGE);
    let Some(diff) = filled(diff) else {
        if matches!(result.text, Content::None) {
            result.data.push(("success", Fact::Bool(true)));
        }
        return;
    };
    let is_new = before.is_none() && diff.str().is_some_and(|diff| diff.begins_with("--- /dev/null"));
    if is_new {
        result.data.push(("created", Fact::Bool(true)));
    }
    let kind = Fact::Text(if is_new { "add" } else { "update" }.to_owned());
    let parts: Vec<_> = nodes([("path", path), ("diff", Some(diff))]).chain([("kind", kind)]).collect();
    result.data.push(("changes", Fact::List(vec![Fact::Map(parts)])));
}

/// How many times longer than its source a text may become that repeats names: real ones stay shorter.
const MOST_GROWTH: usize = 2;

/// Adds the files or lines that a search found.
fn found(result: &mut Item, fields: Value<'_>) {
    let [mode, total] = fields.get_all(["outputMode", "totalFiles"]);
    result.data.extend(nodes([("mode", mode), ("total", total)]));
    if let Some(files) = fields.get("files") {
        let files: Vec<_> = files.items().map(|file| Fact::Node(file.node())).collect();
        result.data.push(("count", Fact::Int(files.len().cast_signed() as i64)));
        result.data.push(("files", Fact::List(files)));
    }
    let (mut lines, mut count) = (String::new(), 0);
    let most = fields.raw().len().saturating_mul(MOST_GROWTH);
    let mut files = Vec::new();
    let mut is_known = true;
    for (_, folder) in fields.get("workspaceResults").into_iter().flat_map(Value::entries) {
        let inside = ["content", "files", "count"].into_iter().find_map(|name| folder.get(name));
        let [matches, names] = inside.map_or([None; 2], |inside| inside.get_all(["matches", "files"]));
        is_known &= matches.is_some() || names.is_some();
        let names = names.into_iter().flat_map(Value::items);
        files.extend(names.filter(|name| name.str().is_some()).map(|name| Fact::Node(name.node())));
        for file in matches.into_iter().flat_map(Value::items) {
            let path = file.get("file").and_then(Value::decode).unwrap_or_default();
            for hit in file.get("matches").into_iter().flat_map(Value::items) {
                if lines.len() > most {
                    break;
                }
                let [number, text, is_context] = hit.get_all(["lineNumber", "content", "isContextLine"]);
                let is_context = is_context.and_then(Value::bool) == Some(true);
                let mark = if is_context { "-" } else { ":" };
                count += i64::from(!is_context);
                let number = number.map_or("", Value::raw);
                let text = text.and_then(Value::decode).unwrap_or_default();
                lines.extend([&*path, mark, number, mark, &*text, "\n"]);
            }
        }
    }
    if lines.len() > most {
        result.data.push(("truncated", Fact::Bool(true)));
    }
    if !lines.is_empty() {
        result.data.extend([("content", Fact::Text(lines)), ("lines", Fact::Int(count))]);
    } else if !is_known {
        add_rest(result, fields);
    } else if fields.get("workspaceResults").is_some() {
        result.data.push(("count", Fact::Int(files.len().cast_signed() as i64)));
        result.data.push(("files", Fact::List(files)));
    }
}

/// Adds the listing of a folder, a line for each file.
fn listed(result: &mut Item, fields: Value<'_>) {
    let mut text = String::new();
    let most = fields.raw().len().saturating_mul(MOST_GROWTH);
    let mut open: Vec<(Value<'_>, usize)> =
        fields.get("directoryTreeRoot").map(|root| (root, 0)).into_iter().collect();
    while let Some((folder, depth)) = open.pop() {
        if text.len() > most {
            result.data.push(("truncated", Fact::Bool(true)));
            break;
        }
        let [path, folders, files] = folder.get_all(["absPath", "childrenDirs", "childrenFiles"]);
        let path = path.and_then(Value::decode).unwrap_or_default();
        let name = if depth == 0 { &*path } else { path.rsplit('/').next().unwrap_or_default() };
        text.extend([&*"  ".repeat(depth), name, "/\n"]);
        let first = open.len();
        open.extend(folders.into_iter().flat_map(Value::items).map(|folder| (folder, depth + 1)));
        open[first..].reverse();
        for file in files.into_iter().flat_map(Value::items) {
            if text.len() > most {
                break;
            }
            let name = file.get("name").and_then(Value::decode).unwrap_or_default();
            text.extend([&*"  ".repeat(depth + 1), &*name, "\n"]);
        }
    }
    if !text.is_empty() {
        result.text = Content::Own(text.trim_end().to_owned());
    }
}

/// Adds the answer of a sub-agent. The stream has nothing else of it.
fn answered(result: &mut Item, fields: Value<'_>) {
    let mut texts = Vec::new();
    let mut more = Vec::new();
    for step in fields.get("conversationSteps").into_iter().flat_map(Value::items) {
        match step.get("assistantMessage").and_then(|message| message.get("text")) {
            Some(text) if text.str().is_some() => texts.push(text.node()),
            _ => more.push(Fact::Node(step.node())),
        }
    }
    result.text = strings(texts);
    push_list(result, "more", more);
    result.data.extend(nodes([("agent", fields.get("agentId"))]));
    let took = fields.get("durationMs").and_then(integer);
    result.data.extend(took.map(|took| ("duration_ms", Fact::Int(took))));
    if fields.get("isBackground").and_then(Value::bool) == Some(true) {
        result.data.push(("state", Fact::Text("async_launched".to_owned())));
    }
}

/// Adds the answer of an MCP server.
fn from_server(result: &mut Item, fields: Value<'_>) {
    let [content, is_error] = fields.get_all(["content", "isError"]);
    if is_error.and_then(Value::bool) == Some(true) {
        fail(result);
    }
    let mut texts = Vec::new();
    let mut more = Vec::new();
    for part in content.into_iter().flat_map(Value::items) {
        let text = part.get("text").map(|text| text.get("text").unwrap_or(text));
        match text.filter(|text| text.str().is_some()) {
            Some(text) => texts.push(text.node()),
            None => more.push(Fact::Node(part.node())),
        }
    }
    result.text = strings(texts);
    push_list(result, "more", more);
}

const FILE: &[FactSpec] = &[key("path", "path"), key("totalLines", "total"), key("fileSize", "bytes")];
const CHANGE: &[FactSpec] = &[
    key("path", "path"),
    key("linesAdded", "added"),
    key("linesCreated", "added"),
    key("linesRemoved", "removed"),
    key("beforeFullFileContent", "original"),
    key("afterFullFileContent", "modified"),
];

/// Returns a name such as `fileNotFound` in words.
fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for ch in name.chars() {
        if ch.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(ch.to_ascii_lowercase());
    }
    words
}
