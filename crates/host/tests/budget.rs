//! A smaller budget of a session bounds its memory and loses nothing: the rest is shown separately, or counted.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use streamfmt::Engine;
use streamfmt::core::budget::Budget;
use streamfmt::core::entry::Block;
use streamfmt::core::outline::Document;
use streamfmt::core::pipeline::{EntryChange, Output, Pipeline, Setup, Update};

fn engine(budget: Budget, writer: &str) -> Engine {
    let builder = Engine::builder().dialect("claude").writer(writer).profile("full");
    builder.budget(budget).build().unwrap()
}

fn items(budget: Budget, lines: &[String]) -> Vec<Value> {
    let mut text = String::new();
    engine(budget, "items").format(lines.concat().as_bytes(), &mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn event(event: &Value, parent: Option<&str>) -> String {
    let line =
        json!({"type": "stream_event", "event": event, "parent_tool_use_id": parent, "session_id": "s"});
    format!("{line}\n")
}

fn begin(id: &str, parent: Option<&str>) -> Vec<String> {
    vec![
        event(&json!({"type": "message_start", "message": {"id": id, "content": []}}), parent),
        event(
            &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            parent,
        ),
    ]
}

fn delta(text: &str, parent: Option<&str>) -> String {
    event(
        &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        parent,
    )
}

fn message(id: &str, content: &Value) -> String {
    let message = json!({"id": id, "role": "assistant", "content": [content]});
    format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s"}))
}

fn call(id: &str) -> String {
    message(
        id,
        &json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("echo {id}")}}),
    )
}

fn result(call: &str) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "fine"}]);
    format!(
        "{}\n",
        json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s"})
    )
}

/// The final document, if updates are taken after every `pace` lines, and all updates.
fn shown(budget: Budget, lines: &[String], pace: usize) -> (Document, Vec<Update>) {
    let setup = engine(budget, "json").updating().setup();
    assert!(matches!(setup.output, Output::Updates { .. }));
    let mut pipeline = Pipeline::new(Setup { is_whole: false, ..setup });
    let mut updates = Vec::new();
    for lines in lines.chunks(pace) {
        pipeline.push(lines.concat().as_bytes(), &mut String::new()).unwrap();
        updates.extend(pipeline.take_updates());
    }
    pipeline.finish(&mut String::new()).unwrap();
    updates.extend(pipeline.take_updates());
    let mut document = Document::default();
    document.apply(updates.clone());
    (document, updates)
}

fn prose(document: &Document) -> BTreeMap<String, String> {
    let text = |blocks: &[Block]| match blocks {
        [Block::Prose { text, .. }, ..] => text.to_string(),
        _ => String::new(),
    };
    document.entries().map(|entry| (entry.id.to_string(), text(&entry.view.body))).collect()
}

#[test]
fn a_text_that_grows_too_long_goes_on_as_another_item() {
    let budget = Budget { open_bytes: 10_000, ..Budget::default() };
    let mut lines = begin("m", None);
    let pieces: Vec<String> = (0..400)
        .map(|number| format!("{number:03} and some more words of about 60 bytes in all ...\n"))
        .collect();
    lines.extend(pieces.iter().map(|piece| delta(piece, None)));
    let (often, updates) = shown(budget, &lines, 1);
    let (once, _) = shown(budget, &lines, usize::MAX);
    let often_said = prose(&often);
    assert_eq!(often_said, prose(&once), "whenever somebody looks, it ends the same");
    assert_eq!(often_said.keys().collect::<Vec<_>>(), ["m/0", "m/0~2", "m/0~3"], "{often_said:?}");
    assert!(often_said.values().all(|text| text.len() <= 10_100));
    let whole: String = often_said.values().map(String::as_str).collect();
    assert_eq!(whole, pieces.concat(), "nothing is lost");
    // A finished entry never changes again.
    let mut finished = Vec::new();
    for update in &updates {
        assert!(!finished.contains(update.id()), "{} is changed after its end", update.id());
        if let EntryChange::Put { partial: false, .. } = update.change {
            finished.push(update.id().clone());
        }
    }
    assert_eq!(prose(&shown(Budget::default(), &lines, 1).0).len(), 1);
}

#[test]
fn of_too_many_open_items_the_oldest_ends() {
    let budget = Budget { open_items: 4, ..Budget::default() };
    let threads: Vec<String> = (0..10).map(|number| format!("agent-{number}")).collect();
    let mut lines = Vec::new();
    for thread in &threads {
        lines.extend(begin(&format!("m-{thread}"), Some(thread)));
        lines.push(delta(thread, Some(thread)));
    }
    let told = items(budget, &lines);
    let texts: Vec<&str> = told.iter().filter_map(|item| item["text"].as_str()).collect();
    assert_eq!(texts, threads, "each is told");
}

#[test]
fn of_too_many_open_calls_the_older_are_counted() {
    let budget = Budget { calls: 16, ..Budget::default() };
    let ids: Vec<String> = (0..50).map(|number| format!("t-{number}")).collect();
    let mut lines: Vec<String> = ids.iter().map(|id| call(id)).collect();
    lines.push(result("t-49"));
    for budget in [budget, Budget::default()] {
        let told = items(budget, &lines);
        assert_eq!(told.iter().filter(|item| item["kind"] == "call").count(), 50);
        let notice = told.iter().find(|item| item["data"]["event"] == "open-calls").unwrap();
        assert_eq!(notice["data"]["count"], 49, "{notice}");
    }
    // Forgotten calls aren't reported as answered either: their results show it.
    lines.extend(ids.iter().map(|id| result(id)));
    let answered = |budget: Budget| {
        let (_, updates) = shown(budget, &lines, 1);
        let answered =
            |update: &&Update| matches!(update.change, EntryChange::Put { answered: Some(true), .. });
        assert_eq!(updates.iter().filter(|update| update.id().as_str().ends_with("/result")).count(), 50);
        updates.iter().filter(answered).count()
    };
    assert_eq!(answered(Budget::default()), 50);
    assert!((8..=16).contains(&answered(budget)));
}

#[test]
fn what_comes_again_is_known_as_long_as_the_budget_says() {
    let budget = Budget { ids: 100, lines: 100, ..Budget::default() };
    let reply = |number: usize| {
        message(&format!("m-{number}"), &json!({"type": "text", "text": format!("words {number}")}))
    };
    let mut lines: Vec<String> = (0..90).map(reply).collect();
    lines.push(reply(0));
    assert_eq!(items(budget, &lines).len(), 90, "it is known");
    lines.extend((90..2_000).map(reply));
    lines.push(reply(1));
    assert_eq!(items(budget, &lines).len(), 2_001, "it is long ago, and shown again");
    assert_eq!(items(Budget::default(), &lines).len(), 2_000);
}

#[test]
fn the_least_budget_loses_nothing() {
    let nothing = Budget {
        open_items: 0,
        open_bytes: 0,
        calls: 0,
        call_bytes: 0,
        parents: 0,
        ids: 0,
        lines: 0,
        line_bytes: 0,
    };
    for name in ["shop.jsonl", "shop.partial.jsonl", "shop.history.jsonl"] {
        let sample = format!("{}/../../tests/samples/{name}", env!("CARGO_MANIFEST_DIR"));
        let lines: Vec<String> =
            std::fs::read_to_string(sample).unwrap().lines().map(|line| format!("{line}\n")).collect();
        let texts = |budget| -> Vec<String> {
            items(budget, &lines).iter().filter_map(|item| Some(item["text"].as_str()?.to_owned())).collect()
        };
        let (few, all) = (texts(nothing), texts(Budget::default()));
        assert!(all.iter().all(|text| few.contains(text)), "{name}: {few:#?}");
        assert_eq!(texts(Budget::LEAST), few);
    }
}
