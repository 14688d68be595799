//! From items to entries, for one output: the filter, the formatters, the masking of secrets, the limits, and the outline.

mod chain;
mod growing_tree;
mod record_trees;
mod whole_records;

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use crate::budget::Budget;
use crate::contract::write_item;
use crate::entry::{Block, Entry, View, any_block};
use crate::formatter::{Observation, PluginFormatter, Presentation};
use crate::item::{Fact, FactRef, Id, Item, Kind};
use crate::outline::{DocumentPart, Node, Outline, OutlineOptions, TitleOf};
use crate::profile::{DrawnRecords, Pairs, Profile};
use crate::redact::Redactor;
use crate::report::{Report, count};
use crate::session::{Session, SessionChange, SessionId};
use crate::writer::{Order, Wants, Writer};

use super::Output;
use super::growing::GrowingTexts;
use super::head::HeadNotes;
use super::heading::WaitingHeading;
use super::result_of_call::self_contained;
use super::update::PendingUpdates;
use super::write::OutputWriter;
use chain::{FormatterChain, Formatters};
use record_trees::RecordTrees;
use whole_records::ReplacedRecord;

/// What an output takes.
#[derive(Clone, Copy)]
pub(super) enum OutputKind {
    /// A writer that wants these.
    Writer(Wants),
    /// A sink that can change what it shows.
    Updates,
    /// Items as they are.
    Items,
}

impl OutputKind {
    /// The parts of an output: what it takes, its formatters, its writer.
    fn of(output: Output) -> (Self, Formatters, Option<Box<dyn Writer>>) {
        match output {
            Output::Entries { formatters, writer } => {
                (Self::Writer(writer.wants()), formatters, Some(writer))
            }
            Output::Updates { formatters } => (Self::Updates, formatters, None),
            Output::Items { formatters } => (Self::Items, formatters, None),
        }
    }
}

/// One output: from items to its text.
pub(super) struct FormatStage {
    pub(super) chain: FormatterChain,
    /// Whether the whole input is there already.
    is_whole: bool,
    pub(super) outline: Outline,
    /// Parts of the document that are about to be written.
    parts: Vec<DocumentPart>,
    pub(super) writer: OutputWriter,
    /// Whether a heading may wait for the name of the model.
    pub(super) headings_wait: bool,
    /// The heading that waits for the name of the model, if one does.
    heading: Option<Box<WaitingHeading>>,
    /// The trees of records, if these are drawn.
    trees: Option<Box<RecordTrees>>,
    /// The record at hand, if a formatter says something of it in place of its items.
    frame: Option<Box<ReplacedRecord>>,
    /// The session of the last item that has one.
    last_session: Option<SessionId>,
    /// What is known of the run as a whole, if the writer wants that.
    head: Option<Box<HeadNotes>>,
    pub(super) report: Report,
    /// Whether the formatters were told of the beginning.
    has_met: bool,
    /// Of long texts that grow, where the end begins that is shown.
    pub(super) growing_texts: GrowingTexts,
    /// What has changed for a sink that can change what it shows.
    pub(super) updates: PendingUpdates,
}

impl FormatStage {
    /// `is_whole`: see [`super::Setup::is_whole`]. `is_head_wanted`: whether the head of the document is put before its text.
    pub(super) fn new(
        profile: Profile,
        output: Output,
        presentation: Presentation,
        is_whole: bool,
        is_head_wanted: bool,
        budget: Budget,
    ) -> Self {
        let (output_kind, formatters, writer) = OutputKind::of(output);
        Self {
            is_whole,
            outline: Outline::new(shape(&profile, output_kind, is_whole)),
            parts: Vec::new(),
            writer: OutputWriter::new(writer, is_head_wanted),
            trees: trees_of(&profile),
            chain: FormatterChain::new(profile, output_kind, formatters, presentation),
            headings_wait: false,
            heading: None,
            frame: None,
            last_session: None,
            head: head_of(output_kind),
            report: Report::default(),
            has_met: false,
            growing_texts: GrowingTexts::default(),
            updates: PendingUpdates::new(budget.calls, budget.call_bytes),
        }
    }

    /// Takes other choices and another output, before anything was said.
    pub(super) fn settle(&mut self, profile: Profile, output: Output) {
        let (output_kind, formatters, writer) = OutputKind::of(output);
        self.trees = self.trees.take().or_else(|| trees_of(&profile));
        self.head = head_of(output_kind);
        self.outline = Outline::new(shape(&profile, output_kind, self.is_whole));
        self.chain = FormatterChain::new(profile, output_kind, formatters, self.chain.presentation);
        self.writer.settle(writer);
    }

    pub(super) fn take(&mut self, session: &Session, change: &SessionChange<'_>, out: &mut dyn Write) {
        match change {
            SessionChange::Complete(item) => {
                self.growing_texts.forget(&item.id);
                match item.kind {
                    Kind::Record => self.own_record(item, session, out),
                    _ if self.begin_passages(item, session, out) => {}
                    _ => self.item(item, session, out),
                }
                if let (OutputKind::Updates, Kind::Result, Some(call)) =
                    (self.chain.output_kind, item.kind, &item.call)
                {
                    self.updates.answer(call);
                }
            }
            SessionChange::Repeated(item) => {
                self.report.repeated += 1;
                self.item_again(item, session, out);
            }
            SessionChange::Grew(id) => {
                if let (OutputKind::Updates, None) = (self.chain.output_kind, &self.frame)
                    && self.updates.grow(id)
                {
                    // Ids are told apart in the order in which they come, whenever somebody looks.
                    self.chain.uncounted(|chain| {
                        if let (Some(redactor), Some(item)) = (&mut chain.redactor, session.open_item(id)) {
                            redactor.id(&mut item.id.clone());
                        }
                    });
                }
            }
            SessionChange::Dropped(id) => {
                self.report.dropped += 1;
                self.forget_passages(id);
                self.take_back(id);
            }
            SessionChange::Retracted(id) => {
                self.take_back_record(id, session);
                self.take_back(id);
            }
            SessionChange::Record { item, reply, line, is_early: true } => {
                if self.draws_records() && !matches!(self.chain.output_kind, OutputKind::Items) {
                    self.grow_tree(item, reply, line, session);
                } else {
                    self.early_record(item, session);
                }
            }
            SessionChange::Record { item, reply, line, is_early: false } => {
                if self.trees.as_ref().is_some_and(|trees| trees.is_at(reply)) {
                    self.tree_record(item, line, session, out);
                } else {
                    self.own_record(item, session, out);
                }
            }
            SessionChange::RecordsEnd(_) => self.end_passages(session, out),
        }
    }

    /// Shows a record of a reply that still grows, where what is shown can be changed.
    fn early_record(&mut self, record: &Item, session: &Session) {
        if !matches!(self.chain.output_kind, OutputKind::Updates) || self.frame.is_some() {
            return;
        }
        // It is counted once its reply is complete.
        if let Ok(entry) = self.chain.uncounted(|chain| chain.entry(record, session)) {
            self.updates.put_early(entry);
        }
    }

    /// What was said of an item, if it was, holds no longer.
    fn take_back(&mut self, id: &Id) {
        self.growing_texts.forget(id);
        if let OutputKind::Updates = self.chain.output_kind {
            self.updates.take_back(id);
        }
    }

    fn item(&mut self, item: &Item, session: &Session, out: &mut dyn Write) {
        self.begin_item(item, session, out);
        let outcome = match self.chain.output_kind {
            OutputKind::Items => self.tell(item, session, out),
            OutputKind::Writer(_) | OutputKind::Updates => self.say_item(item, session, out),
        };
        self.count_item(item.kind, outcome);
    }

    /// Takes note of an item before anything is said of it.
    fn begin_item(&mut self, item: &Item, session: &Session, out: &mut dyn Write) {
        match item.kind {
            Kind::Outcome => {
                self.report.failed = item.error;
                self.report.ended = true;
            }
            Kind::Prompt | Kind::Reply | Kind::Thinking | Kind::Call => self.report.ended = false,
            _ => {}
        }
        if let Some(head) = &mut self.head {
            head.note(item);
        }
        if !matches!(self.chain.output_kind, OutputKind::Items) {
            self.meet(session, out);
        }
        self.report.items += 1;
    }

    /// Counts an item. The error is the rule that hides it.
    fn count_item(&mut self, kind: Kind, outcome: Result<(), &'static str>) {
        match outcome {
            Ok(()) => *self.report.shown.entry(kind).or_default() += 1,
            Err(rule) => count(&mut self.report.hidden, rule),
        }
        self.count_once();
    }

    /// Counts what failed and what was masked, each kind of it once, whatever it took to say what it happened at.
    #[inline]
    fn count_once(&mut self) {
        if self.chain.failures.is_empty() && self.chain.redactor.is_none() {
            return;
        }
        while let Some(failure) = self.chain.failures.pop_first() {
            count(&mut self.report.failures, &failure);
        }
        for name in self.chain.redactor.iter_mut().flat_map(|redactor| redactor.take_counts().into_keys()) {
            count(&mut self.report.redacted, &name);
        }
    }

    /// Says what is to be said of an item that is whole. The error is the rule that hides it.
    fn say_item(&mut self, item: &Item, session: &Session, out: &mut dyn Write) -> Result<(), &'static str> {
        let mut after = if self.chain.formatters.is_empty() {
            Vec::new()
        } else {
            self.chain.observe(Observation::Complete(item), session)
        };
        let (entry, is_replaced) = match self.frame.take() {
            Some(mut replaced) => {
                let entry = self.replaced(&mut replaced, item, session);
                self.frame = Some(replaced);
                (entry, true)
            }
            None => (self.chain.entry(item, session), false),
        };
        let outcome = match entry {
            Ok(mut entry) => {
                if is_elided(&entry.view.body) {
                    *self.report.elided.entry(item.kind).or_default() += 1;
                }
                let change = if is_replaced { None } else { self.session_change(item, session) };
                if let Some(change) = change {
                    self.show(change, session, out);
                }
                if self.heading.is_some() && session.facts().model.is_some() {
                    self.show_heading(session, out);
                }
                if after.is_empty() && !is_replaced && self.waits_for_model(item, &entry, session) {
                    self.heading = Some(Box::new(WaitingHeading::new(item)));
                    return Ok(());
                }
                if !after.is_empty() {
                    if let Some(redactor) = &mut self.chain.redactor {
                        redactor.blocks(&mut after);
                    }
                    entry.view.body.append(&mut after);
                }
                self.show(entry, session, out);
                Ok(())
            }
            Err(rule) => {
                self.updates.hide(&item.id);
                if item.parent.is_none() && self.chain.profile.filter.is_answer_alone() {
                    self.outlined(session, out, |outline, _, parts| outline.pass_over(item.kind, parts));
                }
                Err(rule)
            }
        };
        if !after.is_empty() {
            self.aside("after", Some(item), after, session, out);
        }
        outcome
    }

    /// Tells the formatters of the beginning, once.
    fn meet(&mut self, session: &Session, out: &mut dyn Write) {
        if !std::mem::replace(&mut self.has_met, true) {
            let before = self.chain.observe(Observation::Begin, session);
            self.aside("begin", None, before, session, out);
            self.count_once();
        }
    }

    /// An item came again: what is said of its record is said again, too, under the id of the record.
    fn item_again(&mut self, item: &Item, session: &Session, out: &mut dyn Write) {
        let Some(mut replaced) = self.frame.take() else { return };
        let item = Item { id: replaced.frame.id.clone(), ..item.clone() };
        if let Ok(entry) = self.replaced(&mut replaced, &item, session) {
            self.show(entry, session, out);
        }
        self.frame = Some(replaced);
    }

    /// Tells an item as it is. The error is the rule that hides it.
    fn tell(&mut self, item: &Item, session: &Session, out: &mut dyn Write) -> Result<(), &'static str> {
        self.chain.admits(item)?;
        // Of a line of the input on which nothing stands only a plugin may have something to say.
        let is_blank_line = item.kind == Kind::Unknown && item.is_blank();
        if is_blank_line || item.fact("counted").is_some() {
            return Err(item.kind.name());
        }
        let whole = self_contained(item, session);
        // A string takes everything.
        let line_of = |item: &Item| {
            let mut line = String::new();
            let _ = write_item(item, &mut line);
            line
        };
        let mut line = line_of(&whole);
        if let Some(redactor) = &mut self.chain.redactor {
            if let Cow::Owned(_) = whole {
                // What is masked of its call's counts with the call.
                redactor.json(&mut line_of(item));
                redactor.uncounted(|redactor| redactor.json(&mut line));
            } else {
                redactor.json(&mut line);
            }
        }
        self.writer.item(&line, out);
        Ok(())
    }

    /// Says what is shown of an item.
    fn show(&mut self, entry: Box<Entry>, session: &Session, out: &mut dyn Write) {
        self.chain.remember(&entry, session);
        self.say(entry, false, session, out);
    }

    /// Whether an entry heads a session whose model isn't known yet, and may wait for that.
    fn waits_for_model(&self, item: &Item, entry: &Entry, session: &Session) -> bool {
        self.headings_wait
            && entry.view.is_heading()
            && self.heading.is_none()
            && matches!(self.chain.output_kind, OutputKind::Writer(_))
            && session.facts().model.is_none()
            && item.fact("model").is_none()
            && !self.chain.profile.filter.is_answer_alone()
    }

    /// Shows the heading that waits, with all that is known now, and what is below it.
    fn show_heading(&mut self, session: &Session, out: &mut dyn Write) {
        let Some(waiting) = self.heading.take() else { return };
        let WaitingHeading { item, entries, .. } = *waiting;
        if let Ok(heading) = self.chain.uncounted(|chain| chain.entry(&item, session)) {
            self.show(heading, session, out);
        }
        for (entry, is_aside) in entries {
            self.say(entry, is_aside, session, out);
        }
    }

    /// Says an entry, or keeps it for the sink. `is_aside`: it is of no item.
    fn say(&mut self, entry: Box<Entry>, is_aside: bool, session: &Session, out: &mut dyn Write) {
        if let Some(waiting) = &mut self.heading {
            waiting.push(entry, is_aside);
            if waiting.is_full() {
                self.show_heading(session, out);
            }
            return;
        }
        if let Some(redactor) = &mut self.chain.redactor {
            // What is masked in ids counts with the item, whenever its node is written.
            [Some(&entry.id), entry.parent.as_ref()]
                .into_iter()
                .flatten()
                .for_each(|id| redactor.id(&mut id.clone()));
        }
        if let Some(head) = &mut self.head {
            head.show(&entry);
        }
        match self.chain.output_kind {
            OutputKind::Writer(_) => {
                self.outlined(session, out, |outline, title_of, parts| {
                    if is_aside {
                        outline.push_aside(entry, title_of, parts);
                    } else {
                        outline.push(entry, title_of, parts);
                    }
                });
            }
            OutputKind::Updates => self.updates.put(entry),
            OutputKind::Items => {}
        }
    }

    /// Lets `work` go on with the document, and writes the parts that come of it.
    fn outlined(
        &mut self,
        session: &Session,
        out: &mut dyn Write,
        work: impl FnOnce(&mut Outline, TitleOf<'_>, &mut Vec<DocumentPart>),
    ) {
        let Self { chain, outline, parts, writer, .. } = self;
        work(outline, &mut |call| chain.title_of(call, session), parts);
        // Only now: until here ids tell what belongs together. They were counted with their items.
        if let Some(redactor) = &mut chain.redactor {
            redactor.uncounted(|redactor| parts.iter_mut().for_each(|part| mask(part, redactor)));
        }
        for part in parts.drain(..) {
            writer.part(&part, out);
        }
        let left_out = outline.take_left_out();
        if left_out > 0 {
            self.count_left_out(left_out);
        }
    }

    /// Counts replies as hidden that were shown as far as was known then.
    fn count_left_out(&mut self, replies: u64) {
        if let Some(shown) = self.report.shown.get_mut(&Kind::Reply) {
            *shown = shown.saturating_sub(replies);
        }
        self.report.shown.retain(|_, shown| *shown > 0);
        *self.report.hidden.entry("filter".to_owned()).or_default() += replies;
    }

    /// Says, in an entry of its own, what no shown item can carry: at the beginning or the end, or after an
    /// item that is hidden.
    fn aside(
        &mut self,
        name: &str,
        item: Option<&Item>,
        body: Vec<Block>,
        session: &Session,
        out: &mut dyn Write,
    ) {
        if body.is_empty() {
            return;
        }
        let mut view = View::of(body);
        if view.is_empty() {
            return;
        }
        let id: Id = item.map_or_else(|| name.into(), |item| format!("{}/{name}", item.id).into());
        if let Some(redactor) = &mut self.chain.redactor {
            redactor.view(&mut view);
        }
        let entry = Entry {
            parent: item.and_then(|item| item.parent.clone()),
            place: item.map_or(0, |item| item.place),
            ..Entry::new(id, Kind::Notice, view)
        };
        self.say(Box::new(entry), true, session, out);
    }

    /// Tells of which session an item is, if that isn't the session of those above. It stands beside the item, and is none.
    fn session_change(&mut self, item: &Item, session: &Session) -> Option<Box<Entry>> {
        let now = item.session.as_ref()?;
        if self.last_session.as_ref().is_some_and(|before| Arc::ptr_eq(before, now)) {
            return None;
        }
        let before = self.last_session.replace(now.clone())?;
        let says_it = item.fact("event").and_then(FactRef::str).as_deref() == Some("session");
        if before == *now || says_it {
            return None;
        }
        let mut notice = Item::new(format!("{}/session-change", item.id), Kind::Notice, item.line);
        notice.session = Some(now.clone());
        notice.data.extend([
            ("event", Fact::Text("session-change".to_owned())),
            ("session", Fact::Text((**now).to_owned())),
        ]);
        let mut entry = self.chain.entry(&notice, session).ok()?;
        (entry.parent, entry.place) = (item.parent.clone(), item.place);
        Some(entry)
    }

    /// See [`super::Pipeline::replace`].
    pub(super) fn replace(
        &mut self,
        profile: Profile,
        output: Output,
        is_writer_replaced: bool,
        session: &Session,
        out: &mut dyn Write,
    ) -> fmt::Result {
        // What is drawn stays drawn: a tree goes on as it began.
        self.trees = self.trees.take().or_else(|| trees_of(&profile));
        self.chain.choose(profile);
        let (output_kind, new, writer) = OutputKind::of(output);
        if let OutputKind::Items = output_kind {
            return Ok(());
        }
        if self.has_met {
            let mut memories = self
                .chain
                .formatters
                .iter()
                .filter_map(|before| before.plugins())
                .map(PluginFormatter::memory);
            for plugins in new.iter().filter_map(|formatter| formatter.plugins()) {
                plugins.resume(memories.next().flatten(), session);
            }
        }
        if std::mem::discriminant(&output_kind) != std::mem::discriminant(&self.chain.output_kind) {
            return Ok(());
        }
        self.chain.ask(new);
        if !is_writer_replaced {
            return Ok(());
        }
        self.chain.output_kind = output_kind;
        writer.map_or(Ok(()), |writer| self.writer.replace(writer, out))
    }

    pub(super) fn end(&mut self, session: &Session, out: &mut dyn Write) {
        self.report.open_calls = session.open_calls();
        self.show_heading(session, out);
        self.end_trees(session, out);
        if self.has_met {
            let last = self.chain.observe(Observation::End, session);
            self.aside("end", None, last, session, out);
            self.count_once();
        }
        self.outlined(session, out, Outline::end);
        if let Some(head) = self.head.take() {
            self.writer.know_head(head.complete(session, self.chain.redactor.as_mut()));
        }
        self.updates.end();
    }
}

/// What draws the records of replies, if they are to be drawn: where no record is shown, their lines stay.
fn trees_of(profile: &Profile) -> Option<Box<RecordTrees>> {
    let is_shown = |_: &DrawnRecords| profile.filter.admits(&Item::new("", Kind::Record, 0));
    profile.records.clone().filter(is_shown).map(|drawn| Box::new(RecordTrees::new(drawn)))
}

/// Where what heads a document is collected, if the output wants that.
fn head_of(output_kind: OutputKind) -> Option<Box<HeadNotes>> {
    matches!(output_kind, OutputKind::Writer(wants) if wants.head).then(Box::default)
}

/// What a document is made of for this listener.
fn shape(profile: &Profile, output_kind: OutputKind, is_whole: bool) -> OutlineOptions {
    let OutputKind::Writer(wants) = output_kind else { return OutlineOptions::default() };
    let pairs = match (wants.order, profile.layout.pairs) {
        (Order::Completion, _) | (_, Pairs::Never) => false,
        (Order::Paired, _) | (_, Pairs::Always) => true,
        // What is written as it is stays in the order that it came in.
        (Order::Chosen, Pairs::Auto) => is_whole && !profile.layout.bare,
    };
    OutlineOptions {
        pairs,
        nests: wants.nests,
        answer: wants.answer,
        names: wants.names,
        only_answer: profile.filter.is_answer_alone(),
        agents: wants.agents,
        notices: wants.notices,
    }
}

/// Masks the ids in a part of the document. Titles and views were masked when they were made.
fn mask(part: &mut DocumentPart, redactor: &mut Redactor) {
    let entry = |entry: &mut Entry, redactor: &mut Redactor| {
        redactor.id(&mut entry.id);
        entry.parent.iter_mut().chain(&mut entry.call).for_each(|id| redactor.id(id));
    };
    let node = |node: &mut Node, redactor: &mut Redactor| {
        entry(&mut node.entry, redactor);
        node.result.iter_mut().for_each(|result| entry(result, redactor));
    };
    match part {
        DocumentPart::Node(only) => node(only, redactor),
        DocumentPart::Notices(nodes) => nodes.iter_mut().for_each(|each| node(each, redactor)),
        DocumentPart::Answer(answer) => answer.nodes.iter_mut().for_each(|each| node(each, redactor)),
        DocumentPart::Enter(nest) => {
            nest.call.iter_mut().for_each(|call| redactor.id(call));
            nest.node.iter_mut().for_each(|each| node(each, redactor));
        }
        DocumentPart::Leave => {}
    }
}

/// Whether a limit left something out.
fn is_elided(blocks: &[Block]) -> bool {
    any_block(blocks, |block| matches!(block, Block::Elided { .. }))
}
