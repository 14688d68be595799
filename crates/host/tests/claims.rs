//! Each agent's recordings are claimed by that agent's dialect, and by none if it has none.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use streamfmt::Engine;
use streamfmt::core::pipeline::{Pipeline, Report};
use streamfmt::dialect::DIALECTS;

/// Recordings of all agents, one folder for each, if the checkout has them beside it.
const RECORDINGS: &str = "../../../shared/corpus";

/// First lines of agents, by the agent's name.
const FIRST_LINES: &[(&str, &str)] = &[
    (
        "copilot",
        r#"{"type":"assistant.message","data":{"content":"hi"},"id":"1","parentId":null,"timestamp":"t"}"#,
    ),
    ("gemini", r#"{"type":"init","timestamp":"t","session_id":"s","model":"m"}"#),
    ("gemini", r#"{"sessionId":"s","projectHash":"h","startTime":"t","messages":[]}"#),
    ("opencode", r#"{"type":"step_start","timestamp":1,"sessionID":"s","part":{}}"#),
    ("cline", r#"{"type":"agent_event","ts":1,"event":{}}"#),
    ("kimi", r#"{"type":"metadata","protocol_version":"1.4","created_at":1}"#),
    (
        "droid",
        r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":[],"model":"m","reasoning_effort":"low"}"#,
    ),
    (
        "qwen",
        r#"{"type":"system","subtype":"init","session_id":"s","uuid":"u","qwen_code_version":"0.24.4"}"#,
    ),
    (
        "qwen",
        r#"{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","parts":[{"text":"hi"}]}}"#,
    ),
    ("acp", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#),
];

fn report(bytes: &[u8]) -> Report {
    let engine = Engine::builder().writer("items").build().unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let mut out = String::new();
    pipeline.push(bytes, &mut out).unwrap();
    pipeline.finish(&mut out).unwrap();
    pipeline.report().clone()
}

/// The dialect of the agent with this name, if it has one.
fn dialect_of(agent: &str) -> Option<&'static str> {
    // The recordings of a protocol are in one folder for each agent that uses it.
    let agent = if agent.starts_with("acp-") { "acp" } else { agent };
    DIALECTS.find(agent).map(|row| row.name)
}

#[test]
fn first_lines_are_claimed_by_the_dialect_of_their_agent_or_by_none() {
    for (name, line) in FIRST_LINES {
        let dialect = dialect_of(name);
        let mut input = format!("{line}\n");
        if dialect.is_none() {
            // Some agents end with a `result`, and some have lines almost like a known agent's.
            input += "{\"type\":\"result\",\"sessionId\":\"s\",\"exitCode\":1}\n";
            if *name == "droid" {
                input += "{\"type\":\"assistant\",\"message\":{\"content\":[]},\"session_id\":\"s\"}\n";
            }
        }
        let report = report(input.as_bytes());
        let claimed = report.dialect.as_deref();
        assert_eq!(claimed, dialect.or(Some(DIALECTS.fallback)), "{line}");
        if dialect.is_none() {
            assert_eq!(report.foreign.map(|program| program.name), Some(*name), "{line}");
        }
    }
}

/// A message that Claude Code and others may write.
const MESSAGE: &str = r#"{"type":"user","message":{"role":"user","content":"hi"},"session_id":"s"}"#;

#[test]
fn a_line_that_several_programs_write_claims_nothing_alone() {
    for (name, line) in FIRST_LINES.iter().filter(|(name, _)| *name == "droid") {
        let report = report(format!("{MESSAGE}\n{line}\n{MESSAGE}\n").as_bytes());
        assert_eq!(report.dialect.as_deref(), Some(DIALECTS.fallback), "{line}");
        assert_eq!(report.foreign.map(|program| program.name), Some(*name), "{line}");
    }
    // Several programs report the start of a turn like this.
    let report_of = |line: &str| report(format!("{{\"type\":\"turn.started\"}}\n{line}\n").as_bytes());
    for (name, line) in FIRST_LINES.iter().filter(|(name, _)| *name == "opencode") {
        assert_eq!(report_of(line).dialect.as_deref(), Some(*name), "{line}");
    }
    let assistant = r#"{"type":"assistant","message":{"id":"m","content":[]},"session_id":"s"}"#;
    let item = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hi"}}"#;
    for (line, dialect) in [(assistant, "claude"), (item, "codex"), ("", "codex")] {
        assert_eq!(report_of(line).dialect.as_deref(), Some(dialect), "{line}");
    }
    // A line of Claude Code follows, or none.
    for rest in ["", r#"{"type":"assistant","message":{"id":"m","content":[]},"session_id":"s"}"#] {
        let report = report(format!("{MESSAGE}\n{rest}\n").as_bytes());
        assert_eq!(report.dialect.as_deref(), Some("claude"), "{rest}");
    }
}

#[test]
fn events_that_a_configured_dialect_does_not_know_are_counted() {
    let engine = Engine::builder().writer("items").dialect("claude").build().unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let (mut out, call) = (String::new(), r#"{"type":"tool_call","subtype":"started","session_id":"s"}"#);
    pipeline.push(format!("{MESSAGE}\n{call}\n{call}\n").as_bytes(), &mut out).unwrap();
    pipeline.finish(&mut out).unwrap();
    let report = pipeline.report();
    assert_eq!((report.events, report.unknown_events, report.is_mostly_unknown()), (3, 2, true));
    assert_eq!(report.foreign.map(|program| program.name), Some("cursor"));
}

/// Lines that begin an agent's stream, and lines of a reply.
const STREAMS: &[(&str, &[&str])] = &[
    (
        "claude",
        &[
            r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":[],"model":"m"}"#,
            r#"{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"text","text":"from claude"}]},"session_id":"s"}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"from claude","num_turns":1,"session_id":"s"}"#,
        ],
    ),
    (
        "codex",
        &[
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"from codex"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}"#,
        ],
    ),
    (
        "gemini",
        &[
            r#"{"type":"init","timestamp":"2026-11-20T09:14:02Z","session_id":"g","model":"m"}"#,
            r#"{"type":"message","timestamp":"2026-11-20T09:14:03Z","role":"assistant","content":"from gemini","delta":true}"#,
            r#"{"type":"result","timestamp":"2026-11-20T09:14:04Z","status":"success","stats":{}}"#,
        ],
    ),
    (
        "acp",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"a","prompt":[{"type":"text","text":"go"}]}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"from acp"}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}"#,
        ],
    ),
];

/// The items of lines, and the report.
fn items(dialect: &str, lines: &[&str]) -> (Vec<serde_json::Value>, Report) {
    let engine = Engine::builder().writer("items").dialect(dialect).build().unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let mut out = String::new();
    for line in lines {
        pipeline.push(format!("{line}\n").as_bytes(), &mut out).unwrap();
    }
    pipeline.finish(&mut out).unwrap();
    (out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), pipeline.report().clone())
}

/// For each notice about another dialect: the line, the dialect before, the dialect after, and whether its lines aren't read.
fn changes(items: &[serde_json::Value]) -> Vec<(u64, String, String, bool)> {
    let notices = items.iter().filter(|item| item["data"]["event"] == "dialect");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    notices
        .map(|item| {
            let data = &item["data"];
            (item["line"].as_u64().unwrap(), text(&data["from"]), text(&data["to"]), data["unread"] == true)
        })
        .collect()
}

#[test]
fn a_stream_that_changes_its_dialect_is_noticed_once_where_it_happens_and_read_on() {
    let replies = |items: &[serde_json::Value]| -> Vec<String> {
        let replies = items.iter().filter(|item| item["kind"] == "reply");
        replies
            .map(|item| format!("{} {}", item["text"].as_str().unwrap(), item["status"].as_str().unwrap()))
            .collect()
    };
    for (one, first) in STREAMS {
        for (other, then) in STREAMS.iter().filter(|(other, _)| other != one) {
            let (from, to) = ((*one).to_owned(), (*other).to_owned());
            let line = first.len() as u64 + 1;
            let lines = [*first, *then].concat();
            let expected = [format!("from {one} done"), format!("from {other} done")];

            let (found, report) = items("auto", &lines);
            assert_eq!(changes(&found), [(line, from.clone(), to.clone(), false)]);
            assert_eq!(replies(&found), expected, "{one}, then {other}");
            assert_eq!(
                (report.dialect.as_deref(), report.unknown_events, report.lacks_outcome()),
                (Some(*one), 0, false)
            );
            assert_eq!(report.other_dialects.iter().collect::<Vec<_>>(), [(&to, &(then.len() as u64))]);

            // Back to the first, and alternating: by then both dialects are known.
            let (found, _) = items("auto", &[&lines, *first].concat());
            assert_eq!(changes(&found).len(), 1, "{one}, {other}, {one}");
            let turns: Vec<&str> =
                (0..4).flat_map(|at| [first.get(at), then.get(at)]).flatten().copied().collect();
            let (found, _) = items("auto", &turns);
            assert_eq!(changes(&found).len(), 1, "{one} and {other} by turns");
            let mut found = replies(&found);
            found.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{one} and {other} by turns");

            // A stream without a result at its end is incomplete.
            let (_, report) = items("auto", &lines[..lines.len() - 1]);
            assert!(report.lacks_outcome(), "{one}, then {other}");

            let (found, report) = items(one, &lines);
            assert_eq!(changes(&found), [(line, from, to.clone(), true)]);
            assert!(report.other_dialects[&to] > 0);
        }
    }
}

#[test]
fn an_agent_is_found_after_objects_of_another_program_and_a_text_that_begins_as_another_dialect_is_noticed() {
    let object = r#"{"level":"info","msg":"ready"}"#;
    let (_, claude) = STREAMS[0];
    let (found, report) = items("auto", &[&[object; 80], claude].concat());
    assert_eq!((changes(&found), report.dialect.as_deref()), (vec![], Some("claude")));
    assert!(found.iter().any(|item| item["kind"] == "reply"));

    let aider = "# aider chat started at 2026-11-20 09:14:02";
    let (found, _) = items("auto", &[claude, &[aider, "#### go"]].concat());
    assert_eq!(changes(&found), [(4, "claude".to_owned(), "aider".to_owned(), true)]);
    let (found, _) = items("auto", &[&[aider, "#### go", ""], claude].concat());
    assert_eq!(changes(&found), [(4, "aider".to_owned(), "claude".to_owned(), true)]);
}

#[test]
fn cases_and_samples_are_claimed_by_the_dialect_of_their_agent_alone() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    // Bare records belong to no agent: they are only read as records on request.
    for agent in DIALECTS.rows.iter().map(|row| row.name).filter(|name| *name != "records") {
        let mut open = vec![tests.join("golden").join(agent)];
        while let Some(folder) = open.pop() {
            files.extend(Some((agent, folder.join("input.ndjson"))).filter(|(_, file)| file.exists()));
            open.extend(folders(&folder));
        }
    }
    files.extend(lines(&tests.join("samples")).into_iter().map(|file| ("claude", file)));
    assert!(files.len() > 100, "they are not found");
    for (agent, file) in files {
        let report = report(&fs::read(&file).unwrap());
        assert_eq!(report.dialect.as_deref(), Some(agent), "{}", file.display());
        assert!(report.other_dialects.is_empty(), "{}: {:?}", file.display(), report.other_dialects);
    }
}

#[test]
fn recordings_are_claimed_by_the_dialect_of_their_agent_alone() {
    for agent in folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDINGS)) {
        let name = agent.file_name().unwrap().to_str().unwrap().to_owned();
        let known = dialect_of(&name);
        let scenarios = folders(&agent).into_iter().flat_map(|version| folders(&version));
        for file in scenarios.flat_map(|scenario| lines(&scenario)) {
            let bytes = fs::read(&file).unwrap();
            // Some runs wrote one document over several lines.
            let document = serde_json::from_slice::<serde_json::Value>(&bytes).map(|whole| whole.to_string());
            let report = report(document.as_deref().map_or(&*bytes, str::as_bytes));
            // Some runs wrote nothing.
            let expected = known.or(Some(DIALECTS.fallback)).filter(|_| report.lines > report.blank_lines);
            assert_eq!(report.dialect.as_deref(), expected, "{}", file.display());
            assert!(report.other_dialects.is_empty(), "{}: {:?}", file.display(), report.other_dialects);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

/// The streams and histories of a scenario, without files sent to the agent.
fn lines(scenario: &Path) -> Vec<PathBuf> {
    let is_recorded = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".jsonl") && !name.starts_with("stdin") && !name.starts_with("sent")
    };
    entries(scenario).into_iter().filter(is_recorded).collect()
}
