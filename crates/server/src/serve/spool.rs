//! Storage for a formatted session: in memory at first, then in unnamed temporary files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The most bytes that a [`NodeSpool`] and a [`RowSpool`] keep in memory.
const MEMORY: usize = 2 << 20;
const ROW_MEMORY: usize = 512 << 10;
/// The number of rows read at a time.
const ROWS: u64 = 1_024;

/// A sequence of bytes: the last ones in memory, those before them in a file.
#[derive(Debug, Default)]
struct ByteSpool {
    /// The bytes from `start` on.
    memory: Vec<u8>,
    start: u64,
    file: Option<File>,
}

impl ByteSpool {
    fn len(&self) -> u64 {
        self.start + self.memory.len() as u64
    }

    /// Moves the bytes from memory to the file. If that fails, they stay in memory.
    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all_at(&self.memory, self.start)?;
        self.start += self.memory.len() as u64;
        self.memory.clear();
        self.memory.shrink_to(MEMORY);
        Ok(())
    }

    /// Reads bytes that are either all in memory or all in the file. Bytes that were added together always are.
    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        match (offset.checked_sub(self.start), &self.file) {
            (Some(at), _) => {
                let at = at as usize;
                let kept = self.memory.get(at..at + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                bytes.copy_from_slice(kept);
                Ok(())
            }
            (None, Some(file)) => file.read_exact_at(bytes, offset),
            (None, None) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The position of a stored text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpoolPlace {
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// Texts.
#[derive(Debug, Default)]
pub(super) struct NodeSpool(ByteSpool);

impl NodeSpool {
    /// Stores a text. If that fails, no part of it is kept.
    pub(super) fn put(&mut self, piece: &str) -> io::Result<SpoolPlace> {
        let Self(spool) = self;
        let length = u32::try_from(piece.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if spool.memory.len() + piece.len() > MEMORY && !spool.memory.is_empty() {
            spool.write_out()?;
        }
        let offset = spool.len();
        spool.memory.extend_from_slice(piece.as_bytes());
        Ok(SpoolPlace { offset, length })
    }

    /// Reads a text.
    pub(super) fn get(&self, place: SpoolPlace) -> io::Result<String> {
        let mut bytes = vec![0; place.length as usize];
        self.0.read(place.offset, &mut bytes)?;
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// Rows of numbers, which can be changed. Rows that can't be written to the file stay in memory.
#[derive(Debug, Default)]
pub(super) struct RowSpool<const WORDS: usize>(ByteSpool);

impl<const WORDS: usize> RowSpool<WORDS> {
    const BYTES: usize = WORDS * size_of::<u64>();

    /// The number of rows.
    pub(super) fn len(&self) -> u64 {
        self.0.len() / Self::BYTES as u64
    }

    /// Adds a row and returns its number.
    pub(super) fn push(&mut self, row: [u64; WORDS]) -> u64 {
        let number = self.len();
        self.0.memory.extend(row.iter().flat_map(|word| word.to_le_bytes()));
        // If the disk is full, the next attempt is made only after as many rows again.
        if self.0.memory.len().is_multiple_of(ROW_MEMORY / Self::BYTES * Self::BYTES) {
            let _ = self.0.write_out();
        }
        number
    }

    /// Reads a row. `None` if it doesn't exist or can't be read.
    pub(super) fn get(&self, number: u64) -> Option<[u64; WORDS]> {
        self.read(number..number.checked_add(1)?).pop()
    }

    /// Changes a row.
    pub(super) fn set(&mut self, number: u64, row: [u64; WORDS]) -> io::Result<()> {
        let Self(spool) = self;
        let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
        let offset = number * Self::BYTES as u64;
        match (offset.checked_sub(spool.start), &spool.file) {
            (Some(at), _) => {
                let at = at as usize;
                let kept = spool.memory.get_mut(at..at + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                kept.copy_from_slice(&bytes);
                Ok(())
            }
            (None, Some(file)) => file.write_all_at(&bytes, offset),
            (None, None) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Reads a range of rows, as far as they can be read.
    fn read(&self, numbers: Range<u64>) -> Vec<[u64; WORDS]> {
        let limit = self.0.start / Self::BYTES as u64;
        let mut rows = Vec::new();
        // Those in the file, then those in memory.
        for part in [numbers.start..numbers.end.min(limit), numbers.start.max(limit)..numbers.end] {
            let part = part.start..part.end.min(self.len());
            if part.is_empty() {
                continue;
            }
            let mut bytes = vec![0; (part.end - part.start) as usize * Self::BYTES];
            if self.0.read(part.start * Self::BYTES as u64, &mut bytes).is_err() {
                break;
            }
            rows.extend(bytes.chunks_exact(Self::BYTES).map(|bytes| {
                let mut row = [0; WORDS];
                for (word, bytes) in row.iter_mut().zip(bytes.chunks_exact(size_of::<u64>())) {
                    *word = bytes.try_into().map_or(0, u64::from_le_bytes);
                }
                row
            }));
        }
        rows
    }

    /// The rows from one on, with their numbers.
    pub(super) fn from(&self, number: u64) -> impl Iterator<Item = (u64, [u64; WORDS])> {
        let starts = (number..self.len()).step_by(ROWS as usize);
        starts.flat_map(|start| (start..).zip(self.read(start..start.saturating_add(ROWS))))
    }

    /// The rows before one, the last first, with their numbers.
    pub(super) fn before(&self, number: u64) -> impl Iterator<Item = (u64, [u64; WORDS])> {
        let number = number.min(self.len());
        let ends = (0..number.div_ceil(ROWS)).map(move |part| number - part * ROWS);
        ends.flat_map(|end| {
            let start = end.saturating_sub(ROWS);
            let rows: Vec<_> = (start..).zip(self.read(start..end)).collect();
            rows.into_iter().rev()
        })
    }

    /// The number of the first row that doesn't fit, where those that fit come first.
    pub(super) fn partition_point(&self, fits: impl Fn(&[u64; WORDS]) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(|row| fits(&row)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_from_memory_and_from_the_file() {
        let mut spool = NodeSpool::default();
        let piece = |number: usize| format!("{number} ").repeat(40_000);
        let places: Vec<SpoolPlace> = (0..40).map(|number| spool.put(&piece(number)).unwrap()).collect();
        assert!(spool.0.file.is_some() && spool.0.memory.len() <= MEMORY);
        for (number, place) in places.into_iter().enumerate() {
            assert_eq!(spool.get(place).unwrap(), piece(number), "{number}");
        }
    }

    #[test]
    fn rows_are_read_and_changed_in_memory_and_in_the_file() {
        const LENGTH: u64 = 100_000;
        let mut spool = RowSpool::<3>::default();
        for number in 0..LENGTH {
            assert_eq!(spool.push([number, number / 10, 0]), number);
        }
        assert!(spool.0.file.is_some() && spool.0.memory.len() <= ROW_MEMORY && !spool.0.memory.is_empty());
        for number in [0, 7, LENGTH - 1] {
            spool.set(number, [number, number / 10, 1]).unwrap();
        }
        assert!(spool.set(LENGTH, [0; 3]).is_err());
        let row = |number| [number, number / 10, u64::from([0, 7, LENGTH - 1].contains(&number))];
        assert!(spool.from(5).eq((5..LENGTH).map(|number| (number, row(number)))));
        assert!(spool.before(LENGTH - 5).eq((0..LENGTH - 5).rev().map(|number| (number, row(number)))));
        assert_eq!(spool.partition_point(|row| row[1] < 77), 770);
        assert_eq!((spool.get(LENGTH), spool.get(u64::MAX)), (None, None));
        assert_eq!((spool.from(LENGTH).count(), spool.before(0).count()), (0, 0));
    }
}
