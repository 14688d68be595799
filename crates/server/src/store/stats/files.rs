//! Reads sessions from files, to add them up without a store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use streamfmt::histories::beginning_of_session;

use super::super::StoreError;
use super::super::figures::{CountedElsewhere, ReadSession};
use super::super::history::{HistoryStamp, OpenHistory, open_history};
use super::super::import::{ImportedFile, session_files};
use super::{CountedFile, CountedSession};
use crate::path_text::{path_text, text_path};
use crate::place::{host, repo_of};

/// The most files that are read at a time, if there are as many processors.
const MOST_READERS: usize = 8;

/// Reads all sessions in files and folders, several at a time, in the order of their paths. Returns also why some couldn't be read.
pub(super) fn sessions(
    paths: &[PathBuf],
    data: &Path,
) -> Result<(Vec<CountedSession>, Vec<StoreError>), StoreError> {
    let (files, unread) = session_files(paths)?;
    let readers = thread::available_parallelism().map_or(1, usize::from).min(MOST_READERS);
    let next = &AtomicUsize::new(0);
    let files = files.as_slice();
    let read = || {
        let mut read = Vec::new();
        while let Some((place, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
        {
            read.push((place, session(file, data)));
        }
        read
    };
    let mut found: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..readers).map(|_| scope.spawn(read)).collect();
        // No reader panics on any input.
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    found.sort_unstable_by_key(|(place, _)| *place);
    let mut failures: Vec<StoreError> = unread.into_iter().collect();
    let mut sessions = Vec::new();
    for (_, session) in found {
        match session {
            Ok(session) => sessions.extend(session),
            Err(error) => failures.push(error),
        }
    }
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
