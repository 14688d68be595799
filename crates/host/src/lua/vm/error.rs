//! The errors of calls that the host itself makes.

use std::fmt;

/// Why a call has no result, inside of an [`mlua::Error`]. Any other error was raised by the script.
#[derive(Debug)]
pub(crate) enum CallError {
    /// A limit was reached: of steps, time or memory. `error` is what the call ended with, if it failed.
    LimitExceeded { message: String, error: Option<mlua::Error> },
    /// A mistake that doesn't depend on the input, such as a field that doesn't exist, or a result that can't be used.
    Misuse(String),
}

impl CallError {
    /// The error for a mistake in a script.
    pub(crate) fn misuse(message: impl Into<String>) -> mlua::Error {
        mlua::Error::external(Self::Misuse(message.into()))
    }

    /// Finds it in an error.
    pub(crate) fn of(error: &mlua::Error) -> Option<&Self> {
        error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// Whether a limit caused this error.
    pub(crate) fn is_limit(error: &mlua::Error) -> bool {
        matches!(Self::of(error), Some(Self::LimitExceeded { .. }))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitExceeded { message, .. } | Self::Misuse(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for CallError {}
