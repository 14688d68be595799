//! `sessions stats`: figures of histories and runs, added up. What each file really used is known here.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Folder, Outcome};
use crate::run::{agents, run};
use crate::sessions::{DATA, rows};

const SONNET: &str = "claude-sonnet-4-5-20250929";

/// A line of Claude Code's history.
fn line(session: &str, at: &str, kind: &str, message: &Value, more: &Value) -> String {
    let mut line = json!({"type": kind, "sessionId": session, "cwd": "/home/dev/shop", "version": "2.1.90", "isSidechain": false,
        "uuid": format!("{session}-{at}"), "parentUuid": null, "timestamp": at, "message": message});
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{line}\n")
}

fn prompt(session: &str, at: &str, text: &str) -> String {
    line(session, at, "user", &json!({"role": "user", "content": text}), &json!({}))
}

/// A line of an answer: `tokens` of input, output, from the cache and to it.
fn answer(session: &str, at: &str, id: &str, model: &str, tokens: [u64; 4], block: &Value) -> String {
    let [input, output, read, written] = tokens;
    let usage = json!({"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read, "cache_creation_input_tokens": written});
    let message = json!({"id": id, "role": "assistant", "model": model, "content": [block], "usage": usage});
    line(session, at, "assistant", &message, &json!({"requestId": format!("req-{id}")}))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}})
}

fn result(session: &str, at: &str, call: &str, is_error: bool) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": call, "is_error": is_error, "content": "Exit code 2"});
    line(session, at, "user", &json!({"role": "user", "content": [block]}), &json!({}))
}

/// A session with two answers, of which the first stands on two lines, the earlier one with a placeholder.
fn first() -> String {
    [
        prompt("s-1", "2026-10-25T00:10:00.000Z", "Build it."),
        answer("s-1", "2026-10-25T00:20:00.000Z", "m-1", SONNET, [10, 1, 200, 30], &text("I build it.")),
        answer("s-1", "2026-10-25T00:20:01.000Z", "m-1", SONNET, [10, 50, 200, 30], &call("t-1")),
        result("s-1", "2026-10-25T00:20:09.000Z", "t-1", true),
        // The hour that the clock of Berlin repeats.
        answer("s-1", "2026-10-25T01:20:00.000Z", "m-2", "acme-9", [5, 7, 0, 0], &text("It failed.")),
        line("s-1", "2026-10-25T01:20:01.000Z", "assistant", &json!({"id": "x-1", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": "API Error"}], "usage": {"input_tokens": 0, "output_tokens": 0}}), &json!({})),
    ]
    .concat()
}

/// A session that begins with the first half of that one under its own name, and goes on a day later.
fn resumed() -> String {
    let copied: String = first().lines().take(4).map(|line| line.replace("s-1", "s-2") + "\n").collect();
    copied
        + &prompt("s-2", "2026-10-26T10:00:00.000Z", "Try again.")
        + &answer("s-2", "2026-10-26T10:00:05.000Z", "m-3", SONNET, [3, 9, 0, 0], &text("It works."))
}

/// A home with these sessions, and a sub-agent of the first that no call names.
fn home() -> Folder {
    let folder = agents(&[]);
    let agent = answer(
        "s-1",
        "2026-10-25T00:30:00.000Z",
        "m-4",
        "claude-haiku-4-5-20251001",
        [1, 2, 3, 4],
        &text("Found."),
    );
    folder.write("p/s-1.jsonl", first());
    folder.write("p/s-2.jsonl", resumed());
    folder.write(
        "p/s-1/subagents/agent-a1.jsonl",
        agent.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1\""),
    );
    folder
}

fn stats(folder: &Folder, options: &str) -> Vec<Value> {
    let shown: Outcome = run(folder, &format!("sessions stats --json --timezone UTC {options}"));
    assert_eq!((shown.code, &*shown.stderr), (Some(0), ""), "{options}");
    shown.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The keys, sessions, turns, calls, failures and tokens of rows.
fn figures(rows: &[Value]) -> Vec<(String, [u64; 4], [u64; 4])> {
    let figures = |row: &Value| {
        let counts = ["sessions", "turns", "calls", "failed"].map(|name| row[name].as_u64().unwrap());
        let tokens = ["input", "output", "cache_read", "cache_write"]
            .map(|kind| row["tokens"][kind].as_u64().unwrap());
        (row["key"].as_str().unwrap_or("total").to_owned(), counts, tokens)
    };
    rows.iter().map(figures).collect()
}

fn row(key: &str, counts: [u64; 4], tokens: [u64; 4]) -> (String, [u64; 4], [u64; 4]) {
    (key.to_owned(), counts, tokens)
}

#[test]
fn what_several_lines_and_files_repeat_counts_once() {
    let folder = home();
    run(&folder, "sessions import p").expect(0, "");
    let by_day = [
        row("2026-10-25", [1, 1, 1, 1], [16, 59, 203, 34]),
        row("2026-10-26", [1, 1, 0, 0], [3, 9, 0, 0]),
        row("total", [2, 2, 1, 1], [19, 68, 203, 34]),
    ];
    let by_model = [
        row(SONNET, [2, 2, 1, 1], [13, 59, 200, 30]),
        row("claude-haiku-4-5-20251001", [1, 0, 0, 0], [1, 2, 3, 4]),
        row("acme-9", [1, 0, 0, 0], [5, 7, 0, 0]),
        row("total", [2, 2, 1, 1], [19, 68, 203, 34]),
    ];
    assert_eq!(figures(&stats(&folder, "")), by_day);
    assert_eq!(figures(&stats(&folder, "--by model")), by_model);
    let tools = stats(&folder, "--by tool");
    assert_eq!(figures(&tools), [row("Bash", [1, 0, 1, 1], [0; 4]), row("total", [1, 0, 1, 1], [0; 4])]);
    // The same from the files alone, again, and when they are gone.
    assert_eq!(figures(&stats(&folder, "p")), by_day);
    run(&folder, "sessions import p").expect(0, "");
    assert_eq!(figures(&stats(&folder, "--by model")), by_model);
    fs::remove_dir_all(folder.path("p")).unwrap();
    run(&folder, "sessions import .").expect(0, "");
    assert_eq!(figures(&stats(&folder, "--by model")), by_model);
    assert_eq!(
        figures(&stats(&folder, "--since 2026-10-26")),
        [by_day[1].clone(), row("total", [1, 1, 0, 0], [3, 9, 0, 0])]
    );
    assert_eq!(figures(&stats(&folder, "--folder /home/dev --until 2026-10-25"))[0], by_day[0]);
    assert_eq!(figures(&stats(&folder, "--agent codex")), [row("total", [0; 4], [0; 4])]);
    let nothing = run(&folder, "sessions stats --agent codex").expect(0, "");
    assert_eq!(nothing.stdout, "no session used anything in this time\n");
}

#[test]
fn a_history_has_its_figures_in_the_list() {
    let folder = home();
    run(&folder, "sessions import p").expect(0, "");
    let listed = rows(&folder, "");
    let figures: Vec<_> = listed
        .iter()
        .map(|row| ["num_turns", "failed_calls", "duration_ms"].map(|name| row[name].as_u64()))
        .collect();
    assert_eq!(figures, [[Some(1), None, Some(5_000)], [Some(1), Some(1), Some(4_201_000)]]);
}

#[test]
fn a_model_without_a_price_makes_the_sum_incomplete() {
    let folder = home();
    let total = |options: &str| stats(&folder, options).pop().unwrap();
    let estimate = (13.0 * 3.0 + 59.0 * 15.0 + 200.0 * 0.3 + 30.0 * 3.75) / 1e6
        + (1.0 + 2.0 * 5.0 + 3.0 * 0.1 + 4.0 * 1.25) / 1e6;
    let found = total("p");
    assert!((found["estimated_usd"].as_f64().unwrap() - estimate).abs() < 1e-12, "{found}");
    assert_eq!(
        (&found["unpriced_tokens"], &found["complete"], found.get("cost_usd")),
        (&json!(12), &json!(false), None)
    );
    folder.write("prices.toml", "[[price]]\nmodel = \"acme-9\"\ninput = 1000000\noutput = 2000000\nsource = \"https://acme.example/prices\"\nchecked = 2026-11-01\n");
    let found = total("p --prices prices.toml");
    assert!((found["estimated_usd"].as_f64().unwrap() - estimate - 19.0).abs() < 1e-9, "{found}");
    assert_eq!((&found["unpriced_tokens"], &found["complete"]), (&json!(0), &json!(true)));
    let shown = run(&folder, "sessions stats p --by model --timezone UTC").expect(0, "").stdout;
    assert!(shown.ends_with("≥ ~$0.0011, 12 tokens without a price\n"), "{shown}");
    let shown = run(&folder, "sessions stats p --by model --ascii").expect(0, "").stdout;
    assert!(shown.is_ascii() && shown.contains(">= ~$0.0011"), "{shown}");
}

#[test]
fn days_and_hours_are_those_of_the_zone_also_when_its_clock_changes() {
    let folder = home();
    let keys = |options: &str| -> Vec<String> {
        let shown = run(&folder, &format!("sessions stats p --json {options}")).expect(0, "").stdout;
        let rows = shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter_map(|row| row["key"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(keys("--timezone America/Los_Angeles"), ["2026-10-24", "2026-10-26"]);
    assert_eq!(
        keys("--timezone Europe/Berlin --by hour --until 2026-10-25"),
        ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"]
    );
    assert_eq!(keys("--timezone Asia/Kolkata --by hour")[0], "2026-10-25T05:00+05:30");
    assert_eq!(keys("--timezone UTC --by week"), ["2026-W43", "2026-W44"]);
    assert_eq!(keys("--timezone UTC --by month"), ["2026-10"]);
    // Without the system's table of zones.
    let mut command = folder.command("sessions stats p --by hour --timezone Europe/Berlin --json");
    let output = command.env("TZDIR", folder.path("none")).output().unwrap();
    assert!(
        output.status.success() && output.stdout.starts_with(b"{\"v\":1,\"key\":\"2026-10-25T02:00+02:00\"")
    );
    run(&folder, "sessions stats p --timezone Moon/Base").expect(
        2,
        "streamfmt: --timezone can't be \"Moon/Base\" (expected the name of a time zone, such as Europe/Berlin or UTC); \
         see streamfmt sessions stats --help\n",
    );
}

#[test]
fn files_are_added_up_without_a_store() {
    let folder = home();
    assert_eq!(stats(&folder, "p").len(), 3);
    assert!(!folder.path(DATA).join("sessions.db").exists());
    assert_eq!(run(&folder, "sessions stats nowhere").code, Some(2));
}

#[test]
fn the_sums_of_a_run_stay_and_its_history_divides_them_by_time() {
    let models = json!({SONNET: {"inputTokens": 30, "outputTokens": 100, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "costUSD": 0.5}});
    let message = |id: &str| {
        json!({"type": "assistant", "session_id": "s-9", "message": {"id": id, "role": "assistant", "model": SONNET,
            "content": [text("Done.")], "usage": {"input_tokens": 1, "output_tokens": 1}}})
    };
    let outcome = json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s-9", "num_turns": 2, "result": "Done.",
        "duration_ms": 9, "total_cost_usd": 0.5, "usage": {"input_tokens": 30, "output_tokens": 100}, "modelUsage": models});
    let init = json!({"type": "system", "subtype": "init", "session_id": "s-9", "cwd": "/w", "model": SONNET, "tools": []});
    let stream = [init, message("m-8"), message("m-9"), outcome].map(|line| line.to_string() + "\n").concat();
    let folder = agents(&[("claude", "cat stream")]);
    folder.write("stream", stream);
    run(&folder, "run -- ./claude -p Go");
    let alone = stats(&folder, "--by model");
    let sum = |rows: &[Value]| (rows[0]["cost_usd"].as_f64(), figures(rows));
    let expected =
        vec![row(SONNET, [1, 1, 0, 0], [30, 100, 0, 0]), row("total", [1, 1, 0, 0], [30, 100, 0, 0])];
    assert_eq!(sum(&alone), (Some(0.5), expected.clone()));
    folder.write(
        "h/s-9.jsonl",
        [
            prompt("s-9", "2026-10-01T10:00:00.000Z", "Go"),
            answer("s-9", "2026-10-01T10:00:01.000Z", "m-8", SONNET, [10, 30, 0, 0], &text("One.")),
            answer("s-9", "2026-10-02T10:00:01.000Z", "m-9", SONNET, [20, 60, 0, 0], &text("Two.")),
        ]
        .concat(),
    );
    run(&folder, "sessions import h").expect(0, "");
    assert_eq!(sum(&stats(&folder, "--by model")), (Some(0.5), expected));
    let days = figures(&stats(&folder, ""));
    assert_eq!(
        days[..2],
        [row("2026-10-01", [1, 0, 0, 0], [10, 33, 0, 0]), row("2026-10-02", [1, 0, 0, 0], [20, 67, 0, 0])]
    );
}

#[test]
fn what_an_agent_states_is_exact_and_the_rest_is_estimated_model_by_model() {
    let state = |usd: f64| {
        json!({"type": "cost-state", "sessionId": "s-1", "totalCostUSD": usd, "totalAPIDuration": 1, "totalDuration": 1,
            "modelUsage": {SONNET: {"inputTokens": 1, "outputTokens": 1, "costUSD": usd}}, "hasUnknownModelCost": true})
        .to_string()
            + "\n"
    };
    let folder = agents(&[]);
    let haiku = answer(
        "s-1",
        "2026-10-25T02:00:00.000Z",
        "m-5",
        "claude-haiku-4-5",
        [1_000_000, 0, 0, 0],
        &text("More."),
    );
    folder.write("p/s-1.jsonl", first() + &state(0.25) + &haiku + &state(0.75));
    // Its copy of the lines states the same once more.
    folder.write("p/s-2.jsonl", resumed() + &state(0.75).replace("s-1", "s-2"));
    for source in ["p", ""] {
        if source.is_empty() {
            run(&folder, "sessions import p").expect(0, "");
        }
        let found = stats(&folder, &format!("{source} --by model --until 2026-10-25"));
        let costs: Vec<_> = found
            .iter()
            .map(|row| (row["key"].as_str(), row["cost_usd"].as_f64(), row["estimated_usd"].as_f64()))
            .collect();
        assert_eq!(
            costs,
            [
                (Some("claude-haiku-4-5"), None, Some(1.0)),
                (Some(SONNET), Some(0.75), None),
                (Some("acme-9"), None, None),
                (None, Some(0.75), Some(1.0))
            ],
            "{source}"
        );
    }
}

#[test]
fn a_document_escapes_what_foreign_text_says() {
    let folder = agents(&[]);
    folder.write("p/s-1.jsonl", first().replace("acme-9", "<b>|*9*|</b>"));
    let markdown = run(&folder, "sessions stats p --by model --to markdown").expect(0, "").stdout;
    assert!(markdown.contains(r"| \<b\>\|\*9\*\|\</b\> |"), "{markdown}");
    let html = run(&folder, "sessions stats p --by model --to html").expect(0, "").stdout;
    assert!(html.contains("<td>&lt;b&gt;|*9*|&lt;/b&gt;</td>") && !html.contains("<b>"), "{html}");
}

#[test]
fn agents_of_workflows_and_lines_without_an_id_count_and_the_cost_of_a_line_is_exact() {
    let folder = agents(&[]);
    let answer = |id: &str, tokens: u64| {
        answer("s-1", "2026-10-25T00:20:00.000Z", id, SONNET, [tokens, 0, 0, 0], &text("Done."))
    };
    let without_id =
        answer("m-1", 100).replace(r#""id":"m-1","#, "").replace(r#""requestId":"req-m-1","#, "");
    let with_cost = answer("m-2", 10).replace(r#""type":"assistant""#, r#""type":"assistant","costUSD":0.5"#);
    folder.write("p/s-1.jsonl", prompt("s-1", "2026-10-25T00:10:00.000Z", "Go.") + &without_id + &with_cost);
    folder.write(
        "p/s-1/subagents/workflows/wf_1/agent-b2.jsonl",
        answer("m-3", 1).replace(r#""isSidechain":false"#, r#""isSidechain":true,"agentId":"b2""#),
    );
    // An agent of another session, beside the history.
    let other = answer("m-4", 1_000).replace("s-1", "s-7");
    folder.write(
        "p/agent-c3.jsonl",
        other.replace(r#""isSidechain":false"#, r#""isSidechain":true,"agentId":"c3""#),
    );
    let own = answer("m-5", 10_000).replace(r#""isSidechain":false"#, r#""isSidechain":true,"agentId":"d4""#);
    folder.write("p/agent-d4.jsonl", own);
    for source in ["p", "", ""] {
        if source.is_empty() {
            run(&folder, "sessions import p").expect(0, "");
        }
        let found = stats(&folder, source);
        let total = found.last().unwrap();
        assert_eq!(
            figures(&found).last().unwrap(),
            &row("total", [1, 1, 0, 0], [10_111, 0, 0, 0]),
            "{source}"
        );
        assert_eq!(total["cost_usd"].as_f64(), Some(0.5));
        assert!((total["estimated_usd"].as_f64().unwrap() - 10_101.0 * 3.0 / 1e6).abs() < 1e-12, "{total}");
    }
}

#[test]
fn a_second_import_of_all_recordings_changes_nothing() {
    let folder = agents(&[]);
    let import = || run(&folder, &format!("sessions import {RECORDINGS}"));
    let first = import();
    let known = || (rows(&folder, "--all"), stats(&folder, "--by model"));
    let before = known();
    assert!(before.0.len() > 50, "{first:?}");
    let second = import();
    assert!(second.stdout.starts_with("0 new, 0 changed, "), "{second:?}");
    assert!(before == known(), "the list or the figures");
}

/// The inputs of all golden cases.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
