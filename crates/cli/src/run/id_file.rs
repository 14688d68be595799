//! The file that receives the id of a run, for whoever started it.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use streamfmt_server::RunId;

use crate::message::unwritten;
use crate::output::Replacement;
use crate::signal::Signals;

/// The file of `--id-file`, before it is written.
pub(super) struct IdFile {
    path: PathBuf,
    file: Replacement,
}

impl IdFile {
    /// Opens it like any output. A new file is readable by its owner only. The error is a message.
    pub(super) fn open(path: &Path, signals: &mut Signals) -> Result<Self, String> {
        let is_new = fs::metadata(path).is_err();
        let file = Replacement::create(path, signals)?;
        if is_new && file.replaces().is_some() {
            let restricted = file.file.set_permissions(Permissions::from_mode(0o600));
            restricted.map_err(|error| unwritten(path, &error))?;
        }
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes it at once and as a whole. Returns the file to remove if no agent can be started. The error is a message.
    pub(super) fn write(mut self, id: &RunId) -> Result<Option<PathBuf>, String> {
        let written = self.file.file.write_all(format!("{id}\n").as_bytes());
        written.map_err(|error| unwritten(&self.path, &error))?;
        let target = self.file.replaces().map(Path::to_owned);
        self.file.put_in_place()?;
        Ok(target)
    }
}
