//! Finds cases in folders.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::{Case, CaseVariant, LARGEST};
use super::choices::CaseChoices;
use super::engines::Engines;
use super::input::CaseInput;
use super::report::word;
use crate::files::{FileError, read_plain};
use crate::problem::{Problem, ProblemKind, Problems};
use crate::writers;

/// Large folders that never contain cases.
const PASSED_OVER: [&str; 2] = ["target", "node_modules"];

/// The placeholder for the name of a case's folder in the path of a plugin.
const CASE: &str = "{case}";

/// All cells of a set of cases.
#[derive(Clone, Default)]
pub struct Suite {
    /// The cells, sorted by name.
    pub cells: Vec<CaseVariant>,
    /// Files of expected output that belong to no cell.
    pub orphans: Vec<PathBuf>,
    /// The problems of invalid cases. Those have no cells; the other cases are unaffected.
    pub problems: Problems,
}

/// A folder to search for cases.
struct SuiteFolder {
    path: PathBuf,
    name: String,
    defaults: Arc<CaseChoices>,
}

impl Suite {
    /// Finds all cases under `root`: a folder of cases, a single case, a plugin's folder (with its cases in `tests`), or a folder
    /// that contains any of these.
    ///
    /// A `golden.toml` applies to all cases in its folder and below; files above `root` apply, too. Cases inside a plugin's
    /// folder are checked with that plugin.
    pub fn find(root: &Path) -> Self {
        let mut suite = Self::default();
        let Ok(real) = root.canonicalize() else {
            suite.report(ProblemKind::Unreadable, root, "no such file or folder");
            return suite;
        };
        let above: Vec<&Path> = real.ancestors().skip(1).collect();
        let mut defaults = CaseChoices::initial();
        if let Some(pack) = above.iter().find(|folder| is_plugin(folder)) {
            defaults.formatting.plugins = vec![(*pack).to_owned()];
        }
        if !real.is_dir() {
            suite.report(ProblemKind::Unreadable, root, "not a folder (each case is a folder)");
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

    /// Adds the cells, orphans and problems of another suite.
    pub fn join(&mut self, other: Self) {
        self.cells.extend(other.cells);
        self.orphans.extend(other.orphans);
        self.problems.0.extend(other.problems.0);
        self.sort();
    }

    /// Keeps only some cells, and forgets the orphans.
    pub fn retain(&mut self, is_wanted: impl FnMut(&CaseVariant) -> bool) {
        self.cells.retain(is_wanted);
        self.orphans.clear();
    }

    fn report(&mut self, kind: ProblemKind, path: &Path, wrong: impl Into<String>) {
        self.problems.0.push(Problem::of(kind, path.display().to_string(), wrong));
    }

    fn sort(&mut self) {
        self.cells.sort_by(|a, b| a.name.cmp(&b.name));
        self.orphans.sort();
        // The same folder may have been given twice, under different paths.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.cells.dedup_by(|a, b| {
            a.name == b.name && a.profile == b.profile && real(&a.case.path) == real(&b.case.path)
        });
        let (mut known, mut reported) = (HashSet::new(), HashSet::new());
        self.orphans.retain(|path| known.insert(real(path)));
        let twice = self.cells.windows(2).filter(|pair| pair[0].name == pair[1].name);
        let twice = twice.map(|pair| {
            Problem::of(ProblemKind::Taken, &pair[0].name, "two cases have this name; rename one")
        });
        self.problems.0.extend(twice);
        self.problems.0.retain(|problem| reported.insert(problem.to_string()));
    }

    /// Adds the case in a folder, or returns the folders in it to search.
    fn visit(&mut self, place: SuiteFolder, engines: &Engines) -> Vec<SuiteFolder> {
        let SuiteFolder { path, name, mut defaults } = place;
        if !path.is_dir() {
            return Vec::new();
        }
        if is_plugin(&path) {
            Arc::make_mut(&mut defaults).formatting.plugins = vec![path.clone()];
            let tests = path.join("tests");
            if !tests.is_dir() {
                let message = format!(
                    "the plugin has no tests; add one: streamfmt golden add NAME --from FILE --root {}",
                    word(&tests.display().to_string())
                );
                self.report(ProblemKind::GoldenCase, &path, message);
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
            self.report(ProblemKind::Unreadable, &path, FileError::from(error).to_string());
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
                return self.report(ProblemKind::GoldenCase, &file, wrong);
            }
        };
        let expected = folder.join("expected");
        let mut unused = expected_files(&expected);
        let cells = choices.cells();
        // An invalid key may be one that determines the cells, so no cell is added.
        if self.problems.0.len() > before {
            return;
        }
        if cells.is_empty() {
            self.report(ProblemKind::GoldenCase, folder, "no profile or no writer is wanted of it");
        }
        let name = if name.is_empty() { own_name(folder) } else { name.to_owned() };
        let case = Arc::new(Case { name, path: folder.to_owned(), choices, input });
        for (index, (profile, writer)) in cells.into_iter().enumerate() {
            let short = short_name(&profile);
            let ending = ending(engines, &case, &profile, &writer);
            let file = expected.join(format!("{short}.{writer}.{ending}"));
            unused.retain(|path| *path != file);
            self.cells.push(CaseVariant {
                name: format!("{}/{short}.{writer}", case.name),
                case: Arc::clone(&case),
                profile,
                writer,
                is_first: index == 0,
                file,
            });
        }
        self.orphans.extend(unused);
    }
}

/// Whether a folder is a case, which is determined by the files that only cases have.
pub(super) fn is_case(folder: &Path) -> bool {
    ["input.ndjson", "case.toml"].iter().any(|sign| folder.join(sign).exists())
        || !expected_files(&folder.join("expected")).is_empty()
}

/// The files in a folder that are named like expected output: `<profile>.<writer>.<ending>`. All others are ignored, and so is a folder that
/// is a symbolic link: its files belong to something else.
fn expected_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = if folder.is_symlink() { Vec::new() } else { children(folder) };
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

/// The name of a profile in the names of cells and files. For a profile in a file, the profile's or the file's name.
fn short_name(profile: &str) -> String {
    let file = profile.rsplit(['/', '\\']).next().unwrap_or(profile);
    let name = file.split_once('#').map_or(file, |(_, name)| name);
    name.strip_suffix(".toml").unwrap_or(name).to_owned()
}

/// The file extension for an output format, which a plugin's format defines itself.
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

/// A path as part of a name, with `/` as the separator.
fn spelled(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The contents of a folder except for symbolic links, so that a cycle of links can't be entered.
fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_real = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    entries.flatten().filter(is_real).map(|entry| entry.path()).collect()
}
