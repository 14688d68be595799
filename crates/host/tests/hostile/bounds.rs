//! Growth has limits: a stream of any length uses bounded memory, and truncation is reported.

use serde_json::json;
use streamfmt::core::pipeline::{Pipeline, Setup};

use crate::{call, engine, full, reply, reply_with, result, run};

fn delta(parent: &str, index: usize, text: &str) -> String {
    let event =
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}});
    format!(
        "{}\n",
        json!({"type": "stream_event", "event": event, "parent_tool_use_id": parent, "session_id": "s-1"})
    )
}

#[test]
fn long_ids_are_cut_and_still_tell_things_apart() {
    let long = "i".repeat(100_000);
    let input = [
        call(&format!("{long}1"), "Bash", &json!({"command": "first command"})),
        call(&format!("{long}2"), "Bash", &json!({"command": "second command"})),
        result(&format!("{long}2"), "second result"),
        result(&format!("{long}1"), "first result"),
    ];
    let out = run(&engine("items", "full", None), input.concat().as_bytes()).0;
    assert!(out.len() < 10_000, "{} bytes", out.len());
    let items: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (result, call) in [(2, 1), (3, 0)] {
        assert_eq!(items[result]["call"], items[call]["id"]);
        assert!(items[result]["data"].get("orphan").is_none());
    }
    assert_ne!(items[0]["id"], items[1]["id"]);
}

#[test]
fn a_message_of_endless_blocks_says_each_of_them_once() {
    let input: String = (0..3_000).map(|index| delta("", index, &format!("block {index} end"))).collect();
    let out = full(input.as_bytes());
    for index in 0..3_000 {
        assert_eq!(out.matches(&format!("block {index} end")).count(), 1, "{index}");
    }
}

#[test]
fn agents_beyond_number_that_break_off_are_all_told() {
    let mut input = String::new();
    for number in 0..1_000 {
        let parent = format!("toolu_{number}");
        let start =
            json!({"type": "message_start", "message": {"id": format!("msg_{number}"), "content": []}});
        let line = json!({"type": "stream_event", "event": start, "parent_tool_use_id": parent, "session_id": "s-1"});
        input += &[line.to_string(), delta(&parent, 0, &format!("agent {number} began"))].join("\n");
    }
    let out = full(input.as_bytes());
    for number in 0..1_000 {
        assert_eq!(out.matches(&format!("agent {number} began")).count(), 1, "{number}");
    }
}

#[test]
fn agents_beyond_number_are_all_shown_and_the_main_thread_keeps_its_places() {
    let mut input = reply("main 0");
    for number in 0..10_000 {
        input += &reply_with(
            &format!("agent {number} end"),
            &json!({"parent_tool_use_id": format!("toolu_{number}")}),
        );
    }
    input += &reply("main 1");
    let out = run(&engine("items", "full", None), input.as_bytes()).0;
    assert_eq!(out.lines().count(), 10_002);
    let last: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(last["place"], 1);
}

#[test]
fn replies_that_grow_without_end_are_told_in_parts_and_lose_nothing() {
    let piece = "x".repeat(1 << 20);
    let mut input = String::new();
    for round in 0..35 {
        for parent in ["toolu_1", "toolu_2"] {
            input += &delta(parent, 0, &format!("[{parent}-{round}]{piece}"));
        }
    }
    let out = full(input.as_bytes());
    for parent in ["toolu_1", "toolu_2"] {
        for round in 0..35 {
            assert_eq!(out.matches(&format!("[{parent}-{round}]")).count(), 1, "{parent} {round}");
        }
    }
}

#[test]
fn many_records_on_one_line_are_all_read() {
    let line: String =
        (0..2_000).map(|number| reply(&format!("record {number} end")).trim().to_owned()).collect();
    let out = full(format!("{}{line}\n", reply("first")).as_bytes());
    for number in 0..2_000 {
        assert_eq!(out.matches(&format!("record {number} end")).count(), 1, "{number}");
    }
}

#[test]
fn a_line_whose_text_would_be_too_long_is_told_by_its_size() {
    let mut input = reply("before").into_bytes();
    input.extend(std::iter::repeat_n(0xff, 23 << 20));
    input.extend(format!("\n{}", reply("after")).into_bytes());
    let out = full(&input);
    assert!(out.contains("line 2") && out.contains("over the limit"), "{out}");
    assert!(out.contains("before") && out.contains("after"));
}

#[test]
fn counted_names_are_short() {
    let name = "n".repeat(100_000);
    let line = json!({"type": name, "session_id": "s-1"});
    let report = run(&engine("text", "default", None), format!("{}{line}\n", reply("x")).as_bytes()).1;
    assert!(report.unknown.keys().all(|name| name.len() < 1_000));
}

/// A history that names its model only with its first reply, after this many prompts of this many bytes.
#[test]
fn a_heading_waits_for_its_model_up_to_a_limit_and_what_waits_with_it_is_shown_in_order() {
    let line = |number: usize, kind: &str, message: serde_json::Value| {
        let line = json!({"type": kind, "uuid": format!("u-{number}"), "sessionId": "s-1", "cwd": "/home/dev/shop",
            "version": "2.1.332", "timestamp": "2026-07-01T00:00:00.000Z", "message": message});
        format!("{line}\n")
    };
    for (prompts, bytes, is_named) in [(3, 10, true), (62, 10, true), (100, 10, false), (8, 200_000, false)] {
        let text = |number: usize| format!("prompt {number} {}", "x".repeat(bytes));
        let mut input: String = (0..prompts)
            .map(|number| line(number, "user", json!({"role": "user", "content": text(number)})))
            .collect();
        let reply = json!({"id": "m", "role": "assistant", "model": "claude-opus-5-5", "content": [{"type": "text", "text": "Done."}]});
        input += &line(prompts, "assistant", reply);
        let setup = Setup { is_whole: true, ..engine("text", "full", None).setup() };
        let (mut pipeline, mut out) = (Pipeline::new(setup), String::new());
        pipeline.push(input.as_bytes(), &mut out).unwrap();
        pipeline.finish(&mut out).unwrap();
        let heading = out.lines().next().unwrap();
        assert!(heading.contains("/shop"), "{heading}");
        assert_eq!(
            heading.contains("claude-opus-5-5"),
            is_named,
            "{prompts} prompts of {bytes} bytes: {heading}"
        );
        let shown = out.split("prompt ").skip(1);
        let numbers = shown.map(|rest| rest.split_once(' ').unwrap().0.parse::<usize>().unwrap());
        assert_eq!(numbers.collect::<Vec<_>>(), (0..prompts).collect::<Vec<_>>());
        assert!(out.contains("Done."));
    }
}
