//! `streamfmt sessions check`.

use std::path::Path;

use streamfmt_server::store::{Store, StoreProblem};

use super::{print_notices, refuse, with_progress};
use crate::exit_code::RUN_FAILED;
use crate::message::{one_line, print};
use crate::output::write_out;

/// Prints the problems of the store. `is_repaired`: whether it is mended first.
pub(super) fn run(data: &Path, is_repaired: bool) -> Result<u8, u8> {
    if is_repaired {
        let mut store = Store::repair(data).map_err(|error| refuse(&error))?;
        let done = with_progress(&mut store, |store, each| store.catch_up_with(each));
        print_notices(&mut store);
        done?;
    }
    let problems = Store::check(data).map_err(|error| refuse(&error))?;
    if problems.is_empty() {
        return write_out(b"nothing is wrong");
    }
    let lines: Vec<String> = problems.iter().map(|problem| one_line(&problem.to_string())).collect();
    write_out(lines.join("\n").as_bytes())?;
    if problems.iter().any(|problem| matches!(problem, StoreProblem::Database(_))) {
        print("the database is damaged (to mend it: streamfmt sessions check --repair)");
    }
    Ok(RUN_FAILED)
}
