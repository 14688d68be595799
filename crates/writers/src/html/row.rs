//! What a folded row says of what is behind it.

use super::out::HtmlOut;
use streamfmt_core::entry::{Block, Entry, TextLayout};
use streamfmt_core::item::{Action, Kind};
use streamfmt_core::text;
use streamfmt_core::theme::{self, Glyphs};

/// Characters of a body that a row has room for.
const ROOM: usize = 160;

/// Begins a row: one that something is folded behind, which may be open.
pub(super) fn begin(is_folded: bool, is_open: bool) -> &'static str {
    match (is_folded, is_open) {
        (true, true) => "<details open><summary>",
        (true, false) => "<details><summary>",
        (false, _) => "<p class=\"row\">",
    }
}

/// Writes the mark that a row begins with, a point where an entry has none.
pub(super) fn mark(mark: Option<&str>, out: &mut HtmlOut<'_>) {
    let shape = mark.map_or("·", |mark| theme::glyph(Glyphs::Unicode, mark));
    out.within("<span class=\"mark\" aria-hidden=\"true\">", shape, "</span> ");
}

/// Whether the argument in a call's title is a description in words, rather than a path or a pattern.
pub(super) fn is_described(entry: &Entry) -> bool {
    matches!(entry.action, Some(Action::Delegate | Action::Plan | Action::Ask))
        || entry.action == Some(Action::Run) && command(entry).is_some()
}

/// The beginning of a call's input that its title doesn't have: of a command, or of the fields of a tool that isn't known.
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
                fields.push_str(&line.plain());
                if fields.len() > ROOM {
                    break;
                }
            }
            Some(clipped(&fields, ROOM))
        }
        _ => None,
    }
}

/// The block of a thought that is one line, which needs no fold.
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

/// The command that a call runs, if it is in its body.
fn command(entry: &Entry) -> Option<&str> {
    entry.view.body.iter().find_map(|block| match block {
        Block::Code { text, role, .. } if role.text_layout() == TextLayout::Command => Some(text.as_str()),
        _ => None,
    })
}

/// A line of so many characters at most.
pub(super) fn clipped(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text::clean(&line[..end])),
        None => line.to_owned(),
    }
}
