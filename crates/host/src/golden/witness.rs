//! Who sees the items of a run, beside those that say something of them.

use std::cell::RefCell;
use std::rc::Rc;

use streamfmt_core::entry::Block;
use streamfmt_core::formatter::{FormatError, Formatter, Moment, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::session::Session;

/// Keeps every item once it is whole, and decides nothing.
pub(super) struct Witness(pub(super) Rc<RefCell<Vec<Item>>>);

impl Formatter for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn observe(&self, moment: Moment<'_>, _: &Session) -> Vec<Block> {
        if let Moment::Complete(item) = moment {
            self.0.borrow_mut().push(item.clone());
        }
        Vec::new()
    }
}
