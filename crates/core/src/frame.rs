//! Cuts a byte stream into frames, one for each line.
//!
//! A line may arrive in any number of pieces. Memory stays bounded while it does: if a line exceeds
//! the limit, its bytes are dropped, and the frame contains only its size.

use std::borrow::Cow;

/// The default size limit of a line, in bytes: a longer one is reported and not read.
pub const MAX_LINE: usize = 64 << 20;

/// One line of the stream, without its line feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number, from 1.
    pub line: u64,
    /// Its bytes, without a carriage return at the end or a byte order mark at the start of the
    /// stream. Empty if the line was over the limit.
    pub bytes: Cow<'a, [u8]>,
    /// Its size in bytes, if it was over the limit.
    pub oversized: Option<u64>,
}

/// Cuts a byte stream into frames.
#[derive(Debug)]
pub struct Framer {
    /// The beginning of a line whose end hasn't come; empty once it is over the limit.
    carry: Vec<u8>,
    /// The size of that line so far, including dropped bytes.
    size: u64,
    /// The number of the last complete line.
    line: u64,
    max: usize,
}

impl Framer {
    /// A framer that reads lines of up to `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { carry: Vec::new(), size: 0, line: 0, max }
    }

    /// A framer that continues after the first `lines` lines of a stream.
    pub fn after(lines: u64, max: usize) -> Self {
        Self { line: lines, ..Self::new(max) }
    }

    /// Takes more of the stream, and passes each line that it completes to `each`.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Frame<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.size == 0 && line.len() <= self.max {
                self.line += 1;
                let line = strip(line, self.line);
                each(Frame { line: self.line, bytes: Cow::Borrowed(line), oversized: None });
            } else {
                self.keep(line);
                self.complete(&mut each);
            }
        }
        self.keep(bytes);
    }

    /// Ends the stream: passes on a last line that has no line feed.
    pub fn finish(&mut self, mut each: impl FnMut(Frame<'_>)) {
        if self.size > 0 {
            self.complete(&mut each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if self.size > self.max as u64 {
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(bytes);
        }
    }

    fn complete(&mut self, each: &mut impl FnMut(Frame<'_>)) {
        self.line += 1;
        let size = std::mem::take(&mut self.size);
        let mut bytes = std::mem::take(&mut self.carry);
        let oversized = (size > self.max as u64).then_some(size);
        let stripped = strip(&bytes, self.line);
        let (length, skipped) = (stripped.len(), stripped.as_ptr() as usize - bytes.as_ptr() as usize);
        if skipped > 0 {
            bytes.drain(..skipped);
        }
        bytes.truncate(length);
        each(Frame { line: self.line, bytes: Cow::Owned(bytes), oversized });
    }
}

fn strip(mut bytes: &[u8], line: u64) -> &[u8] {
    if line == 1 {
        bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    }
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(pieces: &[&[u8]], max: usize) -> Vec<(u64, Vec<u8>, Option<u64>)> {
        let mut framer = Framer::new(max);
        let mut all = Vec::new();
        let mut each = |frame: Frame<'_>| all.push((frame.line, frame.bytes.into_owned(), frame.oversized));
        for piece in pieces {
            framer.push(piece, &mut each);
        }
        framer.finish(&mut each);
        all
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        let got = frames(&[b"\xef\xbb\xbfa\r\n\n\rb\x0b\r\r\nc"], 100);
        let want = [
            (1, b"a".to_vec(), None),
            (2, vec![], None),
            (3, b"\rb\x0b\r".to_vec(), None),
            (4, b"c".to_vec(), None),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn a_line_over_the_limit_has_only_its_size_and_the_next_is_read() {
        let got = frames(&[b"1234", b"5678", b"9\nab\n12345678"], 5);
        assert_eq!(got, [(1, vec![], Some(9)), (2, b"ab".to_vec(), None), (3, vec![], Some(8))]);
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_frames(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200), cuts in proptest::collection::vec(0usize..200, 0..9)) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(frames(&pieces, 20), frames(&[&bytes], 20));
        }
    }
}
