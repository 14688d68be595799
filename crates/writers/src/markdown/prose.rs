//! Writes the Markdown of a model again from the events of the parser.
//!
//! Copied source could mean something else to another parser. Text that is written again has only the constructions that we
//! chose: raw HTML as text, images as links, addresses of harmless schemes, headings below ours.

use std::borrow::Cow;
use std::mem;

use pulldown_cmark::{Alignment, Event, HeadingLevel, Tag, TagEnd};

use super::LINE;
use super::syntax::MarkupSyntax;
use crate::commonmark::{self, OpenCode};
use crate::lines::{LineLevel, LineWriter};
use crate::page;
use streamfmt_core::find::find;
use streamfmt_core::text;

/// Writes Markdown, or its source in a fence if parsing it might take too long.
pub(super) fn write(writer: &mut LineWriter<'_>, syntax: &'static dyn MarkupSyntax, source: &str) {
    let source = source.trim_matches('\n').trim_end();
    if source.trim().is_empty() {
        return;
    }
    if !commonmark::is_sane(source) {
        syntax.fenced(writer, source, "");
        return;
    }
    if commonmark::is_words(source) {
        let mut line = String::with_capacity(LINE);
        syntax.text(&text::clean(source), true, &mut line);
        writer.line(&line);
        return;
    }
    let mut prose = MarkdownProse {
        writer,
        syntax,
        line: String::with_capacity(LINE),
        shown: Vec::new(),
        open: Vec::new(),
        links: Vec::new(),
        lists: Vec::new(),
        gap: false,
        code: None,
        table: None,
        in_heading: false,
    };
    commonmark::read(source, |event| prose.event(event));
    prose.flush();
}

/// An open link: its target, and the start of its label in the line.
struct OpenMarkdownLink {
    target: String,
    start: usize,
}

struct MarkdownTable {
    aligns: Vec<Alignment>,
    row: String,
}

struct MarkdownProse<'w, 'p> {
    writer: &'w mut LineWriter<'p>,
    syntax: &'static dyn MarkupSyntax,
    /// The paragraph so far.
    line: String,
    /// The plain text of the labels of open links.
    shown: Vec<String>,
    /// The levels of open quotes and list items.
    open: Vec<LineLevel>,
    links: Vec<OpenMarkdownLink>,
    /// Open lists, with the number of the next item if they are numbered.
    lists: Vec<Option<u64>>,
    /// Whether the next block needs an empty line before it.
    gap: bool,
    code: Option<OpenCode>,
    table: Option<MarkdownTable>,
    in_heading: bool,
}

impl MarkdownProse<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(code) => {
                let code = one_line(&code);
                self.note_shown(&code);
                let code = match &self.table {
                    Some(_) => code.replace('|', self.syntax.marks().bar).into(),
                    None => code,
                };
                self.inside().code(&code, &mut self.line);
            }
            Event::Text(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text)
            | Event::InlineHtml(text)
            | Event::Html(text) => self.text(&text),
            // A cell and a heading are one line.
            Event::SoftBreak | Event::HardBreak if self.table.is_some() || self.in_heading => {
                self.line.push(' ');
            }
            Event::SoftBreak => self.line.push('\n'),
            Event::HardBreak => self.line.push_str(self.syntax.marks().line_break),
            Event::Rule => {
                self.begin();
                // Directly below a line, it would turn that into a heading.
                self.writer.gap();
                self.writer.line(self.syntax.marks().rule);
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                self.line.push_str(self.syntax.marks().tasks[usize::from(done)]);
            }
        }
    }

    // --- Within lines

    fn text(&mut self, foreign: &str) {
        if let Some(code) = &mut self.code {
            code.text.push_str(foreign);
            return;
        }
        // A line feed here was written as an entity.
        let foreign = one_line(foreign);
        self.note_shown(&foreign);
        let begins = self.table.is_none() && (self.line.is_empty() || self.line.ends_with('\n'));
        self.inside().text(&foreign, begins, &mut self.line);
    }

    /// Returns the syntax at the current position: that of cells inside a table.
    fn inside(&self) -> &'static dyn MarkupSyntax {
        if self.table.is_some() { self.syntax.of_cells() } else { self.syntax }
    }

    fn note_shown(&mut self, text: &str) {
        if let Some(shown) = self.shown.last_mut() {
            shown.push_str(text);
        }
    }

    fn end_link(&mut self) {
        let (Some(OpenMarkdownLink { target, start }), Some(shown)) = (self.links.pop(), self.shown.pop())
        else {
            return;
        };
        let label = self.line.split_off(start.min(self.line.len()));
        self.inside().link_in_prose(&label, &target, &shown, &mut self.line);
        self.note_shown(&shown);
    }

    // --- Blocks

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin(),
            Tag::Heading { level, .. } => {
                self.begin();
                self.line.push_str(self.syntax.heading(depth(level))[0]);
                self.in_heading = true;
            }
            Tag::BlockQuote(_) => {
                self.begin();
                let quote = self.syntax.marks().quote;
                let level = self.writer.open(quote, quote);
                self.open.push(level);
            }
            Tag::CodeBlock(kind) => {
                self.begin();
                self.code = Some(OpenCode::begin(&kind));
            }
            Tag::HtmlBlock => {
                self.begin();
                self.code = Some(OpenCode::of("html"));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin();
                } else {
                    self.flush();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.begin();
                let level = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        self.writer.open(&mark, &" ".repeat(mark.len()))
                    }
                    _ => self.writer.open(self.syntax.marks().bullets[0], "  "),
                };
                self.open.push(level);
            }
            Tag::Table(aligns) => {
                self.begin();
                self.syntax.edge_of_table(self.writer);
                self.table = Some(MarkdownTable { aligns, row: String::new() });
            }
            Tag::Emphasis => self.line.push_str(self.inside().marks().emphasis),
            Tag::Strong => self.line.push_str(self.strong()),
            Tag::Strikethrough => self.line.push_str(self.inside().marks().strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.start_link(&dest_url),
            // Disabled by the options of the parser, or without a beginning.
            _ => {}
        }
    }

    /// Returns the mark around strong words: empty where the whole line is strong.
    fn strong(&self) -> &'static str {
        let is_strong = self.in_heading && self.syntax.marks().has_strong_headings;
        if is_strong { "" } else { self.inside().marks().strong }
    }

    fn start_link(&mut self, target: &str) {
        let target = one_line(target).into_owned();
        self.links.push(OpenMarkdownLink { target, start: self.line.len() });
        self.shown.push(String::new());
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(level) => {
                self.line.push_str(self.syntax.heading(depth(level))[1]);
                self.flush();
                self.in_heading = false;
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.leave();
                self.gap = true;
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                if let Some(code) = self.code.take() {
                    let text = text::clean(code.text.trim_end_matches('\n'));
                    self.syntax.fenced(self.writer, &text, &code.language);
                }
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.leave();
                // An empty line after an item with paragraphs would add space between all items.
                self.gap = false;
            }
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    table.row.push_str("| ");
                    table.row.push_str(self.line.trim());
                    table.row.push(' ');
                }
                self.line.clear();
            }
            TagEnd::TableHead | TagEnd::TableRow => self.end_row(matches!(tag, TagEnd::TableHead)),
            TagEnd::Table => {
                self.table = None;
                self.syntax.edge_of_table(self.writer);
                self.gap = true;
            }
            TagEnd::Emphasis => self.line.push_str(self.inside().marks().emphasis),
            TagEnd::Strong => self.line.push_str(self.strong()),
            TagEnd::Strikethrough => self.line.push_str(self.inside().marks().strike),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.flush();
        if mem::take(&mut self.gap) {
            self.writer.gap();
        }
    }

    fn leave(&mut self) {
        if let Some(level) = self.open.pop() {
            self.writer.close(level);
        }
    }

    /// Writes the paragraph so far.
    fn flush(&mut self) {
        if self.line.is_empty() {
            return;
        }
        for line in page::split(&self.line).map(str::trim_start) {
            self.writer.line(line);
        }
        self.line.clear();
    }

    fn end_row(&mut self, is_head: bool) {
        let Some(table) = &mut self.table else { return };
        table.row.push('|');
        self.writer.line(&table.row);
        table.row.clear();
        if is_head {
            let rule = |align: &Alignment| match align {
                Alignment::None => "| --- ",
                Alignment::Left => "| :-- ",
                Alignment::Center => "| :-: ",
                Alignment::Right => "| --: ",
            };
            let rule: String = table.aligns.iter().map(rule).chain(["|"]).collect();
            self.writer.line(&rule);
        }
    }
}

/// Cleans a text, and replaces its line feeds by blanks.
fn one_line(foreign: &str) -> Cow<'_, str> {
    let text = text::clean(foreign);
    match find(b'\n', text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace('\n', " ")),
        None => text,
    }
}

/// Returns the depth of a model's heading, which is below those of the page.
fn depth(level: HeadingLevel) -> usize {
    (level as usize + 2).min(6)
}
