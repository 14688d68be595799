//! The sequences written to a terminal: none may erase the user's content.

use alacritty_terminal::vte::{Params, Parser, Perform};

/// Parses output, and collects forbidden sequences.
#[derive(Default)]
pub(crate) struct Sequences {
    parser: Parser,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    /// The maximum height of a frame: the screen's rows less one. `None`: unlimited.
    most: Option<usize>,
    /// The height of the frame being painted, in rows.
    frame: Option<usize>,
    /// The height of the highest frame painted so far.
    highest: usize,
    forbidden: Vec<String>,
}

impl Sequences {
    pub(crate) fn new(rows: usize) -> Self {
        Self { parser: Parser::new(), seen: Seen { most: Some(rows - 1), ..Seen::default() } }
    }

    /// After a resize, the size that a frame was painted for is unknown.
    pub(crate) fn resize(&mut self) {
        self.seen.most = None;
    }

    #[track_caller]
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.seen, bytes);
        let forbidden = &self.seen.forbidden;
        assert!(forbidden.is_empty(), "{forbidden:?} in {:?}", String::from_utf8_lossy(bytes));
    }

    /// The height of the highest frame. A frame painted in several writes counts as several.
    pub(crate) fn highest(&self) -> usize {
        self.seen.highest
    }
}

impl Seen {
    fn rows(&mut self, rows: usize) {
        self.highest = self.highest.max(rows);
        if self.most.is_some_and(|most| rows > most) {
            self.forbidden.push(format!("{rows} rows, of {:?} at most", self.most));
        }
    }
}

impl Perform for Seen {
    fn print(&mut self, _: char) {}

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                self.frame = self.frame.map(|rows| rows + 1);
                self.rows(self.frame.unwrap_or(0));
            }
            b'\r' => {}
            _ => self.forbidden.push(format!("control character {byte:#x}")),
        }
    }

    fn csi_dispatch(&mut self, params: &Params, marks: &[u8], _: bool, end: char) {
        let numbers: Vec<u16> = params.iter().flatten().copied().collect();
        match (marks, numbers.as_slice(), end) {
            (b"", _, 'm') | (b"", [] | [0], 'J' | 'K' | 'C') => {}
            // Up: never above the frame and the row before it.
            (b"", &[rows], 'A') => self.rows(rows.into()),
            (b"?", [7], 'l') => {
                self.frame = Some(1);
                self.rows(1);
            }
            (b"?", [7], 'h') => self.frame = None,
            _ => self.forbidden.push(format!("CSI {} {numbers:?} {end}", String::from_utf8_lossy(marks))),
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        if params.first() != Some(&b"8".as_slice()) {
            self.forbidden.push(format!("OSC {params:?}"));
        }
    }

    fn esc_dispatch(&mut self, marks: &[u8], _: bool, byte: u8) {
        // The end of an OSC.
        if byte != b'\\' {
            self.forbidden.push(format!("ESC {marks:?} {}", char::from(byte)));
        }
    }

    fn hook(&mut self, _: &Params, _: &[u8], _: bool, end: char) {
        self.forbidden.push(format!("DCS {end}"));
    }
}
