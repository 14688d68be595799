//! The files that a command writes, however their paths are spelled: each output has a file of its own, which is no input.
//!
//! Devices, pipes and standard output take what several outputs write, so they are left out, except that two formatted outputs
//! can't share standard output.

use std::path::Path;

use crate::args::Args;
use crate::file_place::FilePlace;

/// The outputs of a command, each with the option that names it.
#[derive(Debug, Default)]
pub(crate) struct OutputPaths(Vec<(String, FilePlace)>);

impl OutputPaths {
    /// The outputs of a run, if each has a file of its own. `main`: where the main output is written, if not to standard output;
    /// `log`: the log of an agent's run. The error is a message.
    pub(crate) fn of(args: &Args, main: Option<&Path>, log: Option<&Path>) -> Result<Self, String> {
        let mut outputs = Self::default();
        match main.filter(|path| *path != Path::new("-")) {
            Some(path) => outputs.add(named("-o", path), FilePlace::of_text(path))?,
            None => outputs.add_stdout("the main output (use -o FILE to write it elsewhere)")?,
        }
        if let Some(path) = log {
            outputs.add(named("--log", path), FilePlace::of(path))?;
        }
        if let Some(path) = &args.tee {
            outputs.add(named("--tee", path), FilePlace::of(path))?;
        }
        if let Some(path) = &args.summary {
            outputs.add(named("--summary", path), FilePlace::of(path))?;
        }
        for also in &args.also {
            outputs.add(also.to_string(), FilePlace::of_text(&also.path))?;
        }
        match log.and_then(|log| Some((log, outputs.next_log(log)?))) {
            Some((log, other)) => Err(format!(
                "{other} is the file that --log {} uses if another run is writing to that log",
                log.display()
            )),
            None => Ok(outputs),
        }
    }

    /// Checks the one output of a command that also writes to standard output. The error is a message.
    pub(crate) fn check_beside_stdout(option: &str, path: &Path) -> Result<(), String> {
        let mut outputs = Self::default();
        outputs.add_stdout("standard output")?;
        outputs.add(named(option, path), FilePlace::of(path))
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

    /// The output whose file a second run with the same log would take for its own: `run-2.ndjson` for `run.ndjson`.
    fn next_log(&self, log: &Path) -> Option<&str> {
        let log = FilePlace::of(log);
        self.0.iter().find(|(_, place)| place.is_numbered_after(&log)).map(|(name, _)| name.as_str())
    }
}

fn named(option: &str, path: &Path) -> String {
    format!("{option} {}", path.display())
}
