//! Reports the outcomes of cells: for people, or as `JUnit` XML.

mod human;
#[cfg(feature = "junit")]
mod junit;

use std::fmt::{self, Write};
use std::str::FromStr;

use super::case::CaseVariant;
use super::check::CheckSummary;
use super::diff::DiffForm;
use super::outcome::Outcome;
use super::suite::Suite;

pub use human::{is_cut, word};

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportKind {
    /// For people.
    #[default]
    Human,
    /// `JUnit` XML (feature `junit`): a suite for each folder, a test for each cell.
    #[cfg(feature = "junit")]
    Junit,
}

impl FromStr for ReportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "human" => Ok(Self::Human),
            #[cfg(feature = "junit")]
            "junit" => Ok(Self::Junit),
            _ if cfg!(feature = "junit") => Err("expected human or junit".to_owned()),
            _ => Err("expected human".to_owned()),
        }
    }
}

/// The appearance of a report.
#[derive(Clone, Debug, Default)]
pub struct ReportStyle {
    /// The form of differences.
    pub form: DiffForm,
    /// Whether the report uses colours.
    pub has_color: bool,
    /// The command that accepts a change: `streamfmt golden bless`. The name of the cell is appended to it.
    pub bless: String,
    /// Whether a long new text and all places of a long difference are shown in full.
    pub is_whole: bool,
}

/// A report of cells. Each call writes as much as possible.
pub struct CheckReport {
    kind: ReportKind,
    style: ReportStyle,
    /// Suites are written at the end, because they start with their counts.
    #[cfg(feature = "junit")]
    suites: junit::Suites,
}

impl CheckReport {
    /// A report of this kind.
    pub fn new(kind: ReportKind, style: ReportStyle) -> Self {
        Self {
            kind,
            style,
            #[cfg(feature = "junit")]
            suites: junit::Suites::default(),
        }
    }

    /// Reports the outcome of a cell.
    pub fn cell(&mut self, cell: &CaseVariant, outcome: &Outcome, out: &mut dyn Write) -> fmt::Result {
        match self.kind {
            ReportKind::Human => human::cell(cell, outcome, &self.style, out),
            #[cfg(feature = "junit")]
            ReportKind::Junit => {
                self.suites.add(cell, outcome, &self.style);
                Ok(())
            }
        }
    }

    /// Reports problems outside the cells, and the totals.
    pub fn end(&mut self, suite: &Suite, summary: &CheckSummary, out: &mut dyn Write) -> fmt::Result {
        match self.kind {
            ReportKind::Human => human::end(suite, summary, out),
            #[cfg(feature = "junit")]
            ReportKind::Junit => self.suites.write(suite, summary, out),
        }
    }
}
