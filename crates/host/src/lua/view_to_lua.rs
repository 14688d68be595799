//! Views, blocks and lines as the Lua tables that scripts get. The way back is in `block.rs`.
//!
//! A block is the table that it is as JSON, but for its lines: a line has a type and so have its spans, several lines aren't a
//! block of their own, and a line of a diff is a text.

use std::fmt::Write;

use mlua::{FromLua, IntoLua, Lua, LuaSerdeExt, Table, Value};
use streamfmt_core::entry::{Block, DiffLine, Hunk, Line, ListItem, Role, View};
use streamfmt_core::text::Text;

use super::vm::unlimited;

/// A view as tables, for `default()`: scripts may wrap or amend it and give it back.
pub(super) fn to_lua(lua: &Lua, view: &View) -> mlua::Result<Value> {
    unlimited(lua, || {
        let list = lua.create_table()?;
        if !view.title.is_empty() || view.mark.is_some() {
            let mark = view.mark.map_or(Ok(Value::Boolean(false)), |mark| mark.into_lua(lua))?;
            let line = line_table(lua, &view.title)?;
            list.raw_push(table(lua, "header", [("mark", mark), ("line", Value::Table(line))])?)?;
        }
        push_blocks(lua, &view.body, &list)?;
        Ok(Value::Table(list))
    })
}

/// One block as a table; lines are a list of them. A diff can be had as `diff -u` writes it, too.
pub(super) fn block(lua: &Lua, block: &Block) -> mlua::Result<Table> {
    unlimited(lua, || match block {
        Block::Lines { lines } => list(lua, lines, line_table),
        Block::Diff { path, hunks } => {
            let table = block_table(lua, block)?;
            let text = unified(path.as_deref(), hunks);
            table.raw_set("unified", lua.create_function(move |lua, _: Value| lua.create_string(&text))?)?;
            Ok(table)
        }
        block => block_table(lua, block),
    })
}

/// A line as the table of its spans.
pub(super) fn line_to_lua(lua: &Lua, line: &Line) -> mlua::Result<Table> {
    unlimited(lua, || line_table(lua, line))
}

/// A heading of Markdown.
pub(super) fn heading(lua: &Lua, level: u8, text: &Text, role: &Role) -> mlua::Result<Table> {
    unlimited(lua, || {
        let table = line_table(lua, &Line::of(role.clone(), text.clone()))?;
        table.raw_set("type", "heading")?;
        table.raw_set("level", level)?;
        table.raw_set("text", text.as_str())?;
        Ok(table)
    })
}

fn push_blocks(lua: &Lua, blocks: &[Block], list: &Table) -> mlua::Result<()> {
    blocks.iter().try_for_each(|block| match block {
        Block::Lines { lines } => lines.iter().try_for_each(|line| list.raw_push(line_table(lua, line)?)),
        block => list.raw_push(block_table(lua, block)?),
    })
}

fn block_table(lua: &Lua, block: &Block) -> mlua::Result<Table> {
    let cells = |lua: &Lua, row: &[Line]| list(lua, row, line_table);
    match block {
        Block::Diff { path, hunks } => {
            let hunks = list(lua, hunks, hunk_table)?;
            table(lua, "diff", [("path", path.as_deref().into_lua(lua)?), ("hunks", Value::Table(hunks))])
        }
        Block::List { items } => {
            let items = list(lua, items, item_table)?;
            table(lua, "list", [("items", Value::Table(items))])
        }
        Block::Table { head, rows } => {
            let rows = list(lua, rows, |lua, row| cells(lua, row))?;
            table(lua, "table", [("head", Value::Table(cells(lua, head)?)), ("rows", Value::Table(rows))])
        }
        Block::Details { summary, body } => {
            let inside = lua.create_table()?;
            push_blocks(lua, body, &inside)?;
            let summary = Value::Table(line_table(lua, summary)?);
            table(lua, "details", [("summary", summary), ("blocks", Value::Table(inside))])
        }
        block => {
            let options =
                mlua::serde::ser::Options::new().set_array_metatable(false).serialize_none_to_null(false);
            Table::from_lua(lua.to_value_with(block, options)?, lua)
        }
    }
}

fn hunk_table(lua: &Lua, hunk: &Hunk) -> mlua::Result<Table> {
    let lines = lua.create_table()?;
    for DiffLine { change, text } in hunk.lines.iter() {
        lines.raw_push(format!("{}{text}", change.sign()))?;
    }
    let table = lua.create_table()?;
    table.raw_set("old_start", hunk.old_start.map(|start| start as f64))?;
    table.raw_set("new_start", hunk.new_start.map(|start| start as f64))?;
    table.raw_set("lines", lines)?;
    Ok(table)
}

fn item_table(lua: &Lua, item: &ListItem) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("point", item.point.name())?;
    table.raw_set("text", line_table(lua, &item.line)?)?;
    Ok(table)
}

fn line_table(lua: &Lua, line: &Line) -> mlua::Result<Table> {
    let line_table = table(lua, "line", [])?;
    for span in &line.spans {
        let kind = if span.link.is_some() { "link" } else { "span" };
        let span_table = table(
            lua,
            kind,
            [
                ("text", span.text.as_str().into_lua(lua)?),
                ("role", span.role.name().into_lua(lua)?),
                ("url", span.link.as_deref().into_lua(lua)?),
            ],
        )?;
        line_table.raw_push(span_table)?;
    }
    Ok(line_table)
}

/// A table with a type.
fn table<const N: usize>(lua: &Lua, kind: &str, fields: [(&str, Value); N]) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("type", kind)?;
    fields.into_iter().try_for_each(|(name, value)| table.raw_set(name, value))?;
    Ok(table)
}

/// A list of tables.
fn list<T>(lua: &Lua, parts: &[T], make: impl Fn(&Lua, &T) -> mlua::Result<Table>) -> mlua::Result<Table> {
    let list = lua.create_table()?;
    parts.iter().try_for_each(|part| list.raw_push(make(lua, part)?))?;
    Ok(list)
}

/// What stands for one line in a table that a script was given: the spans of a title or a heading, or the
/// summary of details.
pub(super) fn as_line(lua: &Lua, value: &Value) -> mlua::Result<Value> {
    let Value::Table(table) = value else { return Ok(value.clone()) };
    let kind: Value = table.raw_get("type")?;
    let Value::String(kind) = kind else { return Ok(value.clone()) };
    match kind.to_string_lossy().as_str() {
        "title" | "heading" => {
            let line = self::table(lua, "line", [])?;
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

/// A diff as `diff -u` writes it.
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
