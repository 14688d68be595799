//! The formatters of an output: what they say of an item, as an entry that is masked and cut to the limits of the profile.

use std::collections::BTreeSet;

use crate::clip::{clip, fold};
use crate::entry::{Block, Entry, Figures, Line, View};
use crate::formatter::{Formatter, Observation, PluginFormatter, Presentation, Verdict};
use crate::item::{Action, Deed, Id, Item, Kind};
use crate::pipeline::Output;
use crate::pipeline::titles::{self, CallTitles};
use crate::profile::Profile;
use crate::redact::Redactor;
use crate::session::Session;
use crate::text::Text;
use crate::writer::{Wants, Writer};

/// What an output takes.
#[derive(Clone, Copy)]
pub(in super::super) enum OutputKind {
    /// A writer that wants these.
    Writer(Wants),
    /// A sink that can change what it shows.
    Updates,
    /// Items as they are.
    Items,
}

impl OutputKind {
    /// Splits an output into its kind, its formatters and its writer.
    pub(super) fn of(output: Output) -> (Self, Formatters, Option<Box<dyn Writer>>) {
        match output {
            Output::Entries { formatters, writer } => {
                (Self::Writer(writer.wants()), formatters, Some(writer))
            }
            Output::Updates { formatters } => (Self::Updates, formatters, None),
            Output::Items { formatters } => (Self::Items, formatters, None),
        }
    }
}

/// Formatters that are asked one after the other.
pub(super) type Formatters = Vec<Box<dyn Formatter>>;

/// The formatters of an output, with what makes entries of their views.
pub(in super::super) struct FormatterChain {
    pub(super) profile: Profile,
    pub(super) output_kind: OutputKind,
    /// They are asked in this order before the standard one.
    pub(super) formatters: Formatters,
    /// Whether one of them may say something of a record in place of its items.
    pub(super) reads_frames: bool,
    pub(super) presentation: Presentation,
    /// The formatter that is asked last.
    standard: Box<dyn Formatter>,
    /// Masks what is to be masked, if anything is.
    pub(in super::super) redactor: Option<Redactor>,
    titles: CallTitles,
    /// What formatters failed at since something was counted last.
    pub(super) failures: BTreeSet<String>,
}

impl FormatterChain {
    pub(super) fn new(
        profile: Profile,
        output_kind: OutputKind,
        formatters: Formatters,
        presentation: Presentation,
    ) -> Self {
        Self {
            output_kind,
            reads_frames: reads_frames(&formatters),
            formatters,
            presentation,
            standard: (presentation.formatter)(&profile),
            redactor: Redactor::new(&profile.redaction),
            profile,
            titles: CallTitles::default(),
            failures: BTreeSet::new(),
        }
    }

    /// Takes other formatters.
    pub(super) fn ask(&mut self, formatters: Formatters) {
        self.reads_frames = reads_frames(&formatters);
        self.formatters = formatters;
    }

    /// Takes other choices.
    pub(super) fn choose(&mut self, profile: Profile) {
        self.standard = (self.presentation.formatter)(&profile);
        self.redactor = Redactor::new(&profile.redaction);
        self.profile = profile;
        self.titles.clear();
    }

    pub(super) fn admits(&self, item: &Item) -> Result<(), &'static str> {
        if self.profile.filter.admits(item) { Ok(()) } else { Err("filter") }
    }

    /// What is said of an item, cut to the limits. The error is the rule that hides it.
    pub(in super::super) fn entry(
        &mut self,
        item: &Item,
        session: &Session,
    ) -> Result<Box<Entry>, &'static str> {
        self.admits(item)?;
        let view = self.view(item, session).ok_or(item.kind.name())?;
        if view.is_empty() {
            return Err("empty");
        }
        Ok(self.entry_of(item, view, session))
    }

    /// The entry that says this of an item, cut to the limits.
    pub(super) fn entry_of(&mut self, item: &Item, mut view: View, session: &Session) -> Box<Entry> {
        let mut tool = item.tool.as_deref().map(Text::clean);
        if let Some(redactor) = &mut self.redactor {
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
            OutputKind::Updates | OutputKind::Items => Wants { time: true, ..Wants::default() },
        };
        let at = if wants.time || (wants.date && view.is_heading()) { item.at() } else { None };
        Box::new(Entry {
            id: item.id.clone(),
            parent: item.parent.clone(),
            in_agent: wants.agents
                && item.parent.as_ref().is_some_and(|call| may_start_agent(session.call(call))),
            place: item.place,
            kind: item.kind,
            tool,
            action: item.action(),
            status: item.status,
            at,
            took: if wants.time && item.kind == Kind::Result { item.took_ms(at) } else { None },
            depth: session.depth(item.parent.as_ref()),
            level: 0,
            call: if item.kind == Kind::Result { item.call.clone() } else { None },
            figures: wants.figures.then(|| Figures {
                usage: session.usage(),
                // Over all sessions of the stream, as heads and totals have it.
                cost: session.totals().cost_usd.filter(|_| item.kind == Kind::Outcome),
            }),
            view,
        })
    }

    /// What the chain says of an item; `None`: nothing.
    pub(super) fn view(&mut self, item: &Item, session: &Session) -> Option<View> {
        match self.asked(item, session) {
            Some(Verdict::Show(view)) => Some(view),
            Some(Verdict::Hide) => None,
            Some(Verdict::Pass) | None => self.standard_view(item, session),
        }
    }

    /// What the standard formatter says of an item; `None`: nothing.
    fn standard_view(&self, item: &Item, session: &Session) -> Option<View> {
        match self.standard.format(item, session) {
            Ok(Verdict::Show(view)) => Some(view),
            _ => None,
        }
    }

    /// What the formatters before the standard one say of an item. `None`: all of them pass.
    pub(super) fn asked(&mut self, item: &Item, session: &Session) -> Option<Verdict> {
        for formatter in &self.formatters {
            let verdict = formatter.format(item, session);
            note_failures(&mut self.failures, &**formatter);
            match verdict {
                Ok(Verdict::Pass) => {}
                Ok(verdict) => return Some(verdict),
                Err(error) => drop(self.failures.insert(format!("{}: {error}", formatter.name()))),
            }
        }
        None
    }

    /// What names a call, masked, if the call is remembered. What it takes to make it anew is the call's.
    pub(in super::super) fn title_of(&mut self, call: &Id, session: &Session) -> Option<Line> {
        let known = session.call(call)?;
        if let Some(title) = self.titles.of(call) {
            return Some(title);
        }
        Some(self.uncounted(|chain| match chain.masked(known, session) {
            Some(view) if view.title.is_empty() => chain.name_of(known),
            Some(view) if known.action() == Some(Action::Delegate) => view.title,
            Some(view) => titles::of_hidden(view.title, &view.body),
            None => chain.name_of(known),
        }))
    }

    /// The name of a call of which nothing is said, masked.
    pub(super) fn name_of(&mut self, call: &Item) -> Line {
        let mut name = Line::of("tool.name", call.tool.as_deref().unwrap_or("call"));
        if let Some(redactor) = &mut self.redactor {
            redactor.line(&mut name);
        }
        name
    }

    /// Remembers the title of a call.
    pub(super) fn remember(&mut self, entry: &Entry, session: &Session) {
        if entry.kind != Kind::Call || entry.view.title.is_empty() {
            return;
        }
        let same = self.titles.remember(entry);
        let Some(same) = same.as_ref().and_then(|call| session.call(call)) else { return };
        let other = self.uncounted(|chain| chain.masked(same, session));
        if let Some(other) = other {
            self.titles.tell_apart((&entry.id, &entry.view.body), (&same.id, &other.body));
        }
    }

    /// What is said of a call, masked and uncut.
    pub(super) fn masked(&mut self, call: &Item, session: &Session) -> Option<View> {
        let mut view = self.view(call, session)?;
        if let Some(redactor) = &mut self.redactor {
            mask_view(call, &mut view, &mut None, redactor);
        }
        Some(view)
    }

    /// Notes what the accumulators of formatters contained.
    pub(super) fn note_formatters(&mut self) {
        for formatter in &self.formatters {
            note_failures(&mut self.failures, &**formatter);
        }
    }

    /// Hands an observation to the formatters; gives what is to be said there.
    pub(super) fn observe(&mut self, observation: Observation<'_>, session: &Session) -> Vec<Block> {
        let mut blocks = Vec::new();
        for formatter in &self.formatters {
            let observer = formatter.observer();
            blocks
                .extend(observer.map(|observer| observer.observe(observation, session)).unwrap_or_default());
            note_failures(&mut self.failures, &**formatter);
        }
        blocks
    }

    /// Does something of which nothing is to be counted: it is counted elsewhere.
    pub(in super::super) fn uncounted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let failures = std::mem::take(&mut self.failures);
        let noted = self.redactor.as_ref().map(|redactor| redactor.noted.clone());
        let result = work(self);
        self.failures = failures;
        if let (Some(redactor), Some(noted)) = (&mut self.redactor, noted) {
            redactor.noted = noted;
        }
        result
    }
}

fn reads_frames(formatters: &Formatters) -> bool {
    formatters.iter().any(|formatter| formatter.frames().is_some())
}

/// Whether what is inside of a call is what a sub-agent does: of one that isn't known it may be.
fn may_start_agent(call: Option<&Item>) -> bool {
    call.is_none_or(|call| matches!(call.deed, Some(Deed::Delegate | Deed::Skill)))
}

/// Masks what is said of an item, and the name of its tool. Apart from what is done for every item.
#[inline(never)]
fn mask_view(item: &Item, view: &mut View, tool: &mut Option<Text>, redactor: &mut Redactor) {
    if item.fact("raw").is_some() {
        redactor.raw_line(view);
    } else {
        redactor.view(view);
    }
    if let Some(tool) = tool {
        *tool = Text::clean_owned(redactor.text(tool).into_owned());
    }
}

/// Notes what a formatter contained.
pub(super) fn note_failures(failures: &mut BTreeSet<String>, formatter: &dyn Formatter) {
    let failed = formatter.plugins().map(PluginFormatter::take_failures);
    for failure in failed.unwrap_or_default() {
        failures.insert(format!("{}: {failure}", formatter.name()));
    }
}
