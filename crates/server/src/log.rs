//! The log of a run: the agent's output, byte for byte.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::side_file::LogGap;
use crate::sync::{SyncPolicy, sync_name};

/// The most bytes that are kept in memory while a log can't be written.
const BACKLOG: usize = 1024 * 1024;

/// The most names that are tried if the first is taken.
const NAMES: usize = 1000;

/// How often new bytes are flushed to disk with [`SyncPolicy::Second`], and the log's name is checked.
const SECOND: Duration = Duration::from_secs(1);

/// The number of bytes copied at once.
const COPY: usize = 64 * 1024;

/// A log that is written to.
#[expect(clippy::struct_excessive_bools, reason = "each holds or not, by itself")]
pub(crate) struct RawLog {
    /// The requested path.
    wanted: PathBuf,
    pub(crate) path: PathBuf,
    file: Option<File>,
    /// Whether this run created it.
    is_new: bool,
    /// The offset at which the run starts.
    pub(crate) start: u64,
    /// Its length.
    end: u64,
    /// Whether it can be read back, as a file can and a device can't.
    is_readable: bool,
    /// Bytes that couldn't be written yet.
    backlog: VecDeque<u8>,
    /// The number of bytes after them that were dropped.
    lost: u64,
    pub(crate) gaps: Vec<LogGap>,
    /// Whether a failure was reported that has no end yet.
    has_failed: bool,
    /// Whether a failure to flush was reported.
    is_unsynced: bool,
    /// When the name was checked last.
    looked: Instant,
    /// Whether its name is new and wasn't flushed to disk.
    is_name_unsynced: bool,
    policy: SyncPolicy,
    syncing: Option<Syncing>,
}

/// Something about a log that the user should know.
#[derive(Debug)]
pub(crate) enum LogEvent {
    /// It can't be written. This is reported once until [`LogEvent::Resumed`].
    Failed(io::Error),
    /// It is written again.
    Resumed,
    /// It was removed or renamed while it was written. Everything was copied to a new file.
    Anew,
    /// Another program cut it to this length.
    Cut(u64),
    /// It can't be flushed to disk, though all of it was written.
    Unsynced(io::Error),
}

/// A thread that flushes new bytes to disk each second, so that the recorder doesn't wait for it.
struct Syncing {
    is_dirty: Arc<AtomicBool>,
    /// The first failure. The system reports each only once, so it must be kept until the end.
    failure: Arc<Mutex<Option<io::Error>>>,
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
            is_new: false,
            start: 0,
            end: 0,
            is_readable: false,
            backlog: VecDeque::new(),
            lost: 0,
            gaps: Vec::new(),
            has_failed: false,
            is_unsynced: false,
            looked: Instant::now(),
            is_name_unsynced: false,
            policy,
            syncing: None,
        };
        let opened = log.open_free(path);
        log.has_failed = opened.is_err();
        (log, opened)
    }

    fn open_free(&mut self, wanted: &Path) -> io::Result<()> {
        for name in names(wanted) {
            let (file, is_new) = match open_file(&name, true) {
                Ok(file) => (file, true),
                Err(_) if name.is_symlink() => {
                    return Err(io::Error::other("symbolic links are not followed"));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    (open_file(&name, false)?, false)
                }
                Err(error) => return Err(error),
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
            }
            (self.path, self.is_new) = (name, is_new);
            self.is_name_unsynced = is_new;
            self.take_file(file);
            return Ok(());
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn take_file(&mut self, file: File) {
        if self.is_readable && self.policy == SyncPolicy::Second {
            let failure = self.syncing.take().and_then(Syncing::finish);
            let name = self.is_name_unsynced.then(|| self.path.clone());
            self.syncing = file.try_clone().ok().and_then(|file| Syncing::begin(file, name, failure).ok());
        }
        self.file = Some(file);
    }

    /// Whether it could be opened.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// A handle to read it back, if that is possible.
    pub(crate) fn reader(&self) -> Option<File> {
        self.file.as_ref().filter(|_| self.is_readable)?.try_clone().ok()
    }

    /// Whether it can be read back.
    pub(crate) fn can_be_read(&self) -> bool {
        self.is_readable
    }

    /// Removes it if this run created it and wrote nothing.
    pub(crate) fn discard(self) {
        if self.is_new && self.end == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Appends bytes. Returns their offset if all of them were written.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> (Option<u64>, Vec<LogEvent>) {
        if !self.is_whole_so_far() {
            self.keep(bytes);
            return (None, Vec::new());
        }
        let mut events = Vec::new();
        if self.file.is_some() {
            self.look(self.looked.elapsed() >= SECOND, &mut events);
        }
        let at = self.end;
        let (written, result) = self.write(bytes, &mut events);
        if let Err(error) = result {
            self.keep(&bytes[written..]);
            self.report(error, &mut events);
            return (None, events);
        }
        (Some(at).filter(|_| self.is_readable), events)
    }

    /// Retries to open the log, and to write the bytes that couldn't be written.
    pub(crate) fn retry(&mut self) -> Vec<LogEvent> {
        let mut events = Vec::new();
        if self.is_open() && self.is_whole_so_far() {
            return events;
        }
        if let Err(error) = self.try_again(&mut events) {
            self.report(error, &mut events);
        } else if std::mem::take(&mut self.has_failed) {
            events.push(LogEvent::Resumed);
        }
        events
    }

    fn try_again(&mut self, events: &mut Vec<LogEvent>) -> io::Result<()> {
        if self.file.is_none() {
            self.open_free(&self.wanted.clone())?;
        } else {
            self.look(true, events);
        }
        while !self.backlog.is_empty() {
            let backlog = std::mem::take(&mut self.backlog);
            let (written, result) = self.write(backlog.as_slices().0, events);
            self.backlog = backlog;
            self.backlog.drain(..written);
            result?;
        }
        if self.lost > 0 {
            self.gaps.push(LogGap { at: self.end, bytes: std::mem::take(&mut self.lost) });
        }
        Ok(())
    }

    /// Whether everything appended so far was written.
    pub(crate) fn is_whole_so_far(&self) -> bool {
        self.backlog.is_empty() && self.lost == 0
    }

    /// Whether no flush to disk has failed.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.is_unsynced
    }

    /// The number of the run's bytes in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Writes the rest, and flushes it to disk if the policy requires that. Returns the number of the run's bytes that are missing.
    pub(crate) fn finish(&mut self) -> (u64, Vec<LogEvent>) {
        let mut events = if self.is_whole_so_far() { Vec::new() } else { self.retry() };
        self.look(true, &mut events);
        if !self.is_whole_so_far() {
            let bytes = self.lost + std::mem::take(&mut self.backlog).len() as u64;
            self.lost = 0;
            self.gaps.push(LogGap { at: self.end, bytes });
        }
        if self.is_nameless() {
            // The file that was written can't be opened by anyone anymore.
            let bytes = self.bytes() + self.missing();
            self.end = self.start;
            self.gaps = if bytes > 0 { vec![LogGap { at: self.start, bytes }] } else { Vec::new() };
        }
        self.flush_at_end(&mut events);
        (self.missing(), events)
    }

    /// Flushes it to disk if the policy requires that, and reports earlier failures to do so.
    fn flush_at_end(&mut self, events: &mut Vec<LogEvent>) {
        if let Some(failure) = self.syncing.take().and_then(Syncing::finish) {
            self.report_unsynced(failure, events);
        }
        if self.policy != SyncPolicy::Never {
            self.flush(events);
        }
    }

    fn missing(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.bytes).sum()
    }

    fn report(&mut self, error: io::Error, events: &mut Vec<LogEvent>) {
        if !std::mem::replace(&mut self.has_failed, true) {
            events.push(LogEvent::Failed(error));
        }
    }

    fn report_unsynced(&mut self, error: io::Error, events: &mut Vec<LogEvent>) {
        if !std::mem::replace(&mut self.is_unsynced, true) {
            events.push(LogEvent::Unsynced(error));
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.lost == 0 && self.backlog.len() + bytes.len() <= BACKLOG {
            self.backlog.extend(bytes);
        } else {
            self.lost += bytes.len() as u64;
        }
    }

    /// Writes bytes. Returns the number of bytes written.
    fn write(&mut self, bytes: &[u8], events: &mut Vec<LogEvent>) -> (usize, io::Result<()>) {
        let Some(file) = &mut self.file else { return (0, Err(io::ErrorKind::NotFound.into())) };
        let mut written = 0;
        while written < bytes.len() {
            let error = match file.write(&bytes[written..]) {
                Ok(count @ 1..) => {
                    self.end += count as u64;
                    written += count;
                    continue;
                }
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            return (written, Err(error));
        }
        if let Some(syncing) = &self.syncing {
            syncing.is_dirty.store(true, Ordering::Relaxed);
        } else if self.policy == SyncPolicy::Always {
            self.flush(events);
        }
        (written, Ok(()))
    }

    /// Flushes it and its name to disk.
    fn flush(&mut self, events: &mut Vec<LogEvent>) {
        let Some(file) = self.file.as_ref().filter(|_| self.is_readable) else { return };
        if let Err(error) = file.sync_data() {
            self.report_unsynced(error, events);
        }
        if std::mem::take(&mut self.is_name_unsynced) {
            sync_name(&self.path);
        }
    }

    /// Detects changes to the file by other programs. `is_thorough`: whether its name is checked, too.
    fn look(&mut self, is_thorough: bool, events: &mut Vec<LogEvent>) {
        let Some(Ok(about)) = self.file.as_ref().filter(|_| self.is_readable).map(File::metadata) else {
            return;
        };
        if about.len() < self.end {
            self.note_cut(about.len());
            events.push(LogEvent::Cut(about.len()));
        }
        // Another program may append to it as well; the system appends after that.
        self.end = about.len();
        if is_thorough {
            self.looked = Instant::now();
        }
        if about.nlink() == 0 || is_thorough && !self.has_name(&about) {
            match self.write_anew() {
                Ok(()) => {
                    self.has_failed = false;
                    events.push(LogEvent::Anew);
                }
                Err(error) => self.report(error, events),
            }
        }
    }

    /// Records that everything after `length` is gone, including gaps.
    fn note_cut(&mut self, length: u64) {
        let was = self.end - self.start;
        self.start = self.start.min(length);
        let there = length - self.start;
        let behind: u64 = self.gaps.iter().filter(|gap| gap.at > length).map(|gap| gap.bytes).sum();
        self.gaps.retain(|gap| gap.at <= length);
        let bytes = was - there.min(was) + behind;
        if bytes > 0 {
            self.gaps.push(LogGap { at: length, bytes });
        }
    }

    fn has_name(&self, about: &Metadata) -> bool {
        match fs::symlink_metadata(&self.path) {
            Ok(named) => (named.dev(), named.ino()) == (about.dev(), about.ino()),
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }

    fn is_nameless(&self) -> bool {
        let about = self.file.as_ref().filter(|_| self.is_readable).map(File::metadata);
        about.is_some_and(|about| about.is_ok_and(|about| !self.has_name(&about)))
    }

    /// Copies everything to a new file and continues there.
    fn write_anew(&mut self) -> io::Result<()> {
        let Some(old) = self.file.as_ref().map(File::try_clone).transpose()? else { return Ok(()) };
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        for name in names(&self.path.clone()) {
            let file = match open_file(&name, true) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let _ = file.try_lock();
            if let Err(error) = copy(&old, &file, self.end) {
                let _ = fs::remove_file(&name);
                return Err(error);
            }
            (self.path, self.is_name_unsynced) = (name, true);
            self.take_file(file);
            return Ok(());
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Returns the names to try: `run.ndjson`, `run-2.ndjson`, `run-3.ndjson` and so on.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    (1..NAMES).map(move |number| {
        if number == 1 {
            return path.to_owned();
        }
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        for part in path.extension().into_iter().flat_map(|extension| [OsStr::new("."), extension]) {
            name.push(part);
        }
        path.with_file_name(name)
    })
}

fn open_file(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(is_new).mode(0o600);
    // Opening a pipe without a reader must not block.
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options.open(path)
}

/// Copies the first bytes of a file.
fn copy(from: &File, mut to: &File, length: u64) -> io::Result<()> {
    let mut buffer = vec![0; COPY];
    let mut at = 0;
    while at < length {
        let most = usize::try_from(length - at).unwrap_or(COPY).min(COPY);
        let count = from.read_at(&mut buffer[..most], at)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..count])?;
        at += count as u64;
    }
    Ok(())
}

impl Syncing {
    /// Starts the thread. `name`: the path of the file, if that is to be flushed as well. `failure`: an earlier one that wasn't reported.
    fn begin(file: File, mut name: Option<PathBuf>, failure: Option<io::Error>) -> io::Result<Self> {
        let is_dirty = Arc::new(AtomicBool::new(false));
        let failure = Arc::new(Mutex::new(failure));
        let (dirty, failed) = (Arc::clone(&is_dirty), Arc::clone(&failure));
        let (end, ended) = mpsc::channel();
        let mut step = move || flush_if_dirty(&file, &mut name, &dirty, &failed);
        let thread = thread::Builder::new().name("sync".to_owned()).spawn(move || {
            while ended.recv_timeout(SECOND) == Err(RecvTimeoutError::Timeout) {
                step();
            }
        })?;
        Ok(Self { is_dirty, failure, end, thread })
    }

    /// Ends it. Returns the first failure.
    fn finish(self) -> Option<io::Error> {
        drop(self.end);
        // It can't have panicked.
        let _ = self.thread.join();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Flushes a file to disk if something was written since the last time, and once its name, if one is given. Keeps the first failure.
fn flush_if_dirty(
    file: &File,
    name: &mut Option<PathBuf>,
    is_dirty: &AtomicBool,
    failure: &Mutex<Option<io::Error>>,
) {
    if !is_dirty.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Err(error) = file.sync_data() {
        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
    if let Some(name) = name.take() {
        sync_name(&name);
    }
}
