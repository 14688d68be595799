//! Reading lines.

use super::*;
use proptest::prelude::*;

fn claim(value: Value<'_>) -> bool {
    value.get("type").and_then(Value::str).is_some_and(|t| t.is("user"))
}

/// The readings of a stream that arrives in pieces of this size, each with the number of its first line.
fn readings(stream: &[u8], piece: usize) -> Vec<(u64, Vec<String>)> {
    let (mut framer, mut reader) = (Framer::new(MAX_LINE), LineReader::new(MAX_LINE));
    let mut all = Vec::new();
    let mut each = |line, reading| all.push((line, described(reading)));
    for piece in stream.chunks(piece) {
        framer.push(piece, |frames| reader.read(frames, claim, &mut each));
    }
    framer.finish(|frames| reader.read(frames, claim, &mut each));
    reader.finish(claim, &mut each);
    all
}

/// The readings of a stream, each with the number of its first line and its number of lines.
fn counted(stream: &[u8]) -> Vec<(u64, u64, Vec<String>)> {
    let (mut framer, mut reader, mut all) = (Framer::new(MAX_LINE), LineReader::new(MAX_LINE), Vec::new());
    let mut each = |line, reading: ParsedLine| all.push((line, reading.lines(), described(reading)));
    framer.push(stream, |frames| reader.read(frames, claim, &mut each));
    reader.finish(claim, &mut each);
    all
}

fn read(text: &str) -> Vec<String> {
    readings(text.as_bytes(), usize::MAX).into_iter().flat_map(|(_, reading)| reading).collect()
}

fn described(reading: ParsedLine) -> Vec<String> {
    let of =
        |record: Record| format!("record {}{}", record.text(), if record.is_cut() { " cut" } else { "" });
    match reading {
        ParsedLine::Blank => vec!["blank".into()],
        ParsedLine::Record(record) => vec![of(record)],
        ParsedLine::Text(text) => vec![format!("text {text}")],
        ParsedLine::Parts(parts) => parts
            .map(|part| match part {
                LinePart::Record(record) => of(record),
                LinePart::Damage { text, incomplete: true } => format!("incomplete {text}"),
                LinePart::Damage { text, .. } => format!("damage {text}"),
            })
            .collect(),
        ParsedLine::Wrapped(lines) => lines.records().map(|(_, record)| of(record)).collect(),
        ParsedLine::Oversized { bytes, .. } => vec![format!("oversized {bytes}")],
    }
}

#[test]
fn complete_records_are_recovered_from_a_damaged_line() {
    let user = r#"{"type":"user"}"#;
    for (line, want) in [
        (user.to_owned(), vec![format!("record {user}")]),
        (format!("{user}{user}"), vec![format!("record {user}"), format!("record {user}")]),
        (
            format!(r#"{{"type":"assistant","a":{{"type":"text"}},"b{user}"#),
            vec![r#"damage {"type":"assistant","a":{"type":"text"},"b"#.to_owned(), format!("record {user}")],
        ),
        (format!("\0\0{user}"), vec!["damage \0\0".to_owned(), format!("record {user}")]),
        (format!("{user} tail"), vec![format!("record {user}"), "damage tail".to_owned()]),
        (
            r#"2026-02-14T10:00:00.5Z	{ "a": 1 }"#.replace("\\t", "\t"),
            vec![r#"record { "a": 1 }"#.to_owned()],
        ),
        (r#"2026-02-14T10:00:00+01:00 [{"a":1}]"#.to_owned(), vec![r#"record {"a":1}"#.to_owned()]),
        ("2026-02-14T10:00:00Z plain".to_owned(), vec!["text 2026-02-14T10:00:00Z plain".to_owned()]),
        (r#"{"type":"us"#.to_owned(), vec![r#"incomplete {"type":"us"#.to_owned()]),
        ("warning: {x}".to_owned(), vec!["text warning: {x}".to_owned()]),
        (r#"ssage","id":"m"}"#.to_owned(), vec![r#"damage ssage","id":"m"}"#.to_owned()]),
        (r#"[16:29] handler {"a":1}"#.to_owned(), vec![r#"text [16:29] handler {"a":1}"#.to_owned()]),
        (
            r#"[16:29] GET {"a":{"b":"c"},"d":"e"}"#.to_owned(),
            vec![r#"text [16:29] GET {"a":{"b":"c"},"d":"e"}"#.to_owned()],
        ),
        ("\r".to_owned(), vec!["blank".to_owned()]),
        (" \t".to_owned(), vec!["text  \t".to_owned()]),
        ("\0\0".to_owned(), vec!["damage \0\0".to_owned()]),
    ] {
        assert_eq!(read(&line), want, "{line}");
    }
}

/// Events of a session, and JSON that isn't one.
fn event(number: usize) -> String {
    format!(r#"{{"type":"user","n":{number},"text":"a {{\"b\":[]}}"}}"#)
}

/// Lines, each after a prefix made from its index.
fn behind(prefix: impl Fn(usize) -> String, lines: &[String]) -> String {
    lines.iter().enumerate().flat_map(|(at, line)| [prefix(at), (*line).clone(), "\n".to_owned()]).collect()
}

#[test]
fn records_behind_a_prefix_that_repeats_are_records() {
    let events: Vec<String> = (0..4).map(event).collect();
    let want: Vec<String> = events.iter().map(|event| format!("record {event}")).collect();
    let prefixes: [&dyn Fn(usize) -> String; 22] = [
        &|_| "agent-1  | ".to_owned(),
        &|at| format!("\x1b[3{at}magent-{at}  | \x1b[0m"),
        &|_| "[pod/agent-job-7d9fk/claude] ".to_owned(),
        &|_| "agent-job-7d9fk claude ".to_owned(),
        &|at| format!("2026-11-20T09:14:0{at}.1234567Z "),
        &|at| format!("fix\tRun agent\t2026-11-20T09:14:0{at}Z "),
        &|at| format!("Nov {at} 09:14:02 tidebox agent[43{at}]: "),
        &|at| format!("2026-11-20T09:14:02.{at}Z stdout F "),
        &|at| format!("2026-11-20T09:14:02.{at}Z std{} F ", if at % 2 == 0 { "out" } else { "err" }),
        &|at| format!("{} 09:14:0{at} ", ["Nov 30", "Nov 30", "Dec 1", "Dec 1"][at]),
        &|at| format!("[09:14:0{at}] "),
        &|at| format!("{}[000{at}] ", ["INFO", "WARN", "ERROR", "INFO"][at]),
        &|_| "[claude:stdout] ".to_owned(),
        &|at| format!("time=\"2026-11-20 09:14:0{at}\" level=info msg="),
        &|_| "data: ".to_owned(),
        &|_| "\x1e".to_owned(),
        &|_| "\x1b]0;ready\x07".to_owned(),
        &|at| ["\x1b[?2004h", "", "^D\x08\x08", "\x1b(B\x1b[m"][at].to_owned(),
        &|at| format!("[2026-11-20 09:14:02,{at}] [agent] "),
        &|_| "> ".to_owned(),
        &|at| format!("{at}\t"),
        &|at| format!("+{at}.5s stdout: "),
    ];
    for prefix in prefixes {
        let stream = behind(prefix, &events);
        assert_eq!(read(&stream), want, "{stream}");
    }
    let commas: String = events.iter().flat_map(|event| [event.clone(), ",\r\n".to_owned()]).collect();
    assert_eq!(read(&commas), want);
}

#[test]
fn records_inside_a_string_of_others_are_records() {
    let (one, two) = (event(1), event(2));
    let quoted =
        |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"));
    let log = |text: &str| {
        format!("{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2026-11-20T09:14:02.5Z\"}}\n", quoted(text))
    };
    let want = [format!("record {one}"), format!("record {two}")];
    let line = |text: &str| log(&format!("{text}\n"));
    assert_eq!(read(&[line(&one), line(&two)].concat()), want);
    let message = |text: &str| format!("{{\"severity\":\"INFO\",\"message\":{}}}\n", quoted(text));
    assert_eq!(read(&[message(&one), message(&two)].concat()), want);
    // Text inside is text; the line before the first record isn't changed.
    let all = read(&[line("up"), line(&one), line("down"), message(&two)].concat());
    let expected = [
        format!("record {}", line("up").trim_end()),
        want[0].clone(),
        format!("text {}", line("down").trim_end()),
        format!("record {}", message(&two).trim_end()),
    ];
    assert_eq!(all, expected);
    // A long line was split.
    let (start, end) = two.split_at(20);
    assert_eq!(
        read(&[line(&one), log(start), log(&end[..5]), log(&format!("{}\n", &end[5..]))].concat()),
        want
    );
    let cut = read(&[line(&one), log(start), line(&two)].concat());
    assert_eq!(cut, [want[0].clone(), format!("text {}", log(start).trim_end()), want[1].clone()]);
    // An agent's own records don't change.
    let own = format!("{one}\n{}", line(&two));
    assert_eq!(read(&own)[1], format!("record {}", line(&two).trim_end()));
}

#[test]
fn text_that_comes_before_a_record_by_chance_is_damage() {
    let (one, two) = (event(1), event(2));
    let stream = format!("Warning: slow{one}\n{two}\nNote: late{one}\n");
    let want = [
        "damage Warning: slow".to_owned(),
        format!("record {one}"),
        format!("record {two}"),
        "damage Note: late".to_owned(),
        format!("record {one}"),
    ];
    assert_eq!(read(&stream), want);
    // A part of a record isn't a prefix, however often it occurs, and JSON isn't either.
    for remains in [r#"ge","id":"m"}"#, r#"{"type":"us"#, r#"{"level":1} "#, "\0\0"] {
        let all = read(&format!("{remains}{one}\n").repeat(3));
        assert_eq!(all.len(), 6, "{all:?}");
    }
}

#[test]
fn behind_a_prefix_text_stays_and_damage_is_found() {
    let (one, two) = (event(1), event(2));
    let stream =
        format!("a | {one}\na | {two}\na | text\na | {{\"type\":\"us\na | {{\"x\":1}}\nb | {{\"x\":1}}\n");
    let want = [
        format!("record {one}"),
        format!("record {two}"),
        "text a | text".to_owned(),
        r#"incomplete {"type":"us"#.to_owned(),
        r#"record {"x":1}"#.to_owned(),
        r#"record {"x":1}"#.to_owned(),
    ];
    assert_eq!(read(&stream), want);
    // A line of text identifies the prefix, even if only one record follows.
    assert_eq!(
        read(&format!("web-1 | up\nweb-1 | {one}\n")),
        ["text web-1 | up".to_owned(), want[0].clone()]
    );
}

#[test]
fn a_long_line_that_was_split_behind_its_prefix_is_joined() {
    let event = event(1);
    let [mut stream, end] = ["", "F"].map(str::to_owned);
    for (at, part) in event.as_bytes().chunks(9).enumerate() {
        let is_last = (at + 1) * 9 >= event.len();
        let flag = if is_last { &*end } else { "P" };
        let part = str::from_utf8(part).unwrap();
        stream.extend(["2026-11-20T09:14:02.", &at.to_string(), "Z stdout ", flag, " ", part, "\n"]);
    }
    let read: Vec<_> = read(&stream).iter().map(|text| text.replace('\n', "")).collect();
    assert_eq!(read, [format!("record {event}")]);
}

#[test]
fn json_over_several_lines_is_read_as_its_records() {
    let pretty = "{\n  \"type\": \"user\",\n  \"list\": [\n    {\n      \"a\": -1.5e3\n    },\n    []\n  ],\n  \"e\": {}\n}";
    let record = format!("record {pretty}");
    let numbered = |stream: &str| readings(stream.as_bytes(), usize::MAX);
    assert_eq!(read(&format!("{pretty}\n{pretty}")), [record.clone(), record.clone()]);
    assert_eq!(read(&format!("{pretty}{pretty}\n")), [record.clone(), record.clone()]);
    // Elements come one by one, each with its line.
    let array = format!("[\n{pretty},\n{pretty},\n]\ntext\n");
    let want = [
        (1, vec![record.clone()]),
        (12, vec![record.clone()]),
        (22, vec![]),
        (23, vec!["text text".to_owned()]),
    ];
    assert_eq!(numbered(&array), want);
    assert_eq!(numbered(&format!("banner\n{array}"))[1].1, want[0].1);
    // Text between the elements.
    let mixed = format!("[\n{pretty},\nnpm notice\n{pretty}\n]\n{pretty}\n");
    let kinds: Vec<usize> = numbered(&mixed).into_iter().map(|(_, all)| all.len()).collect();
    assert_eq!(kinds, [1, 1, 1, 0, 1]);
    // After a prefix, where a number might continue on the next line, and with colours.
    for prefix in ["a-1 | ", "2026-11-20T09:14:02Z "] {
        let lines: Vec<String> = array.lines().map(str::to_owned).collect();
        let read = read(&behind(|_| prefix.to_owned(), &lines));
        let bare = |text: &str| text.replace([' ', '\n'], "");
        assert_eq!([bare(&read[0]), bare(&read[1])], [bare(&record), bare(&record)]);
    }
    let coloured = pretty.replace('"', "\x1b[34m\"\x1b[0m");
    assert_eq!(read(&coloured), [record]);
}

#[test]
fn lines_that_only_begin_like_json_are_read_one_by_one() {
    let one = event(1);
    let stream = format!(
        "{{\n  method: 'post',\n}}\n[\nfoo() {{\n  \"a\": 1\n}}\n{{\"type\":\"user\",\"a\":\n{one}\n{{\n"
    );
    let want = [
        "text {",
        "text   method: 'post',",
        "text }",
        "text [",
        "text foo() {",
        "text   \"a\": 1",
        "text }",
        "incomplete {\"type\":\"user\",\"a\":",
        &format!("record {one}"),
        "text {",
    ];
    assert_eq!(read(&stream), want);
    // Only the structure is right.
    let wrong = [
        "{\"type\":\"user\",\"a\":01},",
        "{\n\"type\":\"user\",\n\"a\":tru\n}",
        "[\n{\"type\":\"user\",\"a\":\"\\x\"}\n]",
    ];
    for wrong in wrong {
        assert!(read(wrong).iter().all(|reading| !reading.starts_with("record")), "{wrong}");
        assert_eq!(read(wrong).len(), wrong.lines().count());
    }
}

#[test]
fn a_record_over_the_limit_is_skipped_and_its_neighbours_are_read() {
    let big = format!("{{\n\"type\":\"user\",\n\"a\": [\n{}\n]}}", "\"bbbbbbbbbb\",\n".repeat(20) + "1");
    let one = event(1);
    let (mut reader, mut framer, mut all) = (LineReader::new(150), Framer::new(150), Vec::new());
    let mut each = |line, reading: ParsedLine| all.push((line, reading.lines(), described(reading)));
    framer.push(format!("[\n{one},\n{big},\n{one}\n]\n").as_bytes(), |frames| {
        reader.read(frames, claim, &mut each);
    });
    reader.finish(claim, &mut each);
    let lines = big.lines().count() as u64;
    let record = vec![format!("record {one}")];
    let size = big.len() as u64 + 1;
    let want = [
        (1, 2, record.clone()),
        (3, lines, vec![format!("oversized {size}")]),
        (3 + lines, 1, record),
        (4 + lines, 1, vec![]),
    ];
    assert_eq!(all, want);
}

#[test]
fn lines_that_are_held_in_vain_cost_a_bounded_amount() {
    let (open, prefixed) = ("{\"a\":\n".repeat(100_000), event(1));
    assert_eq!(readings(open.as_bytes(), usize::MAX).len(), 100_000);
    let other: String = (0..20_000_u32)
        .flat_map(|at| {
            let word: String =
                at.to_string().chars().map(|digit| (b'a' + digit as u8 - b'0') as char).collect();
            ["xx".to_owned(), word, format!(" | {prefixed}\n")]
        })
        .collect();
    assert!(readings(other.as_bytes(), usize::MAX).len() >= 20_000);
}

#[test]
fn false_starts_cost_a_bounded_amount() {
    let line = r#"{"a":"#.repeat(200_000);
    assert_eq!(read(&line).len(), 1);
}

proptest! {
    #[test]
    fn lines_that_came_together_are_read_like_single_ones(picks in proptest::collection::vec(0..22usize, 0..300)) {
        let deep = [b"[".repeat(200), b"]".repeat(200)].concat();
        let kinds: [&[u8]; 22] = [
            br#"{"type":"user","a":[1,{"b":"\u0041"}]}"#,
            " {\"a\":\"\u{e9}\"} ".as_bytes(),
            br#"{"type":"us"#,
            br#"{"type":"user"}{"type":"user"} tail"#,
            b"plain text",
            b"",
            b"\r",
            b" \t",
            &deep,
            b"{",
            b"  \"type\": \"user\",",
            b"  \"b\": 1 }",
            b"}",
            b"[",
            b"]",
            b",",
            br#"a-1 | {"type":"user"}"#,
            br#"a-1 | {"type":"us"#,
            br#"a-1 | er"}"#,
            b"a-1 | {",
            br#"2026-11-20T09:14:02Z stdout P {"type":"us"#,
            br#"2026-11-20T09:14:02Z stdout F er"}"#,
        ];
        let stream: Vec<u8> = picks.iter().flat_map(|&pick| [kinds[pick], b"\n"].concat()).collect();
        let together = readings(&stream, usize::MAX);
        let mut next = 1;
        for (line, lines, _) in &counted(&stream) {
            prop_assert_eq!(*line, next, "each line is in one reading");
            next += lines;
        }
        prop_assert_eq!(next, picks.len() as u64 + 1);
        prop_assert_eq!(&together, &readings(&stream, 1));
        // A byte that isn't UTF-8 changes only its own line.
        let damaged = [b"\xff\n", &stream[..]].concat();
        let read: Vec<_> = readings(&damaged, usize::MAX).into_iter().skip(1).map(|(line, of)| (line - 1, of)).collect();
        prop_assert_eq!(&together, &read);
    }
}
