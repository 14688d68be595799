//! Reports errors in the command line, in the words of this program.
//!
//! Each is one line, which names the help; a suggestion is a line of its own below.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::IntErrorKind;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use streamfmt::core::nearest::nearest;
use streamfmt::golden::report::word;

use crate::message::{print, print_below};

/// Reports `error`, which `command` returned for `arguments`.
pub(crate) fn print_usage(error: &Error, command: &Command, arguments: &[OsString]) {
    let asked = CommandPath::of(command, arguments);
    let help: Vec<&str> = [command.get_name()].into_iter().chain(asked.path.clone()).collect();
    print(&format!("{}; see {} --help", asked.wrong(error), help.join(" ")));
    let meant = asked.agent_meant(error, arguments, command).or_else(|| asked.meant(error, arguments));
    if let Some(meant) = meant {
        print_below(&format!("did you mean {meant}?"));
    }
}

/// A hint for a `word` that was taken for the name of a file that doesn't exist, if a command below `command` may be meant.
pub(crate) fn command_meant(word: &str, command: &Command) -> Option<String> {
    if word == "help" {
        return Some("did you mean --help?".to_owned());
    }
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    if names.contains(&word) {
        return Some(format!("the command \"{word}\" must come before all options and files"));
    }
    Some(format!("did you mean the command \"{}\"?", nearest(word, &names)?))
}

/// Reads the number of an option.
pub(crate) fn number(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "expected a smaller number",
        _ => "expected an integer ≥ 0",
    })
}

/// The command that the arguments name, and its path from the program.
struct CommandPath<'c> {
    command: &'c Command,
    path: Vec<&'c str>,
}

impl<'c> CommandPath<'c> {
    fn of(command: &'c Command, arguments: &[OsString]) -> Self {
        let mut asked = Self { command, path: Vec::new() };
        for argument in arguments.iter().skip(1) {
            let Some(command) = asked.command.find_subcommand(argument) else { break };
            asked.path.push(command.get_name());
            asked.command = command;
        }
        asked
    }

    /// The error in one sentence.
    fn wrong(&self, error: &Error) -> String {
        let of = |kind| text(error, kind).unwrap_or_default();
        let (argument, value) = (of(ContextKind::InvalidArg), of(ContextKind::InvalidValue));
        let option = name(&argument);
        let is_program = self.path.is_empty();
        let path = if is_program { "streamfmt".to_owned() } else { self.path.join(" ") };
        match error.kind() {
            ErrorKind::UnknownArgument if argument.starts_with('-') && is_program => {
                format!("unknown option {argument}")
            }
            ErrorKind::UnknownArgument if argument.starts_with('-') => {
                format!("{path} has no option {argument}")
            }
            ErrorKind::UnknownArgument => format!("\"{argument}\" is an unexpected argument of {path}"),
            ErrorKind::InvalidValue if value.is_empty() && !argument.starts_with('-') => {
                format!("{option} can't be empty")
            }
            ErrorKind::InvalidValue if value.is_empty() => {
                format!("{option} needs a value{}", one_of(&list(error, ContextKind::ValidValue)))
            }
            ErrorKind::InvalidValue => {
                format!("{option} can't be \"{value}\"{}", one_of(&list(error, ContextKind::ValidValue)))
            }
            ErrorKind::ValueValidation => {
                let why = error.source().map(|why| format!(" ({why})")).unwrap_or_default();
                format!("{option} can't be \"{value}\"{why}")
            }
            ErrorKind::TooManyValues => format!("{option} takes no value, but got \"{value}\""),
            ErrorKind::ArgumentConflict => match text(error, ContextKind::PriorArg) {
                Some(other) if other == argument => format!("{option} is given more than once"),
                Some(other) => format!("{option} and {} can't be combined", name(&other)),
                None => format!("{option} can't be combined with the other options"),
            },
            ErrorKind::MissingRequiredArgument => {
                let missing = list(error, ContextKind::InvalidArg).join(" and ");
                format!("{path} wants {missing}")
            }
            ErrorKind::InvalidSubcommand => {
                let wanted = of(ContextKind::InvalidSubcommand);
                format!("{path} has no command \"{wanted}\"{}", one_of(&self.commands()))
            }
            ErrorKind::InvalidUtf8 => "an argument is not valid UTF-8".to_owned(),
            other => other.as_str().unwrap_or("invalid command line").to_owned(),
        }
    }

    /// The suggested command line for a `run` without `--` before the agent.
    fn agent_meant(&self, error: &Error, arguments: &[OsString], command: &Command) -> Option<String> {
        let unexpected = text(error, ContextKind::InvalidArg)?;
        if self.path != ["run"] || error.kind() != ErrorKind::UnknownArgument || unexpected.starts_with('-') {
            return None;
        }
        let meant = (2..arguments.len()).filter(|at| arguments[*at] == *unexpected).find_map(|at| {
            let mut meant = arguments.to_vec();
            meant.insert(at, "--".into());
            // The same word may be the value of an option.
            command.clone().try_get_matches_from(&meant).is_ok().then_some(meant)
        })?;
        let words: Vec<String> = meant.iter().skip(1).map(|part| word(&part.to_string_lossy())).collect();
        Some(format!("{} {}", command.get_name(), words.join(" ")))
    }

    /// A suggestion, if there is one.
    fn meant(&self, error: &Error, arguments: &[OsString]) -> Option<String> {
        if let Some(option) = arguments.iter().find_map(|argument| self.with_one_dash(argument.to_str()?)) {
            return Some(option);
        }
        if let Some(value) = text(error, ContextKind::SuggestedValue) {
            return Some(format!("\"{value}\""));
        }
        if let Some(wanted) = text(error, ContextKind::InvalidSubcommand) {
            let commands = self.commands();
            let known = |name: &&str| commands.contains(name);
            let same = SYNONYMS.iter().find(|(word, _)| *word == wanted).map(|(_, name)| *name).filter(known);
            let name = same.or_else(|| nearest(&wanted, &commands))?;
            return Some(format!("\"{}\"", [self.path.clone(), vec![name]].concat().join(" ")));
        }
        let typed = text(error, ContextKind::InvalidArg)?;
        let typed = typed.trim_start_matches('-');
        // The parser also suggests options that are hardly similar.
        text(error, ContextKind::SuggestedArg).filter(|option| {
            let option = option.trim_start_matches('-');
            nearest(typed, &[option]).is_some() || typed.contains(option) || option.starts_with(typed)
        })
    }

    /// The names of the commands below this one.
    fn commands(&self) -> Vec<&'c str> {
        self.command.get_subcommands().map(Command::get_name).collect()
    }

    /// The option that was typed with one dash, so each of its letters was taken for an option.
    fn with_one_dash(&self, argument: &str) -> Option<String> {
        let word = argument.strip_prefix('-').filter(|word| word.len() > 1)?;
        let mut options = self.command.get_arguments().filter_map(clap::Arg::get_long);
        options.find(|option| *option == word).map(|option| format!("--{option}"))
    }
}

/// Names that commands have in other programs, and their names here.
const SYNONYMS: [(&str, &str); 7] = [
    ("install", "add"),
    ("get", "add"),
    ("uninstall", "remove"),
    ("delete", "remove"),
    ("rm", "remove"),
    ("ls", "list"),
    ("create", "new"),
];

/// A part of an error as text; of a list, its first element.
fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(all) => all.first().cloned(),
        _ => None,
    }
}

/// A part of an error as a list.
fn list(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(all)) => all.clone(),
        _ => Vec::new(),
    }
}

/// An option without its value, `--width` of `--width <N>`, or a value without its brackets.
fn name(argument: &str) -> &str {
    argument.split(' ').next().unwrap_or_default().trim_matches(|sign| "[<>].".contains(sign))
}

fn one_of<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { String::new() } else { format!(" (one of: {})", names.join(", ")) }
}
