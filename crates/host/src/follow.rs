//! Follows a file as it grows, by the rules of `tail -F`.
//!
//! The name is followed, not the file: when another file takes the name, the old one is read to its end, then the new one
//! from its start. A file that was cut, or written anew in place, is read from its start. One that isn't there is waited
//! for. With a history the files that its sub-agents write are followed as well, and with a folder the session in it that
//! appeared last.
//!
//! ```text
//! file_events ─▶ "look" ─▶ followed_file: what is new │ side files: what is new │ sessions: is there a newer one?
//! ```

mod file_events;
mod followed_file;
mod sessions;

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use streamfmt_core::pipeline::{Pipeline, Subagents};

use crate::problem::reason;
use crate::side_files::GrowingSideFiles;

use file_events::{FileEvents, FileWay, way_of};
use followed_file::{FollowedFile, Growth, NamedFiles};

pub use file_events::{Bell, FollowWait, Woken};
pub use followed_file::read_some;
pub use sessions::{SessionFolder, Sessions, WorkFilter};

/// How long is waited for the second of two looks that must agree.
const SOON: Duration = Duration::from_millis(10);

/// What reading led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowStep {
    /// So many bytes were read.
    Bytes(usize),
    /// Something happened to the file that the user should know.
    Note(String),
    /// A file took the place of another: a half line at the end of the old one will stay half.
    Cut,
    /// Nothing came for a while, or something came beside the file.
    Pause,
    /// There is no more.
    End,
}

/// Sessions of which one after the other is followed.
pub type SharedSessions = Rc<RefCell<Sessions>>;

/// Reads a file as it grows.
pub struct Follower {
    path: PathBuf,
    /// Who has the name. The thread that is told of changes looks as well.
    named: Arc<Mutex<NamedFiles>>,
    file: Option<FollowedFile>,
    events: FileEvents,
    side_files: Option<GrowingSideFiles>,
    /// Those that may be gone over to.
    sessions: Option<SharedSessions>,
    /// What is to be told before more is read.
    pending: VecDeque<FollowStep>,
    /// What the last look saw that another one must confirm.
    doubt: Option<Doubt>,
    /// Why the file can't be opened, as it was told.
    refusal: Option<String>,
    is_begun: bool,
}

/// What two looks must agree in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The file is shorter than what was read of it.
    IsShorter,
    /// Another file has the name, or there is a newer session: this one is left. Its writer may have written to it until just now.
    IsLeft,
}

impl Follower {
    /// Follows `path`, and goes over to a newer one of `sessions` if one appears.
    pub fn new(path: &Path, sessions: Option<SharedSessions>) -> Self {
        let named = Arc::new(Mutex::new(NamedFiles::new(path.to_owned())));
        let looking = Arc::clone(&named);
        Self {
            path: path.to_owned(),
            named,
            file: None,
            events: FileEvents::new(move || lock(&looking).look()),
            side_files: None,
            sessions,
            pending: VecDeque::new(),
            doubt: None,
            refusal: None,
            is_begun: false,
        }
    }

    /// Also reads the files that sub-agents of the history write, but for those of `given`: what a pipeline asks for them.
    pub fn follow_side_files(&mut self, given: &[PathBuf], max_line: usize) -> Subagents {
        let side_files = GrowingSideFiles::new(&self.path, given, max_line);
        self.side_files.insert(side_files).subagents()
    }

    /// Reads what came in the files of sub-agents, into the pipeline.
    pub fn read_side_files(&self, pipeline: &mut Pipeline, out: &mut dyn fmt::Write) -> fmt::Result {
        self.side_files.as_ref().map_or(Ok(()), |side_files| side_files.push(pipeline, out))
    }

    /// Reads what is left in them at the end.
    pub fn finish_side_files(&self, pipeline: &mut Pipeline, out: &mut dyn fmt::Write) -> fmt::Result {
        self.side_files.as_ref().map_or(Ok(()), |side_files| side_files.finish(pipeline, out))
    }

    /// Reads what comes next; waits for it. There is an end if the wait is over, as by a signal, if nobody reads what comes of it any
    /// more, or if there is a newer session. `patience`: after how long without anything to say so.
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
            // What is watched before the look can't change unseen after it, however long reading takes.
            let is_due = self.events.is_due();
            if is_due {
                self.watch();
            }
            if let Some(step) = self.look(buffer, is_due)? {
                return Ok(step);
            }
            // What the look found may have changed before it was watched.
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

    /// Looks once: gives what there is to read, or sees what became of the file. `is_due`: whether names may be new.
    fn look(&mut self, buffer: &mut [u8], is_due: bool) -> io::Result<Option<FollowStep>> {
        let before = self.doubt.take();
        if let Some(file) = &mut self.file {
            match file.read(buffer)? {
                Growth::Bytes(count) => {
                    self.events.note_growth();
                    // One that is left is read to its end, however fast it grows.
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
            named.look();
            named.has_next()
        };
        let is_newer = |sessions: &SharedSessions| {
            is_due && sessions.borrow_mut().look() || sessions.borrow().has_next()
        };
        let is_left = has_next || self.sessions.as_ref().is_some_and(is_newer);
        if is_left && self.file.is_some() && before != Some(Doubt::IsLeft) {
            self.doubt = Some(Doubt::IsLeft);
        } else if has_next {
            self.go_over();
        } else if is_left {
            self.pending.push_back(FollowStep::End);
        } else {
            self.tell_absence();
        }
        Ok(None)
    }

    fn start_over(&mut self) {
        let name = self.path.display();
        self.pending
            .push_back(FollowStep::Note(format!("{name}: truncated or replaced; reading from the start")));
        self.pending.push_back(FollowStep::Cut);
        if let Some(file) = &mut self.file {
            file.start_over();
        }
    }

    /// Goes over to the next file that has, or had, the name.
    fn go_over(&mut self) {
        if self.file.is_some() {
            self.pending.push_back(FollowStep::Cut);
        }
        self.file = lock(&self.named).next();
        (self.is_begun, self.refusal) = (true, None);
        // It is looked at before anything is waited for.
        self.pending.push_back(FollowStep::Pause);
    }

    /// Says, once, that there is nothing to read.
    fn tell_absence(&mut self) {
        let name = self.path.display();
        let refusal = lock(&self.named).refusal().map(reason);
        let mut message = None;
        if !std::mem::replace(&mut self.is_begun, true) && refusal.is_none() {
            message = Some(format!("waiting for {name}"));
        }
        if refusal != self.refusal {
            message = refusal.as_ref().map(|why| format!("{name}: {why}; waiting until it is readable"));
            self.refusal = refusal;
        }
        self.pending.extend(message.map(FollowStep::Note));
    }

    /// Watches the folders in which something may happen. `true`: some weren't watched before.
    fn watch(&mut self) -> bool {
        let FileWay { folders, names } = way_of(&self.path);
        let mut folders: Vec<PathBuf> = folders.into_iter().collect();
        folders.extend(self.side_files.iter().flat_map(GrowingSideFiles::folders));
        folders.extend(self.sessions.iter().flat_map(|sessions| sessions.borrow().places()));
        self.events.watch(folders, names)
    }
}

/// Waits until there is a session to follow: the newest. Nothing if the wait is over first. `tell` is given what the user should
/// know meanwhile.
pub fn first_session(
    sessions: &SharedSessions,
    wait: &mut dyn FollowWait,
    tell: &mut dyn FnMut(&str),
) -> io::Result<Option<PathBuf>> {
    let mut events = FileEvents::new(|| ());
    let mut is_told = false;
    while !wait.is_over() {
        let mut sessions = sessions.borrow_mut();
        if sessions.look() {
            return Ok(sessions.take());
        }
        if !std::mem::replace(&mut is_told, true) {
            tell(&format!("waiting for a session in {}", sessions.shown_folders()));
        }
        if events.is_due() && events.watch(sessions.places(), BTreeSet::new()) {
            continue;
        }
        if let Some(refusal) = events.take_refusal() {
            tell(&refusal);
        }
        events.wait(wait, None)?;
    }
    Ok(None)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
