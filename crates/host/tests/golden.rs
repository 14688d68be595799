//! The golden cases of the repository, each cell a test of its own: `cargo test --test golden bash`.
//!
//! With `STREAMFMT_BLESS=1` what comes out becomes what is expected; read its diff like code.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use streamfmt::golden::{Cell, Suite};

/// How a change is accepted.
const BLESS: &str = "STREAMFMT_BLESS=1 cargo test -p streamfmt --test golden";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let suite = match Suite::find(&root) {
        Ok(suite) if !suite.cells.is_empty() => suite,
        Ok(_) => panic!("there is no case in {}", root.display()),
        Err(problems) => panic!("{problems}"),
    };
    let blesses = is_set("STREAMFMT_BLESS");
    // What a machine accepts nobody has read.
    let is_forced = env::var("STREAMFMT_BLESS").is_ok_and(|value| value == "force");
    assert!(
        !blesses || !is_set("CI") || is_forced,
        "nothing is accepted in CI (STREAMFMT_BLESS=force does it all the same)"
    );
    let mut trials: Vec<Trial> = Vec::new();
    for cell in suite.cells {
        trials.push(Trial::test(cell.name.clone(), move || try_cell(&cell, blesses)));
    }
    trials.push(Trial::test("no expected file is left over", move || nothing_left_over(&suite.orphans)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn try_cell(cell: &Cell, blesses: bool) -> Result<(), Failed> {
    let outcome = cell.check();
    if outcome.is_good() {
        return Ok(());
    }
    if blesses {
        let told = |error| format!("{error}\n{}", outcome.broken.join("\n"));
        return cell.accept(&outcome).map_err(told).map_err(Failed::from);
    }
    let mut message = vec![cell.title.clone()];
    message.extend(outcome.broken.iter().map(|law| format!("broken law: {law}")));
    if outcome.expected.as_ref() != Some(&outcome.text) {
        let what = if outcome.expected.is_none() { "new" } else { "different" };
        message.push(format!("{what}: {}", cell.file().display()));
        message.push(format!("{}if that is right: {BLESS} -- {}", outcome.diff(), cell.name));
    }
    Err(message.join("\n").into())
}

fn nothing_left_over(orphans: &[PathBuf]) -> Result<(), Failed> {
    if orphans.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = orphans.iter().map(|path| path.display().to_string()).collect();
    Err(format!("no case asks for these files, delete them:\n{}", names.join("\n")).into())
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}
