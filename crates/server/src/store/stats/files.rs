//! Reads sessions from files, to add them up without a store.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::path::{Path, PathBuf};

use streamfmt::core::event::Usage;
use streamfmt::core::session::counted::CountedFrom;
use streamfmt::histories::beginning_of_session;

use super::super::StoreError;
use super::super::copies::COPIES;
use super::super::figures::{CountedElsewhere, Ledger, ReadSession, SessionFigures};
use super::super::history::{HistoryStamp, OpenHistory, open_history};
use super::super::import::{FoundFiles, ImportedFile, session_files};
use super::super::in_order::read_in_order;
use super::{CountedFile, CountedSession};
use crate::path_text::{path_text, text_path};
use crate::place::{host, repo_of};

/// Reads all sessions in files and folders, several at a time, in the order of their paths. Returns also why some couldn't be read.
pub(super) fn sessions(
    paths: &[PathBuf],
    data: &Path,
) -> Result<(Vec<CountedSession>, Vec<StoreError>), StoreError> {
    let FoundFiles { mut files, unread, .. } = session_files(paths)?;
    // What our own copies hold counts where it comes from.
    let copies = data.join(COPIES).canonicalize().ok();
    files.retain(|file| copies.as_ref().is_none_or(|copies| !file.starts_with(copies)));
    let mut failures: Vec<StoreError> = unread.into_iter().collect();
    let (mut sessions, mut beside) = (FoundSessions::default(), Vec::new());
    read_in_order(
        &files,
        |file| read(file, data),
        |_, found| {
            match found {
                Ok(FoundFile::Session(session, source)) => sessions.add(*session, source),
                Ok(FoundFile::SubAgent(session, ledger)) => beside.push((session, ledger)),
                Ok(FoundFile::Other) => {}
                Err(error) => failures.push(error),
            }
            Ok::<(), StoreError>(())
        },
    )?;
    for (session, ledger) in beside {
        if let Some(place) = sessions.places.get(&session) {
            sessions.all[*place].0.files.push(CountedFile { is_log: false, ledger });
        }
    }
    Ok((sessions.all.into_iter().map(|(session, source)| source.complete(session)).collect(), failures))
}

/// The sessions so far. Several files of one session are one, as in the store.
#[derive(Default)]
struct FoundSessions {
    all: Vec<(CountedSession, FigureSource)>,
    /// Their places by the agent's own ids.
    places: HashMap<String, usize>,
}

/// The file whose figures count for a session: one with an outcome rather than one without, then the larger one.
struct FigureSource {
    quality: (bool, Option<u64>),
    /// Whether its tokens may be those of a part of the session.
    may_be_part: bool,
    /// The most tokens that a file of the session counted from its start.
    whole: BTreeMap<String, Usage>,
}

impl FigureSource {
    fn of(figures: &SessionFigures, size: Option<u64>) -> Self {
        Self {
            quality: (figures.outcome.is_some(), size),
            may_be_part: figures.usage.is_empty() || matches!(figures.counted_from, CountedFrom::Either(_)),
            whole: if figures.counted_from == CountedFrom::Start {
                figures.usage.clone()
            } else {
                BTreeMap::new()
            },
        }
    }

    /// The session with all of its tokens.
    fn complete(self, session: CountedSession) -> CountedSession {
        let has_more = self.may_be_part && spent(&self.whole) > spent(&session.usage);
        let usage = if has_more { self.whole } else { session.usage };
        CountedSession { usage, ..session }
    }
}

fn spent(usage: &BTreeMap<String, Usage>) -> u64 {
    usage.values().map(Usage::spent).fold(0, u64::saturating_add)
}

impl FoundSessions {
    fn add(&mut self, mut session: CountedSession, mut source: FigureSource) {
        let place = session.agent_session.as_ref().and_then(|id| self.places.get(id));
        let known = place.map(|place| &mut self.all[*place]);
        let Some((known, best)) = known.filter(|(known, _)| known.agent == session.agent) else {
            self.places.extend(session.agent_session.clone().map(|id| (id, self.all.len())));
            return self.all.push((session, source));
        };
        if source.quality > best.quality {
            (*known, session) = (session, mem::take(known));
            mem::swap(best, &mut source);
        }
        if spent(&source.whole) > spent(&best.whole) {
            best.whole = source.whole;
        }
        known.files.append(&mut session.files);
        known.model = known.model.take().or(session.model);
        known.folder = known.folder.take().or(session.folder);
        known.repo = known.repo.take().or(session.repo);
        known.parent_session = known.parent_session.take().or(session.parent_session);
    }
}

/// What a file holds.
enum FoundFile {
    Session(Box<CountedSession>, FigureSource),
    /// A sub-agent of the session with this id of the agent's.
    SubAgent(String, Ledger),
    Other,
}

fn read(file: &Path, data: &Path) -> Result<FoundFile, StoreError> {
    let failed = |error| StoreError::File(file.to_owned(), error);
    let stamp = HistoryStamp::of(file).map_err(failed)?;
    let beginning = open_history(file).and_then(|open| beginning_of_session(file, open)).map_err(failed)?;
    match ImportedFile::of(file, &beginning) {
        ImportedFile::Session => {}
        ImportedFile::SubAgent => {
            let (session, ledger) = ReadSession::read_side_file(file).map_err(failed)?;
            return Ok(session.map_or(FoundFile::Other, |session| FoundFile::SubAgent(session, ledger)));
        }
        ImportedFile::Other => return Ok(FoundFile::Other),
    }
    let history = OpenHistory::at(file).map_err(failed)?;
    let read = ReadSession::read_history(history, CountedElsewhere::default(), data).map_err(failed)?;
    let ReadSession { run, figures, ledger, first_at, .. } = read;
    if run.agent.is_none() {
        return Ok(FoundFile::Other);
    }
    let source = FigureSource::of(&figures, stamp.size);
    let session = CountedSession {
        id: run.agent_session.clone().unwrap_or_else(|| path_text(file)),
        repo: run
            .folder
            .as_deref()
            .and_then(|folder| repo_of(&text_path(folder)))
            .map(|repo| path_text(&repo)),
        host: host(),
        agent_session: run.agent_session,
        parent_session: run.parent_session,
        agent: run.agent,
        model: run.model,
        folder: run.folder,
        started: first_at.unwrap_or_else(|| stamp.time()),
        ended: Some(run.ended.unwrap_or_else(|| stamp.time())),
        cost_usd: figures.cost_usd,
        usage: figures.usage,
        files: vec![CountedFile { is_log: false, ledger }],
        ..CountedSession::default()
    };
    Ok(FoundFile::Session(Box::new(session), source))
}
