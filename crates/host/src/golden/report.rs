//! Tells what became of cells: for people, as JSON, as `JUnit`'s XML, or in TAP.
//!
//! ```text
//! begin ─▶ cell, cell, … ─▶ end
//! ```
//! Each call writes what can be written by then.

mod data;
mod human;
#[cfg(feature = "junit")]
mod junit;
mod tap;

use std::fmt::{self, Write};
use std::str::FromStr;

use super::case::Cell;
use super::check::CheckSummary;
use super::diff::{Diff, DiffForm};
use super::outcome::{Outcome, State};
use super::suite::Suite;

pub use data::SCHEMA;
pub use human::{is_cut, word};

/// In which form it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportKind {
    /// For people.
    #[default]
    Human,
    /// One JSON object; `schema` says which shape it has.
    Json,
    /// XML as `JUnit` writes it (feature `junit`): a suite for each folder, a test for each cell.
    #[cfg(feature = "junit")]
    Junit,
    /// The Test Anything Protocol, version 14.
    Tap,
}

impl FromStr for ReportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            #[cfg(feature = "junit")]
            "junit" => Ok(Self::Junit),
            "tap" => Ok(Self::Tap),
            _ if cfg!(feature = "junit") => Err("expected human, json, junit or tap".to_owned()),
            _ => Err("expected human, json or tap".to_owned()),
        }
    }
}

/// How differences look for people.
#[derive(Clone, Debug, Default)]
pub struct ReportStyle {
    /// Their form.
    pub form: DiffForm,
    /// Whether there are colours.
    pub has_color: bool,
    /// Columns of the page; 0 if that isn't known.
    pub width: usize,
    /// How a change is accepted: `streamfmt golden bless`. The cell's case follows it.
    pub bless: String,
    /// Whether people see a long new text and all places of a long difference.
    pub is_whole: bool,
}

/// Tells what became of cells.
pub struct CheckReport {
    kind: ReportKind,
    style: ReportStyle,
    told: usize,
    /// What can only be written once all is known.
    #[cfg(feature = "junit")]
    kept: junit::Suites,
    cells: Vec<data::CellLine>,
}

impl CheckReport {
    /// A report of this kind.
    pub fn new(kind: ReportKind, style: ReportStyle) -> Self {
        Self {
            kind,
            style,
            told: 0,
            #[cfg(feature = "junit")]
            kept: junit::Suites::default(),
            cells: Vec::new(),
        }
    }

    /// Tells what there is to be tried.
    pub fn begin(&mut self, suite: &Suite, out: &mut dyn Write) -> fmt::Result {
        match self.kind {
            ReportKind::Human | ReportKind::Json => Ok(()),
            #[cfg(feature = "junit")]
            ReportKind::Junit => Ok(()),
            ReportKind::Tap => tap::begin(suite, out),
        }
    }

    /// Tells what became of a cell.
    pub fn cell(&mut self, cell: &Cell, outcome: &Outcome, out: &mut dyn Write) -> fmt::Result {
        self.told += 1;
        match self.kind {
            ReportKind::Human => human::cell(cell, outcome, &self.style, out),
            ReportKind::Json => {
                self.cells.push(data::CellLine::of(cell, outcome, &self.style));
                Ok(())
            }
            #[cfg(feature = "junit")]
            ReportKind::Junit => {
                self.kept.add(cell, outcome, &self.style);
                Ok(())
            }
            ReportKind::Tap => tap::cell(self.told, cell, outcome, &self.style, out),
        }
    }

    /// Tells how it went in all.
    pub fn end(&mut self, suite: &Suite, summary: &CheckSummary, out: &mut dyn Write) -> fmt::Result {
        match self.kind {
            ReportKind::Human => human::end(suite, summary, out),
            ReportKind::Json => data::write(std::mem::take(&mut self.cells), suite, summary, out),
            #[cfg(feature = "junit")]
            ReportKind::Junit => self.kept.write(suite, summary, out),
            ReportKind::Tap => tap::end(self.told, suite, summary, out),
        }
    }
}

/// Why a cell is not fine, in a line; nothing if it is.
fn reason(outcome: &Outcome) -> Option<String> {
    let first = |what: &str, list: &[String]| match list {
        [] => None,
        [one] => Some(format!("{what}: {one}")),
        [one, rest @ ..] => Some(format!("{what}: {one} (and {} more)", rest.len())),
    };
    match outcome.state() {
        State::Equal | State::Skipped => None,
        State::New => Some(
            first("plugin failed", &outcome.failures).unwrap_or_else(|| "no expected output yet".to_owned()),
        )
        .map(|why| format!("new: {why}")),
        State::PluginFailed => first("plugin failed", &outcome.failures),
        State::Wrong => first("wrong", &outcome.problems),
        State::Different => {
            Some(first("broken law", &outcome.broken).unwrap_or_else(|| "the output differs".to_owned()))
        }
    }
}

/// All that is to be told of a cell that is not fine, in lines without colours.
fn details(cell: &Cell, outcome: &Outcome, style: &ReportStyle) -> String {
    let spelled = |diff: &Diff| diff.spelled(style.form, false, style.width).to_string();
    let mut text = String::new();
    if !cell.title().is_empty() {
        text.extend([cell.title(), "\n"]);
    }
    for (what, list) in
        [("wrong", &outcome.problems), ("broken law", &outcome.broken), ("plugin failed", &outcome.failures)]
    {
        for one in list {
            text.extend([what, ": ", one, "\n"]);
        }
    }
    if outcome.problems.is_empty() && outcome.expected.as_ref() != Some(&outcome.text) {
        text.extend([&cell.file.display().to_string(), "\n", &spelled(&outcome.diff())]);
    }
    if let Some(diff) = outcome.told_diff() {
        text.extend(["plugin messages:\n", &spelled(&diff)]);
    }
    text
}
