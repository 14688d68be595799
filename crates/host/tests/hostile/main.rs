//! Streams made by someone who wants to lose a text, forge a line, steer a terminal or fill the memory.
//!
//! - [`fields`]: every field of every kind of event with every wrong type;
//! - [`escapes`]: characters with power, in every place and cut at every border;
//! - [`order`]: events late, early, twice, of several sessions and agents at once;
//! - [`records`]: the same in each dialect, all values at once, and records of each dialect in a wrong order;
//! - [`bounds`]: what grows must stop, and what is long must not be slow;
//! - [`seeds`]: the targets of the fuzzer, over their seeds and random changes of them.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod bounds;
mod escapes;
mod fields;
mod order;
mod records;
mod seeds;

use streamfmt::core::pipeline::{Pipeline, Report};
use streamfmt::core::text::clean;
use streamfmt::core::theme::ColorDepth;
use streamfmt::{Engine, Looks};

/// An engine that shows everything, as this output, at this width.
fn engine(writer: &str, profile: &str, width: Option<usize>) -> Engine {
    let color = (writer == "ansi").then_some(ColorDepth::TrueColor);
    let looks = Looks { color, width, ..Looks::default() };
    Engine::builder().writer(writer).profile(profile).looks(looks).build().unwrap()
}

/// What comes out of an input, and what was counted.
fn run(engine: &Engine, input: &[u8]) -> (String, Report) {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut out = String::new();
    pipeline.push(input, &mut out).unwrap();
    pipeline.finish(&mut out).unwrap();
    (out, pipeline.report().clone())
}

/// Everything of an input, as text.
fn full(input: &[u8]) -> String {
    run(&engine("text", "full", None), input).0
}

/// A line of a stream in which the agent says `text`.
fn reply(text: &str) -> String {
    reply_with(text, &serde_json::json!({}))
}

/// The same with further fields of the line.
fn reply_with(text: &str, fields: &serde_json::Value) -> String {
    let mut line = serde_json::json!({"type": "assistant", "session_id": "s-1",
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}});
    for (key, value) in fields.as_object().unwrap() {
        line[key] = value.clone();
    }
    format!("{line}\n")
}

/// A line in which the agent calls a tool.
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

/// Asserts that nothing in `text` could steer a terminal. In colour, what the program writes itself is checked and
/// taken out first: colours that end in their line, links of harmless schemes that do too.
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
    // What isn't harmful to the program may be so all the same.
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

/// How often `part` stands in `text`, blanks and the bars of the layout aside.
fn times(text: &str, part: &str) -> usize {
    solid(text).matches(&solid(part)).count()
}

/// The text without what a layout may put anywhere.
fn solid(text: &str) -> String {
    text.chars().filter(|ch| !ch.is_whitespace() && !matches!(ch, '│' | '…')).collect()
}
