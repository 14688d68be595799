//! Completes command lines of Claude Code so that it writes a stream.

use crate::arguments::{before_dashes, has, owned};
use streamfmt_core::dialect::launch::{Launch, LaunchObstacle, LaunchPlan, LaunchRefusal, LaunchWish};
use streamfmt_core::names::Names;

/// How Claude Code is launched. Without `--print` it opens its interactive screen.
pub(crate) const LAUNCH: Launch = Launch { programs: &["claude"], complete };

const FORMAT: &str = "--output-format";
const STREAM: &str = "stream-json";

/// The first version that can forward the text of sub-agents.
const FORWARDS_SUBAGENTS: [u32; 3] = [2, 1, 211];

/// Commands that don't work on a task.
static COMMANDS: Names = Names::of(
    "agents auth auto-mode config doctor install mcp migrate-installer plugin plugins setup-token update \
     upgrade help",
);

/// Options that print something and exit.
static INFORMATIONAL: Names = Names::of("-h --help -v --version");

fn complete(arguments: &[&str], wish: LaunchWish) -> Result<LaunchPlan, LaunchRefusal> {
    let options = before_dashes(arguments);
    let is_informational = options.iter().any(|option| INFORMATIONAL.has(option));
    if is_informational || arguments.first().is_some_and(|first| COMMANDS.has(first)) {
        return Ok(LaunchPlan::default());
    }
    let is_print = options.iter().any(|option| *option == "--print" || is_short(option, 'p'));
    let format = format_of(options);
    if let Some((at, count, value)) = format.filter(|(.., value)| *value != STREAM) {
        let mut instead = owned(arguments);
        instead.splice(at..at + count, owned(&[FORMAT, STREAM]));
        if !is_print {
            instead.insert(0, "-p".to_owned());
        }
        let why = LaunchObstacle::OtherFormat(format!("{FORMAT} {value}"));
        return Err(LaunchRefusal { why, instead });
    }
    if !is_print {
        let mut instead = owned(arguments);
        instead.insert(0, "-p".to_owned());
        return Err(LaunchRefusal { why: LaunchObstacle::Interactive, instead });
    }
    let mut added = Vec::new();
    if format.is_none() {
        added.extend([FORMAT, STREAM]);
    }
    let can_forward = wish.version.is_some_and(|version| version >= FORWARDS_SUBAGENTS);
    let lacking = [
        ("--verbose", true),
        ("--include-partial-messages", wish.is_live),
        ("--forward-subagent-text", can_forward),
    ];
    added.extend(
        lacking.into_iter().filter(|(option, is_wanted)| *is_wanted && !has(options, option)).map(|it| it.0),
    );
    // The options go before all arguments: after them, they might follow a `--`, or an option that takes any number of values.
    Ok(LaunchPlan {
        added,
        at: 0,
        waits_for_stdin: false,
        task: task(arguments, options),
        resumes: resumed(options),
    })
}

/// Returns the session that `--resume` names.
fn resumed(options: &[&str]) -> Option<String> {
    let at = options.iter().position(|option| ["--resume", "-r"].contains(option));
    let behind = at.and_then(|at| options.get(at + 1)).filter(|word| is_optional_value(word));
    let session =
        behind.copied().or_else(|| options.iter().find_map(|option| option.strip_prefix("--resume=")));
    session.filter(|session| !session.is_empty()).map(str::to_owned)
}

/// Whether a word after an option with an optional value is that value rather than the task: a task usually contains blanks, the name of a
/// session doesn't.
fn is_optional_value(word: &str) -> bool {
    !word.starts_with('-') && !word.contains(' ')
}

/// Options that take one value.
static WITH_VALUE: Names = Names::of(
    "--agent --agents --append-system-prompt --append-system-prompt-file --debug-file --effort \
     --fallback-model --input-format --json-schema --max-budget-usd --max-thinking-tokens --max-turns \
     --model --name -n --output-format --permission-mode --permission-prompt-tool --session-id \
     --setting-sources --settings --system-prompt --system-prompt-file --resume-session-at",
);

/// Options that take any number of values.
static WITH_VALUES: Names = Names::of(
    "--add-dir --allowed-tools --allowedTools --betas --disallowed-tools --disallowedTools --file \
     --mcp-config --tools",
);

/// Options that take an optional value.
static WITH_OPTIONAL_VALUE: Names = Names::of("--resume -r --debug -d");

/// Returns the task: the first word before `--` that is neither an option nor a value of one, or else the word after `--`.
fn task(arguments: &[&str], options: &[&str]) -> Option<String> {
    let mut words = options.iter().peekable();
    while let Some(&word) = words.next() {
        if !word.starts_with('-') {
            return Some(word.to_owned());
        }
        if WITH_VALUE.has(word) {
            words.next();
        } else if WITH_VALUES.has(word) {
            while words.next_if(|word| !word.starts_with('-')).is_some() {}
        } else if WITH_OPTIONAL_VALUE.has(word) {
            words.next_if(|word| is_optional_value(word));
        }
    }
    arguments.get(options.len() + 1).map(|&word| word.to_owned())
}

/// Returns the requested output format: its index, the number of its arguments, and its value.
fn format_of<'a>(options: &[&'a str]) -> Option<(usize, usize, &'a str)> {
    options.iter().enumerate().find_map(|(at, option)| match option.strip_prefix(FORMAT)? {
        "" => Some((at, options[at..].len().min(2), options.get(at + 1).copied().unwrap_or_default())),
        behind => Some((at, 1, behind.strip_prefix('=')?)),
    })
}

/// Whether an argument is a group of short options that contains this one: `-cp`.
fn is_short(option: &str, wanted: char) -> bool {
    let group = option.strip_prefix('-').filter(|group| group.len() < 4);
    group.is_some_and(|group| group.chars().all(char::is_alphabetic) && group.contains(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str, wish: LaunchWish) -> String {
        let arguments: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        match complete(&arguments, wish) {
            Ok(plan) => format!("+ {}", plan.added.join(" ")),
            Err(refusal) => format!("{:?}: {}", refusal.why, refusal.instead.join(" ")),
        }
    }

    #[test]
    fn a_command_line_gets_what_it_lacks_and_no_more() {
        let plain = LaunchWish::default();
        assert_eq!(completed("-p fix", plain), "+ --output-format stream-json --verbose");
        assert_eq!(completed("-cp fix", plain), "+ --output-format stream-json --verbose");
        assert_eq!(completed("--print --verbose --output-format=stream-json fix", plain), "+ ");
        let live = LaunchWish { is_live: true, version: Some([2, 1, 330]) };
        assert_eq!(
            completed("-p fix --verbose", live),
            "+ --output-format stream-json --include-partial-messages --forward-subagent-text"
        );
        let old = LaunchWish { is_live: false, version: Some([2, 1, 90]) };
        assert_eq!(completed("-p -- --verbose", old), "+ --output-format stream-json --verbose");
        assert_eq!(completed("mcp list", plain), "+ ");
        assert_eq!(completed("--version", plain), "+ ");
    }

    #[test]
    fn the_task_is_neither_an_option_nor_a_value_of_one() {
        let task = |line: &str| {
            let arguments: Vec<&str> = line.split(' ').collect();
            complete(&arguments, LaunchWish::default()).unwrap().task
        };
        for line in [
            "-p fix",
            "--model opus -p fix",
            "-p --output-format stream-json --verbose fix",
            "-p --resume 0b9c fix",
            "-p fix --allowedTools Bash Read",
            "-p --allowedTools Bash Read -- fix",
        ] {
            assert_eq!(task(line).as_deref(), Some("fix"), "{line}");
        }
        for line in ["-p", "-p --model opus", "-p --resume 0b9c", "-p --tools Bash Read", "mcp list"] {
            assert_eq!(task(line), None, "{line}");
        }
    }

    #[test]
    fn the_resumed_session_is_named_by_an_option() {
        let resumed = |line: &str| {
            let arguments: Vec<&str> = line.split(' ').collect();
            complete(&arguments, LaunchWish::default()).unwrap().resumes
        };
        for line in
            ["-p --resume 0b9c fix", "-p -r 0b9c --fork-session fix", "-p --resume=0b9c", "--resume 0b9c -p"]
        {
            assert_eq!(resumed(line).as_deref(), Some("0b9c"), "{line}");
        }
        for line in ["-p fix", "-p --resume", "-p --continue fix", "-p -- --resume 0b9c", "-p fix --resume="]
        {
            assert_eq!(resumed(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_stream_is_refused_with_what_is_one() {
        let plain = LaunchWish::default();
        assert_eq!(completed("", plain), "Interactive: -p");
        assert_eq!(completed("--model opus fix", plain), "Interactive: -p --model opus fix");
        assert_eq!(
            completed("-p --output-format json fix", plain),
            "OtherFormat(\"--output-format json\"): -p --output-format stream-json fix"
        );
        assert_eq!(
            completed("--output-format=text fix", plain),
            "OtherFormat(\"--output-format text\"): -p --output-format stream-json fix"
        );
    }
}
