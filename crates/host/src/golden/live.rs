//! Live cases: what a sink shows that can change what it shows, step by step, without a clock.

use std::collections::BTreeMap;
use std::time::Duration;

use streamfmt_core::outline::Document;
use streamfmt_core::pipeline::{Output, Pipeline, Report, Setup, Update};
use streamfmt_core::text::clean;

use super::input::LiveStep;
use crate::engine::Engine;

/// A sink takes what has changed this often, as time passes in a case.
const PACE: Duration = Duration::from_millis(50);

/// What comes of the steps: for each that changes something what is put and dropped, and all that is shown then.
pub(super) fn play(engine: &Engine, steps: &[LiveStep]) -> (String, Report) {
    let mut pipeline = updating(engine);
    let mut shown = Shown::default();
    let mut text = String::new();
    let mut since = Duration::ZERO;
    for step in steps {
        let (name, is_due) = match step {
            LiveStep::Read(bytes) => {
                // Nothing is written beside the updates.
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
        shown.0.entries().map(|entry| (entry.id.clone(), entry.clone())).collect::<BTreeMap<_, _>>()
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

/// What a sink shows.
#[derive(Default)]
struct Shown(Document);

impl Shown {
    fn take(&mut self, updates: Vec<Update>) -> Vec<String> {
        let changes = updates.iter().map(|update| {
            let (what, id) = match update {
                Update::Put(entry) => ("put", &entry.id),
                Update::Drop(id) => ("drop", id),
            };
            format!("{what} {}", clean(id.as_str()).replace('\n', "␊"))
        });
        let changes = changes.collect();
        self.0.apply(updates, 0);
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
            for node in self.0.nodes() {
                let _ = writer.node(&node, text);
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
