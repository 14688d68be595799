//! The JSON Schemas of the machine outputs.
//!
//! Unknown fields are allowed everywhere: newer versions may have more.

use std::borrow::Cow;

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::update::UpdateLine;
use super::{EntryLine, FindLine, ItemLine};
use crate::item::facts::{DOES, FACTS, FactRow, FactShape};

/// The JSON Schema of a line of `--to items`.
pub fn items() -> String {
    text(schemars::schema_for!(ItemLine))
}

/// The JSON Schema of a line of `--to json`.
pub fn json() -> String {
    text(schemars::schema_for!(EntryLine<'static>))
}

/// The JSON Schema of a line of `--to json --live always`.
pub fn updates() -> String {
    text(schemars::schema_for!(UpdateLine))
}

/// The JSON Schema of a line of `share --json`.
pub fn finds() -> String {
    text(schemars::schema_for!(FindLine<'static>))
}

/// The schema of the typed facts of an item.
pub(super) struct FactsSchema;

impl JsonSchema for FactsSchema {
    fn schema_name() -> Cow<'static, str> {
        "Facts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        object(
            "Typed facts of an item. Which there are depends on its kind and action; new ones may come.",
            FACTS,
        )
    }
}

/// The schema of the arguments of a call.
pub(super) struct DoesSchema;

impl JsonSchema for DoesSchema {
    fn schema_name() -> Cow<'static, str> {
        "Does".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        object(
            "What a call does it with and to. Which parts there are depends on the action; new ones may come.",
            DOES,
        )
    }
}

fn object(about: &str, rows: &[FactRow]) -> Schema {
    json_schema!({ "description": about, "type": "object", "properties": properties(rows) })
}

fn properties(rows: &[FactRow]) -> Value {
    let fields = rows.iter().map(|(name, row)| {
        let mut field = Map::from_iter([("description".to_owned(), Value::from(row.doc))]);
        field.extend(of_shape(row.shape));
        ((*name).to_owned(), Value::Object(field))
    });
    Value::Object(fields.collect())
}

/// The schema of a type of value.
fn of_shape(shape: FactShape) -> Map<String, Value> {
    let parts = |parts: &[FactRow]| match parts {
        [] => json!({ "type": "object" }),
        parts => json!({ "type": "object", "properties": properties(parts) }),
    };
    let stated = match shape {
        FactShape::Text => json!({ "type": "string" }),
        FactShape::Integer => json!({ "type": "integer" }),
        FactShape::Number => json!({ "type": "number" }),
        FactShape::Truth => json!({ "type": "boolean" }),
        FactShape::List => json!({ "type": "array" }),
        FactShape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        FactShape::Objects(of) | FactShape::Parts(of) => json!({ "type": "array", "items": parts(of) }),
        FactShape::Object(of) => parts(of),
        FactShape::IntegerOrText => json!({ "type": ["integer", "string"] }),
        FactShape::TextOrObject => json!({ "type": ["string", "object"] }),
        FactShape::IntegerOrList => json!({ "type": ["integer", "array"] }),
        FactShape::Any => json!({}),
    };
    match stated {
        Value::Object(stated) => stated,
        _ => Map::new(),
    }
}

fn text(mut schema: Schema) -> String {
    RecursiveTransform(forbid_null).transform(&mut schema);
    // A schema is plain JSON, which can always be written.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Removes `null` from a schema: absent values are omitted, never `null`.
fn forbid_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            object.remove("anyOf");
            object.extend(only);
        }
    }
}
