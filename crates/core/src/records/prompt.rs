//! Generates instructions for a model to write records.

use std::fmt::Write;

use super::schema::{RecordField, RecordSchema, RecordType};

/// The rules for every schema.
const RULES: &str = r#"First think the whole of it through, in prose: what belongs in it, how it is divided, what depends on what, and what is missing.
Write no JSON before you have thought it through to the end. Then write the result as JSON Lines:

- Write one complete JSON object per line, with nothing else on that line. No object spans several lines, and no list or code
  fence surrounds them.
- Write no trailing commas and no comments. Quotes are `"`; inside a text, a quote is `\"`, a backslash `\\` and a line break `\n`."#;

/// Instructions for a model, in Markdown, to write records of this schema. The only lines that begin with `{` are the
/// [examples].
pub fn instructions(schema: &RecordSchema) -> String {
    let end = schema.end.as_deref();
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    if !schema.about.trim().is_empty() {
        line(schema.about.trim());
        line("");
    }
    line(RULES);
    let names = schema.types.iter().map(|kind| kind.name.as_str()).chain(end);
    line(&format!("- The field `type` of each object is {}.", joined(names.map(code).collect(), "or")));
    if let Some(ids) = ids(schema) {
        line(&format!("- {ids}"));
    }
    if schema.types.iter().any(|kind| kind.parent.is_some()) {
        line(
            "- An object comes after the one that it belongs to, and objects of one type that belong to the same one come one after the other.",
        );
    }
    line("\nWrite them in this order:\n");
    for (number, kind) in schema.types.iter().enumerate() {
        line(&format!("{}. {}", number + 1, described(schema, kind)));
    }
    if let Some(end) = end {
        let number = schema.types.len() + 1;
        line(&format!(
            "{number}. `{end}`: once, as the very last line, to say that nothing is missing. It has no other fields."
        ));
    }
    line("\nAn example of each type:\n");
    for (_, example) in examples(schema) {
        line(&example);
    }
    out
}

/// An example record of each type, with the number of the type, in the order of the schema. For a type that belongs to itself there are
/// two, the second below the first. The last one is the end record, whose number is that of no type. The records form a valid tree if the
/// schema's examples refer to each other.
pub fn examples(schema: &RecordSchema) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (number, kind) in schema.types.iter().enumerate() {
        all.extend(example_above(kind).map(|example| (number, example)));
        let fields = kind.fields.iter().map(|field| (field.name.as_str(), field.example.as_str()));
        all.push((number, example(&kind.name, fields)));
    }
    all.extend(schema.end.iter().map(|end| (schema.types.len(), example(end, []))));
    all
}

/// For a type that belongs to itself: the record to which its example belongs.
fn example_above(kind: &RecordType) -> Option<String> {
    let parent = kind.parent.as_ref().filter(|parent| parent.kind == kind.name)?;
    let (id, parent) = (kind.id.as_deref()?, parent.field.as_deref()?);
    let parent_id = &kind.fields.iter().find(|field| field.name == parent)?.example;
    let fields = kind.fields.iter().filter(|field| field.name != parent);
    let with_id = fields.map(|field| {
        let value = if field.name == id { parent_id } else { &field.example };
        (field.name.as_str(), value.as_str())
    });
    Some(example(&kind.name, with_id))
}

/// A record of a type, with these fields. Their values are JSON.
fn example<'f>(kind: &str, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> String {
    let fields = fields.into_iter().map(|(name, value)| format!(", {}: {value}", quoted(name)));
    format!("{{\"type\": {}{}}}", quoted(kind), fields.collect::<String>())
}

/// The rule for ids, if any type has them.
fn ids(schema: &RecordSchema) -> Option<String> {
    let with_id = schema.types.iter().filter_map(|kind| Some((kind, kind.id.as_deref()?)));
    let example = |(kind, id): (&RecordType, &str)| {
        let field = kind.fields.iter().find(|field| field.name == id)?;
        Some(format!("{} for a {}", code(field.example.trim_matches('"')), kind.name))
    };
    let such: Vec<String> = with_id.filter_map(example).take(3).collect();
    if such.is_empty() {
        return None;
    }
    Some(format!(
        "Give each id once, numbered as in {}, and repeat it letter by letter wherever another object refers to it. No two objects of \
         one type have the same id, and no object refers to an id that doesn't exist.",
        such.join(" and ")
    ))
}

/// The description of a type: its purpose, its fields, and its parent.
fn described(schema: &RecordSchema, kind: &RecordType) -> String {
    let once = kind.parent.is_none() && kind.id.is_none();
    let mut text = format!("{}{}", code(&kind.name), if once { ", once" } else { "" });
    let about: Vec<&str> = kind.about.split_whitespace().collect();
    if !about.is_empty() {
        let _ = write!(text, ": {}", about.join(" "));
    }
    if !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
    let (needed, others): (Vec<_>, Vec<_>) = kind.fields.iter().partition(|field| field.is_required);
    let names =
        |fields: &[&RecordField]| joined(fields.iter().map(|field| code(&field.name)).collect(), "and");
    if !needed.is_empty() {
        let _ = write!(text, " It needs {}", names(&needed));
        text.push_str(if others.is_empty() { "." } else { "; " });
    } else if !others.is_empty() {
        text.push(' ');
    }
    if !others.is_empty() {
        let _ = write!(text, "{} can be left out.", names(&others));
    }
    let field = kind.parent.as_ref().and_then(|parent| Some((&parent.kind, parent.field.as_deref()?)));
    if let Some((above, field)) = field {
        let id = schema.types.iter().find(|other| other.name == *above);
        let id = id.and_then(|above| above.id.as_deref()).unwrap_or("id");
        let _ = write!(text, " {} is the {} of the {above} that it belongs to", code(field), code(id));
        let is_optional = kind.fields.iter().any(|other| other.name == field && !other.is_required);
        text.push_str(if is_optional { "; one without it is at the top." } else { "." });
    }
    text
}

/// A word as code in Markdown.
fn code(word: &str) -> String {
    format!("`{word}`")
}

/// Joins words for a sentence, with `last` before the last of them: `a, b and c`.
fn joined(mut words: Vec<String>, last: &str) -> String {
    let Some(end) = words.pop() else { return String::new() };
    if words.is_empty() { end } else { format!("{} {last} {end}", words.join(", ")) }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
