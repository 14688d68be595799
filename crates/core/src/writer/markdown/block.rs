//! The blocks of a body as Markdown.

use std::fmt::Write;
use std::mem;

use super::LINE;
use super::inline;
use super::pen::Pen;
use super::prose;
use crate::entry::{Block, Change, Hunk, Line, ListItem, Picture, Point, Span};
use crate::find::find;
use crate::formatter::figures;
use crate::writer::sheet::{self, Sheet, Shown};

/// Writes blocks.
pub(super) struct Body<'b, 'p> {
    pub(super) pen: &'b mut Pen<'p>,
    pub(super) sheet: &'b Sheet,
    /// The entry's id: its pictures are called after it.
    pub(super) id: &'b str,
    /// How many were named.
    pub(super) pictures: usize,
    /// What begins the points of lists. One right below another of the same mark would go on with it.
    pub(super) bullet: &'static str,
}

impl Body<'_, '_> {
    /// Writes blocks one below the other, those that are folded in a list of their own: they may lie in each other
    /// to any depth.
    pub(super) fn blocks(&mut self, blocks: &[Block]) {
        let mut blocks = blocks.iter();
        // Those that go on behind what is folded.
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
            Block::Lines { lines } => lines.iter().for_each(|line| self.point("", line)),
            Block::Prose { text, .. } => {
                self.pen.gap();
                prose::write(self.pen, text);
                self.pen.gap();
            }
            Block::Code { text, lang, .. } => self.verbatim(text, lang.as_deref().unwrap_or("")),
            Block::Diff { hunks, .. } => self.verbatim(&diff(hunks), "diff"),
            Block::List { items } => {
                for item in items {
                    self.list_item(item);
                }
                // What followed at once would be taken for a part of the last point.
                self.pen.gap();
            }
            Block::Table { head, rows } => self.table(head, rows),
            Block::Image { media, bytes, name, picture } => {
                self.image(media, *bytes, name.as_deref(), picture.as_ref());
            }
            // Folded blocks are opened by the caller.
            Block::Details { .. } => {}
            Block::Elided { lines, bytes } => {
                let more = sheet::amount(*lines, *bytes);
                self.pen.line(&format!("*… {} more*", &*more));
                self.pen.gap();
            }
        }
    }

    /// A line of its own.
    pub(super) fn paragraph(&mut self, line: &Line) {
        let mut text = String::with_capacity(LINE);
        spans(line, true, &mut text);
        self.pen.line(&text);
        self.pen.gap();
    }

    fn point(&mut self, mark: &str, line: &Line) {
        let mut text = String::with_capacity(LINE);
        text.push_str(self.bullet);
        text.push_str(mark);
        spans(line, true, &mut text);
        self.pen.line(&text);
    }

    /// Text as it is, folded if it is long.
    fn verbatim(&mut self, text: &str, language: &str) {
        let lines = sheet::lines(text);
        let is_folded = self.sheet.folds(lines);
        if is_folded {
            self.begin_fold(&Line::of("text", figures::count_of(lines as u64, "line", "lines")));
        } else {
            // A fence needs no empty line before it.
            self.pen.no_gap();
        }
        self.pen.fenced(text, language);
        if is_folded {
            self.end_fold();
        }
    }

    /// Begins what is folded behind a summary.
    pub(super) fn begin_fold(&mut self, summary: &Line) {
        let mut line = String::from("<details><summary>");
        for span in &summary.spans {
            inline::html_span(&span.text, span.link.as_deref(), &mut line);
        }
        line.push_str("</summary>");
        self.pen.line(&line);
        // Up to an empty line all is HTML.
        self.pen.gap();
    }

    /// Ends what is folded.
    pub(super) fn end_fold(&mut self) {
        self.pen.gap();
        self.pen.line("</details>");
        self.pen.gap();
    }

    fn list_item(&mut self, item: &ListItem) {
        match item.point {
            Point::Plain => self.point("", &item.line),
            Point::Open => self.point("[ ] ", &item.line),
            Point::Active => self.point("[ ] ▸ ", &item.line),
            Point::Done => self.point("[x] ", &item.line),
            Point::Failed => self.point("[ ] ✗ ", &item.line),
        }
    }

    fn table(&mut self, head: &[Line], rows: &[Vec<Line>]) {
        let columns = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        self.pen.gap();
        self.row(head, columns);
        self.pen.line(&format!("{}|", "| --- ".repeat(columns)));
        for row in rows {
            self.row(row, columns);
        }
        self.pen.gap();
    }

    fn row(&mut self, cells: &[Line], columns: usize) {
        let mut text = String::new();
        for at in 0..columns {
            text.push_str("| ");
            if let Some(cell) = cells.get(at) {
                let start = text.len();
                spans(cell, false, &mut text);
                // In code a bar stands without a backslash, and would end the cell.
                let cell = text.split_off(start).replace("\\|", "|").replace('|', "\\|");
                text.push_str(&cell);
            }
            text.push(' ');
        }
        text.push('|');
        self.pen.line(&text);
    }

    fn image(&mut self, media: &str, bytes: Option<u64>, name: Option<&str>, picture: Option<&Picture>) {
        let told = sheet::told(media, bytes, name);
        self.pictures += 1;
        let key = format!("{}-{}", sheet::anchor(self.id), self.pictures);
        let mut label = String::new();
        inline::text(&told, false, &mut label);
        match self.sheet.shown(media, picture) {
            Shown::Within(address) => {
                // The bytes stand apart, so that the line can be read.
                self.pen.line(&format!("![{label}][{key}]"));
                self.pen.gap();
                self.pen.line(&format!("[{key}]: {address}"));
            }
            Shown::Beside(address) => self.pen.line(&format!("![{label}](<{address}>)")),
            Shown::Told("") => self.pen.line(&format!("\\[{label}\\]")),
            Shown::Told(why) => self.pen.line(&format!("\\[{label}, {why}\\]")),
        }
        self.pen.gap();
    }
}

/// A line of spans. What is told verbatim is code. `begins`: it stands at the start of a line.
pub(super) fn spans(line: &Line, begins: bool, out: &mut String) {
    let start = out.len();
    for span in &line.spans {
        let begins = begins && out.len() == start;
        if let Some(target) = &span.link {
            let mut label = String::new();
            spelled(span, false, &mut label);
            inline::link(&label, target, &span.text, out);
        } else {
            spelled(span, begins, out);
        }
    }
}

fn spelled(span: &Span, begins: bool, out: &mut String) {
    let text = span.text.as_str();
    let is_blank = text.chars().all(char::is_whitespace);
    match span.role.name() {
        _ if is_blank => out.push_str(if out.is_empty() { "" } else { " " }),
        "tool.name" | "plan" | "outcome.ok" | "outcome.error" | "result.error" | "notice.error" => {
            out.push_str("**");
            inline::text(text.trim(), false, out);
            out.push_str("**");
        }
        "call.command" | "path" | "id" | "session.id" | "session.folder" => inline::code(text, out),
        "call.arg" if is_verbatim(text) => inline::code(text, out),
        _ => inline::text(text, begins, out),
    }
}

/// Whether an argument is a path, a pattern or a command, rather than words about it.
fn is_verbatim(text: &str) -> bool {
    let is_of_words = |ch: char| ch.is_alphanumeric() || matches!(ch, ' ' | '-' | '\'' | ',' | '.' | '·');
    find(b' ', text.as_bytes()).is_none() || !text.chars().all(is_of_words)
}

/// The lines of hunks with their marks, and where each hunk is if that is known.
fn diff(hunks: &[Hunk]) -> String {
    let size = |hunk: &Hunk| hunk.lines.iter().map(|line| line.text.len() + 2).sum::<usize>();
    let mut text = String::with_capacity(hunks.iter().map(|hunk| LINE + size(hunk)).sum());
    for (at, hunk) in hunks.iter().enumerate() {
        let count =
            |changes: [Change; 2]| hunk.lines.iter().filter(|line| changes.contains(&line.change)).count();
        if let (Some(old), Some(new)) = (hunk.old_start, hunk.new_start) {
            let (before, after) = (count([Change::Keep, Change::Remove]), count([Change::Keep, Change::Add]));
            let _ = writeln!(text, "@@ -{old},{before} +{new},{after} @@");
        } else if at > 0 {
            text.push_str("@@\n");
        }
        for line in hunk.lines.iter() {
            text.push(match line.change {
                Change::Keep => ' ',
                Change::Add => '+',
                Change::Remove => '-',
            });
            text.push_str(line.text);
            text.push('\n');
        }
    }
    text.pop();
    text
}
