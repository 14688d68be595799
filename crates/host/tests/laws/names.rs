//! The fate of each type of line that is known by name: `tests/names` lists it, and this test compares it with the code.
//!
//! A row has a name, its source, and an example without its type. The source is `recording`, `types` (published by the vendor), `binary` (a
//! name in the program, nothing else is known) or `files` (by users, or in reports). `becomes` is
//! - `shown`: the default profile shows it,
//! - `full`: only the profile `full` does,
//! - `counted`: it is counted under its name,
//! - `unknown`: it is shown as an event of an unknown type.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use streamfmt::Engine;
use streamfmt::core::pipeline::Pipeline;

pub(crate) const NAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/names");

/// The lines around an example.
const CLAUDE: [&str; 2] = [
    r#"{"type":"system","subtype":"init","cwd":"/home/dev/shop","session_id":"s-1","model":"m","permissionMode":"default","tools":["Bash"],"mcp_servers":[],"claude_code_version":"2.1.332"}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Bye.","session_id":"s-1"}"#,
];
const CODEX: [&str; 2] = [
    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s-1","cwd":"/w","cli_version":"0.171.0"}}
{"timestamp":"2026-01-01T00:00:00Z","type":"turn_context","payload":{"cwd":"/w","model":"gpt-x"}}"#,
    r#"{"timestamp":"2026-01-01T00:00:09Z","type":"event_msg","payload":{"type":"agent_message","message":"Bye."}}"#,
];

#[test]
fn lines_of_claude_are_treated_as_the_list_says() {
    check("claude", CLAUDE, |name, mut line| {
        let (kind, subtype) = name.split_once('/').unwrap_or((name, ""));
        line["type"] = kind.into();
        if !subtype.is_empty() {
            line["subtype"] = subtype.into();
        }
        line["session_id"] = "s-1".into();
        line["uuid"] = "u-9".into();
        line
    });
}

#[test]
fn lines_of_codex_are_treated_as_the_list_says() {
    check("codex", CODEX, |name, mut line| {
        let (kind, payload) = match name.split_once('/') {
            Some(("item_completed", item)) => {
                line["type"] = item.into();
                line["id"] = "i-9".into();
                ("event_msg", json!({"type": "item_completed", "item": line}))
            }
            Some((kind, subtype)) => {
                line["type"] = subtype.into();
                (kind, line)
            }
            None => (name, line),
        };
        json!({"timestamp": "2026-01-01T00:00:05Z", "type": kind, "payload": payload})
    });
}

/// Checks the rows of a list, or writes them with `STREAMFMT_BLESS`.
fn check(dialect: &str, around: [&str; 2], line_of: impl Fn(&str, Value) -> Value) {
    let path = Path::new(NAMES).join(format!("{dialect}.ndjson"));
    let listed = fs::read_to_string(&path).unwrap();
    let engines = engines(dialect);
    let mut actual = String::new();
    for row in listed.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let name = row["name"].as_str().unwrap();
        let line = line_of(name, row["line"].clone()).to_string();
        let becomes = fate(&engines, around, &line);
        let [name, from, becomes] = [name, row["from"].as_str().unwrap(), becomes].map(Value::from);
        let line = &row["line"];
        let row =
            format!("{{\"name\": {name}, \"from\": {from}, \"becomes\": {becomes}, \"line\": {line}}}\n");
        actual.push_str(&row);
    }
    if std::env::var_os("STREAMFMT_BLESS").is_some() {
        return fs::write(path, actual).unwrap();
    }
    for (listed, actual) in listed.lines().zip(actual.lines()) {
        assert_eq!(listed, actual, "tests/names/{dialect}.ndjson");
    }
}

/// The engines that [`fate`] needs.
pub(crate) fn engines(dialect: &str) -> [Engine; 2] {
    ["default", "full"]
        .map(|profile| Engine::builder().dialect(dialect).writer("text").profile(profile).build().unwrap())
}

/// The fate of a line, between the lines around it.
pub(crate) fn fate(engines: &[Engine; 2], [before, after]: [&str; 2], line: &str) -> &'static str {
    let with = format!("{before}\n{line}\n{after}\n");
    let without = format!("{before}\n{after}\n");
    let [default, full] = engines.each_ref().map(|engine| {
        let ((with, unknown), (without, other)) = (formatted(engine, &with), formatted(engine, &without));
        (with != without, unknown > other)
    });
    match (default, full) {
        ((_, true), _) => "unknown",
        ((true, _), _) => "shown",
        (_, (true, _)) => "full",
        _ => "counted",
    }
}

/// The text of a stream, and how many of its lines are unknown.
fn formatted(engine: &Engine, stream: &str) -> (String, u64) {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(stream.as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    let unknown = pipeline.report().unknown.iter().filter(|(name, _)| !name.contains('.'));
    let unknown = unknown.map(|(_, count)| count).sum();
    (text, unknown)
}
