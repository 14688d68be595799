//! Plugins as they lie on the disk: what they are made of, what they tell of themselves, and what is told of them.

pub mod built_in;
pub mod journal;
#[cfg_attr(not(all(feature = "native", unix)), path = "without_native.rs")]
pub(crate) mod library;
pub mod manifest;
pub mod pack;

use std::sync::Arc;

use streamfmt_core::profile::Limits;

use pack::{Pack, PluginLayer};

/// What is said to whoever names a plugin, if none can be used.
pub(crate) const WITHOUT_LUA: Option<&str> = if cfg!(feature = "lua") {
    None
} else {
    Some("plugins need Lua, and this program is built without it (build streamfmt with its feature \"lua\")")
};

/// A plugin that was chosen, and its layer.
pub(crate) type Chosen = (PluginLayer, Arc<Pack>);

/// What a plugin may know of how that is shown which it says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputContext {
    /// The profile's limits.
    pub(crate) limits: Limits,
    /// Whether it is a page, not lines.
    pub(crate) is_page: bool,
}

/// What plugins add to the names that may be chosen.
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
    /// The one that it stands on.
    pub(crate) base: String,
    /// What the name of a file of it ends in.
    pub(crate) ending: String,
    /// Whether it is for the log of a CI service.
    pub(crate) is_log: bool,
}
