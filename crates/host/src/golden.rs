//! Golden cases: an input, and what is to come out of it.
//!
//! ```text
//! tests/golden/
//!   golden.toml                     what all cases start from
//!   claude/a-failed-command/
//!     input.ndjson
//!     case.toml                     optional: what is different here
//!     expected/default.text.txt     <profile>.<writer>.<ending>
//!   short.cases                     many small ones in one file
//! ```
//!
//! A case is tried once for each profile and writer that is wanted of it: that is a [`Cell`]. Besides
//! comparing what came out, checking a cell tries the laws that hold for every input.
//!
//! ```no_run
//! let suite = streamfmt::golden::Suite::find("tests/golden".as_ref())?;
//! let differing = suite.cells.iter().filter(|cell| !cell.check().is_good()).count();
//! # Ok::<(), streamfmt::Problems>(())
//! ```
//!
//! Nothing here prints or reads the environment: outcomes are data, and [`Diff`] displays itself.

pub mod case;
pub mod diff;
mod laws;
mod short;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use streamfmt_core::pipeline::{Pipeline, Report};

pub use case::{Choices, Suite};
pub use diff::Diff;

use crate::engine::{Engine, WriterRow};

/// A case as one profile and one writer show it.
#[derive(Clone)]
pub struct Cell {
    /// `<case>/<profile>.<writer>`: unlike that of any other cell.
    pub name: String,
    /// What the case is about, in its own words.
    pub title: String,
    /// The profile.
    pub profile: String,
    /// The output format.
    pub writer: &'static WriterRow,
    /// All else that it is formatted with.
    pub choices: Arc<Choices>,
    /// The bytes of the stream.
    pub input: Arc<[u8]>,
    home: Home,
}

/// Where the expected text of a cell is kept.
#[derive(Clone)]
enum Home {
    /// A file of its own.
    File(PathBuf),
    /// Under this name in a file of short cases.
    Section(PathBuf, String),
}

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What came out, as it is kept: with escapes spelled `\e`.
    pub text: String,
    /// What was to come out, if that was ever said.
    pub expected: Option<String>,
    /// The laws that didn't hold, each with what went wrong.
    pub broken: Vec<String>,
}

impl Outcome {
    /// Whether what came out is what was to come out, and all laws hold.
    pub fn is_good(&self) -> bool {
        self.broken.is_empty() && self.expected.as_ref() == Some(&self.text)
    }

    /// What is different from what was expected; all of it, if nothing was.
    pub fn diff(&self) -> Diff {
        Diff::of(self.expected.as_deref().unwrap_or_default(), &self.text)
    }
}

impl Cell {
    /// Formats the input, compares what comes out, and tries the laws.
    pub fn check(&self) -> Outcome {
        let engine = match self.choices.engine(&self.profile, self.writer.name) {
            Ok(engine) => engine,
            Err(problems) => {
                let broken = problems.0.iter().map(ToString::to_string).collect();
                return Outcome { text: String::new(), expected: self.expected(), broken };
            }
        };
        let run = Run::of(&engine, [&*self.input]);
        let broken = laws::broken(&engine, &self.input, &run);
        let text = if self.writer.name == "ansi" { visible(&run.text) } else { run.text };
        Outcome { text, expected: self.expected(), broken }
    }

    /// What is to come out, if that was ever said.
    pub fn expected(&self) -> Option<String> {
        match &self.home {
            Home::File(path) => fs::read_to_string(path).ok(),
            Home::Section(path, name) => {
                let file = fs::read_to_string(path).ok()?;
                short::sections(&file).into_iter().find(|section| section.name == *name)?.expected
            }
        }
    }

    /// Makes what came out the expected text. An outcome that broke a law is refused.
    pub fn accept(&self, outcome: &Outcome) -> io::Result<()> {
        if !outcome.broken.is_empty() {
            return Err(io::Error::other("a law is broken: that can't be accepted"));
        }
        match &self.home {
            Home::File(path) => {
                fs::create_dir_all(path.parent().unwrap_or(path))?;
                fs::write(path, &outcome.text)
            }
            Home::Section(path, name) => short::rewrite(path, name, &outcome.text),
        }
    }

    /// The file that holds the expected text.
    pub fn file(&self) -> &PathBuf {
        let (Home::File(path) | Home::Section(path, _)) = &self.home;
        path
    }
}

/// What came out of a whole input, and what was counted.
struct Run {
    text: String,
    report: Report,
}

impl Run {
    fn of<'a>(engine: &Engine, pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut pipeline = Pipeline::new(engine.setup());
        let mut text = String::new();
        // Writing to a string doesn't fail.
        for piece in pieces {
            let _ = pipeline.push(piece, &mut text);
        }
        let _ = pipeline.finish(&mut text);
        Self { text, report: pipeline.report().clone() }
    }
}

/// The text with its escapes spelled `\e`, so that showing it steers no terminal. No two texts become one.
fn visible(text: &str) -> String {
    text.replace('\\', r"\\").replace('\u{1b}', r"\e")
}

#[cfg(test)]
mod tests;
