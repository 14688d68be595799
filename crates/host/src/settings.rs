//! Settings: finds their files, merges them, and selects the profile to use.
//!
//! ```text
//! system ─┐
//! user   ─┤ files (document) ─▶ parts, checked (tree) ─┬─▶ a profile, merged (resolve) ─▶ Tree ─▶ Settings
//! project ┤                                            └─▶ which one (switch)
//! chosen ─┘        only allowed keys, unless trusted (project)
//! ```
//!
//! Later files override earlier ones. Keys outside of a profile's table apply to all profiles, below their own. Invalid
//! entries are reported and skipped.

pub mod allowance;
mod check;
pub mod document;
pub(crate) mod group;
pub mod keys;
mod packs;
pub mod profile;
pub(crate) mod project;
pub mod records;
mod resolve;
pub mod schema;
pub mod switch;
pub mod themes;
pub mod tree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::files::{FileError, Files};
use crate::folders::Folders;
use crate::plugin::source::PluginSource;
use crate::problem::{
    ChoiceNames, Problem, ProblemKind, Problems, RunChoice, Suggestion, nearest, suggestion,
};
use crate::settings::profile::BUILT_IN;
use document::{LARGEST, SettingValue, SettingsFile, SettingsLayer, Spot, TableEntry};
use keys::{FILE_KEYS, Head, Key, Named, OWN_TABLES, SERVE_KEYS, STORE_KEYS, ServeSettings, StoreSettings};
use switch::Switch;
use tree::ProfilePart;

pub use profile::Settings;
pub use project::Project;
pub use resolve::Resolved;

/// The file name of the user's settings in [`Folders::config`].
pub const FILE: &str = "config.toml";

/// Which settings to load.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Reads the files, each once.
    pub files: Files,
    /// The folders to search; `None` searches nowhere.
    pub folders: Option<Folders>,
    /// How messages name the choices for this run.
    pub names: ChoiceNames,
    /// A file to read instead of searching.
    pub file: Option<PathBuf>,
    /// Whether to ignore the files of a project.
    pub no_project: bool,
    /// Hashes of projects to trust wherever they are, separated by commas.
    pub trusted: Option<String>,
    /// Plugins to use regardless of the settings; their profiles are known by name.
    pub packs: Vec<Arc<PluginSource>>,
    /// Profiles passed as text, each with its name. They have precedence over those of the program and of plugins.
    pub texts: Vec<(String, String)>,
}

/// All loaded settings.
#[derive(Clone, Debug, Default)]
pub struct Config {
    request: Request,
    folders: Folders,
    /// The plugins whose profiles are known by name, loaded on first use.
    known: OnceLock<Vec<Arc<PluginSource>>>,
    /// All other plugins that can be chosen by name, loaded on first use.
    others: OnceLock<Vec<Arc<PluginSource>>>,
    /// The files that were read, the lowest layer first.
    layers: Vec<Arc<Loaded>>,
    /// The files that were looked for, and whether they exist.
    looked_for: Vec<(SettingsLayer, PathBuf, bool)>,
    project: Option<Project>,
    problems: SettingsProblems,
}

/// Problems in settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsProblems {
    /// Problems in settings that were named for this run, which then doesn't start.
    pub errors: Problems,
    /// Problems in settings that were found; the invalid entries are skipped.
    pub warnings: Problems,
}

impl SettingsProblems {
    pub(crate) fn add(&mut self, layer: SettingsLayer, problems: impl IntoIterator<Item = Problem>) {
        let list = if layer >= SettingsLayer::Chosen { &mut self.errors } else { &mut self.warnings };
        for problem in problems {
            // The problems of a profile that is extended twice are reported once.
            if list.0.len() > MOST_PROBLEMS || list.0.contains(&problem) {
                continue;
            }
            let is_last = list.0.len() == MOST_PROBLEMS;
            let rest = || Problem::of(ProblemKind::TooMany, "settings", "there are more problems");
            list.0.push(if is_last { rest() } else { problem });
        }
    }

    /// Adds a problem; the layer of its position decides whether it is an error or a warning.
    pub(crate) fn add_at(&mut self, spot: &Spot, kind: ProblemKind, message: impl Into<String>) {
        self.add(spot.document.layer, [spot.problem(kind, message)]);
    }

    /// Adds the problems of `other`.
    pub(crate) fn extend(&mut self, other: Self) {
        self.add(SettingsLayer::Option, other.errors.0);
        self.add(SettingsLayer::User, other.warnings.0);
    }
}

/// Most problems that are kept, besides one that states that there are more.
const MOST_PROBLEMS: usize = 100;

/// A parsed settings file.
#[derive(Clone, Debug)]
struct Loaded {
    document: Arc<SettingsFile>,
    head: Head,
    /// The keys for all profiles; in a file that is a profile, that profile.
    general: ProfilePart,
    profiles: IndexMap<String, (Spot, ProfilePart)>,
}

impl Loaded {
    /// Parses a file.
    fn read(document: SettingsFile) -> (Self, Vec<Problem>) {
        let document = Arc::new(document);
        let (table, mut problems) = document::parse(&document);
        let (mut head, mut profiles) = (Head::default(), IndexMap::new());
        let (mut found, mut unknown) = (Vec::new(), 0);
        // Locating a problem and searching for a similar name is slow.
        let report = |found: &mut Vec<Problem>, spot: &Spot, kind, message: &dyn Fn() -> String| {
            if found.len() < document::MOST_COLLECTED {
                found.push(spot.problem(kind, message()));
            }
        };
        let general = tree::read_part(&table, &mut problems, |name, entry| {
            if let ("profile", SettingValue::Table(tables)) = (name, &entry.leaf.value) {
                for profile in &tables.0 {
                    if profile.key == "none" || is_path(&profile.key) {
                        report(&mut found, &profile.at, ProblemKind::BadValue, &|| {
                            "a profile name must be a word other than \"none\"".to_owned()
                        });
                    } else if let SettingValue::Table(table) = &profile.leaf.value {
                        let part = tree::read_part(table, &mut found, |_, _| false);
                        profiles.insert(profile.key.clone(), (profile.at.clone(), part));
                    } else {
                        report(&mut found, &profile.leaf.spot, ProblemKind::BadValue, &|| {
                            let what = profile.leaf.value.describe();
                            format!("profile.{} must be a table, not {what}", profile.key)
                        });
                    }
                }
                return true;
            }
            if document.layer == SettingsLayer::Project && OWN_TABLES.contains(&name) {
                let keys = match &entry.leaf.value {
                    SettingValue::Table(table) => table.0.as_slice(),
                    _ => &[],
                };
                let keys = keys.iter().take(document::MOST_COLLECTED);
                let named =
                    |row: &TableEntry| Named { name: format!("{name}.{}", row.key), spot: row.at.clone() };
                head.misplaced.extend(keys.map(named));
                return true;
            }
            if let ("serve" | "store", SettingValue::Table(table)) = (name, &entry.leaf.value) {
                let unknown = if name == "serve" {
                    head.serve.clone_from(&table.0);
                    check_own_table(SERVE_KEYS, &table.0, &mut found)
                } else {
                    head.store.clone_from(&table.0);
                    check_own_table(STORE_KEYS, &table.0, &mut found)
                };
                for (row, nearest) in unknown {
                    report(&mut found, &row.at, ProblemKind::UnknownKey, &|| {
                        format!("unknown key \"{name}.{}\" {nearest}", row.key)
                    });
                }
                return true;
            }
            if let Some(key) = keys::find(FILE_KEYS, name) {
                found.extend(key.set(&mut head, &entry.leaf).err().unwrap_or_default());
                return true;
            }
            unknown += 1;
            if unknown > document::MOST_COLLECTED {
                return false;
            }
            let names: Vec<&str> = FILE_KEYS.iter().map(|key| key.name).collect();
            let Some(meant) = nearest(name, &names) else { return false };
            let message = format!("unknown key \"{name}\" (did you mean \"{meant}\"?)");
            found.push(entry.at.problem(ProblemKind::UnknownKey, message));
            true
        });
        problems.extend(found);
        document::limit_reported(&mut problems, &document);
        problems.sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
        (Self { document, head, general, profiles }, problems)
    }
}

/// Checks the values of a table that only the user's own settings have. Returns the unknown keys, each with a suggestion.
fn check_own_table<'t, T: Default>(
    keys: &'static [Key<T>],
    table: &'t [TableEntry],
    found: &mut Vec<Problem>,
) -> Vec<(&'t TableEntry, Suggestion<'static>)> {
    let mut unknown = Vec::new();
    for row in table {
        match keys::find(keys, &row.key) {
            Some(key) => found.extend(key.set(&mut T::default(), &row.leaf).err().unwrap_or_default()),
            None if unknown.len() < document::MOST_COLLECTED => {
                unknown.push((row, suggestion(&row.key, keys.iter().map(|key| key.name))));
            }
            None => {}
        }
    }
    unknown
}

/// Reads the values of such a table. Invalid ones were reported when the file was parsed.
fn read_own_table<'t, T: Default>(keys: &'static [Key<T>], rows: impl Iterator<Item = &'t TableEntry>) -> T {
    let mut read = T::default();
    for row in rows {
        drop(keys::find(keys, &row.key).map(|key| key.set(&mut read, &row.leaf)));
    }
    read
}

/// A candidate for the profile to use, and the reason.
#[derive(Clone, Debug)]
pub struct ProfileChoice {
    /// Its name or path, and where it was chosen.
    pub profile: Named,
    /// Its source: an option, the environment, the project's settings, …
    pub by: &'static str,
}

/// The candidates for the profile to use.
pub(crate) struct ProfileChoices {
    /// Candidates for any stream; the first one that exists is used.
    pub(crate) profiles: Vec<ProfileChoice>,
    /// Candidates for certain streams, which have precedence; the first match is used.
    pub(crate) by_stream: Vec<(Switch, ProfileChoice)>,
}

impl Config {
    /// Finds and reads the requested files.
    pub fn load(request: &Request) -> Self {
        let mut config = Self {
            request: request.clone(),
            folders: request.folders.clone().unwrap_or_default(),
            ..Self::default()
        };
        let folders = config.folders.clone();
        if let Some(system) = &folders.system {
            config.read_if_there(SettingsLayer::System, &system.join(FILE));
        }
        if let Some(file) = &request.file {
            config.looked_for.push((SettingsLayer::Chosen, file.clone(), true));
            match config.open(SettingsLayer::Chosen, file, file.display().to_string()) {
                Ok(document) => config.add(document),
                Err(error) => {
                    let spot = Spot::of_choice(RunChoice::Config, &file.display().to_string(), request.names);
                    let problem = spot.problem(ProblemKind::Unreadable, error.to_string());
                    config.problems.errors.0.push(problem);
                }
            }
            return config;
        }
        if let Some(user) = &folders.config {
            config.read_if_there(SettingsLayer::User, &user.join(FILE));
        }
        if request.folders.is_some() && !request.no_project {
            config.find_project();
        }
        config
    }

    fn read_if_there(&mut self, layer: SettingsLayer, path: &Path) {
        let shown = self.folders.shown(path);
        let opened = self.open(layer, path, shown.clone());
        let is_there = !matches!(opened, Err(FileError::Missing));
        self.looked_for.push((layer, path.to_owned(), is_there));
        match opened {
            Ok(document) => self.add(document),
            Err(FileError::Missing) => {}
            Err(error) => {
                self.problems.add(layer, [Problem::of(ProblemKind::Unreadable, shown, error.to_string())]);
            }
        }
    }

    fn open(&self, layer: SettingsLayer, path: &Path, shown: String) -> Result<SettingsFile, FileError> {
        let source = self.request.files.read(path, LARGEST)?;
        let text = source.text()?.to_owned();
        Ok(SettingsFile::new(shown, Some(source.path.clone()), layer, text))
    }

    fn add(&mut self, document: SettingsFile) {
        let layer = document.layer;
        let (loaded, problems) = Loaded::read(document);
        self.problems.add(layer, problems);
        self.layers.push(Arc::new(loaded));
    }

    /// The problems in the files that were read.
    pub fn problems(&self) -> &SettingsProblems {
        &self.problems
    }

    /// The files that were looked for, and whether they exist; the lowest first.
    pub fn looked_for(&self) -> &[(SettingsLayer, PathBuf, bool)] {
        &self.looked_for
    }

    /// The project whose files were found, if any.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// The `[serve]` settings of the user and of the machine; later layers override earlier ones.
    pub fn serve(&self) -> ServeSettings {
        // A project's file has none: see [`OWN_TABLES`].
        read_own_table(SERVE_KEYS, self.layers.iter().flat_map(|loaded| &loaded.head.serve))
    }

    /// The `[store]` settings of the user and of the machine; later layers override earlier ones.
    pub fn store(&self) -> StoreSettings {
        read_own_table(STORE_KEYS, self.layers.iter().flat_map(|loaded| &loaded.head.store))
    }

    /// The reader of files, with everything that it read.
    pub fn files(&self) -> &Files {
        &self.request.files
    }

    /// Returns the candidates for the profile to use. `asked` was requested by an option or by the environment; `otherwise` is
    /// used if nothing else chooses one.
    pub(crate) fn choices(&self, asked: Option<ProfileChoice>, otherwise: &str) -> ProfileChoices {
        let default_of = |layer| {
            let found = self.layers.iter().rev().find(|loaded| loaded.document.layer == layer);
            found.and_then(|loaded| loaded.head.default_profile.clone())
        };
        let chosen = |profile, by| ProfileChoice { profile, by };
        let mut profiles: Vec<ProfileChoice> = asked.into_iter().collect();
        let is_asked = !profiles.is_empty();
        let by_project =
            default_of(SettingsLayer::Project).map(|profile| chosen(profile, "the project's settings"));
        profiles.extend(by_project);
        let is_settled = !profiles.is_empty();
        let mut by_stream = Vec::new();
        let own = |loaded: &&Arc<Loaded>| {
            matches!(loaded.document.layer, SettingsLayer::User | SettingsLayer::Chosen)
        };
        for switch in self.layers.iter().rev().filter(own).flat_map(|loaded| &loaded.head.switches) {
            let Some(profile) = &switch.profile else { continue };
            if is_settled || !switch.fits_folder(&self.folders) {
                continue;
            }
            let choice = chosen(profile.clone(), "a switch");
            if switch.asks_stream() {
                by_stream.push((switch.clone(), choice));
            } else {
                profiles.push(choice);
                break;
            }
        }
        if !is_asked {
            for layer in [SettingsLayer::Chosen, SettingsLayer::User, SettingsLayer::System] {
                profiles.extend(default_of(layer).map(|profile| chosen(profile, "default-profile")));
            }
            profiles.push(chosen(Named::given_by(otherwise, "the default"), "nothing else"));
        }
        ProfileChoices { profiles, by_stream }
    }

    /// The names of all profiles, each with its layer and its position.
    pub fn profiles(&self) -> Vec<(String, SettingsLayer, String)> {
        let mut all: Vec<(String, SettingsLayer, String)> = Vec::new();
        let mut add = |name: &str, layer, file: &str| {
            let is_other = |known: &&mut (String, SettingsLayer, String)| known.0 == name;
            match all.iter_mut().find(is_other) {
                Some(known) => (known.1, known.2) = (layer, file.to_owned()),
                None => all.push((name.to_owned(), layer, file.to_owned())),
            }
        };
        for (name, _) in BUILT_IN {
            add(name, SettingsLayer::BuiltIn, &format!("{name}.toml"));
        }
        let is_built_in = |name: &str| BUILT_IN.iter().any(|(known, _)| *known == name);
        for (name, files) in self.pack_profiles().into_iter().filter(|(name, _)| !is_built_in(name)) {
            add(&name, SettingsLayer::Pack, &files.join(" or "));
        }
        for loaded in &self.layers {
            for (name, (spot, _)) in &loaded.profiles {
                add(name, loaded.document.layer, &spot.to_string());
            }
        }
        all
    }
}

/// Whether the name of a profile is a path.
pub(crate) fn is_path(name: &str) -> bool {
    let name = name.split('#').next().unwrap_or(name);
    name.contains(['/', std::path::MAIN_SEPARATOR])
        || Path::new(name).extension().is_some_and(|end| end == "toml")
}
