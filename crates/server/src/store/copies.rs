//! Copies of the files of imported sessions, which stay when an agent deletes or rewrites them.
//!
//! ```text
//! copies/ID/manifest.json       which files there are, with hashes of what was copied and of what lies here
//! copies/ID/3/NAME.zst          the third generation: frames of zstd, one for each time that something was added
//! ```
//!
//! A copy is only ever added to. A file that was rewritten gets another one, a new generation, which replaces those of which it holds
//! everything. The manifest is replaced as a whole after the copy was flushed to disk: what it doesn't name doesn't count, so a process may be
//! killed at any time.

mod compare;
mod manifest;
pub(super) mod pack;
mod verify;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use streamfmt::core::item::FactRef;
use streamfmt::core::pipeline::{SessionFacts, Subagents};
use streamfmt::histories::{facts_file, is_document, session_facts_in};
use streamfmt::side_files::side_files_below;
use streamfmt::unpack::{UnpackedReader, without_compression};
use streamfmt::{SideFile, side_files_of, subagents_among};

use self::manifest::{CopiedFile, CopiedPart, CopyGeneration, CopyManifest, folder_of, hex};
use self::pack::{CopyRoom, HashedSource};
use super::history::{self, HistoryStamp, history_exists, is_in_database, open_history};
use super::record::{SourceKind, SourceRow};
use super::{Store, StoreError, StoreNotice, sql};
use crate::own_folder::create_private;
use crate::path_text::{path_text, text_path};
use crate::run_id::RunId;
use crate::side_draft;
pub use verify::{CopyFinding, VerifiedCopies};

/// The folder of copies in a data folder.
pub(super) const COPIES: &str = "copies";
/// How long a file that is rewritten as a whole isn't copied again.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// What an import copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyPolicy {
    /// Whether it copies the files of all sessions, or only of those that have copies.
    pub is_on: bool,
    /// The most bytes that all copies may take. `None`: there is no limit.
    pub most: Option<u64>,
}

impl Default for CopyPolicy {
    /// Nothing more than what is copied already; 20 GB.
    fn default() -> Self {
        Self { is_on: false, most: Some(20_000_000_000) }
    }
}

/// A file to copy.
struct CopySource {
    path: PathBuf,
    row: CopiedFile,
}

impl CopySource {
    fn of(path: &Path, holds: CopiedPart, history: Option<&Path>) -> Self {
        Self { path: path.to_owned(), row: CopiedFile::of(path, holds, history) }
    }

    /// The size of the file, and when it was changed last.
    fn stamp(&self) -> io::Result<(Option<u64>, i64)> {
        if is_in_database(&self.path) {
            return HistoryStamp::of(&self.path).map(|stamp| (stamp.size, stamp.changed));
        }
        let about = fs::metadata(&self.path)?;
        if !about.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok((Some(about.len()), super::runs::changed(&about)))
    }

    /// Whether it is written anew whenever something changes.
    fn is_rewritten(&self) -> bool {
        matches!(self.row.holds, CopiedPart::Meta | CopiedPart::Facts)
            || is_document(&without_compression(&self.path))
            || is_in_database(&self.path)
    }
}

impl Store {
    /// Sets what later imports copy.
    pub fn set_copy_policy(&mut self, policy: CopyPolicy) {
        self.copy_policy = policy;
    }

    /// Copies the files of the sessions that were read from these histories. Returns the number of files that were copied or added to.
    pub(super) fn copy_histories(
        &mut self,
        histories: &[PathBuf],
        mut each: impl FnMut(usize, usize),
    ) -> Result<usize, StoreError> {
        let folder = self.data().join(COPIES);
        let policy = self.copy_policy;
        if !policy.is_on && !folder.exists() {
            return Ok(0);
        }
        create_private(&folder).map_err(|error| StoreError::File(folder.clone(), error))?;
        let left = policy.most.map(|most| most.saturating_sub(size_below(&folder)));
        let mut copying = Copying { room: CopyRoom { left, is_full: false }, copied: 0, failed: Vec::new() };
        for (at, history) in histories.iter().enumerate() {
            each(at, histories.len());
            for (id, source) in self.database.sources_at(history)? {
                let Ok(id) = id.parse::<RunId>() else { continue };
                let of_session = folder_of(self.data(), &id);
                if source.kind == SourceKind::Run || !policy.is_on && !of_session.exists() {
                    continue;
                }
                if is_up_to_date(&of_session, history) {
                    continue;
                }
                let session = self.database.session(id.as_str())?.and_then(|row| row.run.agent_session);
                // Another process may copy the same files.
                let _lock = sql::lock(self.database.path())?;
                if self.database.session(id.as_str())?.is_none() {
                    // It was removed meanwhile.
                    continue;
                }
                if let Err(error) = copying.copy_session(&of_session, &id, session.as_deref(), history) {
                    copying.failed.push((of_session, error));
                }
            }
            if copying.room.is_full {
                break;
            }
        }
        if copying.room.is_full {
            self.notices.push(StoreNotice::CopiesFull { most: policy.most.unwrap_or_default() });
        }
        let count = copying.failed.len();
        let first = copying.failed.into_iter().next();
        self.notices.extend(first.map(|(path, error)| StoreNotice::NotCopied {
            path,
            why: streamfmt::problem::reason(&error),
            count,
        }));
        Ok(copying.copied)
    }

    /// Returns the folder of a session's copies, if there is one.
    pub(super) fn copies_folder(&self, id: &RunId) -> Option<PathBuf> {
        Some(folder_of(self.data(), id)).filter(|folder| folder.exists())
    }

    /// Returns the files that a session can be read from now, as [`Self::sources`]: for one that is gone, its newest copy, if there is one.
    pub fn readable_sources(&self, id: &str) -> Result<Vec<SourceRow>, StoreError> {
        let mut sources = self.sources(id)?;
        let Ok(run) = id.parse::<RunId>() else { return Ok(sources) };
        let folder = folder_of(self.data(), &run);
        let Ok(Some(manifest)) = CopyManifest::read(&folder) else { return Ok(sources) };
        for file in manifest.files.iter().filter(|file| file.holds == CopiedPart::History) {
            let Some((path, packed)) = file.newest(&folder) else { continue };
            let copy =
                SourceRow { path, size: Some(packed), gone: true, is_copy: true, ..SourceRow::default() };
            match sources.iter_mut().find(|source| path_text(&source.path) == file.source) {
                Some(source) if history_exists(&source.path) => {}
                Some(source) => *source = copy,
                // Another session was written to its path.
                None => sources.push(copy),
            }
        }
        Ok(sources)
    }
}

/// The newest copy of the history of an agent's session in a data folder, of those at these paths.
pub(super) fn copies_of(data: &Path, histories: &[(String, PathBuf)]) -> Vec<PathBuf> {
    let copy = |(id, history): &(String, PathBuf)| {
        let folder = folder_of(data, &id.parse().ok()?);
        CopyManifest::read(&folder).ok()??.file(history)?.newest(&folder).map(|(path, _)| path)
    };
    histories.iter().filter_map(copy).collect()
}

/// A session whose history is a copy.
pub(super) struct HistoryCopy {
    folder: PathBuf,
    manifest: CopyManifest,
    /// Where the history was.
    source: String,
}

impl HistoryCopy {
    /// The session of the copy at a path.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let folder = path.parent()?.parent()?;
        let is_one =
            folder.parent()?.file_name()? == COPIES && folder.file_name()?.to_str()?.parse::<RunId>().is_ok();
        let manifest = is_one.then(|| CopyManifest::read(folder).ok()).flatten()??;
        let is_its = |file: &&CopiedFile| file.generations.iter().any(|it| it.path(folder) == path);
        let source = manifest.files.iter().find(is_its)?.source.clone();
        Some(Self { folder: folder.to_owned(), manifest, source })
    }

    /// Finds its sub-agents for its pipeline.
    pub(super) fn subagents(&self) -> Subagents {
        let files = self.manifest.beside(&self.source).filter(|file| file.holds == CopiedPart::Subagent);
        let files: Vec<(SideFile, u64)> = files
            .filter_map(|file| {
                let (path, packed) = file.newest(&self.folder)?;
                let agent_id = file.subagent.clone()?;
                let (call, session) = (file.call.clone(), file.of_session.clone());
                Some((SideFile { path, agent_id, call, session }, packed))
            })
            .collect();
        // Those of a database are found by their ids alone.
        if files.iter().any(|(file, _)| file.session.is_none()) {
            let mut left = files;
            return Box::new(move |item| {
                let agent = item.fact("agent").and_then(FactRef::str)?;
                let at = left.iter().position(|(file, _)| file.agent_id == *agent)?;
                let (file, packed) = left.remove(at);
                pack::unpacked(&file.path, packed).ok().map(history::pieces)
            });
        }
        subagents_among(files.into_iter().map(|(file, _)| file).collect())
    }

    /// Reads the facts of the session for its pipeline.
    pub(super) fn facts(&self) -> SessionFacts {
        let facts = self.manifest.beside(&self.source).find(|file| file.holds == CopiedPart::Facts);
        match facts.and_then(|file| file.newest(&self.folder)) {
            Some((path, _)) => session_facts_in(path),
            None => Box::new(|| None),
        }
    }
}

/// An import that copies.
struct Copying {
    room: CopyRoom,
    copied: usize,
    failed: Vec<(PathBuf, io::Error)>,
}

impl Copying {
    /// Copies a history of a session, and the files that belong to it.
    fn copy_session(
        &mut self,
        folder: &Path,
        id: &RunId,
        agent_session: Option<&str>,
        history: &Path,
    ) -> io::Result<()> {
        let known = CopyManifest::read(folder)?;
        let mut manifest = known.clone().unwrap_or_else(|| CopyManifest {
            v: 1,
            session: id.to_string(),
            next: 1,
            ..CopyManifest::default()
        });
        manifest.agent_session = agent_session.map(str::to_owned).or(manifest.agent_session);
        if known.is_none() {
            create_private(folder)?;
            if has_generations(folder) {
                // Without it, nothing tells what these hold, so nothing may replace them.
                return Err(io::Error::new(ErrorKind::InvalidData, "the manifest of the copies is missing"));
            }
            manifest.write(folder, true)?;
        }
        let mut is_whole = true;
        for source in sources_of(&manifest, history, agent_session) {
            if self.room.is_full {
                break;
            }
            match self.copy(folder, &mut manifest, &source) {
                // An agent may delete it at any time.
                Err(error) if self.room.is_full || error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    is_whole = false;
                    self.failed.push((source.path, error));
                }
                Ok(()) => {}
            }
        }
        if manifest.files.is_empty() {
            fs::remove_file(folder.join(manifest::MANIFEST))?;
            return fs::remove_dir(folder);
        }
        let name = path_text(history);
        if let Some(file) =
            manifest.files.iter_mut().find(|file| file.source == name && (!is_whole || self.room.is_full))
        {
            // Not as any file is: the rest is looked for again the next time.
            file.changed = i64::MIN;
        }
        if known.as_ref() == Some(&manifest) {
            return Ok(());
        }
        manifest.write(folder, true)?;
        remove_unnamed(folder, &manifest);
        Ok(())
    }

    /// Copies what is new in a file.
    fn copy(&mut self, folder: &Path, manifest: &mut CopyManifest, source: &CopySource) -> io::Result<()> {
        let stamp = source.stamp()?;
        let known = manifest.files.iter().position(|file| file.source == source.row.source);
        let file = known.map_or(&source.row, |at| &manifest.files[at]);
        if !file.generations.is_empty() && (file.size, file.changed) == stamp {
            return Ok(());
        }
        let now = Timestamp::now();
        let is_early = |last: Timestamp| now.duration_since(last).abs() < PAUSE;
        if source.is_rewritten() && file.generations.last().is_some_and(|newest| is_early(newest.last)) {
            return Ok(());
        }
        let mut file = CopiedFile { generations: file.generations.clone(), ..source.row.clone() };
        (file.size, file.changed) = stamp;
        if !self.add(folder, source, &mut file, now)? {
            let number = manifest.next;
            self.begin(folder, source, &mut file, number, now)?;
            manifest.next += 1;
        }
        match known {
            Some(at) => manifest.files[at] = file,
            None => manifest.files.push(file),
        }
        Ok(())
    }

    /// Adds what a file has grown by to its copy. Returns false if it doesn't begin with what was copied.
    fn add(
        &mut self,
        folder: &Path,
        source: &CopySource,
        file: &mut CopiedFile,
        now: Timestamp,
    ) -> io::Result<bool> {
        let Some(newest) = file.generations.last_mut() else { return Ok(false) };
        let mut content = HashedSource::new(UnpackedReader::new(open_history(&source.path)?));
        if content.beginning(newest.bytes)? != Some(newest.sha256.clone()) {
            return Ok(false);
        }
        let mut next = [0];
        if content.read(&mut next)? == 0 {
            return Ok(true);
        }
        match pack::append(&newest.path(folder), &next, &mut content, newest, &mut self.room) {
            // It is damaged: what it should hold is copied anew.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) => Ok(false),
            appended => {
                appended?;
                newest.last = now;
                self.copied += 1;
                Ok(true)
            }
        }
    }

    /// Begins a new generation of a file, and leaves out those that it holds everything of.
    fn begin(
        &mut self,
        folder: &Path,
        source: &CopySource,
        file: &mut CopiedFile,
        number: u32,
        now: Timestamp,
    ) -> io::Result<()> {
        let mut name = source.path.file_name().unwrap_or_default().to_owned();
        // What is compressed is copied decompressed, under the name without that.
        if let Some(plain) = without_compression(&source.path).file_name() {
            plain.clone_into(&mut name);
        }
        name.push(".zst");
        let mut generation = CopyGeneration {
            number,
            name: path_text(&name),
            bytes: 0,
            sha256: String::new(),
            frames: Vec::new(),
            frames_sha256: hex(Sha256::digest([]).as_ref()),
            first: now,
            last: now,
        };
        let path = generation.path(folder);
        create_private(&folder.join(number.to_string()))?;
        let mut content = HashedSource::new(UnpackedReader::new(open_history(&source.path)?));
        let written = side_draft::create(&path)
            .and_then(|_| pack::append(&path, &[], &mut content, &mut generation, &mut self.room));
        if let Err(error) = written {
            let _ = fs::remove_dir_all(folder.join(number.to_string()));
            return Err(error);
        }
        // The name of its folder is flushed with that of the manifest.
        crate::sync::sync_name(&path);
        file.generations.retain(|older| !is_held(folder, source, &generation, older).unwrap_or(false));
        file.generations.push(generation);
        self.copied += 1;
        Ok(())
    }
}

/// Whether a new generation of a file holds everything of an older one.
fn is_held(
    folder: &Path,
    source: &CopySource,
    newer: &CopyGeneration,
    older: &CopyGeneration,
) -> io::Result<bool> {
    // One that is damaged says nothing about what it held.
    if !pack::is_intact(&older.path(folder), older)? {
        return Ok(false);
    }
    let read = |generation: &CopyGeneration| pack::unpacked(&generation.path(folder), generation.packed());
    if compare::holds_lines(read(newer)?, read(older)?)? {
        return Ok(true);
    }
    match source.row.holds {
        // It says what is known of the session now, and has no items.
        CopiedPart::Meta | CopiedPart::Facts => {
            Ok(serde_json::from_reader::<_, serde::de::IgnoredAny>(read(newer)?).is_ok())
        }
        CopiedPart::History | CopiedPart::Subagent if source.is_rewritten() => {
            compare::holds_items(read(newer)?, read(older)?)
        }
        CopiedPart::History | CopiedPart::Subagent => Ok(false),
    }
}

/// The files of a session: its history and those that belong to it. Sub-agents are looked for only if the history has changed.
fn sources_of(manifest: &CopyManifest, history: &Path, agent_session: Option<&str>) -> Vec<CopySource> {
    let own = CopySource::of(history, CopiedPart::History, None);
    let name = own.row.source.clone();
    let known = manifest.file(history).map(|file| (file.size, file.changed));
    if known.is_some() && own.stamp().ok() == known {
        let beside = manifest.beside(&name).map(|file| CopySource {
            path: text_path(&file.source),
            row: CopiedFile { generations: Vec::new(), ..file.clone() },
        });
        return std::iter::once(own).chain(beside).collect();
    }
    let mut sources = vec![own];
    let facts = facts_file(history);
    sources.extend(facts.map(|facts| CopySource::of(&facts, CopiedPart::Facts, Some(history))));
    for subagent in history::below(history).unwrap_or_default() {
        let id = subagent.file_name().map(|id| id.to_string_lossy().into_owned());
        let mut source = CopySource::of(&subagent, CopiedPart::Subagent, Some(history));
        source.row.subagent = id;
        sources.push(source);
    }
    let files = agent_session.map(|session| side_files_of(history, session)).unwrap_or_default();
    // Those of workflows lie further down, and no call names them.
    let below = agent_session.map(|session| side_files_below(history, session)).unwrap_or_default();
    for path in below.into_iter().filter(|path| files.iter().all(|(file, _)| file.path != *path)) {
        let mut source = CopySource::of(&path, CopiedPart::Subagent, Some(history));
        source.row.of_session = agent_session.map(str::to_owned);
        sources.push(source);
    }
    for (file, meta) in files {
        let mut source = CopySource::of(&file.path, CopiedPart::Subagent, Some(history));
        source.row.subagent = Some(file.agent_id);
        (source.row.call, source.row.of_session) = (file.call, file.session);
        sources.push(source);
        sources.extend(meta.map(|meta| CopySource::of(&meta, CopiedPart::Meta, Some(history))));
    }
    sources
}

/// Whether all known files of a history are as they were when they were copied, or gone.
fn is_up_to_date(folder: &Path, history: &Path) -> bool {
    let Ok(Some(manifest)) = CopyManifest::read(folder) else { return false };
    if manifest.file(history).is_none() {
        return false;
    }
    sources_of(&manifest, history, None).iter().all(|source| {
        let known = manifest.files.iter().find(|file| file.source == source.row.source);
        source.stamp().map_or(true, |stamp| known.is_some_and(|known| (known.size, known.changed) == stamp))
    })
}

/// Whether there are folders of generations.
fn has_generations(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name())
        .any(|name| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
}

/// Removes the folders of generations that a manifest doesn't name: those that were replaced, and those that a killed process began.
fn remove_unnamed(folder: &Path, manifest: &CopyManifest) {
    let generations = manifest.files.iter().flat_map(|file| &file.generations);
    let named: BTreeSet<u32> = generations.map(|generation| generation.number).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if number.is_some_and(|number| !named.contains(&number)) {
            // It is tried again the next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The number of bytes of all files below a folder.
pub(super) fn size_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => size_below(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
