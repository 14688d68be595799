//! Plugins that settings name, and the profiles that they bring along.

use std::path::Path;
use std::sync::Arc;

use super::document::{Document, Layer, Value};
use super::{Config, Resolved, Told};
use crate::install::Installed;
use crate::keys::{Named, split_list};
use crate::lua::journal::Journal;
use crate::lua::pack::{Layer as PackLayer, Pack};
use crate::problem::suggestion;
use crate::profile::Settings;

/// Why a plugin that settings name is not used.
pub(crate) enum Unusable {
    /// It isn't there.
    Missing(String),
    /// There is something wrong with it.
    Broken(String),
}

impl Config {
    /// The plugin that settings name: by a path, else an installed one, else one that comes with the program.
    pub(crate) fn pack(&self, named: &Named) -> Result<Pack, Unusable> {
        let by = &named.spot.document;
        if is_path(&named.name) {
            return self.pack_beside(by, &named.name);
        }
        self.pack_named(&named.name)
    }

    /// An installed plugin, or one that comes with the program.
    fn pack_named(&self, name: &str) -> Result<Pack, Unusable> {
        let installed = Installed::new(&self.folders);
        installed.find(&self.files, name).map_err(|message| match installed.home(name) {
            Some(_) => Unusable::Broken(message),
            None => Unusable::Missing(message),
        })
    }

    /// The user's own script, `init.lua` beside the user's settings.
    pub(crate) fn user_pack(&self) -> Option<Result<Pack, String>> {
        let folder = self.folders.config.as_ref().filter(|_| !self.is_chosen())?;
        let path = ["init.lua", "init.luau"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|it| self.files.has(it))?;
        Some(Pack::read(&self.files, &path))
    }

    fn pack_beside(&self, by: &Document, path: &str) -> Result<Pack, Unusable> {
        if by.layer == Layer::Project {
            let files = self.project_files(by, path).map_err(Unusable::Missing)?;
            return match files {
                super::project::Brought::File(name, text) => {
                    let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy();
                    let file = Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
                    let mut pack = Pack::from_source(&file, text);
                    pack.name = stem.into_owned();
                    Ok(pack)
                }
                super::project::Brought::Folder(files) => Pack::from_files(files).map_err(Unusable::Broken),
            };
        }
        let path = by.folder().join(self.folders.expand(path));
        Pack::read(&self.files, &path).map_err(|message| {
            if path.exists() { Unusable::Broken(message) } else { Unusable::Missing(message) }
        })
    }

    /// All plugins of a profile with their layers, the lowest first: those that it names, those whose profiles it
    /// is made of, its functions, the user's own, the project's, and those `of_run`.
    pub(crate) fn all_plugins(
        &self,
        settings: &Settings,
        resolved: &Resolved,
        of_run: &[(PackLayer, Arc<Pack>)],
        journal: &Journal,
        told: &mut Told,
    ) -> Vec<(PackLayer, Arc<Pack>)> {
        let mut packs: Vec<Pack> = Vec::new();
        for pack in &resolved.packs {
            let is_named = |pack: &Pack, name: &str| pack.name == name;
            let is_listed = settings.plugins.iter().any(|named| is_named(pack, &named.name));
            if !is_listed && !of_run.iter().any(|(_, other)| is_named(other, &pack.name)) {
                packs.push((**pack).clone());
            }
        }
        for named in &settings.plugins {
            match self.pack(named) {
                Ok(pack) => packs.push(pack),
                Err(Unusable::Missing(message)) => {
                    let layer = named.spot.document.layer;
                    told.tell(layer, [named.spot.problem(format!("plugin \"{}\": {message}", named.name))]);
                }
                // A plugin that is broken is left out; the others and the stream are told all the same.
                Err(Unusable::Broken(message)) => journal.note_unread(Path::new(&named.name), message),
            }
        }
        let mut all: Vec<(PackLayer, Arc<Pack>)> = Vec::new();
        all.extend(of_run.iter().cloned());
        all.extend(packs.into_iter().map(|pack| (PackLayer::Pack, Arc::new(pack))));
        let scripts = self.scripts(settings, told);
        all.extend(scripts.into_iter().map(|pack| (PackLayer::Profile, Arc::new(pack))));
        for (layer, own, name) in [
            (PackLayer::User, self.user_pack(), "init.lua"),
            (PackLayer::Project, self.project_pack(), ".streamfmt/init.lua"),
        ] {
            match own {
                Some(Ok(pack)) => all.push((layer, Arc::new(pack))),
                Some(Err(message)) => journal.note_unread(Path::new(name), message),
                None => {}
            }
        }
        for (plugin, option, leaf) in &settings.options {
            let mut is_known = false;
            for (_, pack) in all.iter_mut().filter(|(_, pack)| pack.name == *plugin) {
                is_known = true;
                let chosen = match pack.options.get(option) {
                    Some(like) => match leaf.value.like(&like.value) {
                        Some(value) => Arc::make_mut(pack).choose(option, value),
                        None => Err(format!("the option {option} of {plugin} is no table or date")),
                    },
                    None => Arc::make_mut(pack).choose(option, toml::Value::Boolean(true)),
                };
                if let Err(message) = chosen {
                    told.tell(leaf.spot.document.layer, [leaf.spot.problem(message)]);
                }
            }
            // Options of a plugin that this profile doesn't use wait for one that does, unless an option says it.
            if !is_known && leaf.spot.document.layer == Layer::Option {
                let names = all.iter().map(|(_, pack)| pack.name.as_str());
                let message = format!("the plugin {plugin} is not used {}", suggestion(plugin, names));
                told.tell(Layer::Option, [leaf.spot.problem(message)]);
            }
        }
        all.sort_by_key(|(layer, _)| *layer);
        all
    }

    /// The plugins whose profiles are known by name: those of this run, and those that are used with all profiles.
    pub(crate) fn known_packs(&self) -> &[Arc<Pack>] {
        self.known.get_or_init(|| {
            let mut packs = self.packs.clone();
            for named in self.layers.iter().flat_map(|loaded| loaded.general.plugins()) {
                if let Ok(pack) = self.pack(&named) {
                    packs.push(Arc::new(pack));
                }
            }
            packs
        })
    }

    /// The profiles of plugins that can be chosen by name, each with its file's name: all of the plugins that are
    /// known, and of any other the one that has the plugin's own name.
    pub(crate) fn pack_profiles(&self) -> Vec<(String, String)> {
        let known = self.known_packs();
        let all = known.iter().flat_map(|pack| pack.profiles());
        let mut profiles: Vec<(String, String)> =
            all.map(|(name, file, _)| (name.to_owned(), file)).collect();
        for name in Installed::new(&self.folders).all_names() {
            if known.iter().all(|pack| pack.name != name)
                && let Ok(pack) = self.pack_named(&name)
            {
                let own = pack.profiles().find(|(profile, ..)| *profile == name);
                profiles.extend(own.map(|(name, file, _)| (name.to_owned(), file)));
            }
        }
        profiles
    }

    /// The profile `name` of a plugin that is known, or of the plugin `name`: with its file's name and text.
    pub(crate) fn pack_profile(&self, name: &str) -> Option<(Arc<Pack>, String, String)> {
        let found = |pack: Arc<Pack>| {
            let profile = pack.profiles().find(|(known, ..)| *known == name);
            let (file, text) = profile.map(|(_, file, text)| (file, text.to_owned()))?;
            Some((pack, file, text))
        };
        let own = || self.pack_named(name).ok().map(Arc::new);
        self.known_packs().iter().cloned().find_map(found).or_else(|| own().and_then(found))
    }
}

/// Whether a plugin is named by a path.
fn is_path(name: &str) -> bool {
    let is_source = Path::new(name).extension().is_some_and(|end| end == "lua" || end == "luau");
    name.contains(['/', std::path::MAIN_SEPARATOR]) || is_source
}

impl Value {
    /// This value for an option of a plugin, whose default is `like`: the text of a command line becomes what the
    /// default is. `None`: no option is such a thing.
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
