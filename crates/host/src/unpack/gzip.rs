//! Decompresses gzip.

use std::io;
use std::mem;
use std::ops::Range;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Compression, GZIP, damaged};

/// The distance up to which gzip repeats earlier bytes.
const WINDOW: usize = 32 << 10;
/// The longest text in the head of a gzip member.
const LONGEST_HEAD: usize = 1 << 20;

/// The part of a gzip member that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GzipPart {
    /// Ten bytes at the start.
    Head,
    /// The length of the extra field, then the field.
    ExtraLength,
    Extra(usize),
    /// Texts that end with NUL: name and comment.
    Name,
    Comment,
    HeadSum,
    Body,
    Sums,
    /// Between two members: zeros, or the start of the next one.
    Between,
}

/// Decompresses gzip.
pub(super) struct Gunzip {
    part: GzipPart,
    /// The bytes of the part so far.
    kept: Vec<u8>,
    /// The flags of the member.
    flags: u8,
    /// The bytes of the texts in its head.
    head: usize,
    body: Decompress,
    /// Decompressed bytes, and which of them weren't passed on. With less room than for a window, the decoder would drop those before damage.
    window: Vec<u8>,
    left: Range<usize>,
    sum: Crc,
}

impl Default for Gunzip {
    fn default() -> Self {
        Self {
            part: GzipPart::Head,
            kept: Vec::new(),
            flags: 0,
            head: 0,
            body: Decompress::new(false),
            window: Vec::new(),
            left: 0..0,
            sum: Crc::new(),
        }
    }
}

impl Gunzip {
    pub(super) fn is_at_end(&self) -> bool {
        self.part == GzipPart::Between
    }

    /// Moves bytes to the part until it has so many. Returns them once it has.
    fn take(&mut self, bytes: &mut &[u8], count: usize) -> Option<Vec<u8>> {
        let (taken, rest) = bytes.split_at(bytes.len().min(count - self.kept.len()));
        self.kept.extend_from_slice(taken);
        *bytes = rest;
        (self.kept.len() == count).then(|| mem::take(&mut self.kept))
    }

    /// Goes to the next part that the member has.
    fn next_of_head(&mut self, after: GzipPart) {
        let parts = [
            (GzipPart::ExtraLength, 4),
            (GzipPart::Name, 8),
            (GzipPart::Comment, 16),
            (GzipPart::HeadSum, 2),
        ];
        let from = parts.iter().position(|(part, _)| *part == after).map_or(0, |at| at + 1);
        let next = parts[from..].iter().find(|(_, flag)| self.flags & flag != 0);
        self.part = next.map_or(GzipPart::Body, |(part, _)| *part);
    }

    /// Takes some of the bytes, and writes some to `piece`. Returns how many were written.
    pub(super) fn step(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
        let fail = |why: &str| Err(damaged(Compression::Gzip, why));
        if !self.left.is_empty() {
            return Ok(self.pass_on(piece));
        }
        while !bytes.is_empty() {
            match self.part {
                GzipPart::Between if bytes[0] == 0 => *bytes = &bytes[1..],
                GzipPart::Between => *self = Self::default(),
                GzipPart::Head => {
                    let Some(head) = self.take(bytes, 10) else { break };
                    if !head.starts_with(GZIP) {
                        return fail("bytes follow that belong to no member");
                    }
                    if head[2] != 8 || head[3] & 0xe0 != 0 {
                        return fail("its head is unknown");
                    }
                    self.flags = head[3];
                    self.next_of_head(GzipPart::Head);
                }
                GzipPart::ExtraLength => {
                    let Some(length) = self.take(bytes, 2) else { break };
                    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
                    self.part = GzipPart::Extra(length);
                    if length == 0 {
                        self.next_of_head(GzipPart::ExtraLength);
                    }
                }
                GzipPart::Extra(length) => {
                    if self.take(bytes, length).is_some() {
                        self.next_of_head(GzipPart::ExtraLength);
                    }
                }
                part @ (GzipPart::Name | GzipPart::Comment) => {
                    let end = bytes.iter().position(|byte| *byte == 0);
                    self.head += end.unwrap_or(bytes.len());
                    if self.head > LONGEST_HEAD {
                        return fail("its head is too long");
                    }
                    *bytes = &bytes[end.map_or(bytes.len(), |end| end + 1)..];
                    if end.is_some() {
                        self.next_of_head(part);
                    }
                }
                GzipPart::HeadSum => {
                    if self.take(bytes, 2).is_some() {
                        self.part = GzipPart::Body;
                    }
                }
                GzipPart::Body => return self.inflate(bytes, piece),
                GzipPart::Sums => {
                    let Some(sums) = self.take(bytes, 8) else { break };
                    let expected = [self.sum.sum().to_le_bytes(), self.sum.amount().to_le_bytes()].concat();
                    if sums != expected {
                        return fail("its checksum doesn't fit");
                    }
                    self.part = GzipPart::Between;
                }
            }
        }
        // The decoder may hold bytes that had no room in the last piece.
        if self.part == GzipPart::Body { self.inflate(bytes, piece) } else { Ok(0) }
    }

    fn inflate(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
        let (read, written) = (self.body.total_in(), self.body.total_out());
        self.window.resize(WINDOW, 0);
        let status = self.body.decompress(bytes, &mut self.window, FlushDecompress::None);
        let count = |now: u64, before: u64| usize::try_from(now - before).unwrap_or_default();
        let (read, written) = (count(self.body.total_in(), read), count(self.body.total_out(), written));
        *bytes = &bytes[read..];
        self.sum.update(&self.window[..written]);
        self.left = 0..written;
        match status {
            Ok(Status::StreamEnd) => self.part = GzipPart::Sums,
            // What comes before the damage is passed on first; the decoder reports the damage again.
            Err(error) if written == 0 => return Err(damaged(Compression::Gzip, &error.to_string())),
            _ => {}
        }
        Ok(self.pass_on(piece))
    }

    /// Writes the decompressed bytes that are left to `piece`, as many as have room.
    fn pass_on(&mut self, piece: &mut [u8]) -> usize {
        let count = self.left.len().min(piece.len());
        let end = self.left.start + count;
        piece[..count].copy_from_slice(&self.window[self.left.start..end]);
        self.left.start = end;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_over_the_limit_is_damage() {
        let head = |name: usize, comment: usize| {
            let texts = [vec![b'n'; name], vec![0], vec![b'c'; comment], vec![0]].concat();
            [&[0x1f, 0x8b, 8, 8 | 16, 0, 0, 0, 0, 0, 3], &texts[..]].concat()
        };
        for (name, comment, problem) in [
            (LONGEST_HEAD, 0, None),
            (9, LONGEST_HEAD - 9, None),
            (LONGEST_HEAD + 1, 0, Some("its head is too long")),
            (9, LONGEST_HEAD - 8, Some("its head is too long")),
        ] {
            let mut gunzip = Gunzip::default();
            let found = gunzip.step(&mut &head(name, comment)[..], &mut [0; 9]);
            let found = found.err().map(|error| error.to_string());
            assert_eq!(found.is_some(), problem.is_some(), "{name} {comment}: {found:?}");
            assert!(found.unwrap_or_default().contains(problem.unwrap_or_default()));
        }
    }
}
