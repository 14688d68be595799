//! The agents of a stream. The lines of hooks name the agent that the following events are of, and start and end sub-agents.

use std::collections::VecDeque;

use streamfmt_core::event::Event;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Id, Item};
use streamfmt_core::json::Value;

/// The most agents that run at the same time, and the most calls that may start one.
const MAX_AGENTS: usize = 64;

/// The agents that run, and the one whose events come.
#[derive(Default)]
pub(super) struct Agents {
    /// The main agent.
    main: RunningAgent,
    /// The sub-agents, oldest first.
    inner: Vec<RunningAgent>,
    /// The hash of the id of the agent whose events come.
    current: Option<u64>,
    /// The calls that start sub-agents, whose agents haven't started yet.
    awaited: VecDeque<Id>,
}

/// An agent, and what it is writing.
#[derive(Default)]
pub(super) struct RunningAgent {
    /// The hash of its id.
    id: u64,
    /// The call that started it.
    pub(super) call: Option<Id>,
    /// The text that grows.
    pub(super) text: Option<Id>,
    /// The thought that grows.
    pub(super) thought: Option<Id>,
    /// The complete text, while the thought before it isn't complete.
    held: Option<Box<Item>>,
}

impl RunningAgent {
    /// Emits a complete text, after the thought before it.
    pub(super) fn put_text(&mut self, text: Item, out: &mut Vec<Event>) {
        if self.thought.is_some() {
            self.flush(out);
            self.held = Some(Box::new(text));
        } else {
            out.push(Event::Put(Box::new(text)));
        }
    }

    /// Emits the text that waits for the thought.
    pub(super) fn flush(&mut self, out: &mut Vec<Event>) {
        out.extend(self.held.take().map(Event::Put));
    }
}

impl Agents {
    /// The agent whose events come.
    pub(super) fn current(&mut self) -> &mut RunningAgent {
        let known = self.inner.iter().position(|agent| Some(agent.id) == self.current);
        match known {
            Some(at) => &mut self.inner[at],
            None => &mut self.main,
        }
    }

    /// Notes a call that starts a sub-agent.
    pub(super) fn spawn(&mut self, call: Id) {
        if self.awaited.len() < MAX_AGENTS {
            self.awaited.push_back(call);
        }
    }

    /// Notes the line of a hook: the following events are of this agent.
    pub(super) fn hook(&mut self, name: &str, id: Option<Value<'_>>, parent: Option<Value<'_>>) {
        let hashed = |id: Option<Value<'_>>| id.and_then(Value::decode).map(|id| hash(&*id));
        let Some(id) = hashed(id) else { return };
        let is_new = self.inner.iter().all(|agent| agent.id != id);
        if name == "agent_start" && hashed(parent).is_some() && is_new && self.inner.len() < MAX_AGENTS {
            let call = self.awaited.pop_front();
            self.inner.push(RunningAgent { id, call, ..RunningAgent::default() });
        }
        self.current = Some(id);
    }

    /// Notes that the current agent is done. Other agents may still run.
    pub(super) fn done(&mut self, out: &mut Vec<Event>) {
        self.current().flush(out);
        self.inner.retain(|agent| Some(agent.id) != self.current);
        self.current = self.inner.last().map(|agent| agent.id);
    }

    /// Emits all texts that wait.
    pub(super) fn flush(&mut self, out: &mut Vec<Event>) {
        self.main.flush(out);
        self.inner.iter_mut().for_each(|agent| agent.flush(out));
    }
}
