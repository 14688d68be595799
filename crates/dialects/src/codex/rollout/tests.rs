//! Session files: items that wait for later lines, and the limits.

use super::*;
use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::json::Record;

#[test]
fn beyond_the_limit_of_sub_agents_files_what_waits_in_the_oldest_is_emitted() {
    let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
    let puts = |out: &mut Vec<Event>| {
        let id = |event| match event {
            Event::Put(item) => item.id.to_string(),
            other => panic!("{other:?}"),
        };
        out.drain(..).map(id).collect::<Vec<_>>()
    };
    let wait = |codex: &mut Codex, name: &str, out: &mut Vec<Event>| {
        let call = Id::from(name);
        codex.swap_rollout(&call, out);
        let item = Box::new(Item::new(name, Kind::Notice, 1));
        codex.rollout.waiting.push(WaitingItem { item, key: None });
        codex.swap_rollout(&call, out);
    };
    let names: Vec<_> = (0..=MAX_INSIDE).map(|number| format!("file-{number}")).collect();
    for name in &names[..MAX_INSIDE] {
        wait(&mut codex, name, &mut out);
    }
    assert_eq!(puts(&mut out), [""; 0], "all fit");
    wait(&mut codex, &names[MAX_INSIDE], &mut out);
    assert_eq!(puts(&mut out), names[..1]);
    codex.flush_rollouts_inside(&mut out);
    assert_eq!(puts(&mut out), names[1..], "none is lost");
}

#[test]
fn beyond_the_limits_of_waiting_items_all_of_them_are_emitted_in_order() {
    let big = Record::from_line(format!("\"{}\"", "x".repeat(MAX_WAITING_BYTES / 2))).unwrap();
    let small = Record::from_line("1".to_owned()).unwrap();
    for (record, fitting) in [(small, MAX_WAITING), (big, 2)] {
        let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
        for number in 0..=fitting {
            assert_eq!(out.len(), 0, "{number} fit");
            let mut item = Item::new(format!("i-{number}"), Kind::Notice, 1);
            item.record = Some(record.clone());
            codex.wait(item, Some(1), &mut out);
        }
        assert_eq!(out.len(), fitting, "one more than fit");
        codex.flush_rollout(&mut out);
        let ids = out.iter().map(|event| match event {
            Event::Put(item) => item.id.to_string(),
            other => panic!("{other:?}"),
        });
        let expected: Vec<_> = (0..=fitting).map(|number| format!("i-{number}")).collect();
        assert_eq!(ids.collect::<Vec<_>>(), expected);
    }
}

/// Decodes the next line. `parent`: the call whose sub-agent wrote the file. `origin`: the session that the line repeats, if known.
fn decode(codex: &mut Codex, line: &str, parent: Option<&str>, origin: Option<&str>, out: &mut Vec<Event>) {
    let record = &Record::from_line(line.to_owned()).unwrap();
    let parent = parent.map(Id::from);
    let input = Input {
        record,
        value: record.root(),
        line: 1,
        parent: parent.as_ref(),
        origin,
        shows_minor: false,
        counts: false,
    };
    codex.decode(input, out);
}

/// The items that are complete, with their texts.
fn shown(out: &mut Vec<Event>) -> Vec<String> {
    let items = out.drain(..).filter_map(|event| match event {
        Event::Put(item) => Some(format!("{} {}", item.id.as_str(), item.text())),
        _ => None,
    });
    items.collect()
}

/// The call of a command whose output may be completed by another line, and the output.
fn command(id: &str, output: &str) -> [String; 2] {
    let line = |payload: &str| format!(r#"{{"type":"response_item","payload":{payload}}}"#);
    [
        line(&format!(r#"{{"type":"function_call","call_id":"{id}","name":"shell","arguments":"{{}}"}}"#)),
        line(&format!(r#"{{"type":"function_call_output","call_id":"{id}","output":{output}}}"#)),
    ]
}

#[test]
fn in_a_sub_agents_file_lines_of_the_session_that_started_it_are_not_shown_again() {
    let meta = |id: &str, more: &str| format!(r#"{{"type":"session_meta","payload":{{"id":"{id}"{more}}}}}"#);
    let numbered = |session: &str| {
        meta("s-2", &format!(r#","subagent_history_start_ordinal":9,"parent_thread_id":"{session}""#))
    };
    let reply = |number: u64| {
        format!(
            r#"{{"ordinal":{number},"type":"event_msg","payload":{{"type":"agent_message","message":"Hi."}}}}"#
        )
    };
    for (first, number, origin, is_shown, reason) in [
        (numbered("s-1"), 8, None, false, "it is before the file's own first line"),
        (numbered("s-1"), 9, None, true, "it is the file's own first line"),
        (numbered("s-0"), 8, None, true, "it is of a session that isn't shown"),
        (meta("s-2", ""), 8, Some("s-1"), false, "it is found in the session's file"),
        (meta("s-2", ""), 8, Some("s-0"), false, "it is found in the file of another sub-agent"),
        (meta("s-2", ""), 8, None, true, "nothing reports that it repeats another"),
    ] {
        let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
        decode(&mut codex, &meta("s-1", ""), None, None, &mut out);
        decode(&mut codex, &first, Some("t"), None, &mut out);
        out.clear();
        decode(&mut codex, &reply(number), Some("t"), origin, &mut out);
        let replies =
            out.iter().filter(|event| matches!(event, Event::Put(item) if item.kind == Kind::Reply));
        assert_eq!(replies.count(), usize::from(is_shown), "{reason}");
    }
}

#[test]
fn an_output_waits_for_another_line_only_if_that_may_complete_it() {
    let reported = |fields: &str| format!(r#"{{"content":"a"{fields}}}"#);
    for (output, waits, reason) in [
        ("\"a\"".to_owned(), true, "nothing tells how the command ended"),
        (reported(r#","metadata":{}"#), true, "nothing tells how the command ended"),
        (reported(r#","exit_code":0"#), false, "its code is known"),
        (reported(r#","success":true"#), false, "it has succeeded"),
        (reported(r#","success":false"#), false, "it has failed"),
    ] {
        let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
        let [call, output] = command("c", &output);
        decode(&mut codex, &call, None, None, &mut out);
        shown(&mut out);
        decode(&mut codex, &output, None, None, &mut out);
        assert_eq!(shown(&mut out).is_empty(), waits, "{reason}");
        codex.end(&mut out);
        assert_eq!(shown(&mut out).is_empty(), !waits, "{reason}");
    }
}

#[test]
fn an_output_of_no_call_that_is_awaited_waits_for_nothing() {
    for has_reports in [false, true] {
        let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
        codex.rollout.halves.has_reports = has_reports;
        decode(&mut codex, &command("unknown", "\"a\"")[1], None, None, &mut out);
        assert_eq!(shown(&mut out), ["unknown/result a"], "reports {has_reports}");
    }
}

#[test]
fn an_output_that_comes_again_while_the_first_waits_is_left_out() {
    let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
    let [call, first] = command("c", "\"a\"");
    for line in [call, first, command("c", "\"b\"")[1].clone()] {
        decode(&mut codex, &line, None, None, &mut out);
    }
    codex.end(&mut out);
    assert_eq!(shown(&mut out)[1..], ["c/result a"]);
}

#[test]
fn beyond_the_limit_of_waiting_results_all_of_them_are_emitted_in_order() {
    let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
    let commands: Vec<_> = (0..=MAX_WAITING).map(|number| command(&format!("c-{number}"), "\"a\"")).collect();
    for [call, _] in &commands {
        decode(&mut codex, call, None, None, &mut out);
    }
    shown(&mut out);
    let expected: Vec<_> = (0..=MAX_WAITING).map(|number| format!("c-{number}/result a")).collect();
    for [_, output] in &commands[..MAX_WAITING] {
        decode(&mut codex, output, None, None, &mut out);
    }
    assert_eq!(shown(&mut out), [""; 0], "all of them may wait");
    decode(&mut codex, &commands[MAX_WAITING][1], None, None, &mut out);
    assert_eq!(shown(&mut out), expected[..MAX_WAITING], "one more than may wait");
    codex.end(&mut out);
    assert_eq!(shown(&mut out), expected[MAX_WAITING..]);
}
