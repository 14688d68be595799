//! Decompresses inputs: gzip and zstd, recognised by their first bytes.
//!
//! Everything else passes through unchanged, except for a database, which has no lines: it is an error that names what reads it. The bytes are
//! decompressed as they come, in pieces of limited size, so that little memory is needed however much an archive expands.

mod gzip;
mod zstd;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::iter;
use std::mem;
use std::path::{Path, PathBuf};

use streamfmt_dialects::DIALECTS;

use gzip::Gunzip;
use zstd::Unzstd;

/// The size of the pieces of decompressed bytes.
const PIECE: usize = 64 << 10;

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
mod tests;
