//! A case, and a cell: a case with one profile and one writer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::choices::CaseChoices;
use super::input::CaseInput;
use super::outcome::Outcome;
use crate::files::{FileError, read_plain_text};
use crate::writers::{self, WriterRow};

/// Largest file of a case, in bytes.
pub(super) const LARGEST: usize = 64 << 20;

/// An input, and the choices that it is formatted with.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its path below the folder of all cases: `claude/a-failed-command`.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// The choices that it is formatted with.
    pub choices: Arc<CaseChoices>,
    /// The input.
    pub input: CaseInput,
}

/// A case with one profile and one writer.
#[derive(Clone, Debug)]
pub struct CaseVariant {
    /// `<case>/<profile>.<writer>`, which is unique.
    pub name: String,
    /// The case.
    pub case: Arc<Case>,
    /// The profile.
    pub profile: String,
    /// The output format.
    pub writer: String,
    /// Whether it is the first of its case. Only the first one is checked for what doesn't depend on the writer.
    pub is_first: bool,
    /// The file with the expected output.
    pub file: PathBuf,
}

impl CaseVariant {
    /// The row of the output format, or `None` for a plugin's.
    pub(super) fn row(&self) -> Option<&'static WriterRow> {
        writers::find(&self.writer)
    }

    /// The title of the case.
    pub fn title(&self) -> &str {
        &self.case.choices.title
    }

    /// The expected output, or `None` if there is none yet. Fails if the file can't be read.
    pub fn expected(&self) -> Result<Option<String>, String> {
        kept(&self.file)
    }

    /// The expected messages of plugins, if any.
    pub(super) fn expected_messages(&self) -> Result<Option<String>, String> {
        if self.is_first { kept(&self.messages_file()) } else { Ok(None) }
    }

    /// Accepts the output as the expected one, unless there is a reason to refuse.
    ///
    /// Refuses an outcome that failed: a violated law, an input that isn't a stream, or an unexpected plugin error. It also
    /// refuses to overwrite a merge conflict, or to write outside of the case's folder.
    pub fn bless(&self, outcome: &Outcome) -> Result<(), String> {
        if let Some(reason) = outcome.refusal(&self.case.choices.expect) {
            return Err(reason);
        }
        let file_error = |error: io::Error| format!("{}: {}", self.file.display(), FileError::from(error));
        let messages_file = self.is_first.then(|| self.messages_file());
        for file in [Some(&self.file), messages_file.as_ref()].into_iter().flatten() {
            if let Some(old) = kept(file)?
                && let Some(line) = conflict(&old)
            {
                return Err(format!("{}:{line}: unresolved merge conflict", file.display()));
            }
        }
        fs::create_dir_all(self.file.parent().unwrap_or(&self.file)).map_err(file_error)?;
        self.check_inside(&self.file)?;
        fs::write(&self.file, &outcome.text).map_err(file_error)?;
        let Some(file) = messages_file else { return Ok(()) };
        if !outcome.messages.is_empty() {
            self.check_inside(&file)?;
            return fs::write(file, &outcome.messages).map_err(file_error);
        }
        if file.exists() { fs::remove_file(file).map_err(file_error) } else { Ok(()) }
    }

    /// The file with the expected messages of plugins.
    fn messages_file(&self) -> PathBuf {
        self.file.with_file_name("stderr.txt")
    }

    /// Refuses a file that is outside of the case's folder because of a symbolic link.
    fn check_inside(&self, file: &Path) -> Result<(), String> {
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

/// The text of a file, or `None` if it doesn't exist.
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

/// The line at which a merge conflict begins, if there is one.
fn conflict(text: &str) -> Option<usize> {
    let begin = text.lines().position(|line| line.starts_with("<<<<<<< "))?;
    text.lines().skip(begin).any(|line| line.starts_with(">>>>>>> ")).then_some(begin + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_output_over_the_limit_is_not_taken_for_a_missing_one() {
        let root = tempfile::TempDir::with_prefix("streamfmt-case-").unwrap();
        let path = root.path().join("default.text.txt");
        assert_eq!(kept(&path), Ok(None));
        fs::File::create(&path).unwrap().set_len(LARGEST as u64 + 1).unwrap();
        let problem = kept(&path).unwrap_err();
        assert!(problem.ends_with("(larger than 64 MiB); delete it and bless again"), "{problem}");
    }
}
