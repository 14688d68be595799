//! Completes command lines of Cline so that it writes a stream.

use crate::arguments::{before_dashes, has, owned, value_of, words};
use streamfmt_core::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// How Cline is launched. Without a task it opens its interactive screen.
pub(crate) const LAUNCH: Launch = Launch { programs: &["cline"], complete };

/// Commands that don't work on a task.
static COMMANDS: Names =
    Names::of("auth checkpoint config connect dev history hook hub mcp schedule update version");

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("-h --help -V --version");

/// Options that take one value.
static WITH_VALUE: Names = Names::of(
    "-P --provider -k --key -m --model -t --timeout -c --cwd -s --system -i --id --auto-approve --thinking --config \
     --data-dir --hooks-dir --retries --compaction --team-name",
);

fn complete(arguments: &[&str], _: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
    let options = before_dashes(arguments);
    let words = words(options, &WITH_VALUE);
    let is_informational = options.iter().any(|option| INFORMATIONAL.has(option));
    if is_informational || words.first().is_some_and(|&first| COMMANDS.has(arguments[first])) {
        return Ok(LaunchPlan::default());
    }
    let is_stream = has(options, "--json");
    let behind = arguments.get(options.len() + 1..).unwrap_or_default();
    let task: Vec<&str> = words.iter().map(|&at| arguments[at]).chain(behind.iter().copied()).collect();
    if task.is_empty() && !is_stream {
        let mut instead = owned(arguments);
        instead.insert(0, "--json".to_owned());
        return Err(LaunchRefusal { why: LaunchObstacle::Interactive, instead });
    }
    let added = if is_stream { vec![] } else { vec!["--json"] };
    let resumes = value_of(options, &["-i", "--id"]).map(str::to_owned);
    // Even with a task, it reads piped standard input to the end before it begins.
    let task = (!task.is_empty()).then(|| task.join(" "));
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
            ("fix it", "--json fix it < /dev/null"),
            ("--json -m m fix", "--json -m m fix < /dev/null"),
            ("-m m -- fix", "--json -m m -- fix < /dev/null"),
            ("--json", "--json"),
            ("auth", "auth"),
            ("--version", "--version"),
            ("", "Interactive: --json"),
            ("-m m", "Interactive: --json -m m"),
        ] {
            assert_eq!(completed(line), expected);
        }
    }
}
