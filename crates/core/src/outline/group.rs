//! Groups the entries of a document, for all writers alike.
//!
//! This also decides where a turn begins, which entries failed, and which results are short enough for the row of their call.

use crate::entry::Entry;
use crate::item::{Kind, Status};

/// The longest title of a result in the row of its call, in bytes.
const SHORT: usize = 100;

/// The group of an entry. Writers keep entries of [`Group::Work`] together and separate all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Calls, results and notices.
    Work,
    /// Prompts, replies and thoughts.
    Words,
    /// The heading of a session, an outcome, or totals.
    Edge,
}

impl Entry {
    /// The group to which it belongs.
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

    /// Whether it is a node of a tree of records, and so part of a reply. A record outside of trees has no title.
    pub fn is_in_tree(&self) -> bool {
        self.kind == Kind::Record && !self.view.title.is_empty()
    }

    /// Whether a turn begins with it: a prompt to the main agent. The prompt of a sub-agent is part of the turn.
    pub fn begins_turn(&self) -> bool {
        self.kind == Kind::Prompt && self.depth == 0
    }

    /// Whether its item failed, or it reports a failure.
    pub fn is_failed(&self) -> bool {
        self.status == Status::Failed || self.view.is_failure()
    }

    /// Whether it is a successful result whose short title may be in the row of its call: `22 lines`.
    pub fn is_note(&self) -> bool {
        let title = &self.view.title;
        self.kind == Kind::Result
            && self.view.mark.is_none()
            && !title.is_empty()
            && title.text().len() <= SHORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Block, Line, View};

    #[test]
    fn words_and_edges_are_separate_from_work() {
        let prose = || View::of(vec![Block::prose("reply", "Done.")]);
        let titled = |mark| View::titled(mark, Line::of("text", "x"));
        for (kind, view, group) in [
            (Kind::Reply, prose(), Group::Words),
            (Kind::Prompt, titled("prompt"), Group::Work),
            (Kind::Notice, prose(), Group::Work),
            (Kind::Notice, titled("session"), Group::Edge),
            (Kind::Outcome, prose(), Group::Edge),
            (Kind::Result, prose(), Group::Work),
        ] {
            assert_eq!(Entry::new("id", kind, view).group(), group, "{kind:?}");
        }
    }

    #[test]
    fn only_a_prompt_to_the_main_agent_begins_a_turn() {
        let prompt = Entry::new("id", Kind::Prompt, View::default());
        assert!(prompt.begins_turn());
        assert!(!Entry { depth: 1, ..prompt.clone() }.begins_turn());
        assert!(!Entry { kind: Kind::Reply, ..prompt }.begins_turn());
    }
}
