//! `JUnit` XML, which every CI service reads.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use jiff::Timestamp;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use streamfmt_core::text::clean;

use super::ReportStyle;
use crate::golden::case::CaseVariant;
use crate::golden::check::CheckSummary;
use crate::golden::diff::Diff;
use crate::golden::outcome::{Outcome, State};
use crate::golden::suite::Suite;

/// The suites so far, by folder.
#[derive(Default)]
pub(super) struct Suites(BTreeMap<String, Tests>);

/// The tests of one folder.
#[derive(Default)]
struct Tests {
    cases: Vec<TestCase>,
    /// The latest `env.now` of its cases.
    time: Option<Timestamp>,
}

impl Suites {
    /// Adds the outcome of a cell.
    pub(super) fn add(&mut self, cell: &CaseVariant, outcome: &Outcome, style: &ReportStyle) {
        let case = &cell.case.name;
        let (folder, own) = case.rsplit_once('/').unwrap_or(("golden", case));
        let rest = cell.name.strip_prefix(case.as_str()).unwrap_or_default().replacen('.', "/", 1);
        let state = outcome.state();
        let status = match state {
            State::Equal => TestCaseStatus::success(),
            State::Skipped => {
                let mut skipped = TestCaseStatus::skipped();
                skipped.set_message(allowed(outcome.skipped.as_deref().unwrap_or_default()));
                skipped
            }
            State::Wrong | State::New | State::PluginFailed | State::Different => {
                let is_wrong = state == State::Wrong;
                let mut failed = failed(is_wrong, state.name(), &reason(outcome).unwrap_or_default());
                failed.set_description(allowed(&details(cell, outcome, style)));
                failed
            }
        };
        self.test(folder, &format!("{own}{rest}"), status);
        let tests = self.0.entry(folder.to_owned()).or_default();
        tests.time = tests.time.max(cell.case.choices.now);
    }

    /// Writes all suites, including those for problems outside the cells.
    pub(super) fn write(
        &mut self,
        suite: &Suite,
        summary: &CheckSummary,
        out: &mut dyn Write,
    ) -> fmt::Result {
        for problem in &suite.problems.0 {
            self.test("set-up", &problem.origin, failed(true, State::Wrong.name(), &problem.to_string()));
        }
        for orphan in suite.orphans.iter().filter(|_| summary.is_strict) {
            let status = failed(false, "unused", "no case refers to this file");
            self.test("unused", &orphan.display().to_string(), status);
        }
        let mut report = quick_junit::Report::new("streamfmt golden");
        for (folder, Tests { cases, time }) in std::mem::take(&mut self.0) {
            let mut tests = TestSuite::new(allowed(&folder));
            if let Some(time) = time {
                tests.extra.insert("timestamp".into(), time.to_string().into());
            }
            tests.add_test_cases(cases);
            report.add_test_suite(tests);
        }
        out.write_str(&report.to_string().map_err(|_| fmt::Error)?)
    }

    fn test(&mut self, folder: &str, name: &str, status: TestCaseStatus) {
        let mut case = TestCase::new(allowed(name), status);
        case.set_classname(allowed(folder));
        self.0.entry(folder.to_owned()).or_default().cases.push(case);
    }
}

/// The reason why a cell failed, in one line. `None` if it didn't fail.
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

/// The full report of a failed cell.
fn details(cell: &CaseVariant, outcome: &Outcome, style: &ReportStyle) -> String {
    let spelled = |diff: &Diff| diff.spelled(style.form, false).to_string();
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
    if let Some(diff) = outcome.messages_diff() {
        text.extend(["plugin messages:\n", &spelled(&diff)]);
    }
    text
}

/// The status of a failed test or, with `is_wrong`, of one that could not run.
fn failed(is_wrong: bool, kind: &str, message: &str) -> TestCaseStatus {
    let mut status =
        TestCaseStatus::non_success(if is_wrong { NonSuccessKind::Error } else { NonSuccessKind::Failure });
    status.set_type(kind).set_message(allowed(message));
    status
}

/// Replaces the characters that XML forbids, even as references, by visible ones.
fn allowed(text: &str) -> String {
    clean(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
