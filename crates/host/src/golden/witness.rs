//! A formatter that decides nothing and hands on each item once it is whole: laws and drift learn from it which items a run had.

use std::sync::mpsc::Sender;

use streamfmt_core::entry::Block;
use streamfmt_core::formatter::{FormatError, Formatter, Observation, Observer, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::session::Session;

/// Tells of every item once it is whole, and decides nothing.
pub(super) struct Witness(pub(super) Sender<Item>);

impl Formatter for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

impl Observer for Witness {
    fn observe(&self, moment: Observation<'_>, _: &Session) -> Vec<Block> {
        if let Observation::Complete(item) = moment {
            // Nobody listens any longer once the run is over.
            let _ = self.0.send(item.clone());
        }
        Vec::new()
    }
}
