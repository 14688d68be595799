//! Plugins in Lua: the values they receive and return, and the formatters, writers and dialects made of them.
//!
//! ```text
//! vm ◀─ api ◀─ answer ◀─ layers
//! ```
//!
//! Each part uses those to its left, and none to its right:
//!
//! - `vm`: a sandbox with its limits, and the errors of calls.
//! - `api`: what scripts see: `sf`, items, and what they register.
//! - `answer`: what scripts return, and the blocks and lines that they receive.
//! - `layers`: the loaded plugins in order of precedence, the formatter that calls them, and their dialects, writers and accumulators.
//!
//! A plugin receives items and returns blocks; it has no files, clock, network or environment. Whatever it does, each item is
//! shown: where a plugin fails, the layer below formats the item, and the failure is reported once.

mod vm;

pub mod api;

mod answer;

mod layers;

#[cfg(test)]
mod tests;

pub use api::reference;
pub use api::registered::Hook;
pub(crate) use api::registered::{ScriptOverride, Viewed};
pub(crate) use layers::{LoadedPlugin, Plugins, ScriptedWriter, Scripts, dialect_plugins, plain};
