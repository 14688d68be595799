//! Keeps what was spelled: in memory while that is little, then in a file that has no name.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are kept in memory.
const MEMORY: usize = 2 << 20;

/// Where a piece lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpoolPlace {
    offset: u64,
    length: u32,
}

impl SpoolPlace {
    /// Its length in bytes.
    pub(super) fn length(self) -> usize {
        self.length as usize
    }
}

/// Texts, one after the other.
#[derive(Debug, Default)]
pub(super) struct NodeSpool {
    /// The last pieces, from `start` on.
    memory: Vec<u8>,
    start: u64,
    file: Option<File>,
}

impl NodeSpool {
    /// Keeps a piece.
    pub(super) fn put(&mut self, piece: &str) -> io::Result<SpoolPlace> {
        let offset = self.start + self.memory.len() as u64;
        let length = u32::try_from(piece.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.memory.extend_from_slice(piece.as_bytes());
        if self.memory.len() > MEMORY {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(tempfile::tempfile()?),
            };
            file.write_all_at(&self.memory, self.start)?;
            self.start += self.memory.len() as u64;
            self.memory = Vec::new();
        }
        Ok(SpoolPlace { offset, length })
    }

    /// A piece that was kept.
    pub(super) fn get(&self, place: SpoolPlace) -> io::Result<String> {
        let mut bytes = vec![0; place.length()];
        match (place.offset.checked_sub(self.start), &self.file) {
            (Some(at), _) => {
                let at = at as usize;
                let kept = self.memory.get(at..at + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                bytes.copy_from_slice(kept);
            }
            (None, Some(file)) => file.read_exact_at(&mut bytes, place.offset)?,
            (None, None) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
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
        assert!(spool.file.is_some());
        for (number, place) in places.into_iter().enumerate() {
            assert_eq!(spool.get(place).unwrap(), piece(number), "{number}");
        }
    }
}
