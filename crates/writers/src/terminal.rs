//! Entries as indented lines: the `text`, `ansi` and `roles` outputs.
//!
//! The three share one layout and differ in how a span is painted: not at all, by the styles of a theme, or
//! with its role's name around it.
//!
//! ```text
//! ● Bash Run the cart tests      a mark of ours in column 0, the title behind it
//!   $ cargo test -p cart         the body in the margin
//!   ✗ exit 101                   a result below its call: title in the margin,
//!     thread panicked at …       body twice as far in
//! ● Read src/cart.rs · 22 lines  what a call came to in a few words stands behind it
//!  ①│ ● Bash Find EUR           each row of a sub-agent begins with its number
//! ```
//!
//! So the row of a call without a body is left open: its line feed comes with the next entry.
//!
//! Only marks of ours stand in column 0. Foreign text has the margin before it, so no text can pass for
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
use streamfmt_core::entry::{Block, Entry, Line, Span, View};
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Group, Node, Relation, Subagent};
use streamfmt_core::profile::{Layout, Wrap};
use streamfmt_core::text::Text;
use streamfmt_core::theme::{ColorDepth, Glyphs, Style, Theme};
use streamfmt_core::writer::{LiveWriter, Wants, Writer};

pub(super) use self::diff::changed;
use self::rows::{RowBuffers, RowWriter, glyph};
use self::wrap::StyledText;

/// Rows are never wrapped at less than this, whatever the terminal says of itself.
const MIN_WIDTH: usize = 20;

/// Bytes of a text that are laid out for each column that is wanted of its end: as many as wide characters have, and a few for marks of
/// Markdown.
const BYTES_OF_COLUMN: usize = 2;

/// Columns of a preview for which there is text at least, also where rows are narrower or never wrapped.
const LEAST_PREVIEW: usize = 40;

/// Nodes of a tree are set in so often at most.
const MOST_LEVELS: usize = 16;

/// Columns of a time and the blank behind it.
const TIME: usize = 9;

/// The mark before the first line of a result that stands below its call and has no other.
const OUTPUT: &str = "output";

/// Columns of a mark and the blank behind it.
const ROOM_OF_MARK: usize = 2;

/// What stands between a call and what it came to.
const BEHIND: &str = " · ";
/// The same in ASCII.
const BEHIND_ASCII: &str = " - ";

/// How spans are painted.
#[derive(Clone, Debug, Default)]
pub enum Paint {
    /// Not at all: `text`.
    #[default]
    Plain,
    /// As `<<role::text>>`, a `<` of the text doubled: `roles`. Text without a role of its own is not marked.
    Roles,
    /// With the styles of a theme: `ansi`.
    Ansi {
        /// The theme.
        theme: Theme,
        /// How many colours the terminal shows.
        depth: ColorDepth,
        /// Whether links are written as links (OSC 8); else their address stands behind their text.
        hyperlinks: bool,
    },
}

/// A time zone that is looked up when it is first needed: finding the system's reads many files, and most output has no date.
#[derive(Clone)]
pub struct LazyZone(Arc<LazyLock<TimeZone, Box<dyn FnOnce() -> TimeZone + Send>>>);

impl LazyZone {
    /// The zone that `find` returns.
    pub fn new(find: impl FnOnce() -> TimeZone + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// The zone.
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
    /// Columns at which lines are wrapped, at least 20; `None` for never.
    pub width: Option<usize>,
    /// Gap, margin and glyphs.
    pub layout: Layout,
    /// Whether Markdown is laid out rather than left as it is written.
    pub markdown: bool,
    /// The zone in which the time of each entry is shown, if it is.
    pub timestamps: Option<TimeZone>,
    /// The zone in which the date of a session is shown, if it is.
    pub dates: Option<LazyZone>,
    /// Columns that the further rows of a title without a mark are set in, where titles begin in column 0.
    pub hang: usize,
    /// Bytes at the end of a longer text that alone are laid out, if not all of it is.
    pub text_end: Option<usize>,
}

impl Look {
    /// The theme that spans are painted with, if they are.
    fn theme(&self) -> Option<&Theme> {
        match &self.paint {
            Paint::Ansi { theme, .. } => Some(theme),
            Paint::Plain | Paint::Roles => None,
        }
    }

    fn style(&self, role: &str) -> Style {
        self.theme().map(|theme| theme.style(role)).unwrap_or_default()
    }

    fn exact_style(&self, role: &str) -> Option<Style> {
        self.theme()?.exact_style(role)
    }

    fn piece<'a>(&self, role: &'a str, text: &'a str) -> StyledText<'a> {
        StyledText { text, role, style: self.style(role), link: None, is_spelled: false }
    }

    /// The role of a mark; none is needed where nothing is painted.
    fn mark_role(&self, name: &str) -> String {
        if matches!(self.paint, Paint::Plain) { String::new() } else { format!("mark.{name}") }
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
    /// Columns of the row that a call left open for its result.
    open: Option<usize>,
    /// The highest number of a sub-agent that was named.
    named: u32,
    /// Columns at which the rows of a preview are wrapped; of the others too, unless the terminal breaks those.
    screen: Option<usize>,
}

/// What the next entry needs to know of the one before.
#[derive(Clone)]
struct LastTerminalEntry {
    group: Group,
    depth: u16,
    agent: Option<Arc<Subagent>>,
}

impl Terminal {
    /// A writer of this look.
    pub fn new(mut look: Look) -> Self {
        if let Paint::Ansi { theme, depth, .. } = &mut look.paint {
            *theme = std::mem::take(theme).at(*depth);
        }
        if let Some(width) = look.width {
            // What takes more than half of a row is not set in at all, and a body stands in twice the margin.
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
    /// Names a sub-agent that a node is inside of before its first row, where the call that started it wasn't shown.
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
        if !says_something(entry) {
            return Ok(());
        }
        let timed = self.look.timestamps.as_ref().and_then(|_| page::timed(entry));
        let entry = timed.as_ref().unwrap_or(entry);
        let dated = self.look.dates.as_ref().filter(|_| entry.view.is_heading());
        let dated = dated.and_then(|zone| dated_heading(entry, zone.get()));
        let entry = dated.as_ref().unwrap_or(entry);
        let now = LastTerminalEntry { group: entry.group(), depth: entry.depth, agent: agent.cloned() };
        let gap = self.before.as_ref().is_some_and(|before| {
            // What a sub-agent was asked stands right below the call that asks.
            let goes_in = now.depth > before.depth && before.group == Group::Work;
            !goes_in && (before.group != Group::Work || now.group != Group::Work)
        });
        let before = self.before.replace(now).filter(|_| gap);
        let open = self.open.take();
        let Self { look, buffers, .. } = self;
        // Only what may go on behind its call is looked at twice.
        let title = open.map(|_| block::addressed(look, &entry.view.title));
        let targets = title.as_ref().map(|title| block::targets(look.links(), title)).unwrap_or_default();
        let joined = open.zip(title.as_ref()).and_then(|(columns, title)| {
            behind(look, columns, entry, relation, block::pieces(look, title, &targets))
        });
        let mut writer = RowWriter::new(look, buffers, out);
        match (open, &joined) {
            (Some(_), Some(pieces)) => writer.go_on(pieces),
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
            // Deeper nodes than fit stand below each other.
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

/// What heads a session, with the date on which it began before its id: `claude-opus-5 · ~/shop · 21 Nov 2026 21:05 · 0123abcd`.
fn dated_heading(entry: &Entry, zone: &TimeZone) -> Option<Entry> {
    let date = entry.at?.to_zoned(zone.clone()).strftime("%-d %b %Y %H:%M").to_string();
    let mut entry = entry.clone();
    let spans = &mut entry.view.title.spans;
    let separator = || {
        let parts = [("text", " "), ("session.note", "·"), ("text", " ")];
        parts.map(|(role, text)| Span::new(role, Text::own(text)))
    };
    let date = Span::new("session.date", Text::clean_owned(date));
    match spans.iter().position(|span| span.role.name() == "session.id") {
        Some(id) => drop(spans.splice(id..id, [date].into_iter().chain(separator()))),
        None => spans.extend(separator().into_iter().chain([date])),
    }
    Some(entry)
}

/// Whether an entry is a call whose title says all, so that its result may stand behind it.
///
/// Only for eyes: a program that reads lines would wait for the end of a row that is kept open, so in plain text
/// each entry has rows of its own. So it has where times are shown, and where words stand for glyphs.
fn is_short_call(look: &Look, entry: &Entry) -> bool {
    look.is_ansi()
        && entry.kind == Kind::Call
        && look.timestamps.is_none()
        && look.layout.glyphs != Glyphs::Words
        && !entry.view.title.is_empty()
        && !entry.view.body.iter().any(block::says_something)
}

/// Columns of a mark and a title; of no meaning, and not counted, where rows are not wrapped.
fn title_width(look: &Look, view: &View) -> usize {
    if look.width.is_none() {
        return 0;
    }
    let mark = view.mark.map_or(0, |mark| wrap::width(glyph(look, mark)) + 1);
    mark + block::addressed(look, &view.title).spans.iter().map(|span| wrap::width(&span.text)).sum::<usize>()
}

/// The title of a result, as these pieces, as it stands behind the row of its call, if it may and if there is room.
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
        BEHIND if look.layout.is_ascii() => BEHIND_ASCII,
        between => between,
    };
    let mut pieces = vec![look.piece("result.note", between)];
    pieces.extend(title);
    let fits = look.width.is_none_or(|width| columns + wrap::width_of(&pieces) <= width);
    fits.then_some(pieces)
}

/// What stands between a call and the title of its result.
fn between(view: &View) -> &'static str {
    if view.goes_on { " " } else { BEHIND }
}

/// Whether a result went well and its title says in a few words what it came to.
fn is_short_result(look: &Look, entry: &Entry) -> bool {
    look.layout.glyphs != Glyphs::Words && entry.is_note()
}

fn says_something(entry: &Entry) -> bool {
    let view = &entry.view;
    view.mark.is_some() || !view.title.is_empty() || view.body.iter().any(block::says_something)
}

/// Sets what stands before all rows of an entry: its time, if times are shown, and a bar for each sub-agent that
/// it is inside of.
fn nest(writer: &mut RowWriter<'_>, agents: &[Option<u32>], entry: Option<&Entry>) -> rows::RowLevel {
    let look = writer.look();
    let level = writer.level();
    if let Some(zone) = &look.timestamps {
        let at = entry.and_then(|entry| entry.at);
        let time =
            at.map(|at| at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()).unwrap_or_default();
        writer.column(&[look.piece("time", &time), StyledText::blank(TIME - time.len().min(TIME))], TIME);
    }
    for number in agents {
        agents::bar(writer, *number);
    }
    level
}

/// An entry that stands by itself: mark and title in column 0, body in the margin.
fn plain(entry: &Entry, relation: &Relation, writer: &mut RowWriter<'_>) {
    let view = &entry.view;
    if let Some(call) = named(relation, writer) {
        titled(Some("inside"), call, writer);
    }
    let margin = writer.look().layout.margin;
    said(view.mark.or_else(|| own_mark(entry, margin)), view, true, writer);
}

/// What a view says, behind a mark: its body is below its title, which is written if `has_title`.
fn said(mark: Option<&'static str>, view: &View, has_title: bool, writer: &mut RowWriter<'_>) {
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

/// The call that an entry belongs to, if it is to be named.
fn named<'r>(relation: &'r Relation, writer: &RowWriter<'_>) -> Option<&'r Line> {
    match relation {
        Relation::Apart(title) if !writer.look().layout.bare => Some(title),
        _ => None,
    }
}

/// The mark that a kind has in the margin if its view names none.
fn own_mark(entry: &Entry, margin: usize) -> Option<&'static str> {
    match entry.kind {
        _ if margin == 0 => None,
        Kind::Prompt => Some("prompt"),
        Kind::Thinking => Some("thinking"),
        Kind::Reply => Some("reply"),
        _ => None,
    }
}

/// A result: as far in as the body of its call. If that isn't just above, a line that names the call comes first.
/// `joined`: its title stands behind the call already.
fn result(entry: &Entry, relation: &Relation, joined: bool, writer: &mut RowWriter<'_>) {
    let view = &entry.view;
    let look = writer.look();
    let margin = look.layout.margin;
    let mut joined = joined;
    if let Some(call) = named(relation, writer) {
        joined = is_short_result(look, entry);
        if joined {
            let mut both = call.clone();
            both.spans.push(Span::new("result.note", Text::own(between(view))));
            both.spans.extend(view.title.spans.iter().cloned());
            titled(Some("result"), &both, writer);
        } else {
            titled(Some("result"), call, writer);
        }
    }
    let outer = writer.shift(margin);
    // Without it the output of a command would look like further lines of the command.
    let has_room = margin >= ROOM_OF_MARK && !look.layout.bare;
    let is_below_call = named(relation, writer).is_none();
    said(view.mark.or_else(|| (is_below_call && has_room).then_some(OUTPUT)), view, !joined, writer);
    writer.dedent(outer);
}

/// A mark and a title. Without a mark of ours the title has a margin like all foreign text.
fn titled(mark: Option<&'static str>, title: &Line, writer: &mut RowWriter<'_>) {
    let look = writer.look();
    let (name, shape) = mark.map_or(("", ""), |name| (name, glyph(look, name)));
    let level = if shape.is_empty() {
        writer.shift(look.layout.margin)
    } else {
        let role = look.mark_role(name);
        writer.mark(look.piece(&role, shape), wrap::width(shape))
    };
    writer.hanging(title, if mark.is_none() { look.hang } else { 0 });
    writer.dedent(level);
}

/// Blocks in the margin, with a mark in front of their first row.
fn below_mark(mark: Option<&'static str>, blocks: &[Block], writer: &mut RowWriter<'_>) {
    let look = writer.look();
    let margin = look.layout.margin;
    let (name, shape) = mark.map_or(("", ""), |name| (name, glyph(look, name)));
    let level = if shape.is_empty() {
        writer.shift(margin)
    } else {
        let role = look.mark_role(name);
        let gap = margin.saturating_sub(wrap::width(shape)).max(1);
        writer.indent(&[look.piece(&role, shape), StyledText::blank(gap)], &[StyledText::blank(margin)])
    };
    writer.blocks(blocks);
    if !shape.is_empty() {
        writer.flush_mark();
    }
    writer.dedent(level);
}

#[cfg(test)]
mod tests;
