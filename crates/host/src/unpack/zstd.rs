//! Decompresses zstd.

use std::io;

#[cfg(feature = "zstd")]
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

#[cfg(feature = "zstd")]
use super::{Compression, damaged};

/// The length of the head of a block of zstd.
#[cfg(feature = "zstd")]
const BLOCK_HEAD: usize = 3;
/// The number of bytes from which zstd knows how long a frame's head is.
#[cfg(feature = "zstd")]
const FRAME_START: usize = 5;
/// The largest window of zstd, as a power of two: that of its own program.
#[cfg(feature = "zstd")]
const LARGEST_WINDOW: u32 = 27;

/// Takes the place of the decoder of zstd in builds without it: reading fails.
#[cfg(not(feature = "zstd"))]
pub(super) enum Unzstd {}

#[cfg(not(feature = "zstd"))]
impl Unzstd {
    pub(super) fn new() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "zstd archives can't be read by this build"))
    }

    pub(super) fn is_open(&self) -> bool {
        match *self {}
    }

    pub(super) fn step(&mut self, _: &mut &[u8], _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

/// Decompresses zstd.
#[cfg(feature = "zstd")]
pub(super) struct Unzstd {
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
    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(LARGEST_WINDOW))?;
        Ok(Self { decoder, is_open: true, wanted: FRAME_START, is_full: false })
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Takes some of the bytes, and writes some to `piece`. Returns how many were written.
    pub(super) fn step(&mut self, bytes: &mut &[u8], piece: &mut [u8]) -> io::Result<usize> {
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
