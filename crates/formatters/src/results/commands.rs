//! Formats the results of commands and of background jobs.

use memchr::memmem;

use super::{FAILED, ResultContext, holds};
use crate::file_diff::FileDiff;
use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::figures;
use streamfmt_core::item::FactRef;
use streamfmt_core::text::Text;

pub(crate) fn run(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let stdout = context.text("stdout").map(Text::trimmed_end);
    let stderr = context.text("stderr").unwrap_or_default();
    let is_background = context.fact("background").is_some();
    // The text for the model contains all output, often followed by notes.
    let text = if context.full || (stdout.is_none() && !is_background) { answer.text() } else { Text::EMPTY };
    let is_parted = stdout.as_ref().is_some_and(|stdout| is_joined(&text, stdout, &stderr));
    let is_apart = is_parted || !holds_lines(&text, stderr.trim());
    let output = match stdout {
        Some(stdout) if is_parted || !holds(&text, &stdout) => stdout,
        _ => text,
    };
    if let Some(code) = context.fact("exit").and_then(FactRef::int).filter(|code| *code != 0) {
        answer.trouble(Text::clean_owned(format!("exit {code}")));
    }
    if context.is("interrupted") {
        answer.trouble(Text::own("interrupted"));
    }
    if let Some(id) = context.text("background") {
        let what = if answer.was_asked_for("background") { "started as" } else { "in the background:" };
        answer.note(Text::clean_owned(format!("{what} {}", &*id)));
    }
    let timed_out = context.count("timed_out_ms");
    answer.note_known(timed_out.map(|ms| format!("after {}", figures::duration(ms))));
    answer.note_known(context.text("note"));
    let is_image = context.is("image");
    if is_image {
        answer.note(Text::own("a picture"));
    }
    if !is_image || context.full {
        answer.code("result.text", output);
    }
    if is_apart {
        answer.errors(&stderr);
    }
    if let Some(whole) = context.fact("persisted") {
        let mut line = Line::of("result.note", "whole output:");
        if let Some(bytes) = whole.count_at("bytes").or_else(|| context.count("bytes")) {
            line.push("result.note", figures::size(bytes));
        }
        if let Some(path) = whole.text().or_else(|| whole.text_at("path")) {
            line.push("result.file", context.path(path));
        }
        answer.body.push(Block::line(line));
    }
    for file in context.list("files") {
        let either = |names: [&str; 2]| names.iter().find_map(|name| file.get(name));
        let path = either(["path", "filePath"]).and_then(FactRef::text).map(|path| context.path(path));
        if let Some(changes) = either(["patch", "hunks"]).and_then(FileDiff::of_patch) {
            let mut line = path.clone().map(|path| Line::of("result.file", path)).unwrap_or_default();
            changes.push_counts(&mut line);
            answer.body.push(Block::line(line));
            answer.body.extend(changes.block(path));
        }
    }
    if let Some(more) = context.count("more_files") {
        let more = figures::count_of(more, "more file", "more files");
        answer.body.push(Block::line(Line::of("result.note", format!("and {}", &*more))));
    }
    // A success without anything else may have had an output that the stream leaves out.
    if answer.is_empty() && !context.is("success") {
        answer.note(Text::own("no output"));
    }
    if is_parted { Some(answer.finish_all_but_text()) } else { answer.done() }
}

/// Whether a text is exactly the standard output of a command followed by its standard error.
fn is_joined(text: &str, stdout: &str, stderr: &str) -> bool {
    let stderr = stderr.trim();
    !stderr.is_empty()
        && text.trim_end().strip_suffix(stderr).is_some_and(|before| before.trim_end() == stdout.trim_end())
}

/// Formats the state of a background job, and its output so far.
pub(crate) fn job(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let part = |name: &str| context.fact("job")?.get(name)?.words();
    if let Some(state) = context.text("state").or_else(|| part("state")) {
        if &*state == FAILED { answer.trouble(state) } else { answer.note(state) }
    }
    if context.full || context.fact("stdout").is_some() || answer.title.is_empty() {
        return run(answer);
    }
    if let Some(code) = part("exit").filter(|code| &**code != "0") {
        answer.trouble(Text::clean_owned(format!("exit {}", &*code)));
    }
    answer.code("result.text", part("output").unwrap_or_default().trimmed_end());
    answer.errors(&part("stderr").unwrap_or_default());
    answer.done()
}

/// Whether `text` contains these lines, one after the other.
fn holds_lines(text: &str, lines: &str) -> bool {
    lines.is_empty()
        || memmem::find_iter(text.as_bytes(), lines.as_bytes()).any(|at| {
            let (before, behind) = (&text[..at], &text[at + lines.len()..]);
            (before.is_empty() || before.ends_with('\n')) && (behind.is_empty() || behind.starts_with('\n'))
        })
}
