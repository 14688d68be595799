//! What a file says comes out, each thing once; and all forms of a session say the same.

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

#[test]
fn a_history_says_what_its_stream_said_in_the_same_order() {
    const KINDS: [&str; 4] = ["reply", "thinking", "call", "result"];
    let mut compared = 0;
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
            // A call's input may have been completed on its way into the history.
            main.map(|one| Said { input: None, ..one }).collect::<Vec<_>>()
        });
        let mut rest = kept.iter();
        for one in &streamed {
            assert!(
                rest.any(|other| other == one),
                "{}: the history lacks, or has elsewhere: {one:?}",
                recording.name
            );
        }
        compared += streamed.len();
    }
    assert!(compared > 0, "nothing was compared");
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

/// Whether a message began that never ended: what was said of it is shown, so both forms may differ.
fn is_cut_off(partial: &[&[u8]]) -> bool {
    let events = partial.iter().filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let balance = events.map(|event| match event["event"]["type"].as_str() {
        Some("message_start") => 1,
        Some("message_stop") => -1,
        _ => 0,
    });
    balance.sum::<i32>() != 0
}
