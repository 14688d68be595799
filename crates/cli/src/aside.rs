//! What an agent writes to standard error, as lines to be shown: clean, and without what is masked.

use streamfmt::core::redact::Redactor;
use streamfmt::core::text::clean;

use crate::message::message_redactor;

/// An unfinished line is shown once it exceeds this size, in bytes.
const LINE: usize = 8 * 1024;

/// While something is masked, this much of the end of an unfinished line is held back: a secret may continue there.
const HELD: usize = 1024;

/// Places that are tried to divide such a line without dividing a secret.
const TRIES: usize = 16;

/// An unfinished line that can't be divided is left out once it exceeds this size, in bytes.
const MOST: usize = 64 * 1024;

/// Takes bytes and returns lines.
#[derive(Default)]
pub(crate) struct AsideLines {
    /// The last line, which is unfinished.
    line: Vec<u8>,
    /// Masks line by line, once there is something to mask.
    redactor: Option<Redactor>,
    /// Bytes of the unfinished line that were left out.
    omitted: usize,
}

impl AsideLines {
    /// Takes bytes, and returns the lines that they complete; of a long unfinished line also a part.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                lines.extend(self.take(self.line.len()));
            }
        }
        if self.line.len() > LINE {
            self.shorten(&mut lines);
        }
        lines
    }

    /// Whether there is no unfinished line.
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.omitted == 0
    }

    /// Returns the unfinished line, which doesn't continue.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.take(self.line.len())
    }

    /// Takes a part of a long unfinished line, if it can be divided.
    fn shorten(&mut self, lines: &mut Vec<String>) {
        let count = match message_redactor() {
            None => Some(self.line.len()),
            Some(mut redactor) => self.cut(&mut redactor),
        };
        if let Some(count) = count {
            lines.extend(self.take(count));
        } else if self.line.len() > MOST || self.omitted > 0 {
            self.omitted += self.line.len();
            self.line.clear();
        }
    }

    /// A blank that divides the line without dividing what is masked, nor what may follow and be masked then.
    fn cut(&self, redactor: &mut Redactor) -> Option<usize> {
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

    /// Takes the first bytes, which end a line or a part of one.
    fn take(&mut self, count: usize) -> Vec<String> {
        let taken: Vec<u8> = self.line.drain(..count).collect();
        let omitted = std::mem::take(&mut self.omitted);
        if omitted > 0 {
            // What is left of that line may be the end of a secret.
            return vec![format!("… {} bytes of a line aren't shown: they can't be masked", omitted + count)];
        }
        if self.redactor.is_none() {
            self.redactor = message_redactor();
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
