//! Every field of every kind of event, with every wrong type: content that doesn't depend on the field is still shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use streamfmt::golden::Suite;

use crate::{assert_harmless, engine, full, reply, run, solid};

/// The replacements for a field, by name. An empty one removes the field.
pub(crate) fn replacements() -> Vec<(&'static str, String)> {
    vec![
        ("nothing", String::new()),
        ("null", "null".into()),
        ("a truth", "true".into()),
        ("a number", "-17.5".into()),
        ("no number", "1e400".into()),
        ("a string", "\"odd\"".into()),
        ("an empty string", "\"\"".into()),
        ("a broken string", "\"\\ud83d \\u001b[2J\\u202e\"".into()),
        ("a list", "[1,[null,{}],\"odd\"]".into()),
        ("an object", "{\"odd\":{\"odd\":[]},\"\":1}".into()),
        ("something deep", format!("{}{}", "[{\"a\":".repeat(300) + "1", "}]".repeat(300))),
        ("something long", format!("\"{}\"", "long ".repeat(4_000))),
        ("something twice", "1,\"again\":1,\"again\":\"odd\"".into()),
    ]
}

#[test]
fn a_field_of_a_wrong_type_costs_no_other_text() {
    try_fields(&events(), reply);
}

#[test]
fn a_field_of_a_wrong_type_costs_no_other_text_of_codex() {
    try_fields(&codex_events(), |text| {
        let item = serde_json::json!({ "id": text, "type": "agent_message", "text": text });
        format!("{}\n", serde_json::json!({ "type": "item.completed", "item": item }))
    });
}

#[test]
fn a_field_of_a_wrong_type_costs_no_other_text_of_opencode() {
    let shape = |event: &Value| {
        let [part, properties] = [&event["part"], &event["properties"]];
        let parts = [&event["type"], &part["type"], &part["tool"], &properties["part"]["type"]];
        format!("{parts:?}")
    };
    try_fields(&golden_events("opencode", shape), |text| {
        let part = serde_json::json!({ "id": text, "messageID": "m", "type": "text", "text": text });
        format!("{}\n", serde_json::json!({ "type": "text", "sessionID": "ses_1", "part": part }))
    });
}

#[test]
fn a_field_of_a_wrong_type_costs_no_other_text_of_pi() {
    let shape = |event: &Value| {
        let parts = [&event["type"], &event["message"]["role"], &event["message"]["toolName"]];
        format!("{parts:?} {}", event["assistantMessageEvent"]["type"])
    };
    try_fields(&golden_events("pi", shape), |text| {
        let content = serde_json::json!([{ "type": "text", "text": text }]);
        let message = serde_json::json!({ "role": "assistant", "content": content, "timestamp": 9 });
        format!("{}\n", serde_json::json!({ "type": "message_end", "message": message }))
    });
}

#[test]
fn a_field_of_a_wrong_type_costs_no_other_text_of_cline() {
    let shape = |event: &Value| {
        let inside = &event["event"];
        let parts = [&event["type"], &inside["type"], &inside["contentType"], &inside["toolName"]];
        format!("{parts:?}")
    };
    try_fields(&golden_events("cline", shape), |text| {
        let event = serde_json::json!({ "type": "content_end", "contentType": "text", "text": text });
        format!("{}\n", serde_json::json!({ "ts": "t", "type": "agent_event", "event": event }))
    });
}

/// Tries every field of these events between two replies, which `reply` creates from their text.
fn try_fields(events: &[Value], reply: fn(&str) -> String) {
    let (text, items, ansi) =
        (engine("text", "full", None), engine("items", "full", None), engine("ansi", "default", Some(60)));
    let mut tried = 0;
    let mut lost = BTreeSet::new();
    for event in events {
        let shown = shown_texts(event);
        for path in paths(event) {
            for (name, replacement) in replacements() {
                let line = replaced(event, &path, &replacement);
                let input = format!("{}{line}\n{}", reply("said before"), reply("said after"));
                let about = || format!("{} becomes {name} in {event}", path.join("."));
                let out = run(&text, input.as_bytes()).0;
                assert_harmless(&out, false, &about());
                // The other outputs use the same items: two kinds of wrong values are enough for them.
                let others = [(&items, false), (&ansi, true)];
                let is_tried = matches!(name, "a broken string" | "a list");
                for (engine, is_coloured) in others.into_iter().filter(|_| is_tried) {
                    let out = run(engine, input.as_bytes()).0;
                    assert_harmless(&out, is_coloured, &about());
                    assert!(out.contains("said before") && out.contains("said after"), "{}", about());
                }
                let out = solid(&out);
                for (at, said) in &shown {
                    // The text for the model replaces the tool's own value.
                    let stands_for =
                        path.join(".") == "message.content.0.content" && at[0].ends_with("esult");
                    let depends = at.starts_with(&path) || stands_for;
                    if !(depends || out.contains(said)) {
                        lost.insert(format!(
                            "{}: {} becomes {name}: costs {}",
                            event["type"],
                            path.join("."),
                            at.join(".")
                        ));
                    }
                }
                tried += 1;
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(tried > 1_000, "only {tried} were tried");
}

/// The texts of an event that are shown, with their paths. A denied call is shown by the call itself.
fn shown_texts(event: &Value) -> Vec<(Vec<String>, String)> {
    let out = solid(&full(format!("{event}\n").as_bytes()));
    let mut texts = Vec::new();
    for path in paths(event) {
        let pointer = format!("/{}", path.join("/"));
        let Some(text) = event.pointer(&pointer).and_then(Value::as_str) else { continue };
        let first: String = solid(text.trim().lines().next().unwrap_or("")).chars().take(40).collect();
        // Short words may occur anywhere.
        if first.len() >= 12 && first.is_ascii() && out.contains(&first) && is_text(&path) {
            texts.push((path, first));
        }
    }
    texts
}

/// Whether the field is text for readers, rather than an id or a time.
fn is_text(path: &[String]) -> bool {
    const TEXTS: [&str; 6] = ["text", "content", "thinking", "result", "command", "prompt"];
    let is_denied = path.iter().any(|key| key == "permission_denials");
    !is_denied && path.last().is_some_and(|key| TEXTS.contains(&key.as_str()))
}

/// The event as a line, with the value at `path` replaced.
pub(crate) fn replaced(event: &Value, path: &[String], replacement: &str) -> String {
    let mut event = event.clone();
    let (last, parents) = path.split_last().unwrap();
    let parent = parents.iter().fold(&mut event, |value, key| match value {
        Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        _ => &mut value[key.as_str()],
    });
    match parent {
        Value::Array(items) if replacement.is_empty() => drop(items.remove(last.parse().unwrap())),
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = "@here@".into(),
        Value::Object(fields) if replacement.is_empty() => drop(fields.remove(last)),
        Value::Object(fields) => drop(fields.insert(last.clone(), "@here@".into())),
        _ => unreachable!("a path leads through containers"),
    }
    // An array has no keys to repeat.
    let is_list = last.parse::<usize>().is_ok();
    let replacement = if is_list { replacement.replace("\"again\":", "") } else { replacement.to_owned() };
    event.to_string().replace("\"@here@\"", &replacement)
}

/// The paths of all values in an event, with at most two elements of each array.
pub(crate) fn paths(event: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), event)];
    while let Some((path, value)) = open.pop() {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(items) => {
                items.iter().take(2).enumerate().map(|(at, item)| (at.to_string(), item)).collect()
            }
            _ => continue,
        };
        for (key, value) in children {
            if key.contains(['/', '~']) || path.len() > 7 {
                continue;
            }
            let mut path: Vec<String> = path.clone();
            path.push(key);
            found.push(path.clone());
            open.push((path, value));
        }
    }
    found
}

/// One event of each shape in the samples.
fn events() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples");
    let mut files: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut shapes = BTreeSet::new();
    let mut events = Vec::new();
    for file in files.iter().filter(|file| file.is_file()) {
        for line in fs::read_to_string(file).unwrap().lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            let block = &event["message"]["content"][0];
            let shape = [
                &event["type"],
                &event["subtype"],
                &event["event"]["type"],
                &event["event"]["delta"]["type"],
                &block["type"],
                &block["name"],
                &event["attachment"]["type"],
            ];
            let shape = format!("{shape:?} {}", event.get("sessionId").is_some());
            if line.len() < 6_000 && shapes.insert(shape) {
                events.push(event);
            }
        }
    }
    events
}

/// The events of the golden cases of Codex.
fn codex_events() -> Vec<Value> {
    golden_events("codex", |event| {
        let shape = [
            &event["type"],
            &event["item"]["type"],
            &event["msg"]["type"],
            &event["payload"]["type"],
            &event["payload"]["item"]["type"],
            &event["payload"]["name"],
            &event["payload"]["role"],
        ];
        format!("{shape:?}")
    })
}

/// One event of each shape in an agent's golden cases.
fn golden_events(agent: &str, shape: fn(&Value) -> String) -> Vec<Value> {
    let suite = Suite::find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(agent));
    let inputs = suite.cells.iter().filter(|cell| cell.is_first).map(|cell| cell.case.input.bytes());
    let mut shapes = BTreeSet::new();
    let mut events = Vec::new();
    for input in inputs {
        let lines = input.split(|&byte| byte == b'\n');
        for event in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
            if event.is_object() && shapes.insert(shape(&event)) {
                events.push(event);
            }
        }
    }
    events
}
