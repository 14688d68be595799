//! The report of a command that the model gets from Gemini CLI and its forks:
//!
//! ```text
//! Command: ls x
//! Directory: (root)
//! Output: ls: no x
//! Error: (none)
//! Exit Code: 2
//! Signal: (none)
//! Process Group PGID: 4711
//! ```
//!
//! Gemini CLI writes only the lines that have a value, and tags around the report.

use crate::facts::fail;
use streamfmt_core::item::{Fact, Item};
use streamfmt_core::text::Text;

/// The tags around a report.
const TAGS: [&str; 2] = ["<untrusted_context>", "</untrusted_context>"];

/// The beginning of the output, which other lines may precede.
const OUTPUT: &str = "Output: ";
/// Lines that precede the output.
const BEFORE: [&str; 2] = ["Command: ", "Directory: "];
/// The beginnings of the lines after the output.
const ERROR: &str = "Error: ";
const EXIT: &str = "Exit Code: ";
const SIGNAL: &str = "Signal: ";
const AFTER: [&str; 5] = [ERROR, EXIT, SIGNAL, "Background PIDs: ", "Process Group PGID: "];

/// What the program writes into a report.
pub(super) const SENTENCES: [&str; 4] = [TAGS[0], TAGS[1], EXIT, AFTER[4]];

/// A report, taken apart.
#[derive(Debug, Default, PartialEq)]
struct ShellReport<'a> {
    output: &'a str,
    error: Option<&'a str>,
    exit: Option<i64>,
    signal: Option<&'a str>,
}

impl<'a> ShellReport<'a> {
    /// Takes a report apart. `None` if the text is none.
    fn of(text: &'a str) -> Option<Self> {
        let text = untagged(text);
        let mut rest = text;
        while BEFORE.iter().any(|label| rest.starts_with(label)) {
            rest = rest.split_once('\n')?.1;
        }
        rest = rest.strip_prefix(OUTPUT)?;
        let mut report = Self::default();
        let mut is_report = rest.len() + OUTPUT.len() < text.len();
        while let Some((before, line)) = rest.rsplit_once('\n') {
            let Some(label) = AFTER.iter().find(|label| line.starts_with(**label)) else { break };
            let value = Some(line[label.len()..].trim()).filter(|value| *value != "(none)");
            match *label {
                EXIT => report.exit = value.and_then(|value| value.parse().ok()),
                SIGNAL => report.signal = value,
                ERROR => report.error = value,
                _ => {}
            }
            (rest, is_report) = (before, true);
            if *label == ERROR {
                break;
            }
        }
        report.output = if rest == "(empty)" { "" } else { rest };
        is_report.then_some(report)
    }

    /// Adds the facts to the result of a command.
    fn add_to(&self, result: &mut Item) {
        if let Some(exit) = self.exit.filter(|exit| *exit != 0) {
            fail(result);
            result.data.push(("exit", Fact::Int(exit)));
        }
        let facts = [("stderr", self.error), ("note", self.signal)];
        let facts = facts.into_iter().filter_map(|(name, text)| Some((name, Fact::Text(text?.to_owned()))));
        result.data.extend(facts);
    }
}

/// Adds the facts of the report that the text of a command's result is. The report stays the text, the output becomes its words.
pub(super) fn add_facts(result: &mut Item) {
    let text = result.text().into_owned();
    if let Some(report) = ShellReport::of(&text) {
        report.add_to(result);
    }
    result.words = Some(words);
}

/// Returns the output in a report.
fn words(_: &Item, text: Text) -> Text {
    let output = ShellReport::of(&text).map(|report| Text::clean(report.output));
    output.unwrap_or_else(|| if untagged(&text) == &*text { text } else { Text::clean(untagged(&text)) })
}

/// Returns a text without the tags around it.
fn untagged(text: &str) -> &str {
    let inside = text.trim().strip_prefix(TAGS[0]).and_then(|text| text.strip_suffix(TAGS[1]));
    inside.map_or(text, |inside| inside.trim_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_its_output_and_what_follows_it() {
        let report = |output, error, exit, signal| Some(ShellReport { output, error, exit, signal });
        for (text, expected) in [
            (
                "Command: ls\nDirectory: (root)\nOutput: a\n\nb\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7",
                report("a\n\nb", None, Some(2), None),
            ),
            (
                "<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 1\n</untrusted_context>",
                report("", None, None, None),
            ),
            ("Output: x\nError: spawn failed\nSignal: 9", report("x", Some("spawn failed"), None, Some("9"))),
            // The output of the command may look like the rest of the report.
            (
                "Output: Exit Code: 3\nmore\nExit Code: 4\nProcess Group PGID: 1",
                report("Exit Code: 3\nmore", None, Some(4), None),
            ),
            ("Output: of a program that prints this", None),
            ("Command: ls", None),
            ("plain", None),
        ] {
            assert_eq!(ShellReport::of(text), expected, "{text}");
        }
    }
}
