//! The interface told to people and editors, made of the one table in [`api`](super::api).

use std::fmt::Write;

use streamfmt_core::item::{Action, Kind};
use streamfmt_core::theme;
use streamfmt_core::writer::json::fact_types;

use super::api::{API, CLASSES, FIELDS, FUNCTIONS, OLD};

/// The types for editors (`LuaLS`).
pub fn types() -> String {
    let mut out = String::from(
        "---@meta\n-- Made by streamfmt. The interface that plugins see.\n\n---@class sf\n---@field api integer the level of the interface\n---@field options table the plugin's options, while it is loaded\nsf = {}\nsf.item = {}\n",
    );
    // Writing to a string can't fail.
    for row in FUNCTIONS {
        let _ = writeln!(out, "\n---{}", row.doc);
        declare(&mut out, row.name, row.params, row.gives);
    }
    for old in OLD {
        let Some(row) = FUNCTIONS.iter().find(|row| row.name == old.now) else { continue };
        let _ = writeln!(out, "\n---@deprecated since level {}: sf.{}", old.since, old.now);
        declare(&mut out, old.name, row.params, row.gives);
    }
    for class in CLASSES {
        let base = class.base.map_or_else(String::new, |base| format!(": sf.{base}"));
        let _ = writeln!(out, "\n---{}\n---@class sf.{}{base}", class.doc, class.name);
        for field in FIELDS.iter().filter(|field| field.of == class.name) {
            let kind = refined(field.name.trim_end_matches('?'), field.kind);
            let _ = writeln!(out, "---@field {} {kind} {}", field.name, field.doc);
        }
    }
    let names: Vec<_> = Kind::ALL.map(Kind::name).into();
    alias(&mut out, "a kind of item", "Kind", &names, "");
    alias(&mut out, "what sf.on listens to", "Event", &["session.start", "session.end"], "sf.Kind");
    alias(&mut out, "what a tool does", "Action", &Action::ALL.map(Action::name), "");
    alias(&mut out, "where an item is in its life", "Status", &["open", "done", "failed", "cancelled"], "");
    let mut roles: Vec<&str> = theme::roles().collect();
    roles.sort_unstable();
    alias(&mut out, "what a text is; a role of your own goes below a known one", "Role", &roles, "string");
    out.push_str(
        "\n---Typed facts, as far as they are known: docs/facts.md tells when.\n---@class sf.Data\n",
    );
    for (name, kind) in fact_types() {
        let _ = writeln!(out, "---@field {name}? {kind}");
    }
    out.push_str("---@field [string] any\n");
    out.push_str(OTHERS);
    out
}

/// An alias for one of these texts, or something else.
fn alias(out: &mut String, about: &str, name: &str, texts: &[&str], or: &str) {
    let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    let or = if or.is_empty() { String::new() } else { format!("|{or}") };
    let _ = write!(out, "\n---{about}\n---@alias sf.{name} {}{or}\n", texts.join("|"));
}

/// The type of a parameter or field as editors have it: narrower than what is checked when a script runs.
fn refined(name: &str, kind: &str) -> String {
    let narrow = match (name, kind) {
        ("kind", "string") => "sf.Kind",
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

/// What isn't in the table of the interface: the inputs of common tools, and what functions of `sf` make.
const OTHERS: &str = "
---A call's input, as the tool takes it: what common tools have is named, and may be of another type all the same.
---@class sf.Input
---@field table fun(self): table
---@field raw fun(self): string
---@field command? string
---@field description? string
---@field file_path? string
---@field path? string
---@field pattern? string
---@field glob? string
---@field url? string
---@field query? string
---@field prompt? string
---@field content? string
---@field old_string? string
---@field new_string? string
---@field offset? number
---@field limit? number
---@field subagent_type? string
---@field todos? table[]
---@field [string] any

---nil: the layer below decides; false: nothing is shown
---@alias sf.Answer nil|false|string|sf.Span|sf.Block|sf.Answer[]
---@class sf.Span
---@field type string
---@class sf.Block
---@field type string
---@class sf.Made
---@field type string
";

/// What is found in `sf`, in parts.
const CHAPTERS: [(&str, &str, &[&str]); 5] = [
    (
        "Saying how things are told",
        "Only while the plugin is loaded. Each is recorded with its file and line: `streamfmt explain --tool NAME` tells who says what.",
        &["plugin", "tool", "view", "on", "dialect", "writer", "has"],
    ),
    (
        "Blocks and spans",
        "What a function may give back, alone or in a list. Nothing has a colour: a role such as `muted` or `result.error` says what a text is, and the theme how that looks.",
        &[
            "text", "span", "line", "prose", "code", "diff", "patch", "table", "kv", "list", "details",
            "path", "link", "note", "header",
        ],
    ),
    ("Items", "What the `parse` of a dialect gives back.", &["item."]),
    ("Helpers", "", &[]),
    ("What functions get and give", "", &[]),
];

/// The page of the whole interface, in Markdown.
pub fn page() -> String {
    let mut out = format!(
        "# The Lua interface\n\n<!-- Made from the table in crates/host/src/lua/api.rs. -->\n\nLevel {API}. A plugin finds all of this in `sf`, \
         without `require`. A function that says how something is told gives back a text, a span, a block or a list of these; `nil` leaves it to \
         the layer below, `false` shows nothing. Whatever fails is told once and said by the layer below.\n"
    );
    let placed: Vec<&str> = CHAPTERS.iter().flat_map(|(_, _, names)| names.iter().copied()).collect();
    let is_of = |name: &str, of: &str| name == of || of.ends_with('.') && name.starts_with(of);
    for (title, about, names) in CHAPTERS {
        let _ = write!(out, "\n## {title}\n");
        if !about.is_empty() {
            let _ = write!(out, "\n{about}\n");
        }
        if title == "What functions get and give" {
            classes(&mut out);
            continue;
        }
        for row in FUNCTIONS {
            let is_placed = placed.iter().any(|of| is_of(row.name, of));
            let is_here = names.iter().any(|of| is_of(row.name, of));
            if !(is_here || title == "Helpers" && !is_placed) {
                continue;
            }
            let params: Vec<_> = row.params.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
            let gives = if row.gives == "nil" { String::new() } else { format!(" -> {}", row.gives) };
            let since = if row.since > 1 { format!(" Since level {}.", row.since) } else { String::new() };
            let _ = write!(
                out,
                "\n### sf.{}\n\n```text\nsf.{}({}){gives}\n```\n\n{}{since}\n",
                row.name,
                row.name,
                params.join(", "),
                row.doc
            );
        }
    }
    out
}

fn classes(out: &mut String) {
    for class in CLASSES {
        let base = class.base.map_or_else(String::new, |base| format!(" Has all fields of sf.{base}, and:"));
        let _ = write!(
            out,
            "\n### sf.{}\n\n{}{base}\n\n| field | is | tells |\n|---|---|---|\n",
            class.name, class.doc
        );
        for field in FIELDS.iter().filter(|field| field.of == class.name) {
            let optional = if field.name.ends_with('?') { "?" } else { "" };
            let kind = format!("{}{optional}", field.kind).replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | `{kind}` | {} |", field.name.trim_end_matches('?'), field.doc);
        }
    }
}
