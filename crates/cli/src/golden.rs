//! `streamfmt golden`: checks, accepts and creates cases with expected output.

mod add;
mod bless;
mod check;
mod drift;
mod review;

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use clap::Subcommand;
use streamfmt::core::profile::glob;
use streamfmt::golden::report::{ReportStyle, word};
use streamfmt::golden::{CaseVariant, Suite};

pub(crate) use check::CheckArgs;

use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::message::{one_line, print, print_problems, reason};
use crate::output::is_closed;
use crate::terminal::{self, TerminalOptions};

/// No case was run.
const NOTHING_RAN: u8 = 5;

/// The exit codes of these commands, for the help.
pub(crate) const CODES: &str = "\
Exit codes: 0 all equal, 1 some differ, 2 error in usage, set-up or a case file, 3 a plugin failed although the output is \
equal, 4 some are new, 5 no case was run";

/// Test plugins, profiles and themes by comparing output with expected files
#[derive(Debug, clap::Args)]
pub(crate) struct GoldenArgs {
    #[command(subcommand)]
    command: GoldenCommand,
}

#[derive(Debug, Subcommand)]
enum GoldenCommand {
    /// Compare output with the expected files
    #[command(after_help = CODES)]
    Check(check::CheckArgs),
    /// Accept the current output as the expected output
    Bless(bless::BlessArgs),
    /// Show each difference and accept or reject it
    Review(review::ReviewArgs),
    /// Create a case from a recorded session
    Add(add::AddArgs),
    /// List the cases
    List(CellArgs),
    /// Remove expected files that no case refers to
    Clean(CleanArgs),
    /// List the types, blocks, tools and fields of recordings that no formatter shows
    Drift(drift::DriftArgs),
}

/// Which cells are wanted.
#[derive(Debug, clap::Args)]
struct CellArgs {
    /// Folders of cases, single cases, or plugins; by default `tests/golden` if it exists, otherwise the current folder
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Only cases with this name, with or without PROFILE.WRITER; `*` matches anything
    #[arg(long, value_name = "GLOB")]
    case: Vec<String>,

    /// Only cases with this tag
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// Only with this profile
    #[arg(long, value_name = "NAME")]
    profile: Vec<String>,

    /// Only in this output format
    #[arg(long, value_name = "FORMAT")]
    writer: Vec<String>,

    /// Load native plugins to run their own cases (their code has all your rights); without this such cases are skipped
    #[arg(long)]
    native: bool,
}

#[derive(Debug, clap::Args)]
struct CleanArgs {
    /// Folders of cases; by default `tests/golden` if it exists, otherwise the current folder
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
}

impl GoldenArgs {
    /// Runs the command. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.command {
            GoldenCommand::Check(check) => check.run(),
            GoldenCommand::Bless(bless) => bless.run(),
            GoldenCommand::Review(review) => review.run(),
            GoldenCommand::Add(add) => add.run(),
            GoldenCommand::List(wanted) => list(wanted),
            GoldenCommand::Clean(clean) => clean.run(),
            GoldenCommand::Drift(drift) => drift.run(),
        }
    }
}

impl CellArgs {
    /// Finds the cells. If only some are wanted, left-over files aren't reported.
    fn suite(&self) -> Suite {
        let mut suite = find(&self.paths);
        let only_some =
            [&self.case, &self.tag, &self.profile, &self.writer].iter().any(|list| !list.is_empty());
        if only_some {
            suite.retain(|cell| self.wants(cell));
        }
        suite
    }

    fn wants(&self, cell: &CaseVariant) -> bool {
        let any = |list: &[String], fits: &dyn Fn(&String) -> bool| list.is_empty() || list.iter().any(fits);
        let case = &cell.case.name;
        let own = case.rsplit('/').next().unwrap_or(case);
        let is_named = |pattern: &String| [case, &cell.name, own].iter().any(|name| glob(pattern, name));
        any(&self.case, &is_named)
            && any(&self.tag, &|tag| cell.case.choices.tags.contains(tag))
            && any(&self.profile, &|profile| {
                cell.profile == *profile || cell.name.contains(&format!("/{profile}."))
            })
            && any(&self.writer, &|writer| cell.writer == *writer)
    }
}

/// Finds the cases in these places, or in the usual folder.
fn find(paths: &[PathBuf]) -> Suite {
    let usual = [usual_folder()];
    let paths = if paths.is_empty() { &usual[..] } else { paths };
    let mut suite = Suite::default();
    for path in paths {
        suite.join(Suite::find(path));
    }
    suite
}

/// Returns the usual folder of cases.
fn usual_folder() -> PathBuf {
    let usual = Path::new("tests/golden");
    if usual.is_dir() && !Path::new("plugin.toml").is_file() { usual.to_owned() } else { PathBuf::from(".") }
}

/// The command that accepts a change, for messages.
fn bless_command(paths: &[PathBuf]) -> String {
    let mut command = "streamfmt golden bless".to_owned();
    for path in paths {
        command.extend([" ", &word(&path.display().to_string())]);
    }
    command
}

/// Returns the number of threads to use.
fn threads(requested: Option<usize>) -> usize {
    requested.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// Whether the program runs in CI.
fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()))
}

/// The style of differences on standard output.
fn style(form: streamfmt::golden::diff::DiffForm, bless: String) -> ReportStyle {
    let capabilities = terminal::capabilities(&TerminalOptions::default());
    ReportStyle { form, has_color: capabilities.color.is_some(), bless, is_whole: false }
}

/// Standard output as a `fmt::Write` that keeps a failure.
struct StdoutPage {
    failed: Option<io::Error>,
}

impl StdoutPage {
    fn new() -> Self {
        Self { failed: None }
    }

    /// Returns `code` if everything was written. A closed pipe is no failure.
    fn end(mut self, code: u8) -> Result<u8, u8> {
        if let Err(error) = io::stdout().flush() {
            self.failed.get_or_insert(error);
        }
        match self.failed {
            Some(error) if !is_closed(&error) => {
                print(&format!("can't write standard output: {}", reason(&error)));
                Err(OUTPUT)
            }
            _ => Ok(code),
        }
    }
}

impl fmt::Write for StdoutPage {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.failed.is_none()
            && let Err(error) = io::stdout().write_all(text.as_bytes())
        {
            self.failed = Some(error);
        }
        // Cells are checked to the end regardless: the exit code depends on them.
        Ok(())
    }
}

/// Lists the cells.
fn list(wanted: &CellArgs) -> Result<u8, u8> {
    let suite = wanted.suite();
    let mut page = StdoutPage::new();
    for cell in &suite.cells {
        let skipped = if cell.case.choices.skip.is_some() { " (skipped)" } else { "" };
        let tags = cell.case.choices.tags.iter().flat_map(|tag| [" #", tag]).collect::<String>();
        let title =
            if cell.name.ends_with(cell.title()) { String::new() } else { format!("  {}", cell.title()) };
        let line = one_line(&format!("{}{skipped}{tags}{title}", cell.name));
        let _ = fmt::Write::write_fmt(&mut page, format_args!("{line}\n"));
    }
    print_problems(&suite.problems);
    let code = match (suite.problems.0.is_empty(), suite.cells.is_empty()) {
        (false, _) => USAGE,
        (true, true) => {
            print("no cases found");
            NOTHING_RAN
        }
        (true, false) => OK,
    };
    page.end(code)
}

impl CleanArgs {
    fn run(&self) -> Result<u8, u8> {
        let suite = find(&self.paths);
        print_problems(&suite.problems);
        if !suite.problems.0.is_empty() {
            print("not removing anything while there are set-up errors");
            return Err(USAGE);
        }
        let mut page = StdoutPage::new();
        for orphan in &suite.orphans {
            let name = one_line(&orphan.display().to_string());
            if !self.dry_run
                && let Err(error) = std::fs::remove_file(orphan)
            {
                print(&format!("can't remove {name}: {}", reason(&error)));
                return Err(OUTPUT);
            }
            let what = if self.dry_run { "would remove" } else { "removed" };
            let _ = fmt::Write::write_fmt(&mut page, format_args!("{what} {name}\n"));
        }
        let _ = fmt::Write::write_fmt(&mut page, format_args!("{} unused\n", suite.orphans.len()));
        page.end(OK)
    }
}
