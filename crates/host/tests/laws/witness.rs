//! An observer and a writer that pass on what they see.

use std::fmt;
use std::sync::mpsc::Sender;

use streamfmt::core::entry::Entry;
use streamfmt::core::item::Item;
use streamfmt::core::observer::Observer;
use streamfmt::core::outline::Node;
use streamfmt::core::session::Session;
use streamfmt::core::writer::Writer;

/// Passes on every item.
pub(crate) struct Witness(pub(crate) Sender<Item>);

impl Observer for Witness {
    fn item(&mut self, item: &Item, _: &Session) {
        self.0.send(item.clone()).unwrap();
    }
}

/// Passes on every entry that it is to write.
pub(crate) struct Drawn(pub(crate) Sender<Entry>);

impl Writer for Drawn {
    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().try_for_each(|entry| self.0.send(entry.clone()).map_err(|_| fmt::Error))
    }
}
