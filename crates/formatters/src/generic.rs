//! Lays out JSON values without knowing their meaning: inputs and results of unknown and MCP tools.
//!
//! Fields keep their order, and numbers their spelling. A text of several
//! lines keeps its lines. Short containers are written on one line, longer ones are indented:
//!
//! ```text
//! filter:
//!   tags: [red, "7"]
//!   range:
//!     - from: 2024-01-01
//!       note: |
//!         two
//!         lines
//! ```
//!
//! No function is recursive. Values deeper than [`DEPTH`] are written as in the input.

use streamfmt_core::entry::{Block, Line};
use streamfmt_core::json::{Entries, Items, MAX_ELEMENTS, Record, Str, Value, ValueKind};
use streamfmt_core::text::Text;

/// The depth below which containers are written as in the input.
const DEPTH: usize = 64;
/// The longest text beside its key or in a title, in bytes.
pub(super) const SHORT: usize = 100;
/// The longest container on one line, in bytes.
const INLINE: usize = 60;

/// The layout of a call's input.
pub(super) enum InputLayout {
    /// All of it, short enough for the title.
    Title(Text),
    /// All of it, below the title.
    Body(Vec<Block>),
}

/// Lays out an input of any type. `cut`: whether its record was cut at a limit.
pub(super) fn input(value: Value<'_>, cut: bool) -> InputLayout {
    if value.kind() == ValueKind::Object {
        let below = || InputLayout::Body(fields(value, &[], cut));
        return brief(value).map_or_else(below, InputLayout::Title);
    }
    if let Some(arg) = short(value) {
        return InputLayout::Title(arg);
    }
    // A single text needs no quotes.
    let text = value.str().map(|text| Text::from_json(text).trimmed_end());
    let text = text.unwrap_or_else(|| laid_out(value, cut));
    InputLayout::Body(vec![Block::text("call.input", text)])
}

/// Lays out the fields of an object, except those whose values are at the nodes `known`.
pub(super) fn fields(value: Value<'_>, known: &[u32], cut: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = Vec::new();
    let mut number = 0;
    for (key, field) in value.entries() {
        number += 1;
        if known.contains(&field.node()) {
            continue;
        }
        let name = Text::clean_owned([&*key.decode(), ":"].concat());
        let mut line = Line::of("call.key", name);
        let below = match field.str() {
            Some(text) => {
                let text = Text::from_json(text);
                if is_short(&text) {
                    line.push("call.value", text);
                    None
                } else {
                    let lang = language(&key.decode(), &text, value);
                    Some(Block::Code { text: text.trimmed_end(), lang, start: None, role: VALUE.into() })
                }
            }
            None => match inline(field) {
                Some(text) => {
                    line.push("call.value", text);
                    None
                }
                None => Some(Block::text(VALUE, laid_out(field, cut))),
            },
        };
        lines.push(line);
        if let Some(block) = below {
            blocks.push(Block::Lines { lines: std::mem::take(&mut lines) });
            blocks.push(block);
        }
    }
    if cut && number >= MAX_ELEMENTS {
        lines.push(Line::of("call.detail", CUT));
    }
    if !lines.is_empty() {
        blocks.push(Block::Lines { lines });
    }
    blocks
}

/// The role of a value below its key. Writers of lines indent it further than the key.
const VALUE: &str = "call.value";

const CUT: &str = "… cut after 10,000 elements";

/// Lays out a value as a separate text.
pub(super) fn laid_out(value: Value<'_>, cut: bool) -> Text {
    let mut out = String::with_capacity(value.raw().len() + value.raw().len() / 4);
    lay_out(value, cut, &mut out);
    Text::clean_owned(out)
}

/// Lays out a text that is a single JSON container; `None` if it is anything else.
pub(super) fn json_text(text: &str) -> Option<Text> {
    let first = text.trim_start().as_bytes().first()?;
    if !matches!(first, b'{' | b'[') {
        return None;
    }
    let record = Record::from_line(text.to_owned()).ok()?;
    // The layout would lack what was cut; the text itself has it.
    (!record.is_cut()).then(|| laid_out(record.root(), false))
}

/// Whether a text is short enough to share a line with others, and has only one line.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= SHORT && !text.contains('\n')
}

/// Returns a value on one line, if it is short: the fields of an object, or of the objects in a list.
pub(super) fn brief_value(value: Value<'_>) -> Option<Text> {
    if value.kind() == ValueKind::Array {
        let parts = value.items().filter_map(|part| short(part).or_else(|| brief(part)));
        let parts: Vec<String> = parts.map(Text::into_string).collect();
        return Some(Text::clean_owned(parts.join("; ")));
    }
    short(value).or_else(|| brief(value)).or_else(|| inline(value))
}

/// Returns the fields of an object on one short line: a single text without its key, otherwise a list of `key: value`.
fn brief(value: Value<'_>) -> Option<Text> {
    if value.raw().len() > 2 * SHORT {
        return None;
    }
    let mut parts = Vec::new();
    for (key, field) in value.entries() {
        let key = key.decode();
        parts.push((key, field.kind() == ValueKind::String, short(field)?));
    }
    match parts.as_slice() {
        [] => None,
        [(_, true, only)] => Some(only.clone()),
        _ => {
            let parts: Vec<_> = parts.iter().map(|(key, _, part)| format!("{key}: {}", &**part)).collect();
            Some(Text::clean_owned(parts.join(", "))).filter(|arg| is_short(arg))
        }
    }
}

/// Returns a scalar other than `null` as text, if it is short and not empty.
fn short(value: Value<'_>) -> Option<Text> {
    let text = match value.kind() {
        ValueKind::String => Text::from_json(value.str()?),
        ValueKind::Number | ValueKind::True | ValueKind::False => Text::clean(value.raw()),
        ValueKind::Null | ValueKind::Array | ValueKind::Object => return None,
    };
    (!text.is_empty() && is_short(&text)).then_some(text)
}

/// The children of an open container that are not written yet.
enum Children<'a> {
    Fields(Entries<'a>),
    Elements(Items<'a>),
}

impl<'a> Children<'a> {
    fn of(value: Value<'a>) -> Option<Self> {
        match value.kind() {
            ValueKind::Object => Some(Self::Fields(value.entries())),
            ValueKind::Array => Some(Self::Elements(value.items())),
            _ => None,
        }
    }

    fn next(&mut self) -> Option<(Option<Str<'a>>, Value<'a>)> {
        match self {
            Self::Fields(entries) => entries.next().map(|(key, value)| (Some(key), value)),
            Self::Elements(items) => items.next().map(|value| (None, value)),
        }
    }
}

fn lay_out(value: Value<'_>, cut: bool, out: &mut String) {
    let Some(children) = Children::of(value) else {
        scalar(value, 0, out);
        return;
    };
    if let Some(text) = inline(value) {
        out.push_str(&text);
        return;
    }
    let mut open = vec![(children, 0)];
    // The first child of a list's element comes directly after the element's dash.
    let mut beside = true;
    while let Some(depth) = open.len().checked_sub(1) {
        let (children, number) = &mut open[depth];
        let Some((key, child)) = children.next() else {
            if cut && *number >= MAX_ELEMENTS {
                new_line(depth, out);
                out.push_str(CUT);
            }
            open.pop();
            continue;
        };
        *number += 1;
        if !std::mem::take(&mut beside) {
            new_line(depth, out);
        }
        match key {
            Some(key) => {
                push_line(&key.decode(), out);
                out.push(':');
            }
            None => out.push('-'),
        }
        let Some(inner) = Children::of(child) else {
            out.push(' ');
            scalar(child, depth + 1, out);
            continue;
        };
        if let Some(text) = inline(child) {
            out.push(' ');
            out.push_str(&text);
        } else if open.len() == DEPTH {
            out.push(' ');
            out.push_str(child.raw());
        } else {
            if key.is_none() {
                out.push(' ');
                beside = true;
            }
            open.push((inner, 0));
        }
    }
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Writes a text on one line, with `␊` for line feeds.
fn push_line(text: &str, out: &mut String) {
    for (index, part) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('␊');
        }
        out.push_str(part);
    }
}

/// Writes a scalar. A text of several lines is written below, indented.
fn scalar(value: Value<'_>, depth: usize, out: &mut String) {
    let Some(text) = value.decode() else {
        out.push_str(value.raw());
        return;
    };
    if !text.contains('\n') {
        word(&text, out);
        return;
    }
    out.push('|');
    for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
        new_line(if line.is_empty() { 0 } else { depth }, out);
        out.push_str(line);
    }
}

/// Writes a string, with quotes only if it could be mistaken for another value without them.
fn word(text: &str, out: &mut String) {
    let looks_other = text.is_empty()
        || text.starts_with([' ', '"', '[', '{'])
        || text.ends_with(' ')
        || matches!(text, "true" | "false" | "null")
        || (text.len() < 32 && text.parse::<f64>().is_ok());
    if looks_other {
        quoted(text, out);
    } else {
        out.push_str(text);
    }
}

/// Writes a string in double quotes, or in single quotes if it has only double ones itself. If it has both kinds, double quotes and
/// backslashes are escaped.
fn quoted(text: &str, out: &mut String) {
    let [has_double, has_single] = ['"', '\''].map(|quote| text.contains(quote));
    let quote = if has_double && !has_single { '\'' } else { '"' };
    let has_both = has_double && has_single;
    out.push(quote);
    for ch in text.chars() {
        if has_both && (ch == quote || ch == '\\') {
            out.push('\\');
        }
        out.push(ch);
    }
    out.push(quote);
}

/// Returns a value on one line; `None` if it is a container that is too long or too deep for that.
fn inline(value: Value<'_>) -> Option<Text> {
    let is_container = matches!(value.kind(), ValueKind::Array | ValueKind::Object);
    // This keeps the work for nested containers linear.
    if is_container && value.raw().len() > 4 * INLINE {
        return None;
    }
    let mut out = String::new();
    if !is_container {
        scalar(value, 0, &mut out);
        return Some(Text::clean_owned(out));
    }
    let mut open: Vec<(Children<'_>, char)> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match Children::of(value) {
                Some(children) => {
                    let is_object = value.kind() == ValueKind::Object;
                    out.push(if is_object { '{' } else { '[' });
                    open.push((children, if is_object { '}' } else { ']' }));
                }
                None => match value.decode() {
                    Some(text) if text.contains('\n') => return None,
                    Some(text) => inline_word(&text, &mut out),
                    None => out.push_str(value.raw()),
                },
            }
        }
        if out.len() > INLINE || open.len() > 3 {
            return None;
        }
        let Some((children, end)) = open.last_mut() else { return Some(Text::clean_owned(out)) };
        let Some((key, child)) = children.next() else {
            out.push(*end);
            open.pop();
            continue;
        };
        if !out.ends_with(['{', '[']) {
            out.push_str(", ");
        }
        if let Some(key) = key {
            push_line(&key.decode(), &mut out);
            out.push_str(": ");
        }
        next = Some(child);
    }
}

/// Writes a string in a line of several values, with quotes if it has a character that separates them.
fn inline_word(text: &str, out: &mut String) {
    if text.contains([',', ':', '[', ']', '{', '}']) {
        quoted(text, out);
    } else {
        word(text, out);
    }
}

/// Languages, and beginnings of texts in them.
const BEGINNINGS: [(&str, &[&str]); 5] = [
    ("sh", &["#!/bin", "set -e"]),
    ("py", &["import ", "from ", "def ", "class ", "print("]),
    ("js", &["const ", "let ", "function", "async ", "() =>", "(async", "await ", "return "]),
    ("sql", &["SELECT", "select", "WITH", "with ", "INSERT", "UPDATE", "DELETE", "CREATE"]),
    ("html", &["<!DOCTYPE", "<html", "<div"]),
];

/// Guesses the language of a text from its key, from a sibling field `language`, or from its beginning.
fn language(key: &str, text: &str, siblings: Value<'_>) -> Option<Text> {
    let lang = match key {
        "command" | "cmd" | "shell" | "bash" => "sh",
        "sql" => "sql",
        "html" => "html",
        "css" => "css",
        "json" => "json",
        "yaml" | "yml" => "yaml",
        "markdown" | "md" | "body" => "md",
        "diff" | "patch" => "diff",
        "python" | "py" => "py",
        "javascript" | "js" => "js",
        "typescript" | "ts" => "ts",
        "code" | "script" | "source" | "snippet" | "content" | "query" | "function" | "expression"
        | "program" => {
            if let Some(named) = ["language", "lang"].iter().find_map(|name| siblings.get(name)?.str()) {
                return Some(Text::from_json(named));
            }
            let text = text.trim_start();
            BEGINNINGS.iter().find(|(_, words)| words.iter().any(|word| text.starts_with(word)))?.0
        }
        _ => return None,
    };
    Some(Text::own(lang))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(json: &str) -> String {
        let record = Record::from_line(json.to_owned()).unwrap();
        laid_out(record.root(), record.is_cut()).as_str().to_owned()
    }

    #[test]
    fn a_long_text_is_quoted_in_linear_time() {
        let text = "\\".repeat(4 << 20) + "\" ";
        let mut out = String::new();
        quoted(&text, &mut out);
        assert_eq!(out.len(), text.len() + 2);
    }

    #[test]
    fn values_are_laid_out_readably() {
        for (json, expected) in [
            ("42", "42"),
            (r#""plain""#, "plain"),
            ("{}", "{}"),
            (r#"{"a":[1,2.50,1e400],"b":{"c":null}}"#, "{a: [1, 2.50, 1e400], b: {c: null}}"),
            (r#"["7","true",""," x","a, b"]"#, r#"["7", "true", "", " x", "a, b"]"#),
            (
                r#"{"filter":{"tags":["red","7"],"range":[{"from":"2024-01-01","note":"two\nlines\n"},{"from":"x"}]},"z":1}"#,
                "filter:\n  tags: [red, \"7\"]\n  range:\n    - from: 2024-01-01\n      note: |\n        two\n        lines\n    - {from: x}\nz: 1",
            ),
            (
                r#"[["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","b"]]"#,
                "- - aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  - b",
            ),
            (r#"{"text":"[{\"sku\":\"tea\"}]"}"#, r#"{text: '[{"sku":"tea"}]'}"#),
            (r#"{"text":"{'a': \"\\b\"}"}"#, r#"{text: "{'a': \"\\b\"}"}"#),
            (r#"{"k\ney":"\u001b[2Jx"}"#, "{k␊ey: \"␛[2Jx\"}"),
        ] {
            assert_eq!(laid(json), expected, "{json}");
        }
    }

    #[test]
    fn deep_values_are_written_as_they_are_from_the_limit_on() {
        let deep = format!("{}\"{}\"{}", r#"{"k":"#.repeat(90), "m".repeat(80), "}".repeat(90));
        let out = laid(&deep);
        assert_eq!(out.lines().count(), DEPTH);
        assert!(out.ends_with(&"}".repeat(90 - DEPTH)) && out.contains(&"m".repeat(80)));
    }

    #[test]
    fn a_cut_container_says_so() {
        let long = laid(&format!(r#"{{"v":[{}1]}}"#, "1,".repeat(20_000)));
        assert!(long.ends_with("\n  … cut after 10,000 elements"), "{}", &long[long.len() - 40..]);
    }

    #[test]
    fn only_whole_json_is_laid_out() {
        assert_eq!(json_text(r#" {"a":1} "#).as_deref(), Some("{a: 1}"));
        assert_eq!(json_text(r#"{"a":1} and more"#), None);
        assert_eq!(json_text("7"), None);
    }
}
