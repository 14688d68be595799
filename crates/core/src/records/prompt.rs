//! Instructions for a model that is to write records.

use super::schema::{RecordSchema, RecordType};

/// What to tell a model so that it writes records of this schema. The lines of it that begin with `{` are an example of each type, in the
/// order that is asked for, and fit the schema.
pub fn instructions(schema: &RecordSchema) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    say(schema.about.trim_end());
    say("");
    say(
        "First think the whole of it through in prose: what there is, how it is divided, what depends on what. Write no JSON until",
    );
    say("you have finished thinking. Then write it down as records:");
    say("");
    say(
        "- One complete JSON object a line, with nothing else on that line. No object goes over several lines.",
    );
    say(
        "- No trailing commas, no comments, and in texts `\\\"` for a quote and `\\n` for a line break, as JSON has them.",
    );
    let names: Vec<String> = schema.types.iter().map(|kind| format!("`{}`", kind.name)).collect();
    say(&format!("- Each object has a `type`, which is one of {}.", all_of(&names, schema.end.as_deref())));
    say(
        "- An id is made up once, such as `t-1`, and used in the same spelling wherever it is meant. No two records of a type have the same.",
    );
    say(
        "- A record comes after the one that it names as its parent, and those of one parent come one after the other.",
    );
    say("");
    say("In this order:");
    say("");
    let mut number = 0;
    for kind in &schema.types {
        number += 1;
        say(&format!("{number}. `{}`: {}", kind.name, described(kind)));
    }
    if let Some(end) = &schema.end {
        number += 1;
        say(&format!("{number}. `{end}`: last, once all others are written. It has no other fields."));
    }
    say("");
    say("For example:");
    say("");
    for kind in &schema.types {
        say(&example(kind));
    }
    if let Some(end) = &schema.end {
        say(&format!("{{\"type\": {}}}", quoted(end)));
    }
    out
}

fn all_of(names: &[String], end: Option<&str>) -> String {
    let mut names = names.to_vec();
    names.extend(end.map(|end| format!("`{end}`")));
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// What is said of a type, and of its fields.
fn described(kind: &RecordType) -> String {
    let (needed, others): (Vec<_>, Vec<_>) = kind.fields.iter().partition(|field| field.is_required);
    let names = |fields: Vec<&super::RecordField>| {
        let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
        names.join(", ")
    };
    let mut said = kind.about.trim_end().to_owned();
    if !needed.is_empty() {
        said.push_str(&format!(" Fields: {}.", names(needed)));
    }
    if !others.is_empty() {
        said.push_str(&format!(" If there is something to say there: {}.", names(others)));
    }
    if let Some((parent, field)) =
        kind.parent.as_ref().and_then(|parent| Some((&parent.kind, parent.field.as_ref()?)))
    {
        said.push_str(&format!(" `{field}` is the id of its {parent}."));
    }
    said
}

fn example(kind: &RecordType) -> String {
    let fields = kind.fields.iter().map(|field| format!(", {}: {}", quoted(&field.name), field.example));
    format!("{{\"type\": {}{}}}", quoted(&kind.name), fields.collect::<String>())
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
