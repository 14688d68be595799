//! Trust in projects: the files of a repository take effect only after the user approved them.
//!
//! ```text
//! files of a project ─▶ Closure (names, bytes, hash) ─▶ Trust (records) ─▶ TrustStatus
//!                                                                  │
//!                              allowance: the settings that an untrusted project may use
//! ```
//!
//! Trust depends on contents: it applies to all files that are reachable from the project's settings, and to everything in
//! `.streamfmt/`, as they were when the user approved them. Any change to them revokes it. The records are stored with the user's
//! files, never in the project.

pub mod disk;
mod record;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use similar::TextDiff;
use streamfmt_core::text::clean;

use crate::files::{FileError, Files};
use crate::problem::{Problem, ProblemKind, one_line};
use record::TrustRecord;

/// The folder in a project that is reserved for this program.
pub const OWN_FOLDER: &str = ".streamfmt";

/// Largest file in [`OWN_FOLDER`], in bytes.
const LARGEST: usize = 4 << 20;

/// The files of a project that affect the presentation, with their contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The project's folder, as a real path.
    pub root: PathBuf,
    /// The files, by path inside the project with `/` between its parts.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

impl Closure {
    /// Collects the files that `project` has read so far, and everything in `.streamfmt/`. `project` must be restricted to the
    /// project ([`Files::within`]), and must have read everything that the project's settings refer to.
    pub fn of(project: &Files) -> Result<Self, Problem> {
        let root = project.root().unwrap_or(Path::new("")).to_owned();
        let complain =
            |path: &str, error: FileError| Problem::of(ProblemKind::Unreadable, path, error.to_string());
        let own = match project.walk(Path::new(OWN_FOLDER), |_| true) {
            Err(FileError::Missing) => Vec::new(),
            walked => walked.map_err(|error| complain(OWN_FOLDER, error))?,
        };
        for name in own {
            let path = format!("{OWN_FOLDER}/{name}");
            project.read(Path::new(&path), LARGEST).map_err(|error| complain(&path, error))?;
        }
        let mut files = BTreeMap::new();
        for source in project.reached() {
            let inside = source.path.strip_prefix(&root).unwrap_or(&source.path);
            let parts: Option<Vec<&str>> = inside.iter().map(|part| part.to_str()).collect();
            let Some(parts) = parts else {
                let name = inside.display().to_string();
                return Err(Problem::of(ProblemKind::Unreadable, name, "the file name is not UTF-8"));
            };
            files.insert(parts.join("/"), source.bytes);
        }
        Ok(Self { root, files })
    }

    /// Identifies these files and contents, independent of the project's location: 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        hash_of(self.files.iter().map(|(name, bytes)| (name.as_str(), &**bytes)))
    }

    /// The differences from `old`: a clean diff for each file, with a remark for files that aren't text.
    pub fn changes(&self, old: &BTreeMap<String, Arc<[u8]>>) -> String {
        let mut diffs = String::new();
        let mut names: Vec<&String> = old.keys().chain(self.files.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let (before, after) = (old.get(name), self.files.get(name));
            if before == after {
                continue;
            }
            let text = |bytes: Option<&Arc<[u8]>>| {
                bytes.map_or(Some(String::new()), |bytes| std::str::from_utf8(bytes).ok().map(str::to_owned))
            };
            let shown = one_line(name);
            let header = |side: &str, is_there: bool| {
                if is_there { format!("{side}/{shown}") } else { "/dev/null".to_owned() }
            };
            let (from, to) = (header("a", before.is_some()), header("b", after.is_some()));
            if let (Some(before), Some(after)) = (text(before), text(after)) {
                let diff = TextDiff::from_lines(&before, &after);
                diffs.push_str(&clean(&diff.unified_diff().header(&from, &to).to_string()));
            } else {
                let _ = writeln!(diffs, "--- {from}\n+++ {to}\n  (not a text)");
            }
        }
        diffs
    }
}

/// The hash of files: SHA-256 over each name and each content, in order, each preceded by its length.
pub(crate) fn hash_of<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hasher = Sha256::new();
    for (name, bytes) in files {
        for part in [name.as_bytes(), bytes] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
    }
    HEXLOWER.encode(&hasher.finalize())
}

/// The trust in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustStatus {
    /// The user trusts exactly these files.
    Trusted,
    /// There is no record of it.
    Unknown,
    /// Its files differ from those that were trusted.
    Changed,
    /// The user denied it, regardless of its contents.
    Denied,
}

impl TrustStatus {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Unknown => "not trusted",
            Self::Changed => "changed since it was trusted",
            Self::Denied => "denied",
        }
    }
}

/// The user's decision about one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustEntry {
    /// The project's folder, as a real path.
    pub root: PathBuf,
    /// The trusted files with their contents. `None` if the project is denied.
    pub files: Option<BTreeMap<String, Arc<[u8]>>>,
}

/// The user's decisions about projects. Each is a file in a folder of the user.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    folder: Option<PathBuf>,
    hashes: Vec<String>,
}

impl Trust {
    /// The records in `state`, the folder of the program's state ([`Folders::state`](crate::Folders)). `hashes` are those of
    /// files that are trusted in any location, separated by commas, for pipelines.
    pub fn new(state: Option<&Path>, hashes: Option<&str>) -> Self {
        let hashes = hashes.unwrap_or_default().split(',').map(str::trim).filter(|hash| !hash.is_empty());
        Self {
            folder: state.map(|state| state.join("trust")),
            hashes: hashes.map(str::to_lowercase).collect(),
        }
    }

    /// The trust in a project. An unreliable record is a problem, and counts as missing.
    pub fn status(&self, closure: &Closure) -> Result<TrustStatus, Problem> {
        let entry = self.entry(&closure.root)?;
        Ok(match entry.map(|entry| entry.files) {
            Some(None) => TrustStatus::Denied,
            _ if self.hashes.contains(&closure.hash()) => TrustStatus::Trusted,
            Some(Some(files)) if files == closure.files => TrustStatus::Trusted,
            Some(Some(_)) => TrustStatus::Changed,
            None => TrustStatus::Unknown,
        })
    }

    /// Whether there may be a decision about the project in the folder `root`, a real path. If not, the project isn't trusted,
    /// and its files needn't be read.
    pub fn may_know(&self, root: &Path) -> bool {
        let is_recorded = |folder: &PathBuf| TrustRecord::named(folder, root).path.exists();
        !self.hashes.is_empty() || self.folder.as_ref().is_some_and(is_recorded)
    }

    /// The decision about the project in the folder `root`, a real path.
    pub fn entry(&self, root: &Path) -> Result<Option<TrustEntry>, Problem> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let entry = TrustRecord::named(folder, root).read()?;
        // Even with a hash collision, one project can't use the record of another.
        Ok(entry.filter(|entry| entry.root == root))
    }

    /// Trusts a project with exactly the files in `closure`. Returns the path of the record.
    pub fn allow(&self, closure: &Closure) -> Result<PathBuf, Problem> {
        self.put(&TrustEntry { root: closure.root.clone(), files: Some(closure.files.clone()) })
    }

    /// Denies a project, regardless of its contents. Returns the path of the record.
    pub fn deny(&self, root: &Path) -> Result<PathBuf, Problem> {
        self.put(&TrustEntry { root: root.to_owned(), files: None })
    }

    fn put(&self, entry: &TrustEntry) -> Result<PathBuf, Problem> {
        let Some(folder) = &self.folder else {
            let message = "no place to store it: the home directory is unknown";
            return Err(Problem::of(ProblemKind::Unwritable, "trust", message));
        };
        let record = TrustRecord::named(folder, &entry.root);
        record.write(entry)?;
        Ok(record.path)
    }

    /// Removes the decision about the project in the folder `root`. Returns whether there was one.
    pub fn forget(&self, root: &Path) -> Result<bool, Problem> {
        let Some(folder) = &self.folder else { return Ok(false) };
        TrustRecord::named(folder, root).remove()
    }

    /// All decisions, sorted by path, and the problems of unreadable records.
    pub fn entries(&self) -> (Vec<TrustEntry>, Vec<Problem>) {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        for record in self.folder.iter().flat_map(|folder| TrustRecord::all(folder)) {
            match record.read() {
                Ok(entry) => entries.extend(entry),
                Err(problem) => problems.push(problem),
            }
        }
        entries.sort_by(|a, b| a.root.cmp(&b.root));
        (entries, problems)
    }
}

#[cfg(test)]
mod tests;
