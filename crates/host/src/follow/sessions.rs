//! Finds the session in a folder that appeared last, and notices when a newer one appears.
//!
//! A session is a file with the name of one ([`is_named_as_session`]) that wasn't written by a sub-agent. A file appears when it
//! is created; one that was modified before its creation is a copy, and counts from its modification. Each is new only once, even
//! if it grows or is replaced, also by its compressed form. A folder is read again only when entries were added to it or removed.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use streamfmt_core::json::Record;
use streamfmt_dialects::DIALECTS;

use crate::histories::{
    WorkFilter, beginning_of_session, first_records_of_session, is_document, is_named_as_session,
    is_session_of_text, is_whole_beginning, name_of,
};
use crate::side_files::{holds_side_files, is_side_file};
use crate::unpack::without_compression;

/// The depth of folders below the given one.
const DEEPEST: usize = 4;
/// The most folders that are known at the same time.
const MOST_FOLDERS: usize = 4_096;
/// The most entries of a folder that are read.
const MOST_ENTRIES: usize = 65_536;
/// Most files that have appeared and can't be classified yet; the newest are kept.
const MOST_SILENT: usize = 64;
/// The most files that are opened to find a session, the newest first.
const MOST_OPENED: usize = 4_096;
/// Most files that are remembered, so that none counts as new when it grows or is replaced.
const MOST_SEEN: usize = 1 << 20;

/// The limits of a search.
#[derive(Clone, Copy)]
struct SearchLimits {
    folders: usize,
    entries: usize,
    silent: usize,
    opened: usize,
    seen: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            folders: MOST_FOLDERS,
            entries: MOST_ENTRIES,
            silent: MOST_SILENT,
            opened: MOST_OPENED,
            seen: MOST_SEEN,
        }
    }
}

/// Number of lines of a file of records that are read to classify it.
const LINES: usize = 16;
/// A folder that was modified less than this ago may change again without a new modification time.
const TICK: Duration = Duration::from_millis(100);

/// A folder to search for sessions.
pub struct SessionFolder {
    /// Its path.
    pub path: PathBuf,
    /// The depth of folders below it that are searched.
    pub depth: usize,
    /// Whether a file with this name is one of its sessions. If it isn't set, names of any agent's sessions are.
    pub is_named: Option<fn(&str) -> bool>,
    /// Selects the sessions of one working directory, if the folder contains those of all.
    pub work: Option<WorkFilter>,
}

impl SessionFolder {
    /// A folder given by the user.
    pub fn given(path: PathBuf) -> Self {
        Self { path, depth: DEEPEST, is_named: None, work: None }
    }
}

/// The sessions of some folders.
#[derive(Default)]
pub struct Sessions {
    folders: Vec<SessionFolder>,
    limits: SearchLimits,
    /// Files that this program writes, which aren't sessions.
    written: Vec<PathBuf>,
    /// The known state of each folder and of those below it.
    known: BTreeMap<PathBuf, KnownFolder>,
    current: Option<AppearedSession>,
    /// Hashes of the paths of all files that were found.
    seen: HashSet<u64>,
    /// Files that can't be classified yet.
    silent: Vec<UndecidedFile>,
    /// The newer session to follow next.
    next: Option<AppearedSession>,
}

/// The known state of a folder.
struct KnownFolder {
    /// The last time that entries were added or removed. `None` if a later change could have the same time.
    changed: Option<SystemTime>,
    below: Vec<PathBuf>,
}

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AppearedSession {
    /// Whether it contains lines of a known agent.
    is_known: bool,
    appeared: SystemTime,
    path: PathBuf,
}

struct UndecidedFile {
    /// The index of its folder.
    folder: usize,
    found: AppearedSession,
    size: u64,
}

/// The class of a file, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    /// Too short to classify.
    Silent,
    /// No session, or one of another working directory.
    Other,
    /// Lines of no known agent, so far.
    Unclear,
    /// Lines of no known agent.
    Unknown,
    /// A session of a known agent.
    Known,
}

impl Sessions {
    /// The sessions in `folders`. `written` contains the real paths of files to ignore.
    pub fn new(folders: Vec<SessionFolder>, written: Vec<PathBuf>) -> Self {
        Self { folders, written, ..Self::default() }
    }

    /// Checks whether a session appeared after the one that was taken last.
    pub fn look(&mut self) -> bool {
        let mut found = self.new_files();
        found.extend(self.begun_files());
        found.sort_by(|(_, one), (_, other)| other.cmp(one));
        let mut newest: Option<AppearedSession> = None;
        for (folder, file) in found.into_iter().take(self.limits.opened) {
            let kind = self.kind_of(folder, &file.path);
            let file = AppearedSession { is_known: kind == FileKind::Known, ..file };
            if let FileKind::Silent | FileKind::Unclear = kind {
                let size = size_of(&file.path);
                self.silent.push(UndecidedFile { folder, found: file.clone(), size });
            }
            if let FileKind::Unclear | FileKind::Unknown | FileKind::Known = kind {
                newest = newest.max(Some(file));
            }
            if kind == FileKind::Known {
                break;
            }
        }
        self.silent.sort_by(|one, other| other.found.cmp(&one.found));
        self.silent.truncate(self.limits.silent);
        let is_newer = |newest: &AppearedSession| {
            let current = self.current.as_ref().max(self.next.as_ref());
            current.is_none_or(|current| newest > current)
        };
        self.next = newest.filter(is_newer).or_else(|| self.next.take());
        self.has_next()
    }

    /// Whether a newer session was found and not taken yet.
    pub fn has_next(&self) -> bool {
        self.next.is_some()
    }

    /// Takes the newest session, if it wasn't taken yet.
    pub fn take(&mut self) -> Option<PathBuf> {
        let next = self.next.take()?;
        let path = next.path.clone();
        self.current = Some(next);
        Some(path)
    }

    /// The folders in which a session may appear, the last modified first.
    pub fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<_> = self.known.iter().collect();
        // An uncertain time means that it was modified just now.
        places.sort_by_key(|(_, known)| std::cmp::Reverse((known.changed.is_none(), known.changed)));
        let given = self.folders.iter().map(|folder| &folder.path);
        given.chain(places.into_iter().map(|(path, _)| path)).cloned().collect()
    }

    /// The searched folders, for messages.
    pub fn shown_folders(&self) -> String {
        let names: Vec<String> =
            self.folders.iter().map(|folder| folder.path.display().to_string()).collect();
        names.join(" and ")
    }

    /// The new files in folders that changed, each with the index of its folder.
    fn new_files(&mut self) -> Vec<(usize, AppearedSession)> {
        let mut files = Vec::new();
        for index in 0..self.folders.len() {
            let SessionFolder { path, depth, is_named, .. } = &self.folders[index];
            let is_named = *is_named;
            let mut open = vec![(path.clone(), *depth)];
            while let Some((folder, depth)) = open.pop() {
                let mut each = |found: AppearedSession| {
                    let is_its = is_named
                        .is_none_or(|is_named| name_of(&found.path).is_some_and(|name| is_named(&name)));
                    files.extend(is_its.then_some((index, found)));
                };
                self.read(&folder, depth, &mut each);
                let below = self.known.get(&folder).into_iter().flat_map(|known| &known.below);
                open.extend(below.map(|folder| (folder.clone(), depth - 1)));
            }
        }
        // A file comes before its compressed form.
        files.sort_by(|(_, one), (_, other)| one.path.cmp(&other.path));
        files.retain(|(_, file)| {
            let plain = without_compression(&file.path);
            let is_copy = plain != file.path && self.seen.contains(&hash_of(&plain));
            let is_new =
                !is_copy && self.seen.len() < self.limits.seen && self.seen.insert(hash_of(&file.path));
            is_new && self.is_newer(file)
        });
        files
    }

    /// Reads a folder, if entries in it were added or removed.
    fn read(&mut self, folder: &Path, depth: usize, each: &mut dyn FnMut(AppearedSession)) {
        let changed = fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
        let known = self.known.get(folder);
        let Some(changed) = changed else {
            self.known.remove(folder);
            return;
        };
        if known.is_some_and(|known| known.changed == Some(changed))
            || known.is_none() && self.known.len() >= self.limits.folders
        {
            return;
        }
        let is_sure = changed.elapsed().is_ok_and(|age| age > TICK);
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut below = Vec::new();
        for entry in entries.take(self.limits.entries).flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            let is_folder = kind.is_dir() && depth > 0;
            if is_folder && !is_hidden(&name) && !name.to_str().is_some_and(holds_side_files) {
                below.push(path);
            } else if is_named_as_session(&path) {
                let Some(appeared) = appeared(&path) else { continue };
                each(AppearedSession { is_known: true, appeared, path });
            }
        }
        // Removed folders below it are forgotten.
        below.sort();
        let gone = self.known.get(folder).into_iter().flat_map(|known| &known.below);
        let gone: Vec<PathBuf> = gone.filter(|path| below.binary_search(path).is_err()).cloned().collect();
        self.known.retain(|path, _| !gone.iter().any(|gone| path.starts_with(gone)));
        self.known
            .insert(folder.to_owned(), KnownFolder { changed: Some(changed).filter(|_| is_sure), below });
    }

    /// Files that couldn't be classified and have grown since.
    fn begun_files(&mut self) -> Vec<(usize, AppearedSession)> {
        let silent = std::mem::take(&mut self.silent);
        let (grown, still): (Vec<_>, Vec<_>) =
            silent.into_iter().partition(|silent| size_of(&silent.found.path) != silent.size);
        self.silent = still;
        grown
            .into_iter()
            .map(|silent| (silent.folder, silent.found))
            .filter(|(_, file)| self.is_newer(file))
            .collect()
    }

    /// Whether a file appeared after the session that was taken last.
    fn is_newer(&self, file: &AppearedSession) -> bool {
        self.current.as_ref().is_none_or(|current| {
            let is_later = (file.appeared, &file.path) > (current.appeared, &current.path);
            file.path != current.path && (is_later || !current.is_known)
        })
    }

    fn kind_of(&self, folder: usize, path: &Path) -> FileKind {
        let name = without_compression(path);
        let name = name.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.canonicalize().is_ok_and(|real| self.written.contains(&real)) {
            return FileKind::Other;
        }
        let Ok(beginning) = File::open(path).and_then(|file| beginning_of_session(path, file)) else {
            return FileKind::Other;
        };
        let is_document = is_document(&without_compression(path));
        let is_all = is_document || is_whole_beginning(&beginning);
        let text = String::from_utf8_lossy(&beginning);
        let records = if is_document {
            first_records_of_session(&beginning)
        } else {
            let lines = text.lines().take(LINES);
            lines.map_while(|line| Record::from_line(line.to_owned()).ok()).collect()
        };
        let work = self.folders[folder].work.as_ref();
        let Some(first) = records.first() else {
            // The first line, or the document, is incomplete, or no record.
            let is_silent = is_all && (is_document || !text.contains('\n'));
            return match work {
                _ if is_silent => FileKind::Silent,
                Some(_) => FileKind::Other,
                None if is_session_of_text(&beginning) => FileKind::Known,
                None => FileKind::Unknown,
            };
        };
        if is_side_file(name, first) || work.is_some_and(|filter| !filter.fits(path, first.root())) {
            FileKind::Other
        } else if records.iter().any(|record| DIALECTS.is_event(record.root())) {
            FileKind::Known
        } else if is_document {
            FileKind::Other
        } else if is_all && records.len() < LINES {
            FileKind::Unclear
        } else {
            FileKind::Unknown
        }
    }
}

fn hash_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// The time at which a file appeared.
fn appeared(path: &Path) -> Option<SystemTime> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let (created, modified) = (metadata.created().ok(), metadata.modified().ok());
    created.into_iter().chain(modified).min()
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n";

    /// Files, each with its text, that appeared one after the other.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::TempDir::with_prefix("streamfmt-sessions-").unwrap();
        for (second, (name, text)) in files.iter().enumerate() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let appeared = SystemTime::UNIX_EPOCH + Duration::from_secs(second as u64);
            File::options().write(true).open(&path).unwrap().set_modified(appeared).unwrap();
        }
        folder
    }

    fn sessions(folder: &tempfile::TempDir, limits: SearchLimits) -> Sessions {
        let folders = vec![SessionFolder::given(folder.path().to_owned())];
        Sessions { folders, limits, ..Sessions::default() }
    }

    /// The session that a search finds, below the folder.
    fn found(folder: &tempfile::TempDir, sessions: &mut Sessions) -> Option<String> {
        sessions.look();
        let path = sessions.take()?;
        Some(path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn folders_below_the_deepest_are_not_searched() {
        for (name, is_found) in [("a/b/c/d/s.jsonl", true), ("a/b/c/d/e/s.jsonl", false)] {
            let folder = folder(&[(name, LINE)]);
            let found = found(&folder, &mut sessions(&folder, SearchLimits::default()));
            assert_eq!(found.is_some(), is_found, "{name}");
        }
    }

    #[test]
    fn at_a_limit_the_newest_are_found() {
        let all = SearchLimits::default();
        // No folder is left out unless there are too many. The folders of later days are searched first.
        let days = folder(&[("02/late.jsonl", LINE), ("01/newest.jsonl", LINE)]);
        for (folders, newest) in [(3, "01/newest.jsonl"), (2, "02/late.jsonl")] {
            let limits = SearchLimits { folders, ..all };
            assert_eq!(found(&days, &mut sessions(&days, limits)).as_deref(), Some(newest), "{folders}");
        }
        // Files are opened from the newest on.
        let other = folder(&[("s.jsonl", LINE), ("agent-a.jsonl", LINE)]);
        for (opened, newest) in [(2, Some("s.jsonl")), (1, None)] {
            let limits = SearchLimits { opened, ..all };
            assert_eq!(found(&other, &mut sessions(&other, limits)).as_deref(), newest, "{opened}");
        }
        // Of files without a line, the newest are kept until they have one.
        for (silent, grows, is_found) in
            [(2, "old.jsonl", true), (1, "old.jsonl", false), (1, "new.jsonl", true)]
        {
            let empty = folder(&[("old.jsonl", ""), ("new.jsonl", "")]);
            let mut sessions = sessions(&empty, SearchLimits { silent, ..all });
            assert_eq!(found(&empty, &mut sessions), None);
            fs::write(empty.path().join(grows), LINE).unwrap();
            assert_eq!(found(&empty, &mut sessions).is_some(), is_found, "{silent} {grows}");
        }
    }

    #[test]
    fn so_many_files_are_examined_and_remembered() {
        let two = folder(&[("a.jsonl", LINE), ("b.jsonl", LINE)]);
        let all = SearchLimits::default();
        for (limits, count) in
            [(all, 2), (SearchLimits { entries: 1, ..all }, 1), (SearchLimits { seen: 1, ..all }, 1)]
        {
            assert_eq!(sessions(&two, limits).new_files().len(), count);
        }
    }
}
