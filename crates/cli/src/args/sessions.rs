//! The command line of `sessions`.

use std::path::PathBuf;

use clap::Subcommand;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use streamfmt_server::store::SessionWork;

use super::Args;
use super::date::{Day, age, since, until, zone};
use super::run::label;

/// List, show and remove recorded sessions
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the newest first
    List(ListArgs),
    /// Format a session, with the same options as a file
    Show(Box<ShowArgs>),
    /// Add the agents' own histories, and runs that were recorded elsewhere: files, or folders with such files
    Import(ImportArgs),
    /// Add up turns, calls, tokens and costs
    Stats(Box<StatsArgs>),
    /// Find the sessions that made a pull request, a commit or a change to a file; the exit code is 1 if there is none
    Find(FindArgs),
    /// Rebuild the entries of all runs from their logs
    Reindex,
    /// Find damage to the database and to side files; the exit code is 1 if there is any
    Check {
        /// Replace a damaged database by one with everything that can be read
        #[arg(long)]
        repair: bool,
    },
    /// Compress the logs of old runs, which are read as before
    Compress {
        /// Only runs that ended longer ago than this: 30d, 12h, 30m
        #[arg(long, value_name = "AGE", value_parser = age, required = true)]
        older: SignedDuration,
    },
    /// Read the copies of all sessions, and report what is missing of each; the exit code is 1 if a copy is damaged
    Verify,
    /// Remove sessions with their logs and copies; their files are imported again only if they are named
    Rm(RmArgs),
    /// Remove old runs with their logs, or old copies
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct ListArgs {
    /// List at most N sessions; the default is 30 on a terminal, otherwise all
    #[arg(short, value_name = "N")]
    pub(crate) number: Option<usize>,

    /// Also those in which nobody asked anything
    #[arg(long)]
    pub(crate) all: bool,

    /// Only those of this status
    #[arg(long, value_name = "STATUS", value_enum)]
    pub(crate) status: Option<StatusName>,

    /// Only those of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Only those of this working directory, or of one below it
    #[arg(long, value_name = "PATH")]
    pub(crate) folder: Option<PathBuf>,

    /// Only those with this label; repeatable: all of them
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,

    /// Only those that started on this day or later: 2026-11-02, 2026-11-02T10:00:00Z, or 7d or 12h ago
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<Timestamp>,

    /// Only those that started on this day or earlier
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub(crate) until: Option<Timestamp>,

    /// Show what they take on the disk
    #[arg(long)]
    pub(crate) disk: bool,

    /// Write one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Mask tokens, keys, passwords, e-mail addresses and home folders
    #[arg(long)]
    pub(crate) redact: bool,
}

/// `streamfmt sessions import`
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files and folders; without one, the folders of all known agents
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Copy the files of the sessions, so that they stay when the agent deletes them; later imports go on with that
    #[arg(long)]
    pub(crate) keep: bool,

    /// Stay running, and import what appears and grows in these folders and in those that were imported before
    #[arg(long)]
    pub(crate) watch: bool,
}

/// `streamfmt sessions find`
#[derive(Debug, clap::Args)]
pub(crate) struct FindArgs {
    #[command(flatten)]
    pub(crate) work: WorkChoice,

    /// Write one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What was made.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WorkChoice {
    /// The pull request: its number or its URL
    #[arg(long, value_name = "N", value_parser = pull_request)]
    pub(crate) pr: Option<SessionWork>,

    /// The commit: its hash, or at least the first seven digits of it
    #[arg(long, value_name = "HASH", value_parser = commit)]
    pub(crate) commit: Option<SessionWork>,

    /// The file that was written or edited
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
}

fn pull_request(text: &str) -> Result<SessionWork, String> {
    SessionWork::pull_request(text)
        .ok_or_else(|| "expected a number, or a URL such as https://github.com/OWNER/NAME/pull/7".to_owned())
}

fn commit(text: &str) -> Result<SessionWork, String> {
    SessionWork::commit(text)
        .ok_or_else(|| "expected the hash of a commit, or at least the first seven digits of it".to_owned())
}

/// A status that can be chosen.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum StatusName {
    Running,
    Done,
    Failed,
    Interrupted,
    Empty,
}

/// `streamfmt sessions stats`
#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    /// Files and folders to read instead of the store; no store is made
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// What the rows are by
    #[arg(long, value_name = "KEY", value_enum, default_value = "day")]
    pub(crate) by: StatsBy,

    /// Only what was used on this day or later: 2026-11-02, or 7d ago
    #[arg(long, value_name = "DAY", value_parser = Day::parse)]
    pub(crate) since: Option<Day>,

    /// Only what was used on this day or earlier
    #[arg(long, value_name = "DAY", value_parser = Day::parse)]
    pub(crate) until: Option<Day>,

    /// The time zone of days and hours, such as Europe/Berlin or UTC; the default is the local one
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    pub(crate) timezone: Option<TimeZone>,

    /// Only sessions of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Only sessions of this working directory, or of one below it
    #[arg(long, value_name = "PATH")]
    pub(crate) folder: Option<PathBuf>,

    /// Prices that take precedence over the built-in ones, as TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// Write one JSON object a row; the last one is the sum
    #[arg(long, conflicts_with = "to")]
    pub(crate) json: bool,

    /// Write a document
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: Option<StatsFormat>,

    /// Write only ASCII characters
    #[arg(long)]
    pub(crate) ascii: bool,
}

/// What the rows of figures can be by.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum StatsBy {
    Day,
    Week,
    Month,
    Hour,
    Session,
    Model,
    Folder,
    Repo,
    Agent,
    Tool,
    Host,
}

/// A document of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StatsFormat {
    Markdown,
    Html,
}

/// `streamfmt sessions show`
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) args: Args,

    /// Print the details of the session as one JSON object instead
    #[arg(long, help_heading = "Session", conflicts_with_all = ["to", "output", "also", "tee", "summary"])]
    pub(crate) json: bool,

    /// Show only this item, by its id as in `--to items`, and those around it, as many as fit on a screen
    #[arg(long, value_name = "ITEM", help_heading = "Session", conflicts_with = "json")]
    pub(crate) at: Option<String>,
}

/// Describes the command: its file is a session.
pub(crate) fn describe(command: clap::Command) -> clap::Command {
    command
        .mut_arg("files", |files| {
            files
                .value_name("ID")
                .help("The session: its id or the start of it, `last`, or `last~N` for N before the last")
                .value_parser(clap::value_parser!(PathBuf))
                .num_args(1)
                .required(true)
        })
        .mut_arg("follow", |follow| follow.hide(true))
        .mut_arg("watch", |watch| watch.hide(true))
        .override_usage("streamfmt sessions show [OPTIONS] <ID>")
}

#[derive(Debug, clap::Args)]
pub(crate) struct RmArgs {
    /// The sessions: ids or the starts of them, `last`, or `last~N`
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,

    /// Also those that seem to be in progress on another machine, such as after a crash
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) consent: Consent,
}

#[derive(Debug, clap::Args)]
#[group(id = "what", required = true, args = ["older", "keep", "orphans"])]
pub(crate) struct PruneArgs {
    /// Remove runs that started longer ago than this: 90d, 12h, 30m
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older: Option<SignedDuration>,

    /// Keep the newest N runs
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,

    /// Remove files of runs whose side file is missing, so that they can't be listed
    #[arg(long, conflicts_with_all = ["older", "keep"])]
    pub(crate) orphans: bool,

    /// Remove the copies of sessions instead of runs, and the entries of histories
    #[arg(long, requires = "older", conflicts_with = "keep")]
    pub(crate) copies: bool,

    #[command(flatten)]
    pub(crate) consent: Consent,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Consent {
    /// Remove without asking
    #[arg(long)]
    pub(crate) yes: bool,

    /// Only print what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}
