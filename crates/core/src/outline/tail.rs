//! Holds back the last nodes while the next part may join them.

use crate::entry::{Entry, text_size};
use crate::item::Kind;

use super::{DocumentPart, Group, Node};

/// The least number of notices in a part; fewer are read as quickly as a row that summarises them.
const MIN_NODES: usize = 3;
/// The most notices in a part.
const MAX_NODES: usize = 256;
/// The most bytes of their text.
const MAX_BYTES: usize = 1 << 20;

/// The end of the document so far: consecutive notices, which more notices may join, or a call, which becomes the beginning of a nest
/// if the next entry is inside of it.
#[derive(Clone, Debug, Default)]
pub(super) struct DocumentTail {
    nodes: Vec<Node>,
    bytes: usize,
}

impl DocumentTail {
    /// Holds back a notice or a call, and emits the nodes before it unless they are notices that it joins.
    pub(super) fn push(&mut self, node: Node, parts: &mut Vec<DocumentPart>) {
        let bytes = text_size(&node.entry.view.body);
        let is_notice = |node: &Node| node.entry.kind == Kind::Notice;
        let has_room = self.nodes.len() < MAX_NODES && self.bytes + bytes <= MAX_BYTES;
        if !(has_room && is_notice(&node) && self.nodes.last().is_some_and(is_notice)) {
            self.release(parts);
        }
        self.bytes += bytes;
        self.nodes.push(node);
    }

    /// Emits the nodes that are held back.
    pub(super) fn release(&mut self, parts: &mut Vec<DocumentPart>) {
        // This is called for each part, mostly without nodes.
        if self.nodes.is_empty() {
            return;
        }
        let Self { nodes, .. } = std::mem::take(self);
        if nodes.len() < MIN_NODES {
            parts.extend(nodes.into_iter().map(DocumentPart::Node));
        } else {
            parts.push(DocumentPart::Notices(nodes));
        }
    }

    /// The call that is held back, if there is one.
    pub(super) fn call(&self) -> Option<&Entry> {
        self.nodes.last().map(|node| &*node.entry).filter(|entry| entry.kind == Kind::Call)
    }

    /// Removes and returns the call that is held back, if `entry` is directly inside of it.
    pub(super) fn take_call_of(&mut self, entry: &Entry) -> Option<Node> {
        let call = self.call().filter(|call| entry.parent.as_ref() == Some(&call.id))?;
        if entry.depth == call.depth + 1 { self.nodes.pop() } else { None }
    }
}

/// Whether an entry is a notice without a warning or failure.
pub(super) fn is_plain_notice(entry: &Entry) -> bool {
    entry.kind == Kind::Notice
        && entry.view.mark == Some("notice")
        && entry.group() == Group::Work
        && !entry.is_failed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Block, Line, View};

    #[test]
    fn a_part_of_notices_has_limits_and_none_of_them_is_lost() {
        for (bytes, most) in [(1, MAX_NODES), (MAX_BYTES / 4 - 1_024, 4), (MAX_BYTES / 4 + 1, 3)] {
            let (mut tail, mut parts) = (DocumentTail::default(), Vec::new());
            let all = 2 * most + MIN_NODES;
            for number in 0..all {
                let text = Block::prose("notice.info", "x".repeat(bytes).as_str());
                let view = View { body: vec![text], ..View::titled("notice", Line::of("notice.info", "n")) };
                let notice = Entry::new(format!("{number}"), Kind::Notice, view);
                tail.push(Node::from(Box::new(notice)), &mut parts);
                assert_eq!(parts.len(), number / most, "{bytes} bytes, {number} notices before");
            }
            tail.release(&mut parts);
            let shown = parts.iter().map(|part| match part {
                DocumentPart::Notices(nodes) => nodes,
                other => panic!("{other:?}"),
            });
            let (mut sizes, mut ids) = (Vec::new(), Vec::new());
            for nodes in shown {
                sizes.push(nodes.len());
                ids.extend(nodes.iter().map(|node| node.entry.id.to_string()));
            }
            assert_eq!(sizes, [most, most, MIN_NODES], "{bytes} bytes");
            assert_eq!(ids, (0..all).map(|number| number.to_string()).collect::<Vec<_>>());
        }
    }
}
