//! Golden cases as tests of `cargo test`: each cell is listed and run as a separate test.
//!
//! This is the `main` function of a test program, so it reads the environment and prints.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use streamfmt_core::text::clean;

use super::case::CaseVariant;
use super::check::Checker;
use super::outcome::{Outcome, State};
use super::suite::Suite;

/// The `main` function of a test program for the cases under `root`.
///
/// ```toml
/// [dev-dependencies]
/// streamfmt = { version = "0.1", features = ["libtest"] }
///
/// [[test]]
/// name = "golden"
/// harness = false
/// ```
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     streamfmt::golden::main("tests/golden")
/// }
/// ```
///
/// `cargo test --test golden bash` checks the cells with `bash` in their name. With `STREAMFMT_BLESS=1`, the output becomes the
/// expected output, except in CI (if `CI` is set; `STREAMFMT_BLESS=force` overrides this). A cell without expected output fails,
/// and so does an expected file without a cell.
pub fn main(root: impl AsRef<Path>) -> ExitCode {
    main_of(&Suite::find(root.as_ref()))
}

/// [`main`] for a suite that was already found, so that several suites can be joined.
pub fn main_of(suite: &Suite) -> ExitCode {
    let blesses = is_set("STREAMFMT_BLESS");
    let is_forced = env::var("STREAMFMT_BLESS").is_ok_and(|value| value == "force");
    if blesses && is_set("CI") && !is_forced {
        // Output that is blessed in CI was reviewed by nobody.
        eprintln!("refusing to bless in CI (use STREAMFMT_BLESS=force to do so anyway)");
        return ExitCode::from(2);
    }
    let checker = Arc::new(Checker::default());
    let mut trials: Vec<Trial> = Vec::new();
    for cell in suite.cells.iter().cloned() {
        let checker = Arc::clone(&checker);
        let is_ignored = cell.case.choices.skip.is_some();
        let name = cell.name.clone();
        trials.push(
            Trial::test(name, move || check_cell(&checker, &cell, blesses)).with_ignored_flag(is_ignored),
        );
    }
    for problem in suite.problems.0.clone() {
        trials.push(Trial::test(problem.origin.clone(), move || Err(Failed::from(problem.to_string()))));
    }
    if trials.is_empty() {
        trials.push(Trial::test("there are cases", || Err(Failed::from("no case was found"))));
    }
    let orphans = suite.orphans.clone();
    trials.push(Trial::test("no expected file is unused", move || check_orphans(&orphans)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn check_cell(checker: &Checker, cell: &CaseVariant, blesses: bool) -> Result<(), Failed> {
    let outcome = checker.check(cell);
    if outcome.is_good() {
        return Ok(());
    }
    if blesses {
        return cell.bless(&outcome).map_err(Failed::from);
    }
    Err(failure_message(cell, &outcome).into())
}

/// The reason why a cell failed, and how to accept the change.
fn failure_message(cell: &CaseVariant, outcome: &Outcome) -> String {
    let mut message = vec![cell.title().to_owned()];
    message.extend(outcome.problems.iter().map(|problem| format!("wrong: {problem}")));
    message.extend(outcome.broken.iter().map(|law| format!("broken law: {law}")));
    message.extend(outcome.failures.iter().map(|failure| format!("plugin failed: {failure}")));
    if let Some(diff) = outcome.messages_diff() {
        message.push(format!("plugin messages:\n{diff}"));
    }
    let is_new = outcome.state() == State::New;
    if is_new
        || (outcome.problems.is_empty() && outcome.expected.as_ref().is_some_and(|it| *it != outcome.text))
    {
        let what = if is_new { "new" } else { "different" };
        message.push(format!("{what}: {}", cell.file.display()));
        message.push(format!(
            "{}to accept: STREAMFMT_BLESS=1 cargo test --test golden -- {}",
            outcome.diff(),
            cell.name
        ));
    }
    message.retain(|line| !line.is_empty());
    clean(&message.join("\n")).into_owned()
}

fn check_orphans(orphans: &[PathBuf]) -> Result<(), Failed> {
    if orphans.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = orphans.iter().map(|path| path.display().to_string()).collect();
    Err(format!("no case refers to these files; delete them:\n{}", names.join("\n")).into())
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !["", "0", "false"].iter().any(|no| value == *no))
}
