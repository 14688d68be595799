//! Completes command lines of Cursor so that it writes a stream.

use crate::arguments::StreamOptions;
use streamfmt_core::dialect::launch::Launch;
use streamfmt_core::names::Names;

/// How Cursor is launched. Without `--print` it opens its interactive screen.
pub(crate) const LAUNCH: Launch =
    Launch { programs: &["cursor-agent"], complete: |arguments, wish| OPTIONS.complete(arguments, wish) };

static OPTIONS: StreamOptions = StreamOptions {
    print: &["-p", "--print"],
    print_takes_task: false,
    format: &["--output-format"],
    live: Some("--stream-partial-output"),
    commands: Names::of(
        "about create-chat help install-shell-integration login logout ls mcp models resume status \
         uninstall-shell-integration update upgrade whoami",
    ),
    with_value: Names::of("--api-key -a --endpoint -e --header -H --mode --model -m --sandbox --workspace"),
    resume: &["--resume"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::dialect::launch::LaunchWish;

    fn completed(line: &str, is_live: bool) -> String {
        let arguments: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        match (LAUNCH.complete)(&arguments, LaunchWish { is_live, version: None }) {
            Ok(plan) => format!("+ {}", plan.added.join(" ")),
            Err(refusal) => format!("{:?}: {}", refusal.why, refusal.instead.join(" ")),
        }
    }

    #[test]
    fn a_command_line_gets_what_it_lacks_and_no_more() {
        for (line, is_live, expected) in [
            ("-p fix", false, "+ --output-format stream-json"),
            ("-p fix", true, "+ --output-format stream-json --stream-partial-output"),
            ("fix --print --output-format=stream-json", false, "+ "),
            ("login", false, "+ "),
            ("--version", false, "+ "),
            ("fix login", false, "Interactive: -p fix login"),
            (
                "-p fix --output-format json",
                false,
                "OtherFormat(\"--output-format json\"): -p fix --output-format stream-json",
            ),
            (
                "--output-format=text fix",
                false,
                "OtherFormat(\"--output-format text\"): -p --output-format=stream-json fix",
            ),
        ] {
            assert_eq!(completed(line, is_live), expected, "{line}");
        }
    }

    #[test]
    fn the_task_and_the_resumed_session_are_neither_options_nor_values_of_others() {
        for (line, task, resumes) in [
            ("-p fix", Some("fix"), None),
            ("--model auto -p --resume 0b9c fix", Some("fix"), Some("0b9c")),
            ("-p --resume=0b9c -- fix", Some("fix"), Some("0b9c")),
            ("-p --model auto", None, None),
        ] {
            let arguments: Vec<&str> = line.split(' ').collect();
            let plan = (LAUNCH.complete)(&arguments, LaunchWish::default()).unwrap();
            assert_eq!((plan.task.as_deref(), plan.resumes.as_deref()), (task, resumes), "{line}");
        }
    }
}
