//! Reads all copies, and finds out what is missing of the sessions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::core::report::Report;

use super::super::figures::observed;
use super::super::history::{history_exists, subagents_of};
use super::super::{Store, StoreError};
use super::manifest::{CopiedPart, CopyManifest, folder_of};
use super::{COPIES, pack};
use crate::path_text::text_path;
use crate::run_id::RunId;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// The copies of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedCopies {
    /// Our id of the session.
    pub id: String,
    /// The number of copied files.
    pub files: usize,
    /// What they hold, in bytes.
    pub bytes: u64,
    /// What is missing, and what else is worth knowing.
    pub findings: Vec<CopyFinding>,
}

/// Something that is missing in the copies of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyFinding {
    /// This file isn't what was written.
    Damaged(PathBuf),
    /// The database has no entry of the session.
    NoEntry,
    /// The agent's file is gone: the copy is all that there is.
    SourceGone(PathBuf),
    /// The agent's file was rewritten without all that it held before: the number of copies of it.
    Generations(PathBuf, usize),
    /// The log of the run has gaps: the bytes that are missing.
    Gaps(u64),
    /// The session has no result.
    NoResult,
    /// The number of calls without a result.
    OpenCalls(u64),
    /// The number of damaged records, as the agent wrote them.
    DamagedRecords(u64),
    /// How often the agent reports that it could not save all of the session.
    Unsaved(u64),
}

impl VerifiedCopies {
    /// Whether a file isn't what was written.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding, CopyFinding::Damaged(_)))
    }
}

impl Store {
    /// Reads all copies. Calls `each` with the number of sessions done and of all sessions.
    pub fn verify_copies(
        &self,
        mut each: impl FnMut(usize, usize),
    ) -> Result<Vec<VerifiedCopies>, StoreError> {
        let ids = self.copied_sessions()?;
        let mut verified = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            each(at, ids.len());
            verified.extend(self.verify_session(id)?);
        }
        Ok(verified)
    }

    /// Returns the ids of the sessions that have copies, the oldest first.
    pub fn copied_sessions(&self) -> Result<Vec<RunId>, StoreError> {
        let folder = self.data().join(COPIES);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| StoreError::File(folder, error))?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<RunId> = names.filter_map(|name| name.parse().ok()).collect();
        ids.sort();
        Ok(ids)
    }

    /// Whether a file that a session was read from is still there.
    pub fn has_source(&self, id: &RunId) -> Result<bool, StoreError> {
        Ok(self.sources(id.as_str())?.iter().any(|source| history_exists(&source.path)))
    }

    fn verify_session(&self, id: &RunId) -> Result<Option<VerifiedCopies>, StoreError> {
        let folder = folder_of(self.data(), id);
        let mut verified = VerifiedCopies { id: id.to_string(), ..VerifiedCopies::default() };
        let manifest = match CopyManifest::read(&folder) {
            Ok(Some(manifest)) => manifest,
            // A process was killed before it copied anything.
            Ok(None) if fs::read_dir(&folder).is_ok_and(|entries| entries.count() == 0) => return Ok(None),
            Ok(None) | Err(_) => {
                verified.findings.push(CopyFinding::Damaged(folder.join(super::manifest::MANIFEST)));
                return Ok(Some(verified));
            }
        };
        if manifest.files.is_empty() {
            return Ok(None);
        }
        for file in &manifest.files {
            verified.files += 1;
            for generation in &file.generations {
                verified.bytes += generation.bytes;
                let path = generation.path(&folder);
                if !pack::is_intact(&path, generation).unwrap_or(false) {
                    verified.findings.push(CopyFinding::Damaged(path));
                }
            }
            let source = text_path(&file.source);
            if file.holds == CopiedPart::History && !history_exists(&source) {
                verified.findings.push(CopyFinding::SourceGone(source.clone()));
            }
            if file.generations.len() > 1 {
                verified.findings.push(CopyFinding::Generations(source, file.generations.len()));
            }
        }
        if self.database.session(id.as_str())?.is_none() {
            verified.findings.push(CopyFinding::NoEntry);
        }
        let gaps = self.sources(id.as_str())?.into_iter().flat_map(|source| source.gaps);
        let bytes = gaps.map(|gap| gap.bytes).sum();
        verified.findings.extend((bytes > 0).then_some(CopyFinding::Gaps(bytes)));
        let histories = manifest.files.iter().filter(|file| file.holds == CopiedPart::History);
        // The largest is the one that is shown.
        let largest = histories.max_by_key(|file| file.generations.last().map(|newest| newest.bytes));
        if let Some((path, packed)) = largest.and_then(|file| file.newest(&folder)) {
            // Damage was found above.
            verified.findings.extend(report(&path, packed).as_ref().map(lost).unwrap_or_default());
        }
        Ok(Some(verified))
    }
}

/// What is missing in a session by the report of its pipeline.
fn lost(report: &Report) -> Vec<CopyFinding> {
    let counts = [
        (report.open_calls, CopyFinding::OpenCalls as fn(u64) -> CopyFinding),
        (report.damaged, CopyFinding::DamagedRecords),
        (report.unsaved, CopyFinding::Unsaved),
    ];
    let is_open = report.awaits_outcome && !report.ended;
    let found = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, finding)| finding(count));
    is_open.then_some(CopyFinding::NoResult).into_iter().chain(found).collect()
}

/// Reads a copy as it is shown.
fn report(path: &Path, packed: u64) -> io::Result<Report> {
    struct Nobody;
    impl Observer for Nobody {}
    let subagents = Some(subagents_of(path.to_owned(), Vec::new()));
    let mut pipeline = Pipeline::new(Setup { subagents, ..observed(Box::new(Nobody)) });
    let mut input = pack::unpacked(path, packed)?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match io::Read::read(&mut input, &mut buffer)? {
            0 => break,
            // Nothing is written, so nothing can fail.
            count => drop(pipeline.push(&buffer[..count], &mut String::new())),
        }
    }
    let _ = pipeline.finish(&mut String::new());
    Ok(pipeline.report().clone())
}

#[cfg(test)]
mod tests {
    use super::super::CopyPolicy;
    use super::*;

    const LINE: &str = r#"{"type":"user","sessionId":"s-1","cwd":"/","version":"2.1.0","uuid":"u-1","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T09:00:00.000Z","message":{"role":"user","content":"Plan it."}}"#;

    #[test]
    fn each_flipped_bit_is_found() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-verify-").unwrap();
        let (data, history) = (folder.path().join("data"), folder.path().join("s.jsonl"));
        let mut store = Store::open(&data).unwrap();
        store.set_copy_policy(CopyPolicy { is_on: true, most: None });
        for count in 1..=2 {
            // Two frames.
            fs::write(&history, format!("{LINE}\n").repeat(count)).unwrap();
            store.import(std::slice::from_ref(&history), |_| ()).unwrap();
        }
        let is_damaged = || {
            let verified = store.verify_copies(|_, _| ()).unwrap();
            assert_eq!(verified.len(), 1);
            verified[0].is_damaged()
        };
        assert!(!is_damaged());
        let folder = folder_of(&data, &store.copied_sessions().unwrap()[0]);
        for file in [folder.join("manifest.json"), folder.join("1/s.jsonl.zst")] {
            let whole = fs::read(&file).unwrap();
            for at in 0..whole.len() {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << (at % 8);
                fs::write(&file, flipped).unwrap();
                assert!(is_damaged(), "{} at {at}", file.display());
            }
            for wrong in [&whole[..whole.len() - 1], &[]] {
                fs::write(&file, wrong).unwrap();
                assert!(is_damaged(), "{} of {} bytes", file.display(), wrong.len());
            }
            fs::remove_file(&file).unwrap();
            assert!(is_damaged(), "{}", file.display());
            fs::write(&file, whole).unwrap();
        }
        assert!(!is_damaged());
    }
}
