//! Streams by someone who wants to hide text, forge a line, control a terminal or exhaust memory.
//!
//! - [`fields`]: every field of every kind of event with every wrong type;
//! - [`escapes`]: control characters and markup, in every place and cut at every position;
//! - [`order`]: events late, early, twice, of several sessions and agents at once;
//! - [`records`]: the same in each dialect, all values at once, and records of each dialect in a wrong order;
//! - [`bounds`]: growth has limits, and long input isn't slow;
//! - [`seeds`]: the fuzz targets, over their seeds and random changes of them.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

mod bounds;
mod escapes;
mod fields;
mod order;
mod records;
mod seeds;

use streamfmt::core::pipeline::{Pipeline, Report};
use streamfmt::core::text::clean;
use streamfmt::core::theme::ColorDepth;
use streamfmt::{Engine, OutputCapabilities};

/// An engine with this output, profile and width.
fn engine(writer: &str, profile: &str, width: Option<usize>) -> Engine {
    let color = (writer == "ansi").then_some(ColorDepth::TrueColor);
    let capabilities = OutputCapabilities { color, width, ..OutputCapabilities::default() };
    Engine::builder().writer(writer).profile(profile).capabilities(capabilities).build().unwrap()
}

/// The output for an input, and the report.
fn run(engine: &Engine, input: &[u8]) -> (String, Report) {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut out = String::new();
    pipeline.push(input, &mut out).unwrap();
    pipeline.finish(&mut out).unwrap();
    (out, pipeline.report().clone())
}

/// Everything in an input, as text.
fn full(input: &[u8]) -> String {
    run(&engine("text", "full", None), input).0
}

/// A line of a stream with the reply `text`.
fn reply(text: &str) -> String {
    reply_with(text, &serde_json::json!({}))
}

/// The same, with further fields in the line.
fn reply_with(text: &str, fields: &serde_json::Value) -> String {
    let mut line = serde_json::json!({"type": "assistant", "session_id": "s-1",
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}});
    for (key, value) in fields.as_object().unwrap() {
        line[key] = value.clone();
    }
    format!("{line}\n")
}

/// A line with a call of a tool.
fn call(id: &str, tool: &str, input: &serde_json::Value) -> String {
    let line = serde_json::json!({"type": "assistant", "session_id": "s-1",
        "message": {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}});
    format!("{line}\n")
}

/// A line with the result of a call.
fn result(id: &str, text: &str) -> String {
    let line = serde_json::json!({"type": "user", "session_id": "s-1",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}});
    format!("{line}\n")
}

/// Asserts that nothing in `text` controls a terminal. With colours, the program's own sequences are checked and removed first: colours
/// that end on the same line, and links with harmless schemes that do too.
fn assert_harmless(text: &str, is_coloured: bool, name: &str) {
    let own;
    let text = if is_coloured {
        own = text.lines().map(|line| without_own(line, name)).collect::<Vec<_>>().join("\n");
        &own
    } else {
        text
    };
    let cleaned = clean(text);
    let same = text.chars().zip(cleaned.chars()).take_while(|(one, other)| one == other).count();
    let around: String = cleaned.chars().skip(same.saturating_sub(20)).take(60).collect();
    assert!(cleaned == text, "{name}: something harmful came out: {around:?}");
    // The check above trusts the program's list of harmful characters; this one has its own.
    seeds::targets::assert_harmless(text);
}

fn without_own(line: &str, name: &str) -> String {
    const LINK: &str = "\u{1b}]8;;";
    let mut plain = String::new();
    let (mut styled, mut linked) = (false, false);
    let mut rest = line;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix(LINK) {
            let (target, behind) =
                behind.split_once("\u{1b}\\").unwrap_or_else(|| panic!("{name}: {line:?}"));
            let is_fine = ["http://", "https://", "mailto:", "file://"]
                .iter()
                .any(|scheme| target.to_ascii_lowercase().starts_with(scheme));
            assert!(target.is_empty() || is_fine, "{name}: a link to {target:?}");
            assert!(target.bytes().all(|byte| byte.is_ascii_graphic()), "{name}: a link to {target:?}");
            assert!(target.is_empty() == linked, "{name}: links within links: {line:?}");
            linked = !target.is_empty();
            rest = behind;
        } else {
            let numbers = rest[1..].strip_prefix('[').unwrap_or_else(|| panic!("{name}: {line:?}"));
            let (numbers, behind) = numbers.split_once('m').unwrap_or_else(|| panic!("{name}: {line:?}"));
            assert!(numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{name}: {line:?}");
            styled = numbers != "0";
            rest = behind;
        }
    }
    assert!(!styled && !linked, "{name}: a look goes on past its line: {line:?}");
    plain.push_str(rest);
    plain
}

/// How often `part` occurs in `text`, ignoring blanks and the bars of the layout.
fn times(text: &str, part: &str) -> usize {
    solid(text).matches(&solid(part)).count()
}

/// The text without characters that a layout may put anywhere.
fn solid(text: &str) -> String {
    text.chars().filter(|ch| !ch.is_whitespace() && !matches!(ch, '│' | '…')).collect()
}
