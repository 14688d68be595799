//! Completes command lines of Copilot so that it writes a stream.

use crate::arguments::{has, owned};
use streamfmt_core::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// How Copilot is launched. Without `--prompt` it opens its interactive screen.
pub(crate) const LAUNCH: Launch = Launch { programs: &["copilot"], complete };

const FORMAT: &str = "--output-format";
const JSON: &str = "json";

/// Commands that don't work on a task.
static COMMANDS: Names = Names::of("help init login logout mcp plugin update version");

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("-h --help -v --version --acp");

fn complete(arguments: &[&str], _: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
    let is_informational = arguments.iter().any(|option| INFORMATIONAL.has(option));
    if is_informational || arguments.first().is_some_and(|first| COMMANDS.has(first)) {
        return Ok(LaunchPlan::default());
    }
    let at = arguments.iter().position(|option| *option == FORMAT);
    let separate = at.and_then(|at| Some((at, 2, *arguments.get(at + 1)?)));
    let joined = arguments
        .iter()
        .enumerate()
        .find_map(|(at, option)| Some((at, 1, option.strip_prefix(FORMAT)?.strip_prefix('=')?)));
    let format = separate.or(joined);
    if let Some((at, count, value)) = format.filter(|(.., value)| *value != JSON) {
        let mut instead = owned(arguments);
        instead.splice(at..at + count, owned(&[FORMAT, JSON]));
        let why = LaunchObstacle::OtherFormat(format!("{FORMAT} {value}"));
        return Err(LaunchRefusal { why, instead });
    }
    if !has(arguments, "--prompt") && !arguments.contains(&"-p") {
        let mut instead = owned(arguments);
        instead.push("-p".to_owned());
        return Err(LaunchRefusal { why: LaunchObstacle::Interactive, instead });
    }
    // The options go before all arguments: after them, they might follow an option that takes any number of values.
    Ok(LaunchPlan {
        added: if format.is_none() { vec![FORMAT, JSON] } else { Vec::new() },
        at: 0,
        waits_for_stdin: false,
        task: value_of(arguments, &["-p", "--prompt"]),
        resumes: value_of(arguments, &["--resume"]),
    })
}

/// Returns the value of an option, behind it or after `=`.
fn value_of(arguments: &[&str], names: &[&str]) -> Option<String> {
    let values = arguments.iter().enumerate().filter_map(|(at, argument)| match argument.split_once('=') {
        Some((name, value)) => names.contains(&name).then_some(value),
        None => arguments.get(at + 1).copied().filter(|_| names.contains(argument)),
    });
    values.into_iter().find(|value| !value.is_empty() && !value.starts_with('-')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete_words(line: &str) -> Result<LaunchPlan, LaunchRefusal> {
        let arguments: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        complete(&arguments, LaunchWish::default())
    }

    fn completed(line: &str) -> String {
        match complete_words(line) {
            Ok(plan) => {
                let mut all: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
                all.splice(plan.at..plan.at, plan.added);
                all.join(" ")
            }
            Err(refusal) => format!("{:?}: {}", refusal.why, refusal.instead.join(" ")),
        }
    }

    #[test]
    fn a_command_line_gets_what_it_lacks_and_no_more() {
        for (line, expected) in [
            ("-p fix", "--output-format json -p fix"),
            ("--prompt=fix --model m", "--output-format json --prompt=fix --model m"),
            ("--output-format json -p fix", "--output-format json -p fix"),
            ("--output-format=json -p fix", "--output-format=json -p fix"),
            ("--version", "--version"),
            ("mcp list", "mcp list"),
            (
                "--output-format text -p fix",
                "OtherFormat(\"--output-format text\"): --output-format json -p fix",
            ),
            ("--model m", "Interactive: --model m -p"),
        ] {
            assert_eq!(completed(line), expected);
        }
    }

    #[test]
    fn the_task_and_the_resumed_session_are_known() {
        for (line, task, resumes) in [
            ("-p fix --resume 1f-2", Some("fix"), Some("1f-2")),
            ("--resume=1f-2 --prompt=fix", Some("fix"), Some("1f-2")),
            ("--resume -p fix", Some("fix"), None),
            ("-p", None, None),
        ] {
            let plan = complete_words(line).unwrap();
            assert_eq!((plan.task.as_deref(), plan.resumes.as_deref()), (task, resumes), "{line}");
        }
    }
}
