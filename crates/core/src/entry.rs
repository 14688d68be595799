//! What is said of an item: a title and blocks. The second waist.
//!
//! An entry knows no colour, width or output format. Its spans name what they are (a
//! [`Role`]), its blocks what they hold; a writer spells them.

mod diff;
mod line;
mod read;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::item::{Action, Id, Kind, Status};
use crate::text::Text;

pub use crate::item::Picture;
pub use diff::{DiffLine, DiffLines, Hunk, LineChange};
pub(crate) use line::{FOLDED, HIDDEN};

pub use line::{GOES_ON, Line, OneLine, Role, Span, TextLayout};
pub(crate) use read::{blocks as read_blocks, mark as read_mark};

/// State of a point of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Point {
    /// A plain point.
    Plain,
    /// To be done.
    Open,
    /// Being done.
    Active,
    /// Done.
    Done,
    /// Given up or failed.
    Failed,
}

impl Point {
    /// Its name in the machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Open => "open",
            Self::Active => "active",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A point of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListItem {
    /// Its state.
    pub point: Point,
    /// What it says.
    pub line: Line,
}

/// A part of an entry's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Block {
    /// Short lines with roles of their own.
    Lines {
        /// The lines.
        lines: Vec<Line>,
    },
    /// Markdown, as a model writes it.
    Prose {
        /// Its source.
        text: Text,
        /// What it is: `reply`, `prompt`, `thinking`, …
        role: Role,
    },
    /// Verbatim text: output, file contents, commands.
    Code {
        /// The text, without a final line feed.
        text: Text,
        /// Language or file extension, for highlighting.
        #[serde(skip_serializing_if = "Option::is_none")]
        lang: Option<Text>,
        /// Number of its first line, if its lines are numbered.
        #[serde(skip_serializing_if = "Option::is_none")]
        start: Option<u64>,
        /// What it is: `call.command`, `result.text`, `result.error`, …
        role: Role,
    },
    /// Changes of a file.
    Diff {
        /// The file, for highlighting and headings.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<Text>,
        /// Its hunks.
        hunks: Vec<Hunk>,
    },
    /// Points, with states.
    List {
        /// The points.
        items: Vec<ListItem>,
    },
    /// Rows and columns.
    Table {
        /// Column heads; may be empty.
        head: Vec<Line>,
        /// Rows.
        rows: Vec<Vec<Line>>,
    },
    /// A picture or document: told, and shown by writers that can.
    Image {
        /// Its media type, as claimed.
        media: Text,
        /// Its size in bytes, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        /// Its name, place or address, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text>,
        /// Where its bytes are, if the stream holds them; JSON has no place for them.
        #[serde(skip)]
        picture: Option<Picture>,
    },
    /// Something that may be folded.
    Details {
        /// What stands for it when it is folded.
        summary: Line,
        /// What is inside.
        #[serde(deserialize_with = "read::blocks")]
        body: Vec<Block>,
    },
    /// Something was left out here, by a limit of the profile.
    Elided {
        /// Whole lines that were left out.
        lines: u64,
        /// Bytes that were left out.
        bytes: u64,
    },
}

impl Block {
    /// What the types of blocks are called in the machine formats.
    pub const TYPES: [&str; 9] =
        ["lines", "prose", "code", "diff", "list", "table", "image", "details", "elided"];

    /// Verbatim text without language or line numbers.
    pub fn text(role: impl Into<Role>, text: impl Into<Text>) -> Self {
        Self::Code { text: text.into(), lang: None, start: None, role: role.into() }
    }

    /// Markdown.
    pub fn prose(role: impl Into<Role>, text: impl Into<Text>) -> Self {
        Self::Prose { text: text.into(), role: role.into() }
    }

    /// One line of spans.
    pub fn line(line: Line) -> Self {
        Self::Lines { lines: vec![line] }
    }
}

/// What a formatter says of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Name of the glyph in front (`call`, `ok`, `error`, …; a theme spells it), or none.
    #[serde(default, deserialize_with = "read::mark", skip_serializing_if = "Option::is_none")]
    pub mark: Mark,
    /// The title; may be empty.
    pub title: Line,
    /// What stands under it.
    #[serde(default, deserialize_with = "read::blocks", skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<Block>,
    /// On a result: its title ends the phrase that its call's title began, `lines 14–17` … `of 22`.
    pub goes_on: bool,
}

/// The name of a glyph, or none. A name of its own, since `serde` would borrow what it sees to be a reference.
pub type Mark = Option<&'static str>;

impl View {
    /// A view with a mark and a title.
    pub fn titled(mark: &'static str, title: Line) -> Self {
        Self { mark: Some(mark), title, ..Self::default() }
    }

    /// A view of blocks alone.
    pub fn of(body: Vec<Block>) -> Self {
        Self { body, ..Self::default() }
    }

    /// The view with another title, from where nothing but roles is known of it: a script or JSON.
    #[must_use]
    pub fn retitled(mut self, title: Line) -> Self {
        self.goes_on = title.spans.first().is_some_and(|span| span.role.name() == GOES_ON);
        self.title = title;
        self
    }

    /// About how many bytes of text it holds.
    pub fn size(&self) -> usize {
        self.title.spans.iter().map(|span| span.text.len()).sum::<usize>() + text_size(&self.body)
    }

    /// Whether it shows nothing of its item: neither its title nor its body holds anything but blanks.
    pub fn is_blank(&self) -> bool {
        // The sign stands for a line feed.
        !self.holds(|text| text.chars().any(|ch| !ch.is_whitespace() && ch != '␊'))
    }

    /// Whether there is nothing in it, not even blanks.
    pub fn is_empty(&self) -> bool {
        !self.holds(|text| !text.is_empty())
    }

    /// Whether any of its texts is one that counts; what is no text always does.
    fn holds(&self, counts: impl Fn(&str) -> bool) -> bool {
        let line = |line: &Line| line.spans.iter().any(|span| counts(&span.text));
        if line(&self.title) {
            return true;
        }
        // A list of its own, not the stack: details may nest to any depth. Nearly always it stays empty.
        let mut open = Vec::new();
        let mut next = Some(self.body.as_slice());
        while let Some(blocks) = next {
            for block in blocks {
                let is_found = match block {
                    Block::Details { summary, body } => {
                        open.push(body.as_slice());
                        line(summary)
                    }
                    Block::Lines { lines } => lines.iter().any(line),
                    Block::Prose { text, .. } | Block::Code { text, .. } => counts(text),
                    Block::Diff { hunks, .. } => hunks.iter().any(|hunk| !hunk.lines.is_empty()),
                    Block::List { items } => items.iter().any(|item| line(&item.line)),
                    Block::Table { head, rows } => head.iter().chain(rows.iter().flatten()).any(line),
                    Block::Image { .. } | Block::Elided { .. } => true,
                };
                if is_found {
                    return true;
                }
            }
            next = open.pop();
        }
        false
    }

    /// Whether it heads what follows: a session begins.
    pub fn is_heading(&self) -> bool {
        self.mark == Some("session")
    }

    /// Whether it says what the whole run came to.
    pub fn is_totals(&self) -> bool {
        self.mark == Some("totals")
    }

    /// Whether it reports a failure.
    pub fn is_failure(&self) -> bool {
        matches!(self.mark, Some("error" | "outcome-error"))
    }
}

/// What is said of one item, under the item's id. As JSON it is a line of `--to json` with what else it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The item's id.
    pub id: Id,
    /// The call that the item is inside of, if any.
    pub parent: Option<Id>,
    /// Whether that call has started a sub-agent, or isn't known: not one that makes the item's call itself, as a script does.
    /// Only for writers that want agents.
    pub in_agent: bool,
    /// The item's place within its parent.
    pub place: u32,
    /// The item's kind.
    pub kind: Kind,
    /// The item's tool, cleaned.
    pub tool: Option<Text>,
    /// What the tool does.
    pub action: Option<Action>,
    /// The item's status.
    pub status: Status,
    /// When it happened, by the stream.
    pub at: Option<Timestamp>,
    /// On a result: the milliseconds since its call, by the stream.
    pub took: Option<u64>,
    /// How many sub-agents it is inside of.
    pub depth: u16,
    /// In a tree of records: how many nodes are above it.
    pub level: u16,
    /// On a result: its call.
    pub call: Option<Id>,
    /// What the run had come to by then, for writers that ask ([`crate::writer::Wants::figures`]).
    pub figures: Option<Figures>,
    /// What is said.
    pub view: View,
}

impl Entry {
    /// What is said of something of its own: finished, outside of every call, at no known time.
    pub fn new(id: impl Into<Id>, kind: Kind, view: View) -> Self {
        Self {
            id: id.into(),
            parent: None,
            in_agent: false,
            place: 0,
            kind,
            tool: None,
            action: None,
            status: Status::Done,
            at: None,
            took: None,
            depth: 0,
            level: 0,
            call: None,
            figures: None,
            view,
        }
    }
}

/// What a run has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Tokens used so far, each message counted once, sub-agents included.
    pub usage: Usage,
    /// What the run cost, in dollars; known at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Eq for Figures {}

/// About how many bytes of text are in blocks. What is folded in another counts as little.
pub fn text_size(blocks: &[Block]) -> usize {
    let line = |line: &Line| line.spans.iter().map(|span| span.text.len()).sum::<usize>();
    let bytes = |block: &Block| match block {
        Block::Prose { text, .. } | Block::Code { text, .. } => text.len(),
        Block::Lines { lines } => lines.iter().map(line).sum(),
        Block::List { items } => items.iter().map(|item| line(&item.line)).sum(),
        Block::Table { rows, .. } => rows.iter().flatten().map(line).sum(),
        Block::Diff { hunks, .. } => hunks.iter().map(|hunk| hunk.lines.text.len()).sum(),
        Block::Image { picture, .. } => picture.as_ref().map_or(0, Picture::size),
        Block::Details { .. } | Block::Elided { .. } => 0,
    };
    blocks.iter().map(|block| 100 + bytes(block)).sum()
}
