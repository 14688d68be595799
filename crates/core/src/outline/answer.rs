//! Finds the answer of a turn.
//!
//! The last reply with the highest [`AnswerClaim`] is the answer, whatever follows it, once the turn has ended well. Replies with nothing
//! but notices between them belong together.
//!
//! Replies are held back while the next entry may belong to the same answer. In a document of answers alone they are held back, with all
//! that follows, until the turn ends. Elsewhere they are emitted before other work, and a copy is kept.

use crate::entry::{Entry, text_size};
use crate::item::{AnswerClaim, Kind, Status, TurnStep};

use super::Node;

/// How many bytes of text may be held back, besides the first node.
const MAX_BYTES: usize = 1 << 20;
/// How many nodes may be held back, without those of trees of records.
const MAX_NODES: usize = 64;
/// How many nodes of trees of records may be held back.
const MAX_IN_TREES: usize = 1_000;

/// The nodes that are held back, and copies of replies that were emitted and may be the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldReplies {
    nodes: Vec<Node>,
    /// How many of them are nodes of trees of records.
    in_trees: usize,
    bytes: usize,
    /// Whether the agent has worked since the last reply: the next one doesn't belong to it.
    is_apart: bool,
    /// The copies.
    emitted: Vec<Node>,
}

impl HeldReplies {
    /// Holds back the next node.
    pub(super) fn push(&mut self, node: Node) {
        self.is_apart |= is_of_call(&node.entry);
        self.bytes += text_size(&node.entry.view.body);
        self.in_trees += usize::from(node.entry.is_in_tree());
        self.nodes.push(node);
    }

    /// Removes and returns all nodes.
    pub(super) fn take(&mut self) -> Vec<Node> {
        let emitted = std::mem::take(&mut self.emitted);
        std::mem::replace(self, Self { emitted, ..Self::default() }).nodes
    }

    /// Removes and returns all nodes, which are emitted before others. Keeps copies of the replies if they may be the answer.
    pub(super) fn take_to_emit(&mut self) -> Vec<Node> {
        let nodes = self.take();
        if claim_of(&nodes).is_some_and(|claim| claim_of(&self.emitted) <= Some(claim)) {
            self.emitted = nodes.iter().filter(|node| claim(node).is_some()).cloned().collect();
        }
        nodes
    }

    /// Removes and returns the copies.
    pub(super) fn take_emitted(&mut self) -> Vec<Node> {
        std::mem::take(&mut self.emitted)
    }

    /// Notes a reply that was emitted as a part of another entry.
    pub(super) fn note_emitted(&mut self, node: Node) {
        if claim_of(&self.emitted) <= claim(&node) {
            self.emitted = vec![node];
        }
    }

    /// Forgets the structured answer, whose call failed. Returns its node, if it was held back.
    pub(super) fn refuse(&mut self) -> Option<Node> {
        let is_refused = |node: &Node| claim(node) == Some(AnswerClaim::Structured);
        self.emitted.retain(|node| !is_refused(node));
        Some(self.nodes.remove(self.nodes.iter().rposition(is_refused)?))
    }

    /// Notes that the agent works on.
    pub(super) fn set_apart(&mut self) {
        self.is_apart = true;
    }

    /// Whether the agent has worked since the last reply that is held back.
    pub(super) fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// The highest claim of the replies that are held back, if there are any.
    pub(super) fn claim(&self) -> Option<AnswerClaim> {
        claim_of(&self.nodes)
    }

    /// Whether the copies are the answer rather than the replies that are held back.
    pub(super) fn is_outranked(&self) -> bool {
        self.claim() < claim_of(&self.emitted)
    }

    /// Whether no nodes are held back.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether the outcome has come: the nodes are the answer.
    pub(super) fn has_outcome(&self) -> bool {
        self.nodes.iter().any(|node| node.entry.kind == Kind::Outcome)
    }

    /// Whether a reply with this claim belongs to those that are held back.
    pub(super) fn is_continued_by(&self, reply: &Entry, claim: AnswerClaim) -> bool {
        self.claim().is_none_or(|held| held == claim && !self.is_apart && !is_of_call(reply))
    }

    /// Whether the node of this entry may be part of the answer, after the nodes that are held back.
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        let is_next = match entry.kind {
            _ if entry.step == TurnStep::Stop => false,
            Kind::Reply => entry.depth == 0 && !self.has_outcome(),
            // An incomplete tree is written at the end of the input, after the outcome.
            Kind::Record => {
                let is_late = entry.level > 0 || entry.status == Status::Cancelled;
                entry.is_in_tree() && entry.depth == 0 && (is_late || !self.has_outcome())
            }
            Kind::Notice => !self.nodes.is_empty() || self.is_last(entry),
            Kind::Outcome => !self.has_outcome(),
            // Text that another program printed after the end of the run.
            Kind::Unknown => self.has_outcome(),
            _ => false,
        };
        is_next && self.has_room(entry)
    }

    /// Whether a notice follows the end of a history: the answer comes before it.
    fn is_last(&self, notice: &Entry) -> bool {
        !self.emitted.is_empty() && (notice.step == TurnStep::InputEnd || notice.view.is_totals())
    }

    /// Whether there is room for the node of this entry.
    pub(super) fn has_room(&self, entry: &Entry) -> bool {
        let is_counted = if entry.is_in_tree() {
            self.in_trees < MAX_IN_TREES
        } else {
            self.nodes.len() - self.in_trees < MAX_NODES
        };
        self.nodes.is_empty() || is_counted && self.bytes + text_size(&entry.view.body) <= MAX_BYTES
    }
}

/// The claim of a node of the main agent: a reply, or a node of a tree of records.
pub(super) fn claim(node: &Node) -> Option<AnswerClaim> {
    let entry = &node.entry;
    match entry.step {
        _ if entry.depth > 0 => None,
        TurnStep::Claim(claim) if entry.kind == Kind::Reply => Some(claim),
        _ => entry.is_in_tree().then_some(AnswerClaim::Reply),
    }
}

/// Whether a reply is the answer that a call contains.
pub(super) fn is_of_call(reply: &Entry) -> bool {
    reply.kind == Kind::Reply && reply.action.is_some()
}

/// The highest claim of these nodes.
fn claim_of(nodes: &[Node]) -> Option<AnswerClaim> {
    nodes.iter().filter_map(claim).max()
}
