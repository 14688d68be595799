//! What an output needs to show a change.

use std::fmt::Write;

use crate::session::Session;

/// What an output needs to show a change.
pub(super) struct ChangeContext<'a> {
    /// The session, as it is at the change.
    pub(super) session: &'a Session,
    /// Where the output's text goes.
    pub(super) out: &'a mut dyn Write,
}
