//! Something that happened: what a decoder makes of a frame.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::item::{Id, Item, Status};
use crate::session::Facts;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Something became known of the run. Absent fields say nothing new.
    Facts(Box<Facts>),
    /// A whole item; if one with its id is open, this is how that ended.
    Put(Box<Item>),
    /// An item begins that will grow.
    Open(Box<Item>),
    /// An open item grew by a piece of text, or of its input's JSON.
    Append {
        /// Which item.
        id: Id,
        /// The piece.
        text: String,
    },
    /// An open item has changed and stays open: it is told anew, but for its text if that isn't told, and for its parent and
    /// the line it began with. One that isn't known begins with this.
    Amend(Box<Item>),
    /// An open item is whole, or was cut off.
    Close {
        /// Which item.
        id: Id,
        /// How it ended.
        status: Status,
    },
    /// An open item never happened: its message was given up.
    Drop(Id),
    /// Items already seen are taken back; the notice that says so names them.
    Retract {
        /// Which items.
        ids: Vec<Id>,
        /// Who says so.
        notice: Box<Item>,
    },
    /// Tokens that a message used; the last of a message counts.
    Usage {
        /// The message's id.
        message: Id,
        /// What it used.
        usage: Usage,
    },
    /// Tokens of all messages since the outcome before, as an outcome tells them: messages are often told before they are
    /// whole.
    Totals {
        /// The outcome.
        outcome: Id,
        /// What they used.
        usage: Usage,
    },
    /// A record that is bookkeeping: hidden by the rule of this name.
    Bookkeeping(Cow<'static, str>),
    /// A record, block or field that the dialect doesn't know, by name.
    Unknown(String),
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Read, not cached.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
}
