//! The JSON Schema of settings files, for editors, generated from the tables of keys.
//!
//! It uses draft 7, which TOML extensions of editors support.

use serde_json::{Map, Value, json};
use streamfmt_core::profile::LimitRow;

use crate::settings::keys::{
    FILE_KEYS, FILTER_KEYS, KEYS, Key, SERVE_KEYS, STORE_KEYS, SWITCH_KEYS, TOOL_KEYS, ValueForm,
};
use crate::tools::rule::ToolField;
use crate::writers::WRITERS;

/// Where the schema is published.
pub const ADDRESS: &str =
    "https://raw.githubusercontent.com/streamfmt/streamfmt/main/docs/schema/config.schema.json";

/// Returns the schema as JSON, with a final line feed.
pub fn schema() -> String {
    let mut tool = table(&TOOL_KEYS);
    tool["description"] = "How this tool is shown".into();
    let tools = json!({
        "description": "How tools are shown: by name, by glob, or by action such as \"@run\"",
        "type": "object",
        "additionalProperties": { "$ref": "#/definitions/tool" },
    });
    let plugins = json!({
        "description": "Options of plugins, by the plugin's name",
        "type": "object",
        "additionalProperties": { "type": "object" },
    });
    let mut profile = table(&KEYS);
    profile["description"] = "A profile".into();
    profile["properties"]["tool"] = tools;
    profile["properties"]["plugin"] = plugins;
    let mut file = profile.clone();
    for (name, about) in properties(FILE_KEYS, false) {
        file["properties"][name] = about;
    }
    let mut serve = table(SERVE_KEYS);
    serve["description"] = "How `streamfmt serve` serves sessions (your own settings only)".into();
    file["properties"]["serve"] = serve;
    let mut store = table(STORE_KEYS);
    store["description"] = "What is kept of imported sessions (your own settings only)".into();
    file["properties"]["store"] = store;
    let profiles = json!({ "type": "object", "additionalProperties": { "$ref": "#/definitions/profile" } });
    let name = file["properties"]["profile"].take();
    file["properties"]["profile"] = json!({
        "description": "Profiles by name, or the name of the profile to use",
        "anyOf": [profiles, name],
    });
    file["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    file["$id"] = ADDRESS.into();
    file["title"] = "Settings of streamfmt".into();
    file["description"] = "Keys for all profiles, and the profiles".into();
    let mut filter = table(FILTER_KEYS);
    filter["required"] = json!(["action"]);
    filter["anyOf"] = one_of(&["kind", "tool", "failed"]);
    let mut switch = table(SWITCH_KEYS);
    switch["required"] = json!(["profile"]);
    switch["anyOf"] = one_of(&["path", "stream"]);
    file["definitions"] = json!({ "profile": profile, "tool": tool, "filter": filter, "switch": switch });
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

/// Requires at least one of these keys.
fn one_of(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// The schema of a table of keys; groups are nested tables.
fn table<T>(keys: &'static [Key<T>]) -> Value {
    let mut all = Map::new();
    for (name, about) in properties(keys, true) {
        match name.split_once('.') {
            None => drop(all.insert(name.to_owned(), about)),
            Some((group, name)) => {
                let empty = json!({ "type": "object", "properties": {}, "additionalProperties": false });
                let group = all.entry(group).or_insert(empty);
                group["properties"][name] = about;
            }
        }
    }
    json!({ "type": "object", "properties": all, "additionalProperties": false })
}

/// The schema of each key. With lower layers, lists may be changed (`add`, `remove`) instead of replaced.
fn properties<T>(keys: &'static [Key<T>], has_below: bool) -> impl Iterator<Item = (&'static str, Value)> {
    keys.iter().map(move |key| {
        let mut value = form(&key.form);
        value["description"] = key.about.into();
        if key.is_list() && has_below {
            let list = form(&key.form);
            let changes = json!({
                "type": "object",
                "properties": { "add": list, "remove": list },
                "additionalProperties": false,
            });
            value = json!({ "description": key.about, "anyOf": [list, changes] });
        }
        (key.name, value)
    })
}

fn form<T>(form: &ValueForm<T>) -> Value {
    match form {
        ValueForm::Word(words) => json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() }),
        // A plugin may provide others.
        ValueForm::Writer(_) => {
            let known: Vec<&str> = WRITERS.iter().map(|row| row.name).collect();
            json!({ "anyOf": [{ "enum": known }, { "type": "string" }] })
        }
        ValueForm::Rule(ToolField::Collapse, _) => {
            json!({ "anyOf": [{ "enum": ["call", "result", "both", "none"] }, { "type": "boolean" }] })
        }
        ValueForm::Name(_) | ValueForm::Tool(_) | ValueForm::Rule(..) => json!({ "type": "string" }),
        ValueForm::Script(_) => {
            json!({ "type": "string", "pattern": "^(\\./)?[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\\.luau?(#[A-Za-z0-9_]+)?$" })
        }
        ValueForm::Flag(_) => json!({ "type": "boolean" }),
        ValueForm::Number(least, most, _) if least == most => json!({ "const": least }),
        ValueForm::Number(least, most, _) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueForm::Size(_) | ValueForm::Limit(LimitRow { is_bytes: true, .. }, _) => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": "^([0-9]+ *(B|kB|KB|KiB|K|MB|MiB|M|GB|GiB|G)?|none)$" },
        ] }),
        ValueForm::Lines(_) | ValueForm::Limit(..) => {
            json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "none" }] })
        }
        ValueForm::List(_) | ValueForm::Groups(_) => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        ValueForm::Filters(_) => json!({ "type": "array", "items": { "$ref": "#/definitions/filter" } }),
        ValueForm::Switches(_) => json!({ "type": "array", "items": { "$ref": "#/definitions/switch" } }),
    }
}
