//! `golden review`: shows each difference and reads a key that decides on it.
//!
//! Accepted output is written at once, so decisions are kept when the user stops in between. Without a terminal nothing is asked:
//! the differences are printed, each with the command that accepts it.

mod keys;

use std::env;
use std::fmt::Write;
use std::io::{self, IsTerminal};

use streamfmt::golden::diff::DiffForm;
use streamfmt::golden::report::{ReportKind, ReportStyle, is_cut};
use streamfmt::golden::{CaseVariant, CheckReport, CheckSummary, Checker, Outcome, State};

use self::keys::Keys;
use super::{CellArgs, NOTHING_RAN, StdoutPage, bless_command, is_ci, style, threads};
use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::message::{one_line, print, print_problems};

/// Not everything was accepted.
const LEFT: u8 = 1;

const HELP: &str =
    "  a accept   r reject   s skip   A, R, S same for all remaining   d other diff style   q quit";

/// The key that shows all of a shortened difference; `a` does so, too, before it accepts.
const MORE: &str = "   m show all (needed before a)";

#[derive(Debug, clap::Args)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    wanted: CellArgs,

    /// Initial diff style: inline or unified
    #[arg(long, value_name = "FORM", default_value = "inline")]
    diff: DiffForm,
}

/// The decision on a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Accept,
    Reject,
    Skip,
}

/// The decisions on all differences.
#[derive(Default)]
struct Tally {
    accepted: usize,
    rejected: Vec<String>,
    left: usize,
}

impl ReviewArgs {
    pub(super) fn run(&self) -> Result<u8, u8> {
        let suite = self.wanted.suite();
        let style = style(self.diff, bless_command(&self.wanted.paths));
        let mut summary = CheckSummary::of(&suite, is_ci(), false);
        let mut open: Vec<(&CaseVariant, Outcome)> = Vec::new();
        let mut index = 0;
        Checker::default().native(self.wanted.native).check_all(&suite.cells, threads(None), |_, outcome| {
            summary.add(outcome.state());
            if !outcome.is_good() {
                open.push((&suite.cells[index], outcome));
            }
            index += 1;
            true
        });
        // Nothing is accepted in CI: nobody reads it there.
        let asks = !is_ci() && io::stdin().is_terminal() && io::stdout().is_terminal();
        if !asks {
            let mut page = StdoutPage::new();
            let mut report = CheckReport::new(ReportKind::Human, style);
            for (cell, outcome) in &open {
                let _ = report.cell(cell, outcome, &mut page);
            }
            let _ = report.end(&suite, &summary, &mut page);
            return page.end(summary.exit_code());
        }
        print_problems(&suite.problems);
        if suite.cells.is_empty() {
            print("no cases found");
            return Err(if suite.problems.0.is_empty() { NOTHING_RAN } else { USAGE });
        }
        let tally = ask_all(&open, style)?;
        let mut page = StdoutPage::new();
        for name in &tally.rejected {
            let _ = writeln!(page, "rejected: {name}");
        }
        let Tally { accepted, rejected, left } = &tally;
        let _ = writeln!(page, "{accepted} accepted, {} rejected, {left} left", rejected.len());
        let is_done = rejected.is_empty() && *left == 0;
        page.end(if !suite.problems.0.is_empty() {
            USAGE
        } else if is_done {
            OK
        } else {
            LEFT
        })
    }
}

/// Asks about each difference until all are decided, or the user has had enough.
fn ask_all(open: &[(&CaseVariant, Outcome)], mut style: ReportStyle) -> Result<Tally, u8> {
    let mut keys = Keys::open().map_err(|error| {
        print(&format!("can't read keys from the terminal: {error}"));
        OUTPUT
    })?;
    let mut tally = Tally { left: open.len(), ..Tally::default() };
    let mut rest: Option<Decision> = None;
    // The result for the previous case: each case starts on a cleared screen, so it is shown on top.
    let mut before = String::new();
    for (index, (cell, outcome)) in open.iter().enumerate() {
        let name = one_line(&cell.name);
        let refusal = outcome.refusal(&cell.case.choices.expect);
        let decision = if let Some(decision) = rest {
            decision
        } else {
            let place = (index, open.len());
            let head = format!("{}{before}── {} of {} ──\n", fresh_screen(), place.0 + 1, place.1);
            before.clear();
            let Some((decision, is_for_rest)) =
                ask(&mut keys, &mut style, &head, (cell, outcome), refusal.as_deref())
            else {
                return Ok(tally);
            };
            rest = is_for_rest.then_some(decision);
            decision
        };
        match decision {
            Decision::Accept => match cell.bless(outcome) {
                Ok(()) => {
                    let _ = writeln!(before, "accepted {name}");
                    tally.accepted += 1;
                    tally.left -= 1;
                }
                Err(reason) => {
                    let _ = writeln!(before, "not accepted {name}: {}", one_line(&reason));
                }
            },
            Decision::Reject => {
                tally.rejected.push(name);
                tally.left -= 1;
            }
            Decision::Skip => {}
        }
        if rest.is_some() || index + 1 == open.len() {
            let mut page = StdoutPage::new();
            let _ = page.write_str(&std::mem::take(&mut before));
            page.end(OK)?;
        }
    }
    Ok(tally)
}

/// The sequence that clears the screen, on a terminal.
fn fresh_screen() -> &'static str {
    let can_clear = env::var("TERM").is_ok_and(|name| !["", "dumb"].contains(&name.as_str()));
    if can_clear { "\u{1b}[H\u{1b}[2J" } else { "\n" }
}

/// Shows a difference and waits for a decision, which may apply to all remaining ones. `None` if the user quits.
fn ask(
    keys: &mut Keys,
    style: &mut ReportStyle,
    head: &str,
    (cell, outcome): (&CaseVariant, &Outcome),
    refusal: Option<&str>,
) -> Option<(Decision, bool)> {
    let expect = &cell.case.choices.expect;
    let mut is_fresh = true;
    // Nothing is accepted that was not shown.
    let mut is_whole = !is_cut(outcome);
    loop {
        let mut page = StdoutPage::new();
        if std::mem::take(&mut is_fresh) {
            let _ = page.write_str(head);
            // The command that accepts it is a key here.
            let shown = ReportStyle { bless: String::new(), is_whole, ..style.clone() };
            let _ = CheckReport::new(ReportKind::Human, shown).cell(cell, outcome, &mut page);
            if let Some(reason) = refusal.filter(|_| outcome.suspicion(expect).is_none()) {
                let _ = writeln!(page, "  can't be accepted: {}", one_line(reason));
            }
            let _ = writeln!(page, "{HELP}{}", if is_whole { "" } else { MORE });
        }
        let _ = write!(page, "> ");
        page.end(OK).ok()?;
        let key = keys.key();
        let mut page = StdoutPage::new();
        let _ = writeln!(page, "{}", key.map_or("quit".to_owned(), |key| one_line(&key.to_string())));
        match key {
            Some('a') if refusal.is_some() => {
                let _ = writeln!(page, "  this case can't be accepted: press r to reject it or s to skip it");
            }
            Some('a' | 'm') if !is_whole => (is_whole, is_fresh) = (true, true),
            Some('a') => return Some((Decision::Accept, false)),
            Some('r') => return Some((Decision::Reject, false)),
            Some('s') => return Some((Decision::Skip, false)),
            Some('A') => return Some((Decision::Accept, true)),
            Some('R') => return Some((Decision::Reject, true)),
            Some('S') => return Some((Decision::Skip, true)),
            Some('d') if outcome.state() != State::New => {
                style.form = style.form.next();
                is_fresh = true;
            }
            Some('q' | '\u{3}' | '\u{4}' | '\u{1b}') | None => return None,
            Some(_) => {
                let _ = writeln!(page, "{HELP}");
            }
        }
        page.end(OK).ok()?;
    }
}
