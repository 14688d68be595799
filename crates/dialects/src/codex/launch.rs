//! Completes command lines of Codex so that it writes a stream.

use crate::arguments::{before_dashes, has, owned};
use streamfmt_core::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// How Codex is launched. Without `exec` it opens its interactive screen.
pub(crate) const LAUNCH: Launch = Launch { programs: &["codex"], complete };

/// Commands that don't work on a task.
static COMMANDS: Names = Names::of(
    "app app-server apply cloud completion debug execpolicy features help login logout mcp mcp-server \
     sandbox update",
);

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("-h --help -V --version");

/// Options that take all values up to the next option.
static WITH_VALUES: Names = Names::of("-i --image");

/// Options that take one value.
static WITH_VALUE: Names = Names::of(
    "-c --config -m --model -C --cd -s --sandbox -p --profile -o --output-last-message --output-schema \
     --color --add-dir --enable --disable --local-provider -a --ask-for-approval --remote",
);

fn complete(arguments: &[&str], _: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
    let options = before_dashes(arguments);
    let words = words(options);
    let is_informational = options.iter().any(|option| INFORMATIONAL.has(option));
    let first = words.first().map(|&at| arguments[at]);
    if is_informational || first.is_some_and(|first| COMMANDS.has(first)) {
        return Ok(LaunchPlan::default());
    }
    let Some(&exec) = words.first().filter(|&&at| ["exec", "e"].contains(&arguments[at])) else {
        let mut instead = owned(arguments);
        instead.splice(0..0, owned(&["exec", "--json"]));
        return Err(LaunchRefusal { why: LaunchObstacle::Interactive, instead });
    };
    let is_stream = has(options, "--json") || has(options, "--experimental-json");
    let added = if is_stream { Vec::new() } else { vec!["--json"] };
    // Even with a task on the command line, it reads piped standard input to the end before it begins.
    let has_task = has_task(arguments, options, &words[1..]);
    let asks = words[1..].iter().any(|&at| arguments[at] == "-");
    let task = if has_task { task(arguments, options, &words[1..]) } else { None };
    let resumes = resumed(arguments, options, &words[1..]);
    Ok(LaunchPlan { added, at: exec + 1, waits_for_stdin: has_task && !asks, task, resumes })
}

/// Returns the session to resume, if the command line names it.
fn resumed(arguments: &[&str], options: &[&str], words: &[usize]) -> Option<String> {
    words.first().filter(|&&at| arguments[at] == "resume" && !options.contains(&"--last"))?;
    let session = words.get(1).map(|&at| arguments[at]).filter(|session| *session != "-");
    session.or_else(|| arguments.get(options.len() + 1).copied()).map(str::to_owned)
}

/// Whether the task is on the command line. `words`: the indices of the arguments after `exec` that are no options.
fn has_task(arguments: &[&str], options: &[&str], words: &[usize]) -> bool {
    let is_resumed = words.first().is_some_and(|&at| arguments[at] == "resume");
    let words = &words[usize::from(is_resumed)..];
    // The first word after `resume` is the session, unless `--last` selects it.
    let is_session_missing = is_resumed && !options.contains(&"--last");
    let behind_dashes = arguments.len().saturating_sub(options.len() + 1);
    words.len() + behind_dashes > usize::from(is_session_missing)
}

/// Returns the task on the command line: the last word, unless it is `-`.
fn task(arguments: &[&str], options: &[&str], words: &[usize]) -> Option<String> {
    let behind_dashes = arguments.get(options.len() + 1..).and_then(|behind| behind.last());
    let task = behind_dashes.or_else(|| words.last().map(|&at| &arguments[at]));
    task.filter(|task| **task != "-").map(|task| (*task).to_owned())
}

/// Returns the indices of the arguments that are neither options nor values of options.
fn words(options: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut is_value, mut are_values) = (false, false);
    for (at, option) in options.iter().enumerate() {
        let is_word = *option == "-" || !option.starts_with('-');
        if !is_word {
            are_values = WITH_VALUES.has(option) && !is_value;
        }
        if !std::mem::take(&mut is_value) {
            is_value = WITH_VALUE.has(option);
            if is_word && (!are_values || *option == "-") {
                found.push(at);
            }
        }
    }
    found
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
        assert_eq!(completed("exec fix"), "exec --json fix < /dev/null");
        assert_eq!(completed("-m exec e --json fix"), "-m exec e --json fix < /dev/null");
        assert_eq!(completed("exec resume --last more"), "exec --json resume --last more < /dev/null");
        assert_eq!(completed("exec -- fix"), "exec --json -- fix < /dev/null");
        assert_eq!(completed("exec -m model -"), "exec --json -m model -");
        assert_eq!(completed("exec -m model"), "exec --json -m model");
        assert_eq!(completed("exec -i a.png b.png"), "exec --json -i a.png b.png");
        assert_eq!(
            completed("exec --image a.png -m model fix"),
            "exec --json --image a.png -m model fix < /dev/null"
        );
        assert_eq!(completed("exec --image=a.png fix"), "exec --json --image=a.png fix < /dev/null");
        assert_eq!(completed("login --with-api-key"), "login --with-api-key");
    }

    #[test]
    fn a_resumed_session_gets_its_task_from_standard_input_unless_it_is_on_the_command_line() {
        for (arguments, has_task) in [
            ("exec resume", false),
            ("exec resume --last", false),
            ("exec resume 0193-ab", false),
            ("exec resume --last -", false),
            ("exec resume 0193-ab -", false),
            ("exec --skip-git-repo-check resume --last", false),
            ("exec resume -m model --last -i a.png b.png", false),
            ("exec resume --last more", true),
            ("exec resume more --last", true),
            ("exec resume 0193-ab more", true),
            ("exec resume --last -- more", true),
            ("exec resume 0193-ab -- more", true),
            ("exec resume -- 0193-ab", false),
            ("exec fix resume", true),
        ] {
            let end = if has_task { " < /dev/null" } else { "" };
            let expected = arguments.replacen("exec", "exec --json", 1) + end;
            assert_eq!(completed(arguments), expected);
        }
    }

    #[test]
    fn the_task_is_neither_an_option_nor_a_session() {
        let task = |line: &str| {
            let arguments: Vec<&str> = line.split(' ').collect();
            complete(&arguments, LaunchWish::default()).unwrap().task
        };
        for line in
            ["exec fix", "exec -m o3 fix", "exec resume 0199 fix", "exec resume --last fix", "e -- fix"]
        {
            assert_eq!(task(line).as_deref(), Some("fix"), "{line}");
        }
        for line in ["exec -", "exec", "exec resume 0199", "exec resume --last", "login"] {
            assert_eq!(task(line), None, "{line}");
        }
    }

    #[test]
    fn the_session_that_is_resumed_stands_behind_that_word() {
        let resumed = |line: &str| {
            let arguments: Vec<&str> = line.split(' ').collect();
            complete(&arguments, LaunchWish::default()).unwrap().resumes
        };
        for line in [
            "exec resume 0199 fix",
            "exec -m o3 resume 0199 -",
            "exec resume -- 0199",
            "exec resume 0199 -- fix",
        ] {
            assert_eq!(resumed(line).as_deref(), Some("0199"), "{line}");
        }
        for line in ["exec fix", "exec resume --last fix", "exec resume", "exec fix resume 0199"] {
            assert_eq!(resumed(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_stream_is_refused_with_what_is_one() {
        assert_eq!(completed("fix exec"), "Interactive: exec --json fix exec");
        assert_eq!(completed(""), "Interactive: exec --json");
    }
}
