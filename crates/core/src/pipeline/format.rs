//! From items to entries, for one output: the filter, the formatters, the masking of secrets, the limits, and the outline.

mod chain;
mod entries;
mod growing_tree;
mod passages;
mod record_trees;
mod whole_records;

use std::fmt;

use crate::item::{Item, Kind};
use crate::json::Record;
use crate::profile::Profile;
use crate::session::SessionChange;

use super::Output;
use super::change_context::ChangeContext;
use record_trees::RecordTrees;
use whole_records::ReplacedRecord;

pub(super) use chain::EntryResult;
pub(super) use entries::{EntryStage, OutputSetup};

/// One output, from items to text. It decides how an item is shown: by a formatter that replaces the whole record, in a tree of
/// records, or as an entry of its own.
pub(super) struct FormatStage {
    pub(super) entries: EntryStage,
    trees: RecordTrees,
    /// The current record, if a formatter shows the record in place of its items.
    replaced: Option<Box<ReplacedRecord>>,
}

impl FormatStage {
    pub(super) fn new(entries: EntryStage) -> Self {
        let mut stage = Self { entries, trees: RecordTrees::default(), replaced: None };
        stage.draw_records();
        stage
    }

    /// Replaces the profile and the output, before anything is written.
    pub(super) fn settle(&mut self, profile: Profile, output: Output) {
        self.entries.settle(profile, output);
        self.draw_records();
    }

    /// See [`super::Pipeline::replace`].
    pub(super) fn replace(
        &mut self,
        profile: Profile,
        output: Output,
        is_writer_replaced: bool,
        context: &mut ChangeContext<'_>,
    ) -> fmt::Result {
        let replaced = self.entries.replace(profile, output, is_writer_replaced, context);
        self.draw_records();
        replaced
    }

    pub(super) fn take(&mut self, change: &SessionChange<'_>, context: &mut ChangeContext<'_>) {
        match change {
            SessionChange::Complete(item) => self.complete(item, context),
            SessionChange::Hidden(item) => {
                self.entries.growing_texts.swap_remove(&item.id);
                self.entries.hidden_item(item, context);
            }
            SessionChange::Repeated(item) => {
                self.entries.report.repeated += 1;
                self.show_repeated(item, context);
            }
            SessionChange::Grew(id) => {
                if self.replaced.is_none() {
                    self.entries.grow(id, context.session);
                }
            }
            SessionChange::Dropped(id) => {
                self.entries.report.dropped += 1;
                self.forget_passages(id);
                self.entries.take_back(id);
            }
            SessionChange::Retracted(id) => {
                self.take_back_record(id, context.session);
                self.entries.take_back(id);
            }
            SessionChange::Record { item, reply, line, is_early: true } => {
                if self.draws_trees() {
                    self.grow_tree(item, reply, line, context.session);
                } else if self.replaced.is_none() {
                    self.entries.early_record(item, context.session);
                }
            }
            SessionChange::Record { item, line, is_early: false, .. } => self.record(item, line, context),
            SessionChange::Waits(call) => self.entries.wait(call, context.session),
            SessionChange::RecordsEnd(_) => self.end_passages(context),
        }
    }

    fn complete(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        self.entries.growing_texts.swap_remove(&item.id);
        if !self.begin_passages(item, context) {
            self.item(item, context);
        }
        if let (true, Kind::Result, Some(call)) = (self.entries.takes_updates(), item.kind, &item.call) {
            self.entries.updates.answer(call);
        }
    }

    /// Shows a complete item.
    fn item(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        if self.draws_trees() && self.take_fence(item, context) {
            return;
        }
        if item.kind == Kind::Record && self.adds_records() {
            self.own_record(item, context);
        } else {
            self.entries.item(item, self.replaced.as_deref_mut(), context);
        }
    }

    /// Begins a record, which is in this line; `node` is the event in it. Asks the formatters whether they show the record in place of
    /// its items.
    #[inline]
    pub(super) fn begin_record(
        &mut self,
        line: u64,
        record: &Record,
        node: u32,
        context: &mut ChangeContext<'_>,
    ) {
        self.entries.report.events += 1;
        self.end_record(context);
        if self.entries.chain.reads_frames() {
            self.entries.begin(context);
            self.replace_record(line, record, node, context.session);
        }
    }

    /// Ends the current record: shows the view that a formatter returned for it, unless an item was made of the record.
    #[inline]
    pub(super) fn end_record(&mut self, context: &mut ChangeContext<'_>) {
        let Some(replaced) = self.replaced.take() else { return };
        if let Some(entry) = replaced.last_entry(&mut self.entries.chain, context.session) {
            self.entries.show(entry, context);
            self.entries.count_once();
        }
    }

    pub(super) fn end(&mut self, is_run: bool, context: &mut ChangeContext<'_>) {
        self.entries.report.open_calls = context.session.open_calls();
        self.entries.show_heading(context);
        self.end_trees(context);
        self.entries.end(is_run, context);
    }
}
