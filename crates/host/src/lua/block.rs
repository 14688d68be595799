//! What scripts give back, as blocks: checked, bounded, and every text cleaned on the way.
//!
//! A block is a plain table with a `type`, made by the functions of `sf` or by hand; a table without one is
//! a list. Tables are read raw, so that reading them runs no script, and to a limited depth, so that a table inside itself is an
//! error.

use std::cell::{Cell, RefCell};

use mlua::{Either, Lua, LuaString, Table, Value};
use streamfmt_core::entry::{Block, Line, Role, Span, View};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::session::Facts;
use streamfmt_core::text::Text;
use streamfmt_core::theme::{self, is_role};

use super::current::Handle;
use super::item::{a_type, type_name};

/// Blocks and spans of one answer.
pub(super) const MOST_PARTS: usize = 20_000;
/// Bytes of text of one answer.
pub(super) const MOST_BYTES: usize = 8 << 20;
/// Tables inside one another.
pub(super) const DEEPEST: usize = 32;
/// Longest text that stands in a title, in bytes.
const SHORT: usize = 300;
/// Fields of one table with a type.
const MOST_FIELDS: usize = 32;

/// What is wrong with a table that is neither a block nor a list, for [`list_of`].
const NO_LIST: &str = "a table with the key {} is neither a block nor a list: return a text, a block such as sf.text(…), or a \
                       list of these";

/// What is wrong with an answer.
pub(super) type AnswerFault = String;

/// Reads one answer of a script.
pub(super) struct AnswerReader<'a> {
    pub(super) lua: &'a Lua,
    facts: &'a Facts,
    /// The label of the call at hand, for `sf.header`.
    label: &'a dyn Fn() -> Line,
    parts: Cell<usize>,
    bytes: Cell<usize>,
    pub(super) compared: Cell<usize>,
    /// Roles that it met and that are none of ours.
    pub(super) own_roles: RefCell<Vec<String>>,
}

/// A part of an answer: one that may become the title, or a block.
pub(super) enum BlockPiece {
    Title { mark: Option<&'static str>, line: Line },
    Line { mark: Option<&'static str>, line: Line },
    Block(Block),
}

impl BlockPiece {
    /// A line of spans.
    fn of(spans: Vec<Span>) -> Self {
        Self::Line { mark: None, line: Line { spans } }
    }
}

/// What a table is, with what it holds.
enum AnswerTable {
    /// A list of parts, or of blocks.
    List(Vec<Value>),
    /// The parts of a `line`.
    Line(Vec<Value>),
    /// One with another type.
    Typed(String, BlockFields),
}

impl AnswerTable {
    fn of(table: &Table) -> Result<Self, AnswerFault> {
        Ok(match kind_of(table) {
            None => Self::List(list_of(table, NO_LIST)?),
            Some(kind) if kind == "line" => Self::Line(bare(places(table, |_| Ok(()))?)),
            Some(kind) => Self::Typed(kind, BlockFields::of(table)?),
        })
    }
}

/// The elements of a list in order, without the gaps that `nil` and `false` leave. A table that has other keys is no list:
/// that is what `wrong` says, with the key in place of its `{}`.
pub(super) fn list_of(table: &Table, wrong: &str) -> Result<Vec<Value>, AnswerFault> {
    Ok(bare(places(table, |key| Err(wrong.replace("{}", &key)))?))
}

/// The elements without their places.
fn bare(elements: Vec<(i64, Value)>) -> Vec<Value> {
    elements.into_iter().map(|(_, value)| value).collect()
}

/// The elements of a table with their places from 1 on, in order; `nil` and `false` are none. `other` decides about a key
/// that is no place in a list.
pub(super) fn places(
    table: &Table,
    other: impl Fn(String) -> Result<(), AnswerFault>,
) -> Result<Vec<(i64, Value)>, AnswerFault> {
    let mut found: Vec<(i64, Value)> = Vec::with_capacity(table.raw_len().min(MOST_PARTS));
    let mut refused = None;
    let walked = table.for_each(|key: Value, value: Value| {
        let place = match &key {
            Value::Integer(place) => Some(*place),
            Value::Number(place) if place.fract() == 0.0 && place.abs() < 9e15 => Some(*place as i64),
            _ => None,
        };
        match place.filter(|place| *place > 0) {
            Some(_) if matches!(value, Value::Boolean(false)) => {}
            Some(_) if found.len() == MOST_PARTS => {
                refused = Some(format!("more than {MOST_PARTS} parts were returned"));
            }
            Some(place) => found.push((place, value)),
            None => refused = other(key_name(&key)).err(),
        }
        // Only an error ends the walk; what it says is what was refused.
        if refused.is_none() { Ok(()) } else { Err(mlua::Error::runtime("")) }
    });
    if let Some(refused) = refused {
        return Err(refused);
    }
    walked.map_err(|error| error.to_string())?;
    if !found.is_sorted_by_key(|(place, _)| *place) {
        found.sort_by_key(|(place, _)| *place);
    }
    Ok(found)
}

/// Whether a blank belongs between two parts of a line: not where one of them has it, nor before a mark that closes or separates, nor
/// behind one that opens.
fn needs_blank(before: &str, next: &str) -> bool {
    let opens = |ch: char| ch.is_whitespace() || "([{".contains(ch);
    let closes = |ch: char| ch.is_whitespace() || ",.;:!?)]}".contains(ch);
    !before.ends_with(opens) && !next.starts_with(closes)
}

/// A key of a table as a script may write it.
fn key_name(key: &Value) -> String {
    match key {
        Value::String(name) => format!("\"{}\"", string(name)),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        other => format!("of type {}", type_name(other)),
    }
}

/// The fields of a table.
pub(super) struct BlockFields(Vec<(String, Value)>);

impl BlockFields {
    fn of(table: &Table) -> Result<Self, AnswerFault> {
        let mut fields = Vec::with_capacity(4);
        let mut left = MOST_FIELDS;
        let walked = table.for_each(|key: Either<String, Value>, value: Value| {
            left = left.checked_sub(1).ok_or_else(|| {
                mlua::Error::runtime(format!("a table with more than {MOST_FIELDS} fields is not a block"))
            })?;
            fields.extend(key.left().map(|name| (name, value)));
            Ok(())
        });
        walked.map_err(|error| error.to_string())?;
        Ok(Self(fields))
    }

    /// Takes a field out; `nil` if there is none.
    pub(super) fn take(&mut self, name: &str) -> Value {
        let field = self.0.iter_mut().find(|(known, _)| known == name);
        field.map_or(Value::Nil, |(_, value)| std::mem::replace(value, Value::Nil))
    }
}

impl<'a> AnswerReader<'a> {
    /// A reader of one answer.
    pub(super) fn new(lua: &'a Lua, facts: &'a Facts, label: &'a dyn Fn() -> Line) -> Self {
        Self {
            lua,
            facts,
            label,
            parts: Cell::new(0),
            bytes: Cell::new(0),
            compared: Cell::new(0),
            own_roles: RefCell::default(),
        }
    }

    /// An answer as the whole view of an item.
    pub(super) fn view(&self, answer: &Value, item: &Item) -> Result<View, AnswerFault> {
        let mut pieces = self.pieces(answer)?.into_iter().peekable();
        let mut view = View { mark: usual_mark(item), ..View::default() };
        let is_titled = matches!(
            item.kind,
            Kind::Call | Kind::Result | Kind::Plan | Kind::Notice | Kind::Outcome | Kind::Unknown
        );
        match pieces.next_if(|piece| match piece {
            BlockPiece::Title { .. } => true,
            BlockPiece::Line { .. } => is_titled,
            BlockPiece::Block(_) => false,
        }) {
            Some(BlockPiece::Title { mark, line }) => {
                view = View { mark, ..view.retitled(line) };
            }
            Some(BlockPiece::Line { mark, line }) => {
                view = View { mark: mark.or(view.mark), ..view.retitled(line) };
            }
            _ => {}
        }
        view.body = blocks(pieces);
        Ok(view)
    }

    /// An answer as blocks alone.
    pub(super) fn body(&self, answer: &Value) -> Result<Vec<Block>, AnswerFault> {
        Ok(blocks(self.pieces(answer)?))
    }

    /// An answer as one line. The parts of a list are words: there is a blank between two of them, unless they have one of their own there
    /// or a punctuation mark needs none.
    pub(super) fn line(&self, answer: &Value, role: &Role) -> Result<Line, AnswerFault> {
        let parts = match answer {
            Value::Table(table) if kind_of(table).is_none() => list_of(table, NO_LIST)?,
            one => return Ok(Line { spans: self.spans(one, role)? }),
        };
        let mut line = Line::default();
        for part in &parts {
            let mut spans = self.spans(part, role)?;
            spans.retain(|span| !span.text.is_empty());
            if let (Some(before), Some(next)) = (line.spans.last(), spans.first())
                && needs_blank(&before.text, &next.text)
            {
                line.spans.push(Span::new("text", Text::own(" ")));
            }
            line.spans.extend(spans);
        }
        Ok(line)
    }

    fn pieces(&self, answer: &Value) -> Result<Vec<BlockPiece>, AnswerFault> {
        let mut pieces = Vec::new();
        self.add(answer, 0, &mut pieces)?;
        Ok(pieces)
    }

    /// Adds the pieces of a value that is inside of `depth` tables.
    fn add(&self, value: &Value, depth: usize, out: &mut Vec<BlockPiece>) -> Result<(), AnswerFault> {
        let open = || match depth {
            DEEPEST.. => Err(format!("tables are nested more than {DEEPEST} deep")),
            _ => self.count(0),
        };
        let Value::Table(table) = value else {
            out.push(self.text_piece(value, Role::of("text"))?);
            return Ok(());
        };
        match AnswerTable::of(table)? {
            AnswerTable::List(items) => {
                open()?;
                return items.iter().try_for_each(|item| self.add(item, depth + 1, out));
            }
            AnswerTable::Typed(kind, mut fields) if kind == "details" => {
                let summary = self.line(&fields.take("summary"), &Role::of("details.summary"))?;
                let items = match fields.take("blocks") {
                    Value::Nil | Value::Boolean(false) => Vec::new(),
                    Value::Table(list) if kind_of(&list).is_none() => list_of(&list, NO_LIST)?,
                    one => vec![one],
                };
                open()?;
                let mut inside = Vec::new();
                items.iter().try_for_each(|item| self.add(item, depth + 1, &mut inside))?;
                out.push(BlockPiece::Block(Block::Details { summary, body: blocks(inside) }));
            }
            AnswerTable::Typed(kind, fields) => out.push(self.piece(&kind, fields)?),
            AnswerTable::Line(parts) => {
                out.push(BlockPiece::of(self.spans_in(&parts, &Role::of("text"))?));
            }
        }
        Ok(())
    }

    /// A table with a type, other than a list or details.
    fn piece(&self, kind: &str, mut fields: BlockFields) -> Result<BlockPiece, AnswerFault> {
        let block = match kind {
            "span" | "path" | "link" => {
                return Ok(BlockPiece::of(vec![self.span(kind, fields, &Role::of("text"))?]));
            }
            "text" => {
                let role = self.role(&mut fields, &Role::of("text"))?;
                return self.text_piece(&fields.take("text"), role);
            }
            "header" => return self.header(fields),
            "note" => return self.note(fields),
            "prose" => Block::Prose {
                text: self.text(&fields.take("text"), "sf.prose")?,
                role: self.role(&mut fields, &Role::of("reply"))?,
            },
            "heading" => {
                let text = self.text(&fields.take("text"), "a heading")?;
                let level = number(&fields.take("level"), "level")?.unwrap_or(1).clamp(1, 6);
                let marks = "#".repeat(usize::try_from(level).unwrap_or(1));
                Block::Prose { text: Text::clean_owned(format!("{marks} {text}")), role: Role::of("reply") }
            }
            "code" => Block::Code {
                text: self.code(&mut fields)?,
                lang: self.optional(&fields.take("lang"), "lang")?,
                start: number(&fields.take("start"), "start")?,
                role: self.role(&mut fields, &Role::of("result.text"))?,
            },
            "diff" => {
                Block::Diff { path: self.optional(&fields.take("path"), "path")?, hunks: self.hunks(fields)? }
            }
            "table" => return self.table(fields),
            "kv" => self.pairs(&fields.take("pairs"))?,
            "list" => self.list(&fields.take("items"))?,
            "image" => Block::Image {
                media: self.text(&fields.take("media"), "an image")?,
                bytes: number(&fields.take("bytes"), "bytes")?,
                name: self.optional(&fields.take("name"), "name")?,
                picture: None,
            },
            "elided" => Block::Elided {
                lines: number(&fields.take("lines"), "lines")?.unwrap_or(0),
                bytes: number(&fields.take("bytes"), "bytes")?.unwrap_or(0),
            },
            other => return Err(format!("unknown block type \"{other}\"")),
        };
        self.count(0)?;
        Ok(BlockPiece::Block(block))
    }

    /// A text where a block may stand: one line, or verbatim text.
    fn text_piece(&self, value: &Value, role: Role) -> Result<BlockPiece, AnswerFault> {
        let text = self.text(value, "what is returned")?;
        Ok(if text.contains('\n') || text.len() > SHORT {
            BlockPiece::Block(Block::text(role, text.trimmed_end()))
        } else {
            BlockPiece::Line { mark: None, line: Line::of(role, text) }
        })
    }

    /// The text of a `code`: without the blanks at its end, unless it is to be exact.
    fn code(&self, fields: &mut BlockFields) -> Result<Text, AnswerFault> {
        let text = self.text(&fields.take("text"), "sf.code")?;
        let is_exact = matches!(fields.take("exact"), Value::Boolean(true));
        Ok(if is_exact { without_last_feed(text) } else { text.trimmed_end() })
    }

    fn header(&self, mut fields: BlockFields) -> Result<BlockPiece, AnswerFault> {
        let mark = match fields.take("mark") {
            Value::Nil => Some("call"),
            Value::Boolean(false) => None,
            name => theme::mark(&self.text(&name, "the mark of a header")?),
        };
        let mut line = match fields.take("call") {
            Value::Nil => match fields.take("line") {
                Value::Nil => Line::default(),
                line => self.line(&line, &Role::of("text"))?,
            },
            call if Handle::of(&call).is_some() => (self.label)(),
            other => {
                return Err(format!("sf.header: expected a call or nil, not {}", a_type(&other)));
            }
        };
        let arg = match fields.take("arg") {
            Value::Nil => Line::default(),
            arg => self.line(&arg, &Role::of("call.arg"))?,
        };
        if !line.is_empty() && !arg.is_empty() {
            line.spans.push(Span::new("text", Text::own(" ")));
        }
        line.spans.extend(arg.spans);
        Ok(BlockPiece::Title { mark, line })
    }

    fn note(&self, mut fields: BlockFields) -> Result<BlockPiece, AnswerFault> {
        let level = self.text(&fields.take("level"), "the level of sf.note")?;
        let (mark, role) = match &*level {
            "info" => ("notice", "notice"),
            "warning" => ("warning", "notice.warning"),
            "error" => ("error", "result.error"),
            other => {
                return Err(format!("sf.note: the level is info, warning or error, not \"{other}\""));
            }
        };
        let line = match fields.take("text") {
            text @ Value::Table(_) => self.line(&text, &Role::of(role))?,
            text => match self.text_piece(&text, Role::of(role))? {
                BlockPiece::Line { line, .. } | BlockPiece::Title { line, .. } => line,
                BlockPiece::Block(block) => return Ok(BlockPiece::Block(block)),
            },
        };
        Ok(BlockPiece::Line { mark: Some(mark), line })
    }

    /// A value inside a line.
    fn spans(&self, value: &Value, role: &Role) -> Result<Vec<Span>, AnswerFault> {
        let Value::Table(table) = value else {
            return Ok(vec![Span::new(role.clone(), self.text(value, "a span")?)]);
        };
        match AnswerTable::of(table)? {
            AnswerTable::Line(parts) => self.spans_in(&parts, role),
            AnswerTable::Typed(kind, fields) => Ok(vec![self.span(&kind, fields, role)?]),
            AnswerTable::List(_) => Err("a list is not allowed inside a line".to_owned()),
        }
    }

    /// A table with a type inside a line.
    fn span(&self, kind: &str, mut fields: BlockFields, role: &Role) -> Result<Span, AnswerFault> {
        let usual = match kind {
            "span" | "text" => role,
            "path" => &Role::of("call.arg"),
            "link" => &Role::of("link"),
            other => return Err(format!("a {other} is not allowed inside a line")),
        };
        let role = self.role(&mut fields, usual)?;
        if kind == "path" {
            let path = self.text(&fields.take("path"), "sf.path")?;
            return Ok(Span::new(role, self.facts.relative(path)));
        }
        let span = Span::new(role, self.text(&fields.take("text"), "a span")?);
        Ok(match kind {
            "link" => span.linked(self.text(&fields.take("url"), "the address of sf.link")?),
            _ => span,
        })
    }

    /// The parts of a `line`.
    fn spans_in(&self, parts: &[Value], role: &Role) -> Result<Vec<Span>, AnswerFault> {
        let mut spans = Vec::new();
        for part in parts {
            let Value::Table(inner) = part else {
                spans.extend(self.spans(part, role)?);
                continue;
            };
            match AnswerTable::of(inner)? {
                AnswerTable::Typed(kind, fields) => spans.push(self.span(&kind, fields, role)?),
                _ => return Err("sf.line: its parts are texts and spans".to_owned()),
            }
        }
        Ok(spans)
    }

    /// A text or a number, cleaned and counted.
    pub(super) fn text(&self, value: &Value, what: &str) -> Result<Text, AnswerFault> {
        let text = match value {
            Value::String(text) => {
                let text = string(text);
                self.count(text.len())?;
                Text::clean_owned(text)
            }
            Value::Integer(number) => Text::clean_owned(number.to_string()),
            Value::Number(number) if number.is_finite() => Text::clean_owned(number.to_string()),
            Value::Number(_) => {
                return Err(format!("{what}: expected a text, not a number without a value"));
            }
            other => return Err(format!("{what}: expected a text, not {}", a_type(other))),
        };
        self.count(0)?;
        Ok(text)
    }

    pub(super) fn optional(&self, value: &Value, what: &str) -> Result<Option<Text>, AnswerFault> {
        if value.is_nil() { Ok(None) } else { self.text(value, what).map(Some) }
    }

    fn role(&self, fields: &mut BlockFields, usual: &Role) -> Result<Role, AnswerFault> {
        match self.optional(&fields.take("role"), "role")? {
            Some(name) => {
                let role = Role::parse(&name).ok_or_else(|| format!("\"{name}\" is not a role name"))?;
                if !is_role(role.name()) {
                    self.own_roles.borrow_mut().push(role.name().to_owned());
                }
                Ok(role)
            }
            None => Ok(usual.clone()),
        }
    }

    /// Counts a part and bytes of text towards what an answer may hold.
    fn count(&self, bytes: usize) -> Result<(), AnswerFault> {
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
fn blocks(pieces: impl IntoIterator<Item = BlockPiece>) -> Vec<Block> {
    let mut body: Vec<Block> = Vec::new();
    for piece in pieces {
        match piece {
            BlockPiece::Block(block) => body.push(block),
            BlockPiece::Title { line, .. } | BlockPiece::Line { line, .. } => match body.last_mut() {
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

pub(super) fn get(table: &Table, key: impl mlua::IntoLua) -> Result<Value, AnswerFault> {
    table.raw_get(key).map_err(|error| error.to_string())
}

/// The type of a table; a list has none.
pub(super) fn kind_of(table: &Table) -> Option<String> {
    // A type that is no text is as good as none.
    table.raw_get("type").unwrap_or_default()
}

/// A text of a script's, which may be any bytes.
pub(super) fn string(text: &LuaString) -> String {
    text.to_str().map_or_else(|_| text.to_string_lossy(), |text| text.to_owned())
}

/// A whole number from 0, or none.
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
pub(super) fn number(value: &Value, what: &str) -> Result<Option<u64>, AnswerFault> {
    match value {
        Value::Nil => Ok(None),
        Value::Integer(number) if *number >= 0 => Ok(Some(number.unsigned_abs())),
        Value::Number(number) if (0.0..9e15).contains(number) => Ok(Some(*number as u64)),
        _ => Err(format!("{what}: expected a number from 0")),
    }
}
