//! The parts of a row: its mark, and a summary of its folded body.

use super::out::HtmlOut;
use streamfmt_core::entry::{Block, Entry, TextLayout};
use streamfmt_core::item::{Action, Kind};
use streamfmt_core::text;
use streamfmt_core::theme::{self, Glyphs};

/// The most characters of a body in a row.
const ROOM: usize = 160;

/// Returns the start of a row. `is_folded`: whether it has a fold. `is_open`: whether the fold is open at first.
pub(super) fn begin(is_folded: bool, is_open: bool) -> &'static str {
    match (is_folded, is_open) {
        (true, true) => "<details open><summary>",
        (true, false) => "<details><summary>",
        (false, _) => "<p class=\"row\">",
    }
}

/// Writes the mark at the start of a row: a dot if the entry has none.
pub(super) fn mark(mark: Option<&str>, out: &mut HtmlOut<'_>) {
    let shape = mark.map_or("·", |mark| theme::glyph(Glyphs::Unicode, mark));
    out.within("<span class=\"mark\" aria-hidden=\"true\">", shape, "</span> ");
}

/// Whether the argument in a call's title is a description rather than a path or a pattern.
pub(super) fn is_described(entry: &Entry) -> bool {
    matches!(entry.action, Some(Action::Delegate | Action::Plan | Action::Ask))
        || entry.action == Some(Action::Run) && command(entry).is_some()
}

/// Returns the beginning of a call's input, if its title doesn't contain that: of a command, or of the fields of an unknown tool.
pub(super) fn input_beginning(entry: &Entry) -> Option<String> {
    if entry.kind != Kind::Call {
        return None;
    }
    match entry.action {
        Some(Action::Run) => {
            let line = command(entry)?.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some(clipped(line, ROOM))
        }
        Some(Action::Mcp | Action::Other) => {
            let Block::Lines { lines } = entry.view.body.first()? else { return None };
            let mut fields = String::new();
            for line in lines {
                fields.push_str(if fields.is_empty() { "" } else { ", " });
                fields.push_str(line.text());
                if fields.len() > ROOM {
                    break;
                }
            }
            Some(clipped(&fields, ROOM))
        }
        _ => None,
    }
}

/// Returns the block of a thought that is one line, which needs no fold.
pub(super) fn one_line_thought(entry: &Entry) -> Option<&Block> {
    match &entry.view.body[..] {
        [block @ Block::Prose { text, .. }]
            if entry.kind == Kind::Thinking
                && entry.view.title.is_empty()
                && text.len() <= 2 * ROOM
                && !text.trim().is_empty()
                && !text.trim().contains('\n') =>
        {
            Some(block)
        }
        _ => None,
    }
}

/// Returns the command of a call, if it is in its body.
fn command(entry: &Entry) -> Option<&str> {
    entry.view.body.iter().find_map(|block| match block {
        Block::Code { text, role, .. } if role.text_layout() == TextLayout::Command => Some(text.as_str()),
        _ => None,
    })
}

/// Cuts a line to at most this many characters.
pub(super) fn clipped(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text::clean(&line[..end])),
        None => line.to_owned(),
    }
}
