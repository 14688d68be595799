//! The Test Anything Protocol, version 14: <https://testanything.org/tap-version-14-specification.html>.

use std::fmt::{self, Write};

use streamfmt_core::text::clean;

use super::{ReportStyle, details, reason};
use crate::golden::case::Cell;
use crate::golden::check::CheckSummary;
use crate::golden::outcome::{Outcome, State};
use crate::golden::suite::Suite;

/// The version and the plan.
pub(super) fn begin(suite: &Suite, out: &mut dyn Write) -> fmt::Result {
    // What is wrong beside the cells, and what is left over, are points of their own.
    let points = suite.cells.len() + suite.problems.0.len() + suite.orphans.len();
    writeln!(out, "TAP version 14\n1..{points}")
}

/// One point.
pub(super) fn cell(
    number: usize,
    cell: &Cell,
    outcome: &Outcome,
    style: &ReportStyle,
    out: &mut dyn Write,
) -> fmt::Result {
    let name = described(&cell.name);
    match outcome.state() {
        State::Equal => writeln!(out, "ok {number} - {name}"),
        State::Skipped => {
            let reason = outcome.skipped.as_deref().unwrap_or_default();
            writeln!(out, "ok {number} - {name} # SKIP {}", described(reason).trim())
        }
        state => {
            writeln!(out, "not ok {number} - {name}")?;
            let message = reason(outcome).unwrap_or_default();
            yaml(&message, state.name(), &details(cell, outcome, style), out)
        }
    }
}

/// What is wrong beside the cells.
pub(super) fn end(told: usize, suite: &Suite, summary: &CheckSummary, out: &mut dyn Write) -> fmt::Result {
    let mut number = told;
    for problem in &suite.problems.0 {
        number += 1;
        writeln!(out, "not ok {number} - {}", described(&problem.origin))?;
        yaml(&problem.to_string(), "wrong", "", out)?;
    }
    for orphan in &suite.orphans {
        number += 1;
        let word = if summary.is_strict { "not ok" } else { "ok" };
        writeln!(out, "{word} {number} - {} is unused", described(&orphan.display().to_string()))?;
    }
    Ok(())
}

/// The block that tells more.
fn yaml(message: &str, state: &str, details: &str, out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "  ---")?;
    // JSON's strings are YAML's.
    writeln!(out, "  message: {}", serde_json::Value::from(clean(message)))?;
    writeln!(out, "  state: {state}")?;
    if !details.is_empty() {
        writeln!(out, "  details: |2")?;
        for line in clean(details).lines() {
            writeln!(out, "    {line}")?;
        }
    }
    writeln!(out, "  ...")
}

/// Foreign text as a part of a point's line.
fn described(text: &str) -> String {
    clean(text).replace('\n', "␊").replace('\\', "\\\\").replace('#', "\\#")
}
