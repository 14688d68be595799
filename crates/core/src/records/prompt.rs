//! Instructions for a model that is to write records.

use super::schema::{RecordField, RecordSchema, RecordType};

/// Instructions for a model, in Markdown, to write records of this schema. The only lines of it that begin with `{` are the
/// [examples].
pub fn instructions(schema: &RecordSchema) -> String {
    let end = schema.end.as_deref();
    let mut out = String::new();
    let mut say = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    if !schema.about.trim().is_empty() {
        say(schema.about.trim());
        say("");
    }
    say(
        "First think all of it through, in prose: what belongs in it, how it is divided, what depends on what, and what is missing.",
    );
    say("Write no JSON before you have thought it through to the end. Then write the result as JSON Lines:");
    say("");
    say(
        "- Write one complete JSON object per line, with nothing else on that line. No object spans several lines, and no list or code",
    );
    say("  fence surrounds them.");
    say(
        "- Write no trailing commas and no comments. Quotes are `\"`; inside a text, a quote is `\\\"`, a backslash `\\\\` and a line break `\\n`.",
    );
    let names = schema.types.iter().map(|kind| kind.name.as_str()).chain(end);
    say(&format!("- The field `type` of each object is {}.", any_of(names.map(code).collect())));
    if let Some(ids) = ids(schema) {
        say(&format!("- {ids}"));
    }
    if schema.types.iter().any(|kind| kind.parent.is_some()) {
        say(
            "- An object comes after the one that it belongs to, and objects of one type that belong to the same one come one after the other.",
        );
    }
    say("");
    say("Write them in this order:");
    say("");
    for (number, kind) in schema.types.iter().enumerate() {
        say(&format!("{}. {}", number + 1, described(schema, kind)));
    }
    if let Some(end) = end {
        let number = schema.types.len() + 1;
        say(&format!(
            "{number}. `{end}`: once, as the very last line, to say that nothing is missing. It has no other fields."
        ));
    }
    say("");
    say("One example of each type:");
    say("");
    for example in examples(schema) {
        say(&example);
    }
    out
}

/// A record of each type, in the order that is asked for. They are not only of the right form, they fit one another.
pub fn examples(schema: &RecordSchema) -> Vec<String> {
    let of_type = |kind: &RecordType| {
        let fields = kind.fields.iter().map(|field| format!(", {}: {}", quoted(&field.name), field.example));
        format!("{{\"type\": {}{}}}", quoted(&kind.name), fields.collect::<String>())
    };
    let end = schema.end.iter().map(|end| format!("{{\"type\": {}}}", quoted(end)));
    schema.types.iter().map(of_type).chain(end).collect()
}

/// How ids are made up and used, if there are any.
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

/// A type with what it is for, its fields, and what it belongs to.
fn described(schema: &RecordSchema, kind: &RecordType) -> String {
    let once = kind.parent.is_none() && kind.id.is_none();
    let mut said = format!("{}{}", code(&kind.name), if once { ", once" } else { "" });
    let about: Vec<&str> = kind.about.split_whitespace().collect();
    if !about.is_empty() {
        said.push_str(&format!(": {}", about.join(" ")));
    }
    if !said.ends_with(['.', '!', '?', ':']) {
        said.push('.');
    }
    let (needed, others): (Vec<_>, Vec<_>) = kind.fields.iter().partition(|field| field.is_required);
    let names = |fields: &[&RecordField]| all_of(fields.iter().map(|field| code(&field.name)).collect());
    if !needed.is_empty() {
        said.push_str(&format!(" It needs {}", names(&needed)));
        said.push_str(if others.is_empty() { "." } else { "; " });
    } else if !others.is_empty() {
        said.push(' ');
    }
    if !others.is_empty() {
        said.push_str(&format!("{} can be left out.", names(&others)));
    }
    let field = kind.parent.as_ref().and_then(|parent| Some((&parent.kind, parent.field.as_deref()?)));
    if let Some((above, field)) = field {
        let id = schema.types.iter().find(|other| other.name == *above);
        let id = id.and_then(|above| above.id.as_deref()).unwrap_or("id");
        said.push_str(&format!(" {} is the {} of the {above} that it belongs to.", code(field), code(id)));
    }
    said
}

/// A word as code in Markdown.
fn code(word: &str) -> String {
    format!("`{word}`")
}

fn any_of(words: Vec<String>) -> String {
    joined(words, "or")
}

fn all_of(words: Vec<String>) -> String {
    joined(words, "and")
}

fn joined(mut words: Vec<String>, last: &str) -> String {
    let Some(end) = words.pop() else { return String::new() };
    if words.is_empty() { end } else { format!("{} {last} {end}", words.join(", ")) }
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
