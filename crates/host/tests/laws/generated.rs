//! Generated streams: valid, odd, broken and random lines in any mixture.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use streamfmt::golden::pieces;

use crate::chunks::assert_same;
use crate::said::came;
use crate::{FORMS, assert_counted, assert_harmless, format, items};

/// Letters, blanks, line feeds, and characters that must always be escaped.
const TEXT: &str = "[a-z .\n\t\r\"\\\\<>&`*_#|éß日👩🏽\u{0}\u{7}\u{8}\u{1b}\\[;0-9mJ\u{7f}\u{9b}\u{ad}\u{200b}\u{200d}\u{fe0f}\u{202e}\u{2028}\u{2066}\u{feff}\u{e0041}]{0,60}";

/// A few ids, so that they repeat.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![4 => "toolu_0[1-4]", 1 => TEXT]
}

fn parent() -> impl Strategy<Value = Option<String>> {
    prop_oneof![4 => Just(None), 1 => id().prop_map(Some)]
}

/// Any JSON, mostly small.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        TEXT.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((prop_oneof!["[a-z_]{1,8}", TEXT], inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn block() -> impl Strategy<Value = Value> {
    let tool = prop_oneof!["Bash|Read|Edit|Write|Grep|Glob|TodoWrite|Agent|mcp__a__b", TEXT];
    prop_oneof![
        TEXT.prop_map(|text| json!({"type": "text", "text": text})),
        TEXT.prop_map(|text| json!({"type": "thinking", "thinking": text, "signature": "c2ln"})),
        (id(), tool, any_json()).prop_map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input})),
        (id(), any_json(), any::<bool>())
            .prop_map(|(id, content, error)| json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": error})),
        any_json(),
    ]
}

/// A line that is an event, or nearly one.
fn event() -> impl Strategy<Value = Value> {
    let message = ("(assistant|user)", "msg_[1-3]", vec(block(), 0..3), parent(), any_json()).prop_map(
        |(role, id, content, parent, result)| {
            json!({"type": role, "message": {"id": id, "role": role, "content": content},
                   "parent_tool_use_id": parent, "tool_use_result": result, "session_id": "s1", "uuid": id})
        },
    );
    let system = ("(init|status|api_retry|compact_boundary|task_started|permission_denied|[a-z]{1,6})", any_json())
        .prop_map(|(subtype, value)| json!({"type": "system", "subtype": subtype, "message": value, "session_id": "s1"}));
    let outcome = (TEXT, any_json(), any::<bool>()).prop_map(|(text, usage, error)| {
        json!({"type": "result", "subtype": "success", "result": text, "usage": usage, "is_error": error, "num_turns": 2})
    });
    let partial = ("(message_start|content_block_start|content_block_delta|content_block_stop|message_stop)", TEXT, 0..3)
        .prop_map(|(kind, text, index)| {
            json!({"type": "stream_event", "parent_tool_use_id": null, "session_id": "s1",
                   "event": {"type": kind, "index": index, "message": {"id": "msg_1"},
                             "content_block": {"type": "text", "text": ""}, "delta": {"type": "text_delta", "text": text}}})
        });
    prop_oneof![6 => message, 1 => system, 1 => outcome, 2 => partial, 1 => any_json()]
}

/// A line as bytes: an event, a part of one, two at once, blanks, text or anything.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let whole = || event().prop_map(|event| event.to_string().into_bytes());
    prop_oneof![
        12 => whole(),
        1 => (whole(), any::<Index>()).prop_map(|(line, part)| {
            line[..part.index(line.len() + 1)].to_vec()
        }),
        1 => (whole(), whole()).prop_map(|(one, other)| [one, other].concat()),
        1 => (whole(), whole(), any::<Index>()).prop_map(|(one, other, part)| {
            [&one[..part.index(one.len() + 1)], &other].concat()
        }),
        1 => TEXT.prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..40),
    ]
}

/// An input, shown as text when it breaks a law.
#[derive(Clone)]
pub(crate) struct Input(pub(crate) Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

pub(crate) fn stream() -> impl Strategy<Value = Input> {
    let end = prop_oneof![6 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n")];
    (vec((line(), end), 0..12), any::<bool>()).prop_map(|(lines, is_ended)| {
        let mut bytes: Vec<u8> =
            lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect();
        if !is_ended {
            bytes.pop();
        }
        Input(bytes)
    })
}

fn assert_laws(input: &Input, lengths: &[usize]) {
    for form in FORMS.iter() {
        let outcome = format(form, [input.0.as_slice()]);
        assert_harmless(form, &outcome.text, "a made-up stream");
        assert_counted(&input.0, &outcome, "a made-up stream");
        assert_same(
            form,
            &outcome.text,
            &pieces::cut(&input.0, lengths.iter().copied().cycle()),
            "a made-up stream",
        );
    }
}

/// A message with its partial lines: its text comes in pieces, then as a whole, then the message ends.
fn streamed(number: usize, text: &str, pieces: &[usize]) -> Vec<Value> {
    let wrap = |event: Value| json!({"type": "stream_event", "event": event, "parent_tool_use_id": null, "session_id": "s1"});
    let id = format!("msg_{number}");
    let mut lines = vec![
        wrap(json!({"type": "message_start", "message": {"id": id, "content": []}})),
        wrap(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
    ];
    let letters: Vec<char> = text.chars().collect();
    let mut rest = letters.as_slice();
    for length in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        let piece: String = piece.iter().collect();
        lines.push(wrap(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})));
        rest = after;
    }
    lines.push(whole(number, text));
    lines.push(wrap(json!({"type": "content_block_stop", "index": 0})));
    lines.push(wrap(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})));
    lines.push(wrap(json!({"type": "message_stop"})));
    lines
}

fn whole(number: usize, text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": format!("msg_{number}"), "role": "assistant", "content": [{"type": "text", "text": text}]},
           "parent_tool_use_id": null, "session_id": "s1", "uuid": format!("uuid-{number}")})
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_comes_out_the_same_harmless_and_counted(input in stream(), lengths in vec(1_usize..80, 1..8)) {
        assert_laws(&input, &lengths);
    }

    #[test]
    fn random_bytes_come_out_the_same_harmless_and_counted(input in vec(any::<u8>(), 0..400).prop_map(Input), lengths in vec(1_usize..9, 1..4)) {
        assert_laws(&input, &lengths);
    }

    #[test]
    fn every_reply_comes_out_once_streamed_or_whole(
        replies in vec((TEXT, any::<bool>(), vec(1_usize..9, 1..4)), 1..8)
    ) {
        let mut lines = Vec::new();
        for (number, (text, is_streamed, pieces)) in replies.iter().enumerate() {
            // The number makes each text unique.
            let text = format!("{number} {text}");
            lines.extend(if *is_streamed { streamed(number, &text, pieces) } else { vec![whole(number, &text)] });
        }
        let bytes = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let came: Vec<String> = came(&format(items(), [bytes.as_bytes()]).text)
            .into_iter()
            .filter(|one| one.kind == "reply")
            .map(|one| one.text)
            .collect();
        let said: Vec<String> =
            replies.iter().enumerate().map(|(number, (text, ..))| format!("{number} {text}").trim().to_owned()).collect();
        prop_assert_eq!(came, said);
    }
}
