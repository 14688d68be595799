//! Every format shows the whole text of a reply: no character disappears unless it is formatting.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::{Form, form, format};

/// Pieces of replies, and the visible text of each.
const PIECES: [(&str, &str); 40] = [
    (r"C:\Users\ola\_notes_\*.md", r"C:\Users\ola\_notes_\*.md"),
    (r"C:\a\_b", r"C:\a\_b"),
    (r"\\server\share\_x", r"\\server\share\_x"),
    (r"\(a_1 \cdot b_2\)", r"\(a_1 \cdot b_2\)"),
    (r"\[x\]", r"\[x\]"),
    (r"a \\ b", r"a \\ b"),
    (r"\{a_i\}", r"\{a_i\}"),
    (r"\$5", r"\$5"),
    (r"snake\_case", r"snake\_case"),
    (r"\*not bold\*", "*not bold*"),
    (r"\`not code\`", "`not code`"),
    (r"\[no link\](u)", "[no link](u)"),
    (r"\<i\>", "<i>"),
    ("~$120B (~$55", "~$120B (~$55"),
    ("~one~", "~one~"),
    ("5~10", "5~10"),
    ("__init__.py", "__init__.py"),
    ("__init__", "__init__"),
    ("_my_field_", "_my_field_"),
    ("2*3*4", "2*3*4"),
    ("x**2 + y**2", "x**2 + y**2"),
    ("count(*), sum(*)", "count(*), sum(*)"),
    ("src/*.rs and lib/*.ts", "src/*.rs and lib/*.ts"),
    ("Vec<std::string>", "Vec<std::string>"),
    ("Vec<T>", "Vec<T>"),
    ("<think>", "<think>"),
    ("&lt;b&gt; &copy; &#64;", "&lt;b&gt; &copy; &#64;"),
    ("a[i](x)", "a[i](x)"),
    ("[]()", "[]()"),
    ("[x]()", "[x]()"),
    ("[^1]", "[^1]"),
    ("[](https://example.com/e)", "https://example.com/e"),
    ("<https://example.com/f>", "https://example.com/f"),
    ("[t](https://example.com/g \"a title\")", "\"a title\""),
    ("**bold**", "bold"),
    ("**A**pplication", "pplication"),
    ("*stress*", "stress"),
    ("`a*b_c\\d`", "a*b_c\\d"),
    ("1. and 2)", "1. and 2)"),
    ("#12 @x !3", "#12 @x !3"),
];

/// Where a piece may be.
const PLACES: [(&str, &str); 8] = [
    ("So ", " is it."),
    ("- so ", " is it"),
    ("> so ", " is it"),
    ("7. so ", " is it"),
    ("### So ", " is it"),
    ("| a |\n|---|\n| so ", " is it |"),
    ("So ", " is it\\\nand on"),
    ("So ", " is it\n\n[unused]: https://example.com/h"),
];

static FORMS: LazyLock<[Form; 4]> =
    LazyLock::new(|| ["ansi", "html", "markdown", "slack"].map(|name| form(name, "default", None)));

/// Returns the words of an output: without its marks, lookalikes and escapes.
fn words(form: &Form, text: &str) -> String {
    let plain = match form.name {
        "html" => untagged(text)
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&"),
        "slack" => {
            let marks = [('∗', '*'), ('ˍ', '_'), ('∼', '~'), ('ˋ', '`'), ('﹫', '@'), ('꞉', ':'), ('›', '>')];
            let plain =
                marks.iter().fold(text.to_owned(), |text, (like, ch)| text.replace(*like, &ch.to_string()));
            untagged(&plain.replace("|t>", "|"))
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&")
        }
        "markdown" => unescaped(&text.replace("<!-- -->", "")).replace("&amp;", "&"),
        _ => without_escapes(text),
    };
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes tags, and keeps the address of links in Slack.
fn untagged(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        let (inside, behind) = tag.split_once('>').unwrap_or((tag, ""));
        plain.push_str(before);
        if inside.starts_with("http") {
            plain.push_str(inside);
        }
        rest = behind;
    }
    plain + rest
}

/// Removes the colours and links of a terminal.
fn without_escapes(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(match piece.strip_prefix('[') {
            Some(colour) => colour.split_once('m').map_or("", |(_, behind)| behind),
            None => piece.strip_prefix('\\').unwrap_or_default(),
        });
    }
    plain
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        match chars.peek() {
            Some(next) if ch == '\\' && next.is_ascii_punctuation() => plain.extend(chars.next()),
            _ => plain.push(ch),
        }
    }
    plain
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_character_of_a_reply_disappears(said in proptest::collection::vec((select(&PIECES[..]), select(&PLACES[..])), 1..5)) {
        let parts = said.iter().map(|((piece, _), (before, behind))| format!("{before}{piece}{behind}"));
        let reply = parts.collect::<Vec<_>>().join("\n\n");
        let line = json!({"type": "assistant", "uuid": "u", "session_id": "s",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": reply}]}});
        let input = format!("{line}\n");
        for form in &*FORMS {
            let text = words(form, &format(form, [input.as_bytes()]).text);
            for ((_, shown), _) in &said {
                prop_assert!(text.contains(shown), "{}: {shown:?} of {reply:?} isn't in {text}", form.name);
            }
        }
    }
}
