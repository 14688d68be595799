//! The tree that the records of a thread form, by a schema or by an accumulator.

use std::sync::Arc;

use crate::entry::{Block, View};
use crate::formatter::{Accumulator, FormatError, Formatter, Presentation, Verdict};
use crate::item::{Id, Item};
use crate::json::Record;
use crate::profile::DrawnRecords;
use crate::records::{PlacedRecord, RecordMisfit, RecordTree};
use crate::session::Session;
use crate::text::Text;

/// How many records one accumulator gets at most.
const MAX_RECORDS: usize = 250_000;

/// A record that was added to a tree.
pub(super) struct LoggedRecord {
    pub(super) id: Id,
    pub(super) place: u32,
    pub(super) record: Record,
}

/// A tree of the records of a thread.
pub(super) struct GrowingTree {
    /// With an accumulator, the tree is a single node, whose view covers all records.
    pub(super) tree: RecordTree,
    pub(super) accumulator: Option<Box<dyn Accumulator>>,
    /// The call of the sub-agent that writes it; `None` for the main thread.
    pub(super) thread: Option<Id>,
    /// The line number of its first record.
    pub(super) line: u64,
    /// The records that were added, in the order in which they came.
    pub(super) log: Vec<LoggedRecord>,
}

impl GrowingTree {
    /// An empty tree in the thread of a record, which is its first; `None` if no formatter has the accumulator.
    pub(super) fn new(drawn: &DrawnRecords, first: &Item, formatters: &[Box<dyn Formatter>]) -> Option<Self> {
        let (tree, accumulator) = match drawn {
            DrawnRecords::Schema(schema) => (RecordTree::new(Arc::clone(schema)), None),
            DrawnRecords::Accumulator(name) => {
                let mut formatters = formatters.iter();
                let accumulator = formatters.find_map(|formatter| formatter.plugins()?.accumulator(name))?;
                (RecordTree::default(), Some(accumulator))
            }
        };
        Some(Self { tree, accumulator, thread: first.parent.clone(), line: first.line, log: Vec::new() })
    }

    /// Adds the next record.
    pub(super) fn add(&mut self, item: &Item, session: &Session) -> Result<PlacedRecord, RecordMisfit> {
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
        self.log.push(LoggedRecord { id: item.id.clone(), place: item.place, record });
        Ok(placed)
    }

    /// The records as JSON, shown if the accumulator shows nothing: no record may be lost.
    fn plain(&self) -> View {
        let lines: Vec<&str> = self.log.iter().map(|logged| logged.record.text()).collect();
        let (text, lang) = (Text::clean(&lines.join("\n")), Some(Text::own("json")));
        View::of(vec![Block::Code { text, lang, start: None, role: "result.text".into() }])
    }

    /// Whether the end that the schema requires is missing. With an accumulator, the tree may end at any record.
    pub(super) fn is_cut_short(&self) -> bool {
        !self.tree.is_complete() && self.tree.schema().end.is_some()
    }

    /// The ids of all nodes.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        self.tree.walk().filter_map(|(number, _)| Some(self.tree.node(number)?.id.clone()))
    }

    /// The view of a node, `None` if it is hidden, and the error of the accumulator.
    pub(super) fn view(
        &mut self,
        number: usize,
        presentation: Presentation,
        session: &Session,
    ) -> (Option<View>, Option<FormatError>) {
        let Some(accumulator) = &mut self.accumulator else {
            return (self.tree.node(number).and_then(|node| (presentation.node)(&self.tree, node)), None);
        };
        match accumulator.view(session) {
            Ok(Verdict::Show(view)) => (Some(view), None),
            Ok(Verdict::Hide) => (None, None),
            Ok(Verdict::Pass) => (Some(self.plain()), None),
            Err(error) => (Some(self.plain()), Some(error)),
        }
    }

    /// The whole tree as JSON; `None` if the accumulator has none.
    pub(super) fn json(&mut self) -> Result<Option<String>, FormatError> {
        match &mut self.accumulator {
            None => Ok(Some(self.tree.json())),
            Some(accumulator) => accumulator.json(),
        }
    }

    /// The faults to report at the end of the tree.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match self.tree.orphans() {
            0 => {}
            1 => faults.push("a record names a parent that never came".to_owned()),
            lost => faults.push(format!("{lost} records name parents that never came")),
        }
        let schema = self.tree.schema();
        if let (false, Some(end)) = (self.tree.is_complete(), &schema.end) {
            faults.push(format!("the {} isn't complete: there is no `{end}`", schema.name));
        }
        faults
    }
}
