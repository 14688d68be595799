//! Records that a model writes between its sentences, drawn as a tree: the same however the text arrives, and without losses.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use serde_json::{Value, json};
use streamfmt::Engine;
use streamfmt::core::entry::{Block, Entry};
use streamfmt::core::formatter::{Accumulator, FormatError, Formatter, PluginFormatter, Verdict};
use streamfmt::core::item::{Item, Kind};
use streamfmt::core::outline::{Document, DocumentPart, OutlineOptions};
use streamfmt::core::pipeline::{Output, Pipeline, Setup};
use streamfmt::core::profile::DrawnRecords;
use streamfmt::core::session::Session;
use streamfmt::records::{RecordField, RecordParent, RecordSchema, RecordType};
use streamfmt::writers::WRITERS;

const PLAN: &str = r#"Two lists, since the data can move first.

{"type": "project", "name": "Seed library", "description": "Lend seeds.", "startDate": "2026-02-02"}
{"type": "tasklist", "id": "tl-1", "name": "Catalogue"}
{"type": "tasklist", "id": "tl-2", "name": "Lending"}
{"type": "task", "id": "t-1", "tasklistId": "tl-1", "name": "Write down all packets", "description": "About 400.", "priority": "high"}
{"type": "subtask", "taskId": "t-1", "name": "Number the drawers"}

The drawers come first.

```json
{"type": "task", "id": "t-2", "tasklistId": "tl-2", "name": "Cards", "color": "green"}
```
{"type": "complete"}
Ten weeks are enough."#;

fn field(name: &str) -> RecordField {
    RecordField {
        name: name.trim_end_matches('?').to_owned(),
        is_required: !name.ends_with('?'),
        example: "\"x\"".to_owned(),
    }
}

fn schema() -> Arc<RecordSchema> {
    let kind = |name: &str,
                id: Option<&str>,
                parent: Option<(&str, Option<&str>)>,
                fields: &[&str],
                order| RecordType {
        name: name.to_owned(),
        about: String::new(),
        id: id.map(str::to_owned),
        parent: parent
            .map(|(kind, field)| RecordParent { kind: kind.to_owned(), field: field.map(str::to_owned) }),
        label: "name".to_owned(),
        text: Some("description".to_owned()),
        fields: fields.iter().map(|name| field(name)).collect(),
        order,
    };
    Arc::new(RecordSchema {
        name: "project".to_owned(),
        about: String::new(),
        end: Some("complete".to_owned()),
        types: vec![
            kind("project", None, None, &["name", "description?", "startDate?", "endDate?"], 1),
            kind("tasklist", Some("id"), Some(("project", None)), &["id", "name", "description?"], 2),
            kind(
                "task",
                Some("id"),
                Some(("tasklist", Some("tasklistId"))),
                &["id", "tasklistId", "name", "description?", "priority?"],
                3,
            ),
            kind("subtask", None, Some(("task", Some("taskId"))), &["taskId", "name", "description?"], 3),
        ],
    })
}

/// A pipeline that draws records.
fn pipeline(writer: &str, output: Option<Output>) -> Pipeline {
    drawing(schema(), writer, output)
}

fn drawing(schema: Arc<RecordSchema>, writer: &str, output: Option<Output>) -> Pipeline {
    let engine = Engine::builder().dialect("claude").writer(writer).profile("default").build().unwrap();
    let mut setup = engine.setup();
    setup.profile.records = Some(DrawnRecords::Schema(schema));
    setup.output = output.unwrap_or(setup.output);
    Pipeline::new(setup)
}

/// A writer's output for an input.
fn written(writer: &str, input: &str) -> String {
    let (mut pipeline, mut text) = (pipeline(writer, None), String::new());
    pipeline.push(input.as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    text
}

/// A reply as a whole message.
fn whole(id: &str, text: &str) -> String {
    let message = json!({"id": id, "role": "assistant", "content": [{"type": "text", "text": text}]});
    format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s", "uuid": id}))
}

/// The lines of a message that streams its text in pieces of `length` characters, and doesn't end.
fn streamed(id: &str, text: &str, length: usize) -> Vec<String> {
    let begin = [
        json!({"type": "message_start", "message": {"id": id, "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let letters: Vec<char> = text.chars().collect();
    let deltas = letters.chunks(length).map(|piece| {
        let piece: String = piece.iter().collect();
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    });
    let lines = begin.into_iter().chain(deltas);
    lines
        .map(|event| format!("{}\n", json!({"type": "stream_event", "event": event, "session_id": "s"})))
        .collect()
}

/// The final document of a sink of updates.
fn folded(lines: &[String]) -> Document {
    let mut pipeline = pipeline("json", Some(Output::Updates { formatters: Vec::new() }));
    let mut document = Document::default();
    for line in lines {
        pipeline.push(line.as_bytes(), &mut String::new()).unwrap();
        document.apply(pipeline.take_updates());
    }
    pipeline.finish(&mut String::new()).unwrap();
    document.apply(pipeline.take_updates());
    document
}

/// The document as lines: the depth and text of each entry.
fn outline(document: &Document) -> Vec<String> {
    let said = |entry: &Entry| {
        let title = entry.view.title.text().to_owned();
        let body = entry.view.body.iter().map(|block| match block {
            Block::Prose { text, .. } => text.trim().to_owned(),
            Block::Lines { lines } => lines.iter().map(streamfmt::core::entry::Line::text).collect(),
            _ => String::new(),
        });
        let body: Vec<String> = body.collect();
        [title, body.join("|")].join("|").trim_matches('|').to_owned()
    };
    let nodes = document.parts(OutlineOptions::default()).into_iter().flat_map(DocumentPart::into_nodes);
    nodes.map(|node| format!("{}{}", "  ".repeat(node.entry.level.into()), said(&node.entry))).collect()
}

const DRAWN: &[&str] = &[
    "Two lists, since the data can move first.",
    "Seed library · project · startDate: 2026-02-02 · complete|Lend seeds.",
    "  Catalogue · tasklist tl-1",
    "    Write down all packets · task t-1 · priority: high|About 400.",
    "      Number the drawers · subtask",
    "  Lending · tasklist tl-2",
    "    Cards · task t-2|color: green",
    "The drawers come first.",
    "Ten weeks are enough.",
];

#[test]
fn the_lines_of_records_give_way_to_a_tree() {
    let expected = "  Two lists, since the data can move first.

≡ Seed library · project · startDate: 2026-02-02 · complete
  Lend seeds.
  • Catalogue · tasklist tl-1
    • Write down all packets · task t-1 · priority: high
      About 400.
      • Number the drawers · subtask
  • Lending · tasklist tl-2
    • Cards · task t-2
      color: green

  The drawers come first.

  Ten weeks are enough.
";
    assert_eq!(written("text", &whole("m", PLAN)), expected);
    let expected = "## Answer

Two lists, since the data can move first.

- ≡ Seed library · project · startDate: 2026-02-02 · complete

  Lend seeds.
  - Catalogue · tasklist tl-1
    - Write down all packets · task t-1 · priority: high

      About 400.
      - Number the drawers · subtask
  - Lending · tasklist tl-2
    - Cards · task t-2\\
      color: green
";
    let markdown = written("markdown", &whole("m", PLAN));
    assert!(markdown.starts_with(expected), "{markdown}");
    assert_eq!(outline(&folded(&[whole("m", PLAN)])), DRAWN);
}

#[test]
fn every_writer_writes_a_tree_of_any_depth() {
    let mut schema = (*schema()).clone();
    let mut part = schema.types.pop().unwrap();
    (part.name, part.id) = ("part".to_owned(), Some("id".to_owned()));
    part.parent = Some(RecordParent { kind: "part".to_owned(), field: Some("in".to_owned()) });
    part.fields = ["id", "in?", "name"].map(field).into();
    schema.types = vec![part];
    let mut text = json!({"type": "part", "id": "0", "name": "level 0."}).to_string();
    for level in 1..300 {
        let (id, above) = (level.to_string(), (level - 1).to_string());
        let record = json!({"type": "part", "id": id, "in": above, "name": format!("level {level}.")});
        text = format!("{text}\n{record}");
    }
    text += "\n{\"type\": \"complete\"}";
    let prompt = json!({"type": "user", "message": {"role": "user", "content": "Go on."}, "session_id": "s"});
    let input = whole("m", &text) + &format!("{prompt}\n") + &whole("n", "Done.");
    for row in WRITERS {
        let mut pipeline = drawing(Arc::new(schema.clone()), row.name, None);
        let mut out = String::new();
        pipeline.push(input.as_bytes(), &mut out).unwrap();
        pipeline.finish(&mut out).unwrap();
        for level in [0, 8, 9, 299] {
            assert!(out.contains(&format!("level {level}.")) || row.name == "cast", "{}: {level}", row.name);
        }
    }
}

#[test]
fn the_tree_is_the_same_however_the_text_arrives() {
    let text = written("text", &whole("m", PLAN));
    let entries = |document: &Document| {
        let mut entries: Vec<Entry> = document.entries().cloned().collect();
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        entries
    };
    let expected = entries(&folded(&[whole("m", PLAN)]));
    for length in [1, 2, 3, 7, 40, 1_000, PLAN.len()] {
        let mut lines = streamed("m", PLAN, length);
        lines.push(whole("m", PLAN));
        let document = folded(&lines);
        assert_eq!(outline(&document), DRAWN, "pieces of {length}");
        assert_eq!(entries(&document), expected, "pieces of {length}");
        assert_eq!(written("text", &lines.concat()), text, "pieces of {length}");
    }
}

#[test]
fn a_tree_grows_line_by_line_and_no_half_record_is_prose() {
    let mut pipeline = pipeline("json", Some(Output::Updates { formatters: Vec::new() }));
    let mut document = Document::default();
    let mut nodes = 0;
    for line in streamed("m", PLAN, 5) {
        pipeline.push(line.as_bytes(), &mut String::new()).unwrap();
        document.apply(pipeline.take_updates());
        let shown = outline(&document);
        assert!(shown.iter().all(|said| !said.contains('{') && !said.contains("```")), "{shown:#?}");
        let now = document.entries().filter(|entry| entry.kind == Kind::Record).count();
        assert!(now >= nodes && now <= nodes + 1, "one after the other");
        nodes = now;
        if nodes == 3 {
            let above = [
                "Two lists, since the data can move first.",
                "Seed library · project · startDate: 2026-02-02|Lend seeds.",
            ];
            assert_eq!(shown[..2], above, "it isn't complete");
        }
    }
    assert_eq!(nodes, 6);
}

#[test]
fn a_tree_that_grows_is_previewed_on_a_terminal() {
    let engine = Engine::builder().dialect("claude").writer("text").profile("default").build().unwrap();
    let mut setup = engine.setup();
    setup.profile.records = Some(DrawnRecords::Schema(schema()));
    let mut pipeline = Pipeline::new(Setup { shows_open: true, ..setup });
    let mut text = String::new();
    let lines = streamed("m", PLAN, 10);
    let (before, behind) = lines.split_at(lines.len() * 3 / 4);
    for line in before {
        pipeline.push(line.as_bytes(), &mut text).unwrap();
    }
    let open = pipeline.open_nodes();
    let mut shown = String::new();
    pipeline.preview(&open.nodes, 50, &mut shown).unwrap();
    assert_eq!(text, "", "nothing is complete");
    let parts = ["  Two lists,", "\n≡ Seed library · project", "\n\n  The"];
    let places: Vec<_> =
        parts.iter().map(|part| shown.find(part).unwrap_or_else(|| panic!("{part:?} in {shown}"))).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(shown.contains("\n    • Write down all packets · task t-1"), "{shown}");
    assert!(!shown.contains('{'), "{shown}");
    for line in behind.iter().chain([&whole("m", PLAN)]) {
        pipeline.push(line.as_bytes(), &mut text).unwrap();
    }
    pipeline.finish(&mut text).unwrap();
    assert_eq!(text, written("text", &whole("m", PLAN)));
}

/// A formatter whose accumulator accepts all records and has no view. It counts them.
#[derive(Clone, Default)]
struct NoView(Arc<AtomicUsize>);

impl Formatter for NoView {
    fn name(&self) -> &'static str {
        "no view"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn plugins(&self) -> Option<&dyn PluginFormatter> {
        Some(self)
    }
}

impl PluginFormatter for NoView {
    fn take_failures(&self) -> Vec<FormatError> {
        Vec::new()
    }

    fn resume(&self, _: Option<Box<dyn Any>>, _: &Session) {}

    fn accumulator(&self, _: &str) -> Option<Box<dyn Accumulator>> {
        Some(Box::new(self.clone()))
    }
}

impl Accumulator for NoView {
    fn add(&mut self, _: &Item, _: &Session) -> Result<bool, FormatError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn view(&mut self, _: &Session) -> Result<Verdict, FormatError> {
        Err(FormatError { message: "no view".to_owned() })
    }

    fn json(&mut self) -> Result<Option<String>, FormatError> {
        Ok(None)
    }
}

#[test]
fn a_fault_of_a_previewed_tree_is_counted_once_the_tree_is_shown() {
    let engine = Engine::builder().dialect("claude").writer("text").profile("default").build().unwrap();
    let mut setup = Setup { shows_open: true, ..engine.setup() };
    setup.profile.records = Some(DrawnRecords::Accumulator("all".to_owned()));
    if let Output::Entries { formatters, .. } = &mut setup.output {
        formatters.push(Box::new(NoView::default()));
    }
    let (mut pipeline, mut text) = (Pipeline::new(setup), String::new());
    let mut lines = streamed("m", PLAN, 10);
    lines.push(whole("n", "Another reply, at which failures are counted."));
    for line in lines {
        pipeline.push(line.as_bytes(), &mut text).unwrap();
        pipeline.open_nodes();
    }
    assert!(text.contains("Another reply") && pipeline.report().failures.is_empty(), "{text}");
    pipeline.push(whole("m", PLAN).as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert!(text.contains("Seed library"), "{text}");
    assert_eq!(pipeline.report().failures.values().sum::<u64>(), 1);
}

#[test]
fn nothing_stays_of_a_reply_that_is_dropped() {
    let mut lines = vec![whole("before", "Before it.\n")];
    lines.extend(streamed("m", &format!("{PLAN}\nIt goes on"), 10));
    let shown = folded(&lines);
    assert!(shown.get(&"m/0/prose-7".into()).is_some(), "prose after the last record");
    // Another message begins, so this one was never complete.
    lines.extend(streamed("n", "Another one.\n", 10));
    lines.push(whole("n", "Another one.\n"));
    let rest = folded(&lines);
    let ids: Vec<_> = rest.entries().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["before/0", "n/0"]);
}

#[test]
fn records_of_a_dropped_reply_are_taken_back_together() {
    let engine = Engine::builder().dialect("claude").writer("text").profile("default").build().unwrap();
    let mut setup = engine.setup();
    setup.profile.records = Some(DrawnRecords::Accumulator("all".to_owned()));
    let added = NoView::default();
    setup.output = Output::Updates { formatters: vec![Box::new(added.clone())] };
    let (mut pipeline, mut text) = (Pipeline::new(setup), String::new());
    let records = "{\"type\": \"vote\"}\n".repeat(50);
    let lines =
        [whole("before", &records), streamed("m", &records, 500).concat(), streamed("n", "New.", 9).concat()];
    for line in lines {
        pipeline.push(line.as_bytes(), &mut text).unwrap();
    }
    pipeline.finish(&mut text).unwrap();
    // Each record once, and each remaining one again.
    assert_eq!(added.0.load(Ordering::Relaxed), 150);
}

#[test]
fn a_message_that_came_to_something_else_is_what_counts() {
    let other = PLAN
        .replace("Catalogue", "Register")
        .replace("{\"type\": \"subtask\", \"taskId\": \"t-1\", \"name\": \"Number the drawers\"}\n", "");
    let mut lines = streamed("m", PLAN, 11);
    lines.push(whole("m", &other));
    assert_eq!(outline(&folded(&lines)), outline(&folded(&[whole("m", &other)])));
    assert_eq!(written("text", &lines.concat()), written("text", &whole("m", &other)));
}

#[test]
fn a_message_that_is_given_up_takes_its_nodes_with_it() {
    let mut lines = streamed("m", PLAN, 11);
    lines.extend(streamed("n", "Anew.", 5).into_iter().take(1));
    let document = folded(&lines);
    assert_eq!(
        outline(&document).iter().filter(|said| said.contains("tasklist")).count(),
        0,
        "{:#?}",
        outline(&document)
    );
}

#[test]
fn a_tree_goes_on_from_reply_to_reply_and_each_thread_has_its_own() {
    let (first, second) = PLAN.split_at(PLAN.find("{\"type\": \"task\"").unwrap());
    let inside = |id: &str, text: &str| {
        let message = json!({"id": id, "role": "assistant", "content": [{"type": "text", "text": text}]});
        format!(
            "{}\n",
            json!({"type": "assistant", "message": message, "parent_tool_use_id": "agent", "session_id": "s", "uuid": id})
        )
    };
    let other = "{\"type\":\"project\",\"name\":\"Other\"}\n{\"type\":\"tasklist\",\"id\":\"tl-1\",\"name\":\"Inner\"}\n{\"type\":\"complete\"}";
    let lines = [whole("m", first), inside("i", other), whole("n", second)];
    let text = written("text", &lines.concat());
    for expected in [
        "≡ Other · project · complete",
        "• Inner · tasklist tl-1",
        "\n≡ Seed library · project · startDate: 2026-02-02 · complete\n",
        "\n    • Write down all packets",
    ] {
        assert!(text.contains(expected), "{expected:?} in {text}");
    }
    assert_eq!(text.matches("Catalogue").count(), 1, "{text}");
    let document = folded(&lines);
    let inner = document
        .entries()
        .find(|entry| entry.view.title.spans().next().is_some_and(|span| span.text() == "Inner"))
        .unwrap();
    assert_eq!(
        document.get(inner.parent.as_ref().unwrap()).unwrap().parent.as_ref().unwrap().as_str(),
        "agent"
    );
}

/// Each sub-agent has a thread.
#[test]
fn beyond_the_limit_of_threads_with_trees_records_stay_prose() {
    let inside = |thread: usize| {
        let record = json!({"type": "project", "name": format!("P{thread}")}).to_string();
        let message = json!({"id": format!("m-{thread}"), "role": "assistant", "content": [{"type": "text", "text": record}]});
        let parent = format!("agent-{thread}");
        format!(
            "{}\n",
            json!({"type": "assistant", "message": message, "parent_tool_use_id": parent, "session_id": "s"})
        )
    };
    let most = 256;
    let text = written("text", &(0..=most).map(inside).collect::<String>());
    for thread in [0, most - 1] {
        assert!(text.contains(&format!("≡ P{thread} · project")), "{text}");
    }
    assert!(text.contains(&format!("{{\"name\":\"P{most}\",\"type\":\"project\"}}")), "{text}");
    assert!(!text.contains(&format!("≡ P{most}")), "{text}");
    assert_eq!(text.matches("there are too many trees").count(), 1, "{text}");
}

#[test]
fn what_has_no_place_is_shown_and_told() {
    let plan = r#"{"type":"task","id":"t-1","tasklistId":"tl-9","name":"Lost"}
{"type":"subtask","taskId":"t-1","name":"Lost, too"}
{"type":"tasklist","id":"tl-1","name":"Early"}
{"type":"task","id":"t-2","name":"No list"}
{"type":"weather","sky":"blue"}
{"type":"project","name":"P"}
{"type":"tasklist","id":"tl-1","name":"Renamed","extra":{"a":[1,2]}}"#;
    let text = written("text", &whole("m", plan));
    let expected = r#"▲ a record has no place in the tree: task needs `tasklistId`

  {"type":"task","id":"t-2","name":"No list"}
  {"type":"weather","sky":"blue"}

≡ P · project
  • Renamed · tasklist tl-1 · updated once
    extra: {a: [1, 2]}
• Lost · task t-1 · tasklistId: tl-9
  • Lost, too · subtask
▲ a record names a parent that never came
▲ the project isn't complete: there is no `complete`
"#;
    assert_eq!(text, expected);
    let shown = outline(&folded(&[whole("m", plan)]));
    for part in [
        "P · project",
        "  Renamed · tasklist tl-1 · updated once|extra: {a: [1, 2]}",
        "Lost · task t-1 · tasklistId: tl-9",
        "  Lost, too · subtask",
    ] {
        assert!(shown.contains(&part.to_owned()), "{part:?} in {shown:#?}");
    }
}

#[test]
fn machine_output_has_the_records_and_the_tree() {
    let items: Vec<Value> =
        written("items", &whole("m", PLAN)).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    let records: Vec<String> = (1..=7).map(|number| format!("m/0/record-{number}")).collect();
    let expected: Vec<&str> =
        ["m/0"].into_iter().chain(records.iter().map(String::as_str)).chain(["m/0/record-1/tree"]).collect();
    assert_eq!(ids, expected);
    assert_eq!(items[6]["data"]["fenced"], true);
    let tree = &items[8]["data"]["tree"];
    assert_eq!(tree[0]["record"]["name"], "Seed library");
    assert_eq!(tree[0]["children"][0]["children"][0]["children"][0]["record"]["name"], "Number the drawers");
    assert_eq!(tree[0]["children"][1]["children"][0]["record"]["id"], "t-2");
}

#[test]
fn bare_lines_make_a_tree_too() {
    let engine = Engine::builder().dialect("records").writer("text").profile("default").build().unwrap();
    let mut setup = engine.setup();
    setup.profile.records = Some(DrawnRecords::Schema(schema()));
    let (mut pipeline, mut text) = (Pipeline::new(setup), String::new());
    let lines: Vec<&str> = PLAN.lines().filter(|line| line.starts_with('{')).collect();
    let lines = lines.join("\n") + "\n";
    pipeline.push(lines.as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert!(text.starts_with("≡ Seed library · project") && text.ends_with("      color: green\n"), "{text}");
    assert!(!text.contains('{'), "{text}");
}

#[test]
fn without_the_choice_nothing_changes() {
    let engine = Engine::builder().dialect("claude").writer("text").profile("default").build().unwrap();
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    pipeline.push(whole("m", PLAN).as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert!(text.contains("{\"type\": \"complete\"}") && !text.contains('≡'), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_string_of_every_record_is_in_the_text(
        plan in vec((0..5_usize, 0..4_usize, 0..4_usize, "[a-z]{4,12}", "[a-z]{4,12}( [a-z]{3,9}){0,30}"), 1..40),
        is_streamed in any::<bool>(),
        length in 1..200_usize,
    ) {
        let mut names = BTreeSet::new();
        let records = plan.iter().enumerate().map(|(number, (kind, own, parent, name, text))| {
            // Unique names, so that no record replaces another.
            let name = format!("{name}{number}");
            names.insert(name.clone());
            names.insert(text.clone());
            match kind {
                0 => json!({"type": "tasklist", "id": format!("tl-{number}-{own}"), "name": name, "description": text}),
                1 => json!({"type": "task", "id": format!("t-{number}-{own}"), "tasklistId": format!("tl-{parent}"), "name": name, "note": text}),
                2 => json!({"type": "subtask", "taskId": format!("t-{parent}"), "name": name, "list": [text, {"inner": name}]}),
                3 => json!({"type": "task", "name": name, "description": text}),
                _ => json!({"type": "other", "name": name, "text": text}),
            }
        });
        let records: Vec<String> = records.map(|record| record.to_string()).collect();
        let text = format!("{{\"type\":\"project\",\"name\":\"root\"}}\n{}\nThe end.", records.join("\n"));
        let mut lines = if is_streamed { streamed("m", &text, length) } else { Vec::new() };
        lines.push(whole("m", &text));
        let shown = written("text", &lines.concat());
        let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for name in names {
            prop_assert!(shown.contains(&name), "{name:?} in {shown}");
        }
    }
}
