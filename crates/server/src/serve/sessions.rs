//! The known sessions: those of the database, and every run with a side file in the folder of sessions.
//!
//! The status of a run comes from its side file and lock: its row may be written later, or be missing if the database can't be read. Titles,
//! figures and imported histories come from the database only.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use streamfmt::follow::FollowWait;

use super::live::UntilStopped;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::RunSideFile;
use crate::store::{
    AgentFolder, AgentSessions, CopyPolicy, DATABASE, FoundSession, ImportReport, ImportWatch, SessionFilter,
    SessionRecord, SessionRun, SessionStatus, SourceKind, SourceRow, Store, StoreError, StoreNotice,
    history_exists, latest_start, status_now,
};

/// How long rows are cached.
const FRESH: Duration = Duration::from_secs(2);
/// How often missing and incomplete rows of runs are completed.
const CATCH_UP: Duration = Duration::from_secs(15);
/// How often it is checked whether histories should be imported by this process.
const AGAIN: Duration = Duration::from_secs(5);
/// The longest title, in characters.
const TITLE: usize = 160;
/// The largest file that is read as a side file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The title of a session: a foreign text on one line. Without one, it is the command, or the id.
pub(super) fn title_of(run: &SessionRun) -> String {
    let command = || Some(run.command.join(" ")).filter(|command| !command.is_empty());
    run.title.clone().or_else(command).map_or_else(|| run.id.clone(), |title| shortened(&title))
}

/// The milliseconds from its start to its end, if it has ended and they are known.
pub(super) fn milliseconds(run: &SessionRun) -> Option<u64> {
    let passed = run.ended?.as_millisecond().saturating_sub(run.started.as_millisecond());
    // The clock may have been set back meanwhile.
    u64::try_from(passed).ok()
}

/// All sessions, and the problems that may hide others.
#[derive(Debug, Default)]
pub(super) struct SessionList {
    /// Those in progress first, then the newest.
    pub(super) rows: Vec<SessionRecord>,
    pub(super) problems: Vec<String>,
    /// What agents keep and could be imported, if there are no sessions.
    pub(super) importable: Vec<AgentSessions>,
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
    /// The folders of the known agents.
    agents: Vec<AgentFolder>,
    report: fn(&str),
}

/// The cached rows of the database, and why they couldn't be read.
#[derive(Clone, Debug, Default)]
struct StoredSessions {
    read: Option<Instant>,
    rows: Arc<HashMap<String, SessionRecord>>,
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
            agents: Vec::new(),
            report,
        }
    }

    /// Names what is in these folders while there are no sessions.
    pub(super) fn with_agents(self, agents: Vec<AgentFolder>) -> Self {
        Self { agents, ..self }
    }

    /// Returns one session, with a file that it can currently be read from.
    pub(super) fn find(&self, id: &str) -> Option<SessionRecord> {
        let stored = self.stored().rows.get(id).cloned();
        let found = match self.side_file(&id.parse().ok()?) {
            Some(side) => self.of_run(&side, stored.unwrap_or_default()),
            None => stored?,
        };
        let is_log = found.source.kind == SourceKind::Run;
        if found.run.status.is_live() || is_log && history_exists(&found.source.path) {
            return Some(found);
        }
        let mut sources = self.sources(id);
        let best = sources.iter().position(|source| history_exists(&source.path)).unwrap_or(0);
        if best >= sources.len() {
            return Some(found);
        }
        let source = sources.swap_remove(best);
        // A history may have grown since it was imported.
        let size = source.size.filter(|_| source.kind == SourceKind::Run || source.is_copy);
        Some(SessionRecord { source: SourceRow { size, ..source }, ..found })
    }

    /// Returns a run with a side file. `stored`: its row, or an empty one.
    fn of_run(&self, side: &RunSideFile, stored: SessionRecord) -> SessionRecord {
        let run = SessionRun::of(side, status_now(&self.paths, side), stored.run);
        SessionRecord { run, source: SourceRow::of(side), ..stored }
    }

    /// The current status of a run by its side file and lock.
    pub(super) fn status(&self, id: &str) -> Option<SessionStatus> {
        Some(status_now(&self.paths, &*self.side_file(&id.parse().ok()?)?))
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
        let is_listed =
            |run: &SessionRun| run.status != SessionStatus::Empty && run.id.parse::<RunId>().is_ok();
        let mut rows: HashMap<String, SessionRecord> = stored
            .iter()
            .filter(|(_, row)| is_listed(&row.run))
            .map(|(id, row)| (id.clone(), row.clone()))
            .collect();
        for side in ids.iter().filter_map(|id| self.side_file(id)) {
            let row = stored.get(side.id.as_str()).cloned().unwrap_or_default();
            rows.insert(side.id.to_string(), self.of_run(&side, row));
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() > ids.len() {
            read.retain(|id, _| ids.contains(id));
        }
        drop(read);
        let mut rows: Vec<SessionRecord> = rows.into_values().collect();
        let latest = latest_start();
        rows.sort_by_cached_key(|SessionRecord { run, .. }| {
            (!run.status.is_live(), run.started > latest, Reverse(run.started), Reverse(run.id.clone()))
        });
        let importable = if rows.is_empty() { AgentSessions::in_folders(&self.agents) } else { Vec::new() };
        SessionList { rows, problems, importable }
    }

    /// The final Markdown of a session in the database, for sessions whose log is gone.
    pub(super) fn response(&self, id: &str) -> Option<String> {
        match self.open().and_then(|store| store.find(id)) {
            Ok(FoundSession::One(session)) if session.record.run.id == id => session.response,
            _ => None,
        }
    }

    /// The files that a session was read from.
    pub(super) fn sources(&self, id: &str) -> Vec<SourceRow> {
        let sources = self.open().and_then(|mut store| store.mended(|store| store.readable_sources(id)));
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
                let rows = rows.into_iter().map(|row| (row.run.id.clone(), row));
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

    /// Starts a thread that imports what appears in the folders that were imported before, as long as no other process does.
    pub(super) fn watch_imports(self: &Arc<Self>, copies: CopyPolicy, stop: Arc<AtomicBool>) {
        let own = Arc::clone(self);
        let work = move || {
            let mut wait = UntilStopped(&stop);
            let mut report = |report| match report {
                ImportReport::Imported(_) => own.locked().read = None,
                ImportReport::Notice(notice) => own.take(vec![notice], &mut own.locked()),
                ImportReport::Failed(why) => (own.report)(&why),
            };
            while !wait.is_over() {
                // Without a database, nothing was imported, and none is created for this. Reading the rows first reports damage to it, which
                // opening it would repair.
                let has_rows = own.data().join(DATABASE).exists() && own.stored().problem.is_none();
                if has_rows
                    && let Ok(mut store) = own.open()
                    && let Ok(Some(mut watch)) = {
                        store.set_copy_policy(copies);
                        ImportWatch::begin(store)
                    }
                {
                    watch.run(&mut wait, &mut report);
                }
                std::thread::sleep(AGAIN);
            }
        };
        // Without a thread, sessions are imported on request only.
        let _ = std::thread::Builder::new().name("imports".to_owned()).spawn(work);
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
        let is_over = |known: &&ReadSideFile| known.side_file.status != SessionStatus::Running;
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
            assert_eq!(known.find(id.as_str()).is_some(), is_read, "{size}");
        }
    }
}
