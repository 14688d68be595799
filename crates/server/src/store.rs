//! The store: an index of all sessions, for lists and searches.
//!
//! ```text
//! logs and side files ─┐
//!                      ├─▶ figures ─▶ rows ─▶ sessions.db ─▶ list, find, sources
//! agents' histories ───┘
//! ```
//!
//! Logs and side files are authoritative. For our own runs, the database is only an index, which can be rebuilt at any time. All SQL is in
//! `sql`, a function for each query.

mod agent_folder;
mod check;
mod compress;
mod copies;
mod disk;
mod figures;
mod history;
mod import;
mod import_watch;
mod in_order;
mod left_out;
mod link;
mod orphans;
mod query;
mod record;
mod recorded_elsewhere;
mod relatives;
mod remove;
mod runs;
mod sql;
mod stats;
mod work;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::own_folder::{create_private, is_own};
use crate::path_text::text_path;
use crate::session_paths::SessionPaths;
use sql::{Database, Replaced, Salvage};

pub use crate::side_file::SessionStatus;
pub use agent_folder::{AgentCleanup, AgentFolder, AgentSessions};
pub use check::StoreProblem;
pub use compress::PackedLogs;
pub use copies::{CopyFinding, CopyPolicy, VerifiedCopies};
pub use disk::{DiskLine, DiskUse};
pub use figures::{CountedMessages, FiguresCollector, Ledger, ReadSession, SessionFigures, SessionOutcome};
pub use history::{facts_of, history_exists, open_history, subagents_of};
pub use import::{ImportCounts, ImportStep};
pub use import_watch::{ImportReport, ImportWatch};
pub use query::{FoundSession, SessionFilter};
#[cfg(unix)]
pub(crate) use query::{latest_start, status_now};
pub use record::{SessionDetails, SessionRecord, SessionRun, SourceKind, SourceRow};
pub use remove::{Removal, RemovedSession};
#[cfg(unix)]
pub(crate) use sql::{NodeTable, TableNode};
pub use stats::{StatsKey, StatsQuery, StatsRow, stats_of_files};
pub use work::{SessionWork, WorkHit};

/// The name of the database in a data folder.
pub(crate) const DATABASE: &str = "sessions.db";

/// The recorded and imported sessions. A process may have several stores at a time, and several processes may use one database.
pub struct Store {
    database: Database,
    paths: SessionPaths,
    notices: Vec<StoreNotice>,
    copy_policy: CopyPolicy,
}

/// The most folders that a notice names.
const NAMED: usize = 3;

/// A notice for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreNotice {
    /// The database was damaged and was replaced by a new one.
    Replaced {
        /// The path of the damaged one.
        aside: PathBuf,
        /// The number of rows that could be copied from it.
        saved: usize,
        /// The number of other sessions in it, as far as they are known, of which there is no log either.
        lost: usize,
        /// The histories of these that exist and have to be imported again.
        histories: Vec<PathBuf>,
    },
    /// Something of these sessions can't be decoded.
    Undecodable {
        /// The id of the first of them.
        first: String,
        /// How many there are.
        count: usize,
    },
    /// The disk is full, so that rows of runs are missing or incomplete.
    Full,
    /// This data folder can't be written, so its database isn't used.
    ReadOnly(PathBuf),
    /// An imported archive is damaged: only what comes before the damage was read.
    Archive {
        /// Its path.
        path: PathBuf,
        /// The damage.
        why: String,
    },
    /// The copies of sessions' files take as much as they may.
    CopiesFull {
        /// The most bytes that they may take.
        most: u64,
    },
    /// Files of sessions couldn't be copied.
    NotCopied {
        /// The path of the first of them, or the folder of its copies.
        path: PathBuf,
        /// Why not.
        why: String,
        /// How many there are.
        count: usize,
    },
    /// Side files are damaged or can't be read, so that rows of their runs may be missing.
    SideFiles {
        /// The path of the first of them.
        first: PathBuf,
        /// How many there are.
        count: usize,
    },
}

impl fmt::Display for StoreNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced { aside, saved, lost, histories } => {
                write!(
                    f,
                    "the database of sessions was damaged: it is now {}; a new one was made of ",
                    aside.display()
                )?;
                match lost {
                    0 => write!(f, "the {saved} entries that could be read")?,
                    _ => write!(f, "{saved} of about {} entries", saved + lost)?,
                }
                f.write_str(", and of logs and side files")?;
                if *saved == 0 || *lost > 0 {
                    f.write_str("; to complete it, import histories again: streamfmt sessions import")?;
                }
                let folders: BTreeSet<&Path> = histories.iter().filter_map(|path| path.parent()).collect();
                folders.iter().take(NAMED).try_for_each(|folder| write!(f, " {}", folder.display()))?;
                match folders.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(f, " (and {more} more folders)"),
                }
            }
            Self::Undecodable { first, count } => {
                let more = match count.saturating_sub(1) {
                    0 => String::new(),
                    more => format!(" and of {more} more sessions"),
                };
                write!(
                    f,
                    "the database is damaged: something of {first}{more} can't be decoded (to mend it: streamfmt sessions check --repair)"
                )
            }
            Self::Full => f.write_str(
                "the disk is full: the latest runs may be missing or incomplete here until there is room",
            ),
            Self::ReadOnly(data) => write!(
                f,
                "{} can't be written: this is read from side files and logs, without imported histories",
                data.display()
            ),
            Self::Archive { path, why } => write!(f, "{}: {why}", path.display()),
            Self::CopiesFull { most } => write!(
                f,
                "the copies of sessions take the {most} bytes that they may (store.keep-most): nothing more is copied"
            ),
            Self::NotCopied { path, why, count } => {
                write!(f, "{}: not copied: {why}", path.display())?;
                match count.saturating_sub(1) {
                    0 => Ok(()),
                    more => write!(f, " (and {more} more)"),
                }
            }
            Self::SideFiles { first, count } => {
                let more = match count.saturating_sub(1) {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                write!(
                    f,
                    "the side file {}{more} is damaged or can't be read: its run may be missing here, though its log is kept",
                    first.display()
                )
            }
        }
    }
}

/// Why the store can't be used.
#[derive(Debug)]
pub enum StoreError {
    /// A newer version of this program wrote the database.
    Newer(PathBuf),
    /// The database is damaged: see [`Store::mended`].
    Damaged(PathBuf),
    /// The disk is full.
    Full(PathBuf),
    /// A file can't be read or written.
    File(PathBuf, io::Error),
    /// `SQLite` reports something else.
    Database(PathBuf, String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer(path) => write!(
                f,
                "{}: a newer version of streamfmt wrote this database; update streamfmt to use it",
                path.display()
            ),
            Self::Damaged(path) => write!(f, "{}: the database is damaged", path.display()),
            Self::Full(path) => write!(f, "{}: the disk is full", path.display()),
            Self::File(path, error) => {
                write!(f, "{}: {}", path.display(), streamfmt::problem::reason(error))
            }
            Self::Database(path, reason) => write!(f, "{}: {}", path.display(), reason.to_lowercase()),
        }
    }
}

impl std::error::Error for StoreError {}

impl Store {
    /// Opens the store of a data folder, creating it if needed. A damaged database is moved aside, and its readable rows are copied to a
    /// new one ([`Self::take_notices`]).
    pub fn open(data: &Path) -> Result<Self, StoreError> {
        let paths = SessionPaths { folder: data.join("sessions") };
        let path = data.join(DATABASE);
        for folder in [data, &paths.folder] {
            create_private(folder).map_err(|error| StoreError::File(folder.to_owned(), error))?;
        }
        let (database, replaced) = match Database::open(&path) {
            Ok(database) => (database, None),
            Err(StoreError::Damaged(_)) => sql::replace(&path)?,
            Err(error) => return Err(error),
        };
        let mut store = Self { database, paths, notices: Vec::new(), copy_policy: CopyPolicy::default() };
        store.complete(replaced)?;
        Ok(store)
    }

    /// Opens the store of a data folder, and replaces the database if anything is wrong with it ([`Self::check`]).
    pub fn repair(data: &Path) -> Result<Self, StoreError> {
        let mut store = Self::open(data)?;
        store.replace()?;
        Ok(store)
    }

    /// Opens the store of a data folder to list and show its sessions. If the folder can't be written, such as one on a read-only disk or
    /// of another user, its runs are found by their side files, and their rows are kept in memory.
    pub fn open_to_read(data: &Path) -> Result<Self, StoreError> {
        let (paths, path) = (SessionPaths { folder: data.join("sessions") }, data.join("sessions.db"));
        let is_own = is_own(data) && is_own(&paths.folder);
        if is_own && [&paths.folder, &path].into_iter().all(|path| can_write(path)) {
            return Self::open(data);
        }
        // Only a folder that can be read is known to be empty.
        match std::fs::read_dir(&paths.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::File(paths.folder, error));
            }
            _ => {}
        }
        let notices = if path.exists() { vec![StoreNotice::ReadOnly(data.to_owned())] } else { Vec::new() };
        Ok(Self { database: Database::in_memory(&path)?, paths, notices, copy_policy: CopyPolicy::default() })
    }

    /// Calls a function. If the database turns out to be damaged, replaces it and calls the function once more.
    pub fn mended<T>(
        &mut self,
        mut act: impl FnMut(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match act(self) {
            Err(StoreError::Damaged(_)) => {
                self.replace()?;
                act(self)
            }
            done => done,
        }
    }

    fn replace(&mut self) -> Result<(), StoreError> {
        let (database, replaced) = sql::replace(self.database.path())?;
        self.database = database;
        self.complete(replaced)
    }

    /// Completes a database that replaces a damaged one with the rows of the runs that have a side file. Their figures are read by
    /// [`Self::catch_up`].
    fn complete(&mut self, replaced: Option<Replaced>) -> Result<(), StoreError> {
        let Some(Replaced { aside, salvage: Salvage { saved, mut lost } }) = replaced else { return Ok(()) };
        lost.retain(|lost| lost.id.parse().is_ok_and(|id| !self.paths.side_file(&id).exists()));
        let histories = lost.iter().flat_map(|lost| &lost.sources).map(|path| text_path(path));
        let histories = histories.filter(|path| history_exists(path)).collect();
        self.notices.push(StoreNotice::Replaced { aside, saved, lost: lost.len(), histories });
        self.write_missing_rows().map(drop)
    }

    /// Returns the notices for the user since the last call.
    pub fn take_notices(&mut self) -> Vec<StoreNotice> {
        let undecoded = self.database.take_undecoded();
        let count = undecoded.len();
        let first = undecoded.into_iter().next();
        self.notices.extend(first.map(|first| StoreNotice::Undecodable { first, count }));
        std::mem::take(&mut self.notices)
    }

    /// Returns the paths of logs and side files.
    pub fn paths(&self) -> &SessionPaths {
        &self.paths
    }

    /// Returns the folder of the database.
    fn data(&self) -> &Path {
        self.database.path().parent().unwrap_or(self.database.path())
    }
}

/// Whether a file can be written and, with others beside it, created.
fn can_write(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        let is_there = |path: &&Path| path.symlink_metadata().is_ok();
        let folder = path.ancestors().skip(1).find(is_there);
        Some(path)
            .filter(is_there)
            .into_iter()
            .chain(folder)
            .all(|path| access(path, Access::WRITE_OK).is_ok())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        true
    }
}
