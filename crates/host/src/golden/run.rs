//! Formats the input of a case.

use std::collections::BTreeMap;

use streamfmt_core::pipeline::{Pipeline, Report, Setup};

use super::input::CaseInput;
use super::live;
use crate::engine::Engine;
use crate::plugin::journal::PluginMessage;

/// What came out of a whole input, and what was counted.
pub(super) struct CaseRun {
    pub(super) text: String,
    pub(super) report: Report,
    /// What was told of plugins.
    pub(super) told: String,
    /// What they did wrong: a line for each warning.
    pub(super) failures: Vec<String>,
    /// Steps that they took, by name.
    pub(super) fuel: BTreeMap<String, u64>,
}

impl CaseRun {
    /// Formats an input that comes in these pieces.
    pub(super) fn of<'a>(engine: &Engine, pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let engine = engine.apart();
        let mut pipeline = Pipeline::new(Setup { holds_head: true, ..engine.setup() });
        let mut text = String::new();
        // Writing to a string doesn't fail.
        for piece in pieces {
            let _ = pipeline.push(piece, &mut text);
        }
        let _ = pipeline.finish(&mut text);
        let mut head = String::new();
        let _ = pipeline.head(&mut head);
        text.insert_str(0, &head);
        let report = pipeline.report().clone();
        drop(pipeline);
        Self::end(&engine, text, report)
    }

    /// Formats the input of a case as it wants it.
    pub(super) fn of_input(engine: &Engine, input: &CaseInput) -> Self {
        match input {
            CaseInput::Whole(bytes) => Self::of(engine, [&**bytes]),
            CaseInput::Live(steps) => {
                let engine = engine.apart();
                let (text, report) = live::play(&engine, steps);
                Self::end(&engine, text, report)
            }
        }
    }

    /// Asks what plugins did.
    fn end(engine: &Engine, text: String, report: Report) -> Self {
        let journal = engine.journal();
        let (mut told, mut failures) = (String::new(), Vec::new());
        for one in journal.take() {
            match one {
                PluginMessage::Warning(warning) => {
                    let place = match (&warning.path, &warning.place) {
                        (Some(path), Some((_, line, _))) => format!("{path}:{line}"),
                        (None, Some((file, line, _))) => format!("{file}:{line}"),
                        (_, None) => warning.plugin.clone(),
                    };
                    let warning = warning.anywhere();
                    told.extend([&warning.to_string(), "\n"]);
                    failures.push(format!("{place}: {}", warning.message.replace('\n', " ")));
                }
                PluginMessage::Printed(plugin, line) => told.extend([&plugin, ": ", &line, "\n"]),
            }
        }
        Self { text, report, told, failures, fuel: journal.spent() }
    }
}

/// The text with its escapes spelled `\e`, so that showing it steers no terminal. No two texts become one.
pub(super) fn visible(text: &str) -> String {
    text.replace('\\', r"\\").replace('\u{1b}', r"\e")
}
