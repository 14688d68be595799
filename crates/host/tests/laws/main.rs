//! Laws that hold for every stream: recorded, hostile or generated.
//!
//! - the output doesn't depend on how the bytes arrive;
//! - the output has the file's content, each reply, call and result exactly once;
//! - a session is the same with and without its partial messages, live and from its history, for each agent;
//! - no output can control a terminal, a page or a log;
//! - every line is an event, passed through, or counted as damaged;
//! - no text of the stream begins in column 0;
//! - no character of a reply disappears, unless it is formatting;
//! - with any plugins and rules, each item is shown with content or counted, and items that they don't match stay the same;
//! - masked text is never shown while it grows;
//! - folding all updates gives the document that is written, whenever they are taken;
//! - every item has an id and a place of its own, and is counted once, as shown or as hidden;
//! - an observer sees every item once, in order, and changes no output;
//! - the lists have the fate of each known type of line, and the types that each version of an agent writes.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

mod agents;
mod chunks;
mod counts;
#[cfg(feature = "lua")]
mod custom;
mod folded;
mod generated;
mod histories;
mod inputs;
#[cfg(feature = "lua")]
mod margin;
mod masked;
mod names;
mod observers;
mod prose;
mod recordings;
mod said;
mod sessions;
mod versions;
mod witness;

use std::sync::LazyLock;

use streamfmt::core::pipeline::{Pipeline, Report};
use streamfmt::core::theme::ColorDepth;
use streamfmt::golden::laws;
use streamfmt::{Engine, OutputCapabilities};

/// An output configuration that the laws are checked on.
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
        form("log", "ci", None),
        form("text", "plain", None),
        form("ansi", "full", Some(80)),
        form("slack", "full", None),
        paired("text"),
        paired("html"),
    ]
});

fn form(name: &'static str, profile: &str, width: Option<usize>) -> Form {
    form_of(name, profile, width, None)
}

/// A form that puts results under their calls.
fn paired(name: &'static str) -> Form {
    form_of(name, "default", None, Some("layout.pairs=always"))
}

fn form_of(name: &'static str, profile: &str, width: Option<usize>, set: Option<&str>) -> Form {
    let is_coloured = name == "ansi";
    let capabilities = OutputCapabilities {
        color: is_coloured.then_some(ColorDepth::TrueColor),
        width,
        ..OutputCapabilities::default()
    };
    let builder =
        Engine::builder().dialect("claude").writer(name).profile(profile).capabilities(capabilities);
    let builder = set.into_iter().fold(builder, streamfmt::Builder::set);
    Form { name, engine: builder.build().unwrap(), is_coloured }
}

/// A form that detects the input's agent.
fn form_of_agent(name: &'static str, profile: &str) -> Form {
    let engine = Engine::builder().writer(name).profile(profile).build().unwrap();
    Form { name, engine, is_coloured: false }
}

fn items() -> &'static Form {
    &FORMS[0]
}

/// The output for a whole input, and the report.
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

/// Asserts that the output is harmless: cleaning it again changes nothing.
fn assert_harmless(form: &Form, text: &str, name: &str) {
    if let Some(around) = laws::harm(text, form.is_coloured) {
        panic!("{name} as {}: something harmful came out: {around:?}", form.name);
    }
}

/// Asserts that every line is counted.
fn assert_counted(bytes: &[u8], outcome: &Outcome, name: &str) {
    if let Some(told) = laws::uncounted(bytes, &outcome.report) {
        panic!("{name}: {told}");
    }
}

#[test]
#[should_panic(expected = "something harmful")]
fn harm_is_noticed() {
    assert_harmless(items(), "fine \u{202e} not fine", "an example");
}
