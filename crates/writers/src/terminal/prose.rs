//! Renders the Markdown of a model for a terminal.
//!
//! This is a loop over the parser's events with a list of the open blocks. Neither it nor the parser is recursive,
//! so nesting costs no stack. Text that the parser has decoded (`&#27;` is an escape character) is cleaned again
//! before it is written.

use std::mem;

use pulldown_cmark::{Alignment, Event, HeadingLevel, Tag, TagEnd};

use super::block::{coloured, target};
use super::rows::{RowLevel, RowWriter, glyph};
use super::table::{self, TableCell};
use super::wrap::{self, StyledText};
use crate::commonmark::{self, OpenCode};
use crate::{highlight, page};
use streamfmt_core::entry::Role;
use streamfmt_core::text::Text;
use streamfmt_core::theme::Style;

/// Writes Markdown. `role`: the role of its plain text.
pub(super) fn write(writer: &mut RowWriter<'_>, text: &str, role: Role) {
    let base = writer.look().style(role);
    let mut prose = TerminalProse {
        writer,
        base,
        runs: Vec::new(),
        styles: Vec::new(),
        open: Vec::new(),
        links: Vec::new(),
        lists: Vec::new(),
        point: false,
        gap: false,
        code: None,
        table: None,
    };
    commonmark::read(text, |event| prose.event(event));
    prose.flush();
}

/// A piece of a paragraph.
struct TextRun {
    text: String,
    style: Style,
    link: Option<std::rc::Rc<str>>,
}

/// An open link: its address, and the index of the first run of its label.
struct OpenTerminalLink {
    address: String,
    first: usize,
}

#[derive(Default)]
struct TerminalTable {
    aligns: Vec<Alignment>,
    /// The rows, with the head first.
    rows: Vec<Vec<Vec<TextRun>>>,
}

struct TerminalProse<'w, 'p> {
    writer: &'w mut RowWriter<'p>,
    base: Style,
    /// The paragraph so far.
    runs: Vec<TextRun>,
    /// The open styles, each combined with those before.
    styles: Vec<Style>,
    /// The levels of open quotes and list items.
    open: Vec<RowLevel>,
    links: Vec<OpenTerminalLink>,
    /// Open lists, with the number of the next item if they are numbered.
    lists: Vec<Option<u64>>,
    /// Whether a list item has begun whose mark isn't written yet: it depends on the next event.
    point: bool,
    /// Whether the next block needs a blank row before it.
    gap: bool,
    code: Option<OpenCode>,
    table: Option<TerminalTable>,
}

impl TerminalProse<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        if mem::take(&mut self.point) {
            if let Event::TaskListMarker(done) = event {
                self.task_item(done);
                return;
            }
            self.item();
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(text) => self.styled(&text, "markdown.code"),
            Event::Text(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::InlineHtml(text) => self.styled(&text, "markdown.html"),
            Event::Html(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.styled(&text, "markdown.html"),
            },
            // Keep a model's line feeds: the text may be a list of addresses or a verse.
            Event::SoftBreak | Event::HardBreak => self.push("\n".to_owned(), Style::default()),
            Event::Rule => self.rule(),
            // In an item with paragraphs, the bullet is already written.
            Event::TaskListMarker(done) => {
                let (name, role) = task(done);
                let style = self.look_up(role);
                self.push(format!("{} ", glyph(self.writer.look(), name)), style);
            }
        }
    }

    // --- Inline

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(self.base)
    }

    fn open_style(&mut self, role: impl Into<Role>) {
        let style = self.look_up(role).over(self.style());
        self.styles.push(style);
    }

    /// Returns the style that a role adds, which is empty if the theme doesn't contain the role.
    fn look_up(&self, role: impl Into<Role>) -> Style {
        self.writer.look().exact_style(role).unwrap_or_default()
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.text.push_str(text);
            return;
        }
        // A line feed here was written as an entity.
        let text = Text::clean(&text.replace('\n', " ")).into_string();
        let style = self.style();
        self.push(text, style);
    }

    fn styled(&mut self, text: &str, role: impl Into<Role>) {
        self.open_style(role);
        self.text(text.trim_end_matches('\n'));
        self.styles.pop();
    }

    fn push(&mut self, text: String, style: Style) {
        self.runs.push(TextRun { text, style, link: None });
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(OpenTerminalLink { address, first }) = self.links.pop() else { return };
        if self.runs.iter().skip(first).all(|run| run.text.trim().is_empty()) {
            self.styled(&address, "link");
        }
        let shown = self.runs.iter().skip(first).flat_map(|run| run.text.chars());
        let equals = |address: &str| shown.clone().eq(address.chars());
        let is_shown = equals(&address) || address.strip_prefix("mailto:").is_some_and(equals);
        let target = if self.writer.look().links() { target(&address) } else { None };
        if let Some(target) = target {
            let target: std::rc::Rc<str> = (&*target).into();
            for run in self.runs.iter_mut().skip(first) {
                run.link.get_or_insert_with(|| target.clone());
            }
        } else if !is_shown && !address.is_empty() {
            self.styled(&format!(" ({address})"), "markdown.url");
        }
    }

    // --- Blocks

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.open_style(heading_role(level));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.open_style("markdown.quote");
                let look = self.writer.look();
                let bar = look.piece("markdown.bar", glyph(look, "quote"));
                let level = self.writer.indent(&[bar, StyledText::blank(1)], &[bar, StyledText::blank(1)]);
                self.open.push(level);
                self.gap = false;
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.code = Some(OpenCode::begin(&kind));
            }
            Tag::HtmlBlock => {
                self.begin_block();
                self.code = Some(OpenCode::of(""));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.flush();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.begin_block();
                self.point = true;
            }
            Tag::Table(aligns) => {
                self.begin_block();
                self.table = Some(TerminalTable { aligns, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.open_style("table.head");
                self.table.get_or_insert_default().rows.push(Vec::new());
            }
            Tag::TableRow => self.table.get_or_insert_default().rows.push(Vec::new()),
            Tag::Emphasis => self.open_style("markdown.emphasis"),
            Tag::Strong => self.open_style("markdown.strong"),
            Tag::Strikethrough => {
                self.open_style("markdown.strike");
                self.text("~~");
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open_style("link");
                let address = Text::clean(&dest_url.replace('\n', " ")).into_string();
                self.links.push(OpenTerminalLink { address, first: self.runs.len() });
            }
            // Disabled by the options of the parser, or without a beginning.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.styles.pop();
                self.leave();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code("markdown.block"),
            TagEnd::HtmlBlock => self.end_code("markdown.html"),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.writer.flush_mark();
                self.leave();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = mem::take(&mut self.runs);
                if let Some(row) = self.table.get_or_insert_default().rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Strikethrough => {
                self.text("~~");
                self.styles.pop();
            }
            TagEnd::TableHead | TagEnd::Emphasis | TagEnd::Strong => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn begin_block(&mut self) {
        self.flush();
        if mem::take(&mut self.gap) {
            self.writer.blank();
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    fn leave(&mut self) {
        if let Some(level) = self.open.pop() {
            self.writer.dedent(level);
        }
    }

    /// Writes the paragraph so far.
    fn flush(&mut self) {
        let runs = mem::take(&mut self.runs);
        if runs.is_empty() {
            return;
        }
        for line in runs.split(|run| run.text == "\n") {
            self.writer.line(&pieces(line), 0);
        }
    }

    fn item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => format!("{} ", glyph(self.writer.look(), "plain")),
        };
        self.mark(&mark, "markdown.bullet");
    }

    fn task_item(&mut self, done: bool) {
        let (name, role) = task(done);
        let mark = format!("{} ", glyph(self.writer.look(), name));
        self.mark(&mark, role);
    }

    fn mark(&mut self, mark: &str, role: impl Into<Role>) {
        let role = role.into();
        let style = self.look_up(role).over(self.base);
        let mark = StyledText { text: mark, role, style, ..StyledText::blank(0) };
        let level = self.writer.indent(&[mark], &[StyledText::blank(wrap::width(mark.text))]);
        self.open.push(level);
    }

    fn rule(&mut self) {
        self.begin_block();
        let look = self.writer.look();
        let width = self.writer.room().unwrap_or(40).min(40);
        let line = glyph(look, "row").repeat(width);
        self.writer.row(&[look.piece("markdown.rule", &line)]);
        self.gap = true;
    }

    fn end_code(&mut self, role: impl Into<Role>) {
        let role = role.into();
        self.gap = true;
        let Some(code) = self.code.take() else { return };
        let text = Text::clean(code.text.trim_end_matches('\n'));
        let look = self.writer.look();
        let base = self.look_up(role);
        let level = self.writer.shift(2);
        let mut colours = highlight::lines(&code.language, &text);
        let widest = text.lines().map(wrap::width).max().unwrap_or(0);
        for line in page::split(&text) {
            let pieces = coloured(look, line, colours.as_mut(), role, base);
            self.writer.filled(&pieces, 0, Some((base, widest)));
        }
        self.writer.dedent(level);
    }

    fn end_table(&mut self) {
        self.gap = true;
        let Some(table) = self.table.take() else { return };
        let rows: Vec<Vec<TableCell<'_>>> =
            table.rows.iter().map(|row| row.iter().map(|cell| pieces(cell)).collect()).collect();
        if let Some((head, rows)) = rows.split_first() {
            table::grid(self.writer, head, rows, &table.aligns);
        }
    }
}

/// Returns the glyph and role of a task's mark.
fn task(done: bool) -> (&'static str, &'static str) {
    if done { ("done", "mark.done") } else { ("open", "mark.open") }
}

fn heading_role(level: HeadingLevel) -> &'static str {
    const ROLES: [&str; 4] =
        ["markdown.heading.1", "markdown.heading.2", "markdown.heading.3", "markdown.heading.4"];
    ROLES[(level as usize).clamp(1, ROLES.len()) - 1]
}

fn pieces(runs: &[TextRun]) -> Vec<StyledText<'_>> {
    runs.iter()
        .map(|run| StyledText {
            text: &run.text,
            style: run.style,
            link: run.link.as_deref(),
            ..StyledText::blank(0)
        })
        .collect()
}
