//! The files of a project: found by searching, and used only as far as the user allows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::allowance::{self, Refusal};
use super::document::{self, LARGEST, SettingValue, SettingsFile, SettingsLayer};
use super::keys::{Head, Named};
use super::tree::{ListChange, Path as KeyPath, ProfilePart};
use super::{Config, FILE, Loaded, is_path, switch};
use crate::files::{FileError, Files};
use crate::folders::Folders;
use crate::plugin::WITHOUT_LUA;
use crate::plugin::source::{PluginSource, is_library};
use crate::problem::{Problem, ProblemKind};
use crate::trust::{Closure, OWN_FOLDER, Trust, TrustStatus};

/// The file names of a project's settings; the first that exists is used.
const FILES: [&str; 2] = ["streamfmt.toml", ".streamfmt/config.toml"];

/// Most settings files that a project may reference.
const MOST_FILES: usize = 64;
/// Largest file that a project's settings may reference, in bytes.
const LARGEST_PART: usize = 4 << 20;

/// A project with settings.
#[derive(Clone, Debug)]
pub struct Project {
    /// The real path of its folder.
    pub root: PathBuf,
    /// The name of its settings file in messages.
    pub file: String,
    /// Whether it is trusted.
    pub status: TrustStatus,
    /// The settings that were ignored because it isn't trusted.
    pub refusals: Vec<Refusal>,
    /// The problems of its files; reported only if it is trusted, or on request.
    pub problems: Vec<Problem>,
    reader: Files,
    loaded: Arc<Loaded>,
    /// The trusted files: nothing else of the project is used.
    closure: Option<Arc<Closure>>,
}

/// The target of a path in a project.
pub(super) enum ProjectTarget {
    /// A file: its name and its text.
    File(String, String),
    /// A folder: its files.
    Folder(BTreeMap<String, String>),
}

impl Project {
    /// Finds the project of the working directory and reads its settings. The search goes up to the root of a repository, stays
    /// below the home directory, and ends at the first file.
    pub fn find(files: &Files, folders: &Folders) -> Result<Option<Self>, Problem> {
        let Some((root, name)) = search(files, folders) else { return Ok(None) };
        let path = root.join(name);
        let inside = path.strip_prefix(&folders.work).ok().map(|path| path.display().to_string());
        let file = inside.unwrap_or_else(|| folders.shown(&path));
        let complain = |error: FileError| Problem::of(ProblemKind::Unreadable, &file, error.to_string());
        let reader = files.within(&root).map_err(complain)?;
        let source = reader.read(Path::new(name), LARGEST).map_err(complain)?;
        let text = source.text().map_err(complain)?.to_owned();
        let document = SettingsFile::new(file.clone(), Some(source.path), SettingsLayer::Project, text);
        let (loaded, problems) = Loaded::read(document);
        Ok(Some(Self {
            root: reader.root().unwrap_or(&root).to_owned(),
            file,
            status: TrustStatus::Unknown,
            refusals: Vec::new(),
            problems,
            reader,
            loaded: Arc::new(loaded),
            closure: None,
        }))
    }

    /// Collects all files of the project: those that its settings reference, and everything in `.streamfmt/`. None may be outside
    /// of the project.
    pub fn closure(&self) -> Result<Closure, Problem> {
        let outside = |reference: &str, error: &FileError| {
            Problem::of(ProblemKind::NotAllowed, &self.file, format!("{reference}: {error}"))
        };
        let mut open = vec![Arc::clone(&self.loaded)];
        let mut seen = BTreeSet::new();
        while let Some(loaded) = open.pop() {
            let folder = loaded.document.folder();
            for reference in loaded.references() {
                let reference = reference.split('#').next().unwrap_or_default();
                let path = folder.join(reference);
                // Libraries that a file names are never loaded.
                if is_library(&path) {
                    continue;
                }
                match self.reader.read(&path, LARGEST_PART) {
                    Ok(source) => {
                        let is_settings = path.extension().is_some_and(|end| end == "toml");
                        if is_settings && seen.insert(source.path.clone()) && seen.len() <= MOST_FILES {
                            let text = String::from_utf8_lossy(&source.bytes).into_owned();
                            let name = source.path.display().to_string();
                            let document =
                                SettingsFile::new(name, Some(source.path), SettingsLayer::Project, text);
                            open.push(Arc::new(Loaded::read(document).0));
                        }
                    }
                    // A folder is a plugin; it references nothing else.
                    Err(FileError::OtherKind(_)) => {
                        if let Err(error @ FileError::Leaves(_)) = PluginSource::names(&self.reader, &path) {
                            return Err(outside(reference, &error));
                        }
                        drop(PluginSource::read(&self.reader, &path));
                    }
                    Err(error @ FileError::Outside(_)) => {
                        return Err(outside(reference, &error));
                    }
                    // A file that can't be read now isn't used later either: see `brought`.
                    Err(_) => {}
                }
            }
        }
        Closure::of(&self.reader)
    }

    /// Resolves a path in a file of the project, with the contents that were trusted.
    fn target(&self, by: &SettingsFile, path: &str) -> Result<ProjectTarget, String> {
        let closure = self.closure.as_ref().ok_or("the project is not trusted")?;
        let name = name_of(closure, &by.folder().join(path)).map_err(|error| error.to_string())?;
        match text_of(closure, &name) {
            Err(FileError::Missing) => {}
            Err(error) => return Err(error.to_string()),
            Ok(text) => return Ok(ProjectTarget::File(name, text.to_owned())),
        }
        let files = texts_in(closure, &format!("{name}/"));
        if files.is_empty() { Err(FileError::Missing.to_string()) } else { Ok(ProjectTarget::Folder(files)) }
    }

    /// Its own plugin, `.streamfmt/init.lua`, if it is trusted.
    fn pack(&self) -> Option<Result<PluginSource, String>> {
        let closure = self.closure.as_ref()?;
        let own = format!("{OWN_FOLDER}/");
        let inside = |name: &str| closure.files.get(&format!("{own}{name}"));
        let entry = inside("init.lua").or_else(|| inside("init.luau"))?;
        if let Some(why) = WITHOUT_LUA {
            return Some(Err(why.to_owned()));
        }
        if inside("plugin.toml").is_some() {
            return Some(PluginSource::from_files(texts_in(closure, &own)));
        }
        Some(Ok(PluginSource::from_text(&format!("{own}init.lua"), String::from_utf8_lossy(entry))))
    }

    /// Keeps the settings that an untrusted project may set, and records the others as refused.
    fn reduced(&mut self, granted: &[Named]) -> Loaded {
        let loaded = &*self.loaded;
        let mut refusals = Vec::new();
        let mut refuse = |key: String, line: usize, why: String| refusals.push(Refusal { key, line, why });
        let default_profile = loaded.head.default_profile.clone().filter(|name| {
            let may = allowance::check("default-profile", &SettingValue::Text(name.name.clone()), granted);
            may.map_err(|why| refuse("default-profile".to_owned(), name.spot.line(), why)).is_ok()
        });
        for (key, spots) in [
            ("switch", loaded.head.switches.first().and_then(|switch| switch.spot.as_ref())),
            ("allow-in-projects", loaded.head.allowed_in_projects.first().map(|name| &name.spot)),
            ("trusted-paths", loaded.head.trusted_paths.first().map(|name| &name.spot)),
            ("extends", loaded.general.extends.iter().flatten().next().map(|name| &name.spot)),
        ] {
            if let Some(spot) = spots {
                refuse(key.to_owned(), spot.line(), "only a trusted project may set it".to_owned());
            }
        }
        let mut assignments = loaded.general.assignments.clone();
        assignments.retain(|assignment| {
            let key = assignment.path.to_string();
            let may = if assignment.change == ListChange::Replace {
                allowance::check(&key, &assignment.leaf.value, granted)
            } else {
                Err("only a trusted project may change a list".to_owned())
            };
            may.map_err(|why| refuse(key, assignment.leaf.spot.line(), why)).is_ok()
        });
        for (name, (spot, _)) in &loaded.profiles {
            refuse(
                format!("profile.{name}"),
                spot.line(),
                "only a trusted project may have profiles".to_owned(),
            );
        }
        if let Some(problem) = self.problems.first() {
            let line = problem.place.as_ref().map_or(1, |place| place.line);
            refuse("unrecognized entries".to_owned(), line, "not a setting".to_owned());
        }
        let own = ["init.lua", "init.luau"].map(|name| format!("{OWN_FOLDER}/{name}"));
        for name in own.into_iter().filter(|name| self.root.join(name).is_file()) {
            refuse(name, 1, "only a trusted project may run scripts".to_owned());
        }
        self.refusals = refusals;
        Loaded {
            document: Arc::clone(&loaded.document),
            head: Head { default_profile, ..Head::default() },
            general: ProfilePart { extends: None, assignments },
            profiles: IndexMap::new(),
        }
    }
}

/// The files in a folder of a trusted project. `path` ends in `/`.
fn texts_in(closure: &Closure, folder: &str) -> BTreeMap<String, String> {
    let inside = closure.files.iter().filter_map(|(file, bytes)| Some((file.strip_prefix(folder)?, bytes)));
    inside.map(|(file, bytes)| (file.to_owned(), String::from_utf8_lossy(bytes).into_owned())).collect()
}

/// The name of a file of a trusted project: its path relative to the project.
fn name_of(closure: &Closure, path: &Path) -> Result<String, FileError> {
    // The project's own settings may have been read by a relative path.
    let inside = path.strip_prefix(&closure.root).unwrap_or(path);
    plain(inside).ok_or_else(|| FileError::Outside(closure.root.clone()))
}

/// The trusted text of a file of a project.
fn text_of<'c>(closure: &'c Closure, name: &str) -> Result<&'c str, FileError> {
    let bytes = closure.files.get(name).ok_or(FileError::Missing)?;
    std::str::from_utf8(bytes).map_err(|_| FileError::NotText)
}

/// The trusted text of the file `path` of a project.
pub(crate) fn trusted_text<'c>(closure: &'c Closure, path: &Path) -> Result<&'c str, FileError> {
    text_of(closure, &name_of(closure, path)?)
}

impl Loaded {
    /// The paths that it references.
    fn references(&self) -> Vec<String> {
        let parts = self.profiles.values().map(|(_, part)| part).chain([&self.general]);
        let mut paths: Vec<String> = parts.flat_map(ProfilePart::references).collect();
        // The file may be a theme, which may extend another one.
        let (table, _) = document::parse(&self.document);
        let extended = table.get("extends").and_then(|leaf| leaf.text().map(str::to_owned));
        paths.extend(extended.filter(|path| is_path(path)));
        paths
    }
}

impl ProfilePart {
    /// The paths that it references.
    fn references(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.extends.iter().flatten().map(|name| name.name.clone()).collect();
        paths.retain(|name| is_path(name));
        for assignment in &self.assignments {
            match (&assignment.path, &assignment.leaf.value) {
                (KeyPath::Key("theme"), SettingValue::Text(theme)) => paths.push(theme.clone()),
                (KeyPath::Key("records"), SettingValue::Text(schema)) if is_path(schema) => {
                    paths.push(schema.clone());
                }
                (KeyPath::Key("plugins"), _) => {
                    paths.extend(assignment.leaf.names().into_iter().flatten().map(|name| name.name));
                }
                (KeyPath::Tool(_, field), SettingValue::Text(script)) if field.starts_with("script.") => {
                    paths.push(script.clone());
                }
                _ => {}
            }
        }
        paths
    }
}

impl Config {
    /// Finds the project's settings and applies those that are allowed.
    pub(super) fn find_project(&mut self) {
        let mut project = match Project::find(&self.request.files, &self.folders) {
            Ok(Some(project)) => project,
            Ok(None) => return,
            Err(problem) => return self.problems.add(SettingsLayer::Project, [problem]),
        };
        let path = project.loaded.document.path.clone().unwrap_or_default();
        self.looked_for.push((SettingsLayer::Project, path, true));
        let trust = Trust::new(self.folders.state.as_deref(), self.request.trusted.as_deref());
        let user = || self.layers.iter().filter(|loaded| loaded.document.layer == SettingsLayer::User);
        let mut patterns = user().flat_map(|loaded| &loaded.head.trusted_paths);
        let is_trusted_path =
            patterns.any(|pattern| switch::fits(&pattern.name, &project.root, &self.folders));
        if is_trusted_path || trust.may_know(&project.root) {
            match project.closure().and_then(|closure| Ok((trust.status(&closure)?, closure))) {
                Ok((mut status, closure)) => {
                    if is_trusted_path && status != TrustStatus::Denied {
                        status = TrustStatus::Trusted;
                    }
                    project.status = status;
                    project.closure = (status == TrustStatus::Trusted).then(|| Arc::new(closure));
                }
                Err(problem) => self.problems.add(SettingsLayer::Project, [problem]),
            }
        }
        let misplaced = self.misplaced(&project);
        self.problems.add(SettingsLayer::Project, misplaced);
        if project.status == TrustStatus::Trusted {
            let own = self.only_own();
            let head = &project.loaded.head;
            let switches = head.switches.iter().filter_map(|switch| switch.spot.as_ref());
            let names = head.allowed_in_projects.iter().chain(&head.trusted_paths);
            let spots = switches.chain(names.map(|name| &name.spot));
            project.problems.extend(spots.map(|spot| spot.problem(ProblemKind::NotAllowed, &own)));
            self.problems.add(SettingsLayer::Project, project.problems.clone());
            self.layers.push(Arc::clone(&project.loaded));
        } else {
            let granted = user().flat_map(|loaded| loaded.head.allowed_in_projects.clone());
            let reduced = project.reduced(&granted.collect::<Vec<_>>());
            self.layers.push(Arc::new(reduced));
        }
        self.project = Some(project);
    }

    /// Why a key in a project's file is ignored, trusted or not, and where it belongs.
    fn only_own(&self) -> String {
        let own = self.folders.config.as_ref().map(|folder| self.folders.shown(&folder.join(FILE)));
        let place = own.map_or_else(String::new, |file| format!("; it belongs in {file}"));
        format!("only your own settings may set it{place}")
    }

    /// The problems of the keys in a project's file that no project may set.
    pub fn misplaced(&self, project: &Project) -> Vec<Problem> {
        let own = self.only_own();
        let keys = project.loaded.head.misplaced.iter();
        let problem = |key: &Named| key.spot.problem(ProblemKind::NotAllowed, format!("{}: {own}", key.name));
        keys.map(problem).collect()
    }

    /// Reads a settings file by a path in another one. Returns its real path and its text.
    pub(crate) fn read_beside(&self, by: &SettingsFile, path: &str) -> Result<(PathBuf, String), String> {
        if by.layer == SettingsLayer::Project {
            return match self.project_files(by, path)? {
                ProjectTarget::File(name, text) => {
                    let root = self.project.as_ref().map(|project| project.root.clone()).unwrap_or_default();
                    Ok((root.join(name), text))
                }
                ProjectTarget::Folder(_) => Err(FileError::OtherKind("file").to_string()),
            };
        }
        if by.layer <= SettingsLayer::Pack {
            return Err("a profile of the program or of a plugin leads to no files".to_owned());
        }
        let path = by.folder().join(self.folders.expand(path));
        let source = self.request.files.read(&path, LARGEST).map_err(|error| error.to_string())?;
        let text = source.text().map_err(|error| error.to_string())?.to_owned();
        Ok((source.path, text))
    }

    pub(super) fn project_files(&self, by: &SettingsFile, path: &str) -> Result<ProjectTarget, String> {
        let project = self.project.as_ref().ok_or("there is no project")?;
        project.target(by, path)
    }

    /// The trusted files of the project, if it is trusted.
    pub(crate) fn closure(&self) -> Option<&Arc<Closure>> {
        self.project.as_ref()?.closure.as_ref()
    }

    /// The plugin of a trusted project, `.streamfmt/init.lua`.
    pub(crate) fn project_pack(&self) -> Option<Result<PluginSource, String>> {
        self.project.as_ref()?.pack()
    }

    /// The one-line warning about the ignored settings of a project, if any.
    pub fn left_out(&self) -> Option<String> {
        let project = self.project.as_ref().filter(|project| !project.refusals.is_empty())?;
        let is_here = project.root == self.folders.work;
        let root = self.folders.shown(&project.root);
        let root = (!is_here).then_some(root.as_str());
        Some(allowance::left_out(&project.file, project.status, &project.refusals, root))
    }
}

/// The settings of the project that contains `place`: the nearest, not above the root of a repository.
pub(crate) fn settings_above(place: &Path) -> Option<PathBuf> {
    let folders = Folders { work: place.canonicalize().ok()?, ..Folders::default() };
    let (root, name) = search(&Files::default(), &folders)?;
    Some(root.join(name))
}

/// The folder of the project and the path of its settings within it.
fn search(files: &Files, folders: &Folders) -> Option<(PathBuf, &'static str)> {
    let home = folders.home.as_deref();
    let real_home = home.and_then(|home| home.canonicalize().ok());
    for folder in folders.work.ancestors() {
        if Some(folder) == home || Some(folder) == real_home.as_deref() || !folder.is_absolute() {
            return None;
        }
        if let Some(name) = FILES.into_iter().find(|name| files.has(&folder.join(name))) {
            return Some((folder.to_owned(), name));
        }
        // A repository is a folder with `.git`: a folder, or in a worktree a file.
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// A path inside of a project with `/` between its parts; `None` if it leaves the project.
fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests;
