//! The plugins that can be chosen by name.
//!
//! ```text
//! plugins = ["github"]  ─▶  your own:    <config>/plugins/github/     yours to edit, never checked; or github.lua
//!                           installed:   <data>/plugins/github/       read-only, checked against plugins.lock
//!                           built in:    part of the program
//! ```
//!
//! The first one with the name is used. An installed plugin can't change: its files are hashed each time it is loaded, and exactly the
//! hashed bytes run. To change a plugin, fork it.

mod lock;
pub mod tree;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::Files;
use crate::folders::Folders;
use crate::plugin::PluginOrigin;
use crate::plugin::built_in::BUILT_IN;
use crate::plugin::manifest::{self, Manifest};
use crate::plugin::source::{PluginSource, is_source};
use crate::problem::{Problem, ProblemKind, suggestion};
use crate::trust::disk;
use lock::{Lock, Locked};
use tree::PluginTree;

/// A plugin that can be chosen by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its origin.
    pub origin: PluginOrigin,
    /// Its folder, or its one file, if it has one.
    pub folder: Option<PathBuf>,
    /// The source that it was installed from.
    pub source: Option<String>,
    /// The hash of its files, if it was installed.
    pub hash: Option<String>,
    /// Its manifest, or the reason why it can't be loaded.
    pub manifest: Result<Manifest, String>,
}

/// The result of adding a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Its name.
    pub name: String,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// The hash of its files.
    pub hash: String,
    /// The number of its files.
    pub files: usize,
    /// The version of the plugin that it replaced. `Some(None)` if that had no version.
    pub before: Option<Option<String>>,
    /// The folder that it was installed in.
    pub folder: PathBuf,
}

/// The plugins of a user.
#[derive(Clone, Debug, Default)]
pub struct Installed {
    own: Option<PathBuf>,
    data: Option<PathBuf>,
}

impl Installed {
    /// The plugins in these folders and the built-in ones.
    pub fn new(folders: &Folders) -> Self {
        Self { own: folders.config.as_ref().map(|folder| folder.join("plugins")), data: folders.data.clone() }
    }

    /// Loads the plugin `name`. The error has a suggestion for a misspelled name.
    pub fn find(&self, files: &Files, name: &str) -> Result<PluginSource, Problem> {
        let broken = |message: String| Problem::of(ProblemKind::Plugin, name, message);
        let origin = self.origin(name).ok_or_else(|| self.unknown(name))?;
        let pack = self.read(files, origin, name).map_err(broken)?;
        if pack.name == name {
            Ok(pack)
        } else {
            Err(broken(format!("its plugin.toml has the name \"{}\"", pack.name)))
        }
    }

    fn read(&self, files: &Files, origin: PluginOrigin, name: &str) -> Result<PluginSource, String> {
        let folder = self.folder(origin, name).unwrap_or_default();
        match origin {
            PluginOrigin::Own => PluginSource::read(files, &folder),
            PluginOrigin::Installed => {
                let tree = self.intact(files, name)?;
                let pack = match tree.native_manifest() {
                    Some(_) => tree.native_pack(&folder)?,
                    None => tree.pack()?,
                };
                Ok(pack.at(folder))
            }
            PluginOrigin::BuiltIn => PluginTree::built_in(name).unwrap_or_default().pack(),
        }
    }

    /// All plugins, sorted by name. A plugin that is overridden follows the one that overrides it.
    pub fn list(&self, files: &Files) -> Vec<Listed> {
        let mut listed = Vec::new();
        let locked = self.data.as_deref().and_then(|data| Lock::read(data).ok()).unwrap_or_default();
        for origin in PluginOrigin::ALL {
            for name in self.names(origin) {
                let manifest_of = |pack: PluginSource| match pack.manifest() {
                    Some(text) => Manifest::parse(text).map_err(|problems| problems.to_string()),
                    None => Ok(Manifest { name: pack.name, ..Manifest::default() }),
                };
                let manifest = self.read(files, origin, &name).and_then(manifest_of);
                let entry = locked.plugin.get(&name).filter(|_| origin == PluginOrigin::Installed);
                listed.push(Listed {
                    folder: self.folder(origin, &name),
                    source: entry.map(|entry| entry.source.clone()),
                    hash: entry.map(|entry| entry.hash.clone()),
                    name,
                    origin,
                    manifest,
                });
            }
        }
        listed.sort_by(|a, b| (&a.name, a.origin).cmp(&(&b.name, b.origin)));
        listed
    }

    /// Installs a plugin from a folder or a Lua file. A native one requires `is_native`: its code has all rights of the user once
    /// it is used. A plugin of the same name is replaced, unless its files were edited; `discard` replaces it even then.
    pub fn add(&self, source: &Path, discard: bool, is_native: bool) -> Result<Installation, Problem> {
        let complain = |kind, message: &str| Problem::of(kind, source.display().to_string(), message);
        let broken = |message: String| complain(ProblemKind::Plugin, &message);
        let files = Files::default();
        let tree = PluginTree::read(&files, source)
            .map_err(|message| complain(ProblemKind::Unreadable, &message))?;
        let pack = match (tree.native_manifest(), is_native) {
            (None, false) => tree.pack().map_err(broken)?,
            (None, true) => {
                let message = "not a native plugin (its plugin.toml has no [library])";
                return Err(complain(ProblemKind::BadValue, message));
            }
            (Some(_), false) => {
                let message = "this is a native plugin: its code has all your rights once it is used, and nothing contains it; \
                               if you trust it, add --native";
                return Err(complain(ProblemKind::NotAllowed, message));
            }
            // Only a folder can contain a library. If others could change it before it is installed, it might not be what the
            // user chose.
            (Some(_), true) => tree.native_pack(source).map_err(broken)?,
        };
        let data = self.data()?;
        let _guard = guard(data)?;
        let mut lock = Lock::read(data)?;
        let folder = data.join("plugins").join(&pack.name);
        if !discard && folder.exists() {
            let edited = |message| Problem::of(ProblemKind::Damaged, &pack.name, message);
            self.intact(&files, &pack.name).map_err(edited)?;
        }
        let locked = Locked {
            version: pack.version.clone(),
            source: source.canonicalize().unwrap_or_else(|_| source.to_owned()).display().to_string(),
            hash: tree.hash(),
        };
        let (hash, version) = (locked.hash.clone(), locked.version.clone());
        let before = lock.plugin.insert(pack.name.clone(), locked).map(|before| before.version);
        tree.put(&folder).map_err(unwritable(&folder))?;
        lock.write(data)?;
        Ok(Installation { name: pack.name, version, hash, files: tree.files.len(), before, folder })
    }

    /// Removes an installed plugin.
    pub fn remove(&self, name: &str) -> Result<(), Problem> {
        match self.origin(name) {
            _ if self.has(PluginOrigin::Installed, name) => self.uninstall(name),
            Some(PluginOrigin::Own) => {
                let folder = self.folder(PluginOrigin::Own, name).unwrap_or_default();
                let message = format!("this is your own plugin: remove {} yourself", folder.display());
                Err(Problem::of(ProblemKind::NotAllowed, name, message))
            }
            Some(_) => {
                let message = "built-in plugins can't be removed; leave it out of `plugins`";
                Err(Problem::of(ProblemKind::NotAllowed, name, message))
            }
            None => Err(self.unknown(name)),
        }
    }

    /// Copies a plugin to the user's own, including edits. Returns the folder of the copy.
    pub fn fork(&self, name: &str) -> Result<PathBuf, Problem> {
        let no_folder = || {
            let message = "no folder for your plugins: the home directory is unknown";
            Problem::of(ProblemKind::Unwritable, name, message)
        };
        let target = self.folder(PluginOrigin::Own, name).ok_or_else(no_folder)?;
        if target.exists() {
            let message = format!("already copied to {}", target.display());
            return Err(Problem::of(ProblemKind::Taken, name, message));
        }
        let origin = self.origin(name).ok_or_else(|| self.unknown(name))?;
        if origin == PluginOrigin::Installed
            && self.intact(&Files::default(), name).is_ok_and(|tree| tree.native_manifest().is_some())
        {
            let message = "a native plugin can't be forked: change its source and add it again";
            return Err(Problem::of(ProblemKind::NotAllowed, name, message));
        }
        let tree = match origin {
            PluginOrigin::BuiltIn => PluginTree::built_in(name).unwrap_or_default(),
            _ => PluginTree::read(&Files::default(), &self.folder(origin, name).unwrap_or_default())
                .map_err(|message| Problem::of(ProblemKind::Unreadable, name, message))?,
        };
        tree.write(&target).map_err(unwritable(&target))?;
        if origin == PluginOrigin::Installed {
            self.uninstall(name)?;
        }
        Ok(target)
    }

    fn uninstall(&self, name: &str) -> Result<(), Problem> {
        let data = self.data()?;
        let _guard = guard(data)?;
        let mut lock = Lock::read(data)?;
        let folder = data.join("plugins").join(name);
        tree::remove(&folder).map_err(unwritable(&folder))?;
        lock.plugin.remove(name);
        lock.write(data)
    }

    /// The files of an installed plugin, if they are unchanged.
    fn intact(&self, files: &Files, name: &str) -> Result<PluginTree, String> {
        let data = self.data.as_deref().unwrap_or(Path::new(""));
        let tree = PluginTree::read(files, &data.join("plugins").join(name))?;
        let lock = Lock::read(data).map_err(|problem| problem.to_string())?;
        match lock.plugin.get(name) {
            Some(locked) if locked.hash == tree.hash() => Ok(tree),
            Some(locked) => Err(format!(
                "its files were edited after it was installed: `streamfmt plugin fork {name}` makes it yours, \
                 `streamfmt plugin add --discard {}` puts the original back",
                locked.source
            )),
            None => Err(format!(
                "its source is unknown: `streamfmt plugin add` installs it, \
                 `streamfmt plugin fork {name}` makes it yours"
            )),
        }
    }

    /// The origin of the plugin `name`.
    pub fn origin(&self, name: &str) -> Option<PluginOrigin> {
        PluginOrigin::ALL.into_iter().find(|origin| self.has(*origin, name))
    }

    /// Whether this origin has the plugin `name`.
    fn has(&self, origin: PluginOrigin, name: &str) -> bool {
        let is_there = |folder: PathBuf| match origin {
            PluginOrigin::Own => folder.is_file() || folder.join(manifest::FILE).is_file(),
            PluginOrigin::Installed | PluginOrigin::BuiltIn => folder.is_dir(),
        };
        let is_built_in =
            || origin == PluginOrigin::BuiltIn && BUILT_IN.iter().any(|(known, _)| *known == name);
        manifest::is_name(name) && self.folder(origin, name).map_or_else(is_built_in, is_there)
    }

    /// The folder that contains an origin's plugins, if they are on disk.
    fn root(&self, origin: PluginOrigin) -> Option<PathBuf> {
        match origin {
            PluginOrigin::Own => self.own.clone(),
            PluginOrigin::Installed => Some(self.data.as_ref()?.join("plugins")),
            PluginOrigin::BuiltIn => None,
        }
    }

    /// The path of a plugin: its folder, or its only file.
    fn folder(&self, origin: PluginOrigin, name: &str) -> Option<PathBuf> {
        let folder = self.root(origin)?.join(name);
        if origin != PluginOrigin::Own || folder.join(manifest::FILE).is_file() {
            return Some(folder);
        }
        let scripts = ["lua", "luau"].map(|end| folder.with_file_name(format!("{name}.{end}")));
        Some(scripts.into_iter().find(|script| script.is_file()).unwrap_or(folder))
    }

    /// The names of the plugins of one origin.
    fn names(&self, origin: PluginOrigin) -> Vec<String> {
        if origin == PluginOrigin::BuiltIn {
            return BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        }
        let folder = self.root(origin);
        let entries =
            folder.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten()).flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let path = entry.path();
                let is_script = origin == PluginOrigin::Own && is_source(&path);
                let name = if is_script { path.file_stem() } else { path.file_name() };
                Some(name?.to_str()?.to_owned()).filter(|_| is_script || path.is_dir())
            })
            .filter(|name| manifest::is_name(name))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The names of all plugins, each once, sorted.
    pub(crate) fn all_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            PluginOrigin::ALL.into_iter().flat_map(|origin| self.names(origin)).collect();
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn no_such(&self, name: &str) -> String {
        let names = self.all_names();
        let hint = if names.is_empty() {
            "(streamfmt plugin add installs one)".to_owned()
        } else {
            suggestion(name, names.iter().map(String::as_str)).to_string()
        };
        format!("unknown plugin {hint}")
    }

    fn unknown(&self, name: &str) -> Problem {
        Problem::of(ProblemKind::UnknownName, name, self.no_such(name))
    }

    fn data(&self) -> Result<&Path, Problem> {
        let missing = || {
            let message = "no place to store them: the home directory is unknown";
            Problem::of(ProblemKind::Unwritable, "plugins", message)
        };
        self.data.as_deref().ok_or_else(missing)
    }
}

/// Waits until no other process changes installed plugins, and keeps others waiting until the value is dropped.
fn guard(data: &Path) -> Result<File, Problem> {
    let path = data.join(".plugins.guard");
    disk::make_private_folder(&data.join("plugins")).map_err(unwritable(&path))?;
    let file = File::options().create(true).append(true).open(&path).map_err(unwritable(&path))?;
    file.lock().map_err(unwritable(&path))?;
    Ok(file)
}

/// Converts an error of writing to a path.
fn unwritable(path: &Path) -> impl Fn(io::Error) -> Problem {
    move |error| Problem::of(ProblemKind::Unwritable, path.display().to_string(), error.to_string())
}

#[cfg(test)]
mod tests;
