//! Recognises the copy of another session with which a forked session begins.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use streamfmt::core::event::Usage;
use streamfmt::core::hash::hash;
use streamfmt::core::item::{Item, Kind};
use streamfmt::core::session::Session;
use streamfmt::core::session::counted::Counting;
use streamfmt::dialect::DIALECTS;

/// The most messages of a session that are remembered.
const MOST_MESSAGES: usize = 65_536;

/// The messages of a session that used tokens, as hashes. Those of a copy have the same hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedMessages {
    /// The first one, unless the agent reports only sums: then another session may have the same hash by chance.
    pub(in super::super) first: Option<u64>,
    /// All of them, in order.
    pub(in super::super) all: Vec<u64>,
}

/// The parts of a history that are counted for other sessions.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct CountedElsewhere {
    /// The times in which the session was continued by runs.
    pub(in super::super) times: Vec<RangeInclusive<Timestamp>>,
    /// The messages of sessions of which it may be a copy.
    pub(in super::super) messages: HashSet<u64>,
}

impl CountedElsewhere {
    /// Whether no part is.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.times.is_empty() && self.messages.is_empty()
    }
}

/// Collects the messages of a session, and finds where a copy ends.
#[derive(Debug, Default)]
pub(super) struct MessageCollector {
    pub(super) messages: CountedMessages,
    /// The last message of another session.
    pub(super) copied_to: Option<u64>,
    /// Whether one has come since the last prompt.
    pub(super) is_in_copy: bool,
    /// The tokens and the message at the last item.
    usage: Usage,
    counted: Option<u64>,
    /// The hash of the last prompt.
    prompt: u64,
}

impl MessageCollector {
    /// Takes a complete item. Returns whether it is the first prompt after a copy. `known`: messages of other sessions.
    pub(super) fn take(&mut self, item: &Item, session: &Session, known: &HashSet<u64>) -> bool {
        if let Some(message) = self.new_message(item, session) {
            if known.contains(&message) {
                (self.copied_to, self.is_in_copy) = (Some(message), true);
            }
            if self.messages.all.len() < MOST_MESSAGES {
                self.messages.all.push(message);
            }
        }
        let is_prompt = item.kind == Kind::Prompt && item.parent.is_none();
        if is_prompt {
            self.prompt = hash(&*item.text());
        }
        is_prompt && std::mem::take(&mut self.is_in_copy)
    }

    /// Returns the hash of a message that has used tokens since the last item.
    fn new_message(&mut self, item: &Item, session: &Session) -> Option<u64> {
        let Usage { input, output, cache_read, cache_write } = session.usage();
        if std::mem::replace(&mut self.usage, session.usage()) == session.usage() {
            return None;
        }
        let dialect = session.facts().agent.as_deref().and_then(|agent| DIALECTS.find(agent));
        if dialect.is_some_and(|dialect| dialect.counting == Counting::Usage) {
            return Some(hash(&(self.prompt, input, output, cache_read, cache_write)));
        }
        let counted = session.last_counted()?;
        if self.counted.replace(counted) == Some(counted) {
            return None;
        }
        // A copy keeps the time. Recorded answers that are played back repeat ids only.
        let message = hash(&(counted, item.at()?.as_nanosecond()));
        self.messages.first.get_or_insert(message);
        Some(message)
    }
}
