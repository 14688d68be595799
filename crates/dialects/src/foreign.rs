//! Recognises the streams of agents that have no dialect, so that a message can name them.

use streamfmt_core::dialect::ForeignProgram;
use streamfmt_core::json::Value;

/// Returns the program that wrote the value, if its fields identify one.
pub(crate) fn recognise(value: Value<'_>) -> Option<ForeignProgram> {
    let has = |key: &str| value.get(key).is_some();
    let kind = value.get("type").and_then(Value::decode).unwrap_or_default();
    let named = |name| Some(ForeignProgram { name, resembles: None, is_readable: false });
    // These begin as Claude Code's streams do, but only Qwen Code's continue so.
    let like_claude =
        |name| Some(ForeignProgram { name, resembles: Some("claude"), is_readable: name == "qwen" });
    let qwen = || like_claude("qwen");
    let subtype = value.get("subtype").and_then(Value::decode).unwrap_or_default();
    let is_droids = || match &*kind {
        "system" => &*subtype == "init" && has("reasoning_effort") && !has("uuid"),
        "tool_call" => has("toolName") && has("parameters"),
        "tool_result" => has("toolCallId") && has("value"),
        "completion" => has("finalText"),
        "session_start" => has("id") && has("cwd"),
        _ => false,
    };
    let has_parts = || value.get("message").is_some_and(|message| message.get("parts").is_some());
    match &*kind {
        "system" if has("qwen_code_version") || has("systemPayload") => qwen(),
        "user" | "assistant" if has_parts() => qwen(),
        "tool_result" if has("toolCallResult") => qwen(),
        "say" | "ask" | "hook_event" | "agent_event" | "run_result" if has("ts") => named("cline"),
        "metadata" if has("protocol_version") => named("kimi"),
        _ if is_droids() => like_claude("droid"),
        _ => None,
    }
}
