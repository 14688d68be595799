//! Observers watch a session without showing any of it.

use crate::event::{Usage, UsageDetails};
use crate::item::{Id, Item};
use crate::session::Session;

/// Watches the items of a session: for figures, a title, or anything else that isn't output.
///
/// A pipeline has observers in [`Setup::observers`](crate::pipeline::Setup::observers), beside its outputs or with
/// [`Output::Nothing`](crate::pipeline::Output::Nothing) alone. They change no output, and see the same whatever is output and in
/// whatever pieces the input arrives. Items aren't filtered, cut or masked.
pub trait Observer: Send {
    /// Called once for each item, in the order of the stream, when it is complete and before it is shown. `session`: as of this item.
    ///
    /// An item that was streamed comes with all of its text; one that the stream repeats unchanged doesn't come again. One of another
    /// session that this one continues comes, too: see [`Item::is_repeated`]. If the stream takes back items later, a notice names them.
    fn item(&mut self, item: &Item, session: &Session) {
        let _ = (item, session);
    }

    /// Whether [`Self::usage`] needs details, which cost a little on each line. Asked once, when the pipeline is made.
    fn needs_usage_details(&self) -> bool {
        false
    }

    /// Called for each report of the tokens of a message, before it is applied: a later one for the same message replaces it. `details`: what
    /// is known beside, if an observer of the pipeline needs it.
    fn usage(&mut self, message: &Id, usage: Usage, details: &UsageDetails, session: &Session) {
        let _ = (message, usage, details, session);
    }

    /// Called once, by [`Pipeline::finish`](crate::pipeline::Pipeline::finish): all items have come, and all outputs are written.
    fn end(&mut self, session: &Session) {
        let _ = session;
    }
}
