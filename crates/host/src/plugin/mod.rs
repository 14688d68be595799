//! Plugins on disk: their files, their manifests, and the messages about them.

pub mod built_in;
pub mod journal;
#[cfg_attr(not(all(feature = "native", unix)), path = "without_native.rs")]
pub(crate) mod library;
pub mod manifest;
pub mod source;

use std::sync::Arc;

use streamfmt_core::profile::Limits;
use strum::IntoStaticStr;

use source::{PluginLayer, PluginSource};

/// The message for naming a plugin in a build without Lua.
pub(crate) const WITHOUT_LUA: Option<&str> = if cfg!(feature = "lua") {
    None
} else {
    Some("plugins need Lua, and this program is built without it (build streamfmt with its feature \"lua\")")
};

/// Where a plugin that is chosen by name comes from, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum PluginOrigin {
    /// The user's own folder.
    Own,
    /// It was installed.
    Installed,
    /// It is part of the program.
    BuiltIn,
}

impl PluginOrigin {
    pub(crate) const ALL: [Self; 3] = [Self::Own, Self::Installed, Self::BuiltIn];

    /// Its name: `own`, `installed` or `built-in`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A plugin that is used in a run.
#[derive(Clone, Debug)]
pub struct EnabledPlugin {
    /// Its layer.
    pub layer: PluginLayer,
    /// Its files.
    pub pack: Arc<PluginSource>,
    /// Its origin, if it was chosen by name.
    pub origin: Option<PluginOrigin>,
    /// What selected it: a settings file with its line, the file of its profile, or the script itself.
    pub by: String,
}

impl EnabledPlugin {
    /// Creates one that `by` selected, but not by name.
    pub(crate) fn new(layer: PluginLayer, pack: impl Into<Arc<PluginSource>>, by: impl Into<String>) -> Self {
        Self { layer, pack: pack.into(), origin: None, by: by.into() }
    }

    /// Whether it is a native plugin.
    pub(crate) fn is_native(&self) -> bool {
        self.pack.is_native()
    }
}

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
