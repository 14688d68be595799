//! What kind of value each typed fact has, so that a program may rely on it.
//!
//! Facts that are values of the record come from outside: any field may hold anything.
//! `contract.rs` says the same in types; a test holds both together.

use crate::item::{Fact, Item};
use crate::json::{Kind, Value};

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

/// The shape of the fact called `name`; what isn't listed is open.
fn shape(name: &str) -> Shape {
    match name {
        "agent" | "agent_type" | "answer" | "background" | "call" | "category" | "cell" | "code_text"
        | "content" | "cwd" | "edit_mode" | "error" | "event" | "explanation" | "from" | "hook_event"
        | "level" | "mode" | "model" | "modified" | "name" | "new_source" | "note" | "old_source"
        | "original" | "outcome" | "output_file" | "path" | "persisted" | "plan" | "query" | "reason"
        | "say" | "server" | "session" | "skill" | "state" | "stderr" | "stdout" | "subtype" | "to"
        | "tool" | "trigger" | "type" | "url" | "version" => Shape::Text,
        "after" | "attempt" | "before" | "bytes" | "code" | "count" | "exit" | "lines" | "more_files"
        | "of" | "start" | "tokens" | "tool_uses" | "total" | "turns" => Shape::Integer,
        "api_ms" | "cost_usd" | "delay_ms" | "duration_ms" | "resets_at" | "timed_out_ms" | "utilization" => {
            Shape::Number
        }
        "created" | "image" | "incomplete" | "interrupted" | "orphan" | "partial" | "quiet" | "raw"
        | "redacted" | "repeated" | "server_side" | "success" | "timed_out" | "truncated"
        | "user_modified" => Shape::Truth,
        "cells" | "errors" | "files" | "hits" | "more" => Shape::List,
        "calls" | "items" | "tools" => Shape::Texts,
        "denials" | "images" | "models" | "patch" | "servers" | "tasks" | "todos" => Shape::Objects,
        "annotations" | "answers" | "usage" => Shape::Object,
        "status" => Shape::IntegerOrText,
        "task" => Shape::TextOrObject,
        "matches" => Shape::IntegerOrList,
        _ => Shape::Any,
    }
}

/// Whether a fact is of the kind that its name promises. What a dialect made itself is.
pub(super) fn fits(item: &Item, name: &str, fact: &Fact) -> bool {
    match (fact, &item.record) {
        (Fact::Node(node), Some(record)) => {
            let value = record.value(*node);
            value.is_null() || is_of(shape(name), value)
        }
        _ => true,
    }
}

fn is_of(shape: Shape, value: Value<'_>) -> bool {
    let kind = value.kind();
    match shape {
        Shape::Text => kind == Kind::String,
        Shape::Integer => kind == Kind::Number && value.raw().parse::<i64>().is_ok(),
        Shape::Number => value.float().is_some(),
        Shape::Truth => value.bool().is_some(),
        Shape::List => kind == Kind::Array,
        Shape::Texts => kind == Kind::Array && value.items().all(|item| item.kind() == Kind::String),
        Shape::Objects => kind == Kind::Array && value.items().all(|item| item.kind() == Kind::Object),
        Shape::Object => kind == Kind::Object,
        Shape::IntegerOrText => is_of(Shape::Integer, value) || is_of(Shape::Text, value),
        Shape::TextOrObject => is_of(Shape::Text, value) || is_of(Shape::Object, value),
        Shape::IntegerOrList => is_of(Shape::Integer, value) || is_of(Shape::List, value),
        Shape::Any => true,
    }
}
