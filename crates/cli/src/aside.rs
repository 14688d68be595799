//! Turns an agent's standard error into lines for the display: clean and masked.

use streamfmt::core::redact::Redactor;
use streamfmt::core::text::clean;

/// An unfinished line is shown once it exceeds this size, in bytes.
const LINE: usize = 8 * 1024;

/// While masking is on, this many bytes at the end of an unfinished line are held back: a secret may continue there.
const HELD: usize = 1024;

/// How many blanks are tried as places to split such a line without splitting a secret.
const TRIES: usize = 16;

/// An unfinished line that can't be split is dropped once it exceeds this size, in bytes.
const MOST: usize = 64 * 1024;

/// Takes bytes and returns lines.
pub(crate) struct AsideLines {
    /// The last, unfinished line.
    line: Vec<u8>,
    /// The size at which splitting that line failed last. Masking takes time, so it isn't tried again for each byte.
    tried: usize,
    /// Returns what masks now; `None` while nothing is masked.
    new_redactor: fn() -> Option<Redactor>,
    /// Masks line by line, once masking is on.
    redactor: Option<Redactor>,
    /// Bytes of the unfinished line that were dropped.
    omitted: usize,
}

impl AsideLines {
    pub(crate) fn new(new_redactor: fn() -> Option<Redactor>) -> Self {
        Self { line: Vec::new(), tried: 0, new_redactor, redactor: None, omitted: 0 }
    }

    /// Takes bytes and returns the lines that they complete, and the beginning of an unfinished line that has become too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                lines.extend(self.take(self.line.len()));
            }
        }
        if self.line.len() > LINE.max(self.tried + HELD) {
            self.shorten(&mut lines);
        }
        lines
    }

    /// Whether there is no unfinished line.
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.omitted == 0
    }

    /// Returns the unfinished line at the end of the input.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.take(self.line.len())
    }

    /// Takes the beginning of a long unfinished line, if it can be split.
    fn shorten(&mut self, lines: &mut Vec<String>) {
        let count = match (self.new_redactor)() {
            None => Some(whole_characters(&self.line)),
            Some(mut redactor) => self.split_place(&mut redactor),
        };
        if let Some(count) = count {
            lines.extend(self.take(count));
        } else if self.line.len() > MOST || self.omitted > 0 {
            self.omitted += self.line.len();
            self.tried = 0;
            self.line.clear();
        } else {
            self.tried = self.line.len();
        }
    }

    /// A blank at which the line can be split: both parts, masked separately, must equal the masked line.
    fn split_place(&self, redactor: &mut Redactor) -> Option<usize> {
        let mut mask = |bytes| redactor.text(&clean(&String::from_utf8_lossy(bytes))).into_owned();
        let whole = mask(&self.line);
        let mut end = self.line.len() - HELD;
        for _ in 0..TRIES {
            let at = self.line[..end].iter().rposition(|byte| b" \t".contains(byte))?;
            if mask(&self.line[..at]) + &mask(&self.line[at..]) == whole {
                return Some(at);
            }
            end = at.saturating_sub(HELD / 4);
        }
        None
    }

    /// Takes the first bytes: a line, or the beginning of one.
    fn take(&mut self, count: usize) -> Vec<String> {
        let taken: Vec<u8> = self.line.drain(..count).collect();
        let omitted = std::mem::take(&mut self.omitted);
        self.tried = 0;
        if omitted > 0 {
            // The rest of that line may be the end of a secret.
            return vec![format!("… {} bytes of a line aren't shown: they can't be masked", omitted + count)];
        }
        if self.redactor.is_none() {
            self.redactor = (self.new_redactor)();
        }
        let mask = |line: &str| {
            let mut line = clean(line).into_owned();
            if let Some(redactor) = &mut self.redactor {
                redactor.next_line(&mut line);
            }
            line
        };
        String::from_utf8_lossy(&taken).lines().map(mask).collect()
    }
}

/// Returns the number of bytes before an incomplete UTF-8 character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let Some(back) = bytes.iter().rev().take(4).position(|byte| byte & 0b1100_0000 != 0b1000_0000) else {
        return bytes.len();
    };
    let start = bytes.len() - back - 1;
    let length = match bytes[start] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    if start + length > bytes.len() { start } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use streamfmt::core::redact::Redaction;

    use super::*;

    #[test]
    fn a_long_unfinished_line_is_split_between_characters() {
        for sign in ["a", "é", "€", "😀"] {
            let text = sign.repeat(3 * LINE);
            for first in LINE + 1..LINE + 6 {
                let mut aside = AsideLines::new(|| None);
                let (head, tail) = text.as_bytes().split_at(first);
                let mut lines = aside.push(head);
                lines.extend(aside.push(tail));
                lines.extend(aside.finish());
                assert!(lines.concat() == text, "{sign} after {first} bytes");
            }
        }
        // Each invalid byte becomes one character.
        let mut aside = AsideLines::new(|| None);
        let lines = aside.push(&[0x80; LINE + 1]);
        assert_eq!(lines.concat().chars().count() + aside.finish().concat().chars().count(), LINE + 1);
    }

    #[test]
    fn a_long_unfinished_line_is_shown_but_for_an_end_that_may_be_a_secret() {
        let all = "word ".repeat(2_000);
        let (first, rest) = all.split_at(8 * 1_024);
        for (is_masked, shown) in [(false, 8 * 1_024 + 1), (true, 7 * 1_024)] {
            let redactor = || Redactor::new(&Redaction::everything());
            let mut aside = AsideLines::new(if is_masked { redactor } else { || None });
            assert_eq!(aside.push(first.as_bytes()), [""; 0], "{is_masked}");
            let mut lines = aside.push(&rest.as_bytes()[..1]);
            // Up to the preceding blank.
            assert!(
                (shown - 5..=shown).contains(&lines.concat().len()),
                "{is_masked}: {}",
                lines.concat().len()
            );
            lines.extend(aside.push(&rest.as_bytes()[1..]));
            lines.extend(aside.finish());
            assert!(lines.concat() == all, "{is_masked}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_to_be_masked_is_counted_in_its_place() {
        let mut aside = AsideLines::new(|| Redactor::new(&Redaction::everything()));
        let mut lines = aside.push(&vec![b'x'; 64 * 1_024]);
        lines.extend(aside.push(&[b'x'; 1_025]));
        assert_eq!(aside.line.len(), 0, "nothing of it is kept");
        lines.extend(aside.push(b"xx\nnext\n"));
        assert_eq!(lines, ["… 66564 bytes of a line aren't shown: they can't be masked", "next"]);
    }
}
