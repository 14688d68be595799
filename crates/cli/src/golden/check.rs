//! `golden check`: compares, and reports the outcomes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use streamfmt::golden::diff::DiffForm;
use streamfmt::golden::report::{ReportKind, ReportStyle};
use streamfmt::golden::{CheckReport, CheckSummary, Checker, Chunks};

use super::{CellArgs, StdoutPage, bless_command, is_ci, style, threads};
use crate::exit_code::{OUTPUT, USAGE};
use crate::file_place::FilePlace;
use crate::message::{print, unwritten};
use crate::output_paths::OutputPaths;
use crate::usage_error::number;

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    wanted: CellArgs,

    /// Number of threads; by default one per processor
    #[arg(short = 'j', long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    jobs: Option<usize>,

    /// Diff style: inline or unified
    #[arg(long, value_name = "FORM", default_value = "inline")]
    diff: DiffForm,

    /// Report format: human or junit
    #[arg(long, value_name = "KIND", default_value = "human")]
    report: ReportKind,

    /// Write the report to FILE, and print the human report to standard output
    #[arg(long, value_name = "FILE")]
    report_file: Option<PathBuf>,

    /// Fail if there are unused expected files (the default in CI)
    #[arg(long)]
    strict: bool,

    /// Pass cases in which a plugin failed although the output is as expected
    #[arg(long)]
    allow_plugin_errors: bool,

    /// Make each plugin call fail in turn, to verify that nothing else is affected
    #[arg(long)]
    fault_inject: bool,

    /// Chunks in which each input is read once more: all, line, byte or random:SEED
    #[arg(long, value_name = "WAY", default_value = "all")]
    chunks: Chunks,
}

impl CheckArgs {
    pub(super) fn run(&self) -> Result<u8, u8> {
        self.check(self.fault_inject)
    }

    /// Checks the cases of a plugin: its failures must affect only its own text.
    pub(crate) fn run_for_plugin(&self) -> Result<u8, u8> {
        self.check(true)
    }

    fn check(&self, injects_faults: bool) -> Result<u8, u8> {
        let place =
            self.report_file.as_deref().map(|path| OutputPaths::check_beside_stdout("--report-file", path));
        place.transpose().map_err(|message| {
            print(&message);
            USAGE
        })?;
        let suite = self.wanted.suite();
        if let Some(path) = &self.report_file {
            let place = FilePlace::of(path).into_path();
            let is_around =
                |folder: &Path| folder.canonicalize().is_ok_and(|folder| place.starts_with(folder));
            if suite.cells.iter().any(|cell| is_around(&cell.case.path)) {
                print(&format!("--report-file {}: is inside of a golden case", path.display()));
                return Err(USAGE);
            }
        }
        let checker = Checker::new(self.chunks, injects_faults).native(self.wanted.native);
        let style = style(self.diff, bless_command(&self.wanted.paths));
        let mut summary = CheckSummary::of(&suite, self.strict || is_ci(), self.allow_plugin_errors);
        let (mut page, mut file) = (StdoutPage::new(), String::new());
        // With a file, standard output is for people.
        let kind = if self.report_file.is_some() { ReportKind::Human } else { self.report };
        let mut reports: Vec<(CheckReport, &mut dyn Write)> =
            vec![(CheckReport::new(kind, style.clone()), &mut page)];
        if self.report_file.is_some() {
            let style = ReportStyle { has_color: false, ..style };
            reports.push((CheckReport::new(self.report, style), &mut file));
        }
        checker.check_all(&suite.cells, threads(self.jobs), |cell, outcome| {
            summary.add(outcome.state());
            for (report, out) in &mut reports {
                // Neither a page nor a string fails while it is written.
                let _ = report.cell(cell, &outcome, *out);
            }
            true
        });
        for (report, out) in &mut reports {
            let _ = report.end(&suite, &summary, *out);
        }
        if let Some(path) = &self.report_file
            && let Err(error) = std::fs::write(path, file)
        {
            print(&unwritten(path, &error));
            return Err(OUTPUT);
        }
        page.end(summary.exit_code())
    }
}
