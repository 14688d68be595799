//! Events late, early, twice, of several sessions and agents at once: each text is shown once, in the right session.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{call, engine, full, reply, reply_with, result, run, times};

fn streamed(parent: Option<&str>, event: &Value) -> String {
    let line =
        json!({"type": "stream_event", "event": event, "parent_tool_use_id": parent, "session_id": "s-1"});
    format!("{line}\n")
}

/// A message that streams and is then repeated as a whole; each of its texts comes in two pieces.
fn message(id: &str, parent: Option<&str>, texts: &[String]) -> Vec<String> {
    let mut lines =
        vec![streamed(parent, &json!({"type": "message_start", "message": {"id": id, "content": []}}))];
    for (index, text) in texts.iter().enumerate() {
        let middle = text.len() / 2;
        lines.push(streamed(
            parent,
            &json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        ));
        for piece in [&text[..middle], &text[middle..]] {
            lines.push(streamed(
                parent,
                &json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}),
            ));
        }
        lines.push(reply_with(
            text,
            &json!({"message": {"id": id, "content": [{"type": "text", "text": text}]}, "parent_tool_use_id": parent}),
        ));
        lines.push(streamed(parent, &json!({"type": "content_block_stop", "index": index})));
    }
    lines.push(streamed(parent, &json!({"type": "message_delta", "delta": {}})));
    lines.push(streamed(parent, &json!({"type": "message_stop"})));
    lines
}

#[test]
fn a_result_before_its_call_a_second_one_and_one_without_a_call_are_all_shown() {
    let input = [
        result("toolu_1", "early result"),
        call("toolu_1", "Bash", &json!({"command": "the command"})),
        result("toolu_1", "second result"),
        result("toolu_9", "stray result"),
        result("toolu_9", "stray result"),
    ];
    let out = full(input.concat().as_bytes());
    for text in ["early result", "the command", "second result", "stray result"] {
        assert_eq!(times(&out, text), 1, "{text}\n{out}");
    }
}

#[test]
fn one_message_id_in_two_sessions_is_two_messages() {
    let of = |session: &str, text: &str| {
        let message =
            json!({"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": text}]});
        reply_with(text, &json!({"message": message, "session_id": session}))
    };
    let out = full(
        [of("s-1", "said in one"), of("s-2", "said in the other"), of("s-1", "said again")]
            .concat()
            .as_bytes(),
    );
    for text in ["said in one", "said in the other", "said again"] {
        assert_eq!(times(&out, text), 1, "{text}\n{out}");
    }
}

#[test]
fn a_change_of_session_is_told_where_it_happens() {
    let of = |session: &str, text: &str| reply_with(text, &json!({"session_id": session}));
    let input =
        [of("session-a", "one"), of("session-a", "two"), of("session-b", "three"), of("session-a", "four")];
    for (writer, profile) in [("text", "default"), ("text", "full"), ("text", "plain"), ("json", "default")] {
        let out = run(&engine(writer, profile, None), input.concat().as_bytes()).0;
        let order = ["one", "two", "session-b", "three", "session-a", "four"];
        let mut rest = out.as_str();
        for part in order {
            let at = rest.find(part).unwrap_or_else(|| panic!("{profile}: no {part} in {rest}"));
            rest = &rest[at + part.len()..];
        }
        assert_eq!(out.matches("session-a").count(), 1, "{out}");
    }
}

#[test]
fn agents_that_speak_in_turns_are_told_apart() {
    let task = |id: &str, name: &str| {
        call(id, "Task", &json!({"description": name, "prompt": "go", "subagent_type": "general"}))
    };
    let of = |parent: &str, text: &str| reply_with(text, &json!({"parent_tool_use_id": parent}));
    let input = [
        task("toolu_1", "first task"),
        task("toolu_2", "second task"),
        of("toolu_1", "one"),
        of("toolu_2", "two"),
        of("toolu_2", "three"),
        of("toolu_1", "four"),
    ];
    let numbered = ["①│   one", "②│   two", "②│   three", "①│   four"];
    let in_words =
        ["agent 1 reply: one", "agent 2 reply: two", "agent 2 reply: three", "agent 1 reply: four"];
    for (profile, order) in [("default", numbered), ("full", numbered), ("plain", in_words)] {
        let out = run(&engine("text", profile, None), input.concat().as_bytes()).0;
        let mut rest = out.as_str();
        for part in order {
            let at = rest.find(part).unwrap_or_else(|| panic!("{profile}: no {part} in {rest}\n\nof {out}"));
            rest = &rest[at + part.len()..];
        }
    }
}

#[test]
fn the_agent_of_a_first_line_right_under_its_call_is_not_named_again() {
    let input = [
        call("toolu_1", "Task", &json!({"description": "first task", "prompt": "go"})),
        reply_with("one", &json!({"parent_tool_use_id": "toolu_1"})),
        reply_with("two", &json!({"parent_tool_use_id": "toolu_1"})),
        reply("three"),
    ];
    let out = run(&engine("text", "default", None), input.concat().as_bytes()).0;
    let named = out.lines().filter(|line| !line.starts_with('▲') && line.contains("first task"));
    assert_eq!(named.count(), 1, "{out}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whole_texts_come_out_once_wherever_they_stand_among_their_pieces(
        shape in vec((0_usize..3, 1_usize..4), 1..5),
        order in any::<u64>(),
    ) {
        let mut lines = Vec::new();
        let mut texts = Vec::new();
        for (number, (parent, count)) in shape.iter().enumerate() {
            let said: Vec<String> = (0..*count).map(|block| format!("text-{number}-{block}-end")).collect();
            let parent = ["toolu_1", "toolu_2"].get(*parent).copied();
            let (mut whole, streamed): (Vec<String>, Vec<String>) = message(&format!("msg_{number}"), parent, &said)
                .into_iter()
                .partition(|line| line.contains("\"type\":\"assistant\""));
            shuffle(&mut whole, order);
            lines.extend(mixed(whole, streamed, order));
            texts.extend(said);
        }
        let out = run(&engine("items", "full", None), lines.concat().as_bytes()).0;
        for text in &texts {
            prop_assert_eq!(out.matches(&format!("\"text\":\"{text}\"")).count(), 1, "{}\n{}\n{}", text, lines.concat(), out);
        }
    }

    #[test]
    fn messages_that_stream_between_each_other_come_out_once_and_in_their_order(turns in vec(0_usize..3, 0..80)) {
        let parents = [None, Some("toolu_1"), Some("toolu_2")];
        let mut threads: Vec<std::collections::VecDeque<String>> = parents
            .iter()
            .enumerate()
            .map(|(thread, parent)| {
                let said = |number: usize| vec![format!("text-{thread}-{number}-a"), format!("text-{thread}-{number}-b")];
                (0..2).flat_map(|number| message(&format!("msg_{thread}_{number}"), *parent, &said(number))).collect()
            })
            .collect();
        let mut input = String::new();
        for turn in turns.into_iter().chain([0, 1, 2].into_iter().flat_map(|thread| [thread; 40])) {
            input.extend(threads[turn].pop_front());
        }
        let out = run(&engine("items", "full", None), input.as_bytes()).0;
        for thread in 0..3 {
            let want: Vec<String> = (0..2).flat_map(|number| ["a", "b"].map(|block| format!("text-{thread}-{number}-{block}"))).collect();
            let came: Vec<String> = out
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap_or("").to_owned())
                .filter(|text| text.starts_with(&format!("text-{thread}-")))
                .collect();
            prop_assert_eq!(came, want);
        }
    }
}

/// Shuffles lines; the same `state` gives the same order.
fn shuffle(lines: &mut [String], mut state: u64) {
    for at in (1..lines.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        lines.swap(at, (state >> 33) as usize % (at + 1));
    }
}

/// Interleaves two lists, keeping the order of each; the same `state` gives the same result.
fn mixed(one: Vec<String>, other: Vec<String>, mut state: u64) -> Vec<String> {
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    let mut lines = Vec::new();
    while one.peek().is_some() || other.peek().is_some() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        lines.extend(if (state >> 33).is_multiple_of(4) { one.next() } else { other.next() });
    }
    lines
}
