//! Writes and reads compressed frames.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use streamfmt::unpack::UnpackedReader;

use super::manifest::{CopyGeneration, hex};

/// The level of compression: the usual one of zstd.
const LEVEL: i32 = 3;
/// The number of bytes that are read at once.
const CHUNK: usize = 128 * 1024;

/// How much may still be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyRoom {
    /// The bytes that are left. `None`: there is no limit.
    pub(super) left: Option<u64>,
    /// Whether something had no room.
    pub(super) is_full: bool,
}

/// The end of a copy that frames are added to.
struct PackedEnd<'a> {
    file: &'a File,
    hash: Sha256,
    written: u64,
    room: &'a mut CopyRoom,
}

impl Write for PackedEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room.left.is_some_and(|left| left < self.written + bytes.len() as u64) {
            self.room.is_full = true;
            return Err(ErrorKind::QuotaExceeded.into());
        }
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a source, and hashes what was read.
pub(super) struct HashedSource<R> {
    input: R,
    hash: Sha256,
    read: u64,
}

impl<R: Read> HashedSource<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, hash: Sha256::new(), read: 0 }
    }

    /// Reads so many bytes. Returns their hash; `None` if there are fewer.
    pub(super) fn beginning(&mut self, count: u64) -> io::Result<Option<String>> {
        let mut buffer = vec![0; CHUNK];
        while self.read < count {
            let most = usize::try_from(count - self.read).unwrap_or(CHUNK).min(CHUNK);
            if self.read(&mut buffer[..most])? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(hex(self.hash.clone().finalize().as_ref())))
    }
}

impl<R: Read> Read for HashedSource<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What comes before the damage of an archive is its content.
                Err(error) if error.kind() == ErrorKind::InvalidData => break 0,
                count => break count?,
            }
        };
        self.hash.update(&buffer[..count]);
        self.read += count as u64;
        Ok(count)
    }
}

/// Adds what is left of a source to a copy, as one frame, and flushes it to disk. `head` are bytes of that which were read already,
/// `generation` describes the copy. On failure, the copy
/// is as long as before.
pub(super) fn append<R: Read>(
    path: &Path,
    head: &[u8],
    source: &mut HashedSource<R>,
    generation: &mut CopyGeneration,
    room: &mut CopyRoom,
) -> io::Result<()> {
    let before = generation.packed();
    let file = open(path)?;
    // What a killed process wrote belongs to no frame.
    file.set_len(before)?;
    let mut hash = HashedSource::new(BufReader::with_capacity(CHUNK, &file));
    if hash.beginning(before)? != Some(generation.frames_sha256.clone()) {
        return Err(io::Error::new(ErrorKind::InvalidData, "the copy is damaged"));
    }
    let hash = hash.hash;
    (&file).seek(SeekFrom::Start(before))?;
    let mut end = PackedEnd { file: &file, hash, written: 0, room };
    let packed = pack(&mut head.chain(&mut *source), &mut end).and_then(|()| file.sync_all());
    if let Err(error) = packed {
        let _ = file.set_len(before);
        return Err(error);
    }
    let PackedEnd { hash, written, room, .. } = end;
    if let Some(left) = &mut room.left {
        *left = left.saturating_sub(written);
    }
    generation.frames.push(written);
    generation.frames_sha256 = hex(hash.finalize().as_ref());
    generation.bytes = source.read;
    generation.sha256 = hex(source.hash.clone().finalize().as_ref());
    Ok(())
}

/// Compresses a source as one frame, with a checksum.
pub(in crate::store) fn pack(source: &mut impl Read, out: &mut impl Write) -> io::Result<()> {
    let mut encoder = zstd::stream::write::Encoder::new(out, LEVEL)?;
    encoder.include_checksum(true)?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match source.read(&mut buffer)? {
            0 => break,
            count => encoder.write_all(&buffer[..count])?,
        }
    }
    encoder.finish().map(drop)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}

/// Reads what a copy holds.
pub(super) fn unpacked(path: &Path, packed: u64) -> io::Result<impl Read + Send + use<>> {
    Ok(UnpackedReader::new(BufReader::with_capacity(CHUNK, File::open(path)?.take(packed))))
}

/// Whether a copy is exactly what was written.
pub(super) fn is_intact(path: &Path, generation: &CopyGeneration) -> io::Result<bool> {
    let packed = generation.packed();
    if HashedSource::new(File::open(path)?).beginning(packed)? != Some(generation.frames_sha256.clone()) {
        return Ok(false);
    }
    let mut content = HashedSource::new(unpacked(path, packed)?);
    let is_same = content.beginning(generation.bytes)? == Some(generation.sha256.clone());
    Ok(is_same && content.read(&mut [0])? == 0)
}
