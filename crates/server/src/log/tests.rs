//! The log's own rules: the bytes kept when a write, a flush or a lock fails, and who may read it.

use super::*;

impl RawLog {
    /// Simulates a thread whose periodic flush has failed once, and which does nothing more.
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
    // If nothing ran after all, only an empty log that the run created is removed.
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
    // A device has no length, and the log would notice that.
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
    // A mebibyte, the most that is kept.
    let large = vec![b'x'; 1 << 20];
    assert!(matches!(log.append(&large).1[..], [LogEvent::Failed(_)]));
    log.append(b"given up\n");
    (log.file, log.is_readable) = (good, true);
    log.retry();
    log.append(b"end\n");
    assert_eq!(log.gaps, [LogGap { at: 19 + (1 << 20), bytes: 9 }]);
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
    // Another file takes the name: it isn't changed. The log notices once a second, and at the end.
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
    // This removes content from before the run, and the gap.
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
        // A pipe has no length, so no byte of it may be missed, and no name, so the name isn't checked.
        (log.file, log.end, log.looked) = (Some(pipe), 0, later());
        let (_, events) = log.append(b"two\n");
        let is_reported = matches!(events[..], [LogEvent::Unsynced(_)]);
        assert_eq!((is_reported, log.is_flushed()), (is_flushed_at_once, !is_flushed_at_once), "{policy:?}");
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
        device.is_open() && !device.can_be_read() && device.reader().is_none() && device.syncing.is_none()
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
    // The first doesn't fit any more, although the second would.
    log.append(b"too much to keep\n");
    log.append(b"small\n");
    (log.file, log.is_readable) = (good, true);
    assert!(matches!(log.retry()[..], [LogEvent::Resumed]) && log.is_whole_so_far());
    log.append(b"end\n");
    assert_eq!(log.gaps, [LogGap { at: 4 + BACKLOG as u64 - 10, bytes: 23 }]);
    assert!(fs::read_to_string(&path).unwrap().ends_with("xxend\n"));
    // Data that fits exactly is kept.
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
    // The start of the run, the gaps, the length to which a log of 20 bytes is truncated, and the start and the gaps after that.
    let rows: [(u64, Gaps, u64, u64, Gaps); 6] = [
        (0, &[], 20, 0, &[]),
        (0, &[], 12, 0, &[(12, 8)]),
        (0, &[(5, 100), (12, 30), (15, 50)], 12, 0, &[(5, 100), (12, 30), (12, 58)]),
        (0, &[(12, 30)], 11, 0, &[(11, 39)]),
        (10, &[(10, 7)], 5, 5, &[(5, 17)]),
        // The log had nothing of the run yet.
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
    // No file can be created there.
    log.path = PathBuf::from("/proc/log");
    assert_eq!(log.write_anew().unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::remove_dir_all(folder).unwrap();
}
