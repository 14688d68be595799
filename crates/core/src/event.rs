//! The events that a decoder emits.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::item::{Id, Item, Status};
use crate::json::Record;
use crate::text::Text;

/// A change that a decoder found in a stream.
#[derive(Clone, Debug)]
pub enum Event {
    /// New facts of the run. Absent fields don't change.
    Facts(Box<Facts>),
    /// A complete item. If an item with its id is open, it is replaced and complete.
    Put(Box<Item>),
    /// The same for an item that no output shows: it needs no facts, and is only counted.
    Hidden(Box<Item>),
    /// The beginning of an item that will grow.
    Open(Box<Item>),
    /// A piece of text, or of the JSON of a call's input, to append to an open item.
    Append {
        /// The id of the item.
        id: Id,
        /// The piece.
        text: String,
    },
    /// A new state of an open item, which stays open. Its parent and line don't change, nor does its text if the new state has none.
    /// If no item with its id is open, it is opened.
    Amend(Box<Item>),
    /// The end of an open item: it is complete, or was cut off.
    Close {
        /// The id of the item.
        id: Id,
        /// Its final status.
        status: Status,
    },
    /// The removal of an open item, because its message was abandoned.
    Drop(Id),
    /// The retraction of items that were complete, with a notice that names them.
    Retract {
        /// The ids of the items.
        ids: Vec<Id>,
        /// The notice.
        notice: Box<Item>,
    },
    /// The tokens that a message used. If there are several for a message, the last one counts.
    Usage {
        /// The message's id.
        message: Id,
        /// Its tokens.
        usage: Usage,
        /// What else is known of it, if [`Input::counts`](crate::dialect::Input::counts).
        details: Option<Box<UsageDetails>>,
    },
    /// The cost of a message in US dollars, from a stream whose outcomes have the sums of these: it counts until such an outcome comes.
    Cost(f64),
    /// The tokens of all messages since the previous outcome, from an outcome: those of a single message are often reported before
    /// it is complete.
    Totals {
        /// The id of the outcome.
        outcome: Id,
        /// The tokens.
        usage: Usage,
    },
    /// A record that is bookkeeping: hidden by the rule of this name.
    Bookkeeping(Cow<'static, str>),
    /// A record, block or field that the dialect doesn't know, by name.
    Unknown(String),
}

impl Event {
    /// Gives its item a time, if the stream gives it none: a string.
    pub(crate) fn take_time(&mut self, time: &Record) {
        let (Self::Put(item) | Self::Hidden(item) | Self::Open(item) | Self::Amend(item)) = self else {
            return;
        };
        if item.at.is_none() {
            item.take_time(time.clone());
        }
    }
}

/// The facts of a run. All texts are cleaned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The agent's program, as a dialect names it: `claude`.
    pub agent: Option<Text>,
    /// The agent's version.
    pub version: Option<Text>,
    /// The model that answers.
    pub model: Option<Text>,
    /// The working folder of the session.
    pub cwd: Option<Text>,
    /// The session's id.
    pub session: Option<Text>,
    /// The id of the session that it continues.
    pub resumes: Option<Text>,
    /// The title that a person chose for the session, else the one that the agent made.
    pub title: Option<Text>,
    /// The URL of the last pull request that the session made, or belongs to.
    pub pull_request: Option<Text>,
    /// The permission mode.
    pub mode: Option<Text>,
    /// How many background tasks are running: the agent may continue after its result.
    pub background_tasks: Option<usize>,
}

impl Facts {
    /// A path, made relative if it is inside of the session's folder. In a folder of Windows, both separators are the same, and so are
    /// capital and small letters.
    pub fn relative(&self, path: Text) -> Text {
        let Some(cwd) = &self.cwd else { return path };
        let is_windows = matches!(cwd.as_bytes(), [b'A'..=b'Z' | b'a'..=b'z', b':', b'\\' | b'/', ..])
            || cwd.starts_with("\\\\");
        let is_separator = |byte: u8| byte == b'/' || (is_windows && byte == b'\\');
        let cwd = cwd.as_bytes();
        let folder = &cwd[..cwd.iter().rposition(|byte| !is_separator(*byte)).map_or(0, |last| last + 1)];
        let is_same = |one: u8, other: u8| {
            one == other
                || (is_windows
                    && (one.eq_ignore_ascii_case(&other) || (is_separator(one) && is_separator(other))))
        };
        let bytes = path.as_bytes();
        let is_below =
            bytes.len() >= folder.len() && bytes.iter().zip(folder).all(|(one, other)| is_same(*one, *other));
        match bytes.get(folder.len()) {
            _ if !is_below => path,
            None => Text::own("."),
            Some(next) if !is_separator(*next) => path,
            Some(_) if bytes.len() == folder.len() + 1 => Text::own("."),
            Some(_) => {
                let start = folder.len() + 1;
                path.without_start(start)
            }
        }
    }

    /// Updates the facts that are present in `news`. Those of another agent's program say nothing about this one. Returns whether they are such.
    pub(crate) fn update(&mut self, news: Facts) -> bool {
        let is_other = self.agent.is_some() && news.agent.is_some() && self.agent != news.agent;
        if is_other {
            *self = Self::default();
        }
        let pairs = [
            (&mut self.agent, news.agent),
            (&mut self.version, news.version),
            (&mut self.model, news.model),
            (&mut self.cwd, news.cwd),
            (&mut self.session, news.session),
            (&mut self.resumes, news.resumes),
            (&mut self.title, news.title),
            (&mut self.pull_request, news.pull_request),
            (&mut self.mode, news.mode),
        ];
        for (known, new) in pairs {
            if new.is_some() {
                *known = new;
            }
        }
        self.background_tasks = news.background_tasks.or(self.background_tasks);
        is_other
    }
}

/// What is known of the tokens of a message beside their number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageDetails {
    /// When they were reported.
    pub at: Option<Timestamp>,
    /// The model that answered, if it isn't that of the session.
    pub model: Option<String>,
    /// Identifies the message among those of all sessions: a copy of its lines in another session has the same key. `None` if its id is
    /// unique in its session only.
    pub key: Option<u64>,
    /// If the tokens are the sum of all messages of the session so far: those since the last report.
    pub added: Option<Usage>,
    /// Whether the line repeats one of another session.
    pub is_repeated: bool,
    /// Of the tokens written to the cache, those that are kept for an hour.
    pub cache_write_hour: u64,
    /// Searches of the web, which are charged apart.
    pub searches: u64,
    /// US dollars, if the line states its own cost.
    pub cost_usd: Option<f64>,
}

impl UsageDetails {
    /// Nothing.
    pub const NONE: Self = Self {
        at: None,
        model: None,
        key: None,
        added: None,
        is_repeated: false,
        cache_write_hour: 0,
        searches: 0,
        cost_usd: None,
    };
}

/// Counts of tokens.
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
    /// Tokens read and written, without those of the cache: the number shown wherever a figure says just "tokens".
    pub fn spent(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Combines each count with that of `other`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_of_the_session_folder_are_relative() {
        for (cwd, path, relative) in [
            ("/home/ola/shop", "/home/ola/shop/src/a.rs", "src/a.rs"),
            ("/home/ola/shop/", "/home/ola/shop", "."),
            ("/home/ola/shop", "/home/ola/shopping/a", "/home/ola/shopping/a"),
            ("/home/ola/shop", "/home/ola/Shop/a", "/home/ola/Shop/a"),
            (r"/home/ola/a\b", "/home/ola/a/b", "/home/ola/a/b"),
            ("/", "/etc", "etc"),
            (r"C:\Users\ola\shop", r"C:\Users\ola\shop\src\a.rs", r"src\a.rs"),
            (r"C:\Users\ola\shop", "c:/users/ola/shop/src/a.rs", "src/a.rs"),
            (r"C:\Users\ola\shop", r"C:\Users\ola\shopping", r"C:\Users\ola\shopping"),
            (r"\\server\share", r"\\server\share\a", "a"),
        ] {
            let facts = Facts { cwd: Some(Text::clean(cwd)), ..Facts::default() };
            assert_eq!(facts.relative(Text::clean(path)).as_str(), relative, "{cwd} {path}");
        }
    }
}
