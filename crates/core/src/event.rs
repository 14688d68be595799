//! Something that happened: what a decoder makes of a frame.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::item::{Id, Item, Status};
use crate::text::Text;

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

/// What is known of the run as a whole. Cleaned, ready to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The agent's product, as a dialect names it: `claude`.
    pub agent: Option<Text>,
    /// The agent's version.
    pub version: Option<Text>,
    /// The model that answers.
    pub model: Option<Text>,
    /// The folder that the session works in.
    pub cwd: Option<Text>,
    /// The session's id.
    pub session: Option<Text>,
    /// The id of another session that it goes on from.
    pub resumes: Option<Text>,
    /// The permission mode.
    pub mode: Option<Text>,
    /// The last plan file that was written.
    pub plan_file: Option<Text>,
    /// The last skill that was loaded: its folder.
    pub skill: Option<Text>,
    /// How many tasks run in the background: the agent may work on after its result.
    pub background_tasks: Option<usize>,
}

impl Facts {
    /// A path, relative if it lies in the session's folder.
    pub fn relative(&self, path: Text) -> Text {
        let Some(cwd) = &self.cwd else { return path };
        let Some(rest) = path.strip_prefix(cwd.trim_end_matches('/')) else { return path };
        match rest.strip_prefix('/').unwrap_or(rest) {
            "" => Text::own("."),
            inside if inside.len() < rest.len() => {
                let start = path.len() - inside.len();
                path.without_start(start)
            }
            _ => path,
        }
    }

    /// Takes over what is new.
    pub(crate) fn update(&mut self, news: Facts) {
        let pairs = [
            (&mut self.agent, news.agent),
            (&mut self.version, news.version),
            (&mut self.model, news.model),
            (&mut self.cwd, news.cwd),
            (&mut self.session, news.session),
            (&mut self.resumes, news.resumes),
            (&mut self.mode, news.mode),
            (&mut self.plan_file, news.plan_file),
            (&mut self.skill, news.skill),
        ];
        for (known, new) in pairs {
            if new.is_some() {
                *known = new;
            }
        }
        self.background_tasks = news.background_tasks.or(self.background_tasks);
    }
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

impl Usage {
    /// Tokens read and written, those of the cache aside: what "tokens" alone means wherever figures are shown.
    pub fn spent(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// What `combine` makes of each count and the same count of `other`.
    #[must_use]
    pub fn combined(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            input: combine(self.input, other.input),
            output: combine(self.output, other.output),
            cache_read: combine(self.cache_read, other.cache_read),
            cache_write: combine(self.cache_write, other.cache_write),
        }
    }
}
