//! Finds themes by name (in the user's folder, in plugins, built in) and by path.
//!
//! ```text
//! NAME                 themes/NAME.toml in the user's settings, then in a plugin, then built in
//! ./NAME.toml          this file; in a theme or a settings file: relative to that file
//! NAME:light           the variant for light backgrounds, whatever the terminal's is
//! ```
//!
//! All are parsed by the same code. A theme may extend its own name, which then refers to the next one in this order: a user's
//! `dark.toml` can change parts of the built-in one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamfmt_core::theme::{Appearance, Lookup, Theme, ThemeSource};

use crate::files::{FileError, Files};
use crate::folders::Folders;
use crate::plugin::source::PluginSource;
use crate::problem::{self, Problem, ProblemKind, Problems};
use crate::settings::document::{SettingsFile, SettingsLayer};
use crate::settings::project::trusted_text;
use crate::trust::Closure;
use crate::writers::Background;

/// Largest theme, in bytes.
const LARGEST: usize = 256 * 1024;

/// Most files of a folder that are listed.
const MOST_FILES: usize = 1_000;

/// The sources of themes.
#[derive(Clone, Debug, Default)]
pub struct Themes {
    files: Files,
    /// The sources of names; the first match is used.
    places: Vec<ThemePlace>,
    /// The settings file that names the theme, if one does.
    named_in: Option<NamedIn>,
}

/// A source of named themes.
#[derive(Clone, Debug)]
enum ThemePlace {
    /// The user's folder.
    Own(PathBuf),
    /// A theme that was added by name.
    Added(String, ThemeSource),
    /// A plugin.
    Plugin(Arc<PluginSource>),
}

/// A settings file that names a theme.
#[derive(Clone, Debug)]
struct NamedIn {
    /// The folder of its relative paths.
    folder: PathBuf,
    /// For a project's settings: the trusted files, the only ones that it may read.
    project: Option<Arc<Closure>>,
    /// The home folder, for `~`.
    folders: Folders,
}

/// A theme that can be chosen by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTheme {
    /// Its name.
    pub name: String,
    /// Its file, unless it is built in.
    pub file: Option<PathBuf>,
    /// Its source: `built in`, `yours`, or the plugin's name.
    pub origin: String,
}

impl Themes {
    /// The built-in themes and those of the user's folder. Files are read through `files`.
    pub fn new(folders: Option<&Folders>, files: Files) -> Self {
        let own = folders.and_then(|folders| folders.config.as_ref());
        let places = own.map(|own| ThemePlace::Own(own.join("themes"))).into_iter().collect();
        Self { files, places, named_in: None }
    }

    /// Adds the themes of a plugin, with lower precedence than those before.
    pub fn add_plugin(&mut self, plugin: Arc<PluginSource>) {
        self.places.push(ThemePlace::Plugin(plugin));
    }

    /// Adds a theme with precedence over all others.
    pub(crate) fn add_source(&mut self, name: &str, source: ThemeSource) {
        self.places.insert(0, ThemePlace::Added(name.to_owned(), source));
    }

    /// The same themes for references in a settings file: paths are relative to it, and a project reaches only trusted files.
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

    /// Loads the theme `name` for a background, with the problems of its files; valid parts are used. Fails if there is no such
    /// theme. A relative path starts at the working directory.
    pub fn load(&self, name: &str, background: &Background) -> Result<(Theme, Problems), Problem> {
        let (name, forced) = parts(name);
        let source = self.find(name, None)?;
        Ok(self.read(&source, forced, background))
    }

    /// Checks that the theme `name` exists, without loading it.
    pub fn check(&self, name: &str) -> Result<(), Problem> {
        let (name, _) = parts(name);
        // A built-in theme exists, even if the user has one of the same name.
        if Theme::find_builtin(name).is_ok() {
            return Ok(());
        }
        self.find(name, None).map(drop)
    }

    /// Parses a theme that was found.
    fn read(
        &self,
        source: &ThemeSource,
        forced: Option<Appearance>,
        background: &Background,
    ) -> (Theme, Problems) {
        let mut known = forced;
        let mut ask = || *known.get_or_insert_with(|| background.find());
        let lookup: Lookup<'_> = &|name, from| self.find(name, Some(from)).map_err(|problem| problem.message);
        let (theme, problems) = Theme::parse(source, &mut ask, lookup);
        (theme, Problems(problems.into_iter().map(Problem::from).collect()))
    }

    /// The source of the theme `name`. `from` is the theme that references it, if one does.
    pub fn find(&self, name: &str, from: Option<&ThemeSource>) -> Result<ThemeSource, Problem> {
        let is_path = name.contains(['/', std::path::MAIN_SEPARATOR])
            || Path::new(name).extension().is_some_and(|end| end == "toml");
        if is_path {
            return self.find_path(name, from);
        }
        // A theme that extends its own name refers to the next one.
        let is_from = |place: &ThemePlace| from.is_some_and(|from| place.holds(name, from));
        let places =
            self.places.iter().position(is_from).map_or(&self.places[..], |own| &self.places[own + 1..]);
        for place in places.iter().filter(|_| !name.starts_with('@')) {
            match place {
                ThemePlace::Own(folder) => match self.open(&own_file(folder, name)) {
                    Err(FileError::Missing) => {}
                    found => {
                        return found.map_err(|error| {
                            let message = format!("{}: {error}", own_file(folder, name).display());
                            Problem::of(ProblemKind::Unreadable, name, message)
                        });
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
            let message = Theme::unknown(name, known.iter().map(|known| known.name.as_str()));
            Problem::of(ProblemKind::UnknownName, name, message)
        })
    }

    /// The source of the theme at a path that the user, a settings file or the theme `from` names.
    fn find_path(&self, name: &str, from: Option<&ThemeSource>) -> Result<ThemeSource, Problem> {
        let plugin = from.and_then(|from| self.places.iter().find_map(|place| place.plugin_of(from)));
        if let Some(plugin) = plugin {
            let beside = name.strip_prefix("./").unwrap_or(name).strip_suffix(".toml");
            let found = plugin.themes().find(|(known, ..)| Some(*known) == beside);
            let missing = || {
                let message = format!("{name}: {} has no such theme", plugin.name);
                Problem::of(ProblemKind::UnknownName, name, message)
            };
            let (_, file, text) = found.ok_or_else(missing)?;
            return Ok(ThemeSource::new(file, text));
        }
        let asked = self.named_in.as_ref();
        let path = match (from, asked) {
            (Some(from), _) => Path::new(&from.name).parent().unwrap_or(Path::new("")).join(name),
            (None, Some(asked)) => asked.folder.join(asked.expand(name)),
            (None, None) => PathBuf::from(name),
        };
        let complain = |error: FileError| {
            Problem::of(ProblemKind::Unreadable, name, format!("{}: {error}", path.display()))
        };
        let project = asked.and_then(|asked| asked.project.as_ref());
        // The user's own themes are read from disk, whoever names them.
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

    /// All themes that can be chosen by name, sorted by source; of several with one name, the one that is used.
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
    /// Whether `source` is the theme `name` of this source.
    fn holds(&self, name: &str, source: &ThemeSource) -> bool {
        match self {
            Self::Own(folder) => own_file(folder, name) == Path::new(&source.name),
            Self::Added(known, added) => known == name && added == source,
            Self::Plugin(plugin) => {
                plugin.themes().any(|(known, file, _)| known == name && file == source.name)
            }
        }
    }

    /// The plugin of the theme `source`.
    fn plugin_of(&self, source: &ThemeSource) -> Option<&PluginSource> {
        let Self::Plugin(plugin) = self else { return None };
        plugin.themes().any(|(_, file, _)| file == source.name).then_some(plugin)
    }
}

impl NamedIn {
    /// Expands `~` in a path; a project's path can't have one.
    fn expand(&self, path: &str) -> PathBuf {
        if self.project.is_none() { self.folders.expand(path) } else { PathBuf::from(path) }
    }
}

/// Splits a theme reference into the name and the variant: `dark`, or `dark:light`.
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
        Self { place: Some(place), ..Self::of(ProblemKind::Theme, problem.theme, problem.message) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_theme_over_the_limit_is_refused_and_one_that_is_not_listed_is_found() {
        let root = tempfile::TempDir::with_prefix("streamfmt-themes-").unwrap();
        let folder = root.path().join("themes");
        fs::create_dir(&folder).unwrap();
        let folders = Folders { config: Some(root.path().to_owned()), ..Folders::default() };
        let themes = || Themes::new(Some(&folders), Files::default());
        for number in 0..=MOST_FILES {
            fs::write(folder.join(format!("t{number}.toml")), "").unwrap();
        }
        let own = themes().list().into_iter().filter(|theme| theme.origin == "yours");
        assert_eq!(own.count(), MOST_FILES);
        assert!((0..=MOST_FILES).all(|number| themes().check(&format!("t{number}")).is_ok()));
        for (size, problem) in [(LARGEST, None), (LARGEST + 1, Some("larger than 256 KiB"))] {
            fs::write(folder.join("large.toml"), "#".repeat(size)).unwrap();
            let found = themes().find("large", None).err().map(|problem| problem.message);
            assert_eq!(found.is_some(), problem.is_some(), "{size}");
            assert!(found.unwrap_or_default().ends_with(problem.unwrap_or_default()));
        }
    }
}
