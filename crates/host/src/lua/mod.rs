//! Plugins in Lua: the values they receive and return, and the formatters, writers and dialects made of them.
//!
//! ```text
//! pack ─▶ plugin (its vm, its api) ─▶ layers ─▶ scripts, a `Formatter`
//! file or folder                      precedence        │
//!                       item: what scripts see ◀────────┤
//!                       block: what they return ────────┘   (read by value)
//! ```
//!
//! A plugin receives items and returns blocks; it has no files, clock, network or environment. Whatever it does, each item is
//! shown: where a plugin fails, the layer below formats the item, and the failure is reported once.

pub mod api;
mod block;
mod call_faults;
mod current;
mod dialect;
mod exact;
mod item;
mod kept_state;
pub(crate) mod layers;
mod new_items;
mod plugin;
mod plugins;
mod prose;
mod re;
mod records;
pub mod reference;
mod scripts;
mod spell;
mod value;
mod view_to_lua;
mod vm;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

pub(crate) use dialect::dialect_plugins;
pub use layers::Hook;
pub(crate) use plugin::LoadedPlugin;
pub(crate) use plugins::Plugins;
pub(crate) use scripts::{Scripts, plain};
