//! Finds themes by name: those of the user's folder, of plugins, and the built-in ones; and by path.
//!
//! ```text
//! NAME                 themes/NAME.toml in the user's settings, then in a plugin, then built in
//! ./NAME.toml          this file; inside a theme or a file of settings: relative to that
//! NAME:light           as on a light background, whatever the terminal's is
//! ```
//!
//! All are read by the same code. A theme may extend one of its own name: that is the next one in this order, so
//! that a `dark.toml` of the user's can say what it would have different.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamfmt_core::theme::{Appearance, Lookup, Theme, ThemeSource};

use crate::files::{FileError, Files};
use crate::folders::Folders;
use crate::plugin::pack::Pack;
use crate::problem::{self, Problem, Problems};
use crate::settings::document::{SettingsFile, SettingsLayer};
use crate::settings::project::trusted_text;
use crate::trust::Closure;
use crate::writers::Background;

/// No theme needs more bytes.
const LARGEST: usize = 256 * 1024;

/// Most files of a folder that are looked at for a list.
const MOST_FILES: usize = 1_000;

/// Where themes are found.
#[derive(Clone, Debug, Default)]
pub struct Themes {
    files: Files,
    /// Where names are looked for, the first wins.
    places: Vec<ThemePlace>,
    /// The file of settings that names the theme, if one does.
    named_in: Option<NamedIn>,
}

/// A place with themes that have names.
#[derive(Clone, Debug)]
enum ThemePlace {
    /// The user's folder.
    Own(PathBuf),
    /// A theme that was added by its name.
    Added(String, ThemeSource),
    /// A plugin.
    Plugin(Arc<Pack>),
}

/// A file of settings that names a theme.
#[derive(Clone, Debug)]
struct NamedIn {
    /// What its paths are relative to.
    folder: PathBuf,
    /// What it may read, if it is a project's: nothing but what was trusted.
    project: Option<Arc<Closure>>,
    /// What `~` stands for.
    folders: Folders,
}

/// A theme that can be chosen by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTheme {
    /// Its name.
    pub name: String,
    /// The file that it is, unless it is built in.
    pub file: Option<PathBuf>,
    /// Whose it is: `built in`, `yours`, or the plugin's name.
    pub origin: String,
}

impl Themes {
    /// The built-in themes, and those of the user's folder. Files are read through `files`.
    pub fn new(folders: Option<&Folders>, files: Files) -> Self {
        let own = folders.and_then(|folders| folders.config.as_ref());
        let places = own.map(|own| ThemePlace::Own(own.join("themes"))).into_iter().collect();
        Self { files, places, named_in: None }
    }

    /// The themes of a plugin as well, after those before.
    pub fn add_plugin(&mut self, plugin: Arc<Pack>) {
        self.places.push(ThemePlace::Plugin(plugin));
    }

    /// One more theme, before all others.
    pub(crate) fn add_source(&mut self, name: &str, source: ThemeSource) {
        self.places.insert(0, ThemePlace::Added(name.to_owned(), source));
    }

    /// The same, asked by a file of settings: paths are relative to it, and lead a project to nothing but what of
    /// it is trusted.
    pub(crate) fn named_in(
        &self,
        document: &SettingsFile,
        folders: &Folders,
        trusted: Option<&Arc<Closure>>,
    ) -> Self {
        let project = trusted.filter(|_| document.layer == SettingsLayer::Project).cloned();
        let folder = document.folder().to_owned();
        let named_in = Some(NamedIn { folder, project, folders: folders.clone() });
        Self { named_in, ..self.clone() }
    }

    /// Reads the theme `name`, as it is on `background`, with what is wrong in its files: the rest of it holds.
    /// The error says that there is no such theme. A relative path is relative to the working directory.
    pub fn load(&self, name: &str, background: &Background) -> Result<(Theme, Problems), String> {
        let (name, forced) = parts(name);
        let source = self.find(name, None)?;
        Ok(self.read(&source, forced, background))
    }

    /// Looks whether there is a theme `name`, for whoever doesn't need it now. The error says that there is none.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let (name, _) = parts(name);
        // Whatever the user has of this name, there is one.
        if Theme::find_builtin(name).is_ok() {
            return Ok(());
        }
        self.find(name, None).map(drop)
    }

    /// Reads a theme that was found.
    fn read(
        &self,
        source: &ThemeSource,
        forced: Option<Appearance>,
        background: &Background,
    ) -> (Theme, Problems) {
        let mut known = forced;
        let mut ask = || *known.get_or_insert_with(|| background.find());
        let lookup: Lookup<'_> = &|name, from| self.find(name, Some(from));
        let (theme, problems) = Theme::parse(source, &mut ask, lookup);
        (theme, Problems(problems.into_iter().map(Problem::from).collect()))
    }

    /// The text of the theme `name`, which `from` names if it isn't the user.
    pub fn find(&self, name: &str, from: Option<&ThemeSource>) -> Result<ThemeSource, String> {
        let is_path = name.contains(['/', std::path::MAIN_SEPARATOR])
            || Path::new(name).extension().is_some_and(|end| end == "toml");
        if is_path {
            return self.find_path(name, from);
        }
        // What a theme of this name extends comes after it.
        let is_from = |place: &ThemePlace| from.is_some_and(|from| place.holds(name, from));
        let places =
            self.places.iter().position(is_from).map_or(&self.places[..], |own| &self.places[own + 1..]);
        for place in places.iter().filter(|_| !name.starts_with('@')) {
            match place {
                ThemePlace::Own(folder) => match self.open(&own_file(folder, name)) {
                    Err(FileError::Missing) => {}
                    found => {
                        return found
                            .map_err(|error| format!("{}: {error}", own_file(folder, name).display()));
                    }
                },
                ThemePlace::Added(known, source) => {
                    if known == name {
                        return Ok(source.clone());
                    }
                }
                ThemePlace::Plugin(plugin) => {
                    if let Some((_, file, text)) = plugin.themes().find(|(known, ..)| *known == name) {
                        return Ok(ThemeSource::new(file, text));
                    }
                }
            }
        }
        Theme::find_builtin(name).map_err(|_| {
            let known = self.list();
            Theme::unknown(name, known.iter().map(|known| known.name.as_str()))
        })
    }

    /// The text of the theme at a path that the user, a file of settings or the theme `from` names.
    fn find_path(&self, name: &str, from: Option<&ThemeSource>) -> Result<ThemeSource, String> {
        let plugin = from.and_then(|from| self.places.iter().find_map(|place| place.plugin_of(from)));
        if let Some(plugin) = plugin {
            let beside = name.strip_prefix("./").unwrap_or(name).strip_suffix(".toml");
            let found = plugin.themes().find(|(known, ..)| Some(*known) == beside);
            let (_, file, text) =
                found.ok_or_else(|| format!("{name}: {} has no such theme", plugin.name))?;
            return Ok(ThemeSource::new(file, text));
        }
        let asked = self.named_in.as_ref();
        let path = match (from, asked) {
            (Some(from), _) => Path::new(&from.name).parent().unwrap_or(Path::new("")).join(name),
            (None, Some(asked)) => asked.folder.join(asked.expand(name)),
            (None, None) => PathBuf::from(name),
        };
        let complain = |error: FileError| format!("{}: {error}", path.display());
        let project = asked.and_then(|asked| asked.project.as_ref());
        // Themes of the user's own are read from the disk, whoever names them.
        let is_projects = |closure: &&Arc<Closure>| {
            from.is_none_or(|from| Path::new(&from.name).starts_with(&closure.root))
        };
        match project.filter(is_projects) {
            Some(closure) => {
                let text = trusted_text(closure, &path).map_err(complain)?;
                Ok(ThemeSource::new(path.to_string_lossy(), text))
            }
            None => self.open(&path).map_err(complain),
        }
    }

    fn open(&self, path: &Path) -> Result<ThemeSource, FileError> {
        let file = self.files.read(path, LARGEST)?;
        Ok(ThemeSource::new(path.to_string_lossy(), file.text()?))
    }

    /// All themes that can be chosen by name, sorted by whose they are; of several of one name the one that wins.
    pub fn list(&self) -> Vec<KnownTheme> {
        let theme = |name: &str, file, origin: &str| KnownTheme {
            name: name.to_owned(),
            file,
            origin: origin.to_owned(),
        };
        let mut known: BTreeMap<String, KnownTheme> = BTreeMap::new();
        let mut add = |found: KnownTheme| {
            known.entry(found.name.clone()).or_insert(found);
        };
        for place in &self.places {
            let folder = match place {
                ThemePlace::Own(folder) => folder,
                ThemePlace::Added(name, _) => {
                    add(theme(name, None, "added"));
                    continue;
                }
                ThemePlace::Plugin(plugin) => {
                    for (name, file, _) in plugin.themes() {
                        add(theme(name, Some(PathBuf::from(file)), &plugin.name));
                    }
                    continue;
                }
            };
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for path in entries.take(MOST_FILES).flatten().map(|entry| entry.path()) {
                let is_theme = path.extension().is_some_and(|end| end == "toml");
                if let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_theme) {
                    add(theme(name, Some(path.clone()), "yours"));
                }
            }
        }
        let built_in = Theme::builtin_names();
        let mut list: Vec<KnownTheme> = built_in
            .into_iter()
            .map(|name| known.remove(name).unwrap_or_else(|| theme(name, None, "built in")))
            .collect();
        list.extend(known.into_values());
        list
    }
}

impl ThemePlace {
    /// Whether `source` is the theme `name` of this place.
    fn holds(&self, name: &str, source: &ThemeSource) -> bool {
        match self {
            Self::Own(folder) => own_file(folder, name) == Path::new(&source.name),
            Self::Added(known, added) => known == name && added == source,
            Self::Plugin(plugin) => {
                plugin.themes().any(|(known, file, _)| known == name && file == source.name)
            }
        }
    }

    /// The plugin that `source` is a theme of.
    fn plugin_of(&self, source: &ThemeSource) -> Option<&Pack> {
        let Self::Plugin(plugin) = self else { return None };
        plugin.themes().any(|(_, file, _)| file == source.name).then_some(plugin)
    }
}

impl NamedIn {
    /// A path with `~` in it as what that stands for; a project's has none.
    fn expand(&self, path: &str) -> PathBuf {
        if self.project.is_none() { self.folders.expand(path) } else { PathBuf::from(path) }
    }
}

/// A theme's name and the variant that is asked for: `dark`, or `dark:light`.
fn parts(name: &str) -> (&str, Option<Appearance>) {
    match name.rsplit_once(':') {
        Some((theme, variant)) if !theme.is_empty() => match Appearance::parse(variant) {
            Some(variant) => (theme, Some(variant)),
            None => (name, None),
        },
        _ => (name, None),
    }
}

fn own_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.toml"))
}

impl From<streamfmt_core::theme::ThemeProblem> for Problem {
    fn from(problem: streamfmt_core::theme::ThemeProblem) -> Self {
        let place = problem::FilePosition {
            line: problem.line,
            column: problem.column,
            text: problem.text,
            length: problem.length,
        };
        Self { origin: problem.theme, place: Some(place), message: problem.message }
    }
}
