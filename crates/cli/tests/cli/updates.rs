//! `--to json --live always`: one update per line.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::{Folder, Running, contains};

/// A message streamed in small pieces, and then complete.
fn streamed(id: &str, pieces: &[&str]) -> Vec<String> {
    let event =
        |event: Value| format!("{}\n", json!({"type": "stream_event", "event": event, "session_id": "s"}));
    let mut lines = vec![
        event(json!({"type": "message_start", "message": {"id": id, "content": []}})),
        event(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
    ];
    lines.extend(pieces.iter().map(|text| {
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        )
    }));
    lines.push(whole(id, &json!([{"type": "text", "text": pieces.concat()}])));
    lines
}

fn whole(id: &str, content: &Value) -> String {
    let message = json!({"id": id, "role": "assistant", "content": content});
    format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s"}))
}

fn result(call: &str) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "fine"}]);
    format!(
        "{}\n",
        json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s"})
    )
}

fn updates(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The final state: the entries by their ids.
fn folded(updates: &[Value]) -> BTreeMap<String, Value> {
    let mut shown = BTreeMap::new();
    for update in updates {
        let id = update["entry"]["id"].as_str().unwrap().to_owned();
        match update["update"].as_str().unwrap() {
            "put" => drop(shown.insert(id, update["entry"].clone())),
            "drop" => drop(shown.remove(&id)),
            other => panic!("{other}"),
        }
    }
    shown
}

#[test]
fn what_grows_is_shown_though_the_input_pauses_and_what_is_finished_at_once() {
    let folder = Folder::with(&[]);
    let mut running = Running::start(&folder, "--to json --live always --set live.rate=1");
    let lines = streamed("m", &["one ", "two ", "three"]);
    running.feed(&lines[..3].concat());
    running.until_shown("one ");
    // The last state is written although no more input comes.
    running.feed(&lines[3]);
    running.until_shown("one two ");
    // A complete entry doesn't wait for the next tick.
    running.feed(&lines[4..].concat());
    running.feed(&whole(
        "n",
        &json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
    ));
    running.until_shown("\"call\"");
    running.feed(&result("t"));
    let outcome = running.finish();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let updates = updates(&outcome.stdout);
    let told: Vec<String> = updates
        .iter()
        .map(|update| {
            assert_eq!(update["v"], 1);
            let flag = |name: &str| match &update[name] {
                Value::Null => String::new(),
                flag => format!(" {name}={flag}"),
            };
            let entry = &update["entry"];
            let (id, status) = (entry["id"].as_str().unwrap(), entry["status"].as_str().unwrap());
            format!("{} {id} {status}{}{}", update["revision"], flag("partial"), flag("answered"))
        })
        .collect();
    assert_eq!(
        told,
        [
            "3 m/0 open partial=true",
            "4 m/0 open partial=true",
            "6 m/0 done",
            "7 t done answered=false",
            "8 t/result done",
            "8 t done answered=true",
            "9 no-outcome done",
        ]
    );
}

#[test]
fn a_file_gives_the_same_updates_every_time_and_ends_as_the_lines_do() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.partial.jsonl");
    let folder = Folder::with(&[("s.jsonl", &std::fs::read_to_string(sample).unwrap())]);
    let once = folder.run("--to json --live always s.jsonl").expect(0, "");
    let again = folder.run("--to json --live always s.jsonl").expect(0, "");
    assert_eq!(once.stdout, again.stdout);
    let plain = folder.run("--to json s.jsonl").expect(0, "");
    let mut written: BTreeMap<String, Value> = BTreeMap::new();
    for mut entry in updates(&plain.stdout) {
        entry.as_object_mut().unwrap().remove("of");
        written.insert(entry["id"].as_str().unwrap().to_owned(), entry);
    }
    let mut shown = folded(&updates(&once.stdout));
    for entry in shown.values_mut() {
        for own in ["call", "depth"] {
            entry.as_object_mut().unwrap().remove(own);
        }
    }
    assert_eq!(shown, written);
    for never in ["--live auto", "--live never"] {
        assert_eq!(folder.run(&format!("--to json {never} s.jsonl")).expect(0, "").stdout, plain.stdout);
    }
}

#[test]
fn a_secret_is_masked_while_it_grows() {
    let folder = Folder::with(&[]);
    let mut running = Running::start(&folder, "--to json --live always --redact --set live.rate=1000");
    let secret = "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2";
    let text = format!(
        "first\nthe token {secret}\n-----BEGIN PRIVATE KEY-----\nMIIabc (odd) line\nMIIdef\n-----END PRIVATE KEY-----\nlast"
    );
    let pieces: Vec<&str> = text.split_inclusive(|_| true).collect();
    for line in streamed("m", &pieces) {
        running.feed(&line);
        std::thread::yield_now();
    }
    let outcome = running.finish();
    let shown = updates(&outcome.stdout);
    // The reply is followed by the notice that the stream has no result.
    let reply = shown.iter().rev().find(|update| update["entry"]["kind"] == "reply").unwrap();
    assert!(reply["entry"]["body"][0]["text"].as_str().unwrap().ends_with("last"));
    for part in ["ghp_", "odd", "MII"] {
        assert!(!contains(outcome.stdout.as_bytes(), part), "{part}: {}", outcome.stdout);
    }
}
