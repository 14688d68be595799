//! A formatter and a writer that decide nothing: they pass on what they see.

use std::fmt;
use std::sync::mpsc::Sender;

use streamfmt::core::entry::{Block, Entry};
use streamfmt::core::formatter::{FormatError, Formatter, Observation, StreamFormatter, Verdict};
use streamfmt::core::item::{Item, Kind};
use streamfmt::core::outline::Node;
use streamfmt::core::session::Session;
use streamfmt::core::writer::Writer;

/// Passes on every item once it is whole.
pub(crate) struct Witness {
    pub(crate) items: Sender<Item>,
    /// Whether it fails at each call, as a faulty plugin would.
    pub(crate) fails_at_calls: bool,
}

impl Formatter for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn format(&self, item: &Item, _: &Session) -> Result<Verdict, FormatError> {
        if self.fails_at_calls && item.kind == Kind::Call {
            return Err(FormatError { message: "no calls".to_owned() });
        }
        Ok(Verdict::Pass)
    }

    fn stream(&self) -> Option<&dyn StreamFormatter> {
        Some(self)
    }
}

impl StreamFormatter for Witness {
    fn observe(&self, moment: Observation<'_>, _: &Session) -> Vec<Block> {
        if let Observation::Complete(item) = moment {
            self.items.send(item.clone()).unwrap();
        }
        Vec::new()
    }
}

/// Passes on every entry that it is to write.
pub(crate) struct Drawn(pub(crate) Sender<Entry>);

impl Writer for Drawn {
    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().try_for_each(|entry| self.0.send(entry.clone()).map_err(|_| fmt::Error))
    }
}
