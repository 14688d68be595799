//! Completes command lines of pi so that it writes a stream.

use crate::arguments::{before_dashes, has, owned, value_of, words};
use streamfmt_core::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// How pi is launched. Without `--print` or `--mode` it opens its interactive screen.
pub(crate) const LAUNCH: Launch = Launch { programs: &["pi"], complete };

/// Commands that don't work on a task.
static COMMANDS: Names = Names::of("config install list remove uninstall update");

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("--export --help --list-models --version -h -v");

/// Options that take one value.
static WITH_VALUE: Names = Names::of(
    "--api-key --append-system-prompt --export --extension --fork --mode --model --models --prompt-template --provider \
     --session --session-dir --skill --system-prompt --theme --thinking --tools -e -t",
);

fn complete(arguments: &[&str], _: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
    let options = before_dashes(arguments);
    let words = words(options, &WITH_VALUE);
    let is_informational = options.iter().any(|option| INFORMATIONAL.has(option));
    if is_informational || words.first().is_some_and(|&first| COMMANDS.has(arguments[first])) {
        return Ok(LaunchPlan::default());
    }
    let mode = value_of(options, &["--mode"]);
    let is_print = has(options, "-p") || has(options, "--print");
    let added = match mode {
        Some("json") => vec![],
        None if is_print => vec!["--mode", "json"],
        other => {
            let mut instead: Vec<&str> = arguments.to_vec();
            let at = options.iter().position(|option| *option == "--mode");
            let why = match (other, at) {
                (None, _) => {
                    instead.splice(0..0, ["--mode", "json"]);
                    LaunchObstacle::Interactive
                }
                (Some(mode), at) => {
                    match at {
                        Some(at) => instead[at + 1] = "json",
                        None => instead.retain(|option| !option.starts_with("--mode=")),
                    }
                    LaunchObstacle::OtherFormat(format!("--mode {mode}"))
                }
            };
            return Err(LaunchRefusal { why, instead: owned(&instead) });
        }
    };
    // Each word is a task of its own. Even with one, it reads piped standard input to the end before it begins.
    let behind = arguments.get(options.len() + 1..).unwrap_or_default();
    let mut tasks = words.iter().map(|&at| arguments[at]).chain(behind.iter().copied());
    let task = tasks.find(|word| !word.starts_with('@')).map(str::to_owned);
    let resumes = value_of(options, &["--session"]).map(str::to_owned);
    Ok(LaunchPlan { added, at: 0, waits_for_stdin: task.is_some(), task, resumes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str) -> String {
        let arguments: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        match complete(&arguments, LaunchWish::default()) {
            Ok(plan) => {
                let mut all = arguments;
                all.splice(plan.at..plan.at, plan.added);
                format!("{}{}", all.join(" "), if plan.waits_for_stdin { " < /dev/null" } else { "" })
            }
            Err(refusal) => format!("{:?}: {}", refusal.why, refusal.instead.join(" ")),
        }
    }

    #[test]
    fn a_command_line_gets_what_it_lacks_and_no_more() {
        for (line, expected) in [
            ("--mode json fix", "--mode json fix < /dev/null"),
            ("-p fix", "--mode json -p fix < /dev/null"),
            ("--model m -p", "--mode json --model m -p"),
            ("list", "list"),
            ("--version", "--version"),
        ] {
            assert_eq!(completed(line), expected);
        }
    }

    #[test]
    fn what_is_no_stream_is_refused_with_what_is_one() {
        assert_eq!(completed("fix"), "Interactive: --mode json fix");
        assert_eq!(completed("--mode rpc"), r#"OtherFormat("--mode rpc"): --mode json"#);
    }
}
