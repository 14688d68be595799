//! What records of one thread grow into: a tree by a schema, or what an accumulator makes of them.

use crate::entry::{Block, View};
use crate::formatter::{Accumulator, FormatError, Presentation, Verdict};
use crate::item::{Id, Item};
use crate::records::{LoggedRecord, PlacedRecord, RecordMisfit, RecordTree, TreeNode};
use crate::session::Session;
use crate::text::Text;

/// Longest list of records that one accumulator gets.
const MAX_RECORDS: usize = 250_000;

/// What the records of a thread grow into.
pub(super) enum GrowingTree {
    Records(RecordTree),
    View(AccumulatedView),
}

/// What an accumulator makes of records: one node, with a view of all of them.
pub(super) struct AccumulatedView {
    accumulator: Box<dyn Accumulator>,
    node: Option<TreeNode>,
    log: Vec<LoggedRecord>,
    is_changed: bool,
}

impl AccumulatedView {
    pub(super) fn new(accumulator: Box<dyn Accumulator>) -> Self {
        Self { accumulator, node: None, log: Vec::new(), is_changed: false }
    }

    fn add(&mut self, item: &Item, session: &Session) -> Result<PlacedRecord, RecordMisfit> {
        let record = item.record.as_ref().ok_or(RecordMisfit::Foreign)?;
        if self.log.len() == MAX_RECORDS {
            return Err(RecordMisfit::Wrong("there are too many".to_owned()));
        }
        match self.accumulator.add(item, session) {
            Ok(true) => {}
            Ok(false) => return Err(RecordMisfit::Foreign),
            Err(error) => return Err(RecordMisfit::Wrong(error.message)),
        }
        self.log.push(LoggedRecord::new(&item.id, item.place, record));
        self.is_changed = true;
        if self.node.is_some() {
            return Ok(PlacedRecord::Again);
        }
        self.node = Some(TreeNode::alone(&item.id, item.place, record));
        Ok(PlacedRecord::Node)
    }

    /// The records as they are: nothing of them may be lost.
    fn plain(&self) -> View {
        let lines: Vec<&str> = self.log.iter().map(|logged| logged.record.text()).collect();
        let (text, lang) = (Text::clean(&lines.join("\n")), Some(Text::own("json")));
        View::of(vec![Block::Code { text, lang, start: None, role: "result.text".into() }])
    }
}

impl GrowingTree {
    /// Takes the next record.
    pub(super) fn add(&mut self, item: &Item, session: &Session) -> Result<PlacedRecord, RecordMisfit> {
        match self {
            Self::Records(tree) => {
                let record = item.record.as_ref().ok_or(RecordMisfit::Foreign)?;
                tree.add(&item.id, item.place, record)
            }
            Self::View(view) => view.add(item, session),
        }
    }

    /// Whether it must be complete, and isn't. What an accumulator made of records may end at any of them.
    pub(super) fn is_cut_short(&self) -> bool {
        matches!(self, Self::Records(tree) if !tree.is_complete() && tree.schema().end.is_some())
    }

    /// Whether a record said that it is complete. An accumulator's never is, before the input ends.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self, Self::Records(tree) if tree.is_complete())
    }

    /// The records that it was made of.
    pub(super) fn log(&self) -> &[LoggedRecord] {
        match self {
            Self::Records(tree) => tree.log(),
            Self::View(view) => &view.log,
        }
    }

    /// A node by its number.
    pub(super) fn node(&self, number: usize) -> Option<&TreeNode> {
        match self {
            Self::Records(tree) => tree.node(number),
            Self::View(view) => view.node.as_ref().filter(|_| number == 0),
        }
    }

    /// The nodes in their order, each with its level.
    pub(super) fn walk(&self) -> Box<dyn Iterator<Item = (usize, u16)> + '_> {
        match self {
            Self::Records(tree) => Box::new(tree.walk()),
            Self::View(view) => Box::new(view.node.iter().map(|_| (0, 0))),
        }
    }

    /// The ids of all nodes.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        self.walk().filter_map(|(number, _)| Some(self.node(number)?.id.clone()))
    }

    /// See [`RecordTree::take_changed`].
    pub(super) fn take_changed(&mut self) -> Vec<usize> {
        match self {
            Self::Records(tree) => tree.take_changed(),
            Self::View(view) => {
                if std::mem::take(&mut view.is_changed) {
                    vec![0]
                } else {
                    Vec::new()
                }
            }
        }
    }

    /// See [`RecordTree::around_last`].
    pub(super) fn around_last(&self, before: usize, behind: usize) -> (Vec<usize>, bool, bool) {
        match self {
            Self::Records(tree) => tree.around_last(before, behind),
            Self::View(view) => (view.node.iter().map(|_| 0).collect(), false, false),
        }
    }

    /// What is said of a node, `None`: nothing; and what went wrong.
    pub(super) fn view(
        &mut self,
        number: usize,
        presentation: Presentation,
        session: &Session,
    ) -> (Option<View>, Option<FormatError>) {
        match self {
            Self::Records(tree) => (tree.node(number).and_then(|node| (presentation.node)(tree, node)), None),
            Self::View(view) => match view.accumulator.view(session) {
                Ok(Verdict::Show(said)) => (Some(said), None),
                Ok(Verdict::Hide) => (None, None),
                Ok(Verdict::Pass) => (Some(view.plain()), None),
                Err(error) => (Some(view.plain()), Some(error)),
            },
        }
    }

    /// The whole of it as JSON, if there is any.
    pub(super) fn json(&mut self) -> Result<Option<String>, FormatError> {
        match self {
            Self::Records(tree) => Ok(Some(tree.json())),
            Self::View(view) => view.accumulator.json(),
        }
    }

    /// What is to be told at its end.
    pub(super) fn faults(&self) -> Vec<String> {
        let Self::Records(tree) = self else { return Vec::new() };
        let mut faults = Vec::new();
        match tree.orphans() {
            0 => {}
            1 => faults.push("a record names a parent that never came".to_owned()),
            lost => faults.push(format!("{lost} records name parents that never came")),
        }
        let schema = tree.schema();
        if let (false, Some(end)) = (tree.is_complete(), &schema.end) {
            faults.push(format!("the {} isn't complete: there is no `{end}`", schema.name));
        }
        faults
    }
}
