//! Records of replies as trees: the lines of the records give way to a tree of them, and the prose around them stays.
//!
//! ```text
//! reply ─▶ prose before the first record     an entry with the reply's id
//!          a tree, once it is complete       an entry for each node; where what is shown can be changed, as soon as the node is there
//!          prose behind a record             an entry with an id below the reply's
//! ```

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::entry::{Block, Entry, Line};
use crate::formatter::{Observation, Verdict};
use crate::item::{Content, Fact, Id, Item, Kind, Status};
use crate::json::Record;
use crate::pipeline::change_context::ChangeContext;
use crate::profile::DrawnRecords;
use crate::records::{PlacedRecord, RecordMisfit, RecordTree};
use crate::session::{Map, Session};

use super::chain::{FormatterChain, OutputKind};
use super::entries::EntryStage;
use super::growing_tree::GrowingTree;
use super::passages::ReplyPassages;

/// Threads whose records make trees: more can't be at work at a time. Records of others stay prose.
const MAX_THREADS: usize = 256;
/// Replies that grow at a time.
const MAX_REPLIES: usize = 64;
/// Records without a place that are told; of more it is counted how many there are.
const TOLD_MISFITS: u64 = 20;
/// Nodes that a preview shows around the one that came last.
const PREVIEWED: (usize, usize) = (200, 5);

/// The trees of one output.
pub(super) struct RecordTrees {
    drawn: DrawnRecords,
    /// The trees that weren't written to their ends, by the call of the sub-agent whose they are.
    threads: Map<Option<Id>, VecDeque<GrowingTree>>,
    /// The replies that grow and have records.
    growing: Map<Id, ReplyPassages>,
    /// The reply whose records come just now.
    complete: Option<Box<CompleteReply>>,
    /// Whether a tree has changed since its nodes were shown.
    pub(super) has_changed: bool,
    misfits: u64,
}

/// A reply that is complete, while its records come.
struct CompleteReply {
    /// Without its text.
    item: Item,
    text: String,
    passages: ReplyPassages,
    /// What was said of it while it grew.
    before: ReplyPassages,
    /// What formatters say after it.
    after: Vec<Block>,
    /// Whether the last record is of a tree that goes on; and the passages since that began, which stand behind it if it ends in this
    /// reply.
    is_in_tree: bool,
    held: Vec<Item>,
    is_shown: bool,
}

impl RecordTrees {
    pub(super) fn new(drawn: DrawnRecords) -> Self {
        let (threads, growing) = (Map::default(), Map::default());
        Self { drawn, threads, growing, complete: None, has_changed: false, misfits: 0 }
    }

    /// Whether the records of this reply come just now.
    pub(super) fn is_at(&self, reply: &Id) -> bool {
        self.complete.as_ref().is_some_and(|complete| complete.item.id == *reply)
    }

    /// Puts a record into the tree of its thread.
    fn add(
        &mut self,
        item: &Item,
        chain: &mut FormatterChain,
        session: &Session,
    ) -> Result<PlacedRecord, RecordMisfit> {
        let placed = self.place(item, chain, session);
        chain.note_formatters();
        placed
    }

    fn place(
        &mut self,
        item: &Item,
        chain: &FormatterChain,
        session: &Session,
    ) -> Result<PlacedRecord, RecordMisfit> {
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&item.parent) {
            return Err(RecordMisfit::Wrong("there are too many trees".to_owned()));
        }
        let last = self.threads.get_mut(&item.parent).and_then(VecDeque::back_mut);
        if let Some(shown) = last.filter(|shown| !shown.tree.is_complete()) {
            return shown.add(item, session);
        }
        let (tree, accumulator) = match &self.drawn {
            DrawnRecords::Schema(schema) => (RecordTree::new(Arc::clone(schema)), None),
            DrawnRecords::Accumulator(name) => {
                let mut formatters = chain.formatters.iter();
                let accumulator = formatters.find_map(|formatter| formatter.plugins()?.accumulator(name));
                (RecordTree::default(), Some(accumulator.ok_or(RecordMisfit::Foreign)?))
            }
        };
        let mut shown = GrowingTree { tree, accumulator, line: item.line, is_over: false };
        let placed = shown.add(item, session);
        // One that ends nothing, or is of no type, begins no tree.
        if placed == Ok(PlacedRecord::Node) {
            self.threads.entry(item.parent.clone()).or_default().push_back(shown);
        }
        placed
    }

    /// Makes the trees of a thread anew without some records, which came to something else or to nothing, and shows them in place of
    /// what they were before.
    fn rebuild(
        &mut self,
        thread: Option<&Id>,
        is_left_out: impl Fn(&Id) -> bool,
        stage: &mut EntryStage,
        session: &Session,
    ) {
        let before = self.threads.swap_remove(&thread.cloned()).unwrap_or_default();
        for shown in &before {
            for logged in shown.tree.log().iter().filter(|logged| !is_left_out(&logged.id)) {
                let mut item = Item::new(logged.id.clone(), Kind::Record, shown.line);
                (item.parent, item.place) = (thread.cloned(), logged.place);
                item.record = Some(Arc::clone(&logged.record));
                // What doesn't fit without the others was shown, and is taken back with them.
                drop(self.add(&item, &mut stage.chain, session));
            }
        }
        before.iter().flat_map(GrowingTree::ids).for_each(|id| stage.updates.take_back(&id));
        self.put_changed(thread, stage, session);
    }

    /// Takes a reply that is complete, if it is to be said in passages. Returns whether it is.
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

    /// A record of a reply that still grows.
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
        if placed.is_ok() {
            if let Some(said) = passages.passage(text, line.clone()) {
                let passage = passages.item(grown, said);
                if let (OutputKind::Updates, Ok(entry)) =
                    (stage.chain.output_kind, stage.growing_entry(&passage, session))
                {
                    stage.updates.put_early(entry);
                }
                passages.shown.push(passage);
            }
            passages.pass(item);
        }
        if let Some(record) = &item.record {
            passages.known.insert(item.id.clone(), (Arc::clone(record), placed));
        }
        self.has_changed = true;
    }

    /// A record of the reply whose passages are said.
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
                // From here on it is another text.
                let others = std::mem::take(&mut reply.before.known);
                let is_of_reply = |id: &Id| *id == item.id || others.contains_key(id);
                self.rebuild(item.parent.as_ref(), is_of_reply, stage, context.session);
                self.add(item, &mut stage.chain, context.session)
            }
            None => self.add(item, &mut stage.chain, context.session),
        };
        if placed.is_ok() {
            if let Some(said) = reply.passages.passage(&reply.text, line.clone()) {
                reply.held.push(reply.passages.item(&reply.item, said));
            }
            reply.passages.pass(item);
            if !std::mem::replace(&mut reply.is_in_tree, true) {
                reply.say_held(stage, context);
            }
        }
        stage.count_item(item.kind, is_own_node(&placed));
        self.placed(item, &placed, stage, context);
        if placed == Ok(PlacedRecord::End) {
            reply.is_in_tree = false;
            reply.say_held(stage, context);
        }
        self.complete = Some(reply);
        stage.aside("after", Some(item), after, context);
    }

    /// A record that is shown as it is where items are, and one by itself.
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

    /// Shows what became of a record.
    fn placed(
        &mut self,
        item: &Item,
        placed: &Result<PlacedRecord, RecordMisfit>,
        stage: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        self.tell_misfit(item, placed, stage, context);
        self.has_changed = true;
        if *placed == Ok(PlacedRecord::End) {
            self.end_tree(item.parent.as_ref(), stage, context);
        }
    }

    /// All records of a reply have come: says what is behind the last of them.
    pub(super) fn end_passages(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let Some(mut complete) = self.complete.take() else { return };
        if let Some(said) = complete.passages.rest(&complete.text, false) {
            complete.held.push(complete.passages.item(&complete.item, said));
        }
        complete.say_held(stage, context);
        let CompleteReply { item, before, after, is_shown, .. } = *complete;
        // What was said while it grew and isn't any longer.
        let last = before.item(&item, String::new());
        for passage in before.shown.iter().chain([&last, &item]) {
            stage.updates.hide(&passage.id);
        }
        stage.count_item(item.kind, if is_shown { Ok(()) } else { Err("record") });
        stage.aside("after", Some(&item), after, context);
    }

    /// A record that was shown before its reply was complete is none, or the reply never becomes complete.
    pub(super) fn take_back(&mut self, id: &Id, stage: &mut EntryStage, session: &Session) {
        let is_in = |shown: &GrowingTree| shown.tree.log().iter().any(|logged| logged.id == *id);
        let thread = self.threads.iter().find(|(_, trees)| trees.iter().any(is_in));
        if let Some((thread, _)) = thread {
            let thread = thread.clone();
            self.rebuild(thread.as_ref(), |known| known == id, stage, session);
        }
    }

    /// A reply that grew is no more.
    pub(super) fn forget_passages(&mut self, reply: &Id, stage: &mut EntryStage) {
        let growing = self.growing.swap_remove(reply);
        for passage in growing.iter().flat_map(|growing| &growing.shown) {
            stage.updates.take_back(&passage.id);
        }
    }

    /// What is shown of a reply that grows: the prose behind its last record.
    pub(super) fn growing_passage<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        let (Content::Own(text), Kind::Reply) = (&item.text, item.kind) else {
            return Cow::Borrowed(item);
        };
        let none = ReplyPassages::default();
        let passages = self.growing.get(&item.id).unwrap_or(&none);
        let said = passages.rest(text, true).unwrap_or_default();
        Cow::Owned(passages.item(item, said))
    }

    /// What stands before the last passage of the replies that grow, and the trees that aren't complete.
    #[expect(clippy::vec_box, reason = "entries go on in boxes")]
    pub(super) fn open_entries(&mut self, stage: &mut EntryStage, session: &Session) -> Vec<Box<Entry>> {
        let mut entries = Vec::new();
        // What stands before the first record of its reply has the reply's id.
        let passages = self.growing.iter().flat_map(|(reply, growing)| {
            growing.shown.iter().map(move |passage| (passage.id == *reply, passage))
        });
        let (before, behind): (Vec<_>, Vec<_>) = passages.partition(|(is_first, _)| *is_first);
        for (_, passage) in before {
            entries.extend(stage.growing_entry(passage, session).ok());
        }
        for (thread, shown) in self
            .threads
            .iter_mut()
            .flat_map(|(thread, all)| all.iter_mut().map(move |shown| (&*thread, shown)))
        {
            let (nodes, has_before, has_behind) = shown.tree.around_last(PREVIEWED.0, PREVIEWED.1);
            let root = has_before.then_some(0).filter(|root| !nodes.contains(root));
            let last = nodes.last().copied();
            for number in root.into_iter().chain(nodes) {
                let level = shown.tree.node(number).and_then(|node| node.level).unwrap_or(0);
                let entry = stage
                    .chain
                    .uncounted(|chain| chain.node_entry(thread.as_ref(), shown, number, level, session));
                let Ok(mut entry) = entry else { continue };
                if root == Some(number) || has_behind && last == Some(number) {
                    entry.view.body.push(Block::line(Line::of("muted", "…")));
                }
                entries.push(entry);
            }
        }
        for (_, passage) in behind {
            entries.extend(stage.growing_entry(passage, session).ok());
        }
        entries
    }

    /// The input has ended: writes the trees that aren't complete.
    pub(super) fn end(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let threads: Vec<Option<Id>> = self.threads.keys().cloned().collect();
        for thread in threads {
            while self.threads.get(&thread).is_some_and(|trees| !trees.is_empty()) {
                self.end_tree(thread.as_ref(), stage, context);
            }
        }
        if self.misfits > TOLD_MISFITS {
            let more = self.misfits - TOLD_MISFITS;
            let text = format!("{more} more records have no place in a tree");
            stage.tell_notice("records".into(), None, text, context);
        }
    }

    /// Writes the first tree of a thread that isn't written yet, and what is wrong with it.
    fn end_tree(&mut self, thread: Option<&Id>, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        self.put_changed(thread, stage, context.session);
        let Some(of_thread) = self.threads.get_mut(&thread.cloned()) else { return };
        let Some(mut shown) = of_thread.pop_front() else { return };
        if of_thread.is_empty() {
            self.threads.shift_remove(&thread.cloned());
        }
        shown.is_over = true;
        let root = shown.tree.node(0).map_or_else(|| Id::from("tree"), |node| node.id.clone());
        if let OutputKind::Items = stage.chain.output_kind {
            let mut item = Item::new(Id::below(root.as_str(), "tree"), Kind::Record, shown.line);
            item.parent = thread.cloned();
            item.place = shown.tree.node(0).map_or(0, |node| node.place);
            match shown.json() {
                Ok(json) => {
                    if let Some(Ok(tree)) = json.map(Record::from_line) {
                        item.data.push(("tree", Fact::Node(tree.root().node())));
                        item.record = Some(Arc::new(tree));
                    }
                }
                Err(error) => drop(stage.chain.failures.insert(error.message)),
            }
            stage.chain.note_formatters();
            if shown.is_cut_short() {
                item.status = Status::Cancelled;
            }
            stage.begin_item(&item, context);
            let told = stage.tell(&item, context);
            stage.count_item(item.kind, told);
        } else {
            let nodes: Vec<(usize, u16)> = shown.tree.walk().collect();
            for (number, level) in nodes {
                let is_lost = shown.tree.node(number).is_some_and(|node| node.level.is_none());
                // Where what is shown can be changed, all else is there.
                let is_news = is_lost || level == 0 && !shown.tree.is_complete();
                if matches!(stage.chain.output_kind, OutputKind::Updates) && !is_news {
                    continue;
                }
                if let Ok(entry) = stage.chain.node_entry(thread, &mut shown, number, level, context.session)
                {
                    stage.show(entry, context);
                }
            }
        }
        stage.count_once();
        for (number, text) in (1..).zip(shown.faults()) {
            let id = Id::below(root.as_str(), &format!("fault-{number}"));
            stage.tell_notice(id, thread, text, context);
        }
    }

    /// Shows what has changed of all trees, each node once however often it did.
    pub(super) fn put_all_changed(&mut self, stage: &mut EntryStage, session: &Session) {
        if !std::mem::take(&mut self.has_changed) {
            return;
        }
        let threads: Vec<Option<Id>> = self.threads.keys().cloned().collect();
        for thread in threads {
            self.put_changed(thread.as_ref(), stage, session);
        }
    }

    /// Shows the nodes that have changed, where what is shown can be.
    fn put_changed(&mut self, thread: Option<&Id>, stage: &mut EntryStage, session: &Session) {
        let Some(of_thread) = self.threads.get_mut(&thread.cloned()) else { return };
        for shown in of_thread {
            let changed = shown.tree.take_changed();
            if !matches!(stage.chain.output_kind, OutputKind::Updates) {
                continue;
            }
            for number in changed {
                let level = shown.tree.node(number).and_then(|node| node.level).unwrap_or(0);
                match stage.chain.node_entry(thread, shown, number, level, session) {
                    Ok(entry) => stage.updates.put(entry),
                    // What it was shown as holds no longer.
                    Err(_) if shown.accumulator.is_some() => {
                        shown.ids().for_each(|id| stage.updates.take_back(&id));
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Tells what is wrong with a record that has no place in a tree. It stays in the prose.
    fn tell_misfit(
        &mut self,
        item: &Item,
        placed: &Result<PlacedRecord, RecordMisfit>,
        stage: &mut EntryStage,
        context: &mut ChangeContext<'_>,
    ) {
        let Err(RecordMisfit::Wrong(reason)) = placed else { return };
        self.misfits += 1;
        if self.misfits <= TOLD_MISFITS {
            let id = Id::below(item.id.as_str(), "misfit");
            let text = format!("a record has no place in the tree: {reason}");
            stage.tell_notice(id, item.parent.as_ref(), text, context);
        }
    }
}

/// Whether a record is shown as a node of its own. The error is the rule that hides it.
fn is_own_node(placed: &Result<PlacedRecord, RecordMisfit>) -> Result<(), &'static str> {
    if *placed == Ok(PlacedRecord::Node) { Ok(()) } else { Err("record") }
}

impl CompleteReply {
    /// Says the passages that were held back.
    fn say_held(&mut self, stage: &mut EntryStage, context: &mut ChangeContext<'_>) {
        for passage in std::mem::take(&mut self.held) {
            if let Ok(entry) = stage.chain.entry(&passage, context.session) {
                stage.show(entry, context);
                self.is_shown = true;
            }
        }
    }
}

impl EntryStage {
    fn tell_notice(&mut self, id: Id, thread: Option<&Id>, text: String, context: &mut ChangeContext<'_>) {
        let mut notice = Item::warning(id, "records", self.report.lines);
        notice.parent = thread.cloned();
        notice.text = Content::Own(text);
        self.item(&notice, None, context);
    }
}

impl FormatterChain {
    /// The entry of a node.
    fn node_entry(
        &mut self,
        thread: Option<&Id>,
        shown: &mut GrowingTree,
        number: usize,
        level: u16,
        session: &Session,
    ) -> Result<Box<Entry>, &'static str> {
        let node = shown.tree.node(number).ok_or("record")?;
        let mut item = Item::new(node.id.clone(), Kind::Record, shown.line);
        item.parent = thread.cloned();
        item.place = node.place;
        item.data.push(("value", Fact::Node(node.record.root().node())));
        item.data.push(("tree_level", Fact::Int(level.into())));
        item.record = Some(Arc::clone(&node.record));
        self.admits(&item)?;
        let view = match self.asked(&item, session) {
            Some(Verdict::Show(view)) => Some(view),
            Some(Verdict::Hide) => None,
            Some(Verdict::Pass) | None => {
                let (view, error) = shown.view(number, self.presentation, session);
                self.failures.extend(error.map(|error| error.message));
                self.note_formatters();
                view
            }
        };
        let node = shown.tree.node(number).ok_or("record")?;
        let mut entry = self.entry_of(&item, view.ok_or("record")?, session);
        entry.level = level;
        if level == 0 && (node.level.is_none() || !shown.tree.is_complete()) {
            let is_cut_short = node.level.is_none() || shown.is_cut_short();
            entry.status = match (shown.is_over, is_cut_short) {
                (false, _) => Status::Open,
                (true, true) => Status::Cancelled,
                (true, false) => Status::Done,
            };
        }
        // Who shows sub-agents must know whose tree it is, and draws it by levels.
        let is_drawn = matches!(self.output_kind, OutputKind::Writer(wants) if wants.agents || wants.nests);
        if let Some(parent) = node.parent.filter(|_| !is_drawn).and_then(|parent| shown.tree.node(parent)) {
            entry.parent = Some(parent.id.clone());
        }
        Ok(entry)
    }
}
