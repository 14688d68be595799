//! Keeps the side file of a run: writes the session and the outcome that are found in the agent's stream.
//!
//! It is a separate thread beside the recorder. So neither a slow disk for the side file nor a stream that takes long to decode delays
//! the agent. As long as the display keeps up, its findings are used. If it is late, the stream is decoded here as well, from its
//! beginning, so that the side file never waits for the display.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, ErrorKind, PipeWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use streamfmt::Engine;
use streamfmt::core::item::{Id, Waiting};
use streamfmt::core::pipeline::{Pipeline, Setup};

use crate::feed::{FeedStep, FeedView, LiveFeed};
use crate::findings::{SharedFindings, StreamFindings, StreamVerdict};
use crate::lingering::{Lingering, LingeringStep};
use crate::run_cost::{CostLimits, CostMeter, CostStep, CostWatch};
use crate::run_lock::RunLock;
use crate::session_paths::SessionPaths;
use crate::side_draft::{self, ReservedDraft};
use crate::side_file::RunSideFile;
use crate::sync::SyncPolicy;

/// The longest line that is decoded, in bytes. It bounds memory: no outcome of a run is near that long.
const MAX_LINE: usize = 16 << 20;
/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;
/// How often writing the side file is retried after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// How late the display may be before the stream is decoded here as well.
const LATE: Duration = Duration::from_millis(500);
/// How often the findings of the display are checked.
const LOOK: Duration = Duration::from_millis(50);

/// Requests of the keeper to the recorder, as bytes of a pipe.
pub(crate) const REPORT_LINGERING: u8 = b'r';
/// Requests that the agent is ended.
pub(crate) const STOP: u8 = b's';
/// Requests that come from the limits of the cost.
pub(crate) const REPORT_MISSING_PRICE: u8 = b'm';
pub(crate) const REPORT_COST: u8 = b'w';
pub(crate) const STOP_FOR_COST: u8 = b'c';

/// Reads the stream of a run.
pub(crate) struct Keeper {
    feed: LiveFeed,
    side: Arc<KeptSideFile>,
    lingering: Lingering,
    costs: CostWatch,
    recorder: PipeWriter,
    /// The findings of the display.
    display: SharedFindings,
    /// When writing the side file is retried.
    retry_at: Option<Instant>,
    /// The call that waits for a person, according to the side file.
    waits: Option<Id>,
}

/// How far the display is in the stream. It reads no clock: callers pass the time.
#[derive(Default)]
struct DisplayProgress {
    /// The bytes that the agent wrote.
    came: u64,
    /// The bytes that the display decoded.
    found: u64,
    /// A position in the stream that the display hasn't reached yet, and when it was noticed.
    awaited: Option<(u64, Instant)>,
}

/// The next step of a keeper that follows the display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeeperStep {
    /// Decode the stream itself.
    Decode,
    /// The run is over, and the display has its verdict.
    Over,
    /// Wait for the display, for at most this long.
    AwaitDisplay(Duration),
    /// Wait until something happens, for at most this long.
    Wait(Option<Duration>),
}

/// The side file of a run in progress. Any thread may change its content, which never waits; one at a time writes it.
pub(crate) struct KeptSideFile {
    paths: SessionPaths,
    sync: SyncPolicy,
    content: Mutex<RunSideFile>,
    is_changed: AtomicBool,
    file: Mutex<FileState>,
}

/// The state of the file itself. A thread that writes the file holds this.
#[derive(Default)]
struct FileState {
    /// Shows that the run is in progress.
    lock: Option<RunLock>,
    /// Room on the disk for the end of the run.
    end: Option<ReservedDraft>,
    /// Whether the run is over: nothing is written any more.
    is_released: bool,
}

impl Keeper {
    pub(crate) fn new(
        feed: LiveFeed,
        side: Arc<KeptSideFile>,
        exit_after_result: Option<Duration>,
        limits: CostLimits,
        recorder: PipeWriter,
        display: SharedFindings,
    ) -> Self {
        let (lingering, costs) = (Lingering::new(exit_after_result), CostWatch::new(limits));
        Self { feed, side, lingering, costs, recorder, display, retry_at: None, waits: None }
    }

    /// Follows the stream to the end of the run. `engine`: provides the dialects.
    pub(crate) fn run(mut self, engine: &Engine) -> StreamVerdict {
        self.follow_display().unwrap_or_else(|| self.read(engine))
    }

    /// Uses the findings of the display. `None` if it is too late, or if its findings may change at the end of the stream: then the stream
    /// has to be read here. None of it has been read by then.
    fn follow_display(&mut self) -> Option<StreamVerdict> {
        let mut progress = DisplayProgress::default();
        loop {
            let now = Instant::now();
            // The bell is silenced first: a change after that rings again.
            let view = self.feed.look().ok()?;
            let display = self.display.so_far();
            let (has_output, has_findings) = progress.note(view, &display);
            if has_output {
                self.lingering.note(false, now);
            }
            if has_findings {
                self.note(&display);
            }
            // What was found is written before waiting: an agent that waits for a person writes nothing that would ring.
            self.write_side_file(now);
            match progress.step(view, &display, now) {
                KeeperStep::Decode => return None,
                KeeperStep::Over => return Some(display.verdict),
                KeeperStep::AwaitDisplay(most) => self.display.wait(view.output, most),
                KeeperStep::Wait(most) => self.wait(most),
            }
            self.request();
        }
    }

    /// Reads to the end of the run.
    fn read(&mut self, engine: &Engine) -> StreamVerdict {
        let mut setup = setup(engine);
        let meter = self.costs.is_needed().then(|| CostMeter::new(self.side.content().started));
        if let Some(meter) = &meter {
            meter.watch(&mut setup);
        }
        let mut pipeline = Pipeline::new(setup);
        let mut found = StreamFindings::default();
        let mut buffer = vec![0; CHUNK];
        loop {
            let step = self.feed.next(&mut buffer);
            self.write_side_file(Instant::now());
            match step {
                Ok(FeedStep::Output(count)) => {
                    // There is no output.
                    let _ = pipeline.push(&buffer[..count], &mut String::new());
                    found.update(&pipeline, &buffer[..count], meter.as_ref());
                    self.note(&found);
                }
                Ok(FeedStep::Errors(_) | FeedStep::Notice(_)) => {}
                Ok(FeedStep::Wait) => self.wait(None),
                Ok(FeedStep::Over) | Err(_) => break,
            }
            self.request();
        }
        let _ = pipeline.finish(&mut String::new());
        found.update(&pipeline, &[], meter.as_ref());
        self.note(&found);
        found.verdict
    }

    fn write_side_file(&mut self, now: Instant) {
        if self.retry_at.is_none_or(|at| at <= now) {
            self.retry_at = self.side.write().is_err().then(|| now + RETRY);
        }
    }

    /// Waits until something arrives or is due, for at most `most`.
    fn wait(&self, most: Option<Duration>) {
        let patience = self.patience(most, Instant::now());
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let _ = poll(&mut [PollFd::from_borrowed_fd(self.feed.bell(), PollFlags::IN)], patience.as_ref());
    }

    fn patience(&self, most: Option<Duration>, now: Instant) -> Option<Duration> {
        let retry = self.retry_at.map(|at| at.saturating_duration_since(now));
        [retry, self.lingering.patience(now), most].into_iter().flatten().min()
    }

    /// Sends the recorder a request that is due.
    fn request(&mut self) {
        match self.lingering.take_due(Instant::now()) {
            None => {}
            Some(LingeringStep::Report) => self.ask(REPORT_LINGERING),
            Some(LingeringStep::Stop) => self.ask(STOP),
        }
    }

    fn note(&mut self, found: &StreamFindings) {
        if let Some(named) = &found.session
            && self.side.content().agent_session.as_ref() != Some(named)
        {
            self.side.change(|side| side.agent_session = Some(named.clone()));
        }
        let waits = found.waiting.as_ref().map(|(call, _)| call);
        if self.waits.as_ref() != waits {
            self.waits = waits.cloned();
            // Few streams have the time.
            let since = |waiting: &Waiting| Waiting {
                since: waiting.since.or_else(|| Some(Timestamp::now())),
                ..*waiting
            };
            let waiting = found.waiting.as_ref().map(|(_, waiting)| since(waiting));
            self.side.change(|side| side.waiting = waiting);
        }
        self.lingering.note(found.is_done, Instant::now());
        for step in self.costs.take_due(found.cost, found.is_done) {
            self.ask(match step {
                CostStep::ReportMissingPrice => REPORT_MISSING_PRICE,
                CostStep::Report => REPORT_COST,
                CostStep::Stop => STOP_FOR_COST,
            });
        }
    }

    /// Sends the recorder a request.
    fn ask(&mut self, request: u8) {
        // This fails only if the recorder is gone.
        let _ = self.recorder.write_all(&[request]);
    }
}

impl DisplayProgress {
    /// Returns whether the agent wrote something that the display hasn't decoded, and whether the display decoded something, since the last
    /// call. The display may be ahead of the view, which is older: what it has found isn't undone when the view follows.
    fn note(&mut self, view: FeedView, display: &StreamFindings) -> (bool, bool) {
        let came = std::mem::replace(&mut self.came, view.output);
        let found = std::mem::replace(&mut self.found, display.bytes);
        (self.came != came && display.bytes < view.output, self.found != found)
    }

    fn step(&mut self, view: FeedView, display: &StreamFindings, now: Instant) -> KeeperStep {
        let is_late = display.bytes < view.output;
        self.awaited = self.awaited.filter(|(bytes, _)| display.bytes < *bytes);
        let (_, since) = *self.awaited.get_or_insert((view.output, now));
        let left = LATE.saturating_sub(now - since);
        match (is_late, view.is_over) {
            _ if view.is_full => KeeperStep::Decode,
            (true, _) if left.is_zero() => KeeperStep::Decode,
            (false, true) if display.is_certain || view.output == 0 => KeeperStep::Over,
            (false, true) => KeeperStep::Decode,
            (true, true) => KeeperStep::AwaitDisplay(left),
            (true, false) => KeeperStep::Wait(Some(LOOK.min(left))),
            (false, false) => KeeperStep::Wait(None),
        }
    }
}

/// Returns a setup with the engine's dialects that shows nothing.
pub(crate) fn setup(engine: &Engine) -> Setup {
    let mut setup = engine.watch(Vec::new());
    setup.max_line = setup.max_line.min(MAX_LINE);
    setup
}

impl KeptSideFile {
    pub(crate) fn new(paths: SessionPaths, sync: SyncPolicy, content: RunSideFile) -> Self {
        Self {
            paths,
            sync,
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
        // Lock it before reading the content: of two threads that write, the later one has the newer content.
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
            file.lock = match RunLock::hold(self.paths.lock(&content.id)) {
                // The folder has to be created first. Meanwhile another thread may do that, and the side file would come before the lock.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Err(error);
                }
                held => held.ok(),
            };
        }
        let side_file = self.paths.side_file(&content.id);
        let [end, draft] = self.paths.drafts(&content.id);
        let (text, is_synced) = (content.text()?, self.is_synced(content));
        if content.ended.is_some()
            && let Some(end) = &file.end
            // If another program removed it, there may still be room for another.
            && end.put_in_place(&text, &side_file, is_synced).is_ok()
        {
            return Ok(());
        }
        side_draft::write(&text, &side_file, &draft, is_synced)?;
        if content.ended.is_none() {
            match &mut file.end {
                Some(reserved) => drop(reserved.make_room(text.len())),
                None => file.end = ReservedDraft::reserve(end, text.len()).ok(),
            }
        }
        Ok(())
    }

    /// Whether content is flushed to disk.
    fn is_synced(&self, content: &RunSideFile) -> bool {
        match self.sync {
            SyncPolicy::Always => true,
            // The agent's start doesn't wait for the disk: right after it, the keeper writes the file again.
            SyncPolicy::Second => content.process.is_some(),
            SyncPolicy::End => content.ended.is_some(),
            SyncPolicy::Never => false,
        }
    }

    /// Removes the side file: nothing ran.
    pub(crate) fn discard(&self) {
        let mut file = lock(&self.file);
        let id = self.content().id.clone();
        let _ = fs::remove_file(self.paths.side_file(&id));
        file.release();
    }

    /// Frees the lock: the run is over, and its side file stays as it is.
    pub(crate) fn release(&self) {
        lock(&self.file).release();
    }
}

impl FileState {
    fn release(&mut self) {
        self.is_released = true;
        if let Some(end) = self.end.take() {
            end.remove();
        }
        self.lock = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
