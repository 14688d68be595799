//! Writes the blocks of a body as Markdown.

use std::mem;
use std::sync::LazyLock;

use super::LINE;
use super::inline;
use super::prose;
use super::syntax::MarkupSyntax;
use crate::lines::{LineLevel, LineWriter};
use crate::page::{self, PageOptions, PictureSource};
use streamfmt_core::entry::{Block, Hunk, Line, Picture, Point, Role, Span};
use streamfmt_core::figures;
use streamfmt_core::find::find;
use streamfmt_core::text::Text;
use streamfmt_core::theme::roles;

/// Writes blocks.
pub(super) struct MarkdownBlocks<'b, 'p> {
    pub(super) writer: &'b mut LineWriter<'p>,
    pub(super) options: &'b PageOptions,
    pub(super) syntax: &'static dyn MarkupSyntax,
    /// The entry's id, which is part of the names of its images.
    pub(super) id: &'b str,
    /// Whether long texts are folded.
    pub(super) folds: bool,
    /// The number of images named.
    pub(super) pictures: usize,
    /// The bullet of lists. It differs from that of a list directly above, which a list with the same bullet would continue.
    pub(super) bullet: &'static str,
}

impl MarkdownBlocks<'_, '_> {
    /// Writes blocks one below the other. Folded blocks, which may be nested to any depth, are handled with a stack instead
    /// of recursion.
    pub(super) fn blocks(&mut self, blocks: &[Block]) {
        let mut blocks = blocks.iter();
        // The rest of the blocks after each open fold.
        let mut outer = Vec::new();
        loop {
            match blocks.next() {
                Some(Block::Details { summary, body }) => {
                    self.begin_fold(summary);
                    outer.push(mem::replace(&mut blocks, body.iter()));
                }
                Some(block) => self.block(block),
                None => {
                    let Some(behind) = outer.pop() else { return };
                    blocks = behind;
                    self.end_fold();
                }
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Lines { lines } if lines.len() == 1 => self.paragraph(&lines[0]),
            Block::Lines { lines } => lines.iter().for_each(|line| self.point(Point::Plain, line)),
            Block::Prose { text, .. } => {
                self.writer.gap();
                prose::write(self.writer, self.syntax, text);
                self.writer.gap();
            }
            Block::Code { text, lang, .. } => self.verbatim(text, lang.as_deref().unwrap_or("")),
            Block::Diff { hunks, .. } => self.verbatim(&diff(hunks), "diff"),
            Block::List { items } => {
                for item in items {
                    self.point(item.point, &item.line);
                }
                // A line directly below would continue the last item.
                self.writer.gap();
            }
            Block::Table { head, rows } => self.table(head, rows),
            Block::Image { media, bytes, name, picture } => {
                self.image(media, *bytes, name.as_deref(), picture.as_ref());
            }
            // Folded blocks are opened by the caller.
            Block::Details { .. } => {}
            Block::Elided { lines, bytes } => {
                let more = page::amount(*lines, *bytes);
                let mark = self.syntax.marks().emphasis;
                self.writer.line(&format!("{mark}… {} more{mark}", &*more));
                self.writer.gap();
            }
        }
    }

    /// Writes a line as a paragraph.
    pub(super) fn paragraph(&mut self, line: &Line) {
        let mut text = String::with_capacity(LINE);
        spans(self.syntax, line, true, &mut text);
        self.writer.line(&text);
        self.writer.gap();
    }

    fn point(&mut self, point: Point, line: &Line) {
        let mut text = String::with_capacity(LINE);
        self.syntax.point(point, self.bullet, &mut text);
        spans(self.syntax, line, true, &mut text);
        self.writer.line(&text);
    }

    /// Indents the following lines, which belong to the list item above.
    pub(super) fn open(&mut self) -> LineLevel {
        let blanks = self.syntax.marks().set_in;
        self.writer.open(blanks, blanks)
    }

    /// Writes verbatim text, folded if it is long.
    fn verbatim(&mut self, text: &str, language: &str) {
        let lines = page::lines(text);
        let is_folded = self.folds && self.options.folds(lines);
        if is_folded {
            self.begin_fold(&Line::of("text", figures::count_of(lines as u64, "line", "lines")));
        } else {
            // A fence needs no empty line before it.
            self.writer.no_gap();
        }
        self.syntax.fenced(self.writer, text, language);
        if is_folded {
            self.end_fold();
        }
    }

    /// Begins a fold with a summary.
    pub(super) fn begin_fold(&mut self, summary: &Line) {
        self.syntax.begin_fold(self.writer, summary);
    }

    /// Ends a fold.
    pub(super) fn end_fold(&mut self) {
        self.syntax.end_fold(self.writer);
    }

    fn table(&mut self, head: &[Line], rows: &[Vec<Line>]) {
        let columns = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        self.writer.gap();
        self.syntax.edge_of_table(self.writer);
        self.row(head, columns);
        self.writer.line(&format!("{}|", "| --- ".repeat(columns)));
        for row in rows {
            self.row(row, columns);
        }
        self.syntax.edge_of_table(self.writer);
        self.writer.gap();
    }

    fn row(&mut self, cells: &[Line], columns: usize) {
        let mut text = String::new();
        for at in 0..columns {
            text.push_str("| ");
            if let Some(cell) = cells.get(at) {
                let start = text.len();
                spans(self.syntax.of_cells(), cell, false, &mut text);
                // In code, a bar has no backslash and would end the cell.
                let cell = text.split_off(start).replace("\\|", "|").replace('|', "\\|");
                text.push_str(&cell);
            }
            text.push(' ');
        }
        text.push('|');
        self.writer.line(&text);
    }

    fn image(&mut self, media: &str, bytes: Option<u64>, name: Option<&str>, picture: Option<&Picture>) {
        let description = page::description(media, bytes, name);
        self.pictures += 1;
        let key = format!("{}-{}", page::anchor(self.id), self.pictures);
        let mut label = String::new();
        self.syntax.text(&description, false, &mut label);
        let marks = self.syntax.marks();
        let picture = picture.filter(|_| marks.has_pictures);
        let [open, close] = marks.brackets;
        match self.options.shown(media, picture) {
            PictureSource::Within(address) => {
                // The bytes come in a separate line, so that this one is readable.
                self.writer.line(&format!("![{label}][{key}]"));
                self.writer.gap();
                self.writer.line(&format!("[{key}]: {address}"));
            }
            PictureSource::Beside(address) => self.writer.line(&format!("![{label}](<{address}>)")),
            PictureSource::Absent("") => self.writer.line(&format!("{open}{label}{close}")),
            PictureSource::Absent(why) => self.writer.line(&format!("{open}{label}, {why}{close}")),
        }
        self.writer.gap();
    }
}

/// Writes a line of spans. Verbatim texts are code. `begins`: whether it is at the start of a line.
pub(super) fn spans(syntax: &dyn MarkupSyntax, line: &Line, begins: bool, out: &mut String) {
    let start = out.len();
    let names_agent = names_agent(line);
    for span in line.spans() {
        let begins = begins && out.len() == start && !span.is_spelled;
        if let Some(target) = span.link {
            let mut label = String::new();
            spelled(syntax, &span, names_agent, false, &mut label);
            syntax.link(&label, target, span.text(), out);
        } else {
            spelled(syntax, &span, names_agent, begins, out);
        }
    }
}

/// Whether a line is the title of a sub-agent's call. Its argument is a description, even if it is one word.
fn names_agent(line: &Line) -> bool {
    line.roles().any(|role| role == Role::of("tool.agent"))
}

fn spelled(syntax: &dyn MarkupSyntax, span: &Span<'_>, names_agent: bool, begins: bool, out: &mut String) {
    let text = span.text();
    if span.is_spelled {
        return set_in(text, out);
    }
    let is_blank = text.chars().all(char::is_whitespace);
    match tag_of(span, names_agent) {
        _ if is_blank => out.push_str(if out.is_empty() { "" } else { " " }),
        "b" => {
            let strong = syntax.marks().strong;
            out.push_str(strong);
            syntax.text(text.trim(), false, out);
            out.push_str(strong);
        }
        "code" => syntax.code(text, out),
        _ => syntax.text(text, begins, out),
    }
}

/// Returns the HTML tag for the format of a span, or an empty string if it is plain text.
fn tag_of(span: &Span<'_>, names_agent: bool) -> &'static str {
    static TAGS: LazyLock<Vec<&str>> = LazyLock::new(|| roles().map(tag_of_name).collect());
    let is_plain = span.role == Role::of("call.arg") && (names_agent || !is_verbatim(span.text()));
    TAGS.get(span.role.number()).filter(|_| !is_plain).unwrap_or(&"")
}

fn tag_of_name(role: &'static str) -> &'static str {
    match role {
        "tool.name" | "plan" | "outcome.ok" | "outcome.error" | "result.error" | "notice.error" => "b",
        "call.command" | "path" | "id" | "session.id" | "session.folder" | "call.arg" => "code",
        _ => "",
    }
}

/// Writes a line of spans as the content of an HTML summary.
pub(super) fn html_spans(line: &Line, out: &mut String) {
    let names_agent = names_agent(line);
    for span in line.spans() {
        let is_blank = span.text().chars().all(char::is_whitespace);
        let tag = if span.is_spelled || is_blank { "" } else { tag_of(&span, names_agent) };
        if !tag.is_empty() {
            out.extend(["<", tag, ">"]);
        }
        inline::html_span(span.text(), span.link.map(Text::as_str), out);
        if !tag.is_empty() {
            out.extend(["</", tag, ">"]);
        }
    }
}

/// Writes text that another writer has formatted, with its further lines indented as far as the first.
fn set_in(text: &str, out: &mut String) {
    let line = out.rfind('\n').map_or(0, |end| end + 1);
    let columns = out[line..].chars().count();
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
            // No indentation for an empty line.
            out.extend(std::iter::repeat_n(' ', if line.is_empty() { 0 } else { columns }));
        }
        out.push_str(line);
    }
}

/// Whether an argument is a path, a pattern or a command, rather than words about it.
fn is_verbatim(text: &str) -> bool {
    let is_of_words = |ch: char| ch.is_alphanumeric() || " -'’,.·&();!?“”…+%".contains(ch);
    find(b' ', text.as_bytes()).is_none() || !text.chars().all(is_of_words)
}

/// Formats hunks as a unified diff, with the line numbers of each hunk if they are known.
fn diff(hunks: &[Hunk]) -> String {
    let size = |hunk: &Hunk| hunk.lines.iter().map(|line| line.text.len() + 2).sum::<usize>();
    let mut text = String::with_capacity(hunks.iter().map(|hunk| LINE + size(hunk)).sum());
    for (at, hunk) in hunks.iter().enumerate() {
        let starts = hunk.old_start.zip(hunk.new_start);
        if starts.is_none() && at > 0 {
            text.push_str("@@\n");
        }
        hunk.unified(starts, &mut text);
    }
    text.pop();
    text
}
