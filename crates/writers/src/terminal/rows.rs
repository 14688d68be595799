//! Writes rows: what stands before each, the text in its look, the end.
//!
//! Whatever a row begins with, it also ends: styles and links are closed before each line feed. Pagers lose
//! them across lines, some terminals paint a background to the edge, and a grepped line must stand alone.

use std::fmt;

use super::wrap::{self, StyledText, spaces};
use super::{Look, Paint};
use crate::page;
use crate::pieces::{OutputPieces, PIECE};
use streamfmt_core::theme::{self, Style};

/// Columns that may stand before text if rows are not wrapped.
const MAX_INDENT: usize = 64;

/// What the rows of an entry are written with; its room is kept from one entry to the next.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// What is written, and not yet passed on.
    text: String,
    prefix: Indent,
    once: Indent,
}

/// Writes rows of one entry.
pub(super) struct RowWriter<'p> {
    look: &'p Look,
    out: OutputPieces<'p>,
    /// What stands before each row.
    prefix: &'p mut Indent,
    /// What stands before the next row instead, if `has_once`.
    once: &'p mut Indent,
    has_once: bool,
    /// Columns of the whole row.
    width: Option<usize>,
    /// Columns before everything else, which leave no less room for indentation.
    column: usize,
}

/// Something that stands before a row.
#[derive(Default)]
struct Indent {
    painted: String,
    width: usize,
}

impl Indent {
    /// Sets rows further in, unless there would be more than `limit` columns before them.
    fn extend(&mut self, look: &Look, pieces: &[StyledText<'_>], columns: usize, limit: usize) {
        if self.width + columns <= limit {
            paint_all(look, pieces, 0, &mut self.painted);
            self.width += columns;
        }
    }

    /// The same with blanks.
    fn shift(&mut self, blanks: &str, limit: usize) {
        if self.width + blanks.len() <= limit {
            self.painted.push_str(blanks);
            self.width += blanks.len();
        }
    }
}

/// Where to return to when an indentation ends.
#[derive(Clone, Copy)]
pub(super) struct RowLevel {
    length: usize,
    width: usize,
}

impl<'p> RowWriter<'p> {
    pub(super) fn new(look: &'p Look, buffers: &'p mut RowBuffers, out: &'p mut dyn fmt::Write) -> Self {
        let RowBuffers { text, prefix, once } = buffers;
        prefix.painted.clear();
        prefix.width = 0;
        let width = look.width.map(|width| width.max(super::MIN_WIDTH));
        Self { look, out: OutputPieces::new(text, out), prefix, once, has_once: false, width, column: 0 }
    }

    /// Passes on what is written.
    pub(super) fn end(self) -> fmt::Result {
        self.out.end()
    }

    /// Goes on in the row that was left open, and ends it.
    pub(super) fn go_on(&mut self, pieces: &[StyledText<'_>]) {
        paint_all(self.look, pieces, 0, self.out.text);
        self.end_row();
    }

    /// Takes back the end of the last row, unless it is passed on already.
    pub(super) fn leave_open(&mut self) -> bool {
        self.out.text.pop().is_some()
    }

    /// Columns that stand before each row.
    pub(super) fn indentation(&self) -> usize {
        self.prefix.width
    }

    pub(super) fn look(&self) -> &'p Look {
        self.look
    }

    /// Columns that are left for text, if rows are wrapped.
    pub(super) fn room(&self) -> Option<usize> {
        let width = self.width?;
        Some(width.saturating_sub(self.prefix.width).max(1))
    }

    // --- What stands before rows

    /// From here on, `first` stands before the next row and `rest` before those after it.
    /// Where too little room would be left for text, they are left out.
    pub(super) fn indent(&mut self, first: &[StyledText<'_>], rest: &[StyledText<'_>]) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        let fits = self.before_row().width + wrap::width_of(first) <= limit;
        let first = if fits { first } else { rest };
        self.part_once();
        self.once.extend(self.look, first, wrap::width_of(first), limit);
        self.prefix.extend(self.look, rest, wrap::width_of(rest), limit);
        level
    }

    /// From here on, a mark of so many columns and a blank stand before the next row, and as many blanks before
    /// those after it. Where there is no room for it, text has the margin before it, as without a mark.
    pub(super) fn mark(&mut self, mark: StyledText<'_>, columns: usize) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        let columns = columns + 1;
        if self.before_row().width + columns > limit {
            return self.shift(self.look.layout.margin);
        }
        self.part_once();
        self.once.extend(self.look, &[mark, StyledText::blank(1)], columns, limit);
        self.prefix.shift(spaces(columns), limit);
        level
    }

    /// Parts what stands before the next row from what stands before those after it.
    fn part_once(&mut self) {
        if !std::mem::replace(&mut self.has_once, true) {
            self.once.painted.clone_from(&self.prefix.painted);
            self.once.width = self.prefix.width;
        }
    }

    /// Puts `pieces`, which take so many columns, before each row from here on, if that leaves room enough for text.
    pub(super) fn indent_all(&mut self, pieces: &[StyledText<'_>], columns: usize) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        if self.has_once {
            self.once.extend(self.look, pieces, columns, limit);
        }
        self.prefix.extend(self.look, pieces, columns, limit);
        level
    }

    /// Columns that may stand before text.
    fn indent_limit(&self) -> usize {
        let half = self.width.map_or(MAX_INDENT, |width| (width - self.column) / 2);
        self.column + half.min(MAX_INDENT)
    }

    /// Begins all rows with a column of its own: `first` in the next row, blank in those after it.
    pub(super) fn column(&mut self, first: &[StyledText<'_>], columns: usize) {
        self.column = columns;
        self.indent(first, &[StyledText::blank(columns)]);
    }

    /// Where the indentation is now.
    pub(super) fn level(&self) -> RowLevel {
        RowLevel { length: self.prefix.painted.len(), width: self.prefix.width }
    }

    /// From here on, `columns` more blanks stand before each row.
    pub(super) fn shift(&mut self, columns: usize) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        if self.has_once {
            self.once.shift(spaces(columns), limit);
        }
        self.prefix.shift(spaces(columns), limit);
        level
    }

    /// Returns to what stood before rows when `level` was made.
    pub(super) fn dedent(&mut self, level: RowLevel) {
        self.prefix.painted.truncate(level.length);
        self.prefix.width = level.width;
    }

    /// Writes a row for a mark that no text followed.
    pub(super) fn flush_mark(&mut self) {
        if self.has_once {
            self.blank();
        }
    }

    // --- Rows

    /// Writes an empty row.
    pub(super) fn blank(&mut self) {
        self.row(&[]);
    }

    /// Writes `pieces` as one row, whatever their width.
    pub(super) fn row(&mut self, pieces: &[StyledText<'_>]) {
        if self.look.layout.bare {
            self.begin_row();
            self.long(pieces, 0);
            return self.end_row();
        }
        let kept = pieces.iter().rposition(|piece| !is_blank(piece.text));
        let Some(kept) = kept else { return self.empty_row() };
        self.begin_row();
        let last = pieces[kept].text;
        let blanks = last.len() - last.trim_end_matches([' ', '\t']).len();
        let pieces = &pieces[..=kept];
        if pieces.iter().any(|piece| piece.text.len() > PIECE) {
            self.long(pieces, blanks);
        } else {
            paint_all(self.look, pieces, blanks, self.out.text);
        }
        self.end_row();
    }

    /// Writes pieces without the last `cut` bytes, bit by bit: a row may be of any length, what is kept of it not.
    fn long(&mut self, pieces: &[StyledText<'_>], cut: usize) {
        for (at, piece) in pieces.iter().enumerate() {
            let cut = if at + 1 == pieces.len() { cut } else { 0 };
            let mut rest = &piece.text[..piece.text.len() - cut];
            while !rest.is_empty() {
                let end = (rest.len().min(PIECE)..=rest.len()).find(|&at| rest.is_char_boundary(at));
                let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
                paint_all(self.look, &[piece.with(part)], 0, self.out.text);
                self.out.pass_on();
                rest = behind;
            }
        }
    }

    /// Writes `pieces` as one line, in as many rows as it needs. Rows after the first stand `hang` columns further
    /// in, and below the line's own indentation.
    pub(super) fn line(&mut self, pieces: &[StyledText<'_>], hang: usize) {
        self.filled(pieces, hang, None);
    }

    /// The same on a ground that reaches to a column, if it has a colour.
    pub(super) fn filled(&mut self, pieces: &[StyledText<'_>], hang: usize, ground: Option<(Style, usize)>) {
        let Some(width) = self.width else { return self.row(pieces) };
        let ground = ground.filter(|(style, _)| style.bg.is_some());
        let once = self.before_row().width;
        let first = width.saturating_sub(once).max(1);
        let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
        // No character takes more columns than bytes, but for the tab.
        let fits = bytes <= first && !pieces.iter().any(|piece| piece.text.contains('\t'));
        if fits && ground.is_none() {
            self.row(pieces);
            return;
        }
        let room = width.saturating_sub(self.prefix.width).max(1);
        let own = wrap::leading(pieces);
        let hang = (hang + own).min(room / 2);
        let (level, mut is_first) = (self.level(), true);
        // Far indented text would have no room at all: it moves to the left.
        let moved;
        let pieces = if own > first / 2 {
            moved = wrap::without_leading(pieces, first / 2);
            &moved
        } else {
            pieces
        };
        wrap::rows(pieces, first, room - hang, |row| {
            if let Some((style, fill)) = ground {
                let set_in = if is_first { 0 } else { hang };
                let missing = fill.min(room).saturating_sub(set_in + wrap::width_of(row));
                let [before, behind] = [set_in, missing].map(|columns| " ".repeat(columns));
                let blank = |text| StyledText { text, style, ..StyledText::blank(0) };
                let before = Some(blank(&*before)).filter(|blank| !blank.text.is_empty());
                let row: Vec<_> = before.iter().chain(row).chain([&blank(&*behind)]).copied().collect();
                // To its very end: blanks of a ground are seen.
                self.begin_row();
                paint_all(self.look, &row, 0, self.out.text);
                self.end_row();
            } else {
                self.row(row);
                if is_first {
                    self.shift(hang);
                }
            }
            is_first = false;
        });
        self.dedent(level);
    }

    /// Writes text as it is, a line for each of its lines; further rows of one stand `hang` columns further in. The way of most
    /// bytes.
    pub(super) fn verbatim(&mut self, text: &str, role: &str, hang: usize) {
        if self.is_plain() {
            return page::split(text).for_each(|line| self.plain_line(line));
        }
        let style = self.look.style(role);
        for text in page::split(text) {
            self.line(&[StyledText { text, role, style, ..StyledText::blank(0) }], hang);
        }
    }

    /// Whether rows are just their text: not wrapped and not painted.
    pub(super) fn is_plain(&self) -> bool {
        self.width.is_none() && matches!(self.look.paint, Paint::Plain)
    }

    /// Writes texts as one row, one behind the other, where [`RowWriter::is_plain`]. None may be long.
    pub(super) fn plain_row<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let before = self.out.text.len();
        self.begin_row();
        let row = &mut *self.out.text;
        let start = row.len();
        texts.for_each(|text| row.push_str(text));
        let end = start + row[start..].trim_end_matches([' ', '\t']).len();
        let end = if end > start { end } else { before + row[before..start].trim_end().len() };
        row.truncate(end);
        self.end_row();
    }

    fn plain_line(&mut self, line: &str) {
        if self.look.layout.bare {
            return self.row(&[StyledText { text: line, ..StyledText::blank(0) }]);
        }
        let line = if line.ends_with([' ', '\t']) { line.trim_end_matches([' ', '\t']) } else { line };
        if line.is_empty() {
            return self.empty_row();
        }
        self.begin_row();
        self.out.push(line);
        self.end_row();
    }

    /// What stands before the next row.
    fn before_row(&self) -> &Indent {
        if self.has_once { self.once } else { self.prefix }
    }

    fn begin_row(&mut self) {
        let before = if std::mem::take(&mut self.has_once) { &self.once } else { &self.prefix };
        self.out.text.push_str(&before.painted);
    }

    fn empty_row(&mut self) {
        let before = if std::mem::take(&mut self.has_once) { &self.once } else { &self.prefix };
        self.out.text.push_str(before.painted.trim_end());
        self.end_row();
    }

    /// Ends the row that is open.
    pub(super) fn end_row(&mut self) {
        self.out.text.push('\n');
        self.out.pass_on_enough();
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Writes pieces without the last `cut` bytes; what looks the same is begun and ended once.
fn paint_all(look: &Look, pieces: &[StyledText<'_>], cut: usize, out: &mut String) {
    if let Paint::Plain = look.paint {
        for piece in pieces {
            out.push_str(piece.text);
        }
        out.truncate(out.len() - cut);
        return;
    }
    let alike = |one: &StyledText<'_>, next: &StyledText<'_>| match look.paint {
        Paint::Plain | Paint::Roles => one.role == next.role && one.is_spelled == next.is_spelled,
        Paint::Ansi { .. } => one.style == next.style && one.link == next.link,
    };
    let mut left = pieces.len();
    for run in pieces.chunk_by(alike) {
        left -= run.len();
        let cut = if left == 0 { cut } else { 0 };
        let length: usize = run.iter().map(|piece| piece.text.len()).sum();
        if length > cut {
            paint(look, run, length - cut, out);
        }
    }
}

/// Writes the first `length` bytes of pieces that look the same.
fn paint(look: &Look, run: &[StyledText<'_>], length: usize, out: &mut String) {
    let StyledText { role, style, link, is_spelled, .. } = run[0];
    let text = |out: &mut String, write: fn(&str, &mut String)| {
        let mut left = length;
        for piece in run {
            let part = &piece.text[..piece.text.len().min(left)];
            left -= part.len();
            write(part, out);
        }
    };
    let plain = |text: &str, out: &mut String| out.push_str(text);
    match &look.paint {
        Paint::Plain => text(out, plain),
        Paint::Roles if is_spelled => text(out, plain),
        Paint::Roles if role == "text" => text(out, double),
        Paint::Roles => {
            out.push_str("<<");
            out.push_str(role);
            out.push_str("::");
            text(out, double);
            out.push_str(">>");
        }
        Paint::Ansi { .. } => {
            if let Some(target) = link {
                out.push_str("\x1b]8;;");
                out.push_str(target);
                out.push_str("\x1b\\");
            }
            style.begin(out);
            text(out, plain);
            if !style.is_plain() {
                out.push_str("\x1b[0m");
            }
            if link.is_some() {
                out.push_str("\x1b]8;;\x1b\\");
            }
        }
    }
}

/// Writes foreign text so that no `<<` of it can be taken for a role.
fn double(text: &str, out: &mut String) {
    let mut parts = text.split('<');
    out.push_str(parts.next().unwrap_or(""));
    for part in parts {
        out.push_str("<<");
        out.push_str(part);
    }
}

/// What `name` is written as.
pub(super) fn glyph<'a>(look: &'a Look, name: &str) -> &'a str {
    let own = look.theme().and_then(|theme| theme.glyph(look.layout.glyphs, name));
    own.unwrap_or_else(|| theme::glyph(look.layout.glyphs, name))
}
