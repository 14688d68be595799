//! What is said, as the tables that scripts see.

use std::fmt::Write;

use mlua::{Lua, Table, Value};
use streamfmt_core::entry::{Block, Change, Hunk, Line, Role, View};
use streamfmt_core::text::Text;

/// A view as tables, for `default()`: scripts may wrap or amend it and give it back.
pub(super) fn to_lua(lua: &Lua, view: &View) -> mlua::Result<Value> {
    let root = lua.create_table()?;
    if !view.title.is_empty() || view.mark.is_some() {
        let header = typed(lua, "header")?;
        match view.mark {
            Some(mark) => header.raw_set("mark", mark)?,
            None => header.raw_set("mark", false)?,
        }
        header.raw_set("line", line_to_lua(lua, &view.title)?)?;
        root.raw_push(header)?;
    }
    let mut open = vec![(root.clone(), view.body.iter())];
    while let Some((list, blocks)) = open.last_mut() {
        let Some(block) = blocks.next() else {
            open.pop();
            continue;
        };
        let list = list.clone();
        if let Block::Details { summary, body } = block {
            let (table, inside) = (typed(lua, "details")?, lua.create_table()?);
            table.raw_set("summary", line_to_lua(lua, summary)?)?;
            table.raw_set("blocks", inside.clone())?;
            list.raw_push(table)?;
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
                list.raw_push(line_to_lua(lua, line)?)?;
            }
            return Ok(());
        }
        Block::Prose { text, role } => {
            let table = typed(lua, "prose")?;
            table.raw_set("text", text.as_str())?;
            table.raw_set("role", role.name())?;
            table
        }
        Block::Code { text, lang, start, role } => {
            let table = typed(lua, "code")?;
            table.raw_set("text", text.as_str())?;
            table.raw_set("lang", lang.as_deref())?;
            table.raw_set("start", start.map(|start| start as f64))?;
            table.raw_set("role", role.name())?;
            table
        }
        Block::Diff { path, hunks } => {
            let (table, told) = (typed(lua, "diff")?, lua.create_table()?);
            for hunk in hunks {
                let (one, lines) = (lua.create_table()?, lua.create_table()?);
                for line in &hunk.lines {
                    lines.raw_push(format!("{}{}", mark(line.change), &*line.text))?;
                }
                one.raw_set("old_start", hunk.old_start.map(|start| start as f64))?;
                one.raw_set("new_start", hunk.new_start.map(|start| start as f64))?;
                one.raw_set("lines", lines)?;
                told.raw_push(one)?;
            }
            table.raw_set("path", path.as_deref())?;
            table.raw_set("hunks", told)?;
            table
        }
        Block::List { items } => {
            let (table, told) = (typed(lua, "list")?, lua.create_table()?);
            for item in items {
                let one = lua.create_table()?;
                one.raw_set("point", item.point.name())?;
                one.raw_set("text", line_to_lua(lua, &item.line)?)?;
                told.raw_push(one)?;
            }
            table.raw_set("items", told)?;
            table
        }
        Block::Table { head, rows } => {
            let (table, told) = (typed(lua, "table")?, lua.create_table()?);
            let row = |cells: &[Line]| -> mlua::Result<Table> {
                let row = lua.create_table()?;
                for cell in cells {
                    row.raw_push(line_to_lua(lua, cell)?)?;
                }
                Ok(row)
            };
            for cells in rows {
                told.raw_push(row(cells)?)?;
            }
            table.raw_set("head", row(head)?)?;
            table.raw_set("rows", told)?;
            table
        }
        Block::Image { media, bytes, name, .. } => {
            let table = typed(lua, "image")?;
            table.raw_set("media", media.as_str())?;
            table.raw_set("bytes", bytes.map(|bytes| bytes as f64))?;
            table.raw_set("name", name.as_deref())?;
            table
        }
        Block::Elided { lines, bytes } => {
            let table = typed(lua, "elided")?;
            table.raw_set("lines", *lines as f64)?;
            table.raw_set("bytes", *bytes as f64)?;
            table
        }
        _ => return Ok(()),
    };
    list.raw_push(table)
}

pub(super) fn line_to_lua(lua: &Lua, line: &Line) -> mlua::Result<Table> {
    let table = typed(lua, "line")?;
    for span in &line.spans {
        let one = typed(lua, if span.link.is_some() { "link" } else { "span" })?;
        one.raw_set("text", span.text.as_str())?;
        one.raw_set("role", span.role.name())?;
        one.raw_set("url", span.link.as_deref())?;
        table.raw_push(one)?;
    }
    Ok(table)
}

pub(super) fn typed(lua: &Lua, kind: &str) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("type", kind)?;
    Ok(table)
}

/// The name that a writer in Lua has for a block.
pub(super) fn name(block: &Block) -> &'static str {
    match block {
        Block::Lines { .. } => "lines",
        Block::Prose { .. } => "prose",
        Block::Code { .. } => "code",
        Block::Diff { .. } => "diff",
        Block::List { .. } => "list",
        Block::Table { .. } => "table",
        Block::Image { .. } => "image",
        Block::Details { .. } => "details",
        Block::Elided { .. } => "elided",
        _ => "other",
    }
}

/// One block as a table; lines are a list of them.
pub(super) fn block(lua: &Lua, block: &Block) -> mlua::Result<Table> {
    let list = match to_lua(lua, &View::of(vec![block.clone()]))? {
        Value::Table(list) => list,
        _ => lua.create_table()?,
    };
    if let Block::Lines { .. } = block {
        return Ok(list);
    }
    let table: Table = list.raw_get(1)?;
    if let Block::Diff { path, hunks } = block {
        let text = unified(path.as_deref(), hunks);
        table.raw_set("unified", lua.create_function(move |lua, _: Value| lua.create_string(&text))?)?;
    }
    Ok(table)
}

/// A heading of Markdown.
pub(super) fn heading(lua: &Lua, level: u8, text: &Text, role: &Role) -> mlua::Result<Table> {
    let table = line_to_lua(lua, &Line::of(role.clone(), text.clone()))?;
    table.raw_set("type", "heading")?;
    table.raw_set("level", level)?;
    table.raw_set("text", text.as_str())?;
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
        let count = |without: Change| hunk.lines.iter().filter(|line| line.change != without).count();
        let (old, new) = (hunk.old_start.unwrap_or(1), hunk.new_start.unwrap_or(1));
        let _ = writeln!(out, "@@ -{old},{} +{new},{} @@", count(Change::Add), count(Change::Remove));
        for line in &hunk.lines {
            out.push(mark(line.change));
            out.push_str(&line.text);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

fn mark(change: Change) -> char {
    match change {
        Change::Keep => ' ',
        Change::Add => '+',
        Change::Remove => '-',
    }
}
