//! From items to entries, for one output: formatters, the masking of secrets, limits, and the outline.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::budget::Budget;
use crate::contract::write_item;
use crate::entry::{Block, Entry, View, any_block};
use crate::formatter::{Observation, PluginFormatter, Presentation};
use crate::item::{Fact, Id, Item, Kind, TurnStep};
use crate::outline::{Changes, DocumentPart, Nest, Node, Outline, OutlineOptions, Relation, TitleOf};
use crate::pipeline::Output;
use crate::pipeline::change_context::ChangeContext;
use crate::pipeline::growing::TextEnd;
use crate::pipeline::head::HeadNotes;
use crate::pipeline::heading::WaitingHeading;
use crate::pipeline::result_of_call::self_contained;
use crate::pipeline::text_sink::TextSink;
use crate::pipeline::write::OutputWriter;
use crate::profile::Profile;
use crate::redact::Redactor;
use crate::report::{Report, count};
use crate::session::{Map, Session, SessionId};
use crate::text::Text;

use super::chain::{FormatterChain, HidingRule, OutputKind};
use super::whole_records::ReplacedRecord;

/// The parts of a setup that stay the same if the profile and the output are replaced.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
#[derive(Clone, Copy)]
pub(in super::super) struct OutputSetup {
    /// The built-in presentation.
    pub(in super::super) presentation: Presentation,
    /// Limits how many calls are remembered until their results come, for a sink that takes updates.
    pub(in super::super) budget: Budget,
    /// Whether a heading may wait for the name of the model: the whole input is available.
    pub(in super::super) is_whole: bool,
    /// Whether a call may wait for its result: the whole input is available, or open entries are previewed.
    pub(in super::super) may_wait: bool,
    /// Whether the sink puts the document's head before its text.
    pub(in super::super) holds_head: bool,
    /// Whether the report lists what is masked.
    pub(in super::super) lists_finds: bool,
}

/// Makes an entry for each item and passes it on, either to the outline and the writer or to a sink that takes updates.
pub(in super::super) struct EntryStage {
    setup: OutputSetup,
    pub(in super::super) chain: FormatterChain,
    pub(in super::super) outline: Outline,
    /// Parts of the document that are about to be written.
    parts: Vec<DocumentPart>,
    /// The parts that weren't taken yet, if the owner of the output writes them itself.
    document: Option<Vec<DocumentPart>>,
    /// Whether an entry was completed since the open nodes were last asked for.
    pub(in super::super) has_changed: bool,
    /// Whether an open item has grown since.
    pub(in super::super) has_grown: bool,
    pub(in super::super) writer: OutputWriter,
    /// The heading that is waiting for the name of the model, if any.
    heading: Option<Box<WaitingHeading>>,
    /// The session of the last item that has one.
    last_session: Option<SessionId>,
    /// Collects the head of the document, if the writer wants one.
    head: Option<Box<HeadNotes>>,
    pub(in super::super) report: Report,
    /// Whether the formatters have observed the beginning.
    has_begun: bool,
    /// The shown ends of growing texts, by the ids of their items.
    pub(in super::super) growing_texts: Map<Id, TextEnd>,
    /// The changes that weren't taken yet, for a sink that can change what it shows.
    pub(in super::super) updates: Changes,
    /// 1 once the input has ended: in revisions, its end counts as one more line.
    pub(in super::super) end_lines: u64,
}

impl EntryStage {
    /// The stage before the first item. `sink`: that of a further output.
    pub(in super::super) fn new(
        profile: Profile,
        output: Output,
        setup: OutputSetup,
        sink: Option<TextSink>,
    ) -> Self {
        let document = matches!(output, Output::Document { .. }).then(Vec::new);
        let (output_kind, formatters, writer) = OutputKind::of(output);
        let wants_head = matches!(output_kind, OutputKind::Writer(wants) if wants.head);
        let mut chain = FormatterChain::new(profile, output_kind, formatters, setup.presentation);
        chain.redactor.iter_mut().filter(|_| setup.lists_finds).for_each(Redactor::list_finds);
        let outline = match output_kind {
            OutputKind::Writer(wants) => wants.outline(&chain.profile, setup.may_wait),
            _ => OutlineOptions::default(),
        };
        Self {
            setup,
            outline: Outline::new(outline),
            parts: Vec::new(),
            document,
            has_changed: false,
            has_grown: false,
            writer: OutputWriter::new(writer, sink, setup.holds_head),
            chain,
            heading: None,
            last_session: None,
            head: wants_head.then(Box::default),
            report: Report::default(),
            has_begun: false,
            growing_texts: Map::default(),
            updates: Changes::new(setup.budget),
            end_lines: 0,
        }
    }

    /// Starts over with another profile and output, before the first item.
    pub(super) fn settle(&mut self, profile: Profile, output: Output) {
        *self = Self::new(profile, output, self.setup, self.writer.sink.take());
    }

    /// Whether the output takes updates.
    pub(in super::super) fn takes_updates(&self) -> bool {
        matches!(self.chain.output_kind, OutputKind::Updates)
    }

    /// Shows a record of a reply that still grows, if the output takes updates.
    pub(super) fn early_record(&mut self, record: &Item, session: &Session) {
        // It is counted once its reply is complete.
        if self.takes_updates()
            && let Ok(entry) = self.chain.uncounted(|chain| chain.entry(record, session))
        {
            self.updates.put_growing(entry);
        }
    }

    /// Notes that an open item has grown.
    pub(super) fn grow(&mut self, id: &Id, session: &Session) {
        let is_shown = if self.takes_updates() { self.updates.grow(id) } else { self.document.is_some() };
        self.has_grown |= self.document.is_some();
        if is_shown && let (Some(redactor), Some(item)) = (&mut self.chain.redactor, session.open_item(id)) {
            // Masked ids are numbered in the order in which they appear, whenever updates are taken.
            redactor.id(&mut item.id.clone());
        }
    }

    /// Takes back what was shown of an item, if anything was.
    pub(super) fn take_back(&mut self, id: &Id) {
        self.growing_texts.swap_remove(id);
        if self.takes_updates() {
            self.updates.take_back(id);
        }
    }

    /// Shows that a call waits for a person, or no longer does, if the output takes updates.
    pub(super) fn wait(&mut self, call: &Id, session: &Session) {
        if self.takes_updates() {
            self.updates.wait(call, session.waiting(call));
        }
        self.has_changed = true;
    }

    /// Shows a complete item, or the view that replaces its record.
    pub(super) fn item(
        &mut self,
        item: &Item,
        replaced: Option<&mut ReplacedRecord>,
        context: &mut ChangeContext<'_>,
    ) {
        self.begin_item(item, context);
        let outcome = match self.chain.output_kind {
            OutputKind::Items => self.write(item, context),
            OutputKind::Writer(_) | OutputKind::Updates => self.show_item(item, replaced, context),
            OutputKind::Nothing => return,
        };
        self.count_item(item.kind, outcome);
    }

    /// Counts a complete item that no output shows.
    pub(super) fn hidden_item(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        self.begin_item(item, context);
        self.count_item(item.kind, Err(item.kind.name()));
    }

    /// Notes an item before it is shown.
    pub(super) fn begin_item(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        match item.kind {
            Kind::Outcome => {
                self.report.failed = item.error;
                self.report.ended = true;
            }
            Kind::Prompt | Kind::Reply | Kind::Thinking | Kind::Call => self.report.ended = false,
            Kind::Notice if item.is_event("origin-end") => self.report.failed = false,
            Kind::Notice if item.error => self.report.unsaved += u64::from(item.fact("lost").is_some()),
            _ => {}
        }
        if let Some(head) = &mut self.head {
            head.note(item);
        }
        if !matches!(self.chain.output_kind, OutputKind::Items | OutputKind::Nothing) {
            self.begin(context);
        }
        self.report.items += 1;
    }

    /// Counts an item.
    pub(super) fn count_item(&mut self, kind: Kind, outcome: Result<(), HidingRule>) {
        match outcome {
            Ok(()) => *self.report.shown.entry(kind).or_default() += 1,
            Err(rule) => count(&mut self.report.hidden, rule),
        }
        self.count_once();
    }

    /// Counts the failures and the masked secrets of an item, each kind once, however often it occurred.
    #[inline]
    pub(super) fn count_once(&mut self) {
        while let Some(failure) = self.chain.failures.pop_first() {
            count(&mut self.report.failures, &failure);
        }
        if let Some(redactor) = &mut self.chain.redactor {
            redactor.take_counts().keys().for_each(|name| count(&mut self.report.redacted, name));
            self.report.exceeded.append(&mut redactor.take_exceeded());
        }
    }

    /// Shows a complete item as an entry.
    fn show_item(
        &mut self,
        item: &Item,
        replaced: Option<&mut ReplacedRecord>,
        context: &mut ChangeContext<'_>,
    ) -> Result<(), HidingRule> {
        let mut after = self.chain.observe(Observation::Complete(item), context.session);
        let is_replaced = replaced.is_some();
        let entry = match replaced {
            Some(replaced) => replaced.entry(item, &mut self.chain, context.session),
            None => self.chain.entry(item, context.session),
        };
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(rule) => {
                self.updates.hide(&item.id);
                if item.parent.is_none() && self.chain.shows_answers {
                    self.outlined(context, |outline, _, parts| outline.pass_over(TurnStep::of(item), parts));
                }
                self.aside("after", Some(item), after, context);
                return Err(rule);
            }
        };
        if any_block(&entry.view.body, |block| matches!(block, Block::Elided { .. })) {
            *self.report.elided.entry(item.kind).or_default() += 1;
        }
        if !is_replaced {
            self.show_session_change(item, context);
        }
        if self.heading.is_some() && context.session.facts().model.is_some() {
            self.show_heading(context);
        }
        if after.is_empty() && !is_replaced && self.waits_for_model(item, &entry, context.session) {
            self.heading = Some(Box::new(WaitingHeading::new(item, entry)));
            return Ok(());
        }
        if !after.is_empty() {
            self.chain.redactor.iter_mut().for_each(|redactor| redactor.blocks(&mut after));
            entry.view.body.append(&mut after);
        }
        if item.wait().is_some() {
            // It comes between a call and its result, and must not separate them.
            self.emit(entry, true, context);
        } else {
            self.show(entry, context);
        }
        Ok(())
    }

    /// Lets the formatters observe the beginning, once.
    pub(super) fn begin(&mut self, context: &mut ChangeContext<'_>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let before = self.chain.observe(Observation::Begin, context.session);
            self.aside("begin", None, before, context);
            self.count_once();
        }
    }

    /// Writes an item as a line of JSON.
    pub(super) fn write(&mut self, item: &Item, context: &mut ChangeContext<'_>) -> Result<(), HidingRule> {
        self.chain.admits(item)?;
        // Blank lines, and damaged records that are only counted, have no line here.
        let is_blank_line = item.kind == Kind::Unknown && item.is_blank();
        if is_blank_line || item.fact("counted").is_some() {
            return Err(item.kind.name());
        }
        let whole = self_contained(item, context.session);
        // Writing to a string can't fail.
        let line_of = |item: &Item| {
            let mut line = String::new();
            let _ = write_item(item, &mut line);
            line
        };
        let line = line_of(&whole);
        let Some(redactor) = &mut self.chain.redactor else {
            self.writer.item(&line, context.out);
            return Ok(());
        };
        if let Cow::Owned(_) = whole {
            // Secrets in the facts added from its call are counted with the call.
            redactor.json_to(&line_of(item), &mut |_| {});
            redactor.set_counting(false);
        }
        redactor.json_to(&line, &mut |piece| self.writer.item(piece, context.out));
        redactor.set_counting(true);
        Ok(())
    }

    /// Shows the entry of an item.
    pub(super) fn show(&mut self, entry: Box<Entry>, context: &mut ChangeContext<'_>) {
        self.chain.remember(&entry, context.session);
        self.emit(entry, false, context);
    }

    /// Whether an entry is the heading of a session whose model isn't known yet, and may wait for it.
    fn waits_for_model(&self, item: &Item, entry: &Entry, session: &Session) -> bool {
        self.setup.is_whole
            && entry.view.is_heading()
            && self.heading.is_none()
            && matches!(self.chain.output_kind, OutputKind::Writer(_))
            && session.facts().model.is_none()
            && item.fact("model").is_none()
            && !self.chain.profile.filter.is_answer_alone()
    }

    /// Shows the heading that waits, formatted again with the facts known now if they are those of its session, and the entries below it.
    pub(super) fn show_heading(&mut self, context: &mut ChangeContext<'_>) {
        let Some(waiting) = self.heading.take() else { return };
        let WaitingHeading { item, entry, entries, .. } = *waiting;
        let (own, now) = (item.session.as_deref().map(Text::clean), &context.session.facts().session);
        if now.as_ref().is_some_and(|now| own.as_ref().is_some_and(|own| own != now)) {
            self.show(entry, context);
        } else if let Ok(heading) = self.chain.uncounted(|chain| chain.entry(&item, context.session)) {
            self.show(heading, context);
        }
        for (entry, is_aside) in entries {
            self.emit(entry, is_aside, context);
        }
    }

    /// Passes an entry to the outline or to the updates. `is_aside`: whether it separates no result from its call.
    fn emit(&mut self, entry: Box<Entry>, is_aside: bool, context: &mut ChangeContext<'_>) {
        if let Some(waiting) = &mut self.heading {
            if waiting.push(entry, is_aside) {
                self.show_heading(context);
            }
            return;
        }
        if let Some(redactor) = &mut self.chain.redactor {
            // Ids are counted when the entry is shown, not when its node is written.
            Some(&entry.id).into_iter().chain(&entry.parent).for_each(|id| redactor.count_id(id));
        }
        if let Some(head) = &mut self.head {
            head.show(&entry);
        }
        self.has_changed = true;
        match self.chain.output_kind {
            OutputKind::Writer(_) => {
                self.outlined(context, |outline, title_of, parts| {
                    if is_aside {
                        outline.push_aside(entry, title_of, parts);
                    } else {
                        outline.push(entry, title_of, parts);
                    }
                });
            }
            OutputKind::Updates => self.updates.put(entry),
            OutputKind::Items | OutputKind::Nothing => {}
        }
    }

    /// Calls `work` with the outline, and writes the parts of the document that it adds.
    fn outlined(
        &mut self,
        context: &mut ChangeContext<'_>,
        work: impl FnOnce(&mut Outline, TitleOf<'_>, &mut Vec<DocumentPart>),
    ) {
        let revision = self.revision();
        let Self { chain, outline, parts, document, writer, report, .. } = self;
        outline.await_outcomes(report.awaits_outcome);
        outline.set_revision(revision);
        work(outline, &mut |call| chain.title_of(call, context.session), parts);
        for mut part in parts.drain(..) {
            // Masked last: the outline needs the ids to relate entries.
            chain.redactor.iter_mut().for_each(|redactor| mask(&mut part, redactor));
            match document {
                Some(document) => document.push(part),
                None => writer.part(&part, context.out),
            }
        }
        for kind in outline.take_left_out() {
            // These items were counted as shown.
            let Report { shown, hidden, .. } = &mut self.report;
            let items = shown.entry(kind).or_default();
            *items = items.saturating_sub(1);
            shown.retain(|_, count| *count > 0);
            *hidden.entry("filter".to_owned()).or_default() += 1;
        }
    }

    /// See [`Pipeline::take_parts`](crate::pipeline::Pipeline::take_parts).
    pub(in super::super) fn take_parts(&mut self) -> Vec<DocumentPart> {
        self.document.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Masks the ids in nodes that the owner of the output writes itself.
    pub(in super::super) fn mask_nodes(&mut self, nodes: &mut [Node]) {
        if let (Some(redactor), true) = (&mut self.chain.redactor, self.document.is_some()) {
            for node in nodes {
                mask_node(node, redactor);
            }
        }
    }

    /// Shows blocks that can't be added to the entry of an item, as a separate entry: at the beginning, at the end, or after a
    /// hidden item.
    pub(super) fn aside(
        &mut self,
        name: &str,
        item: Option<&Item>,
        body: Vec<Block>,
        context: &mut ChangeContext<'_>,
    ) {
        // This is called for each hidden item, nearly always without blocks.
        if body.is_empty() {
            return;
        }
        let mut view = View::of(body);
        if view.is_empty() {
            return;
        }
        let id: Id = item.map_or_else(|| name.into(), |item| format!("{}/{name}", item.id).into());
        if let Some(redactor) = &mut self.chain.redactor {
            let notice =
                Item::new(id.clone(), Kind::Notice, item.map_or(self.report.lines, |item| item.line));
            redactor.set_place(Some((&notice, &view)));
            redactor.view(&mut view);
        }
        let entry = Entry {
            parent: item.and_then(|item| item.parent.clone()),
            place: item.map_or(0, |item| item.place),
            ..Entry::new(id, Kind::Notice, view)
        };
        self.emit(Box::new(entry), true, context);
    }

    /// Shows an entry that reports a change of session, if an item belongs to another session than the last one. The entry isn't an item.
    pub(super) fn show_session_change(&mut self, item: &Item, context: &mut ChangeContext<'_>) {
        let Some(now) = &item.session else { return };
        if self.last_session.as_ref().is_some_and(|before| Arc::ptr_eq(before, now) || before == now) {
            return;
        }
        // Notices report where repeated items begin and end.
        let is_reported = item.is_event("session") || item.is_event("origin-end") || item.is_repeated();
        if self.last_session.replace(now.clone()).is_none() || is_reported {
            return;
        }
        let mut notice = Item::new(format!("{}/session-change", item.id), Kind::Notice, item.line);
        notice.session = Some(now.clone());
        notice.data.extend([
            ("event", Fact::Text("session-change".to_owned())),
            ("session", Fact::Text((**now).to_owned())),
        ]);
        if let Ok(mut entry) = self.chain.entry(&notice, context.session) {
            (entry.parent, entry.place) = (item.parent.clone(), item.place);
            self.show(entry, context);
        }
    }

    /// See [`Pipeline::replace`](crate::pipeline::Pipeline::replace).
    pub(super) fn replace(
        &mut self,
        profile: Profile,
        output: Output,
        is_writer_replaced: bool,
        context: &mut ChangeContext<'_>,
    ) -> fmt::Result {
        self.chain.set_profile(profile);
        let (output_kind, formatters, writer) = OutputKind::of(output);
        match (self.chain.output_kind, output_kind) {
            (OutputKind::Writer(_), OutputKind::Writer(_)) | (OutputKind::Updates, OutputKind::Updates) => {}
            _ => return Ok(()),
        }
        if self.has_begun {
            let before = self.chain.formatters.iter().filter_map(|formatter| formatter.plugins());
            let mut memories = before.map(PluginFormatter::memory);
            for new in formatters.iter().filter_map(|formatter| formatter.plugins()) {
                new.resume(memories.next().flatten(), context.session);
            }
        }
        self.chain.formatters = formatters;
        let Some(writer) = writer.filter(|_| is_writer_replaced) else { return Ok(()) };
        self.chain.output_kind = output_kind;
        self.writer.replace(writer, context.out)
    }

    /// Ends the output. `is_run`: whether the input is a run, not an excerpt of one.
    pub(super) fn end(&mut self, is_run: bool, context: &mut ChangeContext<'_>) {
        if self.has_begun {
            let last = self.chain.observe(Observation::End, context.session);
            self.aside("end", None, last, context);
            self.count_once();
        }
        if is_run && self.report.lacks_outcome() {
            self.outlined(context, |outline, _, parts| outline.cut_off(parts));
        }
        self.outlined(context, Outline::end);
        if let Some(head) = self.head.take() {
            self.chain.redactor.iter_mut().for_each(|redactor| redactor.set_place(None));
            let head = head.complete(context.session, self.chain.redactor.as_mut());
            self.writer.head = Some(Box::new(head));
        }
        if let Some(redactor) = &mut self.chain.redactor {
            // The texts of the head were counted before, in the items.
            redactor.take_counts();
            self.report.finds = redactor.take_finds();
        }
        self.end_lines = 1;
        self.writer.end(context.session.facts().agent.as_deref(), context.out);
        self.report.left_out = self.writer.left_out();
    }
}

/// Masks the ids in a part of the document. Titles and views were masked when they were made.
fn mask(part: &mut DocumentPart, redactor: &mut Redactor) {
    if let DocumentPart::Enter(Nest { call: Some(call), .. }) = part {
        redactor.id(call);
    }
    for node in part.nodes_mut() {
        mask_node(node, redactor);
    }
    part.copies_mut().iter_mut().for_each(|node| redactor.ids_of(&mut node.entry));
}

fn mask_node(node: &mut Node, redactor: &mut Redactor) {
    if let Relation::Apart(title) = &mut node.relation {
        // An id, if the call has no title. A title is masked already.
        redactor.uncounted(|redactor| redactor.line(title));
    }
    redactor.ids_of(&mut node.entry);
    node.result.iter_mut().for_each(|result| redactor.ids_of(result));
}
