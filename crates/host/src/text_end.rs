//! The end of a text, kept in bounded memory while the text is written.

use std::fmt;

/// Text is dropped in pieces of at least this many bytes.
const PIECE: usize = 64 * 1024;

/// Number of units after a cut that are searched for the beginning of a line.
const NEAR: usize = 200;

/// Keeps the end of the text that is written to it.
///
/// ```
/// use std::fmt::Write;
/// use streamfmt::Tail;
///
/// let mut tail = Tail::lines(8);
/// write!(tail, "one\ntwo\nsix\n")?;
/// assert_eq!(tail.text(), "two\nsix\n");
///
/// let mut tail = Tail::units(6);
/// write!(tail, "one two six")?;
/// assert_eq!(tail.text(), "wo six");
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tail {
    measure: Measure,
    /// The size of the end, in this measure.
    wanted: usize,
    kept: String,
}

/// The unit of the size, and the position at which the end may begin.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// Counts characters, and begins at the start of a line.
    Lines,
    /// Counts UTF-16 units, and begins at any character.
    Units,
}

impl Tail {
    /// Keeps as many whole lines as fit into this many characters. If the last line is longer, nothing is kept.
    pub fn lines(characters: usize) -> Self {
        Self { measure: Measure::Lines, wanted: characters, kept: String::new() }
    }

    /// Keeps at most this many UTF-16 units. If the text is longer, the end begins after the first line feed among the first 200
    /// of these units, or else with them, never inside a character.
    pub fn units(units: usize) -> Self {
        Self { measure: Measure::Units, wanted: units, kept: String::new() }
    }

    /// The end of the text written so far.
    pub fn text(&self) -> &str {
        match self.measure {
            Measure::Lines => self.last_lines(),
            Measure::Units => self.last_units(),
        }
    }

    fn last_lines(&self) -> &str {
        let Some(beyond) = self.kept.char_indices().rev().nth(self.wanted).map(|(at, _)| at) else {
            // All of it fits. Nothing was dropped, since more than the wanted size is kept.
            return &self.kept;
        };
        // A line may begin right after the first character that is too much.
        match self.kept[beyond..].find('\n') {
            Some(end) => &self.kept[beyond + end + 1..],
            None => "",
        }
    }

    fn last_units(&self) -> &str {
        let mut left = self.wanted;
        let beyond = self.kept.char_indices().rev().find(|(_, ch)| match left.checked_sub(ch.len_utf16()) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        let Some((at, ch)) = beyond else { return &self.kept };
        let end = &self.kept[at + ch.len_utf8()..];
        // The first unit may be half of a character. It counts, although it can't be included.
        let mut unit = left;
        let line = end.char_indices().take_while(|(_, ch)| {
            let is_near = unit < NEAR;
            unit += ch.len_utf16();
            is_near
        });
        let feed = line.into_iter().find(|(_, ch)| *ch == '\n');
        feed.map_or(end, |(at, _)| &end[at + 1..])
    }
}

impl fmt::Write for Tail {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.kept.push_str(text);
        // A character or unit has at most four bytes. One more character shows whether a line begins after it.
        let enough = self.wanted.saturating_mul(4).saturating_add(4);
        if self.kept.len() > enough.saturating_mul(2).max(PIECE) {
            let cut = self.kept.len() - enough;
            let cut = (0..=cut).rev().find(|&at| self.kept.is_char_boundary(at)).unwrap_or(0);
            self.kept.drain(..cut);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn end_of(mut tail: Tail, text: &str) -> String {
        for piece in text.split_inclusive('\n') {
            tail.write_str(piece).unwrap();
        }
        tail.text().to_owned()
    }

    #[test]
    fn a_tail_of_lines_begins_at_the_start_of_a_line() {
        for (wanted, text, expected) in [
            (8, "one\ntwo\nsix\n", "two\nsix\n"),
            (7, "one\ntwo\nsix\n", "six\n"),
            (12, "one\ntwo\nsix\n", "one\ntwo\nsix\n"),
            (99, "one\ntwo\nsix\n", "one\ntwo\nsix\n"),
            (5, "äöü\näöü\n", "äöü\n"),
            (3, "a long line\n", ""),
            (0, "one\n", ""),
            (3, "", ""),
        ] {
            assert_eq!(end_of(Tail::lines(wanted), text), expected, "{wanted} of {text:?}");
        }
    }

    #[test]
    fn a_tail_of_units_begins_at_a_near_line_or_anywhere() {
        let x = |count| "x".repeat(count);
        for (wanted, text, expected) in [
            (5, "abcde".to_owned(), "abcde".to_owned()),
            (5, "abcdef".to_owned(), "bcdef".to_owned()),
            (0, "abc".to_owned(), String::new()),
            // The line feed may be the first or the 200th unit, but not the next.
            (5, "abc\nxxxx".to_owned(), "xxxx".to_owned()),
            (300, format!("y{}\n{}", x(199), x(100)), x(100)),
            (301, format!("y{}\n{}", x(200), x(100)), format!("{}\n{}", x(200), x(100))),
            // It begins after the first line feed, not after the last.
            (6, "zzab\nc\nd".to_owned(), "c\nd".to_owned()),
            // A character of two units is whole or absent.
            (4, "a😀😀".to_owned(), "😀😀".to_owned()),
            (3, "a😀😀".to_owned(), "😀".to_owned()),
            (1, "😀".to_owned(), String::new()),
            (6, "aäöü😀z".to_owned(), "äöü😀z".to_owned()),
            // Half of a character is the first of the 200 units.
            (301, format!("😀{}\n{}", x(198), x(101)), x(101)),
            (301, format!("😀{}\n{}", x(199), x(100)), format!("{}\n{}", x(199), x(100))),
        ] {
            assert_eq!(end_of(Tail::units(wanted), &text), expected, "{wanted} of {text:?}");
        }
    }

    #[test]
    fn a_tail_of_a_long_text_is_kept_in_bounded_memory() {
        for mut tail in [Tail::lines(25), Tail::units(25)] {
            for _ in 0..100_000 {
                tail.write_str("0123456789\n").unwrap();
                assert!(tail.kept.len() <= PIECE + 11);
            }
            assert_eq!(tail.text(), "0123456789\n0123456789\n");
        }
    }
}
