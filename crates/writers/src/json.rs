//! `json`: entries as machine output, one JSON object per line.

use std::fmt::{self, Write};

use streamfmt_core::contract::write_entry;
use streamfmt_core::outline::Node;
use streamfmt_core::writer::{Order, Wants, Writer};

/// Writes entries, one JSON object per line.
#[derive(Debug, Default)]
pub struct Json;

impl Writer for Json {
    fn wants(&self) -> Wants {
        Wants { time: true, order: Order::Completion, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        write_entry(node, out)
    }
}
