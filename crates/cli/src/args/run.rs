//! The command line of `run`.

use std::path::PathBuf;
use std::time::Duration;

use super::Args;

/// `streamfmt run`
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) args: Args,

    /// Which agent COMMAND starts; by default recognized by the name of the program
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub(crate) agent: Option<String>,

    /// Keep the agent's standard output, unmodified, in FILE instead of the folder of sessions
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) log: Option<PathBuf>,

    /// Attach KEY=VALUE to the session; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, help_heading = "Run")]
    pub(crate) label: Vec<(String, String)>,

    /// Write the id of the session to FILE before the agent starts
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) id_file: Option<PathBuf>,

    /// When to flush the log to disk, as protection against a power failure
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = SyncWhen::Second, help_heading = "Run")]
    pub(crate) sync: SyncWhen,

    /// Kill the agent SECONDS after the first signal; the default is 10 after SIGTERM and SIGHUP, and never after Ctrl-C
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Run")]
    pub(crate) kill_after: Option<Duration>,

    /// End the agent if it keeps running SECONDS after its result
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Run")]
    pub(crate) exit_after_result: Option<Duration>,

    /// Print a line when the run has cost more than USD: an estimate from its tokens, until the agent states its cost
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Run")]
    pub(crate) warn_cost: Option<f64>,

    /// Interrupt the run when it has cost more than USD
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Run")]
    pub(crate) stop_cost: Option<f64>,

    /// Load native plugins, which are left out otherwise: one that crashes ends the recording, and the agent with it
    #[arg(long, help_heading = "Run")]
    pub(crate) allow_native: bool,

    /// Ring the terminal's bell and send a notification (OSC 9) when the agent waits for you and when the run ends; only if standard
    /// output is a terminal
    #[arg(long, help_heading = "Run")]
    pub(crate) notify: bool,

    /// End the processes that the agent leaves running
    #[arg(long, help_heading = "Run")]
    pub(crate) end_helpers: bool,
}

/// When the log is written to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SyncWhen {
    /// After every read
    Always,
    /// Once a second, and at the end
    Second,
    /// At the end
    End,
    /// Leave it to the operating system
    Never,
}

/// Describes the command: its files are the words of the agent's command, and options for files as inputs are hidden.
pub(crate) fn describe(command: clap::Command) -> clap::Command {
    command
        .mut_arg("files", |files| {
            files
                .value_name("COMMAND")
                .help("The agent and its arguments")
                .value_parser(clap::value_parser!(PathBuf))
                .num_args(1..)
                .required(true)
                .last(true)
        })
        .mut_arg("follow", |follow| follow.hide(true))
        .mut_arg("watch", |watch| watch.hide(true))
        .override_usage("streamfmt run [OPTIONS] -- COMMAND...")
        .after_help(EXAMPLES)
}

const EXAMPLES: &str = "\
Examples:
  streamfmt run -- claude -p \"fix the tests\"
  streamfmt run --profile ci --redact --also html=run.html -- claude -p \"fix the tests\"
  streamfmt run --log run.ndjson -- codex exec \"fix the tests\"
  streamfmt run --agent claude -- npx @anthropic-ai/claude-code -p \"fix the tests\"

Exit codes: 128+n if signal n ended the run; else the agent's own; if that is 0: 74 if the log is incomplete,
1 with --fail if the run isn't done; 2 usage; 126 not executable; 127 not found.";

pub(super) fn label(text: &str) -> Result<(String, String), &'static str> {
    let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
    parts.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or("expected KEY=VALUE")
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or("expected a number of seconds ≥ 0")
}

fn dollars(text: &str) -> Result<f64, &'static str> {
    let dollars = text.parse().ok().filter(|dollars: &f64| dollars.is_finite() && *dollars >= 0.0);
    dollars.ok_or("expected a number of US dollars ≥ 0, such as 2.50")
}
