//! The command line.

mod date;
mod run;
mod serve;
mod sessions;
mod share;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use streamfmt::core::redact::Redaction;
use streamfmt::dialect::DIALECTS;
use streamfmt::histories::is_named_as_session;
use streamfmt::writers::WRITERS;
use streamfmt::{Builder, Files, OutputCapabilities};

use crate::choice::SettingsChoice;
use crate::config::{self, ConfigArgs, ProfileArgs};
use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::explain::ExplainArgs;
use crate::file_place::FilePlace;
use crate::golden::GoldenArgs;
use crate::message::{print, reason};
use crate::output::is_closed;
use crate::plugin::PluginArgs;
use crate::records::RecordsArgs;
use crate::terminal::{self, ColorWhen, TerminalOptions, WhenLive};
use crate::theme::ThemeArgs;
use crate::trust::TrustArgs;
use crate::usage_error::{number, print_usage};

pub(crate) use run::RunArgs;
#[cfg(unix)]
pub(crate) use run::SyncWhen;
pub(crate) use serve::ServeArgs;
#[cfg(unix)]
pub(crate) use serve::{base_path, host, origin};
pub(crate) use sessions::{
    Consent, FindArgs, ImportArgs, ListArgs, PruneArgs, RmArgs, SessionsArgs, SessionsCommand, ShowArgs,
    StatsArgs, StatsBy, StatsFormat, StatusName, WorkChoice,
};
pub(crate) use share::ShareArgs;

/// Readable output for the event streams of coding agents.
#[derive(Debug, Parser)]
#[command(
    name = "streamfmt",
    version = env!("STREAMFMT_VERSION"),
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<ProgramCommand>,

    #[command(flatten)]
    pub(crate) args: Args,
}

/// The options of formatting.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files to format, in order; standard input if none is given or for `-`. They may be compressed (gzip, zstd). Write
    /// ./NAME for a file with the name of a command
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Show only these items: kinds (thinking), tool names or globs (Bash, mcp__*), actions (@edit), `failed`
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What is shown")]
    pub(crate) only: Vec<String>,

    /// Hide these items; same names as for --only
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What is shown")]
    pub(crate) hide: Vec<String>,

    /// Show the time of each entry, if the stream records it, in the local time zone
    #[arg(long, help_heading = "What is shown")]
    pub(crate) timestamps: bool,

    /// Mask tokens, keys, passwords, e-mail addresses and home folders in all output
    #[arg(long, help_heading = "What is shown")]
    pub(crate) redact: bool,

    /// Output format; the default is the profile's, otherwise `ansi` on a terminal and `text` elsewhere
    #[arg(long, value_name = "FORMAT", value_parser = writers(), help_heading = "How it looks")]
    pub(crate) to: Option<String>,

    /// Theme for the terminal: a name or the path of a file; `NAME:light` is its variant for light backgrounds
    #[arg(long, value_name = "NAME", help_heading = "How it looks")]
    pub(crate) theme: Option<String>,

    /// When to use colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto, help_heading = "How it looks")]
    pub(crate) color: ColorWhen,

    /// Show replies and calls while they are being written: on a terminal by repainting (auto), with --to json as
    /// updates (always)
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = WhenLive::Auto, help_heading = "How it looks")]
    pub(crate) live: WhenLive,

    /// Wrap lines at N columns; 0 disables wrapping
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true, help_heading = "How it looks")]
    pub(crate) width: Option<usize>,

    /// Use ASCII-only symbols in text and terminal output (Markdown and HTML keep Unicode)
    #[arg(long, help_heading = "How it looks")]
    pub(crate) ascii: bool,

    /// The agent that wrote the stream, or `records` for bare JSON Lines; by default it is detected
    #[arg(long, value_name = "DIALECT", default_value = "auto", value_parser = dialects(), help_heading = "Input and output")]
    pub(crate) from: String,

    /// Keep reading as FILE grows, until interrupted; wait for FILE if it doesn't exist. For a folder, follow its newest
    /// session; without FILE, the newest session of the current folder
    #[arg(short, long, conflicts_with_all = ["output", "tail"], help_heading = "Input and output")]
    pub(crate) follow: bool,

    /// Append the unmodified input to FILE
    #[arg(long, value_name = "FILE", help_heading = "Input and output")]
    pub(crate) tee: Option<PathBuf>,

    /// Write to FILE, replacing it once the output is complete; or to a folder: one page per input, and an index
    #[arg(short, long, value_name = "FILE", help_heading = "Input and output")]
    pub(crate) output: Option<PathBuf>,

    /// Save the images of a Markdown page as files in DIR instead of embedding them
    #[arg(long, value_name = "DIR", help_heading = "Input and output")]
    pub(crate) assets: Option<PathBuf>,

    /// Also write the same run to FILE in the format TO, optionally with another profile (TO:PROFILE=FILE); repeatable
    #[arg(long, value_name = "TO=FILE", value_parser = AlsoArg::parse, conflicts_with = "watch", help_heading = "Input and output")]
    pub(crate) also: Vec<AlsoArg>,

    /// Append a Markdown summary of the run to FILE: the answer, failures, cost
    #[arg(long, value_name = "FILE", help_heading = "Input and output")]
    pub(crate) summary: Option<PathBuf>,

    /// Write only the last N characters of the output, starting at a line
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true, help_heading = "Input and output")]
    pub(crate) tail: Option<usize>,

    /// Exit with 1 if the run in the input ended in an error or without a result, if the agent could not save all of its
    /// session, or if no known agent wrote it
    #[arg(long, help_heading = "Input and output")]
    pub(crate) fail: bool,

    /// At the end, print counts of what was read, shown and hidden to standard error
    #[arg(long, help_heading = "Input and output")]
    pub(crate) report: bool,

    #[command(flatten)]
    pub(crate) choice: SettingsChoice,

    /// Reload plugins, profiles and themes when they change: files are re-rendered, streams continue with the new
    /// ones; runs until interrupted
    #[arg(long, help_heading = "Settings")]
    pub(crate) watch: bool,

    /// Use a plugin: a Lua file, a folder with a plugin.toml, a native library (its code has all your rights), or the name of
    /// an installed or built-in plugin; repeatable, later ones take precedence
    #[arg(long, value_name = "PATH", help_heading = "Plugins")]
    pub(crate) plugin: Vec<PathBuf>,

    /// Where to report plugin failures
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = PluginErrors::Stderr, help_heading = "Plugins")]
    pub(crate) plugin_errors: PluginErrors,

    /// Exit with 3 if a plugin fails
    #[arg(long, help_heading = "Plugins")]
    pub(crate) strict_plugins: bool,

    /// Whether native plugins are loaded.
    #[arg(skip = true)]
    pub(crate) native: bool,

    /// The ids of the items that are shown, if not all are.
    #[arg(skip)]
    pub(crate) within: Option<Vec<String>>,

    /// Whether masked secrets are listed.
    #[arg(skip)]
    pub(crate) lists_finds: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProgramCommand {
    /// Run an agent, show what it does and keep everything it writes
    Run(Box<RunArgs>),
    /// List, show and remove recorded sessions
    Sessions(SessionsArgs),
    /// Write a session as a page with its secrets masked, and list them and those that may remain
    Share(Box<ShareArgs>),
    /// Show sessions in the browser, live: prints the address and serves until Ctrl-C
    Serve(Box<ServeArgs>),
    /// List and show profiles
    Profile(ProfileArgs),
    /// List, show, check and preview themes
    Theme(ThemeArgs),
    /// Ask a model for records (JSON Lines that become a tree), and check what it wrote
    Records(RecordsArgs),
    /// Create, check, test, install and list plugins
    Plugin(PluginArgs),
    /// Test plugins, profiles and themes by comparing output with expected files
    Golden(GoldenArgs),
    /// Show which plugins and profile rules apply to a tool or item kind, and where each is defined
    Explain(ExplainArgs),
    /// Show settings and where each is defined, and check settings files
    Config(ConfigArgs),
    /// Show the settings and plugins of a project, and trust or deny them
    Trust(TrustArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginErrors {
    /// Standard error
    Stderr,
    /// In the output, at the item concerned
    Inline,
}

const EXAMPLES: &str = "\
Examples:
  claude -p \"fix the tests\" --output-format stream-json --verbose | streamfmt
  streamfmt run -- claude -p \"fix the tests\"       the same, and keep everything
  streamfmt session.jsonl                           a past session
  streamfmt --profile full session.jsonl            nothing left out
  streamfmt -f                                      the newest session of this folder, as it grows
  streamfmt -f --only failed,reply run.jsonl        a file as it grows: failures and replies only
  streamfmt --to html session.jsonl > session.html  a page to share; markdown for pull requests
  streamfmt --to items run.jsonl | jq .             for programs
  streamfmt --also html=run.html run.jsonl          an HTML page in addition to the text
  streamfmt plugin new mine                         create a plugin with a test";

impl CommandLine {
    /// Reads the command line. Prints help, and reports errors: then the error is the exit code.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, u8> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let mut command = command();
        let parsed =
            command.try_get_matches_from_mut(&arguments).and_then(|found| Self::from_arg_matches(&found));
        parsed.map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let Err(failure) = error.print().and_then(|()| io::stdout().flush()) else { return OK };
                if is_closed(&failure) {
                    return OK;
                }
                print(&format!("can't write standard output: {}", reason(&failure)));
                OUTPUT
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let _ = error.print();
                USAGE
            }
            _ => {
                print_usage(&error, &command, &arguments);
                USAGE
            }
        })
    }
}

impl Args {
    /// A builder with the options that apply to all outputs, and this choice of settings.
    pub(crate) fn builder(&self, choice: &SettingsChoice, files: Files) -> Builder {
        let mut builder = choice
            .builder()
            .dialect(&self.from)
            .only(self.only.iter().cloned())
            .hide(self.hide.iter().cloned())
            .ascii(self.ascii)
            .timestamps(self.timestamps)
            .inline_plugin_errors(self.plugin_errors == PluginErrors::Inline)
            .native(self.native)
            .files(files);
        if self.redact {
            builder = builder.redact(&Redaction::everything());
        }
        if let Some(ids) = &self.within {
            builder = builder.within(ids.iter().cloned());
        }
        for path in &self.plugin {
            builder = builder.plugin(path);
        }
        builder
    }

    /// The requested output format: by name, otherwise by the ending of the output's file.
    pub(crate) fn format(&self) -> Option<&str> {
        let ending = || self.output.as_deref()?.extension()?.to_str();
        self.to.as_deref().or_else(|| {
            let ending = ending()?.to_ascii_lowercase();
            let row = WRITERS.iter().find(|row| row.chosen_by.contains(&&*ending));
            row.map(|row| row.name)
        })
    }

    /// The looks of standard output, or of the file that is written instead.
    pub(crate) fn capabilities(&self) -> OutputCapabilities {
        terminal::capabilities(&TerminalOptions {
            to: self.format(),
            color: self.color,
            width: self.width,
            is_file: self.output.is_some(),
            reads_stdin: self.files.iter().any(|file| file == Path::new("-")),
        })
    }

    /// Whether an output writes to the file at `place`: reading it as well would destroy it or never end.
    pub(crate) fn writes_to(&self, place: &FilePlace) -> bool {
        let main = self.output.as_deref().unwrap_or(Path::new("-"));
        FilePlace::of_text(main).is_same(place)
            || self.outputs().any(|output| FilePlace::of(output).is_same(place))
    }

    /// Whether an option writes to a session file in `folder`, such as that of a sub-agent, which is read with its history.
    pub(crate) fn writes_session_in(&self, folder: &Path) -> bool {
        let Ok(folder) = folder.canonicalize() else { return false };
        let is_session = |path: &Path| is_named_as_session(path) && path.exists();
        self.written().iter().any(|path| path.starts_with(&folder) && is_session(path))
    }

    /// The paths that options write to.
    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        let also = self.also.iter().map(|wanted| &wanted.path);
        [&self.tee, &self.output, &self.summary].into_iter().flatten().chain(also)
    }

    /// The real paths of the files that options write to, whether they exist or not.
    pub(crate) fn written(&self) -> Vec<PathBuf> {
        self.outputs().map(|path| FilePlace::of(path).into_path()).collect()
    }
}

/// An output requested with `--also`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlsoArg {
    /// The output format.
    pub(crate) to: String,
    /// The profile, if it differs from that of the main output.
    pub(crate) profile: Option<String>,
    /// Its file.
    pub(crate) path: PathBuf,
}

impl AlsoArg {
    /// Reads `TO=FILE` or `TO:PROFILE=FILE`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let wanted = "expected TO=FILE or TO:PROFILE=FILE";
        let (what, path) = text.split_once('=').ok_or(wanted)?;
        let (to, profile) = what.split_once(':').map_or((what, None), |(to, profile)| (to, Some(profile)));
        if to.is_empty() || path.is_empty() || profile.is_some_and(str::is_empty) {
            return Err(wanted);
        }
        Ok(Self { to: to.to_owned(), profile: profile.map(str::to_owned), path: path.into() })
    }
}

impl fmt::Display for AlsoArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--also {}", self.to)?;
        if let Some(profile) = &self.profile {
            write!(f, ":{profile}")?;
        }
        write!(f, "={}", self.path.display())
    }
}

/// The description of the command line, for parsing, help, completions and the manual page.
pub(crate) fn command() -> clap::Command {
    CommandLine::command()
        .after_long_help(format!("{EXAMPLES}\n\n{}", reference()))
        .mut_subcommand("run", run::describe)
        .mut_subcommand("share", share::describe)
        .mut_subcommand("sessions", |sessions| sessions.mut_subcommand("show", sessions::describe))
}

/// The short help, without a command.
pub(crate) fn short_help() -> String {
    format!(
        "Readable output for the event streams of coding agents.\n\n\
         Usage: streamfmt [OPTIONS] [FILE]...\n\n{EXAMPLES}\n\nAll options: streamfmt --help"
    )
}

fn dialects() -> NameParser {
    let known = ["auto"].into_iter().chain(DIALECTS.rows.iter().map(|dialect| dialect.name));
    NameParser(known.map(PossibleValue::new).collect())
}

fn writers() -> NameParser {
    NameParser(WRITERS.iter().map(|row| PossibleValue::new(row.name).help(row.about)).collect())
}

/// Known names, for help and completion. Plugins may add others, so any name is accepted here and checked once they
/// are loaded.
#[derive(Clone)]
struct NameParser(Vec<PossibleValue>);

impl TypedValueParser for NameParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}

const EXIT_CODES: &str = "
Exit codes:
  0      formatted
  1      the run ended in an error or without a result (--fail), or a check found a problem
  2      error in usage, set-up or input
  3      a plugin failed (--strict-plugins)
  70     internal error
  74     the output or a copy of the input could not be written
  128+n  ended by signal n";

/// The keys of a profile.
fn reference() -> String {
    let mut text = String::from(
        "Keys of a profile, for files and --set; `streamfmt config explain KEY` describes one:\n",
    );
    text.push_str(&config::reference());
    text.push_str(EXIT_CODES);
    text
}

#[cfg(test)]
mod tests {
    use streamfmt::settings::profile::BUILT_IN;

    use super::*;

    #[test]
    fn the_description_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn the_help_names_the_built_in_profiles_once() {
        let names: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let help = command().render_long_help().to_string();
        assert_eq!(help.matches(&names.join(", ")).count(), 1, "{names:?}");
        assert!(!help.contains("Profiles: "));
    }
}
