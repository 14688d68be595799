//! Lists and finds sessions.

use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::copies::copies_of;
use super::history::history_exists;
use super::record::{SessionDetails, SessionRecord, SessionRun, SourceKind, SourceRow};
use super::sql::Database;
use super::{DATABASE, Store, StoreError};
use crate::path_text::text_path;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{ProcessMark, RunSideFile, SessionStatus};

/// How far in the future a session may start and still count as new: clocks differ between machines.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// A filter for sessions. By default, all are listed except [`SessionStatus::Empty`].
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Those of this status.
    pub status: Option<SessionStatus>,
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those of this working directory, or of one below it.
    pub folder: Option<PathBuf>,
    /// Those with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Those that started then or later.
    pub since: Option<Timestamp>,
    /// Those that started then or earlier.
    pub until: Option<Timestamp>,
    /// At most this many, the newest.
    pub most: Option<usize>,
    /// Also those in which nobody asked anything, if no status is chosen.
    pub with_empty: bool,
}

impl SessionFilter {
    /// Whether a session passes, with its current status.
    pub fn fits(&self, run: &SessionRun) -> bool {
        let is_of = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let is_in =
            |folder: &PathBuf| run.folder.as_deref().is_some_and(|of| text_path(of).starts_with(folder));
        let is_status_wanted = match self.status {
            Some(status) => status == run.status,
            None => self.with_empty || run.status != SessionStatus::Empty,
        };
        is_status_wanted
            && is_of(&self.agent, &run.agent)
            && self.folder.as_ref().is_none_or(is_in)
            && self.labels.iter().all(|(key, value)| run.labels.get(key) == Some(value))
            && self.since.is_none_or(|since| run.started >= since)
            && self.until.is_none_or(|until| run.started <= until)
    }
}

/// The latest start that a clock can have shown: a session that starts later had a wrong one, so it isn't the newest.
pub(crate) fn latest_start() -> Timestamp {
    Timestamp::now().checked_add(SKEW).unwrap_or(Timestamp::MAX)
}

/// The result of searching for a session by name.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundSession {
    /// This session.
    One(Box<SessionDetails>),
    /// Several, the newest first, at most 20 of them.
    Several(Vec<SessionRecord>),
    /// None.
    None,
}

impl Store {
    /// Lists sessions, the newest first; those that start in the future are last. Their status is checked now.
    pub fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        let latest = latest_start();
        let next = latest.checked_add(SignedDuration::from_nanos(1)).unwrap_or(latest);
        let since = filter.since.unwrap_or(Timestamp::MIN);
        let past = (since, Some(filter.until.map_or(latest, |until| until.min(latest))));
        let future = (since.max(next), filter.until);
        let mut found = Vec::new();
        for (first, last) in [past, future] {
            self.database.sessions_between(first, last, |row| {
                let has_room = filter.most.is_none_or(|most| found.len() < most);
                found.extend(has_room.then(|| self.checked(row)).filter(|row| filter.fits(&row.run)));
                has_room
            })?;
        }
        Ok(found)
    }

    /// Finds a session: by its id or the start of it, `last`, or `last~N`, which is `N` before the last. The last one isn't empty, and none
    /// that starts in the future is before another.
    pub fn find(&self, name: &str) -> Result<FoundSession, StoreError> {
        let back = match name.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|count| count.parse::<u32>().ok()),
            None => None,
        };
        let mut found = Vec::new();
        if let Some(back) = back {
            found.extend(self.database.session_before_last(back, latest_start())?);
        } else if !name.is_empty() {
            found = self.database.sessions_named(name)?;
            found.truncate(if found.first().is_some_and(|row| row.run.id == name) { 1 } else { found.len() });
        }
        let mut found: Vec<SessionRecord> = found.into_iter().map(|row| self.checked(row)).collect();
        match found.len() {
            0 => Ok(FoundSession::None),
            1 => Ok(FoundSession::One(Box::new(self.details(found.remove(0))?))),
            _ => Ok(FoundSession::Several(found)),
        }
    }

    /// Returns the histories of an agent's session, by its own id, that the database of a data folder lists, the largest first, and then copies of those that are gone. Nothing is
    /// created, and if the database can't be read, there are none.
    pub fn histories_of(data: &Path, agent_session: &str) -> Vec<PathBuf> {
        let found = Database::histories_at(&data.join(DATABASE), agent_session).unwrap_or_default();
        let (there, gone): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, path)| history_exists(path));
        let copies = copies_of(data, &gone);
        there.into_iter().map(|(_, path)| path).chain(copies).collect()
    }

    /// Returns the files that a session is read from, with its own log first.
    pub fn sources(&self, id: &str) -> Result<Vec<SourceRow>, StoreError> {
        let mut sources = self.database.sources(id)?;
        if let Ok(id) = id.parse::<RunId>() {
            for source in sources.iter_mut().filter(|source| source.kind == SourceKind::Run) {
                let now = self.paths.log_now(&id, &source.path);
                source.gone &= now == source.path;
                source.path = now;
                source.errors = source.errors.as_deref().map(|errors| self.paths.errors_now(&id, errors));
            }
        }
        Ok(sources)
    }

    fn details(&self, record: SessionRecord) -> Result<SessionDetails, StoreError> {
        let id = &record.run.id;
        let (response, error) = self.database.texts(id)?;
        let (usage, calls) = (self.database.usage(id)?, self.database.calls(id)?);
        Ok(SessionDetails { record, response, error, usage, calls })
    }

    /// Returns a session as it is now: a run is in progress only while its recorder is, and its log may have been moved with the data folder.
    fn checked(&self, mut record: SessionRecord) -> SessionRecord {
        let SessionRecord { run, source, .. } = &mut record;
        let Ok(id) = run.id.parse::<RunId>() else { return record };
        if source.kind == SourceKind::Run {
            let now = self.paths.log_now(&id, &source.path);
            source.gone &= now == source.path;
            source.path = now;
        }
        if run.status == SessionStatus::Running
            && let Some(recorder) = &run.recorder
        {
            match RunSideFile::read(&self.paths.side_file(&id)) {
                Ok(side) => *run = SessionRun::of(&side, self.state_of(&side), std::mem::take(run)),
                Err(_) if recorder.is_alive() => {}
                Err(_) => run.status = SessionStatus::Interrupted,
            }
        }
        record
    }

    /// Returns the current status of a run.
    pub(super) fn state_of(&self, side: &RunSideFile) -> SessionStatus {
        status_now(&self.paths, side)
    }
}

/// Returns the current status of a run from its side file and lock, without the database.
pub(crate) fn status_now(paths: &SessionPaths, side: &RunSideFile) -> SessionStatus {
    if side.status != SessionStatus::Running {
        return side.status;
    }
    if paths.is_running(side) {
        return SessionStatus::Running;
    }
    // Only if the lock shows nothing: otherwise a run that ended with a power failure would seem to be in progress forever.
    let lock = File::open(paths.lock(&side.id));
    let is_unlocked = lock.is_ok_and(|file| file.try_lock_shared().is_ok());
    let here = ProcessMark::of(std::process::id()).boot;
    let is_elsewhere = side.recorder.boot.is_some() && here.is_some() && side.recorder.boot != here;
    if is_elsewhere && !is_unlocked {
        return SessionStatus::RunningElsewhere;
    }
    // It may have ended between both checks.
    match RunSideFile::read(&paths.side_file(&side.id)) {
        Ok(now) if now.status != SessionStatus::Running => now.status,
        _ => SessionStatus::Interrupted,
    }
}
