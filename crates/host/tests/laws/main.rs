//! Laws that hold for every stream: recorded, hostile or made up.
//!
//! - however the bytes arrive, the same comes out;
//! - what the file says comes out, each reply, call and result exactly once;
//! - a session is the same with and without its partial messages, live and from its history, for each agent;
//! - nothing that comes out could steer a terminal, a page or a log;
//! - every line is an event, passed through, or counted as damaged;
//! - no text of the stream begins in column 0;
//! - no character of a reply disappears, unless it formats something;
//! - whatever plugins and rules say, each item is shown with content or counted, and what they aren't about stays;
//! - what is masked in the end is never shown while it grows;
//! - the fold of all changes is the document that is written, whenever they are taken;
//! - every item has an id and a place of its own, and is counted once, as shown or as hidden;
//! - an observer sees every item once, in order, and changes no output;
//! - what becomes of a line of a known type is listed, and what each version of an agent writes.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

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
use streamfmt::{Engine, Looks};

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

/// A form in which results wait for a place under their calls.
fn paired(name: &'static str) -> Form {
    form_of(name, "default", None, Some("layout.pairs=always"))
}

fn form_of(name: &'static str, profile: &str, width: Option<usize>, set: Option<&str>) -> Form {
    let is_coloured = name == "ansi";
    let looks = Looks { color: is_coloured.then_some(ColorDepth::TrueColor), width, ..Looks::default() };
    let builder = Engine::builder().dialect("claude").writer(name).profile(profile).looks(looks);
    let builder = set.into_iter().fold(builder, streamfmt::Builder::set);
    Form { name, engine: builder.build().unwrap(), is_coloured }
}

/// A form for the input of any agent: whose it is, is found out.
fn form_of_agent(name: &'static str, profile: &str) -> Form {
    let engine = Engine::builder().writer(name).profile(profile).build().unwrap();
    Form { name, engine, is_coloured: false }
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
    if let Some(around) = laws::harm(text, form.is_coloured) {
        panic!("{name} as {}: something harmful came out: {around:?}", form.name);
    }
}

/// Every line must be accounted for.
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
