//! The built-in presentation of items: what is said where no other formatter decides.
//!
//! It names roles, never colours, and knows what a call does, never what its agent calls the tool.
//!
//! ```text
//! standard ─▶ tools ─▶ calls    (a table: what a call does → how it and its result are said)
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
pub const PRESENTATION: Presentation =
    Presentation { formatter: |profile| Box::new(Standard::of(profile)), node: records::node_view };

/// Finds what changed from `old` to `new`. With `context`, only that many kept lines stand around a change.
pub fn hunks(old: &str, new: &str, context: Option<usize>) -> Vec<Hunk> {
    file_diff::FileDiff::between(old, new, context).into_hunks()
}
