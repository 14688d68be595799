//! Finds cases in folders.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::{Case, Cell, LARGEST};
use super::choices::CaseChoices;
use super::engines::Engines;
use super::input::CaseInput;
use super::report::word;
use crate::files::{FileError, read_plain};
use crate::problem::{Problem, Problems};
use crate::writers;

/// Folders in which nobody keeps cases, and in which there is much.
const PASSED_OVER: [&str; 2] = ["target", "node_modules"];

/// What stands for the name of a case's folder in the path of a plugin.
const CASE: &str = "{case}";

/// All cells of the cases that were found.
#[derive(Clone, Default)]
pub struct Suite {
    /// The cells, sorted by name.
    pub cells: Vec<Cell>,
    /// Files of expected text that no cell asks for.
    pub orphans: Vec<PathBuf>,
    /// What is wrong with cases that are no cells for that. The others are there all the same.
    pub problems: Problems,
}

/// A place to look for cases in.
struct SuiteFolder {
    path: PathBuf,
    name: String,
    defaults: Arc<CaseChoices>,
}

impl Suite {
    /// Finds all cases under `root`: a folder of cases, a single one, a plugin's folder (whose cases lie in its `tests`), or a
    /// folder with any of these.
    ///
    /// What a `golden.toml` says is for all cases in its folder and below; those above `root` count too.
    /// Cases inside a plugin's folder are tried with that plugin.
    pub fn find(root: &Path) -> Self {
        let mut suite = Self::default();
        let Ok(real) = root.canonicalize() else {
            suite.tell(root, "no such file or folder");
            return suite;
        };
        let above: Vec<&Path> = real.ancestors().skip(1).collect();
        let mut defaults = CaseChoices::usual();
        if let Some(pack) = above.iter().find(|folder| is_plugin(folder)) {
            defaults.formatting.plugins = vec![(*pack).to_owned()];
        }
        if !real.is_dir() {
            suite.tell(root, "not a folder (each case is a folder)");
            return suite;
        }
        let mut top = &*real;
        for folder in above.iter().rev().filter(|folder| folder.join("golden.toml").is_file()) {
            defaults = defaults.with(&folder.join("golden.toml"), &mut suite.problems);
            top = if top == real { folder } else { top };
        }
        let name = spelled(real.strip_prefix(top).unwrap_or(Path::new("")));
        let mut left = vec![SuiteFolder { path: root.to_owned(), name, defaults: Arc::new(defaults) }];
        let engines = Engines::default();
        while let Some(place) = left.pop() {
            left.extend(suite.visit(place, &engines));
        }
        suite.sort();
        suite
    }

    /// Takes in the cases of another place.
    pub fn join(&mut self, other: Self) {
        self.cells.extend(other.cells);
        self.orphans.extend(other.orphans);
        self.problems.0.extend(other.problems.0);
        self.sort();
    }

    /// Keeps only the cells that are wanted, and says nothing of expected files any more.
    pub fn retain(&mut self, is_wanted: impl FnMut(&Cell) -> bool) {
        self.cells.retain(is_wanted);
        self.orphans.clear();
    }

    fn tell(&mut self, path: &Path, wrong: impl Into<String>) {
        self.problems.0.push(Problem::of(path.display().to_string(), wrong));
    }

    fn sort(&mut self) {
        self.cells.sort_by(|a, b| a.name.cmp(&b.name));
        self.orphans.sort();
        // The same place may have been named twice, and each time otherwise.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.cells.dedup_by(|a, b| {
            a.name == b.name && a.profile == b.profile && real(&a.case.path) == real(&b.case.path)
        });
        let (mut known, mut told) = (HashSet::new(), HashSet::new());
        self.orphans.retain(|path| known.insert(real(path)));
        let twice = self.cells.windows(2).filter(|pair| pair[0].name == pair[1].name);
        let twice = twice.map(|pair| Problem::of(&pair[0].name, "two cases have this name; rename one"));
        self.problems.0.extend(twice);
        self.problems.0.retain(|problem| told.insert(problem.to_string()));
    }

    /// Takes in what is at a place, and gives the places in it that are left to look at.
    fn visit(&mut self, place: SuiteFolder, engines: &Engines) -> Vec<SuiteFolder> {
        let SuiteFolder { path, name, mut defaults } = place;
        if !path.is_dir() {
            return Vec::new();
        }
        if is_plugin(&path) {
            Arc::make_mut(&mut defaults).formatting.plugins = vec![path.clone()];
            let tests = path.join("tests");
            if !tests.is_dir() {
                let told = format!(
                    "the plugin has no tests; add one: streamfmt golden add NAME --from FILE --root {}",
                    word(&tests.display().to_string())
                );
                self.tell(&path, told);
                return Vec::new();
            }
            return vec![SuiteFolder { path: tests, name, defaults }];
        }
        if is_case(&path) {
            self.folder(&name, &path, &defaults, engines);
            return Vec::new();
        }
        if path.join("golden.toml").is_file() {
            defaults = Arc::new(defaults.with(&path.join("golden.toml"), &mut self.problems));
        }
        let below = |path: PathBuf| {
            let own = path.file_name()?.to_str()?;
            if own.starts_with('.') || PASSED_OVER.contains(&own) {
                return None;
            }
            let name = if name.is_empty() { own.to_owned() } else { format!("{name}/{own}") };
            Some(SuiteFolder { path, name, defaults: Arc::clone(&defaults) })
        };
        if let Err(error) = fs::read_dir(&path) {
            self.tell(&path, FileError::from(error).to_string());
        }
        children(&path).into_iter().filter_map(below).collect()
    }

    fn folder(&mut self, name: &str, folder: &Path, defaults: &Arc<CaseChoices>, engines: &Engines) {
        let own = folder.join("case.toml");
        let before = self.problems.0.len();
        let mut choices = if own.exists() {
            Arc::new(defaults.with(&own, &mut self.problems))
        } else {
            Arc::clone(defaults)
        };
        if choices.formatting.plugins.iter().any(|path| spelled(path).contains(CASE)) {
            for path in &mut Arc::make_mut(&mut choices).formatting.plugins {
                *path = path.to_string_lossy().replace(CASE, &own_name(folder)).into();
            }
        }
        let file = choices.input.clone().unwrap_or_else(|| folder.join("input.ndjson"));
        let input = match read_plain(&file, LARGEST) {
            Ok(bytes) => CaseInput::read(&bytes, &choices.patches),
            Err(error) => Err(format!(
                "can't read the input ({error}); save the stream there, or set input = \"…\" in case.toml"
            )),
        };
        let input = match input {
            Ok(input) => input,
            Err(wrong) => {
                return self.tell(&file, wrong);
            }
        };
        let expected = folder.join("expected");
        let mut unasked = expected_files(&expected);
        let cells = choices.cells();
        // What was said wrongly may be what names the cells: it is told, and nothing is tried.
        if self.problems.0.len() > before {
            return;
        }
        if cells.is_empty() {
            self.tell(folder, "no profile or no writer is wanted of it");
        }
        let name = if name.is_empty() { own_name(folder) } else { name.to_owned() };
        let case = Arc::new(Case { name, path: folder.to_owned(), choices, input });
        for (index, (profile, writer)) in cells.into_iter().enumerate() {
            let short = short_name(&profile);
            let ending = ending(engines, &case, &profile, &writer);
            let file = expected.join(format!("{short}.{writer}.{ending}"));
            unasked.retain(|path| *path != file);
            self.cells.push(Cell {
                name: format!("{}/{short}.{writer}", case.name),
                case: Arc::clone(&case),
                profile,
                writer,
                is_first: index == 0,
                file,
            });
        }
        self.orphans.extend(unasked);
    }
}

/// Whether a folder is a case: it has what only a case has.
pub(super) fn is_case(folder: &Path) -> bool {
    ["input.ndjson", "case.toml"].iter().any(|sign| folder.join(sign).exists())
        || !expected_files(&folder.join("expected")).is_empty()
}

/// The files of a folder that are named like expected text: `<profile>.<writer>.<ending>`. Others are somebody else's.
fn expected_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = children(folder);
    files.retain(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        path.is_file() && !name.starts_with('.') && name.split('.').count() >= 3
    });
    files
}

/// Whether a folder is a plugin.
fn is_plugin(folder: &Path) -> bool {
    folder.join("plugin.toml").is_file()
}

/// A profile's name in the names of cells and files: of one in a file its own, or that of the file.
fn short_name(profile: &str) -> String {
    let file = profile.rsplit(['/', '\\']).next().unwrap_or(profile);
    let name = file.split_once('#').map_or(file, |(_, name)| name);
    name.strip_suffix(".toml").unwrap_or(name).to_owned()
}

/// What the name of a file in this format ends in. That of a plugin's format is the plugin's to say.
fn ending(engines: &Engines, case: &Case, profile: &str, writer: &str) -> String {
    if let Some(row) = writers::find(writer) {
        return row.ending.to_owned();
    }
    let own =
        engines.get(case, profile, writer).ok().and_then(|engine| Some(engine.plugin_writer()?.1.to_owned()));
    own.unwrap_or_else(|| "txt".to_owned())
}

fn own_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.or_else(|| Some(path.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_default()
}

/// A path as a part of a name.
fn spelled(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// What lies in a folder; links are not followed out of the way, so that a circle of them has an end.
fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_real = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    entries.flatten().filter(is_real).map(|entry| entry.path()).collect()
}
