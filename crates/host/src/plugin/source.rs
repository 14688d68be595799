//! A plugin on disk: a single file, or a folder with a `plugin.toml`.
//!
//! All files are read once, when the plugin is chosen, and these bytes are what runs. `require` finds only files of the plugin's
//! own folder among them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use toml::Value;

use super::library::NativeCode;
pub use super::manifest::PluginOption;
use super::manifest::{self, Manifest};
use crate::files::{FileError, Files, lock};

/// Size limit of a file of a plugin, and of all its files together, in bytes.
const LARGEST: usize = 4 << 20;
/// Most files of a plugin that are read to run it.
const MOST_FILES: usize = 256;

/// The name of the generated entry file for functions that settings name.
const OF_SETTINGS: &str = "(rules)";
/// The message for a native plugin whose folder is read like that of a script.
const NOT_INSTALLED: &str = "this is a native plugin, and reading its folder loads no code: install it as \
     a native one, or name its library for this run";
/// The message for a library that is named in a file.
pub(crate) const NAMED_BY_FILE: &str = "a library can be named for one run only: to use its plugin always, install it as a \
     native one";

const TOO_LARGE: &str = "its files are larger than 4 MiB together";

/// The layer of a plugin. Higher layers take precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginLayer {
    /// A plugin that the profile names. The profile's own rules for tools are above it.
    #[default]
    Pack,
    /// Functions that the profile names for single tools.
    Profile,
    /// The user's own script, over all profiles.
    User,
    /// A plugin of the project, if the user trusts that.
    Project,
    /// A plugin that was named for this run.
    Run,
}

impl PluginLayer {
    /// Its name, for `explain`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pack => "plugin",
            Self::Profile => "script of the profile",
            Self::User => "user script",
            Self::Project => "project plugin",
            Self::Run => "plugin of this run",
        }
    }
}

/// A loaded plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginSource {
    /// Its name.
    pub name: String,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// Its options, by name.
    pub options: BTreeMap<String, PluginOption>,
    /// The file that is run.
    entry: String,
    /// Its files, by path inside the folder.
    files: BTreeMap<String, String>,
    /// Its folder on disk, or that of its single file, if it was read from disk.
    root: Option<PathBuf>,
    is_folder: bool,
    /// Whether `require` finds its other files.
    has_modules: bool,
    /// The bytecode of its files, shared with all clones.
    bytecodes: Arc<Bytecodes>,
    /// The library of a native plugin.
    native: Option<Arc<NativeCode>>,
}

/// The bytecode of a plugin's files by name, shared by all VMs that run them. All of it was compiled by this process, from the
/// source text.
#[derive(Debug, Default)]
pub(crate) struct Bytecodes(Mutex<BTreeMap<String, Arc<[u8]>>>);

impl Bytecodes {
    /// The bytecode of a file, compiled by `compile` when first requested. `None` if that fails.
    pub(crate) fn of(&self, name: &str, compile: impl FnOnce() -> Option<Vec<u8>>) -> Option<Arc<[u8]>> {
        let mut known = lock(&self.0);
        if let Some(made) = known.get(name) {
            return Some(Arc::clone(made));
        }
        let made: Arc<[u8]> = compile()?.into();
        known.insert(name.to_owned(), Arc::clone(&made));
        Some(made)
    }
}

/// The bytecode follows from the source text, so it is ignored.
impl PartialEq for Bytecodes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl PluginSource {
    /// Reads a plugin: a Lua file, or a folder with a `plugin.toml`. The error is a message.
    pub fn read(files: &Files, path: &Path) -> Result<Self, String> {
        if is_library(path) {
            return Err(NAMED_BY_FILE.to_owned());
        }
        match files.read(path, LARGEST) {
            Ok(source) => {
                let lossy = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
                let text = String::from_utf8_lossy(&source.bytes);
                Ok(Self {
                    name: lossy(path.file_stem()),
                    root: path.parent().map(Path::to_owned),
                    ..Self::from_text(&lossy(path.file_name()), text)
                })
            }
            Err(FileError::OtherKind(_)) => Self::read_folder(files, path),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A plugin of one file, named `name` in messages.
    pub fn from_text(name: &str, source: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            entry: name.to_owned(),
            files: [(name.to_owned(), source.into())].into(),
            ..Self::default()
        }
    }

    /// Reads a script that may `require` the others beside it and in folders there, except for those named in `apart`.
    pub(crate) fn read_script(files: &Files, path: &Path, apart: &[&str]) -> Result<Self, String> {
        let script = Self::read(files, path)?;
        let Some(folder) = path.parent().filter(|_| script.contains("require")) else { return Ok(script) };
        let is_apart = |name: &str| apart.iter().any(|apart| name.strip_suffix('/') == Some(apart));
        let is_script = |name: &str| takes_part(name) && (name.ends_with('/') || is_source(name));
        let names = files.walk(folder, |name| is_script(name) && !is_apart(name));
        let sources = Self::read_all(files, folder, names.map_err(|error| error.to_string())?)?;
        Ok(Self { files: sources, has_modules: true, ..script })
    }

    /// The same plugin, with its files in the folder `root`.
    #[must_use]
    pub(crate) fn at(self, root: PathBuf) -> Self {
        Self { root: Some(root), ..self }
    }

    fn read_folder(files: &Files, folder: &Path) -> Result<Self, String> {
        files.read(&folder.join(manifest::FILE), LARGEST).map_err(|error| match error {
            FileError::Missing => no_manifest(folder),
            error => format!("{}: {error}", manifest::FILE),
        })?;
        let names = Self::names(files, folder).map_err(|error| error.to_string())?;
        Ok(Self::from_files(Self::read_all(files, folder, names)?)?.at(folder.to_owned()))
    }

    fn read_all(
        files: &Files,
        folder: &Path,
        names: Vec<String>,
    ) -> Result<BTreeMap<String, String>, String> {
        if names.len() > MOST_FILES {
            return Err(format!("it has more than {MOST_FILES} files"));
        }
        let mut sources = BTreeMap::new();
        for name in names {
            let source = files.read(&folder.join(PathBuf::from(&name)), LARGEST);
            let source = source.map_err(|error| format!("{name}: {error}"))?;
            sources.insert(name, String::from_utf8_lossy(&source.bytes).into_owned());
        }
        if sources.values().map(String::len).sum::<usize>() > LARGEST {
            return Err(TOO_LARGE.to_owned());
        }
        Ok(sources)
    }

    /// The files in a plugin's folder that are needed to run it, by path inside the folder.
    pub(crate) fn names(files: &Files, folder: &Path) -> Result<Vec<String>, FileError> {
        files.walk(folder, takes_part)
    }

    /// Creates a plugin from its files, by path inside its folder with `/` between the parts. Other files are ignored. The error
    /// is a message.
    pub fn from_files(mut files: BTreeMap<String, String>) -> Result<Self, String> {
        files.retain(|name, _| takes_part(name));
        if files.values().map(String::len).sum::<usize>() > LARGEST {
            return Err(TOO_LARGE.to_owned());
        }
        let Some(about) = files.get(manifest::FILE) else {
            return Err(format!("{}: {}", manifest::FILE, FileError::Missing));
        };
        let manifest = Manifest::parse(about).map_err(|problems| problems.0[0].to_string())?;
        if manifest.is_native() {
            return Err(NOT_INSTALLED.to_owned());
        }
        let Manifest { name, version, entry, options, .. } = manifest;
        if !files.contains_key(&entry) || !is_source(&entry) {
            return Err(format!("{}: there is no file {entry} in its folder to be run", manifest::FILE));
        }
        Ok(Self {
            name,
            version,
            options,
            entry,
            files,
            is_folder: true,
            has_modules: true,
            ..Self::default()
        })
    }

    /// Reads a native plugin that consists of one library, which the user named. The error is a message.
    pub fn read_library(path: &Path) -> Result<Self, String> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = stem.strip_prefix("lib").unwrap_or(&stem).to_owned();
        let native = Some(Arc::new(NativeCode::read(path)?));
        let root = path.parent().map(Path::to_owned);
        Ok(Self { name, native, root, is_folder: true, ..Self::default() })
    }

    /// Reads a native plugin from a folder that the user named, with its library for this platform. The error is a message.
    pub fn read_native(files: &Files, folder: &Path) -> Result<Self, String> {
        let about = files.read(&folder.join(manifest::FILE), LARGEST);
        let about = about.map_err(|error| format!("{}: {error}", manifest::FILE))?;
        let about = String::from_utf8_lossy(&about.bytes).into_owned();
        let native = |file: &str| {
            NativeCode::read(&folder.join(file)).map_err(|why| format!("{file}: {why} (build it first)"))
        };
        Ok(Self::of_native(about, native)?.at(folder.to_owned()))
    }

    /// Creates a native plugin from its `plugin.toml`. `read` reads its library for this platform.
    pub(crate) fn of_native(
        about: String,
        read: impl FnOnce(&str) -> Result<NativeCode, String>,
    ) -> Result<Self, String> {
        let Manifest { name, version, options, library, .. } =
            Manifest::parse(&about).map_err(|problems| problems.0[0].to_string())?;
        let native = Some(Arc::new(read(Manifest { library, ..Manifest::default() }.library_here()?)?));
        let files = [(manifest::FILE.to_owned(), about)].into();
        Ok(Self { name, version, options, files, native, is_folder: true, ..Self::default() })
    }

    /// Its library, if it is native.
    pub(crate) fn native(&self) -> Option<&Arc<NativeCode>> {
        self.native.as_ref()
    }

    /// Whether it is a native plugin.
    pub fn is_native(&self) -> bool {
        self.native.is_some()
    }

    /// Whether it consists of functions that settings name.
    pub(crate) fn is_of_settings(&self) -> bool {
        self.entry == OF_SETTINGS
    }

    /// Creates a plugin of functions in single files, which the generated `entry` loads with `require`.
    pub(crate) fn of_scripts(name: &str, entry: String, mut files: BTreeMap<String, String>) -> Self {
        let init = OF_SETTINGS.to_owned();
        files.insert(init.clone(), entry);
        Self { entry: init, files, is_folder: true, has_modules: true, ..Self::from_text(name, "") }
    }

    /// Its `plugin.toml`, if it has one.
    pub fn manifest(&self) -> Option<&str> {
        self.files.get(manifest::FILE).map(String::as_str)
    }

    /// Its profiles: the name, the file's name in messages, and the text.
    pub fn profiles(&self) -> impl Iterator<Item = (&str, String, &str)> {
        self.parts("profiles/")
    }

    /// Its themes: the name, the file's name in messages, and the text.
    pub fn themes(&self) -> impl Iterator<Item = (&str, String, &str)> {
        self.parts("themes/")
    }

    fn parts(&self, folder: &str) -> impl Iterator<Item = (&str, String, &str)> {
        self.files.iter().filter_map(move |(file, text)| {
            let name = file.strip_prefix(folder)?.strip_suffix(".toml")?;
            Some((name, self.shown(file), text.as_str()))
        })
    }

    /// Sets an option. The error is a message.
    pub fn choose(&mut self, option: &str, value: Value) -> Result<(), String> {
        if self.options.is_empty() {
            return Err(format!("{} has no options", self.name));
        }
        let Some(choice) = self.options.get_mut(option) else {
            let hint = crate::problem::suggestion(option, self.options.keys().map(String::as_str));
            return Err(format!("{} has no option \"{option}\" {hint}", self.name));
        };
        if !is_of_type(&value, &choice.value) {
            return Err(format!("the option {option} of {} is a {}", self.name, choice.value.type_str()));
        }
        choice.value = value;
        Ok(())
    }

    /// The file that is run, and its text.
    pub(crate) fn entry(&self) -> (String, &str) {
        let source = self.files.get(&self.entry).map_or("", String::as_str);
        (self.shown(&self.entry), source)
    }

    /// Whether it may `require` its other files.
    pub(crate) fn has_modules(&self) -> bool {
        self.has_modules
    }

    /// The file that `require(name)` refers to: its name in messages, and its text.
    pub(crate) fn module(&self, name: &str) -> Option<(String, &str)> {
        let path = name.strip_prefix("./").unwrap_or(name).replace('.', "/");
        ["lua", "luau"]
            .iter()
            .flat_map(|end| [format!("{path}.{end}"), format!("{path}/init.{end}")])
            .find_map(|file| Some((self.shown(&file), self.files.get(&file)?.as_str())))
    }

    /// The bytecode of its files.
    pub(crate) fn bytecodes(&self) -> &Bytecodes {
        &self.bytecodes
    }

    /// Whether any of its files contains a word.
    pub(crate) fn contains(&self, word: &str) -> bool {
        self.files.values().any(|source| source.contains(word))
    }

    /// The text of a line of one of its files, by the file's name in messages.
    pub(crate) fn line(&self, shown: &str, number: usize) -> Option<&str> {
        let (_, source) = self.files.iter().find(|(file, _)| self.shown(file) == shown)?;
        source.lines().nth(number.checked_sub(1)?)
    }

    /// The file and line that a message begins with, and the rest of the message.
    pub(crate) fn place<'a>(&self, message: &'a str) -> Option<(String, usize, &'a str)> {
        self.files.keys().find_map(|file| {
            let shown = self.shown(file);
            let rest = message.strip_prefix(&shown)?.strip_prefix(':')?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[..digits].parse().ok()?;
            Some((shown, number, rest[digits..].trim_start_matches([':', ' '])))
        })
    }

    /// The first place of a quoted word: at or after a line of one of its files, or else anywhere.
    pub(crate) fn quoted(&self, word: &str, from: Option<(&str, usize)>) -> Option<(String, usize)> {
        let forms = [format!("\"{word}\""), format!("'{word}'")];
        let find = |file: &str, source: &str, from: usize| {
            let has_word = |line: &str| forms.iter().any(|form| line.contains(form));
            let at = source.lines().skip(from).position(has_word)?;
            Some((self.shown(file), from + at + 1))
        };
        let all = || self.files.iter().filter(|(file, _)| is_source(file));
        let near = from.and_then(|(shown, line)| {
            let (file, source) = all().find(|(file, _)| self.shown(file) == shown)?;
            find(file, source, line.saturating_sub(1))
        });
        near.or_else(|| all().find_map(|(file, source)| find(file, source, 0)))
    }

    /// The path of a file on disk, given its name in messages, for opening it in an editor.
    pub(crate) fn path_of(&self, shown: &str) -> Option<String> {
        let file = self.files.keys().find(|file| self.shown(file) == shown)?;
        let path = self.root.as_ref()?.join(file);
        Some(path.strip_prefix(".").unwrap_or(&path).display().to_string())
    }

    /// The name of a file in messages and scripts. It never contains a path of this machine, so that messages can be compared.
    fn shown(&self, file: &str) -> String {
        if self.is_folder { format!("{}/{file}", self.name) } else { file.to_owned() }
    }
}

/// The message for a folder that isn't a plugin.
pub(crate) fn no_manifest(folder: &Path) -> String {
    let is_script = |path: &PathBuf| is_source(path);
    let scripts = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let hint = match scripts.filter(is_script).min() {
        Some(script) => format!("did you mean {}?", script.display()),
        None => "a plugin is a Lua file, or a folder with one".to_owned(),
    };
    format!("the folder has no {} ({hint})", manifest::FILE)
}

fn is_of_type(value: &Value, like: &Value) -> bool {
    match (value, like) {
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => true,
        (value, like) => value.same_type(like),
    }
}

/// Whether a file, or a folder (its path ends in `/`) with its contents, is needed to run a plugin.
fn takes_part(path: &str) -> bool {
    if let Some(folder) = path.strip_suffix('/') {
        return !folder.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
    }
    let is_look = |folder: &str| {
        path.strip_prefix(folder)
            .and_then(|name| name.strip_suffix(".toml"))
            .is_some_and(|name| !name.contains('/'))
    };
    path == manifest::FILE || is_source(path) || is_look("profiles/") || is_look("themes/")
}

/// Whether a path is a library, judged by its extension.
pub(crate) fn is_library(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["so", "dylib", "dll"].iter().any(|known| end == *known))
}

/// Whether a file is a script. Type declarations for editors aren't.
pub(crate) fn is_source(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    let is_lua = |path: &Path| path.extension().is_some_and(|end| end == "lua" || end == "luau");
    let is_declaration =
        path.file_stem().is_some_and(|stem| Path::new(stem).extension().is_some_and(|end| end == "d"));
    is_lua(path) && !is_declaration
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_plugin_over_the_limits_is_refused_as_a_whole() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-pack-").unwrap();
        let write = |name: &str, size: usize| fs::write(folder.path().join(name), " ".repeat(size)).unwrap();
        let read = || PluginSource::read(&Files::default(), folder.path()).err();
        fs::write(folder.path().join(manifest::FILE), "name = 'demo'\napi = 1\n").unwrap();
        write("init.lua", 0);
        for number in 2..MOST_FILES {
            write(&format!("{number}.lua"), 0);
        }
        assert_eq!(read(), None);
        write("more.lua", 0);
        assert_eq!(read().as_deref(), Some("it has more than 256 files"));
        fs::remove_file(folder.path().join("more.lua")).unwrap();
        // Each is small enough by itself.
        write("2.lua", LARGEST / 2);
        write("3.lua", LARGEST / 2);
        assert_eq!(read().as_deref(), Some(TOO_LARGE));
        write("3.lua", 0);
        assert_eq!(read(), None);
        write("3.lua", LARGEST + 1);
        assert_eq!(read().as_deref(), Some("3.lua: larger than 4 MiB"));
    }
}
