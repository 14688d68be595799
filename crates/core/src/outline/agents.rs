//! Numbers sub-agents in the order in which they first appear in a document.
//!
//! A sub-agent appears with the call that starts it or, if that isn't shown, with the first entry inside of it. Its
//! number never changes and is never reused.

use std::sync::Arc;

use crate::bounded::Bounded;
use crate::clip::start_of;
use crate::entry::{Entry, Line, Role};
use crate::item::{Action, Id, Kind};
use crate::text::Text;

use super::{TitleOf, title_or_id};

/// How many sub-agents are remembered; an older one gets a new number if it appears again.
const MAX_AGENTS: usize = 256;
/// The longest name, in bytes.
const MAX_NAME: usize = 60;

/// A sub-agent in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// Its number, from 1.
    pub number: u32,
    /// Its task in a few words, if its call is known. It is unique among the remembered sub-agents.
    pub name: Option<Text>,
    /// The title of the call that started it.
    pub title: Line,
    /// The sub-agent that started it, if it wasn't the main agent.
    pub outer: Option<Arc<Subagent>>,
}

/// The sub-agents that have appeared, by the calls that started them.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentNumbers {
    /// The oldest first, so the last has the highest number.
    known: Bounded<Id, Arc<Subagent>>,
}

impl AgentNumbers {
    /// The sub-agent that a call started.
    pub(super) fn of(&self, call: &Id) -> Option<Arc<Subagent>> {
        self.known.get(call).cloned()
    }

    /// The sub-agent that an entry is inside of, numbered now if it hasn't appeared before. `None` if the entry isn't inside of a
    /// sub-agent.
    pub(super) fn around(&mut self, entry: &Entry, title_of: TitleOf<'_>) -> Option<Arc<Subagent>> {
        let call = entry.parent.as_ref().filter(|_| entry.in_agent)?;
        Some(self.agent(call, None, || title_or_id("inside of", call, title_of)))
    }

    /// The sub-agent that an entry starts, or, for a result, that its call started.
    pub(super) fn started_by(&mut self, entry: &Entry) -> Option<Arc<Subagent>> {
        match entry.kind {
            Kind::Call if entry.action == Some(Action::Delegate) => {
                Some(self.agent(&entry.id, entry.parent.as_ref(), || entry.view.title.clone()))
            }
            Kind::Result => entry.call.as_ref().and_then(|call| self.of(call)),
            _ => None,
        }
    }

    /// The sub-agent that `call` started, numbered now if it hasn't appeared before. `outer`: the call that `call` is inside of.
    fn agent(&mut self, call: &Id, outer: Option<&Id>, title: impl FnOnce() -> Line) -> Arc<Subagent> {
        if let Some(known) = self.of(call) {
            return known;
        }
        let title = title();
        let number = self.known.last().map_or(0, |(_, last)| last.number).saturating_add(1);
        let name = name(&title).map(|name| {
            let is_taken = self.known.values().any(|other| other.name.as_ref() == Some(&name));
            if is_taken { Text::clean_owned(format!("{} #{number}", &*name)) } else { name }
        });
        let outer = outer.and_then(|call| self.of(call));
        let agent = Arc::new(Subagent { number, name, title, outer });
        self.known.add(call.clone(), Arc::clone(&agent), MAX_AGENTS);
        agent
    }
}

/// The name of a sub-agent, from the title of its call: the task, else the kind of agent.
fn name(title: &Line) -> Option<Text> {
    let of = |role| title.spans().find(|span| span.role == role && !span.text().is_empty());
    let span = of(Role::of("call.arg")).or_else(|| of(Role::of("tool.agent")))?;
    Some(start_of(span.text(), MAX_NAME))
}
