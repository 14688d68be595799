//! The log of a run: the agent's output, byte for byte.

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

#[cfg(test)]
mod tests {
    use super::*;

    impl RawLog {
        /// Makes it one whose flushing each second has failed once, and does nothing more.
        pub(crate) fn fail_to_flush(&mut self) {
            let failure = Arc::new(Mutex::new(Some(io::Error::other("no disk"))));
            let (end, _) = mpsc::channel();
            let syncing = Syncing { is_dirty: Arc::default(), failure, end, thread: thread::spawn(|| ()) };
            self.syncing = Some(syncing);
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = tempfile::TempDir::with_prefix(format!("streamfmt-log-{name}-")).unwrap().keep();
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn opened(path: &Path) -> RawLog {
        let (log, opened) = RawLog::open(path, SyncPolicy::Never);
        opened.unwrap();
        log
    }

    #[test]
    fn a_log_that_is_taken_makes_room_for_the_next_name() {
        let folder = folder("taken");
        let path = folder.join("run.ndjson");
        fs::write(&path, "before\n").unwrap();
        let (mut first, second) = (opened(&path), opened(&path));
        assert_eq!((first.start, second.start), (7, 0));
        assert_eq!(second.path, folder.join("run-2.ndjson"));
        assert_eq!(first.append(b"more\n").0, Some(7));
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nmore\n");
        // If nothing ran after all, only a log that the run created and left empty is removed.
        second.discard();
        first.discard();
        assert!(path.exists() && !folder.join("run-2.ndjson").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_did_not_take_is_written_once_it_does_or_is_a_gap() {
        let folder = folder("full");
        let path = folder.join("run.ndjson");
        let mut log = opened(&path);
        assert_eq!(log.append(b"one\n").0, Some(0));
        let full = || Some(File::options().write(true).open("/dev/full").unwrap());
        let good = std::mem::replace(&mut log.file, full());
        // A device has no length, which would be noticed.
        log.is_readable = false;
        let (place, events) = log.append(b"two\n");
        assert!(
            place.is_none()
                && matches!(&events[..], [LogEvent::Failed(error)] if error.kind() == io::ErrorKind::StorageFull)
        );
        assert!(log.append(b"three\n").1.is_empty() && log.retry().is_empty(), "it is reported once");
        (log.file, log.is_readable) = (good, true);
        assert!(matches!(log.retry()[..], [LogEvent::Resumed]));
        assert_eq!(log.append(b"four\n").0, Some(14));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\nfour\n");
        let good = std::mem::replace(&mut log.file, full());
        log.is_readable = false;
        let large = vec![b'x'; BACKLOG];
        assert!(matches!(log.append(&large).1[..], [LogEvent::Failed(_)]));
        log.append(b"given up\n");
        (log.file, log.is_readable) = (good, true);
        log.retry();
        log.append(b"end\n");
        assert_eq!(log.gaps, [LogGap { at: 19 + BACKLOG as u64, bytes: 9 }]);
        assert_eq!(log.finish().0, 9);
        assert!(fs::read_to_string(&path).unwrap().ends_with("xxend\n"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_that_is_removed_or_renamed_is_written_anew_with_what_it_had() {
        let folder = folder("removed");
        let path = folder.join("logs/run.ndjson");
        fs::create_dir(folder.join("logs")).unwrap();
        fs::write(&path, "before\n").unwrap();
        let mut log = opened(&path);
        log.append(b"one\n");
        fs::remove_file(&path).unwrap();
        assert!(matches!(log.append(b"two\n"), (Some(11), events) if matches!(events[..], [LogEvent::Anew])));
        fs::remove_dir_all(folder.join("logs")).unwrap();
        assert!(matches!(log.append(b"three\n").1[..], [LogEvent::Anew]));
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\none\ntwo\nthree\n");
        // Another file took the name: it stays as it is. That is noticed once a second, and at the end.
        fs::rename(&path, folder.join("moved")).unwrap();
        fs::write(&path, "other\n").unwrap();
        let (missing, events) = log.finish();
        assert!(missing == 0 && matches!(events[..], [LogEvent::Anew]), "{events:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "other\n");
        assert_eq!(log.path, folder.join("logs/run-2.ndjson"));
        assert_eq!(fs::read_to_string(&log.path).unwrap(), "before\none\ntwo\nthree\n");
        assert_eq!((log.start, log.bytes()), (7, 14));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_removed_log_that_can_t_be_written_anew_is_missing() {
        let folder = folder("gone");
        fs::create_dir(folder.join("logs")).unwrap();
        let mut log = opened(&folder.join("logs/run.ndjson"));
        log.append(b"one\n");
        fs::remove_dir_all(folder.join("logs")).unwrap();
        fs::write(folder.join("logs"), "no folder").unwrap();
        assert!(matches!(log.append(b"two\n").1[..], [LogEvent::Failed(_)]));
        fs::remove_file(folder.join("logs")).unwrap();
        assert!(matches!(log.append(b"three\n").1[..], [LogEvent::Anew]));
        fs::remove_dir_all(folder.join("logs")).unwrap();
        fs::write(folder.join("logs"), "no folder").unwrap();
        assert!(matches!(log.append(b"four\n").1[..], [LogEvent::Failed(_)]), "each failure is reported");
        assert_eq!((log.finish().0, log.bytes()), (19, 0));
        assert_eq!(log.gaps, [LogGap { at: 0, bytes: 19 }]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_another_program_cut_off_is_a_gap() {
        let folder = folder("cut");
        let path = folder.join("run.ndjson");
        fs::write(&path, "before\n").unwrap();
        let mut log = opened(&path);
        log.append(b"one two three\n");
        let cut = |length| File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        cut(10);
        assert!(matches!(log.append(b"four\n").1[..], [LogEvent::Cut(10)]));
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nonefour\n");
        assert_eq!(log.gaps, [LogGap { at: 10, bytes: 11 }]);
        // Even content from before the run, and the gap.
        cut(3);
        let (missing, events) = log.finish();
        assert!(missing == 19 && matches!(events[..], [LogEvent::Cut(3)]), "{missing} {events:?}");
        assert_eq!((log.start, log.bytes(), &log.gaps[..]), (3, 0, &[LogGap { at: 3, bytes: 19 }][..]));
        fs::remove_dir_all(folder).unwrap();
    }

    /// A time that doesn't pass during a test.
    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3_600)
    }

    /// A pipe, which can be written but not flushed, and its other end.
    fn unflushable() -> (io::PipeReader, File) {
        let (end, pipe) = io::pipe().unwrap();
        (end, File::from(std::os::fd::OwnedFd::from(pipe)))
    }

    #[test]
    fn each_second_what_was_written_is_flushed_and_the_first_failure_is_kept() {
        let (_end, pipe) = unflushable();
        let (is_dirty, failure) = (AtomicBool::new(false), Mutex::new(None));
        flush_if_dirty(&pipe, &mut None, &is_dirty, &failure);
        assert!(failure.lock().unwrap().is_none(), "nothing was written");
        is_dirty.store(true, Ordering::Relaxed);
        let mut name = Some(PathBuf::from("run.ndjson"));
        flush_if_dirty(&pipe, &mut name, &is_dirty, &failure);
        assert!(!is_dirty.load(Ordering::Relaxed) && name.is_none());
        assert!(failure.lock().unwrap().is_some());
        *failure.lock().unwrap() = Some(io::Error::other("first"));
        is_dirty.store(true, Ordering::Relaxed);
        flush_if_dirty(&pipe, &mut None, &is_dirty, &failure);
        assert_eq!(failure.into_inner().unwrap().unwrap().to_string(), "first");
    }

    #[test]
    fn a_failure_to_flush_is_kept_until_the_end() {
        let folder = folder("unsynced");
        let (mut log, opened) = RawLog::open(&folder.join("run.ndjson"), SyncPolicy::Second);
        opened.unwrap();
        log.fail_to_flush();
        let dirty = Arc::clone(&log.syncing.as_ref().unwrap().is_dirty);
        log.append(b"one\n");
        assert!(dirty.load(Ordering::Relaxed));
        // The failure outlives the file on which it occurred.
        fs::remove_file(folder.join("run.ndjson")).unwrap();
        log.append(b"two\n");
        assert!(log.is_flushed(), "not yet");
        let (missing, events) = log.finish();
        let [LogEvent::Unsynced(error)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((missing, error.to_string().as_str(), log.is_flushed()), (0, "no disk", false));
        assert_eq!(fs::read_to_string(folder.join("run.ndjson")).unwrap(), "one\ntwo\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_written_is_flushed_when_the_policy_says_so() {
        let folder = folder("policies");
        for (policy, has_thread, is_flushed_at_once, is_flushed_at_end) in [
            (SyncPolicy::Always, false, true, true),
            (SyncPolicy::Second, true, false, true),
            (SyncPolicy::End, false, false, true),
            (SyncPolicy::Never, false, false, false),
        ] {
            let (mut log, opened) = RawLog::open(&folder.join(format!("{policy:?}")), policy);
            opened.unwrap();
            assert_eq!(log.syncing.is_some(), has_thread, "{policy:?}");
            let (place, events) = log.append(b"one\n");
            assert!(place == Some(0) && events.is_empty() && log.is_flushed(), "{policy:?}: {events:?}");
            let (_end, pipe) = unflushable();
            // It has no length, so that no byte of it may be missed, and no name, which isn't looked at.
            (log.file, log.end, log.looked) = (Some(pipe), 0, later());
            let (_, events) = log.append(b"two\n");
            let is_reported = matches!(events[..], [LogEvent::Unsynced(_)]);
            assert_eq!(
                (is_reported, log.is_flushed()),
                (is_flushed_at_once, !is_flushed_at_once),
                "{policy:?}"
            );
            // The failure is reported once.
            log.end = 0;
            let (_, events) = log.append(b"three\n");
            assert!(events.is_empty(), "{policy:?}: {events:?}");
            let mut events = Vec::new();
            log.flush_at_end(&mut events);
            assert_eq!(events.len(), usize::from(is_flushed_at_end && !is_flushed_at_once), "{policy:?}");
            assert_eq!(log.is_flushed(), !is_flushed_at_end, "{policy:?}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_is_a_file_or_a_device_and_never_a_pipe_a_socket_or_a_link() {
        let folder = folder("kinds");
        let path = folder.join("log");
        let refusal = |path: &Path| {
            let (log, opened) = RawLog::open(path, SyncPolicy::Second);
            assert!(!log.is_open() && !log.can_be_read() && log.reader().is_none());
            opened.unwrap_err()
        };
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(refusal(&path).to_string(), "a pipe or socket can't hold a log");
        fs::remove_file(&path).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        refusal(&path);
        drop(socket);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(folder.join("target"), &path).unwrap();
        assert_eq!(refusal(&path).to_string(), "symbolic links are not followed");
        assert!(!folder.join("target").exists());
        fs::remove_file(&path).unwrap();
        assert_eq!(refusal(&folder.join("missing/log")).kind(), io::ErrorKind::NotFound);
        let (device, opened) = RawLog::open(Path::new("/dev/null"), SyncPolicy::Second);
        opened.unwrap();
        assert!(
            device.is_open()
                && !device.can_be_read()
                && device.reader().is_none()
                && device.syncing.is_none()
        );
        let file = self::opened(&path);
        assert!(file.is_open() && file.can_be_read() && file.reader().is_some());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_a_log_that_the_run_created_and_left_empty_is_discarded() {
        let folder = folder("discarded");
        let path = folder.join("log");
        for (before, written, is_kept) in [
            (None, "", false),
            (None, "one\n", true),
            (Some(""), "", true),
            (Some("before\n"), "", true),
            (Some("before\n"), "one\n", true),
        ] {
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let mut log = opened(&path);
            log.append(written.as_bytes());
            log.discard();
            assert_eq!(path.exists(), is_kept, "{before:?} {written:?}");
            let _ = fs::remove_file(&path);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_that_could_not_be_opened_is_opened_before_anything_is_written() {
        let folder = folder("late");
        let (mut log, opened) = RawLog::open(&folder.join("logs/log"), SyncPolicy::Never);
        assert!(opened.is_err() && log.retry().is_empty(), "the caller reports the first failure");
        fs::create_dir(folder.join("logs")).unwrap();
        assert!(matches!(log.retry()[..], [LogEvent::Resumed]));
        assert!(log.retry().is_empty() && folder.join("logs/log").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_that_comes_after_lost_bytes_is_written_before_them() {
        let folder = folder("order");
        let path = folder.join("log");
        let mut log = opened(&path);
        log.append(b"one\n");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let good = log.file.replace(full);
        log.is_readable = false;
        log.append(&vec![b'x'; BACKLOG - 10]);
        assert!(!log.is_whole_so_far() && log.lost == 0);
        // The first doesn't fit any more. The second would.
        log.append(b"too much to keep\n");
        log.append(b"small\n");
        (log.file, log.is_readable) = (good, true);
        assert!(matches!(log.retry()[..], [LogEvent::Resumed]) && log.is_whole_so_far());
        log.append(b"end\n");
        assert_eq!(log.gaps, [LogGap { at: 4 + BACKLOG as u64 - 10, bytes: 23 }]);
        assert!(fs::read_to_string(&path).unwrap().ends_with("xxend\n"));
        // What exactly fits is kept.
        let full = File::options().write(true).open("/dev/full").unwrap();
        log.file = Some(full);
        log.is_readable = false;
        log.append(&vec![b'x'; BACKLOG - 1]);
        log.append(b"y");
        assert_eq!((log.backlog.len(), log.lost), (BACKLOG, 0));
        log.append(b"z");
        assert_eq!((log.backlog.len(), log.lost), (BACKLOG, 1));
        assert_eq!(log.finish().0, 23 + BACKLOG as u64 + 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn that_a_log_was_renamed_is_noticed_once_a_second() {
        let folder = folder("renamed");
        let path = folder.join("log");
        let mut log = opened(&path);
        fs::rename(&path, folder.join("moved")).unwrap();
        log.looked = later();
        let (place, events) = log.append(b"one\n");
        assert!(place == Some(0) && events.is_empty(), "{events:?}");
        log.looked = Instant::now().checked_sub(SECOND).unwrap();
        let (place, events) = log.append(b"two\n");
        assert!(place == Some(4) && matches!(events[..], [LogEvent::Anew]), "{events:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_without_a_name_counts_as_missing_with_its_gaps_if_anything_was_written() {
        let folder = folder("nameless");
        for (written, gap, missing) in [("", 0, 0), ("", 7, 7), ("one\n", 0, 4), ("one\n", 7, 11)] {
            fs::create_dir(folder.join("logs")).unwrap();
            let mut log = opened(&folder.join("logs/log"));
            log.append(written.as_bytes());
            if gap > 0 {
                log.gaps.push(LogGap { at: 0, bytes: gap });
            }
            fs::remove_dir_all(folder.join("logs")).unwrap();
            fs::write(folder.join("logs"), "no folder").unwrap();
            assert_eq!((log.finish().0, log.bytes()), (missing, 0), "{written:?} {gap}");
            assert_eq!(log.gaps.len(), usize::from(missing > 0), "{written:?} {gap}");
            fs::remove_file(folder.join("logs")).unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// Gaps, each with its place and its bytes.
    type Gaps = &'static [(u64, u64)];

    #[test]
    fn a_cut_moves_gaps_behind_it_to_itself_and_counts_each_byte_once() {
        let folder = folder("gaps");
        // The start of the run, the gaps so far, the length to which a log of 20 bytes is cut, and the start and the gaps after that.
        let rows: [(u64, Gaps, u64, u64, Gaps); 6] = [
            (0, &[], 20, 0, &[]),
            (0, &[], 12, 0, &[(12, 8)]),
            (0, &[(5, 100), (12, 30), (15, 50)], 12, 0, &[(5, 100), (12, 30), (12, 58)]),
            (0, &[(12, 30)], 11, 0, &[(11, 39)]),
            (10, &[(10, 7)], 5, 5, &[(5, 17)]),
            // Nothing of the run was there.
            (20, &[], 5, 5, &[]),
        ];
        for row in rows {
            let (start, before, length, start_after, after) = row;
            let gaps = |gaps: Gaps| -> Vec<LogGap> {
                gaps.iter().map(|(at, bytes)| LogGap { at: *at, bytes: *bytes }).collect()
            };
            let mut log = opened(&folder.join("log"));
            (log.start, log.end, log.gaps) = (start, 20, gaps(before));
            log.note_cut(length);
            assert_eq!((log.start, &log.gaps), (start_after, &gaps(after)), "{row:?}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn no_more_than_the_length_is_copied_and_no_less() {
        let folder = folder("copied");
        let bytes: Vec<u8> = (0..3 * COPY).map(|at| (at % 251) as u8).collect();
        fs::write(folder.join("from"), &bytes).unwrap();
        let from = File::open(folder.join("from")).unwrap();
        for length in [0, 1, COPY - 1, COPY, COPY + 1, 2 * COPY + 7, 3 * COPY] {
            let to = File::create(folder.join("to")).unwrap();
            copy(&from, &to, length as u64).unwrap();
            assert!(fs::read(folder.join("to")).unwrap() == bytes[..length], "{length}");
        }
        let to = File::create(folder.join("to")).unwrap();
        let failed = copy(&from, &to, bytes.len() as u64 + 1).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::UnexpectedEof);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_log_that_can_t_be_created_anew_fails_with_the_reason() {
        let folder = folder("reason");
        let mut log = opened(&folder.join("log"));
        // Nobody can create a file there.
        log.path = PathBuf::from("/proc/log");
        assert_eq!(log.write_anew().unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(folder).unwrap();
    }
}
