//! The interface told to people and editors, made of the one table in [`api`](super::api).

use std::fmt::Write;

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
            let _ = writeln!(out, "---@field {} {} {}", field.name, field.kind, field.doc);
        }
    }
    out.push_str(OTHERS);
    out
}

fn declare(out: &mut String, name: &str, params: &[(&str, &str)], gives: &str) {
    for (name, kind) in params {
        let _ = writeln!(out, "---@param {name} {kind}");
    }
    if gives != "nil" {
        let _ = writeln!(out, "---@return {gives}");
    }
    let names: Vec<_> = params.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "function sf.{name}({}) end", names.join(", "));
}

/// Types without fields.
const OTHERS: &str = "
---nil: the layer below decides; false: nothing is shown
---@alias sf.Answer nil|false|string|sf.Span|sf.Block|(string|sf.Span|sf.Block)[]
---@class sf.Span
---@class sf.Block
---@class sf.Made
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
