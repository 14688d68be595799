//! What scripts give back, as blocks: checked, bounded, and every text cleaned on the way.
//!
//! A block is a plain table with a `type`, made by the functions of `sf` or by hand; a table without one is
//! a list. Tables are read raw, so that reading them runs no script, and with a list of open tables, so that
//! one inside another, or inside itself, costs nothing but an error.

use std::borrow::Cow;
use std::cell::Cell;

use mlua::{Lua, LuaString, Table, Value};
use streamfmt_core::entry::{Block, Line, Role, Span, View};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::session::Facts;
use streamfmt_core::text::Text;
use streamfmt_core::theme;

use super::item::{Handle, type_name};

/// Blocks and spans of one answer.
const MOST_PARTS: usize = 20_000;
/// Bytes of text of one answer.
const MOST_BYTES: usize = 8 << 20;
/// Tables inside one another.
const DEEPEST: usize = 32;
/// Longest text that stands in a title, in bytes.
const SHORT: usize = 300;
/// The types of tables, so that a name of one need not be copied.
const TYPES: [&str; 18] = [
    "header", "path", "span", "line", "text", "link", "code", "prose", "details", "note", "diff", "list",
    "table", "kv", "heading", "image", "elided", "title",
];

/// What is wrong with an answer.
pub(super) type Wrong = String;

/// Reads one answer of a script.
pub(super) struct Reader<'a> {
    pub(super) lua: &'a Lua,
    facts: &'a Facts,
    /// The label of the call at hand, for `sf.header`.
    label: &'a dyn Fn() -> Line,
    parts: Cell<usize>,
    bytes: Cell<usize>,
    pub(super) compared: Cell<usize>,
}

/// A part of an answer: one that may become the title, or a block.
pub(super) enum Piece {
    Title { mark: Option<&'static str>, line: Line },
    Line { mark: Option<&'static str>, line: Line },
    Block(Block),
}

/// A table that is being read.
struct Open {
    items: Table,
    at: usize,
    /// What stands for it if it is a `details`; else it is a list.
    summary: Option<Line>,
    out: Vec<Piece>,
}

impl<'a> Reader<'a> {
    /// A reader of one answer.
    pub(super) fn new(lua: &'a Lua, facts: &'a Facts, label: &'a dyn Fn() -> Line) -> Self {
        Self { lua, facts, label, parts: Cell::new(0), bytes: Cell::new(0), compared: Cell::new(0) }
    }

    /// An answer as the whole view of an item.
    pub(super) fn view(&self, answer: Value, item: &Item) -> Result<View, Wrong> {
        let mut pieces = self.pieces(answer)?.into_iter().peekable();
        let mut view = View { mark: usual_mark(item), title: Line::default(), body: Vec::new() };
        let is_titled = matches!(
            item.kind,
            Kind::Call | Kind::Result | Kind::Plan | Kind::Notice | Kind::Outcome | Kind::Unknown
        );
        match pieces.next_if(|piece| match piece {
            Piece::Title { .. } => true,
            Piece::Line { .. } => is_titled,
            Piece::Block(_) => false,
        }) {
            Some(Piece::Title { mark, line }) => {
                view.title = line;
                view.mark = mark;
            }
            Some(Piece::Line { mark, line }) => {
                view.title = line;
                view.mark = mark.or(view.mark);
            }
            _ => {}
        }
        view.body = blocks(pieces);
        Ok(view)
    }

    /// An answer as blocks alone.
    pub(super) fn body(&self, answer: Value) -> Result<Vec<Block>, Wrong> {
        Ok(blocks(self.pieces(answer)?))
    }

    /// An answer as one line. A list is written with blanks between.
    pub(super) fn line(&self, answer: &Value, role: &Role) -> Result<Line, Wrong> {
        let Value::Table(table) = answer else { return Ok(Line { spans: self.spans(answer, role)? }) };
        if let Some(kind) = kind_of(table)? {
            return Ok(Line { spans: self.spans_of(table, &kind, role)? });
        }
        let mut line = Line::default();
        for index in 1..=table.raw_len() {
            let spans = self.spans(&get(table, index)?, role)?;
            if !line.spans.is_empty() && !spans.is_empty() {
                line.spans.push(Span::new("text", Text::own(" ")));
            }
            line.spans.extend(spans);
        }
        Ok(line)
    }

    fn pieces(&self, answer: Value) -> Result<Vec<Piece>, Wrong> {
        let mut open: Vec<Open> = Vec::new();
        let mut out = Vec::new();
        let mut next = Some(answer);
        loop {
            let value = match next.take() {
                Some(value) => value,
                None => match open.last_mut() {
                    None => return Ok(out),
                    Some(list) if list.at < list.items.raw_len() => {
                        list.at += 1;
                        get(&list.items, list.at)?
                    }
                    Some(_) => {
                        let Some(done) = open.pop() else { return Ok(out) };
                        let into = open.last_mut().map_or(&mut out, |list| &mut list.out);
                        match done.summary {
                            Some(summary) => {
                                into.push(Piece::Block(Block::Details { summary, body: blocks(done.out) }));
                            }
                            None => into.extend(done.out),
                        }
                        continue;
                    }
                },
            };
            let Value::Table(table) = &value else {
                let piece = self.text_piece(&value, Role::of("text"))?;
                open.last_mut().map_or(&mut out, |list| &mut list.out).push(piece);
                continue;
            };
            let kind = kind_of(table)?;
            let opened = match kind.as_deref() {
                None => Some((table.clone(), None)),
                Some("details") => {
                    let summary = self.line(&get(table, "summary")?, &Role::of("details.summary"))?;
                    let inside = match get(table, "blocks")? {
                        Value::Table(list) if kind_of(&list)?.is_none() => list,
                        one => self.lua.create_sequence_from([one]).map_err(|error| error.to_string())?,
                    };
                    Some((inside, Some(summary)))
                }
                Some(_) => None,
            };
            match (opened, kind) {
                (Some((items, summary)), _) => {
                    if open.len() >= DEEPEST {
                        return Err(format!("tables are nested more than {DEEPEST} deep"));
                    }
                    self.count(0)?;
                    open.push(Open { items, at: 0, summary, out: Vec::new() });
                }
                (None, Some(kind)) => {
                    let piece = self.piece(table, &kind)?;
                    open.last_mut().map_or(&mut out, |list| &mut list.out).push(piece);
                }
                (None, None) => {}
            }
        }
    }

    /// A table with a type, other than a list or details.
    fn piece(&self, table: &Table, kind: &str) -> Result<Piece, Wrong> {
        let block = match kind {
            "text" => return self.text_piece(&get(table, "text")?, self.role(table, &Role::of("text"))?),
            "span" | "line" | "path" | "link" => {
                let line = Line { spans: self.spans_of(table, kind, &Role::of("text"))? };
                return Ok(Piece::Line { mark: None, line });
            }
            "header" => return self.header(table),
            "note" => return self.note(table),
            "prose" => Block::Prose {
                text: self.text(&get(table, "text")?, "sf.prose")?,
                role: self.role(table, &Role::of("reply"))?,
            },
            "heading" => {
                let text = self.text(&get(table, "text")?, "a heading")?;
                let level = number(table, "level")?.unwrap_or(1).clamp(1, 6);
                let marks = "#".repeat(usize::try_from(level).unwrap_or(1));
                Block::Prose { text: Text::clean_owned(format!("{marks} {text}")), role: Role::of("reply") }
            }
            "code" => Block::Code {
                text: self.code(table)?,
                lang: self.optional(table, "lang")?,
                start: number(table, "start")?,
                role: self.role(table, &Role::of("result.text"))?,
            },
            "diff" => Block::Diff { path: self.optional(table, "path")?, hunks: self.hunks(table)? },
            "table" => return self.table(table),
            "kv" => self.pairs(table)?,
            "list" => self.list(table)?,
            "image" => Block::Image {
                media: self.text(&get(table, "media")?, "an image")?,
                bytes: number(table, "bytes")?,
                name: self.optional(table, "name")?,
                picture: None,
            },
            "elided" => Block::Elided {
                lines: number(table, "lines")?.unwrap_or(0),
                bytes: number(table, "bytes")?.unwrap_or(0),
            },
            other => return Err(format!("there is no block of type \"{other}\"")),
        };
        self.count(0)?;
        Ok(Piece::Block(block))
    }

    /// A text where a block may stand: one line, or verbatim text.
    fn text_piece(&self, value: &Value, role: Role) -> Result<Piece, Wrong> {
        let text = self.text(value, "what is returned")?;
        Ok(if text.contains('\n') || text.len() > SHORT {
            Piece::Block(Block::text(role, text.trimmed_end()))
        } else {
            Piece::Line { mark: None, line: Line::of(role, text) }
        })
    }

    /// The text of a `code`: without the blanks at its end, unless it is to be exact.
    fn code(&self, table: &Table) -> Result<Text, Wrong> {
        let text = self.text(&get(table, "text")?, "sf.code")?;
        let is_exact = matches!(get(table, "exact")?, Value::Boolean(true));
        Ok(if is_exact { without_last_feed(text) } else { text.trimmed_end() })
    }

    fn header(&self, table: &Table) -> Result<Piece, Wrong> {
        let mark = match get(table, "mark")? {
            Value::Nil => Some("call"),
            Value::Boolean(false) => None,
            name => theme::mark(&self.text(&name, "the mark of a header")?),
        };
        let mut line = match get(table, "call")? {
            Value::Nil => match get(table, "line")? {
                Value::Nil => Line::default(),
                line => self.line(&line, &Role::of("text"))?,
            },
            call if Handle::of(&call).is_some() => (self.label)(),
            other => {
                return Err(format!("sf.header: a call or nil was expected, not a {}", type_name(&other)));
            }
        };
        let arg = match get(table, "arg")? {
            Value::Nil => Line::default(),
            arg => self.line(&arg, &Role::of("call.arg"))?,
        };
        if !line.is_empty() && !arg.is_empty() {
            line.spans.push(Span::new("text", Text::own(" ")));
        }
        line.spans.extend(arg.spans);
        Ok(Piece::Title { mark, line })
    }

    fn note(&self, table: &Table) -> Result<Piece, Wrong> {
        let level = self.text(&get(table, "level")?, "the level of sf.note")?;
        let (mark, role) = match &*level {
            "info" => ("notice", "notice"),
            "warning" => ("warning", "notice.warning"),
            "error" => ("error", "result.error"),
            other => {
                return Err(format!("sf.note: the level is info, warning or error, not \"{other}\""));
            }
        };
        let line = match get(table, "text")? {
            text @ Value::Table(_) => self.line(&text, &Role::of(role))?,
            text => match self.text_piece(&text, Role::of(role))? {
                Piece::Line { line, .. } | Piece::Title { line, .. } => line,
                Piece::Block(block) => return Ok(Piece::Block(block)),
            },
        };
        Ok(Piece::Line { mark: Some(mark), line })
    }

    /// A value inside a line.
    fn spans(&self, value: &Value, role: &Role) -> Result<Vec<Span>, Wrong> {
        let Value::Table(table) = value else {
            return Ok(vec![Span::new(role.clone(), self.text(value, "a span")?)]);
        };
        match kind_of(table)? {
            Some(kind) => self.spans_of(table, &kind, role),
            None => Err("a list can't stand inside a line".to_owned()),
        }
    }

    /// A table with a type inside a line.
    fn spans_of(&self, table: &Table, kind: &str, role: &Role) -> Result<Vec<Span>, Wrong> {
        let text = || -> Result<Text, Wrong> { self.text(&get(table, "text")?, "a span") };
        match kind {
            "span" | "text" => Ok(vec![Span::new(self.role(table, role)?, text()?)]),
            "path" => {
                let path = self.facts.relative(self.text(&get(table, "path")?, "sf.path")?);
                Ok(vec![Span::new(self.role(table, &Role::of("call.arg"))?, path)])
            }
            "link" => {
                let url = self.text(&get(table, "url")?, "the address of sf.link")?;
                Ok(vec![Span::new(self.role(table, &Role::of("link"))?, text()?).linked(url)])
            }
            "line" => {
                let mut spans = Vec::new();
                for index in 1..=table.raw_len() {
                    let part = get(table, index)?;
                    let Value::Table(inner) = &part else {
                        spans.extend(self.spans(&part, role)?);
                        continue;
                    };
                    match kind_of(inner)? {
                        Some(kind) if kind != "line" => spans.extend(self.spans_of(inner, &kind, role)?),
                        _ => return Err("sf.line: its parts are texts and spans".to_owned()),
                    }
                }
                Ok(spans)
            }
            other => Err(format!("a {other} can't stand inside a line")),
        }
    }

    /// A text or a number, cleaned and counted.
    pub(super) fn text(&self, value: &Value, what: &str) -> Result<Text, Wrong> {
        let text = match value {
            Value::String(text) => {
                self.count(text.as_bytes().len())?;
                Text::clean_owned(string(text))
            }
            Value::Integer(number) => Text::clean_owned(number.to_string()),
            Value::Number(number) if number.is_finite() => Text::clean_owned(number.to_string()),
            Value::Number(_) => {
                return Err(format!("{what}: a text was expected, not a number without a value"));
            }
            other => return Err(format!("{what}: a text was expected, not a {}", type_name(other))),
        };
        self.count(0)?;
        Ok(text)
    }

    pub(super) fn optional(&self, table: &Table, key: &str) -> Result<Option<Text>, Wrong> {
        match get(table, key)? {
            Value::Nil => Ok(None),
            value => self.text(&value, key).map(Some),
        }
    }

    fn role(&self, table: &Table, usual: &Role) -> Result<Role, Wrong> {
        match self.optional(table, "role")? {
            Some(name) => Role::parse(&name).ok_or_else(|| format!("\"{name}\" is no name of a role")),
            None => Ok(usual.clone()),
        }
    }

    /// Counts a part and bytes of text towards what an answer may hold.
    fn count(&self, bytes: usize) -> Result<(), Wrong> {
        self.parts.set(self.parts.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
        if self.parts.get() > MOST_PARTS {
            return Err(format!("more than {MOST_PARTS} parts were returned"));
        }
        if self.bytes.get() > MOST_BYTES {
            return Err(format!("more than {} MiB of text were returned", MOST_BYTES >> 20));
        }
        Ok(())
    }
}

/// The blocks of pieces, with lines that stand together in one block.
fn blocks(pieces: impl IntoIterator<Item = Piece>) -> Vec<Block> {
    let mut body: Vec<Block> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Block(block) => body.push(block),
            Piece::Title { line, .. } | Piece::Line { line, .. } => match body.last_mut() {
                Some(Block::Lines { lines }) => lines.push(line),
                _ => body.push(Block::line(line)),
            },
        }
    }
    body
}

/// A text without its final line feed, which ends its last line and begins none.
fn without_last_feed(mut text: Text) -> Text {
    if text.ends_with('\n') {
        text.truncate(text.len() - 1);
    }
    text
}

/// The mark of an item whose script gives none.
fn usual_mark(item: &Item) -> Option<&'static str> {
    match item.kind {
        Kind::Call => Some("call"),
        Kind::Result if item.error => Some("error"),
        Kind::Prompt => Some("prompt"),
        Kind::Thinking => Some("thinking"),
        Kind::Plan => Some("plan"),
        Kind::Notice => Some("notice"),
        Kind::Outcome if item.error => Some("outcome-error"),
        Kind::Outcome => Some("outcome-ok"),
        _ => None,
    }
}

pub(super) fn get(table: &Table, key: impl mlua::IntoLua) -> Result<Value, Wrong> {
    table.raw_get(key).map_err(|error| error.to_string())
}

/// The type of a table; a list has none.
pub(super) fn kind_of(table: &Table) -> Result<Option<Cow<'static, str>>, Wrong> {
    let Value::String(kind) = get(table, "type")? else { return Ok(None) };
    let name = kind.as_bytes();
    let known = TYPES.iter().find(|known| known.as_bytes() == &*name);
    Ok(Some(known.map_or_else(|| string(&kind).into(), |known| (*known).into())))
}

/// A text of a script's, which may be any bytes.
pub(super) fn string(text: &LuaString) -> String {
    text.to_str().map_or_else(|_| text.to_string_lossy(), |text| text.to_owned())
}

/// The whole number from 0 under `key`.
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
pub(super) fn number(table: &Table, key: &str) -> Result<Option<u64>, Wrong> {
    match get(table, key)? {
        Value::Nil => Ok(None),
        Value::Integer(number) if number >= 0 => Ok(Some(number.unsigned_abs())),
        Value::Number(number) if (0.0..9e15).contains(&number) => Ok(Some(number as u64)),
        _ => Err(format!("{key}: a number from 0 was expected")),
    }
}
