//! Draws the records of replies as trees: a tree replaces the lines of its records, and the prose around them stays.
//!
//! ```text
//! reply ─▶ prose before the first record     an entry with the reply's id
//!          a tree, once it is complete       an entry for each node; for a sink that takes updates, as soon as its record is complete
//!          prose after a record              an entry with an id below the reply's
//! ```

#![expect(clippy::ref_option, reason = "threads are the keys of a map")]

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use indexmap::IndexSet;

use crate::entry::{Block, Entry, Line, View};
use crate::fence::Fence;
use crate::formatter::{Observation, Verdict};
use crate::item::{Content, Fact, FactRef, Id, Item, Kind, Status};
use crate::json::Record;
use crate::pipeline::change_context::ChangeContext;
use crate::profile::DrawnRecords;
use crate::records::{PlacedRecord, Placement, RecordMisfit};
use crate::session::{Map, Session};

use super::FormatStage;
use super::chain::{FormatterChain, OutputKind};
use super::entries::EntryStage;
use super::growing_tree::GrowingTree;
use super::passages::ReplyPassages;

/// How many threads may have open trees at a time. Records of further threads stay prose.
const MAX_THREADS: usize = 256;
/// How many growing replies may have records at a time.
const MAX_REPLIES: usize = 64;
/// How many records that fit in no tree are reported one by one; further ones are only counted.
const SHOWN_MISFITS: u64 = 20;
/// How many nodes a preview shows before and after the last one added.
const PREVIEWED: (usize, usize) = (200, 5);

/// The trees of one output.
#[derive(Default)]
pub(super) struct RecordTrees {
    /// The records that are drawn, if any are.
    drawn: Option<DrawnRecords>,
    /// The open trees of each thread; a thread is the main one or the call of a sub-agent.
    threads: Map<Option<Id>, VecDeque<GrowingTree>>,
    /// The growing replies that have records.
    growing: Map<Id, ReplyPassages>,
    /// The complete reply whose records are being added.
    complete: Option<Box<CompleteReply>>,
    /// Whether a tree has changed since its nodes were shown.
    has_changed: bool,
    /// How many records fit in no tree.
    misfits: u64,
    /// The code block of raw lines that is open.
    raw_fence: Fence,
    /// Its first line, as long as the block contains nothing but records of trees.
    raw_block: Option<Box<Item>>,
}

/// A complete reply whose records are being added.
struct CompleteReply {
    item: Item,
    /// Its passages. Those since the last tree began are held back: they are shown after the tree, if it ends in this reply.
    passages: ReplyPassages,
    /// The passages as they were shown while it grew.
    before: ReplyPassages,
    /// Blocks that formatters add after it.
    after: Vec<Block>,
    /// Whether the last record belongs to a tree that isn't complete.
    is_in_tree: bool,
    /// Whether any passage was shown.
    is_shown: bool,
}

impl FormatStage {
    /// Draws the records that the profile names, unless some are drawn already. If its filter hides records, their lines stay in the
    /// replies.
    pub(super) fn draw_records(&mut self) {
        let profile = &self.entries.chain.profile;
        if self.trees.drawn.is_none() && profile.filter.admits(&Item::new("", Kind::Record, 0)) {
            self.trees.drawn.clone_from(&profile.records);
        }
    }

    /// Whether records are added to trees, and no formatter has replaced the current one.
    pub(super) fn adds_records(&self) -> bool {
        !matches!(self.entries.chain.output_kind, OutputKind::Nothing)
            && self.trees.drawn.is_some()
            && self.replaced.is_none()
    }

    /// Whether trees are shown in place of the lines of their records. In an output of items, they follow their records.
    pub(super) fn draws_trees(&self) -> bool {
        self.adds_records() && !matches!(self.entries.chain.output_kind, OutputKind::Items)
    }

    /// Adds a record to the tree of its thread.
    fn add(&mut self, item: &Item, session: &Session) -> Placement {
        let (RecordTrees { drawn, threads, .. }, chain) = (&mut self.trees, &mut self.entries.chain);
        if threads.len() >= MAX_THREADS && !threads.contains_key(&item.parent) {
            return Err(RecordMisfit::Wrong("there are too many trees".to_owned()));
        }
        let last = threads.get_mut(&item.parent).and_then(VecDeque::back_mut);
        let placed = if let Some(tree) = last.filter(|last| !last.tree.is_complete()) {
            tree.add(item, session)
        } else if let Some(mut new) = GrowingTree::new(drawn.as_ref(), item, &chain.formatters) {
            let placed = new.add(item, session);
            // An end record, or a record of no known type, doesn't begin a tree.
            if placed == Ok(PlacedRecord::Node) {
                threads.entry(item.parent.clone()).or_default().push_back(new);
            }
            placed
        } else {
            Err(RecordMisfit::Foreign)
        };
        chain.note_failures();
        placed
    }

    /// Rebuilds the trees of a thread without some records, which turned out to be different or no records, and updates the nodes
    /// shown.
    fn rebuild(&mut self, thread: &Option<Id>, is_left_out: impl Fn(&Id) -> bool, session: &Session) {
        let before = self.trees.threads.swap_remove(thread).unwrap_or_default();
        for tree in &before {
            for (id, place, record) in tree.log.iter().filter(|(id, ..)| !is_left_out(id)) {
                let item = tree.item(id, *place, Some(record));
                // A record that no longer fits was shown, and is taken back below.
                drop(self.add(&item, session));
            }
        }
        before.iter().flat_map(GrowingTree::nodes).for_each(|node| self.entries.take_back(&node.id));
        for tree in self.trees.threads.get_mut(thread).into_iter().flatten() {
            self.entries.put_changed(tree, session);
        }
    }

    /// Begins a complete reply, if it is shown in passages. Returns whether it is.
    pub(super) fn begin_passages(&mut self, reply: &Item, context: &mut ChangeContext<'_>) -> bool {
        if !self.draws_trees() || reply.kind != Kind::Reply || !reply.text_holds('{') {
            return false;
        }
        let after = self.entries.begin_apart(reply, context);
        self.entries.show_session_change(reply, context);
        if context.session.facts().model.is_some() {
            self.entries.show_heading(context);
        }
        self.trees.complete = Some(Box::new(CompleteReply {
            item: Item { text: Content::Own(reply.text().into_owned()), ..reply.copy_without_text() },
            passages: ReplyPassages::default(),
            before: self.trees.growing.swap_remove(&reply.id).unwrap_or_default(),
            after,
            is_in_tree: false,
            is_shown: false,
        }));
        true
    }

    /// Adds a record of a reply that still grows.
    pub(super) fn grow_tree(&mut self, item: &Item, id: &Id, line: &Range<usize>, session: &Session) {
        let growing = &self.trees.growing;
        let is_full = growing.len() >= MAX_REPLIES && !growing.contains_key(id);
        let Some(reply) = session.open_item(id).filter(|_| !is_full) else { return };
        let placed = self.add(item, session);
        let last = self.trees.threads.get_mut(&item.parent).and_then(VecDeque::back_mut);
        if placed == Ok(PlacedRecord::Node)
            && let Some(tree) = last
        {
            tree.note_early(&item.id);
        }
        let passages = self.trees.growing.entry(id.clone()).or_default();
        if placed.is_ok()
            && let Some(passage) = passages.before(item, line, reply)
        {
            if self.entries.takes_updates()
                && let Ok(entry) = self.entries.growing_entry(&passage, session)
            {
                self.entries.updates.put_growing(entry);
            }
            passages.pending.push(passage);
        }
        passages.known.extend(item.record.clone().map(|record| (item.id.clone(), (record, placed))));
        self.trees.has_changed = true;
    }

    /// Adds a record of the complete reply, or shows it, if no reply is shown in passages.
    pub(super) fn record(&mut self, item: &Item, line: &Range<usize>, context: &mut ChangeContext<'_>) {
        let Some(reply) = &mut self.trees.complete else { return self.item(item, context) };
        let after = self.entries.begin_apart(item, context);
        let is_same = |before: &Record| item.record.as_ref().is_some_and(|now| now.text() == before.text());
        let placed = match reply.before.known.swap_remove(&item.id) {
            Some((before, placed)) if is_same(&before) => {
                let trees = self.trees.threads.get_mut(&item.parent);
                trees.into_iter().flatten().for_each(|tree| tree.confirm(&item.id));
                placed
            }
            Some(_) => {
                // From here on the text differs from the one that grew.
                let others = std::mem::take(&mut reply.before.known);
                reply.before.is_taken_back = true;
                let is_of_reply = |id: &Id| *id == item.id || others.contains_key(id);
                self.rebuild(&item.parent, is_of_reply, context.session);
                self.add(item, context.session)
            }
            None => self.add(item, context.session),
        };
        if placed.is_ok()
            && let Some(reply) = &mut self.trees.complete
        {
            let passage = reply.passages.before(item, line, &reply.item);
            reply.passages.pending.extend(passage);
            if !std::mem::replace(&mut reply.is_in_tree, true) {
                reply.show_pending(&mut self.entries, context);
            }
        }
        self.entries.count_item(item.kind, is_own_node(&placed));
        self.placed(item, &placed, context);
        if placed == Ok(PlacedRecord::End)
            && let Some(reply) = &mut self.trees.complete
        {
            reply.is_in_tree = false;
            reply.show_pending(&mut self.entries, context);
        }
        self.entries.aside("after", Some(item), after, context);
    }

    /// Adds a record outside of passages: in an output of items, or a record that isn't part of a reply shown in passages.
    pub(super) fn own_record(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        let placed = self.add(item, context.session);
        if placed.is_ok() && self.draws_trees() {
            let after = self.entries.begin_apart(item, context);
            self.entries.count_item(item.kind, is_own_node(&placed));
            self.entries.aside("after", Some(item), after, context);
        } else {
            self.show_raw_block(context);
            self.entries.item(item, None, context);
        }
        self.placed(item, &placed, context);
    }

    /// Leaves out the first and the last line of a code block of raw lines that contains nothing but records of trees: holds back the
    /// first one, and shows it before any other item. Returns whether it took the item.
    pub(super) fn take_fence(&mut self, item: &Item, context: &mut ChangeContext<'_>) -> bool {
        let is_raw = item.kind == Kind::Unknown && item.fact("raw").and_then(FactRef::bool) == Some(true);
        let trees = &mut self.trees;
        if is_raw && trees.raw_fence.pass(item.text().trim_end()) {
            if trees.raw_fence.open().is_some() {
                trees.raw_block = Some(Box::new(item.clone()));
                return true;
            }
            if let Some(first) = trees.raw_block.take() {
                for line in [&*first, item] {
                    self.entries.count_item(line.kind, Err("record"));
                }
                return true;
            }
        }
        if item.kind != Kind::Record {
            self.show_raw_block(context);
        }
        false
    }

    /// Shows the first line of a code block of raw lines that contains more than records of trees.
    fn show_raw_block(&mut self, context: &mut ChangeContext<'_>) {
        if let Some(first) = self.trees.raw_block.take() {
            self.entries.item(&first, None, context);
        }
    }

    /// Reports why a record fits in no tree, and writes the tree that a record has ended. A record that doesn't fit stays in the prose.
    fn placed(&mut self, item: &Item, placed: &Placement, context: &mut ChangeContext<'_>) {
        if let Err(RecordMisfit::Wrong(reason)) = placed {
            self.trees.misfits += 1;
            if self.trees.misfits <= SHOWN_MISFITS {
                let id = Id::below(item.id.as_str(), "misfit");
                let text = format!("a record has no place in the tree: {reason}");
                self.entries.show_notice(id, item.parent.clone(), text, context);
            }
        }
        self.trees.has_changed = true;
        if *placed == Ok(PlacedRecord::End) {
            self.end_tree(&item.parent, context);
        }
    }

    /// Ends the complete reply after its last record: shows the remaining passages.
    pub(super) fn end_passages(&mut self, context: &mut ChangeContext<'_>) {
        let Some(mut reply) = self.trees.complete.take() else { return };
        if let Some(prose) = reply.passages.rest(&reply.item, false) {
            let passage = reply.passages.item(&reply.item, prose);
            reply.passages.pending.push(passage);
        }
        reply.show_pending(&mut self.entries, context);
        let CompleteReply { item, before, after, is_shown, .. } = *reply;
        // Take back the passages that were shown while it grew and aren't part of it.
        let last = before.item(&item, String::new());
        for passage in before.pending.iter().chain([&last, &item]) {
            self.entries.updates.hide(&passage.id);
        }
        self.entries.count_item(item.kind, if is_shown { Ok(()) } else { Err("record") });
        self.entries.aside("after", Some(&item), after, context);
    }

    /// Takes back a record that was shown while its reply grew: the complete reply doesn't have it, or the reply was dropped. All other
    /// records that were only in the growing reply are taken back with it, since rebuilding the trees for each would take quadratic time.
    pub(super) fn take_back_record(&mut self, id: &Id, session: &Session) {
        let RecordTrees { growing, complete, threads, .. } = &mut self.trees;
        let reply = match complete {
            Some(reply) => Some(&mut reply.before),
            None => growing.values_mut().find(|reply| reply.known.contains_key(id)),
        };
        let mut left_out = IndexSet::from([id.clone()]);
        if let Some(reply) = reply {
            if std::mem::replace(&mut reply.is_taken_back, true) {
                return;
            }
            left_out.extend(reply.known.keys().cloned());
        }
        let is_in = |tree: &GrowingTree| tree.log.iter().any(|(logged, ..)| left_out.contains(logged));
        let thread = threads.iter().find(|(_, trees)| trees.iter().any(is_in));
        if let Some(thread) = thread.map(|(thread, _)| thread.clone()) {
            self.rebuild(&thread, |logged| left_out.contains(logged), session);
        }
    }

    /// Takes back the passages of a growing reply that was dropped.
    pub(super) fn forget_passages(&mut self, reply: &Id) {
        let passages = self.trees.growing.swap_remove(reply).unwrap_or_default();
        passages.pending.iter().for_each(|passage| self.entries.take_back(&passage.id));
        // The prose after the last record is shown with an id of its own.
        let last = passages.item(&Item::new(reply.clone(), Kind::Reply, 0), String::new());
        self.entries.updates.hide(&last.id);
    }

    /// The part of a growing item that is shown: for a reply, if records are drawn, the prose after the last of them.
    pub(in super::super) fn growing_passage<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        if self.trees.drawn.is_none() || item.kind != Kind::Reply || !matches!(item.text, Content::Own(_)) {
            return Cow::Borrowed(item);
        }
        let none = ReplyPassages::default();
        let passages = self.trees.growing.get(&item.id).unwrap_or(&none);
        let prose = passages.rest(item, true).unwrap_or_default();
        Cow::Owned(passages.item(item, prose))
    }

    /// The entries of the incomplete trees, and of the passages before the last record of each growing reply.
    #[expect(clippy::vec_box, reason = "entries go on in boxes")]
    pub(in super::super) fn open_entries(&mut self, session: &Session) -> Vec<Box<Entry>> {
        let Self { entries: stage, trees: RecordTrees { threads, growing, .. }, .. } = self;
        let passages = growing.values().flat_map(|growing| &growing.pending);
        // A passage before the first record has the id of its reply.
        let (before, behind): (Vec<_>, Vec<_>) =
            passages.partition(|passage| growing.contains_key(&passage.id));
        let before = before.into_iter().filter_map(|passage| stage.growing_entry(passage, session).ok());
        let mut entries: Vec<_> = before.collect();
        for tree in threads.values_mut().flatten() {
            for (number, is_gap) in tree.tree.around_last(PREVIEWED.0, PREVIEWED.1) {
                let level = tree.tree.node(number).and_then(|node| node.level).unwrap_or(0);
                let entry = stage.chain.uncounted(|chain| chain.node_entry(tree, number, level, session));
                let Ok(mut entry) = entry else { continue };
                if is_gap {
                    entry.view.body.push(Block::line(Line::of("muted", "…")));
                }
                entries.push(entry);
            }
        }
        entries.extend(behind.into_iter().filter_map(|passage| stage.growing_entry(passage, session).ok()));
        entries
    }

    /// Adds the changed nodes of all trees to the updates, each once however often it changed.
    pub(in super::super) fn put_trees(&mut self, session: &Session) {
        if std::mem::take(&mut self.trees.has_changed) {
            for tree in self.trees.threads.values_mut().flatten() {
                self.entries.put_changed(tree, session);
            }
        }
    }

    /// Whether a tree has changed since updates were taken, if the output takes updates.
    pub(in super::super) fn has_changed_trees(&self) -> bool {
        self.entries.takes_updates() && self.trees.has_changed
    }

    /// Ends the input: writes the incomplete trees.
    pub(super) fn end_trees(&mut self, context: &mut ChangeContext<'_>) {
        self.show_raw_block(context);
        while let Some((thread, _)) = self.trees.threads.first() {
            self.end_tree(&thread.clone(), context);
        }
        if self.trees.misfits > SHOWN_MISFITS {
            let more = self.trees.misfits - SHOWN_MISFITS;
            let text = format!("{more} more records have no place in a tree");
            self.entries.show_notice("records".into(), None, text, context);
        }
    }

    /// Writes the first open tree of a thread, and reports its faults.
    fn end_tree(&mut self, thread: &Option<Id>, context: &mut ChangeContext<'_>) {
        let (stage, threads) = (&mut self.entries, &mut self.trees.threads);
        let Some(trees) = threads.get_mut(thread) else { return };
        for tree in &mut *trees {
            stage.put_changed(tree, context.session);
        }
        let first = trees.pop_front();
        if trees.is_empty() {
            threads.shift_remove(thread);
        }
        let Some(mut tree) = first else { return };
        if let OutputKind::Items = stage.chain.output_kind {
            let item = stage.chain.tree_item(&mut tree);
            stage.item(&item, None, context);
        } else {
            stage.show_tree(&mut tree, context);
        }
        stage.count_once();
        for (number, text) in (1..).zip(tree.faults()) {
            let id = Id::below(tree.root.as_str(), &format!("fault-{number}"));
            stage.show_notice(id, thread.clone(), text, context);
        }
    }
}

/// Whether a record is shown as a separate node. The error is the rule that hides it.
fn is_own_node(placed: &Placement) -> Result<(), &'static str> {
    if *placed == Ok(PlacedRecord::Node) { Ok(()) } else { Err("record") }
}

impl CompleteReply {
    /// Shows the passages that were held back.
    fn show_pending(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        for passage in std::mem::take(&mut self.passages.pending) {
            if let Ok(entry) = stage.chain.entry(&passage, context.session) {
                stage.show(entry, context);
                self.is_shown = true;
            }
        }
    }
}

impl EntryStage {
    /// Notes an item that isn't shown as an entry of its own. Returns the blocks that formatters show after it.
    fn begin_apart(&mut self, item: &Item, context: &mut ChangeContext<'_>) -> Vec<Block> {
        self.begin_item(item, context);
        self.chain.observe(Observation::Complete(item), context.session)
    }

    fn show_notice(&mut self, id: Id, thread: Option<Id>, text: String, context: &mut ChangeContext<'_>) {
        let mut notice = Item::warning(id, "records", self.report.lines);
        (notice.parent, notice.text) = (thread, Content::Own(text));
        self.item(&notice, None, context);
    }

    /// Adds the changed nodes of a tree to the updates, if the output takes updates.
    fn put_changed(&mut self, tree: &mut GrowingTree, session: &Session) {
        let changed = tree.tree.take_changed();
        if !self.takes_updates() {
            return;
        }
        for (number, level) in changed {
            match self.chain.node_entry(tree, number, level, session) {
                Ok(entry) if tree.is_early(&entry.id) => self.updates.put_growing(entry),
                Ok(entry) => self.updates.put(entry),
                // What the accumulator showed before no longer holds.
                Err(_) if tree.accumulator.is_some() => self.updates.take_back(&tree.root),
                Err(_) => {}
            }
        }
    }

    /// Shows the nodes of a tree that has ended. A sink that takes updates already shows most of them.
    fn show_tree(&mut self, tree: &mut GrowingTree, context: &mut ChangeContext<'_>) {
        let nodes: Vec<(usize, u16)> = tree.tree.walk().collect();
        for (number, level) in nodes {
            let is_lost = tree.tree.node(number).is_some_and(|node| node.level.is_none());
            let is_news = is_lost || level == 0 && !tree.tree.is_complete();
            if self.takes_updates() && !is_news {
                continue;
            }
            if let Ok(mut entry) = self.chain.node_entry(tree, number, level, context.session) {
                if entry.status == Status::Open {
                    let is_cut_short = is_lost || tree.missing_end().is_some();
                    entry.status = if is_cut_short { Status::Cancelled } else { Status::Done };
                }
                self.show(entry, context);
            }
        }
    }
}

impl FormatterChain {
    /// Makes an item of a whole tree, with the tree as JSON.
    fn tree_item(&mut self, tree: &mut GrowingTree) -> Item {
        let place = tree.tree.node(0).map_or(0, |node| node.place);
        let json = match &mut tree.accumulator {
            None => Ok(Some(tree.tree.json())),
            Some(accumulator) => accumulator.json(),
        };
        let json = json.unwrap_or_else(|error| {
            self.failures.insert(error.message);
            None
        });
        self.note_failures();
        let json = json.and_then(|json| Record::from_line(json).ok());
        let mut item = tree.item(&Id::below(tree.root.as_str(), "tree"), place, json.as_ref());
        item.data.extend(json.map(|json| ("tree", Fact::Node(json.root().node()))));
        if tree.missing_end().is_some() {
            item.status = Status::Cancelled;
        }
        item
    }

    /// Formats a node of a tree. The error is the rule that hides it.
    fn node_entry(
        &mut self,
        tree: &mut GrowingTree,
        number: usize,
        level: u16,
        session: &Session,
    ) -> Result<Box<Entry>, &'static str> {
        let node = tree.tree.node(number).ok_or("record")?;
        let mut item = tree.item(&node.id, node.place, Some(&node.record));
        item.data.push(("value", Fact::Node(node.record.root().node())));
        item.data.push(("tree_level", Fact::Int(level.into())));
        self.admits(&item)?;
        let is_open = level == 0 && (node.level.is_none() || !tree.tree.is_complete());
        // A writer that shows sub-agents must know whose tree it is; it draws the tree by levels.
        let is_drawn = matches!(self.output_kind, OutputKind::Writer(wants) if wants.agents || wants.nests);
        let parent = node.parent().filter(|_| !is_drawn).and_then(|parent| tree.tree.node(parent));
        let parent = parent.map(|parent| parent.id.clone());
        let view = self.view_or(&item, session, |chain| chain.node_view(tree, number, session));
        let mut entry = self.entry_of(&item, view.ok_or("record")?, session);
        entry.level = level;
        if is_open {
            entry.status = Status::Open;
        }
        entry.parent = parent.or(entry.parent);
        Ok(entry)
    }

    /// The view of a node that no formatter decides; `None` hides it.
    fn node_view(&mut self, tree: &mut GrowingTree, number: usize, session: &Session) -> Option<View> {
        let Some(accumulator) = &mut tree.accumulator else {
            return (self.presentation.node)(&tree.tree, tree.tree.node(number)?);
        };
        let verdict = accumulator.view(session).unwrap_or_else(|error| {
            self.failures.extend(self.is_counting.then_some(error.message));
            Verdict::Pass
        });
        self.note_failures();
        match verdict {
            Verdict::Show(view) => Some(view),
            Verdict::Hide => None,
            Verdict::Pass => Some(tree.plain()),
        }
    }
}
