//! Collects a user's choices.

mod build;

use std::path::PathBuf;
use std::sync::Arc;

use streamfmt_core::budget::Budget;
use streamfmt_core::redact::Redaction;
use streamfmt_writers::page::KeepPicture;

use super::additions::Additions;
use crate::files::Files;
use crate::folders::Folders;
use crate::plugin::source::{PluginLayer, PluginSource};
use crate::settings::Request;
use crate::tools::rule::ToolRule;
use crate::writers::OutputCapabilities;

/// A plugin that was requested.
#[derive(Clone, Debug)]
enum PluginRequest {
    Path(PathBuf),
    Pack(PluginLayer, Arc<PluginSource>),
}

/// Collects choices. They are checked when the engine is built.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    dialect: Option<String>,
    sources: SettingsSources,
    items: ItemChoice,
    look: LookChoice,
    plugins: PluginRequests,
    budget: Budget,
    pub(super) additions: Additions,
}

/// The settings to read, and their sources.
#[derive(Clone, Debug, Default)]
struct SettingsSources {
    profile: Option<String>,
    environment_profile: Option<String>,
    set: Vec<String>,
    is_strict: bool,
    /// The files to load, except for the plugins of this run.
    request: Request,
    /// Whether messages name command-line options instead of methods.
    names_options: bool,
}

/// The items to show, and the names of their tools.
#[derive(Clone, Debug, Default)]
struct ItemChoice {
    only: Vec<String>,
    hide: Vec<String>,
    within: Option<Vec<String>>,
    tools: Vec<ToolRule>,
    redaction: Redaction,
}

/// The appearance of the output.
#[derive(Clone, Debug, Default)]
struct LookChoice {
    writer: Option<String>,
    theme: Option<String>,
    ascii: bool,
    timestamps: bool,
    capabilities: OutputCapabilities,
    keep: Option<KeepPicture>,
}

/// The requested plugins.
#[derive(Clone, Debug, Default)]
struct PluginRequests {
    requested: Vec<PluginRequest>,
    inline_errors: bool,
    without_native: bool,
    is_deferred: bool,
}

impl Builder {
    /// The dialect of the input, or `auto`.
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = Some(name.into());
        self
    }

    /// The output format, instead of the profile's.
    pub fn writer(mut self, name: impl Into<String>) -> Self {
        self.look.writer = Some(name.into());
        self
    }

    /// The profile: its name, or the path of a file.
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.sources.profile = Some(name.into());
        self
    }

    /// A profile in TOML, as in a separate file, chosen with [`Builder::profile`] or named in the `extends` of another. It takes
    /// precedence over a built-in one of the same name.
    ///
    /// ```
    /// let engine = streamfmt::Engine::builder()
    ///     .add_profile("mine", "extends = [\"quiet\"]\nonly.add = [\"call\"]\n[tool.Bash]\nlabel = \"sh\"\n")
    ///     .profile("mine")
    ///     .dialect("claude")
    ///     .writer("text")
    ///     .build()?;
    /// let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    /// assert_eq!(engine.format_line(line), "● sh ls\n");
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn add_profile(mut self, name: impl Into<String>, source: impl Into<String>) -> Self {
        self.sources.request.texts.push((name.into(), source.into()));
        self
    }

    /// The profile from the environment; [`Builder::profile`] takes precedence.
    pub fn environment_profile(mut self, name: impl Into<String>) -> Self {
        self.sources.environment_profile = Some(name.into());
        self
    }

    /// A settings file, read instead of the user's and the project's.
    pub fn config(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.request.file = Some(path.into());
        self
    }

    /// Ignores the project's settings, trusted or not.
    pub fn no_project(mut self, on: bool) -> Self {
        self.sources.request.no_project = on;
        self
    }

    /// Hashes of projects that are trusted in any folder, separated by commas.
    pub fn trusted(mut self, hashes: impl Into<String>) -> Self {
        self.sources.request.trusted = Some(hashes.into());
        self
    }

    /// Makes problems in settings files errors, and plugins that can't be loaded.
    pub fn strict(mut self, on: bool) -> Self {
        self.sources.is_strict = on;
        self
    }

    /// The folders of settings, plugins and trust records. By default nothing is searched.
    pub fn folders(mut self, folders: Folders) -> Self {
        self.sources.request.folders = Some(folders);
        self
    }

    /// The reader of all files. It records the files that were read, even if the build fails.
    pub fn files(mut self, files: Files) -> Self {
        self.sources.request.files = files;
        self
    }

    /// The theme, instead of the profile's: a name, or the path of a file.
    pub fn theme(mut self, name: impl Into<String>) -> Self {
        self.look.theme = Some(name.into());
        self
    }

    /// Sets one key of the profile: `limits.result-lines=40`.
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.sources.set.push(assignment.into());
        self
    }

    /// Shows only items of these groups, instead of the profile's. It is an error if all names are blank.
    pub fn only(mut self, groups: impl IntoIterator<Item = String>) -> Self {
        self.items.only.extend(groups);
        self
    }

    /// Hides items of these groups, in addition to those that the profile hides. It is an error if all names are blank.
    pub fn hide(mut self, groups: impl IntoIterator<Item = String>) -> Self {
        self.items.hide.extend(groups);
        self
    }

    /// Shows only items with these ids, of those that the groups admit.
    pub fn within(mut self, ids: impl IntoIterator<Item = String>) -> Self {
        self.items.within = Some(ids.into_iter().collect());
        self
    }

    /// Uses ASCII-only symbols in text and terminal output.
    pub fn ascii(mut self, on: bool) -> Self {
        self.look.ascii = on;
        self
    }

    /// Shows times, even if the profile doesn't.
    pub fn timestamps(mut self, on: bool) -> Self {
        self.look.timestamps = on;
        self
    }

    /// Masks these secrets in all output, in addition to the profile's.
    pub fn redact(mut self, redaction: &Redaction) -> Self {
        self.items.redaction.add(redaction);
        self
    }

    /// A plugin for this run: the name of an installed or built-in one, a Lua file, a folder with a `plugin.toml`, or a native library. It
    /// takes precedence over all others, and later ones over earlier ones.
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.plugins.requested.push(PluginRequest::Path(path.into()));
        self
    }

    /// A plugin in Lua, as if read from a file of this name. It takes precedence over those added before.
    ///
    /// ```
    /// # #[cfg(feature = "lua")] {
    /// let engine = streamfmt::Engine::builder()
    ///     .script("mine.lua", "sf.tool('Bash', { label = 'sh' })")
    ///     .dialect("claude")
    ///     .writer("text")
    ///     .build()?;
    /// let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    /// assert!(engine.format_line(line).starts_with("● sh ls\n"));
    /// # }
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn script(self, name: &str, source: impl Into<String>) -> Self {
        self.pack_at(PluginLayer::Run, PluginSource::from_text(name, source))
    }

    /// A loaded plugin, in the layer of those that the profile names. It takes precedence over those added before.
    pub fn pack(self, pack: impl Into<Arc<PluginSource>>) -> Self {
        self.pack_at(PluginLayer::Pack, pack)
    }

    /// A loaded plugin, in this layer. It takes precedence over those added before in the same layer.
    pub fn pack_at(mut self, layer: PluginLayer, pack: impl Into<Arc<PluginSource>>) -> Self {
        self.plugins.requested.push(PluginRequest::Pack(layer, pack.into()));
        self
    }

    /// A rule for some tools. It takes precedence over the profile's.
    pub fn tool(mut self, rule: ToolRule) -> Self {
        self.items.tools.push(rule);
        self
    }

    /// Shows failures of plugins in the output, at the item concerned, instead of in the journal.
    pub fn inline_plugin_errors(mut self, on: bool) -> Self {
        self.plugins.inline_errors = on;
        self
    }

    /// Whether native plugins are loaded: those named for this run, and installed ones that the user's settings name. The default is
    /// `true`; [`Engine::left_out`](super::Engine::left_out) returns those that aren't loaded. A native plugin has all rights of the process, and one that crashes
    /// ends it.
    pub fn native(mut self, on: bool) -> Self {
        self.plugins.without_native = !on;
        self
    }

    /// Loads plugins only with each pipeline, and not in [`Builder::build`] to check them: the build is faster, and a plugin that can't be
    /// loaded is reported only in the [journal](super::Engine::journal), even with [`Builder::strict`]. For programs that show the journal.
    pub fn defer_plugins(mut self, on: bool) -> Self {
        self.plugins.is_deferred = on;
        self
    }

    /// Makes [`Problems`](crate::problem::Problems) name a wrong choice by its command-line option (`--to`, `--from`) instead of
    /// by the method of this builder (`writer`, `dialect`). For programs that have these options.
    pub fn names_options(mut self, on: bool) -> Self {
        self.sources.names_options = on;
        self
    }

    /// The memory limits of a session. A host of many sessions may choose less than the default:
    ///
    /// ```
    /// use streamfmt::{Budget, Engine};
    ///
    /// let budget = Budget { open_bytes: 1 << 20, ids: 10_000, ..Budget::default() };
    /// let engine = Engine::builder().budget(budget).build()?;
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The capabilities of the output's destination, such as colours and width.
    pub fn capabilities(mut self, capabilities: OutputCapabilities) -> Self {
        self.look.capabilities = capabilities;
        self
    }

    /// Saves the pictures of a Markdown page, which are embedded otherwise. An HTML page always embeds them.
    pub fn keep_pictures(mut self, keep: KeepPicture) -> Self {
        self.look.keep = Some(keep);
        self
    }
}
