//! From items to entries, for one output: the filter, the formatters, the masking of secrets, the limits, and the outline.

mod chain;
mod entries;
mod growing_tree;
mod passages;
mod record_trees;
mod whole_records;

use std::borrow::Cow;
use std::fmt;

use crate::entry::Entry;
use crate::item::{Item, Kind};
use crate::json::Record;
use crate::profile::{DrawnRecords, Profile};
use crate::session::{Session, SessionChange};

use super::Output;
use super::change_context::ChangeContext;
use chain::OutputKind;
use record_trees::RecordTrees;
use whole_records::ReplacedRecord;

pub(super) use chain::EntryResult;
pub(super) use entries::{EntryStage, OutputSetup};

/// One output, from items to text. It decides how an item is shown: by a formatter that replaces the whole record, in a tree of
/// records, or as an entry of its own.
pub(super) struct FormatStage {
    pub(super) entries: EntryStage,
    /// The trees of records, if the profile draws records.
    trees: Option<Box<RecordTrees>>,
    /// The current record, if a formatter shows the record in place of its items.
    replaced: Option<Box<ReplacedRecord>>,
}

impl FormatStage {
    pub(super) fn new(entries: EntryStage) -> Self {
        Self { trees: trees_of(&entries.chain.profile), entries, replaced: None }
    }

    /// Replaces the profile and the output, before anything is written.
    pub(super) fn settle(&mut self, profile: Profile, output: Output) {
        self.entries.settle(profile, output);
        self.draw();
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
        self.draw();
        replaced
    }

    /// Makes the trees of records if the profile draws records. Trees that exist already are kept as they are.
    fn draw(&mut self) {
        if self.trees.is_none() {
            self.trees = trees_of(&self.entries.chain.profile);
        }
    }

    /// The trees of records, if records are drawn and no formatter has replaced the current one.
    fn drawn(&mut self) -> Option<(&mut RecordTrees, &mut EntryStage)> {
        let Self { entries, trees, replaced } = self;
        Some((trees.as_deref_mut().filter(|_| replaced.is_none())?, entries))
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
                let Self { entries, replaced: Some(replaced), .. } = self else { return };
                if let Ok(entry) = replaced.entry_again(item, &mut entries.chain, context.session) {
                    entries.show(entry, context);
                }
            }
            SessionChange::Grew(id) => {
                if self.replaced.is_none() {
                    self.entries.grow(id, context.session);
                }
            }
            SessionChange::Dropped(id) => {
                self.entries.report.dropped += 1;
                if let Some(trees) = &mut self.trees {
                    trees.forget_passages(id, &mut self.entries);
                }
                self.entries.take_back(id);
            }
            SessionChange::Retracted(id) => {
                if let Some(trees) = &mut self.trees {
                    trees.take_back(id, &mut self.entries, context.session);
                }
                self.entries.take_back(id);
            }
            SessionChange::Record { item, reply, line, is_early: true } => {
                if let Some((trees, entries)) = self.drawn() {
                    trees.grow(item, reply, line, entries, context.session);
                } else if self.replaced.is_none() {
                    self.entries.early_record(item, context.session);
                }
            }
            SessionChange::Record { item, reply, line, is_early: false } => match &mut self.trees {
                Some(trees) if trees.is_at(reply) => {
                    trees.tree_record(item, line, &mut self.entries, context);
                }
                _ => self.item(item, context),
            },
            SessionChange::RecordsEnd(_) => {
                if let Some(trees) = &mut self.trees {
                    trees.end_passages(&mut self.entries, context);
                }
            }
        }
    }

    fn complete(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        self.entries.growing_texts.swap_remove(&item.id);
        let is_begun =
            self.drawn().is_some_and(|(trees, entries)| trees.begin_passages(item, entries, context));
        if !is_begun {
            self.item(item, context);
        }
        if let (OutputKind::Updates, Kind::Result, Some(call)) =
            (self.entries.chain.output_kind, item.kind, &item.call)
        {
            self.entries.updates.answer(call);
        }
    }

    /// Shows a complete item.
    fn item(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        match self.drawn() {
            Some((trees, entries)) if item.kind == Kind::Record => trees.own_record(item, entries, context),
            _ => self.entries.item(item, self.replaced.as_deref_mut(), context),
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
            let replaced = ReplacedRecord::of(line, record, node, &mut self.entries.chain, context.session);
            self.replaced = replaced.map(Box::new);
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

    /// The part of a growing item that is shown: for a reply with records, the prose after the last of them.
    pub(super) fn growing_passage<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        self.trees.as_ref().map_or(Cow::Borrowed(item), |trees| trees.growing_passage(item))
    }

    /// The entries of the incomplete trees, and of the prose before the last record of each growing reply.
    #[expect(clippy::vec_box, reason = "entries go on in boxes")]
    pub(super) fn open_entries(&mut self, session: &Session) -> Vec<Box<Entry>> {
        let Self { entries, trees, .. } = self;
        trees.as_mut().map(|trees| trees.open_entries(entries, session)).unwrap_or_default()
    }

    /// Adds the changed nodes of all trees to the updates, if the output takes updates.
    pub(super) fn put_trees(&mut self, session: &Session) {
        if let (Some(trees), OutputKind::Updates) = (&mut self.trees, self.entries.chain.output_kind) {
            trees.put_all_changed(&mut self.entries, session);
        }
    }

    /// Whether a tree has changed since updates were taken, if the output takes updates.
    pub(super) fn has_changed_trees(&self) -> bool {
        matches!(self.entries.chain.output_kind, OutputKind::Updates)
            && self.trees.as_ref().is_some_and(|trees| trees.has_changed)
    }

    pub(super) fn end(&mut self, context: &mut ChangeContext<'_>) {
        self.entries.report.open_calls = context.session.open_calls();
        self.entries.show_heading(context);
        if let Some(trees) = &mut self.trees {
            trees.end(&mut self.entries, context);
        }
        self.entries.end(context);
    }
}

/// Trees for the records of replies, if the profile draws records. If its filter hides them, their lines stay in the replies.
fn trees_of(profile: &Profile) -> Option<Box<RecordTrees>> {
    let is_shown = |_: &DrawnRecords| profile.filter.admits(&Item::new("", Kind::Record, 0));
    profile.records.clone().filter(is_shown).map(|drawn| Box::new(RecordTrees::new(drawn)))
}
