//! The frame: rows on the terminal below the finished text, repainted when they change.
//!
//! ```text
//! finished text      moves up into the scrollback, and is never touched again
//! open row           the last row of the finished text, if that doesn't end in a line feed yet
//! rows of the frame  erased by going up and erasing downwards, only from the first that is different
//! ```
//!
//! The terminal needn't support more: no alternate screen, no scrolling region, no query. So whatever happens to the program, finished
//! text is the same as without a frame.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// Turns wrapping off: a row that is too long ends at the edge instead of taking another row, which wouldn't be counted.
const CUT_ROWS: &str = "\x1b[?7l";
const WRAP_ROWS: &str = "\x1b[?7h";

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    /// Columns of a row, at least one.
    pub(crate) columns: usize,
    /// Rows, at least one.
    pub(crate) rows: usize,
}

impl ScreenSize {
    /// The most rows of a frame. A terminal that becomes smaller pushes rows up out of reach: with half of the screen, it may
    /// lose half of its height before that happens to the frame.
    pub(crate) fn frame_rows(self) -> usize {
        (self.rows / 2).max(LEAST_ROWS).min(self.rows.saturating_sub(1))
    }
}

/// The rows that a frame may have even on a small screen.
const LEAST_ROWS: usize = 6;

/// The frame as it is on the terminal, and the sequences that change it.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// The last row of the finished text, if it doesn't end in a line feed.
    open_row: String,
    /// Whether that row is on the terminal now.
    is_open_row_shown: bool,
    /// The rows of the frame, as painted.
    shown: Vec<String>,
    /// The columns of the terminal when they were painted.
    columns: usize,
    /// Whether the terminal wraps rows again when it becomes narrower.
    reflows: bool,
}

impl Screen {
    /// An empty frame. `reflows`: whether the terminal wraps rows again when its width changes.
    pub(crate) fn new(reflows: bool) -> Self {
        Self { reflows, ..Self::default() }
    }

    /// Writes more finished text, and replaces the rows of the frame.
    pub(crate) fn paint(&mut self, size: ScreenSize, finished: &str, rows: Vec<String>, out: &mut String) {
        let is_same_size = self.columns == size.columns;
        if finished.is_empty() && is_same_size && rows == self.shown {
            return;
        }
        let kept = if finished.is_empty() && is_same_size && !self.shown.is_empty() {
            // The last row is always written, so that the cursor is at its end.
            let most = self.shown.len().min(rows.len()).saturating_sub(1);
            self.shown.iter().zip(&rows).take(most).take_while(|(one, other)| one == other).count()
        } else {
            0
        };
        if kept > 0 {
            self.erase_from(kept, out);
        } else {
            self.erase(size.columns, out);
            self.write(finished, out);
        }
        if !rows.is_empty() {
            if kept == 0 && self.is_open_row_shown {
                out.push_str("\r\n");
            }
            out.push_str(CUT_ROWS);
            for (at, row) in rows.iter().enumerate().skip(kept) {
                out.push_str(if at > kept { "\r\n" } else { "" });
                out.push_str(row);
            }
            out.push_str(WRAP_ROWS);
        }
        self.shown = rows;
        self.columns = size.columns;
    }

    /// Erases the frame, and writes more finished text.
    pub(crate) fn finish(&mut self, finished: &str, out: &mut String) {
        let size = ScreenSize { columns: self.columns, rows: 0 };
        if !finished.is_empty() || !self.shown.is_empty() {
            self.paint(size, finished, Vec::new(), out);
        }
    }

    /// Erases the frame and the open row, so that something else can be written there. The next painting restores them.
    pub(crate) fn step_aside(&mut self, out: &mut String) {
        self.erase(self.columns, out);
    }

    /// Erases the frame from one of its rows on. Leaves the cursor at the beginning of that row.
    fn erase_from(&mut self, row: usize, out: &mut String) {
        up(self.shown.len() - 1 - row, out);
    }

    /// Erases the frame and the open row. Leaves the cursor where the open row began.
    fn erase(&mut self, columns: usize, out: &mut String) {
        let is_narrower = columns < self.columns && self.reflows;
        let frame_row = |row: &String| if is_narrower { height(row, columns) } else { 1 };
        let mut rows: usize = self.shown.iter().map(frame_row).sum();
        if self.is_open_row_shown {
            // It is finished text, which the terminal wraps by itself.
            rows += height(&self.open_row, if self.reflows { columns } else { self.columns });
        }
        if rows > 0 {
            up(rows - 1, out);
        }
        self.shown.clear();
        self.is_open_row_shown = false;
    }

    /// Writes the open row, and more finished text after it.
    fn write(&mut self, finished: &str, out: &mut String) {
        self.open_row.push_str(finished);
        out.push_str(&self.open_row);
        let rest = self.open_row.rfind('\n').map_or(0, |end| end + 1);
        self.open_row.drain(..rest);
        self.is_open_row_shown = !self.open_row.is_empty();
    }
}

/// Moves up this many rows, to the beginning of a row, and erases it and everything below.
///
/// The row is erased first, then everything from its second column. Erasing all from the first column, at the top of the screen, is
/// taken by `tmux` for a clear, of which it keeps a copy in its scrollback.
fn up(rows: usize, out: &mut String) {
    out.push('\r');
    if rows > 0 {
        // A string takes everything.
        let _ = write!(out, "\x1b[{rows}A");
    }
    out.push_str("\x1b[K\x1b[C\x1b[J\r");
}

/// The number of rows that a row takes on a terminal with this many columns.
fn height(row: &str, columns: usize) -> usize {
    width(row).div_ceil(columns.max(1)).max(1)
}

/// The columns of a row, which may contain styles and links.
fn width(row: &str) -> usize {
    let mut rest = row;
    let mut columns = 0;
    while let Some(ch) = rest.chars().next() {
        if ch == '\x1b' {
            rest = &rest[sequence(rest)..];
            continue;
        }
        columns += ch.width().unwrap_or(0);
        rest = &rest[ch.len_utf8()..];
    }
    columns
}

/// The length in bytes of the sequence at the beginning of a text: a style (CSI), or a link (OSC) up to its end.
fn sequence(text: &str) -> usize {
    let ends = |end: &str| text.find(end).map(|at| at + end.len());
    let end = if text.starts_with("\x1b]") {
        ends("\x1b\\")
    } else {
        text.char_indices().skip(2).find(|(_, ch)| ch.is_ascii_alphabetic()).map(|(at, _)| at + 1)
    };
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ScreenSize = ScreenSize { columns: 10, rows: 8 };

    fn rows(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// The bytes written for a step, with the sequences abbreviated.
    fn painted(screen: &mut Screen, size: ScreenSize, finished: &str, frame: &str) -> String {
        let mut out = String::new();
        screen.paint(size, finished, rows(frame), &mut out);
        out.replace("\x1b[?7l", "[")
            .replace("\x1b[?7h", "]")
            .replace("\x1b[K\x1b[C\x1b[J\r", "J")
            .replace('\x1b', "^")
    }

    #[test]
    fn only_what_changed_is_written() {
        let mut screen = Screen::new(true);
        for (finished, frame, written) in [
            ("a\n", "1\n2", "a\n[1\r\n2]"),
            ("", "1\n2", ""),
            ("", "1\n2\n3", "\rJ[2\r\n3]"),
            ("", "1\n2\n4", "\rJ[4]"),
            ("", "0\n2\n4", "\r^[2AJ[0\r\n2\r\n4]"),
            ("", "0", "\r^[2AJ[0]"),
            ("b\n", "0", "\rJb\n[0]"),
            ("", "", "\rJ"),
            ("c\n", "", "c\n"),
        ] {
            assert_eq!(painted(&mut screen, SIZE, finished, frame), written, "{finished:?} {frame:?}");
        }
    }

    #[test]
    fn a_row_that_is_open_goes_on_where_it_was() {
        let mut screen = Screen::new(true);
        for (finished, frame, written) in [
            ("a", "", "a"),
            ("", "1", "\rJa\r\n[1]"),
            ("b", "1", "\r^[1AJab\r\n[1]"),
            (" c\nd", "2", "\r^[1AJab c\nd\r\n[2]"),
            ("\n", "", "\r^[1AJd\n"),
        ] {
            assert_eq!(painted(&mut screen, SIZE, finished, frame), written, "{finished:?} {frame:?}");
        }
    }

    #[test]
    fn rows_that_a_narrower_terminal_broke_are_counted() {
        let narrow = ScreenSize { columns: 4, ..SIZE };
        for (reflows, written) in [(true, "\r^[5AJ[x]"), (false, "\r^[1AJ[x]")] {
            let mut screen = Screen::new(reflows);
            painted(&mut screen, SIZE, "", "\x1b[1m123456789\x1b[0m\n日本語abc");
            assert_eq!(painted(&mut screen, narrow, "", "x"), written);
        }
    }

    #[test]
    fn what_steps_aside_comes_again() {
        let mut screen = Screen::new(true);
        painted(&mut screen, SIZE, "a", "1");
        let mut out = String::new();
        screen.step_aside(&mut out);
        assert_eq!(out, "\r\x1b[1A\x1b[K\x1b[C\x1b[J\r");
        assert_eq!(painted(&mut screen, SIZE, "", "1"), "a\r\n[1]");
    }

    #[test]
    fn links_and_styles_have_no_width() {
        assert_eq!(width("\x1b[1;38;5;2mab\x1b[0m\x1b]8;;https://x\x1b\\日\x1b]8;;\x1b\\"), 4);
    }
}
