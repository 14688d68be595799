//! Completes command lines of Qwen Code so that it writes a stream.

use crate::arguments::StreamOptions;
use streamfmt_core::dialect::launch::Launch;
use streamfmt_core::names::Names;

/// How Qwen Code is launched. Without `--prompt` it opens its interactive screen.
pub(crate) const LAUNCH: Launch =
    Launch { programs: &["qwen"], complete: |arguments, wish| OPTIONS.complete(arguments, wish) };

static OPTIONS: StreamOptions = StreamOptions {
    print: &["-p", "--prompt"],
    print_takes_task: true,
    format: &["-o", "--output-format"],
    live: Some("--include-partial-messages"),
    commands: Names::of("auth channel extensions hooks mcp serve"),
    with_value: Names::of(
        "--allowed-mcp-server-names --allowed-tools --approval-mode --auth-type --exclude-tools -e --extensions \
         --include-directories --input-format --max-session-turns -m --model -i --prompt-interactive \
         --openai-api-key --openai-base-url --session-id",
    ),
    resume: &["--resume", "-r"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::dialect::launch::LaunchWish;

    #[test]
    fn a_command_line_gets_what_it_lacks_and_no_more() {
        for (line, expected) in [
            ("-p fix", Some("-o stream-json --include-partial-messages")),
            ("--auth-type openai -o stream-json -p fix", Some("--include-partial-messages")),
            ("auth status", Some("")),
            ("fix", None),
            ("-p fix -o text", None),
        ] {
            let arguments: Vec<&str> = line.split(' ').collect();
            let plan = (LAUNCH.complete)(&arguments, LaunchWish { is_live: true, version: None });
            assert_eq!(plan.ok().map(|plan| plan.added.join(" ")).as_deref(), expected, "{line}");
        }
    }
}
