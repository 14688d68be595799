//! The page of typed facts, `docs/facts.md`.

use std::collections::BTreeSet;
use std::fmt::Write;

use streamfmt::core::item::facts::{BARE_EVENTS, DOES, FACTS, FactOwner, FactRow, FactShape};

const HEAD: &str = "# Typed facts of items (`data`)

<!-- Made from the table in crates/core/src/item/facts.rs. -->

Names are the same for every dialect. Unknown facts are absent. A value with one of these names but a different type is
moved to `odd` (name → value), so you can rely on the types below. They are also in the [schema of items](schema/items.schema.json);
[json.md](json.md) describes the other fields of items.

## Results, by action of the tool

| action | facts |
|---|---|
";

const NOTICES: &str = "
## Notices, by `event`

| event | facts |
|---|---|
";

const OTHERS: &str = "
The list of events is open: new versions of the agents may add events.

## Other items

| kind | facts |
|---|---|
";

const RECORDS: &str = "
A line of a reply that is a JSON object with a string as `type` is also a separate item, a `record`, right after the reply: agents
are often asked to answer programs that way. The formats `text` and `json` don't repeat it, since it is in the reply. `--only record` shows only
records.

### Figures of a run

A stream may have several outcomes, one for each turn of the conversation. Some figures are cumulative: `cost_usd`, `api_ms` and
`models` cover all turns so far, and so does `usage` from Codex. Others cover only the turn: `duration_ms`, `failed_calls`, `turns` (cumulative
before Claude Code 2.0), and `usage` from Claude Code. The known figures of the turn alone are in `turn`: sum those, never `cost_usd`.

A run of several turns ends with a notice `totals`, with the figures of the whole run.

## All facts

| name | type | meaning |
|---|---|---|
";

const DOES_HEAD: &str = "
## What calls do

A call's `does` contains the parts of its input, with the same names for every agent. Parts of the input that have no name
here, or a different type, are only in `input`.

| action | parts |
|---|---|
";

const PARTS_HEAD: &str = "
| name | type | meaning |
|---|---|---|
";

/// The groups of tools on the page: a group's name, and the owners of its facts.
const ACTIONS: [(&str, &[FactOwner]); 12] = [
    ("any", &[FactOwner::All]),
    ("run", &[FactOwner::Run]),
    ("read", &[FactOwner::Read]),
    ("write", &[FactOwner::Write]),
    ("edit", &[FactOwner::Edit]),
    ("write, edit", &[FactOwner::Change]),
    ("search", &[FactOwner::Search]),
    ("fetch", &[FactOwner::Fetch]),
    ("delegate", &[FactOwner::Delegate]),
    ("plan", &[FactOwner::Plan]),
    ("ask", &[FactOwner::Ask]),
    ("mcp", &[FactOwner::Mcp]),
];

pub(super) fn facts_page() -> String {
    let mut out = String::from(HEAD);
    let actions = || ACTIONS.into_iter().chain([("other", &[FactOwner::Other][..])]);
    for (name, on) in actions() {
        group(&mut out, name, FACTS, on);
    }
    out.push_str(NOTICES);
    group(&mut out, "any", FACTS, &[FactOwner::Notices]);
    let events: BTreeSet<&str> = FACTS
        .iter()
        .flat_map(|(_, row)| row.on)
        .filter_map(|on| if let FactOwner::Event(event) = on { Some(*event) } else { None })
        .collect();
    for event in events {
        group(&mut out, &format!("`{event}`"), FACTS, &[FactOwner::Event(event)]);
    }
    let bare: Vec<String> = BARE_EVENTS.iter().map(|event| format!("`{event}`")).collect();
    let _ = writeln!(out, "| {} | |", bare.join(", "));
    out.push_str(OTHERS);
    for (name, on) in [
        ("call", FactOwner::Calls),
        ("prompt", FactOwner::Prompts),
        ("reply", FactOwner::Replies),
        ("thinking", FactOwner::Thinking),
        ("plan", FactOwner::Plans),
        ("record", FactOwner::Records),
        ("outcome", FactOwner::Outcomes),
        ("unknown", FactOwner::Unknown),
    ] {
        group(&mut out, &format!("`{name}`"), FACTS, &[on]);
    }
    out.push_str(RECORDS);
    meanings(&mut out, "", FACTS);
    out.push_str(DOES_HEAD);
    for (name, on) in actions() {
        group(&mut out, name, DOES, on);
    }
    out.push_str(PARTS_HEAD);
    meanings(&mut out, "", DOES);
    out
}

/// A row with the names of a group's facts, if it has any.
fn group(out: &mut String, name: &str, rows: &[FactRow], on: &[FactOwner]) {
    let is_here = |row: &&FactRow| row.1.on.iter().any(|place| on.contains(place));
    let names: Vec<String> = rows.iter().filter(is_here).map(|(name, _)| format!("`{name}`")).collect();
    if !names.is_empty() {
        // Writing to a string can't fail.
        let _ = writeln!(out, "| {name} | {} |", names.join(", "));
    }
}

/// A row for each name with its type and meaning, followed by its parts.
fn meanings(out: &mut String, before: &str, rows: &[FactRow]) {
    for (name, row) in rows {
        let _ = writeln!(out, "| `{before}{name}` | {} | {} |", type_name(row.shape), row.doc);
        let mark = if matches!(row.shape, FactShape::Object(_)) { "." } else { "[]." };
        meanings(out, &format!("{before}{name}{mark}"), row.shape.parts());
    }
}

/// The name of a type on the page.
fn type_name(shape: FactShape) -> &'static str {
    match shape {
        FactShape::Text => "text",
        FactShape::Integer => "whole number",
        FactShape::Number => "number",
        FactShape::Truth => "true or false",
        FactShape::List => "list",
        FactShape::Texts => "list of texts",
        FactShape::Objects(_) | FactShape::Parts(_) => "list of objects",
        FactShape::Object(_) => "object",
        FactShape::IntegerOrText => "whole number or text",
        FactShape::TextOrObject => "text or object",
        FactShape::IntegerOrList => "whole number or list",
        FactShape::Any => "anything",
    }
}
