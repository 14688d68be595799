//! The result of reading an input.

use streamfmt::follow::FollowStep;

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// This many bytes were read.
    Bytes(usize),
    /// A message to the user about the input.
    Note(String),
    /// Lines of an agent's standard error, clean.
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    Aside(Vec<String>),
    /// The file was replaced: an unfinished line at the end of the old one stays unfinished.
    Cut,
    /// Nothing was read for a while, or something arrived beside the input.
    Pause,
    /// The input has ended.
    End,
}

impl From<FollowStep> for ReadOutcome {
    fn from(step: FollowStep) -> Self {
        match step {
            FollowStep::Bytes(count) => Self::Bytes(count),
            FollowStep::Note(note) => Self::Note(note.to_string()),
            FollowStep::Cut => Self::Cut,
            FollowStep::Pause => Self::Pause,
            FollowStep::End => Self::End,
        }
    }
}
