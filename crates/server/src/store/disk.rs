//! What sessions take on the disk.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::copies::size_below;
use super::record::SourceKind;
use super::{DATABASE, Store, StoreError};
use crate::run_id::RunId;

/// The bytes that a session takes. The histories of agents aren't counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiskUse {
    /// Those of the log of a run: of a shared one, its own part.
    pub log_bytes: u64,
    /// Those of its standard error.
    pub stderr_bytes: u64,
    /// Those of copies.
    pub copies_bytes: u64,
}

/// A session, or the sum of several, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiskLine<'a> {
    /// The version of this format: 1.
    pub v: u32,
    /// The id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// Whether it is the sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<bool>,
    /// What it takes.
    #[serde(flatten)]
    pub disk: DiskUse,
    /// With the sum: what the database takes, in which all sessions are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
}

impl DiskUse {
    /// All of them.
    pub fn sum(&self) -> u64 {
        self.log_bytes + self.stderr_bytes + self.copies_bytes
    }
}

impl Store {
    /// Returns what a session takes on the disk.
    pub fn disk_use(&self, id: &str) -> Result<DiskUse, StoreError> {
        let mut disk = DiskUse::default();
        for source in self.sources(id)?.iter().filter(|source| source.kind == SourceKind::Run) {
            let size = size_of(&source.path);
            let is_shared = self.database.is_shared(&source.path, id)?;
            disk.log_bytes += source.size.filter(|_| is_shared).unwrap_or(size).min(size);
            disk.stderr_bytes += source.errors.as_deref().map(size_of).unwrap_or_default();
        }
        let copies = id.parse::<RunId>().ok().and_then(|id| self.copies_folder(&id));
        disk.copies_bytes = copies.as_deref().map(size_below).unwrap_or_default();
        Ok(disk)
    }

    /// Returns the bytes of the database.
    pub fn database_bytes(&self) -> u64 {
        ["", "-wal", "-shm"]
            .iter()
            .map(|ending| size_of(&self.data().join(format!("{DATABASE}{ending}"))))
            .sum()
    }
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |about| about.len())
}
