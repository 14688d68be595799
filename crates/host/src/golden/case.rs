//! A case, and a case as one profile and one writer show it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::choices::Choices;
use super::input::Input;
use super::outcome::Outcome;
use super::short;
use crate::files::{FileError, read_plain_text};

/// Most bytes of a file that takes part in a case.
pub(super) const LARGEST: usize = 64 << 20;

/// An input, and what it is formatted with.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it is below the folder of all cases: `claude/a-failed-command`.
    pub name: String,
    /// Its folder, or the file that it stands in with others.
    pub path: PathBuf,
    /// What it is formatted with.
    pub choices: Arc<Choices>,
    /// What it is fed with.
    pub input: Input,
}

/// A case as one profile and one writer show it.
#[derive(Clone, Debug)]
pub struct Cell {
    /// `<case>/<profile>.<writer>`: unlike that of any other cell. That of a short case is the case's.
    pub name: String,
    /// The case.
    pub case: Arc<Case>,
    /// The profile.
    pub profile: String,
    /// The output format.
    pub writer: String,
    /// Whether it is the first of its case: then it is tried what doesn't depend on the writer.
    pub is_first: bool,
    pub(super) home: Home,
}

/// Where the expected text of a cell is kept.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// A file of its own.
    File(PathBuf),
    /// Under this name in a file of short cases.
    Section(PathBuf, String),
}

impl Cell {
    /// What the case is about, in its own words.
    pub fn title(&self) -> &str {
        match (&self.home, self.case.choices.title.as_str()) {
            (Home::Section(_, name), "") => name,
            (_, title) => title,
        }
    }

    /// What is to come out, if that was ever said. The error says why it can't be known.
    pub fn expected(&self) -> Result<Option<String>, String> {
        match &self.home {
            Home::File(path) => kept(path),
            Home::Section(path, name) => {
                let file = kept(path)?.unwrap_or_default();
                let section = short::sections(&file).into_iter().find(|section| section.name == *name);
                Ok(section.and_then(|section| section.expected))
            }
        }
    }

    /// What plugins are expected to be told of, if anything.
    pub(super) fn expected_told(&self) -> Result<Option<String>, String> {
        match self.told_file() {
            Some(path) if self.is_first => kept(&path),
            _ => Ok(None),
        }
    }

    /// Makes what came out the expected text. The error says why that is refused.
    ///
    /// Nothing is accepted that failed: a law that is broken, an input that is no stream, a plugin's error that is
    /// not expected. And nothing is written over a conflict or outside of the case's folder.
    pub fn accept(&self, outcome: &Outcome) -> Result<(), String> {
        if let Some(reason) = outcome.refusal(&self.case.choices.expect) {
            return Err(reason);
        }
        let told = |error: io::Error| format!("{}: {}", self.file().display(), FileError::from(error));
        let told_file = self.told_file().filter(|_| self.is_first);
        for file in [Some(self.file()), told_file.as_deref()].into_iter().flatten() {
            if let Some(old) = kept(file)?
                && let Some(line) = conflict(&old)
            {
                return Err(format!("{}:{line}: there is a conflict to be resolved first", file.display()));
            }
        }
        match &self.home {
            Home::File(path) => {
                fs::create_dir_all(path.parent().unwrap_or(path)).map_err(told)?;
                self.stays_inside(path)?;
                fs::write(path, &outcome.text).map_err(told)?;
            }
            Home::Section(path, name) => short::rewrite(path, name, &outcome.text)?,
        }
        let Some(file) = told_file else { return Ok(()) };
        if !outcome.told.is_empty() {
            self.stays_inside(&file)?;
            return fs::write(file, &outcome.told).map_err(told);
        }
        if file.exists() { fs::remove_file(file).map_err(told) } else { Ok(()) }
    }

    /// The file that holds the expected text.
    pub fn file(&self) -> &Path {
        let (Home::File(path) | Home::Section(path, _)) = &self.home;
        path
    }

    /// The file that holds what plugins are told of.
    fn told_file(&self) -> Option<PathBuf> {
        match &self.home {
            Home::File(path) => Some(path.with_file_name("stderr.txt")),
            Home::Section(..) => None,
        }
    }

    /// Refuses a file that a link leads out of the case's folder.
    fn stays_inside(&self, file: &Path) -> Result<(), String> {
        let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
        let case = self.case.path.canonicalize().ok();
        let is_inside = folder.zip(case).is_some_and(|(folder, case)| folder.starts_with(case));
        let is_link = fs::symlink_metadata(file).is_ok_and(|about| about.is_symlink());
        if is_inside && !is_link {
            return Ok(());
        }
        Err(format!("{}: that is outside of the case's folder", file.display()))
    }
}

/// The text of a file, if there is one.
fn kept(path: &Path) -> Result<Option<String>, String> {
    match read_plain_text(path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(FileError::Missing) => Ok(None),
        Err(error) => {
            let path = path.display();
            Err(format!("{path}: what is expected can't be read ({error}); delete it and accept it anew"))
        }
    }
}

/// The line where the marks of a conflict begin, if there are such marks.
fn conflict(text: &str) -> Option<usize> {
    let begin = text.lines().position(|line| line.starts_with("<<<<<<< "))?;
    text.lines().skip(begin).any(|line| line.starts_with(">>>>>>> ")).then_some(begin + 1)
}
