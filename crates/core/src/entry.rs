//! What is said of an item: a title and blocks. The second waist.
//!
//! An entry knows no colour, width or output format. Its spans name what they are (a
//! [`Role`]), its blocks what they hold; a writer spells them.

mod block;
mod diff;
mod line;
mod read;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::item::{Action, Id, Kind, Status};
use crate::text::Text;

pub use crate::item::Picture;
pub use block::{Block, BlockSize, ListItem, Point, text_size};
pub use diff::{DiffLine, DiffLines, Hunk, LineChange, PairedLine};
pub(crate) use line::{FOLDED, HIDDEN};

pub use line::{GOES_ON, Line, OneLine, Role, Span, TextLayout};
pub(crate) use read::{blocks as read_blocks, mark as read_mark};

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
        self.title.bytes() + text_size(&self.body)
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
        self.title.holds(&counts) || any_block(&self.body, |block| block.holds(&counts))
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

/// Whether any of the blocks, or of those inside of them, is one that `is_wanted`.
pub(crate) fn any_block(blocks: &[Block], is_wanted: impl Fn(&Block) -> bool) -> bool {
    // A list of its own, not the stack: details may nest to any depth. Nearly always it stays empty.
    let mut open = Vec::new();
    let mut next = Some(blocks);
    while let Some(blocks) = next {
        for block in blocks {
            if is_wanted(block) {
                return true;
            }
            open.extend(Some(block.inside()).filter(|inside| !inside.is_empty()));
        }
        next = open.pop();
    }
    false
}
