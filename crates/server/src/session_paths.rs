//! The paths of the files of runs.

use std::io;
use std::path::{Path, PathBuf};

use crate::own_folder::create_private;
use crate::run_id::RunId;

/// The folder for runs. Each run has a log and a side file, named by its id.
#[derive(Clone, Debug)]
pub struct SessionPaths {
    /// The folder: `sessions` in the program's data folder.
    pub folder: PathBuf,
}

impl SessionPaths {
    /// Creates the folder if needed, and makes it accessible to its owner only. One of another user is refused.
    pub fn create(&self) -> io::Result<()> {
        create_private(&self.folder)
    }

    /// Returns the path of the agent's standard output, byte for byte.
    pub fn log(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.ndjson"))
    }

    /// Returns the paths of the log once it was packed, and of what it is packed into.
    pub(crate) fn packed(&self, id: &RunId) -> [PathBuf; 2] {
        [".ndjson.zst", ".ndjson.zst.tmp"].map(|ending| self.folder.join(format!("{id}{ending}")))
    }

    /// Returns the path of the agent's standard error. The file is missing if it wrote nothing.
    pub fn errors(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.stderr"))
    }

    /// Returns where the log of a run is now. `written`: the path that was written when it was recorded.
    pub(crate) fn log_now(&self, id: &RunId, written: &Path) -> PathBuf {
        self.beside(id, self.log(id), written)
    }

    /// Returns where the standard error of a run is now. `written`: the path that was written when it was recorded.
    pub(crate) fn errors_now(&self, id: &RunId, written: &Path) -> PathBuf {
        self.beside(id, self.errors(id), written)
    }

    /// Returns the file of a run in this folder, if it is there, otherwise the path that was written. A recorder that found the name of its
    /// log taken has added a number to it.
    fn beside(&self, id: &RunId, own: PathBuf, written: &Path) -> PathBuf {
        if own == written {
            return own;
        }
        let name =
            written.file_name().filter(|name| name.as_encoded_bytes().starts_with(id.as_str().as_bytes()));
        let numbered = name.map(|name| self.folder.join(name));
        let found = numbered.into_iter().chain([own]).find(|path| path.exists());
        found.unwrap_or_else(|| written.to_owned())
    }

    /// Returns the path of a file that the recorder locks while the run is in progress, and then removes: see
    /// [`SessionPaths::is_running`].
    pub fn lock(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.lock"))
    }

    /// Returns the path of the side file: see [`crate::RunSideFile`].
    pub fn side_file(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Returns the paths of the files that may replace the side file of a run: the one that has its room on the disk from the start, for its
    /// last content, and the one for those before. A recorder that was killed leaves them.
    pub(crate) fn drafts(&self, id: &RunId) -> [PathBuf; 2] {
        [self.folder.join(format!("{id}.json.end")), self.folder.join(format!("{id}.json.tmp"))]
    }
}
