//! Reads the larger blocks that a script gives back: tables, pairs, lists and diffs. The others are read in `block.rs`.

use mlua::{Table, Value};
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use streamfmt_core::entry::{Block, DiffLines, Hunk, Line, LineChange, ListItem, Point, Role, Span};
use streamfmt_core::text::Text;
use streamfmt_formatters::hunks;

use super::block::{
    AnswerFault, AnswerReader, BlockFields, BlockPiece, get, kind_of, list_of, number, places,
};
use super::item::a_type;
use super::vm::bounded;

/// Lines of all diffs of one answer that are compared.
const MOST_COMPARED: usize = 20_000;
/// Cells of one row.
const MOST_CELLS: usize = 1_000;

impl AnswerReader<'_> {
    pub(super) fn table(&self, mut fields: BlockFields) -> Result<BlockPiece, AnswerFault> {
        let head = self.cells(&fields.take("head"), &Role::of("table.head"))?;
        let mut rows = Vec::new();
        let Value::Table(told) = fields.take("rows") else {
            return Err("sf.table: the rows must be a list of lists".to_owned());
        };
        for row in list_of(&told, "sf.table: the rows are a list, without a key {}")? {
            rows.push(self.cells(&row, &Role::of("text"))?);
        }
        let block = Block::Table { head, rows };
        Ok(BlockPiece::Block(match fields.take("title") {
            Value::Nil => block,
            title => Block::Details {
                summary: self.line(&title, &Role::of("details.summary"))?,
                body: vec![block],
            },
        }))
    }

    fn cells(&self, row: &Value, role: &Role) -> Result<Vec<Line>, AnswerFault> {
        match row {
            Value::Nil => Ok(Vec::new()),
            Value::Table(row) => {
                let mut cells = Vec::new();
                for (place, cell) in
                    places(row, |key| Err(format!("sf.table: a row is a list, without a key {key}")))?
                {
                    let place = usize::try_from(place).unwrap_or(usize::MAX);
                    if place > MOST_CELLS {
                        return Err(format!("sf.table: a row has more than {MOST_CELLS} cells"));
                    }
                    // A gap is an empty cell: what follows stays in its column.
                    cells.resize(place - 1, Line::default());
                    cells.push(self.line(&cell, role)?);
                }
                Ok(cells)
            }
            other => Err(format!("sf.table: a row is a list of cells, not {}", a_type(other))),
        }
    }

    pub(super) fn pairs(&self, pairs: &Value) -> Result<Block, AnswerFault> {
        let Value::Table(pairs) = pairs else {
            return Err("sf.kv: expected a table of keys and values".to_owned());
        };
        let mut told: Vec<(Line, Line)> = Vec::new();
        if pairs.raw_len() > 0 {
            for pair in list_of(pairs, "sf.kv: a list of pairs has no key {}")? {
                let Value::Table(pair) = pair else {
                    return Err("sf.kv: each element is a pair of a key and a value".to_owned());
                };
                told.push((
                    self.line(&get(&pair, 1)?, &Role::of("muted"))?,
                    self.line(&get(&pair, 2)?, &Role::of("text"))?,
                ));
            }
        } else {
            // In the order of the keys: that of a Lua table may differ from run to run.
            pairs
                .for_each(|key: Value, value: Value| {
                    let pair = self
                        .line(&key, &Role::of("muted"))
                        .and_then(|key| Ok((key, self.line(&value, &Role::of("text"))?)));
                    told.push(pair.map_err(mlua::Error::runtime)?);
                    Ok(())
                })
                .map_err(|error| error.to_string())?;
            told.sort_by_key(|(key, _)| {
                key.spans.iter().map(|span| span.text.to_string()).collect::<String>()
            });
        }
        let lines = told.into_iter().map(|(mut key, value)| {
            key.spans.push(Span::new("muted", Text::own(": ")));
            key.spans.extend(value.spans);
            key
        });
        Ok(Block::Lines { lines: lines.collect() })
    }

    pub(super) fn list(&self, items: &Value) -> Result<Block, AnswerFault> {
        let Value::Table(told) = items else {
            return Err("sf.list: expected a list".to_owned());
        };
        let mut items = Vec::new();
        for value in list_of(told, "sf.list: a list has no key {}")? {
            let state = match &value {
                Value::Table(item) if kind_of(item).is_none() => {
                    self.optional(&get(item, "point")?, "point")?.map(|it| (item, it))
                }
                _ => None,
            };
            items.push(match state {
                None => ListItem { point: Point::Plain, line: self.line(&value, &Role::of("text"))? },
                Some((item, other)) => ListItem {
                    point: Point::deserialize(StrDeserializer::<serde::de::value::Error>::new(&other))
                        .map_err(|_| format!("sf.list: there is no point \"{other}\""))?,
                    line: self.line(&get(item, "text")?, &Role::of("text"))?,
                },
            });
        }
        Ok(Block::List { items })
    }

    /// The hunks of a diff: given as such, or found between two texts.
    pub(super) fn hunks(&self, mut fields: BlockFields) -> Result<Vec<Hunk>, AnswerFault> {
        match fields.take("hunks") {
            Value::Nil => {}
            Value::Table(hunks) => return self.given_hunks(&hunks),
            // The stream's own patch is not converted before it is asked for.
            Value::UserData(patch) => {
                let copy = bounded(self.lua, || {
                    let index: mlua::Function = patch.metatable()?.get("__index")?;
                    let table: mlua::Function = index.call((patch.clone(), "table"))?;
                    table.call::<Value>(patch)
                });
                return match copy.map_err(|error| error.to_string())? {
                    Value::Table(hunks) => self.given_hunks(&hunks),
                    _ => Err("sf.patch: expected a list of hunks".to_owned()),
                };
            }
            other => {
                return Err(format!("sf.patch: expected a list of hunks, not {}", a_type(&other)));
            }
        }
        let old = self.text(&fields.take("old"), "sf.diff: the old text")?;
        let new = self.text(&fields.take("new"), "sf.diff: the new text")?;
        let lines = [&old, &new].map(|text| memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1);
        self.compared.set(self.compared.get() + lines[0] + lines[1]);
        if self.compared.get() > MOST_COMPARED {
            return Err(format!("more than {MOST_COMPARED} lines to compare"));
        }
        let context =
            number(&fields.take("context"), "context")?.and_then(|number| usize::try_from(number).ok());
        Ok(hunks(&old, &new, context))
    }

    fn given_hunks(&self, told: &Table) -> Result<Vec<Hunk>, AnswerFault> {
        let mut hunks = Vec::new();
        for index in 1..=told.raw_len() {
            let Value::Table(hunk) = get(told, index)? else {
                return Err("sf.patch: a hunk is a table".to_owned());
            };
            let mut lines = DiffLines::default();
            if let Value::Table(told) = get(&hunk, "lines")? {
                for index in 1..=told.raw_len() {
                    let text = self.text(&get(&told, index)?, "a line of a hunk")?;
                    let (change, skipped) = match text.as_bytes().first() {
                        Some(b'+') => (LineChange::Add, 1),
                        Some(b'-') => (LineChange::Remove, 1),
                        Some(b' ') => (LineChange::Keep, 1),
                        // What is said of a missing final line feed is no line of the file.
                        Some(b'\\') => continue,
                        _ => (LineChange::Keep, 0),
                    };
                    let end = text.find('\n').unwrap_or(text.len());
                    lines.push(change, &text[skipped.min(end)..end]);
                }
            }
            let start = |names: [&str; 2]| -> Result<Option<u64>, AnswerFault> {
                let number = |name| number(&get(&hunk, name)?, name);
                Ok(number(names[0])?.or(number(names[1])?))
            };
            let (old_start, new_start) =
                (start(["oldStart", "old_start"])?, start(["newStart", "new_start"])?);
            hunks.push(Hunk { old_start, new_start, lines });
        }
        Ok(hunks)
    }
}
