//! Imports sessions that we didn't run: agents' own histories, and streams that were stored elsewhere.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Seek};
use std::mem;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use streamfmt::core::session::counted::CountedFrom;
use streamfmt::dialect::DIALECTS;
use streamfmt::histories::{
    BEGINNING, beginning_of_session, first_records_of_session, is_named_as_session, is_session_of_text,
};
use streamfmt::side_files::{holds_side_files, is_side_file};
use streamfmt::unpack::{damage_of, without_compression};

use super::copies::COPIES;
use super::figures::{CountedElsewhere, Ledger, ReadSession, SessionFigures};
use super::history::{HistoryStamp, OpenHistory, open_history, real_path};
use super::in_order::read_in_order;
use super::left_out::session_mark;
use super::record::{SessionRecord, SessionRun, SourceKind, SourceRow};
use super::recorded_elsewhere::{ImportedRun, side_file_id, side_file_of};
use super::relatives::Seniority;
use super::runs::changed;
use super::sql::{MOST_SESSIONS, is_database, is_named_as_database, read_only};
use super::{Store, StoreError, StoreNotice, link};
use crate::path_text::path_text;
use crate::run_id::RunId;

/// The depth to which folders are searched.
pub(super) const DEEPEST: usize = 12;

/// The counts of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Sessions without a row before.
    pub new: usize,
    /// Files that had changed, or were added to a known session.
    pub changed: usize,
    /// Files that had not changed.
    pub unchanged: usize,
    /// Files that are no session of a known agent.
    pub others: usize,
    /// Sessions that were removed, and are left out since none of their files was named.
    pub removed: usize,
    /// Files that were copied, or whose copy was added to.
    pub copied: usize,
    /// Damaged archives, which weren't read to their end. They are counted above, too, and reported.
    pub damaged: usize,
}

/// The progress of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportStep {
    /// Looking for sessions: the number of files read.
    Looking(usize),
    /// Reading them: the number of sessions done, and of all.
    Reading(usize, usize),
    /// Copying their files: the number of files done, and of all.
    Copying(usize, usize),
}

impl Store {
    /// Writes rows for histories: for files, and for those in folders. Files that didn't change since the last import aren't read again. No
    /// row is ever removed. Fails at a path that can't be read.
    pub fn import(
        &mut self,
        paths: &[PathBuf],
        mut each: impl FnMut(ImportStep),
    ) -> Result<ImportCounts, StoreError> {
        let FoundFiles { mut files, folders, named, unread } = session_files(paths)?;
        let mut left_out = self.left_out()?;
        let own = [self.paths.folder.clone(), self.data().join(COPIES)].map(|own| own.canonicalize().ok());
        files.retain(|file| own.iter().flatten().all(|own| !file.starts_with(own)));
        let mut counts = self.import_runs(&mut files)?;
        let mut changed = Vec::new();
        for file in &files {
            let Ok(stamp) = HistoryStamp::of(file) else { continue };
            let known = self.database.sources_at(file)?;
            let has_log = known.iter().any(|(_, source)| source.kind == SourceKind::Run);
            if has_log || known.iter().any(|(_, source)| is_unchanged(source, stamp)) {
                counts.unchanged += 1;
            } else {
                changed.push(ChangedFile {
                    path: file.clone(),
                    is_named: named.contains(file),
                    stamp,
                    known,
                });
            }
        }
        let (mut looked, mut waiting, mut beside) = (0, Vec::new(), Vec::new());
        read_in_order(&changed, ChangedFile::examine, |file, examined| {
            each(ImportStep::Looking(looked));
            looked += 1;
            let Some(examined) = examined else { return Ok(()) };
            if matches!(examined.kind, ImportedFile::SubAgent) {
                beside.push(file);
            } else if self.add_examined(file, examined, &mut left_out, &mut counts)? {
                waiting.push(file.path.clone());
            }
            Ok::<(), StoreError>(())
        })?;
        self.read_histories(waiting, |done, all| each(ImportStep::Reading(done, all)))?;
        self.add_side_files(&beside)?;
        counts.copied = self.copy_histories(&files, |done, all| each(ImportStep::Copying(done, all)))?;
        self.mark_gone()?;
        if counts.new + counts.changed + counts.unchanged > 0 {
            folders.iter().try_for_each(|folder| self.database.add_folder(folder))?;
        }
        counts.damaged = self.notices.iter().filter(|it| matches!(it, StoreNotice::Archive { .. })).count();
        // All others were imported nevertheless.
        unread.map_or(Ok(counts), Err)
    }

    /// Adds the entries of sub-agents whose files lie beside the histories of several sessions. Those that didn't change aren't read again.
    fn add_side_files(&self, files: &[&ChangedFile]) -> Result<(), StoreError> {
        let mut changed = Vec::new();
        for file in files {
            if self.database.ledger_changed(&file.path)? != Some(file.stamp.changed) {
                changed.push(*file);
            }
        }
        let read = |file: &&ChangedFile| ReadSession::read_side_file(&file.path);
        read_in_order(&changed, read, |file, read| {
            // One that can't be read now is read the next time.
            let Ok((Some(session), ledger)) = read else { return Ok(()) };
            let Some(known) = self.database.sessions_of(&session)?.pop() else { return Ok(()) };
            self.database.write_ledger(&known.run.id, &file.path, file.stamp.changed, &ledger)
        })
    }

    /// Adds a file that is a session. Returns whether its figures have to be read.
    fn add_examined(
        &mut self,
        file: &ChangedFile,
        examined: ExaminedFile,
        left_out: &mut HashSet<String>,
        counts: &mut ImportCounts,
    ) -> Result<bool, StoreError> {
        let ExaminedFile { kind, beginning, ends, damage } = examined;
        match kind {
            ImportedFile::Session => {}
            // It belongs to the session of another file.
            ImportedFile::SubAgent => return Ok(false),
            ImportedFile::Other => {
                self.notices.extend(damage.map(|why| StoreNotice::Archive { path: file.path.clone(), why }));
                counts.others += 1;
                return Ok(false);
            }
        }
        if self.still_has(&file.path, &beginning, &file.known)? {
            counts.changed += 1;
            return Ok(true);
        }
        let failed = |error| StoreError::File(file.path.clone(), error);
        let ends = match ends {
            Some(ends) => ends,
            // It held the session until now.
            None => open_history(&file.path).and_then(|open| ReadSession::read_ends(&file.path, open)),
        };
        let ends = ends.map_err(failed)?;
        let mark = session_mark(&ends.run, &file.path);
        if left_out.contains(&mark) {
            if !file.is_named {
                counts.removed += 1;
                return Ok(false);
            }
            self.take_in(&mark)?;
            left_out.remove(&mark);
        }
        match self.add_history(&file.path, file.stamp, &ends)? {
            Added::New => counts.new += 1,
            Added::ToKnown => counts.changed += 1,
            Added::Nothing => {
                counts.others += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Imports runs that were recorded elsewhere, and takes their files from the list. Damaged side files are reported.
    fn import_runs(&mut self, files: &mut Vec<PathBuf>) -> Result<ImportCounts, StoreError> {
        let side_files: BTreeSet<PathBuf> = files.iter().filter_map(|file| side_file_of(file)).collect();
        let mut counts = ImportCounts::default();
        let mut damaged = BTreeSet::new();
        for side_file in &side_files {
            match self.import_run(side_file)? {
                ImportedRun::New => counts.new += 1,
                ImportedRun::Restored => counts.changed += 1,
                ImportedRun::Known => counts.unchanged += 1,
                ImportedRun::Damaged => drop(damaged.insert(side_file.clone())),
            }
        }
        // The log of a damaged one is imported like any other stream.
        let is_done = |side_file: &PathBuf| side_files.contains(side_file) && !damaged.contains(side_file);
        files.retain(|file| {
            side_file_id(file).is_none() && !side_file_of(file).is_some_and(|it| is_done(&it))
        });
        let count = damaged.len();
        self.notices.extend(damaged.into_iter().next().map(|first| StoreNotice::SideFiles { first, count }));
        Ok(counts)
    }

    /// Reads the histories again that an older version has read. Those that can't be read are left as they are.
    pub(super) fn renew_histories(&mut self, each: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        let mut readable = Vec::new();
        for file in self.database.histories_read_before()? {
            if let Ok(beginning) = open_history(&file).and_then(|opened| beginning_of_session(&file, opened))
                && self.still_has(
                    &file,
                    &String::from_utf8_lossy(&beginning),
                    &self.database.sources_at(&file)?,
                )?
            {
                readable.push(file);
            }
        }
        self.read_histories(readable, each)
    }

    /// Reads whole files, those of origins before those of their copies, and reads copies again of which an origin was added. Calls
    /// `each` with the number of files done and of all files.
    fn read_histories(
        &mut self,
        files: Vec<PathBuf>,
        mut each: impl FnMut(usize, usize),
    ) -> Result<(), StoreError> {
        let mut first = BTreeSet::new();
        for file in files {
            for (id, _) in self.database.sources_at(&file)? {
                first.extend(self.seniority(&id)?.map(|seniority| (seniority, id, file.clone())));
            }
        }
        let first: Vec<_> = first.into_iter().collect();
        let ids: HashSet<&str> = first.iter().map(|(_, id, _)| &**id).collect();
        let (mut done, mut again, mut were_read) = (0, BTreeSet::new(), HashSet::new());
        let data = self.data().to_owned();
        read_in_order(
            &first,
            |(_, _, file)| ReadAhead::of(file, &data),
            |(_, id, file), ahead| {
                each(done, first.len() + again.len());
                done += 1;
                were_read.insert(&**id);
                // A copy that is still to be read comes after its origin anyway.
                let copies = self.read_history(id, Some(file), ahead.ok())?;
                again.extend(
                    copies
                        .into_iter()
                        .filter(|(_, copy)| were_read.contains(&**copy) || !ids.contains(&**copy)),
                );
                Ok::<(), StoreError>(())
            },
        )?;
        let mut seen = HashSet::new();
        while let Some((_, id)) = again.pop_first() {
            each(done, done + again.len() + 1);
            done += 1;
            if seen.insert(id.clone()) {
                again.extend(self.read_history(&id, None, None)?);
            }
        }
        Ok(())
    }

    /// Takes a file from the sessions that it doesn't have any more, since another one was written to its path: their figures stay. Returns
    /// whether it has one of them still.
    fn still_has(
        &self,
        file: &Path,
        beginning: &str,
        known: &[(String, SourceRow)],
    ) -> Result<bool, StoreError> {
        let mut has_one = false;
        for (id, _) in known {
            has_one |= !self.database.take_source(id, file, beginning)?;
        }
        Ok(has_one)
    }

    /// Returns the times in which our own runs continued a session: the items that they added to its history are counted in their rows.
    fn runs_of(&self, id: &str) -> Result<Vec<RangeInclusive<Timestamp>>, StoreError> {
        let mut runs = Vec::new();
        let own = self.database.session(id)?.and_then(|own| own.run.agent_session);
        let known = own.map_or(Ok(Vec::new()), |session| self.database.sessions_of(&session))?;
        for SessionRecord { run, source, .. } in
            known.into_iter().filter(|it| it.source.kind == SourceKind::Run)
        {
            let log = match run.id.parse() {
                Ok(id) => self.paths.log_now(&id, &source.path),
                Err(_) => source.path,
            };
            // A run that was killed has no end: use the time of the last write to its log.
            let written = || Timestamp::from_nanosecond(changed(&fs::metadata(log).ok()?).into()).ok();
            runs.push(run.started..=run.ended.or_else(written).unwrap_or(Timestamp::MAX));
        }
        Ok(runs)
    }

    /// Adds a file to its session, or as a new session.
    fn add_history(&self, file: &Path, stamp: HistoryStamp, ends: &ReadSession) -> Result<Added, StoreError> {
        let Some(agent) = ends.run.agent.as_deref() else { return Ok(Added::Nothing) };
        self.database.transaction(|| {
            let session = ends.run.agent_session.as_ref();
            let known = session.map_or(Ok(Vec::new()), |session| self.database.sessions_of(session))?;
            let is_of_agent = |run: &SessionRun| run.agent.as_deref().is_none_or(|known| known == agent);
            let known = known.into_iter().map(|known| known.run).rfind(is_of_agent);
            let is_new = known.is_none();
            let id = if let Some(known) = known {
                known.id
            } else {
                let started = ends.first_at.unwrap_or_else(|| stamp.time());
                let name = ends.run.agent_session.clone().unwrap_or_else(|| path_text(file));
                let mut id = RunId::of(started, &format!("{agent} {name}"));
                for count in 2..100 {
                    if self.database.session(id.as_str())?.is_none() {
                        break;
                    }
                    id = RunId::of(started, &format!("{agent} {name} {count}"));
                }
                let run = SessionRun { id: id.to_string(), started, ..ends.run.clone() };
                link::write_session(&self.database, &run, ends.figures.messages.first)?;
                run.id
            };
            let source = SourceRow {
                path: file.to_owned(),
                size: Some(stamp.size.unwrap_or(0)),
                ..SourceRow::default()
            };
            self.database.write_source(&id, &source)?;
            Ok(if is_new { Added::New } else { Added::ToKnown })
        })
    }

    /// Reads a whole file of a session, or one that was read before, and writes the session's figures from its best source. Returns the
    /// copies of the session that must be read again because of its messages.
    fn read_history(
        &mut self,
        id: &str,
        file: Option<&Path>,
        ahead: Option<ReadAhead>,
    ) -> Result<BTreeSet<(Seniority, String)>, StoreError> {
        let sources = self.sources(id)?;
        let is_file = |source: &&SourceRow| match file {
            Some(file) => source.path == file,
            None => HistoryStamp::of(&source.path).is_ok_and(|stamp| is_unchanged(source, stamp)),
        };
        let Some(source) = sources.iter().find(is_file) else { return Ok(BTreeSet::new()) };
        let file = source.path.as_path();
        // Content that is added while it is read will be read the next time.
        let failed = |error| StoreError::File(file.to_owned(), error);
        let stamp = HistoryStamp::of(file).map_err(failed)?;
        let has_run = sources.iter().any(|source| source.kind == SourceKind::Run);
        let known = self.messages_before(id)?;
        let before = self.database.messages(id)?;
        let elsewhere = CountedElsewhere { times: self.runs_of(id)?, messages: known.all() };
        // What was read ahead is of this file alone, and counts all of it.
        let is_alone = has_run || sources.len() == 1 && elsewhere.is_empty();
        let ahead = match ahead.filter(|ahead| is_alone && ahead.stamp == stamp) {
            None if has_run => Some(ReadAhead::of(file, self.data()).map_err(failed)?),
            ahead => ahead,
        };
        let (size, read, ledger) = if let Some(ReadAhead { size, mut read, .. }) = ahead {
            let ledger = mem::take(&mut read.ledger);
            (size, Some(read).filter(|_| !has_run), ledger)
        } else {
            let opened = OpenHistory::at(file).map_err(failed)?;
            let size = opened.size;
            let (read, ledger) = best(opened, &sources, &elsewhere, self.data());
            (size, read, ledger)
        };
        let damage = read.as_ref().and_then(|read| read.damage.clone());
        self.notices.extend(damage.map(|why| StoreNotice::Archive { path: file.to_owned(), why }));
        let has_new = read.as_ref().is_some_and(|read| {
            let now = &read.figures.messages.all;
            before.is_empty() && !now.is_empty() || !now.starts_with(&before)
        });
        self.database.transaction(|| {
            if let Some(ReadSession { mut run, figures, first_at, copied_to, .. }) = read {
                let started = self.database.session(id)?.map(|known| known.run.started).unwrap_or_default();
                (run.id, run.started) =
                    (id.to_owned(), first_at.filter(|_| copied_to.is_some()).unwrap_or(started));
                run.parent_session = run.parent_session.or_else(|| known.origin(copied_to?));
                run.ended = run.ended.or(Some(stamp.time()));
                link::write_session(&self.database, &run, figures.messages.first)?;
                self.database.write_figures(id, &figures, true)?;
                if let Some(session) = &run.agent_session {
                    link::link(&self.database, session)?;
                }
            }
            self.database.write_ledger(id, file, stamp.changed, &ledger)?;
            let read =
                SourceRow { size: Some(size), mtime: Some(stamp.changed), gone: false, ..source.clone() };
            self.database.write_source(id, &read)
        })?;
        if has_new { self.copies(id) } else { Ok(BTreeSet::new()) }
    }
}

/// A file that may be a session, and that changed since it was read.
struct ChangedFile {
    path: PathBuf,
    /// Whether it was named itself, not a folder that it is in.
    is_named: bool,
    stamp: HistoryStamp,
    /// The sessions of which it is a source.
    known: Vec<(String, SourceRow)>,
}

/// What the beginning and the end of a file show.
struct ExaminedFile {
    kind: ImportedFile,
    beginning: String,
    /// The session, if it isn't known.
    ends: Option<io::Result<ReadSession>>,
    damage: Option<String>,
}

impl ChangedFile {
    /// Reads the beginning, and if it is new, also the end. `None` if it can't be opened.
    fn examine(&self) -> Option<ExaminedFile> {
        let mut opened = open_history(&self.path).ok()?;
        let beginning = beginning_of_session(&self.path, &opened).unwrap_or_default();
        let kind = ImportedFile::of(&self.path, &beginning);
        let is_new = matches!(kind, ImportedFile::Session) && self.known.is_empty();
        let ends = is_new.then(|| opened.rewind().and_then(|()| ReadSession::read_ends(&self.path, opened)));
        let is_other = matches!(kind, ImportedFile::Other);
        let damage = is_other.then(|| damage_of(&self.path, BEGINNING)).flatten();
        Some(ExaminedFile { kind, beginning: String::from_utf8_lossy(&beginning).into_owned(), ends, damage })
    }
}

/// A history that was read before it is known what of it other sessions count.
struct ReadAhead {
    /// How it was before it was read.
    stamp: HistoryStamp,
    size: u64,
    read: ReadSession,
}

impl ReadAhead {
    fn of(file: &Path, data: &Path) -> io::Result<Self> {
        let stamp = HistoryStamp::of(file)?;
        let opened = OpenHistory::at(file)?;
        let size = opened.size;
        Ok(Self { stamp, size, read: ReadSession::read_history(opened, CountedElsewhere::default(), data)? })
    }
}

/// The result of adding a file.
enum Added {
    /// It is a new session.
    New,
    /// It is one more source of a known one.
    ToKnown,
    /// It is no session.
    Nothing,
}

/// Returns the session by its best source, with the damage of the file itself, and the entries of the file itself: one with an outcome rather than one without, then the larger
/// one. If that has no tokens, or perhaps only those of a part of the session, tokens and calls come from a source that counted more from the
/// start.
fn best(
    opened: OpenHistory<'_>,
    sources: &[SourceRow],
    elsewhere: &CountedElsewhere,
    data: &Path,
) -> (Option<ReadSession>, Ledger) {
    let own = opened.path;
    let (mut damage, mut ledger) = (None, Ledger::default());
    let others = sources.iter().filter(|source| source.path != own);
    let others = others.filter_map(|source| OpenHistory::at(&source.path).ok());
    let read = others.chain([opened]).filter_map(|history| {
        let (path, size) = (history.path, history.size);
        let mut read = ReadSession::read_history(history, elsewhere.clone(), data).ok()?;
        if path == own {
            damage.clone_from(&read.damage);
            ledger = std::mem::take(&mut read.ledger);
        }
        Some(((read.figures.outcome.is_some(), size, std::cmp::Reverse(path.to_owned())), read))
    });
    let mut read: Vec<_> = read.collect();
    read.sort_by(|(one, _), (other, _)| one.cmp(other));
    let Some((_, mut session)) = read.pop() else { return (None, ledger) };
    // A stream may name no model; its history does.
    let model_of = |(_, read): &(_, ReadSession)| read.run.model.clone();
    session.run.model = session.run.model.take().or_else(|| read.iter().rev().find_map(model_of));
    let best = &mut session.figures;
    let counted = |figures: &SessionFigures| figures.tokens.map_or(0, |tokens| tokens.spent());
    let whole = read.into_iter().map(|(_, read)| read.figures);
    let whole = whole.filter(|figures| figures.counted_from == CountedFrom::Start).max_by_key(counted);
    let may_be_part = best.usage.is_empty() || matches!(best.counted_from, CountedFrom::Either(_));
    if let Some(whole) = whole.filter(|whole| may_be_part && counted(whole) > counted(best)) {
        (best.usage, best.calls, best.counted_from) = (whole.usage, whole.calls, CountedFrom::Start);
    }
    (Some(ReadSession { damage, ..session }), ledger)
}

/// Whether a file is as it was when it was read.
fn is_unchanged(source: &SourceRow, stamp: HistoryStamp) -> bool {
    let is_long_as_before = stamp.size.is_none_or(|size| source.size == Some(size));
    is_long_as_before && source.mtime == Some(stamp.changed) && !source.gone
}

/// The files that may be sessions.
pub(super) struct FoundFiles {
    /// All of them, in order.
    pub(super) files: Vec<PathBuf>,
    /// The folders that were searched.
    folders: Vec<PathBuf>,
    /// The files that were named themselves.
    named: HashSet<PathBuf>,
    /// Why a database can't be read, or not all of it.
    pub(super) unread: Option<StoreError>,
}

/// Finds the files that may be sessions: those that are named, and those in folders. Fails at a path that can't be read.
pub(super) fn session_files(paths: &[PathBuf]) -> Result<FoundFiles, StoreError> {
    let (mut files, mut folders, mut named) = (Vec::new(), Vec::new(), HashSet::new());
    for path in paths {
        let real = real_path(path).map_err(|error| StoreError::File(path.clone(), error))?;
        if real.is_dir() {
            find(&real, DEEPEST, &mut files);
            folders.push(real);
        } else {
            named.insert(real.clone());
            files.push(real);
        }
    }
    let unread = add_databases(&mut files);
    files.sort();
    files.dedup();
    Ok(FoundFiles { files, folders, named, unread })
}

/// Replaces databases among the files by the sessions in them. Returns why the first one can't be read, or not all of it.
fn add_databases(files: &mut Vec<PathBuf>) -> Option<StoreError> {
    let databases = files.extract_if(.., |file| is_named_as_database(file) || is_database(file));
    let databases: Vec<PathBuf> = databases.collect();
    let mut unread = None;
    for database in databases {
        match read_only(&database).and_then(|open| open.sessions(&database, MOST_SESSIONS)) {
            Ok((sessions, left)) => {
                files.extend(sessions);
                if left > 0 {
                    let reason = format!("only {MOST_SESSIONS} sessions are read; {left} are left out");
                    unread = unread.or(Some(StoreError::File(database, io::Error::other(reason))));
                }
            }
            Err(error) => unread = unread.or(Some(StoreError::File(database, error))),
        }
    }
    unread
}

/// Finds files that may be sessions. Symbolic links aren't followed, and sub-agents' files belong to their sessions.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 && !name.to_str().is_some_and(holds_side_files) {
            find(&path, depth - 1, files);
        } else if kind.is_file()
            && (is_named_as_session(&path) || is_named_as_database(&path) || side_file_id(&path).is_some())
        {
            files.push(path);
        }
    }
}

/// What a file is, by its beginning.
pub(super) enum ImportedFile {
    /// A session of a known agent.
    Session,
    /// The file of a sub-agent, which belongs to the session of another file.
    SubAgent,
    Other,
}

impl ImportedFile {
    pub(super) fn of(path: &Path, beginning: &[u8]) -> Self {
        let records = first_records_of_session(beginning);
        let path = without_compression(path);
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        match records.first() {
            None if is_session_of_text(beginning) => Self::Session,
            Some(first) if is_side_file(name, first) => Self::SubAgent,
            Some(_) if records.iter().any(|record| DIALECTS.is_event(record.root())) => Self::Session,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_twelve_levels_down() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-import-").unwrap();
        let data = folder.path().join("data");
        let histories = folder.path().join("histories");
        let line = r#"{"type":"user","sessionId":"s-1","cwd":"/","version":"2.1.0","uuid":"u-1","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T09:00:00.000Z","message":{"role":"user","content":"Plan it."}}"#;
        for levels in [12, 13] {
            let deep = histories.join("d/".repeat(levels));
            fs::create_dir_all(&deep).unwrap();
            fs::write(deep.join("a.jsonl"), line.replace("s-1", &format!("s-{levels}")) + "\n").unwrap();
        }
        let mut store = Store::open(&data).unwrap();
        let new = |counts: ImportCounts| counts.new;
        assert_eq!(new(store.import(std::slice::from_ref(&histories), |_| ()).unwrap()), 1);
        // The rest is found when importing from further down.
        assert_eq!(new(store.import(&[histories.join("d")], |_| ()).unwrap()), 1);
    }
}
