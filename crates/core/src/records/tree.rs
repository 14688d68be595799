//! A tree that grows record by record.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use crate::item::Id;
use crate::json::Record;

use super::schema::RecordSchema;

/// The most nodes of a tree.
pub(super) const MAX_NODES: usize = 250_000;
/// The most bytes of all its records.
pub(super) const MAX_BYTES: usize = 64 << 20;
/// The longest record that becomes a node, in bytes.
pub const MAX_RECORD: usize = 1 << 20;
/// How many ancestors are searched for a cycle.
const MAX_LEVEL: usize = 1_000;
/// How many nodes may be visited in all to move nodes to other parents. Past that, such records are rejected.
const MAX_MOVES: usize = 1_000_000;

/// Why a record doesn't fit into a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordMisfit {
    /// It has none of the schema's types.
    Foreign,
    /// It has a fault: the reason, for a message.
    Wrong(String),
}

/// The effect of a record on a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedRecord {
    /// It became a new node.
    Node,
    /// It replaced the record of a node.
    Again,
    /// It completed the tree.
    End,
}

/// A node of a tree.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// The item id of its first record.
    pub id: Id,
    /// Its last record.
    pub record: Record,
    /// The number of its type in the schema.
    pub kind: usize,
    /// Its parent, by number.
    pub parent: Option<usize>,
    /// Its place among its siblings. At the top, it is the place of its first record.
    pub place: u32,
    /// How many nodes are above it; `None` while its parent is missing.
    pub level: Option<u16>,
    /// How often its record was replaced.
    pub updates: u32,
    children: Vec<usize>,
    /// How many places were assigned to children.
    places: u32,
    /// The key of the missing parent.
    waits_for: Option<NodeKey>,
}

impl TreeNode {
    /// A node without a parent or level.
    fn new(id: &Id, place: u32, kind: usize, record: &Record) -> Self {
        Self {
            id: id.clone(),
            record: record.clone(),
            kind,
            parent: None,
            place,
            level: None,
            updates: 0,
            children: Vec::new(),
            places: 0,
            waits_for: None,
        }
    }
}

/// The number of a type, and the id of a node of that type. The empty id means the first node of the type.
type NodeKey = (usize, Box<str>);
/// A map by such keys.
type ByKey<T> = IndexMap<NodeKey, T, FixedState>;

/// A record that was added to a tree.
#[derive(Clone, Debug)]
pub(crate) struct LoggedRecord {
    pub(crate) id: Id,
    pub(crate) place: u32,
    pub(crate) record: Record,
}

impl LoggedRecord {
    pub(crate) fn new(id: &Id, place: u32, record: &Record) -> Self {
        Self { id: id.clone(), place, record: record.clone() }
    }
}

/// A tree of records.
#[derive(Debug, Default)]
pub struct RecordTree {
    schema: Arc<RecordSchema>,
    nodes: Vec<TreeNode>,
    by_key: ByKey<usize>,
    /// The nodes that wait for their parents, by the parent's key.
    waiting: ByKey<Vec<usize>>,
    /// The nodes at the top, in order.
    top: Vec<usize>,
    /// The nodes that changed since [`Self::take_changed`].
    changed: IndexSet<usize>,
    log: Vec<LoggedRecord>,
    bytes: usize,
    /// How many nodes were visited to move nodes to other parents.
    moves: usize,
    is_complete: bool,
}

impl RecordTree {
    /// An empty tree.
    pub fn new(schema: Arc<RecordSchema>) -> Self {
        Self { schema, ..Self::default() }
    }

    /// The schema of its records.
    pub fn schema(&self) -> &Arc<RecordSchema> {
        &self.schema
    }

    /// Whether its end record has come.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether it has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of this number, if it exists.
    pub fn node(&self, number: usize) -> Option<&TreeNode> {
        self.nodes.get(number)
    }

    /// The records that were added, in the order in which they came.
    pub(crate) fn log(&self) -> &[LoggedRecord] {
        &self.log
    }

    /// The numbers of the nodes that have changed since the last call and whose parents have come, parents first.
    pub fn take_changed(&mut self) -> Vec<usize> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed.filter(|number| self.nodes[*number].level.is_some()).collect()
    }

    /// Adds the next record. `id`, `place`: the id of the record's item, and the place of the node if it is at the top.
    pub fn add(&mut self, id: &Id, place: u32, record: &Record) -> Result<PlacedRecord, RecordMisfit> {
        let value = record.root();
        let name = value.get("type").and_then(crate::json::Value::decode).ok_or(RecordMisfit::Foreign)?;
        let schema = Arc::clone(&self.schema);
        if schema.is_end(&name) {
            if self.is_complete || self.nodes.is_empty() {
                return Err(RecordMisfit::Wrong(format!("there is nothing that `{name}` could end")));
            }
            self.is_complete = true;
            self.changed.extend(self.top.first());
            self.log.push(LoggedRecord::new(id, place, record));
            return Ok(PlacedRecord::End);
        }
        let number = schema.type_of(&name).ok_or(RecordMisfit::Foreign)?;
        let kind = &schema.types[number];
        if let Some(flaw) = kind.flaw_of(value) {
            return Err(RecordMisfit::Wrong(flaw));
        }
        if record.text().len() > MAX_RECORD {
            return Err(RecordMisfit::Wrong(format!("it is longer than {} KiB", MAX_RECORD >> 10)));
        }
        if self.nodes.len() >= MAX_NODES || self.bytes + record.text().len() > MAX_BYTES {
            return Err(RecordMisfit::Wrong("the tree is too large for more".to_owned()));
        }
        let is_only = kind.id.is_none() && kind.parent.is_none();
        let key = match kind.id_of(value) {
            Some(own) => Some((number, own.into())),
            None if is_only => Some((number, "".into())),
            None => None,
        };
        let parent = kind.parent_of(value).map(|(kind, id)| {
            (schema.type_of(kind).unwrap_or(number), id.unwrap_or_default().into_boxed_str())
        });
        let known = key.as_ref().and_then(|key| self.by_key.get(key).copied());
        let placed = if let Some(known) = known {
            self.replace(known, place, parent, record)?;
            PlacedRecord::Again
        } else {
            self.insert(TreeNode::new(id, place, number, record), key, parent);
            PlacedRecord::Node
        };
        self.bytes += record.text().len();
        self.log.push(LoggedRecord::new(id, place, record));
        Ok(placed)
    }

    /// Adds the next record to a tree of a single node, which represents all of its records.
    pub(crate) fn add_to_one(&mut self, id: &Id, place: u32, record: &Record) -> PlacedRecord {
        self.log.push(LoggedRecord::new(id, place, record));
        if self.is_empty() {
            self.insert(TreeNode::new(id, place, 0, record), None, None);
            return PlacedRecord::Node;
        }
        self.changed.insert(0);
        PlacedRecord::Again
    }

    fn insert(&mut self, node: TreeNode, key: Option<NodeKey>, parent: Option<NodeKey>) {
        let (new, kind) = (self.nodes.len(), node.kind);
        self.nodes.push(node);
        match parent {
            None => {
                self.top.push(new);
                self.show(new, 0);
            }
            Some(parent) => self.attach(new, parent),
        }
        let Some(key) = key else { return };
        // Records that refer to their parent only by its type are below the first node of that type.
        let of_type = (kind, "".into());
        self.by_key.entry(of_type.clone()).or_insert(new);
        let waiting = self.waiting.swap_remove(&of_type).unwrap_or_default();
        let own =
            if key == of_type { Vec::new() } else { self.waiting.swap_remove(&key).unwrap_or_default() };
        self.by_key.insert(key, new);
        for child in waiting.into_iter().chain(own) {
            self.nodes[child].waits_for = None;
            self.attach_to(child, new);
        }
    }

    /// Replaces the record of a node, and moves the node if it has another parent now.
    fn replace(
        &mut self,
        known: usize,
        place: u32,
        parent: Option<NodeKey>,
        record: &Record,
    ) -> Result<(), RecordMisfit> {
        let now = parent.as_ref().and_then(|key| self.by_key.get(key).copied());
        let node = &self.nodes[known];
        let is_same = match &node.waits_for {
            Some(key) => parent.as_ref() == Some(key),
            None => node.parent == now && (now.is_some() || parent.is_none()),
        };
        let is_shown = |number: usize| self.nodes[number].level.is_some();
        // A shown node stays where it is until its new parent is shown.
        if !is_same && (!is_shown(known) || now.is_some_and(is_shown)) {
            if now.is_some_and(|now| self.is_below(now, known)) {
                return Err(RecordMisfit::Wrong("its parent is below it".to_owned()));
            }
            if self.moves > MAX_MOVES {
                return Err(RecordMisfit::Wrong("too many records went to other parents".to_owned()));
            }
            self.detach(known);
            if let Some(parent) = parent {
                self.attach(known, parent);
            } else {
                // It wasn't shown before, so it comes last.
                self.nodes[known].place = place;
                self.top.push(known);
                self.show(known, 0);
            }
        }
        let node = &mut self.nodes[known];
        node.record = record.clone();
        node.updates = node.updates.saturating_add(1);
        self.changed.insert(known);
        Ok(())
    }

    /// Puts a node below the one with this key, or lets it wait until that comes.
    fn attach(&mut self, child: usize, parent: NodeKey) {
        if let Some(parent) = self.by_key.get(&parent).copied() {
            self.attach_to(child, parent);
        } else {
            self.nodes[child].waits_for = Some(parent.clone());
            self.waiting.entry(parent).or_default().push(child);
        }
    }

    fn attach_to(&mut self, child: usize, parent: usize) {
        // Hostile records may name each other as parents: they wait forever.
        if !self.nodes[child].children.is_empty() && self.is_below(parent, child) {
            return self.wait_forever(child);
        }
        let above = &mut self.nodes[parent];
        let (place, level) = (above.places, above.level);
        above.places += 1;
        above.children.push(child);
        let node = &mut self.nodes[child];
        (node.parent, node.place) = (Some(parent), place);
        if let Some(level) = level {
            self.show(child, level.saturating_add(1));
        }
    }

    fn wait_forever(&mut self, child: usize) {
        let nobody = (usize::MAX, Box::default());
        self.nodes[child].waits_for = Some(nobody.clone());
        self.waiting.entry(nobody).or_default().push(child);
    }

    fn detach(&mut self, node: usize) {
        let TreeNode { parent, waits_for, .. } = &mut self.nodes[node];
        let (parent, key) = (parent.take(), waits_for.take());
        let siblings = match (parent, &key) {
            (Some(parent), _) => Some(&mut self.nodes[parent].children),
            (None, Some(key)) => self.waiting.get_mut(key),
            (None, None) => Some(&mut self.top),
        };
        if let Some(siblings) = siblings {
            self.moves += siblings.len();
            siblings.retain(|sibling| *sibling != node);
        }
    }

    /// Whether a node is `above`, or below it. Assumed if the node has too many ancestors.
    fn is_below(&self, node: usize, above: usize) -> bool {
        let mut at = Some(node);
        for _ in 0..MAX_LEVEL {
            match at {
                None => return false,
                Some(at) if at == above => return true,
                Some(here) => at = self.nodes[here].parent,
            }
        }
        true
    }

    /// Sets the level of a node and of all nodes below it, and marks them as changed.
    fn show(&mut self, node: usize, level: u16) {
        let mut left = vec![(node, level)];
        while let Some((number, level)) = left.pop() {
            let node = &mut self.nodes[number];
            self.changed.insert(number);
            if node.level == Some(level) {
                continue;
            }
            self.moves += usize::from(node.level.is_some());
            node.level = Some(level);
            left.extend(node.children.iter().rev().map(|child| (*child, level.saturating_add(1))));
        }
    }

    /// The numbers of the nodes in tree order, parents first, each with its level. Nodes whose parents never came are at the end, at
    /// level 0.
    pub fn walk(&self) -> impl Iterator<Item = (usize, u16)> {
        let mut waiting: Vec<usize> = self.waiting.values().flatten().copied().collect();
        waiting.sort_unstable();
        let mut left: Vec<(usize, u16)> =
            self.top.iter().chain(&waiting).rev().map(|node| (*node, 0)).collect();
        std::iter::from_fn(move || {
            let (node, level) = left.pop()?;
            left.extend(
                self.nodes[node].children.iter().rev().map(|child| (*child, level.saturating_add(1))),
            );
            Some((node, level))
        })
    }

    /// How many nodes have a parent that never came. The nodes below them aren't counted.
    pub fn orphans(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }

    /// The last node added, with up to `before` nodes before it and `behind` nodes after it in tree order. Also returns whether there are
    /// other nodes before and after these.
    pub fn around_last(&self, before: usize, behind: usize) -> (Vec<usize>, bool, bool) {
        let last = self.nodes.len().checked_sub(1);
        let shown = |number: &usize| self.nodes[*number].level.is_some();
        let Some(last) = last.filter(shown).or_else(|| self.top.last().copied()) else {
            return (Vec::new(), false, false);
        };
        let mut found = VecDeque::from([last]);
        let mut at = last;
        while let Some(previous) = self.previous(at).filter(|_| found.len() <= before) {
            found.push_front(previous);
            at = previous;
        }
        let has_before = self.previous(at).is_some();
        let mut at = last;
        for _ in 0..behind {
            let Some(next) = self.following(at) else { break };
            found.push_back(next);
            at = next;
        }
        let has_behind = self.following(at).is_some();
        (found.into(), has_before, has_behind)
    }

    /// The siblings of a node, and its index among them.
    fn siblings(&self, node: usize) -> (&[usize], usize) {
        let siblings = self.nodes[node].parent.map_or(&self.top, |parent| &self.nodes[parent].children);
        // The places of nodes that moved away stay free, so the index may be lower than the place.
        let place = self.nodes[node].place as usize;
        let at = siblings.partition_point(|sibling| (self.nodes[*sibling].place as usize) < place);
        (siblings, at)
    }

    /// The node before one in tree order.
    fn previous(&self, node: usize) -> Option<usize> {
        let (siblings, at) = self.siblings(node);
        let Some(before) = at.checked_sub(1) else { return self.nodes[node].parent };
        let mut last = *siblings.get(before)?;
        while let Some(child) = self.nodes[last].children.last() {
            last = *child;
        }
        Some(last)
    }

    /// The node after one in tree order.
    fn following(&self, node: usize) -> Option<usize> {
        if let Some(child) = self.nodes[node].children.first() {
            return Some(*child);
        }
        let mut node = node;
        loop {
            let (siblings, at) = self.siblings(node);
            if let Some(next) = siblings.get(at + 1) {
                return Some(*next);
            }
            node = self.nodes[node].parent?;
        }
    }

    /// The whole tree as JSON: a list of the nodes at the top. Each node is an object with its `record`, and `children` if it has any.
    pub fn json(&self) -> String {
        let mut out = String::from("[");
        let mut open: Vec<usize> = Vec::new();
        for (number, _) in self.walk() {
            let node = &self.nodes[number];
            // Close the open nodes that this one isn't below.
            let mut is_first = out.ends_with('[');
            while let Some(last) = open.last().copied().filter(|last| node.parent != Some(*last)) {
                out.push_str(if self.nodes[last].children.is_empty() { "}" } else { "]}" });
                open.pop();
                is_first = false;
            }
            if !is_first {
                out.push(',');
            }
            out.push_str("{\"record\":");
            out.push_str(node.record.text());
            if !node.children.is_empty() {
                out.push_str(",\"children\":[");
            }
            open.push(number);
        }
        while let Some(last) = open.pop() {
            out.push_str(if self.nodes[last].children.is_empty() { "}" } else { "]}" });
        }
        out.push(']');
        out
    }
}
