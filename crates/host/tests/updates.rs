//! The updates for a sink that can change earlier output: growing entries under one id, and drops.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "laws/recordings.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod recordings;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use streamfmt::core::entry::{Block, Entry};
use streamfmt::core::event::Event;
use streamfmt::core::item::{Action, Content, Fact, Id, Item, Kind, Status};
use streamfmt::core::outline::{Document, Node};
use streamfmt::core::pipeline::{EntryChange, Output, Pipeline, Setup, Update};
use streamfmt::core::redact::Redaction;
use streamfmt::core::writer::{Wants, Writer};
use streamfmt::dialect::{Decoder, DialectPlugin, Input, set_action};
use streamfmt::engine::Engine;
use streamfmt::writer::json::Json;

use recordings::recordings;

/// A dialect whose records are the changes to items.
struct Scripted;

impl Decoder for Scripted {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let text = |key: &str| input.value.get(key).and_then(streamfmt::core::json::Value::decode);
        let id = Id::from(&*text("id").unwrap());
        let mut item = Item::new(id.clone(), Kind::Result, input.line);
        item.text = input.value.get("text").map_or(Content::None, |text| Content::Node(text.node()));
        item.data.extend(input.value.get("exit").map(|exit| ("exit", Fact::Node(exit.node()))));
        item.error = input.value.get("error").is_some();
        item.status = if item.error { Status::Failed } else { Status::Done };
        set_action(&mut item, Action::Run);
        item.record = Some(input.record.clone());
        out.push(match &*text("do").unwrap() {
            "amend" => Event::Amend(Box::new(item)),
            "append" => Event::Append { id, text: text("text").unwrap().into_owned() },
            "put" => Event::Put(Box::new(item)),
            _ => Event::Close { id, status: Status::Done },
        });
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}

/// Changes to an item that stays open, and its status, title and body after each.
const CHANGES: &[(&str, &str)] = &[
    (r#"{"do":"amend","id":"a","text":"one"}"#, "open one"),
    (r#"{"do":"append","id":"a","text":"\ntwo"}"#, "open one␤two"),
    (r#"{"do":"amend","id":"a","exit":7,"error":1}"#, "failed exit 7 one␤two"),
    (r#"{"do":"amend","id":"a","text":"three"}"#, "open three"),
    (r#"{"do":"amend","id":"b","text":"other"}"#, "open other"),
    (r#"{"do":"close","id":"a"}"#, "done three"),
    (r#"{"do":"amend","id":"a","text":"late"}"#, ""),
    (r#"{"do":"put","id":"b","text":"whole"}"#, "done whole"),
];

fn scripted(output: Output) -> Pipeline {
    let plugin = DialectPlugin { name: "scripted".into(), decoder: Box::new(Scripted) };
    let setup = engine("default").setup();
    Pipeline::new(Setup {
        dialect: Some("scripted".to_owned()),
        dialect_plugins: vec![plugin],
        output,
        ..setup
    })
}

#[test]
fn an_item_can_change_and_stay_open() {
    let mut pipeline = scripted(Output::Updates { formatters: Vec::new() });
    for (line, want) in CHANGES {
        let shown = push(&mut pipeline, &format!("{line}\n")).into_iter().map(|update| match update.change {
            EntryChange::Put { entry, .. } => {
                let mut text = String::new();
                Json.node(&Node::from((*entry).clone()), &mut text).unwrap();
                let entry: Value = serde_json::from_str(&text).unwrap();
                let spans = entry["title"].as_array().unwrap().iter();
                let body = entry["body"].as_array().into_iter().flatten();
                let texts = spans.chain(body).map(|part| part["text"].as_str().unwrap().replace('\n', "␤"));
                [entry["status"].as_str().unwrap().to_owned()]
                    .into_iter()
                    .chain(texts)
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            EntryChange::Drop(id) => format!("dropped {id}"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(", "), *want, "after {line}");
    }
}

#[test]
fn what_changed_while_it_was_open_is_written_once_when_it_is_whole() {
    for (output, want) in [
        (
            Output::Items { formatters: Vec::new(), writer: None },
            ["\"text\":\"three\"", "\"text\":\"whole\""],
        ),
        (Output::Entries { formatters: Vec::new(), writer: Box::new(Json) }, ["three", "whole"]),
    ] {
        let (mut pipeline, mut out) = (scripted(output), String::new());
        for (line, _) in CHANGES {
            pipeline.push(format!("{line}\n").as_bytes(), &mut out).unwrap();
        }
        pipeline.finish(&mut out).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), want.len(), "{out}");
        assert!(lines.iter().zip(want).all(|(line, want)| line.contains(want)), "{out}");
    }
}

const TEXT: &str = "Three times 5.61 is 16.83, with tax 20.0277.\n\nSo the total is **20.03**.";

#[test]
fn a_reply_grows_under_one_id_and_ends_whole() {
    let mut pipeline = updating(&engine("full"));
    let mut seen: Vec<(String, Status, String)> = Vec::new();
    for line in streamed("msg_1", TEXT).into_iter().chain([whole("msg_1", TEXT)]) {
        for update in push(&mut pipeline, &line) {
            match update.change {
                EntryChange::Put { entry, .. } => {
                    seen.push((entry.id.to_string(), entry.status, prose(&entry)));
                }
                EntryChange::Drop(id) => panic!("{id} was dropped"),
            }
        }
    }
    let (last, growing) = seen.split_last().unwrap();
    assert_eq!(*last, ("msg_1/0".to_owned(), Status::Done, TEXT.to_owned()));
    assert!(growing.len() >= TEXT.len() / 10, "it came in {} steps", growing.len());
    for (earlier, later) in growing.iter().zip(&growing[1..]) {
        assert_eq!((earlier.0.as_str(), earlier.1), ("msg_1/0", Status::Open));
        assert!(later.2.starts_with(&earlier.2) && later.2.len() > earlier.2.len(), "{earlier:?}, {later:?}");
    }
}

/// Writes whether entries have a time, and wants it or not.
struct Clock(bool);

impl Writer for Clock {
    fn wants(&self) -> Wants {
        Wants { time: self.0, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
        write!(out, "{} ", node.entry.at.is_some())
    }
}

#[test]
fn a_writer_in_the_middle_of_a_run_gets_what_it_wants() {
    let setup = |writer: bool| {
        let output = Output::Entries { formatters: Vec::new(), writer: Box::new(Clock(writer)) };
        Setup { output, ..engine("full").setup() }
    };
    let line = |id: &str| whole(id, TEXT).replacen('{', r#"{"timestamp":"2026-11-20T09:14:03.435Z","#, 1);
    let (mut pipeline, mut text) = (Pipeline::new(setup(false)), String::new());
    pipeline.push(line("m-1").as_bytes(), &mut text).unwrap();
    for is_writer_replaced in [false, true] {
        pipeline.replace(setup(true), is_writer_replaced, &mut text).unwrap();
        pipeline.push(line(&format!("m-2-{is_writer_replaced}")).as_bytes(), &mut text).unwrap();
    }
    assert_eq!(text, "false false true ");
}

#[test]
fn a_growing_reply_is_formatted_once_a_take() {
    let mut pipeline = updating(&engine("full"));
    for line in streamed("msg_1", TEXT) {
        pipeline.push(line.as_bytes(), &mut String::new()).unwrap();
    }
    let updates = pipeline.take_updates();
    assert!(matches!(&entries(&updates)[..], [Ok(entry)] if prose(entry) == TEXT), "{updates:?}");
    assert!(pipeline.take_updates().is_empty(), "nothing has changed since");
}

#[test]
fn a_message_that_is_tried_again_is_dropped() {
    let mut pipeline = updating(&engine("full"));
    let lost = streamed("msg_1", "Half of a tho").concat();
    let updates = push(&mut pipeline, &lost);
    assert!(matches!(&entries(&updates)[..], [Ok(entry)] if entry.status == Status::Open));
    let again = streamed("msg_2", TEXT).concat() + &whole("msg_2", TEXT);
    let updates = push(&mut pipeline, &again);
    assert!(
        matches!(&entries(&updates)[..], [Err(lost), Ok(entry)]
            if lost.as_str() == "msg_1/0" && entry.id.as_str() == "msg_2/0" && prose(entry) == TEXT),
        "{updates:?}"
    );
}

#[test]
fn all_updates_in_order_make_what_an_append_only_sink_got() {
    let mut compared = 0;
    for profile in ["default", "full"] {
        let engine = engine(profile);
        for recording in recordings() {
            for (name, bytes) in recording.forms() {
                let mut written = written(&engine, bytes);
                for pace in [1, 3, 7, usize::MAX] {
                    let (shown, dropped) = shown(&engine, bytes, pace);
                    // A file keeps dropped entries, followed by a notice.
                    written.retain(|id, _| !dropped.contains(id));
                    for id in shown.keys().chain(written.keys()) {
                        assert_eq!(shown.get(id), written.get(id), "{name}, {profile}: {id}");
                    }
                }
                compared += written.len();
            }
        }
    }
    assert!(compared > 100, "only {compared} entries were compared");
}

#[test]
fn it_does_not_matter_whether_pieces_or_the_whole_come_first() {
    let engine = engine("full");
    let input = json!({"command": "cargo test", "description": "try"});
    let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": input});
    let pieces = |kind: &str, key: &str, index: u64, begin: Value, text: &str| -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let deltas = letters.chunks(5).map(|piece| {
            let delta = json!({"type": kind, key: piece.iter().collect::<String>()});
            json!({"type": "content_block_delta", "index": index, "delta": delta})
        });
        let begin = [json!({"type": "content_block_start", "index": index, "content_block": begin})];
        begin.into_iter().chain(deltas).map(|event| stream_event(&event)).collect()
    };
    let begun = stream_event(&json!({"type": "message_start", "message": {"id": "m", "content": []}}));
    let text = pieces("text_delta", "text", 0, json!({"type": "text", "text": ""}), TEXT);
    let empty_call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}});
    let json = pieces("input_json_delta", "partial_json", 1, empty_call, &input.to_string());
    let [said, called] = [json!({"type": "text", "text": TEXT}), call].map(|block| {
        let message = json!({"id": "m", "role": "assistant", "content": [block]});
        format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s"}))
    });
    let content = json!([{"type": "tool_result", "tool_use_id": "t", "content": "fine"}]);
    let user = json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s"});
    let answer = format!("{user}\n");
    let (text, json) = (text.concat(), json.concat());
    let orders = [
        [&begun, &text, &said, &json, &called, &answer],
        [&begun, &said, &text, &called, &json, &answer],
        [&said, &begun, &text, &called, &json, &answer],
        [&said, &called, &begun, &text, &json, &answer],
        [&said, &called, &answer, &begun, &text, &json],
        [&begun, &text, &json, &said, &called, &answer],
    ];
    let mut ends = orders.map(|order| {
        let bytes = order.map(String::as_str).concat();
        let ends = [1, 4, usize::MAX].map(|pace| folded(&engine, bytes.as_bytes(), pace));
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "at any pace");
        ends[0].clone()
    });
    for end in &mut ends {
        assert_eq!(end["t"]["answered"], true);
        // Places and revisions depend on the order of the input.
        for update in end.values_mut() {
            update.as_object_mut().unwrap().remove("revision");
            update["entry"].as_object_mut().unwrap().remove("place");
        }
    }
    assert_eq!(ends[0].keys().collect::<Vec<_>>(), ["m/0", "t", "t/result"]);
    for (number, end) in ends.iter().enumerate() {
        for (id, update) in end {
            assert_eq!(ends[0].get(id), Some(update), "{id} in order {number}");
        }
    }
}

/// Lines of Claude Code: a call, a request for permission, the answer, the result, and the end of the run.
fn asked_lines() -> [String; 5] {
    let block = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "a"});
    [
        json!({"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [block]}, "session_id": "s"}),
        json!({"type": "control_request", "request_id": "r", "request":
            {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": {"command": "ls"}}}),
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r"}}),
        json!({"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "s"}),
        json!({"type": "result", "subtype": "success", "result": "", "session_id": "s"}),
    ]
    .map(|line| format!("{line}\n"))
}

/// The updates of the call `t` after each piece of the input: its status, whether it is answered, and `data`.
fn states_of_call(pieces: &[&str]) -> Vec<Vec<(String, Option<bool>, Value)>> {
    let mut pipeline = updating(&engine("default"));
    let mut states_after = |piece: Option<&str>| {
        let updates = if let Some(piece) = piece {
            push(&mut pipeline, piece)
        } else {
            pipeline.finish(&mut String::new()).unwrap();
            pipeline.take_updates()
        };
        let calls = updates.into_iter().filter(|update| update.id().as_str() == "t");
        let states = calls.map(|update| {
            let line = serde_json::to_string(&update).unwrap();
            let waiting = |update: &Update| update.entry().map(|entry| (entry.status, entry.waiting));
            assert_eq!(waiting(&serde_json::from_str(&line).unwrap()), waiting(&update), "read again");
            let line: Value = serde_json::from_str(&line).unwrap();
            let status = line["entry"]["status"].as_str().unwrap().to_owned();
            (status, line["answered"].as_bool(), line["entry"]["data"].clone())
        });
        states.collect()
    };
    pieces.iter().copied().map(Some).chain([None]).map(&mut states_after).collect()
}

#[test]
fn a_call_that_waits_for_a_person_is_put_with_that_status_and_again_without() {
    let [call, request, answer, result, end] = &asked_lines();
    let done = |answered| ("done".to_owned(), Some(answered), Value::Null);
    let waiting = || ("waiting".to_owned(), Some(false), json!({"waiting": {"for": "permission"}}));
    let none = Vec::new;
    for (pieces, states) in [
        (
            vec![&**call, request, answer, result, end],
            vec![vec![done(false)], vec![waiting()], vec![done(false)], vec![done(true)], none(), none()],
        ),
        // The wait also ends with the result, with the run and with the input.
        (vec![&**call, request, result], vec![vec![done(false)], vec![waiting()], vec![done(true)], none()]),
        (vec![&**call, request, end], vec![vec![done(false)], vec![waiting()], vec![done(false)], none()]),
        (vec![&**call, request], vec![vec![done(false)], vec![waiting()], vec![done(false)]]),
        // A repeated state isn't put again.
        (
            vec![&**call, request, request, answer, answer],
            vec![vec![done(false)], vec![waiting()], none(), vec![done(false)], none(), none()],
        ),
        // The request comes first.
        (vec![&**request, call, answer], vec![none(), vec![waiting()], vec![done(false)], none()]),
    ] {
        assert_eq!(states_of_call(&pieces), states, "{pieces:#?}");
    }
    // Only the state at the time of taking is put.
    let piece = [&**call, request].concat();
    assert_eq!(states_of_call(&[&piece]), [vec![waiting()], vec![done(false)]]);
    let piece = asked_lines().concat();
    assert_eq!(states_of_call(&[&piece]), [vec![done(true)], none()]);
}

#[test]
fn a_question_in_a_history_waits_since_its_time_until_it_is_answered() {
    let line = |kind: &str, time: &str, block: Value| {
        let message = json!({"id": "m", "role": kind, "content": [block]});
        let line =
            json!({"type": kind, "message": message, "sessionId": "s", "timestamp": time, "uuid": time});
        format!("{line}\n")
    };
    let question = json!({"question": "Why?", "header": "Why", "options": []});
    for (tool, input, waits_for) in [
        ("AskUserQuestion", json!({"questions": [question]}), "answer"),
        ("ExitPlanMode", json!({"plan": "Paint it."}), "approval"),
    ] {
        let block = json!({"type": "tool_use", "id": "t", "name": tool, "input": input});
        let call = line("assistant", "2026-11-21T21:00:00Z", block);
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "Because."});
        let result = line("user", "2026-11-21T21:02:00Z", result);
        let waiting = json!({"waiting": {"for": waits_for, "since": "2026-11-21T21:00:00Z"}});
        let states = states_of_call(&[&call, &result]);
        assert_eq!(states[0], [("waiting".to_owned(), Some(false), waiting)], "{tool}");
        assert_eq!(states[1], [("done".to_owned(), Some(true), Value::Null)], "{tool}");
    }
}

#[test]
fn ids_that_are_masked_stay_apart_and_lead_to_each_other() {
    let redaction = Redaction::secrets();
    let builder = Engine::builder().dialect("claude").writer("json").profile("full").redact(&redaction);
    let engine = builder.build().unwrap();
    let [one, two] = ["ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2", "ghp_z9Y8z9Y8z9Y8z9Y8z9Y8z9Y8z9Y8z9Y8z9Y8"];
    let call = |id: &str| {
        let block = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
        let message = json!({"id": format!("m-{}", &id[..6]), "role": "assistant", "content": [block]});
        json!({"type": "assistant", "message": message, "session_id": "s"})
    };
    let result = |id: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "fine"}]);
        json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s"})
    };
    let lines = [call(one), call(two), result(two), result(one)].map(|line| format!("{line}\n"));
    for pace in [1, usize::MAX] {
        let end = folded(&engine, lines.concat().as_bytes(), pace);
        let names = ["[redacted github-token]", "[redacted github-token]~2"];
        // The second call's result came first.
        let results = ["[redacted github-token]/result~2", "[redacted github-token]/result"];
        assert_eq!(end.len(), 4, "{:?}", end.keys());
        assert_eq!(results.map(|id| end[id]["entry"]["call"].as_str().unwrap()), names);
        assert!(names.iter().all(|name| end[*name]["answered"] == true));
    }
}

/// The last update of each remaining entry, by id, if updates are taken after every `pace` lines.
fn folded(engine: &Engine, bytes: &[u8], pace: usize) -> BTreeMap<String, Value> {
    let mut pipeline = updating(engine);
    let mut document = Document::default();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    for lines in lines.chunks(pace) {
        pipeline.push(&lines.concat(), &mut String::new()).unwrap();
        document.apply(pipeline.take_updates());
    }
    pipeline.finish(&mut String::new()).unwrap();
    document.apply(pipeline.take_updates());
    let updates = document.since(0).into_iter();
    updates
        .map(|mut update| {
            update.revision = 0;
            (update.id().to_string(), serde_json::to_value(update).unwrap())
        })
        .filter(|(_, update)| update["update"] == "put")
        .collect()
}

/// The entries that an append-only sink gets, by id.
fn written(engine: &Engine, bytes: &[u8]) -> BTreeMap<String, Value> {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(bytes, &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    text.lines().map(entry).collect()
}

/// The entries that an updating sink shows at the end, by id, and those that it dropped, if updates are taken after every `pace` lines.
fn shown(engine: &Engine, bytes: &[u8], pace: usize) -> (BTreeMap<String, Value>, Vec<String>) {
    let mut pipeline = updating(engine);
    let (mut shown, mut dropped) = (BTreeMap::new(), Vec::new());
    let mut take = |updates: Vec<Update>| {
        for update in updates {
            match update.change {
                EntryChange::Put { entry: new, .. } => {
                    let mut line = String::new();
                    Json.node(&Node::from((*new).clone()), &mut line).unwrap();
                    let (id, new) = entry(&line);
                    dropped.retain(|gone| *gone != id);
                    shown.insert(id, new);
                }
                EntryChange::Drop(id) => {
                    shown.remove(id.as_str());
                    dropped.push(id.to_string());
                }
            }
        }
    };
    for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        pipeline.push(line, &mut String::new()).unwrap();
        if (number + 1) % pace == 0 {
            take(pipeline.take_updates());
        }
    }
    pipeline.finish(&mut String::new()).unwrap();
    take(pipeline.take_updates());
    (shown, dropped)
}

/// A line of `json`, without the field that depends on the entry above it.
fn entry(line: &str) -> (String, Value) {
    let mut value: Value = serde_json::from_str(line).unwrap();
    value.as_object_mut().unwrap().remove("of");
    (value["id"].as_str().unwrap().to_owned(), value)
}

fn engine(profile: &str) -> Engine {
    Engine::builder().dialect("claude").writer("json").profile(profile).build().unwrap()
}

fn updating(engine: &Engine) -> Pipeline {
    Pipeline::new(Setup { output: Output::Updates { formatters: Vec::new() }, ..engine.setup() })
}

fn push(pipeline: &mut Pipeline, lines: &str) -> Vec<Update> {
    let mut out = String::new();
    pipeline.push(lines.as_bytes(), &mut out).unwrap();
    assert_eq!(out, "", "nothing is written beside the updates");
    pipeline.take_updates()
}

/// The entries that are put, and the ids of dropped ones.
fn entries(updates: &[Update]) -> Vec<Result<&Entry, &Id>> {
    updates.iter().map(|update| update.entry().ok_or(update.id())).collect()
}

fn prose(entry: &Entry) -> String {
    match &entry.view.body[..] {
        [Block::Prose { text, .. }] => text.to_string(),
        body => panic!("no prose: {body:?}"),
    }
}

/// The lines of a message that streams its text in pieces, and doesn't end.
fn streamed(id: &str, text: &str) -> Vec<String> {
    let begin = [
        json!({"type": "message_start", "message": {"id": id, "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let letters: Vec<char> = text.chars().collect();
    let deltas = letters.chunks(5).map(|piece| {
        let piece: String = piece.iter().collect();
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    });
    let lines = begin.into_iter().chain(deltas);
    lines.map(|event| stream_event(&event)).collect()
}

fn stream_event(event: &Value) -> String {
    format!("{}\n", json!({"type": "stream_event", "event": event, "session_id": "s"}))
}

fn whole(id: &str, text: &str) -> String {
    let message = json!({"id": id, "role": "assistant", "content": [{"type": "text", "text": text}]});
    format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s", "uuid": id}))
}

/// Sends the ids of written entries.
struct Written(std::sync::mpsc::Sender<Id>);

impl Writer for Written {
    fn node(&mut self, node: &Node, _: &mut dyn std::fmt::Write) -> std::fmt::Result {
        node.entries().for_each(|entry| drop(self.0.send(entry.id.clone())));
        Ok(())
    }
}

#[test]
fn what_is_not_written_yet_is_open() {
    let engine = engine("full");
    let mut compared = 0;
    for recording in recordings() {
        for (name, bytes) in recording.forms() {
            let (send, written) = std::sync::mpsc::channel();
            let output = Output::Entries { formatters: Vec::new(), writer: Box::new(Written(send)) };
            let mut pipeline = Pipeline::new(Setup { shows_open: true, output, ..engine.setup() });
            let (mut updating, mut done) = (updating(&engine), BTreeSet::new());
            let mut shown = BTreeSet::new();
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                pipeline.push(line, &mut String::new()).unwrap();
                updating.push(line, &mut String::new()).unwrap();
                for update in updating.take_updates() {
                    match update.change {
                        EntryChange::Put { entry, .. } => shown.insert(entry.id),
                        EntryChange::Drop(id) => shown.remove(&id),
                    };
                }
                for id in written.try_iter() {
                    assert!(done.insert(id.clone()), "{name}: {id} is written twice");
                }
                let open = pipeline.open_nodes();
                let open: Vec<Id> =
                    open.nodes.iter().flat_map(|node| node.entries().map(|entry| entry.id.clone())).collect();
                let mut all = done.clone();
                for id in open {
                    assert!(all.insert(id.clone()), "{name}: {id} is there twice");
                }
                // A writer can't remove dropped entries.
                all.retain(|id| shown.contains(id) || !done.contains(id));
                assert_eq!(all, shown, "{name}");
                compared += 1;
            }
            pipeline.finish(&mut String::new()).unwrap();
            assert!(pipeline.open_nodes().nodes.is_empty(), "{name}: all is written in the end");
        }
    }
    assert!(compared > 0, "there are no recordings");
}
