//! The files of a plugin: read from a folder within limits, hashed, and written to disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamfmt_core::text::clean;

use crate::files::{FileError, Files};
use crate::plugin::built_in::BUILT_IN;
use crate::plugin::library::NativeCode;
use crate::plugin::manifest::{self, API, Manifest};
use crate::plugin::source::{PluginSource, is_source, no_manifest};
use crate::problem::one_line;
use crate::trust::{disk, hash_of};

/// Largest file of a plugin, in bytes.
const LARGEST_FILE: usize = 16 << 20;
/// Total size limit of a plugin's files, in bytes.
const MOST_BYTES: usize = 32 << 20;
/// Most files of a plugin.
const MOST_FILES: usize = 2_000;
/// Most parts of a path inside a plugin.
const DEEPEST: usize = 12;

/// The possible sources of a plugin, for messages.
const SOURCES: &str = "a plugin is installed from a folder or a Lua file on this computer";

/// The files of a plugin by their path inside its folder, with `/` between the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginTree {
    /// The files.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

impl PluginTree {
    /// The files of the built-in plugin `name`, in the same form as installed ones.
    pub(super) fn built_in(name: &str) -> Option<Self> {
        let (_, files) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        let file = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().into());
        Some(Self { files: files.iter().map(file).collect() })
    }

    /// Reads a plugin from its folder, without names that begin with a dot, or makes one from a single Lua file.
    pub fn read(files: &Files, path: &Path) -> Result<Self, String> {
        let source = match files.read(path, LARGEST_FILE) {
            Err(FileError::OtherKind(_)) => return Self::read_folder(files, path),
            Err(FileError::Missing) if path.to_string_lossy().contains("://") => {
                return Err(format!("nothing is downloaded: {SOURCES}; git clone brings it here"));
            }
            read => read.map_err(|error| error.to_string())?,
        };
        if is_source(path) { Self::of_script(path, &source.bytes) } else { Err(SOURCES.to_owned()) }
    }

    /// Makes a plugin from one script, named after it.
    fn of_script(path: &Path, source: &[u8]) -> Result<Self, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if !manifest::is_name(&name) {
            return Err(format!("\"{}\" can't be the name of a plugin: {}", clean(&name), manifest::NAMES));
        }
        let about = format!("name = \"{name}\"\napi = {API}\n");
        let files = [(manifest::FILE, about.as_bytes()), ("init.lua", source)];
        Ok(Self { files: files.map(|(name, bytes)| (name.to_owned(), bytes.into())).into() })
    }

    fn read_folder(files: &Files, folder: &Path) -> Result<Self, String> {
        let about = match files.read(&folder.join(manifest::FILE), LARGEST_FILE) {
            Err(FileError::Missing) => return Err(no_manifest(folder)),
            read => read.map(|about| String::from_utf8_lossy(&about.bytes).into_owned()).unwrap_or_default(),
        };
        let names = match Manifest::parse(&about).ok().filter(Manifest::is_native) {
            // The folder of a crate contains many build products.
            Some(manifest) => native_files(files, folder, &manifest),
            None => files.walk(folder, belongs).map_err(|error| error.to_string())?,
        };
        let (mut tree, mut bytes) = (Self::default(), 0);
        // Some file systems ignore case in names.
        let mut lower = BTreeSet::new();
        for name in names {
            if !is_portable(&name) {
                return Err(format!("{}: this path is not allowed in a plugin", shown(&name)));
            }
            let source = files.read(&folder.join(&name), LARGEST_FILE);
            let source = source.map_err(|error| format!("{name}: {error}"))?;
            bytes += source.bytes.len();
            if bytes > MOST_BYTES {
                return Err(format!("its files are larger than {} MiB", MOST_BYTES >> 20));
            }
            if tree.files.len() == MOST_FILES {
                return Err(format!("it has more than {MOST_FILES} files"));
            }
            if !lower.insert(name.to_lowercase()) {
                return Err(format!("it has two files called {}", shown(&name)));
            }
            tree.files.insert(name, source.bytes);
        }
        Ok(tree)
    }

    /// The hash of all files: 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        hash_of(self.files.iter().map(|(name, bytes)| (name.as_str(), &**bytes)))
    }

    /// Loads the plugin from these files. The error is a message.
    pub fn pack(&self) -> Result<PluginSource, String> {
        let text = |bytes: &Arc<[u8]>| String::from_utf8_lossy(bytes).into_owned();
        PluginSource::from_files(self.files.iter().map(|(name, bytes)| (name.clone(), text(bytes))).collect())
    }

    /// Loads the native plugin from these files in `folder`. Its library is read again from there, must not be writable by
    /// others, and must equal the one among the files.
    pub(super) fn native_pack(&self, folder: &Path) -> Result<PluginSource, String> {
        let about = self.files.get(manifest::FILE).map(|about| String::from_utf8_lossy(about).into_owned());
        PluginSource::of_native(about.unwrap_or_default(), |file| {
            let read = NativeCode::read(&folder.join(file)).map_err(|why| format!("{file}: {why}"))?;
            match self.files.get(file) {
                Some(bytes) if bytes == read.bytes() => Ok(read),
                _ => Err(format!("{file}: it changed while it was read")),
            }
        })
    }

    /// The manifest, if it is valid and that of a native plugin.
    pub fn native_manifest(&self) -> Option<Manifest> {
        let about = String::from_utf8_lossy(self.files.get(manifest::FILE)?);
        Manifest::parse(&about).ok().filter(Manifest::is_native)
    }

    /// Writes the files into a folder, which must not exist yet.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        if let Some(above) = folder.parent() {
            fs::create_dir_all(above)?;
        }
        fs::create_dir(folder)?;
        for (name, bytes) in &self.files {
            let path = folder.join(PathBuf::from(name));
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, bytes)?;
        }
        Ok(())
    }

    /// Replaces the contents of `folder` by these files, read-only. If that fails, the old contents remain.
    pub(super) fn put(&self, folder: &Path) -> io::Result<()> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let beside = |what: &str| folder.with_file_name(format!(".{name}.{}.{what}", std::process::id()));
        let (draft, old) = (beside("new"), beside("old"));
        let _ = (remove(&draft), remove(&old));
        disk::make_private_folder(folder.parent().unwrap_or(folder))?;
        let placed = self.write(&draft).and_then(|()| {
            if folder.exists() {
                fs::rename(folder, &old)?;
            }
            fs::rename(&draft, folder).inspect_err(|_| drop(fs::rename(&old, folder)))
        });
        let _ = (remove(&draft), remove(&old));
        placed?;
        set_writable(folder, false)
    }
}

/// Other files of a native plugin that are installed with its library, if they exist.
const BESIDE: [&str; 6] =
    ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "LICENSE.md", "LICENSE.txt", "README.md"];

/// The existing files of a native plugin in a folder: its `plugin.toml`, the libraries listed there, and `BESIDE`.
fn native_files(files: &Files, folder: &Path, manifest: &Manifest) -> Vec<String> {
    let libraries = manifest.library.values().map(String::as_str);
    let names: BTreeSet<&str> =
        libraries.chain(BESIDE).filter(|name| files.has(&folder.join(name))).collect();
    names.into_iter().chain([manifest::FILE]).map(str::to_owned).collect()
}

/// Whether a file, or a folder (its path ends in `/`) with its contents, belongs to a plugin.
fn belongs(path: &str) -> bool {
    !path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().starts_with('.')
}

/// Removes the folder of an installed plugin, if it exists.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    if !folder.is_symlink() && !folder.exists() {
        return Ok(());
    }
    if folder.is_symlink() {
        return fs::remove_file(folder);
    }
    set_writable(folder, true)?;
    fs::remove_dir_all(folder)
}

/// Makes everything in a folder writable by its owner, or by nobody. Links are skipped.
fn set_writable(folder: &Path, on: bool) -> io::Result<()> {
    let mut open = vec![folder.to_owned()];
    let mut folders = Vec::new();
    while let Some(folder) = open.pop() {
        if on {
            set_mode(&folder, 0o755)?;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                set_mode(&entry.path(), if on { 0o644 } else { 0o444 })?;
            }
        }
        folders.push(folder);
    }
    if !on {
        for folder in folders.iter().rev() {
            set_mode(folder, 0o555)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// On systems without a mode for folders, only files are made read-only.
#[cfg(not(unix))]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(mode & 0o200 == 0 && path.is_file());
    fs::set_permissions(path, permissions)
}

/// Whether every file system can store a file with this path.
fn is_portable(path: &str) -> bool {
    let is_part = |part: &str| {
        part.len() <= 200
            && !part.ends_with(['.', ' '])
            && !part.contains(['\\', ':'])
            && !part.chars().any(char::is_control)
    };
    path.split('/').all(is_part) && path.split('/').count() <= DEEPEST
}

fn shown(name: &str) -> String {
    one_line(&name.chars().take(200).collect::<String>())
}
