//! One line an event, made to be searched: `[tool] Bash cargo test`, `[cost] $0.31 · 12 turns`.

use crate::entry::{Block, Line, Point, Span, View};
use crate::formatter::{figures, outcome};
use crate::item::{Item, Kind, Status};
use crate::profile::Keep;
use crate::text::Text;

/// Longest text of an event other than a reply, in bytes.
const LONGEST: usize = 300;

/// Folds a view into its title.
/// `of`: what was said of a result's call, which may stand far above. `keeps_long`: the body of a result that the
/// line doesn't hold stays below it.
pub(super) fn fold(item: &Item, view: View, of: Option<Line>, keeps_long: bool) -> View {
    let mut line = Line::of("tag", format!("[{}]", tag(item, &view)));
    if let Some(of) = of {
        for span in of.spans.into_iter().filter(|span| &*span.text != " ") {
            line.push_span(span);
        }
        line.spans.push(Span::new("result.note", Text::own(":")));
    }
    if item.kind == Kind::Outcome {
        outcome::figures_first(view.title, &mut line);
    } else {
        for span in view.title.spans.into_iter().filter(|span| &*span.text != " ") {
            let text = Text::clean(span.text.trim());
            line.push_span(Span { text: text.into(), ..span });
        }
    }
    let whole = if keeps_long && item.kind == Kind::Result { view.body.clone() } else { Vec::new() };
    let is_whole = matches!(item.kind, Kind::Reply | Kind::Outcome);
    let mut hidden = 0;
    let mut room = LONGEST;
    // The end of what a failed command wrote tells more than its start.
    let keep = if is_whole {
        Keep::HeadTail
    } else if item.error {
        Keep::Tail
    } else {
        Keep::Head
    };
    for block in view.body {
        fold_block(block, keep, &mut room, &mut hidden, &mut line);
    }
    let body = if hidden > 0 { whole } else { Vec::new() };
    if hidden > 0 {
        line.push("elided", format!("(+{})", &*figures::count_of(hidden, "line", "lines")));
    }
    View { mark: None, title: line, body }
}

fn tag(item: &Item, view: &View) -> &'static str {
    match item.kind {
        _ if view.mark == Some("error") => "error",
        _ if view.mark == Some("warning") => "warning",
        Kind::Call => "tool",
        Kind::Outcome if item.error || item.status == Status::Failed => "failed",
        Kind::Outcome => "cost",
        Kind::Notice if view.mark == Some("session") => "session",
        kind => kind.name(),
    }
}

/// Adds the lines of a block to the line, all or those that there is room for at the end to keep, and counts the
/// others.
fn fold_block(block: Block, keep: Keep, room: &mut usize, hidden: &mut u64, line: &mut Line) {
    match block {
        Block::Prose { text, role } | Block::Code { text, role, .. } => {
            if keep == Keep::HeadTail {
                for part in text.split('\n').map(str::trim).filter(|part| !part.is_empty()) {
                    line.push(role.clone(), part.to_owned());
                }
                return;
            }
            let text = if keep == Keep::Tail { last_lines(&text, *room, hidden) } else { &text };
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
                let mut told = Line::of("plan.note", state(item.point));
                told.spans.retain(|span| !span.text.is_empty());
                for span in item.line.spans.into_iter().filter(|span| &*span.text != " ") {
                    told.push_span(span);
                }
                add(told, room, hidden, line);
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

/// The state of a point, in characters that are easy to search for.
fn state(point: Point) -> &'static str {
    match point {
        Point::Plain => "",
        Point::Open => "[ ]",
        Point::Active => "[>]",
        Point::Done => "[x]",
        Point::Failed => "[!]",
    }
}

/// The last lines of `text` that there is room for: one at least.
fn last_lines<'t>(text: &'t str, room: usize, hidden: &mut u64) -> &'t str {
    let text = text.trim_end();
    let Some(cut) = text.len().checked_sub(room).filter(|cut| *cut > 0) else { return text };
    let cut = crate::clip::floor(text, cut);
    let start = match text[cut..].find('\n') {
        Some(end) => cut + end + 1,
        None => text.rfind('\n').map_or(0, |end| end + 1),
    };
    *hidden += text[..start].lines().filter(|line| !line.trim().is_empty()).count() as u64;
    &text[start..]
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
