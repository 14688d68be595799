//! The known sessions: those of the database, and every run with a side file in the folder of sessions.
//!
//! The status of a run comes from its side file and lock: its row may be written later, or be missing if the database can't be read. Titles,
//! figures and imported histories come from the database only.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use streamfmt::core::item::Waiting;

use crate::path_text::path_text;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{RunSideFile, RunStatus};
use crate::store::{
    FoundSession, SessionFilter, SessionRow, SessionStatus, SourceKind, SourceRow, Store, StoreError,
    StoreNotice, history_exists, latest_start, status_now, waiting_now,
};

/// How long rows are cached.
const FRESH: Duration = Duration::from_secs(2);
/// How often missing and incomplete rows of runs are completed.
const CATCH_UP: Duration = Duration::from_secs(15);
/// The longest title, in characters.
const TITLE: usize = 160;
/// The largest file that is read as a side file, in bytes.
const LARGEST: u64 = 1 << 20;

/// A session as the list shows it. Its texts are foreign, neither clean nor masked.
#[derive(Clone, Debug)]
pub(super) struct ServedSession {
    pub(super) id: RunId,
    pub(super) status: SessionStatus,
    /// What it needs from a person, while a call waits for one.
    pub(super) waiting: Option<Waiting>,
    pub(super) agent: Option<String>,
    pub(super) title: String,
    pub(super) folder: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) started: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) log: PathBuf,
    /// The offset of the session in the log, in bytes.
    pub(super) log_start: u64,
    /// Its length there in bytes, if it doesn't extend to the end.
    pub(super) log_bytes: Option<u64>,
    /// Whether the log is the agent's own history, next to which those of its sub-agents may be.
    pub(super) is_history: bool,
    /// Its row in the database.
    pub(super) stored: Option<Arc<SessionRow>>,
}

impl ServedSession {
    /// Whether it is in progress.
    pub(super) fn is_live(&self) -> bool {
        is_live(self.status)
    }

    /// The milliseconds from its start to its end, if it has ended and they are known.
    pub(super) fn milliseconds(&self) -> Option<u64> {
        let passed = self.ended?.as_millisecond().saturating_sub(self.started.as_millisecond());
        // The clock may have been set back meanwhile.
        u64::try_from(passed).ok()
    }

    /// Returns the session of a run from its side file.
    fn of_run(side: &RunSideFile, status: SessionStatus, stored: Option<&Arc<SessionRow>>) -> Self {
        let title = stored.and_then(|stored| stored.title.as_deref());
        Self {
            id: side.id.clone(),
            status,
            waiting: waiting_now(side, status),
            agent: side.agent.clone().or_else(|| stored?.agent.clone()),
            title: title.map_or_else(|| shortened(&side.command.join(" ")), shortened),
            folder: path_text(&side.folder),
            labels: side.labels.clone().into_iter().collect(),
            started: side.started,
            ended: side.ended,
            log: side.log.clone(),
            log_start: side.log_start,
            log_bytes: side.log_bytes,
            is_history: false,
            stored: stored.cloned(),
        }
    }

    /// Returns a session without a side file.
    fn of_row(id: RunId, row: &Arc<SessionRow>) -> Self {
        let title = row.title.clone().or_else(|| Some(row.command.join(" ")).filter(|it| !it.is_empty()));
        Self {
            status: row.status,
            waiting: row.waiting,
            agent: row.agent.clone(),
            title: title.as_deref().map_or_else(|| id.to_string(), shortened),
            folder: row.folder.clone().unwrap_or_default(),
            labels: row.labels.clone().into_iter().collect(),
            started: row.started,
            ended: row.ended,
            log: row.log.clone().unwrap_or_default(),
            log_start: 0,
            log_bytes: None,
            is_history: row.command.is_empty(),
            stored: Some(Arc::clone(row)),
            id,
        }
    }

    /// Returns the session with another file to read it from.
    fn read_from(self, source: &SourceRow) -> Self {
        let is_history = source.kind == SourceKind::History;
        Self {
            log: source.path.clone(),
            log_start: source.start,
            // A history may have grown since it was imported.
            log_bytes: source.size.filter(|_| !is_history),
            is_history,
            ..self
        }
    }
}

/// Whether a session with this status is in progress.
pub(super) fn is_live(status: SessionStatus) -> bool {
    matches!(status, SessionStatus::Running | SessionStatus::RunningElsewhere)
}

/// All sessions, and the problems that may hide others.
#[derive(Debug, Default)]
pub(super) struct SessionList {
    /// Those in progress first, then the newest.
    pub(super) rows: Vec<ServedSession>,
    pub(super) problems: Vec<String>,
}

/// The sessions of a data folder. The side file of a run that has ended is read again only if it was replaced.
#[derive(Debug)]
pub(super) struct KnownSessions {
    paths: SessionPaths,
    read: Mutex<HashMap<RunId, ReadSideFile>>,
    stored: Mutex<StoredSessions>,
    /// When missing rows were last looked for, and whether that is in progress.
    caught_up: Mutex<Option<Instant>>,
    is_catching_up: AtomicBool,
    report: fn(&str),
}

/// The cached rows of the database, and why they couldn't be read.
#[derive(Clone, Debug, Default)]
struct StoredSessions {
    read: Option<Instant>,
    rows: Arc<HashMap<String, Arc<SessionRow>>>,
    problem: Option<String>,
    notices: Vec<String>,
}

#[derive(Clone, Debug)]
struct ReadSideFile {
    written: (Option<SystemTime>, u64),
    side_file: Arc<RunSideFile>,
}

impl KnownSessions {
    pub(super) fn new(paths: SessionPaths, report: fn(&str)) -> Self {
        Self {
            paths,
            read: Mutex::default(),
            stored: Mutex::default(),
            caught_up: Mutex::default(),
            is_catching_up: AtomicBool::new(false),
            report,
        }
    }

    /// Returns one session, with a file that it can currently be read from.
    pub(super) fn find(&self, id: &RunId) -> Option<ServedSession> {
        let stored = self.stored().rows.get(id.as_str()).cloned();
        let found = match self.side_file(id) {
            Some(side) => ServedSession::of_run(&side, status_now(&self.paths, &side), stored.as_ref()),
            None => ServedSession::of_row(id.clone(), &stored?),
        };
        if found.is_live() || !found.is_history && history_exists(&found.log) {
            return Some(found);
        }
        let sources = self.sources(id);
        let source = sources.iter().find(|source| history_exists(&source.path)).or(sources.first());
        Some(match source {
            Some(source) => found.read_from(source),
            None => found,
        })
    }

    /// The current status of a run by its side file and lock.
    pub(super) fn status(&self, id: &RunId) -> Option<SessionStatus> {
        Some(status_now(&self.paths, &*self.side_file(id)?))
    }

    /// All sessions except empty ones.
    pub(super) fn all(self: &Arc<Self>) -> SessionList {
        // Reading the rows first reports damage to the database, which catching up would repair.
        let StoredSessions { rows: stored, problem, notices, .. } = self.stored();
        self.catch_up();
        let mut problems: Vec<String> = problem.into_iter().chain(notices).collect();
        let ids = self.run_ids().unwrap_or_else(|error| {
            let why = streamfmt::problem::reason(&error);
            problems.push(format!("the folder of sessions can't be read: {why}"));
            HashSet::new()
        });
        let mut rows: HashMap<RunId, ServedSession> = stored
            .values()
            .filter(|row| row.status != SessionStatus::Empty)
            .filter_map(|row| {
                row.id.parse().ok().map(|id: RunId| (id.clone(), ServedSession::of_row(id, row)))
            })
            .collect();
        for side in ids.iter().filter_map(|id| self.side_file(id)) {
            let row = stored.get(side.id.as_str());
            rows.insert(side.id.clone(), ServedSession::of_run(&side, status_now(&self.paths, &side), row));
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() > ids.len() {
            read.retain(|id, _| ids.contains(id));
        }
        drop(read);
        let mut rows: Vec<ServedSession> = rows.into_values().collect();
        let latest = latest_start();
        rows.sort_by_cached_key(|row| {
            (!row.is_live(), row.started > latest, Reverse(row.started), Reverse(row.id.clone()))
        });
        SessionList { rows, problems }
    }

    /// The final Markdown of a session in the database, for sessions whose log is gone.
    pub(super) fn response(&self, id: &RunId) -> Option<String> {
        match self.open().and_then(|store| store.find(id.as_str())) {
            Ok(FoundSession::One(session)) if session.row.id == id.as_str() => session.response,
            _ => None,
        }
    }

    /// The files that a session was read from.
    pub(super) fn sources(&self, id: &RunId) -> Vec<SourceRow> {
        let sources = self.open().and_then(|mut store| store.mended(|store| store.sources(id.as_str())));
        sources.unwrap_or_default()
    }

    /// The folder with the database.
    pub(super) fn data(&self) -> &Path {
        self.paths.folder.parent().unwrap_or(&self.paths.folder)
    }

    fn open(&self) -> Result<Store, StoreError> {
        Store::open(self.data())
    }

    /// The rows of the database.
    fn stored(&self) -> StoredSessions {
        let mut stored = self.locked();
        if stored.read.is_some_and(|read| read.elapsed() < FRESH) {
            return stored.clone();
        }
        stored.read = Some(Instant::now());
        let mut notices = Vec::new();
        // An empty one has a page, too.
        let filter = SessionFilter { with_empty: true, ..SessionFilter::default() };
        let listed = self.open().and_then(|mut store| {
            let listed = store.mended(|store| store.list(&filter));
            notices = store.take_notices();
            listed
        });
        let problem = match listed {
            Ok(rows) => {
                let rows = rows.into_iter().map(|row| (row.id.clone(), Arc::new(row)));
                stored.rows = Arc::new(rows.collect());
                None
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem.as_ref().filter(|problem| stored.problem.as_ref() != Some(*problem)) {
            (self.report)(problem);
        }
        stored.problem = problem;
        self.take(notices, &mut stored);
        stored.clone()
    }

    /// Keeps notices about the store for the list, each once.
    fn take(&self, notices: Vec<StoreNotice>, stored: &mut StoredSessions) {
        for notice in notices {
            let notice = notice.to_string();
            if stored.notices.contains(&notice) {
                continue;
            }
            (self.report)(&notice);
            stored.notices.push(notice);
        }
    }

    fn locked(&self) -> MutexGuard<'_, StoredSessions> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that writes missing rows of runs, such as those whose recorder was killed.
    fn catch_up(self: &Arc<Self>) {
        let mut last = self.caught_up.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < CATCH_UP)
            || self.is_catching_up.swap(true, Ordering::SeqCst)
        {
            return;
        }
        *last = Some(Instant::now());
        drop(last);
        let own = Arc::clone(self);
        let work = move || {
            // Problems with the database are reported where it is read.
            if let Ok(mut store) = own.open() {
                let _ = store.mended(Store::catch_up);
                own.take(store.take_notices(), &mut own.locked());
            }
            own.is_catching_up.store(false, Ordering::SeqCst);
        };
        if std::thread::Builder::new().name("rows".to_owned()).spawn(work).is_err() {
            self.is_catching_up.store(false, Ordering::SeqCst);
        }
    }

    /// The ids of all runs that have a side file.
    fn run_ids(&self) -> io::Result<HashSet<RunId>> {
        let entries = match fs::read_dir(&self.paths.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
            entries => entries?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect())
    }

    fn side_file(&self, id: &RunId) -> Option<Arc<RunSideFile>> {
        let path = self.paths.side_file(id);
        let about = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        if about.len() > LARGEST {
            return None;
        }
        let written = (about.modified().ok(), about.len());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |known: &&ReadSideFile| known.side_file.status != RunStatus::Running;
        if let Some(known) = read.get(id).filter(|known| known.written == written).filter(is_over) {
            return Some(Arc::clone(&known.side_file));
        }
        let side_file = Arc::new(RunSideFile::read(&path).ok().filter(|side_file| side_file.id == *id)?);
        read.insert(id.clone(), ReadSideFile { written, side_file: Arc::clone(&side_file) });
        Some(side_file)
    }
}

/// A title on one line, cut where it gets long.
fn shortened(title: &str) -> String {
    let mut title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = title.char_indices().nth(TITLE) {
        title.truncate(end);
        title.push('…');
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_is_cut_and_a_side_file_that_is_too_large_is_not_read() {
        assert_eq!(shortened(&"é".repeat(160)), "é".repeat(160));
        assert_eq!(shortened(&"é".repeat(161)), "é".repeat(160) + "…");
        let folder = tempfile::tempdir().unwrap();
        let paths = SessionPaths { folder: folder.path().join("sessions") };
        fs::create_dir(&paths.folder).unwrap();
        let id: RunId = "20261123-224103-k3x9qa".parse().unwrap();
        let side = format!(
            r#"{{"v":1,"id":"{id}","status":"done","command":["a"],"folder":"/","log":"/gone","log_start":0,"started":"2026-11-23T22:41:03Z","recorder":{{"pid":1}}}}"#
        );
        for (size, is_read) in [(1 << 20, true), ((1 << 20) + 1, false)] {
            fs::write(paths.side_file(&id), side.clone() + &" ".repeat(size - side.len())).unwrap();
            let known = KnownSessions::new(paths.clone(), |_| ());
            assert_eq!(known.find(&id).is_some(), is_read, "{size}");
        }
    }
}
