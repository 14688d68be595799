//! The exit codes of the program.

/// Formatted, whatever the content.
pub(crate) const OK: u8 = 0;
/// With `--fail`: the run that was read ended in an error.
pub(crate) const RUN_FAILED: u8 = 1;
/// The arguments or the set-up are wrong, or an input can't be read.
pub(crate) const USAGE: u8 = 2;
/// With `--strict-plugins`: a plugin failed.
pub(crate) const PLUGIN: u8 = 3;
/// A bug.
pub(crate) const INTERNAL: u8 = 70;
/// The output or a copy of the input could not be written.
pub(crate) const OUTPUT: u8 = 74;
/// Added to the number of the signal that ended the program.
pub(crate) const SIGNAL: u8 = 128;
/// The command can't be executed.
#[cfg(unix)]
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// There is no such command.
#[cfg(unix)]
pub(crate) const NOT_FOUND: u8 = 127;
