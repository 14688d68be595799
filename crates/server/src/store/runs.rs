//! Writes the rows of our own runs from their side files and logs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::UNIX_EPOCH;

use super::figures::{ReadSession, title_of};
use super::history;
use super::record::{SessionRun, SourceKind, SourceRow};
use super::{Store, StoreError, StoreNotice, link};
use crate::path_text::text_path;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{RunSideFile, SessionStatus};

/// The most logs that are read at a time, if there are as many processors.
const MOST_READERS: usize = 4;

/// A run that is over.
struct EndedRun {
    side: RunSideFile,
    status: SessionStatus,
    /// The offset at which the next run starts in the same log.
    next: Option<u64>,
}

impl EndedRun {
    /// Reads its log.
    fn read(&self) -> io::Result<ReadSession> {
        let to_next = self.next.map(|next| next.saturating_sub(self.side.log_start));
        let size = self.side.log_bytes.or(to_next);
        ReadSession::read(&self.side.log, self.side.log_start, size)
    }
}

impl Store {
    /// Writes the row of one of our runs from its current side file. `read`: its stream, if that was read while it ran; otherwise the log is
    /// read once the run is over.
    pub fn record(&mut self, id: &RunId, read: Option<&ReadSession>) -> Result<(), StoreError> {
        let Ok(side) = RunSideFile::read(&self.paths.side_file(id)) else { return Ok(()) };
        self.write_run(&side)?;
        let Some(run) = self.ended(side)? else { return Ok(()) };
        match read {
            Some(read) => self.write_figures(&run, read),
            None => self.write_read(&run, run.read()),
        }
    }

    /// Finds runs whose rows are missing or incomplete, and writes them.
    pub fn catch_up(&mut self) -> Result<(), StoreError> {
        self.catch_up_with(|_, _| ())
    }

    /// Does the same, and calls `each` with the number of logs read and of all logs to read. A full disk is a notice, not an error: the
    /// sessions that have rows can be used.
    pub fn catch_up_with(&mut self, each: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        let written = self.write_missing(each);
        if matches!(written, Err(StoreError::Full(_))) {
            self.notices.push(StoreNotice::Full);
            return Ok(());
        }
        written
    }

    fn write_missing(&mut self, mut each: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        let open = self.write_missing_rows()?;
        // All rows are written first: in a shared log, a run ends where the next one starts.
        self.record_all(open, &mut each)?;
        self.renew_histories(each)
    }

    /// Writes the missing rows of our runs, without figures. Returns the runs whose rows are incomplete.
    pub(super) fn write_missing_rows(&mut self) -> Result<Vec<RunSideFile>, StoreError> {
        let settled = self.database.settled()?;
        let mut ids = side_files(&self.paths);
        ids.retain(|id| settled.get(id.as_str()) != Some(&true));
        let open = self.read_side_files(&ids);
        for side in open.iter().filter(|side| !settled.contains_key(side.id.as_str())) {
            self.write_run(side)?;
        }
        Ok(open)
    }

    /// Rewrites the rows of all our runs from side files and logs. Rows whose sources are gone are kept and marked. Calls `each` with the
    /// number of runs done and of all runs.
    pub fn reindex(&mut self, each: impl FnMut(usize, usize)) -> Result<usize, StoreError> {
        let ids = side_files(&self.paths);
        let sides = self.read_side_files(&ids);
        for side in &sides {
            self.write_run(side)?;
        }
        let count = sides.len();
        self.record_all(sides, each)?;
        self.mark_gone()?;
        Ok(count)
    }

    /// Reads the logs of runs, several at a time, and writes their figures. The runs must have rows.
    fn record_all(
        &mut self,
        sides: Vec<RunSideFile>,
        mut each: impl FnMut(usize, usize),
    ) -> Result<(), StoreError> {
        let mut runs = Vec::new();
        for side in sides {
            runs.extend(self.ended(side)?);
        }
        let runs = runs.as_slice();
        let most = thread::available_parallelism().map_or(1, usize::from).min(MOST_READERS);
        let readers = most.min(runs.len());
        if readers < 2 {
            return runs.iter().try_for_each(|run| self.write_read(run, run.read()));
        }
        let next = &AtomicUsize::new(0);
        // Bound the number of results that wait to be written: a response may be large.
        let (sender, read) = mpsc::sync_channel(readers);
        thread::scope(|scope| {
            for _ in 0..readers {
                let sender = sender.clone();
                scope.spawn(move || {
                    while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Sending fails once writing has failed.
                        if sender.send((run, run.read())).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            // Dropped at the end of this scope, so that no reader waits.
            let read = read;
            for (done, (run, figures)) in read.iter().enumerate() {
                each(done, runs.len());
                self.write_read(run, figures)?;
            }
            Ok(())
        })
    }

    /// Marks sources that are gone, and unmarks those that exist again.
    pub(super) fn mark_gone(&self) -> Result<(), StoreError> {
        self.database.transaction(|| {
            for (session, path, is_run, was_gone) in self.database.all_sources()? {
                let mut now = text_path(&path);
                if is_run && let Ok(id) = session.parse() {
                    now = self.paths.log_now(&id, &now);
                }
                let is_gone = if is_run { is_gone(&now) } else { history::is_gone(&now) };
                if is_gone != was_gone {
                    self.database.mark_gone(&session, &path, is_gone)?;
                }
            }
            Ok(())
        })
    }

    /// Reads the side files of runs. Those that can't be read, or are another run's, are reported, unless they are gone by now.
    fn read_side_files(&mut self, ids: &[RunId]) -> Vec<RunSideFile> {
        let (mut sides, mut unreadable) = (Vec::new(), Vec::new());
        for id in ids {
            let path = self.paths.side_file(id);
            match RunSideFile::read(&path) {
                Ok(side) if side.id == *id => sides.push(side),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Ok(_) | Err(_) => unreadable.push(path),
            }
        }
        let count = unreadable.len();
        self.notices
            .extend(unreadable.into_iter().next().map(|first| StoreNotice::SideFiles { first, count }));
        sides
    }

    /// Writes the row of a run without figures. Existing figures are kept.
    fn write_run(&self, side: &RunSideFile) -> Result<(), StoreError> {
        self.database.transaction(|| {
            // Read it again now that nobody else writes: it may have changed.
            let now = RunSideFile::read(&self.paths.side_file(&side.id));
            let side = now.as_ref().unwrap_or(side);
            let sources = self.database.sources(side.id.as_str())?;
            if sources.iter().any(|source| source.kind == SourceKind::Run && source.mtime.is_some()) {
                return Ok(());
            }
            let known = SessionRun { title: title_of_task(side), ..SessionRun::default() };
            link::write_session(&self.database, &SessionRun::of(side, side.status, known), None)?;
            let source = SourceRow { gone: is_gone(&side.log), ..SourceRow::of(side) };
            self.database.write_source(side.id.as_str(), &source)?;
            side.agent_session.iter().try_for_each(|session| link::link(&self.database, session))
        })
    }

    /// Returns a run if it is over.
    fn ended(&self, side: RunSideFile) -> Result<Option<EndedRun>, StoreError> {
        let status = self.state_of(&side);
        if status.is_live() {
            return Ok(None);
        }
        if side.status == SessionStatus::Running {
            // Its recorder was killed, and left them.
            for draft in self.paths.drafts(&side.id) {
                let _ = fs::remove_file(draft);
            }
        }
        // If it wrote nothing, that is where it starts itself.
        let next = self.database.next_start(&side.log, side.log_start, side.id.as_str())?;
        Ok(Some(EndedRun { side, status, next }))
    }

    /// Writes the figures that were read from a run's log.
    fn write_read(&self, run: &EndedRun, read: io::Result<ReadSession>) -> Result<(), StoreError> {
        match read {
            Ok(read) => self.write_figures(run, &read),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let id = run.side.id.as_str();
                self.database.transaction(|| {
                    self.database.mark_log_gone(id)?;
                    self.database.write_status(id, run.status.name())
                })
            }
            // It may be readable the next time.
            Err(_) => Ok(()),
        }
    }

    fn write_figures(&self, run: &EndedRun, read: &ReadSession) -> Result<(), StoreError> {
        let EndedRun { side, status, next } = run;
        let id = side.id.as_str();
        self.database.transaction(|| {
            let now = RunSideFile::read(&self.paths.side_file(&side.id));
            if now.is_ok_and(|now| now != *side) {
                // It changed meanwhile. The process that changed it writes the row as well, or the row is completed the next time.
                return Ok(());
            }
            let title = read.given_title.clone().or_else(|| title_of_task(side));
            let known = SessionRun { title: title.or_else(|| read.run.title.clone()), ..read.run.clone() };
            let run = SessionRun::of(side, *status, known);
            link::write_session(&self.database, &run, read.figures.messages.first)?;
            self.database.write_figures(id, &read.figures, false)?;
            let about = fs::metadata(&side.log).ok();
            let changed_at = about.as_ref().map(changed).unwrap_or_default();
            self.database.write_ledger(id, &side.log, changed_at, &read.ledger)?;
            let to_end =
                about.as_ref().map(|about| next.unwrap_or(about.len()).saturating_sub(side.log_start));
            let source = SourceRow {
                size: side.log_bytes.or(to_end),
                mtime: about.as_ref().map(changed),
                gone: about.is_none(),
                ..SourceRow::of(side)
            };
            self.database.write_source(id, &source)?;
            run.agent_session.iter().try_for_each(|session| link::link(&self.database, session))
        })
    }
}

/// Returns the ids of all side files, the oldest first.
pub(super) fn side_files(paths: &SessionPaths) -> Vec<RunId> {
    let Ok(entries) = fs::read_dir(&paths.folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<RunId> = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect();
    ids.sort();
    ids
}

fn title_of_task(side: &RunSideFile) -> Option<String> {
    side.task.as_deref().or(side.stdin.as_deref()).and_then(title_of)
}

/// Whether a file doesn't exist. A file that can't be examined isn't gone.
pub(super) fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the time of a file's last change, in nanoseconds since 1970.
pub(super) fn changed(about: &fs::Metadata) -> i64 {
    let passed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    passed.and_then(|passed| i64::try_from(passed.as_nanos()).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SessionFilter;

    const IDS: [&str; 4] = [
        "20261123-224103-k3x9qa",
        "20261123-224203-k3x9qb",
        "20261123-224303-k3x9qc",
        "20261123-224403-k3x9qd",
    ];

    /// The stream of a run of its own session.
    fn stream(number: u32) -> String {
        format!(
            r#"{{"type":"system","subtype":"init","session_id":"s-{number}","model":"m","cwd":"/","tools":[]}}
{{"type":"result","subtype":"success","is_error":false,"num_turns":{number},"total_cost_usd":0.5,"result":"Done {number}.","session_id":"s-{number}"}}
"#
        )
    }

    #[test]
    fn each_run_of_a_log_has_its_own_part_of_it_whatever_is_known_of_the_length() {
        let streams = [stream(1), String::new(), stream(2), stream(3)];
        // Whether each run's length is known: it isn't after a kill.
        for known in [[true; 4], [false; 4], [true, false, true, false], [false, true, false, true]] {
            for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
                let folder = tempfile::TempDir::with_prefix("streamfmt-shared-").unwrap();
                let mut store = Store::open(folder.path()).unwrap();
                let log = folder.path().join("log");
                fs::write(&log, streams.concat()).unwrap();
                let mut starts = vec![0];
                starts.extend(streams.iter().map(String::len));
                let start = |at: usize| starts[..=at].iter().sum::<usize>();
                for at in order {
                    let end = if known[at] {
                        format!(r#""status":"done","log_bytes":{},"#, streams[at].len())
                    } else {
                        r#""status":"running","#.to_owned()
                    };
                    let side = format!(
                        r#"{{"v":1,"id":"{}",{end}"command":["a"],"folder":"/","log":"{}","log_start":{},
                            "started":"2026-11-23T22:41:03Z","recorder":{{"pid":1}}}}"#,
                        IDS[at],
                        log.display(),
                        start(at)
                    );
                    fs::write(folder.path().join(format!("sessions/{}.json", IDS[at])), side).unwrap();
                }
                for _ in 0..2 {
                    store.catch_up().unwrap();
                    let mut rows = store.list(&SessionFilter::default()).unwrap();
                    rows.sort_by(|one, other| one.run.id.cmp(&other.run.id));
                    let turns: Vec<_> = rows.iter().map(|row| row.figures.num_turns).collect();
                    assert_eq!(turns, [Some(1), None, Some(2), Some(3)], "{known:?} {order:?}");
                    for (at, id) in IDS.iter().enumerate() {
                        let source = store.sources(id).unwrap().remove(0);
                        let part = (source.start, source.size);
                        assert_eq!(
                            part,
                            (start(at) as u64, Some(streams[at].len() as u64)),
                            "{known:?} {order:?} {at}"
                        );
                    }
                    assert_eq!(store.reindex(|_, _| ()).unwrap(), 4);
                }
            }
        }
    }
}
