//! Reads sessions from files, to add them up without a store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use streamfmt::histories::beginning_of_session;

use super::super::StoreError;
use super::super::figures::{CountedElsewhere, Ledger, ReadSession};
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
    let FoundFiles { files, unread, .. } = session_files(paths)?;
    let mut failures: Vec<StoreError> = unread.into_iter().collect();
    let (mut sessions, mut beside) = (FoundSessions::default(), Vec::new());
    read_in_order(
        &files,
        |file| read(file, data),
        |_, found| {
            match found {
                Ok(FoundFile::Session(session, quality)) => sessions.add(*session, quality),
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
    Ok((sessions.all.into_iter().map(|(session, _)| session).collect(), failures))
}

/// The sessions so far. Several files of one session are one, as in the store.
#[derive(Default)]
struct FoundSessions {
    all: Vec<(CountedSession, FileQuality)>,
    /// Their places by the agent's own ids.
    places: HashMap<String, usize>,
}

/// Of two files of a session, the figures of the better one count: one with an outcome, then the larger one.
type FileQuality = (bool, Option<u64>);

impl FoundSessions {
    fn add(&mut self, mut session: CountedSession, quality: FileQuality) {
        let place = session.agent_session.as_ref().and_then(|id| self.places.get(id));
        let known = place.map(|place| &mut self.all[*place]);
        let Some((known, best)) = known.filter(|(known, _)| known.agent == session.agent) else {
            self.places.extend(session.agent_session.clone().map(|id| (id, self.all.len())));
            return self.all.push((session, quality));
        };
        if quality > *best {
            (*known, session) = (session, std::mem::take(known));
            *best = quality;
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
    Session(Box<CountedSession>, FileQuality),
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
    let quality = (figures.outcome.is_some(), stamp.size);
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
    Ok(FoundFile::Session(Box::new(session), quality))
}
