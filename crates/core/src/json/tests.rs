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
    assert!(deep.is_cut() && deep.nodes.len() == MAX_DEPTH);
    let long = record(&format!(r#"{{"v":[{}1],"after":{{"x":7}}}}"#, "1,".repeat(1_000_000)));
    assert_eq!(long.root().get("v").map(|v| v.items().count()), Some(MAX_ELEMENTS as usize));
    assert_eq!(long.root().get("after").and_then(|v| v.get("x")).and_then(Value::int), Some(7));
    let pairs: Vec<String> = (0..20_000).map(|n| format!(r#""k{n}":{{}}"#)).collect();
    let keys = record(&format!(r#"{{"o":{{{}}},"after":7}}"#, pairs.join(",")));
    assert_eq!(keys.root().get("o").map(|v| v.entries().count()), Some(MAX_ELEMENTS as usize));
    assert_eq!(keys.root().get("after").and_then(Value::int), Some(7));
}

#[test]
fn damage_says_where_and_whether_more_could_help() {
    assert_eq!(Record::read(r#"{"a":1 x"#).map(|_| ()), Err(Damage { at: 7, incomplete: false }));
    assert_eq!(Record::read(r#"{"a":"b"#).map(|_| ()), Err(Damage { at: 7, incomplete: true }));
    assert_eq!(Record::read(r#"{"a":1}{"b"#).map(|(record, end)| (record.text().len(), end)), Ok((7, 7)));
}
