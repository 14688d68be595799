//! Results in session files: what the model got, and what the screen showed.

use crate::facts::{fail, filled, nodes, push_list, string, strings};
use crate::shell_report;
use crate::tool::key;
use streamfmt_core::item::{Content, Fact, FactRef, FactSpec, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::text::Text;

/// Adds what the model got: the parts of a function response.
pub(crate) fn add_parts<'a>(result: &mut Item, parts: impl Iterator<Item = Value<'a>>) {
    let mut more = Vec::new();
    let mut texts = Vec::new();
    for part in parts {
        let response = part.get("functionResponse").and_then(|answer| answer.get("response"));
        let Some(response) = response else {
            match part.get("text") {
                Some(text) if text.str().is_some() => texts.push(text.node()),
                _ => more.push(Fact::Node(part.node())),
            }
            continue;
        };
        let [output, error] = response.get_all(["output", "error"]).map(filled);
        if error.is_some() {
            fail(result);
        }
        match error.or(output) {
            Some(text) => texts.push(text.node()),
            None if response.get("output").is_some() => {}
            None => more.push(Fact::Node(response.node())),
        }
    }
    result.text = strings(texts);
    push_list(result, "more", more);
    match result.tool_kind {
        Some(ToolKind::Run) => shell_report::add_facts(result),
        // The list is an item of its own.
        Some(ToolKind::Todos) if !result.error => {
            result.words = Some(|_, _| Text::EMPTY);
            result.data.push(("success", Fact::Bool(true)));
        }
        _ => {}
    }
}

/// Adds which lines were read, unless a note precedes them. `input`: the input of the call.
pub(super) fn add_lines(result: &mut Item, input: Option<Value<'_>>) {
    let text = result.text();
    if result.tool_kind != Some(ToolKind::Read)
        || result.error
        || text.is_empty()
        || text.trim_start().starts_with(NOTE)
    {
        return;
    }
    let lines = i64::try_from(text.lines().count()).unwrap_or(i64::MAX);
    let [start, offset] = input.map_or([None; 2], |input| input.get_all(["start_line", "offset"]));
    let after = offset.and_then(Value::int).map(|offset| offset.saturating_add(1));
    let start = start.and_then(Value::int).or(after).unwrap_or(1);
    result.data.extend([("start", Fact::Int(start)), ("lines", Fact::Int(lines))]);
}

/// The beginning of a note that the program puts before the lines of a long file.
pub(super) const NOTE: &str = "IMPORTANT: The file content has been truncated";

/// Adds what the screen showed.
pub(crate) fn add_display(result: &mut Item, display: Value<'_>) {
    if display.kind() == ValueKind::String {
        // The screen shows the output of a command without colours; of other tools, often only that they ran.
        if matches!(result.text, Content::None)
            || result.tool_kind == Some(ToolKind::Run) && filled(Some(display)).is_some()
        {
            result.text = string(filled(Some(display)));
        }
        return;
    }
    let [diff, path, is_new, stat, matches] =
        display.get_all(["fileDiff", "filePath", "isNewFile", "diffStat", "matches"]);
    if let Some(diff) = filled(diff) {
        result.data.read(display, CHANGE);
        let is_known = result.fact("created").and_then(FactRef::bool) == Some(true);
        let is_new = is_known || is_new.and_then(Value::bool) == Some(true);
        if is_new && !is_known {
            result.data.push(("created", Fact::Bool(true)));
        }
        if let Some(stat) = stat {
            result.data.read(stat, SIZE);
        }
        let kind = Fact::Text(if is_new { "add" } else { "update" }.to_owned());
        let parts = nodes([("path", path), ("diff", Some(diff))]).chain([("kind", kind)]).collect();
        result.data.push(("changes", Fact::List(vec![Fact::Map(parts)])));
    }
    if let Some(matches) = matches.filter(|_| result.tool_kind == Some(ToolKind::Grep)) {
        let mut lines = String::new();
        let mut count = 0;
        for hit in matches.items() {
            let [path, number, line] = hit.get_all(["filePath", "lineNumber", "line"]);
            let [path, line] = [path, line].map(|text| text.and_then(Value::decode).unwrap_or_default());
            lines.extend([&*path, ":", number.map_or("", Value::raw), ":", &*line, "\n"]);
            count += 1;
        }
        result.data.push(("mode", Fact::Text("content".to_owned())));
        result.data.extend([
            ("content", Fact::Text(lines)),
            ("count", Fact::Int(count)),
            ("lines", Fact::Int(count)),
        ]);
    }
}

/// Marks a result without text as successful: nothing else is known of it.
pub(crate) fn mark_success_if_silent(result: &mut Item) {
    if !result.error && matches!(result.text, Content::None) && result.tool_kind != Some(ToolKind::Run) {
        result.data.push(("success", Fact::Bool(true)));
    }
}

const CHANGE: &[FactSpec] =
    &[key("filePath", "path"), key("originalContent", "original"), key("newContent", "modified")];
const SIZE: &[FactSpec] = &[key("model_added_lines", "added"), key("model_removed_lines", "removed")];
