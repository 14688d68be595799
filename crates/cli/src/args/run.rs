//! The command line of `run`.

use std::path::PathBuf;
use std::time::Duration;

use super::Args;

/// `streamfmt run`
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) args: Args,

    /// Which agent the command starts, where its name doesn't tell
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub(crate) agent: Option<String>,

    /// The log: where the agent's standard output is kept, byte for byte; without it in the folder of sessions
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) log: Option<PathBuf>,

    /// When the log is written to the disk, in case that the machine fails
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = SyncWhen::Second, help_heading = "Run")]
    pub(crate) sync: SyncWhen,

    /// Kill the agent this long after the first signal that was to end it; without it 10 after SIGTERM and SIGHUP
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Run")]
    pub(crate) kill_after: Option<Duration>,

    /// End the agent this long after its outcome, if it doesn't end by itself
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Run")]
    pub(crate) exit_after_result: Option<Duration>,

    /// End what the agent left running
    #[arg(long, help_heading = "Run")]
    pub(crate) end_helpers: bool,
}

/// When the log is written to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SyncWhen {
    /// After each read
    Always,
    /// Each second, and at the end
    Second,
    /// At the end
    End,
    /// When the system likes
    Never,
}

/// Describes the command: its files are the words of a command, and what an input of its own would need isn't there.
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

Exit codes: the agent's own; 2 usage; 74 if that is 0 and the log is not whole; 126 the command can't be executed; 127 it isn't
there; 128+n ended by signal n.";

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or("a number of seconds is wanted, not below 0")
}
