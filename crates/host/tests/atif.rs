//! Trajectories: whatever the input, the output is valid by the rules of the format, and reading it again changes nothing.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;
use serde_json::Value;
use streamfmt::Engine;
use streamfmt::core::pipeline::{Pipeline, Report};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

/// Formats an input as a trajectory. Empty if it has no steps.
fn trajectory(input: &[u8]) -> (String, Report) {
    let engine = Engine::builder().writer("atif").build().unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let mut out = String::new();
    pipeline.push(input, &mut out).unwrap();
    pipeline.finish(&mut out).unwrap();
    (out, pipeline.report().clone())
}

/// The inputs of all cases of these folders.
fn inputs(folders: &[&str]) -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| Path::new(GOLDEN).join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "input.ndjson") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

const AGENTS: [&str; 5] = ["acp", "atif", "claude", "codex", "copilot"];

fn keys(value: &Value, allowed: &str) {
    for key in value.as_object().unwrap().keys() {
        assert!(allowed.split(' ').any(|known| known == key), "{key} isn't one of {allowed}");
    }
}

/// Checks a message or the content of a result.
fn check_content(content: &Value) {
    let Value::Array(parts) = content else {
        assert!(content.is_string());
        return;
    };
    for part in parts {
        match part["type"].as_str().unwrap() {
            "text" => {
                keys(part, "type text");
                assert!(part["text"].is_string());
            }
            "image" => {
                keys(part, "type source");
                keys(&part["source"], "media_type path");
                let media = part["source"]["media_type"].as_str().unwrap();
                assert!(["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&media));
                assert!(part["source"]["path"].is_string());
            }
            other => panic!("a part of type {other}"),
        }
    }
}

/// Checks the rules of the format that its own validator checks.
fn check(document: &Value, embedded: &BTreeSet<&str>) {
    keys(
        document,
        "schema_version session_id trajectory_id agent steps final_metrics subagent_trajectories extra",
    );
    assert_eq!(document["schema_version"], "ATIF-v1.7");
    keys(&document["agent"], "name version model_name");
    assert!(document["agent"]["name"].is_string() && document["agent"]["version"].is_string());
    let steps = document["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    for (at, step) in steps.iter().enumerate() {
        let of_agent = "reasoning_content tool_calls";
        let of_all = "step_id source message timestamp observation extra";
        let source = step["source"].as_str().unwrap();
        if source == "agent" {
            keys(step, &[of_all, of_agent].join(" "));
        } else {
            assert!(["user", "system"].contains(&source));
            keys(step, of_all);
        }
        assert_eq!(step["step_id"], at + 1);
        check_content(&step["message"]);
        if let Some(at) = step.get("timestamp") {
            at.as_str().unwrap().parse::<Timestamp>().unwrap();
        }
        let mut calls = BTreeSet::new();
        for call in step["tool_calls"].as_array().into_iter().flatten() {
            keys(call, "tool_call_id function_name arguments");
            assert!(call["function_name"].is_string() && call["arguments"].is_object());
            calls.insert(call["tool_call_id"].as_str().unwrap());
        }
        let Some(observation) = step.get("observation") else { continue };
        keys(observation, "results");
        for result in observation["results"].as_array().unwrap() {
            keys(result, "source_call_id content extra subagent_trajectory_ref");
            if let Some(call) = result["source_call_id"].as_str() {
                assert!(calls.contains(call), "{call} is no call of its step");
            }
            check_content(&result["content"]);
            for reference in result["subagent_trajectory_ref"].as_array().into_iter().flatten() {
                assert!(embedded.contains(reference["trajectory_id"].as_str().unwrap()));
            }
        }
    }
    if let Some(metrics) = document.get("final_metrics") {
        keys(
            metrics,
            "total_steps total_prompt_tokens total_completion_tokens total_cached_tokens total_cost_usd extra",
        );
        assert_eq!(metrics["total_steps"], steps.len());
    }
}

#[test]
fn a_trajectory_is_valid_and_reading_it_changes_nothing() {
    let inputs = inputs(&AGENTS);
    assert!(inputs.len() > 100, "they are not found");
    let mut documents = Vec::new();
    for input in inputs {
        let name = input.display();
        let (text, _) = trajectory(&fs::read(&input).unwrap());
        if text.is_empty() {
            continue;
        }
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let all = document["subagent_trajectories"].as_array();
        let embedded: BTreeSet<&str> =
            all.into_iter().flatten().map(|inside| inside["trajectory_id"].as_str().unwrap()).collect();
        assert_eq!(embedded.len(), all.map_or(0, Vec::len), "{name}: their ids are unique");
        for one in all.into_iter().flatten().chain([&document]) {
            check(one, &embedded);
        }
        let (again, report) = trajectory(text.as_bytes());
        assert_eq!(report.dialect.as_deref(), Some("atif"), "{name}");
        let (third, _) = trajectory(again.as_bytes());
        assert_eq!(again, third, "{name}");
        documents.push(text);
    }
    check_by_models(&documents);
}

/// Checks documents by the format's own models, if they are installed.
fn check_by_models(documents: &[String]) {
    let script = "import sys, json\n\
                  try:\n    from harbor.models.trajectories import Trajectory\n\
                  except ImportError:\n    sys.exit(0)\n\
                  for line in sys.stdin:\n    Trajectory.model_validate(json.loads(line))\n";
    let python = Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).spawn();
    let Ok(mut python) = python else { return };
    // Without the models, Python exits before it reads its input.
    let _ = python.stdin.take().unwrap().write_all(documents.concat().as_bytes());
    assert!(python.wait().unwrap().success());
}

#[test]
fn a_trajectory_that_is_read_and_written_keeps_its_steps() {
    for input in inputs(&["atif/whole"]) {
        let bytes = fs::read(&input).unwrap();
        let before: Value = serde_json::from_slice(&bytes).unwrap();
        let after: Value = serde_json::from_str(&trajectory(&bytes).0).unwrap();
        let steps = |document: &Value| document["steps"].as_array().unwrap().clone();
        assert_eq!(steps(&before).len(), steps(&after).len(), "{}", input.display());
        for (before, after) in steps(&before).iter().zip(&steps(&after)) {
            for key in ["step_id", "source", "timestamp", "reasoning_content", "tool_calls"] {
                let time = |step: &Value| step[key].as_str().and_then(|at| at.parse::<Timestamp>().ok());
                let is_same = before[key] == after[key] || key == "timestamp" && time(before) == time(after);
                assert!(is_same, "{}: {key} of {before} isn't that of {after}", input.display());
            }
        }
        for key in ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd"]
        {
            let known = before["final_metrics"].get(key);
            assert!(known.is_none() || known == after["final_metrics"].get(key), "{}", input.display());
        }
        let ids = |document: &Value| -> BTreeSet<usize> {
            let inside = document["subagent_trajectories"].as_array();
            inside.into_iter().flatten().map(|inside| steps(inside).len()).collect()
        };
        assert_eq!(ids(&before), ids(&after), "{}", input.display());
    }
}

#[test]
fn what_has_no_place_is_counted() {
    let input = concat!(
        r#"{"type":"thread.started","thread_id":"t"}"#,
        "\n",
        r#"{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"hi"}}"#,
        "\n",
        r#"{"type":"item.completed","item":{"id":"b","type":"todo_list","items":[{"text":"x","completed":true}]}}"#,
        "\n",
        r#"{"type":"error","message":"Reconnecting... 1/5 (odd)"}"#,
        "\n"
    );
    let (text, report) = trajectory(input.as_bytes());
    assert!(text.contains(r#""message":"hi""#), "{text}");
    let left_out: Vec<(&str, u64)> =
        report.left_out.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(left_out, [("plan", 1), ("retry", 1)]);
}
