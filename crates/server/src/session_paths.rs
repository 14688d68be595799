//! Where runs are kept.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use crate::run_id::RunId;

/// The folder that runs are kept in: for each a log and a side file, named by its id.
#[derive(Clone, Debug)]
pub struct SessionPaths {
    /// The folder: `sessions` in the program's data folder.
    pub folder: PathBuf,
}

impl SessionPaths {
    /// Creates the folder if needed, and makes it accessible to its owner only.
    pub fn create(&self) -> io::Result<()> {
        create_private(&self.folder)
    }

    /// What the agent wrote to standard output, byte for byte.
    pub fn log(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.ndjson"))
    }

    /// What the agent wrote to standard error; missing if it wrote nothing.
    pub fn errors(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.stderr"))
    }

    /// Locked by the recorder while the run is in progress, then removed: see [`SessionPaths::is_running`].
    pub fn lock(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.lock"))
    }

    /// What is known beyond the log: see [`crate::RunSideFile`].
    pub fn side_file(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

/// Creates a folder if needed, and makes it accessible to its owner only.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(folder)?;
        // A folder that existed before may be open to others.
        if about.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
        }
    }
    Ok(())
}
