//! Records of replies as trees: the lines of the records give way to a tree of them, and the prose around them stays.
//!
//! ```text
//! reply ─▶ prose before the first record     an entry with the reply's id
//!          a tree, once it is complete       an entry for each node; where what is shown can be changed, as soon as the node is there
//!          prose behind a record             an entry with an id below the reply's
//! ```

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use crate::entry::{Block, Entry, Line};
use crate::fence::Fence;
use crate::formatter::{Observation, Verdict};
use crate::item::{Content, Fact, Id, Item, Kind, Status};
use crate::json::Record;
use crate::profile::DrawnRecords;
use crate::records::{PlacedRecord, RecordMisfit, RecordTree};
use crate::session::{Map, Session};

use super::chain::FormatterChain;
use super::growing_tree::{AccumulatedView, GrowingTree};
use super::{FormatStage, OutputKind};

/// Threads whose records make trees: more can't be at work at a time. Records of others stay prose.
const MAX_THREADS: usize = 256;
/// Replies that grow at a time.
const MAX_REPLIES: usize = 64;
/// Records without a place that are told; of more it is counted how many there are.
const TOLD_MISFITS: u64 = 20;
/// Nodes that a preview shows around the one that came last.
const PREVIEWED: (usize, usize) = (200, 5);

/// The trees of one output.
pub(in super::super) struct RecordTrees {
    drawn: DrawnRecords,
    /// The trees that weren't written to their ends, by the call of the sub-agent whose they are.
    threads: Map<Option<Id>, VecDeque<ShownTree>>,
    /// The replies that grow and have records.
    growing: Map<Id, ReplyPassages>,
    /// The reply whose records come just now.
    complete: Option<Box<CompleteReply>>,
    /// Whether a tree has changed since its nodes were shown.
    has_changed: bool,
    misfits: u64,
}

/// A tree, and where it is.
struct ShownTree {
    tree: GrowingTree,
    /// The line of its first record.
    line: u64,
    /// Whether no more records of it will come.
    is_over: bool,
}

/// The prose of a reply between its records.
#[derive(Default)]
struct ReplyPassages {
    /// Up to where its text is said.
    at: usize,
    /// The block of code that is open there.
    fence: Fence,
    /// How many of its records are in trees, and where the last of them is.
    records: u32,
    place: u32,
    /// What was said of it while it grew.
    shown: Vec<Item>,
    /// What was found out of its records while it grew.
    known: Map<Id, (Arc<Record>, Result<PlacedRecord, RecordMisfit>)>,
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
        stage: &mut FormatStage,
        session: &Session,
    ) -> Result<PlacedRecord, RecordMisfit> {
        let placed = self.place(item, stage, session);
        stage.chain.note_formatters();
        placed
    }

    fn place(
        &mut self,
        item: &Item,
        stage: &FormatStage,
        session: &Session,
    ) -> Result<PlacedRecord, RecordMisfit> {
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&item.parent) {
            return Err(RecordMisfit::Wrong("there are too many trees".to_owned()));
        }
        let last = self.threads.get_mut(&item.parent).and_then(VecDeque::back_mut);
        if let Some(shown) = last.filter(|shown| !shown.tree.is_complete()) {
            return shown.tree.add(item, session);
        }
        let mut tree = match &self.drawn {
            DrawnRecords::Schema(schema) => GrowingTree::Records(RecordTree::new(Arc::clone(schema))),
            DrawnRecords::Accumulator(name) => {
                let accumulator = stage
                    .chain
                    .formatters
                    .iter()
                    .find_map(|formatter| formatter.plugins()?.accumulator(name));
                GrowingTree::View(AccumulatedView::new(accumulator.ok_or(RecordMisfit::Foreign)?))
            }
        };
        let placed = tree.add(item, session);
        // One that ends nothing, or is of no type, begins no tree.
        if placed == Ok(PlacedRecord::Node) {
            let shown = ShownTree { tree, line: item.line, is_over: false };
            self.threads.entry(item.parent.clone()).or_default().push_back(shown);
        }
        placed
    }

    /// Makes the trees of a thread anew without some records, which came to something else or to nothing. Gives the ids of all nodes
    /// before.
    fn rebuild(
        &mut self,
        thread: Option<&Id>,
        is_left_out: impl Fn(&Id) -> bool,
        stage: &mut FormatStage,
        session: &Session,
    ) -> Vec<Id> {
        let before = self.threads.swap_remove(&thread.cloned()).unwrap_or_default();
        let nodes = before.iter().flat_map(|shown| shown.tree.ids()).collect();
        for shown in &before {
            for logged in shown.tree.log().iter().filter(|logged| !is_left_out(&logged.id)) {
                let mut item = Item::new(logged.id.clone(), Kind::Record, shown.line);
                (item.parent, item.place) = (thread.cloned(), logged.place);
                item.record = Some(Arc::clone(&logged.record));
                // What doesn't fit without the others was shown, and is taken back with them.
                drop(self.add(&item, stage, session));
            }
        }
        nodes
    }
}

impl ReplyPassages {
    /// The part of the text in front of a record, as far as something is said there; goes on behind the record. `record`: where its
    /// line is.
    fn passage(&mut self, text: &str, record: Range<usize>) -> Option<String> {
        let prose = text.get(self.at..record.start).unwrap_or_default();
        self.at = record.end;
        between_records(prose, &mut self.fence, true)
    }

    /// The rest of the text. Of one that grows, the last line is left out while it may become a record.
    fn rest(&self, text: &str, is_growing: bool) -> Option<String> {
        let mut prose = text.get(self.at..).unwrap_or_default();
        if !is_growing && self.at == 0 {
            // There was no record.
            return Some(text.to_owned());
        }
        if is_growing {
            let last = prose.rfind('\n').map_or(0, |feed| feed + 1);
            if prose[last..].trim_start().starts_with('{') {
                prose = &prose[..last];
            }
        }
        between_records(prose, &mut self.fence.clone(), is_growing)
    }

    /// The item that a passage is shown as.
    fn item(&self, reply: &Item, text: String) -> Item {
        let mut item = reply.copy_without_text();
        item.text = Content::Own(text);
        if self.records > 0 {
            item.id = Id::below(reply.id.as_str(), &format!("prose-{}", self.records));
            item.place = self.place;
        }
        item
    }

    fn pass(&mut self, record: &Item) {
        self.records = self.records.saturating_add(1);
        self.place = record.place;
    }
}

/// Whether a record is shown as a node of its own. The error is the rule that hides it.
fn is_own_node(placed: &Result<PlacedRecord, RecordMisfit>) -> Result<(), &'static str> {
    if *placed == Ok(PlacedRecord::Node) { Ok(()) } else { Err("record") }
}

/// A passage of Markdown by itself: a block of code that goes on in it begins again, and one that doesn't end in it ends. A block in
/// which there were records alone is left out. `is_followed`: whether a record comes behind it. `None`: it says nothing.
fn between_records(prose: &str, fence: &mut Fence, is_followed: bool) -> Option<String> {
    let mut out = String::with_capacity(prose.len());
    // The line that began the block which is open, if nothing of the block was said yet.
    let mut begun = fence.open().map(str::to_owned);
    for line in prose.split_inclusive('\n') {
        let written = line.trim_end();
        let was_open = fence.open().is_some();
        if fence.pass(written) {
            if !was_open {
                begun = Some(written.to_owned());
            } else if begun.take().is_none() {
                out.push_str(line);
            }
            continue;
        }
        if written.is_empty() && begun.is_some() {
            continue;
        }
        if let Some(begun) = begun.take() {
            out.push_str(&begun);
            out.push('\n');
        }
        out.push_str(line);
    }
    if let (Some(open), None, true) = (fence.open(), &begun, is_followed) {
        let marks = open.trim_start().trim_end_matches(|ch| !matches!(ch, '`' | '~'));
        let marks = &marks[..marks.len() - marks.trim_start_matches(['`', '~']).len()];
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(marks);
    }
    let said = out.trim_matches('\n');
    (!said.trim().is_empty()).then(|| said.to_owned())
}

impl FormatStage {
    /// Whether the records of an item are drawn as a tree.
    pub(super) fn draws_records(&self) -> bool {
        self.trees.is_some() && self.frame.is_none()
    }

    /// Lets `work` go on with the trees.
    fn with_trees<R: Default>(&mut self, work: impl FnOnce(&mut Self, &mut RecordTrees) -> R) -> R {
        let Some(mut trees) = self.trees.take() else { return R::default() };
        let result = work(self, &mut trees);
        self.trees = Some(trees);
        result
    }

    /// Takes a reply that is complete, if it is to be said in passages. Returns whether it is.
    pub(super) fn begin_passages(&mut self, reply: &Item, session: &Session, out: &mut dyn Write) -> bool {
        let is_taken = self.draws_records()
            && reply.kind == Kind::Reply
            && !matches!(self.chain.output_kind, OutputKind::Items)
            && reply.text_holds('{');
        if !is_taken {
            return false;
        }
        self.begin_item(reply, session, out);
        let after = self.chain.observe(Observation::Complete(reply), session);
        if let Some(change) = self.session_change(reply, session) {
            self.show(change, session, out);
        }
        if session.facts().model.is_some() {
            self.show_heading(session, out);
        }
        self.with_trees(|_, trees| {
            trees.complete = Some(Box::new(CompleteReply {
                item: reply.copy_without_text(),
                text: reply.text().into_owned(),
                passages: ReplyPassages::default(),
                before: trees.growing.swap_remove(&reply.id).unwrap_or_default(),
                after,
                is_in_tree: false,
                held: Vec::new(),
                is_shown: false,
            }));
        });
        true
    }

    /// A record of a reply that still grows.
    pub(super) fn grow_tree(&mut self, item: &Item, reply: &Id, line: &Range<usize>, session: &Session) {
        let Some(grown) = session.open_item(reply) else { return };
        let Content::Own(text) = &grown.text else { return };
        self.with_trees(|stage, trees| {
            if trees.growing.len() >= MAX_REPLIES && !trees.growing.contains_key(reply) {
                return;
            }
            let placed = trees.add(item, stage, session);
            let passages = trees.growing.entry(reply.clone()).or_default();
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
            trees.has_changed = true;
        });
    }

    /// A record of the reply whose passages are said.
    pub(super) fn tree_record(
        &mut self,
        item: &Item,
        line: &Range<usize>,
        session: &Session,
        out: &mut dyn Write,
    ) {
        self.begin_item(item, session, out);
        let after = self.chain.observe(Observation::Complete(item), session);
        self.with_trees(|stage, trees| {
            let Some(mut reply) = trees.complete.take() else { return };
            let is_same =
                |before: &Record| item.record.as_ref().is_some_and(|now| now.text() == before.text());
            let placed = match reply.before.known.swap_remove(&item.id) {
                Some((before, placed)) if is_same(&before) => placed,
                Some(_) => {
                    // From here on it is another text.
                    let others = std::mem::take(&mut reply.before.known);
                    let is_of_reply = |id: &Id| *id == item.id || others.contains_key(id);
                    let nodes = trees.rebuild(item.parent.as_ref(), is_of_reply, stage, session);
                    stage.put_anew(trees, item.parent.as_ref(), nodes, session);
                    trees.add(item, stage, session)
                }
                None => trees.add(item, stage, session),
            };
            if placed.is_ok() {
                let CompleteReply { item: of, text, passages, held, .. } = &mut *reply;
                if let Some(said) = passages.passage(text, line.clone()) {
                    held.push(passages.item(of, said));
                }
                passages.pass(item);
                if !std::mem::replace(&mut reply.is_in_tree, true) {
                    stage.say_passages(&mut reply, session, out);
                }
            }
            stage.count_item(item.kind, is_own_node(&placed));
            stage.placed(trees, item, &placed, session, out);
            if placed == Ok(PlacedRecord::End) {
                reply.is_in_tree = false;
                stage.say_passages(&mut reply, session, out);
            }
            trees.complete = Some(reply);
        });
        if !after.is_empty() {
            self.aside("after", Some(item), after, session, out);
        }
    }

    /// A record that is shown as it is where items are, and one by itself.
    pub(super) fn own_record(&mut self, item: &Item, session: &Session, out: &mut dyn Write) {
        if !self.draws_records() {
            return self.item(item, session, out);
        }
        self.with_trees(|stage, trees| {
            let placed = trees.add(item, stage, session);
            if placed.is_ok() && !matches!(stage.chain.output_kind, OutputKind::Items) {
                stage.begin_item(item, session, out);
                let after = stage.chain.observe(Observation::Complete(item), session);
                stage.count_item(item.kind, is_own_node(&placed));
                if !after.is_empty() {
                    stage.aside("after", Some(item), after, session, out);
                }
            } else {
                stage.item(item, session, out);
            }
            stage.placed(trees, item, &placed, session, out);
        });
    }

    /// Shows what became of a record.
    fn placed(
        &mut self,
        trees: &mut RecordTrees,
        item: &Item,
        placed: &Result<PlacedRecord, RecordMisfit>,
        session: &Session,
        out: &mut dyn Write,
    ) {
        self.tell_misfit(trees, item, placed, session, out);
        trees.has_changed = true;
        if *placed == Ok(PlacedRecord::End) {
            self.end_tree(trees, item.parent.as_ref(), session, out);
        }
    }

    /// All records of a reply have come: says what is behind the last of them.
    pub(super) fn end_passages(&mut self, session: &Session, out: &mut dyn Write) {
        let complete = self.trees.as_mut().and_then(|trees| trees.complete.take());
        let Some(mut complete) = complete else { return };
        if let Some(said) = complete.passages.rest(&complete.text, false) {
            complete.held.push(complete.passages.item(&complete.item, said));
        }
        self.say_passages(&mut complete, session, out);
        let CompleteReply { item, before, after, is_shown, .. } = *complete;
        // What was said while it grew and isn't any longer.
        let last = before.item(&item, String::new());
        for passage in before.shown.iter().chain([&last, &item]) {
            self.updates.hide(&passage.id);
        }
        self.count_item(item.kind, if is_shown { Ok(()) } else { Err("record") });
        if !after.is_empty() {
            self.aside("after", Some(&item), after, session, out);
        }
    }

    /// A record that was shown before its reply was complete is none, or the reply never becomes complete.
    pub(super) fn take_back_record(&mut self, id: &Id, session: &Session) {
        self.with_trees(|stage, trees| {
            let is_in = |shown: &ShownTree| shown.tree.log().iter().any(|logged| logged.id == *id);
            let thread = trees.threads.iter().find(|(_, trees)| trees.iter().any(is_in));
            let Some(thread) = thread.map(|(thread, _)| thread.clone()) else { return };
            let nodes = trees.rebuild(thread.as_ref(), |known| known == id, stage, session);
            stage.put_anew(trees, thread.as_ref(), nodes, session);
        });
    }

    /// A reply that grew is no more.
    pub(super) fn forget_passages(&mut self, reply: &Id) {
        let growing = self.trees.as_mut().and_then(|trees| trees.growing.swap_remove(reply));
        for passage in growing.iter().flat_map(|growing| &growing.shown) {
            self.updates.take_back(&passage.id);
        }
    }

    /// What is shown of a reply that grows: the prose behind its last record.
    pub(in super::super) fn growing_passage<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        let (Some(trees), Content::Own(text), Kind::Reply) = (&self.trees, &item.text, item.kind) else {
            return Cow::Borrowed(item);
        };
        let none = ReplyPassages::default();
        let passages = trees.growing.get(&item.id).unwrap_or(&none);
        let said = passages.rest(text, true).unwrap_or_default();
        Cow::Owned(passages.item(item, said))
    }

    /// What stands before the last passage of the replies that grow, and the trees that aren't complete.
    #[expect(clippy::vec_box, reason = "entries go on in boxes")]
    pub(in super::super) fn open_trees(&mut self, session: &Session) -> Vec<Box<Entry>> {
        self.with_trees(|stage, trees| {
            let mut entries = Vec::new();
            // What stands before the first record of its reply has the reply's id.
            let passages = trees.growing.iter().flat_map(|(reply, growing)| {
                growing.shown.iter().map(move |passage| (passage.id == *reply, passage))
            });
            let (before, behind): (Vec<_>, Vec<_>) = passages.partition(|(is_first, _)| *is_first);
            for (_, passage) in before {
                entries.extend(stage.growing_entry(passage, session).ok());
            }
            for (thread, shown) in trees
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
        })
    }

    /// The input has ended: writes the trees that aren't complete.
    pub(super) fn end_trees(&mut self, session: &Session, out: &mut dyn Write) {
        self.with_trees(|stage, trees| {
            let threads: Vec<Option<Id>> = trees.threads.keys().cloned().collect();
            for thread in threads {
                while trees.threads.get(&thread).is_some_and(|trees| !trees.is_empty()) {
                    stage.end_tree(trees, thread.as_ref(), session, out);
                }
            }
            if trees.misfits > TOLD_MISFITS {
                let more = trees.misfits - TOLD_MISFITS;
                let text = format!("{more} more records have no place in a tree");
                stage.tell_notice("records".into(), None, text, session, out);
            }
        });
    }

    /// Writes the first tree of a thread that isn't written yet, and what is wrong with it.
    fn end_tree(
        &mut self,
        trees: &mut RecordTrees,
        thread: Option<&Id>,
        session: &Session,
        out: &mut dyn Write,
    ) {
        self.put_changed(trees, thread, session);
        let Some(of_thread) = trees.threads.get_mut(&thread.cloned()) else { return };
        let Some(mut shown) = of_thread.pop_front() else { return };
        if of_thread.is_empty() {
            trees.threads.shift_remove(&thread.cloned());
        }
        shown.is_over = true;
        let root = shown.tree.node(0).map_or_else(|| Id::from("tree"), |node| node.id.clone());
        if let OutputKind::Items = self.chain.output_kind {
            let mut item = Item::new(Id::below(root.as_str(), "tree"), Kind::Record, shown.line);
            item.parent = thread.cloned();
            item.place = shown.tree.node(0).map_or(0, |node| node.place);
            match shown.tree.json() {
                Ok(json) => {
                    if let Some(Ok(tree)) = json.map(Record::from_line) {
                        item.data.push(("tree", Fact::Node(tree.root().node())));
                        item.record = Some(Arc::new(tree));
                    }
                }
                Err(error) => drop(self.chain.failures.insert(error.message)),
            }
            self.chain.note_formatters();
            if shown.tree.is_cut_short() {
                item.status = Status::Cancelled;
            }
            self.begin_item(&item, session, out);
            let told = self.tell(&item, session, out);
            self.count_item(item.kind, told);
        } else {
            let nodes: Vec<(usize, u16)> = shown.tree.walk().collect();
            for (number, level) in nodes {
                let is_lost = shown.tree.node(number).is_some_and(|node| node.level.is_none());
                // Where what is shown can be changed, all else is there.
                let is_news = is_lost || level == 0 && !shown.tree.is_complete();
                if matches!(self.chain.output_kind, OutputKind::Updates) && !is_news {
                    continue;
                }
                if let Ok(entry) = self.chain.node_entry(thread, &mut shown, number, level, session) {
                    self.show(entry, session, out);
                }
            }
        }
        self.count_once();
        for (number, text) in (1..).zip(shown.tree.faults()) {
            let id = Id::below(root.as_str(), &format!("fault-{number}"));
            self.tell_notice(id, thread, text, session, out);
        }
    }

    /// Whether a tree has changed that a sink shows.
    pub(in super::super) fn has_changed_trees(&self) -> bool {
        matches!(self.chain.output_kind, OutputKind::Updates)
            && self.trees.as_ref().is_some_and(|trees| trees.has_changed)
    }

    /// Shows what has changed of all trees, each node once however often it did.
    pub(in super::super) fn put_trees(&mut self, session: &Session) {
        if !self.has_changed_trees() {
            return;
        }
        self.with_trees(|stage, trees| {
            trees.has_changed = false;
            let threads: Vec<Option<Id>> = trees.threads.keys().cloned().collect();
            for thread in threads {
                stage.put_changed(trees, thread.as_ref(), session);
            }
        });
    }

    /// Shows the nodes that have changed, where what is shown can be.
    fn put_changed(&mut self, trees: &mut RecordTrees, thread: Option<&Id>, session: &Session) {
        let Some(of_thread) = trees.threads.get_mut(&thread.cloned()) else { return };
        for shown in of_thread {
            let changed = shown.tree.take_changed();
            if !matches!(self.chain.output_kind, OutputKind::Updates) {
                continue;
            }
            for number in changed {
                let level = shown.tree.node(number).and_then(|node| node.level).unwrap_or(0);
                match self.chain.node_entry(thread, shown, number, level, session) {
                    Ok(entry) => self.updates.put(entry),
                    // What it was shown as holds no longer.
                    Err(_) if matches!(shown.tree, GrowingTree::View(_)) => {
                        shown.tree.ids().for_each(|id| self.updates.take_back(&id));
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Shows the trees of a thread as they are now, after what they were before: nodes of these ids.
    fn put_anew(&mut self, trees: &mut RecordTrees, thread: Option<&Id>, before: Vec<Id>, session: &Session) {
        for id in before {
            self.updates.take_back(&id);
        }
        self.put_changed(trees, thread, session);
    }

    /// Says the passages of a reply that were held back.
    fn say_passages(&mut self, reply: &mut CompleteReply, session: &Session, out: &mut dyn Write) {
        for passage in std::mem::take(&mut reply.held) {
            if let Ok(entry) = self.chain.entry(&passage, session) {
                self.show(entry, session, out);
                reply.is_shown = true;
            }
        }
    }

    /// Tells what is wrong with a record that has no place in a tree. It stays in the prose.
    fn tell_misfit(
        &mut self,
        trees: &mut RecordTrees,
        item: &Item,
        placed: &Result<PlacedRecord, RecordMisfit>,
        session: &Session,
        out: &mut dyn Write,
    ) {
        let Err(RecordMisfit::Wrong(reason)) = placed else { return };
        trees.misfits += 1;
        if trees.misfits <= TOLD_MISFITS {
            let id = Id::below(item.id.as_str(), "misfit");
            let text = format!("a record has no place in the tree: {reason}");
            self.tell_notice(id, item.parent.as_ref(), text, session, out);
        }
    }

    fn tell_notice(
        &mut self,
        id: Id,
        thread: Option<&Id>,
        text: String,
        session: &Session,
        out: &mut dyn Write,
    ) {
        let mut notice = Item::new(id, Kind::Notice, self.report.lines);
        notice.parent = thread.cloned();
        notice.text = Content::Own(text);
        let fact = |text: &str| Fact::Text(text.to_owned());
        notice.data.extend([("event", fact("records")), ("level", fact("warning"))]);
        self.item(&notice, session, out);
    }
}

impl FormatterChain {
    /// The entry of a node.
    fn node_entry(
        &mut self,
        thread: Option<&Id>,
        shown: &mut ShownTree,
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
                let (view, error) = shown.tree.view(number, self.presentation, session);
                self.failures.extend(error.map(|error| error.message));
                self.note_formatters();
                view
            }
        };
        let node = shown.tree.node(number).ok_or("record")?;
        let mut entry = self.entry_of(&item, view.ok_or("record")?, session);
        entry.level = level;
        if level == 0 && (node.level.is_none() || !shown.tree.is_complete()) {
            let is_cut_short = node.level.is_none() || shown.tree.is_cut_short();
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
