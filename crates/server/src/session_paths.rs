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
    /// Makes the folder if it isn't there, and closes it to everybody but its owner.
    pub fn create(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let about = std::fs::metadata(&self.folder)?;
            // One that somebody else made, or an archive brought back, may be open to others.
            if about.permissions().mode() & 0o077 != 0 {
                std::fs::set_permissions(&self.folder, PermissionsExt::from_mode(0o700))?;
            }
        }
        Ok(())
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
