//! Packs the logs of runs that ended long ago. They are read as before.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use streamfmt::unpack::{UnpackedReader, without_compression};

use super::copies::pack;
use super::runs::side_files;
use super::{Store, StoreError, sql};
use crate::run_id::RunId;
use crate::side_draft;
use crate::side_file::RunSideFile;
use crate::sync::sync_name;

/// The number of bytes that are read at once.
const CHUNK: usize = 128 * 1024;

/// What packing logs did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedLogs {
    /// The number of logs that were packed.
    pub logs: usize,
    /// Their bytes before.
    pub before: u64,
    /// Their bytes now.
    pub after: u64,
}

impl Store {
    /// Packs the logs of runs that ended longer ago than this. Those that aren't in the folder of sessions stay, and those that would
    /// become no smaller. Calls `each` with the number of runs done and of all runs.
    pub fn compress_logs(
        &mut self,
        older: SignedDuration,
        mut each: impl FnMut(usize, usize),
    ) -> Result<PackedLogs, StoreError> {
        let mut packed = PackedLogs::default();
        let ids = side_files(&self.paths);
        for (at, id) in ids.iter().enumerate() {
            each(at, ids.len());
            // Nothing else may move or remove the log.
            let _lock = sql::lock(self.database.path())?;
            let Ok(side) = RunSideFile::read(&self.paths.side_file(id)) else { continue };
            let age = Timestamp::now().duration_since(side.ended.unwrap_or(side.started));
            if side.id != *id || age <= older || self.state_of(&side).is_live() {
                continue;
            }
            if let Some((before, after)) = self.compress_log(id, side)? {
                packed = PackedLogs {
                    logs: packed.logs + 1,
                    before: packed.before + before,
                    after: packed.after + after,
                };
            }
        }
        Ok(packed)
    }

    /// Packs the log of a run. Returns its bytes before and after; `None` if it stays.
    fn compress_log(&self, id: &RunId, side: RunSideFile) -> Result<Option<(u64, u64)>, StoreError> {
        let log = side.log.clone();
        let plain = without_compression(&log);
        if plain != log && log.parent() == Some(&*self.paths.folder) && is_regular(&plain) {
            // A process was killed before it removed it.
            let is_same = || Ok(hash(File::open(&plain)?)? == hash(UnpackedReader::new(File::open(&log)?))?);
            if is_same().map_err(|error: io::Error| StoreError::File(log.clone(), error))? {
                self.database.move_log(id.as_str(), &log)?;
                fs::remove_file(&plain).map_err(|error| StoreError::File(plain, error))?;
            }
            return Ok(None);
        }
        let is_log = log.extension().is_some_and(|ending| ending == "ndjson")
            && log
                .file_stem()
                .is_some_and(|stem| stem.as_encoded_bytes().starts_with(id.as_str().as_bytes()));
        let is_ours = is_log && log.parent() == Some(&*self.paths.folder) && side.log_start == 0;
        if !is_ours || !is_regular(&log) || self.database.is_shared(&log, id.as_str())? {
            return Ok(None);
        }
        let mut name = log.clone().into_os_string();
        name.push(".zst");
        let packed = PathBuf::from(name);
        let fail = |error| StoreError::File(packed.clone(), error);
        let draft = packed.with_extension("zst.tmp");
        let sizes =
            write_packed(&log, &draft).inspect_err(|_| drop(fs::remove_file(&draft))).map_err(fail)?;
        let Some((before, after)) = sizes else { return Ok(None) };
        fs::rename(&draft, &packed).map_err(fail)?;
        sync_name(&packed);
        // From here on the packed one is the log: whatever happens before the other is removed, both hold the same.
        let path = self.paths.side_file(id);
        let side = RunSideFile { log: packed.clone(), ..side };
        let text = side.text().map_err(fail)?;
        side_draft::write(&text, &path, &path.with_extension("json.tmp"), true).map_err(fail)?;
        self.database.move_log(id.as_str(), &packed)?;
        fs::remove_file(&log).map_err(fail)?;
        Ok(Some((before, after)))
    }
}

fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
}

/// Packs a log into a file, which is flushed to disk and read back. Returns the sizes of both; `None` if it would become no smaller, and
/// nothing is left of it.
fn write_packed(log: &Path, draft: &Path) -> io::Result<Option<(u64, u64)>> {
    let mut file = side_draft::create(draft)?;
    pack::pack(&mut File::open(log)?, &mut file)?;
    // A run that was killed ended when its log was last written.
    file.set_modified(log.metadata()?.modified()?)?;
    file.sync_all()?;
    let (before, after) = (log.metadata()?.len(), draft.metadata()?.len());
    if after >= before {
        fs::remove_file(draft)?;
        return Ok(None);
    }
    if hash(File::open(log)?)? != hash(UnpackedReader::new(File::open(draft)?))? {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "what was packed can't be read back"));
    }
    Ok(Some((before, after)))
}

/// The hash and the number of all bytes.
fn hash(mut input: impl Read) -> io::Result<(Vec<u8>, u64)> {
    let (mut hash, mut count) = (Sha256::new(), 0);
    let mut buffer = vec![0; CHUNK];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok((hash.finalize().to_vec(), count)),
            read => {
                hash.update(&buffer[..read]);
                count += read as u64;
            }
        }
    }
}
