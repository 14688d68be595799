//! Formats the input of a case.

use std::collections::BTreeMap;

use streamfmt_core::pipeline::{Pipeline, Report, Setup};

use super::input::CaseInput;
use super::live;
use crate::engine::Engine;
use crate::plugin::journal::PluginMessage;

/// The output and the counts of a whole input.
pub(super) struct CaseRun {
    pub(super) text: String,
    pub(super) report: Report,
    /// The plugin messages.
    pub(super) messages: String,
    /// The plugin failures: a line for each warning.
    pub(super) failures: Vec<String>,
    /// The steps that each plugin used, by name.
    pub(super) fuel: BTreeMap<String, u64>,
}

impl CaseRun {
    /// Formats an input that arrives in these pieces.
    pub(super) fn of<'a>(engine: &Engine, pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let engine = engine.with_own_journal();
        let mut pipeline = Pipeline::new(Setup { holds_head: true, ..engine.setup() });
        let mut text = String::new();
        // Writing to a string can't fail.
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

    /// Formats the input of a case, whole or step by step.
    pub(super) fn of_input(engine: &Engine, input: &CaseInput) -> Self {
        match input {
            CaseInput::Whole(bytes) => Self::of(engine, [&**bytes]),
            CaseInput::Live(steps) => {
                let engine = engine.with_own_journal();
                let (text, report) = live::play(&engine, steps);
                Self::end(&engine, text, report)
            }
        }
    }

    /// Collects the messages and counts of plugins.
    fn end(engine: &Engine, text: String, report: Report) -> Self {
        let journal = engine.journal();
        let (mut messages, mut failures) = (String::new(), Vec::new());
        for one in journal.take() {
            match one {
                PluginMessage::Warning(warning) => {
                    let place = match (&warning.path, &warning.place) {
                        (Some(path), Some((_, line, _))) => format!("{path}:{line}"),
                        (None, Some((file, line, _))) => format!("{file}:{line}"),
                        (_, None) => warning.plugin.clone(),
                    };
                    let warning = warning.anywhere();
                    messages.extend([&warning.to_string(), "\n"]);
                    failures.push(format!("{place}: {}", warning.message.replace('\n', " ")));
                }
                PluginMessage::Printed(plugin, line) => messages.extend([&plugin, ": ", &line, "\n"]),
            }
        }
        Self { text, report, messages, failures, fuel: journal.spent() }
    }
}

/// Escapes control sequences as `\e`, so that printing the text can't control a terminal. Distinct texts stay distinct.
pub(super) fn visible(text: &str) -> String {
    text.replace('\\', r"\\").replace('\u{1b}', r"\e")
}
