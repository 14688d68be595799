//! Finds the files of sub-agents that belong to a session's history.
//!
//! A dialect's row defines where they are and how they are named, each with or without a meta file that names the call that
//! started the sub-agent. Here they are only found; their contents determine where they belong.

mod growing;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use streamfmt_core::dialect::{Beginning, SideFiles};
use streamfmt_core::item::{FactRef, Item};
use streamfmt_core::json::Record;
use streamfmt_core::pipeline::{Pieces, Subagents};
use streamfmt_dialects::DIALECTS;

use crate::histories::{is_document, read_document};
use crate::unpack::{UnpackedReader, without_compression};

pub use growing::GrowingSideFiles;

/// Most entries of a folder that are examined.
const MOST_ENTRIES: usize = 65_536;

/// How deep the folders of a session's own sub-agents are searched.
const DEEPEST: usize = 4;

/// Most files found for one history.
const MOST_FILES: usize = 4_096;

/// The limits of a search.
#[derive(Clone, Copy)]
struct SideLimits {
    entries: usize,
    files: usize,
}

impl Default for SideLimits {
    fn default() -> Self {
        Self { entries: MOST_ENTRIES, files: MOST_FILES }
    }
}

/// Largest meta file that is read.
const LARGEST_META: u64 = 64 * 1024;

/// Size of the pieces of a file, in bytes.
const PIECE: usize = 64 * 1024;

/// Most bytes of a sub-agent's file that are read to find its first message.
const LARGEST_BEGINNING: u64 = 1024 * 1024;

/// A file with the messages of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideFile {
    /// Its path.
    pub path: PathBuf,
    /// The sub-agent's id, according to the file's name.
    pub agent_id: String,
    /// The call that started it, if a meta file names it.
    pub call: Option<String>,
    /// The session to which it belongs, if its folder names it.
    pub session: Option<String>,
}

/// The rows of the dialects about such files.
fn layouts() -> impl Iterator<Item = &'static SideFiles> {
    DIALECTS.rows.iter().filter_map(|dialect| dialect.side_files.as_ref())
}

/// Finds the sub-agents' files of a history for its pipeline. Each file is read once: below the call that its meta file names, or
/// whose prompt it starts with, or else below the result that names its agent.
///
/// The search starts with the first such call of a history.
pub fn subagents(history: PathBuf, given: Vec<PathBuf>) -> Subagents {
    subagents_in(move |session| found_beside(&history, Some(session), &given, SideLimits::default()))
}

/// Finds the sub-agents of a history among these files, which may be anywhere: see [`subagents`].
pub fn subagents_among(mut files: Vec<SideFile>) -> Subagents {
    subagents_in(move |_| std::mem::take(&mut files))
}

fn subagents_in(mut find: impl FnMut(&str) -> Vec<SideFile> + Send + 'static) -> Subagents {
    let mut files: Option<Vec<SideFileStart>> = None;
    Box::new(move |item| {
        let session = layouts().find_map(|layout| (layout.session)(item))?;
        let files = files.get_or_insert_with(|| of_session(find(&session), &session));
        let starter = Starter::of(item);
        pieces(&files.remove(starter.find(files, &session)?).file.path)
    })
}

/// Those of the files that belong to a session, by their beginnings.
fn of_session(files: Vec<SideFile>, session: &str) -> Vec<SideFileStart> {
    files.into_iter().filter_map(SideFileStart::of).filter(|file| file.session == session).collect()
}

/// The files of sub-agents that belong to `history`, which is that of a session with this id, each with its meta file, if there is one.
pub fn side_files_of(history: &Path, session: &str) -> Vec<(SideFile, Option<PathBuf>)> {
    let found = of_session(found_beside(history, Some(session), &[], SideLimits::default()), session);
    let with_meta = |SideFileStart { file, session, .. }| {
        let meta = layouts().map(|layout| meta_of(&file.path, layout));
        let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
        let meta = meta.filter(|meta| *meta != file.path).find(is_file);
        (SideFile { session: Some(session), ..file }, meta)
    };
    found.into_iter().map(with_meta).collect()
}

/// The files of all sub-agents in the folders of a session, also of those that no call can have started: those of workflows lie in folders
/// further down. Not those that lie beside the histories of several sessions.
pub fn side_files_below(history: &Path, session: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let name = without_compression(history);
    let stem = name.file_stem().unwrap_or_default();
    let is_own =
        |place: &&SideFolder| place.session.is_some() || place.folder.iter().any(|part| part == stem);
    for place in places(history, Some(session)).iter().filter(is_own) {
        files_below(&place.folder, place.layout, DEEPEST, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// Finds the files of sub-agents in a folder, and in those below it. Links aren't followed.
fn files_below(folder: &Path, layout: &SideFiles, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(MOST_ENTRIES).flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            files_below(&entry.path(), layout, depth - 1, found);
        }
        let name = without_compression(Path::new(&entry.file_name()));
        let is_agent = name.to_str().and_then(layout.agent).is_some();
        if kind.is_file() && is_agent && found.len() < MOST_FILES {
            found.push(entry.path());
        }
    }
}

/// The item that identifies the file of a sub-agent: the call that may have started it, or that call's result.
struct Starter {
    /// The item's id.
    id: String,
    /// The sub-agent's task.
    prompt: Option<String>,
    /// The sub-agent's id.
    agent: Option<String>,
}

impl Starter {
    fn of(item: &Item) -> Self {
        let does = item.does();
        Self {
            id: item.id.as_str().to_owned(),
            prompt: does.get("prompt").and_then(FactRef::str).map(Cow::into_owned),
            agent: item.fact("agent").and_then(FactRef::str).map(Cow::into_owned),
        }
    }

    /// The index of the file that it started, among the `files` of its `session`.
    fn find(&self, files: &[SideFileStart], session: &str) -> Option<usize> {
        let by = |fits: &dyn Fn(&SideFileStart) -> bool| {
            files.iter().position(|file| file.session == session && fits(file))
        };
        by(&|file| file.file.call.as_ref() == Some(&self.id))
            .or_else(|| by(&|file| file.file.call.is_none() && self.prompt.as_ref() == Some(&file.prompt)))
            .or_else(|| by(&|file| self.agent.as_ref() == Some(&file.file.agent_id)))
    }
}

/// A sub-agent's file with the facts from its beginning.
struct SideFileStart {
    file: SideFile,
    session: String,
    prompt: String,
}

impl SideFileStart {
    /// Reads the beginning of a file. Returns `None` if it isn't a sub-agent's, or only a warm-up.
    fn of(file: SideFile) -> Option<Self> {
        let begun = beginning(&file.path)?;
        Self::begun(file, begun)
    }

    /// A file with this beginning.
    fn begun(mut file: SideFile, begun: Beginning) -> Option<Self> {
        let session = file.session.take().or(begun.session)?;
        Some(Self { file, session, prompt: begun.prompt? })
    }
}

/// The facts from the beginning of a file, if it contains enough.
fn beginning(path: &Path) -> Option<Beginning> {
    let of_line = |line: &str| {
        let record = Record::from_line(line.trim_end().to_owned()).ok()?;
        layouts().find_map(|layout| (layout.beginning)(record.root()))
    };
    let mut file = File::open(path).ok()?;
    if is_document(&without_compression(path)) {
        return of_line(&String::from_utf8(read_document(&mut file).ok()??).ok()?);
    }
    let mut lines = BufReader::new(UnpackedReader::new(file).take(LARGEST_BEGINNING)).lines();
    lines.find_map(|line| of_line(&line.ok()?))
}

/// The bytes of a file, decompressed, in pieces; those of a document as one line. A read error ends them.
pub(crate) fn pieces(path: &Path) -> Option<Pieces> {
    let mut file = File::open(path).ok()?;
    if is_document(&without_compression(path)) {
        return Some(Box::new(std::iter::once(read_document(&mut file).ok()??)));
    }
    let mut file = UnpackedReader::new(file);
    Some(Box::new(std::iter::from_fn(move || {
        let mut piece = vec![0; PIECE];
        let length = file.read(&mut piece).ok().filter(|length| *length > 0)?;
        piece.truncate(length);
        Some(piece)
    })))
}

/// Whether a file with this name and first record is a sub-agent's.
pub fn is_side_file(name: &str, first: &Record) -> bool {
    let begins_so =
        |layout: &SideFiles| (layout.beginning)(first.root()).is_some_and(|begun| begun.session.is_some());
    layouts().any(|layout| (layout.agent)(name).is_some() && (!layout.is_named_alike || begins_so(layout)))
}

/// Whether a file with this name contains a sub-agent's messages, and no history does.
pub fn is_named_as_side_file(name: &str) -> bool {
    layouts().any(|layout| !layout.is_named_alike && (layout.agent)(name).is_some())
}

/// Whether a folder with this name contains sub-agents' files, below or beside their history.
pub fn holds_side_files(name: &str) -> bool {
    let folders = layouts().flat_map(|layout| layout.folders);
    folders.filter_map(|folder| Path::new(folder).file_name()).any(|known| known == name)
}

/// The files of sub-agents that may belong to `history`, sorted by name, each agent once.
///
/// The history and the files in `given` are excluded, since they are shown separately. So are links that leave their folder, and
/// the helpers of compaction.
pub fn side_files(history: &Path, given: &[PathBuf]) -> Vec<SideFile> {
    found_beside(history, None, given, SideLimits::default())
}

/// The files of sub-agents that may belong to `history`, if it is that of a session with this id.
fn found_beside(
    history: &Path,
    session: Option<&str>,
    given: &[PathBuf],
    limits: SideLimits,
) -> Vec<SideFile> {
    let given = real_paths(history, given);
    let mut found: Vec<SideFile> = Vec::new();
    for place in places(history, session) {
        let layout = place.layout;
        for mut file in files_of(&place, &given, limits, &|_| false) {
            if found.len() < limits.files && found.iter().all(|other| other.agent_id != file.agent_id) {
                file.call = call(&meta_of(&file.path, layout), layout);
                found.push(file);
            }
        }
    }
    found
}

/// The real paths of files that are shown separately.
fn real_paths(history: &Path, given: &[PathBuf]) -> Vec<PathBuf> {
    let given = given.iter().map(PathBuf::as_path).chain([history]);
    given.filter_map(|path| path.canonicalize().ok()).collect()
}

/// A folder that may contain the files of a history's sub-agents.
struct SideFolder {
    folder: PathBuf,
    layout: &'static SideFiles,
    /// The session that it is named after.
    session: Option<String>,
}

/// The folders that may contain the files of the sub-agents of a history, and of a session with this id.
fn places(history: &Path, session: Option<&str>) -> Vec<SideFolder> {
    let history = &without_compression(history);
    let name = history.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = match history.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let stem = history.file_stem().unwrap_or_default();
    let may_have = |layout: &&'static SideFiles| layout.is_named_alike || (layout.agent)(name).is_none();
    let place = |place: &str| match place.split_once('*') {
        Some((before, rest)) => folder.join(before).join(stem).join(rest.trim_start_matches('/')),
        None => folder.join(place),
    };
    let of = |layout: &'static SideFiles| {
        let named =
            layout.folders.iter().map(move |name| SideFolder { folder: place(name), layout, session: None });
        named.chain(
            session
                .filter(|_| layout.is_in_session_folder)
                .filter(|id| is_plain(id))
                .map(move |id| SideFolder { folder: folder.join(id), layout, session: Some(id.to_owned()) }),
        )
    };
    layouts().filter(may_have).flat_map(of).collect()
}

/// Whether an id can be the name of a folder: another one could lead elsewhere.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The files in a folder that sub-agents wrote, except for agents that are `known`.
fn files_of(
    place: &SideFolder,
    given: &[PathBuf],
    limits: SideLimits,
    known: &dyn Fn(&str) -> bool,
) -> Vec<SideFile> {
    let (Ok(entries), Ok(root)) = (fs::read_dir(&place.folder), place.folder.canonicalize()) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries.take(limits.entries).flatten() {
        let name = without_compression(Path::new(&entry.file_name()));
        let agent_id = name.to_str().and_then(place.layout.agent).filter(|id| !known(id));
        let Some(agent_id) = agent_id else { continue };
        let Ok(real) = entry.path().canonicalize() else { continue };
        if !real.starts_with(&root) || !real.is_file() || given.contains(&real) {
            continue;
        }
        let session = place.session.clone();
        files.push(SideFile { path: entry.path(), agent_id: agent_id.to_owned(), call: None, session });
    }
    files.sort_by(|a, b| (&a.agent_id, &a.path).cmp(&(&b.agent_id, &b.path)));
    files.truncate(limits.files);
    files
}

/// The path of the meta file beside a file.
fn meta_of(path: &Path, layout: &SideFiles) -> PathBuf {
    without_compression(path).with_extension(layout.meta)
}

/// The call that a meta file names. Links aren't followed: a meta file is always written as a plain file.
fn call(meta: &Path, layout: &SideFiles) -> Option<String> {
    if !fs::symlink_metadata(meta).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(meta).ok()?.take(LARGEST_META + 1).read_to_string(&mut text).ok()?;
    if text.len() as u64 > LARGEST_META {
        return None;
    }
    let record = Record::from_line(text).ok()?;
    let id = (layout.call)(record.root())?;
    (!id.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = tempfile::TempDir::with_prefix(format!("streamfmt-source-{name}-")).unwrap().keep();
            for (file, text) in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn found(&self, history: &str, given: &[PathBuf]) -> Vec<(String, Option<String>)> {
            let files = side_files(&self.0.join(history), given);
            files.into_iter().map(|file| (file.agent_id, file.call)).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn id(agent: &str, call: Option<&str>) -> (String, Option<String>) {
        (agent.to_owned(), call.map(str::to_owned))
    }

    #[test]
    fn files_of_sub_agents_are_found_in_all_three_places() {
        let folder = Folder::new(
            "places",
            &[
                ("s.jsonl", ""),
                ("s/subagents/agent-b.jsonl", ""),
                ("s/subagents/agent-b.meta.json", r#"{"agentType":"x","toolUseId":"toolu_1"}"#),
                ("s/subagents/agent-acompact-1.jsonl", ""),
                ("other/subagents/agent-z.jsonl", ""),
                ("sidechains/agent-c.jsonl", ""),
                ("sidechains/agent-c.meta.json", "{broken"),
                ("sidechains/0-1-2.jsonl", ""),
                ("agent-a.jsonl", ""),
                ("agent-b.jsonl", ""),
            ],
        );
        assert_eq!(folder.found("s.jsonl", &[]), [id("b", Some("toolu_1")), id("c", None), id("a", None)]);
        assert_eq!(folder.found("agent-a.jsonl", &[]), []);
        // A compressed history has the same.
        assert_eq!(folder.found("s.jsonl.gz", &[]), folder.found("s.jsonl", &[]));
        let given = [
            folder.0.join("s/subagents/../subagents/agent-b.jsonl"),
            folder.0.join("sidechains/agent-c.jsonl"),
        ];
        assert_eq!(folder.found("s.jsonl", &given), [id("a", None), id("b", None)]);
    }

    #[test]
    fn files_beside_the_folder_of_their_history_are_found() {
        let folder = Folder::new("beside", &[("chats/s.jsonl", ""), ("subagents/s/agent-d.jsonl", "")]);
        assert_eq!(folder.found("chats/s.jsonl", &[]), [id("d", None)]);
    }

    #[test]
    fn compressed_files_are_found_and_read_once_for_each_agent() {
        let first = concat!(
            r#"{"type":"user","isSidechain":true,"agentId":"b","sessionId":"s","message":{"role":"user","content":"count"}}"#,
            "\n"
        );
        let folder = Folder::new(
            "packed",
            &[
                ("s/subagents/agent-a.jsonl", first),
                ("s/subagents/agent-b.meta.json", r#"{"toolUseId":"t"}"#),
            ],
        );
        for name in ["agent-a.jsonl.gz", "agent-b.jsonl.gz"] {
            let file = File::create(folder.0.join("s/subagents").join(name)).unwrap();
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
            std::io::Write::write_all(&mut packed, first.as_bytes()).unwrap();
            packed.finish().unwrap();
        }
        assert_eq!(folder.found("s.jsonl", &[]), [id("a", None), id("b", Some("t"))]);
        let files = side_files(&folder.0.join("s.jsonl"), &[]);
        assert!(files[0].path.ends_with("agent-a.jsonl"));
        assert_eq!(beginning(&files[1].path).unwrap().prompt.as_deref(), Some("count"));
        assert_eq!(pieces(&files[1].path).unwrap().flatten().collect::<Vec<u8>>(), first.as_bytes());
    }

    #[test]
    fn only_so_much_of_a_meta_file_and_of_a_beginning_is_read() {
        let meta = |size: usize| {
            let text = r#"{"toolUseId":"t","x":""}"#;
            text.replace(r#""x":"""#, &format!(r#""x":"{}""#, " ".repeat(size - text.len())))
        };
        let first = r#"{"type":"user","isSidechain":true,"agentId":"b","sessionId":"s","message":{"role":"user","content":"count"}}"#;
        let begun = |before: usize| format!("{}\n{first}\n", " ".repeat(before - 1));
        let [most_of_meta, most] =
            [LARGEST_META, LARGEST_BEGINNING].map(|size| usize::try_from(size).unwrap());
        let room = most - first.len();
        let folder = Folder::new(
            "most",
            &[
                ("s.jsonl", ""),
                ("s/subagents/agent-a.jsonl", &begun(room)),
                ("s/subagents/agent-a.meta.json", &meta(most_of_meta)),
                ("s/subagents/agent-b.jsonl", &begun(room + 1)),
                ("s/subagents/agent-b.meta.json", &meta(most_of_meta + 1)),
            ],
        );
        // The file itself is found, whatever is beside it.
        assert_eq!(folder.found("s.jsonl", &[]), [id("a", Some("t")), id("b", None)]);
        let prompt = |name: &str| beginning(&folder.0.join("s/subagents").join(name))?.prompt;
        assert_eq!((prompt("agent-a.jsonl").as_deref(), prompt("agent-b.jsonl")), (Some("count"), None));
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new(
            "links",
            &[
                ("s.jsonl", ""),
                ("secret.jsonl", ""),
                ("m", r#"{"toolUseId":"x"}"#),
                ("sidechains/agent-in.jsonl", ""),
            ],
        );
        let side = folder.0.join("sidechains");
        symlink(folder.0.join("secret.jsonl"), side.join("agent-out.jsonl")).unwrap();
        symlink(side.join("agent-in.jsonl"), side.join("agent-near.jsonl")).unwrap();
        symlink(folder.0.join("m"), side.join("agent-in.meta.json")).unwrap();
        assert_eq!(folder.found("s.jsonl", &[]), [id("in", None), id("near", None)]);
    }

    #[test]
    fn of_too_many_files_the_first_by_name_are_found() {
        let names = ["s/subagents/agent-c.jsonl", "s/subagents/agent-a.jsonl", "s/subagents/agent-b.jsonl"];
        let files = names.map(|name| (name, ""));
        let folder = Folder::new("many", &[files.as_slice(), &[("sidechains/agent-x.jsonl", "")]].concat());
        let found = |limits| {
            let found = found_beside(&folder.0.join("s.jsonl"), None, &[], limits);
            found.into_iter().map(|file| file.agent_id).collect::<Vec<_>>()
        };
        let all = SideLimits::default();
        for (files, agents) in [(4, "abcx"), (3, "abc"), (2, "ab")] {
            assert_eq!(found(SideLimits { files, ..all }).concat(), agents, "{files}");
        }
        // Which entries of a folder come first is the system's choice.
        for (entries, count) in [(3, 4), (2, 3), (1, 2)] {
            assert_eq!(found(SideLimits { entries, ..all }).len(), count, "{entries}");
        }
    }
}
