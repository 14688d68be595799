//! The machine-readable outputs keep their contract: `docs/schema` is generated from the types in `streamfmt_core::contract` and the table
//! of facts, every output line matches its schema, and reading and writing a line gives the same line.
//!
//! `STREAMFMT_BLESS=1` rewrites the schemas.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "laws/inputs.rs"]
mod inputs;
#[path = "laws/recordings.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod recordings;

use std::path::{Path, PathBuf};
use std::{env, fs};

use jsonschema::Validator;
use serde_json::{Value, json};
use streamfmt::core::contract::{finds_schema, items_schema, json_schema, updates_schema};
use streamfmt::core::contract::{write_item, write_update};
use streamfmt::core::item::facts::FACTS;
use streamfmt::core::item::{Fact, FactList, Item, Kind};
use streamfmt::core::json::Record;
use streamfmt::core::outline::Node;
use streamfmt::core::pipeline::{Output, Pipeline, Setup};
use streamfmt::core::writer::Writer;
use streamfmt::dialect::read_item;
use streamfmt::engine::Engine;
use streamfmt::writer::json::Json;

use inputs::inputs;

#[test]
fn the_schemas_are_those_of_the_types() {
    let blesses = env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    for (name, schema) in [
        ("items", items_schema()),
        ("json", json_schema()),
        ("updates", updates_schema()),
        ("share", finds_schema()),
    ] {
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
fn every_line_is_of_its_schema_and_reads_back() {
    let outputs = [engine("items", "default"), engine("json", "default"), engine("json", "full")];
    let schemas = [
        (schema(&items_schema()), item_again as fn(&str) -> String),
        (schema(&json_schema()), entry_again),
        (schema(&json_schema()), entry_again),
    ];
    let mut lines = 0;
    for (name, bytes) in inputs() {
        for (engine, (schema, again)) in outputs.iter().zip(&schemas) {
            for line in format(engine, &bytes).lines() {
                // An empty `data` has no facts, so it isn't written again.
                let whole = line.strip_suffix(r#","data":{}}"#);
                assert_eq!(
                    again(line).trim_end(),
                    whole.map_or(line.into(), |rest| format!("{rest}}}")),
                    "{name}"
                );
                lines += 1;
                // Input is passed on verbatim, even if this reader can't read it: `1e400`.
                let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
                check(schema, &value, &name, line);
            }
        }
    }
    assert!(lines > 500, "only {lines} lines were read");
}

#[test]
fn every_update_is_of_its_schema() {
    let schema = schema(&updates_schema());
    let engine = engine("json", "full");
    let mut lines = 0;
    for (name, bytes) in inputs() {
        let output = Output::Updates { formatters: Vec::new() };
        let mut pipeline = Pipeline::new(Setup { output, ..engine.setup() });
        let mut text = String::new();
        let mut take = |pipeline: &mut Pipeline| {
            pipeline.take_updates().iter().for_each(|update| write_update(update, &mut text).unwrap());
        };
        for piece in bytes.chunks(2_000) {
            pipeline.push(piece, &mut String::new()).unwrap();
            take(&mut pipeline);
        }
        pipeline.finish(&mut String::new()).unwrap();
        take(&mut pipeline);
        for line in text.lines() {
            check(&schema, &serde_json::from_str(line).unwrap(), &name, line);
            lines += 1;
        }
    }
    assert!(lines > 500, "only {lines} updates were checked");
    for wrong in [
        json!({"v": 1, "update": "put", "revision": 1, "entry": {"id": "a"}}),
        json!({"v": 1, "update": "drop", "revision": 1, "id": "a"}),
    ] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn the_examples_in_the_documentation_come_out() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let sample = read("tests/samples/shop.jsonl");
    let said = ["items", "json"].map(|form| format(&engine(form, "default"), sample.as_bytes())).concat();
    let documentation = read("docs/json.md");
    let lines = documentation.lines().filter(|line| line.starts_with("{\"v\""));
    let (finds, lines): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains("\"find\""));
    let schema = schema(&finds_schema());
    for line in &finds {
        check(&schema, &serde_json::from_str(line).unwrap(), "json.md", line);
    }
    let lines = lines.into_iter();
    let (updates, examples): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains("\"update\""));
    assert_eq!((updates.len(), examples.len(), finds.len()), (4, 2, 1));
    for line in updates {
        let mut again = String::new();
        write_update(&serde_json::from_str(line).unwrap(), &mut again).unwrap();
        assert_eq!(again.trim_end(), line);
    }
    for example in examples {
        assert!(said.lines().any(|line| line == example), "this doesn't come out:\n{example}");
    }
}

#[test]
fn facts_have_the_types_that_they_promise_whatever_comes() {
    let schema = schema(&items_schema());
    // Facts that dialects build from counts and names of their own are never copied from the input.
    let names = FACTS.iter().filter(|(name, _)| !matches!(*name, "odd" | "usage" | "models"));
    let values = r#"[null,true,0,-1,1.5,1e300,"text",[],[1],["text"],[{}],[{"a":1},2],{},{"a":null}]"#;
    let record = Record::from_line(values.to_owned()).unwrap();
    for (name, _) in names {
        for value in record.root().items() {
            let mut item = Item::new("a", Kind::Result, 1);
            item.record = Some(record.clone());
            item.data = FactList::default();
            item.data.push((name, Fact::Node(value.node())));
            let mut line = String::new();
            write_item(&item, &mut line).unwrap();
            check(&schema, &serde_json::from_str(&line).unwrap(), name, &line);
            let is_told = line.contains(&format!("\"{name}\":{}", value.raw()));
            assert!(is_told || value.is_null(), "{name} is lost: {line}");
        }
    }
}

#[test]
fn schemas_allow_what_newer_versions_may_have() {
    let sample = fs::read(root().join("tests/samples/shop.jsonl")).unwrap();
    let texts = ["items", "json"].map(|form| format(&engine(form, "full"), &sample));
    for (schema, text) in [items_schema(), json_schema()].iter().zip(texts) {
        assert!(!schema.contains("additionalProperties"), "{schema}");
        let schema = self::schema(schema);
        for line in text.lines() {
            let mut value: Value = serde_json::from_str(line).unwrap();
            add_unknown(&mut value);
            check(&schema, &value, "a line with more fields", &value.to_string());
        }
    }
}

/// Adds a field to every object but a call's input.
fn add_unknown(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().filter(|(name, _)| *name != "input").for_each(|(_, field)| add_unknown(field));
            fields.insert("of_a_newer_version".to_owned(), json!([1, {"a": null}]));
        }
        Value::Array(values) => values.iter_mut().for_each(add_unknown),
        _ => {}
    }
}

/// Reads a line of `items` and writes it again.
fn item_again(line: &str) -> String {
    let mut again = String::new();
    match read_item(line) {
        Ok(item) => write_item(&item, &mut again).unwrap(),
        Err(error) => again = error.to_string(),
    }
    again
}

/// Reads a line of `json` and writes it again.
fn entry_again(line: &str) -> String {
    let mut again = String::new();
    match serde_json::from_str::<Node>(line) {
        Ok(node) => Json.node(&node, &mut again).unwrap(),
        Err(error) => again = error.to_string(),
    }
    again
}

/// Asserts that a line matches its schema, and that nothing is `null` that should be omitted.
fn check(schema: &Validator, value: &Value, name: &str, line: &str) {
    let nulls = |value: &Value| {
        let fields = value.as_object().into_iter().flatten();
        // A call's input is passed on verbatim.
        fields.filter(|(name, _)| *name != "input").any(|(_, field)| field.is_null())
    };
    let data = value.get("data").unwrap_or(&Value::Null);
    assert!(!nulls(value) && !nulls(data), "{name}: something is null in {line}");
    let wrong: Vec<String> = schema.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?} in {line}");
}

fn schema(schema: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
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

/// The root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
