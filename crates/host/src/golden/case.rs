//! A case, and a case as one profile and one writer show it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::choices::CaseChoices;
use super::input::CaseInput;
use super::outcome::Outcome;
use crate::files::{FileError, read_plain_text};
use crate::writers::{self, WriterRow};

/// Most bytes of a file that takes part in a case.
pub(super) const LARGEST: usize = 64 << 20;

/// An input, and what it is formatted with.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it is below the folder of all cases: `claude/a-failed-command`.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// What it is formatted with.
    pub choices: Arc<CaseChoices>,
    /// What it is fed with.
    pub input: CaseInput,
}

/// A case as one profile and one writer show it.
#[derive(Clone, Debug)]
pub struct Cell {
    /// `<case>/<profile>.<writer>`: unlike that of any other cell.
    pub name: String,
    /// The case.
    pub case: Arc<Case>,
    /// The profile.
    pub profile: String,
    /// The output format.
    pub writer: String,
    /// Whether it is the first of its case: then it is tried what doesn't depend on the writer.
    pub is_first: bool,
    /// The file that holds the expected text.
    pub file: PathBuf,
}

impl Cell {
    /// The output format, unless it is a plugin's.
    pub(super) fn row(&self) -> Option<&'static WriterRow> {
        writers::find(&self.writer)
    }

    /// What the case is about, in its own words.
    pub fn title(&self) -> &str {
        &self.case.choices.title
    }

    /// What is to come out, if that was ever said. The error says why it can't be known.
    pub fn expected(&self) -> Result<Option<String>, String> {
        kept(&self.file)
    }

    /// What plugins are expected to be told of, if anything.
    pub(super) fn expected_told(&self) -> Result<Option<String>, String> {
        if self.is_first { kept(&self.told_file()) } else { Ok(None) }
    }

    /// Makes what came out the expected text. The error says why that is refused.
    ///
    /// Nothing is accepted that failed: a law that is broken, an input that is no stream, a plugin's error that is
    /// not expected. And nothing is written over a conflict or outside of the case's folder.
    pub fn bless(&self, outcome: &Outcome) -> Result<(), String> {
        if let Some(reason) = outcome.refusal(&self.case.choices.expect) {
            return Err(reason);
        }
        let told = |error: io::Error| format!("{}: {}", self.file.display(), FileError::from(error));
        let told_file = self.is_first.then(|| self.told_file());
        for file in [Some(&self.file), told_file.as_ref()].into_iter().flatten() {
            if let Some(old) = kept(file)?
                && let Some(line) = conflict(&old)
            {
                return Err(format!("{}:{line}: unresolved merge conflict", file.display()));
            }
        }
        fs::create_dir_all(self.file.parent().unwrap_or(&self.file)).map_err(told)?;
        self.stays_inside(&self.file)?;
        fs::write(&self.file, &outcome.text).map_err(told)?;
        let Some(file) = told_file else { return Ok(()) };
        if !outcome.told.is_empty() {
            self.stays_inside(&file)?;
            return fs::write(file, &outcome.told).map_err(told);
        }
        if file.exists() { fs::remove_file(file).map_err(told) } else { Ok(()) }
    }

    /// The file that holds what plugins are told of.
    fn told_file(&self) -> PathBuf {
        self.file.with_file_name("stderr.txt")
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
        Err(format!("{}: outside the case folder", file.display()))
    }
}

/// The text of a file, if there is one.
fn kept(path: &Path) -> Result<Option<String>, String> {
    match read_plain_text(path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(FileError::Missing) => Ok(None),
        Err(error) => {
            let path = path.display();
            Err(format!("{path}: can't read the expected output ({error}); delete it and bless again"))
        }
    }
}

/// The line where the marks of a conflict begin, if there are such marks.
fn conflict(text: &str) -> Option<usize> {
    let begin = text.lines().position(|line| line.starts_with("<<<<<<< "))?;
    text.lines().skip(begin).any(|line| line.starts_with(">>>>>>> ")).then_some(begin + 1)
}
