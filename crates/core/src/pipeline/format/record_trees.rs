//! Draws the records of replies as trees: a tree replaces the lines of its records, and the prose around them stays.
//!
//! ```text
//! reply ─▶ prose before the first record     an entry with the reply's id
//!          a tree, once it is complete       an entry for each node; for a sink that takes updates, as soon as its record is complete
//!          prose after a record              an entry with an id below the reply's
//! ```

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use crate::entry::{Block, Entry, Line};
use crate::formatter::{Observation, Verdict};
use crate::item::{Content, Fact, Id, Item, Kind, Status};
use crate::json::Record;
use crate::pipeline::change_context::ChangeContext;
use crate::profile::DrawnRecords;
use crate::records::{PlacedRecord, RecordMisfit};
use crate::session::{Map, Session};

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
pub(super) struct RecordTrees {
    drawn: DrawnRecords,
    /// The open trees of each thread; a thread is the main one or the call of a sub-agent.
    threads: Map<Option<Id>, VecDeque<GrowingTree>>,
    /// The growing replies that have records.
    growing: Map<Id, ReplyPassages>,
    /// The complete reply whose records are being added.
    complete: Option<Box<CompleteReply>>,
    /// Whether a tree has changed since its nodes were shown.
    pub(super) has_changed: bool,
    /// How many records fit in no tree.
    misfits: u64,
}

/// A complete reply whose records are being added.
struct CompleteReply {
    /// Without its text.
    item: Item,
    text: String,
    passages: ReplyPassages,
    /// The passages as they were shown while it grew.
    before: ReplyPassages,
    /// Blocks that formatters add after it.
    after: Vec<Block>,
    /// Whether the last record belongs to a tree that isn't complete.
    is_in_tree: bool,
    /// The passages since that tree began: they are shown after the tree, if it ends in this reply.
    held: Vec<Item>,
    /// Whether any passage was shown.
    is_shown: bool,
}

impl RecordTrees {
    pub(super) fn new(drawn: DrawnRecords) -> Self {
        let (threads, growing) = (Map::default(), Map::default());
        Self { drawn, threads, growing, complete: None, has_changed: false, misfits: 0 }
    }

    /// Whether the records of this reply are being added.
    pub(super) fn is_at(&self, reply: &Id) -> bool {
        self.complete.as_ref().is_some_and(|complete| complete.item.id == *reply)
    }

    /// Adds a record to the tree of its thread.
    fn add(
        &mut self,
        item: &Item,
        chain: &mut FormatterChain,
        session: &Session,
    ) -> Result<PlacedRecord, RecordMisfit> {
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&item.parent) {
            return Err(RecordMisfit::Wrong("there are too many trees".to_owned()));
        }
        let last = self.threads.get_mut(&item.parent).and_then(VecDeque::back_mut);
        let placed = if let Some(growing) = last.filter(|last| !last.tree.is_complete()) {
            growing.add(item, session)
        } else if let Some(mut new) = GrowingTree::new(&self.drawn, item, &chain.formatters) {
            let placed = new.add(item, session);
            // An end record, or a record of no known type, doesn't begin a tree.
            if placed == Ok(PlacedRecord::Node) {
                self.threads.entry(item.parent.clone()).or_default().push_back(new);
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
        thread: Option<&Id>,
        is_left_out: impl Fn(&Id) -> bool,
        stage: &mut EntryStage,
        session: &Session,
    ) {
        let before = self.threads.swap_remove(&thread.cloned()).unwrap_or_default();
        for shown in &before {
            for logged in shown.log.iter().filter(|logged| !is_left_out(&logged.id)) {
                let mut item = Item::new(logged.id.clone(), Kind::Record, shown.line);
                (item.parent, item.place) = (thread.cloned(), logged.place);
                item.record = Some(logged.record.clone());
                // A record that no longer fits was shown, and is taken back below.
                drop(self.add(&item, &mut stage.chain, session));
            }
        }
        before.iter().flat_map(GrowingTree::ids).for_each(|id| stage.updates.take_back(&id));
        for tree in self.threads.get_mut(&thread.cloned()).into_iter().flatten() {
            tree.put_changed(stage, session);
        }
    }

    /// Begins a complete reply, if it is shown in passages. Returns whether it is.
    pub(super) fn begin_passages(
        &mut self,
        reply: &Item,
        stage: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) -> bool {
        let is_taken = reply.kind == Kind::Reply
            && !matches!(stage.chain.output_kind, OutputKind::Items)
            && reply.text_holds('{');
        if !is_taken {
            return false;
        }
        stage.begin_item(reply, context);
        let after = stage.chain.observe(Observation::Complete(reply), context.session);
        if let Some(change) = stage.session_change(reply, context.session) {
            stage.show(change, context);
        }
        if context.session.facts().model.is_some() {
            stage.show_heading(context);
        }
        self.complete = Some(Box::new(CompleteReply {
            item: reply.copy_without_text(),
            text: reply.text().into_owned(),
            passages: ReplyPassages::default(),
            before: self.growing.swap_remove(&reply.id).unwrap_or_default(),
            after,
            is_in_tree: false,
            held: Vec::new(),
            is_shown: false,
        }));
        true
    }

    /// Adds a record of a reply that still grows.
    pub(super) fn grow(
        &mut self,
        item: &Item,
        reply: &Id,
        line: &Range<usize>,
        stage: &mut EntryStage,
        session: &Session,
    ) {
        if let OutputKind::Items = stage.chain.output_kind {
            return;
        }
        let Some(grown) = session.open_item(reply) else { return };
        let Content::Own(text) = &grown.text else { return };
        if self.growing.len() >= MAX_REPLIES && !self.growing.contains_key(reply) {
            return;
        }
        let placed = self.add(item, &mut stage.chain, session);
        let passages = self.growing.entry(reply.clone()).or_default();
        if placed.is_ok()
            && let Some(passage) = passages.before(item, line, grown, text)
        {
            if let (OutputKind::Updates, Ok(entry)) =
                (stage.chain.output_kind, stage.growing_entry(&passage, session))
            {
                stage.updates.put_growing(entry);
            }
            passages.shown.push(passage);
        }
        if let Some(record) = &item.record {
            passages.known.insert(item.id.clone(), (record.clone(), placed));
        }
        self.has_changed = true;
    }

    /// Adds a record of the complete reply.
    pub(super) fn tree_record(
        &mut self,
        item: &Item,
        line: &Range<usize>,
        stage: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        stage.begin_item(item, context);
        let after = stage.chain.observe(Observation::Complete(item), context.session);
        let Some(mut reply) = self.complete.take() else { return };
        let is_same = |before: &Record| item.record.as_ref().is_some_and(|now| now.text() == before.text());
        let placed = match reply.before.known.swap_remove(&item.id) {
            Some((before, placed)) if is_same(&before) => placed,
            Some(_) => {
                // From here on the text differs from the one that grew.
                let others = std::mem::take(&mut reply.before.known);
                let is_of_reply = |id: &Id| *id == item.id || others.contains_key(id);
                self.rebuild(item.parent.as_ref(), is_of_reply, stage, context.session);
                self.add(item, &mut stage.chain, context.session)
            }
            None => self.add(item, &mut stage.chain, context.session),
        };
        if placed.is_ok() {
            reply.held.extend(reply.passages.before(item, line, &reply.item, &reply.text));
            if !std::mem::replace(&mut reply.is_in_tree, true) {
                reply.show_held(stage, context);
            }
        }
        stage.count_item(item.kind, is_own_node(&placed));
        self.placed(item, &placed, stage, context);
        if placed == Ok(PlacedRecord::End) {
            reply.is_in_tree = false;
            reply.show_held(stage, context);
        }
        self.complete = Some(reply);
        stage.aside("after", Some(item), after, context);
    }

    /// Adds a record outside of passages: in an output of items, or a record that isn't part of a reply shown in passages.
    pub(super) fn own_record(
        &mut self,
        item: &Item,
        stage: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        let placed = self.add(item, &mut stage.chain, context.session);
        if placed.is_ok() && !matches!(stage.chain.output_kind, OutputKind::Items) {
            stage.begin_item(item, context);
            let after = stage.chain.observe(Observation::Complete(item), context.session);
            stage.count_item(item.kind, is_own_node(&placed));
            stage.aside("after", Some(item), after, context);
        } else {
            stage.item(item, None, context);
        }
        self.placed(item, &placed, stage, context);
    }

    /// Reports why a record fits in no tree, and writes the tree that a record has ended. A record that doesn't fit stays in the prose.
    fn placed(
        &mut self,
        item: &Item,
        placed: &Result<PlacedRecord, RecordMisfit>,
        stage: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        if let Err(RecordMisfit::Wrong(reason)) = placed {
            self.misfits += 1;
            if self.misfits <= SHOWN_MISFITS {
                let id = Id::below(item.id.as_str(), "misfit");
                let text = format!("a record has no place in the tree: {reason}");
                stage.show_notice(id, item.parent.as_ref(), text, context);
            }
        }
        self.has_changed = true;
        if *placed == Ok(PlacedRecord::End) {
            self.end_tree(&item.parent, stage, context);
        }
    }

    /// Ends the complete reply after its last record: shows the remaining passages.
    pub(super) fn end_passages(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let Some(mut complete) = self.complete.take() else { return };
        if let Some(prose) = complete.passages.rest(&complete.text, false) {
            complete.held.push(complete.passages.item(&complete.item, prose));
        }
        complete.show_held(stage, context);
        let CompleteReply { item, before, after, is_shown, .. } = *complete;
        // Take back the passages that were shown while it grew and aren't part of it.
        let last = before.item(&item, String::new());
        for passage in before.shown.iter().chain([&last, &item]) {
            stage.updates.hide(&passage.id);
        }
        stage.count_item(item.kind, if is_shown { Ok(()) } else { Err("record") });
        stage.aside("after", Some(&item), after, context);
    }

    /// Takes back a record that was shown while its reply grew: the complete reply doesn't have it, or the reply was dropped.
    pub(super) fn take_back(&mut self, id: &Id, stage: &mut EntryStage, session: &Session) {
        let is_in = |shown: &GrowingTree| shown.log.iter().any(|logged| logged.id == *id);
        let thread = self.threads.iter().find(|(_, trees)| trees.iter().any(is_in));
        if let Some((thread, _)) = thread {
            let thread = thread.clone();
            self.rebuild(thread.as_ref(), |known| known == id, stage, session);
        }
    }

    /// Takes back the passages of a growing reply that was dropped.
    pub(super) fn forget_passages(&mut self, reply: &Id, stage: &mut EntryStage) {
        let growing = self.growing.swap_remove(reply);
        for passage in growing.iter().flat_map(|growing| &growing.shown) {
            stage.updates.take_back(&passage.id);
        }
    }

    /// The shown part of a growing reply: the prose after its last record.
    pub(super) fn growing_passage<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        let (Content::Own(text), Kind::Reply) = (&item.text, item.kind) else {
            return Cow::Borrowed(item);
        };
        let none = ReplyPassages::default();
        let passages = self.growing.get(&item.id).unwrap_or(&none);
        let prose = passages.rest(text, true).unwrap_or_default();
        Cow::Owned(passages.item(item, prose))
    }

    /// The entries of the incomplete trees, and of the passages before the last record of each growing reply.
    #[expect(clippy::vec_box, reason = "entries go on in boxes")]
    pub(super) fn open_entries(&mut self, stage: &mut EntryStage, session: &Session) -> Vec<Box<Entry>> {
        let passages = self.growing.values().flat_map(|growing| &growing.shown);
        // A passage before the first record has the id of its reply.
        let (before, behind): (Vec<_>, Vec<_>) =
            passages.partition(|passage| self.growing.contains_key(&passage.id));
        let before = before.into_iter().filter_map(|passage| stage.growing_entry(passage, session).ok());
        let mut entries: Vec<_> = before.collect();
        for shown in self.threads.values_mut().flatten() {
            let (nodes, has_before, has_behind) = shown.tree.around_last(PREVIEWED.0, PREVIEWED.1);
            let root = has_before.then_some(0).filter(|root| !nodes.contains(root));
            let last = nodes.last().copied();
            for number in root.into_iter().chain(nodes) {
                let level = shown.tree.node(number).and_then(|node| node.level).unwrap_or(0);
                let entry = stage.chain.uncounted(|chain| chain.node_entry(shown, number, level, session));
                let Ok(mut entry) = entry else { continue };
                if root == Some(number) || has_behind && last == Some(number) {
                    entry.view.body.push(Block::line(Line::of("muted", "…")));
                }
                entries.push(entry);
            }
        }
        entries.extend(behind.into_iter().filter_map(|passage| stage.growing_entry(passage, session).ok()));
        entries
    }

    /// Ends the input: writes the incomplete trees.
    pub(super) fn end(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        while let Some((thread, _)) = self.threads.first() {
            self.end_tree(&thread.clone(), stage, context);
        }
        if self.misfits > SHOWN_MISFITS {
            let more = self.misfits - SHOWN_MISFITS;
            let text = format!("{more} more records have no place in a tree");
            stage.show_notice("records".into(), None, text, context);
        }
    }

    /// Writes the first open tree of a thread, and reports its faults.
    #[expect(clippy::ref_option, reason = "threads are the keys of a map")]
    fn end_tree(&mut self, thread: &Option<Id>, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let Some(of_thread) = self.threads.get_mut(thread) else { return };
        for tree in &mut *of_thread {
            tree.put_changed(stage, context.session);
        }
        let first = of_thread.pop_front();
        if of_thread.is_empty() {
            self.threads.shift_remove(thread);
        }
        let Some(mut shown) = first else { return };
        let root = shown.tree.node(0).map_or_else(|| Id::from("tree"), |node| node.id.clone());
        if let OutputKind::Items = stage.chain.output_kind {
            let mut item = Item::new(Id::below(root.as_str(), "tree"), Kind::Record, shown.line);
            item.parent.clone_from(thread);
            item.place = shown.tree.node(0).map_or(0, |node| node.place);
            match shown.json() {
                Ok(json) => {
                    if let Some(Ok(tree)) = json.map(Record::from_line) {
                        item.data.push(("tree", Fact::Node(tree.root().node())));
                        item.record = Some(tree);
                    }
                }
                Err(error) => drop(stage.chain.failures.insert(error.message)),
            }
            stage.chain.note_failures();
            if shown.is_cut_short() {
                item.status = Status::Cancelled;
            }
            stage.begin_item(&item, context);
            let outcome = stage.write(&item, context);
            stage.count_item(item.kind, outcome);
        } else {
            let nodes: Vec<(usize, u16)> = shown.tree.walk().collect();
            for (number, level) in nodes {
                let is_lost = shown.tree.node(number).is_some_and(|node| node.level.is_none());
                // A sink that takes updates already shows the others.
                let is_news = is_lost || level == 0 && !shown.tree.is_complete();
                if matches!(stage.chain.output_kind, OutputKind::Updates) && !is_news {
                    continue;
                }
                if let Ok(mut entry) = stage.chain.node_entry(&mut shown, number, level, context.session) {
                    if entry.status == Status::Open {
                        let is_cut_short = is_lost || shown.is_cut_short();
                        entry.status = if is_cut_short { Status::Cancelled } else { Status::Done };
                    }
                    stage.show(entry, context);
                }
            }
        }
        stage.count_once();
        for (number, text) in (1..).zip(shown.faults()) {
            let id = Id::below(root.as_str(), &format!("fault-{number}"));
            stage.show_notice(id, thread.as_ref(), text, context);
        }
    }

    /// Adds the changed nodes of all trees to the updates, each once however often it changed.
    pub(super) fn put_all_changed(&mut self, stage: &mut EntryStage, session: &Session) {
        if std::mem::take(&mut self.has_changed) {
            self.threads.values_mut().flatten().for_each(|tree| tree.put_changed(stage, session));
        }
    }
}

/// Whether a record is shown as a separate node. The error is the rule that hides it.
fn is_own_node(placed: &Result<PlacedRecord, RecordMisfit>) -> Result<(), &'static str> {
    if *placed == Ok(PlacedRecord::Node) { Ok(()) } else { Err("record") }
}

impl GrowingTree {
    /// Adds the changed nodes to the updates, if the output takes updates.
    fn put_changed(&mut self, stage: &mut EntryStage, session: &Session) {
        let changed = self.tree.take_changed();
        if !matches!(stage.chain.output_kind, OutputKind::Updates) {
            return;
        }
        for (number, level) in changed {
            match stage.chain.node_entry(self, number, level, session) {
                Ok(entry) => stage.updates.put(entry),
                // What the accumulator showed before no longer holds.
                Err(_) if self.accumulator.is_some() => {
                    self.ids().for_each(|id| stage.updates.take_back(&id));
                }
                Err(_) => {}
            }
        }
    }
}

impl CompleteReply {
    /// Shows the passages that were held back.
    fn show_held(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        for passage in std::mem::take(&mut self.held) {
            if let Ok(entry) = stage.chain.entry(&passage, context.session) {
                stage.show(entry, context);
                self.is_shown = true;
            }
        }
    }
}

impl EntryStage {
    fn show_notice(&mut self, id: Id, thread: Option<&Id>, text: String, context: &mut ChangeContext<'_>) {
        let mut notice = Item::warning(id, "records", self.report.lines);
        notice.parent = thread.cloned();
        notice.text = Content::Own(text);
        self.item(&notice, None, context);
    }
}

impl FormatterChain {
    /// Formats a node of a tree. The error is the rule that hides it.
    fn node_entry(
        &mut self,
        shown: &mut GrowingTree,
        number: usize,
        level: u16,
        session: &Session,
    ) -> Result<Box<Entry>, &'static str> {
        let node = shown.tree.node(number).ok_or("record")?;
        let mut item = Item::new(node.id.clone(), Kind::Record, shown.line);
        item.parent.clone_from(&shown.thread);
        item.place = node.place;
        item.data.push(("value", Fact::Node(node.record.root().node())));
        item.data.push(("tree_level", Fact::Int(level.into())));
        item.record = Some(node.record.clone());
        self.admits(&item)?;
        let view = match self.verdict(&item, session) {
            Some(Verdict::Show(view)) => Some(view),
            Some(Verdict::Hide) => None,
            Some(Verdict::Pass) | None => {
                let (view, error) = shown.view(number, self.presentation, session);
                self.failures.extend(error.filter(|_| self.is_counting).map(|error| error.message));
                self.note_failures();
                view
            }
        };
        let node = shown.tree.node(number).ok_or("record")?;
        let mut entry = self.entry_of(&item, view.ok_or("record")?, session);
        entry.level = level;
        if level == 0 && (node.level.is_none() || !shown.tree.is_complete()) {
            entry.status = Status::Open;
        }
        // A writer that shows sub-agents must know whose tree it is; it draws the tree by levels.
        let is_drawn = matches!(self.output_kind, OutputKind::Writer(wants) if wants.agents || wants.nests);
        if let Some(parent) = node.parent().filter(|_| !is_drawn).and_then(|parent| shown.tree.node(parent)) {
            entry.parent = Some(parent.id.clone());
        }
        Ok(entry)
    }
}
