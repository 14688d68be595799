//! The output has a file's content, each part once, and all forms of a session have the same content.

use crate::recordings::{events, recordings};
use crate::said::{Said, by_parent, came, comparable, live, retracts, session_ids};
use crate::{format, items};

#[test]
fn what_a_stream_says_comes_out_each_once_and_in_order() {
    let mut compared = 0;
    for recording in recordings() {
        for (name, bytes) in recording.forms().filter(|(name, _)| !name.ends_with("(history)")) {
            let Some(events) = events(bytes).filter(|events| !retracts(events)) else { continue };
            let expected = comparable(live(&events), &events);
            let came = comparable(came(&format(items(), [bytes]).text), &events);
            let (expected, came) = (by_parent(&expected), by_parent(&came));
            for group in expected.keys().chain(came.keys()) {
                let (expected, came) = (expected.get(group), came.get(group));
                let none = Vec::new();
                assert_list(expected.unwrap_or(&none), came.unwrap_or(&none), &format!("{name}, {group:?}"));
            }
            compared += expected.len();
        }
    }
    assert!(compared > 0, "nothing was compared");
}

#[test]
fn a_stream_says_the_same_with_and_without_its_partial_messages() {
    const KINDS: [&str; 5] = ["reply", "thinking", "call", "result", "outcome"];
    let mut compared = 0;
    for recording in recordings() {
        let Some(bytes) = &recording.partial else { continue };
        let (partial, whole): (Vec<&[u8]>, Vec<&[u8]>) =
            bytes.split_inclusive(|&byte| byte == b'\n').partition(|line| is_partial(line));
        if is_cut_off(&partial) {
            continue;
        }
        let [with, without] = [vec![bytes.as_slice()], whole].map(|pieces| {
            let said = came(&format(items(), pieces).text);
            said.into_iter().filter(|one| KINDS.contains(&one.kind.as_str())).collect::<Vec<_>>()
        });
        assert_list(&refs(&without), &refs(&with), &format!("{}, with partial messages", recording.name));
        compared += with.len();
    }
    assert!(compared > 0, "nothing was compared");
}

/// The items come from the complete messages, whatever was streamed of a call's input before. Only if the message lacks an input, the
/// streamed part stays as the call's text.
#[test]
fn a_call_is_that_of_its_message_whatever_was_streamed() {
    use serde_json::{Value, json};
    let event = |event: Value| json!({"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": null});
    let streamed = [
        "",
        "{}",
        "{\"command\":\"ls\"}",
        "{\"command\":\"l",
        "no json",
        "[1]",
        "null",
        "\"s\"",
        "{}{}",
        " {\n",
    ];
    let whole =
        [json!({}), json!(null), json!({"command": "ls"}), json!({"command": 1}), json!([]), json!("s")];
    for (delta, input) in streamed.iter().flat_map(|delta| whole.iter().map(move |input| (delta, input))) {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": input});
        let message = json!({"type": "assistant", "session_id": "s", "uuid": "u", "parent_tool_use_id": null,
                             "message": {"id": "msg_1", "role": "assistant", "content": [call]}});
        let lines = [
            event(json!({"type": "message_start", "message": {"id": "msg_1"}})),
            event(json!({"type": "content_block_start", "index": 0,
                         "content_block": {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}})),
            event(json!({"type": "content_block_delta", "index": 0,
                         "delta": {"type": "input_json_delta", "partial_json": delta}})),
            message.clone(),
            event(json!({"type": "content_block_stop", "index": 0})),
            event(json!({"type": "message_stop"})),
        ];
        let with = lines.map(|line| line.to_string() + "\n").concat();
        let [with, without] = [with, format!("{message}\n")].map(|input| {
            let text = format(items(), [input.as_bytes()]).text;
            let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            all.filter(|item| item["kind"] == "call").collect::<Vec<_>>()
        });
        let names = ["id", "place", "tool", "action", "does", "input", "status"];
        let said =
            |all: &[Value]| all.iter().map(|one| names.map(|name| one[name].clone())).collect::<Vec<_>>();
        assert_eq!(said(&with), said(&without), "{delta} {input}");
        let is_left_out = input.is_null() || *input == json!({});
        let is_kept = is_left_out && !matches!(*delta, "" | "{}" | "null");
        assert_eq!(with[0]["text"], if is_kept { json!(delta) } else { Value::Null }, "{delta} {input}");
    }
}

#[test]
fn a_history_says_what_its_stream_said_in_the_same_order() {
    const KINDS: [&str; 4] = ["reply", "thinking", "call", "result"];
    let (mut compared, mut changes) = (0, 0);
    for recording in recordings() {
        let (Some(stream), Some(history)) = (&recording.stream, &recording.history) else { continue };
        let (Some(streamed), Some(kept)) = (events(stream), events(history)) else { continue };
        let ids = session_ids(&streamed, "session_id");
        let of_one = ids.len() == 1 && !ids.is_disjoint(&session_ids(&kept, "sessionId"));
        if !of_one || retracts(&streamed) {
            continue;
        }
        let [streamed, kept] = [stream, history].map(|bytes| {
            let said = came(&format(items(), [bytes.as_slice()]).text).into_iter();
            let main = said.filter(|one| one.parent.is_none() && KINDS.contains(&one.kind.as_str()));
            // A call's input may have been completed in the history.
            main.map(|one| Said { input: None, ..one }).collect::<Vec<_>>()
        });
        changes += streamed.iter().map(|one| one.change.len()).sum::<usize>();
        let mut rest = kept.iter();
        for one in &streamed {
            assert!(
                rest.any(|other| one.is_said_by(other)),
                "{}: the history lacks, or has elsewhere: {one:?}",
                recording.name
            );
        }
        compared += streamed.len();
    }
    assert!(compared > 0 && changes > 0, "nothing was compared");
}

fn assert_list(expected: &[&Said], came: &[&Said], name: &str) {
    let same = expected.iter().zip(came).take_while(|(one, other)| one == other).count();
    assert!(
        expected == came,
        "{name}: {} expected, {} came; number {same} is\n{:?}\ninstead of\n{:?}",
        expected.len(),
        came.len(),
        came.get(same),
        expected.get(same)
    );
}

fn refs(said: &[Said]) -> Vec<&Said> {
    said.iter().collect()
}

fn is_partial(line: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|event| event["type"] == "stream_event")
}

/// Whether a message began and never ended: its text so far is shown, so both forms may differ.
fn is_cut_off(partial: &[&[u8]]) -> bool {
    let events = partial.iter().filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let balance = events.map(|event| match event["event"]["type"].as_str() {
        Some("message_start") => 1,
        Some("message_stop") => -1,
        _ => 0,
    });
    balance.sum::<i32>() != 0
}
