//! The parts of a line that may or may not be shown: the line itself, typed blocks in it, and single fields.

use std::collections::HashSet;
use std::ops::Range;

use streamfmt_core::json::{Record, Str, Value, ValueKind};
use strum::IntoStaticStr;

/// Deepest level of parts; deeper ones belong to the part that contains them.
const DEEPEST: usize = 10;
/// Most parts of one line that are examined.
const MOST_PARTS: usize = 2_000;
/// Longest key, in bytes. A longer one, or one with unusual characters, counts as data.
const LONGEST_KEY: usize = 40;
/// Fields whose contents depend on the tool.
const RESULTS: [&str; 2] = ["tool_use_result", "toolUseResult"];

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum DriftSubject {
    /// A type of line.
    Type,
    /// A subtype of line.
    Subtype,
    /// A typed object inside a line, such as a block of a message.
    Block,
    /// A tool.
    Tool,
    /// A field.
    Field,
}

impl DriftSubject {
    /// The name in machine output.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A part of a line.
pub(super) struct DriftPart {
    pub(super) what: DriftSubject,
    pub(super) name: String,
    edits: Vec<Edit>,
}

/// A change to a line: the range to replace, and its replacement.
type Edit = (Range<usize>, &'static str);

impl DriftPart {
    /// The beginning of its value in `text`.
    pub(super) fn sample(&self, text: &str, most: usize) -> String {
        // The last edit replaces the value, so its range is the value's.
        let value = self.edits.last().map_or("", |(range, _)| &text[range.clone()]);
        let end = (0..=most.min(value.len())).rev().find(|&at| value.is_char_boundary(at)).unwrap_or(0);
        if end < value.len() { format!("{}…", &value[..end]) } else { value.to_owned() }
    }

    /// The line without this part, and the line with another value in its place.
    pub(super) fn variants(&self, text: &str) -> Vec<String> {
        let made = |(range, with): &Edit| [&text[..range.start], with, &text[range.end..]].concat();
        self.edits.iter().map(made).collect()
    }
}

/// Whether the part `name` is inside the part `whole`.
pub(super) fn is_inside(name: &str, whole: &str) -> bool {
    name.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
}

/// The parts of a line, each name once, with inner parts after outer ones. `tools` are the tools whose results the line contains.
pub(super) fn parts(record: &Record, tools: &[String]) -> Vec<DriftPart> {
    let text = record.text();
    let root = record.root();
    // Not every agent's lines have a type.
    let kind = root.get("type").and_then(Value::decode).unwrap_or_default();
    let subtype = root.get("subtype").and_then(Value::decode);
    let name = match &subtype {
        Some(subtype) => format!("{}/{}", word(&kind), word(subtype)),
        None => word(&kind).to_owned(),
    };
    let what = if subtype.is_some() { DriftSubject::Subtype } else { DriftSubject::Type };
    let content = text.trim_end_matches(['\n', '\r']).len();
    let mut walk = PartWalk { text, seen: HashSet::new(), parts: Vec::new() };
    walk.note(what, name.clone(), vec![(0..content, "")]);
    // The values still to visit, last one first.
    let mut left = vec![(root, name, 0)];
    while let Some((value, name, depth)) = left.pop() {
        if depth >= DEEPEST || walk.parts.len() >= MOST_PARTS {
            continue;
        }
        let before = left.len();
        for (key, inner) in value.entries() {
            let key_name = key.decode();
            if key_name == "type" || (depth == 0 && key_name == "subtype") {
                continue;
            }
            let tool = match tools {
                [tool] if RESULTS.contains(&&*key_name) => format!("({})", word(tool)),
                _ => String::new(),
            };
            let name = format!("{name}.{}{tool}", word(&key_name));
            let whole = walk.entry(key, inner);
            walk.visit(inner, name, Some(whole), depth, &mut left);
        }
        for inner in value.items() {
            walk.visit(inner, name.clone(), None, depth, &mut left);
        }
        left[before..].reverse();
    }
    walk.parts
}

struct PartWalk<'a> {
    text: &'a str,
    seen: HashSet<(DriftSubject, String)>,
    parts: Vec<DriftPart>,
}

impl<'a> PartWalk<'a> {
    /// Visits a value called `name`. `whole` is the range of the value with its key, if it has one.
    fn visit(
        &mut self,
        value: Value<'a>,
        name: String,
        whole: Option<Range<usize>>,
        depth: usize,
        left: &mut Vec<(Value<'a>, String, usize)>,
    ) {
        let place = self.place(value.raw());
        match value.kind() {
            ValueKind::Null => {}
            ValueKind::Array => left.push((value, format!("{name}[]"), depth)),
            ValueKind::Object => {
                let Some(kind) = value.get("type").and_then(Value::decode) else {
                    left.push((value, name, depth + 1));
                    return;
                };
                let name = format!("{}[{}]", name.trim_end_matches("[]"), word(&kind));
                self.note(
                    DriftSubject::Block,
                    name.clone(),
                    vec![(whole.unwrap_or(place.clone()), ""), (place, "{}")],
                );
                let tool = value.get("name").and_then(Value::decode).filter(|_| kind.ends_with("tool_use"));
                let tool = tool.map_or_else(String::new, |tool| format!("({})", word(&tool)));
                left.push((value, format!("{name}{tool}"), depth + 1));
            }
            kind => {
                let other = match kind {
                    ValueKind::String if value.raw() == "\"\"" => return,
                    ValueKind::String => "\"~\"",
                    ValueKind::True => "false",
                    ValueKind::False => "true",
                    _ => "7919",
                };
                let without = whole.map(|whole| (whole, ""));
                self.note(DriftSubject::Field, name, without.into_iter().chain([(place, other)]).collect());
            }
        }
    }

    fn note(&mut self, what: DriftSubject, name: String, edits: Vec<Edit>) {
        if self.seen.insert((what, name.clone())) {
            self.parts.push(DriftPart { what, name, edits });
        }
    }

    fn place(&self, raw: &str) -> Range<usize> {
        let start = raw.as_ptr() as usize - self.text.as_ptr() as usize;
        start..start + raw.len()
    }

    /// The range of a key and its value, including a comma beside it.
    fn entry(&self, key: Str<'_>, value: Value<'_>) -> Range<usize> {
        // The key's text excludes its quotes.
        let (start, end) = (self.place(key.raw()).start - 1, self.place(value.raw()).end);
        let after = self.text[end..].trim_start();
        if after.starts_with(',') {
            return start..self.text.len() - after.len() + 1;
        }
        let before = self.text[..start].trim_end();
        if before.ends_with(',') { before.len() - 1..end } else { start..end }
    }
}

/// A key as a part of a name. A key that is data becomes `*`.
fn word(name: &str) -> &str {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_plain = !name.is_empty() && name.len() <= LONGEST_KEY && name.bytes().all(is_name);
    // Ids and versions contain both digits and dashes.
    let is_data = name.contains('-') && name.bytes().any(|byte| byte.is_ascii_digit());
    if is_plain && !is_data { name } else { "*" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names_and_can_be_left_out() {
        let text = concat!(
            r#"{"type":"user","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls"}},"x"]}, "#,
            r#""tool_use_result":{"stdout":"","code":0},"usage":{"claude-opus-4":{"in":1}},"none":null}"#,
            "\n"
        );
        let record = Record::from_line(text.to_owned()).unwrap();
        let parts = parts(&record, &["Bash".to_owned()]);
        let names: Vec<String> =
            parts.iter().map(|part| format!("{} {}", part.what.name(), part.name)).collect();
        let expected = [
            "type user",
            "block user.message.content[tool_use]",
            "field user.message.content[]",
            "field user.message.content[tool_use](Bash).name",
            "field user.message.content[tool_use](Bash).input.command",
            "field user.tool_use_result(Bash).code",
            "field user.usage.*.in",
        ];
        assert_eq!(names, expected);
        let variants = |name: &str| parts.iter().find(|part| part.name == name).unwrap().variants(text);
        assert_eq!(variants("user"), ["\n"]);
        let without = text.replace(r#""command":"ls""#, "");
        let other = text.replace(r#""ls""#, r#""~""#);
        assert_eq!(variants("user.message.content[tool_use](Bash).input.command"), [without, other]);
        let without = text.replace(r#","code":0"#, "");
        assert_eq!(variants("user.tool_use_result(Bash).code")[0], without);
        for part in &parts[2..] {
            for variant in part.variants(text) {
                assert!(Record::from_line(variant.clone()).is_ok(), "{variant}");
            }
        }
    }

    #[test]
    fn an_inner_part_starts_with_the_name_of_the_whole() {
        assert!(is_inside("system/x.y", "system/x") && is_inside("a.b[c].d", "a.b[c]"));
        assert!(!is_inside("system/xy.z", "system/x") && !is_inside("system/x", "system/x"));
    }

    #[test]
    fn what_is_beyond_a_limit_belongs_to_the_part_around_it() {
        let names = |line: String| {
            let record = Record::from_line(line).unwrap();
            parts(&record, &[]).into_iter().map(|part| part.name).collect::<Vec<_>>()
        };
        let nested = |depth: usize| {
            format!("{{\"type\":\"x\",{}\"b\":1{}", "\"a\":{".repeat(depth), "}".repeat(depth + 1))
        };
        let deep = format!("x{}.b", ".a".repeat(DEEPEST - 1));
        assert_eq!(names(nested(DEEPEST - 1)), ["x".to_owned(), deep]);
        assert_eq!(names(nested(DEEPEST)), ["x"]);
        let many = (0..MOST_PARTS).map(|number| format!(",\"o{number}\":{{\"a\":1}}")).collect::<Vec<_>>();
        let found = names(format!("{{\"type\":\"x\"{}}}", many.concat()));
        assert_eq!(found.len(), MOST_PARTS);
        assert_eq!(found[MOST_PARTS - 1], "x.o1998.a");
        let keys = [LONGEST_KEY, LONGEST_KEY + 1].map(|length| "k".repeat(length));
        let found = names(format!("{{\"type\":\"x\",\"{}\":1,\"{}\":2}}", keys[0], keys[1]));
        assert_eq!(found, ["x".to_owned(), format!("x.{}", keys[0]), "x.*".to_owned()]);
    }

    #[test]
    fn a_cut_sample_ends_with_an_ellipsis() {
        for (length, end) in [(60, ""), (61, "…")] {
            let value = "8".repeat(length);
            let record = Record::from_line(format!("{{\"type\":\"x\",\"a\":{value}}}")).unwrap();
            let part = &parts(&record, &[])[1];
            let sample = part.sample(record.text(), super::super::LONGEST_SAMPLE);
            assert_eq!(sample, format!("{}{end}", &value[..60]));
        }
    }
}
