//! Entries as indented lines: the `text`, `ansi` and `roles` outputs.
//!
//! The three share one layout and differ in how a span is painted: not at all, with the styles of a theme, or
//! with the name of its role.
//!
//! ```text
//! ● Bash Run the cart tests      a mark of ours in column 0, followed by the title
//!   $ cargo test -p cart         the body, indented by the margin
//!   ✗ exit 101                   a result below its call: its title indented by the margin,
//!     thread panicked at …       its body by twice the margin
//! ● Read src/cart.rs · 22 lines  a short result follows its call
//!  ①│ ● Bash Find EUR           each row of a sub-agent begins with its number
//! ```
//!
//! So the row of a call without a body is left open: its line feed comes with the next entry.
//!
//! Only our marks are in column 0. Foreign text is indented by the margin, so no text can look like
//! a call, a result of another call or a cost line.

mod agents;
mod block;
mod diff;
mod prose;
mod rows;
mod table;
mod wrap;

use std::fmt;
use std::sync::{Arc, LazyLock};

use jiff::tz::TimeZone;

use crate::page;
use streamfmt_core::entry::{Block, Entry, Line, Role, View};
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Group, Node, Relation, Subagent};
use streamfmt_core::profile::{Layout, Wrap};
use streamfmt_core::text::Text;
use streamfmt_core::theme::{ColorDepth, Glyphs, Style, Theme};
use streamfmt_core::writer::{LiveWriter, Wants, Writer};

pub(super) use self::diff::changed;
use self::rows::{RowBuffers, RowWriter, glyph};
use self::wrap::StyledText;

/// The smallest width for wrapping, whatever the terminal reports.
const MIN_WIDTH: usize = 20;

/// The number of bytes that are laid out for each column of the end of a text: wide characters have about as many, and some are for
/// marks of Markdown.
const BYTES_OF_COLUMN: usize = 2;

/// The smallest number of columns for which text is laid out in a preview, even if rows are narrower or never wrapped.
const LEAST_PREVIEW: usize = 40;

/// The most levels of indentation for the nodes of a tree.
const MOST_LEVELS: usize = 16;

/// The columns of a time and the blank after it.
const TIME: usize = 9;

/// The mark of a result below its call that has no other.
const OUTPUT: &str = "output";

/// The columns of a mark and the blank after it.
const ROOM_OF_MARK: usize = 2;

/// The separator between a call and its result on the same row.
const SEPARATOR: &str = " · ";
/// The same in ASCII.
const SEPARATOR_ASCII: &str = " - ";

/// How spans are painted.
#[derive(Clone, Debug, Default)]
pub enum Paint {
    /// Not at all: `text`.
    #[default]
    Plain,
    /// As `<<role::text>>`, with each `<` of the text doubled: `roles`. Plain text isn't marked.
    Roles,
    /// With the styles of a theme: `ansi`.
    Ansi {
        /// The theme.
        theme: Theme,
        /// The number of colours that the terminal supports.
        depth: ColorDepth,
        /// Whether links are written as links (OSC 8); otherwise their address follows their text.
        hyperlinks: bool,
    },
}

/// A time zone that is looked up when it is first needed: finding the system's zone reads many files, and most output has no date.
#[derive(Clone)]
pub struct LazyZone(Arc<LazyLock<TimeZone, Box<dyn FnOnce() -> TimeZone + Send>>>);

impl LazyZone {
    /// Creates a zone that `find` will return.
    pub fn new(find: impl FnOnce() -> TimeZone + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// Returns the zone, after looking it up if needed.
    pub fn get(&self) -> &TimeZone {
        &self.0
    }
}

/// UTC.
impl Default for LazyZone {
    fn default() -> Self {
        Self::from(TimeZone::UTC)
    }
}

impl From<TimeZone> for LazyZone {
    fn from(zone: TimeZone) -> Self {
        Self::new(|| zone)
    }
}

impl fmt::Debug for LazyZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LazyZone")
    }
}

/// How entries look.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// How spans are painted.
    pub paint: Paint,
    /// The columns at which lines are wrapped, at least 20; `None` for never.
    pub width: Option<usize>,
    /// Gap, margin and glyphs.
    pub layout: Layout,
    /// Whether Markdown is rendered rather than shown as its source.
    pub markdown: bool,
    /// The zone for the times of entries; `None` shows no times.
    pub timestamps: Option<TimeZone>,
    /// The zone for the dates of sessions; `None` shows no dates.
    pub dates: Option<LazyZone>,
    /// The indentation of further rows of a title without a mark, where titles begin in column 0.
    pub hang: usize,
    /// The number of bytes at the end of a text that are laid out; `None` lays out all of it.
    pub text_end: Option<usize>,
}

impl Look {
    /// Returns the theme that spans are painted with, if any.
    fn theme(&self) -> Option<&Theme> {
        match &self.paint {
            Paint::Ansi { theme, .. } => Some(theme),
            Paint::Plain | Paint::Roles => None,
        }
    }

    #[inline]
    fn style(&self, role: impl Into<Role>) -> Style {
        self.theme().map(|theme| theme.style(role)).unwrap_or_default()
    }

    #[inline]
    fn exact_style(&self, role: impl Into<Role>) -> Option<Style> {
        self.theme()?.exact_style(role)
    }

    #[inline]
    fn piece<'a>(&self, role: impl Into<Role>, text: &'a str) -> StyledText<'a> {
        let role = role.into();
        StyledText { text, role, style: self.style(role), link: None, is_spelled: false }
    }

    /// Returns the role of a mark. Where nothing is painted, it doesn't matter.
    fn mark_role(&self, name: &str) -> Role {
        if matches!(self.paint, Paint::Plain) { "mark".into() } else { Role::of_mark(name) }
    }

    fn is_ansi(&self) -> bool {
        self.theme().is_some()
    }

    fn links(&self) -> bool {
        matches!(self.paint, Paint::Ansi { hyperlinks: true, .. })
    }
}

/// Writes entries as indented lines.
pub struct Terminal {
    look: Look,
    buffers: RowBuffers,
    before: Option<LastTerminalEntry>,
    /// The columns of the row that a call left open for its result.
    open: Option<usize>,
    /// The highest number of the sub-agents that were named.
    named: u32,
    /// The columns at which the rows of a preview are wrapped. Other rows are wrapped there, too, unless the terminal wraps them.
    screen: Option<usize>,
}

/// The properties of the previous entry that the next one depends on.
#[derive(Clone)]
struct LastTerminalEntry {
    group: Group,
    depth: u16,
    agent: Option<Arc<Subagent>>,
}

impl Terminal {
    /// Creates a writer with this look.
    pub fn new(mut look: Look) -> Self {
        if let Paint::Ansi { theme, depth, .. } = &mut look.paint {
            *theme = std::mem::take(theme).at(*depth);
        }
        if let Some(width) = look.width {
            // An indentation of more than half a row is dropped, and a body is indented by twice the margin.
            look.layout.margin = look.layout.margin.min(width.max(MIN_WIDTH) / 4);
        }
        let screen = look.width;
        if look.layout.wrap == Wrap::Soft {
            look.width = None;
        }
        Self { look, buffers: RowBuffers::default(), before: None, open: None, named: 0, screen }
    }
}

impl Writer for Terminal {
    fn wants(&self) -> Wants {
        let agents = !self.look.layout.bare;
        Wants {
            time: self.look.timestamps.is_some(),
            date: self.look.dates.is_some(),
            agents,
            ..Wants::default()
        }
    }

    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        let agent = node.agent.as_ref();
        self.introduce(node, out)?;
        match &node.starts {
            Some(starts) if !self.look.layout.bare => {
                let (entry, relation) = agents::numbered(&self.look, node, starts.number);
                self.entry(&entry, &relation, agent, out)?;
            }
            _ => self.entry(&node.entry, &node.relation, agent, out)?,
        }
        node.result.as_deref().map_or(Ok(()), |result| self.entry(result, &Relation::Below, agent, out))
    }

    fn end(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.open.take().is_some() { out.write_char('\n') } else { Ok(()) }
    }

    fn live(&mut self) -> Option<&mut dyn LiveWriter> {
        Some(self)
    }
}

impl LiveWriter for Terminal {
    fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        let written = (self.before.clone(), self.open.take(), self.look.width, self.named);
        self.look.width = self.screen;
        let columns = self.screen.unwrap_or(0).max(LEAST_PREVIEW);
        self.look.text_end = Some(rows.saturating_mul(columns).saturating_mul(BYTES_OF_COLUMN));
        let previewed = nodes.iter().try_for_each(|node| self.node(node, out)).and_then(|()| self.end(out));
        (self.before, self.open, self.look.width, self.named) = written;
        self.look.text_end = None;
        previewed
    }

    fn set_width(&mut self, columns: usize) {
        for width in [&mut self.look.width, &mut self.screen].into_iter().flatten() {
            *width = columns;
        }
    }
}

impl Terminal {
    /// Writes the name of a node's sub-agent before its first row, if the call that started it wasn't shown.
    fn introduce(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        let number = |agent: &Option<Arc<Subagent>>| agent.as_ref().map_or(0, |agent| agent.number);
        let known = self.named;
        self.named = known.max(number(&node.agent)).max(number(&node.starts));
        let Some(agent) = node.agent.as_ref().filter(|agent| agent.number > known) else { return Ok(()) };
        let view = View::titled("inside", agent.title.clone());
        let entry = Entry { depth: node.entry.depth, ..Entry::new("agent", Kind::Notice, view) };
        self.entry(&entry, &Relation::Own, Some(agent), out)
    }

    fn entry(
        &mut self,
        entry: &Entry,
        relation: &Relation,
        agent: Option<&Arc<Subagent>>,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        if !has_content(entry) {
            return Ok(());
        }
        let timed = self.look.timestamps.as_ref().and_then(|_| page::timed(entry));
        let entry = timed.as_ref().unwrap_or(entry);
        let dated = self.look.dates.as_ref().filter(|_| entry.view.is_heading());
        let dated = dated.and_then(|zone| dated_heading(entry, zone.get()));
        let entry = dated.as_ref().unwrap_or(entry);
        let now = LastTerminalEntry { group: entry.group(), depth: entry.depth, agent: agent.cloned() };
        let gap = self.before.as_ref().is_some_and(|before| {
            // The prompt of a sub-agent is directly below its call.
            let goes_in = now.depth > before.depth && before.group == Group::Work;
            !goes_in && (before.group != Group::Work || now.group != Group::Work)
        });
        let before = self.before.replace(now).filter(|_| gap);
        let open = self.open.take();
        let Self { look, buffers, .. } = self;
        // Measure the title only if it may continue the row of its call.
        let title = open.map(|_| block::addressed(look, &entry.view.title));
        let targets = title.as_ref().map(|title| block::targets(look.links(), title)).unwrap_or_default();
        let joined = open.zip(title.as_ref()).and_then(|(columns, title)| {
            behind(look, columns, entry, relation, block::pieces(look, title, &targets))
        });
        let mut writer = RowWriter::new(look, buffers, out);
        match (open, &joined) {
            (Some(_), Some(pieces)) => writer.continue_row(pieces),
            (Some(_), None) => writer.end_row(),
            (None, _) => {}
        }
        if let Some(before) = before {
            let common = agents::common(look, (before.depth, before.agent.as_ref()), (entry.depth, agent));
            let level = nest(&mut writer, &common, None);
            for _ in 0..look.layout.gap {
                writer.blank();
            }
            writer.dedent(level);
        }
        nest(&mut writer, &agents::levels(look, entry.depth, agent), Some(entry));
        if let (Some(agent), Glyphs::Words) = (agent, look.layout.glyphs)
            && *relation != Relation::Below
        {
            agents::spoken(&mut writer, agent.number);
        }
        if entry.level > 0 {
            // Nodes that are too deep get the indentation of the last level that fits.
            let most = look.width.map_or(MOST_LEVELS, |width| width / 2 / look.layout.margin.max(1));
            writer.shift(look.layout.margin * usize::from(entry.level).min(most).min(MOST_LEVELS));
        }
        match entry.kind {
            Kind::Result => result(entry, relation, joined.is_some(), &mut writer),
            _ => plain(entry, relation, &mut writer),
        }
        if is_short_call(look, entry) {
            let columns = writer.indentation() + title_width(look, &entry.view);
            if look.width.is_none_or(|width| columns <= width) && writer.leave_open() {
                self.open = Some(columns);
            }
        }
        writer.end()
    }
}

/// Adds the date of its start to the heading of a session, before its id: `claude-opus-5 · ~/shop · 21 Nov 2026 21:05 · 0123abcd`.
fn dated_heading(entry: &Entry, zone: &TimeZone) -> Option<Entry> {
    let date = entry.at?.to_zoned_datetime(zone.clone()).strftime("%-d %b %Y %H:%M").to_string();
    let mut entry = entry.clone();
    let title = std::mem::take(&mut entry.view.title);
    let id = title.roles().position(|role| role == Role::of("session.id")).unwrap_or(usize::MAX);
    let line = &mut entry.view.title;
    title.spans().take(id).for_each(|span| line.attach_span(span));
    if id == usize::MAX {
        line.attach("text", " ");
        line.attach("session.note", "·");
        line.push("session.date", date);
    } else {
        line.attach("session.date", date);
        line.push("session.note", "·");
        line.attach("text", " ");
    }
    title.spans().skip(id).for_each(|span| line.attach_span(span));
    Some(entry)
}

/// Whether an entry is a call without a body, so that its result may follow on the same row.
///
/// Only for ANSI output: a program that reads lines would wait for the end of an open row, so in plain text
/// each entry has separate rows. The same holds where times are shown, and where words replace glyphs.
fn is_short_call(look: &Look, entry: &Entry) -> bool {
    look.is_ansi()
        && entry.kind == Kind::Call
        && look.timestamps.is_none()
        && look.layout.glyphs != Glyphs::Words
        && !entry.view.title.is_empty()
        && !entry.view.body.iter().any(block::has_content)
}

/// Returns the columns of a mark and a title; 0 if rows aren't wrapped, where it isn't needed.
fn title_width(look: &Look, view: &View) -> usize {
    if look.width.is_none() {
        return 0;
    }
    let mark = view.mark.map_or(0, |mark| wrap::width(glyph(look, mark)) + 1);
    mark + block::addressed(look, &view.title).spans().map(|span| wrap::width(span.text())).sum::<usize>()
}

/// Returns the pieces of a result's title for the end of its call's row, if it may be there and fits. `title`: its pieces without the
/// separator.
fn behind<'a>(
    look: &Look,
    columns: usize,
    entry: &Entry,
    relation: &Relation,
    title: Vec<StyledText<'a>>,
) -> Option<Vec<StyledText<'a>>> {
    let is_apart = matches!(relation, Relation::Apart(_));
    if is_apart || !is_short_result(look, entry) {
        return None;
    }
    let between = match between(&entry.view) {
        SEPARATOR if look.layout.is_ascii() => SEPARATOR_ASCII,
        between => between,
    };
    let mut pieces = vec![look.piece("result.note", between)];
    pieces.extend(title);
    let fits = look.width.is_none_or(|width| columns + wrap::width_of(&pieces) <= width);
    fits.then_some(pieces)
}

/// Returns the separator between a call and the title of its result.
fn between(view: &View) -> &'static str {
    if view.continues_call { " " } else { SEPARATOR }
}

/// Whether a result is a success with only a short title.
fn is_short_result(look: &Look, entry: &Entry) -> bool {
    look.layout.glyphs != Glyphs::Words && entry.is_note()
}

fn has_content(entry: &Entry) -> bool {
    let view = &entry.view;
    view.mark.is_some() || !view.title.is_empty() || view.body.iter().any(block::has_content)
}

/// Sets the prefix of all rows of an entry: its time, if times are shown, and a bar for each sub-agent that
/// it is inside.
fn nest(writer: &mut RowWriter<'_>, agents: &[Option<u32>], entry: Option<&Entry>) -> rows::RowLevel {
    let look = writer.look();
    let level = writer.level();
    if let Some(zone) = &look.timestamps {
        let at = entry.and_then(|entry| entry.at);
        let time = at
            .map(|at| at.to_zoned_datetime(zone.clone()).strftime("%H:%M:%S").to_string())
            .unwrap_or_default();
        writer.column(&[look.piece("time", &time), StyledText::blank(TIME - time.len().min(TIME))], TIME);
    }
    for number in agents {
        agents::bar(writer, *number);
    }
    level
}

/// Writes an entry other than a result: its mark and title in column 0, its body indented by the margin.
fn plain(entry: &Entry, relation: &Relation, writer: &mut RowWriter<'_>) {
    let view = &entry.view;
    if let Some(call) = named(relation, writer) {
        titled(Some("inside"), call, writer);
    }
    let margin = writer.look().layout.margin;
    marked(view.mark.or_else(|| own_mark(entry, margin)), view, true, writer);
}

/// Writes a view after a mark, with its body below its title. `has_title`: whether to write the title.
fn marked(mark: Option<&'static str>, view: &View, has_title: bool, writer: &mut RowWriter<'_>) {
    if view.title.is_empty() {
        return below_mark(mark, &view.body, writer);
    }
    if has_title {
        titled(mark, &view.title, writer);
    }
    let level = writer.shift(writer.look().layout.margin);
    writer.blocks(&view.body);
    writer.dedent(level);
}

/// Returns the title of an entry's call, if it must be repeated.
fn named<'r>(relation: &'r Relation, writer: &RowWriter<'_>) -> Option<&'r Line> {
    match relation {
        Relation::Apart(title) if !writer.look().layout.bare => Some(title),
        _ => None,
    }
}

/// Returns the default mark of a kind, for a view without one.
fn own_mark(entry: &Entry, margin: usize) -> Option<&'static str> {
    match entry.kind {
        _ if margin == 0 => None,
        Kind::Prompt => Some("prompt"),
        Kind::Thinking => Some("thinking"),
        Kind::Reply => Some("reply"),
        _ => None,
    }
}

/// Writes a result, indented as the body of its call. If the call isn't directly above, a line with its title comes first.
/// `joined`: whether its title was written on the row of the call.
fn result(entry: &Entry, relation: &Relation, joined: bool, writer: &mut RowWriter<'_>) {
    let view = &entry.view;
    let look = writer.look();
    let margin = look.layout.margin;
    let mut joined = joined;
    if let Some(call) = named(relation, writer) {
        joined = is_short_result(look, entry);
        if joined {
            let mut both = call.clone();
            both.attach("result.note", Text::own(between(view)));
            both.append(&view.title);
            titled(Some("result"), &both, writer);
        } else {
            titled(Some("result"), call, writer);
        }
    }
    let outer = writer.shift(margin);
    // Without a mark, the output of a command would look like further lines of the command.
    let has_room = margin >= ROOM_OF_MARK && !look.layout.bare;
    let is_below_call = named(relation, writer).is_none();
    marked(view.mark.or_else(|| (is_below_call && has_room).then_some(OUTPUT)), view, !joined, writer);
    writer.dedent(outer);
}

/// Writes a mark and a title. Without a mark of ours, the title is indented like all foreign text.
fn titled(mark: Option<&'static str>, title: &Line, writer: &mut RowWriter<'_>) {
    let look = writer.look();
    let (name, shape) = mark.map_or(("", ""), |name| (name, glyph(look, name)));
    let level = if shape.is_empty() {
        writer.shift(look.layout.margin)
    } else {
        writer.mark(look.piece(look.mark_role(name), shape), wrap::width(shape))
    };
    writer.hanging(title, if mark.is_none() { look.hang } else { 0 });
    writer.dedent(level);
}

/// Writes blocks, indented by the margin, with a mark before their first row.
fn below_mark(mark: Option<&'static str>, blocks: &[Block], writer: &mut RowWriter<'_>) {
    let look = writer.look();
    let margin = look.layout.margin;
    let (name, shape) = mark.map_or(("", ""), |name| (name, glyph(look, name)));
    let level = if shape.is_empty() {
        writer.shift(margin)
    } else {
        let gap = margin.saturating_sub(wrap::width(shape)).max(1);
        writer.indent(
            &[look.piece(look.mark_role(name), shape), StyledText::blank(gap)],
            &[StyledText::blank(margin)],
        )
    };
    writer.blocks(blocks);
    if !shape.is_empty() {
        writer.flush_mark();
    }
    writer.dedent(level);
}

#[cfg(test)]
mod tests;
