//! The files that a command writes, however their paths are spelled: each output needs a file of its own.
//!
//! Several outputs may write to one device or pipe, and to standard output, except that two formatted outputs can't share standard
//! output.

use std::path::Path;

use crate::file_place::FilePlace;

/// The files of a running agent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunFiles<'a> {
    /// The log, if it is named.
    pub(crate) log: Option<&'a Path>,
    /// The file for the id of the run.
    pub(crate) id_file: Option<&'a Path>,
}

/// The outputs of a command, each with the option that names it.
#[derive(Debug, Default)]
pub(crate) struct OutputPaths(Vec<(String, FilePlace)>);

impl OutputPaths {
    /// Adds the main output: a file, or standard output. The error is a message.
    pub(crate) fn add_main(&mut self, path: Option<&Path>) -> Result<(), String> {
        match path.filter(|path| *path != Path::new("-")) {
            Some(path) => self.add(named("-o", path), FilePlace::of_text(path)),
            None => self.add_stdout("the main output (use -o FILE to write it elsewhere)"),
        }
    }

    /// Adds a formatted output, for which `-` means standard output. The error is a message.
    pub(crate) fn add_text(&mut self, name: String, path: &Path) -> Result<(), String> {
        self.add(name, FilePlace::of_text(path))
    }

    /// Adds a file that an option names. The error is a message.
    pub(crate) fn add_file(&mut self, option: &str, path: &Path) -> Result<(), String> {
        self.add(named(option, path), FilePlace::of(path))
    }

    /// Checks, after all outputs were added, that none is the file that a second run with the same log would use. The error is a message.
    pub(crate) fn check_log(&self, log: &Path) -> Result<(), String> {
        match self.next_log(log) {
            Some(other) => Err(format!(
                "{other} is the file that --log {} uses if another run is writing to that log",
                log.display()
            )),
            None => Ok(()),
        }
    }

    /// Checks the one output of a command that also writes to standard output. The error is a message.
    pub(crate) fn check_beside_stdout(option: &str, path: &Path) -> Result<(), String> {
        let mut outputs = Self::default();
        outputs.add_stdout("standard output")?;
        outputs.add_file(option, path)
    }

    /// The places of all outputs.
    pub(crate) fn places(&self) -> impl Iterator<Item = &FilePlace> {
        self.0.iter().map(|(_, place)| place)
    }

    fn add(&mut self, name: String, place: FilePlace) -> Result<(), String> {
        if let Some((other, _)) = self.0.iter().find(|(_, taken)| taken.is_same(&place)) {
            return Err(format!("{name} writes to the same file as {other}"));
        }
        self.0.push((name, place));
        Ok(())
    }

    fn add_stdout(&mut self, name: &str) -> Result<(), String> {
        self.add(name.to_owned(), FilePlace::of_text(Path::new("-")))
    }

    /// The output whose file a second run with the same log would use: `run-2.ndjson` for `run.ndjson`.
    fn next_log(&self, log: &Path) -> Option<&str> {
        let log = FilePlace::of(log);
        self.0.iter().find(|(_, place)| place.is_numbered_after(&log)).map(|(name, _)| name.as_str())
    }
}

fn named(option: &str, path: &Path) -> String {
    format!("{option} {}", path.display())
}
