//! Plugins in Lua: what they see, what they give back, and the formatters, writers and dialects made of them.
//!
//! ```text
//! pack ─▶ plugin (its vm, its api) ─▶ layers ─▶ scripts, a `Formatter`
//! file or folder                      who is asked      │
//!                       item: what scripts see ◀────────┤
//!                       block: what they give back ─────┘   (read by value)
//! ```
//!
//! A plugin sees items and gives blocks; it has no files, clock, network or environment. Whatever it does,
//! each item is told: what fails is told by the layer below, and the user learns of it once.

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
pub(crate) use plugin::Running;
pub(crate) use plugins::Plugins;
pub(crate) use scripts::{Scripts, plain};
