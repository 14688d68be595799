//! Streams of programs whose dialect isn't here: told by name, so that nobody wonders.

use crate::json::Value;

/// The program that a value which no dialect claims comes from, if its form gives it away.
pub fn recognise(value: Value<'_>) -> Option<&'static str> {
    let is =
        |key: &str, text: &str| value.get(key).and_then(Value::str).is_some_and(|string| string.is(text));
    let has = |key: &str| value.get(key).is_some();
    let kind = value.get("type").and_then(Value::decode).unwrap_or_default();
    let name = match &*kind {
        "step_start" | "step_finish" | "tool_use" | "text" | "reasoning" if has("sessionID") => "opencode",
        "init" if has("session_id") && has("model") => "gemini",
        "message" if has("role") && has("content") && has("timestamp") => "gemini",
        "say" | "ask" if has("ts") => "cline",
        _ if is("jsonrpc", "2.0") => "acp",
        _ => return None,
    };
    Some(name)
}
