//! Rewrites the types of `sf` for editors from the form of `LuaLS` (`sf.d.lua`) to that of luau-lsp (`sf.d.luau`).
//!
//! ```text
//! ---@class sf.Call: sf.Item                 type Call = Item & {
//! ---@field input table its input     ─▶       -- its input
//!                                              input: { [any]: any },
//! ---@param text string                      declare sf: {
//! function sf.text(text) end                   text: (text: string) -> Block,
//! ```

use std::fmt::Write;

/// Rewrites the declarations of [`reference::types`](super::reference::types).
pub fn luau(declarations: &str) -> String {
    let mut out = String::from("-- Made by streamfmt. The interface that plugins see.\n");
    let (mut functions, mut items) = (String::new(), String::new());
    let (mut doc_of, mut params, mut gives) = ("", Vec::new(), "");
    let (mut is_class_open, mut is_sf_open) = (false, false);
    for line in declarations.lines() {
        if is_class_open && !line.starts_with("---@field") {
            out.push_str("}\n");
            is_class_open = false;
        }
        // Writing to a string doesn't fail.
        if line == "---@class sf" {
            is_sf_open = true;
        } else if let Some(class) = line.strip_prefix("---@class ") {
            is_sf_open = false;
            let (name, base) = class.split_once(':').unwrap_or((class, ""));
            let base = if base.is_empty() { String::new() } else { format!("{} & ", simple(base.trim())) };
            let _ = writeln!(out, "\nexport type {} = {base}{{", simple(name));
            is_class_open = true;
        } else if let Some(field) = line.strip_prefix("---@field ") {
            let (name, rest) = field.split_once(' ').unwrap_or((field, "any"));
            let (kind, doc) = type_of(rest);
            let kind = if name.ends_with('?') { optional(&kind) } else { kind };
            let out = if is_sf_open { &mut functions } else { &mut out };
            if !doc.trim().is_empty() {
                let _ = writeln!(out, "  -- {}", doc.trim());
            }
            let _ = writeln!(out, "  {}: {kind},", name.trim_end_matches('?'));
        } else if let Some(alias) = line.strip_prefix("---@alias ") {
            let (name, kind) = alias.split_once(' ').unwrap_or((alias, "any"));
            let _ = writeln!(out, "\nexport type {} = {}", simple(name), type_of(kind).0);
        } else if let Some(param) = line.strip_prefix("---@param ") {
            params.push(param.split_once(' ').unwrap_or((param, "any")));
        } else if let Some(kind) = line.strip_prefix("---@return ") {
            gives = kind;
        } else if let Some(function) = line.strip_prefix("function sf.") {
            let name = function.split('(').next().unwrap_or_default();
            let list: Vec<String> = params
                .iter()
                .map(|(name, kind)| match *name {
                    "..." => format!("...({})", type_of(kind).0),
                    name => format!("{}: {}", name.trim_end_matches('?'), type_of(kind).0),
                })
                .collect();
            let result = match &several(gives)[..] {
                [] => "()".to_owned(),
                [one] => one.clone(),
                all => format!("({})", all.join(", ")),
            };
            let (target, name, indent) = match name.strip_prefix("item.") {
                Some(name) => (&mut items, name, "    "),
                None => (&mut functions, name, "  "),
            };
            let _ =
                write!(target, "{indent}-- {doc_of}\n{indent}{name}: ({}) -> {result},\n", list.join(", "));
            (doc_of, params, gives) = ("", Vec::new(), "");
        } else if let Some(doc) = line.strip_prefix("---").filter(|doc| !doc.starts_with('@')) {
            doc_of = doc.trim();
        }
    }
    if is_class_open {
        out.push_str("}\n");
    }
    let _ = write!(out, "\ndeclare sf: {{\n{functions}  item: {{\n{items}  }},\n}}\n");
    out
}

/// The name of a type without `sf.`, as Luau has it.
fn simple(name: &str) -> &str {
    match name.strip_prefix("sf.").unwrap_or(name) {
        "table" => "{ [any]: any }",
        "sf" | "function" => "any",
        "integer" => "number",
        name => name,
    }
}

/// A function's type so that more may stand behind it.
fn bound(kind: &str) -> String {
    if kind.contains("->") && !kind.starts_with(['{']) { format!("({kind})") } else { kind.to_owned() }
}

/// A type that may be absent.
fn optional(kind: &str) -> String {
    let is_one = kind.starts_with('{') || !kind.contains([' ', '|']);
    if is_one { format!("{kind}?") } else { format!("({kind})?") }
}

/// The type that `text` begins with, as Luau has it, and the rest.
fn type_of(text: &str) -> (String, &str) {
    let (mut kind, mut rest) = part_of(text.trim_start());
    while let Some(more) = rest.strip_prefix('|') {
        let (next, after) = part_of(more);
        kind = format!("{} | {}", bound(&kind), bound(&next));
        rest = after;
    }
    (kind, rest)
}

/// The types of several values, with commas between them.
fn several(text: &str) -> Vec<String> {
    let (mut kinds, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (kind, after) = type_of(rest);
        kinds.push(kind);
        rest = after.strip_prefix(',').unwrap_or_default();
    }
    kinds
}

/// One type of several that may stand side by side.
fn part_of(text: &str) -> (String, &str) {
    let (mut kind, mut rest) = if let Some(function) = text.strip_prefix("fun(") {
        let (list, rest) = list_of(function, ')');
        match rest.strip_prefix(": ") {
            None => (format!("({list}) -> ()"), rest),
            Some(gives) => {
                let (first, mut rest) = type_of(gives);
                let mut kinds = vec![first];
                while let Some(more) = rest.strip_prefix(", ") {
                    let (kind, after) = type_of(more);
                    kinds.push(kind);
                    rest = after;
                }
                let gives = match &kinds[..] {
                    // Who says nothing need not return.
                    [answer] if answer == "Answer" => "...Answer".to_owned(),
                    [one] => one.clone(),
                    _ => format!("({})", kinds.join(", ")),
                };
                (format!("({list}) -> {gives}"), rest)
            }
        }
    } else if let Some(fields) = text.strip_prefix('{') {
        let (list, rest) = list_of(fields, '}');
        (format!("{{ {list} }}"), rest)
    } else if let Some(inner) = text.strip_prefix('(') {
        let (kind, rest) = type_of(inner);
        (format!("({kind})"), rest.strip_prefix(')').unwrap_or(rest))
    } else if let Some(word) = text.strip_prefix('"') {
        let end = word.find('"').map_or(text.len(), |at| at + 2);
        (text[..end].to_owned(), &text[end..])
    } else {
        let is_name = |ch: char| ch.is_ascii_alphanumeric() || ch == '_' || ch == '.';
        let end = text.find(|ch| !is_name(ch)).unwrap_or(text.len());
        (simple(&text[..end]).to_owned(), &text[end..])
    };
    loop {
        if let Some(after) = rest.strip_prefix("[]") {
            (kind, rest) = (format!("{{ {} }}", kind.trim_start_matches('(').trim_end_matches(')')), after);
        } else if let Some(after) = rest.strip_prefix('?') {
            (kind, rest) = (optional(&kind), after);
        } else {
            return (kind, rest);
        }
    }
}

/// Names with their types up to `end`, and what is behind it.
fn list_of(text: &str, end: char) -> (String, &str) {
    let (mut list, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find([':', ',', end]) {
        let name = rest[..at].trim();
        let (kind, after) = if rest[at..].starts_with(':') {
            type_of(&rest[at + 1..])
        } else {
            ("any".to_owned(), &rest[at..])
        };
        if let Some(name) = name.strip_suffix('?') {
            list.push(format!("{name}: {}", optional(&kind)));
        } else if !name.is_empty() {
            list.push(format!("{name}: {kind}"));
        }
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return (list.join(", "), after.strip_prefix(end).unwrap_or(after)),
        }
    }
    (list.join(", "), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_rewritten() {
        for (told, expected) in [
            ("string? a text", "string?"),
            ("any[][]", "{ { any } }"),
            ("\"info\"|\"error\"", "\"info\" | \"error\""),
            ("{start: number?, role: string?}?", "{ start: number?, role: string? }?"),
            (
                "string|fun(call: sf.Call, ctx: sf.Context): any the name",
                "string | ((call: Call, ctx: Context) -> any)",
            ),
            ("fun(self): sf.Answer", "(self: any) -> ...Answer"),
            ("fun(): any, any", "() -> (any, any)"),
            ("nil|false|(string|sf.Span)[]", "nil | false | { string | Span }"),
            ("table?", "{ [any]: any }?"),
        ] {
            assert_eq!(type_of(told).0, expected, "{told}");
        }
    }

    #[test]
    fn what_comes_out_is_luau_and_has_every_function() {
        let text = luau(&crate::lua::reference::types());
        for part in [
            "\nexport type Kind = \"prompt\" | \"reply\" | ",
            "\nexport type Role = \"accent\" | ",
            " | \"tool.name\" | ",
            "\nexport type Answer = nil | false | string | Span | Block | { Answer }\n",
            "\n  kind: Kind,\n",
            "\n  data: Data,\n",
            "\n  stdout: string?,\n",
            "\n  matches: (number | { any })?,\n",
            "\n  input: Input,\n",
            "arg: (string | ((input: Input, call: Call, ctx: Context) -> any))?,",
            "\n  [string]: any,\n",
            " on: (kind: Event, fn: ",
            " span: (text: string, role: Role?) -> Span,",
            ") -> (string, boolean),",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for row in crate::lua::api::FUNCTIONS {
            let name = row.name.rsplit('.').next().unwrap_or_default();
            assert!(text.contains(&format!(" {name}: (")), "{name}: {text}");
        }
        // Luau itself reads all but the word `declare`.
        let source = text.replace("declare sf: {", "local sf: {") + " = nil :: any";
        let lua = mlua::Lua::new();
        if let Err(error) = lua.load(&source).into_function() {
            panic!("{error}\n{source}");
        }
    }
}
