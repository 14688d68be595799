//! Counts are exact: each item is shown with content, or hidden by a counted rule, once, however the bytes arrive, however often a growing
//! item is formatted, on any number of threads, with any writer.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};

use proptest::prelude::*;
use streamfmt::core::entry::Entry;
use streamfmt::core::formatter::{FormatError, Formatter, Verdict};
use streamfmt::core::item::{Id, Item, Kind};
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{Output, Pipeline, Report, Setup};
use streamfmt::core::profile::Filter;
use streamfmt::core::redact::Redaction;
use streamfmt::core::session::Session;
use streamfmt::engine::Engine;
use streamfmt::format_ahead;
use streamfmt::golden::pieces;

use crate::agents;
use crate::generated::{Input, stream};
use crate::recordings::{hostile, recordings};
use crate::witness::{Drawn, Witness};

/// Longer files are tried in fewer ways.
const LONG: usize = 12 << 10;

/// The writers to compare.
const WRITERS: [&str; 3] = ["json", "text", "html"];

/// The engines for streams of Claude Code, and for those of any agent.
static ENGINES: LazyLock<Vec<[Engine; 3]>> = LazyLock::new(|| engines("claude"));
static AGENT_ENGINES: LazyLock<Vec<[Engine; 3]>> = LazyLock::new(|| engines("auto"));

/// For several configurations that hide, truncate or mask: an engine for each writer.
fn engines(dialect: &str) -> Vec<[Engine; 3]> {
    let hidden = || ["thinking", "Read", "failed"].map(str::to_owned);
    let of = |profile: &str| {
        WRITERS.map(|writer| Engine::builder().dialect(dialect).writer(writer).profile(profile))
    };
    let masked =
        of("default").map(|builder| builder.redact(&Redaction::everything()).set("limits.result-lines=2"));
    let filtered = of("ci").map(|builder| builder.hide(hidden()));
    let choices = [masked, of("full"), filtered];
    choices.into_iter().map(|builders| builders.map(|builder| builder.build().unwrap())).collect()
}

/// Fails on each call, as a faulty plugin would.
struct Faulty;

impl Formatter for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn format(&self, item: &Item, _: &Session) -> Result<Verdict, FormatError> {
        match item.kind {
            Kind::Call => Err(FormatError { message: "no calls".to_owned() }),
            _ => Ok(Verdict::Pass),
        }
    }
}

/// A pipeline with a witness and a faulty formatter.
fn witnessed(
    engine: &Engine,
    tell: Sender<Item>,
    output: impl FnOnce(Vec<Box<dyn Formatter>>) -> Output,
) -> Pipeline {
    let setup = engine.setup();
    let Output::Entries { mut formatters, .. } = setup.output else { panic!("no entries") };
    formatters.insert(0, Box::new(Faulty));
    let observers: Vec<Box<dyn Observer>> = vec![Box::new(Witness(tell))];
    Pipeline::new(Setup { output: output(formatters), observers, ..setup })
}

fn run<'a>(mut pipeline: Pipeline, pieces: impl IntoIterator<Item = &'a [u8]>, takes: bool) -> Report {
    let mut text = String::new();
    for piece in pieces {
        pipeline.push(piece, &mut text).unwrap();
        if takes {
            pipeline.take_updates();
        }
    }
    pipeline.finish(&mut text).unwrap();
    pipeline.report().clone()
}

/// The rule that hides an item without an entry.
fn rule(filter: &Filter, item: &Item) -> &'static str {
    if filter.admits(item) { item.kind.name() } else { "filter" }
}

fn sum<K>(counts: &BTreeMap<K, u64>) -> u64 {
    counts.values().sum()
}

/// Each item has an id and a place of its own.
fn assert_own_places(name: &str, items: &[Item]) {
    let (mut ids, mut places) = (BTreeSet::new(), BTreeSet::new());
    for item in items {
        assert!(ids.insert(&item.id), "{name}: two items are {}", item.id);
        let place = (&item.parent, item.place);
        assert!(places.insert(place), "{name}: {} is at {place:?}, where another is", item.id);
    }
}

/// Asserts that each item is shown with content, or counted under the rule that hides it. Returns the counts.
fn assert_accounted(name: &str, engine: &Engine, bytes: &[u8]) -> Report {
    let ((tell, met), (draw, drawn)) = (channel(), channel());
    let writer = Box::new(Drawn(draw));
    let filter = engine.setup().profile.filter;
    let report =
        run(witnessed(engine, tell, |formatters| Output::Entries { formatters, writer }), [bytes], false);
    let items: Vec<Item> = met.iter().collect();
    assert_own_places(name, &items);
    let drawn: BTreeMap<Id, Entry> = drawn.iter().map(|entry| (entry.id.clone(), entry)).collect();
    let (mut shown, mut hidden) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for item in &items {
        match drawn.get(&item.id) {
            Some(entry) => {
                let is_seen = !entry.view.is_blank() || item.text().trim().is_empty();
                assert!(is_seen, "{name}: {} is shown without content", item.id);
                *shown.entry(item.kind).or_default() += 1;
            }
            None => *hidden.entry(rule(&filter, item).to_owned()).or_default() += 1,
        }
    }
    // A masked id is drawn under another one.
    if sum(&report.redacted) == 0 {
        assert_eq!((&report.shown, &report.hidden), (&shown, &hidden), "{name}");
    }
    assert_eq!(report.items, items.len() as u64, "{name}");
    let failed = items.iter().filter(|item| item.kind == Kind::Call && filter.admits(item)).count() as u64;
    let failures = report.failures.get("faulty: no calls").copied().unwrap_or_default();
    assert_eq!(failures, failed, "{name}: calls that failed");
    assert!(report.redacted.values().chain(report.elided.values()).all(|count| *count <= report.items));
    report
}

/// Tries an input with all configurations, or with the one at an index.
fn assert_counts(choices: &[[Engine; 3]], name: &str, bytes: &[u8], index: Option<usize>) {
    let is_short = bytes.len() <= LONG;
    let wanted = |at: usize| index.is_none_or(|index| index % choices.len() == at);
    for (_, engines) in choices.iter().enumerate().filter(|(at, _)| wanted(*at)) {
        let engine = &engines[0];
        let name = format!("{name}, {}", engine.choice().profile.name);
        let expected = assert_accounted(&name, engine, bytes);
        assert_eq!(sum(&expected.shown) + sum(&expected.hidden), expected.items, "{name}");
        let (tell, _met) = channel();
        let updates = |takes: bool, pieces: Vec<&[u8]>| {
            let output = |formatters| Output::Updates { formatters };
            run(witnessed(engine, tell.clone(), output), pieces, takes)
        };
        // Masking of ids depends on the writer.
        let but_masks = |report: &Report| Report { redacted: BTreeMap::new(), ..report.clone() };
        assert_eq!(
            but_masks(&updates(true, pieces::lines(bytes))),
            but_masks(&expected),
            "{name}, taken line by line"
        );
        if !is_short {
            continue;
        }
        assert_eq!(
            updates(true, pieces::odd(bytes, 7)),
            updates(false, vec![bytes]),
            "{name}, at another pace"
        );
        let written = |engine: &Engine| {
            witnessed(engine, tell.clone(), |formatters| match engine.setup().output {
                Output::Entries { writer, .. } => Output::Entries { formatters, writer },
                output => output,
            })
        };
        for (engine, writer) in engines.iter().zip(WRITERS) {
            assert_eq!(run(written(engine), pieces::odd(bytes, 3), false), expected, "{name}, as {writer}");
        }
        let (mut pipeline, mut text) = (written(engine), String::new());
        format_ahead(&mut pipeline, bytes, |piece| {
            text.push_str(piece);
            ControlFlow::Continue(())
        })
        .unwrap();
        pipeline.finish(&mut text).unwrap();
        assert_eq!(pipeline.report(), &expected, "{name}, on two threads");
    }
}

#[test]
fn counts_of_recordings_say_what_happened() {
    let mut index = 0;
    for recording in recordings() {
        let is_sample = recording.name.starts_with("samples/");
        for (name, bytes) in recording.forms() {
            assert_counts(&ENGINES, &name, bytes, (!is_sample).then_some(index));
            index += 1;
        }
    }
}

#[test]
fn counts_of_recordings_of_each_agent_say_what_happened() {
    for (index, (name, bytes)) in agents::sample(5).enumerate() {
        assert_counts(&AGENT_ENGINES, &name, bytes, Some(index));
    }
}

#[test]
fn counts_of_hostile_files_say_what_happened() {
    for (index, (name, bytes)) in hostile().into_iter().enumerate() {
        assert_counts(&ENGINES, &name, &bytes, Some(index));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_of_any_stream_say_what_happened(input in stream()) {
        let Input(bytes) = &input;
        assert_counts(&ENGINES, "a made-up stream", bytes, None);
    }
}
