//! What reading an input led to.

use streamfmt::follow::FollowStep;

/// What reading led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// So many bytes were read.
    Bytes(usize),
    /// Something happened to the input that the user should know.
    Note(String),
    /// What an agent wrote to standard error: lines, clean.
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    Aside(Vec<String>),
    /// A file took the place of another: a half line at the end of the old one will stay half.
    Cut,
    /// Nothing came for a while, or something came beside the file.
    Pause,
    /// There is no more.
    End,
}

impl From<FollowStep> for ReadOutcome {
    fn from(step: FollowStep) -> Self {
        match step {
            FollowStep::Bytes(count) => Self::Bytes(count),
            FollowStep::Note(note) => Self::Note(note),
            FollowStep::Cut => Self::Cut,
            FollowStep::Pause => Self::Pause,
            FollowStep::End => Self::End,
        }
    }
}
