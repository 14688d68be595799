//! The lines of Aider's program, after `> `.

use streamfmt_core::event::Usage;
use streamfmt_core::names::Names;

/// What a line of the program reports.
pub(super) enum ProgramLine<'a> {
    /// Nothing.
    Blank,
    /// The edits of this file were applied.
    Applied(&'a str),
    /// The edits of this file weren't applied.
    NotApplied(&'a str),
    /// Edits failed. The report goes on in the next lines.
    FailedEdits,
    /// The tokens of the message so far.
    Tokens(Usage),
    /// What it cost, without tokens.
    Cost,
    /// This command was run.
    Command(&'a str),
    /// A commit.
    Commit,
    /// The person interrupted the reply.
    Interrupt,
    /// The model's service failed, and is asked again after so many milliseconds.
    Retry(Option<f64>),
    /// Something failed.
    Failure,
    /// Anything else.
    Other,
}

impl<'a> ProgramLine<'a> {
    /// Reads a line.
    pub(super) fn of(text: &'a str) -> Self {
        if text.is_empty() {
            return Self::Blank;
        }
        if let Some(usage) = tokens(text) {
            return Self::Tokens(usage);
        }
        if let Some(path) = text.strip_prefix("Applied edit to ") {
            return Self::Applied(path);
        }
        if let Some(path) = text.strip_prefix("Did not apply edit to ") {
            return Self::NotApplied(path.trim_end_matches(" (--dry-run)"));
        }
        if let Some(path) = text.strip_prefix("Skipping edits to ") {
            return Self::NotApplied(path);
        }
        if let Some(command) = text.strip_prefix("Running ") {
            return Self::Command(command);
        }
        if let Some(seconds) = text.strip_prefix("Retrying in ") {
            let seconds = seconds.split(' ').next().and_then(|number| number.parse::<f64>().ok());
            return Self::Retry(seconds.filter(|seconds| seconds.is_finite()).map(|seconds| seconds * 1e3));
        }
        let is_commit = || {
            let hash = text.strip_prefix("Commit ").and_then(|rest| rest.split(' ').next());
            hash.is_some_and(|hash| hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        match text {
            _ if is_failed_edit(text) => Self::FailedEdits,
            _ if is_commit() => Self::Commit,
            _ if text.starts_with("^C") => Self::Interrupt,
            _ if text.starts_with("Cost: $") => Self::Cost,
            _ if FAILURES.iter().any(|start| text.starts_with(start)) => Self::Failure,
            _ => Self::Other,
        }
    }

    /// Whether such a line isn't part of a report on failed edits.
    pub(super) fn ends_report(&self) -> bool {
        !matches!(self, Self::Blank | Self::Other | Self::FailedEdits)
    }
}

/// The beginnings of lines that report a failure.
const FAILURES: &[&str] = &[
    "Only 3 reflections allowed",
    "Exception while updating files",
    "Unable to commit",
    "Empty response received from LLM",
    "Unable to read",
    "Error ",
];

fn is_failed_edit(text: &str) -> bool {
    text == "The LLM did not conform to the edit format."
        || text.starts_with("# ") && text.contains("SEARCH/REPLACE block") && text.contains("failed to match")
        || text.starts_with("UnifiedDiffNoMatch")
        || text.starts_with("UnifiedDiffNotUnique")
}

/// Whether a line is certainly the program's, even in a fence: a reply that was cut leaves its fence open.
pub(super) fn is_certain(text: &str) -> bool {
    let text = text.trim_end();
    text == "^C KeyboardInterrupt" || text == "^C again to exit" || tokens(text).is_some()
}

/// Reads the tokens of a message: `Tokens: 6.4k sent, 12k cache write, 1.5k cache hit, 512 received.` Older versions have `cached`.
fn tokens(text: &str) -> Option<Usage> {
    let counts = text.strip_prefix("Tokens: ")?;
    let counts = counts.split_once(". ").map_or(counts, |(counts, _)| counts).trim_end_matches('.');
    let mut usage = Usage::default();
    // Older versions write `6,412`.
    for count in counts.split(", ") {
        let (number, what) = count.split_once(' ')?;
        let number = number_of(number)?;
        match what {
            "sent" => usage.input = number,
            "received" => usage.output = number,
            "cache write" => usage.cache_write = number,
            "cache hit" | "cached" => usage.cache_read = number,
            _ => {}
        }
    }
    Some(usage)
}

/// Reads `512`, `6,412`, `6.4k`, `12k` or `1.2M`.
fn number_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['k', 'M']);
    let zeros = match &text[digits.len()..] {
        "" => 0,
        "k" => 3,
        "M" => 6,
        _ => return None,
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part: String = part.chars().chain("000000".chars()).take(zeros).collect();
    [&whole.replace(',', ""), &*part].concat().parse().ok()
}

/// Reads the session's cost: `Cost: $0.02 message, $0.05 session.`
pub(super) fn session_cost(text: &str) -> Option<f64> {
    let (_, costs) = text.split_once("Cost: $")?;
    let (before, _) = costs.split_once(" session")?;
    let number: f64 = before.rsplit_once('$')?.1.parse().ok()?;
    (0.0..1e9).contains(&number).then_some(number)
}

/// Reads an announcement of the main model, or of the editor's: its name and the format of edits, which is empty if it isn't named.
pub(super) fn model(line: &str) -> Option<(&str, &str)> {
    let is_editor = line.starts_with("Editor model: ");
    let named = ["Main model: ", "Model: ", "Models: ", "Editor model: "];
    let rest = named.iter().find_map(|start| line.strip_prefix(start))?;
    let (model, format) = rest.split_once(" with ").unwrap_or((rest, ""));
    let format = format.split_once(" edit format").map_or("", |(format, _)| format);
    let model = model.split(',').next().unwrap_or(model);
    // Of the architect's mode, the main model comes first and stays the session's.
    (!is_editor || !format.is_empty()).then_some((model, format))
}

/// Commands that the model answers.
static ANSWERED: Names =
    Names::of("/architect /ask /chat-mode /code /context /help /ok /voice /web /editor /edit");

/// Whether a prompt is a command that the program itself carries out.
pub(super) fn is_command(prompt: &str) -> bool {
    let word = prompt.split_whitespace().next().unwrap_or_default();
    word.starts_with('!')
        || word.len() > 1 && word.starts_with('/') && !word[1..].contains('/') && !ANSWERED.has(word)
}

/// Whether the program wrote a prompt itself, as versions of 2024 did after errors.
pub(super) fn is_machine_written(prompt: &str) -> bool {
    prompt.starts_with("# Fix any errors below, if possible.")
        || prompt.starts_with("# ")
            && prompt.contains("SEARCH/REPLACE block")
            && prompt.contains("failed to match")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_costs_are_read() {
        let used = |input, output, cache_read, cache_write| Usage { input, output, cache_read, cache_write };
        for (text, usage, cost) in [
            (
                "Tokens: 6.4k sent, 512 received. Cost: $0.02 message, $0.05 session.",
                used(6_400, 512, 0, 0),
                Some(0.05),
            ),
            (
                "Tokens: 900 sent, 12k cache write, 1.5k cache hit, 6 received.",
                used(900, 6, 1_500, 12_000),
                None,
            ),
            (
                "Tokens: 6,412 sent, 100 cached, 5 received. Cost: $0.1 request, $1.25 session.",
                used(6_412, 5, 100, 0),
                Some(1.25),
            ),
        ] {
            assert_eq!(tokens(text), Some(usage), "{text}");
            assert_eq!(session_cost(text), cost, "{text}");
        }
        assert_eq!(tokens("Tokens: many"), None);
    }

    #[test]
    fn models_are_announced_with_their_format() {
        for (line, want) in [
            ("Main model: sonnet-lamp with diff edit format, infinite output", Some(("sonnet-lamp", "diff"))),
            ("Model: opus-lamp with whole edit format", Some(("opus-lamp", "whole"))),
            ("Models: lamp-4 with udiff edit format, weak model lamp-3", Some(("lamp-4", "udiff"))),
            ("Editor model: lamp-3 with editor-diff edit format", Some(("lamp-3", "editor-diff"))),
            ("Weak model: haiku-lamp", None),
        ] {
            assert_eq!(model(line), want, "{line}");
        }
    }
}
