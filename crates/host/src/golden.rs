//! Golden cases: an input, and what is to come out of it.
//!
//! ```text
//! tests/golden/
//!   golden.toml                     what all cases start from
//!   claude/a-failed-command/
//!     input.ndjson
//!     case.toml                     optional: what is different here
//!     expected/default.text.txt     <profile>.<writer>.<ending>
//!
//! find (suite) ─▶ cells ─▶ Checker ─▶ outcomes ─▶ report
//!      choices    case     engines, run, live,       diff
//!                          laws, faults
//! ```
//!
//! A case is tried once for each profile and writer that is wanted of it: that is a [`Cell`]. Besides
//! comparing what came out, checking a cell tries the laws that hold for every input.
//!
//! ```no_run
//! use streamfmt::golden::Suite;
//!
//! let suite = Suite::find("tests/golden".as_ref());
//! let differing = suite.cells.iter().filter(|cell| !cell.check().is_good()).count();
//! ```
//!
//! Nothing here prints or reads the environment: outcomes are data, and [`Diff`] displays itself.
//! Only `main`, with the feature `libtest`, is a program.

pub mod add;
pub mod case;
pub mod check;
pub mod choices;
pub mod diff;
pub mod drift;
pub mod input;
pub mod laws;
pub mod outcome;
pub mod pieces;
pub mod report;
pub mod suite;

mod engines;
mod faults;
#[cfg(feature = "libtest")]
mod harness;
mod live;
mod marked;
mod places;
mod run;
mod witness;

pub use case::{Case, Cell};
pub use check::{CheckSummary, Checker};
pub use choices::CaseChoices;
pub use diff::Diff;
#[cfg(feature = "libtest")]
pub use harness::{main, main_of};
pub use laws::Chunks;
pub use outcome::{Outcome, State};
pub use report::CheckReport;
pub use suite::Suite;

#[cfg(test)]
mod tests;
