//! The nodes of an output that aren't final.

use std::sync::Arc;

use crate::entry::Line;
use crate::item::{Id, Item, Kind, Waiting};
use crate::outline::{Node, Subagent};
use crate::session::Session;

use super::format::{EntryStage, FormatStage};

/// The nodes of an output that aren't final; see [`super::Pipeline::open_nodes`].
#[derive(Clone, Debug, Default)]
pub struct OpenNodes {
    /// Entries that wait for others, followed by growing items in their current state.
    pub nodes: Vec<Node>,
    /// The running sub-agents.
    pub agents: Vec<OpenAgent>,
}

/// A running sub-agent.
#[derive(Clone, Debug)]
pub struct OpenAgent {
    /// The call that started it.
    pub call: Id,
    /// The title of that call.
    pub title: Line,
    /// The sub-agent, for a writer that wants agents.
    pub agent: Option<Arc<Subagent>>,
    /// What the call needs from a person, if it waits.
    pub waiting: Option<Waiting>,
}

impl FormatStage {
    /// See [`super::Pipeline::open_nodes`].
    pub(super) fn open_nodes(&mut self, session: &Session) -> OpenNodes {
        let mut growing = self.records.open_entries(&mut self.entries, session);
        for item in session.growing_items() {
            let item = self.records.growing_passage(&item);
            growing.extend(self.entries.growing_entry(&item, session).ok());
        }
        let revision = self.entries.revision();
        let EntryStage { outline, chain, .. } = &mut self.entries;
        outline.set_revision(revision);
        let mut nodes = outline.open_nodes(growing, &mut |call| chain.title_of(call, session));
        for node in nodes.iter_mut().filter(|node| node.entry.kind == Kind::Call && node.result.is_none()) {
            node.entry.wait(session.waiting(&node.entry.id));
        }
        // A call that waits for its result is among the nodes already.
        let is_apart = |call: &&Item| nodes.iter().all(|node| node.entry.id != call.id);
        let mut running: Vec<&Item> = session.running_agents().filter(is_apart).collect();
        running.sort_by_key(|call| call.line);
        let agents = running.into_iter().filter_map(|Item { id, .. }| {
            let agent = outline.agent(id);
            let title = chain.title_of(id, session)?;
            Some(OpenAgent { call: id.clone(), title, agent, waiting: session.waiting(id) })
        });
        let agents = agents.collect();
        self.entries.mask_nodes(&mut nodes);
        (self.entries.has_changed, self.entries.has_grown) = (false, false);
        OpenNodes { nodes, agents }
    }
}
