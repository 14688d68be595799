//! Text that Cline adds to prompts and to the outputs of tools.

use streamfmt_core::item::{Fact, Item, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::text::Text;

/// The tags around a prompt.
const INPUT: [&str; 2] = ["<user_input", "</user_input>"];
/// The beginning of the error of a command that failed.
const EXITED: &str = "Command exited with code ";
/// The error of a command that a person stopped.
const ABORTED: &str = "Command failed: Command was aborted";
/// The line above the standard error of a command that failed.
const STDERR: &str = "[stderr]\n";
/// The beginnings of the results of calls that created or changed a file.
const CREATED: &str = "File created successfully at: ";
const EDITED: &str = "Edited ";
/// The beginnings of the results of searches.
const FOUND: &str = "Found ";
const NOTHING_FOUND: &str = "No results found for pattern: ";

/// Returns the sentences that no code outside this dialect may contain.
pub(crate) fn sentences() -> Vec<&'static str> {
    vec![INPUT[0], ABORTED, CREATED, NOTHING_FOUND]
}

/// Returns the text of a person in a prompt, if it has tags around it.
pub(super) fn input(prompt: &str) -> Option<String> {
    let (_, words) = prompt.trim_start().strip_prefix(INPUT[0])?.split_once('>')?;
    let (words, rest) = words.split_once(INPUT[1]).unwrap_or((words, ""));
    rest.trim().is_empty().then(|| words.trim().to_owned())
}

/// Adds the facts of the only output of a call.
pub(super) fn add_facts(result: &mut Item, output: Value<'_>) {
    match result.tool_kind {
        Some(ToolKind::Read) if !result.error => {
            result.data.push(("start", Fact::Made(start, output.node())));
            result.data.push(("lines", Fact::Made(lines, output.node())));
        }
        Some(ToolKind::Write | ToolKind::Edit) if !result.error => {
            result.data.push(("created", Fact::Made(created, output.node())));
        }
        Some(ToolKind::Grep) if !result.error => {
            result.data.push(("mode", Fact::Text("content".to_owned())));
            result.data.push(("content", Fact::Made(hits, output.node())));
            for name in ["count", "lines"] {
                result.data.push((name, Fact::Made(hit_count, output.node())));
            }
        }
        Some(ToolKind::Run) if result.error => {
            result.data.push(("stderr", Fact::Made(stderr, output.node())));
        }
        _ => {}
    }
}

/// Returns the exit code in the error of a command.
pub(super) fn exit(error: Value<'_>) -> Option<Fact> {
    error.decode()?.strip_prefix(EXITED)?.trim().parse().ok().map(Fact::Int)
}

/// Returns that a command was stopped, from its error.
pub(super) fn stopped(error: Value<'_>) -> Option<Fact> {
    error.str()?.is(ABORTED).then(|| Fact::Text("interrupted".to_owned()))
}

fn stderr(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    let (_, errors) = output.split_once(STDERR)?;
    Some(Fact::Text(errors.to_owned()))
}

fn created(output: Value<'_>) -> Option<Fact> {
    output.str()?.begins_with(CREATED).then_some(Fact::Bool(true))
}

/// Returns what a search found, without the line that counts it.
fn hits(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    let (_, hits) = output.split_once('\n').filter(|_| output.starts_with(FOUND))?;
    Some(Fact::Text(hits.trim_start_matches('\n').to_owned()))
}

/// Returns the number of hits of a search.
fn hit_count(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    if output.starts_with(NOTHING_FOUND) {
        return Some(Fact::Int(0));
    }
    output.strip_prefix(FOUND)?.split(' ').next()?.parse().ok().map(Fact::Int)
}

fn start(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    numbered(output.lines().next()?).map(|(number, _)| Fact::Int(number))
}

fn lines(output: Value<'_>) -> Option<Fact> {
    let output = output.decode()?;
    let count = output.lines().filter(|line| numbered(line).is_some()).count();
    i64::try_from(count).ok().filter(|count| *count > 0).map(Fact::Int)
}

/// Splits a line of a file from its number: ` 9 | text`.
fn numbered(line: &str) -> Option<(i64, &str)> {
    let (number, text) = line.split_once(" |")?;
    Some((number.trim_start().parse().ok()?, text.strip_prefix(' ').unwrap_or(text)))
}

/// Returns the text of a result for people.
pub(super) fn words(result: &Item, text: Text) -> Text {
    match result.tool_kind {
        Some(ToolKind::Run) if result.error => {
            let head = text.find("[Command exited with code ").filter(|at| *at == 0);
            let own = head.and_then(|_| text.split_once('\n')).map_or(&*text, |(_, rest)| rest);
            let own = own.split_once(STDERR).map_or(own, |(output, _)| output);
            match own.trim() {
                own if own.starts_with(EXITED) => Text::EMPTY,
                own => Text::clean(own),
            }
        }
        Some(ToolKind::Run) => text.trimmed_end(),
        Some(ToolKind::Read) if text.lines().next().and_then(numbered).is_some() => {
            let bare = |line| numbered(line).map_or(line, |(_, text)| text);
            Text::clean(&text.lines().map(bare).collect::<Vec<_>>().join("\n"))
        }
        Some(ToolKind::Write | ToolKind::Edit)
            if !result.error && (text.starts_with(CREATED) || text.starts_with(EDITED)) =>
        {
            Text::EMPTY
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_has_no_tags() {
        for (prompt, expected) in [
            ("<user_input mode=\"act\">Say hello.</user_input>", Some("Say hello.")),
            ("<user_input>Say\nhello.", Some("Say\nhello.")),
            ("<user_input>a</user_input> b", None),
            ("Say hello.", None),
            ("<user_input", None),
        ] {
            assert_eq!(input(prompt).as_deref(), expected, "{prompt}");
        }
    }

    #[test]
    fn lines_of_a_file_have_numbers() {
        for (line, expected) in [
            (" 9 | a | b", Some((9, "a | b"))),
            ("10 |", Some((10, ""))),
            ("10 | ", Some((10, ""))),
            ("x | y", None),
            ("", None),
        ] {
            assert_eq!(numbered(line), expected, "{line}");
        }
    }
}
