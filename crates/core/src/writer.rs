//! What a writer is: it spells the nodes of a document in one output format. The formats are in a crate of their own.

use std::fmt;

use crate::outline::{Answer, DocumentHead, DocumentPart, Nest, Node};

/// Spells the nodes of a document in one output format. Sees no item.
///
/// Calls come in the order `begin`, any number of `node`, `enter`, `leave` and `answer`, `end`; what is written to `out` in
/// between may be passed on at once, so each call leaves the output in a state that can be shown. For threads see
/// [`crate::formatter::Formatter`].
pub trait Writer: Send {
    /// What it needs beside the entries.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Writes what is before the first node.
    fn begin(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Writes one node.
    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Begins what is inside of a call. Only for writers that want nests.
    fn enter(&mut self, nest: &Nest, out: &mut dyn fmt::Write) -> fmt::Result {
        nest.node.iter().try_for_each(|node| self.node(node, out))
    }

    /// Ends what was begun last with [`Writer::enter`].
    fn leave(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Writes notices in a row. Only for writers that want them so.
    fn notices(&mut self, nodes: &[Node], out: &mut dyn fmt::Write) -> fmt::Result {
        nodes.iter().try_for_each(|node| self.node(node, out))
    }

    /// Writes the answer of a run. Only for writers that want it.
    fn answer(&mut self, answer: &Answer, out: &mut dyn fmt::Write) -> fmt::Result {
        answer.nodes.iter().try_for_each(|node| self.node(node, out))
    }

    /// Writes what is after the last node.
    fn end(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Its part that writes the head of a document, if it has such a head.
    fn head(&mut self) -> Option<&mut dyn HeadWriter> {
        None
    }

    /// Its part that writes what isn't done, if it writes rows.
    fn live(&mut self) -> Option<&mut dyn LiveWriter> {
        None
    }
}

/// A writer of documents that have a head: what belongs before all else but is known last, such as the title, the answer, totals. It is
/// asked only where the head can be put before what was written until then; otherwise the writer writes a document that is complete
/// without it.
pub trait HeadWriter {
    /// Keeps from now on what belongs to the head. Called before [`Writer::begin`].
    fn hold(&mut self);

    /// Writes what was kept, after [`Writer::end`]; it is put before all that was written.
    fn write_head(&mut self, head: &DocumentHead, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// A writer of rows, which a terminal shows while they grow.
pub trait LiveWriter {
    /// Writes nodes that aren't done, as they would stand behind what was written, from the start of a row to the end of one, and
    /// forgets that it did. Of long texts only what may be in the last `rows` rows need be written.
    fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn fmt::Write) -> fmt::Result;

    /// From here on, rows that are wrapped are wrapped at this many columns.
    fn set_width(&mut self, columns: usize);
}

impl DocumentPart {
    /// Lets a writer write it.
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

/// What a writer needs beside the entries; each costs a little, so that it comes only where it is wanted.
#[expect(clippy::struct_excessive_bools, reason = "each is wanted or not, by itself")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The time of entries.
    pub time: bool,
    /// The time of what heads a session, if not that of all entries.
    pub date: bool,
    /// What the run had come to at each entry.
    pub figures: bool,
    /// The answer, apart from the replies before it.
    pub answer: bool,
    /// What sub-agents do, nested in their calls.
    pub nests: bool,
    /// Notices in a row, as one part.
    pub notices: bool,
    /// What heads a document ([`HeadWriter`]).
    pub head: bool,
    /// With every result the title of its call, also right below that.
    pub names: bool,
    /// Sub-agents by number, rather than the title of its call where what is inside of one doesn't go on.
    pub agents: bool,
    /// In which order the entries come.
    pub order: Order,
}

/// In which order a writer gets entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As the profile says ([`crate::profile::Pairs`]).
    #[default]
    Chosen,
    /// Results under their calls, unless the profile says never.
    Paired,
    /// That of completion, whatever the profile says.
    Completion,
}
