//! Recognises the streams of agents that have no dialect, so that a message can name them.

use streamfmt_core::dialect::ForeignProgram;
use streamfmt_core::json::Value;

/// Returns the program that wrote the value, if its fields identify one.
pub(crate) fn recognise(value: Value<'_>) -> Option<ForeignProgram> {
    let has = |key: &str| value.get(key).is_some();
    let kind = value.get("type").and_then(Value::decode).unwrap_or_default();
    let named = |name| Some(ForeignProgram { name, resembles: None });
    // These begin as Claude Code's streams do, but don't continue so.
    let like_claude = |name| Some(ForeignProgram { name, resembles: Some("claude") });
    let subtype = value.get("subtype").and_then(Value::decode).unwrap_or_default();
    let is_droids = || match &*kind {
        "system" => &*subtype == "init" && has("reasoning_effort") && !has("uuid"),
        "tool_call" => has("toolName") && has("parameters"),
        "tool_result" => has("toolCallId") && has("value"),
        "completion" => has("finalText"),
        "session_start" => has("id") && has("cwd"),
        _ => false,
    };
    match &*kind {
        "say" | "ask" if has("ts") => named("cline"),
        "metadata" if has("protocol_version") => named("kimi"),
        _ if is_droids() => like_claude("droid"),
        _ => None,
    }
}
