//! Which entries of a document belong together, decided once for all writers.
//!
//! Also where a turn begins, what failed, and which result is short enough to stand behind its call.

use crate::entry::Entry;
use crate::item::{Kind, Status};

/// Bytes of a result's title that may be behind its call.
const SHORT: usize = 100;

/// What an entry is among others. Writers keep entries of [`Group::Work`] together and all others apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Calls, results, notices: one below the other.
    Work,
    /// What someone says or thinks.
    Words,
    /// How a session begins or a run ends.
    Edge,
}

impl Entry {
    /// The group that it is of.
    pub fn group(&self) -> Group {
        match self.kind {
            Kind::Outcome => Group::Edge,
            _ if self.view.is_heading() || self.view.is_totals() => Group::Edge,
            Kind::Reply | Kind::Prompt | Kind::Thinking
                if self.view.title.is_empty() || !self.view.body.is_empty() =>
            {
                Group::Words
            }
            _ => Group::Work,
        }
    }

    /// Whether it is a node of a tree of records: a part of what was said. A record by itself has no title.
    pub fn is_in_tree(&self) -> bool {
        self.kind == Kind::Record && !self.view.title.is_empty()
    }

    /// Whether a turn begins with it: a prompt to the agent itself. What a sub-agent is asked is a part of the turn.
    pub fn begins_turn(&self) -> bool {
        self.kind == Kind::Prompt && self.depth == 0
    }

    /// Whether what it is of failed, or it reports a failure.
    pub fn is_failed(&self) -> bool {
        self.status == Status::Failed || self.view.is_failure()
    }

    /// Whether it is a result that went well, with a title of a few words that may be behind its call: `22 lines`.
    pub fn is_note(&self) -> bool {
        let title = &self.view.title;
        self.kind == Kind::Result && self.view.mark.is_none() && !title.is_empty() && title.bytes() <= SHORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Block, Line, View};

    #[test]
    fn words_and_edges_are_apart_from_work() {
        let said = || View::of(vec![Block::prose("reply", "Done.")]);
        let titled = |mark| View::titled(mark, Line::of("text", "x"));
        for (kind, view, group) in [
            (Kind::Reply, said(), Group::Words),
            (Kind::Prompt, titled("prompt"), Group::Work),
            (Kind::Notice, said(), Group::Work),
            (Kind::Notice, titled("session"), Group::Edge),
            (Kind::Outcome, said(), Group::Edge),
            (Kind::Result, said(), Group::Work),
        ] {
            assert_eq!(Entry::new("id", kind, view).group(), group, "{kind:?}");
        }
    }

    #[test]
    fn only_a_prompt_to_the_agent_itself_begins_a_turn() {
        let prompt = Entry::new("id", Kind::Prompt, View::default());
        assert!(prompt.begins_turn());
        assert!(!Entry { depth: 1, ..prompt.clone() }.begins_turn());
        assert!(!Entry { kind: Kind::Reply, ..prompt }.begins_turn());
    }
}
