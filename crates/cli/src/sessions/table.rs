//! The table of sessions.

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use streamfmt_server::store::SessionRecord;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::message::one_line;

/// The titles of the columns. Numbers are aligned to the right.
const HEAD: [(&str, bool); 8] = [
    ("ID", false),
    ("STATUS", false),
    ("AGENT", false),
    ("TITLE", false),
    ("FOLDER", false),
    ("TURNS", true),
    ("COST", true),
    ("AGE", true),
];
/// The columns that are narrowed if the table is too wide: first the folder, then the title.
const TITLE: usize = 3;
const FOLDER: usize = 4;
/// The smallest width of these columns.
const LEAST: usize = 8;
/// The columns that are left out if even that isn't enough, in this order: the folder, the agent, turns and cost.
const SPARED: [usize; 4] = [FOLDER, 2, 5, 6];
/// The blanks between two columns.
const GAP: usize = 2;
/// The largest width of the narrowable columns without a terminal.
const MOST: usize = 80;

/// Returns the table, without a final line feed. `width`: that of the terminal, which no line exceeds.
pub(super) fn text(rows: &[SessionRecord], width: Option<usize>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let now = Timestamp::now();
    let cells: Vec<[String; 8]> = rows.iter().map(|row| cells(row, now)).collect();
    let mut widths = widths(&cells);
    let mut columns: Vec<usize> = (0..HEAD.len()).collect();
    if let Some(width) = width {
        let total = |columns: &[usize], widths: &[usize; 8]| -> usize {
            columns.iter().map(|column| widths[*column] + GAP).sum::<usize>().saturating_sub(GAP)
        };
        let mut least = widths;
        for column in [FOLDER, TITLE] {
            least[column] = LEAST.min(widths[column]);
        }
        for spared in SPARED {
            if total(&columns, &least) > width {
                columns.retain(|column| *column != spared);
            }
        }
        for column in [FOLDER, TITLE].into_iter().filter(|column| columns.contains(column)) {
            let excess = total(&columns, &widths).saturating_sub(width);
            widths[column] = widths[column].saturating_sub(excess).max(least[column]);
        }
    }
    let mut text = String::new();
    let head = HEAD.map(|(head, _)| head.to_owned());
    for row in [&head].into_iter().chain(&cells) {
        let start = text.len();
        for &column in &columns {
            let (cell, width) = (&row[column], widths[column]);
            let cell = if column == FOLDER { cut_start(cell, width) } else { cut(cell, width) };
            let gap = " ".repeat(width - cell.width().min(width));
            let between = if text.len() == start { "" } else { "  " };
            let _ = if HEAD[column].1 {
                write!(text, "{between}{gap}{cell}")
            } else {
                write!(text, "{between}{cell}{gap}")
            };
        }
        if let Some(width) = width {
            let line = cut(&text[start..], width);
            text.truncate(start);
            text.push_str(&line);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text.pop();
    text
}

/// The widths of the columns without a terminal.
fn widths(cells: &[[String; 8]]) -> [usize; 8] {
    let mut widths = HEAD.map(|(head, _)| head.len());
    for row in cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    for column in [TITLE, FOLDER] {
        widths[column] = widths[column].min(MOST);
    }
    widths
}

fn cells(SessionRecord { run, figures, .. }: &SessionRecord, now: Timestamp) -> [String; 8] {
    let optional = |text: &Option<String>| text.as_deref().map(one_line).unwrap_or_default();
    // A run without a task is titled by its command.
    let title = run.title.as_deref().map_or_else(|| one_line(&run.command.join(" ")), one_line);
    [
        one_line(&run.id),
        run.status.name().to_owned(),
        optional(&run.agent),
        title,
        optional(&run.folder),
        figures.num_turns.map(|turns| turns.to_string()).unwrap_or_default(),
        figures.cost_usd.map(money).unwrap_or_default(),
        age(now.duration_since(run.started)),
    ]
}

/// Formats a cost in dollars. One beyond reason is rounded to a digit, since the widest cell sets the width of its column.
fn money(dollars: f64) -> String {
    if dollars.abs() < 1e6 { format!("${dollars:.2}") } else { format!("${dollars:.0e}") }
}

/// Formats how long ago something was. The future counts as now.
fn age(passed: SignedDuration) -> String {
    match passed.as_secs().max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Cuts a text to a width, with an ellipsis at the end.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let fits = |sign: &char| {
        let columns = sign.width().unwrap_or(0);
        let fits = columns <= left;
        left = left.saturating_sub(columns);
        fits
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Cuts a path to a width, with an ellipsis at the start: the end is more informative.
pub(super) fn cut_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let back: String = text.chars().rev().collect();
    cut(&back, width).chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_cut_to_its_width_and_an_age_has_one_unit() {
        assert_eq!((cut("fix the tests", 8), cut("fix", 8)), ("fix the…".to_owned(), "fix".to_owned()));
        assert_eq!((cut("日本語です", 5), cut("ab", 0)), ("日本…".to_owned(), String::new()));
        assert_eq!(cut_start("/home/dev/shop", 9), "…dev/shop");
        let ages = [-5, 59, 60, 7_200, 172_800].map(|seconds| age(SignedDuration::from_secs(seconds)));
        assert_eq!(ages, ["0s", "59s", "1m", "2h", "2d"]);
    }

    #[test]
    fn no_cost_is_wide() {
        let costs = [0.0, 0.314, 999_999.0, 1_234_567.0, 1e308, -1e308, f64::INFINITY, f64::NAN].map(money);
        assert_eq!(costs, ["$0.00", "$0.31", "$999999.00", "$1e6", "$1e308", "$-1e308", "$inf", "$NaN"]);
    }

    #[test]
    fn only_a_title_and_a_folder_are_narrower_than_their_text() {
        let row = |length: usize| std::array::from_fn(|_| "x".repeat(length));
        assert_eq!(widths(&[row(80), row(9)]), [80; 8]);
        assert_eq!(widths(&[row(81)]), [81, 81, 81, 80, 80, 81, 81, 81]);
    }
}
