//! Opens the histories of agents: files, and sessions in an agent's database.
//!
//! A session in a database has a path as well: that of the database, followed by the session's id. No file has such a path.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::iter;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use streamfmt::core::item::FactRef;
use streamfmt::core::pipeline::{Pieces, SessionFacts, Subagents};
use streamfmt::histories::{facts_file, session_facts};

use super::copies::HistoryCopy;
use super::runs;
use super::sql::{DatabaseSession, read_only};

/// The number of bytes of a history that are read at a time.
const PIECE: usize = 64 << 10;

/// Opens a history. The records of a session in a database are copied to an unnamed file.
pub fn open_history(path: &Path) -> io::Result<File> {
    match DatabaseSession::at(path) {
        Some(session) => session.spool(&read_only(session.database())?),
        None => File::open(path),
    }
}

/// Returns the path of a history, or of a folder, without links.
pub(super) fn real_path(path: &Path) -> io::Result<PathBuf> {
    match DatabaseSession::at(path) {
        Some(session) => session.real_path(),
        None => path.canonicalize(),
    }
}

/// Whether a history exists.
pub fn history_exists(path: &Path) -> bool {
    path.exists() || DatabaseSession::at(path).is_some_and(|session| session.exists().unwrap_or(true))
}

/// Whether a history doesn't exist. One that can't be examined isn't gone.
pub(super) fn is_gone(path: &Path) -> bool {
    match DatabaseSession::at(path) {
        Some(session) => session.exists().is_ok_and(|exists| !exists),
        None => runs::is_gone(path),
    }
}

/// Finds the sub-agents of a history for its pipeline: their files beside it, or their sessions in its database. `given`: files that are
/// shown separately.
pub fn subagents_of(path: PathBuf, given: Vec<PathBuf>) -> Subagents {
    if let Some(copy) = HistoryCopy::at(&path) {
        return copy.subagents();
    }
    let Some(session) = DatabaseSession::at(&path) else { return streamfmt::subagents(path, given) };
    let mut left: Option<BTreeSet<String>> = None;
    Box::new(move |item| {
        let agent = item.fact("agent").and_then(FactRef::str)?;
        let connection = read_only(session.database()).ok()?;
        let left = left.get_or_insert_with(|| session.below(&connection).unwrap_or_default());
        let file = left.take(&*agent).and_then(|id| session.beside(id).spool(&connection).ok());
        file.map(pieces)
    })
}

/// Reads the facts that an agent keeps beside a history, for its pipeline.
pub fn facts_of(path: PathBuf) -> SessionFacts {
    match HistoryCopy::at(&path) {
        Some(copy) => copy.facts(),
        None => session_facts(path),
    }
}

/// Whether a history is a session in a database.
pub(super) fn is_in_database(path: &Path) -> bool {
    DatabaseSession::at(path).is_some()
}

/// The sub-agents of a session in a database.
pub(super) fn below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(session) = DatabaseSession::at(path) else { return Ok(Vec::new()) };
    let below = session.below(&read_only(session.database())?).map_err(io::Error::other)?;
    Ok(below.into_iter().map(|id| session.database().join(id)).collect())
}

/// The bytes of a file, in pieces. A read error ends them.
pub(super) fn pieces(mut file: impl Read + Send + 'static) -> Pieces {
    Box::new(iter::from_fn(move || {
        let mut piece = vec![0; PIECE];
        let length = file.read(&mut piece).ok().filter(|length| *length > 0)?;
        piece.truncate(length);
        Some(piece)
    }))
}

/// A history that is open.
pub(super) struct OpenHistory<'a> {
    pub(super) path: &'a Path,
    pub(super) file: File,
    /// Its size now. It may grow.
    pub(super) size: u64,
}

impl<'a> OpenHistory<'a> {
    pub(super) fn at(path: &'a Path) -> io::Result<Self> {
        let file = open_history(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size })
    }
}

/// What changes with each change of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HistoryStamp {
    /// Its size, if it is a file.
    pub(super) size: Option<u64>,
    /// When it, or the file with facts beside it, was last changed, in nanoseconds since 1970.
    pub(super) changed: i64,
}

impl HistoryStamp {
    /// Returns the time of its last change.
    pub(super) fn time(self) -> Timestamp {
        Timestamp::from_nanosecond(self.changed.into()).unwrap_or_default()
    }

    pub(super) fn of(path: &Path) -> io::Result<Self> {
        if let Some(session) = DatabaseSession::at(path) {
            return Ok(Self { size: None, changed: session.changed()? });
        }
        let about = fs::metadata(path)?;
        let facts = facts_file(path).and_then(|facts| fs::metadata(facts).ok());
        let changed = iter::once(&about).chain(&facts).map(runs::changed).max();
        Ok(Self { size: Some(about.len()), changed: changed.unwrap_or_default() })
    }
}
