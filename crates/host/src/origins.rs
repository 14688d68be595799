//! Finds the files of the sessions that a history repeats at its beginning, as that of a fork does.
//!
//! The name of such a file ends with the session's id. It is beside the history, or in a folder of an agent's sessions; the embedding
//! program may know others.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use streamfmt_core::pipeline::Origins;
use streamfmt_dialects::DIALECTS;

use crate::side_files::pieces;
use crate::unpack::without_compression;

/// Most entries of folders that are examined for one file.
const MOST_ENTRIES: usize = 65_536;

/// A folder of sessions, and the number of levels of folders between it and the files.
pub type SessionsBelow = (PathBuf, usize);

/// Finds the files of a session that the embedding program knows.
pub type KnownFiles = Box<dyn FnMut(&str) -> Vec<PathBuf> + Send>;

/// Finds the files of sessions that `history` repeats, for its pipeline: beside it, in the folder of sessions that it is in, in `folders`, and
/// last among those that `known` returns for a session.
pub fn origins(history: PathBuf, folders: Vec<SessionsBelow>, mut known: KnownFiles) -> Origins {
    Box::new(move |id| {
        // An id of another form could name a file elsewhere.
        let is_name =
            id.len() > 1 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let own = history.canonicalize().ok().filter(|_| is_name)?;
        let mut left = MOST_ENTRIES;
        let mut places = vec![(own.parent()?.to_owned(), 0)];
        places.extend(folder_of_sessions(&own));
        places.extend(folders.iter().cloned());
        let found = places.iter().find_map(|(folder, depth)| find(folder, *depth, id, &mut left));
        pieces(&found.or_else(|| known(id).into_iter().find(|path| path.is_file()))?)
    })
}

/// The folder of an agent's sessions that a history is in.
fn folder_of_sessions(history: &Path) -> Option<SessionsBelow> {
    let rows = DIALECTS.rows.iter().filter_map(|dialect| dialect.histories.as_ref());
    rows.filter(|histories| histories.work.is_some()).find_map(|histories| {
        let name = (histories.folder)("");
        let folder = history.ancestors().skip(1).take(histories.depth + 1);
        let mut folder = folder.filter(|folder| folder.file_name().is_some_and(|known| *known == *name));
        Some((folder.next()?.to_owned(), histories.depth))
    })
}

/// Finds the file of a session in a folder, or at most `depth` levels below. The last names come first: they are those of the newest files.
fn find(folder: &Path, depth: usize, id: &str, left: &mut usize) -> Option<PathBuf> {
    let mut entries: Vec<DirEntry> = fs::read_dir(folder).ok()?.take(*left).flatten().collect();
    *left -= entries.len();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
    let is_its = |entry: &&DirEntry| {
        let name = without_compression(Path::new(&entry.file_name()));
        let stem = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let before = stem.and_then(|stem| stem.strip_suffix(id));
        before.is_some_and(|before| before.is_empty() || before.ends_with('-'))
    };
    let mut files = entries.iter().filter(is_its).map(DirEntry::path);
    files.find(|path| path.is_file()).or_else(|| {
        // Links to folders aren't followed.
        let is_folder = |entry: &&DirEntry| depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries.iter().filter(is_folder).find_map(|entry| find(&entry.path(), depth - 1, id, left))
    })
}

#[cfg(test)]
mod tests {
    use streamfmt_core::pipeline::{Pipeline, Setup};

    use super::*;
    use crate::Engine;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::TempDir::with_prefix("streamfmt-origins-").unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    /// The text that the search finds for a session.
    fn found(folder: &tempfile::TempDir, history: &str, id: &str) -> Option<String> {
        let none = Box::new(|_: &str| Vec::new());
        let pieces = origins(folder.path().join(history), Vec::new(), none)(id)?;
        Some(String::from_utf8(pieces.flatten().collect()).unwrap())
    }

    #[test]
    fn the_file_is_found_by_the_end_of_its_name() {
        let folder = folder(&[
            ("sessions/2026/11/20/fork.jsonl", "fork"),
            ("sessions/2026/11/20/x-beside.jsonl", "beside"),
            ("sessions/2026/11/19/x-below.jsonl", "below"),
            ("sessions/2026/11/19/x-old.jsonl.zst", "compressed, by its name"),
            ("sessions/2026/11/19/deeper/x-deeper.jsonl", "too deep"),
            ("above.jsonl", "outside of the sessions"),
            ("alone/fork.jsonl", "fork"),
            ("alone/2026/11/19/x-under.jsonl", "not a folder of sessions"),
        ]);
        let fork = "sessions/2026/11/20/fork.jsonl";
        assert_eq!(found(&folder, fork, "beside").as_deref(), Some("beside"));
        assert_eq!(found(&folder, fork, "below").as_deref(), Some("below"));
        assert_eq!(found(&folder, fork, "old").as_deref(), Some("compressed, by its name"));
        for id in ["eside", "deeper", "above", "../fork", "x", ""] {
            assert_eq!(found(&folder, fork, id), None, "{id}");
        }
        assert_eq!(found(&folder, "alone/fork.jsonl", "under"), None);
        assert_eq!(found(&folder, "missing.jsonl", "above"), None);
    }

    #[test]
    fn in_any_pieces_the_same_lines_are_repeated() {
        let meta = |id: &str, more: &str| {
            format!(r#"{{"type":"session_meta","payload":{{"id":"{id}",{more}"cwd":"/home/dev"}}}}"#) + "\n"
        };
        let turn = |name: &str| {
            let line = |kind: &str| {
                format!(r#"{{"type":"event_msg","payload":{{"type":"{kind}","message":"{name} {kind}"}}}}"#)
                    + "\n"
            };
            line("user_message") + &line("agent_message")
        };
        let origin = meta("one", "") + &turn("a") + &turn("b");
        let fork = meta("two", r#""forked_from_id":"one","#) + &meta("one", "") + &turn("a") + &turn("c");
        let folder = folder(&[("x-one.jsonl", &origin), ("x-two.jsonl", &fork)]);
        let path = folder.path().join("x-two.jsonl");
        let engine = Engine::builder().writer("items").build().unwrap();
        let mut whole = String::new();
        engine.format_file(&path, &mut whole).unwrap();
        assert_eq!(whole.matches(r#""repeats":"one""#).count(), 2, "{whole}");
        for size in [1, 7, 100] {
            let origins = Some(origins(path.clone(), Vec::new(), Box::new(|_| Vec::new())));
            let mut pipeline = Pipeline::new(Setup { origins, is_whole: true, ..engine.setup() });
            let mut text = String::new();
            for piece in fork.as_bytes().chunks(size) {
                pipeline.push(piece, &mut text).unwrap();
            }
            pipeline.finish(&mut text).unwrap();
            assert_eq!(text, whole, "{size}");
        }
    }

    #[test]
    fn only_so_many_entries_are_examined() {
        let folder = folder(&[("a/x-one.jsonl", "one")]);
        for (mut left, is_found) in [(2, true), (1, false)] {
            assert_eq!(find(folder.path(), 1, "one", &mut left).is_some(), is_found);
            assert_eq!(left, 0);
        }
    }
}
