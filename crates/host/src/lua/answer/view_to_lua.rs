//! Views, blocks and lines as the Lua tables that scripts receive. `block.rs` reads what scripts return.
//!
//! A block is the same table in Lua as in JSON, except for its lines: a line and its spans have a type, the lines of a
//! `lines` block are listed without it, and a line of a diff is a string.

use std::fmt::Write;

use mlua::serde::ser::Options;
use mlua::{FromLua, Lua, LuaSerdeExt, Table, Value};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use streamfmt_core::entry::{Block, DiffLine, Hunk, Line, ListItem, Mark, Point, Role, View};
use streamfmt_core::text::Text;

use crate::lua::vm::unlimited;

/// A table with a type.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Typed<'a> {
    Header {
        #[serde(serialize_with = "mark_or_false")]
        mark: Mark,
        line: LineTable<'a>,
    },
    Span {
        text: &'a str,
        role: Role,
    },
    Link {
        text: &'a str,
        role: Role,
        url: &'a str,
    },
    Diff {
        path: Option<&'a str>,
        hunks: Vec<HunkTable>,
    },
    List {
        items: Vec<ItemTable<'a>>,
    },
    Table {
        head: Vec<LineTable<'a>>,
        rows: Vec<Vec<LineTable<'a>>>,
    },
    Details {
        summary: LineTable<'a>,
        blocks: Vec<Self>,
    },
    #[serde(untagged)]
    Line(LineTable<'a>),
    /// A block whose table equals its JSON.
    #[serde(untagged)]
    Block(&'a Block),
}

/// A line: a table of its spans with the type `line`.
struct LineTable<'a>(&'a Line);

#[derive(Serialize)]
struct HunkTable {
    old_start: Option<u64>,
    new_start: Option<u64>,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct ItemTable<'a> {
    point: Point,
    text: LineTable<'a>,
}

impl Serialize for LineTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_map(Some(self.0.spans().len() + 1))?;
        table.serialize_entry("type", "line")?;
        for (place, span) in (1..).zip(self.0.spans()) {
            let (text, role) = (span.text(), span.role);
            let span = match span.link {
                Some(url) => Typed::Link { text, role, url },
                None => Typed::Span { text, role },
            };
            table.serialize_entry(&place, &span)?;
        }
        table.end()
    }
}

impl<'a> From<&'a Block> for Typed<'a> {
    fn from(block: &'a Block) -> Self {
        match block {
            Block::Diff { path, hunks } => {
                Self::Diff { path: path.as_deref(), hunks: hunks.iter().map(hunk).collect() }
            }
            Block::List { items } => Self::List { items: items.iter().map(item).collect() },
            Block::Table { head, rows } => {
                Self::Table { head: lines(head), rows: rows.iter().map(|row| lines(row)).collect() }
            }
            Block::Details { summary, body } => {
                Self::Details { summary: LineTable(summary), blocks: blocks(body).collect() }
            }
            block => Self::Block(block),
        }
    }
}

fn hunk(hunk: &Hunk) -> HunkTable {
    let lines = hunk.lines.iter().map(|DiffLine { change, text }| format!("{}{text}", change.sign()));
    HunkTable { old_start: hunk.old_start, new_start: hunk.new_start, lines: lines.collect() }
}

fn item(item: &ListItem) -> ItemTable<'_> {
    ItemTable { point: item.point, text: LineTable(&item.line) }
}

fn lines(lines: &[Line]) -> Vec<LineTable<'_>> {
    lines.iter().map(LineTable).collect()
}

fn blocks(blocks: &[Block]) -> impl Iterator<Item = Typed<'_>> {
    blocks.iter().flat_map(|block| {
        let lines: &[Line] = if let Block::Lines { lines } = block { lines } else { &[] };
        let block = (!matches!(block, Block::Lines { .. })).then(|| Typed::from(block));
        lines.iter().map(|line| Typed::Line(LineTable(line))).chain(block)
    })
}

/// Without a mark, the field is `false`: absent, it would stand for the mark of calls.
fn mark_or_false<S: Serializer>(mark: &Mark, serializer: S) -> Result<S::Ok, S::Error> {
    match mark {
        Some(name) => serializer.serialize_str(name),
        None => serializer.serialize_bool(false),
    }
}

fn table(lua: &Lua, value: &impl Serialize) -> mlua::Result<Table> {
    let options = Options::new().set_array_metatable(false).serialize_none_to_null(false);
    unlimited(lua, || Table::from_lua(lua.to_value_with(value, options)?, lua))
}

/// A view as a list of tables, for `default()`: scripts may wrap or change it and return it.
pub(crate) fn to_lua(lua: &Lua, view: &View) -> mlua::Result<Value> {
    let has_header = !view.title.is_empty() || view.mark.is_some();
    let header = has_header.then_some(Typed::Header { mark: view.mark, line: LineTable(&view.title) });
    let parts: Vec<Typed<'_>> = header.into_iter().chain(blocks(&view.body)).collect();
    table(lua, &parts).map(Value::Table)
}

/// A block as a table; a `lines` block is a list of lines. A diff also has `unified`, which returns it as `diff -u` prints it.
pub(crate) fn block(lua: &Lua, block: &Block) -> mlua::Result<Table> {
    match block {
        Block::Lines { lines } => table(lua, &self::lines(lines)),
        Block::Diff { path, hunks } => {
            let table = table(lua, &Typed::from(block))?;
            let text = unified(path.as_deref(), hunks);
            unlimited(lua, || {
                let unified = lua.create_function(move |lua, _: Value| lua.create_string(&text))?;
                table.raw_set("unified", unified)
            })?;
            Ok(table)
        }
        block => table(lua, &Typed::from(block)),
    }
}

/// A line as a table of its spans.
pub(crate) fn line_to_lua(lua: &Lua, line: &Line) -> mlua::Result<Table> {
    table(lua, &LineTable(line))
}

/// A Markdown heading.
pub(crate) fn heading(lua: &Lua, level: u8, text: &Text, role: Role) -> mlua::Result<Table> {
    let table = line_to_lua(lua, &Line::of(role, text.clone()))?;
    unlimited(lua, || {
        table.raw_set("type", "heading")?;
        table.raw_set("level", level)?;
        table.raw_set("text", text.as_str())
    })?;
    Ok(table)
}

/// The one line of a table that a script received: the spans of a title or a heading, the summary of details, or the text of
/// prose or code.
pub(crate) fn as_line(lua: &Lua, value: &Value) -> mlua::Result<Value> {
    let Value::Table(table) = value else { return Ok(value.clone()) };
    let kind: Value = table.raw_get("type")?;
    let Value::String(kind) = kind else { return Ok(value.clone()) };
    match kind.to_string_lossy().as_str() {
        "title" | "heading" => {
            let line = line_to_lua(lua, &Line::default())?;
            for index in 1..=table.raw_len() {
                line.raw_push(table.raw_get::<Value>(index)?)?;
            }
            Ok(Value::Table(line))
        }
        "details" => table.raw_get("summary"),
        "prose" | "code" => table.raw_get("text"),
        _ => Ok(value.clone()),
    }
}

/// A diff as `diff -u` prints it.
fn unified(path: Option<&str>, hunks: &[Hunk]) -> String {
    let mut out = String::new();
    if let Some(path) = path {
        let path = path.trim_start_matches('/');
        // Writing to a string can't fail.
        let _ = write!(out, "--- a/{path}\n+++ b/{path}\n");
    }
    for hunk in hunks {
        let starts = (hunk.old_start.unwrap_or(1), hunk.new_start.unwrap_or(1));
        hunk.unified(Some(starts), &mut out);
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}
