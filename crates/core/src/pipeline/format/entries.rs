//! The entry of an item: its view, masked and cut to the limits of the profile.

use crate::clip::{clip, fold};
use crate::entry::{Entry, Figures, Line, View};
use crate::formatter::Verdict;
use crate::item::{Action, Deed, Id, Item, Kind};
use crate::pipeline::titles;
use crate::redact::Redactor;
use crate::session::Session;
use crate::text::Text;
use crate::writer::Wants;

use super::{FormatStage, OutputKind, note_failures};

impl FormatStage {
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
            action: item.action,
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
        Some(self.uncounted(|stage| match stage.masked(known, session) {
            Some(view) if view.title.is_empty() => stage.name_of(known),
            Some(view) if known.action == Some(Action::Delegate) => view.title,
            Some(view) => titles::of_hidden(view.title, &view.body),
            None => stage.name_of(known),
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
        let other = self.uncounted(|stage| stage.masked(same, session));
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
}

/// Whether what is inside of a call is what a sub-agent does: of one that isn't known it may be.
fn may_start_agent(call: Option<&Item>) -> bool {
    call.is_none_or(|call| matches!(call.deed(), Some(Deed::Delegate | Deed::Skill)))
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
