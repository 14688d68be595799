//! Entries as Markdown, for pull requests, notes and chats: readable as source and as a page.
//!
//! ````text
//! # claude-opus-4-5 · ~/shop           the facts of the run at its start
//!
//! I'll look at the failing test.       replies are written as they are, cleaned
//!
//! - **Read** `src/cart.rs` · 22 lines  a call is a list item, with its result after it
//! - **Bash** `Run the cart tests`      or below it, in a fence that no content can end
//!   ```sh
//!   cargo test -p cart
//!   ```
//! > - **Grep** `total`                 steps of a sub-agent are a quote
//!
//! ## Answer                            the last replies, once they are known to be the last
//! ````
//!
//! The answer has a heading, so the outline holds replies back until another step follows, which means that they weren't the answer.

mod block;
mod head;
mod index;
mod inline;
mod prose;
mod syntax;

use std::fmt::{self, Write};

use crate::lines::{self, LineWriter};
use crate::page::{self, PageOptions, UtcTime};
use streamfmt_core::entry::{Block, Entry, Line};
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Answer, DocumentHead, Group, Node, Relation};
use streamfmt_core::text::Text;
use streamfmt_core::theme::{self, Glyphs};
use streamfmt_core::writer::{HeadWriter, Order, Wants, Writer};

use self::block::MarkdownBlocks;
use self::head::KeptHead;
use self::syntax::Commonmark;

pub(super) use self::syntax::{MarkupSyntax, SyntaxMarks};

/// The most nested quotes for the steps of sub-agents. Deeper ones use the innermost.
const MOST_QUOTES: usize = 6;

/// The indentation of a list item for each level.
const LEVEL: usize = 2;
/// The most levels of indentation.
const MOST_LEVELS: usize = 16;

/// Marks that aren't written: most list items are calls, and a plain one has its bullet.
const NO_MARKS: [&str; 2] = ["call", "plain"];

/// The most lines of a failure that is never folded.
const OPEN_FAILURE: usize = 60;

/// The initial capacity for a line, in bytes: most are shorter.
const LINE: usize = 160;

/// Writes entries as Markdown.
#[derive(Debug)]
pub struct Markdown {
    options: PageOptions,
    syntax: &'static dyn MarkupSyntax,
    buffer: String,
    prefix: String,
    before: Option<LastMarkdownEntry>,
    /// Whether the line of a call was left open for its result.
    is_open: bool,
    /// Whether the format supports a head at the start of a page.
    has_head: bool,
    /// Whether this is a page with a head.
    is_page: bool,
    /// The parts that are kept for the head.
    kept: Option<Box<KeptHead>>,
}

/// A list item that is folded as a whole.
#[derive(Clone, Copy)]
struct FoldedPoint<'e> {
    /// For a call: its result, if it is known.
    result: Option<&'e Entry>,
}

/// The properties of the previous entry that the next one depends on.
#[derive(Clone, Copy, Debug)]
struct LastMarkdownEntry {
    depth: u16,
    is_point: bool,
    /// Whether a line directly below would continue its last line.
    ends_in_lines: bool,
}

impl Markdown {
    /// Creates a writer with this layout.
    pub fn new(options: PageOptions) -> Self {
        Self { has_head: true, ..Self::with_syntax(options, &Commonmark) }
    }

    /// Creates a writer with this layout for a format with the structure of Markdown but another syntax.
    pub(super) fn with_syntax(options: PageOptions, syntax: &'static dyn MarkupSyntax) -> Self {
        let (buffer, prefix) = (String::new(), String::new());
        let (has_head, is_page, kept) = (false, false, None);
        Self { options, syntax, buffer, prefix, before: None, is_open: false, has_head, is_page, kept }
    }

    /// Whether a list item is folded, together with its result if that is known: if it is long. An item that was cut isn't folded, nor is a
    /// failure of at most [`OPEN_FAILURE`] lines.
    fn is_folded(&self, entry: &Entry, result: Option<&Entry>) -> bool {
        if entry.kind == Kind::Result || !is_point(entry) {
            return false;
        }
        let all = || [Some(entry), result].into_iter().flatten();
        let lines = all().map(|entry| page::lines_of(&entry.view.body)).sum();
        let is_open = all().any(Entry::is_failed) && lines <= OPEN_FAILURE;
        self.options.folds(lines) && !is_open && !all().any(|entry| page::is_cut(&entry.view.body))
    }

    fn heading(&mut self, text: &str, out: &mut dyn Write) -> fmt::Result {
        self.end_line(out)?;
        if self.before.is_some() {
            out.write_char('\n')?;
        }
        self.before = Some(LastMarkdownEntry { depth: 0, is_point: false, ends_in_lines: false });
        let [before, behind] = self.syntax.heading(2);
        writeln!(out, "{before}{text}{behind}")
    }

    fn end_line(&mut self, out: &mut dyn Write) -> fmt::Result {
        if std::mem::take(&mut self.is_open) { out.write_char('\n') } else { Ok(()) }
    }

    fn write(&mut self, entry: &Entry, relation: &Relation, out: &mut dyn Write) -> fmt::Result {
        self.write_as(entry, relation, None, out)
    }

    /// Writes an entry. `folded`: whether its body, with its result, is folded behind its title.
    fn write_as(
        &mut self,
        entry: &Entry,
        relation: &Relation,
        folded: Option<FoldedPoint<'_>>,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let timed = self.options.timestamps.as_ref().and_then(|_| page::timed(entry));
        let entry = timed.as_ref().unwrap_or(entry);
        let is_page = self.is_page;
        if let Some(kept) = &mut self.kept {
            kept.has_body = true;
        }
        if entry.begins_turn() && !is_page {
            self.heading("Prompt", out)?;
        }
        let before = self.before;
        let ends_in_lines = matches!(entry.view.body.last(), Some(Block::List { .. } | Block::Lines { .. }));
        let now = LastMarkdownEntry { depth: entry.depth, is_point: is_point(entry), ends_in_lines };
        // A result directly below its call continues the call's list item.
        let is_below = *relation == Relation::Below && before.is_some_and(|it| it.is_point);
        let is_behind = is_below && self.is_open && entry.is_note();
        if is_below && !is_behind && self.is_open && !entry.view.title.is_empty() {
            // The title of the result would continue the call's line.
            self.is_open = false;
            out.write_str(self.syntax.marks().line_break)?;
        } else if !is_behind {
            self.end_line(out)?;
        }
        self.before = Some(now);
        let mut writer = LineWriter::new(&mut self.buffer, &mut self.prefix, out, before.is_none());
        let is_next =
            before.is_some_and(|before| before.is_point && now.is_point && before.depth == now.depth);
        if let Some(before) = before.filter(|_| !is_next && !is_behind) {
            let level = quote(&mut writer, self.syntax, before.depth.min(now.depth));
            writer.line("");
            writer.close(level);
        }
        quote(&mut writer, self.syntax, now.depth);
        if entry.level > 0 {
            let indent = " ".repeat(LEVEL * usize::from(entry.level).min(MOST_LEVELS));
            writer.open(&indent, &indent);
        }
        let body = MarkdownBlocks {
            writer: &mut writer,
            options: &self.options,
            syntax: self.syntax,
            id: entry.id.as_str(),
            // A body that was cut is short enough.
            folds: !is_page || folded.is_none() && !page::is_cut(&entry.view.body),
            pictures: 0,
            bullet: self.syntax.marks().bullets[usize::from(entry.kind == Kind::Result)],
        };
        let mut part = MarkdownEntry { entry, relation, body, is_page };
        self.is_open = false;
        match (entry.kind, folded) {
            (Kind::Result, _) => {
                part.result(is_below, is_behind, before.is_some_and(|before| before.ends_in_lines));
            }
            (_, Some(folded)) => part.folded(folded.result),
            _ if now.is_point => self.is_open = part.point(),
            _ => part.prose(before.is_none()),
        }
        writer.end()
    }
}

impl Writer for Markdown {
    fn wants(&self) -> Wants {
        let order = if self.has_head { Order::Paired } else { Order::Chosen };
        let time = self.options.timestamps.is_some();
        Wants { time, answer: true, head: self.has_head, order, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        let node = match &mut self.kept {
            Some(kept) => kept.keep(node),
            None => Some(node),
        };
        let Some(node) = node else { return Ok(()) };
        let result = node.result.as_deref();
        if self.kept.is_some() && self.is_folded(&node.entry, result) {
            let timed = self.options.timestamps.as_ref().and_then(|_| page::timed(result?));
            let folded = FoldedPoint { result: timed.as_ref().or(result) };
            return self.write_as(&node.entry, &node.relation, Some(folded), out);
        }
        self.write(&node.entry, &node.relation, out)?;
        node.result.as_deref().map_or(Ok(()), |result| self.write(result, &Relation::Below, out))
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn Write) -> fmt::Result {
        if let Some(kept) = self.kept.as_mut().filter(|_| answer.is_last) {
            kept.answer = Some(answer.clone());
            let mut others = answer.nodes.iter().filter(|node| !node.is_of_answer());
            return others.try_for_each(|node| self.node(node, out));
        }
        if self.kept.is_some() {
            return answer.nodes.iter().try_for_each(|node| self.node(node, out));
        }
        let mut nodes = answer.before.iter().chain(&answer.nodes);
        if nodes.clone().next().is_some_and(|node| node.entry.kind == Kind::Reply) {
            self.heading("Answer", out)?;
        }
        nodes.try_for_each(|node| self.node(node, out))
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.end_line(out)?;
        match &self.kept {
            Some(kept) if kept.has_body => out.write_str("\n</details>\n"),
            _ => Ok(()),
        }
    }

    fn head(&mut self) -> Option<&mut dyn HeadWriter> {
        if self.has_head { Some(self) } else { None }
    }
}

impl HeadWriter for Markdown {
    fn hold(&mut self) {
        self.is_page = true;
        self.kept = Some(Box::default());
    }

    fn write_head(&mut self, head: &DocumentHead, out: &mut dyn Write) -> fmt::Result {
        let kept = self.kept.take();
        kept.map_or(Ok(()), |kept| self.write_kept(*kept, head, out))
    }
}

/// Opens a quote for each level of sub-agents.
fn quote(writer: &mut LineWriter<'_>, syntax: &dyn MarkupSyntax, depth: u16) -> lines::LineLevel {
    let level = writer.open("", "");
    for _ in 0..usize::from(depth).min(MOST_QUOTES) {
        writer.open(syntax.marks().nest, syntax.marks().nest);
    }
    level
}

/// Whether an entry is a list item, as the steps of the agent are, rather than prose.
fn is_point(entry: &Entry) -> bool {
    entry.group() == Group::Work
        && match entry.kind {
            Kind::Result => true,
            Kind::Reply | Kind::Prompt | Kind::Thinking => false,
            _ => !entry.view.title.is_empty(),
        }
}

/// An entry that is being written.
struct MarkdownEntry<'e, 'b, 'p> {
    entry: &'e Entry,
    relation: &'e Relation,
    body: MarkdownBlocks<'b, 'p>,
    /// Whether the page has a head.
    is_page: bool,
}

impl MarkdownEntry<'_, '_, '_> {
    /// Writes a call, a plan or a notice. Returns whether its line is left open.
    fn point(&mut self) -> bool {
        let view = &self.entry.view;
        let bullet = self.inside();
        let line = self.titled(bullet, view.mark.filter(|mark| !NO_MARKS.contains(mark)), &view.title);
        if self.entry.kind == Kind::Call && view.body.is_empty() {
            self.body.writer.open_line(&line);
            return true;
        }
        self.body.writer.line(&self.broken(line));
        self.indented();
        false
    }

    /// Returns the title, with a line break at its end if a line of text follows that would continue it.
    fn broken(&self, mut title: String) -> String {
        if matches!(self.entry.view.body.first(), Some(Block::Lines { lines }) if lines.len() == 1) {
            title.push_str(self.body.syntax.marks().line_break.trim_end_matches('\n'));
        }
        title
    }

    /// Writes a list item folded behind its title, with its result if it is a call.
    fn folded(&mut self, result: Option<&Entry>) {
        let view = &self.entry.view;
        let bullet = self.inside();
        let mut summary = Line::default();
        if let Some(time) = self.time() {
            summary.attach("time", format!("{} ", time.clock()));
        }
        let mark = view.mark.filter(|mark| !NO_MARKS.contains(mark));
        if let Some(mark) = mark.map(|mark| theme::glyph(Glyphs::Unicode, mark)) {
            summary.attach("text", format!("{mark} "));
        }
        summary.append(&view.title);
        let title = result.map(|result| &result.view.title).filter(|title| !title.is_empty());
        let note = title.filter(|title| title.text().len() <= LINE);
        if let (Some(note), Some(result)) = (note, result) {
            let mark = result.view.mark.map_or("", |mark| theme::glyph(Glyphs::Unicode, mark));
            let before = if mark.is_empty() { " · ".to_owned() } else { format!(" · {mark} ") };
            summary.attach("text", before);
            summary.append(note);
        }
        let blanks = self.body.syntax.marks().set_in;
        let level = self.body.writer.open(bullet, blanks);
        self.body.begin_fold(&summary);
        self.body.blocks(&view.body);
        if let Some(title) = title.filter(|_| note.is_none()) {
            self.body.paragraph(title);
        }
        if let Some(result) = result {
            self.body.blocks(&result.view.body);
        }
        self.body.end_fold();
        self.body.writer.close(level);
    }

    /// Writes a result, below its call or with the call's title. `is_behind`: whether its title continues the call's line.
    /// `is_after_lines`: whether lines or a list are directly above.
    fn result(&mut self, is_below: bool, is_behind: bool, is_after_lines: bool) {
        let view = &self.entry.view;
        let mut title = Some(&view.title).filter(|title| !title.is_empty());
        if is_behind {
            let mut line = String::from(" · ");
            block::spans(self.body.syntax, &view.title, false, &mut line);
            self.body.writer.continue_line(&line);
            self.body.writer.end_line();
            title = None;
        } else if !is_below {
            let unnamed = Line::of("muted", "result");
            let call = if let Relation::Apart(call) = self.relation { call } else { &unnamed };
            let mut line = self.titled(self.body.syntax.marks().bullets[0], Some("result"), call);
            if let Some(note) = title.take_if(|_| self.entry.is_note()) {
                line.push_str(" · ");
                block::spans(self.body.syntax, note, false, &mut line);
            }
            self.body.writer.line(&line);
        }
        if let Some(title) = title {
            let line = self.titled("", view.mark, title);
            let level = self.body.open();
            if is_below && is_after_lines {
                self.body.writer.gap();
            }
            self.body.writer.line(&self.broken(line));
            self.body.writer.close(level);
        }
        self.indented();
    }

    /// Writes a message, the heading of a session, or an outcome.
    fn prose(&mut self, is_first: bool) {
        let view = &self.entry.view;
        if let Relation::Apart(call) = self.relation {
            let line = self.titled("", Some("inside"), call);
            self.body.writer.line(&line);
            self.body.writer.gap();
        }
        let is_folded = self.entry.kind == Kind::Thinking && !view.body.is_empty();
        if is_folded {
            self.body.begin_fold(&Line::of("text", Text::own("Thinking")));
        }
        if view.is_heading() && !self.is_page {
            let [before, behind] = self.body.syntax.heading(if is_first { 1 } else { 2 });
            let line = self.titled(before, None, &view.title) + behind;
            self.body.writer.line(&line);
            self.body.writer.gap();
        } else if !view.title.is_empty() {
            let line = self.titled("", view.mark, &view.title);
            self.body.writer.line(&line);
            self.body.writer.gap();
        } else if self.entry.kind == Kind::Prompt && !self.entry.begins_turn() {
            let strong = self.body.syntax.marks().strong;
            self.body.writer.line(&format!("{strong}Asked{strong}"));
            self.body.writer.gap();
        }
        let is_asked = self.is_page && self.entry.begins_turn();
        let mark = if is_asked { self.body.syntax.marks().quote } else { "" };
        let level = self.body.writer.open(mark, mark);
        self.body.blocks(&view.body);
        self.body.writer.close(level);
        if is_folded {
            self.body.end_fold();
        }
    }

    /// Writes the body as a part of the list item above.
    fn indented(&mut self) {
        let level = self.body.open();
        self.body.blocks(&self.entry.view.body);
        self.body.writer.close(level);
    }

    /// Writes the line of the call that a list item is inside, if that isn't above it. Returns the bullet of the item.
    fn inside(&mut self) -> &'static str {
        let bullet = self.body.syntax.marks().bullets[0];
        if let Relation::Apart(call) = self.relation {
            let line = self.titled(bullet, Some("inside"), call);
            self.body.writer.line(&line);
        }
        bullet
    }

    /// Returns the time of the entry, if times are shown.
    fn time(&self) -> Option<UtcTime> {
        let zone = self.body.options.timestamps.as_ref()?;
        Some(UtcTime::new(zone.to_datetime(self.entry.at?)))
    }

    /// Returns a line with a title, after `start`, the time and a mark.
    fn titled(&self, start: &str, mark: Option<&str>, title: &Line) -> String {
        let mut line = String::with_capacity(LINE);
        line.push_str(start);
        if let Some(time) = self.time() {
            line.extend(["`", time.clock(), "` "]);
        }
        let shape = mark.map_or("", |mark| theme::glyph(Glyphs::Unicode, mark));
        if !shape.is_empty() {
            line.extend([shape, " "]);
        }
        let begins =
            !line.ends_with(|ch: char| !ch.is_whitespace() && ch != '-' && ch != '#') && shape.is_empty();
        block::spans(self.body.syntax, title, begins, &mut line);
        line
    }
}
