//! Finds the replies that are the answer.

use crate::entry::{Entry, text_size};
use crate::item::{Kind, Status};

use super::Node;

/// How many bytes of text may be held back.
const MAX_BYTES: usize = 1 << 20;
/// How many nodes may be held back, without those of trees of records.
const MAX_NODES: usize = 64;
/// How many nodes of trees of records may be held back.
const MAX_IN_TREES: usize = 1_000;

/// Holds back nodes that may be the answer: the replies after which only notices and the outcome come.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldReplies {
    nodes: Vec<Node>,
    /// How many of them are nodes of trees of records.
    in_trees: usize,
    bytes: usize,
}

impl HeldReplies {
    /// Holds back the next node, if it [admits](Self::admits) it.
    pub(super) fn push(&mut self, node: Node) {
        self.bytes += text_size(&node.entry.view.body);
        self.in_trees += usize::from(node.entry.is_in_tree());
        self.nodes.push(node);
    }

    /// Removes and returns all nodes.
    pub(super) fn take(&mut self) -> Vec<Node> {
        std::mem::take(self).nodes
    }

    /// Whether the outcome has come: the nodes are the answer.
    pub(super) fn has_outcome(&self) -> bool {
        self.nodes.iter().any(|node| node.entry.kind == Kind::Outcome)
    }

    /// Whether the node of this entry may be held back with those before it.
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        let is_next = match entry.kind {
            Kind::Reply => entry.depth == 0 && !self.has_outcome(),
            // An incomplete tree is written at the end of the input, after the outcome.
            Kind::Record => {
                let is_late = entry.level > 0 || entry.status == Status::Cancelled;
                entry.is_in_tree() && entry.depth == 0 && (is_late || !self.has_outcome())
            }
            Kind::Notice => !self.nodes.is_empty(),
            Kind::Outcome => !self.has_outcome(),
            // Text that another program printed after the end of the run.
            Kind::Unknown => self.has_outcome(),
            _ => false,
        };
        let has_room = if entry.is_in_tree() {
            self.in_trees < MAX_IN_TREES
        } else {
            self.nodes.len() - self.in_trees < MAX_NODES
        };
        is_next && has_room && self.bytes + text_size(&entry.view.body) <= MAX_BYTES
    }
}
