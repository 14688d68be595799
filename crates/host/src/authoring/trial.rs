//! Tries a plugin on a built-in stream with items of every kind, to find mistakes that don't depend on the input: a field that no
//! item has, or an answer that can't be used.
//!
//! Other failures are ignored: the sample may lack what the plugin was made for.

use std::fmt::Write;

use streamfmt_core::pipeline::Pipeline;
use streamfmt_core::profile::DrawnRecords;

use crate::engine::Engine;
use crate::lua::Hook;
use crate::plugin::journal::PluginMessage;
use crate::plugin::source::PluginSource;
use crate::problem::{Problem, Problems};

/// Items of every kind, and calls of each action.
const SAMPLE: &str = include_str!("trial.ndjson");
/// Most tools that are tried in addition to those of the sample, and most accumulators.
const MOST_TOOLS: usize = 100;
/// The input of calls of tools that aren't in the sample: the fields that many tools have.
const INPUT: &str = r#"{"command":"ls","description":"List files","file_path":"/work/a.rs","path":"/work","pattern":"a","query":"a","url":"https://example.com/","prompt":"Look","content":"a\nb\n","old_string":"a","new_string":"b","name":"a","title":"A","text":"a","number":1}"#;

/// The mistakes that a trial finds in a plugin, given the `hooks` that it registers.
pub(crate) fn faults(pack: &PluginSource, hooks: &[Hook]) -> Vec<Problem> {
    let Ok(engine) = Engine::builder().defer_plugins(true).dialect("claude").pack(pack.clone()).build()
    else {
        return Vec::new();
    };
    // Each part has its own run, because a function that fails repeatedly is disabled for the rest of a run.
    for part in parts(&stream(hooks)) {
        run(&engine, None, &part);
    }
    let accumulators = hooks.iter().filter_map(|hook| hook.what.strip_prefix("records "));
    for name in accumulators.take(MOST_TOOLS) {
        run(&engine, Some(DrawnRecords::Accumulator(name.to_owned())), SAMPLE);
    }
    let faults = engine.journal().take().into_iter().filter_map(|message| match message {
        PluginMessage::Warning(warning) if warning.is_misuse => Some(warning.problem()),
        _ => None,
    });
    let mut faults = Problems(faults.collect());
    faults.sort();
    faults.0
}

fn run(engine: &Engine, records: Option<DrawnRecords>, stream: &str) {
    let mut setup = engine.setup();
    setup.profile.records = records;
    let mut pipeline = Pipeline::new(setup);
    // Writing to a string can't fail.
    let _ = pipeline.push(stream.as_bytes(), &mut String::new());
    let _ = pipeline.finish(&mut String::new());
}

/// Splits a stream into lines. A line with results stays together with the line before it, which has their calls.
fn parts(stream: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in stream.split_inclusive('\n') {
        match parts.last_mut().filter(|_| line.contains("\"tool_result\"")) {
            Some(part) => part.push_str(line),
            None => parts.push(line.to_owned()),
        }
    }
    parts
}

/// The sample, with two calls of each registered tool: one that succeeds and one that fails.
fn stream(hooks: &[Hook]) -> String {
    let mut stream = SAMPLE.to_owned();
    let tools =
        hooks.iter().filter_map(|hook| hook.what.strip_prefix("tool ")).filter(|tool| !tool.starts_with('@'));
    for (number, tool) in tools.take(MOST_TOOLS).enumerate() {
        // Serializing a string can't fail.
        let name = serde_json::to_string(&tool.replace('*', "x")).unwrap_or_default();
        for (id, is_error) in [(format!("own-{number}"), false), (format!("own-{number}-failed"), true)] {
            // Writing to a string can't fail.
            let _ = writeln!(
                stream,
                r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":{name},"input":{INPUT}}}]}},"session_id":"s"}}
{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"one\ntwo","is_error":{is_error}}}]}},"session_id":"s"}}"#
            );
        }
    }
    stream
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use streamfmt_core::item::{Action, Kind};

    use super::*;

    #[test]
    fn the_sample_has_every_kind_and_every_action() {
        let engine = Engine::builder().writer("items").dialect("claude").build().unwrap();
        let mut pipeline = Pipeline::new(engine.setup());
        let mut text = String::new();
        pipeline.push(SAMPLE.as_bytes(), &mut text).unwrap();
        pipeline.finish(&mut text).unwrap();
        let items: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let all = |name: &str| -> BTreeSet<String> {
            items.iter().filter_map(|item| item[name].as_str().map(str::to_owned)).collect()
        };
        assert_eq!(all("kind"), Kind::NAMES.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(all("action"), Action::NAMES.iter().map(|name| (*name).to_owned()).collect());
    }

    #[test]
    fn so_many_tools_are_tried() {
        let hook = |number: usize| Hook { what: format!("tool T{number}"), fields: Vec::new(), place: None };
        let stream = stream(&(0..=MOST_TOOLS).map(hook).collect::<Vec<_>>());
        assert!(stream.contains("\"T99\"") && !stream.contains("\"T100\""));
    }
}
