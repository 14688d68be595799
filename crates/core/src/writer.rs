//! Writers: each writes the nodes of a document in one output format. The writers themselves are in a separate crate.

use std::collections::BTreeMap;
use std::fmt;

use crate::outline::{Answer, DocumentHead, DocumentPart, Nest, Node, OutlineOptions};
use crate::profile::{Pairs, Profile};

/// Writes the nodes of a document in one output format. It never sees items.
///
/// The order of calls is `begin`, any number of `node`, `enter`, `leave`, `notices` and `answer`, then `end`. Text written to `out` may
/// be passed on at once, so each call must leave the output in a state that can be shown. On threads, see
/// [`crate::formatter::Formatter`].
pub trait Writer: Send {
    /// What it needs in addition to the entries.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Writes the beginning of the document, before the first node.
    fn begin(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Writes one node.
    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Begins a nest. Only for writers that want nests.
    fn enter(&mut self, nest: &Nest, out: &mut dyn fmt::Write) -> fmt::Result {
        nest.node.iter().try_for_each(|node| self.node(node, out))
    }

    /// Ends the innermost nest that was begun with [`Writer::enter`].
    fn leave(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Writes consecutive notices. Only for writers that want notices as one part.
    fn notices(&mut self, nodes: &[Node], out: &mut dyn fmt::Write) -> fmt::Result {
        nodes.iter().try_for_each(|node| self.node(node, out))
    }

    /// Writes the answer of a turn. Only for writers that want answers.
    fn answer(&mut self, answer: &Answer, out: &mut dyn fmt::Write) -> fmt::Result {
        answer.nodes.iter().try_for_each(|node| self.node(node, out))
    }

    /// Writes the end of the document, after the last node.
    fn end(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// The part that writes the head of a document, if its documents have one.
    fn head(&mut self) -> Option<&mut dyn HeadWriter> {
        None
    }

    /// The part that takes items in place of nodes, if it writes those.
    fn items(&mut self) -> Option<&mut dyn ItemWriter> {
        None
    }

    /// The part that previews nodes that aren't final, if it writes rows.
    fn live(&mut self) -> Option<&mut dyn LiveWriter> {
        None
    }
}

/// A writer of documents with a head: facts that belong at the start but are known last, such as the title, the answer and totals. It is
/// used only if the sink can put the head before the text; otherwise the writer writes a document that is complete
/// without it.
pub trait HeadWriter {
    /// Holds back from here on everything that belongs to the head. Called before [`Writer::begin`].
    fn hold(&mut self);

    /// Writes the head, after [`Writer::end`]. The sink puts it before all other text.
    fn write_head(&mut self, head: &DocumentHead, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// A writer of a document that is made of the items themselves, and written at the end. Nothing else is called.
pub trait ItemWriter {
    /// Takes a piece of the line of an item, in which secrets are masked: the same text as the output of items. The last piece of a line
    /// ends with its line feed.
    fn item(&mut self, piece: &str);

    /// Writes the document. `agent`: the agent's program, as its dialect names it.
    fn end(&mut self, agent: Option<&str>, out: &mut dyn fmt::Write) -> fmt::Result;

    /// The items that had no place in the document, by name.
    fn left_out(&self) -> &BTreeMap<String, u64>;
}

/// A writer of rows, which a terminal shows while they grow.
pub trait LiveWriter {
    /// Writes nodes that aren't final as they would follow the text so far, in whole rows, and leaves its state unchanged. Of long texts
    /// it need write only the part that may be in the last `rows` rows.
    fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Sets the width, in columns, at which rows are wrapped from here on, if they are wrapped.
    fn set_width(&mut self, columns: usize);
}

impl DocumentPart {
    /// Passes the part to the method of a writer that writes it.
    pub fn write(&self, writer: &mut dyn Writer, out: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::Node(node) => writer.node(node, out),
            Self::Enter(nest) => writer.enter(nest, out),
            Self::Leave => writer.leave(out),
            Self::Notices(nodes) => writer.notices(nodes, out),
            Self::Answer(answer) => writer.answer(answer, out),
        }
    }
}

/// What a writer needs in addition to the entries. Each has a small cost, so it is provided only if wanted.
#[expect(clippy::struct_excessive_bools, reason = "each is wanted or not, by itself")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The time of entries.
    pub time: bool,
    /// The time of session headings, even without that of all entries.
    pub date: bool,
    /// The figures of the run up to each entry.
    pub figures: bool,
    /// The answer as a separate part.
    pub answer: bool,
    /// The entries of sub-agents, nested in their calls.
    pub nests: bool,
    /// Consecutive notices as one part.
    pub notices: bool,
    /// The facts for the head of a document ([`HeadWriter`]).
    pub head: bool,
    /// The title of its call with every result, even right below the call.
    pub names: bool,
    /// Numbered sub-agents, instead of titles of their calls.
    pub agents: bool,
    /// The order of the entries.
    pub order: Order,
}

impl Wants {
    /// The stages of the outline for a writer with these wants. `may_wait`: whether a call may wait for its result.
    pub fn outline(self, profile: &Profile, may_wait: bool) -> OutlineOptions {
        let pairs = match (self.order, profile.layout.pairs) {
            (Order::Completion, _) | (_, Pairs::Never) => false,
            (Order::Paired, _) | (_, Pairs::Always) => true,
            // Bare output keeps the order of completion.
            (Order::Chosen, Pairs::Auto) => may_wait && !profile.layout.bare,
        };
        OutlineOptions {
            pairs,
            nests: self.nests,
            answer: self.answer,
            names: self.names,
            only_answer: profile.filter.is_answer_alone(),
            agents: self.agents,
            notices: self.notices,
        }
    }
}

/// The order in which a writer gets entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Chosen by the profile ([`crate::profile::Pairs`]).
    #[default]
    Chosen,
    /// Results under their calls, unless the profile has [`Never`](crate::profile::Pairs::Never).
    Paired,
    /// The order of completion, regardless of the profile.
    Completion,
}
