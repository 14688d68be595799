//! The files of agents' sessions: how they are named, how they begin, and what is beside them.
//!
//! The rows of the dialects define that. Most are files of records on lines, which grow. A document is one record, which its program writes
//! anew whenever something changes: it is read as one line, once it is complete.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use streamfmt_core::dialect::{Histories, HistoryCleanup, WorkMark};
use streamfmt_core::frame::MAX_LINE;
use streamfmt_core::hash::hash;
use streamfmt_core::json::{Record, Value};
use streamfmt_core::pipeline::SessionFacts;
use streamfmt_core::reading::first_records;
use streamfmt_dialects::DIALECTS;

use crate::unpack::{UnpackedReader, beginning_of, without_compression};

/// Number of bytes of a file that are read to find out what it is.
pub const BEGINNING: u64 = 256 * 1024;
/// Number of lines of a file that are read for the same purpose.
const LINES: usize = 16;
/// A document that was modified less than this ago may change again without a new modification time.
const TICK: Duration = Duration::from_millis(100);
/// Largest document with the facts of a session.
const LARGEST_FACTS: u64 = 1 << 20;

/// The rows of the dialects about their histories.
fn rows() -> impl Iterator<Item = &'static Histories> {
    DIALECTS.rows.iter().filter_map(|dialect| dialect.histories.as_ref())
}

/// The name of a file without the ending that compression adds.
pub(crate) fn name_of(path: &Path) -> Option<String> {
    Some(without_compression(path).file_name()?.to_str()?.to_owned())
}

/// Whether a file may be a session by its name: agents write `.jsonl`, or have names of their own, and `streamfmt run` keeps `.ndjson`.
/// All may be compressed.
pub fn is_named_as_session(path: &Path) -> bool {
    let is_it =
        |name: String| name.strip_suffix(".ndjson").is_some() || rows().any(|row| (row.is_named)(&name));
    name_of(path).is_some_and(is_it)
}

/// Whether a history is a document by its name. A compressed one isn't: it is read as its bytes come.
pub fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json") && is_named_as_session(path)
}

/// The beginning of a file that may be a session, decompressed: enough to find out whether it is one.
pub fn beginning_of_session(path: &Path, file: impl Read) -> io::Result<Vec<u8>> {
    beginning_of(file, if is_document(&without_compression(path)) { MAX_LINE as u64 } else { BEGINNING })
}

/// Whether such a beginning, of a file of lines, is all of the file.
pub(crate) fn is_whole_beginning(beginning: &[u8]) -> bool {
    (beginning.len() as u64) < BEGINNING
}

/// The first records of such a beginning.
pub fn first_records_of_session(beginning: &[u8]) -> Vec<Record> {
    first_records(beginning, |value| DIALECTS.is_event(value), LINES)
}

/// Whether such a beginning is that of a session of a dialect of text lines.
pub fn is_session_of_text(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(BEGINNING as usize)]);
    text.lines().take(LINES).any(|line| DIALECTS.claiming_text(line).is_some())
}

/// A complete document as one line. JSON has line feeds only between its tokens, so blanks can take their place.
pub(crate) fn document_line(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let mut text = String::from_utf8(bytes).ok()?.replace(['\n', '\r'], " ");
    text.truncate(text.trim_end().len());
    let mut line = Record::from_line(text).ok()?.text().to_owned().into_bytes();
    line.push(b'\n');
    Some(line)
}

/// Reads a document as one line, if it is complete. Fails if it can't be read, or if it is larger than a line may be.
pub(crate) fn read_document(file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    UnpackedReader::new(file).take(MAX_LINE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_LINE {
        return Err(io::Error::other(format!("larger than {} MiB", MAX_LINE >> 20)));
    }
    Ok(document_line(bytes))
}

/// A document that its program writes anew whenever something changes.
#[derive(Default)]
pub(crate) struct GrowingDocument {
    /// The size and the modification time of the file when it was read. `None` if it may have changed since with the same.
    stamp: Option<(u64, SystemTime)>,
    /// The hash of the last state.
    last: Option<u64>,
}

impl GrowingDocument {
    /// Reads the document as one line, if it is another one than the last time. One that isn't complete is being written.
    pub(crate) fn read(&mut self, file: &mut File) -> io::Result<Option<Vec<u8>>> {
        let about = file.metadata()?;
        let stamp = about.modified().ok().map(|changed| (about.len(), changed));
        if stamp.is_some() && stamp == self.stamp {
            return Ok(None);
        }
        file.rewind()?;
        let Some(line) = read_document(file)? else { return Ok(None) };
        self.stamp = stamp.filter(|(_, changed)| changed.elapsed().is_ok_and(|age| age > TICK));
        let last = Some(hash(&String::from_utf8_lossy(&line)));
        Ok((std::mem::replace(&mut self.last, last) != last).then_some(line))
    }
}

/// The file with facts of the session that is beside a history, if there is one.
pub fn facts_file(history: &Path) -> Option<PathBuf> {
    let name = name_of(history)?;
    let path = history.with_file_name(rows().find_map(|row| (row.facts)(&name))?);
    // A link may lead to any file.
    fs::symlink_metadata(&path).is_ok_and(|about| about.is_file()).then_some(path)
}

/// The record with facts of the session that is beside a history.
pub(crate) fn facts_of(history: &Path) -> Option<Record> {
    facts_in(&facts_file(history)?)
}

/// The record in a file with facts of a session.
fn facts_in(file: &Path) -> Option<Record> {
    let file = File::open(file).ok()?;
    let line = read_document(&mut file.take(LARGEST_FACTS)).ok()??;
    Record::from_line(String::from_utf8(line).ok()?.trim_end().to_owned()).ok()
}

/// The days after which a product deletes a history, by the settings in its folder.
pub fn cleanup_days(product: &Path, cleanup: &HistoryCleanup) -> u64 {
    let read = || {
        let file = File::open(product.join(cleanup.settings)).ok()?;
        let line = read_document(&mut file.take(LARGEST_FACTS)).ok()??;
        let settings = Record::from_line(String::from_utf8(line).ok()?.trim_end().to_owned()).ok()?;
        (cleanup.days)(settings.root())
    };
    read().unwrap_or(cleanup.default)
}

/// Reads the facts beside a history, for its pipeline.
pub fn session_facts(history: PathBuf) -> SessionFacts {
    Box::new(move || facts_of(&history))
}

/// Reads the facts in a file that is elsewhere, for the pipeline of their history.
pub fn session_facts_in(file: PathBuf) -> SessionFacts {
    Box::new(move || facts_in(&file))
}

/// The id of a dialect's session, if the file's name contains it, not the records.
pub fn session_named_by(history: &Path, dialect: &str) -> Option<String> {
    let name = PathBuf::from(name_of(history)?);
    let histories = DIALECTS.find(dialect)?.histories.as_ref()?;
    (histories.session)(name.file_stem().and_then(OsStr::to_str)?).map(str::to_owned)
}

/// The working directory that a session must belong to.
pub struct WorkFilter {
    /// The working directory, as the agent writes it.
    pub work: String,
    /// Reads it from a session's first record, or from the record of its facts.
    pub read: fn(Value<'_>) -> Option<WorkMark>,
}

impl WorkFilter {
    /// Whether a session belongs to it.
    pub(crate) fn fits(&self, history: &Path, first: Value<'_>) -> bool {
        let facts = facts_of(history);
        match (self.read)(facts.as_ref().map_or(first, Record::root)) {
            Some(WorkMark::Path(work)) => work == self.work,
            Some(WorkMark::Sha256(hash)) => hash == sha256(&self.work),
            None => false,
        }
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect()
}

fn digit(value: u8) -> char {
    char::from_digit(value.into(), 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_known_by_their_names() {
        for name in ["s.jsonl", "s.ndjson.gz", "s.messages.json", "session-1.json", ".aider.chat.history.md"]
        {
            assert!(is_named_as_session(Path::new(name)), "{name}");
        }
        for name in ["package.json", "s.json", "logs.json", "README.md", "jsonl", "s.json.gz", ""] {
            assert!(!is_named_as_session(Path::new(name)), "{name}");
        }
        assert!(is_document("a/s.messages.json".as_ref()) && !is_document("s.jsonl".as_ref()));
        assert!(
            !is_document(".aider.chat.history.md".as_ref()) && !is_document("s.messages.json.gz".as_ref())
        );
    }

    #[test]
    fn a_document_is_one_line_once_it_is_complete() {
        let text = "{\r\n \"a\": \"x\\ny\",\n \"b\": [\n  1\n ]\n}\n";
        let line = document_line(text.as_bytes().to_vec()).unwrap();
        assert_eq!(line, b"{   \"a\": \"x\\ny\",  \"b\": [   1  ] }\n");
        for end in 0..text.len() - 2 {
            assert_eq!(document_line(text.as_bytes()[..end].to_vec()), None, "{end}");
        }
    }

    #[test]
    fn a_working_directory_is_found_by_its_hash() {
        assert_eq!(
            sha256("/home/dev/shop"),
            "e828acfc792e3bbcd2a6c6c35323cb44b7b438741c168c8ec59aefe347f193bb"
        );
    }

    #[test]
    fn facts_over_the_limit_are_not_read() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-facts-").unwrap();
        let history = folder.path().join("s.messages.json");
        let most = usize::try_from(LARGEST_FACTS).unwrap();
        for (size, is_read) in [(most, true), (most + 1, false)] {
            fs::write(folder.path().join("s.json"), format!("{{\"a\":\"{}\"}}", "x".repeat(size - 8)))
                .unwrap();
            assert_eq!(facts_of(&history).is_some(), is_read, "{size}");
        }
    }
}
