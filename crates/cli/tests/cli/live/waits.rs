//! Calls that wait for a person.

use serde_json::json;

use super::run::{PaintedRun, Start, check_same, unpainted};
use super::stream::{agent, call, command, ends, reply, result};

/// A request of the agent for permission.
fn asks(call: &str, tool: &str) -> String {
    let request = json!({"subtype": "can_use_tool", "tool_name": tool, "tool_use_id": call, "input": {}});
    format!("{}\n", json!({"type": "control_request", "request_id": format!("r-{call}"), "request": request}))
}

#[test]
fn a_call_that_waits_for_a_person_says_so_and_since_when() {
    let mut run = Start { variables: &[("STREAMFMT_MOTION", "1")], ..Start::default() }.run();
    let begin = command("c-1", "cargo test");
    run.feed(&begin);
    run.until_shown("● Bash cargo test ⠋");
    run.feed(&asks("c-1", "Bash"));
    run.until_shown("● Bash cargo test ▲ waits for permission");
    run.until_shown("● Bash cargo test ▲ waits for permission · 1s");
    // It counts as running from the answer on.
    let answer = json!({"type": "control_cancel_request", "request_id": "r-c-1"});
    let answer = format!("{answer}\n");
    run.feed(&answer);
    run.until("a call that runs", |emulator| {
        let row = &emulator.screen()[0];
        !row.contains("waits")
            && row.starts_with("● Bash cargo test ")
            && row.len() > "● Bash cargo test ".len()
    });
    let rest = result("c-1", "ok") + &ends();
    run.feed(&rest);
    check_same(&run.finish(), &unpainted("", (80, 24), &(begin + &asks("c-1", "Bash") + &answer + &rest)));
}

#[test]
fn each_kind_of_call_says_what_it_waits_for() {
    let question = json!({"questions": [{"question": "Why?", "header": "Why", "options": []}]});
    for (arguments, begin, asks, row) in [
        (
            "--set layout.glyphs=ascii",
            command("c-1", "ls"),
            asks("c-1", "Bash"),
            "Bash ls ! waits for permission",
        ),
        (
            "",
            call("c-1", "AskUserQuestion", &question),
            asks("c-1", "AskUserQuestion"),
            "▲ waits for an answer",
        ),
        (
            "",
            call("c-1", "ExitPlanMode", &json!({"plan": "Paint it."})),
            asks("c-1", "ExitPlanMode"),
            "▲ waits for approval of a plan",
        ),
        ("", agent("c-1", "Look"), asks("c-1", "Agent"), "Look ▲ waits for permission"),
    ] {
        let mut run = PaintedRun::start(arguments);
        run.feed(&(reply("m-1", "I begin.") + &begin + &asks));
        run.until_shown(row);
        run.feed(&(result("c-1", "ok") + &ends()));
        let ended = run.finish();
        let rows = ended.emulator.rows().join("\n");
        assert!(!rows.contains("waits for"), "{rows}");
        assert!(rows.contains("asks for"), "{rows}");
    }
}
