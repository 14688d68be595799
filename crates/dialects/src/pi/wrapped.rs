//! Text that pi adds to the outputs of tools.

use streamfmt_core::item::{Fact, Item, MakeFact, ToolKind};
use streamfmt_core::json::Value;
use streamfmt_core::text::Text;

/// The output of a command that wrote nothing.
const NOTHING: &str = "(no output)";
/// The last line of the output of a command that failed.
const EXITED: &str = "Command exited with code ";
/// The same for one that took too long, with the seconds.
const TIMED_OUT: &str = "Command timed out after ";
/// The same for one that a person stopped.
const ABORTED: &str = "Command aborted";
/// The beginning of the output of a call that wrote a file.
const WROTE: &str = "Successfully wrote ";
/// The end of the text of a file that has more lines.
const MORE: [&str; 2] = [" more lines in file. Use offset=", "[Showing lines "];

/// Returns the sentences that no code outside this dialect may contain.
pub(crate) fn sentences() -> Vec<&'static str> {
    vec![EXITED, TIMED_OUT, ABORTED, WROTE, MORE[0]]
}

/// The facts of a command that failed.
pub(super) const COMMAND_FACTS: [(&str, MakeFact); 3] =
    [("exit", exit), ("timed_out_ms", timed_out), ("stopped", stopped)];

/// Splits the last line off an output, if the program added it.
fn last_line(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let (above, last) = text.rsplit_once('\n').unwrap_or(("", text));
    [EXITED, TIMED_OUT, ABORTED].iter().any(|start| last.starts_with(start)).then_some((above, last))
}

/// Returns the text after `start` in the last line.
fn behind(output: Value<'_>, start: &str) -> Option<String> {
    let output = output.decode()?;
    let (_, last) = last_line(&output)?;
    last.strip_prefix(start).map(str::to_owned)
}

fn exit(output: Value<'_>) -> Option<Fact> {
    behind(output, EXITED)?.trim().parse().ok().map(Fact::Int)
}

fn timed_out(output: Value<'_>) -> Option<Fact> {
    let seconds: i64 = behind(output, TIMED_OUT)?.split(' ').next()?.parse().ok()?;
    seconds.checked_mul(1_000).map(Fact::Int)
}

fn stopped(output: Value<'_>) -> Option<Fact> {
    behind(output, ABORTED).map(|_| Fact::Text("interrupted".to_owned()))
}

/// Returns how many lines of a file were read.
pub(super) fn lines_read(text: Value<'_>) -> Option<Fact> {
    let text = text.decode()?;
    let note = text.rsplit_once('\n').filter(|(_, last)| is_note(last));
    let own = note.map_or(&*text, |(above, _)| above.trim_end_matches('\n'));
    i64::try_from(own.lines().count()).ok().map(Fact::Int)
}

/// Whether a line says that a file has more lines.
fn is_note(line: &str) -> bool {
    line.ends_with(']') && (line.contains(MORE[0]) || line.starts_with(MORE[1]))
}

/// Returns the text of a result for people.
pub(super) fn words(result: &Item, text: Text) -> Text {
    match result.tool_kind {
        Some(ToolKind::Run) => {}
        // The call has the path and the content.
        Some(ToolKind::Write) if text.starts_with(WROTE) && !text.contains('\n') => return Text::EMPTY,
        _ => return text,
    }
    let own = match last_line(&text).filter(|_| result.error) {
        // The facts have the rest.
        Some((above, _)) => above.trim_end(),
        _ => text.trim_end(),
    };
    if own == NOTHING { Text::EMPTY } else { Text::clean(own) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::json::Record;

    #[test]
    fn the_last_line_of_a_command_says_how_it_ended() {
        for (output, expected) in [
            ("a\\n\\n\\nCommand exited with code 3", [Some(3), None]),
            ("Command exited with code 1", [Some(1), None]),
            ("a\\nCommand timed out after 5 seconds", [None, Some(5_000)]),
            ("Command exited with code 3\\na", [None, None]),
            ("Command exited with code x", [None, None]),
        ] {
            let record = Record::from_line(format!("\"{output}\"")).unwrap_or_else(|_| panic!("{output}"));
            let made = [exit, timed_out].map(|make| match make(record.root()) {
                Some(Fact::Int(number)) => Some(number),
                _ => None,
            });
            assert_eq!(made, expected, "{output}");
        }
    }
}
