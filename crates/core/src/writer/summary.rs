//! A run on half a page of Markdown: what it is, what failed, the answer, and what it came to.
//!
//! It needs all entries, since only what comes after a reply shows that it was no answer.

use std::fmt::{self, Write};

use crate::entry::{Entry, text_size};
use crate::formatter::figures;
use crate::item::Kind;
use crate::outline::{Answer, Node, Relation};
use crate::writer::markdown::Markdown;
use crate::writer::page::PageOptions;
use crate::writer::{Order, Wants, Writer};

/// Failures that are written; further ones are counted.
const MOST_FAILURES: u64 = 10;

/// Bytes of the answer. A service that shows summaries takes a megabyte.
const MOST_BYTES: usize = 256 * 1024;

/// Writes a summary.
#[derive(Debug)]
pub struct Summary {
    page: Markdown,
    /// The call that the next result may be of.
    call: Option<Box<Entry>>,
    failures: u64,
}

impl Default for Summary {
    fn default() -> Self {
        let page = Markdown::new(PageOptions { fold: Some(3), ..PageOptions::default() });
        Self { page, call: None, failures: 0 }
    }
}

impl Summary {
    /// Writes a call that failed, with its result.
    fn failure(&mut self, call: Option<Box<Entry>>, node: Node, out: &mut dyn Write) -> fmt::Result {
        self.failures += 1;
        if self.failures > MOST_FAILURES {
            return Ok(());
        }
        let outside = |mut entry: Box<Entry>| {
            entry.depth = 0;
            entry
        };
        if let Some(call) = call {
            self.page.node(&Node::from(outside(call)), out)?;
        }
        let result = node.result.map(outside);
        self.page.node(&Node { result, relation: node.relation, ..Node::from(outside(node.entry)) }, out)
    }

    /// Writes how many failures were left out.
    fn untold(&mut self, out: &mut dyn Write) -> fmt::Result {
        let untold = self.failures.saturating_sub(MOST_FAILURES);
        if untold == 0 {
            return Ok(());
        }
        self.failures = 0;
        self.page.end(out)?;
        writeln!(out, "\n{} not told here", &*figures::count_of(untold, "more failure", "more failures"))
    }
}

fn is_failed(entry: &Entry) -> bool {
    entry.kind == Kind::Result && entry.is_failed()
}

impl Writer for Summary {
    fn wants(&self) -> Wants {
        Wants { answer: true, order: Order::Paired, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        let call = self.call.take();
        match node.entry.kind {
            Kind::Notice if node.entry.view.is_heading() => self.page.node(node, out),
            Kind::Call if node.result.as_deref().is_some_and(is_failed) => {
                self.failure(None, Node { relation: Relation::Own, ..node.clone() }, out)
            }
            Kind::Call => {
                self.call = Some(node.entry.clone());
                Ok(())
            }
            // What doesn't name its call is below it.
            Kind::Result if is_failed(&node.entry) => {
                let call = call.filter(|_| node.relation == Relation::Below);
                self.failure(call, node.clone(), out)
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn Write) -> fmt::Result {
        self.call = None;
        self.untold(out)?;
        let mut nodes: Vec<Node> = answer.nodes.iter().filter(|node| node.is_of_answer()).cloned().collect();
        while nodes.iter().map(|node| text_size(&node.entry.view.body)).sum::<usize>() > MOST_BYTES {
            let Some(first) = nodes.iter().position(|node| node.entry.kind == Kind::Reply) else { break };
            nodes.remove(first);
        }
        self.page.answer(&Answer { nodes, turn: answer.turn, is_last: answer.is_last }, out)
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.untold(out)?;
        self.page.end(out)
    }
}
