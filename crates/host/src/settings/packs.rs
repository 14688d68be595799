//! The plugins that settings name, and the profiles of plugins.

use std::path::Path;
use std::sync::Arc;

use super::document::{SettingValue, SettingsFile, SettingsLayer};
use super::{Config, Resolved, SettingsProblems};
use crate::install::Installed;
use crate::plugin::journal::Journal;
use crate::plugin::source::{self, PluginLayer, PluginSource};
use crate::plugin::{EnabledPlugin, WITHOUT_LUA};
use crate::problem::{ProblemKind, suggestion};
use crate::settings::keys::{Named, split_list};
use crate::settings::profile::Settings;

/// A profile of a plugin.
#[derive(Clone, Debug)]
pub(crate) struct PackProfile {
    /// The plugin.
    pub(crate) pack: Arc<PluginSource>,
    /// The name of its file in messages.
    pub(crate) file: String,
    /// Its text.
    pub(crate) text: String,
}

impl PackProfile {
    /// The profile `name` of a plugin.
    fn of(pack: &Arc<PluginSource>, name: &str) -> Option<Self> {
        let (_, file, text) = pack.profiles().find(|(known, ..)| *known == name)?;
        Some(Self { pack: Arc::clone(pack), file, text: text.to_owned() })
    }
}

/// Why a plugin that settings name can't be used.
pub(crate) enum Unusable {
    /// It doesn't exist, or may not be used.
    Missing(ProblemKind, String),
    /// It is invalid.
    Broken(String),
}

impl Config {
    /// Finds a plugin that settings name: by path, or else an installed or a built-in one.
    pub(crate) fn pack(&self, named: &Named) -> Result<PluginSource, Unusable> {
        if let Some(why) = WITHOUT_LUA {
            return Err(Unusable::Missing(ProblemKind::Unsupported, why.to_owned()));
        }
        let by = &named.spot.document;
        if is_path(&named.name) {
            return self.pack_beside(by, &named.name);
        }
        self.pack_named(&named.name)
    }

    /// Finds an installed or a built-in plugin.
    pub(super) fn pack_named(&self, name: &str) -> Result<PluginSource, Unusable> {
        let installed = Installed::new(&self.folders);
        installed.find(&self.request.files, name).map_err(|problem| match installed.origin(name) {
            Some(_) => Unusable::Broken(problem.message),
            None => Unusable::Missing(problem.kind, problem.message),
        })
    }

    /// The user's own script, `init.lua` beside the user's settings. It may require other files there, except those of plugins.
    pub(crate) fn user_pack(&self) -> Option<Result<PluginSource, String>> {
        let folder = self.folders.config.as_ref().filter(|_| self.request.file.is_none())?;
        let path = ["init.lua", "init.luau"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|it| self.request.files.has(it))?;
        Some(match WITHOUT_LUA {
            Some(why) => Err(why.to_owned()),
            None => PluginSource::read_script(&self.request.files, &path, &["plugins"]),
        })
    }

    fn pack_beside(&self, by: &SettingsFile, path: &str) -> Result<PluginSource, Unusable> {
        if source::is_library(Path::new(path)) {
            return Err(Unusable::Missing(ProblemKind::NotAllowed, source::NAMED_BY_FILE.to_owned()));
        }
        if by.layer == SettingsLayer::Project {
            let files = self
                .project_files(by, path)
                .map_err(|why| Unusable::Missing(ProblemKind::Unreadable, why))?;
            return match files {
                super::project::ProjectTarget::File(name, text) => {
                    let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy();
                    let file = Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
                    let mut pack = PluginSource::from_text(&file, text);
                    pack.name = stem.into_owned();
                    Ok(pack)
                }
                super::project::ProjectTarget::Folder(files) => {
                    PluginSource::from_files(files).map_err(Unusable::Broken)
                }
            };
        }
        let path = by.folder().join(self.folders.expand(path));
        PluginSource::read(&self.request.files, &path).map_err(|message| {
            if path.exists() {
                Unusable::Broken(message)
            } else {
                Unusable::Missing(ProblemKind::Unreadable, message)
            }
        })
    }

    /// All plugins of a profile, lowest precedence first: those whose profiles were merged, those that the profile names, its
    /// functions, the user's script, the project's plugin, and those `of_run`.
    pub(crate) fn all_plugins(
        &self,
        settings: &Settings,
        resolved: &Resolved,
        of_run: &[EnabledPlugin],
        journal: &Journal,
        problems: &mut SettingsProblems,
    ) -> Vec<EnabledPlugin> {
        let mut all = of_run.to_vec();
        let installed = Installed::new(&self.folders);
        for profile in &resolved.packs {
            let is_it = |name: &str| profile.pack.name == name;
            let is_listed = settings.plugins.iter().any(|named| is_it(&named.name));
            if !is_listed && !all.iter().any(|other| is_it(&other.pack.name)) {
                let active = EnabledPlugin::new(PluginLayer::Pack, Arc::clone(&profile.pack), &profile.file);
                all.push(EnabledPlugin { origin: installed.origin(&profile.pack.name), ..active });
            }
        }
        for named in &settings.plugins {
            match self.pack(named) {
                // An untrusted source must not load native code, not even that of a plugin the user has installed.
                Ok(pack) if pack.is_native() && named.spot.document.layer == SettingsLayer::Project => {
                    let message = format!(
                        "plugin \"{}\": it is native, and a project's settings can't load native code \
                         (name it in your own settings)",
                        named.name
                    );
                    problems.add_at(&named.spot, ProblemKind::NotAllowed, message);
                }
                Ok(pack) => {
                    let active = EnabledPlugin::new(PluginLayer::Pack, pack, named.spot.to_string());
                    all.push(EnabledPlugin { origin: installed.origin(&named.name), ..active });
                }
                Err(Unusable::Missing(kind, message)) => {
                    problems.add_at(&named.spot, kind, format!("plugin \"{}\": {message}", named.name));
                }
                // A broken plugin is skipped; the others are used, and the stream is still formatted.
                Err(Unusable::Broken(message)) => journal.note_unread(Path::new(&named.name), message),
            }
        }
        for pack in self.scripts(settings, problems) {
            let by = pack.name.clone();
            all.push(EnabledPlugin::new(PluginLayer::Profile, pack, by));
        }
        let own = self.folders.config.as_deref().map(|folder| self.folders.shown(&folder.join("init.lua")));
        for (layer, pack, name) in [
            (PluginLayer::User, self.user_pack(), own.as_deref().unwrap_or_default()),
            (PluginLayer::Project, self.project_pack(), ".streamfmt/init.lua"),
        ] {
            match pack {
                Some(Ok(pack)) => all.push(EnabledPlugin::new(layer, pack, name)),
                Some(Err(message)) => journal.note_unread(Path::new(name), message),
                None => {}
            }
        }
        for (plugin, option, leaf) in &settings.options {
            let mut is_known = false;
            for pack in all.iter_mut().map(|active| &mut active.pack).filter(|pack| pack.name == *plugin) {
                is_known = true;
                if let Err(message) = choose(Arc::make_mut(pack), option, &leaf.value) {
                    problems.add_at(&leaf.spot, ProblemKind::BadValue, message);
                }
            }
            // Options of a plugin that this profile doesn't use are kept for profiles that do; only one given by `--set` is a problem.
            if !is_known && leaf.spot.document.layer == SettingsLayer::Option {
                let names = all.iter().map(|active| active.pack.name.as_str());
                let message = format!("the plugin {plugin} is not in use {}", suggestion(plugin, names));
                problems.add_at(&leaf.spot, ProblemKind::UnknownName, message);
            }
        }
        all.sort_by_key(|active| active.layer);
        all
    }

    /// The plugins whose profiles are known by name: those of this run, and those used with all profiles.
    pub(crate) fn known_packs(&self) -> &[Arc<PluginSource>] {
        self.known.get_or_init(|| {
            let mut packs = self.request.packs.clone();
            for named in self.layers.iter().flat_map(|loaded| loaded.general.plugins()) {
                if let Ok(pack) = self.pack(&named) {
                    packs.push(Arc::new(pack));
                }
            }
            packs
        })
    }

    /// The other valid plugins that can be chosen by name.
    fn other_packs(&self) -> &[Arc<PluginSource>] {
        self.others.get_or_init(|| {
            let known = self.known_packs();
            let mut names = Installed::new(&self.folders).all_names();
            names.retain(|name| known.iter().all(|pack| pack.name != *name));
            names.iter().filter_map(|name| self.pack_named(name).ok()).map(Arc::new).collect()
        })
    }

    /// The profiles of plugins that can be chosen by name, each with its files: several if several plugins define it.
    pub(crate) fn pack_profiles(&self) -> Vec<(String, Vec<String>)> {
        let mut profiles: Vec<(String, Vec<String>)> = Vec::new();
        let packs = self.known_packs().iter().chain(self.other_packs());
        for (name, ..) in packs.flat_map(|pack| pack.profiles()) {
            if profiles.iter().all(|(known, _)| known != name) {
                let found =
                    self.pack_profile(name).map_or_else(|| self.other_profiles(name), |one| vec![one]);
                profiles.push((name.to_owned(), found.into_iter().map(|profile| profile.file).collect()));
            }
        }
        profiles
    }

    /// The profile `name` of a known plugin, or of the plugin `name`.
    pub(crate) fn pack_profile(&self, name: &str) -> Option<PackProfile> {
        let own = || self.pack_named(name).ok().map(Arc::new);
        let known = self.known_packs().iter().find_map(|pack| PackProfile::of(pack, name));
        known.or_else(|| PackProfile::of(&own()?, name))
    }

    /// The profiles `name` of plugins that nothing else selects.
    pub(crate) fn other_profiles(&self, name: &str) -> Vec<PackProfile> {
        self.other_packs().iter().filter_map(|pack| PackProfile::of(pack, name)).collect()
    }

    /// Why the plugin `name` is invalid, if it exists.
    pub(crate) fn wrong_with_pack(&self, name: &str) -> Option<String> {
        match self.pack_named(name) {
            Err(Unusable::Broken(message)) => Some(message),
            _ => None,
        }
    }
}

impl Resolved {
    /// The profile `name` of the plugin that contains the profile `by`.
    pub(crate) fn beside(&self, by: &SettingsFile, name: &str) -> Option<PackProfile> {
        let own =
            self.packs.iter().find(|profile| by.layer == SettingsLayer::Pack && profile.file == by.name)?;
        PackProfile::of(&own.pack, name)
    }
}

/// Sets an option of a plugin. Returns a message if the option or the value is invalid.
pub(super) fn choose(pack: &mut PluginSource, option: &str, value: &SettingValue) -> Result<(), String> {
    // An unknown option is reported by name, regardless of its value.
    let like = pack.options.get(option).map_or(toml::Value::Boolean(true), |like| like.value.clone());
    let value = value.like(&like).or_else(|| (!pack.options.contains_key(option)).then_some(like));
    match value {
        Some(value) => pack.choose(option, value),
        None => Err(format!("the option {option} of {} can't be a table or date", pack.name)),
    }
}

/// Whether the name of a plugin is a path.
fn is_path(name: &str) -> bool {
    let is_source = Path::new(name).extension().is_some_and(|end| end == "lua" || end == "luau");
    name.contains(['/', std::path::MAIN_SEPARATOR]) || is_source
}

impl SettingValue {
    /// Converts a value for a plugin option whose default is `like`: text from the command line gets the type of the default.
    /// Returns `None` for types that options don't have.
    fn like(&self, like: &toml::Value) -> Option<toml::Value> {
        Some(match (self, like) {
            (Self::Bare(text), toml::Value::Boolean(_)) => {
                text.parse().map_or_else(|_| text.clone().into(), toml::Value::Boolean)
            }
            (Self::Bare(text), toml::Value::Integer(_) | toml::Value::Float(_)) => {
                text.parse().map_or_else(|_| text.clone().into(), toml::Value::Float)
            }
            (Self::Bare(text), toml::Value::Array(_)) => {
                toml::Value::Array(split_list(text).into_iter().map(toml::Value::String).collect())
            }
            (Self::Text(text) | Self::Bare(text), _) => toml::Value::String(text.clone()),
            (Self::Number(number), _) => toml::Value::Integer(*number),
            (Self::Float(number), _) => toml::Value::Float(*number),
            (Self::Flag(flag), _) => toml::Value::Boolean(*flag),
            (Self::List(list), _) => {
                toml::Value::Array(list.iter().map(|leaf| leaf.value.like(like)).collect::<Option<_>>()?)
            }
            (Self::Table(_) | Self::Other(_), _) => return None,
        })
    }
}
