//! Laws that hold for every stream: recorded, hostile or made up.
//!
//! - however the bytes arrive, the same comes out;
//! - what the file says comes out, each reply, call and result exactly once;
//! - a session is the same with and without its partial messages, live and from its history;
//! - nothing that comes out could steer a terminal, a page or a log;
//! - every line is an event, passed through, or counted as damaged.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod chunks;
mod generated;
mod recordings;
mod said;
mod sessions;

use std::borrow::Cow;
use std::sync::LazyLock;

use streamfmt::core::pipeline::{Pipeline, Report};
use streamfmt::core::text::clean;
use streamfmt::core::theme::ColorDepth;
use streamfmt::engine::{Engine, Looks};

/// One way of output that the laws are tried on.
struct Form {
    name: &'static str,
    engine: Engine,
    /// Whether it may write colours of its own.
    is_coloured: bool,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    vec![
        form("items", "default", None),
        form("json", "full", None),
        form("text", "default", None),
        form("text", "full", Some(30)),
        form("text", "ci", None),
        form("text", "plain", None),
        form("ansi", "full", Some(80)),
    ]
});

fn form(name: &'static str, profile: &str, width: Option<usize>) -> Form {
    let is_coloured = name == "ansi";
    let looks = Looks { color: is_coloured.then_some(ColorDepth::TrueColor), width, ..Looks::default() };
    let builder = Engine::builder().dialect("claude").writer(name).profile(profile).looks(looks);
    Form { name, engine: builder.build().unwrap(), is_coloured }
}

fn items() -> &'static Form {
    &FORMS[0]
}

/// What came out of a whole input, and what was counted.
struct Outcome {
    text: String,
    report: Report,
}

/// Formats an input that arrives in pieces.
fn format<'a>(form: &Form, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut pipeline = Pipeline::new(form.engine.setup());
    let mut text = String::new();
    for piece in pieces {
        pipeline.push(piece, &mut text).unwrap();
    }
    pipeline.finish(&mut text).unwrap();
    Outcome { text, report: pipeline.report().clone() }
}

/// What comes out must be harmless: cleaning it again changes nothing.
fn assert_harmless(form: &Form, text: &str, name: &str) {
    let text = if form.is_coloured { without_colours(text) } else { Cow::Borrowed(text) };
    let cleaned = clean(&text);
    let same = text.chars().zip(cleaned.chars()).take_while(|(one, other)| one == other).count();
    let around: String = cleaned.chars().skip(same.saturating_sub(20)).take(60).collect();
    assert!(cleaned == text, "{name} as {}: something harmful came out: {around:?}", form.name);
}

/// The text without the colour sequences that a writer may make: `ESC [ numbers m`.
fn without_colours(text: &str) -> Cow<'_, str> {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let numbers = part.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
        match part[numbers..].strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.extend(["\u{1b}[", part]),
        }
    }
    Cow::Owned(plain)
}

/// Every line must be accounted for, and every item that came out must be counted.
fn assert_counted(bytes: &[u8], outcome: &Outcome, name: &str) {
    let Report { lines, events, blank_lines, raw_lines, damaged, oversized, .. } = outcome.report;
    assert_eq!(lines, bytes.split_inclusive(|&byte| byte == b'\n').count() as u64, "{name}: lines read");
    assert!(
        blank_lines + events + raw_lines + damaged + oversized >= lines,
        "{name}: of {lines} lines {blank_lines} are blank, {events} events, {raw_lines} passed through, {damaged} damaged, {oversized} too long"
    );
}

#[test]
fn colours_are_taken_out_and_nothing_else() {
    assert_eq!(without_colours("a\u{1b}[1;31mb\u{1b}[0mc"), "abc");
    assert_eq!(without_colours("a\u{1b}[2Jb\u{1b}[m"), "a\u{1b}[2Jb");
}

#[test]
#[should_panic(expected = "something harmful")]
fn harm_is_noticed() {
    assert_harmless(items(), "fine \u{202e} not fine", "an example");
}
