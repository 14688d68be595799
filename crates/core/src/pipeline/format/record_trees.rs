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

use crate::entry::{Block, Entry, Line};
use crate::fence::Fence;
use crate::formatter::Observation;
use crate::item::{Content, FactRef, Id, Item, Kind};
use crate::json::Record;
use crate::pipeline::change_context::ChangeContext;
use crate::profile::DrawnRecords;
use crate::profile::Profile;
use crate::records::{PlacedRecord, Placement, RecordMisfit};
use crate::session::{Map, Session, SessionChange};

use super::chain::OutputKind;
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
pub(in super::super) struct RecordStage {
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

impl RecordStage {
    /// Draws the records that the profile names, unless some are drawn already. If its filter hides records, their lines stay in the
    /// replies.
    pub(super) fn draw(&mut self, profile: &Profile) {
        if self.drawn.is_none() && profile.filter.admits(&Item::new("", Kind::Record, 0)) {
            self.drawn.clone_from(&profile.records);
        }
    }

    /// Takes a change of a record, or of a reply that is shown in passages. Returns whether it did; otherwise the next stage takes it.
    /// `is_replaced`: whether a formatter shows the current line in place of its items.
    pub(super) fn take(
        &mut self,
        change: &SessionChange<'_>,
        is_replaced: bool,
        next: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) -> bool {
        if self.drawn.is_none() || matches!(next.chain.output_kind, OutputKind::Nothing) {
            return false;
        }
        let draws = !is_replaced && draws(next);
        match change {
            SessionChange::Complete(item) if draws && is_in_passages(item) => {
                self.begin_passages(item, next, context);
            }
            SessionChange::Complete(item) => return !is_replaced && self.item(item, next, context),
            SessionChange::Record { item, line, is_early: false, .. } if self.complete.is_some() => {
                self.record(item, line, next, context);
            }
            SessionChange::Record { item, is_early: false, .. } => {
                return !is_replaced && self.item(item, next, context);
            }
            SessionChange::Record { item, reply, line, is_early: true } if draws => {
                self.grow_tree(item, reply, line, next, context.session);
            }
            SessionChange::RecordsEnd(_) => self.end_passages(next, context),
            SessionChange::Dropped(id) => {
                self.forget_passages(id, next);
                return false;
            }
            SessionChange::Retracted(id) => {
                self.take_back_record(id, next, context.session);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Takes a complete item outside of passages, if it is a record, or a line around records. Returns whether it did.
    fn item(&mut self, item: &Item, next: &mut EntryStage, context: &mut ChangeContext<'_>) -> bool {
        if draws(next) && self.take_fence(item, next, context) {
            return true;
        }
        if item.kind == Kind::Record {
            self.own_record(item, next, context);
        }
        item.kind == Kind::Record
    }

    /// Adds a record to the tree of its thread.
    fn add(&mut self, item: &Item, next: &mut EntryStage, session: &Session) -> Placement {
        let (Self { drawn, threads, .. }, chain) = (self, &mut next.chain);
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
    fn rebuild(
        &mut self,
        thread: &Option<Id>,
        is_left_out: impl Fn(&Id) -> bool,
        next: &mut EntryStage,
        session: &Session,
    ) {
        let before = self.threads.swap_remove(thread).unwrap_or_default();
        for tree in &before {
            for (id, place, record) in tree.log.iter().filter(|(id, ..)| !is_left_out(id)) {
                let item = tree.item(id, *place, Some(record));
                // A record that no longer fits was shown, and is taken back below.
                drop(self.add(&item, next, session));
            }
        }
        before.iter().flat_map(GrowingTree::nodes).for_each(|node| next.take_back(&node.id));
        for tree in self.threads.get_mut(thread).into_iter().flatten() {
            tree.put_changed(next, session);
        }
    }

    /// Begins a complete reply, which is shown in passages.
    fn begin_passages(&mut self, reply: &Item, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let after = begin_apart(reply, next, context);
        next.show_session_change(reply, context);
        if context.session.facts().model.is_some() {
            next.show_heading(context);
        }
        self.complete = Some(Box::new(CompleteReply {
            item: Item { text: Content::Own(reply.text().into_owned()), ..reply.copy_without_text() },
            passages: ReplyPassages::default(),
            before: self.growing.swap_remove(&reply.id).unwrap_or_default(),
            after,
            is_in_tree: false,
            is_shown: false,
        }));
    }

    /// Adds a record of a reply that still grows.
    fn grow_tree(
        &mut self,
        item: &Item,
        id: &Id,
        line: &Range<usize>,
        next: &mut EntryStage,
        session: &Session,
    ) {
        let growing = &self.growing;
        let is_full = growing.len() >= MAX_REPLIES && !growing.contains_key(id);
        let Some(reply) = session.open_item(id).filter(|_| !is_full) else { return };
        let placed = self.add(item, next, session);
        let last = self.threads.get_mut(&item.parent).and_then(VecDeque::back_mut);
        if placed == Ok(PlacedRecord::Node)
            && let Some(tree) = last
        {
            tree.note_early(&item.id);
        }
        let passages = self.growing.entry(id.clone()).or_default();
        if placed.is_ok()
            && let Some(passage) = passages.before(item, line, reply)
        {
            if next.takes_updates()
                && let Ok(entry) = next.growing_entry(&passage, session)
            {
                next.updates.put_growing(entry);
            }
            passages.pending.push(passage);
        }
        passages.known.extend(item.record.clone().map(|record| (item.id.clone(), (record, placed))));
        self.has_changed = true;
    }

    /// Adds a record of the complete reply.
    fn record(
        &mut self,
        item: &Item,
        line: &Range<usize>,
        next: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        let Some(reply) = &mut self.complete else { return };
        let after = begin_apart(item, next, context);
        let is_same = |before: &Record| item.record.as_ref().is_some_and(|now| now.text() == before.text());
        let placed = match reply.before.known.swap_remove(&item.id) {
            Some((before, placed)) if is_same(&before) => {
                let trees = self.threads.get_mut(&item.parent);
                trees.into_iter().flatten().for_each(|tree| tree.confirm(&item.id));
                placed
            }
            Some(_) => {
                // From here on the text differs from the one that grew.
                let others = std::mem::take(&mut reply.before.known);
                reply.before.is_taken_back = true;
                let is_of_reply = |id: &Id| *id == item.id || others.contains_key(id);
                self.rebuild(&item.parent, is_of_reply, next, context.session);
                self.add(item, next, context.session)
            }
            None => self.add(item, next, context.session),
        };
        if placed.is_ok()
            && let Some(reply) = &mut self.complete
        {
            let passage = reply.passages.before(item, line, &reply.item);
            reply.passages.pending.extend(passage);
            if !std::mem::replace(&mut reply.is_in_tree, true) {
                reply.show_pending(next, context);
            }
        }
        next.count_item(item.kind, is_own_node(&placed));
        self.placed(item, &placed, next, context);
        if placed == Ok(PlacedRecord::End)
            && let Some(reply) = &mut self.complete
        {
            reply.is_in_tree = false;
            reply.show_pending(next, context);
        }
        next.aside("after", Some(item), after, context);
    }

    /// Adds a record outside of passages: in an output of items, or a record that isn't part of a reply shown in passages.
    fn own_record(&mut self, item: &Item, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let placed = self.add(item, next, context.session);
        if placed.is_ok() && draws(next) {
            let after = begin_apart(item, next, context);
            next.count_item(item.kind, is_own_node(&placed));
            next.aside("after", Some(item), after, context);
        } else {
            self.show_raw_block(next, context);
            next.item(item, None, context);
        }
        self.placed(item, &placed, next, context);
    }

    /// Leaves out the first and the last line of a code block of raw lines that contains nothing but records of trees: holds back the
    /// first one, and shows it before any other item. Returns whether it took the item.
    fn take_fence(&mut self, item: &Item, next: &mut EntryStage, context: &mut ChangeContext<'_>) -> bool {
        let is_raw = item.kind == Kind::Unknown && item.fact("raw").and_then(FactRef::bool) == Some(true);
        if is_raw && self.raw_fence.pass(item.text().trim_end()) {
            if self.raw_fence.open().is_some() {
                self.raw_block = Some(Box::new(item.clone()));
                return true;
            }
            if let Some(first) = self.raw_block.take() {
                for line in [&*first, item] {
                    next.count_item(line.kind, Err("record"));
                }
                return true;
            }
        }
        if item.kind != Kind::Record {
            self.show_raw_block(next, context);
        }
        false
    }

    /// Shows the first line of a code block of raw lines that contains more than records of trees.
    fn show_raw_block(&mut self, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        if let Some(first) = self.raw_block.take() {
            next.item(&first, None, context);
        }
    }

    /// Reports why a record fits in no tree, and writes the tree that a record has ended. A record that doesn't fit stays in the prose.
    fn placed(
        &mut self,
        item: &Item,
        placed: &Placement,
        next: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        if let Err(RecordMisfit::Wrong(reason)) = placed {
            self.misfits += 1;
            if self.misfits <= SHOWN_MISFITS {
                let id = Id::below(item.id.as_str(), "misfit");
                let text = format!("a record has no place in the tree: {reason}");
                show_notice(id, item.parent.clone(), text, next, context);
            }
        }
        self.has_changed = true;
        if *placed == Ok(PlacedRecord::End) {
            self.end_tree(&item.parent, next, context);
        }
    }

    /// Ends the complete reply after its last record: shows the remaining passages.
    fn end_passages(&mut self, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let Some(mut reply) = self.complete.take() else { return };
        if let Some(prose) = reply.passages.rest(&reply.item, false) {
            let passage = reply.passages.item(&reply.item, prose);
            reply.passages.pending.push(passage);
        }
        reply.show_pending(next, context);
        let CompleteReply { item, before, after, is_shown, .. } = *reply;
        // Take back the passages that were shown while it grew and aren't part of it.
        let last = before.item(&item, String::new());
        for passage in before.pending.iter().chain([&last, &item]) {
            next.updates.hide(&passage.id);
        }
        next.count_item(item.kind, if is_shown { Ok(()) } else { Err("record") });
        next.aside("after", Some(&item), after, context);
    }

    /// Takes back a record that was shown while its reply grew: the complete reply doesn't have it, or the reply was dropped. All other
    /// records that were only in the growing reply are taken back with it, since rebuilding the trees for each would take quadratic time.
    fn take_back_record(&mut self, id: &Id, next: &mut EntryStage, session: &Session) {
        let Self { growing, complete, threads, .. } = self;
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
            self.rebuild(&thread, |logged| left_out.contains(logged), next, session);
        }
    }

    /// Takes back the passages of a growing reply that was dropped.
    fn forget_passages(&mut self, reply: &Id, next: &mut EntryStage) {
        let passages = self.growing.swap_remove(reply).unwrap_or_default();
        passages.pending.iter().for_each(|passage| next.take_back(&passage.id));
        // The prose after the last record is shown with an id of its own.
        let last = passages.item(&Item::new(reply.clone(), Kind::Reply, 0), String::new());
        next.updates.hide(&last.id);
    }

    /// The part of a growing item that is shown: for a reply, if records are drawn, the prose after the last of them.
    pub(in super::super) fn growing_passage<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        if self.drawn.is_none() || item.kind != Kind::Reply || !matches!(item.text, Content::Own(_)) {
            return Cow::Borrowed(item);
        }
        let none = ReplyPassages::default();
        let passages = self.growing.get(&item.id).unwrap_or(&none);
        let prose = passages.rest(item, true).unwrap_or_default();
        Cow::Owned(passages.item(item, prose))
    }

    /// The entries of the incomplete trees, and of the passages before the last record of each growing reply.
    #[expect(clippy::vec_box, reason = "entries go on in boxes")]
    pub(in super::super) fn open_entries(
        &mut self,
        next: &mut EntryStage,
        session: &Session,
    ) -> Vec<Box<Entry>> {
        let Self { threads, growing, .. } = self;
        let passages = growing.values().flat_map(|growing| &growing.pending);
        // A passage before the first record has the id of its reply.
        let (before, behind): (Vec<_>, Vec<_>) =
            passages.partition(|passage| growing.contains_key(&passage.id));
        let before = before.into_iter().filter_map(|passage| next.growing_entry(passage, session).ok());
        let mut entries: Vec<_> = before.collect();
        for tree in threads.values_mut().flatten() {
            for (number, is_gap) in tree.tree.around_last(PREVIEWED.0, PREVIEWED.1) {
                let level = tree.tree.node(number).and_then(|node| node.level).unwrap_or(0);
                let entry = next.chain.uncounted(|chain| tree.entry(number, level, chain, session));
                let Ok(mut entry) = entry else { continue };
                if is_gap {
                    entry.view.body.push(Block::line(Line::of("muted", "…")));
                }
                entries.push(entry);
            }
        }
        entries.extend(behind.into_iter().filter_map(|passage| next.growing_entry(passage, session).ok()));
        entries
    }

    /// Adds the changed nodes of all trees to the updates, each once however often it changed.
    pub(in super::super) fn put_changed(&mut self, next: &mut EntryStage, session: &Session) {
        if std::mem::take(&mut self.has_changed) {
            for tree in self.threads.values_mut().flatten() {
                tree.put_changed(next, session);
            }
        }
    }

    /// Whether a tree has changed since updates were taken.
    pub(in super::super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Ends the input: writes the incomplete trees.
    pub(super) fn end(&mut self, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        self.show_raw_block(next, context);
        while let Some((thread, _)) = self.threads.first() {
            self.end_tree(&thread.clone(), next, context);
        }
        if self.misfits > SHOWN_MISFITS {
            let more = self.misfits - SHOWN_MISFITS;
            let text = format!("{more} more records have no place in a tree");
            show_notice("records".into(), None, text, next, context);
        }
    }

    /// Writes the first open tree of a thread, and reports its faults.
    fn end_tree(&mut self, thread: &Option<Id>, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let threads = &mut self.threads;
        let Some(trees) = threads.get_mut(thread) else { return };
        for tree in &mut *trees {
            tree.put_changed(next, context.session);
        }
        let first = trees.pop_front();
        if trees.is_empty() {
            threads.shift_remove(thread);
        }
        let Some(mut tree) = first else { return };
        if let OutputKind::Items = next.chain.output_kind {
            let item = tree.whole_item(&mut next.chain);
            next.item(&item, None, context);
        } else {
            tree.show(next, context);
        }
        next.count_once();
        for (number, text) in (1..).zip(tree.faults()) {
            let id = Id::below(tree.root.as_str(), &format!("fault-{number}"));
            show_notice(id, thread.clone(), text, next, context);
        }
    }
}

/// Whether a record is shown as a separate node. The error is the rule that hides it.
fn is_own_node(placed: &Placement) -> Result<(), &'static str> {
    if *placed == Ok(PlacedRecord::Node) { Ok(()) } else { Err("record") }
}

impl CompleteReply {
    /// Shows the passages that were held back.
    fn show_pending(&mut self, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        for passage in std::mem::take(&mut self.passages.pending) {
            if let Ok(entry) = next.chain.entry(&passage, context.session) {
                next.show(entry, context);
                self.is_shown = true;
            }
        }
    }
}

/// Whether trees are shown in place of the lines of their records. In an output of items, they follow their records.
fn draws(next: &EntryStage) -> bool {
    !matches!(next.chain.output_kind, OutputKind::Items)
}

/// Whether a complete item is a reply that is shown in passages.
fn is_in_passages(item: &Item) -> bool {
    item.kind == Kind::Reply && item.text_holds('{')
}

/// Notes an item that isn't shown as an entry of its own. Returns the blocks that formatters show after it.
fn begin_apart(item: &Item, next: &mut EntryStage, context: &mut ChangeContext<'_>) -> Vec<Block> {
    next.begin_item(item, context);
    next.chain.observe(Observation::Complete(item), context.session)
}

fn show_notice(
    id: Id,
    thread: Option<Id>,
    text: String,
    next: &mut EntryStage,
    context: &mut ChangeContext<'_>,
) {
    let mut notice = Item::warning(id, "records", next.report.lines);
    (notice.parent, notice.text) = (thread, Content::Own(text));
    next.item(&notice, None, context);
}
