//! The pipeline of one session in one profile, on its own thread, shared by all its readers.
//!
//! ```text
//! log ─▶ follower or file ─▶ pipeline ─▶ updates ─▶ HTML of nodes ─▶ SessionView ─▶ readers, each at its own pace
//! ```
//!
//! The pipeline gets the log line by line, so that the view at a revision is the same in every process, before and after a restart.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use streamfmt::core::entry::Entry;
use streamfmt::core::item::{Id, Kind, Waiting};
use streamfmt::core::json::Record;
use streamfmt::core::outline::{Node, Relation};
use streamfmt::core::pipeline::{EntryChange, LivePace, Pipeline, Update};
use streamfmt::core::redact::Redactor;
use streamfmt::core::text::Text;
use streamfmt::follow::{Bell, FollowStep, FollowWait, Follower, Woken};
use streamfmt::problem::reason;
use streamfmt::unpack::UnpackedReader;
use streamfmt::writer::html::HtmlFragments;
use streamfmt::writer::page::PageOptions;
use tokio::sync::watch;

use super::facts::{self, ReportedFigures};
use super::html::{escaped, shown};
use super::looks::SessionLook;
use super::sessions::{KnownSessions, ServedSession, is_live};
use super::view::{NodePath, OPEN, SessionView, WHOLE};
use crate::run_id::RunId;
use crate::store::{FiguresCollector, SessionStatus, Store, history_exists, open_history, subagents_of};

/// The number of bytes read at a time.
const BUFFER: usize = 64 << 10;
/// How often the status of a run is checked.
const LOOK: Duration = Duration::from_millis(250);
/// How often facts and timeline are updated during a run.
const FACTS: Duration = Duration::from_secs(1);
/// The longest timeline that is updated before the end, in bytes.
const LONG_OVERVIEW: usize = 48 << 10;
/// The most bytes of calls that are kept so that their results can be shown below them.
const CALLS: usize = 2 << 20;
/// The most entries that are remembered as noted.
const NOTED: usize = 1 << 16;

/// A session and the thread that reads it.
#[derive(Debug)]
pub(super) struct LiveSession {
    /// The hash of everything that determines its look.
    pub(super) hash: String,
    view: Mutex<SessionView>,
    changed: watch::Sender<()>,
    is_stopped: AtomicBool,
}

impl LiveSession {
    /// Starts to read a session.
    pub(super) fn start(
        sessions: Arc<KnownSessions>,
        row: &ServedSession,
        look: SessionLook,
        report: fn(&str),
    ) -> io::Result<Arc<Self>> {
        let live = Arc::new(Self {
            hash: look.hash.clone(),
            view: Mutex::new(SessionView::new(look.has_lines, row.status)),
            changed: watch::Sender::new(()),
            is_stopped: AtomicBool::new(false),
        });
        let (own, id) = (Arc::clone(&live), row.id.clone());
        let work = move || {
            let read = || SessionReader::read(&own, &sessions, &id, &look);
            let problem = match catch_unwind(AssertUnwindSafe(read)) {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(format!("the log can't be read: {}", reason(&error))),
                Err(_) => Some("an internal error ended the formatting of this session".to_owned()),
            };
            if let Some(problem) = problem {
                report(&format!("{id}: {problem}"));
                let mut view = own.view();
                view.set_problem(escaped(&problem));
                view.is_caught_up = true;
                if !view.status.is_some_and(is_live) {
                    view.revision += 1;
                    view.end();
                }
            }
            own.changed.send_replace(());
        };
        std::thread::Builder::new().name("session".to_owned()).spawn(work)?;
        Ok(live)
    }

    /// Locks the current view.
    pub(super) fn view(&self) -> MutexGuard<'_, SessionView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports changes from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until the end of the log was reached, for at most `most`. Returns whether it was.
    pub(super) async fn caught_up(&self, most: Duration) -> bool {
        let mut changes = self.changes();
        let wait = async { while !self.view().is_caught_up && changes.changed().await.is_ok() {} };
        tokio::time::timeout(most, wait).await.is_ok()
    }

    /// Makes the thread end.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Waits for a file to grow until the session is dropped.
struct UntilStopped<'a>(&'a AtomicBool);

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

/// Reads a session into its view.
struct SessionReader<'a> {
    live: &'a LiveSession,
    row: ServedSession,
    pipeline: Pipeline,
    collector: FiguresCollector,
    redactor: Option<Redactor>,
    speller: NodeSpeller,
    pace: LivePace,
    begun: Instant,
    /// When the facts were updated last.
    told: Option<Instant>,
    /// An incomplete line, in a profile that writes lines.
    line: String,
    lines: u64,
    /// The state that readers were last notified of.
    published: (u64, bool),
}

impl<'a> SessionReader<'a> {
    fn read(
        live: &'a LiveSession,
        sessions: &KnownSessions,
        id: &RunId,
        look: &SessionLook,
    ) -> io::Result<()> {
        let Some(row) = sessions.find(id) else { return Err(io::ErrorKind::NotFound.into()) };
        let mut setup = look.engine.setup();
        let redactor = Redactor::new(&setup.profile.redaction);
        if row.is_history {
            setup.subagents = Some(subagents_of(row.log.clone(), Vec::new()));
            setup.facts = Some(streamfmt::histories::session_facts(row.log.clone()));
            let data = sessions.data().to_owned();
            let known = move |session: &str| Store::histories_of(&data, session);
            setup.origins = Some(streamfmt::origins(row.log.clone(), Vec::new(), Box::new(known)));
        }
        let collector = FiguresCollector::watching(&mut setup);
        let mut reader = SessionReader {
            live,
            pipeline: Pipeline::new(setup),
            collector,
            redactor,
            speller: NodeSpeller::default(),
            pace: LivePace::new(look.engine.settings().profile.live),
            begun: Instant::now(),
            told: None,
            line: String::new(),
            lines: 0,
            published: (0, false),
            row,
        };
        // The facts that need no log are shown even if it can't be read.
        reader.update_facts(true);
        if reader.row.is_live() {
            reader.follow(sessions)
        } else if history_exists(&reader.row.log) {
            reader.read_all()
        } else {
            reader.show_what_is_kept(sessions);
            Ok(())
        }
    }

    /// Reads the log of a session that has ended.
    fn read_all(&mut self) -> io::Result<()> {
        let mut file = open_history(&self.row.log)?;
        file.seek(SeekFrom::Start(self.row.log_start))?;
        let mut file = UnpackedReader::new(file.take(self.row.log_bytes.unwrap_or(u64::MAX)));
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 || self.live.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            self.push(&buffer[..count]);
        }
        self.finish();
        Ok(())
    }

    /// Shows a session whose log is gone from the database.
    fn show_what_is_kept(&mut self, sessions: &KnownSessions) {
        let log = self.row.log.display();
        self.show_problem(&format!(
            "its log is gone: {log}; what is shown here is all that the database has of it"
        ));
        let answer = sessions.response(&self.row.id);
        self.end(answer);
    }

    /// Reads a growing log until its run has ended.
    fn follow(&mut self, sessions: &KnownSessions) -> io::Result<()> {
        let mut follower = Follower::new(&self.row.log, None);
        let mut wait = UntilStopped(&self.live.is_stopped);
        let mut buffer = vec![0; BUFFER];
        // Bytes of the log before the run, those of the run read so far, and those read from this file.
        let (mut before, mut length, mut read) = (self.row.log_start, 0, 0);
        let mut looked = Instant::now();
        let mut ends_in_line = false;
        let mut has_ended = false;
        loop {
            let patience =
                if self.pipeline.has_grown() { self.pace.wait(self.begun.elapsed()).min(LOOK) } else { LOOK };
            if patience.is_zero() {
                let updates = self.pipeline.take_updates();
                self.apply(updates);
                self.publish();
                continue;
            }
            // Don't wait until the end of the log was reached once.
            let is_caught_up = self.live.view().is_caught_up;
            let patience = if is_caught_up && !has_ended { patience } else { Duration::from_millis(1) };
            match follower.read(&mut buffer, &mut wait, Some(patience))? {
                FollowStep::Bytes(count) => {
                    read += count as u64;
                    let mut bytes = &buffer[..count];
                    let skipped = usize::try_from(before).unwrap_or(usize::MAX).min(bytes.len());
                    before -= skipped as u64;
                    bytes = &bytes[skipped..];
                    if let Some(most) = self.row.log_bytes {
                        let left = usize::try_from(most.saturating_sub(length)).unwrap_or(usize::MAX);
                        bytes = &bytes[..left.min(bytes.len())];
                    }
                    length += bytes.len() as u64;
                    ends_in_line = bytes.last().is_some_and(|byte| *byte != b'\n');
                    self.push(bytes);
                    continue;
                }
                FollowStep::Note(note) => {
                    // A log that doesn't exist yet is no problem.
                    if !note.starts_with("waiting for") {
                        self.show_problem(&note);
                    }
                }
                FollowStep::Cut => {
                    // The line that was being written is never completed.
                    if std::mem::take(&mut ends_in_line) {
                        self.push(b"\n");
                    }
                    (before, read) = (0, 0);
                    continue;
                }
                FollowStep::Pause => {}
                FollowStep::End => return Ok(()),
            }
            if has_ended {
                self.finish();
                return Ok(());
            }
            let is_all = || std::fs::metadata(&self.row.log).is_ok_and(|about| read >= about.len());
            if !is_caught_up && is_all() {
                self.live.view().is_caught_up = true;
                self.update_facts(true);
                self.publish();
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                has_ended = sessions.status(&self.row.id).is_some_and(|status| !is_live(status));
                let waits = self.pipeline.session().waiting_calls().next().is_some();
                if waits
                    && !has_ended
                    && let Some(row) = sessions.find(&self.row.id)
                {
                    // The side file has the time at which it began to wait.
                    self.row.waiting = row.waiting;
                }
                if has_ended && let Some(row) = sessions.find(&self.row.id) {
                    self.row = row;
                }
                self.update_facts(false);
                self.publish();
            }
        }
    }

    /// Formats more of the log.
    fn push(&mut self, bytes: &[u8]) {
        self.live.view().read += bytes.len() as u64;
        // Line by line, so that revisions don't depend on the size of the pieces.
        let mut text = std::mem::take(&mut self.line);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Writing to a string can't fail.
            let _ = self.pipeline.push(line, &mut text);
            let updates = self.pipeline.take_finished();
            self.apply(updates);
            self.take_lines(&mut text);
        }
        self.line = text;
        self.update_facts(false);
        self.publish();
    }

    /// Formats the rest and shows how the run ended.
    fn finish(&mut self) {
        let mut text = std::mem::take(&mut self.line);
        let _ = self.pipeline.finish(&mut text);
        let updates = self.pipeline.take_updates();
        self.apply(updates);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.take_lines(&mut text);
        let answer = self.collector.so_far(&self.pipeline).response().map(str::to_owned);
        self.end(answer);
    }

    /// Shows the response and marks the view as complete.
    fn end(&mut self, answer: Option<String>) {
        self.live.view().status = Some(self.row.status);
        self.update_facts(true);
        let answer = answer.filter(|answer| !answer.trim().is_empty());
        // An interrupted run has no response.
        if let Some(answer) = answer.filter(|_| self.row.status != SessionStatus::Interrupted) {
            let masked = self.redactor.as_mut().map(|redactor| redactor.text(&answer).into_owned());
            self.live.view().set_response(answer_html(masked.as_deref().unwrap_or(&answer)));
        }
        let mut view = self.live.view();
        view.is_caught_up = true;
        view.end();
    }

    fn show_problem(&mut self, problem: &str) {
        let html = shown(problem, self.redactor.as_mut());
        self.live.view().set_problem(html);
    }

    /// Notifies readers if anything has changed.
    fn publish(&mut self) {
        let stamp = {
            let view = self.live.view();
            (view.stamp(), view.is_caught_up)
        };
        if std::mem::replace(&mut self.published, stamp) != stamp {
            self.live.changed.send_replace(());
        }
    }

    /// Applies updates to the view.
    fn apply(&mut self, updates: Vec<Update>) {
        let mut view = self.live.view();
        view.revision = self.pipeline.revision();
        view.is_growing = self.pipeline.has_grown();
        if !updates.is_empty() {
            self.speller.apply(updates, &mut view);
        }
    }

    /// Adds the complete lines to the view.
    fn take_lines(&mut self, text: &mut String) {
        let Some(end) = text.rfind('\n') else { return };
        let mut view = self.live.view();
        view.revision = self.pipeline.revision();
        for line in text[..end].split('\n') {
            self.lines += 1;
            let place = u32::try_from(self.lines).unwrap_or(u32::MAX);
            view.put(self.lines, NodePath::of(place), line);
        }
        drop(view);
        text.drain(..=end);
    }

    /// What a call needs from a person, and since when if the stream or the side file has a time.
    fn waiting(&self) -> Option<Waiting> {
        let (_, waiting) = self.pipeline.session().waiting_calls().next()?;
        let since = waiting.since.or_else(|| self.row.waiting?.since);
        Some(Waiting { since, ..waiting })
    }

    /// Updates the facts if they may have changed.
    fn update_facts(&mut self, is_due: bool) {
        let is_soon = self.told.is_some_and(|told| told.elapsed() < FACTS);
        if !is_due && (is_soon || !self.live.view().is_caught_up) {
            return;
        }
        self.told = Some(Instant::now());
        let read = self.collector.so_far(&self.pipeline);
        let reported = ReportedFigures::of(&self.row, &read);
        let waiting = self.waiting();
        let card = facts::card(&self.row, &read, reported, waiting, self.redactor.as_mut());
        let overview = self.speller.fragments.overview(reported.duration_ms, reported.cost);
        let mut view = self.live.view();
        view.status = Some(self.row.status);
        let is_short = is_due || overview.len() <= LONG_OVERVIEW;
        if view.card != card || is_short && view.overview != overview {
            if is_short {
                view.overview = overview;
            }
            view.set_card(card);
        }
    }
}

/// Turns entries into nodes of the page.
#[derive(Debug)]
struct NodeSpeller {
    fragments: HtmlFragments,
    /// The last calls, with their results.
    calls: HashMap<Id, KeptCall>,
    /// The number of calls that were ever kept.
    kept: u64,
    /// The bytes of the calls that still are.
    bytes: usize,
    noted: NotedEntries,
    /// The number of nodes whose containing call isn't shown.
    displaced: u32,
}

impl Default for NodeSpeller {
    fn default() -> Self {
        Self {
            fragments: HtmlFragments::new(PageOptions::default()),
            calls: HashMap::new(),
            kept: 0,
            bytes: 0,
            noted: NotedEntries::default(),
            displaced: 0,
        }
    }
}

/// A call that may change or get its result.
#[derive(Debug)]
struct KeptCall {
    node: Node,
    is_open: bool,
    bytes: usize,
    /// Older calls have lower numbers.
    number: u64,
}

/// The last entries that were noted for timeline and contents, each once. Repeats come soon or never.
#[derive(Debug, Default)]
struct NotedEntries {
    hashes: HashSet<u64>,
    order: VecDeque<u64>,
}

impl NotedEntries {
    /// Returns whether this is a new one.
    fn insert(&mut self, hash: u64) -> bool {
        let is_new = self.hashes.insert(hash);
        if is_new {
            self.order.push_back(hash);
            if self.order.len() > NOTED {
                self.order.pop_front().map(|oldest| self.hashes.remove(&oldest));
            }
        }
        is_new
    }
}

impl NodeSpeller {
    fn apply(&mut self, updates: Vec<Update>, view: &mut SessionView) {
        // A call that gets its result comes twice, but is written once.
        let mut dirty: Vec<Id> = Vec::new();
        for update in updates {
            match update.change {
                EntryChange::Drop(id) => {
                    dirty.retain(|other| *other != id);
                    self.forget(&id);
                    view.remove(hash_of(&id));
                }
                EntryChange::Put { entry, partial, answered } => {
                    if !partial && self.noted.insert(hash_of(&entry.id)) {
                        self.fragments.note(&entry);
                    }
                    match entry.kind {
                        Kind::Call => {
                            let id = entry.id.clone();
                            let entry = with_wait(entry);
                            self.keep(entry, partial || answered == Some(false));
                            dirty.retain(|other| *other != id);
                            dirty.push(id);
                        }
                        Kind::Result => {
                            let call = entry.call.clone();
                            match self.answer(entry, view) {
                                None => dirty.extend(call.filter(|call| !dirty.contains(call))),
                                Some(entry) => self.show(entry, Relation::Below, partial, view),
                            }
                        }
                        _ => self.show(entry, Relation::Own, partial, view),
                    }
                }
            }
        }
        for id in dirty {
            if let Some(kept) = self.calls.get(&id) {
                let path = path(&kept.node.entry, view, &mut self.displaced);
                put(&self.fragments, &kept.node, path, kept.is_open, view);
            }
        }
    }

    /// Shows an entry as a separate node.
    fn show(&mut self, entry: Box<Entry>, relation: Relation, is_open: bool, view: &mut SessionView) {
        let path = path(&entry, view, &mut self.displaced);
        let node = Node { relation, ..Node::from(entry) };
        put(&self.fragments, &node, path, is_open, view);
    }

    fn keep(&mut self, entry: Box<Entry>, is_open: bool) {
        let id = entry.id.clone();
        let result = self.forget(&id).and_then(|kept| kept.node.result);
        let bytes = size_of::<Entry>() + entry.view.size();
        self.bytes += bytes;
        self.kept += 1;
        let node = Node { result, ..Node::from(entry) };
        self.calls.insert(id, KeptCall { node, is_open, bytes, number: self.kept });
        if self.bytes > CALLS {
            // Answered calls are needed least.
            let mut numbers: Vec<u64> = self.calls.values().map(|kept| kept.number).collect();
            numbers.sort_unstable();
            let half = numbers[numbers.len() / 2];
            self.calls.retain(|_, kept| kept.number >= half || kept.is_open && kept.bytes < CALLS / 64);
            self.bytes = self.calls.values().map(|kept| kept.bytes).sum();
        }
    }

    fn forget(&mut self, id: &Id) -> Option<KeptCall> {
        let kept = self.calls.remove(id)?;
        self.bytes -= kept.bytes;
        Some(kept)
    }

    /// Puts a result below its call. Returns it if the call isn't kept or has another result.
    fn answer(&mut self, entry: Box<Entry>, view: &SessionView) -> Option<Box<Entry>> {
        // A result that has its own node keeps it.
        if view.path(hash_of(&entry.id)).is_some() {
            return Some(entry);
        }
        let Some(kept) = entry.call.as_ref().and_then(|call| self.calls.get_mut(call)) else {
            return Some(entry);
        };
        if kept.node.result.as_ref().is_some_and(|result| result.id != entry.id) {
            return Some(entry);
        }
        let bytes = entry.view.size();
        kept.bytes += bytes;
        self.bytes += bytes;
        kept.is_open = false;
        kept.node.result = Some(entry);
        None
    }
}

/// Adds what a call needs from a person to its title.
fn with_wait(mut call: Box<Entry>) -> Box<Entry> {
    if let Some(Waiting { waits_for, .. }) = call.waiting {
        let words = format!("▲ waits for {}", waits_for.words());
        call.view.title.push("notice.warning", Text::clean_owned(words));
    }
    call
}

/// Writes a node into the view.
fn put(fragments: &HtmlFragments, node: &Node, path: NodePath, is_open: bool, view: &mut SessionView) {
    let html = format!("{}{}", if is_open { OPEN } else { WHOLE }, fragments.node(node));
    view.put(hash_of(&node.entry.id), path, &html);
}

/// The position of an entry.
fn path(entry: &Entry, view: &SessionView, displaced: &mut u32) -> NodePath {
    if let Some(path) = view.path(hash_of(&entry.id)) {
        return path.clone();
    }
    let call = entry.call.as_ref().filter(|_| entry.kind == Kind::Result);
    if let Some(path) = call.and_then(|call| view.path(hash_of(call))) {
        // After everything inside its call.
        return path.within(&[u32::MAX, entry.place]);
    }
    // The prose after the first record of a tree has the same place as the tree.
    let place = entry.place.saturating_mul(2).saturating_add(u32::from(entry.kind == Kind::Reply));
    let Some(parent) = &entry.parent else { return NodePath::of(place) };
    if let Some(path) = view.path(hash_of(parent)) {
        return path.within(&[place]);
    }
    // Its containing call isn't shown, so it goes to the end.
    *displaced += 1;
    NodePath::of(view.last_place()).within(&[u32::MAX - 1, *displaced])
}

/// The hash in an entry's anchor.
fn hash_of(id: &Id) -> u64 {
    super::view::node_hash(&HtmlFragments::anchor(id)).unwrap_or_default()
}
/// Returns an answer as HTML: Markdown, or the JSON of a structured one as code.
fn answer_html(answer: &str) -> String {
    let text = Text::clean(answer);
    let is_json = answer.trim_start().starts_with(['{', '[']) && Record::from_line(answer.to_owned()).is_ok();
    HtmlFragments::prose(&if is_json { Text::clean_owned(format!("```json\n{}\n```", &*text)) } else { text })
}
