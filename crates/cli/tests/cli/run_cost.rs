//! `run --warn-cost` and `--stop-cost`.

use serde_json::{Value, json};

use crate::program::{Folder, Outcome};
use crate::run::{agents, run, side_file};

/// A line of a message of Claude, with a million tokens of output.
fn message(id: &str, model: &str) -> String {
    let usage = json!({"input_tokens": 0, "output_tokens": 1_000_000});
    let message = json!({"id": id, "role": "assistant", "model": model, "content": [{"type": "text", "text": "Hi."}], "usage": usage});
    format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s-1"}))
}

/// The last line of a stream, with the cost that the agent states.
fn result(cost: f64) -> String {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": "Hi.", "total_cost_usd": cost, "session_id": "s-1"});
    format!("{result}\n")
}

/// An agent with a message for $15, one for $5, one without a price, and two results with a cost beside it.
fn agent(script: &str) -> Folder {
    let folder = agents(&[("agent", script)]);
    folder.write("fifteen", message("m-1", "claude-sonnet-4-5-20250929"));
    folder.write("five", message("m-2", "claude-haiku-4-5-20251001"));
    folder.write("unpriced", message("m-3", "acme-unpriced-9"));
    folder.write("cheap", result(0.5));
    folder.write("dear", result(21.0));
    folder
}

/// The last item of the output.
fn last(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.stdout.lines().last().unwrap()).unwrap()
}

#[test]
fn a_run_that_costs_too_much_is_stopped_like_one_that_is_interrupted() {
    // A shell waits for a program before it obeys a signal, but the program of its group gets it as well.
    let folder = agent("cat fifteen five\nsleep 100");
    let outcome = run(&folder, "run --to items --stop-cost 19.99 -- ./agent");
    let outcome = outcome.expect(130, "streamfmt: the run has cost more than $19.99: stopping it\n");
    let last = last(&outcome);
    let data = json!({"event": "no-outcome", "interrupted": true, "level": "warning", "reason": "cost"});
    assert_eq!(last["data"], data, "{last}");
    assert_eq!(side_file(&folder)["status"], "interrupted");
    assert_eq!(side_file(&folder)["stopped_for_cost"], true);
    let listed = run(&folder, "sessions list --json").stdout;
    assert!(listed.contains("\"status\":\"interrupted\""), "{listed}");
}

#[test]
fn an_agent_that_ignores_the_interrupt_is_killed() {
    let folder = agent("trap '' INT\ncat fifteen\nsleep 100");
    let outcome = run(&folder, "run --to text --kill-after 0.1 --stop-cost 1 -- ./agent");
    let outcome = outcome.expect(130, "streamfmt: the run has cost more than $1: stopping it\n");
    assert!(outcome.stdout.contains("interrupted: it cost more than allowed"), "{outcome:?}");
    assert_eq!(side_file(&folder)["exit"], json!({"signal": 9}));
}

#[test]
fn passing_a_limit_is_reported_once() {
    let folder = agent("cat fifteen five five session");
    for (options, stderr) in [
        ("--warn-cost 15", "streamfmt: the run has cost more than $15\n"),
        ("--warn-cost 1 --stop-cost 100", "streamfmt: the run has cost more than $1\n"),
        ("--warn-cost 20 --stop-cost 100", ""),
        ("", ""),
    ] {
        run(&folder, &format!("run --to text {options} -- ./agent")).expect(0, stderr);
    }
}

#[test]
fn a_run_that_has_its_result_is_not_stopped() {
    let folder = agent("cat five dear");
    let outcome = run(&folder, "run --to text --stop-cost 20 -- ./agent");
    outcome.expect(0, "streamfmt: the run has cost more than $20\n");
    assert_eq!(side_file(&folder)["status"], "done");
    assert_eq!(side_file(&folder).get("stopped_for_cost"), None);
}

#[test]
fn the_cost_that_the_agent_states_counts() {
    let folder = agent("cat fifteen cheap five\ncat cheap");
    run(&folder, "run --to text --warn-cost 15.5 -- ./agent").expect(0, "");
}

#[test]
fn tokens_without_a_price_are_reported_if_the_cost_is_limited() {
    let folder = agent("cat unpriced unpriced session");
    let missing = "streamfmt: a model of this run has no known price: its tokens don't count for the limit of the cost\n";
    run(&folder, "run --to text --stop-cost 1 -- ./agent").expect(0, missing);
    run(&folder, "run --to text -- ./agent").expect(0, "");
}

#[test]
fn a_limit_is_a_number_of_dollars() {
    let folder = agent("cat cheap");
    for wrong in ["-1", "much", "NaN", "inf", "$5"] {
        let outcome = run(&folder, &format!("run --stop-cost={wrong} -- ./agent"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("expected a number of US dollars"), "{outcome:?}");
    }
}
