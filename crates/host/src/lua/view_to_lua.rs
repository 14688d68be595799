//! Views, blocks and lines as the Lua tables that scripts get. The way back is in `block.rs`.

use std::fmt::Write;

use mlua::{IntoLua, Lua, Table, Value};
use streamfmt_core::entry::{Block, Hunk, Line, Role, View};
use streamfmt_core::text::Text;

use super::vm::unlimited;

/// A view as tables, for `default()`: scripts may wrap or amend it and give it back.
pub(super) fn to_lua(lua: &Lua, view: &View) -> mlua::Result<Value> {
    let root = table_in(lua)?;
    if !view.title.is_empty() || view.mark.is_some() {
        let header = typed(lua, "header")?;
        match view.mark {
            Some(mark) => put(lua, &header, "mark", mark)?,
            None => put(lua, &header, "mark", false)?,
        }
        put(lua, &header, "line", line_to_lua(lua, &view.title)?)?;
        push(lua, &root, header)?;
    }
    let mut open = vec![(root.clone(), view.body.iter())];
    while let Some((list, blocks)) = open.last_mut() {
        let Some(block) = blocks.next() else {
            open.pop();
            continue;
        };
        let list = list.clone();
        if let Block::Details { summary, body } = block {
            let (table, inside) = (typed(lua, "details")?, table_in(lua)?);
            put(lua, &table, "summary", line_to_lua(lua, summary)?)?;
            put(lua, &table, "blocks", inside.clone())?;
            push(lua, &list, table)?;
            open.push((inside, body.iter()));
        } else {
            block_to_lua(lua, block, &list)?;
        }
    }
    Ok(Value::Table(root))
}

pub(super) fn block_to_lua(lua: &Lua, block: &Block, list: &Table) -> mlua::Result<()> {
    let table = match block {
        Block::Lines { lines } => {
            for line in lines {
                push(lua, list, line_to_lua(lua, line)?)?;
            }
            return Ok(());
        }
        Block::Prose { text, role } => {
            let table = typed(lua, "prose")?;
            put(lua, &table, "text", text.as_str())?;
            put(lua, &table, "role", role.name())?;
            table
        }
        Block::Code { text, lang, start, role } => {
            let table = typed(lua, "code")?;
            put(lua, &table, "text", text.as_str())?;
            put(lua, &table, "lang", lang.as_deref())?;
            put(lua, &table, "start", start.map(|start| start as f64))?;
            put(lua, &table, "role", role.name())?;
            table
        }
        Block::Diff { path, hunks } => {
            let (table, told) = (typed(lua, "diff")?, table_in(lua)?);
            for hunk in hunks {
                let (one, lines) = (table_in(lua)?, table_in(lua)?);
                for line in hunk.lines.iter() {
                    push(lua, &lines, format!("{}{}", line.change.sign(), line.text))?;
                }
                put(lua, &one, "old_start", hunk.old_start.map(|start| start as f64))?;
                put(lua, &one, "new_start", hunk.new_start.map(|start| start as f64))?;
                put(lua, &one, "lines", lines)?;
                push(lua, &told, one)?;
            }
            put(lua, &table, "path", path.as_deref())?;
            put(lua, &table, "hunks", told)?;
            table
        }
        Block::List { items } => {
            let (table, told) = (typed(lua, "list")?, table_in(lua)?);
            for item in items {
                let one = table_in(lua)?;
                put(lua, &one, "point", item.point.name())?;
                put(lua, &one, "text", line_to_lua(lua, &item.line)?)?;
                push(lua, &told, one)?;
            }
            put(lua, &table, "items", told)?;
            table
        }
        Block::Table { head, rows } => {
            let (table, told) = (typed(lua, "table")?, table_in(lua)?);
            let row = |cells: &[Line]| -> mlua::Result<Table> {
                let row = table_in(lua)?;
                for cell in cells {
                    push(lua, &row, line_to_lua(lua, cell)?)?;
                }
                Ok(row)
            };
            for cells in rows {
                push(lua, &told, row(cells)?)?;
            }
            put(lua, &table, "head", row(head)?)?;
            put(lua, &table, "rows", told)?;
            table
        }
        Block::Image { media, bytes, name, .. } => {
            let table = typed(lua, "image")?;
            put(lua, &table, "media", media.as_str())?;
            put(lua, &table, "bytes", bytes.map(|bytes| bytes as f64))?;
            put(lua, &table, "name", name.as_deref())?;
            table
        }
        Block::Elided { lines, bytes } => {
            let table = typed(lua, "elided")?;
            put(lua, &table, "lines", *lines as f64)?;
            put(lua, &table, "bytes", *bytes as f64)?;
            table
        }
        Block::Details { .. } => return Ok(()),
    };
    push(lua, list, table)
}

pub(super) fn line_to_lua(lua: &Lua, line: &Line) -> mlua::Result<Table> {
    let table = typed(lua, "line")?;
    for span in &line.spans {
        let one = typed(lua, if span.link.is_some() { "link" } else { "span" })?;
        put(lua, &one, "text", span.text.as_str())?;
        put(lua, &one, "role", span.role.name())?;
        put(lua, &one, "url", span.link.as_deref())?;
        push(lua, &table, one)?;
    }
    Ok(table)
}

/// A new table. Like all that follows it may be made while a script waits in `default()`, under the memory limit.
fn table_in(lua: &Lua) -> mlua::Result<Table> {
    unlimited(lua, || lua.create_table())
}

fn put(lua: &Lua, table: &Table, key: &str, value: impl IntoLua) -> mlua::Result<()> {
    unlimited(lua, || table.raw_set(key, value))
}

fn push(lua: &Lua, list: &Table, value: impl IntoLua) -> mlua::Result<()> {
    unlimited(lua, || list.raw_push(value))
}

pub(super) fn typed(lua: &Lua, kind: &str) -> mlua::Result<Table> {
    let table = table_in(lua)?;
    put(lua, &table, "type", kind)?;
    Ok(table)
}

/// One block as a table; lines are a list of them.
pub(super) fn block(lua: &Lua, block: &Block) -> mlua::Result<Table> {
    let list = match to_lua(lua, &View::of(vec![block.clone()]))? {
        Value::Table(list) => list,
        _ => table_in(lua)?,
    };
    if let Block::Lines { .. } = block {
        return Ok(list);
    }
    let table: Table = list.raw_get(1)?;
    if let Block::Diff { path, hunks } = block {
        let text = unified(path.as_deref(), hunks);
        put(lua, &table, "unified", lua.create_function(move |lua, _: Value| lua.create_string(&text))?)?;
    }
    Ok(table)
}

/// A heading of Markdown.
pub(super) fn heading(lua: &Lua, level: u8, text: &Text, role: &Role) -> mlua::Result<Table> {
    let table = line_to_lua(lua, &Line::of(role.clone(), text.clone()))?;
    put(lua, &table, "type", "heading")?;
    put(lua, &table, "level", level)?;
    put(lua, &table, "text", text.as_str())?;
    Ok(table)
}

/// What stands for one line in a table that a script was given: the spans of a title or a heading, or the
/// summary of details.
pub(super) fn as_line(lua: &Lua, value: &Value) -> mlua::Result<Value> {
    let Value::Table(table) = value else { return Ok(value.clone()) };
    let kind: Value = table.raw_get("type")?;
    let Value::String(kind) = kind else { return Ok(value.clone()) };
    match kind.to_string_lossy().as_str() {
        "title" | "heading" => {
            let line = typed(lua, "line")?;
            for index in 1..=table.raw_len() {
                push(lua, &line, table.raw_get::<Value>(index)?)?;
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
