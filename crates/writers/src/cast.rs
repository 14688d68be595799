//! Entries as a recording of a terminal, for the asciinema player: version 2 of its format, one JSON value per line.
//!
//! ```text
//! {"version":2,"width":80,"height":24,"timestamp":1763629980,"theme":{"fg":"#d0d0d0","bg":"#1b1d22",…}}
//! [0.0,"o","● Read src/cart.rs\r\n"]
//! [1.2,"o","● Bash Run the cart tests\r\n"]
//! ```
//!
//! The times are those of the stream, with long waits shortened; without times, entries come at equal intervals. The lines of
//! one entry come one after the other, as one reads them.

use std::fmt::{self, Write};

use crate::terminal::Terminal;
use streamfmt_core::contract::write_string;
use streamfmt_core::outline::Node;
use streamfmt_core::theme::{Appearance, Color, Theme};
use streamfmt_core::writer::{Order, Wants, Writer};

/// The longest wait, in milliseconds. Longer ones are shortened.
const LONGEST_WAIT: i64 = 2_000;
/// The interval between entries without times, in milliseconds.
const EVEN: i64 = 400;
/// The longest interval between the lines of an entry, in milliseconds.
const LINE: i64 = 40;
/// The time in which all lines of an entry come, in milliseconds.
const ENTRY: i64 = 1_200;

/// The sixteen colours of the terminal, from xterm. Players require them; themes have colours of their own.
const PALETTE: &str = "#000000:#cd0000:#00cd00:#cdcd00:#0000ee:#cd00cd:#00cdcd:#e5e5e5:\
                       #7f7f7f:#ff0000:#00ff00:#ffff00:#5c5cff:#ff00ff:#00ffff:#ffffff";

/// Writes entries as a recording of a terminal.
pub struct Cast {
    terminal: Terminal,
    /// The colours of plain text and of the background.
    ground: Option<(Color, Color)>,
    width: usize,
    height: usize,
    is_begun: bool,
    /// The time of the previous entry in the stream, in milliseconds since 1970.
    before: Option<i64>,
    /// The position in the recording, in milliseconds.
    now: i64,
    screen: String,
}

impl Cast {
    /// Creates a recording of `terminal`, which wraps at `width`, with `height` rows and the background of `theme`.
    pub fn new(terminal: Terminal, theme: &Theme, width: usize, height: usize) -> Self {
        let ground = theme.background().map(|ground| {
            let is_light = ground.appearance() == Some(Appearance::Light);
            let usual = if is_light { Color::Rgb(0x1c, 0x1f, 0x26) } else { Color::Rgb(0xd8, 0xda, 0xe0) };
            (theme.style("text").fg.unwrap_or(usual), ground)
        });
        Self { terminal, ground, width, height, is_begun: false, before: None, now: 0, screen: String::new() }
    }

    fn begin_recording(&mut self, seconds: Option<i64>, out: &mut dyn Write) -> fmt::Result {
        if std::mem::replace(&mut self.is_begun, true) {
            return Ok(());
        }
        write!(out, "{{\"version\":2,\"width\":{},\"height\":{}", self.width, self.height)?;
        if let Some(seconds) = seconds {
            write!(out, ",\"timestamp\":{seconds}")?;
        }
        if let Some((Some([r, g, b]), Some([red, green, blue]))) =
            self.ground.map(|(text, ground)| (text.rgb(), ground.rgb()))
        {
            write!(out, ",\"theme\":{{\"fg\":\"#{r:02x}{g:02x}{b:02x}\"")?;
            write!(out, ",\"bg\":\"#{red:02x}{green:02x}{blue:02x}\",\"palette\":\"{PALETTE}\"}}")?;
        }
        out.write_str(",\"env\":{\"TERM\":\"xterm-256color\"}}\n")
    }

    /// Writes the output of the terminal, line by line.
    fn record(&mut self, out: &mut dyn Write) -> fmt::Result {
        let screen = std::mem::take(&mut self.screen);
        let lines = screen.split_inclusive('\n').count().max(1);
        let pause = (ENTRY / i64::try_from(lines).unwrap_or(ENTRY)).min(LINE);
        for (at, line) in screen.split_inclusive('\n').enumerate() {
            if at > 0 {
                self.now += pause;
            }
            write!(out, "[{}.{:03},\"o\",", self.now / 1000, self.now % 1000)?;
            let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\r\n"));
            write_string(out, &format!("{text}{end}"))?;
            out.write_str("]\n")?;
        }
        self.screen = screen;
        self.screen.clear();
        Ok(())
    }
}

impl Writer for Cast {
    fn wants(&self) -> Wants {
        // It replays what a terminal would have shown, step by step.
        Wants { time: true, order: Order::Completion, ..self.terminal.wants() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        let entry = &node.entry;
        let at = entry.at.map(jiff::Timestamp::as_millisecond);
        self.now += match (self.before, at) {
            _ if !self.is_begun => 0,
            // A clock that was set back adds no wait.
            (Some(before), Some(at)) => at.saturating_sub(before).clamp(0, LONGEST_WAIT),
            _ => EVEN,
        };
        self.begin_recording(at.map(|ms| ms.div_euclid(1000)), out)?;
        self.before = at.or(self.before);
        self.terminal.node(node, &mut self.screen)?;
        self.record(out)
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.begin_recording(None, out)?;
        self.terminal.end(&mut self.screen)?;
        if self.screen.is_empty() { Ok(()) } else { self.record(out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Look;
    use streamfmt_core::entry::{Block, Entry, View};
    use streamfmt_core::item::Kind;

    fn reply(text: &str, at: Option<&str>) -> Entry {
        Entry {
            at: at.and_then(|at| at.parse().ok()),
            ..Entry::new(text, Kind::Reply, View::of(vec![Block::prose("reply", text)]))
        }
    }

    #[test]
    fn it_has_the_streams_own_times_but_no_long_waits() {
        let mut cast = Cast::new(Terminal::new(Look::default()), &Theme::default(), 80, 24);
        let mut out = String::new();
        for entry in [
            reply("one\ntwo", Some("2026-01-02T03:04:05Z")),
            reply("three \"3\"", Some("2026-01-02T03:04:06Z")),
            reply("four", Some("2026-01-02T09:00:00Z")),
            reply("five", Some("2026-01-02T08:00:00Z")),
            reply("six", None),
        ] {
            cast.node(&Node::from(entry), &mut out).unwrap();
        }
        cast.end(&mut out).unwrap();
        assert_eq!(
            out,
            concat!(
                r#"{"version":2,"width":80,"height":24,"timestamp":1767323045,"env":{"TERM":"xterm-256color"}}"#,
                "\n",
                r#"[0.000,"o","  one\r\n"]"#,
                "\n",
                r#"[0.040,"o","  two\r\n"]"#,
                "\n",
                r#"[1.040,"o","\r\n"]"#,
                "\n",
                r#"[1.080,"o","  three \"3\"\r\n"]"#,
                "\n",
                r#"[3.080,"o","\r\n"]"#,
                "\n",
                r#"[3.120,"o","  four\r\n"]"#,
                "\n",
                r#"[3.120,"o","\r\n"]"#,
                "\n",
                r#"[3.160,"o","  five\r\n"]"#,
                "\n",
                r#"[3.560,"o","\r\n"]"#,
                "\n",
                r#"[3.600,"o","  six\r\n"]"#,
                "\n",
            )
        );
    }

    #[test]
    fn the_recording_has_the_background_of_the_theme() {
        let theme = Theme::builtin("auto", Appearance::Light).unwrap();
        let mut out = String::new();
        let mut cast = Cast::new(Terminal::new(Look::default()), &theme, 80, 24);
        cast.end(&mut out).unwrap();
        assert!(out.contains(r##""theme":{"fg":"#1c1f26","bg":"#ffffff","palette":"#000000:"##), "{out}");
        let palette = PALETTE.split(':');
        assert!(palette.clone().count() == 16 && palette.into_iter().all(|color| color.len() == 7));
    }
}
