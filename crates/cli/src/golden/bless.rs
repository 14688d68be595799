//! `golden bless`: the actual output becomes the expected one, unless a check fails.

use std::fmt::Write;

use streamfmt::golden::{Checker, State};

use super::{CellArgs, NOTHING_RAN, StdoutPage, is_ci, threads};
use crate::exit_code::{OK, USAGE};
use crate::message::{one_line, print, print_problems};

#[derive(Debug, clap::Args)]
pub(super) struct BlessArgs {
    #[command(flatten)]
    wanted: CellArgs,

    /// Only accept cases without expected output
    #[arg(long)]
    new_only: bool,

    /// Only print what would be written
    #[arg(long)]
    dry_run: bool,

    /// Also accept in CI, where nobody reviews the output
    #[arg(long)]
    force: bool,
}

impl BlessArgs {
    pub(super) fn run(&self) -> Result<u8, u8> {
        if is_ci() && !self.force && !self.dry_run {
            print("refusing to bless in CI: review the output first, or use --force");
            return Err(USAGE);
        }
        let suite = self.wanted.suite();
        print_problems(&suite.problems);
        let (mut written, mut equal, mut refused) = (0, 0, 0);
        let mut page = StdoutPage::new();
        let checker = Checker::default().native(self.wanted.native);
        checker.check_all(&suite.cells, threads(None), |cell, outcome| {
            let name = one_line(&cell.name);
            let is_wanted = match outcome.state() {
                State::Equal | State::Skipped => false,
                State::New => true,
                _ => !self.new_only,
            };
            if !is_wanted {
                equal += usize::from(outcome.state() == State::Equal);
                return true;
            }
            let done = if self.dry_run {
                outcome.refusal(&cell.case.choices.expect).map_or(Ok(()), Err)
            } else {
                cell.bless(&outcome)
            };
            let line = match done {
                Ok(()) => {
                    written += 1;
                    let what = if self.dry_run { "would write" } else { "wrote" };
                    format!("{what} {} ({name})", one_line(&cell.file.display().to_string()))
                }
                Err(reason) => {
                    refused += 1;
                    format!("refused {name}: {}", one_line(&reason))
                }
            };
            let _ = writeln!(page, "{line}");
            true
        });
        let what = if self.dry_run { "to be written" } else { "written" };
        let _ = writeln!(page, "{written} {what}, {equal} equal, {refused} refused");
        let code = match (suite.cells.len(), refused + suite.problems.0.len()) {
            (_, 1..) => USAGE,
            (0, _) => NOTHING_RAN,
            _ => OK,
        };
        page.end(code)
    }
}
