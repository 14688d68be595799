//! Reads sessions from files, to add them up without a store.

use std::path::{Path, PathBuf};

use streamfmt::histories::beginning_of_session;

use super::super::StoreError;
use super::super::figures::{CountedElsewhere, ReadSession};
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
    let mut sessions = Vec::new();
    let take = |_: &PathBuf, session| {
        match session {
            Ok(session) => sessions.extend(session),
            Err(error) => failures.push(error),
        }
        Ok::<(), StoreError>(())
    };
    read_in_order(&files, |file| session(file, data), take)?;
    Ok((sessions, failures))
}

/// Reads a session. `None` if the file is none.
fn session(file: &Path, data: &Path) -> Result<Option<CountedSession>, StoreError> {
    let failed = |error| StoreError::File(file.to_owned(), error);
    let stamp = HistoryStamp::of(file).map_err(failed)?;
    let beginning = open_history(file).and_then(|open| beginning_of_session(file, open)).map_err(failed)?;
    if !matches!(ImportedFile::of(file, &beginning), ImportedFile::Session) {
        return Ok(None);
    }
    let history = OpenHistory::at(file).map_err(failed)?;
    let read = ReadSession::read_history(history, CountedElsewhere::default(), data).map_err(failed)?;
    let ReadSession { run, figures, ledger, first_at, .. } = read;
    Ok(run.agent.is_some().then(|| CountedSession {
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
    }))
}
