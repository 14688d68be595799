//! Entries as Markdown: for pull requests, notes and chats, pleasant to read as source and as a page.
//!
//! ````text
//! # claude-opus-4-5 · ~/shop           what is known of the run at its start
//!
//! I'll look at the failing test.       replies stand as they are, cleaned
//!
//! - **Read** `src/cart.rs` · 22 lines  a call is one point, and what it came to stands behind it
//! - **Bash** `Run the cart tests`      or below it, in a fence that nothing in it can end
//!   ```sh
//!   cargo test -p cart
//!   ```
//! > - **Grep** `total`                 what a sub-agent does is a quote
//!
//! ## Answer                            the last replies, once it is known that they were
//! ````
//!
//! The answer has a heading, so the outline holds replies back until something else follows: then they were no answer.

mod block;
mod inline;
mod prose;
mod spelling;

use std::fmt::{self, Write};

use crate::entry::{Block, Entry, Line};
use crate::item::Kind;
use crate::outline::{Answer, Group, Node, Relation};
use crate::text::Text;
use crate::theme::{self, Glyphs};
use crate::writer::lines::{self, LineWriter};
use crate::writer::page::{self, PageOptions, UtcTime};
use crate::writer::{Wants, Writer};

use self::block::MarkdownBlocks;
use self::spelling::Commonmark;

pub(super) use self::spelling::{Spelling, SpellingMarks};

/// The quotes that what sub-agents do stands in at most; deeper ones are quoted no deeper.
const MOST_QUOTES: usize = 6;

/// Room for a line, in bytes: most are shorter.
const LINE: usize = 160;

/// Writes entries as Markdown.
#[derive(Debug)]
pub struct Markdown {
    options: PageOptions,
    spelling: &'static dyn Spelling,
    buffer: String,
    prefix: String,
    before: Option<LastMarkdownEntry>,
    /// Whether the line of a call was left open for its result.
    is_open: bool,
}

/// What the next entry needs to know of the one before.
#[derive(Clone, Copy, Debug)]
struct LastMarkdownEntry {
    depth: u16,
    is_point: bool,
    /// A line right below would go on with its last line.
    ends_in_lines: bool,
}

impl Markdown {
    /// A writer of this layout.
    pub fn new(options: PageOptions) -> Self {
        Self::spelled(options, &Commonmark)
    }

    /// A writer of this layout for a format that is Markdown but for how it is spelled.
    pub(super) fn spelled(options: PageOptions, spelling: &'static dyn Spelling) -> Self {
        let (buffer, prefix) = (String::new(), String::new());
        Self { options, spelling, buffer, prefix, before: None, is_open: false }
    }

    fn heading(&mut self, text: &str, out: &mut dyn Write) -> fmt::Result {
        self.end_line(out)?;
        if self.before.is_some() {
            out.write_char('\n')?;
        }
        self.before = Some(LastMarkdownEntry { depth: 0, is_point: false, ends_in_lines: false });
        let [before, behind] = self.spelling.heading(2);
        writeln!(out, "{before}{text}{behind}")
    }

    fn end_line(&mut self, out: &mut dyn Write) -> fmt::Result {
        if std::mem::take(&mut self.is_open) { out.write_char('\n') } else { Ok(()) }
    }

    fn write(&mut self, entry: &Entry, relation: &Relation, out: &mut dyn Write) -> fmt::Result {
        let timed = self.options.timestamps.as_ref().and_then(|_| page::timed(entry));
        let entry = timed.as_ref().unwrap_or(entry);
        if entry.begins_turn() {
            self.heading("Prompt", out)?;
        }
        let before = self.before;
        let ends_in_lines = matches!(entry.view.body.last(), Some(Block::List { .. } | Block::Lines { .. }));
        let now = LastMarkdownEntry { depth: entry.depth, is_point: is_point(entry), ends_in_lines };
        // A result whose call stands right above goes on in the call's point.
        let is_below = *relation == Relation::Below && before.is_some_and(|it| it.is_point);
        let is_behind = is_below && self.is_open && entry.is_note();
        if !is_behind {
            self.end_line(out)?;
        }
        self.before = Some(now);
        let mut writer = LineWriter::new(&mut self.buffer, &mut self.prefix, out, before.is_none());
        let is_next =
            before.is_some_and(|before| before.is_point && now.is_point && before.depth == now.depth);
        if let Some(before) = before.filter(|_| !is_next && !is_behind) {
            let level = quote(&mut writer, self.spelling, before.depth.min(now.depth));
            writer.line("");
            writer.close(level);
        }
        quote(&mut writer, self.spelling, now.depth);
        let body = MarkdownBlocks {
            writer: &mut writer,
            options: &self.options,
            spelling: self.spelling,
            id: entry.id.as_str(),
            pictures: 0,
            bullet: self.spelling.marks().bullets[usize::from(entry.kind == Kind::Result)],
        };
        let mut said = MarkdownEntry { entry, relation, body };
        self.is_open = match entry.kind {
            Kind::Result => {
                said.result(is_below, is_behind, before.is_some_and(|before| before.ends_in_lines))
            }
            _ if now.is_point => said.point(),
            _ => said.prose(before.is_none()),
        };
        writer.end()
    }
}

impl Writer for Markdown {
    fn wants(&self) -> Wants {
        Wants { time: self.options.timestamps.is_some(), answer: true, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        self.write(&node.entry, &node.relation, out)?;
        node.result.as_deref().map_or(Ok(()), |result| self.write(result, &Relation::Below, out))
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn Write) -> fmt::Result {
        let says = |node: &Node| match node.entry.kind {
            Kind::Reply => true,
            Kind::Outcome => node.entry.view.body.iter().any(|block| matches!(block, Block::Prose { .. })),
            _ => false,
        };
        if answer.nodes.first().is_some_and(says) {
            self.heading("Answer", out)?;
        }
        answer.nodes.iter().try_for_each(|node| self.node(node, out))
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.end_line(out)
    }
}

/// Opens the quotes of so many sub-agents.
fn quote(writer: &mut LineWriter<'_>, spelling: &dyn Spelling, depth: u16) -> lines::LineLevel {
    let level = writer.open("", "");
    for _ in 0..usize::from(depth).min(MOST_QUOTES) {
        writer.open(spelling.marks().nest, spelling.marks().nest);
    }
    level
}

/// Whether an entry is a point of the list of what was done, rather than something that is said.
fn is_point(entry: &Entry) -> bool {
    entry.group() == Group::Work
        && match entry.kind {
            Kind::Result => true,
            Kind::Reply | Kind::Prompt | Kind::Thinking => false,
            _ => !entry.view.title.is_empty(),
        }
}

/// One entry as it is written.
struct MarkdownEntry<'e, 'b, 'p> {
    entry: &'e Entry,
    relation: &'e Relation,
    body: MarkdownBlocks<'b, 'p>,
}

impl MarkdownEntry<'_, '_, '_> {
    /// A call, a plan, a notice. Returns whether its line is left open.
    fn point(&mut self) -> bool {
        let view = &self.entry.view;
        let bullet = self.body.spelling.marks().bullets[0];
        if let Relation::Apart(call) = self.relation {
            let line = self.titled(bullet, Some("inside"), call);
            self.body.writer.line(&line);
        }
        // What a call is needs no mark: it is what the list is of.
        let line = self.titled(bullet, view.mark.filter(|mark| *mark != "call"), &view.title);
        if self.entry.kind == Kind::Call && view.body.is_empty() {
            self.body.writer.open_line(&line);
            return true;
        }
        self.body.writer.line(&line);
        self.indented();
        false
    }

    /// A result: below its call, or with the call's name. `is_behind`: its title goes behind the call.
    /// `is_after_lines`: lines or a list stand right above.
    fn result(&mut self, is_below: bool, is_behind: bool, is_after_lines: bool) -> bool {
        let view = &self.entry.view;
        let mut title = Some(&view.title).filter(|title| !title.is_empty());
        if is_behind {
            let mut line = String::from(" · ");
            block::spans(self.body.spelling, &view.title, false, &mut line);
            self.body.writer.go_on(&line);
            self.body.writer.end_line();
            title = None;
        } else if !is_below {
            let bullet = self.body.spelling.marks().bullets[0];
            let mut line = match self.relation {
                Relation::Apart(call) => self.titled(bullet, Some("result"), call),
                _ => self.titled(bullet, Some("result"), &Line::of("muted", "result")),
            };
            if let Some(note) = title.take_if(|_| self.entry.is_note()) {
                line.push_str(" · ");
                block::spans(self.body.spelling, note, false, &mut line);
            }
            self.body.writer.line(&line);
        }
        if let Some(title) = title {
            let line = self.titled("", view.mark, title);
            let level = self.body.open();
            if is_below && is_after_lines {
                self.body.writer.gap();
            }
            self.body.writer.line(&line);
            self.body.writer.close(level);
        }
        self.indented();
        false
    }

    /// What someone says, how a session begins, how a run ends.
    fn prose(&mut self, is_first: bool) -> bool {
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
        if view.is_heading() {
            let [before, behind] = self.body.spelling.heading(if is_first { 1 } else { 2 });
            let line = self.titled(before, None, &view.title) + behind;
            self.body.writer.line(&line);
            self.body.writer.gap();
        } else if !view.title.is_empty() {
            let line = self.titled("", view.mark, &view.title);
            self.body.writer.line(&line);
            self.body.writer.gap();
        } else if self.entry.kind == Kind::Prompt && !self.entry.begins_turn() {
            let strong = self.body.spelling.marks().strong;
            self.body.writer.line(&format!("{strong}Asked{strong}"));
            self.body.writer.gap();
        }
        self.body.blocks(&view.body);
        if is_folded {
            self.body.end_fold();
        }
        false
    }

    /// The body, as a part of the point above.
    fn indented(&mut self) {
        let level = self.body.open();
        self.body.blocks(&self.entry.view.body);
        self.body.writer.close(level);
    }

    /// A line that begins with `start`, the time and a mark.
    fn titled(&self, start: &str, mark: Option<&str>, title: &Line) -> String {
        let mut line = String::with_capacity(LINE);
        line.push_str(start);
        if let (Some(zone), Some(at)) = (&self.body.options.timestamps, self.entry.at) {
            line.push('`');
            line.push_str(UtcTime::new(zone.to_datetime(at)).clock());
            line.push_str("` ");
        }
        let shape = mark.map_or("", |mark| theme::glyph(Glyphs::Unicode, mark));
        if !shape.is_empty() {
            line.push_str(shape);
            line.push(' ');
        }
        let begins =
            !line.ends_with(|ch: char| !ch.is_whitespace() && ch != '-' && ch != '#') && shape.is_empty();
        block::spans(self.body.spelling, title, begins, &mut line);
        line
    }
}
