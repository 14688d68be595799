//! Where runs are kept.

use std::fs::DirBuilder;
use std::io;
use std::path::PathBuf;

use crate::run_id::RunId;

/// The folder that runs are kept in: for each a log and a side file, named by its id.
#[derive(Clone, Debug)]
pub struct SessionPaths {
    /// The folder: `sessions` in the program's data folder.
    pub folder: PathBuf,
}

impl SessionPaths {
    /// Makes the folder, for its owner alone, if it isn't there.
    pub fn create(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }

    /// What the agent wrote to standard output, byte for byte.
    pub fn log(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.ndjson"))
    }

    /// What it wrote to standard error; there is none if it wrote nothing.
    pub fn errors(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.stderr"))
    }

    /// What the log doesn't have: see [`crate::RunSideFile`].
    pub fn side_file(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}
