//! Decompresses inputs: gzip and zstd, recognised by their first bytes.
//!
//! Everything else passes through unchanged, except for a database, which has no lines: it is an error that names what reads it. The bytes are
//! decompressed as they come, in pieces of limited size, so that little memory is needed however much an archive expands.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::iter;
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use streamfmt_dialects::DIALECTS;
#[cfg(feature = "zstd")]
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// The size of the pieces of decompressed bytes.
const PIECE: usize = 64 << 10;
/// The distance up to which gzip repeats earlier bytes.
const WINDOW: usize = 32 << 10;
/// The length of the head of a block of zstd.
#[cfg(feature = "zstd")]
const BLOCK_HEAD: usize = 3;
/// The number of bytes from which zstd knows how long a frame's head is.
#[cfg(feature = "zstd")]
const FRAME_START: usize = 5;
/// The largest window of zstd, as a power of two: that of its own program.
#[cfg(feature = "zstd")]
const LARGEST_WINDOW: u32 = 27;
/// The longest text in the head of a gzip member.
const LONGEST_HEAD: usize = 1 << 20;

/// The first bytes of a gzip member.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a zstd frame.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The first bytes of a database of `SQLite`.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// The bytes after the first of a zstd frame that is skipped.
const SKIPPED: &[u8] = &[0x2a, 0x4d, 0x18];

/// The compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip, also several members.
    Gzip,
    /// zstd, also several frames.
    Zstd,
}

impl Compression {
    /// The compression of an input that begins so.
    pub fn of(start: &[u8]) -> Option<Self> {
        Self::known(start).unwrap_or_default()
    }

    /// The compression of an input that begins so, `None` if it isn't compressed. The error: more bytes are needed.
    fn known(start: &[u8]) -> Result<Option<Self>, ()> {
        let fits = |magic: &[u8]| start.iter().zip(magic).all(|(byte, other)| byte == other);
        let skips = matches!(start, [0x50..=0x5f, rest @ ..] if rest.iter().zip(SKIPPED).all(|(one, other)| one == other));
        let (found, length) = match () {
            () if fits(GZIP) => (Self::Gzip, GZIP.len()),
            () if fits(ZSTD) || skips => (Self::Zstd, ZSTD.len()),
            () => return Ok(None),
        };
        if start.len() >= length { Ok(Some(found)) } else { Err(()) }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The first bytes of an input, decompressed: at most so many. A damaged archive ends at the damage.
pub fn beginning_of(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match UnpackedReader::new(input).take(most).read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(error),
        _ => Ok(bytes),
    }
}

/// Why an archive can't be read to its end, if it is damaged within so many bytes. Other files aren't.
pub fn damage_of(path: &Path, most: u64) -> Option<String> {
    let read = io::copy(&mut UnpackedReader::new(File::open(path).ok()?).take(most), &mut io::sink());
    read.err().filter(|error| error.kind() == io::ErrorKind::InvalidData).map(|error| error.to_string())
}

/// A path without the ending that compression adds: `.gz`, `.zst`.
pub fn without_compression(path: &Path) -> PathBuf {
    let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    if is_compressed { path.with_extension("") } else { path.to_owned() }
}

/// Decompresses an input as its bytes come.
///
/// ```
/// use streamfmt::unpack::Unpacker;
///
/// let (mut unpacker, mut all) = (Unpacker::default(), Vec::new());
/// unpacker.push(b"plain text", |bytes| all.extend_from_slice(bytes))?;
/// unpacker.finish(|bytes| all.extend_from_slice(bytes))?;
/// assert_eq!(all, b"plain text");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct Unpacker {
    way: UnpackWay,
    /// The first bytes of the input, until they are read.
    start: Vec<u8>,
}

#[derive(Default)]
enum UnpackWay {
    /// Too few bytes have come to know it.
    #[default]
    Unknown,
    Plain,
    Gzip(Box<Gunzip>),
    Zstd(Box<Unzstd>),
    /// The archive is damaged: the rest isn't read.
    Failed,
}

impl Unpacker {
    fn is_plain(&self) -> bool {
        matches!(self.way, UnpackWay::Plain) && self.start.is_empty()
    }

    /// Takes more bytes, and passes on those that they contain, in pieces. After an error, all further bytes are ignored.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
        if self.is_plain() {
            each(bytes);
            return Ok(());
        }
        let mut piece = vec![0; PIECE];
        loop {
            let count = self.step(&mut bytes, &mut piece)?;
            if count > 0 {
                each(&piece[..count]);
            } else if bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// Ends the input, and passes on the rest. Fails if an archive isn't complete.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.end()?;
        each(&mem::take(&mut self.start));
        Ok(())
    }

    /// Ends the input. The first bytes may be left.
    fn end(&mut self) -> io::Result<()> {
        match mem::replace(&mut self.way, UnpackWay::Plain) {
            UnpackWay::Gzip(gunzip) if !gunzip.is_at_end() => {
                Err(damaged(Compression::Gzip, "it ends too early"))
            }
            UnpackWay::Zstd(zstd) if zstd.is_open() => Err(damaged(Compression::Zstd, "it ends too early")),
            _ => Ok(()),
        }
    }

    /// Takes some of the bytes, and writes some to `piece`. Returns how many were written: 0 if more bytes are needed.
    fn step(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
        while let (UnpackWay::Unknown, Some((first, rest))) = (&self.way, bytes.split_first()) {
            self.start.push(*first);
            *bytes = rest;
            match Compression::known(&self.start) {
                Ok(None) if self.start == DATABASE => {
                    self.way = UnpackWay::Failed;
                    return Err(database());
                }
                Ok(None) if DATABASE.starts_with(&self.start) => {}
                Err(()) => {}
                Ok(None) => self.way = UnpackWay::Plain,
                Ok(Some(Compression::Gzip)) => self.way = UnpackWay::Gzip(Box::default()),
                Ok(Some(Compression::Zstd)) => {
                    let zstd = Unzstd::new().inspect_err(|_| self.way = UnpackWay::Failed)?;
                    self.way = UnpackWay::Zstd(Box::new(zstd));
                }
            }
        }
        if matches!(self.way, UnpackWay::Unknown) {
            return Ok(0);
        }
        if !self.start.is_empty() {
            let start = mem::take(&mut self.start);
            let mut rest = &start[..];
            let count = self.unpack(&mut rest, piece)?;
            self.start = rest.to_vec();
            if count > 0 || !rest.is_empty() {
                return Ok(count);
            }
        }
        self.unpack(bytes, piece)
    }

    fn unpack(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
        let before = bytes.len();
        let (compression, step) = match &mut self.way {
            UnpackWay::Gzip(gunzip) => (Compression::Gzip, gunzip.step(bytes, piece)),
            UnpackWay::Zstd(zstd) => (Compression::Zstd, zstd.step(bytes, piece)),
            UnpackWay::Failed => {
                *bytes = &[];
                return Ok(0);
            }
            UnpackWay::Unknown | UnpackWay::Plain => {
                let (taken, rest) = bytes.split_at(bytes.len().min(piece.len()));
                piece[..taken.len()].copy_from_slice(taken);
                *bytes = rest;
                return Ok(taken.len());
            }
        };
        let step = match step {
            Ok(0) if before > 0 && bytes.len() == before => Err(damaged(compression, "it doesn't go on")),
            step => step,
        };
        step.inspect_err(|_| self.way = UnpackWay::Failed)
    }
}

/// An error of a damaged archive.
fn damaged(compression: Compression, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the {compression} archive is damaged: {why}"))
}

/// The error of a database.
fn database() -> io::Error {
    let databases = DIALECTS.rows.iter().filter_map(|dialect| dialect.database.as_ref());
    let exports = databases.map(|database| database.export);
    let ways: Vec<&str> = iter::once("streamfmt sessions import FILE").chain(exports).collect();
    let ways = ways.join(", or: ");
    let message = format!("is a database, which has no lines (to read the sessions in it: {ways})");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Stands for the decompression of zstd, which this build lacks.
#[cfg(not(feature = "zstd"))]
enum Unzstd {}

#[cfg(not(feature = "zstd"))]
impl Unzstd {
    fn new() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "zstd archives can't be read by this build"))
    }

    fn is_open(&self) -> bool {
        match *self {}
    }

    fn step(&mut self, _: &mut &[u8], _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

/// Decompresses zstd.
#[cfg(feature = "zstd")]
struct Unzstd {
    decoder: Decoder<'static>,
    /// Whether a frame has begun and not ended.
    is_open: bool,
    /// The number of bytes to the end of the next block, or of a frame's head. It is given no more at a time, since it drops the blocks that come
    /// before a damaged one otherwise.
    wanted: usize,
    /// Whether the last piece had no more room.
    is_full: bool,
}

#[cfg(feature = "zstd")]
impl Unzstd {
    fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(LARGEST_WINDOW))?;
        Ok(Self { decoder, is_open: true, wanted: FRAME_START, is_full: false })
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    /// Takes some of the bytes, and writes some to `piece`. Returns how many were written.
    fn step(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() && !self.is_open {
            return Ok(0);
        }
        if !self.is_open && bytes.iter().all(|byte| *byte == 0) {
            // Padding.
            *bytes = &[];
            return Ok(0);
        }
        // What had no room in the last piece comes before the next block.
        if self.is_full
            && let (_, written @ 1..) = self.run(&[], piece)?
        {
            return Ok(written);
        }
        let (read, written) = self.run(&bytes[..bytes.len().min(self.wanted)], piece)?;
        *bytes = &bytes[read..];
        Ok(written)
    }

    /// Decompresses. Returns how many bytes were read and written.
    fn run(&mut self, bytes: &[u8], piece: &mut [u8]) -> io::Result<(usize, usize)> {
        let (mut input, mut output) = (InBuffer::around(bytes), OutBuffer::around(piece));
        let hint = self.decoder.run(&mut input, &mut output);
        let hint = hint.map_err(|error| damaged(Compression::Zstd, &error.to_string()))?;
        let (read, written) = (input.pos(), output.pos());
        self.is_open = hint != 0;
        // To a block, zstd would like to have the head of the next one, which may be what is damaged.
        self.wanted = if hint == 0 { FRAME_START } else { hint.saturating_sub(BLOCK_HEAD).max(1) };
        self.is_full = written == piece.len();
        Ok((read, written))
    }
}

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
struct Gunzip {
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
    fn is_at_end(&self) -> bool {
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
    fn step(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
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

/// Reads an input, decompressed.
pub struct UnpackedReader<R> {
    input: R,
    unpacker: Unpacker,
    /// The bytes that were read last, and the number of those that were decompressed.
    packed: (Vec<u8>, usize),
    is_ended: bool,
}

impl<R: Read> UnpackedReader<R> {
    /// Reads `input`, decompressed if it is compressed.
    pub fn new(input: R) -> Self {
        Self { input, unpacker: Unpacker::default(), packed: (Vec::new(), 0), is_ended: false }
    }
}

impl<R: Read> Read for UnpackedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { input, unpacker, packed: (packed, taken), is_ended } = self;
        loop {
            let mut rest = &packed[*taken..];
            if rest.is_empty() && unpacker.is_plain() {
                return input.read(buffer);
            }
            let count = unpacker.step(&mut rest, buffer)?;
            *taken = packed.len() - rest.len();
            if count > 0 || buffer.is_empty() || *is_ended {
                return Ok(count);
            }
            if *taken == packed.len() {
                packed.resize(PIECE, 0);
                // After an error of the input it can be read again.
                *taken = PIECE;
                let count = input.read(packed)?;
                packed.truncate(count);
                *taken = 0;
                if count == 0 {
                    *is_ended = true;
                    unpacker.end()?;
                }
            }
        }
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("room in memory");
        encoder.finish().expect("room in memory")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).expect("room in memory")
    }

    /// The bytes in an input that comes in such pieces, and the error. Pushed and read they are the same.
    fn unpacked(packed: &[u8], piece: usize) -> (Vec<u8>, Option<String>) {
        let (mut unpacker, mut all) = (Unpacker::default(), Vec::new());
        let mut pushed =
            packed.chunks(piece).try_for_each(|bytes| unpacker.push(bytes, |out| all.extend_from_slice(out)));
        if pushed.is_ok() {
            pushed = unpacker.finish(|out| all.extend_from_slice(out));
        }
        let mut read = Vec::new();
        let mut reader = UnpackedReader::new(packed);
        let mut buffer = vec![0; piece];
        let end = loop {
            match reader.read(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(count) => read.extend_from_slice(&buffer[..count]),
                Err(error) => break Err(error),
            }
        };
        assert_eq!(
            end.map_err(|error| error.to_string()),
            pushed.as_ref().map_err(ToString::to_string).copied()
        );
        assert!(read == all);
        (all, pushed.err().map(|error| error.to_string()))
    }

    #[test]
    fn archives_are_unpacked_whatever_their_pieces_and_all_others_are_unchanged() {
        let text = b"{\"a\":1}\n".repeat(20_000);
        let twice = [&*text, &*text].concat();
        // A member with a name, a comment, an extra field and a sum of its head.
        let mut odd = gzip(&text);
        odd[3] = 0b1_1110;
        odd.splice(10..10, *b"\x03\0abcname\0comment\0ss");
        let skipped = [b"\x50\x2a\x4d\x18\x02\0\0\0ab", &*zstd(&text)].concat();
        for (packed, want) in [
            (gzip(&text), &text),
            (zstd(&text), &text),
            (odd, &text),
            (skipped, &text),
            ([gzip(&text), gzip(&text)].concat(), &twice),
            ([zstd(&text), zstd(&text)].concat(), &twice),
            ([gzip(&text), vec![0; 700]].concat(), &text),
            (text.clone(), &text),
            (gzip(b""), &Vec::new()),
            (Vec::new(), &Vec::new()),
            (b"\x1f".to_vec(), &b"\x1f".to_vec()),
            (b"(".to_vec(), &b"(".to_vec()),
            (b"Plain".to_vec(), &b"Plain".to_vec()),
        ] {
            for piece in [1, 7, 100_000] {
                let (all, error) = unpacked(&packed, piece);
                assert_eq!(error, None);
                assert!(all == *want);
            }
        }
    }

    #[test]
    fn a_database_is_an_error_and_what_begins_alike_is_text() {
        let database = [DATABASE, &[1; 5000]].concat();
        for piece in [1, 7, 100_000] {
            let (all, error) = unpacked(&database, piece);
            assert!(all.is_empty() && error.unwrap().contains("streamfmt sessions import"));
            for text in ["S", "SQLite", "SQLite format 3", "SQLite format 3 is documented\n"] {
                assert_eq!(unpacked(text.as_bytes(), piece), (text.as_bytes().to_vec(), None));
            }
        }
    }

    #[test]
    fn of_a_damaged_archive_everything_before_the_damage_is_read() {
        let text = b"{\"a\":1}\n".repeat(20_000);
        for packed in [gzip(&text), zstd(&text)] {
            for end in [5, packed.len() / 2, packed.len() - 1] {
                let (all, error) = unpacked(&packed[..end], 100);
                assert!(text.starts_with(&all));
                assert!(error.unwrap().contains("ends too early"));
            }
            let (all, error) = unpacked(&[&*packed, b"garbage"].concat(), 100);
            assert!(all == text && error.unwrap().contains("archive is damaged"));
        }
        let mut wrong = gzip(&text);
        let sum = wrong.len() - 8;
        wrong[sum] ^= 1;
        assert!(unpacked(&wrong, 100).1.unwrap().contains("checksum"));
    }

    #[test]
    fn what_comes_before_damage_is_passed_on() {
        let mut number = 1_u32;
        let mut random = || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 24) as u8
        };
        let bytes: Vec<u8> = (0..300_000).map(|_| random()).collect();
        // The third block of zstd begins with a size that is too large; the last one of gzip has a type that doesn't exist.
        let mut block = zstd(&bytes);
        let third = block.len() - (300_000 - 2 * (128 << 10)) - 3;
        block[third..third + 3].fill(0xff);
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&bytes).unwrap();
        encoder.flush().unwrap();
        let deflated = [encoder.get_ref().as_slice(), &[0xff; 8]].concat();
        for (packed, least) in [(block, 2 * (128 << 10)), (deflated, bytes.len())] {
            for piece in [1000, packed.len()] {
                let (all, error) = unpacked(&packed, piece);
                assert!(bytes.starts_with(&all) && all.len() == least, "{}", all.len());
                assert!(error.unwrap().contains("damaged"));
            }
        }
    }

    #[test]
    fn an_archive_that_expands_enormously_comes_in_small_pieces() {
        let zeros = vec![0; 50 << 20];
        for packed in [gzip(&zeros), zstd(&zeros)] {
            let (mut unpacker, mut all) = (Unpacker::default(), 0);
            let each = |out: &[u8]| {
                assert!(out.len() <= PIECE);
                all += out.len();
            };
            unpacker.push(&packed, each).unwrap();
            unpacker.finish(|_| ()).unwrap();
            assert_eq!(all, zeros.len());
        }
        // A window of 2 GiB.
        let (_, error) = unpacked(b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 100);
        assert!(error.is_some());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..3usize, piece in 1..50usize) {
            let start: &[u8] = [&b""[..], b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"][kind];
            bytes.splice(0..0, start.iter().copied());
            unpacked(&bytes, piece);
        }
    }
}
