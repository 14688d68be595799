//! The table of figures: for a terminal, in Markdown, and as a page.

use std::fmt::Write;

use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use streamfmt::core::event::Usage;
use streamfmt_server::store::{StatsKey, StatsRow};
use unicode_width::UnicodeWidthStr;

use super::table::{cut, cut_start};
use crate::message::one_line;

/// The columns: the key, the bar, counts, tokens and the cost.
const COLUMNS: usize = 10;
const BAR: usize = 1;
const COST: usize = 9;
/// The columns that are left out if a terminal is too narrow, in this order. The key and the cost stay.
const SPARED: [usize; 8] = [BAR, 4, 3, 8, 7, 2, 5, 6];
/// The least width of a key that was cut.
const LEAST_KEY: usize = 8;
/// The largest width of a key without a terminal.
const MOST_KEY: usize = 60;
/// The width of the largest bar.
const WIDEST: usize = 12;
const GAP: usize = 2;

/// The figures as texts.
pub(super) struct StatsTable {
    head: [&'static str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
    /// How much of the largest row each one is, from 0 to 1.
    shares: Vec<f64>,
    total: [String; COLUMNS],
    /// The sum in words.
    sum: String,
    /// Whether the end of a key tells more than its start.
    is_path: bool,
    is_ascii: bool,
}

impl StatsTable {
    /// The texts of rows, the last of which is the sum.
    pub(super) fn of(rows: &[StatsRow], by: StatsKey, is_ascii: bool) -> Self {
        let (total, rows) =
            rows.split_last().map_or((StatsRow::default(), rows), |(total, rows)| (total.clone(), rows));
        let has_costs = rows.iter().any(|row| cost_of(row) > 0.0);
        let weight = |row: &StatsRow| match by {
            StatsKey::Tool => row.calls as f64,
            _ if has_costs => cost_of(row),
            _ => row.tokens.spent() as f64,
        };
        let most = rows.iter().map(weight).fold(0.0, f64::max);
        let shares: Vec<f64> =
            rows.iter().map(|row| if most > 0.0 { weight(row) / most } else { 0.0 }).collect();
        let cells = |row: &StatsRow, share: f64| {
            let key = row.key.as_deref().map_or_else(|| "total".to_owned(), one_line);
            let tokens = &row.tokens;
            [
                key,
                bar(share, is_ascii),
                row.sessions.to_string(),
                row.turns.to_string(),
                failures(row),
                compact(tokens.input),
                compact(tokens.output),
                compact(tokens.cache_read),
                compact(tokens.cache_write),
                cost(row, is_ascii),
            ]
        };
        Self {
            head: [
                heading(by),
                "",
                "SESSIONS",
                "TURNS",
                "CALLS",
                "INPUT",
                "OUTPUT",
                "CACHED",
                "TO CACHE",
                "COST",
            ],
            rows: rows.iter().zip(&shares).map(|(row, share)| cells(row, *share)).collect(),
            shares,
            total: cells(&total, 0.0),
            sum: sum(&total, is_ascii),
            is_path: matches!(by, StatsKey::Folder | StatsKey::Repo),
            is_ascii,
        }
    }

    /// The columns in which something stands.
    fn columns(&self) -> Vec<usize> {
        let is_empty = |cell: &str| matches!(cell, "" | "0");
        let stands = |column: &usize| {
            matches!(*column, 0 | COST) && (*column == 0 || !is_empty(&self.total[COST]))
                || !is_empty(&self.total[*column])
                || self.rows.iter().any(|row| !is_empty(&row[*column]))
        };
        (0..COLUMNS).filter(stands).collect()
    }
}

fn heading(by: StatsKey) -> &'static str {
    match by {
        StatsKey::Day => "DAY",
        StatsKey::Week => "WEEK",
        StatsKey::Month => "MONTH",
        StatsKey::Hour => "HOUR",
        StatsKey::Session => "SESSION",
        StatsKey::Model => "MODEL",
        StatsKey::Folder => "FOLDER",
        StatsKey::Repo => "REPO",
        StatsKey::Agent => "AGENT",
        StatsKey::Tool => "TOOL",
        StatsKey::Host => "HOST",
    }
}

/// Returns the table for a terminal, without a final line feed. `width`: that of the terminal, which no line exceeds; no number is cut.
pub(super) fn text(table: &StatsTable, width: Option<usize>) -> String {
    if table.rows.is_empty() {
        return table.sum.clone();
    }
    let mut columns = table.columns();
    let head = table.head.map(str::to_owned);
    let all = || [&head].into_iter().chain(&table.rows).chain([&table.total]);
    let mut widths: [usize; COLUMNS] =
        std::array::from_fn(|column| all().map(|row| row[column].width()).max().unwrap_or(0));
    let whole = |columns: &[usize], widths: &[usize; COLUMNS]| {
        columns.iter().map(|column| widths[*column] + GAP).sum::<usize>().saturating_sub(GAP)
    };
    if let Some(width) = width {
        let mut least = widths;
        least[0] = LEAST_KEY.min(widths[0]);
        for spared in SPARED {
            if whole(&columns, &least) > width {
                columns.retain(|column| *column != spared);
            }
        }
        let excess = whole(&columns, &widths).saturating_sub(width);
        widths[0] = widths[0].saturating_sub(excess).max(least[0]);
    } else {
        widths[0] = widths[0].min(MOST_KEY);
    }
    let mut text = String::new();
    for row in all() {
        let start = text.len();
        for &column in &columns {
            let cell = &row[column];
            let cell = match column {
                0 if table.is_path => cut_start(cell, widths[0]),
                0 => cut(cell, widths[0]),
                _ => cell.clone(),
            };
            let gap = " ".repeat(widths[column].saturating_sub(cell.width()));
            let between = if text.len() == start { "" } else { "  " };
            let _ = match column {
                0 | BAR => write!(text, "{between}{cell}{gap}"),
                _ => write!(text, "{between}{gap}{cell}"),
            };
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text.push_str(&table.sum);
    if table.is_ascii { text.replace('…', "~") } else { text }
}

/// Returns the table in Markdown.
pub(super) fn markdown(table: &StatsTable) -> String {
    let columns: Vec<usize> = table.columns().into_iter().filter(|column| *column != BAR).collect();
    let mut text = String::new();
    let mut line = |cells: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = columns.iter().map(|column| cells(*column)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&|column| table.head[column].to_owned());
    line(&|column| if column == 0 { "---" } else { "---:" }.to_owned());
    for row in &table.rows {
        line(&|column| escaped(&row[column]));
    }
    line(&|column| format!("**{}**", escaped(&table.total[column])));
    text.push('\n');
    text.push_str(&escaped(&table.sum));
    text
}

/// Escapes all characters that mean something in Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(
            char,
            '\\' | '`'
                | '*'
                | '_'
                | '{'
                | '}'
                | '['
                | ']'
                | '<'
                | '>'
                | '('
                | ')'
                | '#'
                | '!'
                | '|'
                | '~'
                | '&'
                | '$'
        ) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}\
div{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.25rem .4rem;text-align:right;white-space:nowrap;\
font-variant-numeric:tabular-nums;border-bottom:1px solid #8884}th:first-child,td:first-child{text-align:left}\
tfoot td{font-weight:600}meter{width:4rem}";

/// Returns the table as a page.
pub(super) fn html(table: &StatsTable) -> String {
    let columns = table.columns();
    let hash = BASE64.encode(&Sha256::digest(STYLE.as_bytes()));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Figures of sessions</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Figures of sessions</h1>\n<p>{}</p>\n<div><table>\n<thead><tr>",
        in_html(&table.sum)
    );
    for &column in &columns {
        let _ = write!(page, "<th scope=\"col\">{}</th>", table.head[column]);
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (row, share) in table.rows.iter().zip(&table.shares) {
        page.push_str("<tr>");
        for &column in &columns {
            let _ = match column {
                BAR => write!(page, "<td><meter value=\"{share:.3}\">{:.0} %</meter></td>", share * 100.0),
                _ => write!(page, "<td>{}</td>", in_html(&row[column])),
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n<tfoot><tr>");
    for &column in &columns {
        let _ = write!(page, "<td>{}</td>", in_html(&table.total[column]));
    }
    page.push_str("</tr></tfoot>\n</table></div>\n</body>\n</html>");
    page
}

fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn cost_of(row: &StatsRow) -> f64 {
    row.cost_usd.unwrap_or(0.0) + row.estimated_usd.unwrap_or(0.0)
}

/// Formats a cost: with `~` if some of it is estimated, with `≥` if some of it is unknown.
fn cost(row: &StatsRow, is_ascii: bool) -> String {
    let is_unpriced = !row.complete && cost_of(row) == 0.0;
    if is_unpriced {
        return "no price".to_owned();
    }
    let most = match (row.complete, is_ascii) {
        (true, _) => "",
        (false, true) => ">= ",
        (false, false) => "≥ ",
    };
    let about = if row.estimated_usd.is_some() { "~" } else { "" };
    match cost_of(row) {
        0.0 if row.complete && row.tokens == Usage::default() => String::new(),
        all @ 1e6.. => format!("{most}{about}${all:.0e}"),
        all if all > 0.0 && all < 0.01 => format!("{most}{about}${all:.4}"),
        all => format!("{most}{about}${all:.2}"),
    }
}

/// The sum in words: `≥ ~$1.20, 14k tokens without a price`.
fn sum(total: &StatsRow, is_ascii: bool) -> String {
    if total.sessions == 0 {
        return "no session used anything in this time".to_owned();
    }
    let cost = cost(total, is_ascii);
    let cost = if cost.is_empty() { "no cost".to_owned() } else { cost };
    match total.unpriced_tokens {
        0 => cost,
        tokens if cost == "no price" => format!("{} tokens without a price", compact(tokens)),
        tokens => format!("{cost}, {} tokens without a price", compact(tokens)),
    }
}

fn failures(row: &StatsRow) -> String {
    match row.failed {
        0 => row.calls.to_string(),
        failed => format!("{} ({failed} failed)", row.calls),
    }
}

/// Formats a count with three or four digits: `14k`, `1.2M`.
fn compact(count: u64) -> String {
    let scaled = |unit: f64, name: &str| {
        let value = count as f64 / unit;
        if value < 9.95 { format!("{value:.1}{name}") } else { format!("{value:.0}{name}") }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => scaled(1e3, "k"),
        999_500..999_500_000 => scaled(1e6, "M"),
        999_500_000..999_500_000_000 => scaled(1e9, "G"),
        _ => scaled(1e12, "T"),
    }
}

fn bar(share: f64, is_ascii: bool) -> String {
    let parts = if is_ascii { 1 } else { 8 };
    let length =
        (1..=WIDEST * parts).filter(|length| *length as f64 - 0.5 <= share * (WIDEST * parts) as f64).count();
    if is_ascii {
        return "#".repeat(length);
    }
    "█".repeat(length / parts) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][length % parts]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: Option<&str>, cost: f64, unpriced_tokens: u64) -> StatsRow {
        let tokens =
            Usage { input: 1_234_567, output: 999_949, cache_read: 98_765_432_100, cache_write: 14_000 };
        StatsRow {
            key: key.map(str::to_owned),
            sessions: 2_000,
            turns: 12_345,
            calls: 98_765,
            failed: 4_321,
            tokens,
            estimated_usd: Some(cost),
            unpriced_tokens,
            complete: unpriced_tokens == 0,
            ..StatsRow::default()
        }
    }

    #[test]
    fn a_narrow_table_leaves_columns_out_and_cuts_only_the_key() {
        let key = "a-model-with-a-name-that-is-longer-than-any-terminal-of-a-phone";
        let rows = [row(Some(key), 1_234.5, 0), row(Some("b"), 0.6, 14_000), row(None, 1_235.1, 14_000)];
        let table = StatsTable::of(&rows, StatsKey::Model, false);
        let full = text(&table, None);
        for width in [24, 40, 60, 80, 200] {
            let shown = text(&table, Some(width));
            let (lines, sum) = shown.rsplit_once('\n').unwrap();
            assert_eq!(sum, "≥ ~$1235.10, 14k tokens without a price");
            for (line, whole) in lines.lines().zip(full.lines()) {
                assert!(line.width() <= width, "{width}: {line}");
                let numbers = line.split_whitespace().skip(1);
                assert!(
                    numbers.clone().all(|number| whole.split_whitespace().any(|known| known == number)),
                    "{line}"
                );
                assert!(line.ends_with(whole.split_whitespace().last().unwrap()), "the cost stays: {line}");
            }
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_and_a_count_has_few_digits() {
        let bars = [0.0, 0.01, 0.5, 1.0].map(|share| bar(share, false));
        assert_eq!(bars, ["", "▏", "██████", "████████████"]);
        assert_eq!([0.0, 0.03, 0.05, 1.0].map(|share| bar(share, true)), ["", "", "#", "############"]);
        let counts = [0, 999, 1_000, 9_949, 9_950, 999_499, 999_500, 1_234_567_890, 5_000_000_000_000];
        assert_eq!(counts.map(compact), ["0", "999", "1.0k", "9.9k", "10k", "999k", "1.0M", "1.2G", "5.0T"]);
    }
}
