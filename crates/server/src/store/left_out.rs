//! The sessions that were removed for good: an import leaves them out.
//!
//! The file holds hashes only, so that nothing of a removed session is left.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::record::SessionRun;
use super::{Store, StoreError, sql};
use crate::path_text::path_text;
use crate::side_draft;

/// The name of the file in a data folder.
const FILE: &str = "removed-sessions";

/// Identifies a session: by the agent and its own id, or by its file if it has none.
pub(super) fn session_mark(run: &SessionRun, file: &Path) -> String {
    let name = match &run.agent_session {
        Some(session) => format!("{}\0{session}", run.agent.as_deref().unwrap_or_default()),
        None => format!("\0{}", path_text(file)),
    };
    HEXLOWER.encode(Sha256::digest(name).as_ref())
}

impl Store {
    /// Returns the marks of all sessions that were removed for good.
    pub(super) fn left_out(&self) -> Result<HashSet<String>, StoreError> {
        let path = self.left_out_file();
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashSet::new()),
            text => {
                let text = text.map_err(|error| StoreError::File(path, error))?;
                Ok(text.lines().map(str::to_owned).collect())
            }
        }
    }

    /// Leaves sessions out of later imports.
    pub(super) fn leave_out(&self, ids: &[String]) -> Result<(), StoreError> {
        let mut marks = Vec::new();
        for id in ids {
            let Some(row) = self.database.session(id)? else { continue };
            let sources = self.sources(id)?;
            marks.extend(sources.iter().map(|source| session_mark(&row.run, &source.path)));
            // Another session may have been written to its path.
            marks.extend(row.run.agent_session.as_ref().map(|_| session_mark(&row.run, Path::new(""))));
        }
        self.change_left_out(|known| known.extend(marks))
    }

    /// Imports a session again.
    pub(super) fn take_in(&self, mark: &str) -> Result<(), StoreError> {
        self.change_left_out(|known| known.retain(|known| known != mark))
    }

    fn change_left_out(&self, change: impl FnOnce(&mut HashSet<String>)) -> Result<(), StoreError> {
        let _lock = sql::lock(self.database.path())?;
        let mut known = self.left_out()?;
        let before = known.clone();
        change(&mut known);
        if known == before {
            return Ok(());
        }
        let mut marks: Vec<String> = known.into_iter().collect();
        marks.sort();
        let text: String = marks.into_iter().map(|mark| mark + "\n").collect();
        let path = self.left_out_file();
        let written = side_draft::write(text.as_bytes(), &path, &path.with_extension("tmp"), true);
        written.map_err(|error| StoreError::File(path, error))
    }

    fn left_out_file(&self) -> PathBuf {
        self.data().join(FILE)
    }
}
