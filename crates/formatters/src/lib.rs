//! The built-in presentation of items, used where no other formatter decides.
//!
//! It uses roles, never colours, and depends on the kind of a call, never on the name of its tool.
//!
//! ```text
//! standard ─▶ tools ─▶ calls    (a table: kind of tool → the functions that format the call and its result)
//!                  └─▶ results
//!          ─▶ notices, outcome
//! ```

mod calls;
mod context;
mod file_diff;
mod generic;
mod notices;
mod outcome;
mod records;
mod results;
mod sentence;
pub mod standard;
mod tools;

#[cfg(test)]
mod tests;

use streamfmt_core::entry::Hunk;
use streamfmt_core::formatter::Presentation;

use standard::Standard;

pub use sentence::first_sentence;

/// The built-in presentation.
pub const PRESENTATION: Presentation = Presentation {
    formatter: |profile| Box::new(Standard::of(profile)),
    shows_minor: Standard::shows_minor,
    node: records::node_view,
};

/// Returns the changes from `old` to `new`. `context`: the number of unchanged lines around each change; `None`: all.
pub fn hunks(old: &str, new: &str, context: Option<usize>) -> Vec<Hunk> {
    file_diff::FileDiff::between(old, new, context).into_hunks()
}
