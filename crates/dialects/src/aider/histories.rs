//! The location of Aider's chat histories.
//!
//! Facts are from the program's published package, version 0.86 (`aider/args.py`).

use streamfmt_core::dialect::Histories;

/// The history is in the working directory itself.
pub(crate) const HISTORIES: Histories = Histories {
    folder: str::to_owned,
    is_named: |name| name == ".aider.chat.history.md",
    ..Histories::LINES
};
