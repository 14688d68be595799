//! Writes rows: the indentation, the styled text, and the line feed.
//!
//! Styles and links are closed before each line feed. Pagers lose them across lines, some terminals paint a
//! background to the edge, and a grepped line must be complete in itself.

use std::fmt;

use super::wrap::{self, StyledText, spaces};
use super::{Look, Paint};
use crate::page;
use crate::pieces::{OutputPieces, PIECE};
use streamfmt_core::entry::Role;
use streamfmt_core::theme::{self, Style};

/// The most columns of indentation if rows aren't wrapped.
const MAX_INDENT: usize = 64;

/// The buffers for writing rows. Their capacity is kept from one entry to the next.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// The output that isn't forwarded yet.
    text: String,
    prefix: Indent,
    once: Indent,
}

/// Writes the rows of one entry.
pub(super) struct RowWriter<'p> {
    look: &'p Look,
    out: OutputPieces<'p>,
    /// The indentation of each row.
    prefix: &'p mut Indent,
    /// The indentation of the next row, if `has_once`.
    once: &'p mut Indent,
    has_once: bool,
    /// The columns of a row.
    width: Option<usize>,
    /// The columns of a first column, which don't count towards the limit of the indentation.
    column: usize,
}

/// The indentation of a row, which may contain marks and bars.
#[derive(Default)]
struct Indent {
    painted: String,
    width: usize,
}

impl Indent {
    /// Adds pieces to the indentation, unless it would have more than `limit` columns.
    fn extend(&mut self, look: &Look, pieces: &[StyledText<'_>], columns: usize, limit: usize) {
        if self.width + columns <= limit {
            paint_all(look, pieces, 0, &mut self.painted);
            self.width += columns;
        }
    }

    /// Adds blanks, under the same condition.
    fn shift(&mut self, blanks: &str, limit: usize) {
        if self.width + blanks.len() <= limit {
            self.painted.push_str(blanks);
            self.width += blanks.len();
        }
    }
}

/// An indentation to return to.
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

    /// Forwards the rest of the output.
    pub(super) fn end(self) -> fmt::Result {
        self.out.end()
    }

    /// Continues the row that was left open, and ends it.
    pub(super) fn continue_row(&mut self, pieces: &[StyledText<'_>]) {
        paint_all(self.look, pieces, 0, self.out.text);
        self.end_row();
    }

    /// Removes the line feed of the last row, unless it was already forwarded. Returns whether the row is open.
    pub(super) fn leave_open(&mut self) -> bool {
        self.out.text.pop().is_some()
    }

    /// Returns the columns of the indentation.
    pub(super) fn indentation(&self) -> usize {
        self.prefix.width
    }

    pub(super) fn look(&self) -> &'p Look {
        self.look
    }

    /// Returns the columns that are left for text, if rows are wrapped.
    pub(super) fn room(&self) -> Option<usize> {
        let width = self.width?;
        Some(width.saturating_sub(self.prefix.width).max(1))
    }

    // --- Indentation

    /// Adds `first` to the indentation of the next row, and `rest` to that of those after it.
    /// They are left out if too little room would be left for text.
    pub(super) fn indent(&mut self, first: &[StyledText<'_>], rest: &[StyledText<'_>]) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        let fits = self.before_row().width + wrap::width_of(first) <= limit;
        let first = if fits { first } else { rest };
        self.split_once();
        self.once.extend(self.look, first, wrap::width_of(first), limit);
        self.prefix.extend(self.look, rest, wrap::width_of(rest), limit);
        level
    }

    /// Adds a mark of this many columns and a blank to the indentation of the next row, and as many blanks to that of
    /// those after it. If there is no room for it, adds the margin instead, as without a mark.
    pub(super) fn mark(&mut self, mark: StyledText<'_>, columns: usize) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        let columns = columns + 1;
        if self.before_row().width + columns > limit {
            return self.shift(self.look.layout.margin);
        }
        self.split_once();
        self.once.extend(self.look, &[mark, StyledText::blank(1)], columns, limit);
        self.prefix.shift(spaces(columns), limit);
        level
    }

    /// Gives the next row an indentation separate from that of those after it.
    fn split_once(&mut self) {
        if !std::mem::replace(&mut self.has_once, true) {
            self.once.painted.clone_from(&self.prefix.painted);
            self.once.width = self.prefix.width;
        }
    }

    /// Adds `pieces` of this many columns to the indentation of all following rows, if that leaves enough room for text.
    pub(super) fn indent_all(&mut self, pieces: &[StyledText<'_>], columns: usize) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        if self.has_once {
            self.once.extend(self.look, pieces, columns, limit);
        }
        self.prefix.extend(self.look, pieces, columns, limit);
        level
    }

    /// Returns the most columns of indentation.
    fn indent_limit(&self) -> usize {
        let half = self.width.map_or(MAX_INDENT, |width| (width - self.column) / 2);
        self.column + half.min(MAX_INDENT)
    }

    /// Adds a first column to all rows: `first` in the next row, blank in those after it.
    pub(super) fn column(&mut self, first: &[StyledText<'_>], columns: usize) {
        self.column = columns;
        self.indent(first, &[StyledText::blank(columns)]);
    }

    /// Returns the current indentation.
    pub(super) fn level(&self) -> RowLevel {
        RowLevel { length: self.prefix.painted.len(), width: self.prefix.width }
    }

    /// Indents the following rows by `columns` more blanks.
    pub(super) fn shift(&mut self, columns: usize) -> RowLevel {
        let level = self.level();
        let limit = self.indent_limit();
        if self.has_once {
            self.once.shift(spaces(columns), limit);
        }
        self.prefix.shift(spaces(columns), limit);
        level
    }

    /// Returns to the indentation `level`.
    pub(super) fn dedent(&mut self, level: RowLevel) {
        self.prefix.painted.truncate(level.length);
        self.prefix.width = level.width;
    }

    /// Writes a row for a mark without text.
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

    /// Writes pieces without the last `cut` bytes, in parts: a row may have any length, but the buffer is bounded.
    fn long(&mut self, pieces: &[StyledText<'_>], cut: usize) {
        for (at, piece) in pieces.iter().enumerate() {
            let cut = if at + 1 == pieces.len() { cut } else { 0 };
            let mut rest = &piece.text[..piece.text.len() - cut];
            while !rest.is_empty() {
                let end = (rest.len().min(PIECE)..=rest.len()).find(|&at| rest.is_char_boundary(at));
                let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
                paint_all(self.look, &[piece.with(part)], 0, self.out.text);
                self.out.forward();
                rest = behind;
            }
        }
    }

    /// Writes `pieces` as one line, in as many rows as needed. Rows after the first are indented by `hang` columns
    /// more, in addition to the line's leading blanks.
    pub(super) fn line(&mut self, pieces: &[StyledText<'_>], hang: usize) {
        self.filled(pieces, hang, None);
    }

    /// Writes a line as [`line`](Self::line) does, with a background up to a column of the text, if the style has one.
    pub(super) fn filled(&mut self, pieces: &[StyledText<'_>], hang: usize, ground: Option<(Style, usize)>) {
        let Some(width) = self.width else { return self.row(pieces) };
        let ground = ground.filter(|(style, _)| style.bg.is_some());
        let once = self.before_row().width;
        let first = width.saturating_sub(once).max(1);
        let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
        // No character but the tab takes more columns than bytes.
        let fits = bytes <= first && !pieces.iter().any(|piece| piece.text.contains('\t'));
        if fits && ground.is_none() {
            self.row(pieces);
            return;
        }
        let room = width.saturating_sub(self.prefix.width).max(1);
        let own = wrap::leading(pieces);
        let hang = (hang + own).min(room / 2);
        let (level, mut is_first) = (self.level(), true);
        // Text with many leading blanks would have no room: move it to the left.
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
                // Keep blanks at the end: those on a background are visible.
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

    /// Writes verbatim text line by line. Further rows of a line are indented by `hang` columns more. Most output is written
    /// by this function.
    pub(super) fn verbatim(&mut self, text: &str, role: Role, hang: usize) {
        if self.is_plain() {
            return page::split(text).for_each(|line| self.plain_line(line));
        }
        let style = self.look.style(role);
        for text in page::split(text) {
            self.line(&[StyledText { text, role, style, ..StyledText::blank(0) }], hang);
        }
    }

    /// Whether rows are plain text, neither wrapped nor painted.
    pub(super) fn is_plain(&self) -> bool {
        self.width.is_none() && matches!(self.look.paint, Paint::Plain)
    }

    /// Writes a text as one row. Requires [`RowWriter::is_plain`]. It may not be longer than [`PIECE`].
    pub(super) fn plain_row(&mut self, text: &str) {
        let before = self.out.text.len();
        self.begin_row();
        let row = &mut *self.out.text;
        let start = row.len();
        row.push_str(text);
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

    /// Returns the indentation of the next row.
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

    /// Ends the open row.
    pub(super) fn end_row(&mut self) {
        self.out.text.push('\n');
        self.out.forward_if_full();
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Writes pieces without the last `cut` bytes. Styles are written once for each run of pieces that look the same.
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
        Paint::Roles if role == Role::of("text") => text(out, double),
        Paint::Roles => {
            out.push_str("<<");
            out.push_str(role.name());
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

/// Doubles each `<` of a foreign text, so that no `<<` in it looks like a role.
fn double(text: &str, out: &mut String) {
    let mut parts = text.split('<');
    out.push_str(parts.next().unwrap_or(""));
    for part in parts {
        out.push_str("<<");
        out.push_str(part);
    }
}

/// Returns the glyph called `name`.
pub(super) fn glyph<'a>(look: &'a Look, name: &str) -> &'a str {
    let own = look.theme().and_then(|theme| theme.glyph(look.layout.glyphs, name));
    own.unwrap_or_else(|| theme::glyph(look.layout.glyphs, name))
}
