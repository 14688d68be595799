//! Plugins on disk: their files, their manifests, and the messages about them.

pub mod built_in;
pub mod journal;
#[cfg_attr(not(all(feature = "native", unix)), path = "without_native.rs")]
pub(crate) mod library;
pub mod manifest;
pub mod pack;

use std::sync::Arc;

use streamfmt_core::profile::Limits;

use pack::{Pack, PluginLayer};

/// The message for naming a plugin in a build without Lua.
pub(crate) const WITHOUT_LUA: Option<&str> = if cfg!(feature = "lua") {
    None
} else {
    Some("plugins need Lua, and this program is built without it (build streamfmt with its feature \"lua\")")
};

/// A plugin that was chosen, and its layer.
pub(crate) type Chosen = (PluginLayer, Arc<Pack>);

/// What a plugin can know about the output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputContext {
    /// The profile's limits.
    pub(crate) limits: Limits,
    /// Whether the output is a page instead of lines.
    pub(crate) is_page: bool,
}

/// The names that plugins add to the choices.
#[derive(Default)]
pub(crate) struct AddedNames {
    /// Dialects.
    pub(crate) dialects: Vec<String>,
    /// Writers.
    pub(crate) writers: Vec<WriterName>,
    /// Accumulators of records.
    pub(crate) accumulators: Vec<String>,
}

/// A writer of a plugin.
#[derive(Clone, Debug)]
pub(crate) struct WriterName {
    /// Its name.
    pub(crate) name: String,
    /// The writer that it extends.
    pub(crate) base: String,
    /// The extension of its files.
    pub(crate) ending: String,
    /// Whether it is for the log of a CI service.
    pub(crate) is_log: bool,
}
