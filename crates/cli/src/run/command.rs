//! The command line of an agent: adds the options that it lacks for a stream.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use streamfmt::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt::dialect::{DIALECTS, Dialect};

/// A command that starts a known agent.
pub(super) struct AgentCommand {
    pub(super) dialect: &'static Dialect,
    launch: &'static Launch,
    /// The index of the agent's first own argument.
    start: usize,
}

impl AgentCommand {
    /// The agent that a command starts: the one given by name, otherwise the one whose program is run. An error is a message.
    pub(super) fn of(command: &[OsString], agent: Option<&str>) -> Result<Option<Self>, String> {
        let known = || DIALECTS.rows.iter().filter_map(|dialect| Some((dialect, dialect.launch.as_ref()?)));
        if let Some(name) = agent {
            let Some((dialect, launch)) = known().find(|(dialect, _)| dialect.name == name) else {
                let names: Vec<&str> = known().map(|(dialect, _)| dialect.name).collect();
                return Err(format!("--agent can't be \"{name}\" (one of: {})", names.join(", ")));
            };
            // After its name if that is a word of the command; otherwise the first word starts it.
            let at = command.iter().position(|word| launch.programs.contains(&&*base_name(word)));
            return Ok(Some(Self { dialect, launch, start: at.map_or(command.len().min(1), |at| at + 1) }));
        }
        let name = command.first().map(|word| base_name(word)).unwrap_or_default();
        let found = known().find(|(_, launch)| launch.programs.contains(&&*name));
        Ok(found.map(|(dialect, launch)| Self { dialect, launch, start: 1 }))
    }

    /// A known agent whose program is a later word of a command, which may start it: `timeout 60 claude`.
    pub(super) fn named_in(command: &[OsString]) -> Option<&'static str> {
        let known = || DIALECTS.rows.iter().filter_map(|dialect| Some((dialect, dialect.launch.as_ref()?)));
        command.iter().skip(1).find_map(|word| {
            let name = base_name(word);
            known().find(|(_, launch)| launch.programs.contains(&&*name)).map(|(dialect, _)| dialect.name)
        })
    }

    /// Adds the missing options. An error is a message.
    pub(super) fn complete(&self, command: &mut Vec<OsString>, is_live: bool) -> Result<LaunchPlan, String> {
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let is_named = self.launch.programs.contains(&&*base_name(&command[self.start - 1]));
        let script = ShellScript::of(&words).filter(|_| !is_named);
        if let Some(script) = &script
            && let Some(end) = script.end_of_program(self.launch.programs)
        {
            return self.check_script(&words, script, end);
        }
        let arguments: Vec<&str> = words[self.start..].iter().map(String::as_str).collect();
        let version = self.start.checked_sub(1).and_then(|at| program_version(&command[at]));
        let plan = (self.launch.complete)(&arguments, LaunchWish { is_live, version });
        if plan.is_err() && script.is_some() {
            // What the script starts, and with which options, isn't known.
            return Ok(LaunchPlan::default());
        }
        let plan = plan.map_err(|refusal| {
            let why = match refusal.why {
                LaunchObstacle::Interactive => "an interactive command can't be recorded".to_owned(),
                LaunchObstacle::OtherFormat(option) => format!("{option} is not an event stream"),
            };
            let working: Vec<String> =
                words[..self.start].iter().chain(&refusal.instead).map(|word| quoted(word)).collect();
            format!(
                "{why}; use: streamfmt run -- {} (for interactive sessions: streamfmt --follow)",
                working.join(" ")
            )
        })?;
        // If another program starts the agent, that program's options come first.
        let at = if is_named { self.start + plan.at } else { self.end_of_options(&words) };
        command.splice(at..at, plan.added.iter().map(OsString::from));
        Ok(plan)
    }

    /// Checks the script of a shell, to which no options are added. `end`: where the agent's name ends in it. An error is a message.
    fn check_script(
        &self,
        words: &[String],
        script: &ShellScript<'_>,
        end: usize,
    ) -> Result<LaunchPlan, String> {
        let arguments: Vec<&str> = script.text[end..].split_whitespace().collect();
        let wish = LaunchWish { is_live: false, version: None };
        let (why, at, missing) = match (self.launch.complete)(&arguments, wish) {
            Ok(plan) if plan.added.is_empty() => return Ok(plan),
            Ok(plan) => ("the options for a stream are missing", plan.at, plan.added.join(" ")),
            Err(LaunchRefusal { why: LaunchObstacle::OtherFormat(option), .. }) => {
                return Err(format!("{option} in the command of {} is not an event stream", words[0]));
            }
            Err(refusal) => {
                let added = refusal.instead.len().saturating_sub(arguments.len());
                let mut missing: Vec<&str> = refusal.instead[..added].iter().map(String::as_str).collect();
                let arguments: Vec<&str> = missing.iter().chain(&arguments).copied().collect();
                let plan = (self.launch.complete)(&arguments, wish).unwrap_or_default();
                missing.splice(plan.at.min(added)..plan.at.min(added), plan.added);
                ("an interactive command can't be recorded", 0, missing.join(" "))
            }
        };
        let mut working: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let at =
            at.checked_sub(1).and_then(|last| arguments.get(last)).map_or(end, |word| script.end_of(word));
        let (before, behind) = script.text.split_at(at);
        working[script.at] = quoted(&format!("{before} {missing}{behind}"));
        let name = self.dialect.name;
        Err(format!("{why}; use: streamfmt run --agent {name} -- {}", working.join(" ")))
    }

    fn end_of_options(&self, words: &[String]) -> usize {
        words.iter().skip(self.start).position(|word| word == "--").map_or(words.len(), |at| self.start + at)
    }
}

/// The script in a command such as `sh -c 'claude -p x'`.
struct ShellScript<'a> {
    text: &'a str,
    /// Its index in the words of the command.
    at: usize,
}

impl<'a> ShellScript<'a> {
    fn of(words: &'a [String]) -> Option<Self> {
        let shell = base_name(OsStr::new(words.first()?));
        let is_script_next =
            |option: &String| option.starts_with('-') && !option.starts_with("--") && option.ends_with('c');
        let at = words.iter().position(is_script_next).filter(|_| SHELLS.contains(&&*shell))? + 1;
        Some(Self { text: words.get(at)?, at })
    }

    /// Returns the end of the first word of the script that is one of these programs.
    fn end_of_program(&self, programs: &[&str]) -> Option<usize> {
        let mut words = self.text.split_whitespace();
        Some(self.end_of(words.find(|word| programs.contains(&&*base_name(OsStr::new(word))))?))
    }

    /// Returns the end of a word in the script. The word must be a slice of the script's text.
    fn end_of(&self, word: &str) -> usize {
        word.as_ptr() as usize - self.text.as_ptr() as usize + word.len()
    }
}

/// Programs that run the word after `-c` as a script.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];

/// The name of a program without folder and extension.
pub(super) fn base_name(word: &OsStr) -> String {
    let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned();
    [".exe", ".cmd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name).to_owned()
}

/// A word, quoted for a shell if needed.
fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=:,@%+".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The version of a program, from its path (a folder or file named after it) or from a `package.json` beside it.
fn program_version(program: &OsStr) -> Option<[u32; 3]> {
    let path = find(Path::new(program))?;
    let in_path = path.iter().rev().find_map(|part| version(part.to_str()?));
    in_path.or_else(|| {
        let package =
            path.ancestors().skip(1).take(2).find_map(|it| fs::read(it.join("package.json")).ok())?;
        let package: serde_json::Value = serde_json::from_slice(&package).ok()?;
        version(package.get("version")?.as_str()?)
    })
}

fn version(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.split('.').map(str::parse::<u32>);
    let mut next = || numbers.next()?.ok();
    let found = [next()?, next()?, next()?];
    numbers.next().is_none().then_some(found)
}

/// The path of a program's file.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.canonicalize().ok();
    }
    let folders = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join(program));
    found.find(|path| path.is_file())?.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_a_shell_is_the_word_behind_its_short_option_c() {
        let script = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            ShellScript::of(&words).map(|script| (script.at, script.text.to_owned()))
        };
        for (line, at) in [("sh -c claude", 2), ("/bin/bash -lc claude", 2), ("bash --norc -c claude", 3)] {
            assert_eq!(script(line), Some((at, "claude".to_owned())), "{line}");
        }
        for line in ["claude -c x", "sh script", "bash --norc", "sh -c"] {
            assert_eq!(script(line), None, "{line}");
        }
    }
}
