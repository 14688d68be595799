//! One file as it grows: the position up to which it was read, and whether it is still the same file.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::histories::{GrowingDocument, is_document};

/// Number of bytes compared at the beginning and before the current position, to check that a file is still the same.
const MEMORY: usize = 512;

/// The most files that wait while another is being read: their writer may be faster than the output.
const MOST_OPENED: usize = 64;

/// A change of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// This many more bytes were read.
    Bytes(usize),
    /// It has no new bytes.
    Quiet,
    /// It seems to be shorter than the part that was read. On a network file system this may be temporary.
    Shorter,
    /// Its contents differ from what was read.
    Other,
}

/// A file that is read as it grows, or a document that is read whenever it was written anew.
pub(super) struct FollowedFile {
    file: File,
    document: Option<FollowedDocument>,
    position: u64,
    /// The first bytes that were read.
    first: Vec<u8>,
    /// The last bytes that were read, from `position` backwards.
    last: Vec<u8>,
    /// The file's modification time at the last check.
    changed: Option<SystemTime>,
}

impl FollowedFile {
    pub(super) fn new(file: File, is_document: bool) -> Self {
        let document = is_document.then(FollowedDocument::default);
        Self { file, document, position: 0, first: Vec::new(), last: Vec::new(), changed: None }
    }

    /// Checks the file once, and reads new bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Growth> {
        if let Some(document) = &mut self.document {
            return document.read(&mut self.file, buffer);
        }
        let metadata = self.file.metadata()?;
        let (length, changed) = (metadata.len(), metadata.modified().ok());
        // A file may have been rewritten in place and have the same length.
        if (length != self.position || changed != self.changed) && !self.starts_as_before(length)? {
            return Ok(Growth::Other);
        }
        if length < self.position {
            return Ok(Growth::Shorter);
        }
        self.changed = changed;
        Ok(match read_some(&mut self.file, buffer)? {
            0 => Growth::Quiet,
            count => {
                self.remember(&buffer[..count]);
                Growth::Bytes(count)
            }
        })
    }

    /// Returns to the start: the file's content is new.
    pub(super) fn start_over(&mut self) {
        // If seeking fails, so does the next read.
        let _ = self.file.seek(SeekFrom::Start(0));
        self.position = 0;
        self.first.clear();
        self.last.clear();
    }

    /// Whether its `length` bytes still start with the bytes that were read.
    fn starts_as_before(&mut self, length: u64) -> io::Result<bool> {
        let is_long = length >= self.position;
        let seen = usize::try_from(length).unwrap_or(usize::MAX).min(self.first.len());
        let holds = is_at(&mut self.file, 0, &self.first[..seen])?
            && (!is_long || is_at(&mut self.file, self.position - self.last.len() as u64, &self.last)?);
        self.file.seek(SeekFrom::Start(self.position))?;
        Ok(holds)
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.position += bytes.len() as u64;
        let missing = MEMORY.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(&bytes[..missing]);
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(MEMORY)..]);
        let surplus = self.last.len().saturating_sub(MEMORY);
        self.last.drain(..surplus);
    }
}

/// A document, whose states are read one after the other.
#[derive(Default)]
struct FollowedDocument {
    document: GrowingDocument,
    /// The last state, and how many bytes of it were passed on.
    line: Vec<u8>,
    passed: usize,
}

impl FollowedDocument {
    /// Passes on more of the state that was read last, or reads the next one.
    fn read(&mut self, file: &mut File, buffer: &mut [u8]) -> io::Result<Growth> {
        if self.passed == self.line.len() {
            let Some(line) = self.document.read(file)? else { return Ok(Growth::Quiet) };
            (self.line, self.passed) = (line, 0);
        }
        let count = buffer.len().min(self.line.len() - self.passed);
        buffer[..count].copy_from_slice(&self.line[self.passed..][..count]);
        self.passed += count;
        Ok(Growth::Bytes(count))
    }
}

/// Whether a file contains these bytes at an offset.
fn is_at(file: &mut File, place: u64, bytes: &[u8]) -> io::Result<bool> {
    let mut now = [0; MEMORY];
    let now = &mut now[..bytes.len()];
    file.seek(SeekFrom::Start(place))?;
    match file.read_exact(now) {
        Ok(()) => Ok(now == bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The files that successively have the same name.
///
/// Each is opened as soon as it is seen, and kept open until it is read. So no file is lost while the one before it is being
/// read, and no inode in use can be reused.
pub(super) struct NamedFiles {
    path: PathBuf,
    opened: VecDeque<File>,
    /// The id of the file that was opened last.
    last: Option<FileId>,
    /// The reason why the current file can't be opened.
    refusal: Option<io::Error>,
}

impl NamedFiles {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, opened: VecDeque::new(), last: None, refusal: None }
    }

    /// Checks which file currently has the name.
    pub(super) fn check(&mut self) {
        // If no file has the name, the same file may get it back. Only a regular file can be followed.
        let Some(named) = fs::metadata(&self.path).ok().filter(Metadata::is_file) else { return };
        if self.last == Some(FileId::of(&named)) || self.opened.len() >= MOST_OPENED {
            return;
        }
        match File::open(&self.path).and_then(|file| Ok((FileId::of(&file.metadata()?), file))) {
            Ok((id, file)) => {
                self.refusal = None;
                if self.last.replace(id) != Some(id) {
                    self.opened.push_back(file);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.refusal = Some(error),
        }
    }

    /// Whether there is a file that wasn't taken yet.
    pub(super) fn has_next(&self) -> bool {
        !self.opened.is_empty()
    }

    /// The next file, from its start.
    pub(super) fn next(&mut self) -> Option<FollowedFile> {
        self.opened.pop_front().map(|file| FollowedFile::new(file, is_document(&self.path)))
    }

    /// The reason why the current file can't be opened, if it can't.
    pub(super) fn refusal(&self) -> Option<&io::Error> {
        self.refusal.as_ref()
    }
}

/// Identifies a file. While it is open, its inode isn't reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    #[cfg(unix)]
    numbers: (u64, u64),
    #[cfg(not(unix))]
    created: Option<SystemTime>,
}

impl FileId {
    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { numbers: (metadata.dev(), metadata.ino()) }
    }

    #[cfg(not(unix))]
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { created: metadata.created().ok() }
    }
}

/// Reads available bytes. Returns 0 at the end.
pub fn read_some(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A followed file, removed on drop.
    struct Followed {
        path: PathBuf,
        file: FollowedFile,
    }

    impl Followed {
        fn new(name: &str, text: &[u8]) -> Self {
            let path = tempfile::NamedTempFile::with_prefix(format!("streamfmt-followed-{name}-"))
                .unwrap()
                .into_temp_path()
                .keep()
                .unwrap();
            fs::write(&path, text).unwrap();
            let mut file = FollowedFile::new(File::open(&path).unwrap(), false);
            assert_eq!(file.read(&mut [0; 8192]).unwrap(), Growth::Bytes(text.len()));
            Self { path, file }
        }

        /// Replaces its contents, and reads it again.
        fn after(&mut self, text: &[u8]) -> Growth {
            fs::write(&self.path, text).unwrap();
            self.file.read(&mut [0; 8192]).unwrap()
        }
    }

    impl Drop for Followed {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    #[test]
    fn a_shorter_file_that_begins_as_before_needs_a_second_check() {
        let text: Vec<u8> = (0..=250).cycle().take(1000).collect();
        let mut followed = Followed::new("shorter", &text);
        for length in [999, 600, 10, 0] {
            assert_eq!(followed.after(&text[..length]), Growth::Shorter, "{length}");
        }
        // The shorter length was temporary.
        assert_eq!(followed.after(&text), Growth::Quiet);
        assert_eq!(followed.after(&[&text[..], b"more"].concat()), Growth::Bytes(4));
        followed.file.start_over();
        assert_eq!(followed.after(&text[..10]), Growth::Bytes(10));
    }

    #[test]
    fn a_file_with_other_contents_is_another_file_regardless_of_its_length() {
        let text = vec![b'a'; 1000];
        let changed = |place: usize, length: usize| {
            let mut text = vec![b'a'; length];
            text[place] = b'b';
            text
        };
        for (place, length) in [(0, 10), (0, 1000), (511, 2000), (999, 1000), (990, 4000), (488, 1000)] {
            let mut followed = Followed::new("other", &text);
            assert_eq!(followed.after(&changed(place, length)), Growth::Other, "{place} of {length}");
        }
    }

    #[test]
    fn each_file_that_gets_a_name_is_kept_in_order() {
        let mut followed = Followed::new("named", b"0");
        let mut named = NamedFiles::new(followed.path.clone());
        named.check();
        named.check();
        let next = followed.path.with_extension("next");
        for text in ["1", "2"] {
            fs::write(&next, text).unwrap();
            fs::rename(&next, &followed.path).unwrap();
            named.check();
        }
        for text in [b'0', b'1', b'2'] {
            let mut buffer = [0; 8];
            assert_eq!(named.next().unwrap().read(&mut buffer).unwrap(), Growth::Bytes(1));
            assert_eq!(buffer[0], text);
        }
        assert!(!named.has_next());
        // A removed file isn't reported.
        fs::remove_file(&followed.path).unwrap();
        named.check();
        assert!(!named.has_next() && named.refusal().is_none());
        assert_eq!(followed.after(b"3"), Growth::Quiet);
    }

    #[test]
    fn only_either_end_of_what_was_read_is_compared() {
        let text = vec![b'a'; 2000];
        for (place, is_other) in [(511, true), (512, false), (1487, false), (1488, true)] {
            let mut followed = Followed::new("ends", &text);
            let mut changed = [&text[..], b"more"].concat();
            changed[place] = b'b';
            let growth = if is_other { Growth::Other } else { Growth::Bytes(4) };
            assert_eq!(followed.after(&changed), growth, "{place}");
        }
    }

    #[test]
    fn once_there_is_room_the_file_that_has_the_name_is_kept() {
        let followed = Followed::new("many", b"-");
        let mut named = NamedFiles::new(followed.path.clone());
        let next = followed.path.with_extension("next");
        for number in 0..=u8::try_from(MOST_OPENED).unwrap() {
            fs::write(&next, [number]).unwrap();
            fs::rename(&next, &followed.path).unwrap();
            named.check();
        }
        let mut read = Vec::new();
        while let Some(mut file) = named.next() {
            named.check();
            let mut buffer = [0; 8];
            assert_eq!(file.read(&mut buffer).unwrap(), Growth::Bytes(1));
            read.push(buffer[0]);
            if read.len() == 1 {
                assert_eq!(named.opened.len(), MOST_OPENED);
                // There is no room for it yet. It is kept once there is.
                fs::write(&next, [100]).unwrap();
                fs::rename(&next, &followed.path).unwrap();
                named.check();
            }
        }
        let all: Vec<u8> = (0..=u8::try_from(MOST_OPENED).unwrap()).chain([100]).collect();
        assert_eq!(read, all);
    }
}
