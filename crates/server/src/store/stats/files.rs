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
    let (mut sessions, mut beside) = (Vec::new(), Vec::new());
    read_in_order(
        &files,
        |file| read(file, data),
        |_, found| {
            match found {
                Ok(FoundFile::Session(session)) => sessions.push(*session),
                Ok(FoundFile::SubAgent(session, ledger)) => beside.push((session, ledger)),
                Ok(FoundFile::Other) => {}
                Err(error) => failures.push(error),
            }
            Ok::<(), StoreError>(())
        },
    )?;
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, session) in sessions.iter().enumerate() {
        places.extend(session.agent_session.clone().map(|id| (id, place)));
    }
    for (session, ledger) in beside {
        if let Some(place) = places.get(&session) {
            sessions[*place].files.push(CountedFile { is_log: false, ledger });
        }
    }
    Ok((sessions, failures))
}

/// What a file holds.
enum FoundFile {
    Session(Box<CountedSession>),
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
    Ok(FoundFile::Session(Box::new(CountedSession {
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
    })))
}
