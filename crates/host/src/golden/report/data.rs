//! For programs: one JSON object, of a shape that has a number.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;

use super::ReportStyle;
use super::human::quoted;
use crate::golden::case::Cell;
use crate::golden::check::CheckSummary;
use crate::golden::outcome::{Outcome, State};
use crate::golden::suite::Suite;
use crate::json;

/// The number of the shape. It changes when a reader of the shape before would be wrong.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Page {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    passed: usize,
    failed: usize,
    skipped: usize,
    exit: u8,
    cells: Vec<CellLine>,
    problems: Vec<ProblemLine>,
    orphans: Vec<String>,
}

/// What became of a cell. What isn't there is left out.
#[derive(Serialize)]
pub(super) struct CellLine {
    name: String,
    case: String,
    profile: String,
    writer: String,
    state: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fuel: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bless: Option<String>,
}

#[derive(Serialize)]
struct ProblemLine {
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    message: String,
}

impl CellLine {
    pub(super) fn of(cell: &Cell, outcome: &Outcome, style: &ReportStyle) -> Self {
        let state = outcome.state();
        let differs = !matches!(state, State::Skipped | State::Wrong)
            && outcome.expected.as_ref() != Some(&outcome.text);
        let can_bless =
            differs && !style.bless.is_empty() && outcome.refusal(&cell.case.choices.expect).is_none();
        Self {
            name: cell.name.clone(),
            case: cell.case.name.clone(),
            profile: cell.profile.clone(),
            writer: cell.writer.clone(),
            state: state.name(),
            title: cell.title().to_owned(),
            tags: cell.case.choices.tags.clone(),
            file: cell.file.display().to_string(),
            skipped: outcome.skipped.clone(),
            problems: outcome.problems.clone(),
            broken: outcome.broken.clone(),
            failures: outcome.failures.clone(),
            fuel: outcome.fuel.clone(),
            diff: differs.then(|| outcome.diff().spelled(style.form, false, style.width).to_string()),
            told: outcome.told_diff().map(|diff| diff.spelled(style.form, false, style.width).to_string()),
            bless: can_bless.then(|| format!("{} --case {}", style.bless, quoted(&cell.name))),
        }
    }
}

/// Writes all of it.
pub(super) fn write(
    cells: Vec<CellLine>,
    suite: &Suite,
    summary: &CheckSummary,
    out: &mut dyn Write,
) -> fmt::Result {
    let problem = |problem: &crate::Problem| ProblemLine {
        origin: problem.origin.clone(),
        line: problem.place.as_ref().map(|place| place.line),
        column: problem.place.as_ref().map(|place| place.column),
        message: problem.message.clone(),
    };
    let page = Page {
        schema: SCHEMA,
        timestamp: suite
            .cells
            .iter()
            .filter_map(|cell| cell.case.choices.now)
            .max()
            .map(|time| time.to_string()),
        passed: summary.passed(),
        failed: summary.failed(),
        skipped: summary.skipped(),
        exit: summary.exit_code(),
        cells,
        problems: suite.problems.0.iter().map(problem).collect(),
        orphans: suite.orphans.iter().map(|path| path.display().to_string()).collect(),
    };
    writeln!(out, "{}", json::pretty(&page))
}
