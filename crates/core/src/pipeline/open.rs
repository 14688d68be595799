//! What an output doesn't show for good yet.

use std::sync::Arc;

use crate::entry::Line;
use crate::item::Id;
use crate::outline::{Node, Subagent};
use crate::session::Session;

use super::format::{EntryStage, FormatStage};

/// What isn't shown for good yet; see [`super::Pipeline::open_nodes`].
#[derive(Clone, Debug, Default)]
pub struct OpenNodes {
    /// Entries that wait for what belongs to them, and behind them items that grow, as they are now.
    pub nodes: Vec<Node>,
    /// Sub-agents at work.
    pub agents: Vec<OpenAgent>,
}

/// A sub-agent at work.
#[derive(Clone, Debug)]
pub struct OpenAgent {
    /// The call that started it.
    pub call: Id,
    /// The title of that call.
    pub title: Line,
    /// The sub-agent, for a writer that wants agents.
    pub agent: Option<Arc<Subagent>>,
}

impl FormatStage {
    /// See [`super::Pipeline::open_nodes`].
    pub(super) fn open_nodes(&mut self, session: &Session) -> OpenNodes {
        let mut growing = self.open_entries(session);
        for item in session.growing_items() {
            let item = self.growing_passage(&item);
            growing.extend(self.entries.growing_entry(&item, session).ok());
        }
        let EntryStage { outline, chain, .. } = &mut self.entries;
        let nodes = outline.open_nodes(growing, &mut |call| chain.title_of(call, session));
        let mut running: Vec<_> = session.running_agents().map(|call| (call.line, &call.id)).collect();
        running.sort_by_key(|(line, _)| *line);
        // One that waits stands in its place already.
        running.retain(|(_, id)| nodes.iter().all(|node: &Node| node.entry.id != **id));
        let agents = running.into_iter().filter_map(|(_, id)| {
            let agent = outline.agent(id);
            Some(OpenAgent { call: id.clone(), title: chain.title_of(id, session)?, agent })
        });
        OpenNodes { nodes, agents: agents.collect() }
    }
}
