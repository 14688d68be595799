//! Completes command lines of Gemini CLI so that it writes a stream.

use crate::arguments::StreamOptions;
use streamfmt_core::dialect::launch::Launch;
use streamfmt_core::names::Names;

/// How Gemini CLI is launched. Without `--prompt` it opens its interactive screen.
pub(crate) const LAUNCH: Launch =
    Launch { programs: &["gemini"], complete: |arguments, wish| OPTIONS.complete(arguments, wish) };

static OPTIONS: StreamOptions = StreamOptions {
    print: &["-p", "--prompt"],
    print_takes_task: true,
    format: &["-o", "--output-format"],
    live: None,
    commands: Names::of("extensions hooks mcp skills"),
    with_value: Names::of(
        "--allowed-mcp-server-names --allowed-tools --approval-mode --delete-session -e --extensions \
         --include-directories -m --model -i --prompt-interactive --policy",
    ),
    resume: &["--resume", "-r"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::dialect::launch::LaunchWish;

    fn completed(line: &str) -> String {
        let arguments: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        match (LAUNCH.complete)(&arguments, LaunchWish { is_live: true, version: None }) {
            Ok(plan) => {
                let task = plan.task.map(|task| format!(" task {task}")).unwrap_or_default();
                let resumes = plan.resumes.map(|it| format!(" resumes {it}")).unwrap_or_default();
                format!("+ {}{task}{resumes}", plan.added.join(" "))
            }
            Err(refusal) => format!("{:?}: {}", refusal.why, refusal.instead.join(" ")),
        }
    }

    #[test]
    fn a_command_line_gets_what_it_lacks_and_no_more() {
        for (line, expected) in [
            ("-p fix", "+ -o stream-json task fix"),
            ("-m pro --prompt=fix -r latest", "+ -o stream-json task fix resumes latest"),
            ("-o stream-json -p fix", "+  task fix"),
            ("mcp list", "+ "),
            ("--help", "+ "),
            ("-m pro fix", "Interactive: -m pro -p fix"),
            ("-p fix -o json", "OtherFormat(\"-o json\"): -p fix -o stream-json"),
            ("", "Interactive: -p"),
        ] {
            assert_eq!(completed(line), expected, "{line}");
        }
    }
}
