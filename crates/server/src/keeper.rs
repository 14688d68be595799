//! Keeps the side file of a run: reads the agent's stream as it comes, and notes what it shows of the session and its outcome.
//!
//! It is a thread of its own beside the recorder. So neither a slow disk under the side file nor a stream that takes long to decode holds up
//! the agent, and what is noted doesn't wait for the display.

use std::fmt;
use std::io::{self, PipeWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use streamfmt::Engine;
use streamfmt::core::item::Kind;
use streamfmt::core::pipeline::{Output, Pipeline, Setup};
use streamfmt::core::profile::{Filter, Selector};

use crate::feed::{FeedStep, LiveFeed};
use crate::lingering::{Lingering, LingeringStep};
use crate::run_lock::RunLock;
use crate::session_paths::SessionPaths;
use crate::side_file::RunSideFile;

/// The longest line that is decoded, in bytes. It bounds memory: no outcome of a run is near that long.
const MAX_LINE: usize = 16 << 20;
/// The longest session id of an agent that is kept, in bytes.
const MAX_SESSION_ID: usize = 1024;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// How often writing the side file is retried after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Requests of the keeper to the recorder, as bytes of a pipe.
pub(crate) const REPORT_LINGERING: u8 = b'r';
/// The agent is to be ended.
pub(crate) const STOP: u8 = b's';

/// What the stream of a run shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamVerdict {
    /// Whether it is the stream of a known agent.
    pub(crate) is_known: bool,
    /// Whether it ends with an outcome, or is of a form that needs none, such as a history.
    pub(crate) has_ended: bool,
    /// Whether its last outcome is an error.
    pub(crate) has_failed: bool,
}

/// Reads the stream of a run.
pub(crate) struct Keeper {
    feed: LiveFeed,
    side: Arc<KeptSideFile>,
    lingering: Lingering,
    recorder: PipeWriter,
}

/// The side file of a run in progress. Any thread may change its content, which never waits; one at a time writes it.
pub(crate) struct KeptSideFile {
    paths: SessionPaths,
    content: Mutex<RunSideFile>,
    is_changed: AtomicBool,
    file: Mutex<FileState>,
}

/// How far the file itself is. Who writes it holds this.
#[derive(Default)]
struct FileState {
    /// Shows that the run is in progress.
    lock: Option<RunLock>,
    /// Whether the run is over: nothing is written any more.
    is_released: bool,
}

impl Keeper {
    pub(crate) fn new(
        feed: LiveFeed,
        side: Arc<KeptSideFile>,
        exit_after_result: Option<Duration>,
        recorder: PipeWriter,
    ) -> Self {
        Self { feed, side, lingering: Lingering::new(exit_after_result), recorder }
    }

    /// Reads to the end of the run. `engine` brings the dialects.
    pub(crate) fn run(mut self, engine: &Engine) -> StreamVerdict {
        let mut pipeline = Pipeline::new(setup(engine));
        let mut buffer = vec![0; CHUNK];
        let mut retry_at = None;
        loop {
            let now = Instant::now();
            if retry_at.is_none_or(|at| at <= now) {
                retry_at = self.side.write().is_err().then(|| now + RETRY);
            }
            match self.feed.next(&mut buffer) {
                Ok(FeedStep::Output(count)) => {
                    // What would be written is of no use here.
                    let _ = pipeline.push(&buffer[..count], &mut NoReader);
                    self.note(&pipeline);
                }
                Ok(FeedStep::Errors(_) | FeedStep::Notice(_)) => {}
                Ok(FeedStep::Wait) => {
                    let retry = retry_at.map(|at| at.saturating_duration_since(now));
                    self.wait([retry, self.lingering.patience(now)].into_iter().flatten().min());
                }
                Ok(FeedStep::Over) | Err(_) => break,
            }
            let request = match self.lingering.take_due(Instant::now()) {
                None => continue,
                Some(LingeringStep::Report) => REPORT_LINGERING,
                Some(LingeringStep::Stop) => STOP,
            };
            // This fails only if the recorder is gone.
            let _ = self.recorder.write_all(&[request]);
        }
        let _ = pipeline.finish(&mut NoReader);
        self.note(&pipeline);
        let report = pipeline.report();
        let is_known = report.events > 0;
        StreamVerdict { is_known, has_ended: is_known && !report.lacks_outcome(), has_failed: report.failed }
    }

    fn wait(&self, patience: Option<Duration>) {
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let _ = poll(&mut [PollFd::from_borrowed_fd(self.feed.bell(), PollFlags::IN)], patience.as_ref());
    }

    fn note(&mut self, pipeline: &Pipeline) {
        let (report, session) = (pipeline.report(), pipeline.session());
        let facts = session.facts();
        // A very long id isn't kept; it is in the log.
        if let Some(named) = facts.session.as_deref().filter(|id| id.len() <= MAX_SESSION_ID)
            && self.side.content().agent_session.as_deref() != Some(named)
        {
            self.side.change(|side| side.agent_session = Some(named.to_owned()));
        }
        let tasks = facts.background_tasks.unwrap_or_default();
        let is_done = report.ended && session.open_calls() == 0 && tasks == 0;
        self.lingering.note(is_done, Instant::now());
    }
}

/// Reads with the engine's dialects, and shows nothing.
fn setup(engine: &Engine) -> Setup {
    let mut setup = engine.setup();
    setup.max_line = setup.max_line.min(MAX_LINE);
    setup.profile.filter = Filter { only: vec![Selector::Kind(Kind::Outcome)], ..Filter::default() };
    setup.output = Output::Items { formatters: Vec::new() };
    setup.settle = None;
    setup
}

impl KeptSideFile {
    pub(crate) fn new(paths: SessionPaths, content: RunSideFile) -> Self {
        Self {
            paths,
            content: Mutex::new(content),
            is_changed: AtomicBool::new(true),
            file: Mutex::default(),
        }
    }

    pub(crate) fn content(&self) -> MutexGuard<'_, RunSideFile> {
        lock(&self.content)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut RunSideFile)) {
        change(&mut self.content());
        self.is_changed.store(true, Ordering::Release);
    }

    /// Writes it if it changed, and holds the lock that shows that the run is in progress. Creates the folder if needed. Once the run was
    /// [released](Self::release) this does nothing.
    pub(crate) fn write(&self) -> io::Result<()> {
        // Taken before the content is looked at: of two threads that write, the later one has the newer content.
        let mut file = lock(&self.file);
        if file.is_released || !self.is_changed.swap(false, Ordering::Acquire) {
            return Ok(());
        }
        let content = self.content().clone();
        let written = self.try_write(&mut file, &content).or_else(|_| {
            self.paths.create()?;
            self.try_write(&mut file, &content)
        });
        written.inspect_err(|_| self.is_changed.store(true, Ordering::Release))
    }

    fn try_write(&self, file: &mut FileState, content: &RunSideFile) -> io::Result<()> {
        // It is held before the side file exists, so nobody sees a run in progress without it.
        if file.lock.is_none() {
            file.lock = RunLock::hold(self.paths.lock(&content.id)).ok();
        }
        content.write(&self.paths.side_file(&content.id))
    }

    /// Frees the lock: the run is over, and its side file stays as it is.
    pub(crate) fn release(&self) {
        let mut file = lock(&self.file);
        file.is_released = true;
        file.lock = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes text that nobody reads.
struct NoReader;

impl fmt::Write for NoReader {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::side_file::RunStatus;

    #[test]
    fn a_side_file_never_goes_back_and_stays_as_it_is_once_the_run_is_over() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-side-").unwrap();
        let paths = SessionPaths { folder: folder.path().to_owned() };
        let text = r#"{"v":1,"id":"20261123-224103-k3x9qa","status":"running","command":["a"],"folder":"/","log":"/l",
            "started":"2026-11-23T22:41:03.1Z","recorder":{"pid":1}}"#;
        let content: RunSideFile = serde_json::from_str(text).unwrap();
        let (id, path) = (content.id.clone(), paths.side_file(&content.id));
        let status = || RunSideFile::read(&path).unwrap().status;
        for _ in 0..100 {
            let side = KeptSideFile::new(paths.clone(), content.clone());
            thread::scope(|scope| {
                // As the keeper does while the recorder ends.
                let keeper = scope.spawn(|| {
                    for number in 0..20 {
                        side.change(|side| side.agent_session = Some(number.to_string()));
                        side.write().unwrap();
                    }
                });
                side.change(|side| side.status = RunStatus::Done);
                side.write().unwrap();
                assert_eq!(status(), RunStatus::Done);
                side.release();
                keeper.join().unwrap();
            });
            assert_eq!(status(), RunStatus::Done);
            let was = std::fs::read(&path).unwrap();
            side.change(|side| side.status = RunStatus::Running);
            side.write().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), was);
            assert!(!paths.lock(&id).exists());
        }
    }
}
