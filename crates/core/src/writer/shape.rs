//! What kind of value each typed fact has, so that a program may rely on it.
//!
//! Facts that are values of the record come from outside: any field may hold anything.
//! `contract.rs` says the same in types; a test holds both together.

use std::sync::LazyLock;

use crate::item::{Fact, FactRef, Item};
use crate::json::{Kind, Value};
use crate::names::Names;

use Shape::{
    Any, Integer, IntegerOrList, IntegerOrText, List, Number, Object, Objects, Text, TextOrObject, Texts,
    Truth,
};

/// The kind of value that a fact has.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Integer,
    Number,
    Truth,
    List,
    Texts,
    Objects,
    Object,
    /// A whole number or a text: several products speak of one thing.
    IntegerOrText,
    TextOrObject,
    IntegerOrList,
    Any,
}

/// Facts by name.
#[rustfmt::skip]
static FACTS: &[(&str, Shape)] = &[
    ("agent", Text), ("agent_type", Text), ("answer", Text), ("background", Text), ("call", Text), ("category", Text),
    ("cause", Text), ("cell", Text), ("changed", Text), ("code_text", Text), ("content", Text), ("cwd", Text), ("edit_mode", Text), ("error", Text),
    ("event", Text), ("explanation", Text), ("from", Text), ("hook_event", Text), ("level", Text), ("mode", Text),
    ("model", Text), ("modified", Text), ("name", Text), ("new_source", Text), ("note", Text), ("old_source", Text),
    ("original", Text), ("outcome", Text), ("output_file", Text), ("path", Text), ("persisted", Text), ("plan", Text),
    ("query", Text), ("reason", Text), ("say", Text), ("server", Text), ("session", Text), ("skill", Text),
    ("snippet", Text), ("stopped", Text),
    ("state", Text), ("stderr", Text), ("stdout", Text), ("subtype", Text), ("to", Text), ("tool", Text),
    ("trigger", Text), ("type", Text), ("url", Text), ("version", Text),
    ("words", Text),
    ("added", Integer), ("after", Integer), ("attempt", Integer), ("before", Integer), ("bytes", Integer),
    ("cell_count", Integer), ("code", Integer),
    ("count", Integer), ("exit", Integer), ("lines", Integer), ("more_files", Integer), ("of", Integer),
    ("removed", Integer), ("start", Integer), ("tokens", Integer), ("took_ms", Integer), ("tool_uses", Integer), ("total", Integer), ("turns", Integer),
    ("api_ms", Number), ("cost_usd", Number), ("delay_ms", Number), ("duration_ms", Number), ("resets_at", Number),
    ("timed_out_ms", Number), ("utilization", Number),
    ("approved", Truth), ("created", Truth), ("echo", Truth), ("image", Truth), ("listed", Truth),
    ("incomplete", Truth), ("interrupted", Truth), ("orphan", Truth),
    ("minor", Truth), ("partial", Truth), ("quiet", Truth), ("raw", Truth), ("redacted", Truth), ("repeated", Truth),
    ("server_side", Truth), ("success", Truth), ("timed_out", Truth), ("truncated", Truth), ("user_modified", Truth),
    ("cells", List), ("errors", List), ("files", List), ("hits", List), ("more", List), ("problems", List),
    ("calls", Texts), ("items", Texts), ("tools", Texts),
    ("changes", Objects), ("denials", Objects), ("images", Objects), ("models", Objects), ("patch", Objects), ("servers", Objects),
    ("tasks", Objects), ("todos", Objects),
    ("annotations", Object), ("answers", Object), ("job", Object), ("usage", Object),
    ("status", IntegerOrText),
    ("task", TextOrObject),
    ("matches", IntegerOrList),
    ("denied", Any), ("structured", Any), ("value", Any),
];

static SHAPES: LazyLock<Names<Shape>> = Names::lazy(|| Names::new(FACTS));

/// The facts that are known by name, each with what it is in the words of Lua's declarations.
pub(super) fn facts() -> impl Iterator<Item = (&'static str, &'static str)> {
    FACTS.iter().map(|(name, shape)| {
        let kind = match shape {
            Text => "string",
            Integer | Number => "number",
            Truth => "boolean",
            List => "any[]",
            Texts => "string[]",
            Objects => "table[]",
            Object => "table",
            IntegerOrText => "number|string",
            TextOrObject => "string|table",
            IntegerOrList => "number|any[]",
            Any => "any",
        };
        (*name, kind)
    })
}

/// The shape of the fact called `name`; what isn't listed is open.
fn shape(name: &str) -> Shape {
    SHAPES.get(name.as_bytes()).unwrap_or(Any)
}

/// The shape of a part of what a call does.
fn part(name: &str) -> Shape {
    match name {
        "background" | "everywhere" | "several" | "unsandboxed" => Truth,
        "start" | "lines" | "end" => Integer,
        "timeout_ms" => Number,
        "blocks" | "blocked_by" => Texts,
        "changes" | "options" | "questions" | "todos" => List,
        "patch" => Any,
        "range" => Object,
        _ => Text,
    }
}

/// Whether a part of what a call does is of the kind that its name promises.
pub(super) fn is_part(name: &str, told: FactRef<'_>) -> bool {
    match (told, part(name)) {
        (FactRef::Json(value) | FactRef::Named(value, _), shape) => is_of(shape, value),
        (FactRef::Of(..), _) => told.str().is_some(),
        (FactRef::Sole(..) | FactRef::Word(_) | FactRef::Made(..), _) => true,
    }
}

/// Whether it has parts.
pub(super) fn is_object(told: FactRef<'_>) -> bool {
    told.value().is_none_or(|value| value.kind() == Kind::Object)
}

/// Whether a fact is of the kind that its name promises. What a dialect made itself is.
pub(super) fn fits(item: &Item, name: &str, fact: &Fact) -> bool {
    match (fact, &item.record) {
        (Fact::Node(node) | Fact::Named(node, _), Some(record)) => {
            let value = record.value(*node);
            value.is_null() || is_of(shape(name), value)
        }
        _ => true,
    }
}

fn is_of(shape: Shape, value: Value<'_>) -> bool {
    let kind = value.kind();
    match shape {
        Text => kind == Kind::String,
        Integer => kind == Kind::Number && value.raw().parse::<i64>().is_ok(),
        Number => value.float().is_some(),
        Truth => value.bool().is_some(),
        List => kind == Kind::Array,
        Texts => kind == Kind::Array && value.items().all(|item| item.kind() == Kind::String),
        Objects => kind == Kind::Array && value.items().all(|item| item.kind() == Kind::Object),
        Object => kind == Kind::Object,
        IntegerOrText => is_of(Integer, value) || is_of(Text, value),
        TextOrObject => is_of(Text, value) || is_of(Object, value),
        IntegerOrList => is_of(Integer, value) || is_of(List, value),
        Any => true,
    }
}
