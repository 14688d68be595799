//! Which sessions there are: what is known of each without reading its log.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;

use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{RunSideFile, RunStatus};
use crate::store::{SessionFilter, Store};

/// How long titles are taken to be as they were read.
const FRESH: Duration = Duration::from_secs(2);
/// Characters of a title.
const TITLE: usize = 160;
/// Side files larger than this are none.
const LARGEST: u64 = 1 << 20;

/// A session, as a list shows it. Its texts are foreign, and neither clean nor masked.
#[derive(Clone, Debug)]
pub(super) struct ServedSession {
    pub(super) id: RunId,
    pub(super) status: RunStatus,
    pub(super) agent: Option<String>,
    pub(super) title: String,
    pub(super) folder: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) started: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) log: PathBuf,
    /// Where the run begins in the log, in bytes.
    pub(super) log_start: u64,
    /// How many bytes it has there, once it has ended.
    pub(super) log_bytes: Option<u64>,
}

impl ServedSession {
    /// The seconds that it took, or has taken so far.
    pub(super) fn seconds(&self, now: Timestamp) -> u64 {
        let end = self.ended.unwrap_or(if self.status == RunStatus::Running { now } else { self.started });
        u64::try_from(end.as_second() - self.started.as_second()).unwrap_or(0)
    }
}

/// The word for a status, as everywhere.
pub(super) fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Done => "done",
        RunStatus::Failed => "failed",
        RunStatus::Interrupted => "interrupted",
    }
}

/// The sessions of a folder. A side file is read again only when it was replaced.
#[derive(Debug)]
pub(super) struct KnownSessions {
    paths: SessionPaths,
    read: Mutex<HashMap<RunId, ReadSideFile>>,
    titles: Mutex<StoredTitles>,
}

/// The titles that the database has, as they were read last, and why they couldn't be.
#[derive(Clone, Debug, Default)]
struct StoredTitles {
    read: Option<Instant>,
    titles: Arc<HashMap<String, String>>,
    problem: Option<String>,
}

#[derive(Clone, Debug)]
struct ReadSideFile {
    written: (Option<SystemTime>, u64),
    row: ServedSession,
    side_file: RunSideFile,
}

impl KnownSessions {
    pub(super) fn new(paths: SessionPaths) -> Self {
        Self { paths, read: Mutex::default(), titles: Mutex::default() }
    }

    /// One session.
    pub(super) fn find(&self, id: &RunId) -> Option<ServedSession> {
        let read = self.read(id)?;
        Some(Self::titled(self.row(&read), &self.titles()))
    }

    /// What keeps the database from being read, if something does. Everything but titles is known without it.
    pub(super) fn problem(&self) -> Option<String> {
        self.titles().problem
    }

    fn titled(mut row: ServedSession, stored: &StoredTitles) -> ServedSession {
        if let Some(title) = stored.titles.get(row.id.as_str()) {
            row.title = shortened(title);
        }
        row
    }

    /// The titles of the database, which isn't made here.
    fn titles(&self) -> StoredTitles {
        let mut stored = self.titles.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.read.is_some_and(|read| read.elapsed() < FRESH) {
            return stored.clone();
        }
        stored.read = Some(Instant::now());
        let Some(data) = self.paths.folder.parent().filter(|data| data.join("sessions.db").exists()) else {
            return stored.clone();
        };
        match Store::open(data).and_then(|store| store.list(&SessionFilter::default())) {
            Ok(rows) => {
                let titles = rows.into_iter().filter_map(|row| Some((row.id, row.title?)));
                (stored.titles, stored.problem) = (Arc::new(titles.collect()), None);
            }
            Err(error) => stored.problem = Some(error.to_string()),
        }
        stored.clone()
    }

    /// All of them: those that run first, then the newest.
    pub(super) fn all(&self) -> io::Result<Vec<ServedSession>> {
        let stored = self.titles();
        let entries = match fs::read_dir(&self.paths.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let ids: Vec<RunId> = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect();
        let mut rows: Vec<ServedSession> = ids
            .iter()
            .filter_map(|id| self.read(id))
            .map(|read| Self::titled(self.row(&read), &stored))
            .collect();
        rows.sort_by(|one, other| {
            let is_over = |row: &ServedSession| row.status != RunStatus::Running;
            (is_over(one), &other.id).cmp(&(is_over(other), &one.id))
        });
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > ids.len() {
            known.retain(|id, _| ids.contains(id));
        }
        Ok(rows)
    }

    /// What is known now. A run that still has the status of one and isn't in progress was interrupted.
    fn row(&self, read: &ReadSideFile) -> ServedSession {
        let mut row = read.row.clone();
        if row.status == RunStatus::Running && !self.paths.is_running(&read.side_file) {
            // It may have ended just now, and written how.
            match self.read(&row.id) {
                Some(again) if again.row.status != RunStatus::Running => row = again.row,
                _ => row.status = RunStatus::Interrupted,
            }
        }
        row
    }

    fn read(&self, id: &RunId) -> Option<ReadSideFile> {
        let path = self.paths.side_file(id);
        let about = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        if about.len() > LARGEST {
            return None;
        }
        let written = (about.modified().ok(), about.len());
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        if let Some(known) =
            known.filter(|known| known.written == written && known.row.status != RunStatus::Running)
        {
            return Some(known);
        }
        let text = fs::read(&path).ok()?;
        let side_file: RunSideFile = serde_json::from_slice(&text).ok()?;
        if side_file.id != *id {
            return None;
        }
        let read = ReadSideFile { written, row: row_of(&side_file, &text), side_file };
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), read.clone());
        Some(read)
    }
}

fn row_of(side_file: &RunSideFile, text: &[u8]) -> ServedSession {
    let RunSideFile { id, status, command, folder, log, log_start, log_bytes, agent, started, ended, .. } =
        side_file.clone();
    let title = shortened(&command.join(" "));
    let folder = folder.to_string_lossy().into_owned();
    ServedSession {
        id,
        status,
        agent,
        title,
        folder,
        labels: labels(text),
        started,
        ended,
        log,
        log_start,
        log_bytes,
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

/// The labels that were given to the run.
fn labels(side_file: &[u8]) -> Vec<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Labelled {
        #[serde(default)]
        labels: std::collections::BTreeMap<String, String>,
    }
    let labelled = serde_json::from_slice::<Labelled>(side_file);
    labelled.map(|labelled| labelled.labels.into_iter().collect()).unwrap_or_default()
}
