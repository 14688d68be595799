//! The report for people: cells that failed, with their differences, and the totals.

use std::fmt::{self, Write};

use streamfmt_core::text::clean;

use super::ReportStyle;
use crate::golden::case::CaseVariant;
use crate::golden::check::CheckSummary;
use crate::golden::diff::Diff;
use crate::golden::outcome::{Outcome, State};
use crate::golden::suite::Suite;
use crate::problem::one_line;

/// Most lines of a new text that are shown by default.
const NEW_LINES: usize = 20;

/// Reports a cell, unless its output is as expected.
pub(super) fn cell(
    cell: &CaseVariant,
    outcome: &Outcome,
    style: &ReportStyle,
    out: &mut dyn Write,
) -> fmt::Result {
    let state = outcome.state();
    let (bold, reset) = if style.has_color { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
    let what = match state {
        State::Equal => return Ok(()),
        State::Skipped => {
            let reason = outcome.skipped.as_deref().filter(|reason| !reason.is_empty());
            return writeln!(out, "skipped {}{}", one_line(&cell.name), after(": ", reason));
        }
        State::New => "new",
        State::PluginFailed => "plugin failed",
        State::Different => "different",
        State::Wrong => "wrong",
    };
    writeln!(out, "{bold}{what} {}{reset}", one_line(&cell.name))?;
    if !cell.title().is_empty() {
        writeln!(out, "  {}", one_line(cell.title()))?;
    }
    for (what, list) in
        [("", &outcome.problems), ("broken law: ", &outcome.broken), ("plugin failed: ", &outcome.failures)]
    {
        for one in list {
            writeln!(out, "  {what}{}", one_line(one))?;
        }
    }
    if state == State::Wrong {
        return writeln!(out, "  in {}\n", one_line(&cell.case.path.display().to_string()));
    }
    if outcome.expected.as_ref() != Some(&outcome.text) {
        writeln!(out, "  {}", one_line(&cell.file.display().to_string()))?;
        match &outcome.expected {
            None => new_text(&outcome.text, style, out)?,
            Some(_) if style.is_whole => indented(&outcome.whole_diff(), style, out)?,
            Some(_) => indented(&outcome.diff(), style, out)?,
        }
    }
    if let Some(diff) = outcome.messages_diff() {
        writeln!(out, "  plugin messages:")?;
        indented(&diff, style, out)?;
    }
    let expect = &cell.case.choices.expect;
    if let Some(reason) = outcome.suspicion(expect).filter(|_| state != State::PluginFailed) {
        writeln!(out, "  can't be accepted: {}", one_line(&reason))?;
    } else if !style.bless.is_empty() && outcome.refusal(expect).is_none() {
        writeln!(out, "  to accept: {} --case {}", style.bless, quoted(&cell.name))?;
    }
    writeln!(out)
}

/// Reports problems outside the cells, and the totals. The last line is always `N passed, N failed`, with `, N skipped` if N
/// isn't 0.
pub(super) fn end(suite: &Suite, summary: &CheckSummary, out: &mut dyn Write) -> fmt::Result {
    for problem in &suite.problems.0 {
        writeln!(out, "wrong {problem}")?;
        for line in problem.excerpt().into_iter().flatten() {
            writeln!(out, "  {line}")?;
        }
    }
    for orphan in &suite.orphans {
        let path = orphan.display().to_string();
        writeln!(out, "unused {}: no case refers to it (golden clean removes it)", one_line(&path))?;
    }
    let parts = [
        (summary.count(State::Different), "different"),
        (summary.count(State::New), "new"),
        (summary.count(State::Wrong) + summary.problems, "with a set-up error"),
        (summary.count(State::PluginFailed), "with a plugin failure"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !parts.is_empty() {
        writeln!(out, "{}", parts.join(", "))?;
    }
    if summary.exit_code() == 5 {
        let hint = if suite.cells.is_empty() {
            " (golden list shows all cases, golden add creates one)"
        } else {
            ""
        };
        writeln!(out, "no cases were run{hint}")?;
    }
    write!(out, "{} passed, {} failed", summary.passed(), summary.failed())?;
    match summary.skipped() {
        0 => writeln!(out),
        skipped => writeln!(out, ", {skipped} skipped"),
    }
}

fn indented(diff: &Diff, style: &ReportStyle, out: &mut dyn Write) -> fmt::Result {
    let spelled = diff.spelled(style.form, style.has_color).to_string();
    spelled.lines().try_for_each(|line| writeln!(out, "  {line}"))
}

/// Whether the report of a cell is incomplete unless `ReportStyle::is_whole` is set.
pub fn is_cut(outcome: &Outcome) -> bool {
    match &outcome.expected {
        None => outcome.text.lines().count() > NEW_LINES,
        Some(_) => outcome.diff().is_cut(),
    }
}

fn new_text(text: &str, style: &ReportStyle, out: &mut dyn Write) -> fmt::Result {
    // Without an expected text, a diff would mark every word.
    let most = if style.is_whole { usize::MAX } else { NEW_LINES };
    for line in text.lines().take(most) {
        writeln!(out, "  +{}", clean(line))?;
    }
    match text.lines().count().saturating_sub(most) {
        0 if text.is_empty() => writeln!(out, "  (empty)"),
        0 => Ok(()),
        1 => writeln!(out, "  … 1 more line"),
        more => writeln!(out, "  … {more} more lines"),
    }
}

fn after(sign: &str, text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("{sign}{}", one_line(text)))
}

/// A pattern that matches this name, quoted for a shell. Characters that can't be typed become `*`.
fn quoted(name: &str) -> String {
    let is_typed = |ch: char| ch != '\n' && clean(ch.encode_utf8(&mut [0; 4])).starts_with(ch);
    word(&name.chars().map(|ch| if is_typed(ch) { ch } else { '*' }).collect::<String>())
}

/// Text quoted as one word for a shell, on one line and without control characters.
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+@%=:,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", one_line(text).replace('\'', r"'\''"))
}
