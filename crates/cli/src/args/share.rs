//! The command line of `share`.

use std::path::PathBuf;

use super::Args;
use crate::terminal::{ColorWhen, WhenLive};

/// `streamfmt share`
#[derive(Debug, clap::Args)]
pub(crate) struct ShareArgs {
    #[command(flatten)]
    pub(crate) args: Args,

    /// Write the list as one JSON object a line
    #[arg(long, help_heading = "Share")]
    pub(crate) json: bool,

    /// Exit with 1 if something that looks like a secret was left
    #[arg(long, help_heading = "Share")]
    pub(crate) strict: bool,
}

/// Options of formatting that a page has no use for, by the names of their arguments.
const UNFIT: &[&str] = &[
    "to", "redact", "color", "live", "width", "ascii", "follow", "tee", "assets", "also", "summary", "tail",
    "watch",
];

impl ShareArgs {
    /// The given options that don't apply to a page.
    pub(crate) fn unfit(&self) -> Vec<&'static str> {
        let Args { to, color, live, width, ascii, follow, tee, assets, also, summary, tail, watch, .. } =
            &self.args;
        let given = [
            (to.is_some(), "--to"),
            (*color != ColorWhen::Auto, "--color"),
            (*live != WhenLive::Auto, "--live"),
            (width.is_some(), "--width"),
            (*ascii, "--ascii"),
            (*follow, "--follow"),
            (tee.is_some(), "--tee"),
            (assets.is_some(), "--assets"),
            (!also.is_empty(), "--also"),
            (summary.is_some(), "--summary"),
            (tail.is_some(), "--tail"),
            (*watch, "--watch"),
        ];
        given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, name)| name).collect()
    }
}

/// Describes the command: it takes one file or session, and writes a page.
pub(crate) fn describe(command: clap::Command) -> clap::Command {
    command
        .mut_arg("files", |files| {
            files
                .value_name("FILE|ID")
                .help("A file, `-` for standard input, or a session: its id or the start of it, `last`, or `last~N`")
                .value_parser(clap::value_parser!(PathBuf))
                .num_args(1)
                .required(true)
        })
        .mut_arg("output", |output| {
            output.value_name("PAGE").help(
                "Write the page to PAGE, replacing it, or to a file in the folder PAGE; by default to a new file of this \
                 folder, named after the input",
            )
        })
        .mut_args(|argument| {
            let is_unfit = UNFIT.contains(&argument.get_id().as_str());
            if is_unfit { argument.hide(true) } else { argument }
        })
        .override_usage("streamfmt share [OPTIONS] <FILE|ID>")
        .after_help(EXAMPLES)
}

const EXAMPLES: &str = "\
Examples:
  streamfmt share last                         the page of the newest session, and what was masked in it
  streamfmt share -o run.html session.jsonl
  streamfmt share --strict --json run.jsonl    for CI: exit code 1 if something was left

Exit codes: 0 written; 1 something was left (--strict); 2 error in usage, set-up or input; 3 a plugin failed
(--strict-plugins); 74 the page or the list could not be written; 128+n ended by signal n.";
