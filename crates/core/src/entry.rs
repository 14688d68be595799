//! The presentation of an item: a title and blocks, in the same form for all writers.
//!
//! An entry knows no colour, width or output format. Each span has a [`Role`], each block a type;
//! a writer writes them in its format.

mod block;
mod diff;
mod line;
mod read;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::item::{Action, AnswerClaim, Id, Kind, Status, TurnStep, Waiting};
use crate::text::Text;

pub use crate::item::Picture;
pub use crate::theme::Role;
pub use block::{Block, BlockSize, ListItem, Point, text_size};
pub use diff::{DiffLine, DiffLines, Hunk, LineChange, PairedLine};
pub(crate) use line::{FOLDED, HIDDEN};

pub use line::{CONTINUES_CALL, Line, OneLine, Span, TextLayout};
pub(crate) use read::{blocks as read_blocks, mark as read_mark};

/// The presentation that a formatter returns for an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The name of the glyph before the title (`call`, `ok`, `error`, …), which a theme defines, or none.
    #[serde(default, deserialize_with = "read::mark", skip_serializing_if = "Option::is_none")]
    pub mark: Mark,
    /// The title; may be empty.
    pub title: Line,
    /// The blocks below the title.
    #[serde(default, deserialize_with = "read::blocks", skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<Block>,
    /// On a result: whether its title continues that of its call: `lines 14–17` … `of 22`.
    pub continues_call: bool,
}

/// The name of a glyph, or none. It is an alias because `serde` would borrow a field whose type is visibly a reference.
pub type Mark = Option<&'static str>;

impl View {
    /// A view with a mark and a title.
    pub fn titled(mark: &'static str, title: Line) -> Self {
        Self { mark: Some(mark), title, body: Vec::new(), continues_call: false }
    }

    /// A view of blocks without a title.
    pub fn of(body: Vec<Block>) -> Self {
        Self { body, ..Self::default() }
    }

    /// Replaces the title by one from a script or JSON, where [`View::continues_call`] follows from the role of the first span.
    #[must_use]
    pub fn retitled(mut self, title: Line) -> Self {
        self.continues_call = title.roles().next() == Some(Role::of(CONTINUES_CALL));
        self.title = title;
        self
    }

    /// The approximate size of its text, in bytes.
    pub fn size(&self) -> usize {
        self.title.text().len() + text_size(&self.body)
    }

    /// Whether title and body are blank.
    pub fn is_blank(&self) -> bool {
        // This sign replaces a line feed.
        !self.holds(|text| text.chars().any(|ch| !ch.is_whitespace() && ch != '␊'))
    }

    /// Whether title and body are empty, without even a blank.
    pub fn is_empty(&self) -> bool {
        !self.holds(|text| !text.is_empty())
    }

    /// Whether `counts` is true for any of its texts. Content other than text always counts.
    fn holds(&self, counts: impl Fn(&str) -> bool) -> bool {
        counts(self.title.text()) || any_block(&self.body, |block| block.holds(&counts))
    }

    /// Whether it is the heading of a session.
    pub fn is_heading(&self) -> bool {
        self.mark == Some("session")
    }

    /// Whether it shows the totals of the run.
    pub fn is_totals(&self) -> bool {
        self.mark == Some("totals")
    }

    /// Whether it reports a failure.
    pub fn is_failure(&self) -> bool {
        matches!(self.mark, Some("error" | "outcome-error"))
    }
}

/// The presentation of one item, with the item's id. In JSON it is a line of `--to json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The item's id.
    pub id: Id,
    /// The call that the item is inside of, if any.
    pub parent: Option<Id>,
    /// Whether that call has started a sub-agent, or isn't known. False inside of a call that makes other calls itself, as a script does.
    /// Only for writers that want agents.
    pub in_agent: bool,
    /// The item's place within its parent.
    pub place: u32,
    /// The item's kind.
    pub kind: Kind,
    /// The item's tool, cleaned.
    pub tool: Option<Text>,
    /// The action of the tool.
    pub action: Option<Action>,
    /// The item's status.
    pub status: Status,
    /// On a call that waits for a person: what it needs. Only in updates and in the nodes of a preview.
    pub waiting: Option<Waiting>,
    /// When it happened, according to the stream.
    pub at: Option<Timestamp>,
    /// On a result: the milliseconds since its call, according to the stream.
    pub took: Option<u64>,
    /// How many sub-agents it is inside of.
    pub depth: u16,
    /// In a tree of records: how many nodes are above it.
    pub level: u16,
    /// On a result: its call.
    pub call: Option<Id>,
    /// The figures of the run up to this entry, for writers that want them ([`crate::writer::Wants::figures`]).
    pub figures: Option<Figures>,
    /// What it means for the answer of its turn. Not in JSON, where updates name the answer.
    pub step: TurnStep,
    /// The answer that it contains, as a reply: on a call or an outcome, for outputs that show answers apart. Not in JSON.
    pub answer: Option<Box<Self>>,
    /// The view.
    pub view: View,
}

impl Entry {
    /// An entry with the status `done`, outside of all calls, without a time.
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
            waiting: None,
            at: None,
            took: None,
            depth: 0,
            level: 0,
            call: None,
            figures: None,
            step: match kind {
                Kind::Outcome => TurnStep::End { is_failed: false },
                Kind::Prompt => TurnStep::Prompt,
                Kind::Reply => TurnStep::Claim(AnswerClaim::Reply),
                Kind::Call | Kind::Result => TurnStep::Work,
                _ => TurnStep::Other,
            },
            answer: None,
            view,
        }
    }

    /// Notes that a call waits for a person, or no longer does. The status of one that was cut off stays.
    pub(crate) fn wait(&mut self, waiting: Option<Waiting>) {
        self.waiting = waiting;
        match self.status {
            Status::Open | Status::Done if waiting.is_some() => self.status = Status::Waiting,
            Status::Waiting if waiting.is_none() => self.status = Status::Done,
            _ => {}
        }
    }
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// The tokens used so far, including sub-agents, each message counted once.
    pub usage: Usage,
    /// The cost of the run in US dollars; known at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Eq for Figures {}

/// Whether `is_wanted` is true for any of the blocks, or of those inside of them.
pub(crate) fn any_block(blocks: &[Block], is_wanted: impl Fn(&Block) -> bool) -> bool {
    // A list instead of recursion, because details may be nested to any depth. Nearly always it stays empty.
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
