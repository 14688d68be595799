//! Text that Codex adds: the head of an output for the model, and messages that the user didn't write.
//!
//! ```text
//! Chunk ID: 9665d3                      Exit code: 0             {"output":"…","metadata":{"exit_code":0}}
//! Wall time: 0.0000 seconds             Wall time: 0.4 seconds
//! Process exited with code 0            Output:
//! Original token count: 15              …
//! Output:
//! …
//! ```
//!
//! From 0.114 to 0.119 the first of these forms begins with `Command: ` and the command line, which may have several lines. A text without
//! a known head says nothing about success: the call counts as failed only if the text begins with a known sentence about a failure.

use std::borrow::Cow;

use streamfmt_core::item::{Content, Fact, Item, ToolKind};
use streamfmt_core::json::{Record, Value};
use streamfmt_core::text::Text;

use super::{command, errors, result, tools};

/// The last line of the head.
const OUTPUT: &str = "Output:";
const CHUNK: &str = "Chunk ID: ";
const WALL: [&str; 2] = ["Wall time: ", "Wall time "];
const COUNT: [&str; 2] = ["Original token count: ", "Total output lines: "];
/// The beginning of the command line, above the rest of the head.
const COMMAND: &str = "Command: ";
/// The most lines of a head.
const MAX_HEAD: usize = 12;
const EXITED: [&str; 2] = ["Process exited with code ", "Exit code: "];
const RUNNING: &str = "Process running with session ID ";
/// Further lines of a head: the state of a script that called other tools.
const SCRIPT: [&str; 3] = ["Script completed", "Script failed", "Script running"];

/// The beginnings of results of calls that the sandbox or the user's settings did not allow.
const REFUSED: [&str; 3] = ["patch rejected: ", "approval policy is ", "exec command rejected by "];
/// In versions before 0.80: the beginning of a result of a command that failed in the sandbox, whatever the cause.
const SANDBOX: &str = "failed in sandbox";
/// The text before the exit code, the standard output and the standard error in such a result.
const SANDBOXED: [&str; 3] = ["exit code: ", ", stdout: ", ", stderr: "];
/// In 0.120: the beginning of a result of a command that the sandbox did not allow.
const UNRUN: &str = "exec_command failed for `";
/// The text before the reason in such a result.
const DENIED: &str = "SandboxDenied { message: \"";
const STOPPED: &str = "aborted by user";
/// The beginnings of other results of failed calls, whatever their tool.
const FAILED: [&str; 5] = [
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments",
    "tool call error: ",
    SCRIPT[1],
];
/// The beginnings of results of failed commands that have no head.
const FAILED_COMMAND: [&str; 5] =
    [SANDBOX, UNRUN, "execution error: ", "command timed out after ", "write_stdin failed: "];
/// The beginnings of results of patches that weren't applied.
const FAILED_PATCH: [&str; 6] = [
    "apply_patch verification failed",
    "apply_patch handler received",
    "error: ",
    "Invalid patch",
    "Failed to ",
    SANDBOX,
];
/// The result of a patch that was applied.
const PATCHED: &str = "Success. Updated the following files:";
const PLANNED: &str = "Plan updated";

/// The beginnings of messages that the program writes in the user's role.
const MADE: [&str; 2] = ["<", "# AGENTS.md instructions"];

/// Returns the sentences that no code outside this dialect may contain.
pub(crate) fn sentences() -> Vec<&'static str> {
    let single = [
        CHUNK,
        COUNT[0],
        RUNNING,
        STOPPED,
        PATCHED,
        PLANNED,
        EXITED[0],
        MADE[1],
        SANDBOX,
        UNRUN,
        DENIED,
        FAILED_COMMAND[4],
        FAILED_PATCH[0],
        errors::RETRY,
        errors::OLD_RETRY[1],
    ];
    [&single[..], &REFUSED, &FAILED].concat()
}

/// Returns the JSON of the answers in a message, if it has what a person answered to questions that the agent didn't wait for.
pub(super) fn late_answers(message: &str) -> Option<&str> {
    inside(message.trim(), "<send_user_message_question_reply", "</send_user_message_question_reply>")
}

/// Returns the words of hooks in a message that consists of them.
pub(super) fn hook_prompt(message: &str) -> Option<String> {
    let mut words = Vec::new();
    let mut rest = message.trim();
    while !rest.is_empty() {
        let (hook, below) = rest.split_once(HOOK_END).unwrap_or((rest, ""));
        words.push(inside(hook.trim(), "<hook_prompt", HOOK_END)?);
        rest = below.trim_start();
    }
    (!words.is_empty()).then(|| words.join("\n"))
}

const HOOK_END: &str = "</hook_prompt>";

/// Returns the text after a start tag, up to its end tag, if there is one.
fn inside<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, words) = text.strip_prefix(start)?.split_once('>')?;
    Some(words.strip_suffix(end).unwrap_or(words).trim())
}

/// Splits a reply into the text around the plan of plan mode, and the plan, which is in tags. `None` if it has no plan.
pub(super) fn parted_plan(reply: &str) -> Option<(String, &str)> {
    let (before, rest) = reply.split_once(PLAN_TAGS[0])?;
    let (plan, after) = rest.split_once(PLAN_TAGS[1]).unwrap_or((rest, ""));
    let parts = [before.trim(), after.trim()];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some((parts.join("\n\n"), plan.trim()))
}

const PLAN_TAGS: [&str; 2] = ["<proposed_plan>", "</proposed_plan>"];

/// Whether a part of a message only marks the place of a picture.
pub(super) fn is_image_tag(text: &str) -> bool {
    let text = text.trim();
    text == "</image>"
        || (text.starts_with("<image") && text.ends_with('>') && text.matches('>').count() == 1)
}

/// Whether a message in the user's role was written by the program.
pub(super) fn is_made(message: &str) -> bool {
    MADE.iter().any(|start| message.trim_start().starts_with(start))
}

/// Adds the facts of a result that are in its text for the model, such as the exit code. Returns whether the text doesn't tell how a command
/// or patch ended.
pub(super) fn add_facts(item: &mut Item) -> bool {
    item.words = Some(words);
    let text = item.text();
    let head = OutputHead::of_result(item, &text);
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    let is_command = is_command(item);
    let is_patch = item.tool_kind == Some(ToolKind::Edit);
    let is_stopped = begins(&[STOPPED]);
    let is_refused = begins(&REFUSED) || (is_command && denial(&text).is_some());
    let by_tool = || (is_command && begins(&FAILED_COMMAND)) || (is_patch && begins(&FAILED_PATCH));
    let has_failed = head
        .as_ref()
        .map_or_else(|| is_stopped || is_refused || begins(&FAILED) || by_tool(), |head| head.has_failed);
    let is_open = head.is_none() && !has_failed && (is_command || is_patch) && !begins(&[PATCHED]);
    let mut facts = Vec::new();
    if let Some(OutputHead { exit, running, .. }) = head {
        facts.extend(exit.filter(|code| *code != 0).map(|code| ("exit", Fact::Int(code))));
        facts.extend(running.map(|id| match item.tool_kind {
            Some(ToolKind::Job) => ("state", Fact::Text("running".into())),
            _ => ("background", Fact::Text(id)),
        }));
        if let (true, Content::Node(node)) = (is_command, &item.text) {
            facts.push(("stdout", Fact::Made(output, *node)));
        }
    } else if is_stopped {
        facts.push(("stopped", Fact::Text("interrupted".into())));
    } else if is_refused {
        facts.push(("denied", Fact::Bool(true)));
    }
    item.data.extend(facts);
    result::add_agents(item);
    if has_failed {
        result::fail(item);
    }
    is_open
}

pub(super) fn is_command(item: &Item) -> bool {
    matches!(item.tool_kind, Some(ToolKind::Run | ToolKind::Job))
}

/// Returns the text of a result without its head, and nothing if it only confirms success.
pub(super) fn words(item: &Item, text: Text) -> Text {
    let written = item.text();
    let is_answer =
        |tool_kind: ToolKind, answer: &str| item.tool_kind == Some(tool_kind) && written.trim_end() == answer;
    let is_close = item.tool.as_deref() == Some(tools::CLOSE) && !item.error;
    if is_close || is_answer(ToolKind::Todos, PLANNED) || (item.error && written.starts_with(STOPPED)) {
        return Text::EMPTY;
    }
    if let Some(readable) = result::words_of_agents(item).or_else(|| result::words_of_parts(item)) {
        return readable;
    }
    if let Some(readable) = denial(&written).filter(|_| item.error) {
        return Text::clean(&readable).trimmed_end();
    }
    let readable = match OutputHead::of_result(item, &written) {
        // The parts of the content are joined by line feeds, the first of which ends the head.
        Some(OutputHead { output, .. }) if !is_command(item) => Text::clean(output.trim_start_matches('\n')),
        Some(OutputHead { output, .. }) => Text::clean(&output),
        None => text,
    };
    if item.tool_kind == Some(ToolKind::Edit) && !item.error && readable.starts_with(PATCHED) {
        // It lists only the files of the patch.
        return Text::EMPTY;
    }
    readable.trimmed_end()
}

/// Returns the text of a result without its head.
pub(super) fn output_of(item: &Item) -> String {
    let text = item.text();
    OutputHead::of_result(item, &text).map_or_else(|| text.to_string(), |head| head.output.into_owned())
}

/// Returns the output of a command in a text for the model.
fn output(text: Value<'_>) -> Option<Fact> {
    let text = text.decode()?;
    Some(Fact::Text(OutputHead::of(&text)?.output.into_owned()))
}

/// Returns the reason why the sandbox did not allow a command, if the text reports that.
fn denial(text: &str) -> Option<String> {
    let text = text.strip_prefix(UNRUN)?;
    let message = &text[text.find(DENIED)? + DENIED.len()..];
    let end = message.find("\", output: ").unwrap_or(message.len());
    Some(message[..end].replace("\\n", "\n").replace("\\\"", "\""))
}

/// A text with a head, parsed.
struct OutputHead<'a> {
    exit: Option<i64>,
    /// The id of the session in which a command is still running.
    running: Option<String>,
    has_failed: bool,
    /// The text after the head.
    output: Cow<'a, str>,
}

impl<'a> OutputHead<'a> {
    /// Parses the head of a result's text, if it has one. The JSON of tools other than Codex's own is theirs.
    fn of_result(item: &Item, text: &'a str) -> Option<Self> {
        let is_own = !text.starts_with('{') || is_command(item) || item.tool_kind == Some(ToolKind::Edit);
        is_own.then(|| Self::of(text)).flatten()
    }

    /// Parses the head of a text, if it has one.
    fn of(text: &'a str) -> Option<Self> {
        if text.starts_with('{') {
            return Self::unpacked(text);
        }
        if text.starts_with(SANDBOX) {
            return Self::sandboxed(text);
        }
        match text.strip_prefix(COMMAND) {
            Some(rest) => Self::below_command(rest),
            None => Self::lines(text),
        }
    }

    /// Parses the head below a command line, which ends at the first line feed outside of quotes. If there is no head, the quotes aren't
    /// those of a shell: the first complete head counts.
    fn below_command(text: &'a str) -> Option<Self> {
        let below = command::end_of_line(text).and_then(|end| Self::lines(&text[end + 1..]));
        below.or_else(|| {
            let starts = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| &text[end + 1..]);
            let mut heads =
                starts.filter(|rest| [CHUNK, WALL[0]].iter().any(|start| rest.starts_with(start)));
            heads.find_map(Self::lines)
        })
    }

    /// Parses the lines of a head.
    fn lines(text: &'a str) -> Option<Self> {
        let (mut exit, mut running, mut has_failed) = (None, None, false);
        let mut rest = text;
        for count in 0..MAX_HEAD {
            let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
            let code = EXITED.iter().find_map(|start| line.strip_prefix(start));
            if count > 0 && line == OUTPUT {
                return Some(Self { exit, running, has_failed, output: below.into() });
            } else if let Some(code) = code.and_then(|code| code.trim().parse().ok()) {
                (exit, has_failed) = (Some(code), code != 0);
            } else if let Some(id) = line.strip_prefix(RUNNING) {
                running = Some(id.to_owned());
            } else if line.starts_with(SCRIPT[1]) {
                has_failed = true;
            } else if ![CHUNK, COUNT[0], COUNT[1], WALL[0], WALL[1], SCRIPT[0], SCRIPT[2]]
                .iter()
                .any(|start| line.starts_with(start))
            {
                return None;
            }
            rest = below;
        }
        None
    }

    /// Parses the result of a command that failed in the sandbox.
    fn sandboxed(text: &str) -> Option<Self> {
        let [code, out, errors] = SANDBOXED;
        let (code, rest) = text.split_once(code)?.1.split_once(out)?;
        let (out, errors) = rest.split_once(errors)?;
        let output = [out, errors].concat().into();
        Some(Self { exit: code.parse().ok(), running: None, has_failed: true, output })
    }

    /// Parses the results that are JSON, as in versions before 0.80.
    fn unpacked(text: &str) -> Option<Self> {
        let record = Record::from_line(text.to_owned()).ok()?;
        let ReportedOutput { text, exit, success } = ReportedOutput::of(record.root())?;
        let has_failed = exit.map_or(success == Some(false), |code| code != 0);
        Some(Self { exit, running: None, has_failed, output: text.decode()?.into_owned().into() })
    }
}

/// An output with a report on its success, as an object.
pub(super) struct ReportedOutput<'a> {
    /// The output: a text, or a list of parts.
    pub(super) text: Value<'a>,
    pub(super) exit: Option<i64>,
    pub(super) success: Option<bool>,
}

impl<'a> ReportedOutput<'a> {
    /// Reads an object, if it has both an output and a report: `{"output":…,"metadata":{"exit_code":0}}`, `{"content":…,"success":true}`.
    pub(super) fn of(object: Value<'a>) -> Option<Self> {
        let [output, content, aggregated, stdout] =
            object.get_all(["output", "content", "aggregated_output", "stdout"]);
        let [metadata, exit, success] = object.get_all(["metadata", "exit_code", "success"]);
        let inside = metadata.map_or([None; 2], |metadata| metadata.get_all(["exit_code", "success"]));
        let exit = inside[0].or(exit).and_then(Value::int);
        let success = inside[1].or(success).and_then(Value::bool);
        let has_report = exit.is_some() || success.is_some() || metadata.is_some();
        let text = output.or(content).or(aggregated).or(stdout).filter(|_| has_report)?;
        Some(Self { text, exit, success })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_and_what_looks_like_one_is_not() {
        for (text, expected) in [
            (
                "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 1\nOutput:\na\nb",
                Some((Some(2), None, "a\nb")),
            ),
            (
                "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\n>>> ",
                Some((None, Some("7"), ">>> ")),
            ),
            ("Exit code: 0\nWall time: 0 seconds\nOutput:\n", Some((Some(0), None, ""))),
            ("Script completed\nWall time 0.3 seconds\nOutput:\n\nx", Some((None, None, "\nx"))),
            (r#"{"output":"a\n","metadata":{"exit_code":1}}"#, Some((Some(1), None, "a\n"))),
            (r#"{"output":"a"}"#, None),
            (
                "failed in sandbox X with execution error: y, exit code: 3, stdout: a\n, stderr: b",
                Some((Some(3), None, "a\nb")),
            ),
            ("failed in sandbox X", None),
            (
                "Command: sh -c \"cat <<'E'\nProcess exited with code 3\nOutput:\nE\"\nChunk ID: 1\nWall time: 1 seconds\n\
                 Process exited with code 0\nOutput:\na",
                Some((Some(0), None, "a")),
            ),
            (
                "Command: sh -c 'cat <<E\nChunk ID: 1\nWall time: 1 s\nProcess exited with code 3\nOutput:\nE'\n\
                 Wall time: 1 seconds\nProcess exited with code 2\nOutput:\na\nWall time: 1 s\nExit code: 0\nOutput:\nb",
                Some((Some(2), None, "a\nWall time: 1 s\nExit code: 0\nOutput:\nb")),
            ),
            (
                "Command: echo it's\nChunk ID: 1\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\na",
                Some((Some(1), None, "a")),
            ),
            ("Command: ls\nChunk ID: 1\nWall time: 1 seconds", None),
            ("Command: ", None),
            (
                "Exit code: 0\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\na",
                Some((Some(0), None, "a")),
            ),
            (r#"{ "metadata": {"exit_code": 2}, "output": "a" }"#, Some((Some(2), None, "a"))),
            (r#"{"content":"a","success":true}"#, Some((None, None, "a"))),
            (r#"{"name":"a"}"#, None),
            ("Output:\na", None),
            ("Exit code: 0", None),
            ("Exit code: 0\na\nOutput:\n", None),
            ("", None),
        ] {
            let head = OutputHead::of(text);
            let found = head.as_ref().map(|head| (head.exit, head.running.as_deref(), &*head.output));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_sentence_about_a_failure_counts_for_the_tool_that_writes_it() {
        let denied = format!("{UNRUN}ls`: {DENIED}no\" }}");
        let [command, patch] = [FAILED_COMMAND[2], FAILED_PATCH[0]];
        for (tool_kind, text, has_failed, is_open) in [
            (ToolKind::Run, command, true, false),
            (ToolKind::Edit, command, false, true),
            (ToolKind::Mcp, command, false, false),
            (ToolKind::Edit, patch, true, false),
            (ToolKind::Run, patch, false, true),
            (ToolKind::Run, &*denied, true, false),
            (ToolKind::Mcp, &denied, false, false),
            (ToolKind::Mcp, STOPPED, true, false),
            (ToolKind::Mcp, FAILED[0], true, false),
            (ToolKind::Mcp, REFUSED[0], true, false),
            (ToolKind::Run, "a", false, true),
            (ToolKind::Edit, PATCHED, false, false),
            (ToolKind::Mcp, "a", false, false),
        ] {
            let mut item = Item::new("r", streamfmt_core::item::Kind::Result, 1);
            (item.text, item.tool_kind) = (Content::Own(text.to_owned()), Some(tool_kind));
            let open = add_facts(&mut item);
            assert_eq!((item.error, open), (has_failed, is_open), "{tool_kind:?}: {text}");
        }
    }

    #[test]
    fn a_text_that_only_confirms_what_is_shown_is_left_out() {
        for (tool_kind, text, error, is_shown) in [
            (ToolKind::Run, STOPPED, true, false),
            (ToolKind::Run, STOPPED, false, true),
            (ToolKind::Edit, PATCHED, false, false),
            (ToolKind::Edit, PATCHED, true, true),
            (ToolKind::Run, PATCHED, false, true),
            (ToolKind::Todos, PLANNED, false, false),
            (ToolKind::Run, PLANNED, false, true),
        ] {
            let mut item = Item::new("r", streamfmt_core::item::Kind::Result, 1);
            (item.text, item.tool_kind, item.error) = (Content::Own(text.to_owned()), Some(tool_kind), error);
            assert_eq!(
                !words(&item, Text::clean(text)).is_empty(),
                is_shown,
                "{tool_kind:?}, error {error}: {text}"
            );
        }
    }
}
