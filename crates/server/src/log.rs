//! The log of a run: what the agent wrote, byte for byte.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::side_file::LogGap;
use crate::sync::SyncPolicy;

/// Bytes that are kept in memory while a log can't be written.
const BACKLOG: usize = 1024 * 1024;

/// Names that are tried if the first is taken.
const NAMES: usize = 1000;

/// How often new bytes are flushed to disk with [`SyncPolicy::Second`].
const SECOND: Duration = Duration::from_secs(1);

/// A log that is written to.
pub(crate) struct RawLog {
    /// The requested path.
    wanted: PathBuf,
    pub(crate) path: PathBuf,
    file: Option<File>,
    /// The offset at which the run starts.
    pub(crate) start: u64,
    /// Its length.
    end: u64,
    /// Whether it can be read back, as a file can and a device can't.
    is_readable: bool,
    /// Bytes that couldn't be written yet, and the number of those after them that were dropped.
    backlog: Vec<u8>,
    lost: u64,
    pub(crate) gaps: Vec<LogGap>,
    /// Whether a failure was reported.
    has_failed: bool,
    policy: SyncPolicy,
    syncing: Option<Syncing>,
}

/// A thread that flushes new bytes to disk each second, so that the recorder doesn't wait for it.
struct Syncing {
    is_dirty: Arc<AtomicBool>,
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl RawLog {
    /// Opens a log for appending; a new one is readable by its owner only. A symbolic link is refused, since it could lead anywhere. If
    /// another run is writing to the log, the next free name is used.
    pub(crate) fn open(path: &Path, policy: SyncPolicy) -> (Self, io::Result<()>) {
        let mut log = Self {
            wanted: path.to_owned(),
            path: path.to_owned(),
            file: None,
            start: 0,
            end: 0,
            is_readable: false,
            backlog: Vec::new(),
            lost: 0,
            gaps: Vec::new(),
            has_failed: false,
            policy,
            syncing: None,
        };
        let opened = log.open_free();
        log.has_failed = opened.is_err();
        (log, opened)
    }

    /// Tries again to open a log that couldn't be opened. Returns a handle to read it back, once.
    pub(crate) fn reopen(&mut self) -> Option<File> {
        if self.file.is_some() || self.open_free().is_err() {
            return None;
        }
        self.reader()
    }

    fn open_free(&mut self) -> io::Result<()> {
        self.path.clone_from(&self.wanted);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        // Opening a pipe without a reader must not block.
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let path = &self.wanted;
        let extension = path.extension().map(|it| format!(".{}", it.to_string_lossy())).unwrap_or_default();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for number in 1..NAMES {
            if number > 1 {
                self.path = path.with_file_name(format!("{stem}-{number}{extension}"));
            }
            let file = match options.open(&self.path) {
                Err(_) if self.path.is_symlink() => {
                    return Err(io::Error::other("symbolic links are not followed"));
                }
                opened => opened?,
            };
            let about = file.metadata()?;
            if about.file_type().is_fifo() || about.file_type().is_socket() {
                return Err(io::Error::other("a pipe or socket can't hold a log"));
            }
            if about.is_file() {
                match file.try_lock() {
                    Err(TryLockError::WouldBlock) => continue,
                    // On a file system without locks, other runs can't be noticed.
                    Ok(()) | Err(TryLockError::Error(_)) => {}
                }
                self.is_readable = true;
                self.start = file.metadata()?.len();
                self.end = self.start;
                if self.policy == SyncPolicy::Second {
                    self.syncing = file.try_clone().ok().and_then(|file| Syncing::begin(file).ok());
                }
            }
            self.file = Some(file);
            return Ok(());
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A handle to read it back, if that is possible.
    pub(crate) fn reader(&self) -> Option<File> {
        self.file.as_ref().filter(|_| self.is_readable)?.try_clone().ok()
    }

    /// Whether it can be read back.
    pub(crate) fn can_be_read(&self) -> bool {
        self.is_readable
    }

    /// Appends bytes. Returns their offset if all of them were written, and the first failure.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> (Option<u64>, Option<io::Error>) {
        let failure = self.retry();
        if !self.is_whole_so_far() {
            self.keep(bytes);
            return (None, failure);
        }
        let at = self.end;
        let mut rest = bytes;
        match self.write(&mut rest) {
            Ok(()) => (Some(at).filter(|_| self.is_readable), None),
            Err(error) => {
                self.keep(rest);
                (None, self.report(error))
            }
        }
    }

    /// Retries the bytes that couldn't be written. Returns the first failure.
    pub(crate) fn retry(&mut self) -> Option<io::Error> {
        if self.is_whole_so_far() {
            return None;
        }
        let backlog = std::mem::take(&mut self.backlog);
        let mut rest = &*backlog;
        let result = self.write(&mut rest);
        let written = backlog.len() - rest.len();
        self.backlog = backlog;
        self.backlog.drain(..written);
        if let Err(error) = result {
            return self.report(error);
        }
        if self.lost > 0 {
            self.gaps.push(LogGap { at: self.end, bytes: std::mem::take(&mut self.lost) });
        }
        None
    }

    /// Whether everything appended so far was written.
    pub(crate) fn is_whole_so_far(&self) -> bool {
        self.backlog.is_empty() && self.lost == 0
    }

    /// The number of the run's bytes in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Writes what is left and flushes it to disk if the policy says so. Returns how many of the run's bytes are missing, and the first
    /// failure.
    pub(crate) fn finish(&mut self) -> (u64, Option<io::Error>) {
        if !self.is_whole_so_far() {
            self.reopen();
        }
        let mut failure = self.retry();
        if !self.is_whole_so_far() {
            let bytes = self.lost + std::mem::take(&mut self.backlog).len() as u64;
            self.lost = 0;
            self.gaps.push(LogGap { at: self.end, bytes });
        }
        if let Some(syncing) = self.syncing.take() {
            syncing.finish();
        }
        if let (true, true, Some(file)) = (self.is_readable, self.policy != SyncPolicy::Never, &self.file)
            && let Err(error) = file.sync_data()
        {
            failure = failure.or(self.report(error));
        }
        (self.gaps.iter().map(|gap| gap.bytes).sum(), failure)
    }

    fn report(&mut self, error: io::Error) -> Option<io::Error> {
        (!std::mem::replace(&mut self.has_failed, true)).then_some(error)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.lost == 0 && self.backlog.len() + bytes.len() <= BACKLOG {
            self.backlog.extend_from_slice(bytes);
        } else {
            self.lost += bytes.len() as u64;
        }
    }

    /// Writes `rest`; what couldn't be written remains in it.
    fn write(&mut self, rest: &mut &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.end += count as u64;
                    *rest = &rest[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(syncing) = &self.syncing {
            syncing.is_dirty.store(true, Ordering::Relaxed);
        } else if self.policy == SyncPolicy::Always && self.is_readable {
            file.sync_data()?;
        }
        Ok(())
    }
}

impl Syncing {
    fn begin(file: File) -> io::Result<Self> {
        let is_dirty = Arc::new(AtomicBool::new(false));
        let dirty = Arc::clone(&is_dirty);
        let (end, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("sync".to_owned()).spawn(move || {
            while ended.recv_timeout(SECOND) == Err(RecvTimeoutError::Timeout) {
                if dirty.swap(false, Ordering::Relaxed) {
                    // The flush at the end reports failures.
                    let _ = file.sync_data();
                }
            }
        })?;
        Ok(Self { is_dirty, end, thread })
    }

    fn finish(self) {
        drop(self.end);
        // It can't have panicked.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = tempfile::TempDir::with_prefix(format!("streamfmt-log-{name}-")).unwrap().keep();
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_log_that_is_taken_makes_room_for_the_next_name() {
        let folder = folder("taken");
        let path = folder.join("run.ndjson");
        fs::write(&path, "before\n").unwrap();
        let (mut first, opened) = RawLog::open(&path, SyncPolicy::End);
        opened.unwrap();
        let (second, opened) = RawLog::open(&path, SyncPolicy::End);
        opened.unwrap();
        assert_eq!((first.start, second.start), (7, 0));
        assert_eq!(second.path, folder.join("run-2.ndjson"));
        assert_eq!(first.append(b"more\n").0, Some(7));
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nmore\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_did_not_take_is_written_once_it_does_or_is_a_gap() {
        let folder = folder("full");
        let path = folder.join("run.ndjson");
        let (mut log, opened) = RawLog::open(&path, SyncPolicy::Never);
        opened.unwrap();
        assert_eq!(log.append(b"one\n").0, Some(0));
        let good = log.file.replace(File::options().write(true).open("/dev/full").unwrap());
        let (place, failure) = log.append(b"two\n");
        assert!(place.is_none() && failure.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull));
        assert!(log.append(b"three\n").1.is_none(), "it is reported once");
        log.file = good;
        assert_eq!(log.append(b"four\n").0, Some(14));
        assert_eq!(
            (log.finish().0, fs::read_to_string(&path).unwrap()),
            (0, "one\ntwo\nthree\nfour\n".to_owned())
        );
        let good = log.file.replace(File::options().write(true).open("/dev/full").unwrap());
        let large = vec![b'x'; BACKLOG];
        log.append(&large);
        log.append(b"given up\n");
        log.file = good;
        log.append(b"end\n");
        assert_eq!(log.gaps, [LogGap { at: 19 + BACKLOG as u64, bytes: 9 }]);
        assert_eq!(log.finish().0, 9);
        assert!(fs::read_to_string(&path).unwrap().ends_with("xxend\n"));
        fs::remove_dir_all(folder).unwrap();
    }
}
