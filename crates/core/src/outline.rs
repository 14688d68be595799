//! Turns entries into a document: which result belongs to which call, which entries are inside of which sub-agent, and which
//! replies are the answer.
//!
//! ```text
//! entries ─────▶ pairs ─────▶ answer ──────────▶ nests ───────────▶ notices ─▶ parts ─▶ writer
//! in the order   a result     the reply that is  a sub-agent's      runs of
//! of completion  under its    the answer, once   entries, inside    notices
//!                call         the turn has ended of its call
//! ```
//!
//! A sink that can change what it shows folds updates into a [`Document`] instead.
//!
//! Each stage may be off. Without pairing, every entry is passed on at once, in the order of completion: a result that
//! doesn't directly follow its call names it. With pairing, a call waits for its result, within a limit of entries and
//! bytes, never of time: the same input results in the same document however it arrives.

mod agents;
mod answer;
mod changes;
mod document;
mod group;
mod head;
mod headline;
mod pairs;
mod tail;

use std::slice;
use std::sync::Arc;

use crate::bounded::Bounded;
use crate::entry::{Entry, Line};
use crate::item::{Action, Id, Kind, TurnStep};

pub use self::agents::Subagent;
pub(crate) use self::changes::Changes;
pub use self::document::{Document, EntryChange, Update};
pub use self::group::Group;
pub use self::head::DocumentHead;
pub(crate) use self::headline::{heading, one_line};
pub use self::headline::{headline, is_heading, unmarked};

use self::agents::AgentNumbers;
use self::answer::HeldReplies;
use self::pairs::Pairing;
use self::tail::DocumentTail;

/// How many calls that started sub-agents are remembered.
const MAX_STARTS: usize = 256;
/// The deepest nest: sub-agents at greater depths are put into it.
const MAX_NESTS: usize = 8;

/// One part of a document, in document order.
#[derive(Clone, Debug)]
pub enum DocumentPart {
    /// A single entry, possibly with its result.
    Node(Node),
    /// The beginning of a nest: the parts up to the matching [`DocumentPart::Leave`] are inside of a call.
    Enter(Nest),
    /// The end of the innermost nest.
    Leave,
    /// Several notices in a row.
    Notices(Vec<Node>),
    /// The answer of a turn, the outcome, and notices between and after them.
    Answer(Answer),
}

impl DocumentPart {
    /// Its nodes, without copies of nodes of earlier parts.
    pub fn into_nodes(self) -> Vec<Node> {
        match self {
            Self::Node(node) => vec![node],
            Self::Enter(nest) => nest.node.into_iter().map(|node| *node).collect(),
            Self::Leave => Vec::new(),
            Self::Notices(nodes) | Self::Answer(Answer { nodes, .. }) => nodes,
        }
    }

    /// Its nodes.
    pub(crate) fn nodes_mut(&mut self) -> &mut [Node] {
        match self {
            Self::Node(node) => slice::from_mut(node),
            Self::Enter(nest) => nest.node.as_deref_mut().map(slice::from_mut).unwrap_or_default(),
            Self::Leave => &mut [],
            Self::Notices(nodes) | Self::Answer(Answer { nodes, .. }) => nodes,
        }
    }

    /// Copies of nodes of earlier parts.
    pub(crate) fn copies_mut(&mut self) -> &mut [Node] {
        if let Self::Answer(Answer { before, .. }) = self { before } else { &mut [] }
    }
}

/// An entry in a document.
#[derive(Clone, Debug)]
pub struct Node {
    /// The entry. Boxed, because it is large and is moved often on its way to the writer.
    pub entry: Box<Entry>,
    /// The result, on a call that waited for it.
    pub result: Option<Box<Entry>>,
    /// The revision ([`crate::pipeline::Pipeline::revision`]) at which it was last changed: its entry came, or its result.
    pub revision: u64,
    /// How it relates to the node before it.
    pub relation: Relation,
    /// The sub-agent that it is inside of; only for writers that want agents.
    pub agent: Option<Arc<Subagent>>,
    /// The sub-agent that it starts, or whose result it is; only for writers that want agents.
    pub starts: Option<Arc<Subagent>>,
}

/// How a node relates to the node before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    /// It needs no call to be named: it is inside of none, or its call is clear from the node before it.
    #[default]
    Own,
    /// It is a result, and the node before it is its call.
    Below,
    /// It is a result, or inside of a call, and that call isn't right before it. Contains the title of the call.
    Apart(Line),
}

/// The beginning of a nest: the entries inside of a call.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The id of the call.
    pub call: Option<Id>,
    /// The title of the call, if it is known.
    pub title: Option<Line>,
    /// The node of the call, if the nest directly follows it; then the call isn't a separate part. If the node has its result, the nest
    /// is complete.
    pub node: Option<Box<Node>>,
}

/// The answer of a turn.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer, if other work came after it: copies of nodes that were parts before. Then there are no replies in `nodes`.
    pub before: Vec<Node>,
    /// Replies, the outcome, and notices among them, in order. If runs of notices are parts, those of the last answer are moved
    /// before it.
    pub nodes: Vec<Node>,
    /// How many outcomes the document has so far, including that of this answer.
    pub turn: usize,
    /// Whether it is the last part of the document.
    pub is_last: bool,
}

impl<E: Into<Box<Entry>>> From<E> for Node {
    /// A node without a result or a sub-agent.
    fn from(entry: E) -> Self {
        let entry = entry.into();
        Self { entry, result: None, revision: 0, relation: Relation::Own, agent: None, starts: None }
    }
}

impl Node {
    /// The entry, and its result if it has one.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        [Some(&*self.entry), self.result.as_deref()].into_iter().flatten()
    }

    /// Whether it is a reply, an outcome, a node of a tree of records, or totals, rather than something in between.
    pub fn is_of_answer(&self) -> bool {
        matches!(self.entry.kind, Kind::Reply | Kind::Outcome)
            || self.entry.is_in_tree()
            || self.entry.view.is_totals()
    }
}

/// The stages of an outline, as the writer and the profile want them.
#[expect(clippy::struct_excessive_bools, reason = "each is a stage that is there or not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutlineOptions {
    /// Whether calls wait for their results.
    pub pairs: bool,
    /// Whether the entries of sub-agents are nested.
    pub nests: bool,
    /// Whether the answer is a separate part.
    pub answer: bool,
    /// Whether every result names its call, even right below it.
    pub names: bool,
    /// Whether replies that aren't part of an answer are left out.
    pub only_answer: bool,
    /// Whether sub-agents are numbered; then entries inside of one don't name its call.
    pub agents: bool,
    /// Whether several notices in a row are one part.
    pub notices: bool,
}

impl OutlineOptions {
    /// Whether all entries of a sub-agent are gathered in one nest, which waits for the result of its call.
    fn gathers(self) -> bool {
        self.pairs && self.nests
    }
}

/// Returns the title of a call, if it is still known.
pub type TitleOf<'a> = &'a mut dyn FnMut(&Id) -> Option<Line>;

/// Turns entries into the parts of a document, as they come.
#[derive(Debug, Default)]
pub struct Outline {
    pairs: Pairing,
    end: NodePlacement,
    /// The current revision.
    revision: u64,
}

/// The stages after pairing: relates each node to those before it, holds back the answer, nests, and joins notices.
#[derive(Clone, Debug, Default)]
struct NodePlacement {
    options: OutlineOptions,
    /// The last node, if it was a call whose result may come right below it.
    last: Option<Id>,
    /// The call that the last node was inside of.
    last_parent: Option<Id>,
    /// The calls of the open nests.
    inside: Vec<Id>,
    /// The last calls that started sub-agents.
    starts: Bounded<Id, SubagentStart>,
    agents: AgentNumbers,
    replies: HeldReplies,
    tail: DocumentTail,
    /// Outcomes so far.
    turns: usize,
    /// Whether turns end with an outcome: the input is a stream, not a history.
    awaits_outcome: bool,
    /// The kinds of the items that were left out since [`Outline::take_left_out`].
    left_out: Vec<Kind>,
}

/// Which of the nodes that are held back are emitted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    /// All of them.
    All,
    /// All of them. The replies may be the answer.
    Copied,
    /// All but the replies, which are held back further.
    AllButReplies,
    /// All but the replies, which are left out, because they aren't the answer.
    Others,
}

/// A call that started a sub-agent.
#[derive(Clone, Debug)]
struct SubagentStart {
    /// The call that it is inside of.
    parent: Option<Id>,
    title: Line,
}

impl Outline {
    /// An outline without entries.
    pub fn new(options: OutlineOptions) -> Self {
        let end = NodePlacement { options, ..NodePlacement::default() };
        Self { pairs: Pairing::new(options), end, revision: 0 }
    }

    /// Adds the next entry, in the order of completion, and appends the parts that it completes to `parts`.
    pub fn push(
        &mut self,
        entry: impl Into<Box<Entry>>,
        title_of: TitleOf<'_>,
        parts: &mut Vec<DocumentPart>,
    ) {
        let (Self { pairs, end, revision }, mut entry) = (self, entry.into());
        if end.options.only_answer
            && entry.kind == Kind::Call
            && let Some(answer) = entry.answer.take()
        {
            entry = answer;
        }
        let mut node = Node { revision: *revision, ..Node::from(entry) };
        // When the result is emitted, its call may be forgotten.
        let call = node.entry.call.as_ref().filter(|_| pairs.is_apart_from_call(&node.entry));
        if let Some(title) = call.and_then(&mut *title_of) {
            node.relation = Relation::Apart(title);
        }
        pairs.push(node, &mut |node| end.node(node, title_of, parts));
    }

    /// Adds an entry that may come between a call and its result without separating them: of a plugin, which belongs to no item, or a
    /// notice that the call waits.
    pub fn push_aside(
        &mut self,
        entry: impl Into<Box<Entry>>,
        title_of: TitleOf<'_>,
        parts: &mut Vec<DocumentPart>,
    ) {
        if self.end.options.pairs {
            self.push(entry, title_of, parts);
        } else {
            self.end.place(Node { revision: self.revision, ..Node::from(entry) }, parts);
        }
    }

    /// The nodes that aren't final: the entries that wait, followed by entries that still grow.
    pub fn open_nodes(
        &self,
        growing: impl IntoIterator<Item = Box<Entry>>,
        title_of: TitleOf<'_>,
    ) -> Vec<Node> {
        let mut end = self.end.clone();
        let mut parts = Vec::new();
        let waiting = self.pairs.waiting().into_iter().cloned();
        let growing = growing.into_iter().map(|entry| Node { revision: self.revision, ..Node::from(entry) });
        for node in waiting.chain(growing) {
            end.node(node, title_of, &mut parts);
        }
        end.release(Release::All, &mut parts);
        end.finish(&mut parts);
        parts.into_iter().flat_map(DocumentPart::into_nodes).collect()
    }

    /// Sets whether turns end with an outcome: in a stream, not in a history.
    pub fn await_outcomes(&mut self, awaits: bool) {
        self.end.awaits_outcome = awaits;
    }

    /// Sets the revision of the entries that are added from now on.
    pub fn set_revision(&mut self, revision: u64) {
        self.revision = revision;
    }

    /// Notes that the input has ended within a turn, which therefore has no answer.
    pub fn cut_off(&mut self, parts: &mut Vec<DocumentPart>) {
        if !self.end.replies.has_outcome() {
            self.end.take_step(TurnStep::Stop, parts);
        }
    }

    /// Notes a hidden item of the main thread: it may end a turn, or set replies apart.
    pub fn pass_over(&mut self, step: TurnStep, parts: &mut Vec<DocumentPart>) {
        let end = &mut self.end;
        if end.options.answer || end.options.only_answer {
            end.take_step(step, parts);
            match step {
                TurnStep::End { .. } if end.options.only_answer => end.answer(false, parts),
                TurnStep::End { .. } => end.replies.set_apart(),
                _ => {}
            }
        }
    }

    /// Returns the kinds of the items that were left out since the last call.
    pub fn take_left_out(&mut self) -> Vec<Kind> {
        std::mem::take(&mut self.end.left_out)
    }

    /// The sub-agent that a call started, if it has appeared and the writer wants agents.
    pub fn agent(&self, call: &Id) -> Option<Arc<Subagent>> {
        self.end.agents.of(call)
    }

    /// Ends the document: appends everything that waits to `parts`.
    pub fn end(&mut self, title_of: TitleOf<'_>, parts: &mut Vec<DocumentPart>) {
        let Self { pairs, end, .. } = self;
        pairs.end(&mut |node| end.node(node, title_of, parts));
        end.finish(parts);
    }
}

impl NodePlacement {
    /// Adds the next node, in document order.
    fn node(&mut self, mut node: Node, title_of: TitleOf<'_>, parts: &mut Vec<DocumentPart>) {
        let entry = &node.entry;
        let is_numbered = self.options.agents && entry.in_agent;
        match (&entry.call, &entry.parent) {
            (Some(call), _) if self.last.as_ref() == Some(call) && !self.options.names => {
                node.relation = Relation::Below;
            }
            (Some(call), _) if node.relation == Relation::Own => {
                node.relation = Relation::Apart(title_or_id("result of", call, title_of));
            }
            (None, Some(parent)) if entry.kind != Kind::Result && !is_numbered && entry.level == 0 => {
                let waiting = self.tail.call().map(|call| &call.id);
                if ![self.last.as_ref(), self.last_parent.as_ref(), waiting].contains(&Some(parent)) {
                    node.relation = Relation::Apart(title_or_id("inside of", parent, title_of));
                }
            }
            _ => {}
        }
        self.last = (entry.kind == Kind::Call && node.result.is_none()).then(|| entry.id.clone());
        self.last_parent.clone_from(&entry.parent);
        if self.options.agents {
            node.agent = self.agents.around(entry, title_of);
            node.starts = self.agents.started_by(entry);
        }
        self.place(node, parts);
    }

    /// Holds a node back while it may be part of the answer.
    fn place(&mut self, mut node: Node, parts: &mut Vec<DocumentPart>) {
        let OutlineOptions { answer, only_answer, .. } = self.options;
        if !answer && !only_answer {
            return self.nest(node, parts);
        }
        let contained = node.entry.answer.take().map(Node::from);
        let is_outcome = node.entry.kind == Kind::Outcome;
        if let Some(reply) = contained.clone().filter(|_| is_outcome) {
            self.place(reply, parts);
        }
        if self.replies.has_outcome() && !self.replies.admits(&node.entry) {
            self.answer(false, parts);
        }
        if let Some(claim) = answer::claim(&node)
            && !self.replies.is_continued_by(&node.entry, claim)
        {
            if only_answer && self.replies.claim() > Some(claim) {
                return self.leave_out(&node);
            }
            self.release(if only_answer { Release::Others } else { Release::Copied }, parts);
        }
        if node.entry.depth == 0 {
            self.take_step(node.entry.step, parts);
        }
        if !self.replies.admits(&node.entry) && !self.replies.is_empty() {
            let is_part = answer::claim(&node).is_some();
            match (only_answer, self.replies.has_room(&node.entry)) {
                (true, true) => {}
                // The replies stay, and those that belong to them aren't left out.
                (true, false) => {
                    self.release(if is_part { Release::All } else { Release::AllButReplies }, parts);
                }
                (false, _) => self.release(Release::Copied, parts),
            }
        }
        if self.replies.admits(&node.entry) || only_answer && !self.replies.is_empty() {
            self.replies.push(node);
        } else {
            let is_failed = node.result.as_deref().is_some_and(Entry::is_failed);
            self.nest(node, parts);
            if let Some(reply) = contained.filter(|_| !is_outcome && !is_failed) {
                self.replies.note_emitted(reply);
            }
        }
        if is_outcome && !answer {
            self.answer(false, parts);
        }
    }

    /// Applies what an item of the main thread means for the answer.
    fn take_step(&mut self, step: TurnStep, parts: &mut Vec<DocumentPart>) {
        let only_answer = self.options.only_answer;
        match step {
            TurnStep::Prompt if !self.awaits_outcome => self.answer(false, parts),
            TurnStep::Stop | TurnStep::End { is_failed: true } => {
                self.release(if only_answer { Release::Others } else { Release::All }, parts);
                self.replies.take_emitted();
            }
            TurnStep::Refused => {
                if let Some(refused) = self.replies.refuse() {
                    self.leave_out(&refused);
                }
                self.replies.set_apart();
            }
            TurnStep::Work | TurnStep::Prompt if only_answer => self.replies.set_apart(),
            _ => {}
        }
    }

    /// Emits the nodes that were held back, as the answer of a turn: as one part if the options say so.
    fn answer(&mut self, is_last: bool, parts: &mut Vec<DocumentPart>) {
        let OutlineOptions { answer, notices, .. } = self.options;
        if !answer {
            return self.release(Release::All, parts);
        }
        let is_outranked = self.replies.is_outranked();
        let before = self.replies.take_emitted();
        let before = if is_outranked { before } else { Vec::new() };
        let nodes = self.replies.take();
        if nodes.is_empty() && before.is_empty() {
            return;
        }
        self.unnest(0, parts);
        let is_apart = |node: &Node| match node.entry.kind {
            Kind::Outcome | Kind::Unknown => false,
            Kind::Notice => is_last && notices && !node.entry.view.is_totals(),
            _ => is_outranked || answer::claim(node).is_none(),
        };
        let (others, nodes): (Vec<_>, Vec<_>) = nodes.into_iter().partition(is_apart);
        for node in others {
            self.nest(node, parts);
        }
        self.unnest(0, parts);
        self.turns += nodes.iter().filter(|node| node.entry.kind == Kind::Outcome).count();
        self.part(DocumentPart::Answer(Answer { before, nodes, turn: self.turns, is_last }), parts);
    }

    /// Emits the nodes that were held back, one by one.
    fn release(&mut self, what: Release, parts: &mut Vec<DocumentPart>) {
        let nodes = if what == Release::Copied { self.replies.take_to_emit() } else { self.replies.take() };
        for node in nodes {
            match what {
                Release::Others if node.entry.kind == Kind::Reply && answer::claim(&node).is_some() => {
                    self.leave_out(&node);
                }
                Release::AllButReplies if answer::claim(&node).is_some() => self.replies.push(node),
                _ => self.nest(node, parts),
            }
        }
    }

    /// Counts a reply that a document of answers alone leaves out, or the call that contains it.
    fn leave_out(&mut self, node: &Node) {
        self.left_out.push(if answer::is_of_call(&node.entry) { Kind::Call } else { node.entry.kind });
    }

    /// Emits a node in its nest: enters and leaves nests as necessary.
    fn nest(&mut self, node: Node, parts: &mut Vec<DocumentPart>) {
        if self.options.nests {
            self.enter(&node, parts);
        }
        self.part(DocumentPart::Node(node), parts);
    }

    /// Emits a part, or holds it back if the next one may join it.
    fn part(&mut self, part: DocumentPart, parts: &mut Vec<DocumentPart>) {
        let options = self.options;
        match part {
            DocumentPart::Node(node)
                if options.gathers() && node.entry.kind == Kind::Call
                    || options.notices && tail::is_plain_notice(&node.entry) =>
            {
                self.tail.push(node, parts);
            }
            part => {
                self.tail.release(parts);
                parts.push(part);
            }
        }
    }

    fn enter(&mut self, node: &Node, parts: &mut Vec<DocumentPart>) {
        let entry = &node.entry;
        let depth = depth(entry);
        let is_inside = depth == 0 || self.inside.last() == entry.parent.as_ref();
        if !(is_inside && self.inside.len() == depth) {
            let path = self.path(entry);
            let same = path.iter().zip(&self.inside).take_while(|(one, other)| one == other).count();
            self.unnest(same, parts);
            for call in path.into_iter().skip(same) {
                let started = self.tail.take_call_of(entry);
                let title = match (self.starts.get(&call), &node.relation) {
                    (Some(start), _) => Some(start.title.clone()),
                    (None, Relation::Apart(title)) if entry.kind != Kind::Result => Some(title.clone()),
                    _ => started.as_ref().map(|start| start.entry.view.title.clone()),
                };
                self.inside.push(call.clone());
                let nest = Nest { call: Some(call), title, node: started.map(Box::new) };
                self.part(DocumentPart::Enter(nest), parts);
            }
        }
        if entry.kind == Kind::Call && entry.action == Some(Action::Delegate) {
            let start = SubagentStart { parent: entry.parent.clone(), title: entry.view.title.clone() };
            if !self.starts.contains_key(&entry.id) {
                self.starts.add(entry.id.clone(), start, MAX_STARTS);
            }
        }
    }

    /// The calls that an entry is inside of, the outermost first. A call that is no longer known is replaced by that of the
    /// open nest at its depth.
    fn path(&self, entry: &Entry) -> Vec<Id> {
        let Some(parent) = &entry.parent else { return Vec::new() };
        let mut path = vec![parent.clone(); depth(entry)];
        for level in (1..path.len()).rev() {
            // Below the deepest nest a parent's parent isn't one level up.
            let start = self.starts.get(&path[level]).filter(|_| usize::from(entry.depth) <= MAX_NESTS);
            let above = start.and_then(|start| start.parent.as_ref());
            if let Some(above) = above.or_else(|| self.inside.get(level - 1)) {
                path[level - 1] = above.clone();
            }
        }
        path
    }

    /// Leaves nests until `depth` of them are open.
    fn unnest(&mut self, depth: usize, parts: &mut Vec<DocumentPart>) {
        while self.inside.len() > depth {
            self.inside.pop();
            self.part(DocumentPart::Leave, parts);
        }
    }

    fn finish(&mut self, parts: &mut Vec<DocumentPart>) {
        // An excerpt of a stream may end with its answer, but not if the agent works on.
        if self.awaits_outcome && !self.replies.has_outcome() {
            self.replies.take_emitted();
            if self.replies.is_apart() {
                self.take_step(TurnStep::Stop, parts);
            }
        }
        self.answer(true, parts);
        self.unnest(0, parts);
        self.tail.release(parts);
    }
}

/// How many nests an entry is inside of.
fn depth(entry: &Entry) -> usize {
    usize::from(entry.depth).min(MAX_NESTS)
}

/// The title of a call, or its id after `how` something relates to it if the call isn't known.
fn title_or_id(how: &'static str, call: &Id, title_of: TitleOf<'_>) -> Line {
    title_of(call).unwrap_or_else(|| Line::of("muted", how).with("id", call.as_str()))
}

#[cfg(test)]
mod tests;
