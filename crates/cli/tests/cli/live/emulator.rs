//! An emulated terminal with a scrollback, which rewraps rows when its width changes.

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line, Point};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;
use alacritty_terminal::{Term, term};

/// Columns and rows.
pub(crate) type Size = (usize, usize);

/// The terminal's content.
pub(crate) struct Emulator {
    terminal: Term<VoidListener>,
    processor: Processor,
}

impl Emulator {
    pub(crate) fn new(size: Size) -> Self {
        let config = Config { scrolling_history: 100_000, ..Config::default() };
        Self { terminal: Term::new(config, &sized(size), VoidListener), processor: Processor::new() }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.processor.advance(&mut self.terminal, bytes);
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.terminal.resize(sized(size));
    }

    /// The rows of its screen, without trailing blanks.
    pub(crate) fn screen(&self) -> Vec<String> {
        self.texts(0)
    }

    /// The rows of its scrollback and its screen, down to the last row that isn't blank.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut rows = self.texts(self.top());
        let end = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        rows.truncate(end);
        rows
    }

    /// The same, with rows joined that the terminal wrapped itself.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut is_broken = false;
        for row in self.cells(self.top()) {
            let is_next_broken = row.last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE));
            let text = text(&row);
            match lines.last_mut().filter(|_| is_broken) {
                Some(line) => line.push_str(&text),
                None => lines.push(text),
            }
            is_broken = is_next_broken;
        }
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(end);
        lines
    }

    /// All cells of its scrollback and its screen, up to the last one of each row, with their colours and links, and the position of the
    /// cursor in them. Trailing blanks are left out: where their colour comes from depends on the terminal.
    pub(crate) fn state(&self) -> (Vec<Vec<Cell>>, Point) {
        let from = self.top();
        let cursor = self.terminal.grid().cursor.point;
        let mut cells = self.cells(from);
        for row in &mut cells {
            let end = row.iter().rposition(|cell| cell.c != ' ').map_or(0, |last| last + 1);
            row.truncate(end);
        }
        let end = cells.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        cells.truncate(end);
        (cells, Point::new(cursor.line - from, cursor.column))
    }

    /// Whether the cursor is visible, wrapping is on, and no style is left over.
    pub(crate) fn is_clean(&self) -> bool {
        let style = &self.terminal.grid().cursor.template;
        let mode = *self.terminal.mode();
        let usual = TermMode::SHOW_CURSOR | TermMode::LINE_WRAP;
        mode.contains(usual)
            && !mode.intersects(TermMode::ALT_SCREEN | TermMode::BRACKETED_PASTE | TermMode::MOUSE_MODE)
            && style == &Cell::default()
    }

    /// The first row of the scrollback; the screen's first row is 0.
    fn top(&self) -> i32 {
        -signed(self.terminal.grid().history_size())
    }

    fn cells(&self, from: i32) -> Vec<Vec<Cell>> {
        let grid = self.terminal.grid();
        let lines = from..signed(grid.screen_lines());
        let row = |line| (0..grid.columns()).map(|column| grid[Line(line)][Column(column)].clone()).collect();
        lines.map(row).collect()
    }

    fn texts(&self, from: i32) -> Vec<String> {
        self.cells(from).iter().map(|row| text(row).trim_end().to_owned()).collect()
    }
}

fn signed(rows: usize) -> i32 {
    i32::try_from(rows).unwrap()
}

fn sized((columns, rows): Size) -> term::test::TermSize {
    term::test::TermSize::new(columns, rows)
}

fn text(row: &[Cell]) -> String {
    let spacers = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    let mut text = String::new();
    for cell in row.iter().filter(|cell| !cell.flags.intersects(spacers)) {
        text.push(cell.c);
        text.extend(cell.zerowidth().into_iter().flatten());
    }
    text
}
