//! The parts of a line that may be shown or not: itself, typed blocks in it, and single fields.

use std::collections::HashSet;
use std::ops::Range;

use streamfmt_core::json::{Record, Str, Value, ValueKind};
use strum::IntoStaticStr;

/// Parts deeper in a line are one with what they are in.
const DEEPEST: usize = 10;
/// Parts of one line that are looked at.
const MOST_PARTS: usize = 2_000;
/// A longer key, or one with other characters than names have, is data.
const LONGEST_KEY: usize = 40;
/// Fields in which each tool has a shape of its own.
const RESULTS: [&str; 2] = ["tool_use_result", "toolUseResult"];

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum What {
    /// A type of lines.
    Type,
    /// A subtype of them.
    Subtype,
    /// A typed object inside a line: a block of a message.
    Block,
    /// A tool.
    Tool,
    /// A field.
    Field,
}

impl What {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A part of a line.
pub(super) struct DriftPart {
    pub(super) what: What,
    pub(super) name: String,
    edits: Vec<Edit>,
}

/// How a line is made another one: what of it goes, and what comes in its place.
type Edit = (Range<usize>, &'static str);

impl DriftPart {
    /// The beginning of its value in this line.
    pub(super) fn sample(&self, text: &str, most: usize) -> String {
        // The last edit puts another value in the place of this one.
        let value = self.edits.last().map_or("", |(range, _)| &text[range.clone()]);
        let end = (0..=most.min(value.len())).rev().find(|&at| value.is_char_boundary(at)).unwrap_or(0);
        if end < value.len() { format!("{}…", &value[..end]) } else { value.to_owned() }
    }

    /// The line without this part, and with something else in its place.
    pub(super) fn variants(&self, text: &str) -> Vec<String> {
        let made = |(range, with): &Edit| [&text[..range.start], with, &text[range.end..]].concat();
        self.edits.iter().map(made).collect()
    }
}

/// Whether the part called `name` is a part of the one called `whole`.
pub(super) fn is_inside(name: &str, whole: &str) -> bool {
    name.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
}

/// The parts of a line, each name once, what is inside of another after it. `tools`: whose results are in it.
pub(super) fn parts(record: &Record, tools: &[String]) -> Vec<DriftPart> {
    let text = record.text();
    let root = record.root();
    // Not every agent gives its lines a type.
    let kind = root.get("type").and_then(Value::decode).unwrap_or_default();
    let subtype = root.get("subtype").and_then(Value::decode);
    let name = match &subtype {
        Some(subtype) => format!("{}/{}", word(&kind), word(subtype)),
        None => word(&kind).to_owned(),
    };
    let what = if subtype.is_some() { What::Subtype } else { What::Type };
    let content = text.trim_end_matches(['\n', '\r']).len();
    let mut walk = PartWalk { text, seen: HashSet::new(), parts: Vec::new() };
    walk.note(what, name.clone(), vec![(0..content, "")]);
    // What is left to look at: the last one first.
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
    seen: HashSet<(What, String)>,
    parts: Vec<DriftPart>,
}

impl<'a> PartWalk<'a> {
    /// Takes in a value called `name`; `whole` is its place with its key, if it has one.
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
                    What::Block,
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
                self.note(What::Field, name, without.into_iter().chain([(place, other)]).collect());
            }
        }
    }

    fn note(&mut self, what: What, name: String, edits: Vec<Edit>) {
        if self.seen.insert((what, name.clone())) {
            self.parts.push(DriftPart { what, name, edits });
        }
    }

    fn place(&self, raw: &str) -> Range<usize> {
        let start = raw.as_ptr() as usize - self.text.as_ptr() as usize;
        start..start + raw.len()
    }

    /// The place of a key and its value, with the comma that parts it from its neighbours.
    fn entry(&self, key: Str<'_>, value: Value<'_>) -> Range<usize> {
        // The quotes are around the key.
        let (start, end) = (self.place(key.raw()).start - 1, self.place(value.raw()).end);
        let after = self.text[end..].trim_start();
        if after.starts_with(',') {
            return start..self.text.len() - after.len() + 1;
        }
        let before = self.text[..start].trim_end();
        if before.ends_with(',') { before.len() - 1..end } else { start..end }
    }
}

/// A name as a part of another; what is no name but data is `*`.
fn word(name: &str) -> &str {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_plain = !name.is_empty() && name.len() <= LONGEST_KEY && name.bytes().all(is_name);
    // Ids and versions have both digits and dashes.
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
        let told: Vec<String> =
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
        assert_eq!(told, expected);
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
    fn what_is_inside_begins_with_the_name_of_the_whole() {
        assert!(is_inside("system/x.y", "system/x") && is_inside("a.b[c].d", "a.b[c]"));
        assert!(!is_inside("system/xy.z", "system/x") && !is_inside("system/x", "system/x"));
    }
}
