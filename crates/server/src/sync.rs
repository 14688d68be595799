//! When a log is flushed to disk.

/// When a log is flushed to disk (fsync). This protects against power failure; a killed process loses nothing in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After every read.
    Always,
    /// Every second in which something arrived, and at the end.
    #[default]
    Second,
    /// At the end.
    End,
    /// Never: the system decides.
    Never,
}
