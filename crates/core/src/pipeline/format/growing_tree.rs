//! The tree that the records of a thread form, by a schema or by an accumulator.

use std::sync::Arc;

use crate::entry::{Block, View};
use crate::formatter::{Accumulator, Formatter, Verdict};
use crate::item::{Fact, Id, Item, Kind, Status};
use crate::json::Record;
use crate::pipeline::change_context::ChangeContext;
use crate::profile::DrawnRecords;
use crate::records::{Placement, RecordMisfit, RecordTree, TreeNode};
use crate::session::{Map, Session};
use crate::text::Text;

use super::chain::{EntryResult, FormatterChain, OutputKind};
use super::entries::EntryStage;

/// How many records one accumulator gets at most.
const MAX_RECORDS: usize = 250_000;

/// A tree of the records of a thread.
pub(super) struct GrowingTree {
    /// With an accumulator, the tree is a single node, whose view covers all records.
    pub(super) tree: RecordTree,
    pub(super) accumulator: Option<Box<dyn Accumulator>>,
    /// The id of its first record.
    pub(super) root: Id,
    /// The call of the sub-agent that writes it; `None` for the main thread.
    thread: Option<Id>,
    /// The line number of its first record.
    line: u64,
    /// The id, the place and the JSON of each record that was added, in the order in which they came.
    pub(super) log: Vec<(Id, u32, Record)>,
    /// The nodes that came from a growing reply and may be taken back with it: by the ids of their records.
    early: Map<Id, usize>,
}

impl GrowingTree {
    /// An empty tree for the records that are drawn, in the thread of a record, which is its first; `None` if no formatter has the
    /// accumulator.
    pub(super) fn new(
        drawn: Option<&DrawnRecords>,
        first: &Item,
        formatters: &[Box<dyn Formatter>],
    ) -> Option<Self> {
        let accumulator_of = |name| formatters.iter().find_map(|each| each.plugins()?.accumulator(name));
        let (tree, accumulator) = match drawn? {
            DrawnRecords::Schema(schema) => (RecordTree::new(Arc::clone(schema)), None),
            DrawnRecords::Accumulator(name) => (RecordTree::default(), Some(accumulator_of(name)?)),
        };
        let (root, thread) = (first.id.clone(), first.parent.clone());
        Some(Self {
            tree,
            accumulator,
            root,
            thread,
            line: first.line,
            log: Vec::new(),
            early: Map::default(),
        })
    }

    /// An item in the thread of the tree: a record that was added, a node, or the whole tree.
    pub(super) fn item(&self, id: &Id, place: u32, record: Option<&Record>) -> Item {
        let mut item = Item::new(id.clone(), Kind::Record, self.line);
        item.parent.clone_from(&self.thread);
        (item.place, item.record) = (place, record.cloned());
        item
    }

    /// Adds the next record.
    pub(super) fn add(&mut self, item: &Item, session: &Session) -> Placement {
        let record = item.record.as_ref().ok_or(RecordMisfit::Foreign)?.detached();
        let placed = match &mut self.accumulator {
            None => self.tree.add(&item.id, item.place, &record)?,
            Some(_) if self.log.len() == MAX_RECORDS => {
                return Err(RecordMisfit::Wrong("there are too many".to_owned()));
            }
            Some(accumulator) => match accumulator.add(item, session) {
                Ok(true) => self.tree.add_to_one(&item.id, item.place, &record),
                Ok(false) => return Err(RecordMisfit::Foreign),
                Err(error) => return Err(RecordMisfit::Wrong(error.message)),
            },
        };
        self.log.push((item.id.clone(), item.place, record));
        Ok(placed)
    }

    /// Notes that the record of the last node is one of a growing reply.
    pub(super) fn note_early(&mut self, record: &Id) {
        self.early.insert(record.clone(), self.tree.last_node());
    }

    /// Notes that the reply with this record is complete: its node is shown as such.
    pub(super) fn confirm(&mut self, record: &Id) {
        if let Some(number) = self.early.swap_remove(record) {
            self.tree.touch(number);
        }
    }

    /// The records as JSON, shown if the accumulator shows nothing: no record may be lost.
    pub(super) fn plain(&self) -> View {
        let lines: Vec<&str> = self.log.iter().map(|(.., record)| record.text()).collect();
        let (text, lang) = (Text::clean(&lines.join("\n")), Some(Text::own("json")));
        View::of(vec![Block::Code { text, lang, start: None, role: "result.text".into() }])
    }

    /// The end that the schema requires, if it is missing. With an accumulator, the tree may end at any record.
    pub(super) fn missing_end(&self) -> Option<&str> {
        self.tree.schema().end.as_deref().filter(|_| !self.tree.is_complete())
    }

    /// All nodes, in tree order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &TreeNode> {
        self.tree.walk().filter_map(|(number, _)| self.tree.node(number))
    }

    /// The faults to report at the end of the tree.
    pub(super) fn faults(&self) -> impl Iterator<Item = String> {
        let orphans = match self.tree.orphans() {
            0 => None,
            1 => Some("a record names a parent that never came".to_owned()),
            lost => Some(format!("{lost} records name parents that never came")),
        };
        let name = &self.tree.schema().name;
        let end = self.missing_end().map(|end| format!("the {name} isn't complete: there is no `{end}`"));
        orphans.into_iter().chain(end)
    }

    /// Adds the changed nodes to the updates, if the output takes updates.
    pub(super) fn put_changed(&mut self, next: &mut EntryStage, session: &Session) {
        let changed = self.tree.take_changed();
        if !next.takes_updates() {
            return;
        }
        for (number, level) in changed {
            match self.entry(number, level, &mut next.chain, session) {
                Ok(entry) if self.early.contains_key(&entry.id) => next.updates.put_growing(entry),
                Ok(entry) => next.updates.put(entry),
                // What the accumulator showed before no longer holds.
                Err(_) if self.accumulator.is_some() => next.updates.take_back(&self.root),
                Err(_) => {}
            }
        }
    }

    /// Shows the nodes of the tree, which has ended. A sink that takes updates already shows most of them.
    pub(super) fn show(&mut self, next: &mut EntryStage, context: &mut ChangeContext<'_>) {
        let nodes: Vec<(usize, u16)> = self.tree.walk().collect();
        for (number, level) in nodes {
            let is_lost = self.tree.node(number).is_some_and(|node| node.level.is_none());
            let is_news = is_lost || level == 0 && !self.tree.is_complete();
            if next.takes_updates() && !is_news {
                continue;
            }
            if let Ok(mut entry) = self.entry(number, level, &mut next.chain, context.session) {
                if entry.status == Status::Open {
                    let is_cut_short = is_lost || self.missing_end().is_some();
                    entry.status = if is_cut_short { Status::Cancelled } else { Status::Done };
                }
                next.show(entry, context);
            }
        }
    }

    /// Makes an item of the whole tree, with the tree as JSON.
    pub(super) fn whole_item(&mut self, chain: &mut FormatterChain) -> Item {
        let place = self.tree.node(0).map_or(0, |node| node.place);
        let json = match &mut self.accumulator {
            None => Ok(Some(self.tree.json())),
            Some(accumulator) => accumulator.json(),
        };
        let json = json.unwrap_or_else(|error| {
            chain.failures.insert(error.message);
            None
        });
        chain.note_failures();
        let json = json.and_then(|json| Record::from_line(json).ok());
        let mut item = self.item(&Id::below(self.root.as_str(), "tree"), place, json.as_ref());
        item.data.extend(json.map(|json| ("tree", Fact::Node(json.root().node()))));
        if self.missing_end().is_some() {
            item.status = Status::Cancelled;
        }
        item
    }

    /// Formats a node. The error is the rule that hides it.
    pub(super) fn entry(
        &mut self,
        number: usize,
        level: u16,
        chain: &mut FormatterChain,
        session: &Session,
    ) -> EntryResult {
        let node = self.tree.node(number).ok_or("record")?;
        let mut item = self.item(&node.id, node.place, Some(&node.record));
        item.data.push(("value", Fact::Node(node.record.root().node())));
        item.data.push(("tree_level", Fact::Int(level.into())));
        chain.admits(&item)?;
        let is_open = level == 0 && (node.level.is_none() || !self.tree.is_complete());
        // A writer that shows sub-agents must know whose tree it is; it draws the tree by levels.
        let is_drawn = matches!(chain.output_kind, OutputKind::Writer(wants) if wants.agents || wants.nests);
        let parent = node.parent().filter(|_| !is_drawn).and_then(|parent| self.tree.node(parent));
        let parent = parent.map(|parent| parent.id.clone());
        let view = chain.view_or(&item, session, |chain| self.view(number, chain, session));
        let mut entry = chain.entry_of(&item, view.ok_or("record")?, session);
        entry.level = level;
        if is_open {
            entry.status = Status::Open;
        }
        entry.parent = parent.or(entry.parent);
        Ok(entry)
    }

    /// The view of a node that no formatter decides; `None` hides it.
    fn view(&mut self, number: usize, chain: &mut FormatterChain, session: &Session) -> Option<View> {
        let Some(accumulator) = &mut self.accumulator else {
            return (chain.presentation.node)(&self.tree, self.tree.node(number)?);
        };
        let verdict = accumulator.view(session).unwrap_or_else(|error| {
            chain.failures.extend(chain.is_counting.then_some(error.message));
            Verdict::Pass
        });
        chain.note_failures();
        match verdict {
            Verdict::Show(view) => Some(view),
            Verdict::Hide => None,
            Verdict::Pass => Some(self.plain()),
        }
    }
}
