//! The interface as types for editors, generated from the tables in [`api`](super).

use std::fmt::Write;

use streamfmt_core::item::facts::{FACTS, FactShape};
use streamfmt_core::item::{Action, Kind};
use streamfmt_core::theme;

use super::{CLASSES, FIELDS, FUNCTIONS};

/// The type declarations for editors (`LuaLS`).
pub fn types() -> String {
    let mut out = String::from(
        "---@meta\n-- Made by streamfmt. The interface that plugins see.\n\n---@class sf\n---@field api integer the level of the interface\n---@field options table the plugin's options, while it is loaded\nsf = {}\nsf.item = {}\n",
    );
    // Writing to a string can't fail.
    for row in FUNCTIONS {
        let _ = writeln!(out, "\n---{}", row.doc);
        declare(&mut out, row.name, row.params, row.gives);
    }
    for class in CLASSES {
        let base = class.base.map_or_else(String::new, |base| format!(": sf.{base}"));
        let _ = writeln!(out, "\n---{}\n---@class sf.{}{base}", class.doc, class.name);
        for field in FIELDS.iter().filter(|field| field.of == class.name) {
            let kind = refined(field.name.trim_end_matches('?'), field.kind);
            let _ = writeln!(out, "---@field {} {kind} {}", field.name, field.doc);
        }
    }
    alias(&mut out, "a kind of item", "Kind", Kind::NAMES, "");
    alias(&mut out, "what sf.view formats", "Viewed", &["frame"], "sf.Kind");
    alias(&mut out, "what sf.on listens to", "Event", &["session.start", "session.end"], "sf.Kind");
    alias(&mut out, "what a tool does", "Action", Action::NAMES, "");
    alias(&mut out, "the state of an item", "Status", &["open", "done", "failed", "cancelled"], "");
    let mut roles: Vec<&str> = theme::roles().collect();
    roles.sort_unstable();
    alias(&mut out, "the meaning of a text; custom roles extend a known one", "Role", &roles, "string");
    out.push_str("\n---Typed facts; absent if unknown. docs/facts.md lists the items that have them.\n---@class sf.Data\n");
    // Some facts occur only in machine output.
    for (name, fact) in FACTS.iter().filter(|(_, fact)| !fact.on.is_empty()) {
        let _ = writeln!(out, "---@field {name}? {} {}", type_of(fact.shape), fact.doc);
    }
    out.push_str("---@field [string] any\n");
    out.push('\n');
    out.push_str(OTHERS);
    out
}

/// The type of a fact for editors.
fn type_of(shape: FactShape) -> &'static str {
    match shape {
        FactShape::Text => "string",
        FactShape::Integer | FactShape::Number => "number",
        FactShape::Truth => "boolean",
        FactShape::List | FactShape::Parts(_) => "any[]",
        FactShape::Texts => "string[]",
        FactShape::Objects(_) => "table[]",
        FactShape::Object(_) => "table",
        FactShape::IntegerOrText => "number|string",
        FactShape::TextOrObject => "string|table",
        FactShape::IntegerOrList => "number|any[]",
        FactShape::Any => "any",
    }
}

/// Declares an alias for these texts, or for `or` if that isn't empty.
fn alias(out: &mut String, about: &str, name: &str, texts: &[&str], or: &str) {
    let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    let or = if or.is_empty() { String::new() } else { format!("|{or}") };
    let _ = write!(out, "\n---{about}\n---@alias sf.{name} {}{or}\n", texts.join("|"));
}

/// The type of a parameter or field for editors: narrower than the one checked at run time.
fn refined(name: &str, kind: &str) -> String {
    let narrow = match (name, kind) {
        ("kind", "string") => "sf.Kind",
        ("what", "string") => "sf.Viewed",
        ("event", "string") => "sf.Event",
        ("action", "string") => "sf.Action",
        ("action", "string?") => "sf.Action?",
        ("status", "string") => "sf.Status",
        ("data", "table") => "sf.Data",
        ("input", "table") => "sf.Input",
        ("role", "string") => "sf.Role",
        ("role", "string?") => "sf.Role?",
        (_, kind) => kind,
    };
    narrow.replace("role: string?", "role: sf.Role?").replace("input: table", "input: sf.Input")
}

fn declare(out: &mut String, name: &str, params: &[(&str, &str)], gives: &str) {
    for (param, kind) in params {
        let kind = refined(if name == "on" && *param == "kind" { "event" } else { param }, kind);
        let _ = writeln!(out, "---@param {param} {kind}");
    }
    if gives != "nil" {
        let _ = writeln!(out, "---@return {gives}");
    }
    let names: Vec<_> = params.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "function sf.{name}({}) end", names.join(", "));
}

/// Types that the tables don't contain: the inputs of common tools, and the values that functions of `sf` create.
const OTHERS: &str = include_str!("other_types.d.lua");
