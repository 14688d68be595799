//! Text that opencode puts around the outputs of tools, and its sentences.

use streamfmt_core::item::{Fact, FactRef, Item, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::text::Text;

/// The output of a command that wrote nothing.
const NOTHING: &str = "(no output)";
/// The tags around a note below the output of a command, in newer and older versions.
const NOTES: [[&str; 2]; 2] =
    [["<shell_metadata>", "</shell_metadata>"], ["<bash_metadata>", "</bash_metadata>"]];
/// The beginning of the output of a command of which only the end is left. The path of the file with all of it follows.
const CUT: &str = "...output truncated...\n\nFull output saved to: ";
/// What is left of that for people.
const CUT_MARK: &str = "...output truncated...\n";
/// The tags around the answer of a sub-agent.
const ANSWER: [&str; 2] = ["<task_result>", "</task_result>"];
/// The tags around the content of a file, in newer and older versions.
const CONTENT: [[&str; 2]; 3] =
    [["<content>", "</content>"], ["<entries>", "</entries>"], ["<file>", "</file>"]];
/// The beginnings of errors of calls that weren't allowed.
const DENIED: [&str; 3] = [
    "The user rejected permission",
    "The user has specified a rule which prevents you",
    "The user dismissed this question",
];
/// The beginning of the error of a call that a person stopped.
const STOPPED: &str = "Tool execution aborted";
/// The beginning of the line above the lines that a search found.
const FOUND: &str = "Found ";
/// The beginnings of titles of sessions that nobody has named yet, in newer and older versions. Their time follows.
const UNNAMED: [&str; 3] = ["New session - ", "New Session - ", "Child session - "];
/// The line between the head of a patch and its hunks.
const UNDERLINE: &str = "===================================================================";

/// Returns the sentences that no code outside this dialect may contain.
pub(crate) fn sentences() -> Vec<&'static str> {
    let tags = [NOTES[0][0], NOTES[1][0], ANSWER[0]];
    [&tags[..], &DENIED, &[STOPPED, CUT]].concat()
}

/// Whether a session with this title has no title of its own yet.
pub(super) fn is_unnamed(title: &str) -> bool {
    let time = UNNAMED.iter().find_map(|beginning| title.strip_prefix(beginning));
    let is_digit = |byte: &u8| byte.is_ascii_digit() || b"-:T.Z".contains(byte);
    time.is_some_and(|time| {
        time.len() == "2026-11-20T09:14:02.000Z".len() && time.as_bytes().iter().all(is_digit)
    })
}

/// Returns the text of a result for people.
pub(super) fn words(result: &Item, text: Text) -> Text {
    if result.error && result.tool_kind != Some(ToolKind::Run) {
        return text;
    }
    match result.tool_kind {
        Some(ToolKind::Run) => {
            let end = note_in(&text).map_or(text.len(), |(start, _)| start);
            if let Some((path, rest)) = text[..end].strip_prefix(CUT).and_then(|rest| rest.split_once('\n'))
                && result.fact("persisted").and_then(FactRef::text).as_deref() == Some(path)
            {
                return Text::clean([CUT_MARK, rest.trim_end()].concat().as_str());
            }
            match text[..end].trim_end() {
                NOTHING => Text::EMPTY,
                own => Text::clean(own),
            }
        }
        Some(ToolKind::Read) => content_in(&text).map_or(text, |content| Text::clean(&content)),
        Some(ToolKind::Todos) => Text::EMPTY,
        Some(ToolKind::Delegate) => match result.fact("answer").and_then(FactRef::text) {
            Some(answer) => answer,
            None => text,
        },
        _ => text,
    }
}

/// Notes on a failed result whether the call wasn't allowed, or was stopped.
pub(super) fn add_refusal(result: &mut Item) {
    let text = result.text();
    let fact = if DENIED.iter().any(|start| text.starts_with(start)) {
        ("denied", Fact::Bool(true))
    } else if text.starts_with(STOPPED) {
        ("stopped", Fact::Text("interrupted".to_owned()))
    } else {
        return;
    };
    result.data.push(fact);
}

/// Returns the position of the note below the output of a command, and the note.
fn note_in(text: &str) -> Option<(usize, &str)> {
    NOTES.iter().find_map(|[open, close]| {
        let end = text.trim_end().strip_suffix(close)?;
        let start = end.rfind(open)?;
        Some((start, end[start + open.len()..].trim()))
    })
}

/// Returns the note below the output of a command.
pub(super) fn note(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    note_in(&output).map(|(_, note)| Fact::Text(note.to_owned()))
}

/// Returns the answer of a sub-agent in the output of its call.
pub(super) fn answer(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    let (_, rest) = output.split_once(ANSWER[0])?;
    let end = rest.rfind(ANSWER[1]).unwrap_or(rest.len());
    Some(Fact::Text(rest[..end].trim().to_owned()))
}

/// Returns the state of a sub-agent in the output of its call: `<task id="…" state="completed">`.
pub(super) fn state(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    let head = output.strip_prefix("<task ")?.split('>').next()?;
    let (_, state) = head.split_once("state=\"")?;
    Some(Fact::Text(state.split('"').next()?.to_owned()))
}

/// Returns the lines that a search found, without the line that counts them.
pub(super) fn matching_lines(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    let (_, lines) = output.split_once('\n').filter(|_| output.starts_with(FOUND))?;
    // Each file ends with two blank lines.
    Some(Fact::Text(lines.replace("\n\n\n", "\n\n")))
}

/// Returns the content of a file or folder in the output of a call that reads it, without the numbers of its lines.
fn content_in(text: &str) -> Option<String> {
    let (_, rest, close) = CONTENT.iter().find_map(|[open, close]| {
        let (before, rest) = text.split_once(open)?;
        (before.is_empty() || before.starts_with('<')).then_some((before, rest, close))
    })?;
    let end = rest.rfind(close).unwrap_or(rest.len());
    let bare = |line: &str| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &line[digits..];
        let rest = rest.strip_prefix(": ").or_else(|| rest.strip_prefix("| "));
        rest.filter(|_| digits > 0).unwrap_or(line).to_owned()
    };
    let lines: Vec<String> = rest[..end].trim_matches('\n').lines().map(bare).collect();
    Some(lines.join("\n"))
}

/// Returns the hunks of a patch without its head, which names the file again.
pub(super) fn hunks(patch: Value<'_>) -> Option<Fact> {
    let patch = patch.decode()?;
    let at = if patch.starts_with("@@") { 0 } else { patch.find("\n@@").map(|at| at + 1)? };
    let head = &patch[..at];
    let is_head = |line: &str| {
        line.starts_with("Index: ")
            || line == UNDERLINE
            || line.starts_with("--- ")
            || line.starts_with("+++ ")
    };
    head.lines().all(is_head).then(|| Fact::Text(patch[at..].to_owned()))
}

/// Returns a prompt without the quotes that `opencode run` puts around words with blanks; `None` if it has none.
pub(super) fn unquoted(prompt: &str) -> Option<String> {
    let inside = prompt.strip_prefix('"')?.strip_suffix('"')?;
    let bare = inside.replace("\\\"", "");
    (inside.contains(' ') && !bare.contains('"')).then(|| inside.replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_of_one_argument_has_no_quotes() {
        for (prompt, expected) in [
            (r#""Say hello.""#, Some("Say hello.")),
            (r#""Say \"hi\" twice.""#, Some(r#"Say "hi" twice."#)),
            (r#""one two" "three four""#, None),
            (r#""word""#, None),
            ("\"", None),
            ("Say hello.", None),
        ] {
            assert_eq!(unquoted(prompt).as_deref(), expected, "{prompt}");
        }
    }

    #[test]
    fn a_file_that_was_read_has_no_wrapping() {
        for (output, expected) in [
            (
                "<path>/w/a</path>\n<type>file</type>\n<content>\n1: x\n2: \n10:  y</content>\n\n(End of file - total 3 lines)\n",
                Some("x\n\n y"),
            ),
            (
                "<file>\n00001| x\n00002| \n\n(End of file - total 2 lines)\n</file>",
                Some("x\n\n\n(End of file - total 2 lines)"),
            ),
            ("<path>/w</path>\n<type>directory</type>\n<entries>\na.rs\nb/\n</entries>", Some("a.rs\nb/")),
            ("no wrapping <content>", None),
            ("", None),
        ] {
            assert_eq!(content_in(output).as_deref(), expected, "{output}");
        }
    }
}
