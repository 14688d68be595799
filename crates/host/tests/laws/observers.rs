//! An observer sees each item once, complete and in order, and the end once, in whatever pieces the input arrives and with any output; it
//! changes no output.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use proptest::prelude::*;
use serde_json::Value;
use streamfmt::contract::write_item;
use streamfmt::core::event::Usage;
use streamfmt::core::item::{Id, Item, Kind};
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{OutputDecision, Pipeline, Report, Setup};
use streamfmt::core::session::Session;
use streamfmt::format_ahead;
use streamfmt::golden::pieces;

use crate::generated::{Input, stream};
use crate::recordings::{files, folders, hostile, root, sample};
use crate::{FORMS, Form, agents, form_of_agent, format};

/// Shorter files are also read byte by byte.
const SHORT: usize = 12 << 10;

/// The forms for the input of any agent: the items first, text that hides much, and a page.
static FORMS_OF_ANY: LazyLock<[Form; 3]> = LazyLock::new(|| {
    [("items", "default"), ("text", "quiet"), ("markdown", "full")]
        .map(|(name, profile)| form_of_agent(name, profile))
});

/// A call of an observer.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Item {
        id: Id,
        /// Its line of JSON.
        line: String,
        /// Whether an output of items has a line for it.
        is_written: bool,
        /// The tokens so far.
        usage: Usage,
    },
    End(Usage),
}

struct Recorder(Sender<Seen>);

impl Observer for Recorder {
    fn item(&mut self, item: &Item, session: &Session) {
        let mut line = String::new();
        write_item(item, &mut line).unwrap();
        let is_blank_line = item.kind == Kind::Unknown && item.is_blank();
        let is_written = !is_blank_line && item.fact("counted").is_none();
        let seen = Seen::Item { id: item.id.clone(), line, is_written, usage: session.usage() };
        self.0.send(seen).unwrap();
    }

    fn end(&mut self, session: &Session) {
        self.0.send(Seen::End(session.usage())).unwrap();
    }
}

/// A pipeline with an observer, and the observer's calls.
fn observed(mut setup: Setup) -> (Pipeline, Receiver<Seen>) {
    let (send, seen) = channel();
    setup.observers.push(Box::new(Recorder(send)));
    (Pipeline::new(setup), seen)
}

/// Reads an input in pieces. Returns the observer's calls, the text and the counts.
fn run<'a>(setup: Setup, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Seen>, String, Report) {
    let (mut pipeline, seen) = observed(setup);
    let mut text = String::new();
    for piece in pieces {
        pipeline.push(piece, &mut text).unwrap();
    }
    pipeline.finish(&mut text).unwrap();
    (seen.try_iter().collect(), text, pipeline.report().clone())
}

/// The calls without an output. Asserts that each item has an id of its own, and that the end is last.
fn alone(engine: &streamfmt::Engine, name: &str, bytes: &[u8]) -> Vec<Seen> {
    let (seen, text, report) = run(engine.watch(Vec::new()), [bytes]);
    assert_eq!(text, "", "{name}");
    let Some((Seen::End(_), items)) = seen.split_last() else { panic!("{name}: the end isn't last") };
    let mut ids = BTreeSet::new();
    for item in items {
        let Seen::Item { id, .. } = item else { panic!("{name}: the end comes twice") };
        assert!(ids.insert(id), "{name}: {id} comes twice");
    }
    assert_eq!(report.items, items.len() as u64, "{name}");
    seen
}

fn assert_same(seen: &[Seen], expected: &[Seen], name: &str) {
    let same = seen.iter().zip(expected).take_while(|(one, other)| one == other).count();
    assert!(
        seen == expected,
        "{name}: call {} of the observer is\n{:?}\ninstead of\n{:?}",
        same + 1,
        seen.get(same),
        expected.get(same)
    );
}

/// Reads an input in many ways: whole and in pieces, without an output and with each form. The first form is `items`.
fn assert_observed<'a>(forms: impl IntoIterator<Item = &'a Form>, name: &str, bytes: &[u8]) {
    let mut forms = forms.into_iter();
    let items = forms.next().unwrap();
    let expected = alone(&items.engine, name, bytes);
    let mut ways = vec![pieces::lines(bytes), pieces::odd(bytes, bytes.len() as u64)];
    if bytes.len() <= SHORT {
        ways.push(pieces::single(bytes));
    }
    for pieces in ways {
        let name = format!("{name}, in {} pieces", pieces.len());
        assert_same(&run(items.engine.watch(Vec::new()), pieces).0, &expected, &name);
    }

    let (mut pipeline, ahead) = observed(items.engine.watch(Vec::new()));
    format_ahead(&mut pipeline, bytes, |_| ControlFlow::Continue(())).unwrap();
    pipeline.finish(&mut String::new()).unwrap();
    assert_same(&ahead.try_iter().collect::<Vec<_>>(), &expected, &format!("{name}, on two threads"));

    let plain = format(items, [bytes]);
    let ids =
        plain.text.lines().map(|line| match serde_json::from_str::<Value>(line).unwrap()["id"].take() {
            Value::String(id) => id,
            other => panic!("{name}: {other} is no id"),
        });
    let written = expected.iter().filter_map(|seen| match seen {
        Seen::Item { id, is_written: true, .. } => Some(id.to_string()),
        _ => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), written.collect::<Vec<_>>(), "{name}");

    for form in [items].into_iter().chain(forms) {
        let name = format!("{name}, as {}", form.name);
        let plain = format(form, [bytes]);
        let (seen, text, report) = run(form.engine.setup(), pieces::odd(bytes, 5));
        assert_same(&seen, &expected, &name);
        assert!(text == plain.text, "{name}: the observer changes the text");
        assert_eq!(report, plain.report, "{name}");
    }
    assert_observed_beside_updates(&items.engine.updating(), name, bytes, &expected);
}

/// Reads an input line by line for a sink that takes updates, including those of growing items.
fn assert_observed_beside_updates(engine: &streamfmt::Engine, name: &str, bytes: &[u8], expected: &[Seen]) {
    let (mut observed, seen) = observed(engine.setup());
    let mut plain = Pipeline::new(engine.setup());
    let assert_same_updates = |observed: &mut Pipeline, plain: &mut Pipeline| {
        let updates = |pipeline: &mut Pipeline| format!("{:?}", pipeline.take_updates());
        assert!(updates(observed) == updates(plain), "{name}: the observer changes the updates");
    };
    for piece in pieces::lines(bytes) {
        observed.push(piece, &mut String::new()).unwrap();
        plain.push(piece, &mut String::new()).unwrap();
        assert_same_updates(&mut observed, &mut plain);
    }
    observed.finish(&mut String::new()).unwrap();
    plain.finish(&mut String::new()).unwrap();
    assert_same_updates(&mut observed, &mut plain);
    assert_same(&seen.try_iter().collect::<Vec<_>>(), expected, &format!("{name}, beside updates"));
}

#[test]
fn observers_of_recordings_see_each_item_once() {
    // Grammars are loaded for each pipeline with coloured code: too slow for all files.
    for (name, bytes) in sample(0, 9) {
        assert_observed(FORMS.iter().filter(|form| !form.is_coloured), &name, &bytes);
    }
    for (name, bytes) in agents::sample(5) {
        assert_observed(&*FORMS_OF_ANY, &name, bytes);
    }
}

#[test]
fn observers_of_hostile_files_see_each_item_once() {
    for (name, bytes) in hostile() {
        assert_observed(&*FORMS_OF_ANY, &name, &bytes);
    }
}

#[test]
fn observers_of_golden_inputs_see_each_item_once() {
    let files = folders(&root().join("tests/golden")).into_iter().flat_map(|folder| files(&folder));
    let inputs = files.filter(|path| path.file_stem().is_some_and(|stem| stem == "input") && path.is_file());
    let mut count = 0;
    for path in inputs {
        assert_observed(&*FORMS_OF_ANY, &path.to_string_lossy(), &fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 100, "{count} inputs");
}

/// Fails on each write.
struct Broken;

impl fmt::Write for Broken {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Err(fmt::Error)
    }
}

#[test]
fn observers_see_all_items_although_an_output_fails_or_begins_late() {
    for (name, bytes) in sample(0, usize::MAX) {
        let expected = alone(&FORMS[0].engine, &name, &bytes);
        let text = FORMS.iter().find(|form| form.name == "text").unwrap();
        let (mut pipeline, seen) = observed(text.engine.setup());
        let mut failures = 0;
        for line in pieces::lines(&bytes) {
            failures += u32::from(pipeline.push(line, &mut Broken).is_err());
        }
        failures += u32::from(pipeline.finish(&mut Broken).is_err());
        assert!(failures > 0, "{name}: nothing is written");
        assert_same(&seen.try_iter().collect::<Vec<_>>(), &expected, &format!("{name}, written in vain"));

        let mut late = text.engine.setup();
        late.settle =
            Some(Box::new(|start| if start.is_all { OutputDecision::Keep } else { OutputDecision::Wait }));
        assert_same(&run(late, pieces::lines(&bytes)).0, &expected, &format!("{name}, held back"));
    }
}

#[test]
fn an_item_that_is_streamed_and_repeated_is_seen_once_and_whole() {
    let event =
        |event: &str| format!("{{\"type\":\"stream_event\",\"session_id\":\"s\",\"event\":{event}}}\n");
    let whole = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"One, two."}]}}"#;
    let call = r#"{"type":"assistant","message":{"id":"n","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    let lines = [
        event(r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}"#),
        event(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
        event(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"One, "}}"#),
        event(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"two."}}"#),
        format!("{whole}\n"),
        event(r#"{"type":"content_block_stop","index":0}"#),
        event(r#"{"type":"message_stop"}"#),
        format!("{call}\n{call}\n"),
    ];
    let input = lines.concat();
    let (seen, ..) = run(FORMS[0].engine.watch(Vec::new()), [input.as_bytes()]);
    let items = seen.iter().filter_map(|seen| match seen {
        Seen::Item { line, .. } => Some(serde_json::from_str::<Value>(line).unwrap()),
        Seen::End(_) => None,
    });
    let items: Vec<Value> = items.filter(|item| item["kind"] != "notice").collect();
    let kinds: Vec<&Value> = items.iter().map(|item| &item["kind"]).collect();
    assert_eq!(
        (kinds, &items[0]["text"]),
        (vec![&Value::from("reply"), &Value::from("call")], &Value::from("One, two."))
    );
    assert_observed(&FORMS[..4], "a streamed reply", input.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn observers_of_any_stream_see_each_item_once(input in stream()) {
        let Input(bytes) = &input;
        assert_observed(&FORMS[..4], "a made-up stream", bytes);
    }
}
