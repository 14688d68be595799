//! When a log is known to be on the disk.

/// When the system is asked to write a log to the disk. A process that is killed loses nothing without it; a machine that loses
/// power does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After each read.
    Always,
    /// Each second in which something came, and at the end.
    #[default]
    Second,
    /// At the end.
    End,
    /// Whenever the system likes.
    Never,
}
