//! The command line.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use streamfmt::core::dialect::DIALECTS;
use streamfmt::core::redact::Redaction;
use streamfmt::settings::profile::BUILT_IN;
use streamfmt::writers::WRITERS;
use streamfmt::{Builder, Files, Looks};

use crate::choice::SettingsChoice;
use crate::config::{self, ConfigArgs, ProfileArgs};
use crate::explain::ExplainArgs;
use crate::golden::GoldenArgs;
use crate::message::{OK, USAGE};
use crate::plugin::PluginArgs;
use crate::terminal::{self, LookOptions, When, WhenLive};
use crate::theme::ThemeArgs;
use crate::trust::TrustArgs;
use crate::usage_error::{number, tell_usage};

/// Readable output for the event streams of coding agents.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Parser)]
#[command(
    name = "streamfmt",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<ProgramCommand>,

    /// Files to format, one after the other; standard input if there is none, or for `-`. One that is named like
    /// a command is given as ./NAME
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Show only these: kinds, tools, globs of tools, @actions, `failed`
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What is shown")]
    pub(crate) only: Vec<String>,

    /// Don't show these
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What is shown")]
    pub(crate) hide: Vec<String>,

    /// Show when things happened, as the stream tells, in the local time zone
    #[arg(long, help_heading = "What is shown")]
    pub(crate) timestamps: bool,

    /// Mask tokens, keys, passwords, e-mail addresses and home folders in whatever is written
    #[arg(long, help_heading = "What is shown")]
    pub(crate) redact: bool,

    /// The output format; without it the profile's, or `ansi` on a terminal and `text` elsewhere
    #[arg(long, value_name = "FORMAT", value_parser = writers(), help_heading = "How it looks")]
    pub(crate) to: Option<String>,

    /// Looks on a terminal: the name of a theme or the path of its file; `NAME:light` for light backgrounds
    #[arg(long, value_name = "NAME", help_heading = "How it looks")]
    pub(crate) theme: Option<String>,

    /// Whether there are colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto, help_heading = "How it looks")]
    pub(crate) color: When,

    /// Show replies and calls while they are written: on a terminal by repainting (auto), with --to json as updates
    /// (always)
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = WhenLive::Auto, help_heading = "How it looks")]
    pub(crate) live: WhenLive,

    /// Wrap at this many columns; 0 doesn't wrap
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true, help_heading = "How it looks")]
    pub(crate) width: Option<usize>,

    /// No marks beyond ASCII in texts and on a terminal; pages (markdown, html) keep theirs
    #[arg(long, help_heading = "How it looks")]
    pub(crate) ascii: bool,

    /// Which agent's stream it is
    #[arg(long, value_name = "DIALECT", default_value = "auto", value_parser = dialects(), help_heading = "Input and output")]
    pub(crate) from: String,

    /// Go on as FILE grows, until interrupted, and wait for it if it isn't there; of a folder follow the session that
    /// appeared last; without FILE the newest session of the current folder
    #[arg(short, long, conflicts_with_all = ["output", "tail"], help_heading = "Input and output")]
    pub(crate) follow: bool,

    /// Append every byte of the input to FILE first
    #[arg(long, value_name = "FILE", help_heading = "Input and output")]
    pub(crate) tee: Option<PathBuf>,

    /// Write to FILE, which is replaced once all is written; or to a folder: a page for each input, and an index
    #[arg(short, long, value_name = "FILE", help_heading = "Input and output")]
    pub(crate) output: Option<PathBuf>,

    /// Keep the pictures of a Markdown page as files in the folder DIR, instead of writing them into the page
    #[arg(long, value_name = "DIR", help_heading = "Input and output")]
    pub(crate) assets: Option<PathBuf>,

    /// Write one more output of the same run to FILE, in the format TO, with a profile of its own if one is named
    /// (TO:PROFILE=FILE); several times for several outputs
    #[arg(long, value_name = "TO=FILE", value_parser = AlsoArg::parse, conflicts_with = "watch", help_heading = "Input and output")]
    pub(crate) also: Vec<AlsoArg>,

    /// Append a summary of the run to FILE, as Markdown: the answer, what failed, what it cost
    #[arg(long, value_name = "FILE", help_heading = "Input and output")]
    pub(crate) summary: Option<PathBuf>,

    /// Write only the last N characters of the output, from the start of a line
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true, help_heading = "Input and output")]
    pub(crate) tail: Option<usize>,

    /// Exit with 1 if the run that was read ended in an error
    #[arg(long, help_heading = "Input and output")]
    pub(crate) fail: bool,

    /// Tell at the end, on standard error, what was counted
    #[arg(long, help_heading = "Input and output")]
    pub(crate) report: bool,

    #[command(flatten)]
    pub(crate) choice: SettingsChoice,

    /// Load plugins, profiles and themes anew when they are saved: a file is shown again from its start, a stream
    /// goes on with them; until interrupted
    #[arg(long, help_heading = "Settings")]
    pub(crate) watch: bool,

    /// A plugin: a Lua file, a folder with a plugin.toml, or the name of one that is installed or comes along; later
    /// ones go over earlier ones
    #[arg(long, value_name = "PATH", help_heading = "Plugins")]
    pub(crate) plugin: Vec<PathBuf>,

    /// Where failures of plugins are told
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = PluginErrors::Stderr, help_heading = "Plugins")]
    pub(crate) plugin_errors: PluginErrors,

    /// Exit with 3 if a plugin failed
    #[arg(long, help_heading = "Plugins")]
    pub(crate) strict_plugins: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProgramCommand {
    /// Tell which profiles there are and what they say
    Profile(ProfileArgs),
    /// List, show, check and try themes
    Theme(ThemeArgs),
    /// Make, check, try, install and list plugins
    Plugin(PluginArgs),
    /// Test plugins, profiles and themes: an input, and what is to come out of it
    Golden(GoldenArgs),
    /// Tell which plugins and profiles say something of a tool or a kind, and where they were told to
    Explain(ExplainArgs),
    /// Tell what the settings are, where each was said, and what is wrong with them
    Config(ConfigArgs),
    /// Show what a project brings along, and trust it or deny it
    Trust(TrustArgs),
    /// Write a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual page
    Man,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginErrors {
    /// On standard error
    Stderr,
    /// In the output, where they happened
    Inline,
}

const EXAMPLES: &str = "\
Examples:
  claude -p \"fix the tests\" --output-format stream-json --verbose | streamfmt
  streamfmt session.jsonl                           a past session
  streamfmt --profile full session.jsonl            all of it
  streamfmt -f                                      the newest session of this folder, as it grows
  streamfmt -f --only failed,reply run.jsonl        a file as it grows, the main things
  streamfmt --to html session.jsonl > session.html  a page to share; markdown for pull requests
  streamfmt --to items run.jsonl | jq .             for programs
  streamfmt --also html=run.html run.jsonl          a page beside the text, in the same pass
  streamfmt plugin new mine                         a plugin to begin with, and its test";

impl Args {
    /// Reads the command line. What is wrong with it, or the help it asks for, is told here: then the error
    /// is the exit code.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, u8> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let mut command = command();
        let parsed =
            command.try_get_matches_from_mut(&arguments).and_then(|found| Self::from_arg_matches(&found));
        parsed.map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // A closed pipe is no failure.
                let _ = error.print();
                OK
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let _ = error.print();
                USAGE
            }
            _ => {
                tell_usage(&error, &command, &arguments);
                USAGE
            }
        })
    }

    /// The choices that hold for all outputs, with this choice of settings.
    pub(crate) fn builder(&self, choice: &SettingsChoice, files: Files) -> Builder {
        let mut builder = choice
            .builder()
            .dialect(&self.from)
            .only(self.only.iter().cloned())
            .hide(self.hide.iter().cloned())
            .ascii(self.ascii)
            .timestamps(self.timestamps)
            .inline_plugin_errors(self.plugin_errors == PluginErrors::Inline)
            .files(files);
        if self.redact {
            builder = builder.redact(&Redaction::everything());
        }
        for path in &self.plugin {
            builder = builder.plugin(path);
        }
        builder
    }

    /// What standard output, or the file that is written instead, can show.
    pub(crate) fn looks(&self) -> Looks {
        terminal::looks(&LookOptions {
            to: self.to.as_deref(),
            color: self.color,
            width: self.width,
            is_file: self.output.is_some(),
            reads_stdin: self.files.iter().any(|file| file == Path::new("-")),
        })
    }

    /// Whether `file` is what an option writes to: reading it too would destroy it or never end.
    pub(crate) fn writes_to(&self, file: &Path) -> bool {
        let is_plain = |file: &PathBuf| file.is_file() || !file.exists();
        real_path(file).filter(is_plain).is_some_and(|file| self.written().contains(&file))
    }

    /// The real paths of the files that options write to, whether they are there yet or not.
    pub(crate) fn written(&self) -> Vec<PathBuf> {
        let also = self.also.iter().map(|wanted| &wanted.path);
        let written = [&self.tee, &self.output, &self.summary].into_iter().flatten().chain(also);
        written.filter_map(|path| real_path(path)).collect()
    }
}

/// The real path of a file, or the one that it will have.
fn real_path(file: &Path) -> Option<PathBuf> {
    file.canonicalize().ok().or_else(|| {
        let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(file.file_name()?))
    })
}

/// An output that was asked for with `--also`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlsoArg {
    /// The output format.
    pub(crate) to: String,
    /// The profile, if not the one that holds without the option.
    pub(crate) profile: Option<String>,
    /// Where it goes.
    pub(crate) path: PathBuf,
}

impl AlsoArg {
    /// Reads `TO=FILE` or `TO:PROFILE=FILE`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let wanted = "TO=FILE or TO:PROFILE=FILE is wanted";
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

/// The command line's description, for reading it and for all that is made of it.
pub(crate) fn command() -> clap::Command {
    Args::command().after_long_help(format!("{EXAMPLES}\n\n{}", reference()))
}

/// Tells how to begin.
pub(crate) fn short_help() -> String {
    format!(
        "Readable output for the event streams of coding agents.\n\n\
         Usage: streamfmt [OPTIONS] [FILE]...\n\n{EXAMPLES}\n\nAll options: streamfmt --help"
    )
}

fn dialects() -> NameParser {
    let known = ["auto"].into_iter().chain(DIALECTS.iter().map(|dialect| dialect.name));
    NameParser(known.map(PossibleValue::new).collect())
}

fn writers() -> NameParser {
    NameParser(WRITERS.iter().map(|row| PossibleValue::new(row.name).help(row.about)).collect())
}

/// Known names, for help and completion. Plugins may bring others, so any name is taken here; it is checked once
/// they are loaded.
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
  1      the run ended in an error (--fail), or a check found something
  2      usage, set-up or input
  3      a plugin failed (--strict-plugins)
  70     a bug of streamfmt
  74     the output or the copy could not be written
  128+n  ended by signal n";

/// The profiles and the keys of a profile.
fn reference() -> String {
    let mut text = String::from("Profiles: ");
    text.push_str(&BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
    text.push_str("\n\nKeys of a profile, for files and --set; what each may be tells `streamfmt config explain KEY`:\n");
    text.push_str(&config::reference());
    text.push_str(EXIT_CODES);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_sound() {
        command().debug_assert();
    }
}
