//! Holds back the heading of a session until its model is known, if the whole input is available.
//!
//! A history names the model only with the first reply, a few entries below the heading. While the input is still being
//! written, nothing waits.

use crate::entry::{Entry, text_size};
use crate::item::Item;

/// How many bytes of the text of entries may wait with a heading.
const MAX_BYTES: usize = 1 << 20;

/// A heading that waits, and the entries below it.
pub(super) struct WaitingHeading {
    /// The item of the heading, which is formatted once the model is known.
    pub(super) item: Item,
    /// The entries below it, each with whether it belongs to no item.
    pub(super) entries: Held<(Box<Entry>, bool)>,
}
