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

use std::borrow::Cow;

use streamfmt_core::item::{Content, Deed, Fact, Item};
use streamfmt_core::json::{Record, Value};
use streamfmt_core::text::Text;

use super::{errors, result, tools};

/// The last line of the head.
const OUTPUT: &str = "Output:";
const CHUNK: &str = "Chunk ID: ";
const WALL: [&str; 2] = ["Wall time: ", "Wall time "];
const COUNT: &str = "Original token count: ";
const EXITED: [&str; 2] = ["Process exited with code ", "Exit code: "];
const RUNNING: &str = "Process running with session ID ";
/// Further lines of a head: the state of a script that called other tools.
const SCRIPT: [&str; 3] = ["Script completed", "Script failed", "Script running"];

/// The beginnings of results of calls that the sandbox or the user's settings did not allow.
const REFUSED: [&str; 3] = ["patch rejected: ", "approval policy is ", "exec command rejected by "];
/// In versions before 0.80: the beginning of a result of a command that failed in the sandbox, whatever the cause.
const SANDBOX: &str = "failed in sandbox ";
/// The text before the exit code, the standard output and the standard error in such a result.
const SANDBOXED: [&str; 3] = ["exit code: ", ", stdout: ", ", stderr: "];
/// In 0.120: the beginning of a result of a command that the sandbox did not allow.
const UNRUN: &str = "exec_command failed for `";
/// The text before the reason in such a result.
const DENIED: &str = "SandboxDenied { message: \"";
const STOPPED: &str = "aborted by user";
/// The beginnings of other results of failed calls, whatever their tool.
const FAILED: [&str; 4] =
    ["unsupported call: ", "unsupported custom tool call: ", "failed to parse function arguments", SCRIPT[1]];
/// The result of a patch that was applied.
const PATCHED: &str = "Success. Updated the following files:";
const PLANNED: &str = "Plan updated";

/// The beginnings of messages that the program writes in the user's role.
const MADE: [&str; 2] = ["<", "# AGENTS.md instructions"];

/// Returns the sentences that no code outside this dialect may contain.
pub(crate) fn sentences() -> Vec<&'static str> {
    let single = [
        CHUNK,
        COUNT,
        RUNNING,
        STOPPED,
        PATCHED,
        PLANNED,
        EXITED[0],
        MADE[1],
        SANDBOX,
        UNRUN,
        DENIED,
        errors::RETRY,
    ];
    [&single[..], &REFUSED, &FAILED].concat()
}

/// Whether a message in the user's role was written by the program.
pub(super) fn is_made(message: &str) -> bool {
    MADE.iter().any(|start| message.trim_start().starts_with(start))
}

/// Adds the facts of a result that are in its text for the model, such as the exit code.
pub(super) fn add_facts(item: &mut Item) {
    item.words = Some(words);
    let text = item.text();
    let head = OutputHead::of(&text);
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    let is_command = is_command(item);
    let is_patch = item.deed == Some(Deed::Edit);
    let is_stopped = begins(&[STOPPED]);
    let is_refused = begins(&REFUSED) || (is_command && denial(&text).is_some());
    let has_failed = match &head {
        Some(head) => head.has_failed,
        None if is_patch => !begins(&[PATCHED]),
        None => is_command || is_stopped || is_refused || begins(&FAILED),
    };
    let mut facts = Vec::new();
    if let Some(OutputHead { exit, running, .. }) = head {
        facts.extend(exit.filter(|code| *code != 0).map(|code| ("exit", Fact::Int(code))));
        facts.extend(running.map(|id| match item.deed {
            Some(Deed::Job) => ("state", Fact::Text("running".into())),
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
}

fn is_command(item: &Item) -> bool {
    matches!(item.deed, Some(Deed::Run | Deed::Job))
}

/// Returns the text of a result without its head, and nothing if it only confirms success.
pub(super) fn words(item: &Item, text: Text) -> Text {
    let written = item.text();
    let is_answer = |deed: Deed, answer: &str| item.deed == Some(deed) && written.trim_end() == answer;
    let is_close = item.tool.as_deref() == Some(tools::CLOSE) && !item.error;
    if is_close || is_answer(Deed::Todos, PLANNED) || (item.error && written.starts_with(STOPPED)) {
        return Text::EMPTY;
    }
    if let Some(readable) = result::words_of_agents(item).or_else(|| result::words_of_parts(item)) {
        return readable;
    }
    if let Some(readable) = denial(&written).filter(|_| item.error) {
        return Text::clean(&readable).trimmed_end();
    }
    let readable = match OutputHead::of(&written) {
        // The parts of the content are joined by line feeds, the first of which ends the head.
        Some(OutputHead { output, .. }) if !is_command(item) => Text::clean(output.trim_start_matches('\n')),
        Some(OutputHead { output, .. }) => Text::clean(&output),
        None => text,
    };
    if item.deed == Some(Deed::Edit) && !item.error && readable.starts_with(PATCHED) {
        // It lists only the files of the patch.
        return Text::EMPTY;
    }
    readable.trimmed_end()
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
    /// Parses the head of a text, if it has one.
    fn of(text: &'a str) -> Option<Self> {
        if text.starts_with("{\"output\":") {
            return Self::unpacked(text);
        }
        if text.starts_with(SANDBOX) {
            return Self::sandboxed(text);
        }
        let (mut exit, mut running, mut has_failed) = (None, None, false);
        let mut rest = text;
        let mut has_head = false;
        loop {
            let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
            let code = EXITED.iter().find_map(|start| line.strip_prefix(start));
            if has_head && line == OUTPUT {
                return Some(Self { exit, running, has_failed, output: below.into() });
            } else if let Some(code) = code.and_then(|code| code.trim().parse().ok()) {
                (exit, has_failed) = (Some(code), code != 0);
            } else if let Some(id) = line.strip_prefix(RUNNING) {
                running = Some(id.to_owned());
            } else if line.starts_with(SCRIPT[1]) {
                has_failed = true;
            } else if ![CHUNK, COUNT, WALL[0], WALL[1], SCRIPT[0], SCRIPT[2]]
                .iter()
                .any(|start| line.starts_with(start))
            {
                return None;
            }
            (has_head, rest) = (true, below);
        }
    }

    /// Parses the result of a command that failed in the sandbox.
    fn sandboxed(text: &str) -> Option<Self> {
        let [code, out, errors] = SANDBOXED;
        let (code, rest) = text.split_once(code)?.1.split_once(out)?;
        let (out, errors) = rest.split_once(errors)?;
        let output = [out, errors].concat().into();
        Some(Self { exit: code.parse().ok(), running: None, has_failed: true, output })
    }

    /// Parses the JSON results of versions before 0.80.
    fn unpacked(text: &str) -> Option<Self> {
        let record = Record::from_line(text.to_owned()).ok()?;
        let [output, metadata] = record.root().get_all(["output", "metadata"]);
        let exit = metadata?.get("exit_code").and_then(Value::int);
        let output = output?.decode()?.into_owned().into();
        Some(Self { exit, running: None, has_failed: exit.is_some_and(|code| code != 0), output })
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
}
