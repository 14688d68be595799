//! The context in which an output shows a change.

use std::fmt::Write;

use crate::session::Session;

/// The context in which an output shows a change.
pub(super) struct ChangeContext<'a> {
    /// The session as of the change.
    pub(super) session: &'a Session,
    /// Receives the output's text.
    pub(super) out: &'a mut dyn Write,
}
