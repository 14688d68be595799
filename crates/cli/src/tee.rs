//! Copies the input, byte for byte, before anything else is done with it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::fifo::{is_fifo, open_fifo};
use crate::message::{reason, unwritten};
use crate::signal::Signals;

/// A copy of the input. If it can't be written, formatting continues without it.
pub(crate) struct Tee {
    path: PathBuf,
    state: TeeState,
}

enum TeeState {
    Writing(File),
    /// The copy ends at the first failure, so that it is a prefix of the input.
    Failed {
        missing: u64,
    },
}

impl Tee {
    /// Opens `path` for appending; a new file is readable by its owner only. A symbolic link is refused: it could lead anywhere. A pipe
    /// waits here for its reader. The message, if there is one, is the reason why there will be no copy.
    pub(crate) fn open(path: &Path, signals: &mut Signals) -> (Self, Option<String>) {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        restrict(&mut options);
        let is_pipe = fs::symlink_metadata(path).is_ok_and(|metadata| is_fifo(&metadata));
        let opened = if is_pipe { open_fifo(path, true, signals) } else { options.open(path) };
        let (state, message) = match opened {
            Ok(file) => (TeeState::Writing(file), None),
            Err(error) => {
                let why = if path.is_symlink() { "symbolic link".to_owned() } else { reason(&error) };
                (
                    TeeState::Failed { missing: 0 },
                    Some(format!("no copy is saved: can't open {}: {why}", path.display())),
                )
            }
        };
        (Self { path: path.to_owned(), state }, message)
    }

    /// Appends bytes of the input. Returns a message at the first failure.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Option<String> {
        match &mut self.state {
            TeeState::Writing(file) => {
                let error = file.write_all(bytes).err()?;
                self.state = TeeState::Failed { missing: bytes.len() as u64 };
                Some(format!("the copy ends here: {}", unwritten(&self.path, &error)))
            }
            TeeState::Failed { missing } => {
                *missing += bytes.len() as u64;
                None
            }
        }
    }

    /// Flushes the copy to disk. Returns a message if it isn't whole.
    pub(crate) fn finish(&mut self) -> Option<String> {
        match &self.state {
            TeeState::Writing(file) => match file.sync_data() {
                // Pipes and devices can't be flushed to disk; nothing is lost there.
                Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
                    self.state = TeeState::Failed { missing: 0 };
                    Some(unwritten(&self.path, &error))
                }
                _ => None,
            },
            TeeState::Failed { missing: 0 } => None,
            TeeState::Failed { missing } => {
                Some(format!("about {missing} bytes of the input are not in {}", self.path.display()))
            }
        }
    }

    /// Whether the copy is not whole.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.state, TeeState::Failed { .. })
    }
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
}

#[cfg(not(unix))]
fn restrict(_: &mut OpenOptions) {}
