//! Follows a file as it grows, by the rules of `tail -F`.
//!
//! The name is followed, not the file: when another file gets the name, the old one is read to its end, then the new one
//! from its start. A file that was truncated or rewritten in place is read from its start. A missing file is waited for.
//! With a history, the files of its sub-agents are followed as well. In a folder, the session that appeared last is followed.
//!
//! ```text
//! file_events ─▶ check ─▶ followed_file: new bytes │ side files: new bytes │ sessions: is there a newer one?
//! ```

mod file_events;
mod folder_watch;
mod followed_file;
mod sessions;

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use streamfmt_core::pipeline::{Pipeline, Subagents};

use crate::files::lock;
use crate::problem::reason;
use crate::side_files::GrowingSideFiles;

use file_events::{FileEvents, FileWay, way_of};
use followed_file::{FollowedFile, Growth, NamedFiles};

pub use file_events::{Bell, FollowWait, Woken};
pub use folder_watch::FolderWatch;
pub use followed_file::read_some;
pub use sessions::{SessionFolder, Sessions};

/// Delay before the second of two checks that must agree.
const SOON: Duration = Duration::from_millis(10);

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowStep {
    /// This many bytes were read.
    Bytes(usize),
    /// Something to report to the user about the file.
    Note(FollowNote),
    /// The file was replaced: an unfinished line at the end of the old one stays unfinished.
    Cut,
    /// Nothing was read for a while, or something may have arrived beside the file.
    Pause,
    /// The input has ended.
    End,
}

/// Something to report about a followed file. `Display` writes the message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowNote {
    /// The file with this name doesn't exist yet.
    NoFileYet(String),
    /// There is no session yet in these folders.
    NoSessionYet(String),
    /// The file was truncated or replaced, and is read from its start.
    StartsOver(String),
    /// The file can't be read.
    Unreadable {
        /// Its name.
        name: String,
        /// The reason.
        why: String,
    },
    /// The system doesn't report changes of files, so they are checked at intervals: the reason.
    Unwatched(String),
}

impl fmt::Display for FollowNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFileYet(name) => write!(f, "waiting for {name}"),
            Self::NoSessionYet(folders) => write!(f, "waiting for a session in {folders}"),
            Self::StartsOver(name) => write!(f, "{name}: truncated or replaced; reading from the start"),
            Self::Unreadable { name, why } => write!(f, "{name}: {why}; waiting until it is readable"),
            Self::Unwatched(why) => {
                write!(f, "{why}; checking them {} times a second", file_events::LOOKS_PER_SECOND)
            }
        }
    }
}

/// Sessions that are followed one after the other.
pub type SharedSessions = Rc<RefCell<Sessions>>;

/// Reads a file as it grows.
pub struct Follower {
    path: PathBuf,
    /// The files with the name. The thread that is notified of changes also checks for them.
    named: Arc<Mutex<NamedFiles>>,
    file: Option<FollowedFile>,
    events: FileEvents,
    side_files: Option<GrowingSideFiles>,
    /// Sessions that may be followed next.
    sessions: Option<SharedSessions>,
    /// Steps to return before more is read.
    pending: VecDeque<FollowStep>,
    /// A finding of the last check that another one must confirm.
    doubt: Option<Doubt>,
    /// The reason why the file can't be opened, as last reported.
    refusal: Option<String>,
    is_begun: bool,
}

/// A finding that two checks must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The file is shorter than the part that was read.
    IsShorter,
    /// Another file has the name, or there is a newer session: this file is left. Its writer may have written to it until just now.
    IsLeft,
}

impl Follower {
    /// Follows `path`, until a newer session appears in `sessions`.
    pub fn new(path: &Path, sessions: Option<SharedSessions>) -> Self {
        let named = Arc::new(Mutex::new(NamedFiles::new(path.to_owned())));
        let looking = Arc::clone(&named);
        Self {
            path: path.to_owned(),
            named,
            file: None,
            events: FileEvents::new(move || lock(&looking).check()),
            side_files: None,
            sessions,
            pending: VecDeque::new(),
            doubt: None,
            refusal: None,
            is_begun: false,
        }
    }

    /// Also follows the files of the history's sub-agents, except `given`. Returns the source that a pipeline reads them from.
    pub fn follow_side_files(&mut self, given: &[PathBuf], max_line: usize) -> Subagents {
        let side_files = GrowingSideFiles::new(&self.path, given, max_line);
        self.side_files.insert(side_files).subagents()
    }

    /// Pushes new lines of sub-agents' files into the pipeline.
    pub fn read_side_files(&self, pipeline: &mut Pipeline, out: &mut dyn fmt::Write) -> fmt::Result {
        self.side_files.as_ref().map_or(Ok(()), |side_files| side_files.push(pipeline, out))
    }

    /// Pushes the rest of sub-agents' files into the pipeline, at the end.
    pub fn finish_side_files(&self, pipeline: &mut Pipeline, out: &mut dyn fmt::Write) -> fmt::Result {
        self.side_files.as_ref().map_or(Ok(()), |side_files| side_files.finish(pipeline, out))
    }

    /// Waits for the next bytes and reads them. The input ends when the wait is over, such as by a signal, when nobody reads the output
    /// anymore, or when there is a newer session. `patience`: how long to wait before returning [`FollowStep::Pause`].
    pub fn read(
        &mut self,
        buffer: &mut [u8],
        wait: &mut dyn FollowWait,
        patience: Option<Duration>,
    ) -> io::Result<FollowStep> {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return Ok(step);
            }
            if wait.is_over() {
                return Ok(FollowStep::End);
            }
            // Files watched before the check can't change unnoticed after it, however long reading takes.
            let is_due = self.events.is_due();
            if is_due {
                self.watch();
            }
            if let Some(step) = self.check(buffer, is_due)? {
                return Ok(step);
            }
            // Files that the check found may have changed before they were watched.
            if !self.pending.is_empty() || is_due && self.watch() {
                continue;
            }
            if let Some(refusal) = self.events.take_refusal() {
                return Ok(FollowStep::Note(refusal));
            }
            let most = self.doubt.map(|_| SOON).or(patience);
            if self.events.wait(wait, most)? == Woken::Closed {
                return Ok(FollowStep::End);
            }
            if patience.is_some() || self.side_files.is_some() {
                return Ok(FollowStep::Pause);
            }
        }
    }

    /// Checks once: reads new bytes, or finds out what happened to the file. `is_due`: whether there may be new names.
    fn check(&mut self, buffer: &mut [u8], is_due: bool) -> io::Result<Option<FollowStep>> {
        let before = self.doubt.take();
        if let Some(file) = &mut self.file {
            match file.read(buffer)? {
                Growth::Bytes(count) => {
                    self.events.note_growth();
                    // A file that is left is read to its end, however fast it grows.
                    self.doubt = before.filter(|doubt| *doubt == Doubt::IsLeft);
                    return Ok(Some(FollowStep::Bytes(count)));
                }
                Growth::Shorter if before != Some(Doubt::IsShorter) => {
                    self.doubt = Some(Doubt::IsShorter);
                    return Ok(None);
                }
                Growth::Shorter | Growth::Other => {
                    self.start_over();
                    return Ok(None);
                }
                Growth::Quiet => {}
            }
        }
        let has_next = {
            let mut named = lock(&self.named);
            named.check();
            named.has_next()
        };
        let is_newer = |sessions: &SharedSessions| {
            is_due && sessions.borrow_mut().look() || sessions.borrow().has_next()
        };
        let is_left = has_next || self.sessions.as_ref().is_some_and(is_newer);
        if is_left && self.file.is_some() && before != Some(Doubt::IsLeft) {
            self.doubt = Some(Doubt::IsLeft);
        } else if has_next {
            self.continue_with_next();
        } else if is_left {
            self.pending.push_back(FollowStep::End);
        } else {
            self.report_absence();
        }
        Ok(None)
    }

    fn start_over(&mut self) {
        let name = self.path.display().to_string();
        self.pending.push_back(FollowStep::Note(FollowNote::StartsOver(name)));
        self.pending.push_back(FollowStep::Cut);
        if let Some(file) = &mut self.file {
            file.start_over();
        }
    }

    /// Continues with the next file that has, or had, the name.
    fn continue_with_next(&mut self) {
        if self.file.is_some() {
            self.pending.push_back(FollowStep::Cut);
        }
        self.file = lock(&self.named).next();
        (self.is_begun, self.refusal) = (true, None);
        // The new file is read before the next wait.
        self.pending.push_back(FollowStep::Pause);
    }

    /// Reports, once, that there is nothing to read.
    fn report_absence(&mut self) {
        let name = || self.path.display().to_string();
        let refusal = lock(&self.named).refusal().map(reason);
        let mut note = None;
        if !std::mem::replace(&mut self.is_begun, true) && refusal.is_none() {
            note = Some(FollowNote::NoFileYet(name()));
        }
        if refusal != self.refusal {
            note = refusal.clone().map(|why| FollowNote::Unreadable { name: name(), why });
            self.refusal = refusal;
        }
        self.pending.extend(note.map(FollowStep::Note));
    }

    /// Watches the folders concerned. Returns whether some weren't watched before.
    fn watch(&mut self) -> bool {
        let FileWay { folders, names } = way_of(&self.path);
        let mut folders: Vec<PathBuf> = folders.into_iter().collect();
        folders.extend(self.side_files.iter().flat_map(GrowingSideFiles::folders));
        folders.extend(self.sessions.iter().flat_map(|sessions| sessions.borrow().places()));
        self.events.watch(folders, names)
    }
}

/// Waits for a session and returns the newest one, or `None` if the wait ended first. `report` is called with what to report to
/// the user.
pub fn first_session(
    sessions: &SharedSessions,
    wait: &mut dyn FollowWait,
    report: &mut dyn FnMut(&FollowNote),
) -> io::Result<Option<PathBuf>> {
    let mut events = FileEvents::new(|| ());
    let mut is_reported = false;
    while !wait.is_over() {
        let mut sessions = sessions.borrow_mut();
        if sessions.look() {
            return Ok(sessions.take());
        }
        if !std::mem::replace(&mut is_reported, true) {
            report(&FollowNote::NoSessionYet(sessions.shown_folders()));
        }
        if events.is_due() && events.watch(sessions.places(), BTreeSet::new()) {
            continue;
        }
        if let Some(refusal) = events.take_refusal() {
            report(&refusal);
        }
        events.wait(wait, None)?;
    }
    Ok(None)
}
