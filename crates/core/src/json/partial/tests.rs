//! Reading incomplete JSON: at each byte the result is a part of the complete value, however the text is split into pieces.

use proptest::prelude::*;

use super::*;
use crate::json::{Value, ValueKind};

/// The readable part of `text`, read in one piece.
fn readable(text: &str, longest: usize) -> Option<ReadableJson> {
    let mut index = PartialJson::new(longest);
    index.read(text);
    index.readable(text)
}

fn shown(text: &str) -> String {
    readable(text, 1 << 20).map_or_else(|| "nothing".to_owned(), |it| it.record.text().to_owned())
}

#[test]
fn incomplete_values_are_read_as_far_as_possible() {
    for (text, expected) in [
        ("", "nothing"),
        (" ", "nothing"),
        ("{", "{}"),
        (r#"{"pa"#, "{}"),
        (r#"{"path""#, "{}"),
        (r#"{"path":"#, "{}"),
        (r#"{"path":""#, r#"{"path":""}"#),
        (r#"{"path":"a\"#, r#"{"path":"a"}"#),
        (r#"{"path":"a\u00"#, r#"{"path":"a"}"#),
        (r#"{"path":"a\u00e9"#, r#"{"path":"a\u00e9"}"#),
        (r#"{"path":"a\ud83d"#, r#"{"path":"a"}"#),
        (r#"{"path":"a\ud83d\u"#, r#"{"path":"a"}"#),
        (r#"{"path":"a\ud83d\ude0"#, r#"{"path":"a"}"#),
        (r#"{"path":"a\ud83d\ude00"#, r#"{"path":"a\ud83d\ude00"}"#),
        (r#"{"path":"a\ud83dx"#, r#"{"path":"a\ud83dx"}"#),
        (r#"{"path":"a\ud83d\ud83d"#, r#"{"path":"a\ud83d"}"#),
        (r#"{"n":12"#, "{}"),
        (r#"{"n":12,"#, r#"{"n":12}"#),
        (r#"{"n":-"#, "{}"),
        (r#"{"n":tru"#, "{}"),
        (r#"{"n":true"#, r#"{"n":true}"#),
        (r#"{"list":["#, "{}"),
        (r#"{"list":[{"#, "{}"),
        (r#"{"list":[{"a":"b"#, r#"{"list":[{"a":"b"}]}"#),
        (r#"{"list":[{"a":"b"},"#, r#"{"list":[{"a":"b"}]}"#),
        (r#"{"list":[{"a":"b"},{"c":"#, r#"{"list":[{"a":"b"}]}"#),
        (r#"{"list":[],"x"#, r#"{"list":[]}"#),
        (r#"{"a":"b"} "#, r#"{"a":"b"}"#),
        ("\"al", "\"al\""),
        ("*** Begin", "nothing"),
        (r#"{"a":1x,"#, "nothing"),
        (r#"{"a":"\x"#, "nothing"),
        (r#"{"a" 1"#, "nothing"),
        (r#"{"a":1] "#, "nothing"),
        ("{\"a\":\"b\nc", "nothing"),
        ("{} x", "nothing"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn the_open_string_is_reported_and_cut_at_its_start() {
    let text = format!(r#"{{"old":"{}","new":"{}\u00"#, "é".repeat(100), "a line\\n".repeat(30));
    let found = readable(&text, 64).unwrap();
    let root = found.record.root();
    let [old, new] = root.get_all(["old", "new"]).map(Option::unwrap);
    assert_eq!(found.open, Some(new.node()));
    let decoded = |value: Value<'_>| value.decode().unwrap().into_owned();
    let cut_of = |value: Value<'_>| found.cuts.iter().find(|(node, _)| *node == value.node()).unwrap().1;
    assert_eq!(cut_of(new), Cut { bytes: 7 * 22, lines: 22 });
    assert_eq!(decoded(new), format!("[… 154 bytes left out]\n{}", "a line\n".repeat(8)));
    assert_eq!(cut_of(old), Cut { bytes: 136, lines: 0 });
    assert_eq!(decoded(old), format!("[… 136 bytes left out]\n{}", "é".repeat(32)));
}

#[test]
fn depth_costs_nothing() {
    let deep = "[".repeat(100_000);
    let found = readable(&deep, 64).unwrap();
    assert_eq!(found.record.text(), "[]");
    let deep = r#"{"a":1,"b":"#.repeat(1_000);
    let found = readable(&deep, 64).unwrap();
    assert!(found.record.text().len() < 20 * MAX_DEPTH);
}

#[test]
fn the_cost_of_reading_is_bounded() {
    let (long, short) = ("x".repeat(100_000), "y".repeat(100));
    let all = format!("[{}\"", format!("\"{long}\",").repeat(10));
    assert!(readable(&all, 4096).is_some_and(|found| found.record.text().len() < 50_000));
    let all = format!("[{}\"", format!("\"{short}\",").repeat(1000));
    assert!(readable(&all, 4096).is_none() && readable(&all, 16_384).is_some());
}

/// Values as written by models, and unusual ones.
fn json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z {}\\[\\],:]{0,12}",
        Just(r"\n".to_owned()),
        Just(r#"\""#.to_owned()),
        Just(r"\\".to_owned()),
        Just(r"\u00e9".to_owned()),
        Just(r"\ud83d\ude00".to_owned()),
        Just(r"\ud83d".to_owned()),
        Just(r"\ude00".to_owned()),
        Just("é😀".to_owned()),
    ];
    let string = prop::collection::vec(piece, 0..12).prop_map(|pieces| format!("\"{}\"", pieces.concat()));
    let scalar = prop_oneof![
        string.clone(),
        prop::sample::select(vec!["0", "-1.5e+3", "120", "true", "false", "null"]).prop_map(str::to_owned),
    ];
    let key = prop::collection::vec(prop::sample::select(vec!["a", "b", r"\u0063", "é"]), 1..4);
    let blank = prop::sample::select(vec!["", " ", "\n "]);
    scalar.prop_recursive(4, 40, 5, move |inner| {
        let field = (key.clone(), blank.clone(), inner.clone()).prop_map(|(key, blank, value)| {
            format!("{blank}\"{}\"{blank}:{blank}{value}{blank}", key.concat())
        });
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(field, 0..5).prop_map(|fields| format!("{{{}}}", fields.join(","))),
        ]
    })
}

/// Checks that `part` is the beginning of `whole`: all values but the last are the same.
fn assert_part(found: &ReadableJson, part: Value<'_>, whole: Value<'_>, is_last: bool) {
    if let Some((_, cut)) = found.cuts.iter().find(|(node, _)| *node == part.node()) {
        let (text, all) = (part.decode().unwrap(), whole.decode().unwrap());
        let kept = text.strip_prefix(&format!("{}\n", left_out(cut.bytes))).unwrap();
        assert!(all[cut.bytes..].starts_with(kept), "{part:?} of {whole:?}");
        assert_eq!(cut.lines, all[..cut.bytes].matches('\n').count());
        return;
    }
    if found.open == Some(part.node()) {
        assert!(
            is_last && whole.decode().unwrap().starts_with(&*part.decode().unwrap()),
            "{part:?} of {whole:?}"
        );
        return;
    }
    assert_eq!(part.kind(), whole.kind());
    match part.kind() {
        ValueKind::Array => {
            let number = part.items().count();
            for (index, (part, whole)) in part.items().zip(whole.items()).enumerate() {
                assert_part(found, part, whole, is_last && index + 1 == number);
            }
            let all = whole.items().count();
            assert!(if is_last { number <= all } else { number == all });
        }
        ValueKind::Object => {
            let number = part.entries().count();
            for (index, ((key, part), (own, whole))) in part.entries().zip(whole.entries()).enumerate() {
                assert_eq!(key.decode(), own.decode());
                assert_part(found, part, whole, is_last && index + 1 == number);
            }
            let all = whole.entries().count();
            assert!(if is_last { number <= all } else { number == all });
        }
        _ => assert_eq!(part.raw(), whole.raw()),
    }
}

proptest! {
    #[test]
    fn each_beginning_reads_as_a_part_of_the_whole(text in json(), longest in prop::sample::select(vec![1, 4, 16, 1000])) {
        let whole = Record::from_line(text.clone()).unwrap();
        let mut index = PartialJson::new(longest);
        let ends = (0..=text.len()).filter(|&end| text.is_char_boundary(end));
        for end in ends {
            index.read(&text[..end]);
            let Some(found) = index.readable(&text[..end]) else {
                let begins = text[..end].trim_start().starts_with(['{', '[', '"']);
                prop_assert!(!begins, "{}", &text[..end]);
                continue;
            };
            assert_part(&found, found.record.root(), whole.root(), true);
            // A number outside of containers may continue.
            if matches!(whole.root().kind(), ValueKind::Object | ValueKind::Array | ValueKind::String) {
                prop_assert_eq!(index.is_whole(), Record::from_line(text[..end].to_owned()).is_ok());
            }
        }
    }

    #[test]
    fn pieces_may_end_anywhere(text in json(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.push(text.len() - text.len() / 3);
        ends.retain(|&end| text.is_char_boundary(end));
        ends.sort_unstable();
        let mut index = PartialJson::new(8);
        for &end in &ends {
            index.read(&text[..end]);
        }
        let Some(&end) = ends.last() else { return Ok(()) };
        let parts = |found: ReadableJson| (found.record.text().to_owned(), found.open, found.cuts);
        prop_assert_eq!(index.readable(&text[..end]).map(parts), readable(&text[..end], 8).map(parts));
    }

    #[test]
    fn nothing_makes_it_panic(text in "[{}\\[\\]\",:\\\\untrue0-9d8c\\-+.eé ]{0,60}") {
        let mut index = PartialJson::new(3);
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            index.read(&text[..end]);
            let _ = index.readable(&text[..end]);
        }
        prop_assert!(!index.is_whole() || Record::from_line(text.clone()).is_ok());
    }
}
