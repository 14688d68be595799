//! One line an event, made to be searched: `[tool] Bash cargo test`, `[cost] $0.31 · 12 turns`.

use crate::entry::{Block, Line, Span, View};
use crate::formatter::{figures, outcome};
use crate::item::{Item, Kind, Status};
use crate::text::Text;

/// Longest text of an event other than a reply, in bytes.
const LONGEST: usize = 300;

/// Folds a view into its title.
pub(super) fn fold(item: &Item, view: View) -> View {
    let mut line = Line::of("tag", format!("[{}]", tag(item, &view)));
    if item.kind == Kind::Outcome {
        outcome::figures_first(view.title, &mut line);
    } else {
        for span in view.title.spans.into_iter().filter(|span| &*span.text != " ") {
            let text = if span.text.trim() == "·" { Text::own("·") } else { span.text };
            line.push(span.role, text);
        }
    }
    let is_whole = matches!(item.kind, Kind::Reply | Kind::Outcome);
    let mut hidden = 0;
    let mut room = LONGEST;
    for block in view.body {
        fold_block(block, is_whole, &mut room, &mut hidden, &mut line);
    }
    if hidden > 0 {
        line.push("elided", format!("(+{})", &*figures::count_of(hidden, "line", "lines")));
    }
    View { mark: None, title: line, body: Vec::new() }
}

fn tag(item: &Item, view: &View) -> &'static str {
    match item.kind {
        _ if view.mark == Some("error") => "error",
        _ if view.mark == Some("warning") => "warning",
        Kind::Call => "tool",
        Kind::Outcome if item.error || item.status == Status::Failed => "failed",
        Kind::Outcome => "cost",
        Kind::Notice if view.mark.is_none() => "session",
        kind => kind.name(),
    }
}

/// Adds the first lines of a block to the line and counts the others.
fn fold_block(block: Block, is_whole: bool, room: &mut usize, hidden: &mut u64, line: &mut Line) {
    match block {
        Block::Prose { text, role } | Block::Code { text, role, .. } => {
            if is_whole {
                line.push(role, text.trimmed_end());
                return;
            }
            let mut lines = text.split('\n').map(str::trim).filter(|text| !text.is_empty());
            while let Some(first) = lines.next() {
                if *room < first.len() && *room < LONGEST {
                    *hidden += 1 + lines.count() as u64;
                    return;
                }
                let end = crate::clip::floor(first, *room);
                let mut shown = first[..end].to_owned();
                if end < first.len() {
                    shown.push('…');
                }
                line.push(role.clone(), shown);
                *room = room.saturating_sub(first.len());
            }
        }
        Block::Lines { lines } => {
            for told in lines {
                add(told, room, hidden, line);
            }
        }
        Block::List { items } => {
            for item in items {
                add(item.line, room, hidden, line);
            }
        }
        // The title tells how many lines came and went.
        Block::Diff { .. } => {}
        Block::Image { media, .. } => line.push("image", format!("[{}]", &*media)),
        Block::Elided { lines, .. } => *hidden += lines,
        Block::Table { rows, .. } => *hidden += rows.len() as u64,
        Block::Details { summary, .. } => add(summary, room, hidden, line),
    }
}

fn add(told: Line, room: &mut usize, hidden: &mut u64, line: &mut Line) {
    let length: usize = told.spans.iter().map(|span| span.text.len()).sum();
    if *room == 0 || (length > *room && *room < LONGEST) {
        *hidden += 1;
        return;
    }
    *room = room.saturating_sub(length);
    line.spans.push(Span::new("text", Text::own(" ")));
    line.spans.extend(told.spans);
}
