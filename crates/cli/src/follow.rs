//! Follows a file as it grows, by the rules of `tail -F`.
//!
//! The name is followed, not the file: when another file takes the name, the old one is read to its end, then
//! the new one from its start. A file that was cut, or written anew in place, is read from its start.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::signal::{Signals, Woken};

/// How long to wait between looks at a file in which something happened just now.
const SOON: Duration = Duration::from_millis(10);

/// The longest wait between two looks.
const LATER: Duration = Duration::from_millis(100);

/// How many bytes before the current position are compared to see that the file is still the same.
const MEMORY: usize = 64;

/// What reading led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// So many bytes were read.
    Bytes(usize),
    /// Something happened to the file that the user should know.
    Note(String),
    /// A file took the place of another: a half line at the end of the old one will stay half.
    Cut,
    /// Nothing came for a while.
    Pause,
    /// There is no more.
    End,
}

/// Reads a file as it grows.
pub(crate) struct Follower {
    path: PathBuf,
    file: File,
    position: u64,
    /// The last bytes that were read, from `position` backwards.
    memory: Vec<u8>,
    /// When the file was changed, by the last look.
    changed: Option<SystemTime>,
    /// What is to be told before more is read.
    pending: VecDeque<ReadOutcome>,
    pause: Duration,
    /// Whether another file had the name at the last look: the old one gets one more look before it is left.
    is_replaced: bool,
}

impl Follower {
    /// Follows `path`, which was opened as `file`.
    pub(crate) fn new(path: &Path, file: File) -> Self {
        Self {
            path: path.to_owned(),
            file,
            position: 0,
            memory: Vec::new(),
            changed: None,
            pending: VecDeque::new(),
            pause: SOON,
            is_replaced: false,
        }
    }

    /// Reads what comes next; waits for it. There is an end only if a signal comes or the output is closed.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        signals: &mut Signals,
        watch_output: bool,
        pauses: bool,
    ) -> io::Result<ReadOutcome> {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return Ok(step);
            }
            if signals.caught().is_some() {
                return Ok(ReadOutcome::End);
            }
            if let Some(step) = self.look(buffer)? {
                self.pause = SOON;
                return Ok(step);
            }
            if !self.pending.is_empty() {
                continue;
            }
            if signals.wait(None, Some(self.pause), watch_output)? == Woken::Closed {
                return Ok(ReadOutcome::End);
            }
            self.pause = (self.pause + SOON / 4).min(LATER);
            if pauses {
                return Ok(ReadOutcome::Pause);
            }
        }
    }

    /// Looks once: gives what there is to read, or sees what became of the file.
    fn look(&mut self, buffer: &mut [u8]) -> io::Result<Option<ReadOutcome>> {
        let metadata = self.file.metadata()?;
        let changed = metadata.modified().ok();
        // A file may have been written anew in place and be as long as it was.
        if (metadata.len() != self.position || changed != self.changed)
            && !self.is_continued(metadata.len())?
        {
            self.start_over();
            return Ok(None);
        }
        self.changed = changed;
        if let ReadOutcome::Bytes(count) = read_some(&mut self.file, buffer)? {
            self.remember(&buffer[..count]);
            return Ok(Some(ReadOutcome::Bytes(count)));
        }
        match fs::metadata(&self.path) {
            Ok(named) if named.is_file() && !is_same(&metadata, &named) => self.replace()?,
            // The name may come back, by whoever took it away.
            _ => self.is_replaced = false,
        }
        Ok(None)
    }

    /// Whether a file of `length` bytes still begins with what was read of it.
    fn is_continued(&mut self, length: u64) -> io::Result<bool> {
        if length < self.position {
            return Ok(false);
        }
        let start = self.position - self.memory.len() as u64;
        let mut now = vec![0; self.memory.len()];
        self.file.seek(SeekFrom::Start(start))?;
        let is_same = self.file.read_exact(&mut now).is_ok() && now == self.memory;
        self.file.seek(SeekFrom::Start(self.position))?;
        Ok(is_same)
    }

    fn start_over(&mut self) {
        let name = self.path.display();
        self.pending.push_back(ReadOutcome::Note(format!(
            "{name}: cut short or written anew; reading it from its start"
        )));
        self.pending.push_back(ReadOutcome::Cut);
        // A file that can't be read from its start says so at the next look.
        let _ = self.file.seek(SeekFrom::Start(0));
        self.position = 0;
        self.memory.clear();
    }

    /// Goes over to the file that has the name now, once the old one was looked at again: its writer may have
    /// written to it until just now.
    fn replace(&mut self) -> io::Result<()> {
        if !self.is_replaced {
            self.is_replaced = true;
            self.pause = SOON;
            return Ok(());
        }
        self.is_replaced = false;
        match File::open(&self.path) {
            Ok(file) => {
                self.file = file;
                self.position = 0;
                self.memory.clear();
                self.pending.push_back(ReadOutcome::Cut);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.position += bytes.len() as u64;
        self.memory.extend_from_slice(&bytes[bytes.len().saturating_sub(MEMORY)..]);
        let surplus = self.memory.len().saturating_sub(MEMORY);
        self.memory.drain(..surplus);
    }
}

/// Whether two descriptions are of one file. The one that we hold open keeps its number from being used again.
#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok()
}

/// Reads what there is, at once.
pub(crate) fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(ReadOutcome::End),
            Ok(count) => return Ok(ReadOutcome::Bytes(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
