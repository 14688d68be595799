//! Cuts a byte stream into frames: complete lines.
//!
//! A line may arrive in any number of pieces, and is passed on with the piece that completes it. Memory stays bounded while it arrives:
//! if a line exceeds the limit, its bytes are passed on in pieces, and its frame contains only its size. A stream in UTF-16 that begins with a byte
//! order mark is decoded first.

mod utf16;

use std::borrow::Cow;
use std::ops::Range;

use utf16::Encoding;

/// The default size limit of a line, in bytes: a longer one is reported and not read.
pub const MAX_LINE: usize = 64 << 20;

/// The maximum number of frames that are passed on together: each takes memory, however short its line is.
const LINES: usize = 128;
/// The maximum number of bytes of several frames that are passed on together: they should stay in the processor's cache until they
/// are decoded.
const SIZE: usize = 16 << 10;

/// Frames that are passed on together, because one piece of the stream completes them. A frame is one line. Without any, the bytes are a
/// piece of a line over the limit, whose frame follows.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    /// The number of the first line, from 1.
    pub line: u64,
    /// The size of the only line in bytes, if it was over the limit. Its bytes came before, in pieces.
    pub oversized: Option<u64>,
    pub(crate) bytes: Cow<'a, [u8]>,
    /// The range of each line in the bytes.
    pub(crate) lines: &'a [Range<usize>],
}

impl Frames<'_> {
    /// The bytes of each line, without its line feed, a carriage return at its end or a byte order mark at the start of the stream.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|line| &self.bytes[line.clone()])
    }

    /// Passes on each frame by itself.
    pub fn each(self, mut each: impl FnMut(Frames<'_>)) {
        let Self { line, oversized, bytes, lines } = self;
        if lines.len() <= 1 {
            return each(Frames { line, oversized, bytes, lines });
        }
        for (line, range) in (line..).zip(lines) {
            each(Frames {
                line,
                oversized,
                bytes: Cow::Borrowed(&bytes),
                lines: std::slice::from_ref(range),
            });
        }
    }
}

/// Cuts a byte stream into frames.
#[derive(Debug)]
pub struct Framer {
    /// The beginning of a line whose end hasn't come; empty once it is over the limit.
    carry: Vec<u8>,
    /// The size of that line so far, including bytes that were passed on.
    size: u64,
    /// The number of the last complete line.
    line: u64,
    max: usize,
    /// The ranges of the lines of the next frames. Kept to reuse its allocation.
    lines: Vec<Range<usize>>,
    encoding: Encoding,
}

impl Framer {
    /// A framer that reads lines of up to `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { carry: Vec::new(), size: 0, line: 0, max, lines: Vec::new(), encoding: Encoding::Unknown }
    }

    /// A framer that continues after the first `lines` lines of a stream.
    pub fn after(lines: u64, max: usize) -> Self {
        let encoding = if lines == 0 { Encoding::Unknown } else { Encoding::Utf8 };
        Self { line: lines, encoding, ..Self::new(max) }
    }

    /// Takes more of the stream, and passes all lines that it completes to `each`.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Frames<'_>)) {
        if !matches!(self.encoding, Encoding::Utf8) {
            let kept = self.encoding.begin(&mut bytes);
            self.push_utf8(kept.as_slice(), &mut each);
            if let Encoding::Utf16(decoder) = &mut self.encoding {
                let text = decoder.decode(bytes);
                return self.push_utf8(text.as_bytes(), each);
            }
        }
        self.push_utf8(bytes, each);
    }

    fn push_utf8(&mut self, mut bytes: &[u8], mut each: impl FnMut(Frames<'_>)) {
        loop {
            let mut end = self.find_lines(bytes);
            if end > 0 {
                let lines = &*self.lines;
                each(Frames { line: self.line + 1, oversized: None, bytes: bytes[..end].into(), lines });
                self.line += lines.len() as u64;
            } else if let Some(length) = memchr::memchr(b'\n', bytes) {
                self.keep(&bytes[..length], &mut each);
                self.complete(&mut each);
                end = length + 1;
            } else {
                return self.keep(bytes, &mut each);
            }
            bytes = &bytes[end..];
        }
    }

    /// Ends the stream: passes on a last line that has no line feed.
    pub fn finish(&mut self, mut each: impl FnMut(Frames<'_>)) {
        match std::mem::replace(&mut self.encoding, Encoding::Utf8) {
            Encoding::Begun(byte) => self.push_utf8(&[byte], &mut each),
            Encoding::Utf16(mut decoder) => self.push_utf8(decoder.finish().as_bytes(), &mut each),
            Encoding::Unknown | Encoding::Utf8 => {}
        }
        if self.size > 0 {
            self.complete(&mut each);
        }
    }

    /// Finds the lines at the start of `bytes` that become the next frames. Returns the end of the last one: 0 if the first one began
    /// earlier, isn't complete or is over the limit.
    fn find_lines(&mut self, bytes: &[u8]) -> usize {
        self.lines.clear();
        let mut start = 0;
        while self.size == 0
            && self.lines.len() < LINES
            && let Some(length) = memchr::memchr(b'\n', &bytes[start..])
        {
            let end = start + length;
            if length > self.max || start > 0 && end > SIZE {
                break;
            }
            let is_first = self.line == 0 && start == 0;
            self.lines.push(stripped(bytes, start..end, is_first));
            start = end + 1;
        }
        start
    }

    fn keep(&mut self, bytes: &[u8], each: &mut impl FnMut(Frames<'_>)) {
        self.size += bytes.len() as u64;
        if self.size <= self.max as u64 {
            return self.carry.extend_from_slice(bytes);
        }
        // A first piece is as long as a line may be: how it is read doesn't depend on how it arrives.
        let (first, rest) = bytes.split_at((self.max - self.carry.len()).min(bytes.len()));
        if !self.carry.is_empty() {
            self.carry.extend_from_slice(first);
        }
        let pieces = match std::mem::take(&mut self.carry) {
            carry if carry.is_empty() => [Cow::Borrowed(bytes), Cow::default()],
            carry => [carry.into(), Cow::Borrowed(rest)],
        };
        for bytes in pieces.into_iter().filter(|bytes| !bytes.is_empty()) {
            each(Frames { line: self.line + 1, oversized: None, bytes, lines: &[] });
        }
    }

    fn complete(&mut self, each: &mut impl FnMut(Frames<'_>)) {
        let size = std::mem::take(&mut self.size);
        let bytes = std::mem::take(&mut self.carry);
        let oversized = (size > self.max as u64).then_some(size);
        let lines = [stripped(&bytes, 0..bytes.len(), self.line == 0)];
        self.line += 1;
        each(Frames { line: self.line, oversized, bytes: bytes.into(), lines: &lines });
    }
}

/// The part of a line without a byte order mark at the start of the stream and without a carriage return at the end.
fn stripped(bytes: &[u8], mut line: Range<usize>, is_first: bool) -> Range<usize> {
    if is_first && bytes[line.clone()].starts_with(b"\xef\xbb\xbf") {
        line.start += 3;
    }
    if bytes[line.clone()].ends_with(b"\r") {
        line.end -= 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(pieces: &[&[u8]], max: usize) -> Vec<(u64, Vec<u8>, Option<u64>)> {
        let mut framer = Framer::new(max);
        let mut all = Vec::new();
        let mut each = |frames: Frames<'_>| {
            all.extend(
                (frames.line..)
                    .zip(frames.lines())
                    .map(|(line, bytes)| (line, bytes.to_owned(), frames.oversized)),
            );
        };
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
    fn utf_16_with_a_mark_is_decoded_whatever_its_pieces() {
        let text = "a\u{e9}\r\n\u{1f600}\n\u{2028}b";
        let want = [
            (1, "a\u{e9}".as_bytes().to_vec(), None),
            (2, "\u{1f600}".into(), None),
            (3, "\u{2028}b".into(), None),
        ];
        let little: Vec<u8> =
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = little.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
        for stream in [little, big] {
            for size in [1, 2, 3, 100] {
                assert_eq!(frames(&stream.chunks(size).collect::<Vec<_>>(), 100), want);
            }
        }
        // Halves of characters, and an extra byte.
        let odd = frames(&[b"\xff\xfe", b"\x00\xd8a\x00\x00\xdc\x00\xd8\x01"], 100);
        assert_eq!(odd, [(1, "\u{fffd}a\u{fffd}\u{fffd}\u{fffd}".into(), None)]);
        assert_eq!(frames(&[b"\xff", b"a"], 100), [(1, b"\xffa".to_vec(), None)]);
        assert_eq!(frames(&[b"\xfe"], 100), [(1, b"\xfe".to_vec(), None)]);
    }

    #[test]
    fn a_line_over_the_limit_has_only_its_size_and_the_next_is_read_and_its_bytes_come_in_pieces() {
        let mut pieces = Vec::new();
        let mut framer = Framer::new(5);
        for bytes in [&b"ab\n1234"[..], b"5678", b"9\nab\n123456\n"] {
            framer.push(bytes, |frames| {
                if frames.lines.is_empty() {
                    pieces.push((frames.line, frames.bytes.into_owned()));
                }
            });
        }
        assert_eq!(
            pieces,
            [(2, b"12345".to_vec()), (2, b"678".to_vec()), (2, b"9".to_vec()), (4, b"123456".to_vec())]
        );
        let got = frames(&[b"1234", b"5678", b"9\nab\n12345678"], 5);
        assert_eq!(got, [(1, vec![], Some(9)), (2, b"ab".to_vec(), None), (3, vec![], Some(8))]);
    }

    #[test]
    fn frames_that_come_together_are_limited_in_number_and_bytes_unless_there_is_one() {
        let (short, long) = (b"a\n".repeat(LINES + 1), [&b"b".repeat(2 * SIZE)[..], b"\n"].concat());
        let half = [&b"c".repeat(SIZE / 2)[..], b"\n"].concat();
        let stream = [&short[..], b"a\n", &long, &half, &half, b"d\n"].concat();
        let mut all = Vec::new();
        let mut each = |frames: Frames<'_>| all.push((frames.line, frames.lines().count()));
        Framer::new(1 << 20).push(&stream, &mut each);
        let lines = LINES as u64;
        assert_eq!(all, [(1, LINES), (lines + 1, 2), (lines + 3, 1), (lines + 4, 1), (lines + 5, 2)]);
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
