//! Live cases: the content of a sink that can change what it shows, step by step, without a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use streamfmt_core::entry::{Block, Entry};
use streamfmt_core::item::{Id, Kind};
use streamfmt_core::outline::Document;
use streamfmt_core::pipeline::{EntryChange, Output, Pipeline, Report, Setup, Update};

use super::input::LiveStep;
use super::witness::{EntriesById, entries_of};
use crate::engine::Engine;
use crate::problem::one_line;

/// The interval at which the sink takes updates while a case waits.
const PACE: Duration = Duration::from_millis(50);

/// Runs the steps. Returns, for each step that changes something, the changes and the sink's content after them.
pub(super) fn play(engine: &Engine, steps: &[LiveStep]) -> (String, Report) {
    let mut pipeline = updating(engine);
    let mut shown = Shown::default();
    let mut text = String::new();
    let mut since = Duration::ZERO;
    for step in steps {
        let (name, is_due) = match step {
            LiveStep::Read(bytes) => {
                // A pipeline of updates writes nothing else.
                let _ = pipeline.push(bytes, &mut String::new());
                continue;
            }
            LiveStep::Take => ("@take".to_owned(), true),
            LiveStep::Wait(time) => {
                since += *time;
                (format!("@wait {}", spelled(*time)), since >= PACE)
            }
        };
        let updates = if is_due { pipeline.take_updates() } else { Vec::new() };
        since = if is_due { Duration::ZERO } else { since };
        shown.write_step(&name, updates, engine, &mut text);
    }
    let _ = pipeline.finish(&mut String::new());
    shown.write_step("@end", pipeline.take_updates(), engine, &mut text);
    (text, pipeline.report().clone())
}

/// The final state of a run.
struct End {
    entries: EntriesById,
    /// The entries that were dropped.
    dropped: BTreeSet<Id>,
    report: Report,
}

/// Returns a violation if the final state depends on when updates are taken, or differs from the output of a writer, which can't
/// change what it has written. Dropped entries may differ: the writer has written them.
pub(super) fn depends_on_pace(engine: &Engine, bytes: &[u8]) -> Option<String> {
    let (often, once, mut written) =
        (taken(engine, bytes, 1), taken(engine, bytes, usize::MAX), written(engine, bytes)?);
    written.entries.retain(|id, _| often.entries.contains_key(id) || !often.dropped.contains(id));
    [(once, "taken once"), (written, "written")].into_iter().find_map(|(other, way)| {
        let mut ids = often.entries.keys().chain(other.entries.keys());
        if let Some(id) = ids.find(|id| often.entries.get(*id) != other.entries.get(*id)) {
            return Some(format!("taken after each line, {id} ends differently than when {way}"));
        }
        (often.report != other.report)
            .then(|| format!("taken after each line, the counts differ from those when {way}"))
    })
}

/// Finds text of a growing reply that isn't in the complete reply, if secrets are masked. Plugins are ignored, since they may
/// show anything.
pub(super) fn unmasked_while_growing(engine: &Engine, bytes: &[u8]) -> Option<String> {
    let engine = engine.without_plugins();
    if !engine.settings().profile.redaction.is_on() {
        return None;
    }
    let mut pipeline = updating(&engine);
    let (mut growing, mut whole) = (BTreeMap::<Id, Vec<String>>::new(), BTreeMap::<Id, String>::new());
    read(&mut pipeline, bytes, 1, |pipeline| {
        for update in pipeline.take_updates() {
            let EntryChange::Put { entry, partial, .. } = update.change else { continue };
            let Some(text) = prose_of(&entry).map(str::to_owned) else { continue };
            if partial {
                growing.entry(entry.id).or_default().push(text);
            } else {
                whole.insert(entry.id, text);
            }
        }
    });
    let shown = growing.iter().filter_map(|(id, texts)| Some((id, texts, whole.get(id)?)));
    let wrong = shown.filter_map(|(id, texts, whole)| {
        let text = texts.iter().find(|text| !whole.contains(text.as_str()))?;
        Some(format!("while growing, {id} showed text that is masked once it is complete: {text}"))
    });
    wrong.map(|wrong| one_line(&wrong)).next()
}

/// The text of a reply with a single block of prose.
fn prose_of(entry: &Entry) -> Option<&str> {
    match &entry.view.body[..] {
        [Block::Prose { text, .. }] if entry.kind == Kind::Reply => Some(text),
        _ => None,
    }
}

/// The final state of a sink that takes updates after every `pace` lines.
fn taken(engine: &Engine, bytes: &[u8], pace: usize) -> End {
    let mut pipeline = updating(&engine.with_own_journal());
    let mut shown = Shown::default();
    let mut dropped = BTreeSet::new();
    read(&mut pipeline, bytes, pace, |pipeline| {
        let updates = pipeline.take_updates();
        dropped.extend(
            updates.iter().filter(|update| update.entry().is_none()).map(|update| update.id().clone()),
        );
        shown.take(updates);
    });
    let entries = shown.0.entries().map(|entry| (entry.id.clone(), entry.clone())).collect();
    End { entries, dropped, report: pipeline.report().clone() }
}

/// Reads an input line by line. Calls `take` after every `pace` lines, and at the end.
fn read(pipeline: &mut Pipeline, bytes: &[u8], pace: usize, mut take: impl FnMut(&mut Pipeline)) {
    for (index, line) in super::pieces::lines(bytes).into_iter().enumerate() {
        let _ = pipeline.push(line, &mut String::new());
        if index % pace == pace - 1 {
            take(pipeline);
        }
    }
    let _ = pipeline.finish(&mut String::new());
    take(pipeline);
}

/// The output of a writer, or `None` if the output has no entries.
fn written(engine: &Engine, bytes: &[u8]) -> Option<End> {
    let (entries, report) = entries_of(engine.with_own_journal().setup(), bytes)?;
    Some(End { entries, dropped: BTreeSet::new(), report })
}

fn updating(engine: &Engine) -> Pipeline {
    let setup = engine.setup();
    let output = match setup.output {
        Output::Entries { formatters, .. } => Output::Updates { formatters },
        output => output,
    };
    Pipeline::new(Setup { output, ..setup })
}

/// The content of a sink.
#[derive(Default)]
struct Shown(Document);

impl Shown {
    fn take(&mut self, updates: Vec<Update>) -> Vec<String> {
        let changes = updates.iter().map(|update| {
            let what = match update.change {
                EntryChange::Put { .. } => "put",
                EntryChange::Drop(_) => "drop",
            };
            format!("{what} {}", one_line(update.id().as_str()))
        });
        let changes = changes.collect();
        self.0.apply(updates);
        changes
    }

    /// Writes the changes of a step, and the content after them.
    fn write_step(&mut self, step: &str, updates: Vec<Update>, engine: &Engine, text: &mut String) {
        let changes = self.take(updates);
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        if changes.is_empty() {
            text.extend([gap, step, ": nothing new\n"]);
            return;
        }
        text.extend([gap, step, ": ", &changes.join(", "), "\n"]);
        let Setup { profile, output, .. } = engine.with_own_journal().setup();
        if let Output::Entries { mut writer, .. } = output {
            // Writing to a string can't fail.
            let _ = writer.begin(text);
            for part in self.0.parts(writer.wants().outline(&profile, true)) {
                let _ = part.write(&mut *writer, text);
            }
            let _ = writer.end(text);
        }
    }
}

fn spelled(time: Duration) -> String {
    let millis = time.as_millis();
    if millis > 0 && millis.is_multiple_of(1000) {
        format!("{}s", millis / 1000)
    } else {
        format!("{millis}ms")
    }
}
