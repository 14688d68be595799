//! The loaded plugins in their layers, and what is made of them: a formatter, dialects, writers and accumulators.

mod call_counter;
mod dialect;
mod kept_state;
pub(crate) mod plugin;
mod plugins;
mod prose;
mod records;
mod scripts;
mod writer;

pub(crate) use dialect::dialect_plugins;
pub(crate) use plugin::LoadedPlugin;
pub(crate) use plugins::Plugins;
pub(crate) use scripts::{Scripts, plain};
pub(crate) use writer::ScriptedWriter;
