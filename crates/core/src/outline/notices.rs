//! Joins consecutive notices into one part.

use crate::entry::text_size;
use crate::item::Kind;

use super::{DocumentPart, Group, Node};

/// The least number of notices in a part; fewer are read as quickly as a row that summarises them.
const MIN_NODES: usize = 3;
/// The most notices in a part.
const MAX_NODES: usize = 256;
/// The most bytes of their text.
const MAX_BYTES: usize = 1 << 20;

/// Holds back notices while more of them may follow.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldNotices {
    nodes: Vec<Node>,
    bytes: usize,
}

impl HeldNotices {
    /// Emits a part, or holds it back if it is a notice.
    pub(super) fn take(&mut self, part: DocumentPart, parts: &mut Vec<DocumentPart>) {
        let node = match part {
            DocumentPart::Node(node) if admits(&node) => node,
            part => {
                self.release(parts);
                return parts.push(part);
            }
        };
        let bytes = text_size(&node.entry.view.body);
        if self.nodes.len() == MAX_NODES || self.bytes + bytes > MAX_BYTES {
            self.release(parts);
        }
        self.bytes += bytes;
        self.nodes.push(node);
    }

    /// Emits the notices that are held back.
    pub(super) fn release(&mut self, parts: &mut Vec<DocumentPart>) {
        if self.nodes.is_empty() {
            return;
        }
        self.bytes = 0;
        let nodes = std::mem::take(&mut self.nodes);
        if nodes.len() < MIN_NODES {
            parts.extend(nodes.into_iter().map(DocumentPart::Node));
        } else {
            parts.push(DocumentPart::Notices(nodes));
        }
    }
}

/// Whether it is a notice without a warning or failure.
fn admits(node: &Node) -> bool {
    let entry = &node.entry;
    entry.kind == Kind::Notice
        && entry.view.mark == Some("notice")
        && entry.group() == Group::Work
        && !entry.is_failed()
}
