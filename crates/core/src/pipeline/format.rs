//! From items to entries, for one output: the filter, the formatters, the masking of secrets, the limits, and the outline.

mod chain;
mod entries;
mod growing_tree;
mod passages;
mod record_trees;
mod whole_records;

use std::fmt;

use crate::item::Kind;
use crate::json::Record;
use crate::profile::Profile;
use crate::session::SessionChange;

use super::Output;
use super::change_context::ChangeContext;
use record_trees::RecordStage;
use whole_records::ReplacedRecord;

pub(super) use chain::EntryResult;
pub(super) use entries::{EntryStage, OutputSetup};

/// One output, from items to text. It decides how an item is shown: by a formatter that replaces the whole record, in a tree of
/// records, or as an entry of its own.
pub(super) struct FormatStage {
    /// Takes the items that are shown in trees.
    pub(super) records: RecordStage,
    /// Takes all others.
    pub(super) entries: EntryStage,
    /// The current record, if a formatter shows the record in place of its items.
    replaced: Option<Box<ReplacedRecord>>,
}

impl FormatStage {
    pub(super) fn new(entries: EntryStage) -> Self {
        let mut records = RecordStage::default();
        records.draw(&entries.chain.profile);
        Self { records, entries, replaced: None }
    }

    /// Replaces the profile and the output, before anything is written.
    pub(super) fn settle(&mut self, profile: Profile, output: Output) {
        self.entries.settle(profile, output);
        self.records.draw(&self.entries.chain.profile);
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
        self.records.draw(&self.entries.chain.profile);
        replaced
    }

    pub(super) fn take(&mut self, change: &SessionChange<'_>, context: &mut ChangeContext<'_>) {
        let Self { records, entries, replaced } = self;
        if let SessionChange::Complete(item) | SessionChange::Hidden(item) = change {
            entries.growing_texts.swap_remove(&item.id);
        }
        if records.take(change, replaced.is_some(), entries, context) {
            return;
        }
        match change {
            SessionChange::Complete(item) => {
                entries.item(item, replaced.as_deref_mut(), context);
                if let (true, Kind::Result, Some(call)) = (entries.takes_updates(), item.kind, &item.call) {
                    entries.updates.answer(call);
                }
            }
            SessionChange::Hidden(item) => entries.hidden_item(item, context),
            SessionChange::Repeated(item) => {
                entries.report.repeated += 1;
                if let Some(replaced) = replaced
                    && let Ok(entry) = replaced.entry_again(item, &mut entries.chain, context.session)
                {
                    entries.show(entry, context);
                }
            }
            SessionChange::Grew(id) if replaced.is_none() => entries.grow(id, context.session),
            SessionChange::Dropped(id) => {
                entries.report.dropped += 1;
                entries.take_back(id);
            }
            SessionChange::Retracted(id) => entries.take_back(id),
            SessionChange::Record { item, is_early: true, .. } if replaced.is_none() => {
                entries.early_record(item, context.session);
            }
            SessionChange::Record { item, is_early: false, .. } => {
                entries.item(item, replaced.as_deref_mut(), context);
            }
            SessionChange::Waits(call) => entries.wait(call, context.session),
            SessionChange::Grew(_) | SessionChange::Record { .. } | SessionChange::RecordsEnd(_) => {}
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
            let chain = &mut self.entries.chain;
            self.replaced = ReplacedRecord::of(line, record, node, chain, context.session);
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
        self.records.end(&mut self.entries, context);
        self.entries.end(is_run, context);
    }
}
