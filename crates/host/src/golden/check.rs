//! Checks cells: one, or several on threads, reported in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::case::CaseVariant;
use super::choices::CaseChoices;
use super::engines::Engines;
use super::faults;
use super::input::CaseInput;
use super::laws::{self, Chunks};
use super::outcome::{Outcome, State};
use super::run::{CaseRun, visible};
use super::suite::Suite;
use crate::problem::Problem;
use crate::writers::WriterRow;

/// Most threads. More than this aren't faster on any machine.
const MOST_THREADS: usize = 256;

/// Checks cells. They share engines, and thereby loaded plugins.
#[derive(Default)]
pub struct Checker {
    chunks: Chunks,
    faults: bool,
    engines: Engines,
}

/// The counts of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckSummary {
    /// Cells by state.
    pub states: BTreeMap<State, usize>,
    /// Setup errors that prevented cells.
    pub problems: usize,
    /// Expected files that no case refers to.
    pub orphans: usize,
    /// Whether orphans count as failures.
    pub is_strict: bool,
    /// Whether plugins may fail if the output is as expected.
    pub allows_plugin_errors: bool,
}

impl CheckSummary {
    /// A summary without cells.
    pub fn of(suite: &Suite, is_strict: bool, allows_plugin_errors: bool) -> Self {
        let (problems, orphans) = (suite.problems.0.len(), suite.orphans.len());
        Self { states: BTreeMap::new(), problems, orphans, is_strict, allows_plugin_errors }
    }

    /// Counts a cell.
    pub fn add(&mut self, state: State) {
        *self.states.entry(state).or_default() += 1;
    }

    /// The number of cells in this state.
    pub fn count(&self, state: State) -> usize {
        self.states.get(&state).copied().unwrap_or_default()
    }

    /// The number of cells that passed.
    pub fn passed(&self) -> usize {
        let tolerated = if self.allows_plugin_errors { self.count(State::PluginFailed) } else { 0 };
        self.count(State::Equal) + tolerated
    }

    /// The number of skipped cells.
    pub fn skipped(&self) -> usize {
        self.count(State::Skipped)
    }

    /// The number of failures: cells, setup errors, and orphans if they count as failures.
    pub fn failed(&self) -> usize {
        let cells: usize = self.states.values().sum();
        let orphans = if self.is_strict { self.orphans } else { 0 };
        cells - self.passed() - self.skipped() + self.problems + orphans
    }

    /// The exit code of a checking program: 0 all equal, 1 some differ, 2 a setup error, 3 a plugin failed, 4 some have no
    /// expected output yet, 5 no case was run.
    pub fn exit_code(&self) -> u8 {
        let tried: usize = self.states.values().sum::<usize>() - self.skipped();
        if self.problems > 0 || self.count(State::Wrong) > 0 {
            2
        } else if tried == 0 {
            5
        } else if self.count(State::Different) > 0 || (self.is_strict && self.orphans > 0) {
            1
        } else if self.count(State::PluginFailed) > 0 && !self.allows_plugin_errors {
            3
        } else if self.count(State::New) > 0 {
            4
        } else {
            0
        }
    }
}

impl CaseVariant {
    /// Formats the input, compares the output, and verifies the laws.
    pub fn check(&self) -> Outcome {
        Checker::default().check(self)
    }
}

impl Checker {
    /// A checker that reads each input once more in these pieces. With `faults`, each plugin call is made to fail in turn, to
    /// verify that only its own output is lost.
    pub fn new(chunks: Chunks, faults: bool) -> Self {
        Self { chunks, faults, ..Self::default() }
    }

    /// Sets whether native plugins are loaded to check their own cases; otherwise such cases are skipped.
    #[must_use]
    pub fn native(mut self, on: bool) -> Self {
        self.engines.native = on;
        self
    }

    /// Formats the input of a cell, compares the output, and verifies the laws.
    pub fn check(&self, cell: &CaseVariant) -> Outcome {
        let case = &cell.case;
        let choices = &case.choices;
        let skipped = choices.skip.clone().or_else(|| self.engines.left_out(&choices.formatting));
        if skipped.is_some() {
            return Outcome { skipped, ..Outcome::default() };
        }
        let engine = match self.engines.get(case, &cell.profile, &cell.writer) {
            Ok(engine) => engine,
            Err(problems) => return located(&problems, cell),
        };
        if matches!(cell.case.input, CaseInput::Live(_)) && cell.row().is_some_and(WriterRow::is_items) {
            let message = "a live case needs the writer text, ansi, roles or json; items are only written when complete";
            return Outcome::wrong([message.to_owned()]);
        }
        let (expected, expected_messages) = match (cell.expected(), cell.expected_messages()) {
            (Ok(expected), Ok(messages)) => (expected, messages),
            (one, other) => return Outcome::wrong([one.err(), other.err()].into_iter().flatten()),
        };
        let run = CaseRun::of_input(&engine, &cell.case.input);
        let mut broken = laws::broken(cell, &engine, &run, self.chunks);
        if let Some(unmarked) = cell.row().and_then(|row| row.marks) {
            match self.engines.get(case, &cell.profile, unmarked) {
                Ok(plain) => broken.extend(laws::broken_unmarked(&plain, &case.input, &run, self.chunks)),
                Err(problems) => return located(&problems, cell),
            }
        }
        broken.extend(unexpected(choices, &run));
        if self.faults && cell.is_first {
            broken.extend(faults::broken(&engine, &cell.case.input.bytes()));
        }
        let kept = |text: String| choices.redact(text);
        let is_expected = choices.expect.warnings.is_some() || expected_messages.is_some();
        let text = if cell.row().is_some_and(WriterRow::has_escapes) { visible(&run.text) } else { run.text };
        Outcome {
            text: kept(text),
            expected,
            messages: kept(run.messages),
            expected_messages,
            broken,
            failures: if is_expected { Vec::new() } else { run.failures },
            damage: damage(&run.report),
            ..Outcome::default()
        }
    }

    /// Checks cells on this many threads, 256 at most. Passes the outcomes to `each` in order, until it returns false.
    pub fn check_all(
        &self,
        cells: &[CaseVariant],
        threads: usize,
        mut each: impl FnMut(&CaseVariant, Outcome) -> bool,
    ) {
        let threads = threads.clamp(1, MOST_THREADS.min(cells.len().max(1)));
        let next = AtomicUsize::new(0);
        let (send, receive) = mpsc::sync_channel::<(usize, Outcome)>(threads * 16);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (send, next) = (send.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(cell) = cells.get(index) else { return };
                        if send.send((index, self.check(cell))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            let mut early: BTreeMap<usize, Outcome> = BTreeMap::new();
            let mut next_reported = 0;
            for (index, outcome) in receive {
                early.insert(index, outcome);
                while let Some(outcome) = early.remove(&next_reported) {
                    if !each(&cells[next_reported], outcome) {
                        // With the receiver gone, each thread ends after its current cell.
                        return;
                    }
                    next_reported += 1;
                }
            }
        });
    }
}

/// The outcome of a cell whose setup has these problems.
fn located(problems: &[Problem], cell: &CaseVariant) -> Outcome {
    Outcome::wrong(problems.iter().map(|problem| cell.case.choices.places.locate(problem, cell)))
}

/// Violated expectations, other than about the output.
fn unexpected(choices: &CaseChoices, run: &CaseRun) -> Vec<String> {
    let mut wrong = Vec::new();
    let warnings = run.failures.len();
    if let Some(expected) = choices.expect.warnings
        && expected != warnings
    {
        let failures = run.failures.join("; ");
        wrong.push(format!("{warnings} plugin warnings instead of {expected}: {failures}"));
    }
    if let Some(expected) = choices.expect.exit {
        let is_strict = choices.expect.is_strict;
        let code = if is_strict && warnings > 0 { 3 } else { usize::from(run.report.failed) };
        let how = if is_strict { "--fail --strict-plugins" } else { "--fail" };
        if code != expected {
            wrong.push(format!("exit code {code} instead of {expected} ({how})"));
        }
    }
    for (plugin, steps) in &run.fuel {
        if let Some(most) = choices.fuel.filter(|most| steps > most) {
            wrong.push(format!("{plugin} took {steps} steps, more than its limit of {most} (fuel)"));
        }
    }
    wrong
}

/// Describes the damaged records and raw lines of an input.
fn damage(report: &streamfmt_core::pipeline::Report) -> Option<String> {
    let counted = |count: u64, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {more}")),
    };
    let counts = [
        counted(report.damaged, "damaged record", "damaged records"),
        counted(report.raw_lines, "line that is no event", "lines that are no event"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    (!counts.is_empty()).then(|| counts.join(" and "))
}
