//! Folding all updates gives the document of an append-only writer, whenever they are taken, also for a reader that joins late.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::LazyLock;
use std::sync::mpsc::channel;

use proptest::prelude::*;
use streamfmt::Engine;
use streamfmt::core::item::Id;
use streamfmt::core::outline::{Document, DocumentPart, Node};
use streamfmt::core::pipeline::{Output, Pipeline, Setup};
use streamfmt::core::writer::Wants;
use streamfmt::golden::pieces;

use crate::agents;
use crate::generated::{Input, stream};
use crate::inputs::inputs;
use crate::witness::Placed;

/// Longer files are left out: they contain only more of the same.
const LONG: usize = 64 << 10;

/// Results are put under their calls, and nothing is hidden: a hidden item may end a turn, and a sink of updates doesn't get it.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    Engine::builder().writer("json").profile("full").set("layout.pairs=always").build().unwrap()
});

/// Combinations of what writers want from the outline, apart from the answer and the numbers of sub-agents.
fn wants() -> [Wants; 3] {
    let plain = Wants { time: true, ..Wants::default() };
    [plain, Wants { nests: true, notices: true, ..plain }, Wants { names: true, ..plain }]
}

/// The nodes that a writer gets.
fn written(wants: Wants, bytes: &[u8]) -> Vec<Node> {
    let (send, nodes) = channel();
    let output = Output::Entries { formatters: Vec::new(), writer: Box::new(Placed(wants, send)) };
    let mut pipeline = Pipeline::new(Setup { output, is_whole: false, ..ENGINE.setup() });
    pipeline.push(bytes, &mut String::new()).unwrap();
    pipeline.finish(&mut String::new()).unwrap();
    nodes.try_iter().collect()
}

/// The final documents of a sink that takes updates after every `pace` lines and of a reader that reads this sink less often, and the
/// dropped entries.
fn folded(bytes: &[u8], pace: usize) -> ([Document; 2], BTreeSet<Id>) {
    let output = Output::Updates { formatters: Vec::new() };
    let mut pipeline = Pipeline::new(Setup { output, is_whole: false, ..ENGINE.setup() });
    let ([mut sink, mut reader], mut dropped) = ([Document::default(), Document::default()], BTreeSet::new());
    let mut revision = 0;
    let mut take = |pipeline: &mut Pipeline, is_read: bool| {
        for update in pipeline.take_updates() {
            dropped.extend(update.entry().is_none().then(|| update.id().clone()));
            sink.apply([update]);
        }
        if is_read {
            reader.apply(sink.since(revision));
            revision = sink.revision();
        }
    };
    for (number, lines) in pieces::lines(bytes).chunks(pace).enumerate() {
        pipeline.push(&lines.concat(), &mut String::new()).unwrap();
        take(&mut pipeline, number % 5 == 4);
    }
    pipeline.finish(&mut String::new()).unwrap();
    take(&mut pipeline, true);
    ([sink, reader], dropped)
}

/// Whether two nodes are the same. Titles of calls may differ: a sink knows one that the pipeline has forgotten, or doesn't know it yet.
fn is_same(one: &Node, other: &Node) -> bool {
    discriminant(&one.relation) == discriminant(&other.relation) && one.entries().eq(other.entries())
}

fn assert_folds(name: &str, bytes: &[u8]) {
    let ends = [1, 7, usize::MAX].map(|pace| (pace, folded(bytes, pace)));
    for wants in wants() {
        let written = written(wants, bytes);
        for (pace, (documents, dropped)) in &ends {
            // A writer can't remove dropped entries.
            let kept: Vec<_> = written.iter().filter(|node| !dropped.contains(&node.entry.id)).collect();
            for (document, sink) in documents.iter().zip(["the sink", "its reader"]) {
                let parts = document.parts(wants.outline(&ENGINE.setup().profile, true));
                let nodes: Vec<_> = parts.into_iter().flat_map(DocumentPart::into_nodes).collect();
                let mut pairs = nodes.iter().zip(&kept);
                if let Some((one, other)) = pairs.find(|(one, other)| !is_same(one, other)) {
                    panic!("{name}, every {pace} lines, {sink}, {wants:?}: {one:?}\nwritten is: {other:?}");
                }
                assert_eq!(nodes.len(), kept.len(), "{name}, every {pace} lines, {sink}, {wants:?}");
            }
        }
    }
}

#[test]
fn what_is_folded_is_what_is_written() {
    for (name, bytes) in inputs().into_iter().filter(|(_, bytes)| bytes.len() <= LONG) {
        assert_folds(&name, &bytes);
    }
    for (name, bytes) in agents::sample(3).filter(|(_, bytes)| bytes.len() <= LONG) {
        assert_folds(&name, bytes);
    }
}

proptest! {
    #[test]
    fn so_it_is_of_streams_that_nobody_recorded(Input(bytes) in stream()) {
        assert_folds("a made-up stream", &bytes);
    }
}
