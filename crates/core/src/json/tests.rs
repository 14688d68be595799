//! Scanning JSON: finds the same values and the same damage as `serde_json`, at any depth.

use proptest::prelude::*;

use super::*;

fn record(text: &str) -> Record {
    Record::from_line(text.to_owned()).unwrap_or_else(|(damage, _)| panic!("{text}: {damage:?}"))
}

#[test]
fn values_are_found_by_key_and_the_last_of_two_counts() {
    let record = record(r#" {"a":1,"b":{"c":[true,null,"x\ny"]},"a":2} "#);
    let root = record.root();
    assert_eq!(root.get("a").and_then(Value::int), Some(2));
    let list: Vec<_> = root.get("b").and_then(|b| b.get("c")).into_iter().flat_map(Value::items).collect();
    assert_eq!(list.len(), 3);
    assert_eq!(list[2].decode().as_deref(), Some("x\ny"));
    assert_eq!(root.entries().count(), 3);
}

#[test]
fn it_agrees_with_serde_json_on_what_is_json() {
    let texts = [
        "",
        " ",
        "1",
        "-",
        "-1",
        "01",
        "1.",
        "1.5e3",
        "1e",
        "1e400",
        ".5",
        "+1",
        "NaN",
        "true",
        "tru",
        "nulll",
        r#""a""#,
        r#""a"#,
        r#""\u12""#,
        r#""\x""#,
        r#""\0""#,
        r#""\u00g0""#,
        r#""\/\b\f\u00aF""#,
        r#""\ud800""#,
        "\"\t\"",
        "\"\u{7f}\"",
        "[",
        "[]",
        "[1,]",
        "[1 2]",
        "[,1]",
        "{",
        "{}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r"{a:1}",
        r#"{"a":1}}"#,
        "[1]]",
        "[}",
        "{]",
        r#"{"a":[{"b":{}}]}"#,
        "1 2",
    ];
    for text in texts {
        let ours = Record::from_line(text.to_owned()).is_ok();
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        assert_eq!(ours, theirs, "{text}");
    }
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    let record = record(r#""\ud83d\ude00 \ud800x \udc00""#);
    assert_eq!(record.root().decode().as_deref(), Some("\u{1F600} \u{FFFD}x \u{FFFD}"));
}

#[test]
fn a_million_levels_and_elements_are_checked_without_recursion() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let deep = record(&deep);
    assert!(deep.is_cut() && deep.nodes().len() == MAX_DEPTH);
    let long = record(&format!(r#"{{"v":[{}1],"after":{{"x":7}}}}"#, "1,".repeat(1_000_000)));
    assert_eq!(long.root().get("v").map(|v| v.items().count()), Some(MAX_ELEMENTS as usize));
    assert_eq!(long.root().get("after").and_then(|v| v.get("x")).and_then(Value::int), Some(7));
    let pairs: Vec<String> = (0..20_000).map(|n| format!(r#""k{n}":{{}}"#)).collect();
    let keys = record(&format!(r#"{{"o":{{{}}},"after":7}}"#, pairs.join(",")));
    assert_eq!(keys.root().get("o").map(|v| v.entries().count()), Some(MAX_ELEMENTS as usize));
    assert_eq!(keys.root().get("after").and_then(Value::int), Some(7));
}

#[test]
fn values_that_are_not_recorded_are_checked() {
    let many = "1,".repeat(MAX_ELEMENTS as usize);
    for (rest, is_right) in [
        (r#"{"a":[{"b":"c"},[],{}]},2"#, true),
        (r#"{"a":[{"b":"c"},[],{}]},"#, false),
        (r#"{"a":[{"b":"c"},[],{}}"#, false),
        (r#"{"a":[{"b" "c"}]}"#, false),
        (r#"{"a":[{b:"c"}]}"#, false),
        (r#"{"a":1]"#, false),
        ("[1}", false),
        (r#"["a"#, false),
        ("tru", false),
    ] {
        let text = format!("[0,[{many}{rest}],true]");
        let whole = Record::from_line(text);
        assert_eq!(whole.is_ok(), is_right, "{rest}");
        if let Ok(record) = whole {
            let last = record.root().items().last();
            assert!(record.is_cut() && last.and_then(Value::bool) == Some(true), "{rest}");
        }
    }
}

/// Values, with blanks where JSON allows them.
fn documents() -> impl Strategy<Value = String> {
    let blank = || prop::sample::select(vec!["", "", "", " ", "\n", "\t \r"]);
    let string = || r#"("(é😀|\\\\|\\\"|\\n|\\u00e9|[a-c]{1,40}| ){0,6}")"#;
    let scalar = prop_oneof![
        string().prop_map(|text| text),
        any::<i32>().prop_map(|number| number.to_string()),
        prop::sample::select(vec!["true", "false", "null", "0", "-0.25e+3"]).prop_map(str::to_owned),
    ];
    scalar.prop_recursive(4, 40, 6, move |inside| {
        let element = (blank(), inside.clone(), blank()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let entry = (blank(), string(), blank(), inside, blank())
            .prop_map(|(a, key, b, value, c)| format!("{a}{key}{b}:{value}{c}"));
        prop_oneof![
            prop::collection::vec(element, 0..6).prop_map(|elements| format!("[{}]", elements.join(","))),
            prop::collection::vec(entry, 0..6).prop_map(|entries| format!("{{{}}}", entries.join(","))),
        ]
    })
}

/// Whether two values are the same. Of several equal keys the last counts, as in `serde_json`.
fn is_same_value(ours: Value<'_>, theirs: &serde_json::Value) -> bool {
    match theirs {
        serde_json::Value::Null => ours.is_null(),
        serde_json::Value::Bool(truth) => ours.bool() == Some(*truth),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => ours.int() == Some(whole),
            None => ours.float() == number.as_f64(),
        },
        serde_json::Value::String(text) => ours.decode().as_deref() == Some(&**text),
        serde_json::Value::Array(list) => {
            ours.items().count() == list.len()
                && ours.items().zip(list).all(|(ours, theirs)| is_same_value(ours, theirs))
        }
        serde_json::Value::Object(map) => {
            let mut named = Vec::new();
            ours.fields(|name, value| named.push((name.to_vec(), value.node())));
            named.iter().all(|(name, _)| map.keys().any(|key| key.as_bytes() == &**name))
                && map
                    .iter()
                    .all(|(key, theirs)| ours.get(key).is_some_and(|ours| is_same_value(ours, theirs)))
        }
    }
}

proptest! {
    #[test]
    fn values_are_those_that_serde_json_finds(text in documents()) {
        let theirs = serde_json::from_str(&text).unwrap();
        prop_assert!(is_same_value(record(&text).root(), &theirs), "{}", text);
    }

    #[test]
    fn a_letter_too_many_or_too_few_is_accepted_if_serde_json_accepts_it(
        text in documents(),
        at: prop::sample::Index,
        put in prop::sample::select(vec!["", "\"", "\\", ",", ":", "]", "}", "[", "0", "-", "\u{1}"]),
    ) {
        let mut chars: Vec<String> = text.chars().map(String::from).collect();
        let at = at.index(chars.len());
        chars[at] = put.to_owned();
        let text = chars.concat();
        let ours = Record::from_line(text.clone()).is_ok();
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(ours, theirs, "{}", text);
    }
}

#[test]
fn damage_has_a_position_and_is_incomplete_if_more_text_could_help() {
    assert_eq!(Record::read(r#"{"a":1 x"#).map(|_| ()), Err(Damage { at: 7, incomplete: false }));
    assert_eq!(Record::read(r#"{"a":"b"#).map(|_| ()), Err(Damage { at: 7, incomplete: true }));
    assert_eq!(Record::read(r#"{"a":1}{"b"#).map(|(record, end)| (record.text().len(), end)), Ok((7, 7)));
}

#[test]
fn a_value_in_a_string_is_unpacked_in_its_place() {
    let unpacked = |text: &str, key: &str| {
        let record = Record::from_line(text.to_owned()).unwrap();
        let node = record.root().get(key).unwrap().node();
        let unpacked = record.unpacked(node)?;
        assert_eq!(unpacked.original().text(), text);
        Some(unpacked.text().to_owned())
    };
    for (text, expected) in [
        (r#"{"a":1,"i":"{\"x\":[\"\\u0041\\n\"]}","b":2}"#, Some(r#"{"a":1,"i":{"x":["\u0041\n"]},"b":2}"#)),
        (r#"{"i":" [1] "}"#, Some(r#"{"i": [1] }"#)),
        // Valid only together with the text around the quotes.
        (r#"{"i":"{},\"b\":{}"}"#, None),
        (r#"{"i":"{\"x\":"}"#, None),
        (r#"{"i":""}"#, None),
        // A scalar stays a string.
        (r#"{"i":"7"}"#, None),
        (r#"{"i":{"x":1}}"#, None),
    ] {
        assert_eq!(unpacked(text, "i").as_deref(), expected, "{text}");
    }
    let twice = Record::from_line(r#"{"a":"[1]","b":"[2]"}"#.to_owned()).unwrap();
    let once = twice.unpacked(twice.root().get("a").unwrap().node()).unwrap();
    let both = once.unpacked(once.root().get("b").unwrap().node()).unwrap();
    assert_eq!((both.text(), both.original().text()), (r#"{"a":[1],"b":[2]}"#, twice.text()));
    assert_eq!(twice.original().text(), twice.text());
}

/// Records of one batch.
fn together(texts: &[&str]) -> Vec<Record> {
    let mut batch = RecordBatch::with_capacity(0);
    let spans: Vec<_> = texts.iter().map(|text| batch.add(text)).collect();
    let batch = Arc::new(batch);
    spans.into_iter().flatten().map(|span| Record::of_batch(&batch, span)).collect()
}

#[test]
fn records_of_a_batch_are_like_single_ones() {
    let deep = [&"[".repeat(MAX_DEPTH + 1)[..], &"]".repeat(MAX_DEPTH + 1)].concat();
    let packed = r#" {"i":"[1,{\"x\":2}]","b":[3]} "#;
    let texts = [r#"{"a":{"b":[1,2]},"c":"\n"}"#, "7", &deep, packed];
    // A text that isn't a value adds nothing to the batch.
    let long = format!("{:?}", "x".repeat(4 * MAX_DEPTH));
    let records = together(&[texts[0], r#"{"a":[1,"#, texts[1], "", texts[2], texts[3], &long]);
    assert_eq!(records.len(), texts.len() + 1);
    for (text, record) in texts.iter().zip(&records) {
        let (alone, detached) = (self::record(text), record.detached());
        assert!(record.is_near(&records[0]) && !detached.is_near(record) && !record.is_same(&detached));
        for record in [record, &detached] {
            assert_eq!((record.text(), record.is_cut()), (*text, alone.is_cut()));
            assert_eq!(record.nodes().len(), alone.nodes().len());
            for node in 0..alone.nodes().len() as u32 {
                let value = record.value(node);
                assert_eq!((value.raw(), value.node()), (alone.value(node).raw(), node));
                assert_eq!(value.entries().count(), alone.value(node).entries().count());
            }
            assert_eq!(record.node_at(text.len() - text.trim_start().len()), Some(0));
        }
    }
    let last = &records[3];
    let unpacked = last.unpacked(last.root().get("i").unwrap().node()).unwrap();
    assert_eq!(unpacked.text(), r#" {"i":[1,{"x":2}],"b":[3]} "#);
    assert!(unpacked.original().is_same(last) && !unpacked.is_detached());
    let (kept, number) = last.followed_by(&records[0]);
    assert_eq!(kept.value(number).get("a").map(Value::raw), Some(r#"{"b":[1,2]}"#));
    for made in [unpacked.detached(), kept.detached()] {
        assert!(made.is_detached() && !made.is_near(last) && made.size() == made.text().len() + packed.len());
    }
}

#[test]
#[should_panic(expected = "a node of another record")]
fn a_node_of_the_next_record_is_of_another_one() {
    let _ = together(&["1", "2"])[0].value(1);
}
