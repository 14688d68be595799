//! The formatters of an output: makes an entry of an item, masks it and clips it to the limits of the profile.

use std::collections::BTreeSet;
use std::mem;

use crate::clip::{clip, fold};
use crate::entry::{Block, Entry, Figures, Line, View};
use crate::formatter::{Formatter, Observation, PluginFormatter, Presentation, Verdict};
use crate::item::{Action, AnswerClaim, Fact, FactRef, Id, Item, Kind, ToolKind, TurnStep};
use crate::pipeline::Output;
use crate::pipeline::titles::{self, CallTitles};
use crate::profile::Profile;
use crate::redact::Redactor;
use crate::session::Session;
use crate::text::Text;
use crate::writer::{Wants, Writer};

/// The kind of an [`Output`], without its formatters and its writer.
#[derive(Clone, Copy)]
pub(in super::super) enum OutputKind {
    /// The parts of a document, for a writer that wants these.
    Writer(Wants),
    /// Updates for a sink that can change what it shows.
    Updates,
    /// The items themselves.
    Items,
    /// None.
    Nothing,
}

impl OutputKind {
    /// Splits an output into its kind, its formatters and its writer.
    pub(super) fn of(output: Output) -> (Self, Formatters, Option<Box<dyn Writer>>) {
        match output {
            Output::Entries { formatters, writer } => {
                (Self::Writer(writer.wants()), formatters, Some(writer))
            }
            Output::Document { formatters, wants } => (Self::Writer(wants), formatters, None),
            Output::Updates { formatters } => (Self::Updates, formatters, None),
            Output::Items { formatters, writer } => (Self::Items, formatters, writer),
            Output::Nothing => (Self::Nothing, Vec::new(), None),
        }
    }
}

/// Formatters, in the order in which they are called.
pub(super) type Formatters = Vec<Box<dyn Formatter>>;

/// The rule that hides an item.
pub(super) type HidingRule = &'static str;

/// The entry of an item, unless a rule hides it.
pub(in super::super) type EntryResult = Result<Box<Entry>, HidingRule>;

/// The formatters of an output. Makes entries of their views.
pub(in super::super) struct FormatterChain {
    pub(super) profile: Profile,
    pub(super) output_kind: OutputKind,
    /// Called in this order, before the standard one.
    pub(super) formatters: Formatters,
    pub(super) presentation: Presentation,
    /// The built-in formatter, called last; `None` if nothing is formatted.
    standard: Option<Box<dyn Formatter>>,
    /// Masks secrets and ids, if the profile wants any masked.
    pub(in super::super) redactor: Option<Redactor>,
    titles: CallTitles,
    /// Whether the output shows answers apart from other replies.
    pub(super) shows_answers: bool,
    /// Whether failures and masked secrets are counted: not if something is formatted again.
    pub(super) is_counting: bool,
    /// The failures of formatters that aren't counted yet.
    pub(super) failures: BTreeSet<String>,
}

impl FormatterChain {
    pub(super) fn new(
        profile: Profile,
        output_kind: OutputKind,
        formatters: Formatters,
        presentation: Presentation,
    ) -> Self {
        let wants_answer = matches!(output_kind, OutputKind::Writer(wants) if wants.answer);
        Self {
            output_kind,
            shows_answers: wants_answer || profile.filter.is_answer_alone(),
            formatters,
            presentation,
            standard: (!matches!(output_kind, OutputKind::Nothing))
                .then(|| (presentation.formatter)(&profile)),
            redactor: Redactor::new(&profile.redaction),
            profile,
            titles: CallTitles::default(),
            is_counting: true,
            failures: BTreeSet::new(),
        }
    }

    /// Replaces the profile.
    pub(super) fn set_profile(&mut self, profile: Profile) {
        let failures = mem::take(&mut self.failures);
        let formatters = mem::take(&mut self.formatters);
        *self = Self { failures, ..Self::new(profile, self.output_kind, formatters, self.presentation) };
    }

    /// Whether it may show items of minor importance: a plugin or the profile may, or the output isn't text.
    pub(in super::super) fn shows_minor(&self) -> bool {
        match self.output_kind {
            OutputKind::Updates | OutputKind::Items => true,
            OutputKind::Nothing => false,
            OutputKind::Writer(_) => {
                !self.formatters.is_empty() || (self.presentation.shows_minor)(&self.profile)
            }
        }
    }

    /// Whether formatters may show a record in place of its items. Items are written without views, so that nothing replaces them there.
    pub(super) fn reads_frames(&self) -> bool {
        !matches!(self.output_kind, OutputKind::Items | OutputKind::Nothing)
            && self.formatters.iter().any(|formatter| formatter.frames().is_some())
    }

    pub(super) fn admits(&self, item: &Item) -> Result<(), HidingRule> {
        if self.profile.filter.admits(item) { Ok(()) } else { Err("filter") }
    }

    /// Formats an item, and clips the entry to the limits.
    pub(in super::super) fn entry(&mut self, item: &Item, session: &Session) -> EntryResult {
        self.admits(item)?;
        let answer = if self.shows_answers { self.answer(item, session) } else { None };
        let view = match &answer {
            // The answer is an entry of its own.
            Some(_) if item.kind == Kind::Outcome => {
                let mut rest = item.copy_without_text();
                rest.data.push(("structured_repeated", Fact::Bool(true)));
                self.view(&rest, session)
            }
            _ => self.view(item, session),
        };
        let view = view.ok_or(item.kind.name())?;
        if view.is_empty() {
            return Err("empty");
        }
        let entry = self.entry_of(item, view, session);
        Ok(if answer.is_some() { Box::new(Entry { answer, ..*entry }) } else { entry })
    }

    /// The entry of the answer that a call or an outcome contains.
    fn answer(&mut self, item: &Item, session: &Session) -> Option<Box<Entry>> {
        let reply = item.as_answer().filter(|reply| item.parent.is_none() && self.admits(reply).is_ok())?;
        let view = self.view(&reply, session).filter(|view| !view.is_empty())?;
        let entry = self.entry_of(&reply, view, session);
        let step = match TurnStep::of(item) {
            TurnStep::End { .. } => TurnStep::Claim(AnswerClaim::Final),
            step => step,
        };
        Some(Box::new(Entry { step, ..*entry }))
    }

    /// Makes an entry of an item and its view, masked and clipped to the limits.
    pub(super) fn entry_of(&mut self, item: &Item, mut view: View, session: &Session) -> Box<Entry> {
        let mut tool = item.tool.as_deref().map(Text::clean);
        if let Some(redactor) = &mut self.redactor {
            redactor.set_place(Some((item, &view)));
            mask_view(item, &mut view, &mut tool, redactor);
        }
        if !view.body.is_empty() {
            if self.profile.filter.collapses(item) {
                fold(&mut view);
            }
            clip(&mut view, item.kind, item.error, &self.profile.limits_of(item));
        }
        let wants = match self.output_kind {
            OutputKind::Writer(wants) => wants,
            OutputKind::Updates | OutputKind::Items | OutputKind::Nothing => {
                Wants { time: true, ..Wants::default() }
            }
        };
        let at = if wants.time || (wants.date && view.is_heading()) { item.at() } else { None };
        let mut entry = Box::new(Entry {
            id: item.id.clone(),
            parent: item.parent.clone(),
            in_agent: wants.agents
                && item.parent.as_ref().is_some_and(|call| may_start_agent(session.call(call))),
            place: item.place,
            kind: item.kind,
            tool,
            action: item.action(),
            status: item.status,
            waiting: None,
            at,
            took: if wants.time && item.kind == Kind::Result { item.took_ms(at) } else { None },
            depth: session.depth(item.parent.as_ref()),
            level: 0,
            call: if item.kind == Kind::Result { item.call.clone() } else { None },
            figures: wants.figures.then(|| Figures {
                usage: session.usage(),
                // The cost of all sessions of the stream, as in heads and totals.
                cost: session.totals().cost_usd.filter(|_| item.kind == Kind::Outcome),
            }),
            step: if self.shows_answers || item.kind == Kind::Notice {
                TurnStep::of(item)
            } else {
                TurnStep::Other
            },
            answer: None,
            view,
        });
        if matches!(self.output_kind, OutputKind::Updates) && item.kind == Kind::Call {
            entry.wait(session.waiting(&item.id));
        }
        entry
    }

    /// The view of an item, from the first formatter that doesn't pass; `None` if it hides the item.
    pub(super) fn view(&mut self, item: &Item, session: &Session) -> Option<View> {
        self.view_or(item, session, |chain| {
            let named = chain.naming_calls(item);
            match chain.standard.as_ref()?.format(named.as_ref().unwrap_or(item), session) {
                Ok(Verdict::Show(view)) => Some(view),
                _ => None,
            }
        })
    }

    /// Returns a notice or outcome that names calls together with the names that their titles have for the tools, if formatters other
    /// than the standard one may have made these. Only remembered titles count: no plugin is called for a notice.
    fn naming_calls(&self, item: &Item) -> Option<Item> {
        if self.formatters.is_empty() || !matches!(item.kind, Kind::Notice | Kind::Outcome) {
            return None;
        }
        let denials = item.fact("denials").map(FactRef::list).unwrap_or_default();
        let denied = denials.iter().filter_map(|denial| denial.get("call"));
        let calls = item.fact("calls").map(FactRef::list).unwrap_or_default();
        let titles = calls.into_iter().chain(item.fact("call")).chain(denied).filter_map(|call| {
            let call = call.str()?;
            let title = self.titles.of(&Id::from(&*call))?;
            let spans = title.spans().filter(|span| span.role.name() == "tool.name");
            let name: String = spans.map(|span| span.text()).collect();
            let facts = [("call", &*call), ("name", &*name)];
            Some(Fact::Map(facts.map(|(name, text)| (name, Fact::Text(text.to_owned()))).to_vec()))
        });
        let titles: Vec<_> = titles.collect();
        if titles.is_empty() {
            return None;
        }
        let mut named = item.clone();
        named.data.push(("titles", Fact::List(titles)));
        Some(named)
    }

    /// Like [`Self::view`], with another last formatter than the standard one.
    pub(super) fn view_or(
        &mut self,
        item: &Item,
        session: &Session,
        last: impl FnOnce(&mut Self) -> Option<View>,
    ) -> Option<View> {
        match self.verdict(item, session) {
            Some(Verdict::Show(view)) => Some(view),
            Some(_) => None,
            None => last(self),
        }
    }

    /// The verdict of the formatters before the standard one; `None` if all of them pass.
    fn verdict(&mut self, item: &Item, session: &Session) -> Option<Verdict> {
        // Without plugins there are none, and this is called for each item.
        if self.formatters.is_empty() {
            return None;
        }
        let verdict = self.formatters.iter().find_map(|formatter| match formatter.format(item, session) {
            Ok(Verdict::Pass) => None,
            Ok(verdict) => Some(verdict),
            Err(error) => {
                let failure = format!("{}: {error}", formatter.name());
                self.failures.extend(self.is_counting.then_some(failure));
                None
            }
        });
        self.note_failures();
        verdict
    }

    /// The title of a call, masked, if the session remembers the call. A title that must be formatted again counts nothing: what was
    /// masked in it was counted with the call.
    pub(in super::super) fn title_of(&mut self, call: &Id, session: &Session) -> Option<Line> {
        let known = session.call(call)?;
        if let Some(title) = self.titles.of(call) {
            return Some(title);
        }
        Some(self.uncounted(|chain| {
            let view = chain.masked(known, session).filter(|view| !view.title.is_empty());
            match view {
                Some(view) if known.action() == Some(Action::Delegate) => view.title,
                Some(view) => titles::of_hidden(view.title, &view.body),
                None => {
                    let mut name = Line::of("tool.name", known.tool.as_deref().unwrap_or("call"));
                    chain.redactor.iter_mut().for_each(|redactor| redactor.line(&mut name));
                    name
                }
            }
        }))
    }

    /// Remembers the title of a call, and distinguishes it from an earlier call with the same title.
    pub(super) fn remember(&mut self, entry: &Entry, session: &Session) {
        let is_replaced = entry.answer.is_some() && self.profile.filter.is_answer_alone();
        if entry.kind != Kind::Call || entry.view.title.is_empty() || is_replaced {
            return;
        }
        if let Some(same) = self.titles.remember(entry)
            && let Some(same) = session.call(&same)
            && let Some(other) = self.uncounted(|chain| chain.masked(same, session))
        {
            self.titles.distinguish((&entry.id, &entry.view.body), (&same.id, &other.body));
        }
    }

    /// The view of a call, masked and not clipped.
    pub(super) fn masked(&mut self, call: &Item, session: &Session) -> Option<View> {
        let mut view = self.view(call, session)?;
        if let Some(redactor) = &mut self.redactor {
            mask_view(call, &mut view, &mut None, redactor);
        }
        Some(view)
    }

    /// Notes the failures of the formatters' plugins since the last call.
    pub(super) fn note_failures(&mut self) {
        for formatter in &self.formatters {
            let failures = formatter.plugins().map(PluginFormatter::take_failures).unwrap_or_default();
            let counted = failures.into_iter().filter(|_| self.is_counting);
            self.failures.extend(counted.map(|failure| format!("{}: {failure}", formatter.name())));
        }
    }

    /// Passes an observation to the formatters, and returns the blocks that they show in response.
    pub(super) fn observe(&mut self, observation: Observation<'_>, session: &Session) -> Vec<Block> {
        // Without plugins there are none, and this is called for each item.
        if self.formatters.is_empty() {
            return Vec::new();
        }
        let observers = self.formatters.iter().filter_map(|formatter| formatter.stream());
        let blocks = observers.flat_map(|observer| observer.observe(observation, session)).collect();
        self.note_failures();
        blocks
    }

    /// Calls `work` without counting its failures and masked secrets: they were counted, or are counted elsewhere.
    pub(in super::super) fn uncounted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.set_counting(false);
        let result = work(self);
        self.set_counting(before);
        result
    }

    /// Sets whether failures and masked secrets are counted. Returns whether they were.
    fn set_counting(&mut self, is_counting: bool) -> bool {
        self.redactor.iter_mut().for_each(|redactor| redactor.set_counting(is_counting));
        mem::replace(&mut self.is_counting, is_counting)
    }
}

/// Whether the items inside of a call may be those of a sub-agent. If the call isn't known, they may be.
fn may_start_agent(call: Option<&Item>) -> bool {
    call.is_none_or(|call| matches!(call.tool_kind, Some(ToolKind::Delegate | ToolKind::Skill)))
}

/// Masks the view of an item and the name of its tool. Not inlined: most items are formatted without masking.
#[inline(never)]
fn mask_view(item: &Item, view: &mut View, tool: &mut Option<Text>, redactor: &mut Redactor) {
    if item.fact("raw").is_some() {
        redactor.raw_line(view);
    } else {
        redactor.view(view);
    }
    if let Some(tool) = tool {
        let mask = |redactor: &mut Redactor| Text::clean_owned(redactor.text(tool).into_owned());
        // A result is shown with its call, which names the tool.
        *tool = if item.kind == Kind::Result { redactor.unlisted(mask) } else { mask(redactor) };
    }
}
