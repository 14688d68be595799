//! Masked text is never shown while it grows, at any time.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use streamfmt::Engine;
use streamfmt::core::entry::{Block, Entry};
use streamfmt::core::pipeline::{EntryChange, GROWING_TEXT, Output, Pipeline, Setup, Update};
use streamfmt::core::redact::{CustomPattern, Redaction};

/// Texts with secrets. The masked parts contain capital letters, the rest doesn't.
const SECRETS: &[&str] = &[
    "ghp_AB1CDE2FGH3IJK4LMN5OPQ6RST7UVW8XYZ9AB",
    "sk-ant-AB1CDE2FGH3IJK4LMN5",
    "AKIAABCDEFGHIJKLMNOP",
    "xoxb-ABC1DEF2GHI3JKL",
    "eyJABCDEFGHIJKL.ABCDEFGHIJKLM.ABCDEF",
    "api_key=ABC1DEF2GHI3",
    "{\"password\": \"ABCDEFGH1\"}",
    "--token ABCDEFG12",
    "bearer ABCDEFGHIJKLMNOP1",
    "postgres://user:ABCDEFG@host/db",
    "ABC@DEF.org",
    "/home/ABC/shop",
    "ticket: SHOP-12",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIABC+/=\nProc: 4,X\n\nABC\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nABC (ODD) LINE?\nMIIABC\n-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIABC\nMIIABC",
    "-----BEGIN \u{1b}[KPRIVATE KEY-----\n\u{1b}[KMII(A)\nB\n-----END PRIVATE KEY-----",
    "-----BEG**IN** PRIVATE KEY-----\nMII(A)\nB\n-----END PRIVATE KEY-----",
    "\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[KAB1CDE2FGH3IJK4LMN5OPQ6RST7UVW8XYZ9AB",
    "ghp\\_AB1CDE2FGH3IJK4LMN5OPQ6RST7UVW8XYZ9AB",
    "**pass\u{1b}[Kword:** ABCDEFG12",
    "smtp_pass=ABCDEFGH1",
    "curl -u me:ABCDEFG12 https://x.example",
    "| password | ABCDEFG12 |",
    "cookie: id=ABCDEFGH1; x=y",
    "x-----BEG\u{1b}[0mIN PRIVATE KEY-----\nMII(A)\nB\n-----END PRIVATE KEY-----y",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => proptest::sample::select(SECRETS).prop_map(str::to_owned),
        4 => "[a-z .,:=\"'`(]{0,12}",
        2 => proptest::sample::select(&["\n", "\r\n", "\n```rust\n", "\n\n", " ", "-----begin ", "\u{1b}[1m"][..])
            .prop_map(str::to_owned),
    ];
    vec(piece, 1..10).prop_map(|pieces| pieces.concat())
}

fn engine(own: &str) -> Engine {
    let own = vec![CustomPattern::new("ticket", own).unwrap()];
    let redaction = Redaction { own, ..Redaction::everything() };
    Engine::builder().dialect("claude").writer("json").profile("full").redact(&redaction).build().unwrap()
}

fn pipeline(engine: &Engine) -> Pipeline {
    let setup = engine.setup();
    let Output::Entries { formatters, .. } = setup.output else { panic!("entries are wanted") };
    Pipeline::new(Setup { output: Output::Updates { formatters }, ..setup })
}

/// The lines of a message with one block, which streams in these pieces and is then repeated as a whole.
fn streamed(begin: &Value, delta: impl Fn(&str) -> Value, pieces: &[&str], whole: &Value) -> Vec<String> {
    let event = |event: Value| json!({"type": "stream_event", "event": event, "session_id": "s"});
    let mut lines = vec![
        event(json!({"type": "message_start", "message": {"id": "m", "content": []}})),
        event(json!({"type": "content_block_start", "index": 0, "content_block": begin})),
    ];
    lines.extend(
        pieces
            .iter()
            .map(|piece| event(json!({"type": "content_block_delta", "index": 0, "delta": delta(piece)}))),
    );
    let message = json!({"id": "m", "role": "assistant", "content": [whole]});
    lines.push(json!({"type": "assistant", "message": message, "session_id": "s"}));
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

fn reply(text: &str, pieces: &[&str]) -> Vec<String> {
    let block = |text: &str| json!({"type": "text", "text": text});
    streamed(&block(""), |piece| json!({"type": "text_delta", "text": piece}), pieces, &block(text))
}

fn call(tool: &str, input: &Value, pieces: &[&str]) -> Vec<String> {
    let block = |input: &Value| json!({"type": "tool_use", "id": "t", "name": tool, "input": input});
    let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    streamed(&block(&json!({})), delta, pieces, &block(input))
}

/// The entries after each line: the growing ones, and the complete one.
fn capabilities(engine: &Engine, lines: &[String]) -> (Vec<Entry>, Entry) {
    let mut pipeline = pipeline(engine);
    let mut updates: Vec<Update> = Vec::new();
    for line in lines {
        pipeline.push(line.as_bytes(), &mut String::new()).unwrap();
        updates.extend(pipeline.take_updates());
    }
    pipeline.finish(&mut String::new()).unwrap();
    let (mut growing, mut whole) = (Vec::new(), None);
    for update in updates {
        if let EntryChange::Put { entry, partial, .. } = update.change {
            if partial {
                growing.push(*entry);
            } else {
                whole = Some(*entry);
            }
        }
    }
    (growing, whole.unwrap())
}

/// The text of a reply, and whether its beginning is elided.
fn prose(entry: &Entry) -> (&str, bool) {
    match &entry.view.body[..] {
        [Block::Prose { text, .. }] => (text, false),
        [Block::Elided { .. }, Block::Prose { text, .. }] => (text, true),
        body => panic!("no prose: {body:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_growing_reply_is_the_beginning_of_the_masked_one(text in text()) {
        let text = format!("a{text}");
        let pieces: Vec<&str> = text.split_inclusive(|_| true).collect();
        let (growing, whole) = capabilities(&engine("SHOP-[0-9]+"), &reply(&text, &pieces));
        for entry in &growing {
            let (shown, is_elided) = prose(entry);
            prop_assert!(!is_elided && prose(&whole).0.starts_with(shown), "{shown:?} of {whole:?}");
        }
        let lines = text.matches('\n').count();
        prop_assert!(lines == 0 || !growing.is_empty() || text.contains("-----BEG"), "nothing of {text:?} was shown");
        let (growing, _) = capabilities(&engine(r"ticket:\s+(SHOP-\d+)"), &reply(&text, &pieces));
        prop_assert!(growing.is_empty(), "a pattern may go over lines: {growing:?}");
    }

    #[test]
    fn the_end_of_a_long_growing_reply_is_of_the_masked_one(pieces in vec(text(), 3..6), filler in 100..900_usize) {
        let text = pieces.join(&format!("\n{}", "some words, (more) words\n".repeat(filler)));
        let pieces: Vec<&str> = text.as_bytes().chunks(997).filter_map(|piece| std::str::from_utf8(piece).ok()).collect();
        prop_assume!(pieces.concat() == text);
        let (growing, whole) = capabilities(&engine("SHOP-[0-9]+"), &reply(&text, &pieces));
        let whole = prose(&whole).0;
        for entry in &growing {
            let (mut shown, is_elided) = prose(entry);
            prop_assert!(shown.len() <= GROWING_TEXT + 200);
            if is_elided && !whole.contains(shown) {
                // If the visible part begins inside a fence, an added fence precedes it.
                shown = shown.split_once('\n').unwrap().1;
            }
            prop_assert!(whole.contains(shown), "{shown:?}");
        }
    }

    #[test]
    fn no_growing_call_shows_a_part_of_a_secret(
        tool in "Bash|Edit|Write|Grep|mcp__a__b",
        texts in vec(text(), 1..4),
    ) {
        let names = ["file_path", "command", "old_string", "content"];
        let mut input: serde_json::Map<String, Value> =
            names.iter().zip(&texts).map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        input.insert("list".to_owned(), json!(texts));
        let input = Value::Object(input);
        let json = input.to_string();
        let pieces: Vec<&str> = json.split_inclusive(|_| true).collect();
        let (growing, whole) = capabilities(&engine("SHOP-[0-9]+"), &call(&tool, &input, &pieces));
        let whole = serde_json::to_string(&whole.view).unwrap();
        for entry in growing {
            let shown = serde_json::to_string(&entry.view).unwrap();
            let mut words = shown.split(|ch: char| !ch.is_ascii_alphanumeric());
            // Secrets have capital letters here. If two secrets overlap, the remains of one are in the complete entry as well.
            let leaked = words.find(|word| word.contains(|ch: char| ch.is_ascii_uppercase()) && !whole.contains(word));
            prop_assert!(leaked.is_none(), "{leaked:?} in {shown} of {json}");
        }
    }
}
