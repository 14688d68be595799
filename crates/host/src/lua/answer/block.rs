//! Converts the answers of scripts to blocks. [`Part`] lists the accepted tables; every text is cleaned.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use mlua::{Lua, Value};
use serde::{Deserialize, Deserializer};
use streamfmt_core::entry::{Block, DiffLines, Hunk, Line, LineChange, ListItem, Mark, Point, Role, View};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::session::Facts;
use streamfmt_core::text::Text;
use streamfmt_core::theme::{self, is_role};
use streamfmt_formatters::hunks;

use super::value::Room;

/// Longest text that may be a title, in bytes.
const SHORT: usize = 300;
/// Most lines to compare for the diffs of one answer.
const MOST_COMPARED: usize = 20_000;
/// Most cells of one row.
const MOST_CELLS: usize = 1_000;

/// An answer of a script: a text, a list of parts, or a table with a type.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    #[serde(rename = "a text")]
    Plain(Text),
    #[serde(rename = "a list")]
    Group(Vec<Self>),
    #[serde(rename = "a point")]
    Point {
        point: Point,
        text: Box<Self>,
    },
    Line(Vec<Self>),
    Text {
        text: Text,
        role: Option<Text>,
    },
    Span {
        text: Text,
        role: Option<Text>,
    },
    Path {
        path: Text,
        role: Option<Text>,
    },
    Link {
        text: Text,
        url: Text,
        role: Option<Text>,
    },
    Header {
        #[serde(default = "call_mark", deserialize_with = "mark")]
        mark: Mark,
        call: Option<TheCall>,
        line: Option<Box<Self>>,
        arg: Option<Box<Self>>,
    },
    Note {
        level: NoteLevel,
        text: Box<Self>,
    },
    Prose {
        text: Text,
        role: Option<Text>,
    },
    Heading {
        text: Text,
        level: Option<u64>,
    },
    Code {
        text: Text,
        lang: Option<Text>,
        start: Option<u64>,
        role: Option<Text>,
        /// Whether to keep trailing blanks.
        #[serde(default)]
        exact: bool,
    },
    Diff {
        path: Option<Text>,
        hunks: Option<Vec<GivenHunk>>,
        old: Option<Text>,
        new: Option<Text>,
        context: Option<usize>,
    },
    Table {
        head: Option<Row>,
        rows: Vec<Row>,
        title: Option<Box<Self>>,
    },
    Kv {
        pairs: KvPairs,
    },
    List {
        items: Vec<Self>,
    },
    Image {
        media: Text,
        bytes: Option<u64>,
        name: Option<Text>,
    },
    Elided {
        #[serde(default)]
        lines: u64,
        #[serde(default)]
        bytes: u64,
    },
    Details {
        summary: Box<Self>,
        blocks: Option<Box<Self>>,
    },
}

/// The handle of the current call.
#[derive(Deserialize)]
struct TheCall;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NoteLevel {
    Info,
    Warning,
    Error,
}

/// Cells by column, from 1. A gap is an empty cell, so that later cells keep their columns.
type Row = BTreeMap<usize, Option<Part>>;

/// Keys and values. The keys of a table are sorted, since Lua's order may differ between runs.
#[derive(Deserialize)]
enum KvPairs {
    #[serde(rename = "a list")]
    List(Vec<KvPair>),
    #[serde(rename = "keyed")]
    Keyed(BTreeMap<Text, Part>),
}

#[derive(Deserialize)]
#[serde(expecting = "a pair of a key and a value")]
struct KvPair(Part, Part);

/// A hunk, with the field names of scripts or of a stream.
#[derive(Deserialize)]
struct GivenHunk {
    #[serde(rename = "oldStart")]
    of_old: Option<u64>,
    #[serde(rename = "newStart")]
    of_new: Option<u64>,
    old_start: Option<u64>,
    new_start: Option<u64>,
    #[serde(default)]
    lines: Vec<Text>,
}

impl From<GivenHunk> for Hunk {
    fn from(given: GivenHunk) -> Self {
        let mut lines = DiffLines::default();
        for text in &given.lines {
            let (change, skipped) = match text.as_bytes().first() {
                Some(b'+') => (LineChange::Add, 1),
                Some(b'-') => (LineChange::Remove, 1),
                Some(b' ') => (LineChange::Keep, 1),
                // The remark about a missing final line feed is not a line of the file.
                Some(b'\\') => continue,
                _ => (LineChange::Keep, 0),
            };
            let end = text.find('\n').unwrap_or(text.len());
            lines.push(change, &text[skipped.min(end)..end]);
        }
        Self {
            old_start: given.of_old.or(given.old_start),
            new_start: given.of_new.or(given.new_start),
            lines,
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "serde asks so")]
fn call_mark() -> Mark {
    Some("call")
}

/// Parses the name of a glyph; `false` is none.
fn mark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mark, D::Error> {
    Ok(Option::<Text>::deserialize(deserializer)?.and_then(|name| theme::mark(&name)))
}

/// Converts one answer of a script.
pub(crate) struct AnswerReader<'a> {
    room: Room<'a>,
    facts: &'a Facts,
    /// The label of the current call, for `sf.header`.
    label: &'a dyn Fn() -> Line,
    compared: Cell<usize>,
    /// The names of roles in the answer that aren't built in.
    pub(crate) own_roles: RefCell<Vec<String>>,
}

/// Whether two parts of a line need a blank between them: not if one has it, before closing or separating punctuation, or after
/// an opening bracket.
fn needs_blank(before: &str, next: &str) -> bool {
    let opens = |ch: char| ch.is_whitespace() || "([{".contains(ch);
    let closes = |ch: char| ch.is_whitespace() || ",.;:!?)]}".contains(ch);
    !before.ends_with(opens) && !next.starts_with(closes)
}

impl<'a> AnswerReader<'a> {
    /// Creates a reader for one answer.
    pub(crate) fn new(lua: &'a Lua, facts: &'a Facts, label: &'a dyn Fn() -> Line) -> Self {
        let (room, compared) = (Room::new(lua), Cell::new(0));
        Self { room, facts, label, compared, own_roles: RefCell::default() }
    }

    /// Converts an answer to the view of an item. A header that comes first is its title or, for some kinds, any line.
    pub(crate) fn view(&self, answer: &Value, item: &Item) -> Result<View, String> {
        let mut view = View { mark: usual_mark(item), ..View::default() };
        let is_titled = !matches!(item.kind, Kind::Prompt | Kind::Reply | Kind::Thinking | Kind::Record);
        self.add(self.part(answer)?, &mut view, &mut Some(is_titled))?;
        Ok(view)
    }

    /// Converts an answer to blocks.
    pub(crate) fn body(&self, answer: &Value) -> Result<Vec<Block>, String> {
        self.blocks(self.part(answer)?)
    }

    fn blocks(&self, part: Part) -> Result<Vec<Block>, String> {
        let mut view = View::default();
        self.add(part, &mut view, &mut None)?;
        Ok(view.body)
    }

    /// Converts an answer to one line. The elements of a list are words, separated by blanks where [`needs_blank`] says so.
    pub(crate) fn line(&self, answer: &Value, role: Role) -> Result<Line, String> {
        self.line_of(self.part(answer)?, role)
    }

    fn line_of(&self, part: Part, role: Role) -> Result<Line, String> {
        let words = match part {
            Part::Group(words) => words,
            part => return self.spans(part, role),
        };
        let mut line = Line::default();
        for word in words {
            let word = self.spans(word, role)?;
            let spans = word.spans().filter(|span| !span.text().is_empty());
            let ends = line.last().zip(spans.clone().next().map(|next| next.text()));
            if ends.is_some_and(|(before, next)| needs_blank(before, next)) {
                line.attach("text", Text::own(" "));
            }
            spans.for_each(|span| line.attach_span(span));
        }
        Ok(line)
    }

    fn part(&self, answer: &Value) -> Result<Part, String> {
        Part::deserialize(self.room.answer(answer)).map_err(|wrong| wrong.to_string())
    }

    /// Adds a part to a view. `title` is set while nothing was added: whether any line becomes the title, and not only a header.
    fn add(&self, part: Part, out: &mut View, title: &mut Option<bool>) -> Result<(), String> {
        match part {
            Part::Group(parts) => return parts.into_iter().try_for_each(|part| self.add(part, out, title)),
            Part::Plain(text) => push_text(None, text, Role::of("text"), out, title),
            Part::Text { text, role } => push_text(None, text, self.role(role, "text")?, out, title),
            Part::Header { mark, call, line, arg } => {
                let line =
                    line.map_or_else(|| Ok(Line::default()), |line| self.line_of(*line, "text".into()));
                let mut line = if call.is_some() { (self.label)() } else { line? };
                let arg =
                    arg.map_or_else(|| Ok(Line::default()), |arg| self.line_of(*arg, "call.arg".into()))?;
                if !line.is_empty() && !arg.is_empty() {
                    line.attach("text", Text::own(" "));
                }
                line.append(&arg);
                if title.take().is_some() {
                    *out = View { mark, ..std::mem::take(out).retitled(line) };
                } else {
                    push_line(None, line, out, title);
                }
            }
            Part::Note { level, text } => {
                let (mark, role) = match level {
                    NoteLevel::Info => ("notice", "notice"),
                    NoteLevel::Warning => ("warning", "notice.warning"),
                    NoteLevel::Error => ("error", "result.error"),
                };
                match *text {
                    Part::Plain(text) => push_text(Some(mark), text, Role::of(role), out, title),
                    text => push_line(Some(mark), self.line_of(text, role.into())?, out, title),
                }
            }
            Part::Line(_) | Part::Span { .. } | Part::Path { .. } | Part::Link { .. } => {
                push_line(None, self.spans(part, "text".into())?, out, title);
            }
            part => {
                let block = self.block(part)?;
                title.take();
                out.body.push(block);
            }
        }
        Ok(())
    }

    /// Converts a part that is a block.
    fn block(&self, part: Part) -> Result<Block, String> {
        Ok(match part {
            Part::Prose { text, role } => Block::Prose { text, role: self.role(role, "reply")? },
            Part::Heading { text, level } => {
                let marks = "#".repeat(level.unwrap_or(1).clamp(1, 6) as usize);
                Block::prose("reply", Text::clean_owned(format!("{marks} {text}")))
            }
            Part::Code { text, lang, start, role, exact } => {
                let text = if exact { without_last_feed(text) } else { text.trimmed_end() };
                Block::Code { text, lang, start, role: self.role(role, "result.text")? }
            }
            Part::Diff { path, hunks: Some(hunks), .. } => {
                Block::Diff { path, hunks: hunks.into_iter().map(Hunk::from).collect() }
            }
            Part::Diff { path, old, new, context, .. } => {
                let (Some(old), Some(new)) = (old, new) else {
                    return Err("sf.diff: expected an old and a new text".to_owned());
                };
                Block::Diff { path, hunks: self.compared(&old, &new, context)? }
            }
            Part::Table { head, rows, title } => {
                let head = self.cells(head.unwrap_or_default(), "table.head")?;
                let rows = rows.into_iter().map(|row| self.cells(row, "text")).collect::<Result<_, _>>()?;
                let table = Block::Table { head, rows };
                let Some(title) = title else { return Ok(table) };
                let summary = self.line_of(*title, "details.summary".into())?;
                Block::Details { summary, body: vec![table] }
            }
            Part::Kv { pairs } => self.pairs(pairs)?,
            Part::List { items } => {
                let items = items.into_iter().map(|item| self.item(item)).collect::<Result<_, _>>()?;
                Block::List { items }
            }
            Part::Image { media, bytes, name } => Block::Image { media, bytes, name, picture: None },
            Part::Elided { lines, bytes } => Block::Elided { lines, bytes },
            Part::Details { summary, blocks } => {
                let summary = self.line_of(*summary, "details.summary".into())?;
                let body = blocks.map_or_else(|| Ok(Vec::new()), |blocks| self.blocks(*blocks))?;
                Block::Details { summary, body }
            }
            _ => return Err("a table with a point is allowed in sf.list alone".to_owned()),
        })
    }

    /// Converts a part of a line to spans.
    fn spans(&self, part: Part, role: Role) -> Result<Line, String> {
        let mut line = Line::default();
        match part {
            Part::Line(parts) => parts.into_iter().try_for_each(|part| self.span(part, role, &mut line))?,
            part => self.span(part, role, &mut line)?,
        }
        Ok(line)
    }

    fn span(&self, part: Part, role: Role, line: &mut Line) -> Result<(), String> {
        match part {
            Part::Plain(text) => line.attach(role, text),
            Part::Text { text, role: own } | Part::Span { text, role: own } => {
                line.attach(self.role(own, role)?, text);
            }
            Part::Path { path, role } => line.attach(self.role(role, "call.arg")?, self.facts.relative(path)),
            Part::Link { text, url, role } => {
                line.attach(self.role(role, "link")?, text);
                line.link(url);
            }
            Part::Group(_) => return Err("a list is not allowed inside a line".to_owned()),
            _ => return Err("only texts, spans, paths and links are allowed inside a line".to_owned()),
        }
        Ok(())
    }

    fn cells(&self, row: Row, role: &'static str) -> Result<Vec<Line>, String> {
        let mut cells = Vec::with_capacity(row.len());
        for (place, cell) in row {
            let Some(cell) = cell else { continue };
            if !(1..=MOST_CELLS).contains(&place) {
                return Err(format!(
                    "sf.table: a cell of a row has a place from 1 to {MOST_CELLS}, not {place}"
                ));
            }
            cells.resize(place - 1, Line::default());
            cells.push(self.line_of(cell, role.into())?);
        }
        Ok(cells)
    }

    fn pairs(&self, pairs: KvPairs) -> Result<Block, String> {
        let pairs = match pairs {
            KvPairs::List(pairs) => pairs,
            KvPairs::Keyed(pairs) => {
                pairs.into_iter().map(|(key, value)| KvPair(Part::Plain(key), value)).collect()
            }
        };
        let lines = pairs.into_iter().map(|KvPair(key, value)| {
            let mut line = self.line_of(key, "muted".into())?;
            line.attach("muted", Text::own(": "));
            line.append(&self.line_of(value, "text".into())?);
            Ok(line)
        });
        Ok(Block::Lines { lines: lines.collect::<Result<_, String>>()? })
    }

    fn item(&self, item: Part) -> Result<ListItem, String> {
        let (point, text) = match item {
            Part::Point { point, text } => (point, *text),
            text => (Point::Plain, text),
        };
        Ok(ListItem { point, line: self.line_of(text, "text".into())? })
    }

    /// Compares two texts.
    fn compared(&self, old: &str, new: &str, context: Option<usize>) -> Result<Vec<Hunk>, String> {
        let lines = [old, new].map(|text| memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1);
        self.compared.set(self.compared.get() + lines[0] + lines[1]);
        if self.compared.get() > MOST_COMPARED {
            return Err(format!("more than {MOST_COMPARED} lines to compare"));
        }
        Ok(hunks(old, new, context))
    }

    /// The role of this name, or else the usual one.
    fn role(&self, name: Option<Text>, usual: impl Into<Role>) -> Result<Role, String> {
        let Some(name) = name else { return Ok(usual.into()) };
        let role = Role::parse(&name).ok_or_else(|| format!("\"{name}\" is not a role name"))?;
        if !is_role(role.name()) {
            self.own_roles.borrow_mut().push(role.name().to_owned());
        }
        Ok(role)
    }
}

/// Adds a text in place of a block: as a line, or as verbatim text if it is long.
fn push_text(mark: Mark, text: Text, role: Role, out: &mut View, title: &mut Option<bool>) {
    if text.contains('\n') || text.len() > SHORT {
        title.take();
        out.body.push(Block::text(role, text.trimmed_end()));
    } else {
        push_line(mark, Line::of(role, text), out, title);
    }
}

/// Adds a line: as the title, or to the body, where adjacent lines form one block.
fn push_line(mark: Mark, line: Line, out: &mut View, title: &mut Option<bool>) {
    if title.take() == Some(true) {
        *out = View { mark: mark.or(out.mark), ..std::mem::take(out).retitled(line) };
    } else if let Some(Block::Lines { lines }) = out.body.last_mut() {
        lines.push(line);
    } else {
        out.body.push(Block::line(line));
    }
}

/// Removes the final line feed, which ends the last line and doesn't begin another.
fn without_last_feed(mut text: Text) -> Text {
    if text.ends_with('\n') {
        text.truncate(text.len() - 1);
    }
    text
}

/// The mark of an item for which a script sets none.
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
