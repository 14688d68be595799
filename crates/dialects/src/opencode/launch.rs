//! Completes command lines of opencode so that it writes a stream.

use crate::arguments::{before_dashes, has, owned, value_of, words};
use streamfmt_core::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// How opencode is launched. Without `run` it opens its interactive screen.
pub(crate) const LAUNCH: Launch = Launch { programs: &["opencode"], complete };

/// Commands that don't work on a task.
static COMMANDS: Names = Names::of(
    "acp agent auth completion db debug export github import mcp models pr providers serve session stats \
     uninstall upgrade web",
);

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("-h --help -v --version");

/// Options that take one value.
static WITH_VALUE: Names = Names::of(
    "-m --model -s --session --agent --format -f --file --title --attach --port --variant --dir --log-level --command \
     --prompt --hostname -p --password -u --username",
);

fn complete(arguments: &[&str], _: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
    let options = before_dashes(arguments);
    let words = words(options, &WITH_VALUE);
    let is_informational = options.iter().any(|option| INFORMATIONAL.has(option));
    let first = words.first().map(|&at| arguments[at]);
    if is_informational || first.is_some_and(|first| COMMANDS.has(first)) {
        return Ok(LaunchPlan::default());
    }
    let Some(&run) = words.first().filter(|&&at| arguments[at] == "run") else {
        let mut instead = owned(arguments);
        instead.splice(0..0, owned(&["run", "--format", "json"]));
        return Err(LaunchRefusal { why: LaunchObstacle::Interactive, instead });
    };
    let format = value_of(options, &["--format"]);
    if let Some(other) = format.filter(|format| *format != "json") {
        let mut instead = owned(arguments);
        for option in &mut instead {
            if option == other {
                "json".clone_into(option);
            } else if option.strip_prefix("--format=") == Some(other) {
                "--format=json".clone_into(option);
            }
        }
        let why = LaunchObstacle::OtherFormat(format!("--format {other}"));
        return Err(LaunchRefusal { why, instead });
    }
    let added = if format.is_some() || has(options, "--format") { vec![] } else { vec!["--format", "json"] };
    // The words of the task are joined. Even with a task, it reads piped standard input to the end before it begins.
    let behind = arguments.get(options.len() + 1..).unwrap_or_default();
    let task: Vec<&str> = words[1..].iter().map(|&at| arguments[at]).chain(behind.iter().copied()).collect();
    let task = (!task.is_empty()).then(|| task.join(" "));
    let has_task = task.is_some() || has(options, "--command");
    let resumes = value_of(options, &["-s", "--session"]).map(str::to_owned);
    Ok(LaunchPlan { added, at: run + 1, waits_for_stdin: has_task, task, resumes })
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
            ("run fix it", "run --format json fix it < /dev/null"),
            ("run --format json fix", "run --format json fix < /dev/null"),
            ("run --format=json -m a/b fix", "run --format=json -m a/b fix < /dev/null"),
            (
                "--log-level DEBUG run -s ses_1 -- more",
                "--log-level DEBUG run --format json -s ses_1 -- more < /dev/null",
            ),
            ("run --command review", "run --format json --command review < /dev/null"),
            ("run", "run --format json"),
            ("auth login", "auth login"),
            ("--version", "--version"),
        ] {
            assert_eq!(completed(line), expected);
        }
    }

    #[test]
    fn what_is_no_stream_is_refused_with_what_is_one() {
        assert_eq!(completed(""), "Interactive: run --format json");
        assert_eq!(completed("shop"), "Interactive: run --format json shop");
        assert_eq!(
            completed("run --format default fix"),
            r#"OtherFormat("--format default"): run --format json fix"#
        );
    }

    #[test]
    fn the_task_and_the_session_are_found() {
        let arguments = ["run", "-s", "ses_1", "fix", "--model=m", "it"];
        let plan = complete(&arguments, LaunchWish::default()).unwrap();
        assert_eq!((plan.task.as_deref(), plan.resumes.as_deref()), (Some("fix it"), Some("ses_1")));
    }
}
