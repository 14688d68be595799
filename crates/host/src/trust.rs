//! Which projects are trusted: what a repository brings along acts only after its user said so.
//!
//! ```text
//! files of a project ─▶ Closure (names, bytes, hash) ─▶ Trust (records) ─▶ Standing
//!                                                                  │
//!                              allowance: what an untrusted one may do all the same
//! ```
//!
//! Trust is in the bytes: it holds for all files that were reached from the project's settings and for
//! everything in `.streamfmt/`, as they were when the user looked at them. A change of any of them ends it.
//! The records lie with the user, never in the project.

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
use crate::problem::{Problem, one_line};
use record::TrustRecord;

/// The folder of a project that belongs to this program as a whole.
pub const OWN_FOLDER: &str = ".streamfmt";

/// Largest file in [`OWN_FOLDER`], in bytes.
const LARGEST: usize = 4 << 20;

/// All files of a project that take part in how things are shown, with what is in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The project's folder, as a real path.
    pub root: PathBuf,
    /// The files, by path inside the project with `/` between its parts.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

impl Closure {
    /// What `project` has read so far, and everything in `.streamfmt/`. `project` is a reader that stays inside
    /// the project ([`Files::within`]) and has read all that the settings of the project lead to.
    pub fn of(project: &Files) -> Result<Self, Problem> {
        let root = project.root().unwrap_or(Path::new("")).to_owned();
        let complain = |path: &str, error: FileError| Problem::of(path, error.to_string());
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
                return Err(Problem::of(inside.display().to_string(), "the file name is not UTF-8"));
            };
            files.insert(parts.join("/"), source.bytes);
        }
        Ok(Self { root, files })
    }

    /// What names these files with these contents, wherever the project lies: 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        hash_of(self.files.iter().map(|(name, bytes)| (name.as_str(), &**bytes)))
    }

    /// What is different from `old`: a diff for each file, cleaned, with a mark for what is no text.
    pub fn changes(&self, old: &BTreeMap<String, Arc<[u8]>>) -> String {
        let mut told = String::new();
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
                told.push_str(&clean(&diff.unified_diff().header(&from, &to).to_string()));
            } else {
                let _ = writeln!(told, "--- {from}\n+++ {to}\n  (not a text)");
            }
        }
        told
    }
}

/// The hash of files: SHA-256 over the number of bytes of each name and each content, and the bytes, in order.
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

/// Where a project stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its user trusts these very files.
    Trusted,
    /// Nothing was ever said of it.
    Unknown,
    /// Its files are others than those that were trusted.
    Changed,
    /// Its user denied it whatever is in it.
    Denied,
}

impl Standing {
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

/// What the user said of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustEntry {
    /// The project's folder, as a real path.
    pub root: PathBuf,
    /// The files that are trusted, as they were then; nothing if the project is denied.
    pub files: Option<BTreeMap<String, Arc<[u8]>>>,
}

/// What the user said of projects. Each is a file in a folder of the user's.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    folder: Option<PathBuf>,
    hashes: Vec<String>,
}

impl Trust {
    /// The records in `state`, the folder of what the program remembers ([`Folders::state`](crate::Folders)).
    /// `hashes`: of files that are trusted wherever they lie, with commas between, for pipelines.
    pub fn new(state: Option<&Path>, hashes: Option<&str>) -> Self {
        let hashes = hashes.unwrap_or_default().split(',').map(str::trim).filter(|hash| !hash.is_empty());
        Self {
            folder: state.map(|state| state.join("trust")),
            hashes: hashes.map(str::to_lowercase).collect(),
        }
    }

    /// Where a project stands. A record that can't be relied on is a problem, and counts as none.
    pub fn standing(&self, closure: &Closure) -> Result<Standing, Problem> {
        let entry = self.entry(&closure.root)?;
        Ok(match entry.map(|entry| entry.files) {
            Some(None) => Standing::Denied,
            _ if self.hashes.contains(&closure.hash()) => Standing::Trusted,
            Some(Some(files)) if files == closure.files => Standing::Trusted,
            Some(Some(_)) => Standing::Changed,
            None => Standing::Unknown,
        })
    }

    /// Whether anything may be known of the project in the folder `root`, a real path. If not, its files need not
    /// be looked at: whatever is in them, it is not trusted.
    pub fn may_know(&self, root: &Path) -> bool {
        let is_recorded = |folder: &PathBuf| TrustRecord::named(folder, root).path.exists();
        !self.hashes.is_empty() || self.folder.as_ref().is_some_and(is_recorded)
    }

    /// What was said of the project in the folder `root`, a real path.
    pub fn entry(&self, root: &Path) -> Result<Option<TrustEntry>, Problem> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let entry = TrustRecord::named(folder, root).read()?;
        // Whoever can make two names meet in one record still can't have one project stand for another.
        Ok(entry.filter(|entry| entry.root == root))
    }

    /// Trusts a project as it is in `closure`. Gives the file that says so.
    pub fn allow(&self, closure: &Closure) -> Result<PathBuf, Problem> {
        self.put(&TrustEntry { root: closure.root.clone(), files: Some(closure.files.clone()) })
    }

    /// Denies a project whatever is in it. Gives the file that says so.
    pub fn deny(&self, root: &Path) -> Result<PathBuf, Problem> {
        self.put(&TrustEntry { root: root.to_owned(), files: None })
    }

    fn put(&self, entry: &TrustEntry) -> Result<PathBuf, Problem> {
        let Some(folder) = &self.folder else {
            return Err(Problem::of("trust", "no place to store it: the home directory is unknown"));
        };
        let record = TrustRecord::named(folder, &entry.root);
        record.write(entry)?;
        Ok(record.path)
    }

    /// Forgets what was said of the project in the folder `root`. Whether anything was.
    pub fn forget(&self, root: &Path) -> Result<bool, Problem> {
        let Some(folder) = &self.folder else { return Ok(false) };
        TrustRecord::named(folder, root).remove()
    }

    /// All that was said, by path, and what is wrong with the records that can't be read.
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
