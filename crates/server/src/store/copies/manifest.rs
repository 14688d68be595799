//! The manifest of a session's copies: which files there are, and what is in them.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::path_text::path_text;
use crate::run_id::RunId;
use crate::side_draft;

/// The name of the manifest in the folder of a session's copies.
pub(super) const MANIFEST: &str = "manifest.json";

/// The copies of a session's files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyManifest {
    /// The version of this format: 1.
    pub(super) v: u32,
    /// Our id of the session.
    pub(super) session: String,
    /// The agent's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent_session: Option<String>,
    /// The number of the next generation.
    pub(super) next: u32,
    /// The files, in the order in which they were first copied.
    pub(super) files: Vec<CopiedFile>,
}

/// A file that was copied. Its path, and others, are written as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopiedFile {
    /// Where it was.
    pub(super) source: String,
    /// What it holds.
    pub(super) holds: CopiedPart,
    /// The history that it belongs to, if it is another file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<String>,
    /// The sub-agent that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subagent: Option<String>,
    /// The call that started this sub-agent, if its meta file names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<String>,
    /// The session that the sub-agent belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of_session: Option<String>,
    /// The size of the file when it was copied last, if it is one, and when it was changed last before, in nanoseconds since 1970.
    pub(super) size: Option<u64>,
    pub(super) changed: i64,
    /// What it held, the newest last.
    pub(super) generations: Vec<CopyGeneration>,
}

/// What a file of a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CopiedPart {
    /// The records of the session.
    History,
    /// Those of a sub-agent.
    Subagent,
    /// Which call started a sub-agent.
    Meta,
    /// Facts of the session.
    Facts,
}

/// What a file held: one copy, which is only ever added to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyGeneration {
    /// The folder that the copy is in.
    pub(super) number: u32,
    /// The name of the copy.
    pub(super) name: String,
    /// The number of bytes of the source, and their hash.
    pub(super) bytes: u64,
    pub(super) sha256: String,
    /// The sizes of the compressed frames, one for each time that something was added.
    pub(super) frames: Vec<u64>,
    /// The hash of all frames together.
    pub(super) frames_sha256: String,
    /// When the first and the last frame were written.
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

impl CopyGeneration {
    /// The path of the copy in the folder of its session.
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.number.to_string()).join(crate::path_text::text_path(&self.name))
    }

    /// The number of bytes that belong to it. More were written by a process that was killed.
    pub(super) fn packed(&self) -> u64 {
        self.frames.iter().sum()
    }
}

impl CopiedFile {
    /// A file of which nothing was copied yet.
    pub(super) fn of(source: &Path, holds: CopiedPart, history: Option<&Path>) -> Self {
        Self {
            source: path_text(source),
            holds,
            history: history.map(path_text),
            subagent: None,
            call: None,
            of_session: None,
            size: None,
            changed: 0,
            generations: Vec::new(),
        }
    }

    /// The path of the newest copy, and its number of bytes.
    pub(super) fn newest(&self, folder: &Path) -> Option<(PathBuf, u64)> {
        self.generations.last().map(|newest| (newest.path(folder), newest.packed()))
    }
}

/// The second line of the file: what shows that the first one is as it was written.
#[derive(Serialize)]
struct ManifestSum {
    sha256: String,
}

impl CopyManifest {
    /// Reads the manifest in a folder. `None`: there is none. Fails if it isn't exactly what was written.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read(folder.join(MANIFEST)) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            text => text?,
        };
        let damaged = || io::Error::new(ErrorKind::InvalidData, "the manifest is damaged");
        let manifest: Self = text
            .split(|byte| *byte == b'\n')
            .next()
            .and_then(|line| serde_json::from_slice(line).ok())
            .ok_or_else(damaged)?;
        let is_whole =
            manifest.text()? == text && folder.file_name().is_some_and(|name| *name == *manifest.session);
        let names_only = |generation: &CopyGeneration| {
            let name = crate::path_text::text_path(&generation.name);
            name.file_name().is_some_and(|own| own == name.as_os_str())
        };
        let mut generations = manifest.files.iter().flat_map(|file| &file.generations);
        if is_whole && generations.all(names_only) { Ok(Some(manifest)) } else { Err(damaged()) }
    }

    /// Replaces the manifest in a folder. `is_synced`: whether it is flushed to disk.
    pub(super) fn write(&self, folder: &Path, is_synced: bool) -> io::Result<()> {
        let path = folder.join(MANIFEST);
        side_draft::write(&self.text()?, &path, &path.with_extension("json.tmp"), is_synced)
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        let sum = ManifestSum { sha256: hex(Sha256::digest(&text).as_ref()) };
        text.push(b'\n');
        serde_json::to_writer(&mut text, &sum)?;
        text.push(b'\n');
        Ok(text)
    }

    /// The file at a path.
    pub(super) fn file(&self, source: &Path) -> Option<&CopiedFile> {
        let source = path_text(source);
        self.files.iter().find(|file| file.source == source)
    }

    /// The files that belong to a history.
    pub(super) fn beside<'a>(&'a self, history: &'a str) -> impl Iterator<Item = &'a CopiedFile> {
        self.files.iter().filter(move |file| file.history.as_deref() == Some(history))
    }
}

/// A hash as text.
pub(super) fn hex(hash: &[u8]) -> String {
    HEXLOWER.encode(hash)
}

/// The folder of a session's copies in a data folder.
pub(super) fn folder_of(data: &Path, id: &RunId) -> PathBuf {
    data.join(super::COPIES).join(id.as_str())
}
