//! Lines of a stream with partial messages, as an agent writes them.

use serde_json::{Value, json};

/// A line of the session.
pub(crate) fn line(kind: &str, about: Value) -> String {
    let mut line = json!({"type": kind, "parent_tool_use_id": null, "session_id": "s-1"});
    if let (Some(line), Value::Object(about)) = (line.as_object_mut(), about) {
        line.extend(about);
    }
    format!("{line}\n")
}

/// A line of a call's sub-agent.
pub(crate) fn inside(call: &str, text: &str) -> String {
    let mut line: Value = serde_json::from_str(text).unwrap();
    line["parent_tool_use_id"] = json!(call);
    format!("{line}\n")
}

fn event(event: &Value) -> String {
    line("stream_event", json!({"event": event}))
}

/// The beginning of a message and its first block.
pub(crate) fn begins(message: &str, block: &Value) -> String {
    let message =
        json!({"type": "message_start", "message": {"id": message, "role": "assistant", "content": []}});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": block});
    event(&message) + &event(&block)
}

/// The beginning of a reply.
pub(crate) fn reply_begins(message: &str) -> String {
    begins(message, &json!({"type": "text", "text": ""}))
}

/// The beginning of a call.
pub(crate) fn call_begins(message: &str, id: &str, name: &str) -> String {
    begins(message, &json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
}

/// More text of a reply.
pub(crate) fn grows(text: &str) -> String {
    let delta = json!({"type": "text_delta", "text": text});
    event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

/// More of a call's input.
pub(crate) fn input_grows(json: &str) -> String {
    let delta = json!({"type": "input_json_delta", "partial_json": json});
    event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

/// The end of the block and its message.
pub(crate) fn closes() -> String {
    let stop = json!({"type": "content_block_stop", "index": 0});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    event(&stop) + &event(&end) + &event(&json!({"type": "message_stop"}))
}

/// A complete reply.
pub(crate) fn reply(message: &str, text: &str) -> String {
    says(message, &json!({"type": "text", "text": text}))
}

/// A complete call.
pub(crate) fn call(id: &str, name: &str, input: &Value) -> String {
    says(&format!("m-{id}"), &json!({"type": "tool_use", "id": id, "name": name, "input": input}))
}

/// A call of a command.
pub(crate) fn command(id: &str, command: &str) -> String {
    call(id, "Bash", &json!({"command": command}))
}

/// The beginning of a sub-agent.
pub(crate) fn agent(id: &str, about: &str) -> String {
    let input = json!({"description": about, "prompt": "Look.", "subagent_type": "Explore"});
    call(id, "Agent", &input)
}

fn says(message: &str, block: &Value) -> String {
    let message = json!({"id": message, "role": "assistant", "model": "model-1", "content": [block]});
    line("assistant", json!({"message": message}))
}

/// The result of a call.
pub(crate) fn result(id: &str, text: &str) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    line("user", json!({"message": {"role": "user", "content": [block]}}))
}

/// The end of the run.
pub(crate) fn ends() -> String {
    line("result", json!({"subtype": "success", "is_error": false, "num_turns": 2, "result": "Done."}))
}

/// A file's text as the tool `Read` returns it, with this many lines.
pub(crate) fn numbered_lines(count: usize) -> String {
    (1..=count).fold(String::new(), |lines, line| lines + &format!("{line}\tx\n"))
}
