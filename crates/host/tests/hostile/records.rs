//! Records of each dialect with a wrong value in each field, and in a wrong order: the output is harmless, and each line is counted.
//!
//! [`crate::fields`] checks more, for fewer dialects.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use streamfmt::Engine;
use streamfmt::dialect::DIALECTS;
use streamfmt::golden::{Suite, laws};

use crate::fields::{paths, replaced, replacements};
use crate::{assert_harmless, run};

/// Values that [`crate::fields`] doesn't try.
const MORE: [&str; 5] = [
    "123456789012345678901234567890",
    "-9223372036854775808",
    "\"\\u0000\\u009b31m\\u0007\\r\\n\\u2028\\ud800\"",
    "{\"\\u001b[2J\":\"odd\",\"\\ud800\":[],\"type\":\"\\u202e\",\"id\":\"\\u001b\"}",
    "[[],{},\"\",{\"type\":7,\"text\":{}}]",
];
/// The maximum length of records whose fields are tried, since each is written many times.
const LONG: usize = 4 << 10;
/// The number of records read with one, before it and after it.
const AROUND: usize = 2;
/// The number of records of a file that are reordered.
const MOST: usize = 40;
/// The replacements for each line of a text.
const LINES: [&str; 8] =
    ["", "#", "> ", "```", "<<<<<<< SEARCH", "> \u{1b}[2J\u{202e}", "#### \u{0}\u{9b}31m\r", "{\"type\":[]}"];

/// The files of a dialect.
struct Inputs {
    dialect: &'static str,
    /// The dialect's script, if it has one.
    script: Option<PathBuf>,
    files: Vec<String>,
}

impl Inputs {
    /// The samples and golden inputs of all dialects, including scripted ones.
    fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let golden = |dialect: &str| {
            let suite = Suite::find(&root.join("tests/golden").join(dialect));
            let cells = suite.cells.iter().filter(|cell| cell.is_first);
            cells
                .map(|cell| String::from_utf8_lossy(&cell.case.input.bytes()).into_owned())
                .collect::<Vec<_>>()
        };
        let samples = |dialect: &str| {
            let folders = entries(&root.join("tests/samples")).into_iter();
            // The recordings of a protocol are in one folder for each agent that uses it.
            let is_of = |folder: &Path| {
                let name = folder.file_name().unwrap().to_string_lossy();
                name == dialect || name.strip_prefix(dialect).is_some_and(|rest| rest.starts_with('-'))
            };
            let scenarios = folders.filter(|folder| is_of(folder)).flat_map(|folder| entries(&folder));
            let files =
                scenarios.flat_map(|version| entries(&version)).flat_map(|scenario| entries(&scenario));
            files.map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>()
        };
        let row = |dialect: &'static str| Self {
            dialect,
            script: None,
            files: [samples(dialect), golden(dialect)].concat(),
        };
        let scripted =
            |dialect: &'static str, script: &str| Self { script: Some(root.join(script)), ..row(dialect) };
        let mut all: Vec<Self> = DIALECTS.rows.iter().map(|dialect| row(dialect.name)).collect();
        all.push(scripted("robo", "docs/examples/robo.lua"));
        all.push(scripted("acme", "tests/golden/acme/edits-of-several-files/acme.lua"));
        // Other tests try these two, field by field.
        all.retain(|inputs| !inputs.files.is_empty() && !matches!(inputs.dialect, "claude" | "codex"));
        all
    }

    fn engine(&self, writer: &str) -> Engine {
        let builder = Engine::builder().dialect(self.dialect).writer(writer).profile("full");
        let builder = match &self.script {
            Some(script) => builder.script("dialect.lua", fs::read_to_string(script).unwrap()),
            None => builder,
        };
        builder.build().unwrap()
    }

    fn engines(&self) -> [Engine; 2] {
        ["text", "items"].map(|writer| self.engine(writer))
    }

    /// The records of each file.
    fn records(&self) -> impl Iterator<Item = Vec<Value>> {
        self.files.iter().map(|text| match serde_json::from_str(text) {
            Ok(document) => vec![document],
            Err(_) => text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect(),
        })
    }
}

#[test]
fn any_value_of_any_field_is_harmless_and_counted_in_each_dialect() {
    // Long values would take most of the time.
    let some = replacements().into_iter().filter(|(name, _)| *name != "something long");
    let values: Vec<String> = some.map(|(_, value)| value).chain(MORE.map(str::to_owned)).collect();
    for inputs in Inputs::all() {
        let engines = inputs.engines();
        let mut tried = BTreeSet::new();
        for records in inputs.records() {
            let is_tried = |record: &Value| record.is_object() && record.to_string().len() < LONG;
            for (at, record) in records.iter().enumerate().filter(|(_, record)| is_tried(record)) {
                let before = lines(&records[at.saturating_sub(AROUND)..at]);
                let after = lines(&records[at + 1..records.len().min(at + 1 + AROUND)]);
                for path in paths(record) {
                    if !tried.insert(place(record, &path)) {
                        continue;
                    }
                    // All at once, since one may refer to another.
                    let lines: Vec<String> =
                        values.iter().map(|value| replaced(record, &path, value)).collect();
                    let input = format!("{before}{}\n{after}", lines.join("\n"));
                    let about = format!("{}: {} of {record}", inputs.dialect, path.join("."));
                    // Both outputs use the same items: a fraction of the fields is enough for the second one.
                    let engines = if tried.len() % 4 == 0 { &engines[..] } else { &engines[..1] };
                    assert_fine(engines, &input, &about);
                }
            }
        }
        let tried = tried.len();
        assert!(is_of_texts(&inputs) || tried > 8, "only {tried} fields of {} were tried", inputs.dialect);
    }
}

#[test]
fn any_line_of_a_text_is_harmless_and_counted_in_each_dialect_of_texts() {
    let all: Vec<Inputs> = Inputs::all().into_iter().filter(is_of_texts).collect();
    assert!(!all.is_empty());
    for inputs in all {
        let engines = inputs.engines();
        for text in &inputs.files {
            let lines: Vec<&str> = text.lines().collect();
            for (at, other) in (0..lines.len()).flat_map(|at| LINES.iter().map(move |other| (at, other))) {
                let input = [&lines[at.saturating_sub(20)..at], &[other], &lines[at + 1..]].concat();
                let input = input[..input.len().min(40)].join("\n");
                assert_fine(&engines, &input, &format!("{}: line {at} is {other:?}", inputs.dialect));
            }
        }
    }
}

#[test]
fn records_in_any_order_are_harmless_and_counted_in_each_dialect() {
    let all = Inputs::all();
    for (at, inputs) in all.iter().enumerate() {
        let engines = inputs.engines();
        let auto = ["text", "items"].map(|writer| crate::engine(writer, "full", None));
        let other = &all[(at + 1) % all.len()];
        let foreign = other.records().next().unwrap_or_default();
        for records in inputs.records().filter(|records| !records.is_empty()) {
            let records = &records[..records.len().min(MOST)];
            let reversed: Vec<Value> = records.iter().rev().cloned().collect();
            let halved: Vec<Value> = records.iter().step_by(2).cloned().collect();
            let ended: Vec<Value> =
                records.iter().chain(records.last()).chain(records.last()).cloned().collect();
            let mixed = records.iter().zip(foreign.iter().cycle());
            let mixed: Vec<Value> = mixed.flat_map(|(one, other)| [one, other]).cloned().collect();
            let orders = [
                ("turned around", &*reversed),
                ("without its first half", &records[records.len() / 2..]),
                ("without its second half", &records[..records.len() / 2]),
                ("with every other record", &*halved),
                ("with several ends", &*ended),
                ("mixed with another dialect", &*mixed),
            ];
            for (order, records) in orders {
                let about = format!("{} {order}: {}", inputs.dialect, lines(records));
                assert_fine(&engines, &lines(records), &about);
            }
            let about = format!("{} mixed with {}: {}", inputs.dialect, other.dialect, lines(&mixed));
            assert_fine(&auto, &lines(&mixed), &about);
            let doubled: Vec<Value> = records.iter().flat_map(|record| [record, record]).cloned().collect();
            let about = format!("{} doubled: {}", inputs.dialect, lines(&doubled));
            assert_fine(&engines, &lines(&doubled), &about);
            let [once, twice] = [records, &doubled].map(|records| items(&engines[1], &lines(records)));
            for item in &once {
                let is_there = twice.iter().any(|other| is_within(item, other));
                assert!(is_there, "{item:?} is lost: {about}");
            }
            let told_apart = |id: &&str| id.ends_with("~2");
            assert!(
                calls(&once).any(|id| told_apart(&id)) || !calls(&twice).any(|id| told_apart(&id)),
                "{about}"
            );
        }
    }
}

/// Whether a dialect's input is plain text.
fn is_of_texts(inputs: &Inputs) -> bool {
    DIALECTS.find(inputs.dialect).is_some_and(|row| row.claim_text.is_some())
}

/// Asserts that the output is harmless, and that each line of the input is counted.
fn assert_fine(engines: &[Engine], input: &str, about: &str) {
    for engine in engines {
        let (out, report) = run(engine, input.as_bytes());
        assert_harmless(&out, false, about);
        if let Some(uncounted) = laws::uncounted(input.as_bytes(), &report) {
            panic!("{uncounted}: {about}");
        }
    }
}

/// The items of an input.
fn items(engine: &Engine, input: &str) -> Vec<Value> {
    let out = run(engine, input.as_bytes()).0;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether an item's text is contained in another's. Of a text in pieces, each piece may come twice.
fn is_within(item: &Value, other: &Value) -> bool {
    const KINDS: [&str; 4] = ["prompt", "reply", "thinking", "result"];
    let is_said = KINDS.iter().any(|kind| item["kind"] == *kind);
    let mut rest = other["text"].as_str().unwrap_or_default().chars();
    let mut text = item["text"].as_str().unwrap_or_default().trim().chars();
    !is_said || item["kind"] == other["kind"] && text.all(|ch| rest.any(|other| other == ch))
}

/// The ids of calls.
fn calls(items: &[Value]) -> impl Iterator<Item = &str> {
    items.iter().filter(|item| item["kind"] == "call").filter_map(|call| call["id"].as_str())
}

fn lines(records: &[Value]) -> String {
    records.iter().flat_map(|record| [record.to_string(), "\n".to_owned()]).collect()
}

/// A name for the path of a field: the same for records of one shape.
fn place(record: &Value, path: &[String]) -> String {
    let mut place = String::new();
    let mut value = record;
    for key in path {
        if let Some(kind) = ["type", "subtype", "kind", "method", "role", "sessionUpdate"]
            .iter()
            .find_map(|key| value[*key].as_str())
        {
            place.extend(["[", kind, "]"]);
        }
        value = match value {
            Value::Array(values) => &values[key.parse::<usize>().unwrap()],
            value => {
                place.extend([".", key]);
                &value[&**key]
            }
        };
    }
    place
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
