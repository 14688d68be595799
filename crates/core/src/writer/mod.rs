//! Spells entries in one output format.

pub mod cast;
pub mod ci;
mod commonmark;
mod highlight;
pub mod html;
pub mod json;
pub mod markdown;
mod shape;
pub mod sheet;
pub mod summary;
pub mod terminal;

use std::fmt;

use crate::entry::Entry;

/// Spells entries in one output format. Sees no item.
///
/// Calls come in the order `begin`, any number of `entry`, `end`; what is written to `out` in between may
/// be passed on at once, so each call leaves the output in a state that can be shown. For threads see [`crate::formatter::Formatter`].
pub trait Writer: Send {
    /// Whether it writes the time of entries; else they come without.
    fn wants_time(&self) -> bool {
        false
    }

    /// Whether it shows what the run had come to at each entry; else they come without.
    fn wants_figures(&self) -> bool {
        false
    }

    /// Writes what stands before the first entry.
    fn begin(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Writes one entry.
    fn entry(&mut self, entry: &Entry, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Writes what stands after the last entry.
    fn end(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }
}
