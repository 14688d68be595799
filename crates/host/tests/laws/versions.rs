//! The types that each version of an agent writes: `tests/names` has a file for each folder of recordings, `<agent>-<version>.ndjson`.
//!
//! It lists the contents of the recordings so far:
//! - `{"name": …, "becomes": …, "fields": […]}` for each type of record, with the fate of the first one (see [`crate::names`]) and the
//!   paths of all fields. `[TYPE]` follows a field whose value has this type, and `*` is a key that is data;
//! - `{"tool": …, "does": …}` for each tool, with the action of its calls.
//!
//! Anything else is new. `STREAMFMT_BLESS` adds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use streamfmt::core::pipeline::Pipeline;
use streamfmt::dialect::DIALECTS;
use streamfmt::engine::Engine;

use crate::agents::{Scenario, scenarios};
use crate::names::{NAMES, engines, fate};

/// The fields that name the type of a record, or of an object in it, by priority.
const TYPES: [&str; 4] = ["type", "subtype", "sessionUpdate", "method"];
/// The number of records of a type to try until one is shown.
const TRIES: usize = 2;
/// The longest key that is a name.
const LONGEST_KEY: usize = 40;

#[test]
fn what_each_version_writes_is_listed() {
    let mut versions: BTreeMap<String, Vec<&Scenario>> = BTreeMap::new();
    let has_own_list = |agent: &str| Path::new(NAMES).join(format!("{agent}.ndjson")).exists();
    for scenario in scenarios().iter().filter(|scenario| !has_own_list(&scenario.agent)) {
        versions.entry(format!("{}-{}", scenario.agent, scenario.version)).or_default().push(scenario);
    }
    let mut news = Vec::new();
    for (version, scenarios) in versions {
        let path = Path::new(NAMES).join(format!("{version}.ndjson"));
        let mut listed = Names::parse(&fs::read_to_string(&path).unwrap_or_default());
        let found = Names::of(&scenarios);
        let unseen = found.unseen_in(&listed);
        if std::env::var_os("STREAMFMT_BLESS").is_none() {
            news.extend(unseen.into_iter().map(|name| format!("{version}: {name}")));
        } else if !unseen.is_empty() {
            listed.add(found);
            fs::write(path, listed.to_text()).unwrap();
        }
    }
    assert!(news.is_empty(), "not in tests/names: {news:#?}");
}

#[test]
fn a_type_a_field_and_a_tool_that_were_never_seen_are_noticed() {
    let sample = |lines: &[Value]| Scenario {
        agent: "gemini".to_owned(),
        version: "9.9.9".to_owned(),
        name: "news".to_owned(),
        is_sample: true,
        files: vec![(
            "stream.jsonl".to_owned(),
            lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n").into(),
        )],
    };
    let init = json!({"type": "init", "session_id": "s", "model": "m"});
    let call =
        json!({"type": "tool_use", "tool_name": "glob", "tool_id": "c", "parameters": {"pattern": "*"}});
    let before = Names::of(&[&sample(&[init.clone(), call.clone()])]);
    assert!(before.unseen_in(&Names::parse(&before.to_text())).is_empty());
    let mut other = call.clone();
    (other["tool_name"], other["parameters"]["new-field"]) = (json!("new_tool"), json!({"a1-b2": [1]}));
    let news = Names::of(&[&sample(&[init, call, other, json!({"type": "new_type", "x": 1})])]);
    let expected = [
        "the type new_type, which is unknown",
        "the field parameters.new-field.* of tool_use",
        "the tool new_tool, which does other",
    ];
    assert_eq!(news.unseen_in(&before), expected);
}

/// The names of a version.
#[derive(Default)]
struct Names {
    types: BTreeMap<String, RecordType>,
    /// The actions of tools.
    tools: BTreeMap<String, String>,
}

#[derive(Default)]
struct RecordType {
    becomes: String,
    fields: BTreeSet<String>,
}

impl Names {
    fn parse(text: &str) -> Self {
        let mut names = Self::default();
        for row in text.lines().map(|row| serde_json::from_str::<Value>(row).unwrap()) {
            let word = |key: &str| row[key].as_str().map(str::to_owned);
            if let Some(tool) = word("tool") {
                names.tools.insert(tool, word("does").unwrap());
                continue;
            }
            let fields = row["fields"].as_array().unwrap().iter();
            let fields = fields.map(|field| field.as_str().unwrap().to_owned()).collect();
            names
                .types
                .insert(word("name").unwrap(), RecordType { becomes: word("becomes").unwrap(), fields });
        }
        names
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, RecordType { becomes, fields }) in &self.types {
            let [name, becomes, fields] = [json!(name), json!(becomes), json!(fields)];
            writeln!(text, "{{\"name\": {name}, \"becomes\": {becomes}, \"fields\": {fields}}}").unwrap();
        }
        for (tool, does) in &self.tools {
            writeln!(text, "{{\"tool\": {}, \"does\": {}}}", json!(tool), json!(does)).unwrap();
        }
        text
    }

    /// The names in all files of these scenarios.
    fn of(scenarios: &[&Scenario]) -> Self {
        let mut names = Self::default();
        let agent = &*scenarios[0].agent;
        // The recordings of a protocol are in one folder for each agent that uses it.
        let dialect = DIALECTS.find(agent).or_else(|| DIALECTS.find(agent.split('-').next()?)).unwrap().name;
        let engines = engines(dialect);
        let items = Engine::builder().dialect(dialect).writer("items").build().unwrap();
        for (_, bytes) in scenarios.iter().flat_map(|scenario| &scenario.files) {
            let text = String::from_utf8_lossy(bytes);
            names.add_types(&text, &engines);
            names.add_tools(&text, &items);
        }
        names
    }

    fn add_types(&mut self, text: &str, engines: &[Engine; 2]) {
        let whole = serde_json::from_str::<Value>(text).map(|document| (text, document));
        let records: Vec<(&str, Value)> = match whole {
            Ok(whole) => vec![whole],
            Err(_) => {
                text.lines().filter_map(|line| Some((line, serde_json::from_str(line).ok()?))).collect()
            }
        };
        let mut attempts: BTreeMap<String, usize> = BTreeMap::new();
        for (line, record) in records {
            let name = name_of(&record).unwrap_or_else(|| "*".to_owned());
            let is_new = !self.types.contains_key(&name);
            let tries = attempts.entry(name.clone()).or_insert(if is_new { 0 } else { TRIES });
            let known = self.types.entry(name).or_default();
            add_fields(&record, &mut known.fields);
            if *tries < TRIES && known.becomes != "shown" {
                *tries += 1;
                let start = line.as_ptr() as usize - text.as_ptr() as usize;
                let around = [&text[..start], &text[start + line.len()..]];
                let becomes = fate(engines, around, line);
                if known.becomes.is_empty() || becomes == "shown" {
                    becomes.clone_into(&mut known.becomes);
                }
            }
        }
    }

    fn add_tools(&mut self, text: &str, engine: &Engine) {
        let mut pipeline = Pipeline::new(engine.setup());
        let mut items = String::new();
        pipeline.push(text.as_bytes(), &mut items).unwrap();
        pipeline.finish(&mut items).unwrap();
        for item in items.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if let (true, Some(tool)) = (item["kind"] == "call", item["tool"].as_str()) {
                let does = item["action"].as_str().unwrap_or("other");
                self.tools.entry(tool.to_owned()).or_insert_with(|| does.to_owned());
            }
        }
    }

    /// Entries that a list lacks or has otherwise.
    fn unseen_in(&self, listed: &Self) -> Vec<String> {
        let mut unseen = Vec::new();
        for (name, RecordType { becomes, fields }) in &self.types {
            let Some(known) = listed.types.get(name) else {
                unseen.push(format!("the type {name}, which is {becomes}"));
                continue;
            };
            if known.becomes != *becomes {
                unseen.push(format!("the type {name} is {becomes} instead of {}", known.becomes));
            }
            unseen
                .extend(fields.difference(&known.fields).map(|field| format!("the field {field} of {name}")));
        }
        for (tool, does) in self.tools.iter().filter(|(tool, does)| listed.tools.get(*tool) != Some(does)) {
            unseen.push(format!("the tool {tool}, which does {does}"));
        }
        unseen
    }

    fn add(&mut self, found: Self) {
        for (name, RecordType { becomes, fields }) in found.types {
            let known = self.types.entry(name).or_default();
            known.becomes = becomes;
            known.fields.extend(fields);
        }
        self.tools.extend(found.tools);
    }
}

/// The name of a record's type, or of the type of an object in it.
fn name_of(record: &Value) -> Option<String> {
    let names = TYPES.iter().filter_map(|key| record[key].as_str());
    let name = names.map(|name| word(name, b"_-/.")).collect::<Vec<_>>().join("/");
    (!name.is_empty()).then_some(name)
}

/// Adds the paths of all fields of a record.
fn add_fields(record: &Value, fields: &mut BTreeSet<String>) {
    let mut open = vec![(String::new(), record)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values.iter().map(|value| (path.clone(), value))),
            Value::Object(entries) => {
                let kind = if path.is_empty() { None } else { name_of(value) };
                let path = kind.map_or_else(|| path.clone(), |kind| format!("{path}[{kind}]"));
                open.extend(entries.iter().map(|(key, value)| {
                    let dot = if path.is_empty() { "" } else { "." };
                    (format!("{path}{dot}{}", word(key, b"_-$")), value)
                }));
            }
            _ => drop(fields.insert(path)),
        }
    }
}

/// A key or type as a part of a name, which may contain `marks` besides letters and digits. `*` if it is data.
fn word<'a>(key: &'a str, marks: &[u8]) -> &'a str {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
    let is_plain = !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(is_name);
    // Ids and versions contain both digits and dashes.
    let is_data = key.contains('-') && key.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain && !is_data && !is_number { key } else { "*" }
}
