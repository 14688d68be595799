//! A tree that grows record by record.

use std::iter::successors;
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use crate::item::Id;
use crate::json::{Record, Value};

use super::schema::RecordSchema;

/// The most nodes of a tree.
pub(super) const MAX_NODES: usize = 250_000;
/// The most bytes of all its records.
pub(super) const MAX_BYTES: usize = 64 << 20;
/// The longest record that becomes a node, in bytes.
pub const MAX_RECORD: usize = 1 << 20;
/// The most nodes on a path that is searched for a cycle.
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

/// What became of a record.
pub type Placement = Result<PlacedRecord, RecordMisfit>;

/// A node of a tree.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// The item id of its first record.
    pub id: Id,
    /// Its last record.
    pub record: Record,
    /// The number of its type in the schema.
    pub kind: usize,
    /// Its place among its siblings. At the top, it is the place of its first record.
    pub place: u32,
    /// How many nodes are above it; `None` while its parent is missing.
    pub level: Option<u16>,
    /// How often its record was replaced.
    pub updates: u32,
    parent: NodeParent,
    children: Vec<usize>,
    /// How many places were assigned to children.
    places: u32,
}

impl TreeNode {
    /// A node at the top that has no level yet.
    fn new(id: &Id, place: u32, kind: usize, record: &Record) -> Self {
        Self {
            id: id.clone(),
            record: record.clone(),
            kind,
            place,
            level: None,
            updates: 0,
            parent: NodeParent::None,
            children: Vec::new(),
            places: 0,
        }
    }

    /// Its parent, by number; `None` if it is at the top or its parent is missing.
    pub fn parent(&self) -> Option<usize> {
        if let NodeParent::Node(parent) = self.parent { Some(parent) } else { None }
    }
}

/// The parent of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum NodeParent {
    /// None: the node is at the top.
    #[default]
    None,
    /// The node of this number.
    Node(usize),
    /// The node that will have this key, if it ever comes.
    Missing(NodeKey),
}

/// The number of a type, and the id of a node of that type. The empty id means the first node of the type.
type NodeKey = (usize, Box<str>);
/// A map by such keys.
type ByKey<T> = IndexMap<NodeKey, T, FixedState>;

/// How large a tree may become.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeLimits {
    pub(super) nodes: usize,
    /// The bytes of all records, including those that were replaced.
    pub(super) bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { nodes: MAX_NODES, bytes: MAX_BYTES }
    }
}

/// A tree of records.
#[derive(Debug, Default)]
pub struct RecordTree {
    limits: TreeLimits,
    schema: Arc<RecordSchema>,
    nodes: Vec<TreeNode>,
    by_key: ByKey<usize>,
    /// The nodes that wait for their parents, by the parent's key.
    waiting: ByKey<Vec<usize>>,
    /// The nodes at the top, in order.
    top: Vec<usize>,
    /// The nodes that changed since [`Self::take_changed`].
    changed: IndexSet<usize>,
    bytes: usize,
    /// How many nodes were visited to move nodes to other parents.
    moves: usize,
    is_complete: bool,
}

impl RecordTree {
    /// An empty tree.
    pub fn new(schema: Arc<RecordSchema>) -> Self {
        Self::within(TreeLimits::default(), schema)
    }

    /// An empty tree with these limits.
    pub(super) fn within(limits: TreeLimits, schema: Arc<RecordSchema>) -> Self {
        Self { limits, schema, ..Self::default() }
    }

    /// The schema of its records.
    pub fn schema(&self) -> &Arc<RecordSchema> {
        &self.schema
    }

    /// Whether its end record has come.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The node of this number, if it exists.
    pub fn node(&self, number: usize) -> Option<&TreeNode> {
        self.nodes.get(number)
    }

    /// The number of the node that came last.
    pub fn last_node(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Marks a node as changed.
    pub fn touch(&mut self, number: usize) {
        self.changed.insert(number);
    }

    /// The numbers of the nodes that have changed since the last call and whose parents have come, parents first, each with its level.
    pub fn take_changed(&mut self) -> Vec<(usize, u16)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed.filter_map(|number| Some((number, self.nodes[number].level?))).collect()
    }

    /// Adds the next record. `id`, `place`: the id of the record's item, and the place of the node if it is at the top.
    pub fn add(&mut self, id: &Id, place: u32, record: &Record) -> Placement {
        let value = record.root();
        let name = value.get("type").and_then(Value::decode).ok_or(RecordMisfit::Foreign)?;
        let schema = Arc::clone(&self.schema);
        if schema.is_end(&name) {
            if self.is_complete || self.nodes.is_empty() {
                return Err(RecordMisfit::Wrong(format!("there is nothing that `{name}` could end")));
            }
            self.is_complete = true;
            self.changed.extend(self.top.first());
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
        if self.nodes.len() >= self.limits.nodes || self.bytes + record.text().len() > self.limits.bytes {
            return Err(RecordMisfit::Wrong("the tree is too large for more".to_owned()));
        }
        let is_only = kind.id.is_none() && kind.parent.is_none();
        let own = kind.id_of(value).or_else(|| is_only.then(String::new));
        let key = own.map(|own| (number, own.into_boxed_str()));
        let parent = kind.parent_of(value).map_or(NodeParent::None, |(kind, id)| {
            let key = (schema.type_of(kind).unwrap_or(number), id.unwrap_or_default().into_boxed_str());
            self.by_key.get(&key).copied().map_or_else(|| NodeParent::Missing(key), NodeParent::Node)
        });
        let known = key.as_ref().and_then(|key| self.by_key.get(key).copied());
        let node = TreeNode::new(id, place, number, record);
        let placed = if let Some(known) = known {
            self.replace(known, node, parent)?;
            PlacedRecord::Again
        } else {
            self.insert(node, key, parent);
            PlacedRecord::Node
        };
        self.bytes += record.text().len();
        Ok(placed)
    }

    /// Adds the next record to a tree of a single node, which represents all of its records.
    pub(crate) fn add_to_one(&mut self, id: &Id, place: u32, record: &Record) -> PlacedRecord {
        if self.nodes.is_empty() {
            self.insert(TreeNode::new(id, place, 0, record), None, NodeParent::None);
            return PlacedRecord::Node;
        }
        self.changed.insert(0);
        PlacedRecord::Again
    }

    fn insert(&mut self, node: TreeNode, key: Option<NodeKey>, parent: NodeParent) {
        let (new, kind) = (self.nodes.len(), node.kind);
        self.nodes.push(node);
        self.attach(new, parent);
        let Some(key) = key else { return };
        // Records that refer to their parent only by its type are below the first node of that type.
        let of_type = (kind, "".into());
        let children = [&of_type, &key].map(|key| self.waiting.swap_remove(key).unwrap_or_default());
        self.by_key.entry(of_type).or_insert(new);
        self.by_key.insert(key, new);
        for child in children.into_iter().flatten() {
            self.attach(child, NodeParent::Node(new));
        }
    }

    /// Replaces the record of a node by that of a new one, and moves the node if it has another parent now.
    fn replace(&mut self, known: usize, new: TreeNode, parent: NodeParent) -> Result<(), RecordMisfit> {
        let above = if let NodeParent::Node(above) = parent { Some(above) } else { None };
        let is_shown = |number: usize| self.nodes[number].level.is_some();
        // A shown node stays where it is until its new parent is shown.
        let may_move = !is_shown(known) || above.is_some_and(is_shown);
        if may_move && self.nodes[known].parent != parent {
            if above.is_some_and(|above| self.is_below(above, known)) {
                return Err(RecordMisfit::Wrong("its parent is below it".to_owned()));
            }
            if self.moves > MAX_MOVES {
                return Err(RecordMisfit::Wrong("too many records went to other parents".to_owned()));
            }
            self.detach(known);
            if parent == NodeParent::None {
                // It wasn't shown before, so it comes last.
                self.nodes[known].place = new.place;
            }
            self.attach(known, parent);
        }
        let node = &mut self.nodes[known];
        node.record = new.record;
        node.updates = node.updates.saturating_add(1);
        self.changed.insert(known);
        Ok(())
    }

    /// Puts a node below its parent, or lets it wait until that comes.
    fn attach(&mut self, child: usize, mut parent: NodeParent) {
        // Hostile records may name each other as parents: they wait forever.
        if let NodeParent::Node(above) = parent
            && !self.nodes[child].children.is_empty()
            && self.is_below(above, child)
        {
            parent = NodeParent::Missing((usize::MAX, Box::default()));
        }
        self.siblings_below(&parent).push(child);
        let level = match parent {
            NodeParent::None => Some(0),
            NodeParent::Node(above) => {
                let above = &mut self.nodes[above];
                let (place, level) = (above.places, above.level);
                above.places += 1;
                self.nodes[child].place = place;
                level.map(|level| level.saturating_add(1))
            }
            NodeParent::Missing(_) => None,
        };
        self.nodes[child].parent = parent;
        if let Some(level) = level {
            self.show(child, level);
        }
    }

    fn detach(&mut self, node: usize) {
        let parent = std::mem::take(&mut self.nodes[node].parent);
        let siblings = self.siblings_below(&parent);
        let count = siblings.len();
        siblings.retain(|sibling| *sibling != node);
        self.moves += count;
    }

    /// The nodes with this parent.
    fn siblings_below(&mut self, parent: &NodeParent) -> &mut Vec<usize> {
        match parent {
            NodeParent::None => &mut self.top,
            NodeParent::Node(above) => &mut self.nodes[*above].children,
            NodeParent::Missing(key) => self.waiting.entry(key.clone()).or_default(),
        }
    }

    /// Whether a node is `above`, or below it. Assumed if the node has too many ancestors.
    fn is_below(&self, node: usize, above: usize) -> bool {
        let mut from_node = successors(Some(node), |at| self.nodes[*at].parent());
        from_node.by_ref().take(MAX_LEVEL - 1).any(|at| at == above) || from_node.next().is_some()
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
        let roots = self.top.iter().copied().chain(self.lost());
        let mut left: Vec<(usize, u16)> = roots.map(|node| (node, 0)).collect();
        left.reverse();
        std::iter::from_fn(move || {
            let (node, level) = left.pop()?;
            let children = self.nodes[node].children.iter().rev();
            left.extend(children.map(|child| (*child, level.saturating_add(1))));
            Some((node, level))
        })
    }

    /// The nodes that wait for their parents, in the order in which they came.
    fn lost(&self) -> impl Iterator<Item = usize> {
        let is_lost = |node: &TreeNode| matches!(node.parent, NodeParent::Missing(_));
        (0..).zip(&self.nodes).filter(move |(_, node)| is_lost(node)).map(|(number, _)| number)
    }

    /// How many nodes have a parent that never came. The nodes below them aren't counted.
    pub fn orphans(&self) -> usize {
        self.lost().count()
    }

    /// The nodes that a preview shows, in tree order, each with whether nodes after it are left out: the last node added, up to `before`
    /// nodes before it and `behind` after it, and the first node of all.
    pub fn around_last(&self, before: usize, behind: usize) -> Vec<(usize, bool)> {
        let last = self.nodes.len().checked_sub(1).filter(|last| self.nodes[*last].level.is_some());
        let Some(last) = last.or_else(|| self.top.last().copied()) else { return Vec::new() };
        let mut up = successors(Some(last), |at| self.previous(*at));
        let mut down = successors(self.following(last), |at| self.following(*at));
        let mut shown: Vec<usize> = up.by_ref().take(before + 1).collect();
        shown.reverse();
        shown.extend(down.by_ref().take(behind));
        let root = up.next().map(|_| (0, true)).filter(|(root, _)| !shown.contains(root));
        let end = shown.pop().map(|end| (end, down.next().is_some()));
        root.into_iter().chain(shown.into_iter().map(|node| (node, false))).chain(end).collect()
    }

    /// The siblings of a node, and its index among them.
    fn siblings(&self, node: usize) -> (&[usize], usize) {
        let siblings = self.nodes[node].parent().map_or(&self.top, |parent| &self.nodes[parent].children);
        // The places of nodes that moved away stay free, so the index may be lower than the place.
        let place = self.nodes[node].place as usize;
        let at = siblings.partition_point(|sibling| (self.nodes[*sibling].place as usize) < place);
        (siblings, at)
    }

    /// The node before one in tree order.
    fn previous(&self, node: usize) -> Option<usize> {
        let (siblings, at) = self.siblings(node);
        let Some(before) = at.checked_sub(1) else { return self.nodes[node].parent() };
        successors(siblings.get(before).copied(), |at| self.nodes[*at].children.last().copied()).last()
    }

    /// The node after one in tree order.
    fn following(&self, node: usize) -> Option<usize> {
        let next_sibling = |node| {
            let (siblings, at) = self.siblings(node);
            siblings.get(at + 1).copied()
        };
        let mut with_ancestors = successors(Some(node), |at| self.nodes[*at].parent());
        self.nodes[node].children.first().copied().or_else(|| with_ancestors.find_map(next_sibling))
    }

    /// The whole tree as JSON: a list of the nodes at the top. Each node is an object with its `record`, and `children` if it has any.
    pub fn json(&self) -> String {
        let mut out = String::from("[");
        // The nodes that aren't closed yet, each with what closes it.
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (number, _) in self.walk() {
            let node = &self.nodes[number];
            while let Some((_, end)) = open.pop_if(|(last, _)| node.parent() != Some(*last)) {
                out.push_str(end);
            }
            if !out.ends_with('[') {
                out.push(',');
            }
            out.push_str("{\"record\":");
            out.push_str(node.record.text());
            if node.children.is_empty() {
                open.push((number, "}"));
            } else {
                out.push_str(",\"children\":[");
                open.push((number, "]}"));
            }
        }
        out.extend(open.into_iter().rev().map(|(_, end)| end));
        out.push(']');
        out
    }
}
