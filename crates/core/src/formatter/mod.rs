//! Decides what to say of an item.
//!
//! A chain asks its formatters in turn until one decides. The last is [`standard::Standard`],
//! which decides everything, so no item is ever lost between them.
//!
//! ```text
//! standard ─▶ tools ─▶ calls    (a table: tool name → how its calls and results are said)
//!                  └─▶ results
//!          ─▶ notices, outcome
//! ```

pub mod standard;

mod calls;
mod changes;
mod datum;
mod figures;
mod generic;
mod lines;
mod notices;
mod outcome;
mod results;
mod tools;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::entry::View;
use crate::item::Item;
use crate::session::Session;

/// What a formatter decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Say this.
    Show(View),
    /// Say nothing; counted as hidden.
    Hide,
    /// Ask the next formatter.
    Pass,
}

/// Why a formatter could not decide. The next one is asked, and the user is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// What went wrong, in one line.
    pub message: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

/// Decides what to say of an item. Sees neither bytes nor colours nor width.
pub trait Formatter {
    /// Its name, for `explain` and for messages.
    fn name(&self) -> &str;

    /// Says what to show of `item`. Depends on its arguments alone, so that a replay says the same.
    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError>;
}
