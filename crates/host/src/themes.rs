//! Finds themes by name: those of the user's folder, of plugins, and the built-in ones; and by path.
//!
//! ```text
//! NAME                 themes/NAME.toml in the user's settings, then in a plugin's folder, then built in
//! ./NAME.toml          this file; inside a theme: relative to that theme
//! NAME:light           as on a light background, whatever the terminal's is
//! ```
//!
//! All are read by the same code. A theme may extend one of its own name: that is the next one in this order, so
//! that a `dark.toml` of the user's can say what it would have different.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamfmt_core::theme::{Appearance, Lookup, Source, Theme};

use crate::files::{FileError, Files};
use crate::folders::Folders;
use crate::problem::{Place, Problem, Problems};

/// No theme needs more bytes.
const LARGEST: usize = 256 * 1024;

/// Most files of a folder that are looked at for a list.
const MOST_FILES: usize = 1_000;

/// What lies behind the text.
#[derive(Clone)]
pub enum Background {
    /// It is known.
    Known(Appearance),
    /// It is found out by asking: at most once, and only if a theme needs to know.
    Ask(Arc<dyn Fn() -> Appearance + Send + Sync>),
}

impl Background {
    /// Which it is, by asking if need be.
    pub fn find(&self) -> Appearance {
        match self {
            Self::Known(appearance) => *appearance,
            Self::Ask(ask) => ask(),
        }
    }
}

impl Default for Background {
    fn default() -> Self {
        Self::Known(Appearance::Dark)
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(appearance) => f.debug_tuple("Known").field(appearance).finish(),
            Self::Ask(_) => f.write_str("Ask"),
        }
    }
}

/// Where themes are found.
#[derive(Clone, Debug, Default)]
pub struct Themes {
    files: Files,
    /// Folders of themes, the first wins; each with what it is called.
    places: Vec<(String, PathBuf)>,
}

/// A theme that can be chosen by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
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
        Self { files, places: own.map(|own| ("yours".to_owned(), own.join("themes"))).into_iter().collect() }
    }

    /// The themes of a plugin's folder as well, after those before.
    pub fn add_plugin(&mut self, name: &str, folder: &Path) {
        self.places.push((name.to_owned(), folder.join("themes")));
    }

    /// Reads the theme `name`, as it is on `background`, with what is wrong in its files: the rest of it holds.
    /// The error says that there is no such theme. A relative path is relative to the working directory.
    pub fn load(&self, name: &str, background: &Background) -> Result<(Theme, Problems), String> {
        let (name, forced) = match name.rsplit_once(':') {
            Some((theme, variant)) if !theme.is_empty() => match Appearance::parse(variant) {
                Some(variant) => (theme, Some(variant)),
                None => (name, None),
            },
            _ => (name, None),
        };
        let source = self.find(name, None)?;
        Ok(self.read(&source, forced, background))
    }

    /// Reads a theme that was found.
    fn read(
        &self,
        source: &Source,
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
    pub fn find(&self, name: &str, from: Option<&Source>) -> Result<Source, String> {
        let is_path = name.contains(['/', std::path::MAIN_SEPARATOR])
            || Path::new(name).extension().is_some_and(|end| end == "toml");
        if is_path {
            let folder = from.and_then(|from| Path::new(&from.name).parent()).unwrap_or(Path::new(""));
            let path = folder.join(name);
            return self.open(&path).map_err(|error| format!("{}: {error}", path.display()));
        }
        let mut files =
            self.places.iter().map(|(_, folder)| folder.join(format!("{name}.toml"))).collect::<Vec<_>>();
        // What a theme of this name extends comes after it.
        if let Some(own) = from.and_then(|from| files.iter().position(|file| *file == Path::new(&from.name)))
        {
            files.drain(..=own);
        }
        for file in files.iter().filter(|_| !name.starts_with('@')) {
            match self.open(file) {
                Err(FileError::Missing) => {}
                found => return found.map_err(|error| format!("{}: {error}", file.display())),
            }
        }
        Theme::find_builtin(name).map_err(|_| {
            let known = self.list();
            Theme::unknown(name, known.iter().map(|known| known.name.as_str()))
        })
    }

    fn open(&self, path: &Path) -> Result<Source, FileError> {
        let file = self.files.read(path, LARGEST)?;
        Ok(Source::new(path.to_string_lossy(), file.text()?))
    }

    /// All themes that can be chosen by name, sorted by whose they are; of several of one name the one that wins.
    pub fn list(&self) -> Vec<Known> {
        let mut known: BTreeMap<String, Known> = BTreeMap::new();
        let mut list = Vec::new();
        for (origin, folder) in &self.places {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for entry in entries.take(MOST_FILES).flatten() {
                let path = entry.path();
                let is_theme = path.extension().is_some_and(|end| end == "toml");
                let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_theme) else {
                    continue;
                };
                let found = Known { name: name.to_owned(), file: Some(path.clone()), origin: origin.clone() };
                known.entry(name.to_owned()).or_insert(found);
            }
        }
        for name in Theme::builtin_names() {
            list.push(known.remove(name).unwrap_or_else(|| Known {
                name: name.to_owned(),
                file: None,
                origin: "built in".to_owned(),
            }));
        }
        list.extend(known.into_values());
        list
    }
}

impl From<streamfmt_core::theme::Problem> for Problem {
    fn from(problem: streamfmt_core::theme::Problem) -> Self {
        let place =
            Place { line: problem.line, column: problem.column, text: problem.text, length: problem.length };
        Self { origin: problem.theme, place: Some(place), message: problem.message }
    }
}
