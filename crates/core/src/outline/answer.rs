//! Tells the answer from the replies before it.

use std::collections::VecDeque;

use crate::entry::text_size;
use crate::item::{Kind, Status};

use super::Node;

/// Bytes of text that are held back in the hope that they are the answer.
const MAX_BYTES: usize = 1 << 20;
/// Nodes that are, but for those of trees of records.
const MAX_NODES: usize = 64;
/// Nodes of trees that are.
const MAX_IN_TREES: usize = 1_000;

/// Holds back what may be the answer: replies are, if nothing but notices and the outcome comes after them.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldReplies {
    nodes: VecDeque<Node>,
    /// How many of them are of trees.
    in_trees: usize,
    bytes: usize,
}

impl HeldReplies {
    /// Takes the next node. Gives out what is now known not to be of the last answer, to be written first, and the node
    /// itself unless it is held back.
    pub(super) fn take(&mut self, node: Node) -> (Vec<Node>, Option<Node>) {
        let mut known = Vec::new();
        let mut is_held = self.admits(&node);
        if !is_held && !self.nodes.is_empty() {
            known = self.release();
            is_held = self.admits(&node);
        }
        if !is_held {
            return (known, Some(node));
        }
        self.bytes += text_size(&node.entry.view.body);
        self.in_trees += usize::from(node.entry.is_in_tree());
        self.nodes.push_back(node);
        (known, None)
    }

    /// Gives out what is held back.
    pub(super) fn release(&mut self) -> Vec<Node> {
        (self.bytes, self.in_trees) = (0, 0);
        std::mem::take(&mut self.nodes).into()
    }

    fn admits(&self, node: &Node) -> bool {
        let entry = &node.entry;
        let has_outcome = || self.nodes.iter().any(|node| node.entry.kind == Kind::Outcome);
        let is_next = match entry.kind {
            Kind::Reply => entry.depth == 0 && !has_outcome(),
            // A tree that nobody completed comes when all else has.
            Kind::Record => {
                let is_late = entry.level > 0 || entry.status == Status::Cancelled;
                entry.is_in_tree() && entry.depth == 0 && (is_late || !has_outcome())
            }
            Kind::Notice => !self.nodes.is_empty(),
            Kind::Outcome => !has_outcome(),
            // What another program printed once the run had ended.
            Kind::Unknown => has_outcome(),
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
