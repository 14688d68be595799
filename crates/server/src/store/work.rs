//! Finds the sessions that made something: a pull request, a commit, or a change to a file.
//!
//! Sessions are read when somebody asks, and nothing is kept of it. What a call asked for counts once its result doesn't report a failure.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use streamfmt::core::item::{Action, FactRef, Id, Item, Kind};
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::core::session::Session;
use streamfmt::unpack::{UnpackedReader, without_compression};
use streamfmt::{Engine, origins};

use super::history::{facts_of, history_exists, open_history, subagents_of};
use super::record::{SessionRecord, SourceKind, SourceRow};
use super::{SessionFilter, Store, StoreError};

/// The number of bytes read at once.
const CHUNK: usize = 64 << 10;
/// The most calls whose results are awaited at the same time.
const MOST_CALLS: usize = 4_096;
/// The fewest digits of a commit's hash that identify it.
const SHORTEST_HASH: usize = 7;
/// The most digits of a commit's hash.
const LONGEST_HASH: usize = 64;

/// Something that a session made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionWork {
    /// A pull request: its number, in any repository, or its whole URL.
    PullRequest(String),
    /// A commit: its hash in lower case, or the first digits of it.
    Commit(String),
    /// A file: its absolute paths, with and without links.
    File(Vec<PathBuf>),
}

/// A session that made something, and the last item by which it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkHit {
    /// The version of this form.
    pub v: u32,
    /// The id of the session.
    pub session: String,
    /// The id of the item.
    pub item: String,
    /// The time of the item, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The title of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl SessionWork {
    /// A pull request by its number or URL, as a person writes it.
    pub fn pull_request(text: &str) -> Option<Self> {
        let number = text.strip_prefix('#').unwrap_or(text);
        if is_number(number) {
            return Some(Self::PullRequest(number.to_owned()));
        }
        // What follows the number, such as `/files`, is a part of its page.
        let at =
            ["/pull/", "/merge_requests/"].iter().find_map(|name| Some(text.find(name)? + name.len()))?;
        let length = text[at..].bytes().take_while(u8::is_ascii_digit).count();
        let is_url = text.starts_with("https://") && length > 0;
        is_url.then(|| Self::PullRequest(text[..at + length].to_owned()))
    }

    /// A commit by the first digits of its hash.
    pub fn commit(text: &str) -> Option<Self> {
        let is_hash = (SHORTEST_HASH..=LONGEST_HASH).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self::Commit(text.to_ascii_lowercase()))
    }

    /// A file by its path. `work`: the working directory.
    pub fn file(path: &Path, work: &Path) -> Self {
        let mut paths = vec![without_dots(&work.join(path))];
        paths.extend(paths[0].canonicalize().ok().filter(|real| *real != paths[0]));
        Self::File(paths)
    }

    /// Whether a call may make it.
    fn may_be_made_by(&self, call: &Item, folder: Option<&Path>) -> bool {
        let does = call.does();
        let command = does.get("command").and_then(FactRef::str).unwrap_or_default();
        match self {
            Self::PullRequest(_) => ["pr create", "mr create"].iter().any(|name| command.contains(name)),
            Self::Commit(_) => command.contains("git") && command.contains("commit"),
            Self::File(paths) => {
                let is_change = matches!(call.action(), Some(Action::Write | Action::Edit));
                is_change && is_any(paths, folder, does.get("path"), does.get("changes"))
            }
        }
    }

    /// Whether the result of a call shows that it was made. `may_be`: whether the call may make it.
    fn is_made_by(&self, result: &Item, may_be: bool, folder: Option<&Path>) -> bool {
        match self {
            Self::PullRequest(wanted) => may_be && names_request(&result.text(), wanted),
            Self::Commit(wanted) => may_be && commits_in(&result.text()).any(|hash| is_same(&hash, wanted)),
            // The result may name it where the call doesn't, such as the files that a command changed.
            Self::File(paths) => {
                let is_change = matches!(result.action(), Some(Action::Write | Action::Edit));
                let path = result.fact("path").filter(|_| is_change);
                may_be || is_any(paths, folder, path, result.fact("changes"))
            }
        }
    }

    /// Whether a notice reports it.
    fn is_reported_by(&self, notice: &Item) -> bool {
        let Self::PullRequest(wanted) = self else { return false };
        let url = notice.fact("url").and_then(FactRef::str).unwrap_or_default();
        let number = notice.fact("number").and_then(|number| {
            number.count().map(|count| count.to_string()).or_else(|| Some(number.str()?.into_owned()))
        });
        notice.is_event("pull-request")
            && (number.as_ref() == Some(wanted) || !is_number(wanted) && names_request(&url, wanted))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text contains the URL of a pull request. `wanted`: its URL or number.
fn names_request(text: &str, wanted: &str) -> bool {
    let names = if is_number(wanted) {
        vec![format!("/pull/{wanted}"), format!("/merge_requests/{wanted}")]
    } else {
        vec![wanted.to_owned()]
    };
    let is_whole = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
    names.iter().any(|name| text.match_indices(&**name).any(|(at, _)| is_whole(&text[at + name.len()..])))
}

/// Whether one is the beginning of the other.
fn is_same(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The hashes of the commits that `git commit` made, by its output: those in lines such as `[main 1a2b3c4] Title`. Without such a line, as with
/// `--quiet`, the first hash, since what follows the commit in a command shows the newest first.
fn commits_in(text: &str) -> impl Iterator<Item = String> {
    let of_line = |line: &str| {
        let (head, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
        hashes(head.rsplit(' ').next()?).next()
    };
    let mut found: Vec<String> = text.lines().filter_map(of_line).collect();
    if found.is_empty() {
        found.extend(hashes(text).next());
    }
    found.into_iter()
}

/// The words of a text that may be hashes.
fn hashes(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|ch: char| !ch.is_ascii_alphanumeric());
    words.filter_map(|word| match SessionWork::commit(word) {
        Some(SessionWork::Commit(hash)) => Some(hash),
        _ => None,
    })
}

/// Whether a path, or that of a change, is one of these.
fn is_any(
    paths: &[PathBuf],
    folder: Option<&Path>,
    path: Option<FactRef<'_>>,
    changes: Option<FactRef<'_>>,
) -> bool {
    let changes = changes.map(FactRef::list).unwrap_or_default();
    let named = changes.iter().flat_map(|change| [change.get("path"), change.get("to")]);
    named.chain([path]).flatten().filter_map(FactRef::str).any(|path| is_one_of(paths, folder, &path))
}

fn is_one_of(paths: &[PathBuf], folder: Option<&Path>, path: &str) -> bool {
    let name = Path::new(path).file_name();
    if !paths.iter().any(|wanted| wanted.file_name() == name) {
        return false;
    }
    let path = without_dots(&folder.unwrap_or(Path::new("")).join(path));
    paths.contains(&path) || path.canonicalize().is_ok_and(|real| paths.contains(&real))
}

/// A path without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Watches a session for something that it made.
#[derive(Clone)]
struct WorkObserver {
    work: SessionWork,
    /// The folder that paths are relative to, if the stream doesn't name one.
    folder: Option<PathBuf>,
    seen: Arc<Mutex<SeenWork>>,
}

#[derive(Default)]
struct SeenWork {
    /// The calls that may make it, with their times.
    calls: HashMap<Id, Option<Timestamp>>,
    has_results: bool,
    /// The last item that made it.
    hit: Option<(Id, Option<Timestamp>)>,
}

impl Observer for WorkObserver {
    fn item(&mut self, item: &Item, session: &Session) {
        // A copy belongs to the session that is repeated.
        if item.is_repeated() {
            return;
        }
        let folder = session.facts().cwd.as_ref().map(|cwd| Path::new(cwd.as_str()));
        let folder = folder.or(self.folder.as_deref());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match item.kind {
            Kind::Notice if self.work.is_reported_by(item) => seen.hit = Some((item.id.clone(), item.at())),
            Kind::Call if self.work.may_be_made_by(item, folder) && seen.calls.len() < MOST_CALLS => {
                seen.calls.insert(item.id.clone(), item.at());
            }
            Kind::Result => {
                seen.has_results = true;
                let Some(call) = item.call.as_ref() else { return };
                let called = seen.calls.remove(call);
                if !item.error && self.work.is_made_by(item, called.is_some(), folder) {
                    seen.hit = Some((call.clone(), called.flatten().or_else(|| item.at())));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, _: &Session) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Some agents keep no results.
        if !seen.has_results && matches!(self.work, SessionWork::File(_)) {
            let last = seen.calls.drain().max_by_key(|(_, at)| *at);
            seen.hit = last.or(seen.hit.take());
        }
    }
}

impl Store {
    /// Finds the sessions that made something, the newest first. What can't be read is left out. Calls `each` with the number of sessions
    /// done and of all.
    pub fn find_work(
        &self,
        work: &SessionWork,
        mut each: impl FnMut(usize, usize),
    ) -> Result<Vec<WorkHit>, StoreError> {
        let sessions = self.list(&SessionFilter::default())?;
        let mut hits = Vec::new();
        for (done, SessionRecord { run, .. }) in sessions.iter().enumerate() {
            each(done, sessions.len());
            for source in self.readable_sources(&run.id)? {
                let folder = run.folder.clone().map(PathBuf::from);
                let folder = folder.or_else(|| source.path.parent().map(Path::to_owned));
                let observer = WorkObserver { work: work.clone(), folder, seen: Arc::default() };
                let seen = Arc::clone(&observer.seen);
                if !history_exists(&source.path) || self.observe(&source, Box::new(observer)).is_err() {
                    continue;
                }
                let hit = seen.lock().unwrap_or_else(PoisonError::into_inner).hit.take();
                if let Some((item, at)) = hit {
                    hits.push(WorkHit {
                        v: 1,
                        session: run.id.clone(),
                        item: item.as_str().to_owned(),
                        at,
                        title: run.title.clone(),
                        folder: run.folder.clone(),
                        agent: run.agent.clone(),
                    });
                    break;
                }
            }
        }
        Ok(hits)
    }

    /// Reads a source of a session, with its sub-agents, as it is shown. Fails if it can't be read.
    pub fn observe(&self, source: &SourceRow, observer: Box<dyn Observer>) -> io::Result<()> {
        let path = source.path.clone();
        let data = self.data().to_owned();
        let known = move |session: &str| Self::histories_of(&data, session);
        let mut input: Box<dyn Read> = match source.kind {
            _ if source.is_copy => {
                let copy = File::open(&path)?.take(source.size.unwrap_or(u64::MAX));
                Box::new(UnpackedReader::new(copy))
            }
            SourceKind::Run if without_compression(&path) == path => {
                let mut file = File::open(&path)?;
                file.seek(SeekFrom::Start(source.start))?;
                Box::new(file.take(source.size.unwrap_or(u64::MAX)))
            }
            _ => Box::new(UnpackedReader::new(open_history(&path)?)),
        };
        let engine = Engine::builder().build().map_err(|problems| io::Error::other(problems.to_string()))?;
        let mut pipeline = Pipeline::new(Setup {
            subagents: Some(subagents_of(path.clone(), Vec::new())),
            origins: Some(origins(path.clone(), Vec::new(), Box::new(known))),
            facts: Some(facts_of(path)),
            is_whole: true,
            ..engine.watch(vec![observer])
        });
        let (mut buffer, mut none) = (vec![0; CHUNK], String::new());
        loop {
            match input.read(&mut buffer) {
                Ok(0) => break,
                // Nothing is written, so nothing can fail.
                Ok(count) => drop(pipeline.push(&buffer[..count], &mut none)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A damaged archive ends at the damage.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => break,
                Err(error) => return Err(error),
            }
        }
        let _ = pipeline.finish(&mut none);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_those_that_git_reports_as_made() {
        let found = |text: &str| commits_in(text).collect::<Vec<_>>();
        let made = "[main (root-commit) 1a2b3c4] Title of abcdef1\n 1 file changed\n[fix/x 5d6e7f8] More";
        assert_eq!(found(made), ["1a2b3c4", "5d6e7f8"]);
        assert_eq!(found("ABCDEF01 Newest\n1234567 Older"), ["abcdef01"]);
        assert_eq!(found("[1] nothing to commit: abc123, g1234567"), [""; 0]);
        assert!(
            is_same("1a2b3c4", "1a2b3c4d5")
                && is_same("1a2b3c4d5", "1a2b3c4")
                && !is_same("1a2b3c4", "1a2b3c5")
        );
    }

    #[test]
    fn a_pull_request_is_a_number_or_a_url() {
        let request = |text: &str| match SessionWork::pull_request(text) {
            Some(SessionWork::PullRequest(request)) => request,
            _ => "none".to_owned(),
        };
        assert_eq!([request("7"), request("#7")], ["7", "7"]);
        assert_eq!(request("https://github.com/o/r/pull/7/files"), "https://github.com/o/r/pull/7");
        for wrong in
            ["", "#", "seven", "7a", "https://github.com/o/r/issues/7", "https://github.com/o/r/pull/"]
        {
            assert_eq!(request(wrong), "none", "{wrong}");
        }
        assert!(names_request("made https://x/o/r/pull/7.", "7") && !names_request("/pull/77", "7"));
        assert!(SessionWork::commit("1a2b3c").is_none() && SessionWork::commit("1a2b3cg").is_none());
    }

    #[test]
    fn paths_are_compared_without_dots_and_links() {
        let work = Path::new("/home/dev/shop");
        let SessionWork::File(paths) = SessionWork::file(Path::new("../shop/./src/a.rs"), work) else {
            panic!()
        };
        assert_eq!(paths, [Path::new("/home/dev/shop/src/a.rs")]);
        for (path, is_it) in [("src/a.rs", true), ("/home/dev/shop/src/../src/a.rs", true), ("a.rs", false)] {
            assert_eq!(is_one_of(&paths, Some(work), path), is_it, "{path}");
        }
    }
}
