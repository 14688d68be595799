//! The results of calls. A call may have several inputs, and then its result is a list, with an entry for each.

use streamfmt_core::item::{Content, Fact, Id, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use crate::calls::Calls;
use crate::facts::{fail, filled, result_content, string};
use crate::item_builder::ItemBuilder;

use super::wrapped;

/// Returns a result of a call, without content.
pub(super) fn of_call(call: &Id, calls: &Calls, builder: &ItemBuilder<'_>) -> Item {
    let mut result = calls.result_of(call, builder);
    result.words = Some(wrapped::words);
    result
}

/// Adds the output of a call, or its error.
pub(super) fn fill(output: Option<Value<'_>>, error: Option<Value<'_>>, result: &mut Item) {
    let error = filled(error);
    if error.is_some() {
        fail(result);
    }
    match output {
        Some(entries) if is_list_of_entries(entries) => {
            let entries: Vec<Value<'_>> = entries.items().collect();
            match entries[..] {
                [entry] => one(entry, result),
                _ => many(&entries, result),
            }
        }
        Some(entry) if entry.get("success").is_some() => one(entry, result),
        Some(answer) if answer.get("content").is_some() => {
            let [content, structured, is_error] = answer.get_all(["content", "structuredContent", "isError"]);
            result_content(result, content);
            let structured = structured.filter(|structured| !structured.is_null());
            result.data.extend(structured.map(|value| ("structured", Fact::Node(value.node()))));
            if is_error.and_then(Value::bool) == Some(true) {
                fail(result);
            }
        }
        Some(answer) if answer.kind() == ValueKind::Object => {
            let [text, reason, failure] = answer.get_all(["text", "finishReason", "error"]);
            if let Some(failure) = filled(failure) {
                fail(result);
                result.text = string(Some(failure));
            } else if let Some(text) = filled(text) {
                result.text = string(Some(text));
                result.data.push(("answer", Fact::Node(text.node())));
                result.data.extend(reason.map(|reason| ("state", Fact::Node(reason.node()))));
            } else {
                result_content(result, Some(answer));
            }
        }
        output => result_content(result, output),
    }
    if matches!(result.text, Content::None) {
        result.text = string(error);
    }
}

fn is_list_of_entries(output: Value<'_>) -> bool {
    output.items().next().is_some_and(|entry| entry.get("success").is_some())
}

/// Adds the only entry.
fn one(entry: Value<'_>, result: &mut Item) {
    let [text, error, success] = entry.get_all(["result", "error", "success"]);
    let error = filled(error);
    if success.and_then(Value::bool) == Some(false) {
        fail(result);
    }
    match filled(text) {
        None => result.text = string(error),
        Some(text) if text.str().is_some() => {
            result.text = string(Some(text));
            wrapped::add_facts(result, text);
        }
        Some(other) => result_content(result, Some(other)),
    }
    if let (Some(ToolKind::Run), Some(error)) = (result.tool_kind, error) {
        result.data.push(("exit", Fact::Made(wrapped::exit, error.node())));
        result.data.push(("stopped", Fact::Made(wrapped::stopped, error.node())));
    }
}

/// Adds several entries, one below the other, each with its input. The call has failed if none of them succeeded.
fn many(entries: &[Value<'_>], result: &mut Item) {
    let mut text = String::new();
    let mut has_success = false;
    for entry in entries {
        let [input, output, error, success] = entry.get_all(["query", "result", "error", "success"]);
        has_success |= success.and_then(Value::bool) != Some(false);
        let lines = [filled(input), filled(output).or(filled(error))];
        for line in lines.into_iter().flatten().filter_map(Value::decode) {
            text.push_str(line.trim_end_matches('\n'));
            text.push('\n');
        }
    }
    if !has_success {
        fail(result);
    }
    result.text = Content::Own(text);
}
