//! The pipeline of one session in one profile, on its own thread, shared by all its readers.
//!
//! ```text
//! log ─▶ follower or file ─▶ pipeline ─▶ parts and open nodes ─▶ rows of HTML ─▶ SessionView ─▶ readers, each at its own pace
//! ```
//!
//! The document is that of a page in a file, by the same outline and the same writer: its final parts are added as they come, and the nodes
//! that aren't final are shown after them. The pipeline gets the log line by line, so that the view at a revision is the same in every
//! process, before and after a restart. Nothing is formatted while the view is locked.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use streamfmt::core::item::Waiting;
use streamfmt::core::json::Record;
use streamfmt::core::outline::Node;
use streamfmt::core::pipeline::{LivePace, Output, Pipeline};
use streamfmt::core::redact::Redactor;
use streamfmt::core::text::Text;
use streamfmt::follow::{Bell, FollowNote, FollowStep, FollowWait, Follower, Woken};
use streamfmt::problem::reason;
use streamfmt::unpack::UnpackedReader;
use streamfmt::writer::html::{HtmlFragments, HtmlRow};
use streamfmt::writer::page::PageOptions;
use tokio::sync::watch;

use super::facts::{self, ReportedFigures};
use super::html::{escaped, shown};
use super::profiles::LoadedProfile;
use super::sessions::{KnownSessions, title_of};
use super::view::{SessionView, ViewState};
use crate::store::{
    FiguresCollector, SessionRecord, SourceKind, Store, StoreError, facts_of, history_exists, open_history,
    subagents_of,
};

/// The number of bytes read at a time.
const BUFFER: usize = 64 << 10;
/// How often the status of a run is checked.
const LOOK: Duration = Duration::from_millis(250);
/// How often facts and timeline are updated during a run.
const FACTS: Duration = Duration::from_secs(1);
/// The longest timeline that is updated before the end, in bytes.
const LONG_OVERVIEW: usize = 48 << 10;
/// A session and the thread that reads it.
#[derive(Debug)]
pub(super) struct LiveSession {
    /// The hash of everything that determines its look.
    pub(super) hash: String,
    view: Mutex<SessionView>,
    changed: watch::Sender<ViewState>,
    is_stopped: AtomicBool,
}

impl LiveSession {
    /// Starts to read a session.
    pub(super) fn start(
        sessions: Arc<KnownSessions>,
        row: &SessionRecord,
        profile: LoadedProfile,
        report: fn(&str),
    ) -> io::Result<Arc<Self>> {
        let live = Arc::new(Self {
            hash: profile.hash.clone(),
            view: Mutex::new(SessionView::new(profile.has_lines, row.run.status).map_err(io::Error::other)?),
            changed: watch::Sender::default(),
            is_stopped: AtomicBool::new(false),
        });
        let (own, id) = (Arc::clone(&live), row.run.id.clone());
        let work = move || {
            let read = || SessionReader::read(&own, &sessions, &id, &profile);
            let problem = match catch_unwind(AssertUnwindSafe(read)) {
                Ok(Ok(())) => None,
                Ok(Err(failure)) => Some(failure.to_string()),
                Err(_) => Some("an internal error ended the formatting of this session".to_owned()),
            };
            if let Some(problem) = problem {
                report(&format!("{id}: {problem}"));
                let mut view = own.view();
                view.set_problem(escaped(&problem));
                view.is_caught_up = true;
                if !view.status.is_live() {
                    view.revision += 1;
                    view.end();
                }
            }
            own.publish();
        };
        std::thread::Builder::new().name("session".to_owned()).spawn(work)?;
        Ok(live)
    }

    /// Locks the current view.
    pub(super) fn view(&self) -> MutexGuard<'_, SessionView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports changes from now on.
    pub(super) fn changes(&self) -> watch::Receiver<ViewState> {
        self.changed.subscribe()
    }

    /// The state that readers were last notified of. This never waits.
    pub(super) fn state(&self) -> ViewState {
        *self.changed.borrow()
    }

    /// Notifies readers if anything has changed.
    fn publish(&self) {
        let now = self.view().state();
        self.changed.send_if_modified(|before| std::mem::replace(before, now) != now);
    }

    /// Waits until the end of the log was reached, for at most `most`. Returns whether it was.
    pub(super) async fn caught_up(&self, most: Duration) -> bool {
        let mut changes = self.changes();
        let wait = changes.wait_for(|state| state.is_caught_up);
        tokio::time::timeout(most, wait).await.is_ok_and(|state| state.is_ok())
    }

    /// Makes the thread end.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Waits for a file to grow until this is set.
pub(super) struct UntilStopped<'a>(pub(super) &'a AtomicBool);

impl FollowWait for UntilStopped<'_> {
    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn wait(&mut self, bell: Option<Bell<'_>>, most: Duration) -> io::Result<Woken> {
        let Some(bell) = bell else {
            std::thread::sleep(most);
            return Ok(Woken::Timeout);
        };
        let mut waiting = [PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN)];
        match poll(&mut waiting, Timespec::try_from(most).ok().as_ref()) {
            Err(rustix::io::Errno::INTR) => Ok(Woken::Signal),
            Err(error) => Err(error.into()),
            Ok(0) => Ok(Woken::Timeout),
            Ok(_) => Ok(Woken::Input),
        }
    }
}

/// Why a session can't be shown, or not all of it.
enum ReadFailure {
    Log(io::Error),
    /// There is no room for temporary files.
    Room(StoreError),
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        Self::Log(error)
    }
}

impl From<StoreError> for ReadFailure {
    fn from(error: StoreError) -> Self {
        Self::Room(error)
    }
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => write!(f, "the log can't be read: {}", reason(error)),
            Self::Room(error) => write!(f, "the rest isn't shown: {error}"),
        }
    }
}

/// Reads a session into its view.
struct SessionReader<'a> {
    live: &'a LiveSession,
    row: SessionRecord,
    pipeline: Pipeline,
    collector: FiguresCollector,
    redactor: Option<Redactor>,
    fragments: HtmlFragments,
    /// The rows of each revision that aren't in the view yet.
    rows: Vec<(u64, Vec<HtmlRow>)>,
    pace: LivePace,
    begun: Instant,
    /// When the facts were updated last.
    updated: Option<Instant>,
    /// An incomplete line, in a profile that writes lines.
    line: String,
    is_caught_up: bool,
    /// Whether nodes are shown before they are final.
    shows_open: bool,
}

impl<'a> SessionReader<'a> {
    fn read(
        live: &'a LiveSession,
        sessions: &KnownSessions,
        id: &str,
        profile: &LoadedProfile,
    ) -> Result<(), ReadFailure> {
        let Some(row) = sessions.find(id) else {
            return Err(ReadFailure::Log(io::ErrorKind::NotFound.into()));
        };
        let mut setup = profile.engine.setup();
        if !profile.has_lines
            && let Output::Entries { formatters, .. } = setup.output
        {
            setup.output = Output::Document { formatters, wants: HtmlFragments::wants() };
        }
        // Times stay in UTC, as in a file.
        let options = PageOptions { fold: setup.profile.layout.fold, ..PageOptions::default() };
        setup.shows_open = row.run.status.is_live();
        let shows_open = row.run.status.is_live() && !profile.has_lines;
        let redactor = Redactor::new(&setup.profile.redaction);
        if row.source.kind == SourceKind::History {
            setup.subagents = Some(subagents_of(row.source.path.clone(), Vec::new()));
            setup.facts = Some(facts_of(row.source.path.clone()));
            let data = sessions.data().to_owned();
            let known = move |session: &str| Store::histories_of(&data, session);
            setup.origins = Some(streamfmt::origins(row.source.path.clone(), Vec::new(), Box::new(known)));
        }
        let collector = FiguresCollector::watching(&mut setup, false);
        let mut reader = SessionReader {
            live,
            pipeline: Pipeline::new(setup),
            collector,
            redactor,
            fragments: HtmlFragments::new(options),
            rows: Vec::new(),
            pace: LivePace::new(profile.engine.settings().profile.live),
            begun: Instant::now(),
            updated: None,
            line: String::new(),
            is_caught_up: false,
            shows_open,
            row,
        };
        // The facts that need no log are shown even if it can't be read.
        reader.update_facts(true);
        let read = if reader.row.run.status.is_live() {
            reader.follow(sessions)
        } else if history_exists(&reader.row.source.path) {
            reader.read_all()
        } else {
            reader.show_what_is_kept(sessions);
            Ok(())
        };
        if read.is_err() {
            // Those of what was read.
            reader.update_facts(true);
        }
        read
    }

    /// Reads the log of a session that has ended.
    fn read_all(&mut self) -> Result<(), ReadFailure> {
        let mut file = open_history(&self.row.source.path)?;
        file.seek(SeekFrom::Start(self.row.source.start))?;
        let mut file = UnpackedReader::new(file.take(self.row.source.size.unwrap_or(u64::MAX)));
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 || self.live.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            self.push(&buffer[..count])?;
        }
        self.finish()
    }

    /// Shows a session whose log is gone from the database.
    fn show_what_is_kept(&mut self, sessions: &KnownSessions) {
        let log = self.row.source.path.display();
        self.show_problem(&format!(
            "its log is gone: {log}; what is shown here is all that the database has of it"
        ));
        let answer = sessions.response(&self.row.run.id).and_then(|answer| self.answer_html(&answer));
        self.end(answer);
    }

    /// Reads a growing log until its run has ended.
    fn follow(&mut self, sessions: &KnownSessions) -> Result<(), ReadFailure> {
        let mut follower = Follower::new(&self.row.source.path, None);
        let mut wait = UntilStopped(&self.live.is_stopped);
        let mut buffer = vec![0; BUFFER];
        // Bytes of the log before the run, those of the run read so far, and those read from this file.
        let (mut before, mut length, mut read) = (self.row.source.start, 0, 0);
        let mut looked = Instant::now();
        let mut ends_in_line = false;
        let mut has_ended = false;
        loop {
            let grows = self.is_caught_up && self.pipeline.has_grown();
            let patience = if grows { self.pace.wait(self.begun.elapsed()).min(LOOK) } else { LOOK };
            if patience.is_zero() {
                self.show(true)?;
                self.live.publish();
                continue;
            }
            // Don't wait until the end of the log was reached once.
            let patience = if self.is_caught_up && !has_ended { patience } else { Duration::from_millis(1) };
            match follower.read(&mut buffer, &mut wait, Some(patience))? {
                FollowStep::Bytes(count) => {
                    read += count as u64;
                    let mut bytes = &buffer[..count];
                    let skipped = usize::try_from(before).unwrap_or(usize::MAX).min(bytes.len());
                    before -= skipped as u64;
                    bytes = &bytes[skipped..];
                    if let Some(most) = self.row.source.size {
                        let left = usize::try_from(most.saturating_sub(length)).unwrap_or(usize::MAX);
                        bytes = &bytes[..left.min(bytes.len())];
                    }
                    length += bytes.len() as u64;
                    ends_in_line = bytes.last().is_some_and(|byte| *byte != b'\n');
                    self.push(bytes)?;
                    continue;
                }
                // A log that doesn't exist yet is no problem.
                FollowStep::Note(FollowNote::NoFileYet(_)) | FollowStep::Pause => {}
                FollowStep::Note(note) => self.show_problem(&note.to_string()),
                FollowStep::Cut => {
                    // The line that was being written is never completed.
                    if std::mem::take(&mut ends_in_line) {
                        self.push(b"\n")?;
                    }
                    (before, read) = (0, 0);
                    continue;
                }
                FollowStep::End => return Ok(()),
            }
            if has_ended {
                return self.finish();
            }
            let is_all = || std::fs::metadata(&self.row.source.path).is_ok_and(|about| read >= about.len());
            if !self.is_caught_up && is_all() {
                self.is_caught_up = true;
                self.show(true)?;
                self.update_facts(true);
                self.live.publish();
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                has_ended = sessions.status(&self.row.run.id).is_some_and(|status| !status.is_live());
                let waits = self.pipeline.session().waiting_calls().next().is_some();
                if waits
                    && !has_ended
                    && let Some(row) = sessions.find(&self.row.run.id)
                {
                    // The side file has the time at which it began to wait.
                    self.row.run.waiting = row.run.waiting;
                }
                if has_ended && let Some(row) = sessions.find(&self.row.run.id) {
                    self.row = row;
                }
                self.update_facts(false);
                self.live.publish();
            }
        }
    }

    /// Formats more of the log.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ReadFailure> {
        self.live.view().read += bytes.len() as u64;
        // Line by line, so that revisions don't depend on the size of the pieces.
        let mut text = std::mem::take(&mut self.line);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Writing to a string can't fail.
            let _ = self.pipeline.push(line, &mut text);
            self.take_parts();
            self.take_lines(&mut text)?;
        }
        self.line = text;
        self.show(self.is_caught_up && self.pipeline.has_changed())?;
        self.update_facts(false);
        self.live.publish();
        Ok(())
    }

    /// Formats the rest and shows how the run ended.
    fn finish(&mut self) -> Result<(), ReadFailure> {
        let mut text = std::mem::take(&mut self.line);
        self.pipeline.require_outcome();
        let _ = self.pipeline.finish(&mut text);
        self.take_parts();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.take_lines(&mut text)?;
        self.is_caught_up = true;
        self.show(true)?;
        let answer = if self.live.view().has_lines {
            let answer = self.collector.so_far(&self.pipeline).figures.response().map(str::to_owned);
            answer.and_then(|answer| self.answer_html(&answer))
        } else {
            self.fragments.answer(&title_of(&self.row.run))
        };
        self.end(answer);
        Ok(())
    }

    /// An answer that isn't part of a document as HTML: Markdown, or the JSON of a structured one as code.
    fn answer_html(&mut self, answer: &str) -> Option<String> {
        let masked = self.redactor.as_mut().map(|redactor| redactor.text(answer).into_owned());
        let answer = masked.as_deref().unwrap_or(answer);
        let text = Text::clean(answer);
        let is_json =
            answer.trim_start().starts_with(['{', '[']) && Record::from_line(answer.to_owned()).is_ok();
        let text = if is_json { Text::clean_owned(format!("```json\n{}\n```", &*text)) } else { text };
        (!answer.trim().is_empty()).then(|| HtmlFragments::prose(&text))
    }

    /// Shows the answer, which is HTML, and marks the view as complete.
    fn end(&mut self, answer: Option<String>) {
        self.live.view().status = self.row.run.status;
        self.update_facts(true);
        let mut view = self.live.view();
        if let Some(answer) = answer {
            view.set_response(answer);
        }
        view.end();
    }

    fn show_problem(&mut self, problem: &str) {
        let html = shown(problem, self.redactor.as_mut());
        self.live.view().set_problem(html);
    }

    /// Writes the parts that have become final.
    fn take_parts(&mut self) {
        let mut rows = Vec::new();
        for part in self.pipeline.take_parts() {
            self.fragments.part(&part, &mut rows);
        }
        if !rows.is_empty() {
            self.rows.push((self.pipeline.revision(), rows));
        }
    }

    /// Puts what was written into the view. `with_open`: also the nodes that aren't final.
    fn show(&mut self, with_open: bool) -> Result<(), ReadFailure> {
        let is_growing = !with_open && self.pipeline.has_grown();
        let open = (with_open && self.shows_open).then(|| {
            let nodes = self.pipeline.open_nodes().nodes.into_iter().map(with_wait);
            nodes.map(|node| self.fragments.open_row(&node)).collect::<Vec<_>>()
        });
        let mut view = self.live.view();
        for (revision, rows) in self.rows.drain(..) {
            view.revision = revision;
            for row in rows {
                view.add(row)?;
            }
        }
        view.revision = self.pipeline.revision();
        view.is_caught_up = self.is_caught_up;
        if let Some(open) = open {
            view.set_open(open);
        }
        if !is_growing && self.is_caught_up {
            let revision = view.revision;
            view.complete(revision);
        }
        Ok(())
    }

    /// Adds the complete lines to the view.
    fn take_lines(&mut self, text: &mut String) -> Result<(), ReadFailure> {
        let Some(end) = text.rfind('\n') else { return Ok(()) };
        let mut view = self.live.view();
        view.revision = self.pipeline.revision();
        for line in text[..end].split('\n') {
            view.add_line(line)?;
        }
        drop(view);
        text.drain(..=end);
        Ok(())
    }

    /// What a call needs from a person, and since when if the stream or the side file has a time.
    fn waiting(&self) -> Option<Waiting> {
        let (_, waiting) = self.pipeline.session().waiting_calls().next()?;
        let since = waiting.since.or_else(|| self.row.run.waiting?.since);
        Some(Waiting { since, ..waiting })
    }

    /// Updates the facts if they may have changed.
    fn update_facts(&mut self, is_due: bool) {
        let is_soon = self.updated.is_some_and(|updated| updated.elapsed() < FACTS);
        if !is_due && (is_soon || !self.is_caught_up) {
            return;
        }
        self.updated = Some(Instant::now());
        let read = self.collector.so_far(&self.pipeline);
        let reported = ReportedFigures::of(&self.row, &read);
        let card = facts::card(&self.row, &read, reported, self.waiting(), self.redactor.as_mut());
        let (session, highlights) = (self.fragments.session(), self.fragments.highlights());
        let (failure, overview) =
            (self.fragments.failure(), self.fragments.overview(reported.duration_ms, reported.cost));
        let mut view = self.live.view();
        view.status = self.row.run.status;
        let is_short = is_due || overview.len() <= LONG_OVERVIEW;
        let before = (&view.card, &view.session, &view.highlights, &view.failure);
        let is_news = before != (&card, &session, &highlights, &failure);
        if is_news || is_short && view.overview != overview {
            (view.session, view.highlights, view.failure) = (session, highlights, failure);
            if is_short {
                view.overview = overview;
            }
            view.set_card(card);
        }
    }
}

/// Adds what a call needs from a person to its title.
fn with_wait(mut node: Node) -> Node {
    if let Some(Waiting { waits_for, .. }) = node.entry.waiting {
        let words = format!("▲ waits for {}", waits_for.words());
        node.entry.view.title.push("notice.warning", Text::clean_owned(words));
    }
    node
}
