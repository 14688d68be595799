//! Golden cases: an input and its expected output.
//!
//! ```text
//! tests/golden/
//!   golden.toml                     the settings that all cases start from
//!   claude/a-failed-command/
//!     input.ndjson
//!     case.toml                     optional: the settings that differ here
//!     expected/default.text.txt     <profile>.<writer>.<ending>
//!
//! find (suite) ─▶ variants ─▶ Checker ─▶ outcomes ─▶ report
//!      choices    case        engines, run, live,       diff
//!                             laws, faults
//! ```
//!
//! A case is checked once for each combination of profile and writer that it asks for; each combination is a [`CaseVariant`]. Besides
//! comparing the output, a check verifies the laws that hold for every input.
//!
//! ```no_run
//! use streamfmt::golden::Suite;
//!
//! let suite = Suite::find("tests/golden".as_ref());
//! let differing = suite.cells.iter().filter(|cell| !cell.check().is_good()).count();
//! ```
//!
//! Nothing here prints or reads the environment: outcomes are data, and [`Diff`] implements `Display`. Only `main`, with the
//! feature `libtest`, is a program.

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

pub use case::{Case, CaseVariant};
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
