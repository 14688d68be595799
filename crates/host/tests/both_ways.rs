//! Updates, items and entries can be read back from their lines. Reading cleans foreign text just as decoding does.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "laws/inputs.rs"]
mod inputs;
#[path = "laws/recordings.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod recordings;

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use streamfmt::core::contract::{write_item, write_update};
use streamfmt::core::entry::{Block, Entry, Line, View};
use streamfmt::core::formatter::{FormatError, Formatter, Verdict};
use streamfmt::core::item::{Action, Item, Kind};
use streamfmt::core::outline::{Document, DocumentPart, Node, OutlineOptions};
use streamfmt::core::pipeline::{EntryChange, Output, Pipeline, Setup, Update};
use streamfmt::core::profile::Detail;
use streamfmt::core::session::Session;
use streamfmt::core::text::Text;
use streamfmt::dialect::read_item;
use streamfmt::engine::Engine;
use streamfmt::formatter::standard::Standard;
use streamfmt::writer::json::Json;

use inputs::inputs;

fn engine(profile: &str) -> Engine {
    Engine::builder().dialect("claude").writer("json").profile(profile).build().unwrap()
}

/// An entry as JSON has it: without the bytes of its images, and without fields for the outline of its own session.
fn as_in_json(entry: &Entry) -> Entry {
    fn strip(blocks: &mut [Block]) {
        for block in blocks {
            match block {
                Block::Image { picture, .. } => *picture = None,
                Block::Details { body, .. } => strip(body),
                _ => {}
            }
        }
    }
    let mut entry = entry.clone();
    strip(&mut entry.view.body);
    (entry.step, entry.answer) = (Entry::new("", entry.kind, View::default()).step, None);
    entry
}

#[test]
fn updates_read_back_are_the_same() {
    let engine = engine("full");
    let mut compared = 0;
    for (name, bytes) in inputs() {
        let output = Output::Updates { formatters: Vec::new() };
        let mut pipeline = Pipeline::new(Setup { output, ..engine.setup() });
        let (mut here, mut there) = (Document::default(), Document::default());
        let mut take = |pipeline: &mut Pipeline| {
            for update in pipeline.take_updates() {
                let mut line = String::new();
                write_update(&update, &mut line).unwrap();
                let again: Update = serde_json::from_str(&line).unwrap();
                let mut twice = String::new();
                write_update(&again, &mut twice).unwrap();
                assert_eq!(line, twice, "{name}");
                let mut update = update;
                if let EntryChange::Put { entry, .. } = &mut update.change {
                    **entry = as_in_json(entry);
                }
                assert_eq!(again, update, "{name}: {line}");
                assert_eq!(update.revision, pipeline.revision(), "{name}");
                here.apply([update]);
                there.apply([again]);
                compared += 1;
            }
        };
        for part in bytes.chunks(4 << 10) {
            pipeline.push(part, &mut String::new()).unwrap();
            take(&mut pipeline);
        }
        pipeline.finish(&mut String::new()).unwrap();
        take(&mut pipeline);
        let order = |document: &Document| -> Vec<String> {
            let options = OutlineOptions { pairs: true, nests: true, ..OutlineOptions::default() };
            let nodes = document.parts(options).into_iter().flat_map(DocumentPart::into_nodes);
            nodes.map(|node| node.entry.id.to_string()).collect()
        };
        assert_eq!(order(&here), order(&there), "{name}");
    }
    assert!(compared > 500, "only {compared} updates were compared");
}

/// Formats each item and the item read back from its line, and records differences.
struct Twice(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    same: usize,
    different: Vec<String>,
}

/// Whether the formatter uses more of an item than its line contains.
fn is_more_than_its_line(item: &Item, view: &View) -> bool {
    // Shown verbatim, while a line has them in another form.
    let is_verbatim = item.kind == Kind::Record || format!("{view:?}").contains("notice.record");
    // In a line, deeper values are text.
    let is_deep = item.record.as_ref().is_some_and(|record| depth(record.text()) > 64);
    // Only the dialect knows which part of the text is the program's.
    is_verbatim || is_deep || item.words() != item.clean_text()
}

/// How deeply the brackets of a text are nested.
fn depth(text: &str) -> i64 {
    let mut now = 0;
    let depths = text.bytes().map(|byte| {
        now += i64::from(matches!(byte, b'[' | b'{')) - i64::from(matches!(byte, b']' | b'}'));
        now
    });
    depths.max().unwrap_or(0)
}

impl Formatter for Twice {
    fn name(&self) -> &'static str {
        "twice"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        let mut line = String::new();
        write_item(item, &mut line).unwrap();
        let again = read_item(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let mut seen = self.0.lock().unwrap();
        for standard in [Detail::Compact, Detail::Full].map(Standard::new) {
            let said = [item, &again].map(|item| match standard.format(item, session) {
                Ok(Verdict::Show(view)) => as_in_json(&Entry::new("a", Kind::Reply, view)).view,
                Ok(Verdict::Hide) => View::default(),
                other => panic!("{other:?}"),
            });
            if said[0] == said[1] {
                seen.same += 1;
            } else if !is_more_than_its_line(item, &said[0]) {
                seen.different.push(format!("{line}{:?}\n{:?}", said[0], said[1]));
            }
        }
        Ok(Verdict::Pass)
    }
}

#[test]
fn items_read_back_are_said_as_before() {
    let engine = engine("full");
    let seen = Arc::new(Mutex::new(Seen::default()));
    for (_, bytes) in inputs() {
        let formatters: Vec<Box<dyn Formatter>> = vec![Box::new(Twice(Arc::clone(&seen)))];
        let output = Output::Entries { formatters, writer: Box::new(Json) };
        let mut pipeline = Pipeline::new(Setup { output, ..engine.setup() });
        pipeline.push(&bytes, &mut String::new()).unwrap();
        pipeline.finish(&mut String::new()).unwrap();
    }
    let seen = seen.lock().unwrap();
    let (same, different) = (seen.same, &seen.different);
    let first = different.iter().take(3).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(different.is_empty(), "{} of {same}:\n{first}", different.len());
    assert!(same > 1000, "only {same} items were compared");
}

#[test]
fn items_can_be_parts_of_what_is_serialised() {
    for line in lines("items") {
        let item = read_item(&line.to_string()).unwrap();
        assert_eq!(serde_json::to_value([&item]).unwrap(), json!([line]));
    }
    assert!(read_item("{}").unwrap_err().to_string().contains("missing field `v`"));
}

/// A text with control, bidirectional and invisible characters.
const DIRTY: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b\u{0}\r\nc\u{7f}\u{2028}\u{e0041}\u{200b}";

/// Values to put in place of others.
fn hostile_values() -> [Value; 14] {
    let dirty = DIRTY;
    let roles = "tool.name<script>\u{1b}";
    [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(dirty),
        json!(roles),
        json!(dirty.repeat(20)),
        json!([]),
        json!([dirty, {"text": dirty, "role": dirty}]),
        json!({}),
        json!({"type": dirty, "text": dirty, "put": {"a": dirty}}),
    ]
}

/// The paths of all values within a value, outermost first.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            out.push(at.clone());
            places(field, &at, out);
        }),
        Value::Array(values) => values.iter().enumerate().for_each(|(index, value)| {
            let at = format!("{at}/{index}");
            out.push(at.clone());
            places(value, &at, out);
        }),
        _ => {}
    }
}

/// Asserts that all text of a view is clean.
fn assert_clean(view: &View, of: &str) {
    fn texts(value: &Value, each: &mut impl FnMut(&str)) {
        match value {
            Value::String(text) => each(text),
            Value::Array(values) => values.iter().for_each(|value| texts(value, each)),
            Value::Object(fields) => fields.values().for_each(|value| texts(value, each)),
            _ => {}
        }
    }
    fn spans<'a>(lines: impl IntoIterator<Item = &'a Line>, of: &str) {
        for text in lines.into_iter().map(Line::text) {
            assert!(!text.contains('\n'), "a line feed in a line: {text:?} of {of}");
        }
    }
    texts(&serde_json::to_value(view).unwrap(), &mut |text| {
        assert_eq!(Text::clean(text).as_str(), text, "{of}");
        let power = text.chars().find(|ch| !ch.is_ascii_graphic() && *ch != '\n' && DIRTY.contains(*ch));
        assert_eq!(power, None, "{text:?} of {of}");
    });
    spans([&view.title], of);
    for block in &view.body {
        match block {
            Block::Lines { lines } => spans(lines, of),
            Block::Table { head, rows } => spans(head.iter().chain(rows.iter().flatten()), of),
            Block::List { items } => spans(items.iter().map(|item| &item.line), of),
            Block::Diff { hunks, .. } => {
                assert!(
                    hunks.iter().flat_map(|hunk| hunk.lines.iter()).all(|line| !line.text.contains('\n'))
                );
            }
            _ => {}
        }
    }
}

/// Lines of the sample in the format `items` or `json`: the first of each kind of item and block, and of each tool.
fn lines(writer: &str) -> Vec<Value> {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let engine = Engine::builder().dialect("claude").writer(writer).profile("full").build().unwrap();
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    pipeline.push(&fs::read(sample).unwrap(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    let mut seen = BTreeSet::new();
    let values = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_new = |value: &Value| {
        let blocks = value["body"].as_array().into_iter().flatten().map(|block| block["type"].to_string());
        let names =
            [&value["kind"], &value["tool"], &value["data"]["event"]].map(Value::to_string).into_iter();
        seen.insert(names.chain(blocks).collect::<Vec<_>>())
    };
    values.filter(is_new).collect()
}

#[test]
fn reading_hostile_lines_neither_panics_nor_says_anything_unclean() {
    let session = Session::default();
    let standards = [Detail::Compact, Detail::Full].map(Standard::new);
    let (mut read, mut refused) = (0, 0);
    for line in lines("json").iter().chain(&lines("items")) {
        let mut all = Vec::new();
        places(line, "", &mut all);
        for place in all {
            for value in hostile_values() {
                let mut changed = line.clone();
                *changed.pointer_mut(&place).unwrap() = value;
                let text = changed.to_string();
                if line.get("title").is_some() {
                    match serde_json::from_str::<Node>(&text) {
                        Ok(node) => {
                            read += 1;
                            assert_clean(&node.entry.view, &text);
                            let tool = node.entry.tool.as_deref().unwrap_or_default();
                            assert_eq!(Text::clean(tool).as_str(), tool, "{text}");
                        }
                        Err(_) => refused += 1,
                    }
                } else if let Ok(item) = read_item(&text) {
                    read += 1;
                    let mut again = String::new();
                    write_item(&item, &mut again).unwrap();
                    assert!(read_item(&again).is_ok(), "{again}");
                    for standard in &standards {
                        if let Ok(Verdict::Show(view)) = standard.format(&item, &session) {
                            assert_clean(&view, &text);
                        }
                    }
                } else {
                    refused += 1;
                }
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} were read, {refused} refused");
}

#[test]
fn fields_of_newer_versions_are_ignored() {
    let unknown = || json!({"a": [1, {"b": null}]});
    for line in lines("json") {
        let node: Node = serde_json::from_value(line.clone()).unwrap();
        let mut all = vec![String::new()];
        places(&line, "", &mut all);
        let mut more = line.clone();
        for place in all {
            if let Some(Value::Object(fields)) = more.pointer_mut(&place) {
                fields.insert("of_a_newer_version".to_owned(), unknown());
            }
        }
        let read: Node = serde_json::from_value(more).unwrap();
        assert_eq!((read.entry, read.relation), (node.entry, node.relation), "{line}");
    }
    for line in lines("items") {
        let mut more = line.clone();
        for place in ["", "/data", "/does"] {
            if let Some(Value::Object(fields)) = more.pointer_mut(place) {
                fields.insert("of_a_newer_version".to_owned(), unknown());
            }
        }
        let [one, other] = [line, more].map(|line| {
            let mut again = String::new();
            write_item(&read_item(&line.to_string()).unwrap(), &mut again).unwrap();
            again
        });
        assert_eq!(one, other);
    }
}

#[test]
fn what_newer_versions_may_call_otherwise_is_read() {
    let line = |kind: &str, action: &str, block: Value| {
        json!({"v": 1, "id": "a", "place": 0, "kind": kind, "action": action, "status": "done", "mark": "of-tomorrow",
            "title": [{"text": "x", "role": "of.tomorrow"}, {"text": "y", "role": "no role\n"}], "body": [block]})
    };
    let told = line("dream", "dance", json!({"type": "hologram", "light": [1, 2]}));
    let entry: Entry = serde_json::from_value(told).unwrap();
    assert_eq!((entry.kind.name(), entry.action.map(Action::name)), ("unknown", Some("other")));
    assert_eq!(entry.view.mark, None);
    let roles: Vec<&str> = entry.view.title.spans().map(|span| span.role.name()).collect();
    assert_eq!(roles, ["of.tomorrow", "text"]);
    assert!(matches!(entry.view.body[..], [Block::Elided { lines: 0, bytes: 33 }]), "{:?}", entry.view.body);
    let read = |line: &str| serde_json::from_str::<Update>(line);
    let update =
        read(r#"{"more":[],"entry":{"id":"a","of":{}},"revision":7,"update":"drop","v":1}"#).unwrap();
    assert_eq!(update, Update { revision: 7, change: EntryChange::Drop("a".into()) });
    for wrong in [
        "{}",
        r#"{"v":1,"update":"drop","revision":7}"#,
        r#"{"v":1,"update":"put","revision":7,"entry":{"id":"a"}}"#,
        r#"{"v":1,"update":"turn","revision":7,"entry":{"id":"a"}}"#,
        r#"{"v":2,"update":"drop","revision":7,"entry":{"id":"a"}}"#,
        r#"{"v":1,"update":"drop","revision":-7,"entry":{"id":"a"}}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    // Invalid values are errors, and so is another version.
    for (wrong, why) in [
        (line("reply", "run", json!({"type": "code", "text": 5, "role": "text"})), "invalid type"),
        (line("reply", "run", json!({"text": "x"})), "type"),
        (line("reply", "run", json!(null)), "invalid type"),
        (json!({"v": 2, "id": "a"}), "version 2"),
    ] {
        let error = serde_json::from_value::<Entry>(wrong).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    for (line, why) in [
        ("", "EOF"),
        ("{}", "missing field `v`"),
        (r#"{"v":2}"#, "version 2"),
        (
            r#"{"v":1,"id":"a","place":0,"kind":"reply","status":"done","line":1,"text":5}"#,
            "`text` is of another type",
        ),
    ] {
        let error = read_item(line).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn every_type_of_block_is_one_that_is_read() {
    let schema: Value = serde_json::from_str(&streamfmt::core::contract::json_schema()).unwrap();
    let types = schema["$defs"]["Block"]["oneOf"].as_array().unwrap().iter();
    let types: Vec<&str> = types.map(|of| of["properties"]["type"]["const"].as_str().unwrap()).collect();
    assert_eq!(types, Block::TYPES);
}
