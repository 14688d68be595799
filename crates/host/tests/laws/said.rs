//! What a file says, read in the plainest way there is, and what came out of it, in the same words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// One reply, thought, call, result or outcome, as far as all forms of a session carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) kind: String,
    pub(crate) parent: Option<String>,
    /// A call's own id, and the id of a result's call.
    pub(crate) call: Option<String>,
    pub(crate) tool: Option<String>,
    /// A call's input, its keys in order.
    pub(crate) input: Option<String>,
    /// Without the blanks around it.
    pub(crate) text: String,
    pub(crate) error: bool,
    /// The change of a file that a result reports. Streams of old versions don't.
    pub(crate) change: BTreeMap<&'static str, Value>,
}

/// The facts of a file's change.
const CHANGE: [&str; 3] = ["patch", "original", "modified"];

impl Said {
    /// Whether `other` says the same, and every fact of the change that this has.
    pub(crate) fn is_said_by(&self, other: &Self) -> bool {
        let has_change = self.change.iter().all(|(name, value)| other.change.get(name) == Some(value));
        has_change && *self == Self { change: self.change.clone(), ..other.clone() }
    }
}

/// What came out as items.
pub(crate) fn came(items: &str) -> Vec<Said> {
    items.lines().map(|line| came_item(&serde_json::from_str(line).unwrap())).collect()
}

fn came_item(item: &Value) -> Said {
    let kind = string(item, "kind").unwrap_or_default();
    let call = string(item, if kind == "call" { "id" } else { "call" });
    Said {
        call,
        parent: string(item, "parent"),
        tool: (kind == "call").then(|| string(item, "tool")).flatten(),
        input: (kind == "call").then(|| item.get("input").map(Value::to_string)).flatten(),
        text: string(item, "text").unwrap_or_default().trim().to_owned(),
        error: item["error"] == true,
        change: CHANGE.into_iter().filter_map(|name| Some((name, item["data"].get(name)?.clone()))).collect(),
        kind,
    }
}

/// The replies, calls and results that a live file says, each call once. Messages that the agent's program made
/// itself are left out, and so is what the API did on its side.
pub(crate) fn live(events: &[Value]) -> Vec<Said> {
    let mut said = Vec::new();
    let mut calls = BTreeSet::new();
    for event in events {
        let parent = string(event, "parent_tool_use_id").filter(|parent| !parent.is_empty());
        let new = |kind: &str| Said {
            kind: kind.to_owned(),
            parent: parent.clone(),
            call: None,
            tool: None,
            input: None,
            text: String::new(),
            error: false,
            change: BTreeMap::new(),
        };
        let is_made = event["message"]["model"] == "<synthetic>" || event["isApiErrorMessage"] == true;
        for block in blocks(event) {
            match (string(event, "type").as_deref(), string(block, "type").as_deref()) {
                (Some("assistant"), Some("text")) if !is_made => {
                    let text = string(block, "text").unwrap_or_default().trim().to_owned();
                    if !text.is_empty() {
                        said.push(Said { text, ..new("reply") });
                    }
                }
                (Some("assistant"), Some("tool_use")) if !is_made => {
                    let call = string(block, "id");
                    if calls.insert(call.clone()) {
                        let input = block.get("input").map(Value::to_string);
                        said.push(Said { call, tool: string(block, "name"), input, ..new("call") });
                    }
                }
                (Some("user"), Some("tool_result")) => said.push(Said {
                    call: string(block, "tool_use_id"),
                    text: result_text(block).trim().to_owned(),
                    error: block["is_error"] == true,
                    ..new("result")
                }),
                _ => {}
            }
        }
    }
    said
}

/// What is left when calls on the API's side and texts of the agent's program are left out, as `live` does.
pub(crate) fn comparable(came: Vec<Said>, events: &[Value]) -> Vec<Said> {
    let mut server = BTreeSet::new();
    let mut made = BTreeSet::new();
    for event in events {
        for block in blocks(event) {
            if matches!(string(block, "type").as_deref(), Some("server_tool_use" | "mcp_tool_use")) {
                server.insert(string(block, "id"));
            }
            if event["message"]["model"] == "<synthetic>" {
                made.insert(string(block, "text").unwrap_or_default().trim().to_owned());
            }
        }
    }
    let is_ours = |said: &Said| match said.kind.as_str() {
        "reply" => !said.text.is_empty() && !made.contains(&said.text),
        "call" | "result" => !server.contains(&said.call),
        _ => false,
    };
    came.into_iter().filter(is_ours).map(|said| Said { change: BTreeMap::new(), ..said }).collect()
}

/// The same by kind and parent: between those the order may differ.
pub(crate) fn by_parent(said: &[Said]) -> BTreeMap<(String, Option<String>), Vec<&Said>> {
    let mut groups: BTreeMap<_, Vec<&Said>> = BTreeMap::new();
    for one in said {
        groups.entry((one.kind.clone(), one.parent.clone())).or_default().push(one);
    }
    groups
}

/// Whether the agent took messages back: then what is said depends on when.
pub(crate) fn retracts(events: &[Value]) -> bool {
    events
        .iter()
        .any(|event| event.get("supersedes").is_some() || event.get("retracted_message_uuids").is_some())
}

/// The ids of the sessions that a file holds, under the name that its form has for them.
pub(crate) fn session_ids(events: &[Value], key: &str) -> BTreeSet<String> {
    events.iter().filter_map(|event| string(event, key)).filter(|id| !id.is_empty()).collect()
}

fn blocks(event: &Value) -> &[Value] {
    event["message"]["content"].as_array().map_or(&[], Vec::as_slice)
}

fn result_text(block: &Value) -> String {
    match &block["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts =
                parts.iter().filter(|part| part["type"] == "text").filter_map(|part| string(part, "text"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}
