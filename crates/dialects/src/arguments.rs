//! Helpers for the command lines of agents.

use streamfmt_core::dialect::launch::{LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// Returns the arguments before `--`: only these can be options.
pub(crate) fn before_dashes<'a>(arguments: &'a [&'a str]) -> &'a [&'a str] {
    let end = arguments.iter().position(|argument| *argument == "--");
    &arguments[..end.unwrap_or(arguments.len())]
}

/// Whether the arguments contain an option, with or without a value after `=`.
pub(crate) fn has(arguments: &[&str], option: &str) -> bool {
    arguments.iter().any(|argument| argument.split('=').next() == Some(option))
}

/// Copies the arguments.
pub(crate) fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

/// The options of a program that writes a stream in the format `stream-json`, once it is told not to run interactively.
pub(crate) struct StreamOptions {
    /// The options that make it run without a person, the shortest first.
    pub(crate) print: &'static [&'static str],
    /// Whether the value of such an option is the task.
    pub(crate) print_takes_task: bool,
    /// The options that choose the format of its output.
    pub(crate) format: &'static [&'static str],
    /// The option for messages while they are being written, if it has one.
    pub(crate) live: Option<&'static str>,
    /// Commands that don't work on a task.
    pub(crate) commands: Names,
    /// Options that take a value, besides those above.
    pub(crate) with_value: Names,
    /// The options that name the session to resume.
    pub(crate) resume: &'static [&'static str],
}

/// The format of a stream.
const STREAM: &str = "stream-json";

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("-h --help -v --version");

impl StreamOptions {
    /// Finds the arguments that a command line lacks.
    pub(crate) fn complete(&self, arguments: &[&str], wish: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
        let options = before_dashes(arguments);
        let words = self.words(options);
        let is_command = words.first().is_some_and(|&first| first == 0 && self.commands.has(options[0]));
        if is_command || options.iter().any(|option| INFORMATIONAL.has(option)) {
            return Ok(LaunchPlan::default());
        }
        let print = self.value_of(options, self.print);
        let format = self.value_of(options, self.format);
        let mut instead = owned(arguments);
        if print.is_none() {
            // The option goes before the task, which may be its value.
            let at = if self.print_takes_task { words.first().copied().unwrap_or(0) } else { 0 };
            instead.insert(at, self.print[0].to_owned());
        }
        if let Some((_, value)) = format.filter(|(_, value)| *value != Some(STREAM)) {
            for argument in &mut instead {
                // The value is an argument of its own, or behind the option's `=`.
                if Some(&**argument) == value {
                    STREAM.clone_into(argument);
                } else if let Some((option, _)) = argument.split_once('=')
                    && self.format.contains(&option)
                {
                    *argument = format!("{option}={STREAM}");
                }
            }
            let format = format!("{} {}", self.format[0], value.unwrap_or_default());
            return Err(LaunchRefusal { why: LaunchObstacle::OtherFormat(format), instead });
        }
        let Some((_, task)) = print else {
            return Err(LaunchRefusal { why: LaunchObstacle::Interactive, instead });
        };
        let mut added = Vec::new();
        if format.is_none() {
            added.extend([self.format[0], STREAM]);
        }
        added.extend(self.live.filter(|live| wish.is_live && !has(options, live)));
        let word = words.first().map(|&at| arguments[at]).or(arguments.get(options.len() + 1).copied());
        let resumed = self.value_of(options, self.resume).and_then(|(_, session)| session);
        Ok(LaunchPlan {
            added,
            at: 0,
            waits_for_stdin: false,
            task: task.filter(|_| self.print_takes_task).or(word).map(str::to_owned),
            resumes: resumed.filter(|session| !session.is_empty()).map(str::to_owned),
        })
    }

    /// Returns the index and the value of the first of these options. An option without a value has none.
    fn value_of<'a>(&self, arguments: &[&'a str], names: &[&str]) -> Option<(usize, Option<&'a str>)> {
        arguments.iter().enumerate().find_map(|(at, argument)| match argument.split_once('=') {
            Some((option, value)) => names.contains(&option).then_some((at, Some(value))),
            None if names.contains(argument) => {
                let next = arguments.get(at + 1).filter(|next| !next.starts_with('-'));
                Some((at, next.copied()))
            }
            None => None,
        })
    }

    /// Returns the indices of the arguments that are neither options nor values of options.
    fn words(&self, options: &[&str]) -> Vec<usize> {
        let takes_value = |option: &str| {
            self.format.contains(&option)
                || self.resume.contains(&option)
                || self.with_value.has(option)
                || self.print_takes_task && self.print.contains(&option)
        };
        let mut words = Vec::new();
        let mut is_value = false;
        for (at, option) in options.iter().enumerate() {
            if option.starts_with('-') {
                is_value = takes_value(option);
            } else if !std::mem::take(&mut is_value) {
                words.push(at);
            }
        }
        words
    }
}

/// Returns the value of the last of these options.
pub(crate) fn value_of<'a>(options: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let value = |(at, option): (usize, &&'a str)| match option.split_once('=') {
        Some((name, value)) => names.contains(&name).then_some(value),
        None => options.get(at + 1).copied().filter(|_| names.contains(option)),
    };
    options.iter().enumerate().filter_map(value).next_back()
}

/// Returns the indices of the arguments that are neither options nor values of options. `with_value`: the options that take one.
pub(crate) fn words(options: &[&str], with_value: &Names) -> Vec<usize> {
    let mut is_value = false;
    let mut found = Vec::new();
    for (at, option) in options.iter().enumerate() {
        if !std::mem::take(&mut is_value) {
            is_value = with_value.has(option);
            found.extend((!option.starts_with('-')).then_some(at));
        }
    }
    found
}
