//! The machine outputs keep their contract: `docs/schema` is made from the types in
//! `streamfmt_core::contract`, and every line that comes out can be read as those types.
//!
//! With `STREAMFMT_BLESS=1` the schemas are written anew.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

#[path = "laws/recordings.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod recordings;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use serde::Deserialize;
use serde_json::Value;
use streamfmt::core::contract::{EntryLine, ItemLine, items_schema, json_schema};
use streamfmt::core::item::{Fact, Item, Kind};
use streamfmt::core::json::Record;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::writer::json::write_item;
use streamfmt::engine::Engine;

use recordings::{hostile, recordings};

#[test]
fn the_schemas_are_those_of_the_types() {
    let blesses = env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    for (name, schema) in [("items", items_schema()), ("json", json_schema())] {
        let path = root().join(format!("docs/schema/{name}.schema.json"));
        if blesses {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &schema).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == schema,
            "{} isn't what the types say; if they are right: \
             STREAMFMT_BLESS=1 cargo test -p streamfmt --test schema",
            path.display()
        );
    }
}

#[test]
fn every_line_is_of_its_type() {
    let outputs = [engine("items", "default"), engine("json", "default"), engine("json", "full")];
    let recordings = recordings();
    let recorded = recordings.iter().flat_map(recordings::Recording::forms);
    let inputs = recorded.map(|(name, bytes)| (name, bytes.to_vec())).chain(golden()).chain(hostile());
    let mut lines = 0;
    for (name, bytes) in inputs {
        for (form, engine) in ["items", "json", "json"].iter().zip(&outputs) {
            for line in format(engine, &bytes).lines() {
                // An input is passed on as it came, even where it is more than this reader can read: `1e400`.
                let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
                check(form, value, &name, line);
                lines += 1;
            }
        }
    }
    assert!(lines > 500, "only {lines} lines were read");
}

#[test]
fn the_examples_in_the_documentation_come_out() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let sample = read("tests/samples/shop.jsonl");
    let said = ["items", "json"].map(|form| format(&engine(form, "default"), sample.as_bytes())).concat();
    let documentation = read("docs/json.md");
    let examples: Vec<&str> = documentation.lines().filter(|line| line.starts_with("{\"v\"")).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        assert!(said.lines().any(|line| line == example), "this doesn't come out:\n{example}");
    }
}

#[test]
fn facts_have_the_types_that_they_promise_whatever_comes() {
    let schema: Value = serde_json::from_str(&items_schema()).unwrap();
    let names = schema["$defs"]["Facts"]["properties"].as_object().unwrap().keys();
    // What dialects make out of counts and names of their own is never taken over as it came.
    let names = names.filter(|name| !matches!(name.as_str(), "odd" | "usage" | "models"));
    let values = r#"[null,true,0,-1,1.5,1e300,"text",[],[1],["text"],[{}],[{"a":1},2],{},{"a":null}]"#;
    let record = Arc::new(Record::from_line(values.to_owned()).unwrap());
    for name in names {
        // The names of facts are fixed in a program; only this test makes them out of a schema.
        let name: &'static str = name.clone().leak();
        for value in record.root().items() {
            let mut item = Item::new("a", Kind::Result, 1);
            item.record = Some(record.clone());
            item.data = vec![(name, Fact::Node(value.node()))];
            let mut line = String::new();
            write_item(&item, &mut line).unwrap();
            check("items", serde_json::from_str(&line).unwrap(), name, &line);
            let is_told = line.contains(&format!("\"{name}\":{}", value.raw()));
            assert!(is_told || value.is_null(), "{name} is lost: {line}");
        }
    }
}

/// Asserts that a line is of its type, and that nothing is `null` where it should be left out.
fn check(form: &str, value: Value, name: &str, line: &str) {
    let nulls = |value: &Value| {
        let fields = value.as_object().into_iter().flatten();
        // A call's input is passed on as it came.
        fields.filter(|(name, _)| *name != "input").any(|(_, field)| field.is_null())
    };
    let data = value.get("data").unwrap_or(&Value::Null);
    assert!(!nulls(&value) && !nulls(data), "{name} as {form}: something is null in {line}");
    let version = value["v"].as_u64();
    let read = match form {
        "items" => ItemLine::deserialize(value).map(|_| ()),
        _ => EntryLine::deserialize(value).map(|_| ()),
    };
    assert!(read.is_ok() && version == Some(1), "{name} as {form}: {:?} in {line}", read.err());
}

fn engine(writer: &str, profile: &str) -> Engine {
    Engine::builder().dialect("claude").writer(writer).profile(profile).build().unwrap()
}

fn format(engine: &Engine, bytes: &[u8]) -> String {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(bytes, &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    text
}

/// The inputs of the golden cases.
fn golden() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("tests/golden")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ndjson") {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "there are no golden inputs");
    found
}

/// The folder that holds this workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
