//! Live cases: what a sink shows that can change what it shows, step by step, without a clock.

use std::collections::BTreeMap;
use std::time::Duration;

use indexmap::IndexMap;
use streamfmt_core::entry::Entry;
use streamfmt_core::item::{Id, Kind};
use streamfmt_core::pipeline::{Output, Pipeline, Report, Setup, Update};
use streamfmt_core::text::clean;

use super::input::Step;
use crate::engine::Engine;

/// A sink takes what has changed this often, as time passes in a case.
const PACE: Duration = Duration::from_millis(50);

/// What comes of the steps: for each that changes something what is put and dropped, and all that is shown then.
pub(super) fn play(engine: &Engine, steps: &[Step]) -> (String, Report) {
    let mut pipeline = updating(engine);
    let mut shown = Shown::default();
    let mut text = String::new();
    let mut since = Duration::ZERO;
    for step in steps {
        let (name, is_due) = match step {
            Step::Read(bytes) => {
                // Nothing is written beside the updates.
                let _ = pipeline.push(bytes, &mut String::new());
                continue;
            }
            Step::Take => ("@take".to_owned(), true),
            Step::Wait(time) => {
                since += *time;
                (format!("@wait {}", spelled(*time)), since >= PACE)
            }
        };
        let updates = if is_due { pipeline.take_updates() } else { Vec::new() };
        since = if is_due { Duration::ZERO } else { since };
        shown.tell(&name, updates, engine, &mut text);
    }
    let _ = pipeline.finish(&mut String::new());
    shown.tell("@end", pipeline.take_updates(), engine, &mut text);
    (text, pipeline.report().clone())
}

/// Tells what is wrong if the end depends on when something was taken.
pub(super) fn depends_on_pace(engine: &Engine, bytes: &[u8]) -> Option<String> {
    let end = |pace: usize| {
        let mut pipeline = updating(&engine.apart());
        let mut shown = Shown::default();
        for (index, line) in super::pieces::lines(bytes).into_iter().enumerate() {
            let _ = pipeline.push(line, &mut String::new());
            if index % pace == pace - 1 {
                shown.take(pipeline.take_updates());
            }
        }
        let _ = pipeline.finish(&mut String::new());
        shown.take(pipeline.take_updates());
        shown.0.into_iter().map(|(id, entry)| (id, Entry { of: None, ..entry })).collect::<BTreeMap<_, _>>()
    };
    let (often, once) = (end(1), end(usize::MAX));
    let other = often.keys().chain(once.keys()).find(|id| often.get(*id) != once.get(*id))?;
    Some(format!("taken after each line, {other} ends otherwise than taken once"))
}

fn updating(engine: &Engine) -> Pipeline {
    let setup = engine.setup();
    let output = match setup.output {
        Output::Entries { formatters, .. } => Output::Updates { formatters },
        output => output,
    };
    Pipeline::new(Setup { output, ..setup })
}

/// What a sink shows, by id.
#[derive(Default)]
struct Shown(IndexMap<Id, Entry>);

impl Shown {
    fn take(&mut self, updates: Vec<Update>) -> Vec<String> {
        let mut changes = Vec::new();
        for update in updates {
            let (what, id) = match update {
                Update::Put(entry) => {
                    let id = entry.id.clone();
                    self.0.insert(id.clone(), *entry);
                    ("put", id)
                }
                Update::Drop(id) => {
                    self.0.shift_remove(&id);
                    ("drop", id)
                }
            };
            changes.push(format!("{what} {}", clean(id.as_str()).replace('\n', "␊")));
        }
        changes
    }

    /// Writes what has changed, and all that is shown now.
    fn tell(&mut self, step: &str, updates: Vec<Update>, engine: &Engine, text: &mut String) {
        let changes = self.take(updates);
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        if changes.is_empty() {
            text.extend([gap, step, ": nothing new\n"]);
            return;
        }
        text.extend([gap, step, ": ", &changes.join(", "), "\n"]);
        if let Output::Entries { mut writer, .. } = engine.apart().setup().output {
            // Writing to a string doesn't fail.
            let _ = writer.begin(text);
            for entry in self.in_order() {
                // A result stands under its call, which needs no naming there.
                let is_under = self.call_of(entry).is_some();
                let entry = Entry { of: entry.of.clone().filter(|_| !is_under), ..entry.clone() };
                let _ = writer.entry(&entry, text);
            }
            let _ = writer.end(text);
        }
    }

    /// The call that a result belongs to, if it is shown.
    fn call_of(&self, entry: &Entry) -> Option<&Id> {
        let (call, _) = entry.id.as_str().rsplit_once("/result")?;
        let (id, _) = self.0.get_key_value(&Id::from(call))?;
        (entry.kind == Kind::Result).then_some(id)
    }

    /// All entries as in a document: by place, what is inside of a call and then its results below it.
    fn in_order(&self) -> Vec<&Entry> {
        let mut inside: BTreeMap<Option<&Id>, Vec<&Entry>> = BTreeMap::new();
        for entry in self.0.values() {
            let parent = entry.parent.as_ref().filter(|parent| self.0.contains_key(*parent));
            let parent = self.call_of(entry).or(parent);
            inside.entry(parent).or_default().push(entry);
        }
        for entries in inside.values_mut() {
            // The next one is the last of its list. Sorting is stable: equals stay in the order they came in.
            entries.sort_by_key(|entry| (self.call_of(entry).is_some(), entry.place));
            entries.reverse();
        }
        let mut order = Vec::new();
        let mut left = inside.remove(&None).unwrap_or_default();
        while let Some(entry) = left.pop() {
            order.push(entry);
            left.extend(inside.remove(&Some(&entry.id)).unwrap_or_default());
        }
        order
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
