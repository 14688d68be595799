//! An observer and writers that pass on what they get.

use std::fmt;
use std::sync::mpsc::Sender;

use streamfmt::core::entry::Entry;
use streamfmt::core::item::Item;
use streamfmt::core::observer::Observer;
use streamfmt::core::outline::Node;
use streamfmt::core::session::Session;
use streamfmt::core::writer::{Wants, Writer};

/// Passes on every item.
pub(crate) struct Witness(pub(crate) Sender<Item>);

impl Observer for Witness {
    fn item(&mut self, item: &Item, _: &Session) {
        self.0.send(item.clone()).unwrap();
    }
}

/// Passes on every entry that it gets to write.
pub(crate) struct Drawn(pub(crate) Sender<Entry>);

impl Writer for Drawn {
    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().try_for_each(|entry| self.0.send(entry.clone()).map_err(|_| fmt::Error))
    }
}

/// Passes on every node, in the order for a writer with these wants.
pub(crate) struct Placed(pub(crate) Wants, pub(crate) Sender<Node>);

impl Writer for Placed {
    fn wants(&self) -> Wants {
        self.0
    }

    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        self.1.send(node.clone()).map_err(|_| fmt::Error)
    }
}
